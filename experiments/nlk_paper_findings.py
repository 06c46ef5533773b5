"""Whether the paper's statements come out in experiments/nlk_paper.py: each answer follows from the figures."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median

import numpy as np
from answers import Answer, share_word, yes_no
from nlk_paper_data import METERS, NEXT
from nlk_paper_measures import STRATEGIES, Measured, Results, time_places

from shoal.methods.nlk import SPLIT_FURTHER_UP_TO, Strategy

# Settled before anything was measured, and so was how times are taken.
NEAR = (
    'The meaning of each phrase was fixed before the first run: "around 10 %" is taken as 9 to 11 %, "around 3 %" as '
    '2 to 4 %, "approximately 35 %" as 30 to 40 %, "roughly twice" as 1.5 to 2.5 times, "much faster" as ten times. '
    "Yes: wherever it was measured; mostly: at more than half of the places; partly: at fewer; no: nowhere. Statements "
    'with "never" or "always" are answered by yes or no only.'
)
DIVERGENCES = {20: (15.0, 18.0, "between 15 and 18 %"), 10: (9.0, 11.0, "around 10 %")}  # by k
LARGEST_SHIFT = 11.0
HEURISTICS: tuple[Strategy, ...] = ("mil", "mth")
PAPERS: tuple[Strategy, ...] = ("cluster", "mth")  # what the paper's figures 7 to 10 show


def on_divergence(results: Results) -> list[Answer]:
    """Figure 7 and its text."""
    plan, main = results.plan, results.main
    places = _places(results)
    found = []
    for k, (low, high, words) in DIVERGENCES.items():
        values = {s: [100.0 * main.get(s, n, n + m, k).divergence for n, m in places] for s in STRATEGIES}
        stated = [value for s in PAPERS for value in values[s]]
        inside = sum(low <= value <= high for value in stated)
        found.append(
            Answer(f"Is the divergence {words} at k = {k}?", share_word(inside, len(stated)), f"{_ranges(values)}.")
        )
    steps = [
        _steps([main.get("mth", n, n + m, k).divergence for m in plan.margins], rises=False)
        for n in (plan.n, plan.small_n)
        for k in plan.ks
    ]
    made, of = sum(step[0] for step in steps), sum(step[1] for step in steps)
    found.append(
        Answer(
            "Does splitting work better, the higher l − n is?",
            share_word(made, of),
            f"The divergence of `mth` falls at {made} of {of} steps to a larger l.",
        )
    )
    pairs = [(main.get("mth", n, n + m, k), main.get("optimal", n, n + m, k)) for n, m in places for k in plan.ks]
    found.append(_ours("divergence", [(mth.divergence, ours.divergence) for mth, ours in pairs]))
    return found


def on_n(results: Results) -> str:
    """What n does at the same l - n; the paper's figure has one n per panel."""
    plan, main = results.plan, results.main
    pairs = [
        [main.get("mth", n, n + m, k).divergence for n in (plan.n, plan.small_n)] for m in plan.margins for k in plan.ks
    ]
    apart = max(abs(a / b - 1.0) for a, b in pairs)
    same = "lose the same" if apart == 0.0 else f"differ by at most {apart:.2%} of the divergence"
    return (
        f"At the same l − n, `mth` at n = {plan.n} and at n = {plan.small_n} {same}. "
        f"Above n = {SPLIT_FURTHER_UP_TO} `optimal` does not look at n at all."
    )


