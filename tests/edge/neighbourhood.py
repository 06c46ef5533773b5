"""A neighbourhood of meters in one place, for tests."""

from shoal.edge import Budget, Grid
from shoal.edge.aggregation import Member, SumRules, open_sum
from shoal.edge.keys import Keys
from shoal.edge.response import UNIT

FLEET = b"f" * 32


def make(n=6, fewest=None, colluding=0, cost=0, steps=100, levels=2, instants=4, budgets=None, keys=None):
    rules = SumRules(n, fewest or max(n // 2 + 1, n - 2), colluding, cost, steps, levels, instants)
    keys = keys or [Keys.draw() for _ in range(n)]
    roster = [one.public for one in keys]
    budgets = budgets or [Budget(UNIT * 1000, instants) for _ in range(n)]
    grid = Grid(0.0, float(steps), steps + 1)
    members = [Member(v, keys[v], roster, FLEET, grid, rules, budgets[v]) for v in range(n)]
    return rules, members


def deal(members, period=0):
    """Everybody's shares to everybody."""
    for v, sealed in enumerate([member.begin(period) for member in members]):
        for holder, content in (sealed or {}).items():
            assert members[holder].hold(v, content)


def total(rules, members, readings, instant=0, survivors=None, helpers=None, period=0):
    """The opened sum over some, with the help of some."""
    survivors = frozenset(range(len(members)) if survivors is None else survivors)
    sent = {v: members[v].submit(period, instant, readings[v]) for v in survivors}
    answers = {v: members[v].open(period, instant, survivors) for v in (survivors if helpers is None else helpers)}
    return open_sum(rules, sent, {v: answer for v, answer in answers.items() if answer is not None})
