"""A panel that grows under (n, l, k)-anonymity: over any arrivals and absences all releases together keep it."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.ledger_instants import fine_by_instants
from naive.nlk import mark
from shoal import NLK, Panel, SequenceNLKAnonymity
from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.streams import IncrementalNLK

NAMES = [f"m{i}" for i in range(10)]
METHODS = [(NLK(n=1, l=2, k=2), 0), (NLK(n=1, l=4, k=2), 1), (NLK(n=2, l=4, k=3), 1), (NLK(n=1, l=4, k=3), 2)]


@st.composite
def histories(draw):
    """An operator and days of four instants on which some series are there; values with ties, sometimes a gap."""
    method, alone = draw(st.sampled_from(METHODS))
    days = []
    for number in range(draw(st.integers(1, 4))):
        there = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
        if draw(st.booleans()):
            there = NAMES[: draw(st.integers(6, 10))]
        dice = np.random.default_rng(draw(st.integers(0, 1000)))
        rows = dice.integers(0, 4, (len(there), 4)).astype(float)
        if draw(st.integers(0, 3)) == 0:
            rows[0, 1] = np.nan
        days.append(Panel(rows, ids=there, times=4 * number + np.arange(4)))
    return method, alone, days


def by_name(candidate):
    names = candidate.private.original.ids.tolist()
    return {name: [mark(v) for v in row] for name, row in zip(names, candidate.published.rows, strict=True)}


@given(history=histories())
@settings(deadline=None)
def test_every_prefix_of_the_releases_keeps_the_promise(history):
    method, alone, days = history
    growing = IncrementalNLK(method, alone=alone)
    released = []
    for day in days:
        candidate = growing.push(day)
        if candidate is None:
            continue
        released.append(candidate)
        assert candidate.check().holds
        assert all(guarantee.check(candidate).holds for guarantee in candidate.further)
        assert fine_by_instants([by_name(one) for one in released], method.n, method.l, method.k)
        assert SequenceNLKAnonymity(method.n, method.l, method.k).check(released).holds


def test_who_begins_is_not_left_out_for_others_to_be_absent_with():
    """Nobody knows of someone who was never published: a member absent with them alone would be absent alone."""
    names = [f"m{i}" for i in range(6)]
    for seed in range(20):
        rows = np.random.default_rng(seed).integers(0, 4, (6, 4)).astype(float)
        days = [Panel(rows[:2], ids=names[:2], times=np.arange(4))]
        days.append(Panel(rows[1:], ids=names[1:], times=4 + np.arange(4)))
        growing = IncrementalNLK(NLK(n=1, l=2, k=2))
        released = [growing.push(day) for day in days]
        assert released[1].private.original.ids.tolist() == names[2:]
        assert SequenceNLKAnonymity(1, 2, 2).check(released).holds


@given(history=histories())
@settings(deadline=None)
def test_who_is_published_has_all_readings_and_who_is_absent_is_not_alone(history):
    method, alone, days = history
    growing = IncrementalNLK(method, alone=alone)
    for day in days:
        candidate = growing.push(day)
        if candidate is None:
            continue
        original, members = candidate.private.original, set(growing.state()[0]["series"])
        read = dict(zip(day.ids, day.rows.tolist(), strict=True))
        for name, row in zip(original.ids, original.rows.tolist(), strict=True):
            assert row == read[name]
        absent = members - set(original.ids)
        assert not 0 < len(absent) < method.k
        lacking = {name for name in members if name not in read or np.isnan(read[name]).any()}
        assert lacking <= absent
        assert len(absent) <= max(len(lacking), method.k)  # no more are left out than that takes


@given(history=histories(), data=st.data())
@settings(deadline=None)
def test_a_restored_operator_and_days_that_come_again_change_nothing(history, data):
    method, alone, days = history
    plain, stopped = (IncrementalNLK(method, alone=alone) for _ in range(2))
    for number, day in enumerate(days):
        expected, found = plain.push(day), stopped.push(day)
        if data.draw(st.booleans()):  # as if it had not been published, and then was
            stopped.take_back()
            found = stopped.push(day)
        again = stopped.push(day)
        for one in (found, again):
            assert (one is None) == (expected is None)
            assert one is None or one.published.digest() == expected.published.digest()
        rows, facts = stopped.state()
        stopped = IncrementalNLK.restored(method, rows, json.loads(json.dumps(facts)))
        assert len(stopped.stretches) == number + 1
    assert stopped.state()[0].equals(plain.state()[0])
    assert stopped.state()[1] == plain.state()[1]


def meters(n=12, n_instants=6, number=0, ids=NAMES, **more):
    values = np.random.default_rng(number).random((n, n_instants))
    names = [*ids, "m10", "m11"][:n]
    return Panel(values, ids=names, times=n_instants * number + np.arange(n_instants), **more)


def test_releases_spend_what_may_become_known_until_nothing_is_left():
    growing = IncrementalNLK(NLK(n=1, l=5, k=4), alone=2)
    spent = [growing.push(meters(number=number)).recipe.figures["instants_below_k_at_most"] for number in range(3)]
    assert spent == [2, 1, 0]
    assert growing.state()[0]["spent"].max() == 3


def test_groups_of_one_release_alone_would_not_do():
    """What the method does with a panel by itself spends everything at once, every time."""
    released = [NLK(n=1, l=4, k=4).anonymize(meters(number=number)).published for number in range(3)]
    named = [Panel(day.values, ids=[*NAMES, "m10", "m11"]) for day in released]
    assert all(SequenceNLKAnonymity(1, 4, 4).check(day).holds for day in named)
    assert not SequenceNLKAnonymity(1, 4, 4).check(named).holds


def test_newcomers_wait_for_each_other():
    growing = IncrementalNLK(NLK(n=1, l=2, k=3))
    growing.push(meters(n=6))
    growing.push(meters(n=8, number=1))
    assert (growing.n_series, growing.n_waiting) == (6, 2)
    growing.push(meters(n=9, number=2))
    assert (growing.n_series, growing.n_waiting, growing.n_cells) == (9, 0, None)


def test_too_few_for_a_release_publish_nothing():
    growing = IncrementalNLK(NLK(n=1, l=2, k=3))
    assert growing.push(meters(n=2)) is None
    assert growing.push(meters(n=5, number=1)) is not None
    assert growing.push(meters(n=4, number=2)) is None  # one is absent, and two more would leave two
    assert [stretch.published for stretch in growing.stretches] == [False, True, False]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: IncrementalNLK(NLK(n=1, l=4, k=2, strategy="mth")), "needs strategy 'optimal' or 'cluster': 'mth'"),
        (lambda: IncrementalNLK(NLK(n=1, l=4, k=2), alone=3), "alone must be a whole number from 0 to l - n - 1, "),
        (lambda: IncrementalNLK(NLK(n=1, l=4, k=2), alone=True), "alone must be a whole number"),
        (lambda: IncrementalNLK(NLK(n=1, l=7, k=2)).push(meters()), "l=7 needs at least 7 instants in every stretch"),
        (
            lambda: IncrementalNLK(NLK(n=1, l=3, k=2)).push(meters(subjects=[0, 0, *range(10)])),
            "needs one series per subject; some have several",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_a_series_that_changes_hands_is_refused():
    growing = IncrementalNLK(NLK(n=1, l=3, k=2))
    growing.push(meters(subjects=range(12)))
    with pytest.raises(InputError, match="1 series have another subject than before"):
        growing.push(meters(number=1, subjects=[*range(11), 99]))


def test_a_state_of_another_promise_is_refused():
    growing = IncrementalNLK(NLK(n=1, l=3, k=2))
    with pytest.raises(ParameterError, match=r"The growing panel was started with l=3, not l=4. Use the same"):
        IncrementalNLK.restored(NLK(n=1, l=4, k=2), *growing.state())


@pytest.mark.parametrize(
    "edit",
    [
        pl.Series("since", [0] * 11 + [1]),  # one who begins alone
        pl.Series("spent", [2] * 12),  # more than there is
        pl.Series("subject", ["m0"] * 12),  # one subject throughout
        pl.Series("series", ["m0"] * 12),  # one series throughout
    ],
)
def test_a_state_that_was_edited_is_refused(edit):
    growing = IncrementalNLK(NLK(n=1, l=3, k=2), alone=1)
    growing.push(meters())
    rows, facts = growing.state()
    with pytest.raises(InputError, match="is not as it was written"):
        IncrementalNLK.restored(NLK(n=1, l=3, k=2), rows.with_columns(edit), facts)


def test_a_defect_that_would_break_the_promise_does_not_get_out(monkeypatch):
    growing = IncrementalNLK(NLK(n=1, l=3, k=4), alone=1)
    growing.push(meters())
    before = growing.state()
    monkeypatch.setattr(IncrementalNLK, "_may_spend", lambda self, number: 3)
    with pytest.raises(GuaranteeNotMetError, match=r"instants of a series are in groups below k, at most 1 may be. It"):
        growing.push(meters(number=1))
    assert growing.state()[1] == before[1]
    assert growing.state()[0].drop("before").equals(before[0].drop("before"))


def test_a_release_from_which_one_member_is_absent_alone_does_not_get_out():
    growing = IncrementalNLK(NLK(n=1, l=3, k=4))
    growing.push(meters())
    without_one = NLK(n=1, l=3, k=4, strategy="cluster").anonymize(meters(n=11, number=1))
    assert growing._judge(without_one) == "1 members are absent from this stretch, fewer than 4"


def test_a_release_without_someone_who_begins_does_not_get_out():
    growing = IncrementalNLK(NLK(n=1, l=3, k=4))
    growing.push(meters())
    without_four = NLK(n=1, l=3, k=4, strategy="cluster").anonymize(meters(n=8))
    assert growing._judge(without_four) == "4 members are absent from the stretch in which they begin"
