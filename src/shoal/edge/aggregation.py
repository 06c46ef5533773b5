"""Sums of a neighbourhood that nobody can decompose: the device's side and the collector's.

A period is a number of instants, such as a day. At its beginning, every meter v draws a word b(v, t) and shares of
noise e(v, t, level) for each instant t, and deals Shamir shares of them to its neighbours, sealed, through the
collector. At each instant it sends

    y(v, t) = x(v, t) + all e(v, t, .) + b(v, t) + M(v, t)   modulo 2^64,
    M(v, t) = sum of m(u, v, t) over u > v - sum of m(u, v, t) over u < v,

where m is a key stream that only u and v know. When the collector announces the set S of senders, every meter answers
once, with one number: its shares, added up over S, of b + the noise of the levels that |S| does not need (+ M if S is
not everyone; otherwise masks cancel). Any `threshold` answers for the same S open this one sum, and with it the sum of
x over S with the noise for |S|.

What the collector learns. b(v, t) is uniform and known through opened sums only. Each honest meter answers for one S
per instant, so two different sums would take 2 x threshold answers, of which colluding meters give at most two each.
With n meters of which c collude, 2 x threshold > n + c, so at most one sum is opened, over one S; a meter answers only
if |S| >= fewest. A late y of a meter outside S stays masked by its own b. So at every instant the collector learns the
noisy sum over one S of at least `fewest` meters, and nothing else. (Opened sums are whole numbers, not remainders: if
some are missing, the number of wraparounds distinguishes two sets of readings with the same sum with an advantage of at
most n x steps / 2^64.)

Noise. Level j is for size(j) survivors: size(0) = n > size(1) > ... > fewest. The noise of levels 0 to j of one meter
has shape 1 / (size(j) - c) together. With |S| >= size(j) the honest meters in S, at least size(j) - c, carry a shape
of at least 1: the discrete Laplace noise of one central mechanism, or more (see `polya`).

K. Bonawitz et al., "Practical secure aggregation for privacy-preserving machine learning", 2017; J. So et al.,
"LightSecAgg", 2022 (sums opened at once); Z. Jiang et al., "Dordis", 2024 (noise taken back); G. Ács and C.
Castelluccia, "I have a DREAM!", 2011 (noise in shares at meters).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from shoal.edge.budget import Budget
from shoal.edge.chance import Chance
from shoal.edge.keys import Keys, PublicKeys, derive, mask_words, seal, unseal
from shoal.edge.polya import noise_share, ratio_for
from shoal.edge.response import Grid
from shoal.edge.shamir import PRIME, SHARE_BYTES, open_secret, share
from shoal.errors import ParameterError

WORD = 2**64


@dataclass(frozen=True)
class SumRules:
    """The number of meters required, and the amount of noise.

    Parameters
    ----------
    members
        How many meters are enrolled in the neighbourhood.
    fewest
        How many must send something for an instant to be opened: the smallest sum that is ever opened.
    colluding
        How many of them may collude with the collector without harm to the others.
    cost
        What one instant may cost, in units; 0 is no noise, for tests of the sums alone.
    steps
        Into how many steps the range of a reading is divided.
    levels
        How many sizes, besides that of everyone, the noise adapts to: 0 always adds the noise for the fewest.
    instants
        How many instants a period has.
    """

    members: int
    fewest: int
    colluding: int
    cost: int
    steps: int
    levels: int = 3
    instants: int = 48

    def __post_init__(self) -> None:
        if not 3 <= self.members <= 2**20:
            raise ParameterError("A neighbourhood needs from 3 to 1048576 meters.")
        if not 0 <= self.colluding <= self.members - 3:
            raise ParameterError("colluding must leave at least 3 meters that do not collude.")
        if not max(self.threshold, self.colluding + 2) <= self.fewest <= self.members:
            raise ParameterError(
                f"fewest must be from {max(self.threshold, self.colluding + 2)} to {self.members}: more than half of "
                "the meters, and of those that may collude, or two sums of one instant could be opened."
            )
        if self.levels < 0 or self.instants < 1 or self.cost < 0 or not 1 <= self.steps < 2**40:
            raise ParameterError("levels, instants, cost and steps must not be negative, steps and instants not 0.")

    @property
    def threshold(self) -> int:
        """How many answers open a sum."""
        return (self.members + self.colluding) // 2 + 1

    @property
    def sizes(self) -> list[int]:
        """The numbers of survivors for which the noise is exact, from everyone to the fewest."""
        if self.levels == 0:
            return [self.fewest]
        gap = self.members - self.fewest
        return sorted({self.members - math.ceil(gap * j / self.levels) for j in range(self.levels + 1)}, reverse=True)

    @property
    def shapes(self) -> list[Fraction]:
        """What each level adds to the shape of a meter's noise."""
        whole = [Fraction(1, size - self.colluding) for size in self.sizes]
        return [whole[0], *(one - before for before, one in pairwise(whole))]

    def level(self, survivors: int) -> int:
        """The highest level of noise needed for this many survivors."""
        return next(j for j, size in enumerate(self.sizes) if survivors >= size)

    def shape_of_sum(self, survivors: int) -> Fraction:
        """The shape of all honest noise in a sum over this many; at least 1."""
        return (survivors - self.colluding) * sum(self.shapes[: self.level(survivors) + 1], Fraction(0))

    @property
    def ratio(self) -> Fraction | None:
        """The scale of the noise; None if there is none."""
        return ratio_for(self.cost, self.steps) if self.cost else None

    def variance(self, survivors: int) -> float:
        """Variance of the noise in a sum over this many, in steps squared."""
        if self.ratio is None:
            return 0.0
        shape = survivors * sum(self.shapes[: self.level(survivors) + 1], Fraction(0))
        return float(2 * shape * self.ratio / (1 - self.ratio) ** 2)

    @property
    def secrets(self) -> int:
        """How many numbers are shared for each instant: b, M, and the noise of all levels but the first."""
        return 1 + len(self.sizes)