def why_divergence(results: Results) -> str:
    """How the sets differ where divergence comes from."""
    plan = results.plan
    k = plan.ks[-1]
    lines = [
        f"| set | series | groups of {k}, at most | lost by one group for all | of stage 1's loss, in the top group |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, runs in results.runs.items():
        x = runs.panel.values
        one = float(np.abs(x - x.mean(axis=0)).sum() / np.abs(x).sum())
        top = runs.get("cluster", plan.n, plan.n + plan.middle, k).top
        lines.append(f"| {name} | {x.shape[0]:,} | {x.shape[0] // k} | {one:.1%} | {top:.0%} |")
    return "\n".join(lines)


def two_samples(results: Results) -> str:
    """How much of a difference from the paper may be the sample."""
    plan = results.plan
    if NEXT not in results.runs:
        return ""
    k, place = plan.ks[-1], (plan.n, plan.n + plan.middle)
    first, second = (100.0 * results.runs[name].get("mth", *place, k).divergence for name in (METERS, NEXT))
    return (
        f"Two samples of one file differ as well: at ({plan.n}, {plan.n + plan.middle}, {k}) `mth` loses {first:.1f} % "
        f"of the {METERS} and {second:.1f} % of the {NEXT}. The paper's households are not published."
    )


def spread(results: Results) -> str:
    """How far repeats of one release are apart."""
    if results.plan.repeats == 1:
        return "Times were taken once: small differences may go the other way in another run."
    apart = {
        s: max((max(runs) - min(runs)) / median(runs) for key, runs in results.times.seconds.items() if key[0] == s)
        for s in STRATEGIES
    }
    listed = ", ".join(f"`{s}` {share:.0%}" for s, share in apart.items())
    return (
        f"Repeats of the same release differ by up to this share of their median: {listed}. Steps and differences "
        "smaller than that may go the other way in another run."
    )


def on_sets(results: Results) -> list[Answer]:
    """The same statements on every set, for the parameters of the compact table."""
    plan, found = results.plan, []
    place = (plan.n, plan.n + plan.middle)
    for k, (low, high, words) in DIVERGENCES.items():
        if k in plan.target_ks:
            values = {name: 100.0 * results.runs[name].get("mth", *place, k).divergence for name in results.sets.meters}
            inside = sum(low <= value <= high for value in values.values())
            question = f"Is the divergence of `mth` {words} at k = {k} on every set?"
            found.append(Answer(question, share_word(inside, len(values)), f"{_listed(values)}."))
    shifts = {
        name: max(100.0 * results.runs[name].get(s, *place, k).shift for s in PAPERS for k in plan.target_ks)
        for name in results.sets.meters
    }
    inside = sum(value <= LARGEST_SHIFT for value in shifts.values())
    question = f"Is the shift of `cluster` and `mth` at most {LARGEST_SHIFT:.0f} % on every set?"
    found.append(Answer(question, share_word(inside, len(shifts)), f"The largest: {_listed(shifts)}."))
    pairs = [
        (runs.get("mth", *place, k).divergence, runs.get("optimal", *place, k).divergence)
        for runs in (results.runs[name] for name in results.sets.meters)
        for k in plan.target_ks
    ]
    return [*found, _ours("divergence", pairs, " on every set")]


def on_shift(results: Results) -> list[Answer]:
    """Figure 9 and its text."""
    plan, main = results.plan, results.main
    places = _places(results)
    largest = {s: max(100.0 * main.get(s, n, n + m, k).shift for n, m in places for k in plan.ks) for s in STRATEGIES}
    at_10 = {s: [100.0 * main.get(s, n, n + m, 10).shift for n, m in places] for s in STRATEGIES}
    stated = [value for s in PAPERS for value in at_10[s]]
    pairs = [
        (main.get("mth", n, n + m, k).shift, main.get("optimal", n, n + m, k).shift) for n, m in places for k in plan.ks
    ]
    return [
        Answer(
            f"Does the shift of the standard deviation never exceed {LARGEST_SHIFT:.0f} %?",
            yes_no(all(largest[s] <= LARGEST_SHIFT for s in PAPERS)),
            f"The largest: {_listed(largest, code=True)}.",
        ),
        Answer(
            "Is the shift around 3 % at k = 10?",
            share_word(sum(2.0 <= value <= 4.0 for value in stated), len(stated)),
            f"{_ranges(at_10, '.2f')}.",
        ),
        _ours("shift", pairs),
    ]


def on_synthetic(results: Results) -> list[Answer]:
    """Figure 8 and its text."""
    plan, found = results.plan, []
    place = (plan.n, plan.n + plan.middle)
    for name in results.sets.synthetic:
        runs = results.runs[name]
        own, main = (r.divergences("mth", plan.n, plan.middle, plan.ks) for r in (runs, results.main))
        ours = runs.divergences("optimal", plan.n, plan.middle, plan.ks)
        below = sum(a < b for a, b in zip(own, main, strict=True))
        shift = max(100.0 * runs.get(s, *place, k).shift for s in PAPERS for k in plan.ks)
        found += [
            Answer(
                f"Is the divergence of {name} panels below that of {results.sets.main}?",
                share_word(below, len(own)),
                f"`mth`: {own[0]:.2f} to {own[-1]:.2f} % against {main[0]:.2f} to {main[-1]:.2f} %.",
            ),
            Answer(
                f"Does the shift of {name} panels never exceed {LARGEST_SHIFT:.0f} %?",
                yes_no(shift <= LARGEST_SHIFT),
                f"At most {shift:.3f} %.",
            ),
            _ours("divergence", list(zip(own, ours, strict=True)), f" on {name} panels"),
        ]
    return found


def on_classes(results: Results) -> list[Answer]:
    """Figure 10 and its text."""
    plan, main = results.plan, results.main
    low, high = plan.class_ks[0], plan.class_ks[-1]
    released: dict[Strategy, list[Measured]] = {
        s: [main.get(s, plan.class_n, plan.class_l, k) for k in plan.class_ks] for s in STRATEGIES
    }
    first = {s: 100.0 * next(iter(measured[0].classes.values())) for s, measured in released.items()}
    near = {s: 100.0 * measured[-1].near for s, measured in released.items()}
    far = [100.0 * (1.0 - measured.near) for measured in released["mth"]]
    made, of = _steps(far, rises=True)
    pairs = [(1.0 - mth.near, 1.0 - ours.near) for mth, ours in zip(released["mth"], released["optimal"], strict=True)]
    return [
        Answer(
            f"Are approximately 35 % of the points within 2 % at ({plan.class_n}, {plan.class_l}, {low})?",
            yes_no(30.0 <= first["mth"] <= 40.0),
            f"{_listed(first, code=True)}.",
        ),
        Answer(
            "Does the share of points off by more than 20 % grow with k?",
            share_word(made, of),
            f"`mth`: at {made} of {of} steps, from {far[0]:.1f} % at k = {low} to {far[-1]:.1f} % at k = {high}.",
        ),
        Answer(
            f"Are more than 60 % of the points within 20 % at k = {high}?",
            yes_no(near["mth"] > 60.0),
            f"{_listed(near, code=True)}.",
        ),
        _ours("share of points off by more than 20 %", pairs),
    ]


def on_heuristics(results: Results) -> list[Answer]:
    """Figure 11 and its text."""
    plan, main = results.plan, results.main
    mil, mth, ours = (results.reductions(s, by="k") for s in ("mil", "mth", "optimal"))
    ratios = [a / b if b > 0.0 else float("inf") for a, b in zip(mth, mil, strict=True)]
    places = [(n, n + m, k) for n in plan.grid_ns for m in plan.grid_margins for k in plan.grid_ks]
    kept = sum(main.get("mil", *p).shift < main.get("mth", *p).shift for p in places)
    return [
        Answer(
            "Does MTH reduce the loss roughly twice as much as MIL?",
            share_word(sum(1.5 <= ratio <= 2.5 for ratio in ratios), len(ratios)),
            f"{min(ratios):.2f} to {max(ratios):.2f} times, by k. On average over k it takes away {np.mean(mth):.1f} % "
            f"of the loss of stage 1, MIL {np.mean(mil):.1f} %, `optimal` {np.mean(ours):.1f} %. {_per_split(results)}",
        ),
        Answer(
            "Does MIL tend to preserve outliers?",
            yes_no(kept > len(places) / 2),
            "The paper has no figure for it. Outliers carry the standard deviation, and MIL shifts it less than MTH at "
            f"{kept} of {len(places)} parameters.",
        ),
        _ours("loss", [(main.get("mth", *p).loss, main.get("optimal", *p).loss) for p in places]),
    ]


def _per_split(results: Results) -> str:
    """Why the one saves more than the other."""
    plan, main = results.plan, results.main
    places = [(n, n + m, k) for n in plan.grid_ns for m in plan.grid_margins for k in plan.grid_ks]
    splits = {s: float(np.mean([main.get(s, *p).splits for p in places])) for s in HEURISTICS}
    saved = {s: float(np.mean([main.get("cluster", *p).loss - main.get(s, *p).loss for p in places])) for s in splits}
    if min(*splits.values(), saved["mil"]) <= 0.0:
        return "There were hardly any splits."
    each = (saved["mth"] / splits["mth"]) / (saved["mil"] / splits["mil"])
    return (
        f"MTH makes {splits['mth']:,.0f} splits on average and MIL {splits['mil']:,.0f}; one of MTH saves {each:.2f} "
        "times as much as one of MIL."
    )


def on_time(results: Results) -> list[Answer]:
    """Figures 12 and 13 and their text."""
    plan, times, main = results.plan, results.times, results.main
    places = time_places(plan)
    second = [times.get(s, *p) / times.get("cluster", *p) - 1.0 for s in ("mil", "mth") for p in places]
    faster = sum(times.get("mth", *p) < times.get("mil", *p) for p in places)
    fewer = sum(main.get("mth", *p).splits < main.get("mil", *p).splits for p in places)
    longest = {s: max(max(runs) for key, runs in times.seconds.items() if key[0] == s) for s in STRATEGIES}
    return [
        Answer(
            "Is stage 1 much faster than stage 2?",
            share_word(sum(ratio >= 10.0 for ratio in second), len(second)),
            f"Stage 2 takes {min(second):.0f} to {max(second):.0f} times as long.",
        ),
        _grows(results, "mth"),
        _grows(results, "mil"),
        Answer(
            "Is MTH usually faster than MIL?",
            yes_no(faster > len(places) / 2),
            f"At {faster} of {len(places)} parameters.",
        ),
        Answer(
            "Does MTH make fewer splits?",
            share_word(fewer, len(places)),
            f"At {fewer} of {len(places)} parameters.",
        ),
        Answer(
            "Does no release take more than 12 minutes?",
            yes_no(max(longest.values()) <= 720.0),
            "The longest, in seconds, on another machine than the paper's: "
            + ", ".join(f"`{s}` {seconds:.2f}" for s, seconds in longest.items())
            + ".",
        ),
        _grows(results, "optimal"),
        _ours("time", [(times.get("mth", *p), times.get("optimal", *p)) for p in places]),
    ]


def _grows(results: Results, strategy: Strategy) -> Answer:
    """Whether time grows with l - n: step by step in the medians, and from end to end in every repeat."""
    plan = results.plan
    curve = results.times.by_margin(strategy, plan)
    first, last = (
        results.times.seconds[strategy, plan.time_n, plan.time_n + m, plan.time_k]
        for m in (plan.grid_margins[0], plan.grid_margins[-1])
    )
    agree = sum(b > a for a, b in zip(first, last, strict=True))
    made, of = _steps(curve, rises=True)
    splits = [
        results.main.get(strategy, plan.time_n, plan.time_n + m, plan.time_k).splits
        for m in (plan.grid_margins[0], plan.grid_margins[-1])
    ]
    also = f" Splits: {splits[0]:,} and {splits[1]:,}." if strategy in HEURISTICS else ""
    return Answer(
        f"Does time grow with l − n, `{strategy}`?",
        share_word(made, of) if made > of / 2 and agree == plan.repeats else "no",
        f"It grows at {made} of {of} steps, from {curve[0]:.0f} ms at {plan.grid_margins[0]} to {curve[-1]:.0f} ms at "
        f"{plan.grid_margins[-1]}; the last takes longer than the first in {agree} of {plan.repeats} repeats.{also}",
        paper=strategy != "optimal",
    )


def _ours(what: str, pairs: Sequence[tuple[float, float]], where: str = "") -> Answer:
    """Optimal against mth, pair by pair."""
    ratios = [ours / mth for mth, ours in pairs if mth > 0.0]
    below = sum(ratio < 1.0 for ratio in ratios)
    return Answer(
        f"Is the {what} of `optimal` below that of `mth`{where}?",
        share_word(below, len(ratios)),
        f"At {below} of {len(ratios)} parameters; {min(ratios):.2f} to {max(ratios):.2f} times that of `mth`, "
        f"{np.mean(ratios):.2f} times on average.",
        paper=False,
    )


def _places(results: Results) -> list[tuple[int, int]]:
    """The n and l - n of figures 7 and 9."""
    return [(n, m) for n in (results.plan.n, results.plan.small_n) for m in results.plan.margins]


def _steps(values: Iterable[float], *, rises: bool) -> tuple[int, int]:
    """At how many steps a curve rises, or falls, and of how many."""
    steps = [(b > a) if rises else (b < a) for a, b in pairwise(values)]
    return sum(steps), len(steps)


def _ranges(values: Mapping[Strategy, Sequence[float]], form: str = ".1f") -> str:
    """The smallest and the largest per cent of each strategy."""
    ends = {s: sorted({f"{min(v):{form}}", f"{max(v):{form}}"}, key=float) for s, v in values.items()}
    return ", ".join(f"`{s}` {' to '.join(shown)} %" for s, shown in ends.items())


def _listed(values: Mapping[str, float] | Mapping[Strategy, float], *, code: bool = False) -> str:
    tick = "`" if code else ""
    return ", ".join(f"{tick}{name}{tick} {value:.1f} %" for name, value in values.items())
