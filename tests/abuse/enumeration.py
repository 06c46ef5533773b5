"""Every small panel against the naive check of each guarantee.

A panel is a multiset of row types, so each is tried once whatever the order of its rows. Panels that only differ in the
names of their values, groups or subjects, or in the order of instants, are counted as different. The rows of a panel
come in an order drawn by its number. Where a space has more panels than are asked for, every n-th is taken.
"""

import itertools
import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from abuse.outcome import Outcome
from naive.crowds import naive_aggregate_rule, naive_distinct_subjects
from naive.diversity import naive_l_diverse
from naive.event_groups import naive_bucketised
from naive.invariance import naive_m_invariant
from naive.nlk import naive_nlk_anonymous
from naive.sequences import naive_sequence_crowds

GAP = float("nan")


@dataclass(frozen=True)
class Space:
    """All panels of one to `most` rows of these types, and how one is judged: gives what Shoal and the oracle say."""

    guarantee: str
    types: list
    most: int
    judge: Any

    @property
    def size(self):
        return math.comb(len(self.types) + self.most, self.most) - 1

    def panels(self):
        for n in range(self.most, 0, -1):
            yield from itertools.combinations_with_replacement(self.types, n)


def rows_of(values, instants):
    return list(itertools.product(values, repeat=instants))


def k_anonymity(rows, number):
    from shoal import KAnonymity, Panel

    x = np.array([row[0] for row in rows])
    subjects = [row[1] for row in rows] if rows[0][1] is not None else list(range(len(rows)))
    k = 2 + number % 3
    verdict = KAnonymity(k).check(Panel(x, subjects=subjects))
    least = int(naive_distinct_subjects(x, subjects).min())
    return (verdict.holds, verdict.measured), (least >= k, least)


def nlk_anonymity(rows, number):
    from shoal import NLKAnonymity, Panel

    n, l, k = [(1, 2, 2), (1, 3, 2), (2, 3, 2), (1, 3, 3), (1, 2, 3), (2, 3, 3)][number % 6]
    x = np.array(rows)
    return NLKAnonymity(n, l, k).check(Panel(x)).holds, naive_nlk_anonymous(x, n, l, k)


def kp_anonymity(rows, number):
    from shoal import KPAnonymity
    from shoal.model import Envelopes

    k, p = [(2, 2), (3, 2), (4, 2), (4, 3)][number % 4]
    low = np.array([[float(row[0])] * 2 for row in rows])
    levels, words = np.array([row[1] for row in rows]), tuple(row[2] for row in rows)
    verdict = KPAnonymity(k=k, p=p).check(Envelopes(low, low + 1.0, levels, words, np.arange(2)))
    crowd = {row: sum(row == other for other in rows) for row in rows}
    group = {row: sum(row[0] == other[0] for other in rows) for row in rows}
    return verdict.holds, all(group[row] >= k and crowd[row] >= p for row in rows)


def l_diversity(rows, number):
    from shoal import LDiversity, Panel

    l = 2 + number % 3
    column = np.empty(len(rows), dtype=object)
    column[:] = [value for _, value in rows]
    panel = Panel(np.array([[float(group)] for group, _ in rows]), sensitive={"c": column})
    ways = [[value for _, value in rows], [value or "missing" for _, value in rows]]
    own, labels = range(len(rows)), [group for group, _ in rows]
    return LDiversity(l).check(panel).holds, all(naive_l_diverse(labels, values, own, l) for values in ways)


def l_diversity_of_events(rows, number):
    from shoal import LDiversity
    from shoal.model import EventTables

    l = 2 + number % 2
    times, groups = ([row[i] for row in rows] for i in range(2))
    records = pl.DataFrame({"time": times, "group": groups, "age": [1] * len(rows)})
    counted = {row: rows.count(row) for row in rows}
    columns = [[row[i] for row in counted] for i in range(3)]
    counts = pl.DataFrame(
        {"time": columns[0], "group": columns[1], "result": columns[2], "count": list(counted.values())}
    )
    verdict = LDiversity(l).check(EventTables(records, counts, ("age",), "result"))
    shown = naive_bucketised(records.to_dicts(), counts.to_dicts(), "result").values()
    return verdict.holds, all(most * l <= size for size, most in shown)


def aggregate_rule(rows, number):
    from shoal import AggregateRule, KAnonymity, Panel
    from shoal.model import Candidate, Private, Recipe

    size, share = [(2, 0.5), (2, 0.8), (3, 0.6), (3, 0.34), (4, 0.5)][number % 5]
    per = ("period", "instant")[number % 2]
    original = np.array([row[1] for row in rows])
    published = np.array([[float(row[0])] * 2 for row in rows])
    candidate = Candidate(
        published=Panel(published),
        guarantee=KAnonymity(2),
        recipe=Recipe("enumerated", {}),
        private=Private(Panel(original), np.full(len(rows), -7)),
    )
    verdict = AggregateRule(size, share, per).check(candidate)
    own = list(range(len(rows)))
    return verdict.holds, naive_aggregate_rule(original[:, :, None], published, size, share, own, per)


