"""Who is published alike over a sequence of releases, compared pair by pair and release by release.

A release is a mapping from the name of a series to its row of values; a sequence is a list of releases.

    alike(a, b)    in every release both names are absent, or both are there with the same 64 bits in every column
    crowd(a)       #{ subject of b : alike(a, b) } over all names b of the sequence, a included

Every NaN is the same missing mark and equals only a missing mark. Missing is not absent.
"""

import math
import struct


def _same(row, other):
    marks = [[None if math.isnan(v) else struct.pack("<d", v) for v in values] for values in (row, other)]
    return marks[0] == marks[1]


def naive_alike(releases, a, b):
    for release in releases:
        if (a in release) != (b in release):
            return False
        if a in release and not _same(release[a], release[b]):
            return False
    return True


def naive_sequence_crowds(releases, subjects=None):
    """The crowd of every name; without subjects each name is its own."""
    names = sorted({name for release in releases for name in release}, key=str)
    whose = subjects or {name: name for name in names}
    return {a: len({whose[b] for b in names if naive_alike(releases, a, b)}) for a in names}


def naive_group_means(rows, groups, subjects, k):
    """Of each row the mean of its group at each column, over those observed; missing below k subjects observed."""
    means = []
    for group in groups:
        own = [i for i, other in enumerate(groups) if other == group]
        mean = []
        for column in range(len(rows[0])):
            there = [i for i in own if not math.isnan(rows[i][column])]
            enough = len({subjects[i] for i in there}) >= k
            mean.append(math.fsum(rows[i][column] for i in there) / len(there) if enough else math.nan)
        means.append(mean)
    return means


def naive_joined(cells, rows, subjects, k):
    """Cells of which some, but fewer than k, subjects have a reading go to the nearest by the mean curve, one by one.

    The first such cell, by number, joins that whose mean curve has the least mean squared distance over the columns
    both have; the first among equals. Two joined cells are one, under the smaller number. Gives the sets of rows.
    """
    groups = {cell: [i for i, own in enumerate(cells) if own == cell] for cell in sorted(set(cells))}

    def people(group):
        return {subjects[i] for i in groups[group] if not all(math.isnan(v) for v in rows[i])}

    def mean(group, column):
        there = [rows[i][column] for i in groups[group] if not math.isnan(rows[i][column])]
        return sum(there) / len(there) if there else None

    def distance(a, b):
        pairs = [(mean(a, c), mean(b, c)) for c in range(len(rows[0]))]
        apart = [(u - v) ** 2 for u, v in pairs if u is not None and v is not None]
        return sum(apart) / len(apart) if apart else math.inf

    while thin := [group for group in groups if 0 < len(people(group)) < k]:
        others = [group for group in groups if group != thin[0] and people(group)]
        if not others:
            break
        nearest = min(others, key=lambda other: (distance(thin[0], other), other))
        into, gone = sorted((thin[0], nearest))
        groups[into] += groups.pop(gone)
    return {frozenset(members) for members in groups.values()}
