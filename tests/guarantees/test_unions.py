"""What holds for some subjects and for others holds for all of them, and merged verdicts say so.

Parts are drawn from one pool of rows, so that rows are alike across the border, gaps and rows without any value
included. Most crowds are large enough; now and then one is not.
"""

from itertools import chain

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from naive.crowds import naive_aggregate_rule, naive_k_anonymous
from naive.diversity import naive_l_diverse
from naive.event_groups import naive_bucketised, naive_generalised
from naive.kp import naive_kp_anonymous
from naive.nlk import mark, naive_most_inferred, naive_nlk_anonymous
from naive.sequences import naive_sequence_crowds
from shoal import (
    AggregateRule,
    DifferentialPrivacy,
    KAnonymity,
    KPAnonymity,
    LDiversity,
    NLKAnonymity,
    NoGuarantee,
    Panel,
    SequenceAnonymity,
    SequenceNLKAnonymity,
    Verdict,
    guarantees,
)
from shoal.guarantees.differential_privacy import Spent
from shoal.model import Candidate, Envelopes, EventTables, Interval, Private, Profiles, Recipe, Risk

FEW = st.sampled_from([0.0, -0.0, 1.0, np.nan])
N_PARTS = st.integers(2, 3)


@st.composite
def crowded(draw, pool, k, alone=True):
    """Rows of a pool, each of none or at least k subjects, sometimes one more alone: (row of the pool, subject)."""
    sizes = draw(st.lists(st.sampled_from([0, k, k, k + 1]), min_size=len(pool), max_size=len(pool)))
    if not any(sizes):
        sizes[0] = k
    carried = [(row, subject) for row, size in enumerate(sizes) for subject in range(size)]
    carried += draw(st.lists(st.sampled_from(carried), max_size=2))  # the same again
    if alone and draw(st.integers(0, 3)) == 0:
        unused = [row for row, size in enumerate(sizes) if not size]
        carried.append((draw(st.sampled_from(unused or [0])), 50))
    return draw(st.permutations(carried))


@st.composite
def parts_of_series(draw, k, width=None, alone=True):
    """Values and subjects of two or three parts of one panel; subjects are other people in each."""
    width = width or draw(st.integers(1, 3))
    pool = draw(st.lists(st.lists(FEW, min_size=width, max_size=width), min_size=1, max_size=3))
    pool.append([np.nan] * width)
    found = []
    for part in range(draw(N_PARTS)):
        carried = draw(crowded(pool, k, alone))
        found.append((np.array([pool[row] for row, _ in carried]), [100 * part + subject for _, subject in carried]))
    return found


def apart(parts):
    """The same parts with values that no two of them share."""
    return [(np.where(np.isnan(x), 5.0, x) + 10.0 * place, subjects) for place, (x, subjects) in enumerate(parts)]


def joined(parts):
    return np.concatenate([x for x, _ in parts]), list(chain.from_iterable(subjects for _, subjects in parts))


def panel(part):
    return Panel(part[0], subjects=part[1])


def judge(guarantee, parts, whole, naive, published=panel):
    """Compare checks, the merged verdict and the naive check; gives the merged verdict and that on the union."""
    verdicts = [guarantee.check(published(part)) for part in parts]
    merged, together = guarantee.merge(verdicts), guarantee.check(published(whole))
    hold = [naive(part) for part in parts]
    assert [verdict.holds for verdict in verdicts] == hold
    assert merged.holds == all(hold)
    if merged.holds:
        assert naive(whole)
        assert together.holds
    assert together.holds == naive(whole)
    return merged, together


def same(merged, together):
    return (merged.outcome, merged.measured, merged.required) == (
        together.outcome,
        together.measured,
        together.required,
    )


@given(data=st.data(), k=st.integers(2, 3), per=st.sampled_from(["subject", "series"]))
def test_k_anonymity(data, k, per):
    def naive(part):
        return naive_k_anonymous(part[0], k, part[1] if per == "subject" else None)

    parts = data.draw(parts_of_series(k))
    merged, together = judge(KAnonymity(k, per), parts, joined(parts), naive)
    assert merged.measured <= together.measured
    assert same(*judge(KAnonymity(k, per), apart(parts), joined(apart(parts)), naive))


@given(counts=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=2, max_size=3))
def test_profiles(counts):
    def published(counts):
        values = np.zeros((len(counts), 2, 1, 1))
        return Profiles(values, np.array(counts), ("mean",), np.arange(2), ("kwh",))

    for guarantee in (KAnonymity(3), KPAnonymity(3, 2)):
        verdicts = [guarantee.check(published(part)) for part in counts]
        assert same(guarantee.merge(verdicts), guarantee.check(published(list(chain.from_iterable(counts)))))


