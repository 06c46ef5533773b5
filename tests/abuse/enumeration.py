"""Every small panel against the naive check of each guarantee.

A panel is a multiset of row types, so each is tried once whatever the order of its rows. Panels that only differ in the
names of their values, groups or subjects, or in the order of instants, are counted as different, and each is judged by
the guarantee's own `check`. The oracle answers once for all panels that only differ in names, since names are all it
compares, and again for one panel in a hundred. The rows of a panel come in an order drawn by its number. Where a space
has more panels than are asked for, every n-th is taken. Few panels of many types of rows keep a promise, so that up to
half are of few types in many rows, and the panels that do are counted.
"""

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from typing import Any

import numpy as np
import polars as pl

from naive.crowds import naive_aggregate_rule, naive_distinct_subjects
from naive.diversity import naive_l_diverse
from naive.event_groups import naive_bucketised
from naive.invariance import naive_m_invariant
from naive.nlk import naive_nlk_anonymous
from naive.sequences import naive_sequence_crowds
from shoal import (
    AggregateRule,
    Events,
    KAnonymity,
    KPAnonymity,
    LDiversity,
    MInvariance,
    NLKAnonymity,
    Panel,
    SequenceAnonymity,
)
from shoal.model import Candidate, Envelopes, EventsCandidate, EventTables, Private, PrivateEvents, Recipe

NUMBERS = np.array([0.0, np.nan, 1.0])
READINGS = np.array([1.0, 4.0, np.nan])
ENTRIES = ("a", "b", "c", None, "d", "e")
SHOWN = (None, 0.0, -0.0, 1.0, math.nan)
ASKED_AGAIN = 100
"""Of so many panels one is put to the oracle even where it has answered for its like."""
MOST_FRAMES = 20_000


