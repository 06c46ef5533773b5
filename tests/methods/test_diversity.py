"""Sensitive columns of KP: perturbed numbers, exchanged values, and what stays as it was."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.diversity import naive_can_be_dealt, naive_groups, naive_l_diverse
from shoal import KP, KPAnonymity, LDiversity, Panel
from shoal.attacks import Linkage
from shoal.errors import ParameterError
from shoal.methods.exchange import can_be_exchanged, exchange
from shoal.methods.perturbation import Floats, Ladder, find_grid, perturb


def classes_of_sizes(sizes, rng):
    return rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


def counts(column, classes):
    return Counter(zip(classes.tolist(), column.tolist(), strict=True))


def excess(column, classes, l):
    caps = np.bincount(classes) // l
    return sum(max(0, count - caps[group]) for (group, _), count in counts(column, classes).items())


def sizes_for(rng, l):
    return rng.integers(l, 3 * l + 2, size=int(rng.integers(1, 12)))


def skewed(rng, n, kind):
    """Numbers of which a few are very frequent."""
    ordinary = np.floor(rng.lognormal(3.0, 1.0, size=n))
    column = np.where(rng.random(n) < rng.uniform(0.2, 1.0), rng.choice([0.0, 50.0], size=n), ordinary)
    return {
        "whole": column.astype(np.int64),
        "hundreds": (100 * column + 7).astype(np.int64),
        "cents": column + rng.choice([0.0, 0.25, 0.99], size=n),
        "floats": column * np.pi,
        "short floats": (column / 3).astype(np.float32).astype(np.float64),
        "constant": np.full(n, 0.1),
        "huge": column * 1e300,
        "64 bits": np.where(column > 0, 2**63 - 1, -(2**63)).astype(np.int64),
        "two": (column > 0).astype(np.int64),
    }[kind]


KINDS = ["whole", "hundreds", "cents", "floats", "short floats", "constant", "huge", "64 bits", "two"]


@pytest.mark.parametrize("kind", KINDS)
def test_only_rows_in_excess_are_perturbed_and_afterwards_none_is(kind):
    for seed in range(300):
        rng = np.random.default_rng(seed)
        l = int(rng.integers(2, 6))
        classes = classes_of_sizes(sizes_for(rng, l), rng)
        column = skewed(rng, len(classes), kind)
        reach = [0.0, 0.35, 5.0, 1e9][seed % 4]
        done = perturb(column, classes, l, reach, np.random.default_rng(seed))
        assert naive_l_diverse(classes.tolist(), done.column.tolist(), range(len(column)), l)
        changed = done.column != column
        assert done.n_changed == changed.sum() == excess(column, classes, l)
        # Of each group and value exactly the excess was taken.
        caps = np.bincount(classes) // l
        kept = counts(column[~changed], classes[~changed])
        assert all(kept[key] == min(count, caps[key[0]]) for key, count in counts(column, classes).items())
        assert done.column.dtype == column.dtype
        assert np.isfinite(done.column).all()
        far = [abs(a - b) for a, b in zip(done.column.tolist(), column.tolist(), strict=True)]
        assert done.n_beyond == sum(d > reach * (1 + 1e-12) for d in far)


@pytest.mark.parametrize("kind", ["whole", "cents", "floats"])
def test_within_reach_new_numbers_are_nobodys_and_differ_from_each_other(kind):
    for seed in range(100):
        rng = np.random.default_rng(seed)
        classes = classes_of_sizes(sizes_for(rng, 3), rng)
        column = skewed(rng, len(classes), kind)
        done = perturb(column, classes, 3, 1e6, rng)
        new = done.column[done.column != column].tolist()
        if column.max() - column.min() < 40 * len(column):  # no room for that many
            continue
        assert not set(new) & set(column.tolist())
        assert len(set(new)) == len(new)
        assert done.n_beyond == 0
        assert column.min() <= min(new, default=column.min())
        assert max(new, default=column.max()) <= column.max()


@pytest.mark.parametrize(
    ("column", "step"),
    [
        ([0, 5, 10, 10, 10, 35], 5),
        ([7, 107, 107, 107, 10007], 100),
        ([1.25, 1.5, 1.5, 1.5, 3.75], 0.25),
        ([0.1, 0.2, 0.3, 0.3, 0.3], 0.1),
        ([-3.01, 5.0, 5.0, 5.0, 4.02], 0.01),
    ],
)
def test_new_numbers_lie_on_the_grid_of_the_column(column, step):
    column = np.array(column)
    grid = find_grid(column, 1000.0)
    assert isinstance(grid, Ladder)
    for seed in range(30):
        done = perturb(column, np.zeros(len(column), dtype=np.int64), 3, 1000.0, np.random.default_rng(seed))
        for number in done.column.tolist():
            steps = (number - column[0]) / step
            assert abs(steps - round(steps)) < 1e-9
            assert len(repr(number)) <= max(len(repr(v)) for v in [*column.tolist(), step]) + 2


def test_numbers_without_end_of_digits_have_no_grid_and_short_floats_stay_short():
    assert isinstance(find_grid(np.array([0.1 + 0.2, 1.0]), 1.0), Floats)
    short = np.array([1, 1, 1, 1, 2, 3], dtype=np.float32).astype(np.float64) / 3
    short = short.astype(np.float32).astype(np.float64)
    done = perturb(short, np.zeros(6, dtype=np.int64), 3, 0.1, np.random.default_rng(0))
    assert done.n_changed == 2
    assert_array_equal(done.column.astype(np.float32).astype(np.float64), done.column)


def test_where_everything_near_is_taken_the_nearest_number_with_room_is():
    # Every age is somebody's: there is no fresh one within reach, nor should 120 come out.
    ages = np.concatenate([np.arange(100), np.full(4, 40)])
    classes = np.concatenate([np.zeros(100, dtype=np.int64), np.ones(4, dtype=np.int64)])
    done = perturb(ages, classes, 4, 0.3, np.random.default_rng(0))
    assert sorted(done.column[100:].tolist()) in ([38, 39, 40, 41], [39, 40, 41, 42])
    assert (done.n_changed, done.n_beyond) == (3, 3)
    within = perturb(ages, classes, 4, 2.0, np.random.default_rng(0))
    assert (within.n_changed, within.n_beyond) == (3, 0)


def test_numbers_stay_between_least_and_greatest_while_there_is_room():
    column = np.array([0, 0, 0, 0, 0, 0, 1, 90])
    done = perturb(column, np.zeros(8, dtype=np.int64), 4, 3.0, np.random.default_rng(1))
    assert done.column.min() == 0
    two = perturb(np.array([0, 0, 0, 1]), np.zeros(4, dtype=np.int64), 2, 0.1, np.random.default_rng(1))
    assert sorted(two.column.tolist()) == [0, 0, 1, 1]  # 1 had room


@given(
    sizes=st.lists(st.integers(2, 5), min_size=1, max_size=4),
    l=st.integers(2, 3),
    weights=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    seed=st.integers(0, 10),
)
def test_exchange_is_possible_exactly_when_an_enumeration_finds_a_way(sizes, l, weights, seed):
    sizes = [max(size, l) for size in sizes]
    rng = np.random.default_rng(seed)
    classes = classes_of_sizes(sizes, rng)
    drawn = rng.choice(np.repeat(np.arange(len(weights)), weights), size=len(classes))
    values = np.unique(drawn, return_inverse=True)[1]
    possible = can_be_exchanged(values, np.bincount(classes), l)
    assert possible == naive_can_be_dealt(np.bincount(values).tolist(), sizes, l)
    if possible:
        done = exchange(values, classes, classes // 2, l, rng)
        assert naive_l_diverse(classes.tolist(), done.values.tolist(), range(len(values)), l)
        assert_array_equal(np.bincount(done.values), np.bincount(values))


@pytest.mark.parametrize("tight", [False, True])
def test_totals_stay_and_caps_hold_over_hundreds_of_seeds(tight):
    n_possible = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        l = int(rng.integers(2, 6))
        classes = classes_of_sizes(sizes_for(rng, l), rng)
        weights = rng.dirichlet(np.full(int(rng.integers(l, 3 * l)), 0.5 if seed % 2 else 5.0))
        values = rng.choice(len(weights), p=weights, size=len(classes))
        if tight:  # as many of the first value as all groups take together
            n_first = int((np.bincount(classes) // l).sum())
            values = rng.permutation(np.r_[np.zeros(n_first), 1 + rng.integers(2 * l, size=len(values) - n_first)])
        values = np.unique(values, return_inverse=True)[1]
        if not can_be_exchanged(values, np.bincount(classes), l):
            continue
        n_possible += 1
        done = exchange(values, classes, classes // 3, l, np.random.default_rng(seed))
        assert naive_l_diverse(classes.tolist(), done.values.tolist(), range(len(values)), l)
        assert_array_equal(np.bincount(done.values), np.bincount(values))
        assert done.n_changed == (done.values != values).sum()
        if not excess(values, classes, l):
            assert done.n_changed == 0
    assert n_possible > 50


def test_partners_are_of_the_same_envelope_where_that_is_possible():
    values = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    classes = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    done = exchange(values, classes, classes // 2, 2, np.random.default_rng(0))
    assert sorted(done.values[:4].tolist()) == [0, 0, 1, 1]
    assert done.n_changed == 4


def test_a_cycle_of_three_groups_is_found_where_no_pair_fits():
    # 0 may go to the second group only, which has nothing the first could take; the third has.
    values = np.array([0, 0, 1, 1, 2, 1, 0, 2, 3])
    classes = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    for seed in range(20):
        done = exchange(values, classes, classes, 3, np.random.default_rng(seed))
        assert naive_l_diverse(classes.tolist(), done.values.tolist(), range(9), 3)


def walks(n, seed, length=8):
    return np.random.default_rng(seed).normal(size=(n, length)).cumsum(axis=1)


def people(n, seed, **more):
    rng = np.random.default_rng(seed)
    illness = rng.choice(["flu", "cold", "none", "asthma", "gout", "sore"], p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1], size=n)
    cost = np.where(rng.random(n) < 0.4, 0.0, rng.lognormal(4.0, 1.0, size=n)).round(2)
    return Panel(walks(n, seed), sensitive={"illness": illness, "cost": cost, **more})


def original_column(candidate, name):
    rows = candidate.private.rows
    column = candidate.private.original.sensitive[name]
    return column if rows is None else column[rows]


@pytest.mark.parametrize("algorithm", ["kapra", "naive"])
def test_kp_publishes_diverse_columns_over_many_seeds(algorithm):
    for seed in range(40):
        panel = people(int(60 + seed), seed)
        candidate = KP(k=8, p=4, l=2, algorithm=algorithm, seed=seed).anonymize(panel)
        published = candidate.published
        assert candidate.guarantees == (KPAnonymity(8, 4), LDiversity(2))
        assert candidate.check().holds
        ends = np.concatenate([published.low, published.high], axis=1)
        labels = list(zip(map(tuple, ends.tolist()), published.levels.tolist(), published.patterns, strict=True))
        for name in ("illness", "cost"):
            assert naive_l_diverse(labels, published.sensitive[name].tolist(), range(len(labels)), 2)
        before, after = original_column(candidate, "illness"), published.sensitive["illness"]
        assert Counter(before.tolist()) == Counter(after.tolist())
        figures = candidate.recipe.figures
        assert figures["sensitive_exchanged"] == (before != after).sum()
        before, after = original_column(candidate, "cost"), published.sensitive["cost"]
        assert figures["sensitive_perturbed"] == (before != after).sum()
        reach = 0.01 * panel.sensitive["cost"].std()
        assert figures["sensitive_beyond_epsilon"] == (np.abs(before - after) > reach + 1e-9).sum()
        assert len(naive_groups(labels)) > 1


def test_the_series_are_those_of_a_release_without_sensitive_columns():
    panel = people(80, 3)
    plain, diverse = KP(k=6, p=3).anonymize(panel), KP(k=6, p=3, l=2).anonymize(panel)
    assert dict(plain.published.sensitive) == {}
    assert plain.further == ()
    assert_array_equal(plain.published.low, diverse.published.low)
    assert plain.published.patterns == diverse.published.patterns
    assert plain.published.digest() != diverse.published.digest()


def test_the_seed_decides_and_nothing_else_does():
    panel = people(90, 5)
    one, same, other = (KP(k=6, p=3, l=2, seed=seed).anonymize(panel).published for seed in (1, 1, 2))
    assert one.digest() == same.digest() != other.digest()


def test_a_column_without_excess_is_published_as_it_is():
    panel = Panel(walks(30, 0), sensitive={"income": np.arange(30) * 1000, "name": [f"n{i}" for i in range(30)]})
    candidate = KP(k=6, p=3, l=3).anonymize(panel)
    for name in panel.sensitive:
        assert candidate.published.sensitive[name].tolist() == original_column(candidate, name).tolist()
    assert candidate.recipe.figures["sensitive_perturbed"] == candidate.recipe.figures["sensitive_exchanged"] == 0


@pytest.mark.parametrize("column", ["illness", "cost"])
@pytest.mark.parametrize("word", ["own", "published"])
def test_nobody_learns_a_value_with_a_chance_above_one_in_l(column, word):
    for seed in range(10):
        panel = people(120, seed)
        candidate = KP(words="own", k=8, p=4, l=2, seed=seed).anonymize(panel)
        attack = Linkage(sensitive=column, word=word)
        risk = attack.attack(panel, candidate.published, rows=candidate.private.rows)
        assert risk.highest <= 1 / 2
        # With the true values beside the words somebody's would be known more surely.
        shown = original_column(candidate, column)
        assert attack.attack(panel, candidate.published, rows=candidate.private.rows, sensitive=shown).highest > 1 / 2


def test_large_panels_take_seconds(rng):
    panel = people(20_000, 1)
    candidate = KP(k=8, p=4, l=2).anonymize(panel)
    assert candidate.check().holds


class TestRefusals:
    panel = people(40, 0)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"l": 4}, "l=4 is above p=3: a subgroup of p series cannot have l different values. Raise p or lower l"),
            ({"l": 1}, "l must be a whole number of at least 2"),
            ({"l": 2.5}, "l must be a whole number of at least 2"),
            ({"epsilon": -0.1}, "epsilon must be a number of at least 0"),
            ({"epsilon": float("nan")}, "epsilon must be a number of at least 0"),
            ({"epsilon": float("inf")}, "epsilon must be a number of at least 0"),
            ({"seed": -1}, "seed must be a whole number of at least 0"),
            ({"seed": True}, "seed must be a whole number of at least 0"),
        ],
    )
    def test_impossible_parameters(self, parameters, message):
        with pytest.raises(ParameterError, match=message):
            KP(k=6, p=3, **parameters)

    @pytest.mark.parametrize(
        ("sensitive", "message"),
        [
            (None, "l needs a sensitive column, and the panel has none. Name one with sensitive=, or omit l"),
            (
                {"c": np.array(["x", None] * 20, dtype=object)},
                "Column 'c' needs an entry for every series to be published; 20 of 40 are missing",
            ),
            ({"c": np.r_[np.nan, np.ones(39)]}, "1 of 40 are missing"),
            ({"c": np.r_[np.inf, np.ones(39)]}, "Column 'c' has 1 infinite numbers among 40"),
            (
                {"c": ["x"] * 30 + [f"v{i}" for i in range(10)]},
                r"Column 'c' cannot be made 3-diverse by exchange: one value has 30 of 40 entries, and subgroups take "
                r"at most \d+ of them. Lower l, raise p for larger subgroups, or drop the column",
            ),
        ],
    )
    def test_columns_that_cannot_be_published(self, sensitive, message):
        panel = Panel(self.panel.values, sensitive=sensitive)
        with pytest.raises(ParameterError, match=message):
            KP(k=6, p=3, l=3).anonymize(panel)

    def test_too_few_values(self):
        # Five series of one shape need five values where each may occur once.
        x = np.array([[1.0, 2.0, 4.0]] * 5 + [[4.0, 2.0, 1.0]] * 3)
        message = "its 4 different values are too few for subgroups whose sizes are not multiples of l"
        with pytest.raises(ParameterError, match=message):
            KP(k=3, p=3, l=3).anonymize(Panel(x, sensitive={"c": ["w", "x", "y", "z"] * 2}))
        assert KP(k=3, p=3, l=2).anonymize(Panel(x, sensitive={"c": ["w", "x", "y", "z"] * 2})).check().holds

    def test_no_way_out_names_a_value(self):
        panel = Panel(self.panel.values, sensitive={"c": ["secret"] * 40})
        with pytest.raises(ParameterError) as refused:
            KP(k=6, p=3, l=2).anonymize(panel)
        assert "secret" not in str(refused.value)
        assert "Raise p for larger subgroups" in str(refused.value)


class TestSeveralSeriesPerSubject:
    @pytest.mark.parametrize("seed", range(12))
    def test_it_is_kept_among_subjects_too(self, seed):
        """With the first draw of changes, a third of these keep it among series alone."""
        rng = np.random.default_rng(seed)
        subjects = np.concatenate([np.arange(12), rng.integers(0, 12, 6)])
        panel = Panel(rng.random((18, 5)), subjects=subjects, sensitive={"cost": rng.integers(0, 4, 18).astype(float)})
        candidate = KP(k=6, p=4, l=2).anonymize(panel)
        assert all(guarantee.check(candidate).holds for guarantee in candidate.guarantees)

    def test_what_cannot_be_kept_is_refused_with_ways_out(self):
        """Text is exchanged, not made up, so there may be no way."""
        refusals = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            subjects = np.concatenate([np.arange(8), rng.integers(0, 8, 5)])
            illness = rng.choice(["a", "b", "c"], 13)
            panel = Panel(rng.random((13, 5)), subjects=subjects, sensitive={"illness": illness})
            try:
                candidate = KP(k=4, p=2, l=2).anonymize(panel)
            except ParameterError as error:
                refusals.append(str(error))
            else:
                assert all(guarantee.check(candidate).holds for guarantee in candidate.guarantees)
        of_subjects = (
            "2-diverse in subjects: some have several series in one subgroup. Lower l, raise p, publish as many"
        )
        assert any(of_subjects in refusal for refusal in refusals)
        assert all(of_subjects in refusal or "2-diverse by exchange" in refusal for refusal in refusals)
