"""What attacks achieve on releases of simulated and real meters: whether what must show does, and what noise ends.

Writes attacks.md and its figures, by default to docs/results. Every sentence about an outcome is computed. Sets that
the data folder has not are left out, and the page says so.
"""

import argparse
import sys
from pathlib import Path

import numba
import scipy.optimize  # noqa: F401 - brings a BLAS of its own, which can be limited only once it is there
from answers import Answer
from attacks_on_releases_data import FILES, MEANINGS, Sets, load
from attacks_on_releases_figures import all_figures
from attacks_on_releases_findings import RULES, further, must_show, percent, plain_curve, plain_subset
from attacks_on_releases_measures import (
    EXCHANGED,
    NEAR_BY,
    NOISE,
    PERIOD,
    POINTS,
    PSEUDONYMS,
    QUICK,
    SOLVER_SECONDS,
    STEPS,
    TOTALS,
    OnSet,
    Plan,
    Results,
    means_of,
    measure,
)
from drawing import draw
from threadpoolctl import threadpool_limits

from shoal.model import Interval, Risk

ROOT = Path(__file__).resolve().parents[1]
FEWEST = 60  # series: six groups of ten, and half of them outside
FIGURES = {
    "points": "Chance to find a target's series by the number of known readings; bars are 95 % intervals, dotted "
    "lines 1/k.",
    "noise": "The same by the signal-to-noise ratio of the release, plain and after filtering.",
    "subset": "Share of the members of means that are found, by the noise on the means; bars are 95 % intervals over "
    "means.",
}


