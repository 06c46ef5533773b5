"""Shoal against what people use instead, at equal measured risk: docs/results/rivals.md.

    python experiments/rivals.py --generators sdv=venv/bin/python --generators opensynth=other/bin/python

Every contender gets three settings, and networks the same seconds of the processor for each. Each table is judged by
`shoal.judge`, with a control of as many households as are behind it. Generators run in environments of their own
(`experiments/rivals_generators.py`); the page names one that is not given or fails, with its error. With `--work` a run
that was stopped goes on: tables of generators stay there, under a name that changes with the script, the data and the
settings. All else takes seconds and is always made anew.
"""

import argparse
import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rivals_page import Row, page

import shoal
from shoal import KP, NLK, Microaggregation, NoiseAddition, NoisyAggregates, Panel, Profiles, ScopeAggregation
from shoal.attacks import Linkage, Membership, MembershipRisk
from shoal.guarantees.aggregate_rule import RULES
from shoal.model import Envelopes

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = Path(__file__).with_name("rivals_generators.py").resolve()
SETS = {
    "Slovak meters": ("energyhack_sk_meters", "energyhack_hourly_4weeks.parquet", 100),
    "Australian households": ("sgsc_households", "sgsc_halfhourly_8weeks_2013.parquet", 44),
}
"""Where a set is, and how many households are behind each table; as many are the control."""

DAYS = 14

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
    "Gaussian copula over days": ("sdv", "copula", [{"distribution": name} for name in ("norm", "beta", "gamma")]),
    "SDV PAR": ("sdv", "par", [{"sample_size": n, "segment": s} for n, s in ((1, None), (1, 7), (4, 7))]),
    "DoppelGANger": ("dgan", "doppelganger", [{"steps": n, "rate": r} for n, r in ((7, 1e-3), (7, 3e-4), (14, 1e-3))]),
    "Faraday": ("opensynth", "faraday", [{"latent": n, "components": c} for n, c in ((8, 20), (16, 20), (16, 60))]),
}
"""Environment, function and three settings of each."""

SHADOWS = 8
"""Releases made again on other selections of people, to learn who is in one; of generators none, for lack of time."""

UNCOMPARED = ("10",)
"""Rules that are judged as well, but left out where methods are compared: everybody has three settings there."""


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
    epochs: int | None = None
    seconds: float | None = None
    method: Any = None


def main() -> None:
    """Make all tables, judge them, write the page."""
    given = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        work = given.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        rows: list[Row] = []
        sets = {name: sides for name in SETS if (sides := load(given, name)) is not None}
        generate(given, [sides.inside for sides in sets.values()], work)
        for name, sides in sets.items():
            for family, setting, make in tables(given, sides, work):
                rows.append(judged(name, family, setting, make, sides))
                print(json.dumps(asdict(rows[-1])), flush=True)
    (given.out / "rivals.md").write_text(page(rows, given.seed, PURPOSES, given.seconds, SHADOWS), encoding="utf-8")


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--work", type=Path, help="keep tables of generators here, so that a stopped run can go on")
    parser.add_argument("--seconds", type=float, default=10.0, help="of the processor, to train each network")
    parser.add_argument("--generators", action="append", default=[], metavar="NAME=PYTHON", help="sdv, dgan, opensynth")
    parser.add_argument("--seed", type=int, default=0)
    found = parser.parse_args()
    found.pythons = dict(one.split("=", 1) for one in found.generators)
    return found


def load(given: argparse.Namespace, name: str) -> Sides | None:
    """Two weeks of hours of both sides, drawn by chance."""
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


def tables(given: argparse.Namespace, sides: Sides, work: Path) -> Iterator[tuple[str, str, Callable[[], Made]]]:
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
            words = ", ".join(f"{key} {value}" for key, value in one.items() if value is not None)
            is_given, place = environment in given.pythons, job(given, function, one, inside, work)["made"]
            yield family, words, partial(from_generator, is_given, Path(place), inside)


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
    return Made(published.values, matched=True, method=method)


