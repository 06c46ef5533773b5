"""Whether what must show does in experiments/attacks_on_releases.py: each answer follows from the figures."""

from collections.abc import Callable, Mapping

from answers import Answer, share_word
from attacks_on_releases_measures import (
    NOISE,
    PERIOD,
    POINTS,
    PSEUDONYMS,
    SLICES,
    STEPS,
    TOTALS,
    OnSet,
    Results,
    means_of,
)

from shoal.model import Interval, Risk

LIMIT = 0.95  # of the targets, where nothing but the names was changed
SAME_STRENGTH = 1.0  # the ratio at which filtering is judged
RULES = (
    "Links to a pseudonymised release must succeed for at least 95 % of the targets, and links to means for at most "
    "1/k plus the upper half of the interval. The other rules were chosen before the first full run, when a trial had "
    "shown most figures for simulated households and Slovak meters: one attack *beats* another, or guessing, if their "
    "95 % intervals do not overlap, and the filter is judged where noise is as strong as the signal. Yes: on every "
    "set; mostly: on more than half; partly: on fewer; no: on none. After that run, only the number of means whose "
    "best set is searched for was raised."
)


def must_show(results: Results) -> list[Answer]:
    """What was asked for."""
    plan = results.plan
    found = [
        _everywhere(
            results,
            f"Pseudonyms only: does someone with {what} find at least 95 % of the households?",
            lambda on, what=what: on.linked[PSEUDONYMS, what].success >= LIMIT,
            lambda on, what=what: _with_interval(on.linked[PSEUDONYMS, what]),
        )
        for what in (TOTALS, POINTS)
    ]
    found += [
        _everywhere(
            results,
            f"Means of {k}: are links at most 1/k = {percent(1 / k)} plus the interval, whatever is known?",
            lambda on, k=k: all(within(on.linked[means_of(k), what], k) for what in (POINTS, TOTALS, PERIOD)),
            lambda on, k=k: ", ".join(
                f"{what} {percent(on.linked[means_of(k), what].success)}" for what in (POINTS, TOTALS, PERIOD)
            ),
        )
        for k in plan.ks
    ]
    at = plan.ratios.index(SAME_STRENGTH)
    found += [
        _everywhere(
            results,
            "Noise: does filtering beat plain linking?",
            lambda on: apart(on.denoised[at].interval, on.denoised[at].plain_interval),
            lambda on: f"{percent(on.denoised[at].success)} filtered, {percent(on.denoised[at].plain)} plain",
        ),
        _everywhere(
            results,
            f"Subset problem, k = {plan.members}: are the very members of every mean found, and no other set?",
            lambda on: on.exact[0].recovered == 1.0,
            lambda on: f"{percent(on.exact[0].recovered)} of {on.exact[0].n_means} means, {on.n_candidates} candidates",
        ),
        _everywhere(
            results,
            f"Does noise of {percent(plan.noises[1])} on the means end the exact search?",
            lambda on: all(risk.success == 0.0 for risk in on.exact[1:]),
            lambda on: f"{percent(on.exact[1].success)} of the members found",
        ),
        _everywhere(
            results,
            f"Two releases with k = {plan.members}, each fine alone: do they break together "
            "and does the ledger refuse?",
            lambda on: max(on.together.alone) <= 1 / plan.members and on.together.fewest < plan.members and on.refused,
            lambda on: (
                f"{percent(max(on.together.alone))} alone, {percent(on.together.success)} together, "
                f"{'refused' if on.refused else 'not refused'}"
            ),
        ),
    ]
    return found


