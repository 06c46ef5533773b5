"""The least loss of groups per instant with a budget for being alone, by trying everything.

    absolute loss of a group    Σ |v − r|        squared loss    Σ (v − r)²        r = mean or median

A plan of an instant says for each place of the sorted values whether it is alone and, of the others, where the groups
end; `plans` lists all with groups of k to 2k − 1 and at most `holes` places alone between the ends of any group.
Arithmetic is that of fractions, so there is no rounding.
"""

from fractions import Fraction
from itertools import product

COMBINATIONS = [(loss, r) for loss in ("absolute", "squared") for r in ("mean", "median")]


def representative_of(values, representative):
    ordered = sorted(values)
    if representative == "mean":
        return sum(ordered) / len(ordered)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def group_loss(values, loss, representative):
    r = representative_of(values, representative)
    return sum(abs(v - r) if loss == "absolute" else (v - r) ** 2 for v in values)


def sizes_of(n, k):
    """Every way to write n as a sum of sizes of k to 2k - 1, in order."""
    if n == 0:
        yield []
    for size in range(k, min(2 * k - 1, n) + 1):
        for rest in sizes_of(n - size, k):
            yield [size, *rest]


def plans(n, k, holes):
    """Every (places alone, groups as lists of places)."""
    for pattern in product([False, True], repeat=n):
        members = [j for j in range(n) if not pattern[j]]
        for sizes in sizes_of(len(members), k):
            groups, start = [], 0
            for size in sizes:
                groups.append(members[start : start + size])
                start += size
            if all(group[-1] - group[0] + 1 - len(group) <= holes for group in groups):
                yield [j for j in range(n) if pattern[j]], groups


def sorted_column(x, t):
    column = [Fraction(float(row[t])) for row in x]
    order = sorted(range(len(column)), key=lambda i: (column[i], i))
    return [column[i] for i in order], order


def lowest_interval_loss(x, k, loss, representative):
    """Sum over the instants of the least loss of runs of k to 2k - 1 sorted values."""
    total = Fraction(0)
    for t in range(len(x[0])):
        v, _ = sorted_column(x, t)
        total += min(
            sum(group_loss([v[j] for j in group], loss, representative) for group in groups)
            for alone, groups in plans(len(v), k, 0)
            if not alone
        )
    return total


def lowest_loss(x, k, budget, loss, representative, holes=1):
    """Least loss such that each series is alone at most `budget` times."""
    n = len(x)
    costs = {(0,) * n: Fraction(0)}  # by how often each series was alone so far
    for t in range(len(x[0])):
        v, order = sorted_column(x, t)
        cheapest = {}  # by who is alone
        for alone, groups in plans(n, k, holes):
            who = tuple(sorted(order[j] for j in alone))
            value = sum((group_loss([v[j] for j in group], loss, representative) for group in groups), Fraction(0))
            cheapest[who] = min(value, cheapest.get(who, value))
        after = {}
        for used, cost in costs.items():
            for who, value in cheapest.items():
                new = tuple(u + (i in who) for i, u in enumerate(used))
                if max(new) <= budget:
                    after[new] = min(cost + value, after.get(new, cost + value))
        costs = after
    return min(costs.values())


def loss_of_labels(x, labels, loss, representative):
    total = Fraction(0)
    for t in range(len(x[0])):
        column = [Fraction(float(row[t])) for row in x]
        for label in {int(row[t]) for row in labels}:
            group = [v for v, row in zip(column, labels, strict=True) if row[t] == label]
            total += group_loss(group, loss, representative)
    return total
