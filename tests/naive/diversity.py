"""l-diversity read out loud, and whether values can be dealt out to groups at all.

    a value v has a share of a group   #{ members that carry v, or whose entry is missing } / #{ members }
    the group is l-diverse             no value that occurs in it has a share above 1/l; without entries it is
    the release is l-diverse           all its groups are, with series as members, and with subjects as members

A possible set is what somebody is left with who knows something of a target: some whole groups together.

    values can be dealt out            there is a way to put as many of each value as there are into groups of given
                                       sizes, none into more than floor(size / l) places of a group
"""

from fractions import Fraction
from itertools import combinations


def naive_shares(values, members):
    """The share of each value in one group; None is missing."""
    everyone = set(members)
    shares = {}
    for value in {v for v in values if v is not None}:
        carriers = {m for v, m in zip(values, members, strict=True) if v is None or v == value}
        shares[value] = Fraction(len(carriers), len(everyone))
    return shares


def naive_groups(labels):
    """The rows of each group, in the order of their first row."""
    groups = {}
    for row, label in enumerate(labels):
        groups.setdefault(label, []).append(row)
    return list(groups.values())


def naive_largest_share(labels, values, members):
    """The largest share of any value in any group; 0 where nothing is published."""
    found = [Fraction(0)]
    for rows in naive_groups(labels):
        found += naive_shares([values[i] for i in rows], [members[i] for i in rows]).values()
    return max(found)


def naive_l_diverse(labels, values, subjects, l):
    rows = range(len(labels))
    return all(naive_largest_share(labels, values, members) <= Fraction(1, l) for members in (rows, subjects))


def naive_possible_sets(labels):
    """The rows of every set of groups that is not empty."""
    groups = naive_groups(labels)
    for size in range(1, len(groups) + 1):
        for some in combinations(groups, size):
            yield sorted(row for rows in some for row in rows)


def naive_can_be_dealt(totals, sizes, l):
    """Try everything: fill one group after the other with every admissible choice."""
    if not sizes:
        return not any(totals)
    cap = sizes[0] // l

    def choices(at, left):
        if at == len(totals):
            if not left:
                yield ()
            return
        for taken in range(min(cap, totals[at], left) + 1):
            for rest in choices(at + 1, left - taken):
                yield (taken, *rest)

    return any(
        naive_can_be_dealt([t - c for t, c in zip(totals, chosen, strict=True)], sizes[1:], l)
        for chosen in choices(0, sizes[0])
    )