@dataclass(frozen=True)
class Space:
    """All panels of rows of some types, each a tuple of small numbers, and how one is judged.

    `wide` and `crowded` are types and the largest number of rows: many types in few rows, of which few keep a promise,
    and few types in many rows. `check` and `naive` give what Shoal and the oracle say of rows. `names` are the columns,
    or sets of columns, whose entries the oracle compares with each other and with nothing else, each with an entry that
    is no name, if any.
    """

    guarantee: str
    wide: tuple
    crowded: tuple
    parameters: list
    check: Any
    naive: Any
    names: list

    def panels(self, size):
        """So many panels, or all there are: half of them crowded, if there are so many."""
        n_crowded = min(size // 2, count(*self.crowded))
        for (types, most), n in ((self.crowded, n_crowded), (self.wide, size - n_crowded)):
            stride = max(1, count(types, most) // max(1, n))
            yield from itertools.islice(multisets(types, most), 0, n * stride, stride)

    def question(self, rows):
        """The same for panels that only differ in names: numbers by first appearance in their place."""
        if self.names is None:
            return rows
        if self.names == BY_ROW:
            return tuple(sorted(Counter(rows).values()))
        found = []
        for columns, kept in self.names:
            numbers, entries = {kept: -1}, map(itemgetter(*columns), rows)
            found.append(tuple([numbers.setdefault(entry, len(numbers)) for entry in entries]))
        return tuple(found)


def count(types, most):
    """How many panels of one to `most` rows there are."""
    return math.comb(len(types) + most, most) - 1


def multisets(types, most):
    for n in range(most, 0, -1):
        yield from itertools.combinations_with_replacement(types, n)


def product(*sizes):
    return list(itertools.product(*map(range, sizes)))


def panel_of(rows, n_instants):
    """Values and subjects of rows of n numbers and, if there is one more, a subject."""
    subjects = [row[n_instants] for row in rows] if len(rows[0]) > n_instants else range(len(rows))
    return NUMBERS[np.array([row[:n_instants] for row in rows])], subjects


def check_crowds(guarantee, rows, n_instants=3):
    x, subjects = panel_of(rows, n_instants)
    verdict = guarantee.check(Panel(x, subjects=subjects))
    return verdict.holds, verdict.measured


def naive_crowds(guarantee, rows, n_instants=3):
    least = int(naive_distinct_subjects(*panel_of(rows, n_instants)).min())
    return least >= guarantee.k, least


check_subjects, naive_subjects = (partial(judge, n_instants=2) for judge in (check_crowds, naive_crowds))


def check_nlk(guarantee, rows):
    return guarantee.check(Panel(NUMBERS[np.array(rows)])).holds


def naive_nlk(guarantee, rows):
    return naive_nlk_anonymous(NUMBERS[np.array(rows)], guarantee.n, guarantee.l, guarantee.k)


def check_kp(guarantee, rows):
    low = np.array([[float(row[0])] * 2 for row in rows])
    levels, words = np.array([2 + row[1] for row in rows]), tuple(["ab", "ba"][row[2]] for row in rows)
    return guarantee.check(Envelopes(low, low + 1.0, levels, words, np.arange(2))).holds


def naive_kp(guarantee, rows):
    crowd = {row: sum(row == other for other in rows) for row in rows}
    group = {row: sum(row[0] == other[0] for other in rows) for row in rows}
    return all(group[row] >= guarantee.k and crowd[row] >= guarantee.p for row in rows)


def check_diversity(guarantee, rows):
    column = np.array([ENTRIES[row[1]] for row in rows], dtype=object)
    return guarantee.check(Panel(np.array([[float(row[0])] for row in rows]), sensitive={"c": column})).holds


def naive_diversity(guarantee, rows):
    """With missing as any value, and as one of its own."""
    labels, own = [row[0] for row in rows], range(len(rows))
    entries = [ENTRIES[row[1]] for row in rows]
    ways = [entries, ["missing" if entry is None else entry for entry in entries]]
    return all(naive_l_diverse(labels, values, own, guarantee.l) for values in ways)


class Rows:
    """Frames of rows that are numbers, looked up in a frame of all there can be: building each would take longest."""

    def __init__(self, **columns):
        self.frame = pl.DataFrame(list(itertools.product(*columns.values())), schema=list(columns), orient="row")
        self.places = {row: place for place, row in enumerate(product(*map(len, columns.values())))}
        self.kept = {}

    def of(self, rows):
        """A frame of its own, of the columns made when these rows came first."""
        key = tuple(rows)
        if key not in self.kept:
            if len(self.kept) == MOST_FRAMES:
                self.kept.clear()
            places = pl.Series([self.places[row] for row in rows], dtype=pl.UInt32)
            self.kept[key] = pl.DataFrame([column[places] for column in self.frame])
        return self.kept[key].clone()


VALUES = ("a", "b", "c", "d", "e")
RECORDS = Rows(time=(0, 1), group=(0, 1), age=(30,))
COUNTS = Rows(time=(0, 1), group=(0, 1), value=VALUES, count=range(21))
EVENTS = Rows(time=(0, 1), person=("p", "q", None), value=VALUES, age=(30,))


def counted(rows):
    """Rows of a table of counts."""
    return sorted((*row, rows.count(row)) for row in set(rows))


def tables_of(rows):
    """Bucketised events of (time, group, value)."""
    records = RECORDS.of([(*row[:2], 0) for row in sorted(rows)])
    return EventTables(records, COUNTS.of(counted(rows)), ("age",), "value")


def naive_tables(rows):
    """The same as lists of dicts."""
    names = ("time", "group", "value", "count")
    records, counts = [row[:2] for row in rows], counted(rows)
    return [[dict(zip(names, row, strict=False)) for row in table] for table in (records, counts)]


def check_events(guarantee, rows):
    return guarantee.check(tables_of(rows)).holds


def naive_events(guarantee, rows):
    shown = naive_bucketised(*naive_tables(rows), "value").values()
    return all(most * guarantee.l <= size for size, most in shown)


def published_means(rows):
    """What is published of (group, readings): means, in group 1 without the first instant, in group 2 always 1."""
    readings, groups = READINGS[np.array(rows)[:, 1:]], [row[0] for row in rows]
    published = np.ones(readings.shape)
    for group in {0, 1} & set(groups):
        own = np.array(groups) == group
        there = ~np.isnan(readings[own])
        with np.errstate(invalid="ignore"):
            published[own] = np.where(there, readings[own], 0.0).sum(axis=0) / there.sum(axis=0)
        published[own, :group] = np.nan
    return published, readings


def check_aggregates(guarantee, rows):
    published, readings = published_means(rows)
    private = Private(Panel(readings), np.full(len(rows), -7))
    return guarantee.check(Candidate(Panel(published), KAnonymity(2), Recipe("enumerated", {}), private)).holds


def naive_aggregates(guarantee, rows):
    """Of each set of equal published rows by itself, as the rule is stated."""
    sets = {}
    for row, published in zip(rows, published_means(rows)[0].tolist(), strict=True):
        sets.setdefault(tuple([None if math.isnan(v) else v for v in published]), []).append(row[1:])
    return all(naive_aggregate(guarantee, published, tuple(sorted(own))) for published, own in sets.items())


@cache
def naive_aggregate(guarantee, published, readings):
    original = READINGS[np.array(readings)][:, :, None]
    same = np.array([published] * len(readings), dtype=float)
    return naive_aggregate_rule(original, same, guarantee.size, guarantee.share, None, guarantee.per)


def releases_of(rows):
    """Two releases, by the names of the series; without those in which nobody is."""
    shown = [{f"n{i}": [SHOWN[row[at]]] for i, row in enumerate(rows) if row[at]} for at in range(2)]
    return [release for release in shown if release]


def check_sequences(guarantee, rows):
    releases = [Panel(list(release.values()), ids=list(release)) for release in releases_of(rows)]
    verdict = guarantee.check(releases)
    return verdict.holds, verdict.measured


def naive_sequences(guarantee, rows):
    least = min(naive_sequence_crowds(releases_of(rows)).values())
    return least >= guarantee.k, least


def check_invariance(guarantee, rows):
    rows = sorted(rows, key=lambda row: row[0])
    frame = EVENTS.of([(*row[:3], 0) for row in rows])
    events = Events(frame, sensitive="value", quasi=["age"], subject="person")
    place = np.array([int(row[0] > rows[0][0]) if row[3] else -1 for row in rows])
    groups = np.array([row[4] if row[3] else -1 for row in rows])
    tables = tables_of([(time, group, value) for time, _, value, there, group in rows if there])
    private = PrivateEvents(events, place, groups)
    return guarantee.check(EventsCandidate(tables, LDiversity(2), Recipe("enumerated", {}), private)).holds


def naive_invariance(guarantee, rows):
    plain = [
        {"subject": (0, 1, None)[person], "time": time if there else None, "group": group}
        for time, person, _, there, group in rows
    ]
    _, counts = naive_tables([(time, group, value) for time, _, value, there, group in rows if there])
    return naive_m_invariant(plain, counts, "value", guarantee.m)


CROWDS = [KAnonymity(k) for k in (2, 3, 4)]
NLK = [NLKAnonymity(*nlk) for nlk in ((1, 2, 2), (1, 3, 2), (2, 3, 2), (1, 3, 3), (1, 2, 3), (2, 3, 3))]
KP = [KPAnonymity(*kp) for kp in ((2, 2), (3, 2), (4, 2), (4, 3))]
DIVERSE = [LDiversity(l) for l in (2, 3, 4)]
RULES = ((2, 0.5), (2, 0.8), (3, 0.6), (3, 0.34), (4, 0.5))
RULES = [AggregateRule(*rule, per) for rule in RULES for per in ("period", "instant")]
SEQUENCES = [SequenceAnonymity(k) for k in (2, 3)]
BY_ROW, BY_SUBJECT = [((0, 1, 2), None)], [((0, 1), None), ((2,), None)]
BY_INSTANT, BY_WORD = [((at,), None) for at in range(3)], [((0,), None), *BY_ROW]
BY_GROUP, BY_RELEASE = [((0,), None), ((1,), 3)], [((0,), 0), ((1,), 0)]
BY_PERSON = [((0,), None), ((1,), 2), ((2,), None), ((3,), 0), ((0, 4), None)]
SIX = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 0, 1), (1, 1, 1)]
WIDE = (product(3, 3, 3), 6)
SPACES = [
    Space("k-anonymity", WIDE, (SIX, 20), CROWDS, check_crowds, naive_crowds, BY_ROW),
    Space(
        "k-anonymity of subjects",
        (product(2, 2, 5), 7),
        (product(1, 2, 4), 12),
        CROWDS,
        check_subjects,
        naive_subjects,
        BY_SUBJECT,
    ),
    Space("(n, l, k)-anonymity", WIDE, (SIX, 12), NLK, check_nlk, naive_nlk, BY_INSTANT),
    Space("(k, P)-anonymity", (product(3, 2, 2), 11), (SIX, 20), KP, check_kp, naive_kp, BY_WORD),
    Space(
        "l-diversity",
        (product(3, 4), 11),
        ([(0, value) for value in (0, 1, 2, 4, 5)], 20),
        DIVERSE,
        check_diversity,
        naive_diversity,
        BY_GROUP,
    ),
    Space(
        "l-diversity of events",
        (product(2, 2, 3), 11),
        (product(1, 1, 5), 20),
        DIVERSE[:2],
        check_events,
        naive_events,
        BY_SUBJECT,
    ),
    Space("aggregate rules", WIDE, (SIX, 14), RULES, check_aggregates, naive_aggregates, None),
    Space(
        "sequence anonymity",
        (product(5, 5)[1:], 7),
        ([(0, 1), (1, 1), (1, 2), (2, 1), (2, 2)], 20),
        SEQUENCES,
        check_sequences,
        naive_sequences,
        BY_RELEASE,
    ),
    Space(
        "m-invariance",
        (product(2, 3, 2, 2, 2), 5),
        (
            [(0, 0, 0, 1, 0), (1, 0, 1, 1, 0), (0, 1, 1, 1, 0), *((at, 2, value, 1, 0) for at, value in product(2, 2))],
            9,
        ),
        [MInvariance(2)],
        check_invariance,
        naive_invariance,
        BY_PERSON,
    ),
]


