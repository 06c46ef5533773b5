"""The gate for events: what a candidate claims is compared with the originals."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from shoal import Events, Reposition, load_release, publish, simulate, verify
from shoal.errors import GuaranteeNotMetError, InputError
from shoal.model import EventTables

EVENTS = simulate.events(days=10, per_day=30, seed=3)


@pytest.fixture
def candidate():
    return Reposition(l=3, window=3, seed=1).anonymize(EVENTS)


def refused(candidate, tmp_path, match):
    with pytest.raises(GuaranteeNotMetError, match=match):
        publish(candidate, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_passes_is_what_is_loaded(candidate, tmp_path):
    release = publish(candidate, tmp_path / "out")
    assert verify(tmp_path / "out")
    loaded = load_release(tmp_path / "out").published
    assert isinstance(loaded, EventTables)
    assert loaded.records.equals(candidate.published.records)
    assert loaded.counts.equals(candidate.published.counts)
    assert loaded.records.equals(release.published.records)
    with pytest.raises(InputError, match="Events have no array"):
        _ = release.values


def test_counts_that_are_not_diverse_do_not_pass(candidate, tmp_path):
    counts = candidate.published.counts
    first = counts["diagnosis"][0]
    merged = counts.with_columns(diagnosis=pl.when(pl.col("group") == 0).then(pl.lit(first)).otherwise("diagnosis"))
    spoiled = dataclasses.replace(candidate, published=dataclasses.replace(candidate.published, counts=merged))
    refused(spoiled, tmp_path, "do not match its originals|l-diversity does not hold")


def test_a_candidate_that_lies_about_places_does_not_pass(candidate, tmp_path):
    for places, message in (
        (np.zeros_like(candidate.private.snapshots), "before it happened"),
        (np.full_like(candidate.private.snapshots, 99), "does not say in which snapshot"),
        (np.full_like(candidate.private.snapshots, -1), "suppresses all"),
    ):
        private = dataclasses.replace(candidate.private, snapshots=places)
        refused(dataclasses.replace(candidate, private=private), tmp_path, message)


def test_events_later_than_the_window_do_not_pass(tmp_path):
    waiting = pl.DataFrame({"time": [0] * 7 + [1] * 2 + [2] * 4, "result": list("aaaaaab" + "bc" + "bbcc")})
    late = Reposition(l=2, window=3, seed=1).anonymize(Events(waiting, sensitive="result"))
    assert (late.private.snapshots - waiting["time"].to_numpy()).max() == 2
    recipe = dataclasses.replace(late.recipe, parameters=late.recipe.parameters | {"window": 2})
    refused(dataclasses.replace(late, recipe=recipe), tmp_path, "later than a window of 2 allows")


def test_small_tables_carry_no_digest_of_the_input(tmp_path):
    few = simulate.events(days=2, per_day=12, seed=3)
    for window, n in ((1, "small"), (1, "again")):
        release = publish(Reposition(l=2, window=window, seed=1).anonymize(few), tmp_path / n)
        assert release.certificate["input"]["sha256"] == []
        assert release.certificate["input"]["panel_sha256"] is None
