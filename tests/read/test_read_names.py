"""Names of series and subjects have one spelling, and what reading changed is said."""

import unicodedata

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from read.support import refused
from shoal import KAnonymity, Microaggregation, Panel, read_events, read_panel
from shoal.ledger.groups import membership_of
from shoal.model.names import text_of
from shoal.read import tables

KEY = b"sixteen bytes ok"
SPELLINGS = st.sampled_from(
    ["ann", "ann ", " ann", "ann\u00a0", "Ann", "Zoe\u0308", "Zo\u00eb", "Zo\u00eb ", "7", "7.0", " 7", "07", "7.5"]
)


def long_of(subjects, ids=None):
    ids = [f"s{i}" for i in range(len(subjects))] if ids is None else ids
    return pl.DataFrame({"id": ids, "subject": subjects, "time": 0, "value": np.arange(len(ids), dtype=float)})


@given(subjects=st.lists(SPELLINGS, min_size=2, max_size=12), batch_cells=st.integers(1, 30))
def test_as_many_subjects_count_for_k_as_in_the_ledger(subjects, batch_cells):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BATCH_CELLS", batch_cells)
        panel = read_panel(long_of(subjects))
    different = {unicodedata.normalize("NFC", s).strip().removesuffix(".0") for s in subjects}
    built = Panel(panel.values, subjects=subjects)
    for one in (panel, built):
        assert one.n_subjects == len(different)
        candidate = Microaggregation(k=2).anonymize(one) if one.n_subjects > 1 else None
        if candidate is not None:
            entries = membership_of(candidate, [KAnonymity(2, per="series")], KEY)
            assert len(np.unique(entries.subjects)) == len(set(candidate.private.original.subject_codes.tolist()))
    n_changed = len({s for s in subjects if s not in different})
    n_merged = len(set(subjects)) - len(different)
    said = panel.origin.notes[1:]
    assert bool(said) == bool(n_changed)
    if said:
        assert said[0].startswith(f"{n_changed} spelling")
        assert (f"; {n_merged} of them name" in said[0]) == bool(n_merged)
        assert not any(repr(s) in said[0] for s in subjects)


@given(ids=st.lists(SPELLINGS, min_size=1, max_size=12, unique_by=text_of), batch_cells=st.integers(1, 30))
def test_ids_are_read_in_one_spelling(ids, batch_cells):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BATCH_CELLS", batch_cells)
        panel = read_panel(long_of(["x"] * len(ids), ids))
    assert panel.ids.tolist() == sorted({text_of(name) for name in ids})


def test_two_spellings_of_an_id_are_one_series():
    table = pl.DataFrame({"id": ["ann", "ann ", "bob", "bob"], "time": [0, 1, 0, 1], "value": [1.0, 2.0, 3.0, 4.0]})
    panel = read_panel(table)
    assert panel.ids.tolist() == ["ann", "bob"]
    assert panel.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert panel.origin.notes == (
        "4 rows read as 2 series of 2 subjects (column 'id')",
        "1 spelling in column 'id' changed on reading (spaces at the ends, invisible characters, accents as separate "
        "characters, the .0 of a number); 1 of them names what another spelling names as well",
    )
    with refused("1 of 2 rows repeat the id of another"):
        read_panel(pl.DataFrame({"id": ["ann", "ann "], "0": [1.0, 2.0]}))
    with refused("1 of 2 series columns repeat the name of another, ignoring spaces at its ends"):
        read_panel(pl.DataFrame({"time": [0, 1], "ann": [1.0, 2.0], "ann ": [1.0, 2.0]}), layout="wide")
    with refused("1 of 2 rows have no identifier"):
        read_panel(pl.DataFrame({"id": ["ann", "  "], "time": [0, 0], "value": [1.0, 2.0]}))


def test_a_series_whose_subject_is_spelt_in_two_ways_has_one():
    table = pl.DataFrame({"id": ["m", "m"], "subject": ["ann", "ann "], "time": [0, 1], "value": [1.0, 2.0]})
    assert read_panel(table).n_subjects == 1


def test_names_in_plain_spelling_are_not_mentioned():
    assert len(read_panel(long_of(["ann", "bob", "Zo\u00eb", "007", "7"])).origin.notes) == 1


def test_a_panel_counts_subjects_in_one_spelling_and_refuses_ids_that_are_one():
    assert Panel([[1.0], [2.0], [3.0]], subjects=["ann", "ann ", 7]).n_subjects == 2
    with refused("2 series have only 1 different ids"):
        Panel([[1.0], [2.0]], ids=["ann", "ann "])


def test_ids_of_events_have_one_spelling():
    table = pl.DataFrame({"time": [0, 0, 1], "who": ["ann", "ann ", "bob"], "result": ["no", "yes", "no"]})
    events = read_events(table, sensitive="result", id="who")
    assert events.frame["who"].to_list() == ["ann", "ann", "bob"]
    assert events.origin.notes[0] == "3 rows read as 3 events, each counted as a subject of its own"
    assert events.origin.notes[1].startswith("1 spelling in column 'who' changed on reading")


def test_characters_that_nobody_sees_tell_nobody_apart():
    assert text_of("an\u200bn\u00ad") == text_of("ann")
    assert Panel([[1.0], [2.0]], subjects=["ann", "ann\u200b"]).n_subjects == 1


SPELT = ["flu", "flu ", "f\u200blu", "Flu", "gout", "gout"]
TOLD_OF_VALUES = (
    "2 spellings in column 'ill' changed on reading (spaces at the ends, invisible characters, accents as separate "
    "characters, the .0 of a number); 2 of them name what another spelling names as well",
    "1 value in column 'ill' differs from another only in capitals; l-diversity counts them as one",
)


def test_sensitive_values_have_one_spelling():
    events = read_events(pl.DataFrame({"time": [0] * 6, "ill": SPELT}), sensitive="ill")
    assert events.frame["ill"].to_list() == ["flu", "flu", "flu", "Flu", "gout", "gout"]
    assert events.origin.notes[1:] == TOLD_OF_VALUES
    table = pl.DataFrame({"id": list("abcdef"), "ill": SPELT, "time": [0] * 6, "value": [1.0] * 6})
    panel = read_panel(table, sensitive="ill")
    assert panel.sensitive["ill"].tolist() == ["flu", "flu", "flu", "Flu", "gout", "gout"]
    assert panel.origin.notes[1:] == TOLD_OF_VALUES


def test_sensitive_numbers_stay_as_they_are(tmp_path):
    (tmp_path / "x.csv").write_text("time,dose\n0,1.0\n0,2.0\n")
    events = read_events(tmp_path / "x.csv", sensitive="dose")
    assert events.frame["dose"].to_list() == [1.0, 2.0]
    assert events.frame["dose"].dtype == pl.Float64
    assert len(events.origin.notes) == 1
