"""What becomes of events that find no place."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from shoal import Events, Reposition, publish, verify
from shoal.attacks import Homogeneity
from shoal.errors import ParameterError
from shoal.methods.remedies import reach_of
from shoal.model import EventTables
from shoal.release.event_originals import refuse_events
from shoal.streams import RepositionStream

TREE = {"a": "letters", "b": "letters"}


def skewed(seed, n=400, snapshots=20, top=0.55):
    """One value has a share above 1/l for l = 2."""
    rng = np.random.default_rng(seed)
    rest = (1 - top) / 4
    values = rng.choice(list("abcde"), n, p=[top, rest, rest, rest, rest])
    frame = pl.DataFrame(
        {"time": np.sort(rng.integers(0, snapshots, n)), "age": rng.integers(20, 60, n), "value": values}
    )
    return Events(frame, sensitive="value", quasi=["age"])


REMEDIES = [
    {},
    {"remedy": "delay"},
    {"remedy": "merge"},
    {"remedy": "generalise", "tree": TREE},
    {"remedy": "counterbalance"},
    {"remedy": "spread", "within": 0.02},
]


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda r: r.get("remedy", "suppress"))
@pytest.mark.parametrize("top", [0.3, 0.55])
def test_snapshots_stay_diverse_and_everybody_is_somewhere(remedy, top):
    events = skewed(1, top=top)
    method = Reposition(l=2, window=3, seed=1, **remedy)
    candidate = method.anonymize(events)
    assert candidate.check().holds
    figures = candidate.recipe.figures
    assert figures["published"] == candidate.published.n_events
    assert figures["published"] + figures["suppressed"] == len(events)
    home = events.frame["time"].rank("dense").to_numpy().astype(int) - 1
    late = (candidate.private.snapshots - home)[candidate.private.snapshots >= 0]
    assert late.min() >= 0
    assert late.max() < reach_of(method.parameters)
    assert Counter(late.tolist()) == {int(d): n for d, n in figures["moved"].items()}
    risk = Homogeneity(window=reach_of(method.parameters)).attack(events, candidate.published)
    assert risk.highest <= 0.5 + 1e-9


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda r: r.get("remedy", "suppress"))
def test_a_stream_publishes_the_same_and_goes_on_from_its_state(remedy):
    events = skewed(2, n=150, snapshots=10)
    method = Reposition(l=2, window=3, seed=1, **remedy)
    columns = {"time": "time", "sensitive": "value", "quasi": ("age",)}
    stream, parts = RepositionStream(method, **columns), []
    for snapshot in events.snapshots():
        parts += stream.push(snapshot)
        stream = RepositionStream.restored(method, *stream.state())
    parts += stream.flush()
    whole = method.anonymize(events)
    for name in ("records", "counts"):
        together = pl.concat([getattr(part.tables, name) for part in parts if len(part.tables)])
        assert together.equals(getattr(whole.published, name))
    assert sum(part.n_suppressed for part in parts) == whole.recipe.figures["suppressed"]


def test_delay_and_merge_lose_fewer():
    streams = [skewed(seed, n=150, snapshots=50, top=0.5) for seed in range(3)]
    lost = {
        kind: sum(
            Reposition(l=2, window=2, remedy=kind, seed=1).anonymize(events).recipe.figures["suppressed"]
            for events in streams
        )
        for kind in ("suppress", "delay", "merge")
    }
    assert lost["delay"] < lost["suppress"]
    assert lost["merge"] < lost["suppress"]


def test_shares_stay_within_the_distance_or_it_says_how_far_off():
    def spread(top, within):
        events = skewed(4, n=2000, snapshots=40, top=top)
        return Reposition(l=2, window=3, remedy="spread", within=within, seed=1).anonymize(events).recipe.figures

    fair = spread(0.45, 0.03)["shares"]
    assert fair["distance"] <= 0.03 + 1e-9
    assert fair["in_order"]
    assert fair["least_distance"] == 0.0
    skew = spread(0.7, 0.03)["shares"]
    assert skew["least_distance"] == pytest.approx(0.2, abs=0.03)
    assert skew["distance"] >= skew["least_distance"] > 0.03


def test_counterbalance_mixes_the_missing():
    events = skewed(5, n=1000, snapshots=20, top=0.5)

    def of_one_value(**remedy):
        candidate = Reposition(l=2, window=2, seed=1, **remedy).anonymize(events)
        lost = [loss.before - loss.after for loss in candidate.suppression.values]
        return max(lost) / sum(lost)

    assert of_one_value() == 1.0
    assert of_one_value(remedy="counterbalance") < 0.8


def test_generalised_values_are_published():
    events = skewed(6)
    method = Reposition(l=2, window=2, seed=1, remedy="generalise", tree="a=letters, b=letters")
    candidate = method.anonymize(events)
    assert "letters" in candidate.published.counts["value"].to_list()
    plain = Reposition(l=2, window=2, seed=1).anonymize(events)
    assert candidate.recipe.figures["suppressed"] < plain.recipe.figures["suppressed"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"remedy": "hope"}, "remedy must be one of"),
        ({"remedy": "generalise"}, "and a tree go together"),
        ({"tree": TREE}, "and a tree go together"),
        ({"remedy": "generalise", "tree": "letters"}, "value=coarser pairs"),
        ({"remedy": "spread", "within": 2.0}, "within must be a share"),
        ({"m": 2, "remedy": "generalise", "tree": TREE}, "generalise nothing"),
    ],
)
def test_what_cannot_be_is_refused(wrong, why):
    with pytest.raises(ParameterError, match=why):
        Reposition(l=2, window=2, **wrong)


class TestTheGateOnCoarserValues:
    def candidate(self):
        rng = np.random.default_rng(0)
        n = 600
        values = rng.choice(["flu", "cold", "cough", "rash"], n, p=[0.55, 0.2, 0.15, 0.1])
        frame = {"time": np.sort(rng.integers(0, 8, n)), "age": rng.integers(20, 60, n), "d": values}
        events = Events(pl.DataFrame(frame), sensitive="d", quasi=["age"])
        method = Reposition(l=2, window=3, seed=1, remedy="generalise", tree={"flu": "airways"})
        return method.anonymize(events)

    def test_they_are_published_and_the_report_says_what_they_do_not_hide(self, tmp_path):
        candidate = self.candidate()
        assert "airways" in candidate.published.counts["d"].to_list()
        publish(candidate, tmp_path / "out")
        page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
        assert "A coarser value replaces a frequent one" in page
        assert verify(tmp_path / "out").holds

    def test_a_value_that_no_original_had_is_refused(self):
        candidate = self.candidate()
        tables = candidate.published
        counts = tables.counts.with_columns(pl.col("d").replace({"airways": "cold"}))
        forged = EventTables(tables.records, counts, tables.quasi, tables.sensitive)
        assert refuse_events(tables, candidate.private) is None
        assert "more often in a snapshot than they were moved there" in refuse_events(forged, candidate.private)
        other = EventTables(
            tables.records, tables.counts.with_columns(pl.col("d").replace({"rash": "airways"})), ("age",), "d"
        )
        assert "do not match" in refuse_events(other, candidate.private)