@dataclass
class _Period:
    """What a meter knows for the length of a period, in memory only."""

    number: int
    own: list[int]
    masks: list[int]
    noise: list[list[int]]
    held: dict[int, list[list[int]]] = field(default_factory=dict)
    """Shares by meter, instant and secret."""
    sent: set[int] = field(default_factory=set)
    opened: set[int] = field(default_factory=set)


class Member:
    """A meter in a neighbourhood.

    What it shares is drawn for one period and kept in memory: a meter that restarts is silent until the next period, so
    no mask is ever used twice. The start of a period is recorded before it begins.

    Parameters
    ----------
    place
        Its place in the roster.
    keys
        Its secrets.
    roster
        The public keys of all members, in order. A member with different keys gets different masks, and no sum opens.
    fleet
        The digest of what all members were enrolled with; part of every key.
    grid
        Bounds of a reading; its points are the steps.
    rules
        The rules of the neighbourhood.
    budget
        What may be spent, and the periods begun.
    chance
        The source of randomness.
    """

    def __init__(
        self,
        place: int,
        keys: Keys,
        roster: Sequence[PublicKeys],
        fleet: bytes,
        grid: Grid,
        rules: SumRules,
        budget: Budget,
        chance: Chance | None = None,
    ) -> None:
        if len(roster) != rules.members or roster[place] != keys.public or len(set(roster)) != len(roster):
            raise ParameterError(
                "The roster does not match this meter: one of its keys differs, occurs twice or is missing."
            )
        self.place, self.grid, self.rules, self.budget = place, grid, rules, budget
        self.chance = chance or Chance()
        self._fleet = fleet
        self._shared = [None if u == place else keys.agree(public) for u, public in enumerate(roster)]
        self._period: _Period | None = None

    def begin(self, period: int) -> dict[int, bytes] | None:
        """Draw what a period needs and deal the shares: sealed bytes by neighbour; None if the period was already
        started."""
        if not self.budget.begin(period):
            return None
        rules, drawn = self.rules, self.chance
        own = [drawn.word() for _ in range(rules.instants)]
        shapes, ratio = rules.shapes, rules.ratio
        noise = [
            [0] * len(shapes) if ratio is None else [noise_share(shape, ratio, drawn) for shape in shapes]
            for _ in range(rules.instants)
        ]
        masks = [0] * rules.instants
        for neighbour, secret in enumerate(self._shared):
            if secret is not None:
                sign = 1 if neighbour > self.place else -1
                words = mask_words(derive(secret, self._context(b"mask", period)), rules.instants)
                masks = [(mask + sign * word) % WORD for mask, word in zip(masks, words, strict=True)]
        self._period = _Period(period, own, masks, noise)
        dealt: list[list[list[int]]] = [[] for _ in range(rules.members)]
        for b, mask, levels in zip(own, masks, noise, strict=True):
            split = [share(one, rules.members, rules.threshold, drawn) for one in (b, mask, *levels[1:])]
            for holder in range(rules.members):
                dealt[holder].append([shares[holder] for shares in split])
        self._period.held[self.place] = dealt[self.place]
        sealed = {}
        for neighbour, secret in enumerate(self._shared):
            if secret is not None:
                content = b"".join(one.to_bytes(SHARE_BYTES, "big") for row in dealt[neighbour] for one in row)
                context = self._context(b"deal", period, self.place, neighbour)
                sealed[neighbour] = seal(derive(secret, context), content, context)
        return sealed

    def hold(self, neighbour: int, sealed: bytes) -> bool:
        """Keep the shares of a neighbour; False unless they are its own, of this period, unchanged and new."""
        secret = self._shared[neighbour] if 0 <= neighbour < self.rules.members else None
        if self._period is None or secret is None or neighbour in self._period.held:
            return False
        context = self._context(b"deal", self._period.number, neighbour, self.place)
        content = unseal(derive(secret, context), sealed, context)
        rules = self.rules
        if content is None or len(content) != rules.instants * rules.secrets * SHARE_BYTES:
            return False
        flat = [int.from_bytes(content[at : at + SHARE_BYTES], "big") for at in range(0, len(content), SHARE_BYTES)]
        self._period.held[neighbour] = [flat[at : at + rules.secrets] for at in range(0, len(flat), rules.secrets)]
        return True

    def submit(self, period: int, instant: int, reading: float) -> int | None:
        """A masked reading, once; nothing for a missing reading, another period, or beyond the budget."""
        current = self._current(period, instant)
        self.budget.tick()
        if current is None or instant in current.sent or not math.isfinite(reading):
            return None
        current.sent.add(instant)
        label = period * self.rules.instants + instant
        if self.rules.cost and not self.budget.spend(label=label, cost=self.rules.cost):
            return None
        x = self.grid.place(reading, self.chance)
        return (x + sum(current.noise[instant]) + current.own[instant] + current.masks[instant]) % WORD

    def open(self, period: int, instant: int, survivors: frozenset[int]) -> int | None:
        """The sum of shares that helps to open a sum: once per instant, and never for fewer than the fewest."""
        current = self._current(period, instant)
        if current is None or instant in current.opened or not survivors <= current.held.keys():
            return None
        if not self.rules.fewest <= len(survivors) <= self.rules.members:
            return None
        current.opened.add(instant)
        wanted = [0, *([1] if len(survivors) < self.rules.members else [])]
        wanted += range(2 + self.rules.level(len(survivors)), self.rules.secrets)
        return sum(current.held[one][instant][secret] for one in survivors for secret in wanted) % PRIME

    def _current(self, period: int, instant: int) -> _Period | None:
        fits = self._period is not None and self._period.number == period and 0 <= instant < self.rules.instants
        return self._period if fits else None

    def _context(self, purpose: bytes, *numbers: int) -> bytes:
        return b"shoal edge " + purpose + self._fleet + b"".join(n.to_bytes(8, "big", signed=True) for n in numbers)


@dataclass(frozen=True)
class NoisySum:
    """The opened sum of an instant, in steps; or why nothing was opened."""

    total: int | None
    survivors: int
    withheld: str = ""


def open_sum(rules: SumRules, sent: Mapping[int, int], answers: Mapping[int, int]) -> NoisySum:
    """The collector's part: masked readings by member, and the answers for exactly these members."""
    n = len(sent)
    if n < rules.fewest:
        return NoisySum(None, n, "too few meters sent something")
    if len(answers) < rules.threshold:
        return NoisySum(None, n, "too few meters helped to open it")
    some = dict(sorted(answers.items())[: rules.threshold])
    found = (sum(sent.values()) - open_secret(some)) % WORD
    total = found if found < WORD // 2 else found - WORD
    # Far outside the spread of noise around any possible sum: someone sent something that is not a reading.
    slack = 40 * math.sqrt(rules.variance(n))
    if not -slack <= total <= n * rules.steps + slack:
        return NoisySum(None, n, "the sum is not a sum of readings")
    return NoisySum(total, n)
