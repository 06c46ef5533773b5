"""The fast validation of the paper (Algorithms 4 and 5), as it is printed. Never used to judge a release.

It differs from the definition, in both directions:

- a candidate set forgets the instants it was made from, so that knowing a value "infers" that same value, and every
  group below k is a breach where l - n = 1, though the paper's own example 4 has such groups;
- what is known about f should keep the series equal to f; the listing removes one group, which may hold f itself, and
  leaves the others;
- the number of known instants is compared with n only between rounds over all instants, so more than n are used;
- Algorithm 4 takes groups of at most k together, section 4.2.3 and definition 5 say fewer than k (`below=True`);
- but a round removes one group per instant and the rounds end when n is exceeded, so what one known instant tells may
  not be used in full, and breaches are missed. Not where n = 1 or l - n = 1: it starts from what one instant leaves, be
  it the one that K has or the one that is inferred.

Where the listing says nothing: of several groups that fit, the first that removes something is taken, and a round that
changes nothing is the last, where the listing would turn forever.
"""

from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray


def passes_paper_validation(
    labels: NDArray[np.int32],
    n: int,
    l: int,
    k: int,
    *,
    below: bool = False,
) -> bool:
    """Algorithm 5 on labels (series, instants) after a split; `below` reads "sum <= k" of Algorithm 4 as "sum < k".

    All combinations of groups are listed, so this is for small panels.
    """
    groups = [_groups_at(labels[:, t]) for t in range(labels.shape[1])]
    targets = _candidate_sets(groups, l - n, k - 1 if below else k)
    instants = range(labels.shape[1])
    return not any(
        _singles_out(groups, t, next(group for group in groups[t] if f in group), target, n)
        for f in range(labels.shape[0])
        for t in instants
        for target in targets
    )


def _groups_at(column: NDArray[np.int32]) -> list[frozenset[int]]:
    return [frozenset(np.flatnonzero(column == label).tolist()) for label in np.unique(column)]


def _candidate_sets(groups: list[list[frozenset[int]]], r: int, at_most: int) -> set[frozenset[int]]:
    """Algorithm 4."""
    single: list[list[frozenset[int]]] = []
    for at_instant in groups:
        chosen = (some for size in range(1, len(at_instant) + 1) for some in combinations(at_instant, size))
        single.append([frozenset().union(*some) for some in chosen if sum(map(len, some)) <= at_most])
    return {
        frozenset.intersection(*sets) for instants in combinations(single, r) for sets in product(*instants) if sets
    }


def _singles_out(
    groups: list[list[frozenset[int]]], t: int, possible: frozenset[int], target: frozenset[int], n: int
) -> bool:
    """Lines 17 to 35 of Algorithm 5."""
    surplus = possible - target
    known = {t}
    while len(known) <= n:
        before = possible, len(known)
        for other in range(len(groups)):
            if other == t:
                continue
            fitting = [group for group in groups[other] if group & surplus and possible - group]
            if fitting:
                known.add(other)
                possible -= next((group for group in fitting if group & possible), fitting[0])
            if possible <= target:
                return True
        if before == (possible, len(known)):
            break
    return False