@st.composite
def parts_of_sequences(draw, k):
    """Releases as mappings from names to rows, of two or three parts, and a subject for each name."""
    n_releases = draw(st.integers(1, 3))
    row = st.lists(FEW, min_size=2, max_size=2)
    histories = draw(
        st.lists(
            st.lists(st.none() | row, min_size=n_releases, max_size=n_releases).filter(any), min_size=1, max_size=3
        )
    )
    found = []
    for part in range(draw(N_PARTS)):
        carried = draw(crowded(histories, k))
        named = {f"{part}-{place}": (histories[row], 100 * part + who) for place, (row, who) in enumerate(carried)}
        releases = [{name: h[t] for name, (h, _) in named.items() if h[t] is not None} for t in range(n_releases)]
        found.append((releases, {name: who for name, (_, who) in named.items()}))
    return found


def joined_sequences(parts):
    by_release = zip(*(releases for releases, _ in parts), strict=True)
    releases = [{name: row for part in release for name, row in part.items()} for release in by_release]
    return releases, {name: who for _, subjects in parts for name, who in subjects.items()}


def published_sequence(part):
    there = [release for release in part[0] if release]
    return [Panel(list(r.values()), ids=list(r), subjects=[part[1][name] for name in r]) for r in there]


@given(data=st.data(), k=st.integers(2, 3))
def test_sequence_anonymity(data, k):
    parts = data.draw(parts_of_sequences(k))

    def naive(part):
        return min(naive_sequence_crowds(*part).values()) >= k

    merged, together = judge(SequenceAnonymity(k), parts, joined_sequences(parts), naive, published_sequence)
    assert merged.measured <= together.measured


@given(data=st.data(), k=st.integers(2, 3))
def test_sequence_nlk_anonymity(data, k):
    parts = data.draw(parts_of_sequences(k))

    def naive(part):
        releases, subjects = part
        absent = ["absent"] * 2
        cells = [
            [
                cell if cell == "absent" else mark(cell)
                for release in releases
                if release
                for cell in release.get(name, absent)
            ]
            for name in subjects
        ]
        return naive_most_inferred(cells, 1, k, subjects.values()) < 1

    merged, together = judge(SequenceNLKAnonymity(1, 2, k), parts, joined_sequences(parts), naive, published_sequence)
    assert merged.measured >= together.measured or not merged.holds


SOME_SUBJECTS = [[0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 1, 2, 3, 4, 4, 5]]


@st.composite
def crossing_parts(draw):
    """Parts of a few values each, in which a series has small groups that need not be told: the check must search."""
    bits = st.integers(0, 1).map(float)
    return [
        (draw(arrays(np.float64, (draw(st.integers(4, 8)), 3), elements=bits)), draw(st.sampled_from(SOME_SUBJECTS)))
        for _ in range(draw(N_PARTS))
    ]


@given(data=st.data(), k=st.integers(2, 3), nl=st.sampled_from([(1, 2), (1, 3), (2, 3)]))
def test_nlk_anonymity(data, k, nl):
    n, l = nl
    parts = data.draw(st.one_of(parts_of_series(k, width=3), crossing_parts()))
    parts = [(x, [100 * place + who for who in subjects[: len(x)]]) for place, (x, subjects) in enumerate(parts)]

    def naive(part):
        return naive_nlk_anonymous(part[0], n, l, k, part[1])

    merged, together = judge(NLKAnonymity(n, l, k), parts, joined(parts), naive)
    assert merged.measured >= together.measured or not merged.holds
    merged, together = judge(NLKAnonymity(n, l, k), apart(parts), joined(apart(parts)), naive)
    assert same(merged, together) or not merged.holds


def table(*columns):
    """Six series a to f from the groups at each instant, written as strings."""
    return np.array(
        [[next(g for g, group in enumerate(groups) if name in group) for groups in columns] for name in "abcdef"],
        dtype=float,
    )


def test_parts_that_were_decided_decide_for_a_union_that_is_too_large_to_search():
    guarantee = NLKAnonymity(n=2, l=3, k=6)
    x = table(("abcd", "ef"), ("abcdef",), ("abe", "cdf"))
    limit = next(limit for limit in range(1000) if guarantee.check(Panel(x), limit=limit).holds)
    assert limit > 1  # it was searched
    parts = [x, x + 10.0, x + 20.0]
    whole = guarantee.check(Panel(np.concatenate(parts)), limit=limit)
    assert whole.note.startswith("undecided")
    merged = guarantee.merge([guarantee.check(Panel(part), limit=limit) for part in parts])
    assert merged == guarantee.check(Panel(np.concatenate(parts)))
    assert merged.holds


