"""What somebody can make of the groups of several releases: every set there is, made one from another.

For subjects with several series: whatever may be known of one, and everybody of whom the same may be.
"""

from itertools import combinations


def every_set(groups):
    """All sets that "and", "or" and "but not" make of some sets."""
    found = {frozenset(group) for group in groups}
    while True:
        further = {made for a in found for b in found for made in (a & b, a | b, a - b)} - found
        if not further:
            return found - {frozenset()}
        found |= further


def promised(releases, subject):
    """The smallest k of the releases a subject is in; a release is (groups, k)."""
    return min(k for groups, k in releases if any(subject in group for group in groups))


def fine_together(releases):
    """No set that can be made is smaller than what any of its members was promised."""
    groups = [group for found, _ in releases for group in found]
    return all(len(made) >= promised(releases, s) for made in every_set(groups) for s in made)


def smallest_set_with(releases, subject):
    """The size of the smallest set with a subject."""
    groups = [group for found, _ in releases for group in found]
    return min(len(made) for made in every_set(groups) if subject in made)


def trails(threads):
    """What sets of a subject's series tell, no two of which share a release, and to which none can be added.

    A thread is for each release the group of a series, None where it is absent.
    """

    def clash(a, b):
        return any(x is not None and y is not None for x, y in zip(a, b, strict=True))

    sets = [chosen for size in range(1, len(threads) + 1) for chosen in combinations(range(len(threads)), size)]
    alone = [s for s in sets if not any(clash(threads[i], threads[j]) for i, j in combinations(s, 2))]
    largest = [s for s in alone if not any(set(s) < set(other) for other in alone)]
    return {
        tuple(next((threads[i][r] for i in s if threads[i][r] is not None), None) for r in range(len(threads[0])))
        for s in largest
    }


def smallest_crowd(people, keyed, subject):
    """How many subjects are left at the least.

    `people` has for each subject its threads, `keyed` says of each release whether anyone can follow its names.
    """
    known = {who: trails(threads) for who, threads in people.items()}
    crowds = [sum(trail in known[who] for who in people) for trail in known[subject]]
    followed = {}
    for who, threads in people.items():
        cut = {tuple(g for g, is_keyed in zip(thread, keyed, strict=True) if is_keyed) for thread in threads}
        followed[who] = {seen for seen in cut if any(group is not None for group in seen)}
    return min(crowds + [sum(seen in followed[who] for who in people) for seen in followed[subject]])
