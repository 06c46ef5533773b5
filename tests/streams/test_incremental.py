"""A panel that grows: over any arrivals, absences and departures all releases together keep k."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive.sequences import naive_group_means, naive_joined, naive_sequence_crowds
from shoal import Microaggregation, Panel, SequenceAnonymity, simulate
from shoal.attacks import Intersection
from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.streams import IncrementalMicroaggregation
from shoal.streams.incremental_cells import join_thin

NAMES = [f"m{i}" for i in range(12)]
METHODS = [Microaggregation(k=2), Microaggregation(k=3, algorithm="mdav"), Microaggregation(k=2, round_to=0.5)]


@st.composite
def histories(draw):
    """An operator and days on which some series are there; values with ties and gaps, some subjects with two series."""
    method = draw(st.sampled_from(METHODS))
    shared = draw(st.booleans())
    days = []
    for number in range(draw(st.integers(1, 5))):
        there = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
        values = st.sampled_from([0.0, 1.0, 1.5, 4.0, np.nan])
        rows = draw(st.lists(st.lists(values, min_size=2, max_size=2), min_size=len(there), max_size=len(there)))
        if np.isnan(rows).all():
            rows[0][0] = 1.0
        subjects = [f"s{NAMES.index(name) // 2}" for name in there] if shared else None
        days.append(Panel(rows, ids=there, times=[2 * number, 2 * number + 1], subjects=subjects))
    return method, {"spare": draw(st.integers(0, 2)), "join": draw(st.booleans())}, days


def subject_of(candidate):
    panel = candidate.private.original
    return dict(zip(panel.ids, panel.ids if panel.subjects is None else panel.subjects, strict=True))


def by_name(candidate):
    """What is published, under the names of the originals."""
    return dict(zip(candidate.private.original.ids, candidate.published.rows.tolist(), strict=True))


@given(history=histories())
def test_every_prefix_of_the_releases_keeps_k(history):
    method, options, days = history
    growing = IncrementalMicroaggregation(method, **options)
    released = []
    for day in days:
        candidate = growing.push(day)
        if candidate is None:
            continue
        released.append(candidate)
        assert candidate.check().holds
        assert SequenceAnonymity(method.k).check(released).holds
        crowds = naive_sequence_crowds([by_name(c) for c in released], subject_of(released[-1]))
        assert min(crowds.values()) >= method.k


@given(history=histories())
def test_what_is_published_is_the_mean_of_the_cell_and_cells_never_change(history):
    method, options, days = history
    growing, cells = IncrementalMicroaggregation(method, **options), {}
    for day in days:
        candidate = growing.push(day)
        if candidate is None:
            continue
        original, groups = candidate.private.original, candidate.private.groups.tolist()
        subjects = list(subject_of(candidate).values())
        means = np.array(naive_group_means(original.rows.tolist(), groups, subjects, method.k))
        if method.round_to:
            means = np.where(np.isnan(means), np.nan, np.rint(means / 0.5) * 0.5)
        assert_allclose(candidate.published.rows, means, rtol=1e-12)
        rows, _ = growing.state()
        own = dict(zip(rows["series"], rows["cell"], strict=True))
        assert cells.items() <= own.items()
        cells = own
        joined = {(cells[name], group) for name, group in zip(original.ids, groups, strict=True)}
        assert len(joined) == len(set(cells.values()))  # whole cells only
        if not options["join"]:
            assert len(set(groups)) == len(joined)
        # The readings themselves are those of the day; who was not there has none.
        read = dict(zip(day.ids, day.rows.tolist(), strict=True))
        for name, row in zip(original.ids, original.rows.tolist(), strict=True):
            assert_array_equal(row, read.get(name, [np.nan, np.nan]))


@given(history=histories())
def test_newcomers_wait_until_k_subjects_are_there_and_begin_together(history):
    method, options, days = history
    growing, placed = IncrementalMicroaggregation(method, **options), set()
    for day in days:
        growing.push(day)
        rows, _ = growing.state()
        now = set(rows["series"])
        new = {n for n, row in zip(day.ids, day.rows, strict=True) if not np.isnan(row).all()} - placed
        subjects = {
            s for n, s in zip(day.ids, day.subjects if day.subjects is not None else day.ids, strict=True) if n in new
        }
        assert now - placed == (new if len(subjects) >= method.k else set())
        assert placed <= now
        placed = now
        sizes = rows.group_by("cell").agg(pl.col("subject").n_unique(), pl.col("since").n_unique())
        assert (sizes["subject"] >= method.k).all()
        assert (sizes["since"] == 1).all()


@given(history=histories(), data=st.data())
def test_a_restored_operator_and_days_that_come_again_change_nothing(history, data):
    method, options, days = history
    plain, stopped = (IncrementalMicroaggregation(method, **options) for _ in range(2))
    for number, day in enumerate(days):
        expected, found = plain.push(day), stopped.push(day)
        if data.draw(st.booleans()):  # as if it had not been published, and then was
            stopped.take_back()
            found = stopped.push(day)
        same(expected, found)
        rows, facts = stopped.state()
        stopped = IncrementalMicroaggregation.restored(method, rows, json.loads(json.dumps(facts)))
        again = data.draw(st.integers(0, number))
        same(stopped.push(days[again]), plain.push(days[again]))
    assert stopped.state()[0].equals(plain.state()[0])
    assert stopped.state()[1] == plain.state()[1]
    assert len(stopped.stretches) == len(days)


def same(a, b):
    assert (a is None) == (b is None)
    if a is not None:
        assert_array_equal(a.values.view(np.uint64), b.values.view(np.uint64))
        assert a.private.original.digest() == b.private.original.digest()
        assert a.recipe == b.recipe


def day(values, ids=None, number=0, **more):
    values = np.asarray(values, dtype=float).reshape(-1, 1)
    return Panel(values, ids=ids or [f"m{i}" for i in range(len(values))], times=[number], **more)


def begun(**more):
    growing = IncrementalMicroaggregation(Microaggregation(k=2), **more)
    growing.push(day([1, 2, 10, 12]))
    return growing


def test_who_is_away_or_has_left_is_published_as_his_group():
    growing = IncrementalMicroaggregation(Microaggregation(k=2), spare=1)
    growing.push(day([1, 2, 3, 10, 11, 12]))
    without = growing.push(day([1, 2, 10, 11, 12], ids=["m0", "m1", "m3", "m4", "m5"], number=1))
    assert without.values.ravel().tolist() == [1.5, 1.5, 1.5, 11.0, 11.0, 11.0]


def test_a_group_with_fewer_than_k_readings_is_missing_as_a_whole():
    growing = begun()
    published = growing.push(day([1, 10, 12], ids=["m0", "m2", "m3"], number=1)).values.ravel()
    assert_array_equal(published, [np.nan, np.nan, 11.0, 11.0])


def test_a_day_on_which_no_group_has_enough_readings_gives_nothing_and_the_next_one_does():
    growing = begun()
    assert growing.push(day([1, 10], ids=["m0", "m2"], number=1)) is None
    assert growing.push(day([1, 2, 10, 12], number=2)).recipe.figures["release_of_sequence"] == 2


def test_too_few_for_a_first_group_wait():
    growing = IncrementalMicroaggregation(Microaggregation(k=3))
    assert growing.push(day([1, 2])) is None
    assert (growing.n_waiting, growing.n_series, growing.n_cells) == (2, 0, 0)
    assert growing.push(day([1, 2, 3], number=1)).values.ravel().tolist() == [2.0] * 3
    assert (growing.n_waiting, growing.n_series, growing.n_cells) == (0, 3, 1)


def test_newcomers_of_a_stratum_wait_for_each_other():
    tariffs = {"attributes": {"tariff": ["a", "b", "a", "c"]}}
    for more, begin, cells in (({}, ["m0", "m2"], 1), ({"merge_small": True}, ["m0", "m1", "m2", "m3"], 2)):
        growing = IncrementalMicroaggregation(Microaggregation(k=2, within="tariff", **more))
        growing.push(day([1, 2, 3, 4], **tariffs))
        assert sorted(growing.state()[0]["series"]) == begin
        assert growing.n_cells == cells
    with pytest.raises(ParameterError, match="within='tariff' is not among the 0 attributes"):
        IncrementalMicroaggregation(Microaggregation(k=2, within="tariff")).push(day([1, 2]))


def test_the_order_of_the_series_and_static_columns_do_not_make_another_day():
    growing = begun()
    again = day([12, 10, 2, 1], ids=["m3", "m2", "m1", "m0"], attributes={"tariff": list("abcd")})
    assert growing.knows(again)
    assert growing.push(again).values.ravel().tolist() == [1.5, 1.5, 11.0, 11.0]
    assert not growing.knows(day([1, 2, 10, 12], number=1))


def test_spare_members_let_as_many_be_away():
    values, ids = np.arange(12.0), [f"m{i}" for i in range(12)]
    for spare, missing in ((0, 3), (1, 0)):
        growing = IncrementalMicroaggregation(Microaggregation(k=3), spare=spare)
        growing.push(day(values))
        published = growing.push(day(values[1:], ids=ids[1:], number=1)).values
        assert np.isnan(published).sum() == missing


@given(history=histories())
def test_joined_groups_have_k_subjects_with_readings_unless_there_are_no_others(history):
    method, options, days = history
    growing = IncrementalMicroaggregation(method, **{**options, "join": True})
    for day in days:
        candidate = growing.push(day)
        if candidate is None:
            continue
        original, groups = candidate.private.original, candidate.private.groups
        there, subjects = ~np.isnan(original.rows).all(axis=1), original.subject_codes
        present = [len(set(subjects[there & (groups == group)])) for group in range(groups.max() + 1)]
        if len(set(subjects[there])) >= method.k:
            assert all(n == 0 or n >= method.k for n in present)


@st.composite
def cells_with_readings(draw):
    """The cell, the readings and the subject of each row; every cell has a row."""
    n_cells = draw(st.integers(1, 5))
    cells = [*range(n_cells), *draw(st.lists(st.integers(0, n_cells - 1), max_size=8))]
    values = st.sampled_from([0.0, 0.5, 1.0, 4.0, np.nan, np.nan])
    rows = [[draw(values), draw(values)] for _ in cells]
    return cells, rows, [draw(st.integers(0, 6)) for _ in cells]


@given(case=cells_with_readings(), k=st.integers(2, 4))
def test_joining_equals_the_naive_way(case, k):
    cells, rows, subjects = case
    groups = join_thin(np.array(cells), np.array(rows), np.array(subjects), k)
    found = {frozenset(np.flatnonzero(groups == group).tolist()) for group in range(groups.max() + 1)}
    assert found == naive_joined(cells, rows, subjects, k)


def test_a_group_of_which_too_few_are_left_is_joined_with_the_nearest():
    growing = IncrementalMicroaggregation(Microaggregation(k=2), join=True)
    growing.push(day([1, 2, 10, 12, 30, 31]))
    left = growing.push(day([1, 2, 9, 30, 31], ids=["m0", "m1", "m2", "m4", "m5"], number=1))
    assert left.values.ravel().tolist() == [4.0] * 4 + [30.5] * 2
    # Together for a day is not together for ever.
    assert growing.push(day([1, 2, 10, 12, 30, 31], number=2)).private.groups.tolist() == [0, 0, 1, 1, 2, 2]


def test_the_certificate_is_not_told_how_many_rows_were_read(tmp_path):
    from shoal import publish, read_panel

    table = pl.DataFrame({"id": ["a", "b", "c", "d"], "time": [0] * 4, "value": [1.0, 2.0, 5.0, 6.0]})
    candidate = IncrementalMicroaggregation(Microaggregation(k=2)).push(read_panel(table))
    release = publish(candidate, tmp_path / "out", pseudonyms="keyed", private=tmp_path / "private")
    assert release.certificate["input"]["rows"] is None
    assert set(release.certificate["method"]["figures"]) == {"release_of_sequence", "spare_members"}


def test_fresh_groups_each_day_break_what_the_growing_panel_keeps():
    days = [simulate.meters(60, days=1, seed=3 + number) for number in range(3)]
    days = [Panel(d.values, times=24 * n + np.arange(24)) for n, d in enumerate(days)]
    fresh = [Microaggregation(k=5).anonymize(panel).published for panel in days]
    growing = IncrementalMicroaggregation(Microaggregation(k=5))
    kept = [growing.push(panel).published for panel in days]
    assert SequenceAnonymity(5).check(kept).holds
    assert SequenceAnonymity(5).check(fresh).measured == 1
    whole = Panel(np.concatenate([panel.values for panel in days], axis=1))
    told = Intersection(step=24, link="known")
    assert told.attack(whole, kept).fewest >= 5
    assert told.attack(whole, fresh).fewest == 1


@pytest.mark.parametrize("method", [{"form": "profiles"}, {"aggregate": "median"}, {"aggregate": "quantiles", "k": 9}])
def test_other_forms_are_refused(method):
    with pytest.raises(ParameterError, match="published as the mean or the trimmed mean of each group"):
        IncrementalMicroaggregation(Microaggregation(**{"k": 3, **method}))


@pytest.mark.parametrize("spare", [-1, 1.5, True, "2"])
def test_spare_must_be_a_whole_number(spare):
    with pytest.raises(ParameterError, match="spare must be a whole number of at least 0"):
        IncrementalMicroaggregation(Microaggregation(k=3), spare=spare)


def test_what_is_published_cannot_be_corrected():
    growing = begun()
    with pytest.raises(InputError, match=r"those of stretch 1, which came with other readings. What is published"):
        growing.push(day([1, 2, 10, 13]))


def test_a_day_out_of_order_is_refused():
    growing = begun()
    growing.push(day([1, 2, 10, 12], number=5))
    for late in (Panel(np.ones((4, 1)), ids=NAMES[:4], times=[3]), Panel(np.ones((4, 2)), ids=NAMES[:4], times=[5, 6])):
        with pytest.raises(InputError, match="not after the last instant of the stretches before it"):
            growing.push(late)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"channels": ["gas"]}, "channels"),
        ({"timezone": "UTC", "times": np.array(["2024-01-01"], "M8[us]")}, "time zone, type of times"),
        ({"ids": [0, 1, 2, 3]}, "type of identifiers"),
        ({"subjects": ["w", "x", "y", "z"]}, "subjects"),
    ],
)
def test_a_day_with_other_columns_is_refused(change, what):
    arguments = {"ids": NAMES[:4], "times": [1], **change}
    with pytest.raises(InputError, match=f"differs from those before it in its {what}. All stretches"):
        begun().push(Panel(np.ones((4, 1)), **arguments))


def test_identifiers_of_several_types_are_refused():
    with pytest.raises(InputError, match="of the series are of several types: int, str"):
        IncrementalMicroaggregation(Microaggregation(k=2)).push(day([1, 2], ids=[1, "2"]))


def test_a_series_that_changes_hands_is_refused():
    growing = IncrementalMicroaggregation(Microaggregation(k=2))
    growing.push(day([1, 2], subjects=["x", "y"]))
    with pytest.raises(InputError, match="1 series have another subject than before"):
        growing.push(day([1, 2], subjects=["x", "z"], number=1))


def test_a_day_without_readings_is_refused():
    with pytest.raises(InputError, match=r"None of the 2 series has a reading. Leave this stretch out"):
        begun().push(day([np.nan, np.nan], number=1))


def test_nothing_can_be_taken_back_before_anything_was_pushed():
    with pytest.raises(ParameterError, match="Nothing was pushed that could be withdrawn"):
        IncrementalMicroaggregation(Microaggregation(k=2)).take_back()


def test_a_state_of_another_k_is_refused():
    with pytest.raises(ParameterError, match=r"The growing panel was started with k=2, not k=3. Use the same"):
        IncrementalMicroaggregation.restored(Microaggregation(k=3), *begun().state())


@pytest.mark.parametrize(
    "edit",
    [
        pl.lit(0).alias("cell"),  # two groups that were published apart, joined
        pl.Series("cell", [0, 1, 1, 1]),  # a group of one
        pl.Series("cell", [0, 1, 0, 1]),  # members exchanged
        pl.Series("cell", [0, 0, 2, 2]),  # a number left out
        pl.Series("since", [0, 1, 0, 0]),  # one who begins later than his group
        pl.Series("subject", ["m0", "m0", "m2", "m3"]),  # one subject twice
        pl.Series("series", ["m0", "m0", "m2", "m3"]),  # one series twice
    ],
)
def test_a_state_that_was_edited_is_refused(edit):
    rows, facts = begun().state()
    with pytest.raises(InputError, match="is not as it was written: its groups are not those that were published"):
        IncrementalMicroaggregation.restored(Microaggregation(k=2), rows.with_columns(edit), facts)


def test_a_defect_that_would_break_the_promise_does_not_get_out(monkeypatch):
    growing = begun()
    before = growing.state()
    growing._cells = np.array([0, 1, 0, 1])
    with pytest.raises(GuaranteeNotMetError, match=r"leaves someone in a crowd of 1, 2 were promised. It was not publ"):
        growing.push(day([1, 2, 10, 12], number=1))
    assert len(growing.stretches) == 1
    assert growing.state()[1] == before[1]
