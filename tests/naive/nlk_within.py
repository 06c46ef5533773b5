"""(n, l, k)-anonymity against knowledge to within an error, by trying every series and every set of known instants.

    close at t       the values differ by at most the error in every channel, or are the same, missing ones included
    candidates       the series close to f at every instant of K
    inferred         t outside K, where the series published alike at t with some candidate have fewer than k subjects
    anonymous        no f and no K of n instants with l - n or more inferred instants

Imports nothing of Shoal.
"""

import itertools

from naive.nlk import marks_of


def naive_close(a, b, within):
    return all(abs(p - q) <= within or (p != p and q != q) for p, q in zip(a.ravel(), b.ravel(), strict=True))


def naive_inferred_within(x, f, known, k, within, subjects):
    cells = marks_of(x)
    candidates = [g for g in range(len(x)) if all(naive_close(x[g][t], x[f][t], within) for t in known)]
    inferred = []
    for t in range(len(x[0])):
        if t not in known:
            possible = {cells[c][t] for c in candidates}
            if len({subjects[g] for g in range(len(x)) if cells[g][t] in possible}) < k:
                inferred.append(t)
    return inferred


def naive_most_inferred_within(x, n, k, within, subjects):
    return max(
        len(naive_inferred_within(x, f, known, k, within, subjects))
        for f in range(len(x))
        for known in itertools.combinations(range(len(x[0])), n)
    )