def main() -> None:
    """Load, attack, draw, write."""
    given = arguments()
    numba.set_num_threads(1)  # threads that wait for a busy core would be timed as well
    with threadpool_limits(limits=1):
        sets = load(given.data, given.series, given.days, given.seed)
        results = measure(sets, QUICK if given.quick else Plan(), given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    drawn = draw(all_figures(results), given.out)
    written = given.out / "attacks.md"
    written.write_text(page(given, results, drawn=drawn), encoding="utf-8")
    print(f"wrote {written} after {results.seconds:.0f} s of the processor")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the real sets")
    parser.add_argument("--series", type=int, default=300, help=f"of each set at most, at least {FEWEST}")
    parser.add_argument("--days", type=int, default=14, help="of theirs, at least 14")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--quick", action="store_true", help="few parameters")
    given = parser.parse_args()
    if given.series < FEWEST or given.days < 14:
        sys.exit(f"Needs at least {FEWEST} households and 14 days.")
    return given


def page(given: argparse.Namespace, results: Results, *, drawn: bool) -> str:
    """The whole page."""
    figure = _figure if drawn else _no_figure
    asked, others = must_show(results), further(results)
    options = f"--series {given.series} --days {given.days} --seed {given.seed}{' --quick' if given.quick else ''}"
    good = sum(answer.word == "yes" for answer in asked)
    parts = [
        "# What attacks achieve on releases",
        "See how often each attack succeeds on releases of simulated and real meters, and which releases withstand it.",
        f"Written by `python experiments/attacks_on_releases.py {options}`, with every figure and table; do not edit. "
        f"It took {results.seconds / 60:.1f} minutes of one core.",
        "[Attacks](../attacks.md) explains what each attack knows and what a figure means.",
        f"In short: of {len(asked)} expected results, {good} appear on every set.",
        *data_section(results.sets, given.seed),
        "## Expected results",
        RULES,
        answers_table(asked),
        "## Other results",
        answers_table(others),
        "## Links to single series",
        "Chance of success in %, in brackets the prosecutor's figure, the mean of the links that look best.",
        links_table(results),
        "### By the number of known readings",
        plain_curve(results),
        figure("points"),
        "## Who is in a release",
        how_membership(results),
        membership_table(results),
        "## Outliers seen and unseen",
        how_outliers(results),
        outliers_table(results),
        "## Noise",
        f"{results.plan.filtered} readings are known. Chance of success in %, with its 95 % interval.",
        noise_table(results),
        figure("noise"),
        "## Who is in a group",
        how_subsets(results),
        plain_subset(results),
        subset_table(results),
        figure("subset"),
        "## Time",
        times_note(results),
        times_table(results),
    ]
    return "\n\n".join(parts) + "\n"


def data_section(sets: Sets, seed: int) -> list[str]:
    """Which sets there are."""
    lines = ["| set | series | instants | what |", "|---|---:|---:|---|"]
    lines += [
        f"| {name} | {panel.n_series} | {panel.n_instants:,} | {MEANINGS[name]} |"
        for name, panel in sets.panels.items()
    ]
    note = f"Seed {seed} for everything random."
    if sets.absent:
        note += f" The data folder has no {', '.join(sets.absent)}: these sets are left out."
    if len(sets.absent) == len(FILES):
        note += " **All data here are simulated.**"
    return ["## Data", "\n".join(lines), note]


def answers_table(answers: list[Answer]) -> str:
    """A question, one word, and its figures."""
    lines = ["| asked | answer | figures |", "|---|---|---|"]
    return "\n".join(lines + [f"| {answer.question} | {answer.word} | {answer.figures} |" for answer in answers])


def links_table(results: Results) -> str:
    """Every release by what is known."""
    lines = [f"| set | release | {POINTS} | {TOTALS} | {PERIOD} | guessing |", "|---|---|---:|---:|---:|---:|"]
    for name, on in results.found.items():
        for release in (PSEUDONYMS, *map(means_of, results.plan.ks), NOISE, EXCHANGED):
            risks = [on.linked[release, what] for what in (POINTS, TOTALS, PERIOD)]
            cells = " | ".join(_cell(risk) for risk in risks)
            lines.append(f"| {name} | {release} | {cells} | {_number(risks[0].baseline)} |")
    return "\n".join(lines)


def how_membership(results: Results) -> str:
    """What both adversaries know."""
    return (
        "Half of the series are published. Both adversaries know every reading of everyone. One knows for half of the "
        "people whether they are in the release, and is judged on the rest; the other knows this for nobody, but "
        f"knows the method and makes {results.plan.shadows} shadow releases "
        f"(`Membership(shadows={results.plan.shadows})`). Right answers in %, with the 95 % interval; guessing gives "
        "50."
    )


def membership_table(results: Results) -> str:
    """Both adversaries by release."""
    lines = ["| set | release | some are known | shadow releases |", "|---|---|---:|---:|"]
    for name, on in results.found.items():
        for release, risk in on.inside.items():
            other = on.rehearsed.get(release)
            cells = [_between(one.success, one.interval) if one is not None else "–" for one in (risk, other)]
            lines.append(f"| {name} | {release} | {' | '.join(cells)} |")
    return "\n".join(lines)


def how_outliers(results: Results) -> str:
    """How outliers are looked for, and what a trial had found."""
    return (
        f"{results.plan.outliers} outliers are injected (`inject_outliers`) and as many others are kept out. An "
        f"outlier counts as found if a published mean is within {NEAR_BY:g} of its norm; in %, with the 95 % interval. "
        "What is found among the injected ones beyond the others comes from the release. *Nearer* is the chance that "
        "a mean is nearer to an injected outlier than to another, as a share of their norms: 50 % means that the "
        "release reveals nothing. An earlier trial with other outliers, by OpenSynth's recipe, had 77 against 49 % at "
        "k = 3 and 50 against 50 % at k = 10; those of `inject_outliers` resemble nobody, so hardly any mean is as "
        "near."
    )


def outliers_table(results: Results) -> str:
    """Shares found of outliers seen and unseen."""
    lines = ["| set | k | injected | others | nearer |", "|---|---:|---:|---:|---:|"]
    for name, on in results.found.items():
        for k, (seen, unseen, share, other, nearer) in on.outliers.items():
            cells = [_between(share, seen), _between(other, unseen), _number(nearer)]
            lines.append(f"| {name} | {k} | {' | '.join(cells)} |")
    return "\n".join(lines)


def noise_table(results: Results) -> str:
    """Filtered and plain by ratio."""
    lines = ["| set | | " + " | ".join(f"{ratio:g}" for ratio in results.plan.ratios) + " |"]
    lines += ["|---|---|" + "---:|" * len(results.plan.ratios)]
    for name, on in results.found.items():
        filtered = " | ".join(_between(risk.success, risk.interval) for risk in on.denoised)
        plain = " | ".join(_between(risk.plain, risk.plain_interval or risk.interval) for risk in on.denoised)
        lines += [f"| {name} | filtered | {filtered} |", f"| | plain | {plain} |"]
    return "\n".join(lines) + "\n\nColumns: signal-to-noise ratio, of the variances."


def how_subsets(results: Results) -> str:
    """How the subset problem was put."""
    plan = results.plan
    return (
        f"Means of at least {plan.members} among up to {plan.candidates} candidates, whose totals are all known, with "
        "independent Gaussian noise on every reading of every mean, as a share of it. *Exactly*: sets whose sums fit "
        "to a millionth, of all means. *Best set*: the nearest sum, which is always found and says nothing about "
        f"whether it is right; of {plan.nearest_means} means drawn at random, or with one total {plan.few_means}. "
        f"Weekly totals and one total on simulated households only. The solver had {SOLVER_SECONDS:.0f} s for each "
        "mean; if time ran out, the best set so far counts."
    )


def subset_table(results: Results) -> str:
    """Shares of members found, by noise."""
    lines = ["| set | sets | means | " + " | ".join(f"{n * 100:g} %" for n in results.plan.noises) + " | guessing |"]
    lines += ["|---|---|---:|" + "---:|" * (len(results.plan.noises) + 1)]
    for name, on in results.found.items():
        for words, risks in _by_sets(on).items():
            cells = " | ".join(_number(risk.success) for risk in risks)
            lines.append(f"| {name} | {words} | {risks[0].n_means} | {cells} | {_number(risks[0].baseline)} |")
    return (
        "\n".join(lines) + "\n\nShare of the members found in %. Columns: noise as a share of each reading of a mean."
    )


def times_note(results: Results) -> str:
    """What was timed."""
    n, days = results.plan.timed
    return (
        f"Processor seconds for one attack on all targets of {n:,} simulated households over {days} hourly days, on "
        "one thread, without compiling. Against means of 4, `Denoising` against noise and `Unmixing` against "
        "exchanged days. The subset attack takes up to `time_limit` seconds for each mean instead."
    )


def times_table(results: Results) -> str:
    """Attacks and seconds."""
    lines = ["| attack | seconds |", "|---|---:|"]
    return "\n".join(lines + [f"| {name} | {seconds:.2f} |" for name, seconds in results.times.items()])


def _by_sets(on: OnSet) -> dict[str, list[Risk]]:
    found: dict[str, list[Risk]] = {"exactly, daily totals": list(on.exact)}
    return found | {f"best set, {STEPS[step]}": list(risks) for step, risks in on.nearest.items()}


def _cell(risk: Risk) -> str:
    return f"{_number(risk.success)} ({_number(risk.prosecutor or 0.0)})"


def _between(share: float, interval: Interval) -> str:
    return f"{_number(share)} ({100 * interval.low:.0f} to {100 * interval.high:.0f})"


def _number(share: float) -> str:
    return percent(share).removesuffix("%").strip()


def _figure(name: str) -> str:
    return f"![{FIGURES[name]}](attacks-{name}.png)\n\n*{FIGURES[name]}*"


def _no_figure(name: str) -> str:
    return f"*{FIGURES[name]}* Not drawn: Chromium was not found."


if __name__ == "__main__":
    main()
