"""Whether the paper's statements come out in experiments/reposition_paper.py: each answer follows from the figures."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from answers import Answer, share_word, yes_no
from reposition_paper_data import Stream
from reposition_paper_measures import (
    ENDLESS,
    GENERALISED,
    HINDSIGHT,
    LIMITED,
    MERGED,
    REPOSITIONED,
    SUPPRESSED,
    Results,
)
from reposition_paper_tables import by_size, far_run, ratio
from reposition_yardsticks import eligible

NEAR = 0.10  # "nearly as good": at most so much above
FEW = 0.05  # "a small amount"; "many" is more
SMALL_DISTANCE, IN_REACH = 3, 0.95
COMPLEMENT = 0.90
ENOUGH = 10  # snapshots that a class of size needs to be compared with others
HOW_MUCH = (
    f'The paper gives no numbers, so we use round ones for its words: "a small distance" is at most {SMALL_DISTANCE} '
    f'snapshots for {IN_REACH:.0%} of the published events, "a small amount" of suppressed events is at most {FEW:.0%} '
    f'and "many" is more, "often" is more than half, "nearly as good" and "similar" are within {NEAR:.0%} of the loss, '
    f'"high utility" is a mean error of at most {NEAR:.0%}. Yes: on every stream or at every '
    "place; mostly: on more than half; partly: on fewer; no: nowhere."
)


def on_eligibility(results: Results) -> list[Answer]:
    """Temporal skewness: sections I.A and I.B."""
    plan, fair = results.plan, results.sets.fair
    shares = {stream.name: float(eligible(stream.counts, stream.l).mean()) for stream in fair}
    made = [
        later >= earlier
        for l in plan.ls
        for earlier, later in pairwise(results.sizes[size, l] for size in plan.sizes)
        if l in _eligible_levels(results)
    ]
    rises = [
        later >= earlier
        for stream in fair
        for earlier, later in pairwise(share for _, share, n in by_size(stream) if n >= ENOUGH)
    ]
    near = {stream.name: stream.runs(plan.window) for stream in fair}
    return [
        Answer(
            "Are snapshots often not l-eligible although all events together are?",
            share_word(sum(share < 0.5 for share in shares.values()), len(shares)),
            f"Eligible as they come: {_listed(shares)}.",
        ),
        Answer(
            "Is it the smaller snapshots that are skewed (the law of large numbers)?",
            share_word(sum(made) + sum(rises), len(made) + len(rises)),
            f"From one size to the next larger the share of eligible ones grows or stays at {sum(made)} of {len(made)} "
            f"steps of simulated sizes, and at {sum(rises)} of {len(rises)} steps between the streams' classes of "
            f"size that have {ENOUGH} snapshots or more.",
        ),
        Answer(
            f"Do neighbouring snapshots complement each other: are {plan.window} in a row eligible together?",
            share_word(sum(share >= COMPLEMENT for share in near.values()), len(near)),
            f"Of all stretches of {plan.window} snapshots: {_listed(near, 1)}; {COMPLEMENT:.0%} are asked for.",
        ),
    ]


def on_distances(results: Results) -> list[Answer]:
    """How far, how many: section I.B."""
    plan, fair = results.plan, results.sets.fair
    placed = {stream.name: results.place(stream.name, plan.window) for stream in fair}
    endless = {stream.name: results.place(stream.name, ENDLESS) for stream in fair}
    alone = {stream.name: results.place(stream.name, 1) for stream in fair}
    near = {name: found.within(SMALL_DISTANCE) for name, found in placed.items()}
    free = {name: found.within(SMALL_DISTANCE) for name, found in endless.items()}
    lost = {name: found.lost for name, found in placed.items()}
    before = {name: found.lost for name, found in alone.items()}
    fewer = [lost[name] <= before[name] / 2 for name in lost]
    return [
        Answer(
            "Is a small distance enough?",
            share_word(sum(share >= IN_REACH for share in near.values()), len(near)),
            f"At most {SMALL_DISTANCE} late in a window of {plan.window}: {_listed(near, 2)}. The mean distance of a "
            f"published event is {_numbers({name: found.mean for name, found in placed.items()})}.",
        ),
        Answer(
            "Is it enough in an endless window as well?",
            share_word(sum(share >= IN_REACH for share in free.values()), len(free)),
            f"At most {SMALL_DISTANCE} late: {_listed(free, 2)}; the furthest: "
            + ", ".join(f"{name} {found.furthest}" for name, found in endless.items())
            + ".",
        ),
        Answer(
            "Is a small amount of suppression enough?",
            share_word(sum(share <= FEW for share in lost.values()), len(lost)),
            f"Suppressed in a window of {plan.window}: {_listed(lost, 1)}.",
        ),
        Answer(
            "Does suppression alone suppress many?",
            share_word(sum(share > FEW for share in before.values()), len(before)),
            f"{_listed(before, 1)}.",
        ),
        Answer(
            "Does repositioning suppress at most half of what suppression alone does?",
            share_word(sum(fewer), len(fewer)),
            _pairs(lost, before) + ".",
            paper=False,
        ),
    ]


def on_windows(results: Results) -> list[Answer]:
    """The window against an endless one, and the step against the whole: sections I.B, II.B and III."""
    plan, fair = results.plan, results.sets.fair
    found = []
    for cost in ("linear", "quadratic"):
        ratios = {
            stream.name: ratio(
                results.place(stream.name, plan.window, cost).loss, results.place(stream.name, ENDLESS, cost).loss
            )
            for stream in fair
        }
        found.append(
            Answer(
                f"Is a window of {plan.window} nearly as good as an endless one, {cost} costs?",
                share_word(sum(ratio <= 1 + NEAR for ratio in ratios.values()), len(ratios)),
                f"Loss, as a multiple of the endless one's: {_numbers(ratios)}. {_enough(results, cost)}"
                + (_by_price(results) if cost == "linear" else ""),
            )
        )
    best = {stream.name: results.offline[stream.name, "window"] for stream in fair}
    far = {stream.name: results.offline[stream.name, "far"] for stream in fair}
    both = {stream.name: results.offline[stream.name, "both"] for stream in fair}
    reach = {name: ratio(best[name].loss, far[name].bound) for name in best}
    steps = {name: ratio(results.place(name, plan.window).loss, best[name].loss) for name in best}
    ways = {name: ratio(best[name].loss, both[name].bound) for name in best}
    return [
        *found,
        Answer(
            f"Is the best placement of the whole stream within {plan.window} snapshots nearly as good as within "
            f"{plan.lost_like}?",
            share_word(sum(ratio <= 1 + NEAR for ratio in reach.values()), len(reach)),
            f"Loss of the one by an integer program over all forward moves, as a multiple of the other's lower bound: "
            f"{_numbers(reach)}.",
        ),
        Answer(
            "Is it of no use to move events among earlier snapshots once more, which the paper leaves out?",
            share_word(sum(ratio <= 1 + NEAR for ratio in steps.values()), len(steps)),
            f"The steps of the method in a window of {plan.window} lose, as a multiple of what the program over the "
            f"whole stream does within the same distance: {_numbers(steps)}.",
        ),
        Answer(
            "Do forward moves alone give a similar result as moves in both directions?",
            share_word(sum(ratio <= 1 + NEAR for ratio in ways.values()), len(ways)),
            f"By the same program, loss of forward moves as a multiple of the lower bound for both: {_numbers(ways)}.",
        ),
    ]


def on_queries(results: Results) -> list[Answer]:
    """Window queries: sections I.A and I.B."""
    plan, fair = results.plan, results.sets.fair
    names = [stream.name for stream in fair]
    cells = [(name, n) for name in names for n in plan.longest]

    def by_value(kind: str, name: str, n: int) -> float:
        return results.released[name][kind].by_value[n]

    def by_all(kind: str, name: str, n: int) -> float:
        return results.released[name][kind].by_all[n]

    good = [by_value(REPOSITIONED, *cell) <= NEAR for cell in cells]
    worse = {
        kind: sum(by_value(kind, *cell) > by_value(REPOSITIONED, *cell) for cell in cells)
        for kind in (MERGED, HINDSIGHT, LIMITED, SUPPRESSED)
    }
    also = {
        kind: sum(by_all(kind, *cell) > by_all(REPOSITIONED, *cell) for cell in cells)
        for kind in (MERGED, HINDSIGHT, LIMITED, SUPPRESSED, GENERALISED)
    }
    where = "at {} of " + str(len(cells)) + " places"
    short, long = plan.longest[0], plan.longest[-1]
    ahead = {
        n: sum(by_value(SUPPRESSED, name, n) > by_value(REPOSITIONED, name, n) for name in names) for n in plan.longest
    }
    return [
        Answer(
            "Do repositioned events keep high utility for window queries?",
            share_word(sum(good), len(good)),
            f"Mean error of counting a value, windows of {short} and of up to {long} snapshots: "
            + ", ".join(
                f"{name} {by_value(REPOSITIONED, name, short):.1%} and {by_value(REPOSITIONED, name, long):.1%}"
                for name in names
            )
            + ".",
        ),
        Answer(
            "Are merged snapshots worse for window queries than repositioned ones?",
            share_word(worse[MERGED], len(cells)),
            f"Counting a value, {where.format(worse[MERGED])} (stream and longest window); merged with hindsight, "
            f"{where.format(worse[HINDSIGHT])}; merged over at most {plan.window} snapshots, suppressing the rest, "
            f"{where.format(worse[LIMITED])}.",
        ),
        Answer(
            "Are they worse where queries ask for quasi-identifiers as well?",
            share_word(also[MERGED], len(cells)),
            f"{where.format(also[MERGED]).capitalize()}; with hindsight {also[HINDSIGHT]}, limited {also[LIMITED]}. "
            f"Repositioned and generalised is worse than bucketised {where.format(also[GENERALISED])}.",
        ),
        Answer(
            "Is suppression alone worse for window queries than repositioning?",
            share_word(worse[SUPPRESSED], len(cells)),
            f"Counting a value, {where.format(worse[SUPPRESSED])}: "
            + ", ".join(f"on {ahead[n]} of {len(names)} streams for windows of up to {n}" for n in plan.longest)
            + ". A suppressed event is missing from one snapshot; a moved one is missing there and too many in "
            "another, until the window is long enough to hold both.",
            paper=False,
        ),
    ]


def on_risk(results: Results) -> list[Answer]:
    """Homogeneity: section I, and what suppression gives away."""
    names = list(results.released)
    highest = {name: results.released[name][REPOSITIONED].risk.highest for name in names}
    levels = {name: results.sets.streams[name].l for name in names}
    told = {name: results.released[name][REPOSITIONED].risk for name in names}
    alike = {name: results.released[name][REPOSITIONED].alike for name in names}
    above = [
        name for name in names if told[name].n_unmatched and max(told[name].unmatched, alike[name]) > 1 / levels[name]
    ]
    inside = [highest[name] <= 1 / levels[name] + 1e-12 for name in names]
    return [
        Answer(
            "Is the chance of inferring a published event's value at most 1/l?",
            yes_no(all(inside)),
            "The adversary knows quasi-identifiers and time; highest chance over all people whom a published event "
            "could belong to: "
            + ", ".join(f"{name} {highest[name]:.3f} (1/l = {1 / levels[name]:.3f})" for name in names)
            + ".",
        ),
        Answer(
            "Are suppressed events safe from the same attack?",
            share_word(len(names) - len(above), len(names)),
            "Anyone whom no published event fits was suppressed, and only values that are too frequent are "
            "suppressed. How often a guess among the most frequent values of the published snapshot is right, and in "
            "brackets how often the most frequent value among the suppressed of that day: "
            + ", ".join(
                f"{name} {told[name].unmatched:.0%} of {told[name].n_unmatched:,} ({alike[name]:.0%})"
                if told[name].n_unmatched
                else f"{name} nobody is seen to be missing"
                for name in names
            )
            + ".",
            paper=False,
        ),
    ]


def why(results: Results) -> str:
    """In words, for the streams on which something does not come out."""
    plan, parts = results.plan, []
    for stream in results.sets.streams.values():
        placed = results.place(stream.name, plan.window)
        room = stream.most * stream.l
        if not stream.fair:
            least = least_suppressed(stream)
            parts.append(
                f"- {stream.name}: one value has {stream.most:.1%} of all events, and may have {1 / stream.l:.1%}. "
                f"That is not chance, and no move helps: at least {least:.1%} of the events must go, even if all were "
                f"one snapshot. Repositioning suppresses {placed.lost:.1%}, suppression alone "
                f"{results.place(stream.name, 1).lost:.1%}. A guess without any release is right for "
                f"{results.released[stream.name][REPOSITIONED].risk.baseline:.0%}."
            )
        elif stream.runs(plan.window) < 0.5:
            parts.append(
                f"- {stream.name}: eligible as a whole, but in few stretches of it: of {plan.window} snapshots in a "
                f"row {stream.runs(plan.window):.1%} are eligible together. Values come in waves, so the days after "
                "one that has too much of a value have too much of it as well. The paper takes data to be "
                'distributed randomly in time ("not the inherently unbalanced distribution").'
            )
        elif room > 0.9:
            parts.append(
                f"- {stream.name}: eligible as a whole, but barely: the most frequent value has {room:.0%} of what it "
                f"may have. Of {plan.window} snapshots in a row {stream.runs(plan.window):.0%} are eligible together, "
                f"of {far_run(results)} {stream.runs(far_run(results)):.0%}: "
                + (
                    "others with room are near."
                    if stream.runs(far_run(results)) >= COMPLEMENT
                    else "a snapshot with too much of it waits long for others with room."
                )
            )
        else:
            parts.append(
                f"- {stream.name}: the most frequent value has {room:.0%} of what it may have, and any time is like "
                "any other: the case the paper describes."
            )
    return "\n".join(parts)


def least_suppressed(stream: Stream) -> float:
    """The share that must go if all events were one snapshot."""
    totals = stream.counts.sum(axis=0)
    levels = np.arange(int(totals.max()) + 1)
    kept = np.minimum(totals[None, :], levels[:, None]).sum(axis=1)
    return 1.0 - float(kept[levels * stream.l <= kept].max() / totals.sum())


def _enough(results: Results, cost: str) -> str:
    """The smallest window that is nearly as good, for each stream."""
    found = []
    for stream in results.sets.fair:
        endless = results.place(stream.name, ENDLESS, cost).loss
        enough = [
            w for w in results.plan.windows if ratio(results.place(stream.name, w, cost).loss, endless) <= 1 + NEAR
        ]
        found.append(f"{stream.name} {enough[0]}" if enough else f"{stream.name} none of those tried")
    return f"The first window within {NEAR:.0%}: {', '.join(found)}."


def _by_price(results: Results) -> str:
    """That it depends on what a suppressed event is held to cost."""
    plan = results.plan

    def multiple(name: str, n: int) -> float:
        own, endless = (results.place(name, window, "linear", n).loss for window in (plan.window, ENDLESS))
        return ratio(own, endless)

    largest = {n: max(multiple(stream.name, n) for stream in results.sets.fair) for n in plan.lost_likes}
    listed = ", ".join(f"{most:.2f} if that is like {n} late" for n, most in largest.items())
    return f" It depends on what suppression is held to cost: at most {listed}."


def _eligible_levels(results: Results) -> Sequence[int]:
    """Levels for which simulated registers are eligible as a whole."""
    return [l for l in results.plan.ls if l * results.size_most <= 1.0]


def _listed(shares: dict[str, float], digits: int = 0) -> str:
    return ", ".join(f"{name} {share:.{digits}%}" for name, share in shares.items())


def _numbers(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {number:.2f}" for name, number in found.items())


def _pairs(first: dict[str, float], second: dict[str, float]) -> str:
    return ", ".join(f"{name} {first[name]:.1%} against {second[name]:.1%}" for name in first)
