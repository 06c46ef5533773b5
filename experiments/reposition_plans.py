"""The paper's step, the rolling plan and the offline optimum on seven streams, and what remedies do for the missing.

    python experiments/reposition_plans.py --days 120 --seed 1

Loss is per event: linear delay, and what 30 snapshots late would cost for each suppressed event. Releases of both plans
are made by the method itself, and every published snapshot is judged by the naive check of l-diversity.
"""

import argparse
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from offline_reposition import offline
from reposition_look_ahead import HEADING, OPENING, TITLE, look_ahead
from reposition_paper_data import CASES, CLINICS, TESTS, Sets, Stream, load

from shoal import Events, MInvariance, Reposition
from shoal.attacks import Homogeneity, Republication
from shoal.attacks.coarser import read_coarser
from shoal.methods.relay_window import RelayWindow
from shoal.methods.remedies import reach_of
from shoal.methods.reposition_costs import delay_costs
from shoal.methods.rolling_window import RollingWindow
from shoal.model import EventTables
from shoal.queries import WindowCount, random_windows

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from naive.event_groups import naive_bucketised  # noqa: E402

WINDOW, LOST_LIKE, REACHED = 7, 30.0, 0.05
OUTCOMES = "outcomes"
PAGE = HERE.parent / "docs" / "results" / "reposition-plans.md"
TREES = {
    OUTCOMES: {"Discharged": "Not in hospital", "No admission": "Not in hospital", "Hospitalised": "In hospital"},
    TESTS: {"negative": "Not positive", "invalid": "Not positive"},
}
REMEDIES: tuple[dict[str, Any], ...] = (
    {"remedy": "suppress"},
    {"remedy": "delay"},
    {"remedy": "merge"},
    {"remedy": "generalise"},
    {"remedy": "counterbalance"},
    {"remedy": "spread", "within": 0.05},
)

ABOUT_PLANS = f"""
Loss per event in a window of {WINDOW}: linear delay, and {LOST_LIKE:g} for each suppressed event. The *paper's step*
leaves the counts of waiting snapshots as they are; *rolling* places the window anew at each arrival, with the same
delay and without knowing the future; the *offline optimum* knows the whole stream (an integer program, at most 0.1%
above its bound, or the best of 200 nodes). *Optimal, limited, step* counts windows proven optimal, those ended by the
limit of work, and those that took the paper's step. Times are processor time on a shared machine
({platform.machine()}) and include the trials that find the price of the horizon; *slowest* is the slowest snapshot.
The last column counts snapshots of the release that the method makes.
"""
ABOUT_REMEDIES = """
What happens to events that find no place, in a window of 7. *Chance* is the homogeneity attack, in which missing is
evidence: for all events, including suppressed ones; for those that may be one of the published events; and for those
that cannot be. *Of one value*: the share that the most frequent value has among the suppressed. *Window error*: mean
relative error of counting a value in up to 1, 7 and 14 snapshots. *Shares within*: how far the share of a value in the
release is from its share in the originals, at most; *possible*: no release under this l that shows values as they are
can be nearer. A generalised value is read by the adversary and by queries as the values below it, by how often each is
published.
"""
ABOUT_SUBJECTS = """
chop_covid_tests by clinic, with all tests of a person, l = 2, window 7. The adversary knows quasi-identifiers and
times of all tests of a person, assumes that the clinic stays the same, and intersects the groups over time.
"""


def in_one_line(text: str) -> str:
    """A paragraph as Markdown has it here."""
    return " ".join(text.split())


class Planned(NamedTuple):
    """What one plan made of a stream."""

    loss: float
    suppressed: float
    milliseconds: float
    slowest: float
    how: dict[str, int]


