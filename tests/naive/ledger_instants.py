"""Releases under (n, l, k) of the same people, by trying everyone and every set of n readings over all releases.

A release maps each person to a list of groups, one per instant; an absent person has None at each of its instants.
"""

from naive.nlk import naive_most_inferred


def fine_by_instants(releases, n, l, k):
    people = sorted({person for release in releases for person in release})
    table = [
        [cell for release in releases for cell in release.get(person, [None] * len(next(iter(release.values()))))]
        for person in people
    ]
    return naive_most_inferred(table, n, k) < l - n
