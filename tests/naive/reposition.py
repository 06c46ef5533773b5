"""Forward repositioning on single events and by integer programs, straight from "Anonymizing temporal data".

A window is a table of how many events stand where:

    standing    {(value, home, place): number}, place None for the suppressed ones; snapshots are numbered from 0, the
                last one has just arrived with all its events suppressed, and homes below 0 have left the window

    l-eligible  l · max_s n_s <= Σ_s n_s
    loss        Σ cost[place - home] over the placed, Σ beta[value] over the suppressed

What the paper allows (recycle-reposition): placed events move forward or stay, suppressed ones stay or move to their
home or forward, nobody is more than `longest` late, all snapshots but the last keep how many of each value they have,
and the last is l-eligible. anything=True also allows moves back, suppression of what was placed, and any delay.
"""

from collections import Counter
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
from scipy.optimize import LinearConstraint, milp


def is_eligible(numbers, l):
    """Whether numbers of events by value are l-eligible; none at all are."""
    return max(numbers, default=0) * l <= sum(numbers)


def loss_of(standing, cost, beta):
    return sum(
        n * (beta[value] if place is None else cost[place - home]) for (value, home, place), n in standing.items()
    )


def moves_of(home, place, last, longest, anything):
    """Where an event may go: the places, None for suppressed."""
    if anything:
        return [None, *range(max(home, 0), last + 1)]
    if place is None:
        return [None, *(q for q in range(home, last + 1) if q - home <= longest)]
    return [q for q in range(place, last + 1) if q == place or q - home <= longest]


def cheapest_step(standing, last, longest, l, cost, beta, anything=False):
    """The least loss of a step by an integer program over the numbers of events that make each move."""
    groups = [group for group, n in standing.items() if n]
    moves = [(g, q) for g in groups for q in moves_of(g[1], g[2], last, longest, anything)]
    if not moves:
        return 0.0
    price = np.array([beta[g[0]] if q is None else cost[q - g[1]] for g, q in moves], dtype=float)
    rows, low, high = [], [], []
    for g in groups:
        rows.append([float(g == h) for h, _ in moves])
        low.append(standing[g])
        high.append(standing[g])
    values = sorted({g[0] for g in groups})
    for s, j in product(values, range(last)):
        rows.append([float(g[0] == s and q == j) for g, q in moves])
        low.append(sum(n for (value, _, place), n in standing.items() if value == s and place == j))
        high.append(low[-1])
    for s in values:
        rows.append([float(q == last) * ((l if g[0] == s else 0) - 1.0) for g, q in moves])
        low.append(-np.inf)
        high.append(0.0)
    found = milp(
        price,
        integrality=np.ones(len(moves)),
        constraints=LinearConstraint(np.array(rows), low, high),
        options={"mip_rel_gap": 0.0},
    )
    assert found.status == 0
    return float(price @ np.rint(found.x))


def cheapest_step_by_enumeration(standing, last, longest, l, cost, beta, anything=False):
    """The same by trying all moves of all events; for a handful of events."""
    groups = [group for group, n in standing.items() if n]
    before = Counter()
    for (value, _, place), n in standing.items():
        if place is not None:
            before[value, place] += n
    ways = [
        list(
            combinations_with_replacement(moves_of(home, place, last, longest, anything), standing[value, home, place])
        )
        for value, home, place in groups
    ]
    values = {g[0] for g in groups}
    best = np.inf
    for way in product(*ways):
        after, price = Counter(), 0.0
        for (value, home, _), places in zip(groups, way, strict=True):
            for place in places:
                if place is None:
                    price += beta[value]
                else:
                    price += cost[place - home]
                    after[value, place] += 1
        same = all(after[s, j] == before[s, j] for s in values for j in range(last))
        if same and is_eligible([after[s, last] for s in values], l):
            best = min(best, price)
    return best if groups else 0.0


class Window:
    """The algorithm of section V on single events: P and S of each value hold the homes of the events."""

    def __init__(self, standing, last, l, cost, beta):
        self.last, self.l, self.cost, self.beta = last, l, cost, beta
        n_values = len(beta)
        self.p = [[[] for _ in range(last + 1)] for _ in range(n_values)]
        self.s = [[] for _ in range(n_values)]
        for (value, home, place), n in standing.items():
            (self.s[value] if place is None else self.p[value][place]).extend([home] * n)
        self.trace = []

    def counts(self):
        return [len(p[self.last]) for p in self.p]

    def standing(self):
        table = Counter()
        for value, places in enumerate(self.p):
            table.update((value, home, place) for place, homes in enumerate(places) for home in homes)
            table.update((value, home, None) for home in self.s[value])
        return dict(table)

    def start(self):
        """The initial solution: all that arrived, but for the most frequent until the rest is l-eligible."""
        for value, homes in enumerate(self.s):
            while self.last in homes:
                homes.remove(self.last)
                self.p[value][self.last].append(self.last)
        while not is_eligible(self.counts(), self.l):
            value = int(np.argmax(self.counts()))
            self.p[value][self.last].remove(self.last)
            self.s[value].append(self.last)

    def relay(self, value):
        """Relay the latest suppressed event of a value, by formula (3); its gain, by formulas (5) and (6)."""
        p, last = self.p[value], self.last
        home = max(self.s[value])
        self.s[value].remove(home)
        if home == last:
            p[last].append(home)
            return self.beta[value]
        p[home].append(home)
        stops = [home, *(j for j in range(home + 1, last) if p[j]), last]
        psi = 0.0
        for here, there in pairwise(stops):
            traveller = max(p[here])
            p[here].remove(traveller)
            p[there].append(traveller)
            psi += self.cost[there - traveller] - self.cost[here - traveller]
        return self.beta[value] - psi

    def gain(self, value):
        """What a relay would gain: relay, look, and put everything back."""
        if not self.s[value]:
            return -np.inf
        kept = self.save()
        gain = self.relay(value)
        self.restore(kept)
        return gain

    def save(self):
        return [[list(homes) for homes in p] for p in self.p], [list(homes) for homes in self.s]

    def restore(self, kept):
        self.p, self.s = [[list(homes) for homes in p] for p in kept[0]], [list(homes) for homes in kept[1]]

    def best(self, level):
        """(gain, value) of the best relay of a value with fewer than `level` in the last snapshot, or None."""
        counts = self.counts()
        options = [(self.gain(value), -value) for value in range(len(counts)) if counts[value] < level]
        gain, minus = max(options, default=(-np.inf, 0))
        return None if gain == -np.inf else (gain, -minus)

    def run(self, as_printed):
        """OptimalReposition. As printed, a lift relays exactly m events; else all that gain after these m."""
        self.start()
        while True:
            level = max(self.counts(), default=0)
            while (best := self.best(level)) and best[0] > 0:
                self.relay(best[1])
                self.trace.append(("LP", best[1]))
            m = max(0, (level + 1) * self.l - sum(self.counts()))
            kept, done, total = self.save(), 0, 0.0
            while (best := self.best(level + 1)) and (done < m or (best[0] > 0 and not as_printed)):
                total += self.relay(best[1])
                done += 1
                self.trace.append(("LL", best[1]))
            if done < m or total <= 0:
                self.restore(kept)
                self.trace.append(("roll back", done))
                return self