def further(results: Results) -> list[Answer]:
    """What was not asked for, and what protects less than one might think."""
    plan, last = results.plan, results.plan.noises[1]
    found = [
        _everywhere(
            results,
            "Noise: does filtering beat plain linking at every signal-to-noise ratio that was tried?",
            lambda on: all(apart(risk.interval, risk.plain_interval) for risk in on.denoised),
            lambda on: (
                f"at {sum(apart(risk.interval, risk.plain_interval) for risk in on.denoised)} of {len(on.denoised)}"
            ),
        ),
        _everywhere(
            results,
            f"Does noise of {percent(last)} on the means end the search for the set that fits best, by daily totals?",
            lambda on: not apart(on.nearest["day"][1].interval, on.nearest["day"][1].baseline_interval),
            lambda on: f"{percent(on.nearest['day'][1].success)} of the members found",
        ),
        _everywhere(
            results,
            "Days exchanged between all series: does looking piece by piece beat looking for whole series?",
            lambda on: apart(on.unmixed.interval, on.unmixed.plain_interval),
            lambda on: f"{percent(on.unmixed.success)} of the readings, {percent(on.unmixed.plain)} by whole series",
        ),
    ]
    found += [
        _everywhere(
            results,
            f"{name.capitalize()}: does putting them together beat guessing?",
            lambda on, name=name: apart(on.reordered[name].interval, on.reordered[name].baseline_interval),
            lambda on, name=name: (
                f"{percent(on.reordered[name].success)}, by guessing {percent(on.reordered[name].baseline)}"
            ),
        )
        for name in SLICES
    ]
    found += [
        _everywhere(
            results,
            f"Membership, {name}: can it be inferred better than by guessing?",
            lambda on, name=name: apart(on.inside[name].interval, on.inside[name].baseline_interval),
            lambda on, name=name: _with_interval(on.inside[name]),
        )
        for name in (PSEUDONYMS, NOISE, *map(means_of, plan.ks))
    ]
    found += [
        _everywhere(
            results,
            f"Membership, {name}: do {plan.shadows} shadow releases infer it better than guessing?",
            lambda on, name=name: apart(on.rehearsed[name].interval, on.rehearsed[name].baseline_interval),
            lambda on, name=name: _with_interval(on.rehearsed[name]),
        )
        for name in (NOISE, *map(means_of, plan.ks))
    ]
    found += [
        _everywhere(
            results,
            f"Outliers, means of {k}: are more found of those injected than of others?",
            lambda on, k=k: apart(*on.outliers[k][:2]),
            lambda on, k=k: f"{percent(on.outliers[k][2])} of those injected, {percent(on.outliers[k][3])} of others",
        )
        for k in plan.crowds
    ]
    return found


def plain_curve(results: Results) -> str:
    """What the curve over known readings shows."""
    said = []
    for name, on in results.found.items():
        enough = [n for n, risk in zip(results.plan.known, on.curves[PSEUDONYMS], strict=True) if risk.success >= LIMIT]
        most = {k: max(risk.success for risk in on.curves[means_of(k)]) for k in results.plan.ks}
        reach = f"n = {enough[0]} finds 95 %" if enough else f"n = {results.plan.known[-1]} does not find 95 %"
        ends = ", ".join(f"at most {percent(share)} with k = {k}" for k, share in most.items())
        said.append(f"On {name} {reach} of a pseudonymised release, and n up to {results.plan.known[-1]} finds {ends}.")
    return " ".join(said)


def plain_subset(results: Results) -> str:
    """What noise does to the set that fits best."""
    said = []
    for name, on in results.found.items():
        for step, risks in on.nearest.items():
            half = [n for n, risk in zip(results.plan.noises, risks, strict=True) if risk.success < 0.5]
            ends = f"from {percent(half[0])} on" if half else f"not even {percent(results.plan.noises[-1])}"
            said.append(f"{STEPS[step]} on {name}: {ends}")
    return f"Noise that leaves fewer than half of the members to be found: {'; '.join(said)}."


def within(risk: Risk, k: int) -> bool:
    """At most 1/k, or above it by no more than the interval reaches upwards."""
    return risk.success <= 1 / k + (risk.interval.high - risk.success)


def apart(higher: Interval, lower: Interval | None) -> bool:
    """Whether one interval lies above the other."""
    return lower is not None and higher.low > lower.high


def percent(share: float) -> str:
    """Two digits, and never a hundred that is none."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    return f"{100 * share:.2g} %".replace("1e+02 %", "> 99 %") if share < 0.995 else "> 99 %"


def _with_interval(risk: Risk) -> str:
    return f"{percent(risk.success)} ({100 * risk.interval.low:.0f} to {100 * risk.interval.high:.0f})"


def _everywhere(
    results: Results, question: str, holds: Callable[[OnSet], bool], figures: Callable[[OnSet], str]
) -> Answer:
    held = {name: bool(holds(on)) for name, on in results.found.items()}
    listed = _joined({name: figures(on) for name, on in results.found.items()})
    return Answer(question, share_word(sum(held.values()), len(held)), listed, paper=False)


def _joined(figures: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in figures.items()) + "."
