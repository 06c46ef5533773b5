"""The collector: asks, receives, opens sums and estimates. It never sees a reading."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.edge.aggregation import open_sum
from shoal.edge.fleet import STEPS, Fleet
from shoal.edge.keys import Keys
from shoal.edge.messages import (
    ASK,
    COLLECTOR,
    REPORT,
    WORD,
    Message,
    MessageKind,
    RefusedError,
    pack_parts,
    pack_places,
    read_message,
    unpack_parts,
    unpack_places,
    write_message,
)
from shoal.edge.response import UNIT, units
from shoal.edge.schemes import SCHEMES, Asking, SchemeQuestion
from shoal.edge.shamir import SHARE_BYTES
from shoal.edge.smoothing import smooth
from shoal.errors import InputError, ParameterError
from shoal.guarantees import DifferentialPrivacy, LocalDifferentialPrivacy
from shoal.guarantees.differential_privacy import Spent
from shoal.guarantees.local_differential_privacy import DeviceAccount
from shoal.model import Profiles

Outgoing = list[tuple[int, bytes]]
"""Messages by the place of their receiver."""

_NORMAL = 1.959963984540054
"""95 % of a standard normal distribution lie within this distance of 0."""


@dataclass(frozen=True)
class Figure:
    """What is known about one group at one instant.

    Parameters
    ----------
    mean
        The estimated mean reading; NaN if nothing was opened or nobody has answered yet.
    variance
        Variance of the mean; infinite if unknown.
    reporting
        How many meters it is based on; 0 if it repeats an earlier figure or is withheld.
    shares
        Only "local": the estimated share of meters at each point of the grid.
    withheld
        Why there is none.
    """

    mean: float
    variance: float
    reporting: int
    shares: tuple[float, ...] = ()
    withheld: str = ""


class Collector:
    """A collector for both ways.

    An instant is `begin(label)`, then meters measure, then `conclude(label)`. Both yield messages to send; replies that
    arrive before they are resumed go to `receive`.

    Parameters
    ----------
    fleet
        The fleet's file.
    keys
        The collector's own.
    """

    def __init__(self, fleet: Fleet, keys: Keys) -> None:
        if fleet.collector.keys != keys.public:
            raise InputError("These are not the keys of the fleet's collector.")
        self.fleet, self._keys = fleet, keys
        self.refused: Counter[str] = Counter()
        """How many messages were refused, by reason."""
        self.figures: dict[int, dict[str, Figure]] = {}
        """By instant and group."""
        self._label: int | None = None
        self._period: int | None = None
        self._question = 0
        self._asked: dict[int, int] = {}
        self._said: dict[int, int] = {}
        self._answers: dict[int, int] = {}
        self._dealt: dict[int, dict[int, bytes]] = {}
        self._survivors: dict[str, frozenset[int]] = {}
        self._spent: dict[int, list[tuple[int, int]]] = defaultdict(list)
        plan = fleet.plan
        self._schemes = {
            group: SCHEMES[plan.scheme](units(plan.epsilon), plan.w, members, plan.grid)
            for group, members in fleet.groups.items()
        }

    def receive(self, content: bytes) -> bool:
        """Accept a message; False if it is refused, which is counted."""
        try:
            message = read_message(content, self.fleet.digest, COLLECTOR, self.fleet.senders)
            self._keep(message)
        except RefusedError as refused:
            self.refused[str(refused)] += 1
            return False
        return True

    def begin(self, label: int) -> Iterator[Outgoing]:
        """Before meters measure: open the round, and at the beginning of a period let shares be dealt."""
        plan = self.fleet.plan
        self._label, self._asked, self._said, self._answers, self._question = label, {}, {}, {}, 0
        self._survivors = {}
        if plan.way == "local":
            due = SCHEMES[plan.scheme].due
            for members in self.fleet.groups.values():
                for turn, place in enumerate(members):
                    if cost := due(units(plan.epsilon), plan.w, turn, label):
                        self._asked[place] = cost
            return
        period = label // plan.w
        if self._period is not None and period <= self._period:
            return
        self._period, self._dealt = period, {}
        yield [(place, self._write(MessageKind.BEGIN, place, period, b"")) for place in range(len(self.fleet.meters))]
        for members in self.fleet.groups.values():
            for at, place in enumerate(members):
                parts = {
                    other: self._dealt[neighbour][at]
                    for other, neighbour in enumerate(members)
                    if at in self._dealt.get(neighbour, {})
                }
                if parts:
                    yield [(place, self._write(MessageKind.DEALT, place, period, pack_parts(parts)))]

    def conclude(self, label: int) -> Iterator[Outgoing]:
        """After meters measured: ask or open, and estimate."""
        if label != self._label:
            raise ParameterError("An instant is concluded after it began, and before the next one.")
        self.figures[label] = {}
        yield from self._conclude_sums(label) if self.fleet.plan.way == "sum" else self._conclude_local(label)
        self._label = None

    def profiles(self, *, smoothed: bool = False) -> Profiles:
        """What would be published: groups in order, mean, total, 95 % interval and how many meters reported."""
        if not self.figures:
            raise InputError("No instant was concluded, so there is nothing to publish.")
        plan, groups = self.fleet.plan, self.fleet.groups
        labels = list(range(min(self.figures), max(self.figures) + 1))
        none = Figure(math.nan, math.inf, 0)
        grid = [[self.figures.get(label, {}).get(group, none) for label in labels] for group in groups]
        counts = np.array([len(members) for members in groups.values()], dtype=np.int64)
        means, variances = (
            np.array([[getattr(one, name) for one in row] for row in grid]) for name in ("mean", "variance")
        )
        reporting = np.array([[one.reporting for one in row] for row in grid], dtype=float)
        spread = np.where((reporting > 0) & np.isfinite(variances), _NORMAL * np.sqrt(variances), np.nan)
        bands = {
            "mean": means,
            "total": means * counts[:, None],
            "low": means - spread,
            "high": means + spread,
            "reporting": reporting,
        }
        if smoothed:
            bands["smoothed"] = np.array(
                [smooth(z, np.where(n > 0, v, np.inf)) for z, v, n in zip(means, variances, reporting, strict=True)]
            )
        if plan.way == "local" and plan.points > 2:
            empty = (math.nan,) * plan.points
            for point in range(plan.points):
                bands[f"share_{point}"] = np.array([[(one.shares or empty)[point] for one in row] for row in grid])
        return Profiles(
            values=np.stack(list(bands.values()), axis=-1)[:, :, None, :],
            counts=counts,
            bands=tuple(bands),
            times=np.array([plan.time(label) for label in labels]),
            channels=("value",),
            names=tuple(groups),
        )

    @property
    def window(self) -> int:
        """The most that one meter spent in reports that were used, within any w successive instants, in units."""
        most = 0
        for spent in self._spent.values():
            costs: Counter[int] = Counter()
            for label, cost in spent:
                costs[label] += cost
            for first in costs:
                most = max(most, sum(cost for label, cost in costs.items() if 0 <= label - first < self.fleet.plan.w))
        return most

    @property
    def guarantee(self) -> LocalDifferentialPrivacy | DifferentialPrivacy:
        """The guarantee for everything that was concluded, with its accounting."""
        plan = self.fleet.plan
        n_instants = max(self.figures) - min(self.figures) + 1 if self.figures else 0
        if plan.way == "local":
            reports = sum(len(spent) for spent in self._spent.values())
            account = DeviceAccount(
                plan.scheme,
                f"randomised response on {plan.points} points, in whole numbers",
                max(1, n_instants),
                reports,
                str(Fraction(self.window, UNIT)),
            )
            return LocalDifferentialPrivacy(plan.epsilon, plan.w, [account] if reports else [])
        cost, opened = units(plan.epsilon) // plan.w, len(self._opened)
        epsilon = math.nextafter(float(Fraction(opened * cost, UNIT)), math.inf)
        if epsilon > 100:
            raise ParameterError(
                f"{opened} instants cost a subject {epsilon:.3g} together, which promises nothing. Publish fewer at a "
                "time."
            )
        spent = Spent(
            query=f"sums of {len(self.fleet.groups)} neighbourhood(s) at {opened} instants, in steps of "
            f"(upper - lower) / {STEPS}",
            mechanism="discrete Laplace, in shares drawn on the meters",
            sensitivity=STEPS * max(1, opened),
            scale=math.nextafter(math.nextafter(STEPS * UNIT / cost, math.inf), math.inf),
            epsilon=epsilon,
            lower=plan.lower,
            upper=plan.upper,
        )
        return DifferentialPrivacy(max(epsilon, 1e-9), "subject", [spent] if opened else [])

    @property
    def _opened(self) -> list[int]:
        """Instants at which meters sent something, whether it was opened or not: the budget is spent."""
        return sorted({label for spent in self._spent.values() for label, _ in spent})

    @property
    def counts(self) -> dict[str, Any]:
        """Figures for the certificate and the terminal."""
        every = [figure for groups in self.figures.values() for figure in groups.values()]
        return {
            "meters": len(self.fleet.meters),
            "instants": len(self.figures),
            "reports": sum(len(spent) for spent in self._spent.values()),
            "withheld": sum(bool(figure.withheld) for figure in every),
            "repeated": sum(not figure.withheld and figure.reporting == 0 for figure in every),
            "refused": sum(self.refused.values()),
        }

    def _keep(self, message: Message) -> None:
        place = message.sender
        if message.kind is MessageKind.DEAL:
            if self._period is None or message.round != self._period:
                raise RefusedError("of another round")
            self._keep_once(self._dealt, place, unpack_parts(message.body))
            return
        if message.round != self._label:
            raise RefusedError("of another round")
        if message.kind is MessageKind.REPORT and len(message.body) == REPORT.size:
            cost, question, point = REPORT.unpack(message.body)
            if question != self._question or self._asked.get(place) != cost or point >= self.fleet.plan.points:
                raise RefusedError("no answer to the question")
            self._keep_once(self._said, place, point)
            self._spent[place].append((message.round, cost))
        elif message.kind is MessageKind.MASKED and len(message.body) == WORD.size and self.fleet.plan.way == "sum":
            if self._survivors:
                raise RefusedError("late")
            self._keep_once(self._said, place, WORD.unpack(message.body)[0])
            self._spent[place].append((message.round, units(self.fleet.plan.epsilon) // self.fleet.plan.w))
        elif message.kind is MessageKind.OPEN:
            survivors = self._survivors.get(self.fleet.meters[place].group)
            if survivors is None or unpack_places(message.body[:-SHARE_BYTES]) != survivors:
                raise RefusedError("for other survivors")
            self._keep_once(self._answers, place, int.from_bytes(message.body[-SHARE_BYTES:], "big"))
        else:
            raise RefusedError("not for a collector")

    @staticmethod
    def _keep_once(kept: dict[int, Any], place: int, part: Any) -> None:
        if place in kept:
            raise RefusedError("sent twice")
        kept[place] = part

    def _conclude_local(self, label: int) -> Iterator[Outgoing]:
        asking: dict[str, tuple[Asking, SchemeQuestion]] = {}
        for group, scheme in self._schemes.items():
            self._step(label, group, asking, scheme.instant(label), None)
        while asking:
            if not SCHEMES[self.fleet.plan.scheme].unasked:
                self._said = {}
                self._asked = {place: q.cost for _, q in asking.values() for place in q.whom}
                yield [
                    (place, self._write(MessageKind.ASK, place, label, ASK.pack(cost, self._question)))
                    for place, cost in self._asked.items()
                ]
            said, self._question = self._said, self._question + 1
            for group, (steps, question) in list(asking.items()):
                points = [said[place] for place in question.whom if place in said]
                counts = np.bincount(np.array(points, dtype=np.int64), minlength=self.fleet.plan.points)
                self._step(label, group, asking, steps, counts)

    def _step(
        self,
        label: int,
        group: str,
        asking: dict[str, tuple[Asking, SchemeQuestion]],
        steps: Asking,
        counts: NDArray[np.int64] | None,
    ) -> None:
        """Resume a scheme: its next question, or its estimate."""
        try:
            asking[group] = (steps, next(steps) if counts is None else steps.send(counts))
        except StopIteration as done:
            asking.pop(group, None)
            estimate = done.value
            if estimate.shares is None:
                self.figures[label][group] = Figure(math.nan, math.inf, 0, withheld="nobody has answered")
                return
            mean = float(estimate.shares @ self.fleet.plan.grid.values)
            answers = estimate.answers if estimate.fresh else 0
            shares = tuple(float(share) for share in estimate.shares)
            self.figures[label][group] = Figure(mean, estimate.variance, answers, shares)

    def _conclude_sums(self, label: int) -> Iterator[Outgoing]:
        plan, outgoing = self.fleet.plan, []
        survivors: dict[str, frozenset[int]] = {}
        for group, members in self.fleet.groups.items():
            there = frozenset(at for at, place in enumerate(members) if place in self._said and place in self._dealt)
            survivors[group] = there
            if len(there) >= plan.rules(len(members)).fewest:
                body = pack_places(there, len(members))
                outgoing += [
                    (place, self._write(MessageKind.SURVIVORS, place, label, body))
                    for place in members
                    if place in self._dealt
                ]
        self._survivors = survivors
        yield outgoing
        step = (plan.upper - plan.lower) / STEPS
        for group, members in self.fleet.groups.items():
            rules = plan.rules(len(members))
            sent = {at: self._said[members[at]] for at in survivors[group]}
            answers = {at: self._answers[place] for at, place in enumerate(members) if place in self._answers}
            opened = open_sum(rules, sent, answers)
            if opened.total is None:
                self.figures[label][group] = Figure(math.nan, math.inf, 0, withheld=opened.withheld)
                continue
            n = opened.survivors
            # Noise, and the chance with which readings were placed on steps.
            variance = step**2 * (rules.variance(n) / n**2 + 0.25 / n)
            self.figures[label][group] = Figure(mean_of(opened.total, n, plan.lower, plan.upper), variance, n)

    def _write(self, kind: MessageKind, receiver: int, number: int, body: bytes) -> bytes:
        return write_message(kind, self.fleet.digest, COLLECTOR, receiver, number, body, self._keys)


def mean_of(total: Any, n: Any, lower: float, upper: float) -> Any:
    """The mean reading behind a sum of this many, in steps."""
    return lower + (upper - lower) / STEPS * total / n
