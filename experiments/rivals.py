"""Shoal against what people use instead, at equal measured risk: docs/results/rivals.md.

    python experiments/rivals.py --generators sdv=venv/bin/python --generators opensynth=other/bin/python

Methods get three settings, rules of aggregation four, generators two. Each table is judged by `shoal.judge`, with a
control of as many households as are behind it. Generators run in environments of their own
(`experiments/rivals_generators.py`); the page names one that is not given or fails, with its error. Tables stay in
`--work`, if given, and are not made twice.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rivals_page import Row, page

import shoal
from shoal import KP, NLK, Microaggregation, NoiseAddition, NoisyAggregates, Panel, Profiles, ScopeAggregation
from shoal.attacks import Linkage, MembershipRisk
from shoal.guarantees.aggregate_rule import RULES
from shoal.model import Envelopes

ROOT = Path(__file__).resolve().parents[1]
SETS = {
    "Slovak meters": ("energyhack_sk_meters", "energyhack_hourly_4weeks.parquet", 200),
    "Australian households": ("sgsc_households", "sgsc_halfhourly_8weeks_2013.parquet", 44),
}
"""Where a set is, and how many households are behind each table; as many are the control."""

DAYS = 28

PURPOSES = {
    "forecasting": "forecast-error",
    "loads": "load-duration-error:of=pooled",
    "ramps": "ramp-error:of=pooled",
    "peaks of all": "peak-height-error:of=all",
    "day of all": "mean-day-error:of=all",
    "own day": "mean-day-error",
    "own peaks": "peak-height-error",
    "own readings": "information-loss",
}
"""What a table is used for, and the measure that tells; "own" ones follow a household, as no synthetic table can."""

GENERATORS: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "Gaussian copula over days": (
        "sdv",
        "copula",
        [{"distribution": name} for name in ("norm", "beta")],
    ),
    "SDV PAR": ("sdv", "par", [{"epochs": n} for n in (8, 32)]),
    "DoppelGANger": ("dgan", "doppelganger", [{"epochs": n} for n in (50, 100)]),
    "Faraday": (
        "opensynth",
        "faraday",
        [{"epochs": e, "components": c} for e, c in ((10, 20), (40, 20))],
    ),
}


@dataclass(frozen=True)
class Sides:
    """Who is behind the tables, and who is not."""

    inside: Panel
    outside: Panel


@dataclass(frozen=True)
class Made:
    """A table, row by row of the originals where `matched`, and its own links where it has others."""

    values: Any
    matched: bool
    linked: float = 0.0


def main() -> None:
    """Make all tables, judge them, write the page."""
    given = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        work = given.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        rows: list[Row] = []
        for name in SETS:
            sides = load(given, name)
            if sides is None:
                print(f"{name}: not at hand")
                continue
            for family, setting, make in tables(given, name, sides, work):
                rows.append(judged(name, family, setting, make, sides, work))
                print(json.dumps(asdict(rows[-1])), flush=True)
    (given.out / "rivals.md").write_text(page(rows, given.seed, PURPOSES, clean=given.work is None), encoding="utf-8")


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--work", type=Path, help="keep tables and figures here, and do not make them twice")
    parser.add_argument("--made-only", action="store_true", help="of generators only the tables that are in --work")
    parser.add_argument("--generators", action="append", default=[], metavar="NAME=PYTHON", help="sdv, dgan, opensynth")
    parser.add_argument("--seed", type=int, default=0)
    found = parser.parse_args()
    found.pythons = dict(one.split("=", 1) for one in found.generators)
    return found


def load(given: argparse.Namespace, name: str) -> Sides | None:
    """Four weeks of hours of both sides, drawn by chance."""
    folder, file, n = SETS[name]
    path = given.data / folder / file
    if not path.is_file():
        return None
    panel = shoal.read_panel(path, missing="interpolate:2h,drop-series")
    hour = np.timedelta64(1, "h")
    per_hour = int(hour / (panel.times[1] - panel.times[0]))
    n_readings = DAYS * 24 * per_hour
    values = panel.values[:, :n_readings].reshape(panel.n_series, -1, per_hour).sum(axis=2)
    times = panel.times[0] + hour * np.arange(DAYS * 24)
    order = np.random.default_rng([given.seed, 1]).permutation(panel.n_series)
    return Sides(*(Panel(values[some], times=times) for some in (order[:n], order[n : 2 * n])))


def tables(
    given: argparse.Namespace, name: str, sides: Sides, work: Path
) -> Iterator[tuple[str, str, Callable[[], Made]]]:
    """Every method with its settings, and how its table is made."""
    inside, seed = sides.inside, given.seed
    ks = [3, 10, 20]
    highest = float(np.ceil(np.quantile(inside.values, 0.99)))  # taken as known: a bound that a utility would know
    own: list[tuple[str, str, Any]] = [
        *(("Shoal: microaggregation", f"k = {k}", Microaggregation(k=k)) for k in ks),
        *(
            ("Shoal: profiles", f"k = {k}, thirds", Microaggregation(k=k, aggregate="quantiles", form="profiles"))
            for k in (9, 15, 20)
        ),
        *(("Shoal: kp", f"k = {k}, P = {p}", KP(k=k, p=p)) for k, p in ((3, 2), (10, 3), (20, 5))),
        *(
            ("Shoal: nlk", f"n = {n}, l = {size}, k = {k}", NLK(n=n, l=size, k=k))
            for n, size, k in ((3, 4, 5), (3, 4, 10), (5, 100, 5))
        ),
        *(
            ("aggregation by a rule", rule, ScopeAggregation(size=size, share=share, seed=seed))
            for rule in ("15/15", "10", "6/40", "4/80")
            for size, share in [RULES[rule]]
        ),
        *(("noise", f"signal to noise {snr:g}", NoiseAddition(snr=snr, seed=seed)) for snr in (1, 0.1, 0.01)),
        *(
            (
                "differential privacy",
                f"epsilon {e:g}",
                NoisyAggregates(epsilon=e, lower=0, upper=highest, insecure_seed=1),
            )
            for e in (1.0, 16.0, 64.0)
        ),
    ]
    yield "pseudonyms only", "", partial(Made, inside.values, matched=True)
    for family, setting, method in own:
        yield family, setting, partial(from_method, method, inside)
    for family, (environment, function, settings) in GENERATORS.items():
        for one in settings:
            words = ", ".join(f"{key} {value}" for key, value in one.items())
            call = [] if given.made_only else [given.pythons.get(environment)]
            yield family, words, partial(from_generator, call, function, one | {"seed": seed}, inside, work, name)


def from_method(method: Any, inside: Panel) -> Made:
    """A table of ours: a curve for every household, that of its group where groups are published."""
    candidate = method.anonymize(inside)
    published = candidate.published
    if isinstance(published, Envelopes):
        return Made(published.middles, matched=True, linked=candidate.attack(Linkage()).success)
    if isinstance(published, Profiles):
        groups, bands = candidate.private.groups, published.values[:, :, 0]
        # Of the means of thirds each member gets one in turn, of a mean alone everybody that.
        turn = np.array([np.count_nonzero(groups[:at] == group) for at, group in enumerate(groups)])
        which = 1 + turn % 3 if len(published.bands) > 3 else np.zeros(len(groups), dtype=int)
        return Made(bands[groups, :, which].reshape(len(groups), -1), matched=True)
    return Made(published.values, matched=True)


def from_generator(
    call: list[str | None], function: str, settings: dict[str, Any], inside: Panel, work: Path, name: str
) -> Made:
    """A table that a generator makes in its own environment."""
    label = "-".join([name.replace(" ", "_"), function, *(str(value) for value in settings.values())])
    made = work / f"{label}.npy"
    if not made.exists():
        if not call:
            raise RuntimeError("it was not made before the run was stopped")
        if call[0] is None:
            raise RuntimeError("no environment was given for it")
        train = work / f"{name.replace(' ', '_')}.npz"
        days = inside.values.reshape(inside.n_series, -1, 24)
        weekday = (inside.times[::24].astype("datetime64[D]").astype(int) + 3) % 7
        np.savez(train, days=days, weekend=weekday >= 5)
        script = Path(__file__).with_name("rivals_generators.py").resolve()
        command = [str(Path(call[0]).absolute()), str(script), function, str(train.resolve()), str(made.resolve())]
        ran = subprocess.run(
            [*command, json.dumps(settings)], cwd=work, capture_output=True, text=True, check=False, timeout=3_600
        )
        if ran.returncode:
            raise RuntimeError(ran.stderr.strip().splitlines()[-1][:200] if ran.stderr.strip() else "it failed")
    return Made(np.load(made).reshape(-1, inside.n_instants), matched=False)


def judged(name: str, family: str, setting: str, make: Callable[[], Made], sides: Sides, work: Path) -> Row:
    """What is found of one table; kept in the folder of the work."""
    kept = work / f"{name}-{family}-{setting}.json".replace(" ", "_").replace("/", "-")
    if kept.exists():
        return Row(**json.loads(kept.read_text()))
    try:
        made = make()
    except (RuntimeError, OSError, subprocess.SubprocessError, shoal.ShoalError) as error:
        return Row(name, family, setting, failed=str(error))
    table = Panel(made.values, times=sides.inside.times, ids=[f"row {i}" for i in range(len(made.values))])
    measures = [measure for purpose, measure in PURPOSES.items() if made.matched or not purpose.startswith("own")]
    match = "order" if made.matched else "none"
    found = shoal.judge(sides.inside, table, sides.outside, match=match, measures=measures)
    risks = {attack: risk for attack, (_, risk) in found.risks.items()}
    links = [risk.success for attack, risk in risks.items() if found.risks[attack][0].against == "values"]
    member = risks["membership"]
    assert isinstance(member, MembershipRisk)
    scores = {one.asked.label: one.score.value for one in found.usefulness.findings if one.score is not None}
    row = Row(
        name,
        family,
        setting,
        linked=max([*links, made.linked]) if made.matched else None,
        copied=max(0.0, risks["copies"].success - (risks["copies"].control or 0.0)),
        inferred=max(0.0, risks["completion"].success - (risks["completion"].control or 0.0)),
        member=max(0.0, 2.0 * member.success - 1.0),
        member_range=tuple(max(0.0, 2.0 * end - 1.0) for end in (member.interval.low, member.interval.high)),
        utility={purpose: scores.get(measure) for purpose, measure in PURPOSES.items()},
    )
    kept.write_text(json.dumps(asdict(row)))
    return row


if __name__ == "__main__":
    main()
