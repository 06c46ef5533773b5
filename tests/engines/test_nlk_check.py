"""The check of (n, l, k)-anonymity on an engine against the one in memory."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.nlk import naive_nlk_anonymous
from shoal import NLK, NLKAnonymity, Panel, simulate
from shoal.engines import nlk
from shoal.engines.blocks import BlockPanel, BlockPublished, Clock
from shoal.engines.checks import check
from shoal.engines.local import Local
from shoal.engines.nlk import Limits
from shoal.engines.nlk import check as nlk_check
from shoal.engines.rows import pack
from shoal.errors import ParameterError


def published(engine, panel, parts=3, seed=0):
    """Rows in another order than that of their ids."""
    order = np.random.default_rng(seed).permutation(panel.n_series)
    ids = [str(panel.ids[i]) for i in order]
    subjects = ids if panel.subjects is None else [str(panel.subjects[i]) for i in order]
    table = pa.table({"id": ids, "subject": subjects, "published": pack(panel.rows[order])})
    clock = Clock(panel.times, panel.channels)
    return BlockPublished(engine, engine.scatter(table, parts), clock, "values", panel.n_series)


def with_ids(values, subjects=None):
    return Panel(values, ids=sorted(f"m{i}" for i in range(len(values))), subjects=subjects)


def told(verdict):
    return verdict.holds, verdict.measured, verdict.required


@st.composite
def judged_panels(draw):
    n_series = draw(st.integers(2, 24))
    n_instants = draw(st.integers(2, 6))
    n_channels = draw(st.sampled_from([1, 1, 2]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = rng.integers(0, draw(st.integers(1, 5)), size=(n_series, n_instants, n_channels)).astype(float)
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.1]))] = np.nan
    subjects = draw(st.sampled_from([None, [f"s{j}" for j in rng.integers(0, n_series, n_series)]]))
    n = draw(st.integers(1, n_instants - 1))
    guarantee = NLKAnonymity(
        n,
        draw(st.integers(n + 1, n_instants)),
        draw(st.integers(2, 6)),
        per=draw(st.sampled_from(["subject", "series"])),
    )
    return with_ids(values[:, :, 0] if n_channels == 1 else values, subjects), guarantee


@pytest.fixture(scope="module")
def small():
    with Local(memory="64MB") as engine:
        yield engine


@settings(max_examples=50, deadline=None)
@given(case=judged_panels())
def test_the_verdict_is_that_in_memory(small, case):
    panel, guarantee = case
    found = nlk_check.check(guarantee, published(small, panel))
    assert told(found) == told(guarantee.check(panel))
    assert found.witness is None


@settings(max_examples=50, deadline=None)
@given(case=judged_panels())
def test_what_is_searched_among_neighbours_alone_is_that_in_memory_or_undecided(small, case):
    panel, guarantee = case
    cells = panel.n_series * panel.n_instants - 1
    found = nlk_check.check(guarantee, published(small, panel), cells=cells)
    if "undecided" in found.note:
        assert not found.holds
    else:
        assert told(found)[::2] == told(guarantee.check(panel))[::2]


def apart(rng, crowds=6, size=8, n_instants=6):
    """Crowds that share no value with each other, some of them with small groups."""
    blocks = [c * 100 + rng.integers(0, 3, size=(size, n_instants)) for c in range(1, crowds + 1)]
    return np.concatenate(blocks).astype(float)


def test_a_neighbourhood_is_enough_to_decide(small, rng):
    tally = {True: 0, False: 0}
    for _ in range(10):
        values = apart(rng)
        values[16:] = np.floor(values[16:] / 100)  # four crowds without any suspect
        panel, guarantee = with_ids(values), NLKAnonymity(1, 4, 3)
        found = nlk_check.check(guarantee, published(small, panel), cells=16 * 6)
        assert "undecided" not in found.note
        assert told(found) == told(guarantee.check(panel))
        assert found.holds == naive_nlk_anonymous(values, 1, 4, 3)
        tally[found.holds] += 1
    assert min(tally.values()) > 0


def test_group_sizes_are_those_of_the_whole_panel(small):
    # The neighbour at instant 1 is in a crowd there that shares nothing with the suspects.
    values = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 2.0], *([[2.0, 2.0, 2.0]] * 6)])
    for guarantee in (NLKAnonymity(1, 2, 3), NLKAnonymity(1, 3, 3)):
        panel = with_ids(values)
        found = nlk_check.check(guarantee, published(small, panel), cells=len(values) * 3 - 1)
        assert (
            told(found)[0]
            == told(guarantee.check(panel))[0]
            == naive_nlk_anonymous(values, guarantee.n, guarantee.l, 3)
        )


def test_a_release_holds_on_every_engine_until_one_value_is_changed(engine):
    panel = with_ids(simulate.meters(300, days=1, seed=3).values)
    method = NLK(n=3, l=7, k=5)
    candidate = nlk.anonymize(
        method, BlockPanel.of(panel, engine), limits=Limits(without_holes=0, with_holes=0, moves=0)
    )
    values = candidate.values().copy()
    verdict = check(method.aims_at, candidate)
    assert verdict.holds
    assert told(verdict) == told(method.aims_at.check(with_ids(values)))
    alone = [np.unique(values[:, t], return_inverse=True, return_counts=True)[1:] for t in range(values.shape[1])]
    small = sum((counts < 5)[groups] for groups, counts in alone)
    series = int(np.argmax(small))
    assert small[series] == 3
    spare = next(t for t, (groups, counts) in enumerate(alone) if counts[groups[series]] >= 5)
    values[series, spare] += 1e-9
    forged = with_ids(values)
    expected = method.aims_at.check(forged)
    found = nlk_check.check(method.aims_at, published(engine, forged))
    assert told(found) == told(expected)


def test_a_breach_is_found_on_every_engine_and_names_nobody(engine):
    values = np.repeat(np.arange(30.0)[:, None], 6, axis=1)
    values[15:] = 7.5
    found = nlk_check.check(NLKAnonymity(1, 3, 4), published(engine, with_ids(values)))
    assert told(found) == told(NLKAnonymity(1, 3, 4).check(with_ids(values)))
    assert not found.holds
    assert found.witness is None
    assert found.note == "15 series have 2 or more instants in groups below k; one is a breach"


def test_many_series_of_one_subject_are_no_crowd(small):
    values = np.ones((12, 4))
    panel = with_ids(values, subjects=["one"] * 12)
    assert not nlk_check.check(NLKAnonymity(1, 2, 3), published(small, panel)).holds
    assert nlk_check.check(NLKAnonymity(1, 2, 3, per="series"), published(small, panel)).holds


def test_too_many_neighbours_are_undecided_and_do_not_hold(small, rng):
    panel = with_ids(rng.integers(0, 2, size=(40, 6)).astype(float))
    found = nlk_check.check(NLKAnonymity(1, 2, 25), published(small, panel), cells=30 * 6)
    assert not found.holds
    assert "undecided: " in found.note
    assert "those who share values with them have more than the 180 that are searched" in found.note


def test_several_series_of_a_subject_beyond_the_cells_are_undecided(small, rng):
    panel = with_ids(rng.integers(0, 2, size=(40, 6)).astype(float), subjects=[f"s{i // 2}" for i in range(40)])
    found = nlk_check.check(NLKAnonymity(1, 2, 15), published(small, panel), cells=30 * 6)
    assert not found.holds
    assert "where a subject has several series up to 180 values are searched on an engine" in found.note


def test_a_search_that_runs_out_does_not_hold(small, rng):
    panel = with_ids(rng.integers(0, 3, size=(40, 8)).astype(float))
    guarantee = NLKAnonymity(2, 4, 18)
    expected = guarantee.check(panel, limit=1)
    assert "undecided" in expected.note
    found = nlk_check.check(guarantee, published(small, panel), limit=1)
    assert told(found) == told(expected)
    assert found.note == expected.note


def test_more_instants_than_there_are_are_refused_as_in_memory(small):
    panel = with_ids(np.ones((5, 3)))
    with pytest.raises(ParameterError) as in_memory:
        NLKAnonymity(1, 4, 2).check(panel)
    with pytest.raises(ParameterError, match="l=4 needs at least 4 instants, the panel has 3") as found:
        nlk_check.check(NLKAnonymity(1, 4, 2), published(small, panel))
    assert str(found.value) == str(in_memory.value)


def test_envelopes_are_refused(small):
    rows = published(small, with_ids(np.ones((5, 3))))
    envelopes = BlockPublished(rows.engine, rows.table, rows.clock, "envelopes", 5)
    with pytest.raises(ParameterError, match="nlk-anonymity of envelopes is not checked on an engine"):
        nlk_check.check(NLKAnonymity(1, 2, 2), envelopes)


def test_an_id_that_is_missing_from_the_rows_is_noticed(small):
    rows = published(small, with_ids(np.ones((5, 3))))
    with pytest.raises(ParameterError, match="6 series were announced and 5 found"):
        nlk_check.check(NLKAnonymity(1, 2, 2), BlockPublished(rows.engine, rows.table, rows.clock, "values", 6))