def shuffled(rows, number):
    """The rows in an order drawn by a number."""
    return [rows[i] for i in sorted(range(len(rows)), key=lambda i: (i + 1) * (number + 1) * 40503 % 65537)]


def run(numbers, size, folder, outcome):
    """Of so many panels for each guarantee, or all there are, those with these numbers."""
    going = [judged(space, numbers, size, outcome) for space in SPACES]
    while going:
        going = [one for one in going if next(one, None)]


def judged(space, numbers, size, outcome):
    """Judge the panels of a space; stops after each thousand, so that all spaces have their turns."""
    answers, name = {}, space.guarantee
    taken = itertools.islice(space.panels(size), numbers.start, None, numbers.step)
    for number, panel in zip(numbers, taken, strict=False):
        outcome.tries[name] += 1
        guarantee = space.parameters[number % len(space.parameters)]
        asked = number % len(space.parameters), space.question(panel)
        if asked not in answers:
            answers[asked] = space.naive(guarantee, panel)
        elif number % ASKED_AGAIN < numbers.step and space.naive(guarantee, panel) != answers[asked]:
            outcome.find(f"{name}:{number} of {size}: the oracle says two things of its like")
        answer = answers[asked]
        outcome.tries[f"that keep {name}"] += answer[0] if isinstance(answer, tuple) else answer
        try:
            found = space.check(guarantee, shuffled(panel, number))
        except Exception as error:
            found = type(error).__name__
        if found != answer:
            outcome.find(f"{name}:{number} of {size}: {found}, enumerated {answer}")
        if outcome.tries[name] % 1000 == 0:
            yield number + 1
