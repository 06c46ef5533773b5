"""What learning a metric chooses from labels, and what that is worth on days it has not seen.

Writes metric_choice.md, by default to docs/results. Sets, interests and releases are those of pad_paper.py; labels are
given by program, similar when the true distance is at most the 0.3 quantile of the pairs. Every choice is made on the
labelled half of the days; what stands in the tables is measured on the other half.
"""

import argparse
import pickle
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pad_paper_data import ARRIVAL, ASKED, BUILDING, DEPARTURE, INTERESTS, KINDS, Floats, Sets, load
from pad_paper_learning import losses, show, too_few, wanted
from scipy import stats
from threadpoolctl import threadpool_limits

from shoal.features import Learned, LinearMetric
from shoal.features.interests import LabelledPairs, distances, label_pairs
from shoal.labels import MULTIPLE

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))
from sections import put_section  # noqa: E402

K, MANY, FEW, QUANTILE = 4, 2775, 60, 0.3
AIMS = {ARRIVAL: (0.95, 0.15), DEPARTURE: (0.90, 0.25)}
BEFORE, NOW = "before", "default"
TITLE, AGAIN = "Learned metrics: what is chosen, and what it is worth", "On further splits"
MUCH = 2.0
FIRST_FURTHER = 100  # the number of the first split beyond those of the tables


@dataclass(frozen=True)
class Outcome:
    """One metric on one split."""

    chosen: str
    used: bool
    correlation: float
    share: float
    """Of the loss by the generic metric, in the same groups."""