def generate(given: argparse.Namespace, panels: Sequence[Panel], work: Path) -> None:
    """Have generators make their tables, in a process for each environment, on one thread."""
    jobs: dict[str, list[dict[str, Any]]] = {}
    for inside in panels:
        for environment, function, settings in GENERATORS.values():
            if environment in given.pythons:
                python = str(Path(given.pythons[environment]).absolute())
                jobs.setdefault(python, []).extend(job(given, function, one, inside, work) for one in settings)
    for python, asked in jobs.items():
        listed = work / "jobs.json"
        listed.write_text(json.dumps(asked), encoding="utf-8")
        one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
        subprocess.run([python, str(SCRIPT), str(listed.resolve())], cwd=work, env=os.environ | one_thread, check=True)


def job(given: argparse.Namespace, function: str, one: Mapping[str, Any], inside: Panel, work: Path) -> dict[str, Any]:
    """What a generator is asked for; names of files change with the script, the data and the settings."""
    settings = {**one, "seconds": given.seconds, "seed": given.seed}
    days = inside.values.reshape(inside.n_series, -1, 24)
    weekend = (inside.times[::24].astype("datetime64[D]").astype(int) + 3) % 7 >= 5
    content = days.tobytes() + weekend.tobytes()
    train = work.resolve() / f"train-{hashlib.sha256(content).hexdigest()[:16]}.npz"
    if not train.exists():
        np.savez(train, days=days, weekend=weekend)
    asked = json.dumps(settings, sort_keys=True).encode()
    digest = hashlib.sha256(SCRIPT.read_bytes() + content + asked).hexdigest()
    made = work.resolve() / f"{function}-{digest[:16]}.npy"
    return {"name": function, "settings": settings, "train": str(train), "made": str(made)}


def from_generator(is_given: bool, made: Path, inside: Panel) -> Made:
    """The table that a generator made in its own environment."""
    if not is_given:
        raise RuntimeError("no environment was given for it")
    told = json.loads(made.with_suffix(".json").read_text(encoding="utf-8"))
    if "error" in told:
        raise RuntimeError(told["error"])
    values = np.load(made).reshape(-1, inside.n_instants)
    return Made(values, matched=False, epochs=told["epochs"], seconds=told["whole"])


def judged(name: str, family: str, setting: str, make: Callable[[], Made], sides: Sides) -> Row:
    """What is found of one table."""
    try:
        made = make()
        begun = time.process_time()
        made = made if made.seconds is not None else make()  # once more, compiled
    except (RuntimeError, OSError, subprocess.SubprocessError, shoal.ShoalError) as error:
        return Row(name, family, setting, failed=str(error))
    seconds = time.process_time() - begun if made.seconds is None else made.seconds
    table = Panel(made.values, times=sides.inside.times, ids=[f"row {i}" for i in range(len(made.values))])
    measures = [measure for purpose, measure in PURPOSES.items() if made.matched or not purpose.startswith("own")]
    match = "order" if made.matched else "none"
    found = shoal.judge(sides.inside, table, sides.outside, match=match, measures=measures)
    risks = {attack: risk for attack, (_, risk) in found.risks.items()}
    links = [risk.success for attack, risk in risks.items() if found.risks[attack][0].against == "values"]
    member = risks["membership"]
    assert isinstance(member, MembershipRisk)
    scores = {one.asked.label: one.score.value for one in found.usefulness.findings if one.score is not None}
    return Row(
        name,
        family,
        setting,
        compared=setting not in UNCOMPARED,
        epochs=made.epochs,
        seconds=seconds,
        linked=max([*links, made.linked]) if made.matched else None,
        copied=max(0.0, risks["copies"].success - (risks["copies"].control or 0.0)),
        inferred=max(0.0, risks["completion"].success - (risks["completion"].control or 0.0)),
        rehearsed=rehearsed(made, table, sides),
        member=max(0.0, 2.0 * member.success - 1.0),
        member_range=tuple(max(0.0, 2.0 * end - 1.0) for end in (member.interval.low, member.interval.high)),
        utility={purpose: scores.get(measure) for purpose, measure in PURPOSES.items()},
    )


def rehearsed(made: Made, table: Panel, sides: Sides) -> tuple[float, float, float] | None:
    """The advantage with shadow releases, and the ends of its interval; None where no method of ours made the table."""
    if made.method is None:
        return None
    attack = Membership(shadows=SHADOWS)
    risk = attack.attack(sides.inside, table, outside=sides.outside, method=made.method)
    low, high = (max(0.0, 2.0 * end - 1.0) for end in (risk.interval.low, risk.interval.high))
    return max(0.0, 2.0 * risk.success - 1.0), low, high


if __name__ == "__main__":
    main()
