"""Sums that open for at least the fewest, exactly, and for nobody else."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from edge.enumeration import e_to
from edge.neighbourhood import FLEET, deal, make, total
from shoal.edge import Budget, Grid
from shoal.edge.aggregation import WORD, Member, SumRules, open_sum
from shoal.edge.budget import write_budget
from shoal.edge.keys import Keys
from shoal.edge.response import UNIT
from shoal.edge.shamir import PRIME, open_secret, share
from shoal.errors import ParameterError

READINGS = [3.0, 0.0, 100.0, 41.0, 7.0, 55.0]


def test_without_noise_the_sum_is_the_plain_sum_exactly_for_every_set_of_survivors():
    sets = [set(some) for size in (4, 5, 6) for some in combinations(range(6), size)]
    rules, members = make(instants=len(sets))
    deal(members)
    for instant, survivors in enumerate(sets):
        found = total(rules, members, READINGS, instant, survivors)
        assert (found.total, found.survivors) == (sum(READINGS[v] for v in survivors), len(survivors))


def test_any_answers_that_reach_the_threshold_open_it_and_fewer_do_not():
    helpers = list(combinations(range(6), 4))
    rules, members = make(instants=len(helpers) + 1)
    deal(members)
    assert rules.threshold == 4
    for instant, some in enumerate(helpers):
        assert total(rules, members, READINGS, instant, {0, 1, 2, 3, 4}, helpers=some).total == sum(READINGS[:5])
    found = total(rules, members, READINGS, len(helpers), {0, 1, 2, 3, 4}, helpers=(0, 1, 2))
    assert (found.total, found.withheld) == (None, "too few meters helped to open it")


def test_too_few_survivors_are_withheld_by_the_collector_and_refused_by_every_meter():
    rules, members = make()
    deal(members)
    found = total(rules, members, READINGS, 0, {0, 1, 2})
    assert (found.total, found.withheld) == (None, "too few meters sent something")
    assert members[0].open(0, 1, frozenset({0, 1, 2})) is None


@pytest.mark.parametrize(
    ("n", "fewest", "colluding", "levels"), [(6, 4, 0, 2), (20, 14, 3, 3), (50, 35, 5, 3), (9, 6, 1, 0)]
)
def test_epsilon_holds_at_every_number_of_survivors_that_is_released(n, fewest, colluding, levels):
    rules = SumRules(n, fewest, colluding, UNIT // 48, 100, levels)
    for survivors in range(fewest, n + 1):
        # The noise of honest meters alone is that of the central mechanism, or that and more.
        assert rules.shape_of_sum(survivors) >= 1
    assert (1 / rules.ratio) ** rules.steps <= e_to(Fraction(1, 48))
    if levels:
        assert rules.shape_of_sum(n) == 1
        assert [rules.shape_of_sum(size) for size in rules.sizes] == [1] * len(rules.sizes)


@pytest.mark.parametrize("survivors", [4, 5, 6])
def test_probabilities_of_the_sum_differ_by_no_more_than_epsilon(survivors):
    """Enumerated: the noise of each size, shifted by every change of one reading, as fractions."""
    rules = SumRules(6, 4, 0, UNIT, 3, levels=1)
    shape, ratio, depth = rules.shape_of_sum(survivors), rules.ratio, 60
    one = [Fraction(1)]
    for k in range(1, depth + 16):
        # Rounded at 60 digits, or fractions grow without end.
        one.append(Fraction(round(one[-1] * ratio * (k - 1 + shape) / k * 10**60), 10**60))
    weight = {d: sum(one[k + abs(d)] * one[k] for k in range(depth)) for d in range(-15, 16)}
    for d, change in product(range(-12, 13), range(-3, 4)):
        assert weight[d] <= e_to(Fraction(1)) * weight[d + change] * (1 + Fraction(1, 10**9))


def test_with_everybody_there_the_noise_is_that_of_the_central_mechanism():
    rules = SumRules(50, 35, 0, UNIT // 48, 100, levels=3)
    a = float(rules.ratio)
    central = 2 * a / (1 - a) ** 2
    assert rules.variance(50) == pytest.approx(central, rel=1e-12)
    # Of a mean, with 10 and 30 % missing: noise is that of one mechanism again, over fewer meters.
    cost = {s: math.sqrt(rules.variance(s) / central) * 50 / s for s in (50, 45, 35)}
    assert cost[50] == pytest.approx(1.0)
    assert cost[45] == pytest.approx(50 / 45)
    assert cost[35] == pytest.approx(50 / 35)


def test_noise_in_opened_sums_has_the_variance_of_its_size():
    instants = 500
    rules, members = make(n=5, fewest=3, cost=UNIT, steps=4, levels=1, instants=instants)
    deal(members)
    for survivors, block in ((frozenset(range(5)), range(250)), (frozenset({0, 2, 4}), range(250, 500))):
        found = np.array([total(rules, members, [2.0] * 5, t, survivors).total for t in block], dtype=float)
        error = found - 2.0 * len(survivors)
        assert abs(error.mean()) < 6 * math.sqrt(rules.variance(len(survivors)) / 250)
        assert 0.35 < error.var() / rules.variance(len(survivors)) < 2.5


def test_what_the_collector_holds_before_opening_is_uniform():
    """A constant reading, masked at many instants: bytes are uniform, and so are sums of all but one meter."""
    _, members = make(n=4, fewest=3, instants=1500, levels=0)
    deal(members)
    sent = np.array([[members[v].submit(0, t, 5.0) for t in range(1500)] for v in range(4)], dtype=object)
    for held in (*sent, sent[:3].sum(axis=0) % WORD, (sent[0] - sent[1]) % WORD):
        drawn = np.frombuffer(b"".join(int(word).to_bytes(8, "big") for word in held), dtype=np.uint8)
        assert stats.chisquare(np.bincount(drawn, minlength=256)).pvalue > 1e-6
        words = np.array([int(word) / WORD for word in held])
        assert stats.kstest(words, "uniform").pvalue > 1e-6
        assert abs(np.corrcoef(words[:-1], words[1:])[0, 1]) < 0.15


@given(st.data())
def test_a_collector_that_tells_different_survivors_opens_one_sum_at_most(data):
    """Every honest meter answers once; those who collude answer for every set."""
    n = data.draw(st.integers(3, 12))
    colluding = data.draw(st.integers(0, n - 3))
    least = max((n + colluding) // 2 + 1, colluding + 2)
    rules = SumRules(n, data.draw(st.integers(min(least, n), n)), colluding, 0, 1)
    sets = [frozenset(range(n)), frozenset(range(rules.fewest)), frozenset(range(n - rules.fewest, n))]
    told = [data.draw(st.sampled_from(sets)) for _ in range(n - colluding)]
    openable = {some for some in set(sets) if told.count(some) + colluding >= rules.threshold}
    assert len(openable) <= 1


def test_a_meter_answers_once_and_sends_once_in_a_round():
    _, members = make()
    deal(members)
    everybody, fewer = frozenset(range(6)), frozenset(range(5))
    assert members[0].submit(0, 0, 1.0) is not None
    assert members[0].submit(0, 0, 2.0) is None
    assert members[0].open(0, 0, everybody) is not None
    assert members[0].open(0, 0, fewer) is None
    assert members[0].open(0, 0, everybody) is None


def test_a_late_reading_of_somebody_left_out_stays_masked():
    rules, members = make()
    deal(members)
    assert total(rules, members, READINGS, 0, {0, 1, 2, 3, 4}).total == sum(READINGS[:5])
    late = members[5].submit(0, 0, 55.0)
    assert members[0].open(0, 0, frozenset(range(6))) is None
    assert late > 2**32  # not the reading; uniform, so below with probability 2^-32


def test_wrong_periods_and_instants_are_refused():
    _, members = make()
    deal(members, period=7)
    member = members[0]
    assert member.submit(6, 0, 1.0) is None
    assert member.submit(8, 0, 1.0) is None
    assert member.submit(7, 4, 1.0) is None
    assert member.open(6, 0, frozenset(range(6))) is None
    assert member.begin(7) is None
    assert member.begin(6) is None
    assert member.begin(8) is not None


def test_shares_of_another_period_meter_or_with_one_bit_changed_are_refused():
    _, members = make(n=4, fewest=3)
    sealed = members[1].begin(3)
    members[0].begin(3)
    members[2].begin(4)
    content = bytearray(sealed[0])
    for bit in range(0, 8 * len(content), 61):
        content[bit // 8] ^= 1 << bit % 8
        assert not members[0].hold(1, bytes(content))
        content[bit // 8] ^= 1 << bit % 8
    assert not members[0].hold(2, sealed[0])
    assert not members[0].hold(9, sealed[0])
    assert not members[2].hold(1, sealed[2])
    assert members[0].hold(1, sealed[0])
    assert not members[0].hold(1, sealed[0])


def test_a_meter_that_restarts_is_silent_until_the_next_period(tmp_path):
    for v in range(4):
        (tmp_path / str(v)).mkdir()
        write_budget(tmp_path / str(v), UNIT, 4)
    keys = [Keys.draw() for _ in range(4)]
    budgets = [Budget(UNIT, 4, tmp_path / str(v)) for v in range(4)]
    _, members = make(n=4, fewest=3, cost=UNIT // 4, budgets=budgets, keys=keys)
    deal(members)
    assert members[0].submit(0, 0, 1.0) is not None
    budgets[0].close()
    budgets[0] = Budget(UNIT, 4, tmp_path / "0")
    _, members = make(n=4, fewest=3, cost=UNIT // 4, budgets=budgets, keys=keys)
    assert members[0].begin(0) is None
    assert members[0].submit(0, 0, 1.0) is None
    assert members[0].begin(1) is not None
    for budget in budgets:
        budget.close()


def test_the_budget_of_a_window_is_never_exceeded():
    budgets = [Budget(UNIT, 4) for _ in range(4)]
    _, members = make(n=4, fewest=3, cost=UNIT // 4 + 1, instants=4, budgets=budgets)
    deal(members)
    assert [members[0].submit(0, t, 1.0) is not None for t in range(4)] == [True, True, True, False]


def test_a_roster_with_another_key_opens_no_sum():
    """The collector gives meter 0 a key of its own in place of that of meter 1: masks of both no longer cancel."""
    keys, other = [Keys.draw() for _ in range(4)], Keys.draw()
    rules, members = make(n=4, fewest=3, keys=keys)
    false = [keys[0].public, other.public, keys[2].public, keys[3].public]
    members[0] = Member(0, keys[0], false, FLEET, Grid(0.0, 100.0, 101), rules, Budget(UNIT, 4))
    for v, sealed in enumerate([member.begin(0) for member in members]):
        for holder, content in sealed.items():
            assert members[holder].hold(v, content) == (not {v, holder} <= {0, 1})
    sent = {v: members[v].submit(0, 0, 1.0) for v in range(4)}
    answers = {v: members[v].open(0, 0, frozenset(range(4))) for v in range(4)}
    assert answers[0] is None
    assert answers[1] is None
    assert open_sum(rules, sent, {v: answers[v] for v in (2, 3)}).total is None
    with pytest.raises(ParameterError, match="does not match this meter"):
        Member(1, keys[1], false, FLEET, Grid(0.0, 100.0, 101), rules, Budget(UNIT, 4))


def test_a_meter_that_sends_what_is_no_reading_is_noticed_only_by_the_sum():
    rules, members = make()
    deal(members)
    sent = {v: members[v].submit(0, 0, READINGS[v]) for v in range(6)}
    answers = {v: members[v].open(0, 0, frozenset(range(6))) for v in range(6)}
    assert open_sum(rules, sent | {0: (sent[0] + 10**9) % WORD}, answers).withheld == "the sum is not a sum of readings"
    assert open_sum(rules, sent | {0: (sent[0] + 50) % WORD}, answers).total == sum(READINGS) + 50


def test_missing_readings_are_not_sent():
    _, members = make()
    deal(members)
    assert members[0].submit(0, 0, float("nan")) is None


@given(st.integers(-(2**70), 2**70), st.integers(2, 8), st.data())
def test_secrets_open_with_enough_shares_and_add_up(secret, holders, data):
    from shoal.edge.chance import Chance

    threshold = data.draw(st.integers(1, holders))
    some = data.draw(st.permutations(range(holders)))[:threshold]
    one, other = share(secret, holders, threshold, Chance()), share(-5, holders, threshold, Chance())
    assert open_secret({h: one[h] for h in some}) == secret
    assert open_secret({h: (one[h] + other[h]) % PRIME for h in some}) == secret - 5


def test_fewer_shares_fit_every_secret():
    """Over a small number of draws: one share below the threshold is uniform, whatever the secret."""
    from shoal.edge.chance import Chance

    for secret in (0, 2**63):
        shares = [share(secret, 3, 2, Chance())[0] / PRIME for _ in range(2000)]
        assert stats.kstest(shares, "uniform").pvalue > 1e-6


@pytest.mark.parametrize(
    ("words", "given_rules"),
    [
        ("from 3 to", {"members": 2, "fewest": 2, "colluding": 0}),
        ("colluding must leave", {"members": 5, "fewest": 5, "colluding": 3}),
        ("fewest must be from 4 to 6", {"members": 6, "fewest": 3, "colluding": 0}),
        ("fewest must be from 6 to 9", {"members": 9, "fewest": 10, "colluding": 2}),
        ("must not be negative", {"members": 6, "fewest": 4, "colluding": 0, "levels": -1}),
    ],
)
def test_impossible_rules_are_refused(words, given_rules):
    with pytest.raises(ParameterError, match=words):
        SumRules(**{"cost": 0, "steps": 1} | given_rules)
