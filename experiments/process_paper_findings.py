"""Whether the paper's orderings come out in experiments/process_paper.py: each sentence follows from the figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from process_paper_measures import (
    CENTRED,
    CHANCE,
    HAAR,
    INDICES,
    KS,
    MEAN,
    PAPER,
    READY,
    SHARES,
    SPACES,
    VARIANCE,
    Floats,
    Labels,
    Results,
)

NAMES = {"silhouette": "silhouette", "davies_bouldin": "Davies-Bouldin", "scatter": "SSE / SST"}
SMOOTH, ROUGH = "the paper's households", "Shoal's rougher ones"
CUSTOMERS = {"second-home": "second homes", "small-business": "small businesses", "household": "households"}
N = len(KS)
HARDLY_MIXED = 0.98  # of the companions are of the own kind


@dataclass(frozen=True)
class Order:
    """At how many k MDAV on Haar shares is ahead of by-variance, and by-variance ahead of by-mean."""

    first: int
    second: int

    @property
    def verdict(self) -> str:
        """Yes at every k, mostly at more than half of them, else no."""
        fewest = min(self.first, self.second)
        return "yes" if fewest == N else "mostly" if fewest > N / 2 else "no"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.first} and {self.second} of {N}"


@dataclass(frozen=True)
class Why:
    """What may explain an ordering that does not come out."""

    level_share: float
    top_tenth: float
    customers: NDArray[np.str_]
    rough_customers: NDArray[np.str_]


def order_of(curves: Sequence[Sequence[float]], *, higher: bool) -> Order:
    """Compare the curves of the paper's three groupings, strictly, at each k."""
    sign = 1.0 if higher else -1.0
    ahead = [sum(sign * a > sign * b for a, b in zip(*pair, strict=True)) for pair in (curves[:2], curves[1:])]
    return Order(*ahead)


def order_in(results: Results, space: str, index: str) -> Order:
    """The paper's order of groupings by one index in one space."""
    curves = [results.curve(space, grouping, index) for grouping in PAPER]
    return order_of(curves, higher=index == "silhouette")


def trend(what: str, values: Sequence[float], *, rises: bool, form: str = ".3f") -> str:
    """A sentence on whether a curve rises, or falls, with k."""
    verb, sign = ("rises", 1.0) if rises else ("falls", -1.0)
    steps = [sign * (b - a) > 0.0 for a, b in pairwise(values)]
    ends = f"from {values[0]:{form}} at k = {KS[0]} to {values[-1]:{form}} at k = {KS[-1]}"
    if all(steps):
        return f"**Yes.** {what} {verb} at every step, {ends}."
    if sign * (values[-1] - values[0]) > 0.0 and sum(steps) > len(steps) / 2:
        odd = [f"{values[i]:{form}} to {values[i + 1]:{form}} at k = {KS[i + 1]}" for i, s in enumerate(steps) if not s]
        return f"**Mostly.** {what} {verb} at {sum(steps)} of {len(steps)} steps, {ends}; not from {_listed(odd)}."
    return f"**No.** {what} {verb} at {sum(steps)} of {len(steps)} steps, and goes {ends}."


def on_time(times: dict[str, list[float]]) -> list[str]:
    """Time falls with k."""
    ready, whole = ([1000.0 * t for t in times[name]] for name in (READY, HAAR))
    return [
        trend("Time of MDAV on shares at hand, in milliseconds,", ready, rises=False, form=".1f"),
        trend("Time of the whole release, in milliseconds,", whole, rises=False, form=".1f")
        + f" The rest, mostly decomposing and averaging, takes {whole[0] - ready[0]:.0f} ms at k = {KS[0]} and "
        f"{whole[-1] - ready[-1]:.0f} ms at k = {KS[-1]}.",
    ]


def on_loss(results: Results) -> list[str]:
    """Loss grows with k."""
    found = [trend(f"Information loss, {grouping},", results.losses(grouping), rises=True) for grouping in (*PAPER,)]
    return [*found, trend(f"Normalised divergence, {HAAR},", results.divergences(HAAR), rises=True)]