def main() -> None:
    """Measure, or read what was measured before, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the real sets")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--shown-splits", type=int, default=5, help="within groups that were shown")
    parser.add_argument("--seed", type=int, default=1, help="of the simulated sets and of days drawn from large ones")
    parser.add_argument("--keep", type=Path, help="folder for what is measured, so that an interrupted run can go on")
    parser.add_argument("--kept-only", action="store_true", help="measure nothing: write what --keep holds")
    parser.add_argument(
        "--again",
        nargs=3,
        metavar=("SET", "INTEREST", "SPLITS"),
        help=f"only write a section on one case with {FEW} pairs, on so many further splits",
    )
    given = parser.parse_args()
    sets = load(given.data, 300, 450, given.seed)
    page = given.out / "metric_choice.md"
    if given.again:
        put_section(page, TITLE, AGAIN, _again(given, sets))
        return
    once_more = page.read_text(encoding="utf-8").partition(f"## {AGAIN}\n\n")[2] if page.exists() else ""
    places = [(name, interest) for name in sets.days for interest in ASKED[KINDS[name]]]
    asked = [(BUILDING, interest) for interest in AIMS if BUILDING in sets.days]
    units = [(name, interest, MANY) for name, interest in asked]
    units += [(name, interest, n) for n in (FEW, 0) for name, interest in places]
    found: dict[tuple[str, str, int], list[dict[str, Outcome]]] = {}
    for unit in units:
        splits = list(range(given.splits if unit[2] else given.shown_splits))
        if given.kept_only:
            splits = [split for split in splits if _path(given.keep, unit, split).is_file()]
        if splits:
            found[unit] = [_kept(given.keep, sets, unit, split) for split in splits]
    page.write_text(_page(given, sets, found), encoding="utf-8")
    if once_more:
        put_section(page, TITLE, AGAIN, once_more)


def _again(given: argparse.Namespace, sets: Sets) -> str:
    """Whether a case that was worse than generic on a few splits is so on others."""
    name, interest, n_splits = given.again[0], given.again[1], int(given.again[2])
    splits = range(FIRST_FURTHER, FIRST_FURTHER + n_splits)
    rows = [_kept(given.keep, sets, (name, interest, FEW), split) for split in splits]
    shares = np.array([row[NOW].share if NOW in row else 1.0 for row in rows])
    mean, error = float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(n_splits))
    low, high = (mean + sign * float(stats.t.ppf(0.975, n_splits - 1)) * error for sign in (-1, 1))
    verdict = (
        "So the learned metric is better than the generic one here."
        if high < 1.0
        else "So the learned metric is worse than the generic one here."
        if low > 1.0
        else "So neither a gain nor a loss can be distinguished from chance here, and single splits lose much."
        if shares.max() > MUCH
        else "So neither a gain nor a loss can be told from chance here."
    )
    above, below = int((shares > 1.0).sum()), int((shares < 1.0).sum())
    return (
        f'Written by `python experiments/metric_choice.py --again "{name}" {interest} {n_splits}`; do not edit. '
        f"{interest.capitalize()} on {name} with {FEW} pairs, on {n_splits} splits that played no part in any "
        f"decision: the loss is {mean:.3f} of the generic one on average (95 % interval {low:.3f} to {high:.3f}, "
        f"Student's), above 1 on {above} splits, below on {below}, and exactly 1 on the others; from "
        f"{shares.min():.2f} to {shares.max():.2f}. {verdict} The set has {len(sets.days[name])} days, of which half "
        f"are released. Chosen: {_choices(rows)}."
    )


def _path(folder: Path, unit: tuple[str, str, int], split: int) -> Path:
    return folder / f"{'-'.join(map(str, unit))}-{split}.pickle".replace(" ", "_")


def _kept(folder: Path | None, sets: Sets, unit: tuple[str, str, int], split: int) -> dict[str, Outcome]:
    path = None if folder is None else _path(folder, unit, split)
    if path is not None and path.is_file():
        kept: dict[str, Outcome] = pickle.loads(path.read_bytes())
        return kept
    with threadpool_limits(limits=1):
        outcome = _measure(sets.days[unit[0]], *unit, split)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(outcome))
    return outcome


def _measure(days: Floats, name: str, interest: str, n_pairs: int, split: int) -> dict[str, Outcome]:
    """One split; with n_pairs = 0 the labels are of curves shown of the released days, and groups stay within those."""
    order = np.random.default_rng(split).permutation(len(days))
    seen, unseen = (days[half] for half in np.array_split(order, 2))
    within = None
    if not n_pairs:
        within, seen = show(unseen, MULTIPLE * K)
    pairs = _label(seen, interest, n_pairs or MANY, split) if len(seen) > 1 else None
    tried: dict[str, Any] = {}
    if pairs is not None and not too_few(pairs):
        tried[NOW] = LinearMetric(seed=split).learn(*pairs)
        if n_pairs == MANY:
            old = [LinearMetric(seed=split, inputs=i, euclidean_share=0.0).learn(*pairs) for i in ("values", "time")]
            tried[BEFORE] = max(old, key=lambda learned: learned.figures["held_out_learned"])
    lost = losses(name, interest, unseen, {"generic": "raw", **tried, "wanted": wanted(INTERESTS[interest])}, K, within)
    return {
        metric: Outcome(
            _describe(tried.get(metric)),
            not isinstance(tried.get(metric), Learned) or tried[metric].used,
            _correlate(tried.get(metric, "raw"), unseen, interest),
            own / lost["generic"] if lost["generic"] else 1.0,
        )
        for metric, own in lost.items()
        if metric != "generic"
    }


def _label(seen: Floats, interest: str, n_pairs: int, seed: int) -> LabelledPairs:
    drawn = label_pairs(seen, INTERESTS[interest], n_pairs=n_pairs, seed=seed)
    apart = distances(INTERESTS[interest], drawn.left, drawn.right)
    return LabelledPairs(drawn.left, drawn.right, apart <= np.quantile(apart, QUANTILE))


def _describe(learned: Any) -> str:
    if not isinstance(learned, Learned):
        return ""
    if not learned.used:
        return "not used"
    share = learned.figures["euclidean_share"]
    return f"{learned.inputs}, {learned.figures['form']}" + (f", {share:.0%} Euclidean" if share else "")


def _correlate(features: Any, unseen: Floats, interest: str) -> float:
    i, j = np.triu_indices(len(unseen), 1)
    mapped = features.transform(unseen) if isinstance(features, Learned) else unseen
    apart = np.sqrt(((mapped[i] - mapped[j]) ** 2).sum(axis=1))
    truth = distances(INTERESTS[interest], unseen[i], unseen[j])
    return float(np.corrcoef(apart, truth)[0, 1]) if truth.std() and apart.std() else float("nan")


def _mean(outcomes: list[dict[str, Outcome]], metric: str, what: str = "share") -> float:
    figures = [getattr(outcome[metric], what) if metric in outcome else 1.0 for outcome in outcomes]
    return float(np.mean(figures))


def _page(given: argparse.Namespace, sets: Sets, found: dict[Any, list[dict[str, Outcome]]]) -> str:
    parts = [
        f"# {TITLE}",
        "See which metric labels select, and how much less of what matters to you is lost with it.",
        f"Written by `python experiments/metric_choice.py --splits {given.splits} --shown-splits "
        f"{given.shown_splits} --seed {given.seed}`; do not edit.",
        f"The days of a set are split at random into halves, {given.splits} times. Pairs of one half are labelled by "
        f"a program: similar if their true distance is at most the {QUANTILE} quantile of the pairs; `LinearMetric()` "
        "chooses inputs, form, penalty and a share of Euclidean distance by cross-validation on these labels alone. "
        "From 1,000 pairs, `AutoMetric()` also tries a network; the tables here leave it out. All figures are for "
        "the other half: the correlation of learned with true distances over all pairs, and the loss on the interest "
        f"at k = {K} as a share of that of the generic metric. *Before*: whichever of the values and what time adds "
        "does better on held-out labels, without Euclidean distance mixed in, as Shoal chose earlier. *Wanted*: the "
        "distance of what matters itself, which nobody has in practice. The people who decided which inputs, forms "
        "and shares to try had seen such figures for some of these sets and splits, so the figures are slightly "
        "flattered.",
    ]
    many = {place: rows for place, rows in found.items() if place[2] == MANY}
    if many:
        parts += [f"## Many labels, on {BUILDING}", _many_table(many), *_aims(many)]
    few = {place: rows for place, rows in found.items() if place[2] == FEW}
    parts += [f"## {FEW} labelled pairs, everywhere", _few_table(few), _verdict(few)]
    shown = {place: rows for place, rows in found.items() if place[2] == 0}
    parts += [
        "## Within groups that were shown",
        f"Of {given.shown_splits} of the splits, the half to be released is shown in groups of {MULTIPLE * K}, all "
        f"pairs of the curves are labelled, and groups of {K} are formed within those shown. Shares are of the loss "
        "by the generic metric within the same groups. If there are fewer than five pairs of one label, nothing is "
        "learned, and the share is 1.",
        _few_table(shown),
        _verdict(shown),
    ]
    if sets.absent:
        parts.append(f"The data folder has no {', '.join(sets.absent)}: these sets are left out.")
    return "\n\n".join(parts) + "\n"


def _many_table(many: dict[Any, list[dict[str, Outcome]]]) -> str:
    lines = [
        "| interest | correlation before | correlation | loss before | loss | wanted | chosen |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for (_, interest, _), rows in many.items():
        figures = [_mean(rows, metric, what) for what in ("correlation", "share") for metric in (BEFORE, NOW)]
        told = " | ".join(f"{figure:.3f}" for figure in (*figures, _mean(rows, "wanted")))
        lines.append(f"| {interest} | {told} | {_choices(rows)} |")
    return "\n".join(lines)


def _aims(many: dict[Any, list[dict[str, Outcome]]]) -> list[str]:
    lines = []
    for (_, interest, _), rows in many.items():
        if interest in AIMS:
            correlation, loss = _mean(rows, NOW, "correlation"), _mean(rows, NOW)
            least, most = AIMS[interest]
            met = ["met" if good else "missed" for good in (correlation >= least, loss <= most)]
            lines.append(
                f"- {interest.capitalize()}: correlation {correlation:.3f}, aim at least {least:.2f}: {met[0]}. Loss "
                f"{loss:.3f} of the generic one, aim at most {most:.2f}: {met[1]}."
            )
    return ["\n".join(lines)]


def _few_table(few: dict[Any, list[dict[str, Outcome]]]) -> str:
    lines = ["| set | interest | splits | loss | worst split | wanted | chosen |", "|---|---|---:|---:|---:|---:|---|"]
    for (name, interest, _), rows in few.items():
        worst = max(row[NOW].share if NOW in row else 1.0 for row in rows)
        lines.append(
            f"| {name} | {interest} | {len(rows)} | {_mean(rows, NOW):.2f} | {worst:.2f} | {_mean(rows, 'wanted'):.2f} "
            f"| {_choices(rows)} |"
        )
    return "\n".join(lines)


def _choices(rows: list[dict[str, Outcome]]) -> str:
    counts = Counter(row[NOW].chosen if NOW in row else "nothing learned" for row in rows)
    return "; ".join(f"{times} × {chosen}" for chosen, times in counts.most_common())


def _verdict(found: dict[Any, list[dict[str, Outcome]]]) -> str:
    means = {place: _mean(rows, NOW) for place, rows in found.items()}
    worse = [f"{interest} on {name} ({mean:.2f})" for (name, interest, _), mean in means.items() if mean > 1.0]
    return f"Mean over interests and sets: {np.mean(list(means.values())):.2f} of the generic loss. " + (
        f"On average worse than generic: {', '.join(worse)}." if worse else "Nowhere worse than generic on average."
    )


if __name__ == "__main__":
    main()
