"""(n, l, k)-anonymity against knowledge to within an error, by trying every series, every set of known instants and
every estimate on a fine grid.

    estimate         for f at t, a value at most the error away from f's in every channel; missing where f's is
    fits             at most the error away from the estimate in every channel; missing where it is missing
    candidates       the series that fit the estimates at every instant of K
    inferred         t outside K, where the series published alike at t with some candidate have fewer than k subjects
    anonymous        no f, no K of n instants and no estimates with l - n or more inferred instants

The grid decides if values are whole numbers and twice the error is not: every window of values is then left by an
estimate in steps of an eighth. Imports nothing of Shoal.
"""

import itertools

from naive.nlk import marks_of

STEP = 0.125


def naive_fitting(x, f, t, within):
    """Every set of series that some estimate of f at t leaves."""
    channels = []
    for c, value in enumerate(x[f][t]):
        at = [row[t][c] for row in x]
        if value != value:
            channels.append({frozenset(g for g, other in enumerate(at) if other != other)})
            continue
        steps = int(within / STEP)
        estimates = [value + STEP * step for step in range(-steps, steps + 1)]
        channels.append({frozenset(g for g, other in enumerate(at) if abs(other - a) <= within) for a in estimates})
    return {frozenset.intersection(*sets) for sets in itertools.product(*channels)}


def naive_inferred_within(x, f, known, k, within, subjects):
    """For every estimate of what is known, the instants that are inferred."""
    cells = marks_of(x)
    outcomes = set()
    for sets in itertools.product(*(naive_fitting(x, f, t, within) for t in known)):
        candidates = frozenset.intersection(*sets)
        inferred = []
        for t in range(len(x[0])):
            if t not in known:
                possible = {cells[c][t] for c in candidates}
                if len({subjects[g] for g in range(len(x)) if cells[g][t] in possible}) < k:
                    inferred.append(t)
        outcomes.add(tuple(inferred))
    return outcomes


def naive_most_inferred_within(x, n, k, within, subjects):
    return max(
        len(inferred)
        for f in range(len(x))
        for known in itertools.combinations(range(len(x[0])), n)
        for inferred in naive_inferred_within(x, f, known, k, within, subjects)
    )
