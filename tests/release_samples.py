"""One small release of every kind that a sentence may be about."""

from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl

from shoal import (
    KP,
    NLK,
    AggregateRule,
    Events,
    KAnonymity,
    Microaggregation,
    NoiseAddition,
    NoisyAggregates,
    Panel,
    Reposition,
    SamplingWithFictives,
    ScopeAggregation,
    publish,
    read_panel,
)
from shoal.attacks import KnownPoints
from shoal.engines import Memory, in_shards
from shoal.features import LinearMetric, ShownGroups
from shoal.process.edge import make_plan, publish_collected, simulate_fleet
from shoal.release import written_parts
from shoal.release.agreement import Agreement
from shoal.streams import IncrementalMicroaggregation, IncrementalNLK

HOUR = np.timedelta64(1, "h")


def days(n=160, n_instants=48, **changes):
    rng = np.random.default_rng(3)
    hour = np.arange(n_instants) % 24
    values = rng.lognormal(0, 0.4, (n, 1)) * (1 + np.sin(hour / 4) ** 2) + rng.random((n, n_instants)) / 10
    given = {
        "values": np.round(values, 3),
        "ids": [f"meter-{i:02}" for i in range(n)],
        "times": np.datetime64("2024-01-01T00:00") + np.arange(n_instants) * HOUR,
    }
    return Panel(**(given | changes))


def holed():
    values = days().values.copy()
    values[:8, 5] = np.nan
    return days(values=values)


def dominated():
    """One subject is far larger than all others together, and hardly anyone was observed at one instant."""
    values = days().values.copy()
    values[0] *= 1000.0
    values[:150, 5] = np.nan
    return days(values=values)


def long_table(panel):
    """The panel as a table of rows."""
    return pl.DataFrame(
        {
            "id": np.repeat(panel.ids.astype(str), panel.n_instants),
            "time": np.tile(panel.times, panel.n_series),
            "value": panel.values.ravel(),
        }
    )


def table_with_gaps():
    """A table of which one series is dropped and one reading interpolated."""
    gap = (pl.col("id") == "meter-00") & pl.col("time").dt.hour().is_between(3, 12)
    hole = (pl.col("id") == "meter-01") & (pl.col("time") == pl.datetime(2024, 1, 1, 7))
    return long_table(days()).filter(~gap & ~hole)