def on_silhouette(results: Results, rough: Results) -> list[str]:
    """The silhouette falls with k, with either households."""
    found = []
    for of, households in ((results, SMOOTH), (rough, ROUGH)):
        found += [
            trend(f"In {space}, with {households}, it", of.curve(space, HAAR, "silhouette"), rises=False)
            for space in SPACES
        ]
        chance = of.curve(SHARES, CHANCE, "silhouette")
        if not found[-len(SPACES)].startswith("**Yes") and chance[-1] > chance[0]:
            above = np.subtract(of.curve(SHARES, HAAR, "silhouette"), chance).tolist()
            found.append(
                f"Why: the index itself rises with k. With {households} groups drawn at random go from {chance[0]:.3f} "
                f"to {chance[-1]:.3f} in Haar shares: the next group is the nearest of n / k rivals, and fewer rivals "
                f"are farther away. Counted from chance: {trend('the silhouette in Haar shares', above, rises=False)}"
            )
    return found


def on_davies_bouldin(results: Results) -> list[str]:
    """Davies-Bouldin grows with k, most from 4 to 8."""
    found = [trend(f"In {space}, it", results.curve(space, HAAR, "davies_bouldin"), rises=True) for space in SPACES]
    for space in SPACES:
        steps = np.diff(results.curve(space, HAAR, "davies_bouldin"))
        largest = int(steps.argmax())
        answer = "**Yes.**" if largest == 0 else "**No.**"
        found.append(
            f"The paper's big gap from k = {KS[0]} to {KS[1]}, in {space}: {answer} The largest step is from "
            f"k = {KS[largest]} to {KS[largest + 1]}, by {steps[largest]:.2f}; the next largest is "
            f"{np.sort(steps)[-2]:.2f}."
        )
    return found


def on_customers(results: Results, rough: Results, why: Why) -> list[str]:
    """Second homes above small businesses above households, with either households."""
    found = _on_customers(results, why.customers)
    return found + [f"With {ROUGH}: {line}" for line in _on_customers(rough, why.rough_customers)]


def _on_customers(results: Results, customers: NDArray[np.str_]) -> list[str]:
    found = []
    alike = _by_customer(_alike(results.labels[HAAR, KS[0]], customers), customers)
    most_mixed = int(np.argmin(alike))
    lowest_in = []
    for space in SPACES:
        means = np.array([_by_customer(results.judged[space, HAAR, k].silhouettes, customers) for k in KS])
        in_order = int(np.all(np.diff(means, axis=1) < 0.0, axis=1).sum())
        answer = "**Yes.**" if in_order == N else "**Mostly.**" if in_order > N / 2 else "**No.**"
        shown = _listed([f"{name} {mean:+.3f}" for name, mean in zip(CUSTOMERS.values(), means[0], strict=True)])
        found.append(f"In {space}: {answer} In this order at {in_order} of {N} k. At k = {KS[0]}: {shown}.")
        if int(np.argmin(means[0])) == most_mixed:
            lowest_in.append(space)
    shown = _listed([f"{name} {share:.0%}" for name, share in zip(CUSTOMERS.values(), alike, strict=True)])
    mixed = (
        "Kinds hardly mix, so that is not why"
        if min(alike) > HARDLY_MIXED
        else f"The kind that is mixed most, {list(CUSTOMERS.values())[most_mixed]}, has the lowest silhouette in: "
        f"{_listed(lowest_in)}"
    )
    found.append(
        f"Companions of the own kind, on average at k = {KS[0]}: {shown}. {mixed}. Other causes were not looked into."
    )
    return found


def _by_customer(values: Floats, customers: NDArray[np.str_]) -> list[float]:
    return [float(values[customers == name].mean()) for name in CUSTOMERS]


def _alike(labels: Labels, customers: NDArray[np.str_]) -> Floats:
    """Of each series the share of its companions that are of its own kind."""
    kinds = np.unique(customers, return_inverse=True)[1]
    counts = np.zeros((int(labels.max()) + 1, int(kinds.max()) + 1))
    np.add.at(counts, (labels, kinds), 1.0)
    shares: Floats = (counts[labels, kinds] - 1.0) / (counts[labels].sum(axis=1) - 1.0)
    return shares