def plan(window: RelayWindow, stream: Stream) -> Planned:
    """A stream through a window, by counts alone; processor time per snapshot."""
    counts, cost = stream.counts, window.cost
    beta = np.full(counts.shape[1], LOST_LIKE)
    departures, took = [], []
    for at, row in enumerate(counts):
        start = time.process_time()
        departure = window.push(row, beta)
        if at >= WINDOW:  # the first window is an integer program of its own, the same for both
            took.append(time.process_time() - start)
        if departure is not None:
            departures.append(departure)
    departures += window.flush(beta)
    n = int(counts.sum())
    late = sum(len(rows) * cost[d.number - home] for d in departures for home, rows in d.rows)
    lost = sum(len(rows) for d in departures for _, rows in d.suppressed)
    assert n == lost + sum(len(rows) for d in departures for _, rows in d.rows)
    mean = 1000 * sum(took) / max(len(took), 1)
    return Planned(
        (late + LOST_LIKE * lost) / n, lost / n, mean, 1000 * max(took, default=0.0), window.figures.get("windows", {})
    )


def with_outcomes(sets: Sets, folder: Path) -> Sets:
    """A seventh stream: the same cases by outcome, of which one has a share far above 1/l."""
    if CASES not in sets.streams:
        return sets
    table = pl.read_parquet(folder / "hk_covid_cases" / "hk_covid_cases.parquet")
    found = Events(table, time="timestamp", sensitive="outcome", quasi=sets.streams[CASES].events.quasi)
    return Sets(sets.streams | {OUTCOMES: Stream(OUTCOMES, found, 2)})


def diverse(tables: EventTables, l: int) -> tuple[int, int]:
    """Published snapshots that are l-diverse by the naive check, and all of them."""
    assert tables.counts is not None
    records, counts = (table.partition_by("time", as_dict=True) for table in (tables.records, tables.counts))
    passed = 0
    for when, rows in records.items():
        groups = naive_bucketised(rows.select("time", "group").to_dicts(), counts[when].to_dicts(), tables.sensitive)
        passed += all(most * l <= size for size, most in groups.values())
    return passed, len(records)