def test_a_breach_that_was_found_comes_before_a_search_that_ran_out():
    guarantee = NLKAnonymity(n=1, l=3, k=5)
    found = Verdict("does not hold", 2, 1, {"series": 4, "known": [0], "inferred": [1, 2]})
    ran_out = Verdict("does not hold", 9, 1, note="undecided: the search used up its limit")
    holds = [Verdict("holds", measured, 1) for measured in (1, 0)]
    assert guarantee.merge([*holds, ran_out, found]).witness == {"shard": 3, **found.witness}
    assert guarantee.merge([*holds, ran_out]) == ran_out
    assert guarantee.merge(holds[::-1]) == holds[0]


WORDS = st.tuples(st.integers(0, 1), st.integers(1, 2), st.integers(2, 3), st.sampled_from(["ab", "ba"]))


@st.composite
def parts_of_envelopes(draw, k):
    pool = draw(st.lists(WORDS, min_size=1, max_size=4))
    return [
        [(*pool[row], 100 * part + subject) for row, subject in draw(crowded(pool, k))] for part in range(draw(N_PARTS))
    ]


def envelopes(rows):
    low, high, levels, words, subjects = zip(*rows, strict=True)
    ends = (np.repeat(np.array([end], dtype=float).T, 2, axis=1) for end in (low, high))
    return Envelopes(*ends, np.array(levels), words, np.arange(2), subjects=subjects)


def naive_kp(rows, k, p):
    """The naive check counts series: give it one per subject and envelope, and one per subject, envelope and word."""
    ends = {(low, high, who) for low, high, _, _, who in rows}
    whole = set(rows)
    by_end = [[[row[0]] for row in ends], [[row[1]] for row in ends], [1] * len(ends), ["a"] * len(ends)]
    by_word = [[[row[0]] for row in whole], [[row[1]] for row in whole], [r[2] for r in whole], [r[3] for r in whole]]
    return naive_kp_anonymous(*by_end, k, 1) and naive_kp_anonymous(*by_word, 1, p)


@given(data=st.data(), k=st.integers(2, 5), p=st.integers(2, 3))
def test_kp_anonymity(data, k, p):
    # Envelopes and patterns are then large enough more often than not.
    parts = data.draw(parts_of_envelopes(max(k - 1, p)))

    def naive(rows):
        return naive_kp(rows, k, p)

    merged, together = judge(KPAnonymity(k, p), parts, list(chain(*parts)), naive, envelopes)
    assert merged.measured <= together.measured or not merged.holds
    parts = [[(row[0] + 10 * n, row[1] + 10 * n, *row[2:]) for row in rows] for n, rows in enumerate(parts)]
    assert same(*judge(KPAnonymity(k, p), parts, list(chain(*parts)), naive, envelopes))


def test_the_smallest_envelope_of_one_shard_is_not_told_as_that_of_all():
    guarantee = KPAnonymity(k=2, p=2)
    one = envelopes([(0, 1, 2, "ab", who) for who in range(2)] + [(0, 1, 2, "ba", who + 2) for who in range(2)])
    other = envelopes([(5, 6, 2, "ab", who) for who in range(3)])
    verdicts = [guarantee.check(part) for part in (one, other)]
    assert "of an envelope it is 4" in verdicts[0].note
    merged = guarantee.merge(verdicts)
    assert merged.note == "smallest group of a pattern; of an envelope it is at least the 2 required"
    assert guarantee.merge(verdicts[:1]) == verdicts[0]


@st.composite
def parts_with_values(draw, l):
    """Parts with a sensitive value for each series: often all different, often few, sometimes missing."""
    found = []
    for x, subjects in draw(parts_of_series(2 * l, alone=False)):
        n = len(x)
        different = st.just([f"v{i}" for i in range(n)])
        few = st.lists(st.sampled_from(["flu", "cold", "none", None]), min_size=n, max_size=n)
        values = list(draw(st.one_of(different, different, few)))
        for row in draw(st.lists(st.integers(0, n - 1), max_size=2)):
            values[row] = None
        untold = draw(st.sampled_from([None] * 4 + [row.tobytes() for row in x[:1]]))  # of one group everything
        values = [None if row.tobytes() == untold else value for row, value in zip(x, values, strict=True)]
        found.append((x, subjects, values))
    return found