def register(n=120, share=0.2):
    """Events of which the value "a" has this share."""
    rng = np.random.default_rng(1)
    rest = (1 - share) / 4
    frame = pl.DataFrame(
        {
            "time": np.repeat(np.arange(6), n // 6),
            "age": rng.integers(20, 60, n),
            "result": np.concatenate(
                [rng.permutation(np.repeat(list("abcde"), _parts(n // 6, [share, *[rest] * 4]))) for _ in range(6)]
            ),
        }
    )
    return Events(frame, sensitive="result", quasi=["age"])


def _parts(n, shares):
    counts = [int(n * share) for share in shares]
    counts[-1] += n - sum(counts)
    return counts


def attacked(candidate):
    """What the gate asks for where nothing is promised."""
    attack = KnownPoints(n=2)
    return candidate, {"risks": {attack.name: (attack.attack(days(), days()), attack.meaning)}, "risk_limit": 1.0}


def learned_elsewhere():
    """A metric learned from labels about people with other names."""
    rows = days().values
    apart = np.abs(rows[:60, 12] - rows[60:120, 12])
    learned = LinearMetric().learn(rows[:60], rows[60:120], apart < np.median(apart))
    others = days(ids=[f"other-{i:02}" for i in range(160)])
    used = learned.figures | {"used": True}  # these days are told apart by Euclidean distance just as well
    return replace(learned, figures=used, shown=ShownGroups.of(others, np.arange(160) // 16, k=4))


def publish_kinds(folder):
    """The certificate of each kind of release; the folder of each has its name."""
    micro, private = Microaggregation(k=4), folder / "private"
    agreement = Agreement(recipient="A", purpose="B", expires=date(2030, 1, 1))
    twice = days(n=480, subjects=[f"home-{i // 2}" for i in range(480)])
    filled = read_panel(table_with_gaps(), missing="interpolate:2h,drop-series")
    noise = {"epsilon": 1.0, "lower": 0.0, "upper": 5.0}
    made = {
        "plain": (micro.anonymize(days()), {}),
        "small": (micro.anonymize(days(n=12)), {}),
        "keyed": (micro.anonymize(days()), {"pseudonyms": "keyed", "private": private}),
        "insecure": (micro.anonymize(days()), {"insecure_seed": 1}),
        "copy": (micro.anonymize(days()), {"agreement": agreement, "private": private}),
        "keyed copy": (
            micro.anonymize(days()),
            {"agreement": agreement, "private": private, "pseudonyms": "keyed"},
        ),
        "accepted": (
            micro.anonymize(days(times=days().times + np.timedelta64(433, "s"))),
            {"accept": ["timestamp-phase"], "title": "Use of 160 homes", "date": date(2026, 11, 16)},
        ),
        "channels": (micro.anonymize(days(values=np.stack([days().values] * 2, axis=2))), {}),
        "gaps": (replace(micro, algorithm="mdav").anonymize(holed()), {}),
        "bound": (Microaggregation(k=4, bound=True).anonymize(days()), {}),
        "filled": (micro.anonymize(filled), {}),
        "zone": attacked(micro.anonymize(days(n=480, timezone="Europe/Dublin"))),
        "autumn": (
            micro.anonymize(
                days(
                    n_instants=8,
                    times=np.datetime64("2024-10-26T22:00") + np.arange(8) * HOUR,
                    timezone="Europe/Dublin",
                )
            ),
            {},
        ),
        "several series": (micro.anonymize(twice), {}),
        "crowd of series": (micro.anonymize(twice), {"require": [KAnonymity(4, per="series")]}),
        "profiles": (Microaggregation(k=4, form="profiles").anonymize(days()), {}),
        "scenarios": (Microaggregation(k=6, form="scenarios").anonymize(days()), {}),
        "attributes": (
            Microaggregation(k=4, attributes="tariff").anonymize(days(attributes={"tariff": ["day", "night"] * 80})),
            {},
        ),
        "trimmed": (
            Microaggregation(k=5, aggregate="trimmed-mean").anonymize(read_panel(long_table(days()))),
            {},
        ),
        "labels of others": (Microaggregation(k=4, features=learned_elsewhere()).anonymize(days()), {}),
        "nlk": (NLK(n=2, l=6, k=4).anonymize(days(n_instants=12)), {}),
        "kp": (KP(k=8, p=4).anonymize(days(n=161)), {}),
        "suppressed series": (KP(words="own", k=8, p=4).anonymize(days(n=40)), {}),
        "sensitive": (KP(k=8, p=4, l=2).anonymize(days(sensitive={"income": np.repeat([10.0, 20.0], 80)})), {}),
        "exchanged": (
            KP(k=8, p=4, l=2).anonymize(days(sensitive={"sector": ["home"] * 53 + ["shop"] * 53 + ["farm"] * 54})),
            {},
        ),
        "noise": attacked(NoiseAddition(snr=1.0).anonymize(days())),
        "fictives": attacked(SamplingWithFictives(share=0.9).anonymize(days())),
        "aggregates": (ScopeAggregation(size=10, share=0.3).anonymize(days()), {}),
        "aggregates withheld": (ScopeAggregation(size=10, share=0.3).anonymize(dominated()), {}),
        "aggregates at instants": (
            ScopeAggregation(size=10, share=0.3).anonymize(days()),
            {"require": [AggregateRule(size=10, share=0.3, per="instant")]},
        ),
        "private subjects": (NoisyAggregates(**noise).anonymize(days()), {}),
        "private readings": (NoisyAggregates(**noise, unit="reading").anonymize(days()), {}),
        "events": (Reposition(l=2, window=2, seed=1).anonymize(register()), {}),
        "suppressed events": (Reposition(l=4, window=2, seed=1).anonymize(register(share=0.3)), {}),
        "coarser events": (
            Reposition(l=2, window=2, seed=1, remedy="generalise", tree="a=letter").anonymize(register(share=0.6)),
            {},
        ),
        "sequence": (
            IncrementalMicroaggregation(micro).push(days()),
            {"pseudonyms": "keyed", "private": folder / "sequence-private"},
        ),
        "nlk sequence": (
            IncrementalNLK(NLK(n=2, l=6, k=4)).push(days(n_instants=12)),
            {"pseudonyms": "keyed", "private": folder / "nlk-sequence-private"},
        ),
    }
    made = {name: publish(candidate, folder / name, **options) for name, (candidate, options) in made.items()}
    for name, plan in {"meters": {"scheme": "budget-uniform"}, "sums": {"way": "sum"}}.items():
        field = simulate_fleet(days(20, 3), make_plan(lower=0.0, upper=4.0, w=3, minutes=60, **plan))
        made[name] = publish_collected(field.collector, folder / name)
    long_table(days()).write_parquet(folder / "meters.parquet")
    whole, written_parts.PART_BYTES = written_parts.PART_BYTES, 2**16
    try:
        made["parts"] = publish(micro.anonymize(in_shards(days(n=640), Memory(), size=160)), folder / "parts")
    finally:
        written_parts.PART_BYTES = whole
    return {name: release.certificate for name, release in made.items()}