def on_groupings(results: Results, rough: Results, why: Why) -> list[str]:
    """MDAV on Haar shares ahead of by-variance ahead of by-mean: what the table of orders says, and why."""
    orders = {(space, index): order_in(results, space, index) for space in SPACES for index in INDICES}
    full = [f"{NAMES[index]} in {space}" for (space, index), order in orders.items() if order.verdict == "yes"]
    roughs = sum(order_in(rough, space, index).verdict == "yes" for space, index in orders)
    found = [
        f"The full order holds at every k for {len(full)} of {len(orders)} indices: {_listed(full)}. With {ROUGH} it "
        f"does for {roughs}."
    ]
    for first, second, place in ((HAAR, VARIANCE, "first"), (VARIANCE, MEAN, "second")):
        counts = {key: int(getattr(order, place)) for key, order in orders.items()}
        short = [f"{NAMES[index]} in {space} ({n} of {N})" for (space, index), n in counts.items() if n < N]
        total = sum(counts.values())
        found.append(
            f"{first} ahead of {second}: in {total} of {N * len(orders)} comparisons. Not at every k: {_listed(short)}."
        )
    return [*found, *_why_not_first(results, orders, why), *_why_not_second(results, orders)]


def _why_not_first(results: Results, orders: dict[tuple[str, str], Order], why: Why) -> list[str]:
    found = []
    if any(orders[CENTRED, index].first < N for index in INDICES):
        found.append(
            "Why not in centred series: amplitude decides distances there, and shares do not see it. The tenth of "
            f"the series with the largest variance holds {why.top_tenth:.0%} of the squared centred readings."
        )
    loss = order_of([results.losses(grouping) for grouping in PAPER], higher=False)
    if loss.first < N:
        found.append(
            f"Information loss of the readings puts {HAAR} ahead of {VARIANCE} at {loss.first} of {N} k, and "
            f"{VARIANCE} ahead of {MEAN} at {loss.second}. The paper leaves such measures out "
            f"because there are different load levels: here {why.level_share:.0%} of the variation between series is "
            "their mean level, and shares see neither level nor amplitude."
        )
    return found


def _why_not_second(results: Results, orders: dict[tuple[str, str], Order]) -> list[str]:
    found = []
    for (space, index), order in orders.items():
        if order.second < N:
            means = [float(np.mean(results.curve(space, g, index))) for g in (VARIANCE, MEAN, CHANCE)]
            found.append(
                f"{VARIANCE} ahead of {MEAN} by {NAMES[index]} in {space}: at {order.second} of {N} k. Mean over k: "
                f"{means[0]:.3f} {VARIANCE}, {means[1]:.3f} {MEAN}, {means[2]:.3f} {CHANCE}."
                f"{_tight_but_close(results, space, index)}"
            )
    return found


def _tight_but_close(results: Results, space: str, index: str) -> str:
    """Davies-Bouldin divides the width of groups by the gap between them; one may outweigh the other."""
    width, gap = (
        [float(np.mean(results.curve(space, grouping, what))) for grouping in (VARIANCE, MEAN)]
        for what in ("width", "gap")
    )
    if index != "davies_bouldin" or width[0] >= width[1] or gap[0] >= gap[1]:
        return ""
    return (
        f" Groups {VARIANCE} are tighter (mean distance from the centre {width[0]:.2f} against {width[1]:.2f}), but "
        f"their centres are closer to the next one ({gap[0]:.2f} against {gap[1]:.2f}), and "
        "the index divides the one by the other."
    )


def summary(results: Results, rough: Results, times: dict[str, list[float]]) -> str:
    """One paragraph for the top of the page."""
    counts = []
    for of in (results, rough):
        orders = [order_in(of, space, index) for space in SPACES for index in INDICES]
        first, second = sum(order.first == N for order in orders), sum(order.second == N for order in orders)
        counts.append((first, second, sum(order.verdict == "yes" for order in orders)))
    falls = [_word(trend("", of.curve(SHARES, HAAR, "silhouette"), rises=False)).lower() for of in (results, rough)]
    return (
        f"In short: of {len(SPACES) * len(INDICES)} indices (three, each measured in three spaces) {counts[0][0]} put "
        f"MDAV on Haar shares ahead of by-variance at every k, {counts[0][1]} put by-variance ahead of by-mean at "
        f"every k, and {counts[0][2]} do both; with {ROUGH} {counts[1][0]}, {counts[1][1]} and {counts[1][2]}. Does "
        f"the silhouette in Haar shares fall with k? With {SMOOTH} {falls[0]}, with {ROUGH} {falls[1]}. "
        f"Does loss grow with k? {_word(trend('', results.losses(HAAR), rises=True))}. "
        f"Does the time of MDAV fall with k? {_word(trend('', times[READY], rises=False))}."
    )


def _word(sentence: str) -> str:
    return sentence.split(".")[0].strip("*")


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words) if words else "none"