@given(data=st.data(), l=st.integers(2, 3))
def test_l_diversity(data, l):
    parts = data.draw(parts_with_values(l))
    whole = (*joined([part[:2] for part in parts]), list(chain.from_iterable(part[2] for part in parts)))

    def published(part):
        return Panel(part[0], subjects=part[1], sensitive=np.array(part[2], dtype=object))

    def naive(part):
        """Missing may be any value, and is a value like any other."""
        labels = [np.where(np.isnan(row), np.nan, row).tobytes() for row in part[0]]
        named = ["missing" if value is None else value for value in part[2]]
        return all(naive_l_diverse(labels, values, part[1], l) for values in (part[2], named))

    merged, together = judge(LDiversity(l), parts, whole, naive, published)
    assert merged.measured <= together.measured


EVENTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from("abcdef")),
    min_size=1,
    max_size=8,
)


def one_of_each(rows, l):
    """Enough further events of each group that most are diverse."""
    return rows + [(time, group, f"{v}{n}") for time, group, v in rows for n in range(l)]


@given(parts=st.lists(EVENTS, min_size=2, max_size=3), filled=st.booleans(), l=st.integers(2, 3))
def test_l_diversity_of_events(parts, filled, l):
    parts = [one_of_each(part, l) if filled else part for part in parts]

    def generalised(rows):
        records = pl.DataFrame(rows, schema={"time": pl.Int64, "age": pl.Int64, "result": pl.String}, orient="row")
        return EventTables(records, None, ("age",), "result")

    def bucketised(rows):
        key = {"time": pl.Int64, "group": pl.Int64}
        records = pl.DataFrame([(t, g, 7) for t, g, _ in rows], schema=key | {"age": pl.Int64}, orient="row")
        counts = pl.DataFrame(
            [(*row, 1) for row in rows], schema=key | {"result": pl.String, "count": pl.Int64}, orient="row"
        )
        return EventTables(records, counts, ("age",), "result")

    def diverse(groups):
        return all(l * largest <= size for size, largest in groups.values())

    def naive_buckets(rows):
        records = [{"time": t, "group": g} for t, g, _ in rows]
        counts = [{"time": t, "group": g, "result": v, "count": 1} for t, g, v in rows]
        return diverse(naive_bucketised(records, counts, "result"))

    def naive_coarse(rows):
        return diverse(naive_generalised([{"time": t, "age": g, "result": v} for t, g, v in rows], "result"))

    for published, naive in ((generalised, naive_coarse), (bucketised, naive_buckets)):
        merged, together = judge(LDiversity(l), parts, list(chain(*parts)), naive, published)
        assert merged.measured <= together.measured


def averaged(original, labels):
    """The mean of each group, for each of its series; missing where none has a reading."""
    published = np.full(original.shape, np.nan)
    for label in set(labels):
        members = np.flatnonzero(np.array(labels) == label)
        there = ~np.isnan(original[members]).all(axis=0)
        published[np.ix_(members, there)] = np.nanmean(original[members][:, there], axis=0)
    return published


@st.composite
def parts_of_readings(draw):
    """Originals, subjects and groups of parts; some are the same readings of other people."""
    found = []
    for part in range(draw(N_PARTS)):
        if found and draw(st.booleans()):
            original, subjects, labels = found[-1]
            found.append((original, [who + 100 for who in subjects], labels))
            continue
        n = draw(st.integers(2, 9))
        original = draw(arrays(np.float64, (n, 2), elements=st.sampled_from([0.5, 1.0, 1.0, 2.0, -1.0, np.nan])))
        subjects = draw(st.lists(st.integers(0, 20), min_size=n, max_size=n))
        labels = draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=n, max_size=n))
        found.append((original, [1000 * (part + 1) + who for who in subjects], labels))
    return found


def averaged_candidate(part):
    original, subjects, labels = part
    return Candidate(
        Panel(averaged(original, labels), subjects=subjects),
        KAnonymity(2),
        Recipe("test", {}),
        Private(Panel(original, subjects=subjects), np.array(labels)),
    )


def joined_readings(parts):
    """The union, with the groups of each part kept apart."""
    return (
        np.concatenate([original for original, _, _ in parts]),
        list(chain.from_iterable(subjects for _, subjects, _ in parts)),
        [10 * place + label for place, (_, _, labels) in enumerate(parts) for label in labels],
    )


