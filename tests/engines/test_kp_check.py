"""The check of (k, P)-anonymity on an engine equals the one in memory, breaches included."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal import KP, Panel
from shoal.engines.blocks import LEVEL, PUBLISHED, WORD, BlockPanel, BlockPublished, Clock
from shoal.engines.checks import check
from shoal.engines.methods import anonymize
from shoal.engines.rows import ID, SUBJECT, pack
from shoal.guarantees import KPAnonymity
from shoal.model import Envelopes


def published(engine, ends, levels, words, subjects, parts=3):
    """Envelopes (series, instants, 2) on an engine, as a check sees them."""
    n = len(ends)
    table = pa.table(
        {
            ID: [f"s{i:05}" for i in range(n)],
            SUBJECT: [str(subject) for subject in subjects],
            PUBLISHED: pack(np.asarray(ends, dtype=np.float64)),
            LEVEL: pa.array(levels, pa.int64()),
            WORD: list(words),
        }
    )
    clock = Clock(np.arange(np.shape(ends)[1]), ("low", "high"))
    return BlockPublished(engine, engine.scatter(table, parts), clock, "envelopes", n)


def in_memory(ends, levels, words, subjects):
    ends = np.asarray(ends, dtype=np.float64)
    return Envelopes(ends[..., 0], ends[..., 1], levels, tuple(words), np.arange(ends.shape[1]), subjects=subjects)


def random_release(rng, n, n_boxes=4, n_words=3, n_subjects=None):
    """Few different envelopes, words and levels, so that crowds of all sizes occur."""
    low = rng.integers(0, 2, size=(n_boxes, 2)).astype(float)
    boxes = np.stack([low, low + rng.integers(0, 2, size=low.shape)], axis=2)
    ends = boxes[rng.integers(n_boxes, size=n)]
    words = np.array(["ab", "ba", "bb"])[rng.integers(n_words, size=n)]
    return ends, rng.integers(1, 3, size=n), words.tolist(), rng.integers(n_subjects or 10 * n, size=n)


def assert_equal_verdicts(found, expected):
    assert (found.holds, found.measured, found.required) == (expected.holds, expected.measured, expected.required)
    assert found.witness is None


def test_verdict_equals_the_one_in_memory_on_every_engine(engine):
    release = random_release(np.random.default_rng(0), 400, n_subjects=300)
    seen = []
    for k, p in ((2, 2), (200, 2), (2, 60)):
        expected = KPAnonymity(k, p).check(in_memory(*release))
        found = check(KPAnonymity(k, p), published(engine, *release))
        assert_equal_verdicts(found, expected)
        seen.append((found.holds, found.required))
    assert seen == [(True, 2), (False, 200), (False, 60)]


def test_one_value_or_letter_changed_is_found_on_every_engine(engine):
    candidate = anonymize(
        KP(k=6, p=3), BlockPanel.of(Panel(np.random.default_rng(1).normal(size=(300, 5)).cumsum(axis=1)), engine)
    )
    assert check(KPAnonymity(6, 3), candidate).holds
    rows = engine.collect(candidate.table).sort_by([(PUBLISHED, "ascending"), (WORD, "ascending"), (ID, "ascending")])
    released = candidate.published

    def forged(column, entry):
        entries = rows[column].to_pylist()
        entries[0] = entry(entries[0])
        names = released.table.schema.names
        table = rows.set_column(rows.schema.names.index(column), column, pa.array(entries, rows[column].type))
        return BlockPublished(engine, engine.scatter(table.select(names), 3), released.clock, "envelopes", len(rows))

    # The last bit of one end, the word, the level: each tells one series from its crowd.
    verdict = check(KPAnonymity(6, 3), forged(PUBLISHED, lambda row: bytes([row[0] ^ 1]) + row[1:]))
    assert (verdict.holds, verdict.measured, verdict.required) == (False, 1, 6)
    assert verdict.note == "an envelope has too few subjects; 1 series have such a one"
    for column, entry in ((WORD, lambda word: word[::-1] + "a"), (LEVEL, lambda level: level + 1)):
        verdict = check(KPAnonymity(6, 3), forged(column, entry))
        assert (verdict.holds, verdict.measured, verdict.required) == (False, 1, 3)
        assert verdict.note.startswith("a pattern has too few subjects inside its envelope; ")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n=st.integers(1, 40),
    n_subjects=st.integers(1, 40),
    k=st.integers(2, 6),
    p=st.integers(2, 4),
    parts=st.integers(1, 5),
    seed=st.integers(0, 2**16),
)
def test_verdict_equals_memory_and_counting_by_hand(local, n, n_subjects, k, p, parts, seed):
    release = random_release(np.random.default_rng(seed), n, n_subjects=n_subjects)
    found = check(KPAnonymity(k, p), published(local, *release, parts=parts))
    assert_equal_verdicts(found, KPAnonymity(k, p).check(in_memory(*release)))
    envelopes, patterns = defaultdict(set), defaultdict(set)
    for row, level, word, subject in zip(*release, strict=True):
        envelopes[row.tobytes()].add(int(subject))
        patterns[row.tobytes(), int(level), word].add(int(subject))
    holds = min(map(len, envelopes.values())) >= k and min(map(len, patterns.values())) >= p
    assert found.holds == holds


@pytest.mark.parametrize("k", [2, 4])
def test_values_are_their_own_envelopes(local, k):
    x = np.repeat([[1.0, 2.0], [3.0, 4.0]], 3, axis=0)
    table = pa.table({ID: list("abcdef"), SUBJECT: list("abcdef"), PUBLISHED: pack(x)})
    judged = BlockPublished(local, local.scatter(table), Clock(np.arange(2)), "values", 6)
    assert_equal_verdicts(check(KPAnonymity(k, 3), judged), KPAnonymity(k, 3).check(Panel(x)))


def test_nothing_published_does_not_hold(local):
    empty = published(local, np.empty((1, 2, 2)), [1], ["ab"], [0])
    table = local.map(empty.table, _Nothing(), empty.table.schema)
    verdict = check(KPAnonymity(2, 2), BlockPublished(local, table, empty.clock, "envelopes", 0))
    assert not verdict.holds
    assert verdict.note == "no series is published"


class _Nothing:
    def __call__(self, blocks):
        for block in blocks:
            yield block.slice(0, 0)
