"""Publish events a little late, so that no sensitive value stands out in any snapshot."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from shoal.errors import ParameterError
from shoal.guarantees import LDiversity, MInvariance
from shoal.guarantees.event_groups import counted_as
from shoal.guarantees.numbers import refuse_unless_whole
from shoal.methods.bucketise import bucketise_each, form_groups
from shoal.methods.event_parts import concat
from shoal.methods.generalise import generalise
from shoal.methods.relay_window import RelayWindow
from shoal.methods.remedies import Kind, Remedy
from shoal.methods.reposition_costs import delay_costs, suppression_costs
from shoal.methods.reposition_window import Eligible, Repositioning
from shoal.methods.rolling_window import RollingWindow
from shoal.methods.signatures import Signatures
from shoal.model import Described, Events, EventsCandidate, EventTables, PrivateEvents, Progress, Recipe
from shoal.model.event_kinds import plain_types
from shoal.model.event_tables import TIME
from shoal.model.parameters import check_choice

Publish = Literal["bucketised", "generalised"]
Planning = Literal["rolling", "paper"]
_ROW = "__row"


@dataclass(frozen=True, kw_only=True)
class Reposition(Described):
    """Move events forward by a few snapshots until no sensitive value is more than 1/l of a snapshot.

    A snapshot in which one value is too frequent cannot be made l-diverse at all. Here, some of its events are
    published with one of the next snapshots, where that value is rare; events that find no place within the window are
    suppressed. Events of one value are published in the order of their times. The first window is placed at the least
    cost that an integer program finds. After that, whenever a snapshot arrives, all pending events are placed again,
    and only the snapshot that leaves is final. Then the events of a snapshot form groups in which each value has a
    share of at most 1/l, and these are published:

    "bucketised" (Anatomy): quasi-identifiers as they are, and separately how often each sensitive value occurs in each
    group. "generalised" (Mondrian): ranges and lists instead of quasi-identifiers, with the sensitive value.

    Delays count snapshots that have events: an event is published at most `window` - 1 of them late. Each event has one
    sensitive value and a time; missing quasi-identifiers count as a separate value.

    Parameters
    ----------
    l
        No sensitive value has more than a share of 1/l in a group. Larger hides better, moves and suppresses more.
    window
        How many snapshots are held back, and so how late an event can be published. 1 moves nothing.
    cost
        What it costs to publish an event d snapshots late: "linear", "quadratic", or a function of d that is 0 at 0,
        rises, and is convex.
    suppression
        What it costs not to publish an event: a number, or a number for each sensitive value, as a mapping or as text
        such as "flu=5,gout=30". Default: more than any chain of moves within the window, so that as much as possible
        is published.
    publish
        "bucketised" or "generalised".
    plan
        "rolling" places the whole window again at each arrival. "paper" takes the step of the paper, which leaves the
        counts of waiting snapshots as they are: faster, and it moves and suppresses more.
    m
        Also requires m-invariance: the groups of one subject show the same set of at least m values in every snapshot,
        and nobody is published twice in one. Needs events with a subject, and suppresses more.
    remedy
        What happens to events that find no place: "suppress", "delay" (they wait up to `window` snapshots more),
        "merge" (the snapshot is published with the next), "generalise" (with a coarser value), "counterbalance"
        (others are suppressed too, so that missing reveals less) or "spread" (others are suppressed as well, so
        that shares of values stay as they were).
    tree
        For "generalise": the coarser value of each value, as a mapping or as text such as "flu=airways,cold=airways".
        l-diversity treats a coarser value as a separate one; a reader who knows the tree learns more.
    within
        For "spread": how far the share of a value among the published events may be from its share among all. The
        recipe says how far it is, and what was possible.
    seed
        Decides which events of a value move, and who shares a group. Default: a new one each time. It is never
        published: together with the order of the input, it would undo the groups.

    Examples
    --------
    >>> from shoal import simulate
    >>> candidate = Reposition(l=3, window=7, seed=1).anonymize(simulate.events(days=30, seed=2))
    >>> candidate.check().holds
    True
    >>> candidate.recipe.figures["suppressed"] < 0.1 * candidate.recipe.figures["events"]
    True

    References
    ----------
    K. Wang, Y. Xu, R. C.-W. Wong, A. W.-C. Fu, "Anonymizing temporal data", 2010.
    """

    name: ClassVar[str] = "reposition"
    reads: ClassVar[Literal["series", "events"]] = "events"

    l: int
    window: int
    cost: str | Callable[[int], float] = "linear"
    suppression: float | str | Mapping[str, float] | None = None
    publish: Publish = "bucketised"
    plan: Planning = "rolling"
    m: int | None = None
    remedy: Kind = "suppress"
    tree: str | Mapping[str, str] | None = None
    within: float = 0.05
    seed: int | None = None

    def __post_init__(self) -> None:
        LDiversity(self.l)  # refuses the impossible with its own message
        refuse_unless_whole("window", self.window, 1, "a snapshot must be in the window to be published.")
        check_choice("publish", self.publish, Publish)
        check_choice("plan", self.plan, Planning)
        self._refuse_remedy()
        costs = delay_costs(self.cost, int(self.window))
        suppression_costs(self._suppression, costs)

    def _refuse_remedy(self) -> None:
        check_choice("remedy", self.remedy, Kind)
        if (self.remedy == "generalise") != bool(self._tree):
            raise ParameterError(
                "remedy='generalise' and a tree go together: give tree as a mapping from values to coarser ones, or as "
                "text such as flu=airways,cold=airways."
            )
        if not 0.0 <= self.within <= 1.0:
            raise ParameterError("within must be a share, from 0 to 1.")
        if self.m is not None:
            MInvariance(self.m)
            if self.publish != "bucketised" or self.remedy == "generalise":
                raise ParameterError(
                    "m needs groups that show unchanged values: leave publish at bucketised, and generalise nothing."
                )

    @property
    def _tree(self) -> dict[str, str]:
        if not isinstance(self.tree, str):
            return {str(value): str(coarse) for value, coarse in (self.tree or {}).items()}
        pairs = [pair.rpartition("=") for pair in self.tree.split(",")]
        if not all(equals for _, equals, _ in pairs):
            raise ParameterError(
                "tree must be value=coarser pairs separated by commas, such as flu=airways,cold=airways."
            )
        return {value.strip(): coarse.strip() for value, _, coarse in pairs}

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to build the same method again, except the seed, which stays private."""
        found = super().parameters | {
            "cost": self.cost if isinstance(self.cost, str) else getattr(self.cost, "__name__", "function"),
            "suppression": dict(self.suppression) if isinstance(self.suppression, Mapping) else self.suppression,
            "tree": dict(self.tree) if isinstance(self.tree, Mapping) else self.tree,
        }
        return {name: value for name, value in found.items() if name != "seed"}

    @property
    def aims_at(self) -> LDiversity:
        """The guarantee a candidate of this method is checked against."""
        return LDiversity(int(self.l))

    @property
    def _suppression(self) -> float | Mapping[str, float] | None:
        return _parsed(self.suppression) if isinstance(self.suppression, str) else self.suppression

    @property
    def further(self) -> tuple[MInvariance, ...]:
        """What else a candidate must keep."""
        return () if self.m is None else (MInvariance(int(self.m)),)

    def start(self, *, time: str, sensitive: str, subject: str | None = None) -> Repositioning:
        """An empty window for events with these columns."""
        if self.m is not None and subject is None:
            raise ParameterError(
                "m-invariance is about subjects, and these events have none. Name their column (--subject), or omit m."
            )
        costs = delay_costs(self.cost, int(self.window))
        prices = suppression_costs(self._suppression, costs)
        return Repositioning(
            (RollingWindow if self.plan == "rolling" else RelayWindow)(int(self.l), costs),
            time=time,
            sensitive=sensitive,
            price=lambda values: prices.of(list(values)),
            seed=secrets.randbits(128) if self.seed is None else int(self.seed),
            remedy=lambda codes: Remedy(
                self.remedy, int(self.l), int(self.window), sensitive, codes, self._tree, float(self.within)
            ),
            signatures=None
            if self.m is None or subject is None
            else Signatures(int(self.l), int(self.m), subject=subject, sensitive=sensitive),
        )

    def tables(
        self, left: Sequence[Eligible], *, time: str, quasi: tuple[str, ...], sensitive: str, seed: int
    ) -> list[EventTables]:
        """What is published of eligible snapshots, each of which has events; independent of the others given."""
        snapshots = [
            pl.DataFrame(
                [
                    eligible.time.new_from_index(0, len(eligible.events)).alias(TIME),
                    *(eligible.events[name] for name in (*quasi, sensitive)),
                ]
            )
            for eligible in left
        ]
        columns: dict[str, Any] = {"quasi": quasi, "sensitive": sensitive, "l": int(self.l)}
        if self.publish == "generalised":
            return [generalise(events, **columns) for events in snapshots]
        rngs = [_rng(seed, eligible) for eligible in left]
        return bucketise_each(snapshots, rngs=rngs, groups=[eligible.groups for eligible in left], **columns)

    def grouped(self, eligible: Eligible, *, sensitive: str, seed: int) -> Eligible:
        """The same snapshot with the groups that `tables` would form, if it would form any."""
        if self.publish == "generalised" or eligible.groups is not None:
            return eligible
        groups = form_groups(eligible.events[sensitive], l=int(self.l), rng=_rng(seed, eligible))
        return replace(eligible, groups=groups)

    def anonymize(self, events: Events, *, progress: Progress | None = None) -> EventsCandidate:
        """Push one snapshot after the other, publish what leaves the window."""
        self._refuse(events)
        columns = {"time": events.time, "sensitive": events.sensitive}
        run = self.start(**columns, subject=events.subject)
        place, groups = (np.full(len(events), -1, dtype=np.int64) for _ in range(2))
        parts: list[EventTables] = []
        moved: Counter[int] = Counter()

        def leave(eligible: Eligible) -> None:
            place[eligible.events[_ROW].to_numpy()] = eligible.number
            moved.update(eligible.moved)
            if len(eligible.events):
                eligible = self.grouped(eligible, sensitive=events.sensitive, seed=run.seed)
                if eligible.groups is not None:
                    groups[eligible.events[_ROW].to_numpy()] = eligible.groups
                parts.extend(self.tables([eligible], quasi=events.quasi, seed=run.seed, **columns))

        done = 0
        rows = events.frame.with_row_index(_ROW)
        for snapshot in rows.partition_by(events.time, maintain_order=True):
            eligible = run.push(snapshot)
            if eligible is not None:
                leave(eligible)
            done += len(snapshot)
            if progress is not None:
                progress(done, len(events))
        for eligible in run.flush():
            leave(eligible)
        if not parts:
            raise ParameterError(
                f"Nothing can be published: in {len(events)} events no {self.window} snapshots in a row have "
                f"{self.l} sensitive values. Lower l or widen the window."
            )
        figures = {
            "events": len(events),
            "published": int((place >= 0).sum()),
            "suppressed": int((place < 0).sum()),
            "moved": {str(distance): moved[distance] for distance in sorted(moved)},
            **run.figures,
            **({} if events.subject is None else {"repeated": events.n_repeated}),
        }
        return EventsCandidate(
            published=concat(parts),
            guarantee=self.aims_at,
            recipe=Recipe(self.name, self.parameters, figures),
            private=PrivateEvents(events, place, None if self.publish == "generalised" else groups, coarser=self._tree),
            further=self.further,
        )

    def _refuse(self, events: Events) -> None:
        if not isinstance(events, Events):
            raise ParameterError(
                "reposition needs events, one row each with a time and a sensitive value; read them with read_events."
            )
        values = plain_types(events.frame)[events.sensitive]
        if values.dtype.is_float() and (n_odd := int(values.is_nan().sum())):
            raise ParameterError(
                f"{n_odd} of {len(values)} sensitive values are not a number. Complete them or drop those events."
            )
        n_values = counted_as(values).n_unique()
        if n_values < self.l:
            raise ParameterError(
                f"l={self.l} needs at least {self.l} different sensitive values, the events have {n_values}. Lower l."
            )


def _rng(seed: int, eligible: Eligible) -> np.random.Generator:
    """The random generator for the groups of a snapshot."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(eligible.number, 1)))


def _parsed(text: str) -> float | Mapping[str, float]:
    """A number, or "value=number,value=number"."""
    try:
        if "=" not in text:
            return float(text)
        pairs = [pair.rpartition("=") for pair in text.split(",")]
        return {value.strip(): float(number) for value, _, number in pairs}
    except ValueError:
        raise ParameterError(
            "The cost of suppression must be a number, or value=number pairs separated by commas, such as "
            "flu=5,gout=30."
        ) from None