def plans(sets: Sets, seed: int) -> list[str]:
    """The table of plans, one row per stream."""
    lines = [
        "| stream | l | paper's step | rolling | offline optimum | rolling above offline | lost, paper's step | lost, "
        "rolling | optimal, limited, step | ms a snapshot | slowest | l-diverse by the naive check |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    cost = delay_costs("linear", WINDOW)
    for stream in sets.streams.values():
        paper = plan(RelayWindow(stream.l, cost), stream)
        if len(lines) == 2:
            plan(RollingWindow(stream.l, cost), stream)  # compiles
        rolling = plan(RollingWindow(stream.l, cost), stream)
        beta = np.full(stream.counts.shape[1], LOST_LIKE)
        best = offline(stream.counts, WINDOW, stream.l, cost, beta, gap=0.001, nodes=200).loss / stream.counts.sum()
        released = Reposition(l=stream.l, window=WINDOW, suppression=LOST_LIKE, seed=seed).anonymize(stream.events)
        passed, n = diverse(released.published, stream.l)
        how = ", ".join(str(rolling.how[name]) for name in ("optimal", "limited", "step"))
        lines.append(
            f"| {stream.name} | {stream.l} | {paper.loss:.4f} | {rolling.loss:.4f} | {best:.4f} | "
            f"{100 * (rolling.loss / best - 1):.1f}% | {paper.suppressed:.2%} | {rolling.suppressed:.2%} | {how} | "
            f"{rolling.milliseconds:.0f} | {rolling.slowest:.0f} | {passed} of {n} |"
        )
        print(lines[-1], flush=True)
    return lines


def remedies(stream: Stream, seed: int) -> list[str]:
    """The table of remedies for one stream."""
    lines = [
        "| remedy | published | mean chance, of all | of the published, at most | seen to be missing | their chance | "
        "of one value among the suppressed | window error, 1 | 7 | 14 | shares within | possible |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    events = stream.events
    for options in REMEDIES:
        tree = TREES[stream.name] if options["remedy"] == "generalise" else None
        method = Reposition(l=stream.l, window=WINDOW, seed=seed, tree=tree, **options)
        candidate = method.anonymize(events)
        tables = candidate.published
        assert tables.counts is not None
        tables = replace(tables, counts=read_coarser(tables.counts, "count", tables, tree))
        risk = Homogeneity(window=reach_of(method.parameters), tree=tree).attack(events, candidate.published)
        losses = candidate.suppression.values
        lost = [loss.before - loss.after for loss in losses]
        before = np.array([loss.before for loss in losses]) / sum(loss.before for loss in losses)
        after = np.array([loss.after for loss in losses]) / max(sum(loss.after for loss in losses), 1)
        errors = []
        for longest in (1, 7, 14):
            drawn = random_windows(events, 200, seed, longest=longest)
            name = events.sensitive
            queries = [WindowCount(query.start, query.end, {name: query.where[name]}) for query in drawn]
            true = np.array([query.count(events) for query in queries])
            found = np.array([query.count(tables) for query in queries])
            errors.append(float((np.abs(found - true) / np.maximum(true, 1)).mean()))
        lines.append(
            f"| {options['remedy']} | {tables.n_events / len(events):.1%} | {risk.success:.3f} | {risk.highest:.3f} | "
            f"{risk.n_unmatched:,} | {risk.unmatched:.0%} | {max(lost) / max(sum(lost), 1):.0%} | "
            f"{' | '.join(f'{error:.1%}' for error in errors)} | {np.abs(before - after).max():.3f} | "
            f"{max(0.0, float(before.max()) - 1 / stream.l):.3f} |"
        )
        print(lines[-1], flush=True)
    return lines


def invariance(stream: Stream, folder: Path, seed: int) -> list[str]:
    """The table of m-invariance on tests by clinic, whose subjects come back."""
    table = pl.read_parquet(folder / "chop_covid_tests" / "chop_covid_tests.parquet")
    events = Events(table, time="timestamp", sensitive="clinic_name", quasi=stream.events.quasi, subject="subject_id")
    lines = [
        "| groups | published | repeated, changed, unmatched | 2-invariant | subjects with several events | chance, "
        "intersecting | each snapshot alone | guessing | certain only together |",
        "|---|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for name, m in (("as usual", None), ("m = 2", 2), ("m = 3", 3)):
        candidate = Reposition(l=2, m=m, window=WINDOW, seed=seed).anonymize(events)
        risk = Republication(window=WINDOW).attack(events, candidate.published)
        figures = candidate.recipe.figures
        why = figures.get("invariance")
        reasons = "–" if why is None else ", ".join(f"{why[w]:,}" for w in ("repeated", "changed", "unmatched"))
        lines.append(
            f"| {name} | {figures['published'] / len(events):.1%} | {reasons} | "
            f"{MInvariance(2).check(candidate).outcome} | {risk.n_targets:,} | {risk.success:.3f} | {risk.alone:.3f} | "
            f"{risk.baseline:.3f} | {risk.n_certain} |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data")
    parser.add_argument("--days", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--to", type=Path, default=PAGE)
    asked = parser.parse_args()
    sets = with_outcomes(load(asked.data, asked.days, asked.seed), asked.data)
    text = [
        f"# {TITLE}",
        "",
        OPENING,
        "",
        f"Written by `python experiments/reposition_plans.py --days {asked.days} --seed {asked.seed}`; do not edit.",
        "",
        "## Plans",
        "",
        in_one_line(ABOUT_PLANS),
        "",
        *plans(sets, asked.seed),
        "",
        f"## {HEADING}",
        "",
        look_ahead(asked.days, asked.seed),
        "",
    ]
    skewed = [sets.streams[name] for name in (OUTCOMES, TESTS) if name in sets.streams]
    if skewed:
        text += ["## A value with a share above 1/l", "", in_one_line(ABOUT_REMEDIES), ""]
    for stream in skewed:
        heading = f"### {stream.name}: one value has {stream.most:.1%}, l = {stream.l}"
        text += [heading, "", *remedies(stream, asked.seed), ""]
    if CLINICS in sets.streams:
        table = invariance(sets.streams[CLINICS], asked.data, asked.seed)
        text += ["## Subjects who come back", "", in_one_line(ABOUT_SUBJECTS), "", *table, ""]
    asked.to.write_text("\n".join(text))


if __name__ == "__main__":
    main()