def sequence_anonymity(rows, number):
    from shoal import Panel, SequenceAnonymity

    k = 2 + number % 2
    releases = [{f"n{i}": [row[at]] for i, row in enumerate(rows) if row[at] is not None} for at in range(2)]
    releases = [release for release in releases if release]
    verdict = SequenceAnonymity(k).check([Panel(list(release.values()), ids=list(release)) for release in releases])
    least = min(naive_sequence_crowds(releases).values())
    return (verdict.holds, verdict.measured), (least >= k, least)


def m_invariance(rows, number):
    from shoal import Events, LDiversity, MInvariance
    from shoal.model import EventsCandidate, EventTables, PrivateEvents, Recipe

    m, rows = 2, sorted(rows, key=lambda row: row[0])
    times, people, values, shown, groups = ([row[i] for row in rows] for i in range(5))
    own = pl.Series("person", people, dtype=pl.String)
    events = Events(
        pl.DataFrame({"time": times, "person": own, "age": [30] * len(rows), "value": values}),
        sensitive="value",
        quasi=["age"],
        subject="person",
    )
    instants = sorted(set(times))
    place = np.array([instants.index(t) if there else -1 for t, there in zip(times, shown, strict=True)])
    published = [row for row in rows if row[3]]
    schema = {"time": pl.Int64, "group": pl.Int64, "age": pl.Int64}
    records = pl.DataFrame([(row[0], row[4], 30) for row in published], schema=schema, orient="row").sort(pl.all())
    counted = {}
    for row in published:
        key = (row[0], row[4], row[2])
        counted[key] = counted.get(key, 0) + 1
    schema = {"time": pl.Int64, "group": pl.Int64, "value": pl.String, "count": pl.Int64}
    counts = pl.DataFrame([(*key, n) for key, n in counted.items()], schema=schema, orient="row").sort(pl.all())
    private = PrivateEvents(events, place, np.where(place < 0, -1, np.array(groups)))
    tables = EventTables(records, counts, ("age",), "value")
    candidate = EventsCandidate(tables, LDiversity(2), Recipe("enumerated", {}), private)
    plain = [{"subject": row[1], "time": row[0] if row[3] else None, "group": row[4]} for row in rows]
    return MInvariance(m).check(candidate).holds, naive_m_invariant(plain, counts.to_dicts(), "value", m)


FEW = (0.0, 1.0, GAP)
SPACES = [
    Space("k-anonymity", [(row, None) for row in rows_of(FEW, 3)], 6, k_anonymity),
    Space("k-anonymity of subjects", list(itertools.product(rows_of((0.0, GAP), 2), range(5))), 7, k_anonymity),
    Space("(n, l, k)-anonymity", rows_of(FEW, 3), 6, nlk_anonymity),
    Space("(k, P)-anonymity", list(itertools.product((0, 1, 2), (2, 3), ("ab", "ba"))), 11, kp_anonymity),
    Space("l-diversity", list(itertools.product((0, 1, 2), ("a", "b", "c", None))), 11, l_diversity),
    Space("l-diversity of events", list(itertools.product((0, 1), (0, 1), "abc")), 11, l_diversity_of_events),
    Space("aggregate rules", list(itertools.product((0, 1), rows_of((1.0, 4.0, GAP), 2))), 8, aggregate_rule),
    Space("sequence anonymity", rows_of((None, 0.0, -0.0, 1.0, GAP), 2)[1:], 7, sequence_anonymity),
    Space(
        "m-invariance", list(itertools.product((0, 1), ("p", "q", None), "ab", (True, False), (0, 1))), 5, m_invariance
    ),
]


def run(size, folder):
    """So many panels for each guarantee, or all there are."""
    outcome = Outcome()
    for space in SPACES:
        stride = max(1, space.size // size)
        for number, panel in enumerate(itertools.islice(space.panels(), 0, None, stride)):
            rows = list(panel)
            random.Random(number).shuffle(rows)
            outcome.tries[space.guarantee] += 1
            try:
                found, expected = space.judge(rows, number)
            except Exception as error:
                found, expected = type(error).__name__, "a verdict"
            if found != expected:
                outcome.find(f"{space.guarantee}:{number} of stride {stride}: {found}, enumerated {expected}")
            if outcome.tries[space.guarantee] >= size:
                break
    return outcome