@given(
    parts=parts_of_readings(),
    size=st.integers(2, 3),
    share=st.sampled_from([1 / 3, 0.5, 0.6, 1.0]),
    per=st.sampled_from(["period", "instant"]),
)
def test_aggregate_rule(parts, size, share, per):
    def naive(part):
        original, subjects, labels = part
        return naive_aggregate_rule(original[:, :, None], averaged(original, labels), size, share, subjects, per)

    guarantee = AggregateRule(size, share, per)
    whole = joined_readings(parts)
    verdicts = [guarantee.check(averaged_candidate(part)) for part in parts]
    merged = guarantee.merge(verdicts)
    assert same(merged, guarantee.check(averaged_candidate(whole)))
    assert merged.holds == all(verdict.holds for verdict in verdicts)
    if merged.holds:
        assert all(naive(part) for part in parts)
        assert naive(whole)


def test_groups_of_two_shards_with_the_same_mean_are_two_aggregates():
    part = (np.array([[1.0], [1.0], [2.0]]), [0, 1, 2], [0, 0, 0])
    other = (part[0], [3, 4, 5], part[2])
    guarantee = AggregateRule(size=3, share=0.5)
    merged = guarantee.merge([guarantee.check(averaged_candidate(p)) for p in (part, other)])
    assert merged.measured == 0.5
    assert guarantee.check(averaged_candidate(joined_readings([part, other]))).measured == 0.5
    one_label = (*joined_readings([part, other])[:2], [0] * 6)
    assert guarantee.check(averaged_candidate(one_label)).measured == 0.25


def test_few_subjects_come_before_shares_and_the_larger_share_is_worse():
    guarantee = AggregateRule(size=15, share=0.15)
    few, fewer = (Verdict("does not hold", n, 15) for n in (9, 4))
    large, larger = (Verdict("does not hold", share, 0.15) for share in (0.2, 0.9))
    unknown = Verdict("not judged", None, 15, note="bands")
    fine, finer = (Verdict("holds", share, 0.15) for share in (0.12, 0.05))
    assert guarantee.merge([finer, large, few, unknown, larger, fewer]) == fewer
    assert guarantee.merge([finer, large, unknown, larger]) == larger
    assert guarantee.merge([finer, unknown, fine]) == unknown
    assert guarantee.merge([finer, fine]) == fine


def spent(epsilon):
    return Spent("totals", "discrete Laplace", 1, 2 / epsilon, epsilon)


def test_differential_privacy_holds_by_one_accounting_for_all_shards():
    published = Panel([[1.0]])
    one, other, too_much = (DifferentialPrivacy(1.0, accounting=[spent(e)]) for e in (0.25, 0.5, 1.5))
    verdicts = [promise.check(published) for promise in (one, one, other, too_much)]
    assert one.merge(verdicts[:2]) == verdicts[0]
    assert verdicts[2].holds
    assert one.merge(verdicts[1:3]).outcome == "not judged"
    assert one.merge(verdicts[1:3]).note == "shards carry different accountings"
    assert one.merge(verdicts) == verdicts[3]


def test_no_guarantee_never_holds_by_its_shards():
    checked = NoGuarantee().check(Panel([[1.0]]))
    assert NoGuarantee().merge([checked, checked]) == checked
    risks = [{"a": Risk(0.0, Interval(0.0, high), 0.0, Interval(0.0, 0.1), n_targets=50)} for high in (0.05, 0.05, 0.2)]
    low, alike, high = (NoGuarantee().judge(risk, 0.1) for risk in risks)
    assert low.holds
    assert NoGuarantee().merge([low, alike]).outcome == "not judged"
    assert NoGuarantee().merge([low, alike]).note == "risks are judged once, over all shards"
    assert NoGuarantee().merge([low, high]) == high


def test_a_witness_says_in_which_shard_it_is():
    verdicts = [Verdict("holds", 3, 3), Verdict("does not hold", 2, 3, witness=7), Verdict("not judged", None, 3)]
    assert KAnonymity(3).merge(verdicts).witness == {"shard": 1, "series": 7}
    assert KAnonymity(3).merge(verdicts[1:2]) == verdicts[1]
    assert KAnonymity(3).merge(verdicts[::2]) == verdicts[2]


@pytest.mark.parametrize("name", guarantees.__all__)
def test_every_guarantee_says_what_a_union_does_to_it(name):
    assert "disjoint union of subjects" in " ".join(getattr(guarantees, name).__doc__.split())
