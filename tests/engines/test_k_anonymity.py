"""The check of k-anonymity on an engine: exact, by the bytes of what is published."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import KAnonymity, Panel
from shoal.engines import Local
from shoal.engines.blocks import BlockPublished, Clock
from shoal.engines.checks import check
from shoal.engines.guarantees.k_anonymity import group_sizes
from shoal.engines.rows import pack
from shoal.model import Envelopes


def published(engine, values, subjects=None, parts=3, form="values", **marks):
    values = np.asarray(values, dtype=float)
    values = values.reshape(len(values), -1)
    ids = [f"s{i}" for i in range(len(values))]
    table = pa.table({"id": ids, "subject": [str(s) for s in (subjects or ids)], "published": pack(values), **marks})
    clock = Clock(np.arange(values.shape[1]))
    return BlockPublished(engine, engine.scatter(table, parts), clock, form, len(values))


def naive_sizes(values, subjects):
    """For each group of rows with equal bytes its different subjects, found by comparing all pairs."""
    rows = [row.tobytes() for row in np.asarray(values, dtype=float)]
    return {row: len({s for other, s in zip(rows, subjects, strict=True) if other == row}) for row in rows}


def test_the_verdict_is_that_of_memory_and_names_nobody(engine):
    rng = np.random.default_rng(2)
    values = np.repeat(rng.normal(size=(200, 5)), rng.integers(3, 9, 200), axis=0)
    order = rng.permutation(len(values))
    subjects = (np.arange(len(values)) // 2)[order].tolist()
    for per in ("subject", "series"):
        for k in (2, 3, 4):
            found = check(KAnonymity(k, per=per), published(engine, values[order], subjects))
            expected = KAnonymity(k, per=per).check(Panel(values[order], subjects=subjects))
            assert (found.holds, found.measured, found.required) == (
                expected.holds,
                expected.measured,
                expected.required,
            )
            assert found.witness is None
            assert bool(found.note) == (not found.holds)


def test_one_changed_bit_anywhere_breaks_it(engine):
    values = np.repeat(np.arange(24.0).reshape(4, 6), 5, axis=0)
    assert check(KAnonymity(5), published(engine, values, parts=7)).holds
    forged = values.copy()
    forged[13, 4] = np.nextafter(forged[13, 4], np.inf)
    verdict = check(KAnonymity(5), published(engine, forged, parts=7))
    assert not verdict.holds
    assert verdict.measured == 1
    assert verdict.note == "5 of 20 series are in groups below k"


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([0.0, -0.0, 1.0, np.nan]), st.sampled_from([0.0, 5e-324]), st.integers(0, 3)),
        min_size=1,
        max_size=25,
    ),
    parts=st.integers(1, 6),
)
def test_sizes_are_those_of_brute_enumeration(rows, parts):
    values, subjects = np.array([row[:2] for row in rows]), [row[2] for row in rows]
    expected = list(naive_sizes(values, subjects).values())
    with Local(memory="16MiB") as engine:
        what = published(engine, values, subjects, parts)
        assert group_sizes(what) == {size: expected.count(size) for size in sorted(set(expected))}
        verdict = check(KAnonymity(2), what)
    assert verdict.measured == min(expected)
    assert verdict.holds == (min(expected) >= 2)


def test_rows_that_share_a_hash_are_still_compared(local, monkeypatch):
    """Every row in the same bucket, as if all hashes met: only bytes may tell rows apart."""
    monkeypatch.setattr("shoal.engines.scatter.hashes", lambda block, keys: np.zeros(block.num_rows, dtype=np.uint64))
    values = np.repeat(np.arange(30.0).reshape(15, 2), 4, axis=0)
    assert group_sizes(published(local, values)) == {4: 15}
    values[7, 1] += 1
    assert group_sizes(published(local, values)) == {1: 1, 3: 1, 4: 14}


def test_equal_bytes_at_other_instants_are_other_rows(engine):
    values = [[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [2.0, 1.0]]
    assert group_sizes(published(engine, values)) == {2: 2}


def test_one_subject_with_many_rows_is_one(engine):
    values = np.zeros((6, 3))
    verdict = check(KAnonymity(2), published(engine, values, subjects=["a"] * 6))
    assert (verdict.holds, verdict.measured) == (False, 1)
    assert check(KAnonymity(6, per="series"), published(engine, values, subjects=["a"] * 6)).holds


def test_words_tell_envelopes_apart_as_in_memory(engine):
    low, high = np.zeros((6, 2)), np.ones((6, 2))
    words, levels = ["ab", "ab", "ab", "ba", "ba", "ba"], [2, 2, 3, 3, 3, 3]
    ends = np.stack([low, high], axis=2)
    what = published(engine, ends, form="envelopes", level=levels, word=words)
    in_memory = Envelopes(low=low, high=high, patterns=tuple(words), levels=np.array(levels), times=np.arange(2))
    for k in (2, 3):
        found, expected = check(KAnonymity(k), what), KAnonymity(k).check(in_memory)
        assert (found.holds, found.measured) == (expected.holds, expected.measured) == (False, 1)
    assert group_sizes(what) == {6: 1}


@pytest.mark.parametrize("n", [2, 5000])
def test_groups_larger_than_any_block_are_one(local, n):
    assert group_sizes(published(local, np.ones((n, 400)), parts=min(n, 9))) == {n: 1}
