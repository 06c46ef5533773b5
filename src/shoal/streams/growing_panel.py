"""What all operators on a growing panel have in common: stretches in the order of time, members, and who is waiting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.model import Candidate, Method, Panel
from shoal.streams.checkpoint import refuse_unless_typed
from shoal.streams.incremental_panels import (
    COLUMN_FACTS,
    columns_of,
    digest_of,
    names_of,
    span_of,
    subjects_of,
    with_readings,
)


@dataclass(frozen=True)
class PushedStretch:
    """What is remembered about a stretch of instants that was pushed.

    Parameters
    ----------
    first, last
        Its first and last instant, as whole numbers.
    digest
        SHA-256 of its readings.
    published
        Whether anything of it could be published.
    """

    first: int
    last: int
    digest: str
    published: bool


class GrowingPanel(ABC):
    """A method on a panel that grows, one stretch of instants after another.

    A class says who of the newcomers is placed (`_place`), what is published of a stretch (`_candidate`), and whether
    that keeps the promise with all releases before (`_judge`). `_columns_of_members` has the columns of its state
    besides names, subjects and first stretches, one entry for each member, and the attributes that hold them.
    """

    _columns_of_members: ClassVar[Mapping[str, str]]

    def __init__(self, method: Method) -> None:
        self._method = method
        self._columns: dict[str, Any] | None = None
        self._stretches: list[PushedStretch] = []
        self._series: dict[str, int] = {}
        """Placed series, and their positions in everything below."""
        self._subjects: list[str] = []
        self._since: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        for attribute in self._columns_of_members.values():
            setattr(self, attribute, np.empty(0, dtype=np.int64))
        self._waiting: set[str] = set()

    @property
    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What it was made with besides the method."""

    @property
    def promise(self) -> dict[str, Any]:
        """The parameters of what it promises: they must stay the same."""
        assert self._method.aims_at is not None
        return dict(self._method.aims_at.parameters)

    @property
    def n_series(self) -> int:
        """Series that are published."""
        return len(self._series)

    @property
    def members(self) -> tuple[str, ...]:
        """Their identifiers, in the order in which they began."""
        return tuple(self._series)

    @property
    @abstractmethod
    def n_cells(self) -> int | None:
        """Groups they are published in, in all releases; None if these change from instant to instant."""

    @property
    def n_waiting(self) -> int:
        """Series that arrived and are withheld until there are enough of them."""
        return len(self._waiting)

    @property
    def stretches(self) -> tuple[PushedStretch, ...]:
        """What was pushed so far."""
        return tuple(self._stretches)

    def push(self, panel: Panel) -> Candidate | None:
        """Add a stretch of instants, later than all before; None if nothing of it may be published yet.

        Publish the candidate under keyed pseudonyms, always with the same key.
        """
        present = with_readings(panel)
        if (known := self._number(panel, present)) is not None:
            return self._candidate(present, known)
        first, last = span_of(panel)
        if self._stretches and first <= self._stretches[-1].last:
            raise InputError(
                f"The panel begins at {panel.times[0]}, not after the last instant of the stretches before it. A "
                "growing panel only moves forward in time: leave out what comes late."
            )
        self._refuse(present)
        self._place(present)
        candidate = self._candidate(present, len(self._stretches))
        self._remember()
        self._stretches.append(PushedStretch(first, last, digest_of(present), candidate is not None))
        self._columns = columns_of(panel)
        if candidate is not None and (broken := self._judge(candidate)):  # a bug; it must not be published
            self.take_back()
            raise GuaranteeNotMetError(f"Together with the earlier releases, {broken}. It was not published.")
        return candidate

    def _refuse(self, present: Panel) -> None:
        """Raise if a stretch cannot belong to this panel."""
        before = (
            self._subjects[self._series[name]] != subject
            for name, subject in zip(names_of(present), subjects_of(present), strict=True)
            if name in self._series
        )
        if changed := sum(before):
            raise InputError(
                f"{changed} series have another subject than before. The subject of a series must stay the same."
            )

    @abstractmethod
    def _place(self, present: Panel) -> None:
        """Make the newcomers members, if there are enough of them."""

    @abstractmethod
    def _candidate(self, present: Panel, number: int) -> Candidate | None:
        """What is published of a stretch, for the members there were then."""

    @abstractmethod
    def _judge(self, candidate: Candidate) -> str:
        """What a new release reveals together with those before, if it is too much; and count it among these."""

    @abstractmethod
    def _remember(self) -> None:
        """Keep what `_judge` will change, so that the last push can be undone."""

    def _add(self, present: Panel, rows: NDArray[np.int64]) -> None:
        """These rows are members from now on."""
        names, subjects = names_of(present), subjects_of(present)
        self._since = np.concatenate([self._since, np.full(len(rows), len(self._stretches))])
        self._subjects += [subjects[row] for row in rows]
        self._series |= {names[row]: len(self._series) + n for n, row in enumerate(rows.tolist())}
        self._waiting -= {names[row] for row in rows}

    def _newcomers(self, present: Panel) -> NDArray[np.int64]:
        """The rows that are not members."""
        return np.array([row for row, name in enumerate(names_of(present)) if name not in self._series], dtype=np.int64)

    def take_back(self) -> None:
        """Undo the last push, if its candidate was not published after all."""
        if not self._stretches:
            raise ParameterError("Nothing was pushed that could be withdrawn.")
        self._stretches.pop()
        stays = self._since < len(self._stretches)
        n_before = int(stays.sum())
        names = list(self._series)
        self._waiting |= set(names[n_before:])
        self._series = {name: place for place, name in enumerate(names[:n_before])}
        self._subjects = self._subjects[:n_before]
        self._since = self._since[stays]
        for attribute in self._columns_of_members.values():
            setattr(self, attribute, getattr(self, attribute)[:n_before])
        self._recall()
        if not self._stretches:
            self._columns = None

    @abstractmethod
    def _recall(self) -> None:
        """Restore what `_remember` kept."""

    def knows(self, panel: Panel) -> bool:
        """Whether this stretch was pushed before; refused if it has other readings now."""
        return self._number(panel, with_readings(panel)) is not None

    def _number(self, panel: Panel, present: Panel) -> int | None:
        """The number of this stretch, from 0, if it was pushed before."""
        self._refuse_other_columns(panel)
        spans = [(stretch.first, stretch.last) for stretch in self._stretches]
        if span_of(panel) not in spans:
            return None
        number = spans.index(span_of(panel))
        if self._stretches[number].digest != digest_of(present):
            raise InputError(
                f"The instants of this panel are those of stretch {number + 1}, which came with other readings. What "
                "is published cannot be corrected: the difference would reveal what has changed. Leave it as it is."
            )
        return number

    def _n_published(self, number: int) -> int:
        """Releases before a stretch."""
        return sum(stretch.published for stretch in self._stretches[:number])

    def _refuse_other_columns(self, panel: Panel) -> None:
        found = columns_of(panel)
        if self._columns is None:
            return
        if others := [name for name in found if found[name] != self._columns[name]]:
            raise InputError(
                f"The panel differs from those before it in its {', '.join(others)}. All stretches of a growing panel "
                "must have the same."
            )

    def state(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The members and what is known of each, and all the rest as JSON: enough to continue elsewhere. No readings.

        Both are as private as the identifiers.
        """
        columns = {"series": list(self._series), "subject": self._subjects, "since": self._since}
        columns |= {name: getattr(self, attribute) for name, attribute in self._columns_of_members.items()}
        rows = pl.DataFrame(columns, schema_overrides={"series": pl.String, "subject": pl.String})
        return rows, {
            "method": self._method.name,
            **self.promise,
            **self.options,
            "columns": self._columns,
            "stretches": [asdict(stretch) for stretch in self._stretches],
            "waiting": sorted(self._waiting),
        }

    @classmethod
    def restored(cls, method: Any, rows: pl.DataFrame, facts: Mapping[str, Any]) -> Self:
        """Restore the operator from its state; the method must be the one it had.

        A state whose members do not keep the promise, or are not those that were published, is refused.
        """
        growing = cls._begun(method, facts)
        for name, value in growing.promise.items():
            if facts.get(name, value) != value:
                raise ParameterError(
                    f"The growing panel was started with {name}={facts[name]}, not {name}={value}. Use the same."
                )
        for stretch in facts["stretches"]:
            refuse_unless_typed(stretch, {"first": int, "last": int, "digest": str, "published": bool})
        if facts["columns"] is not None:
            refuse_unless_typed(facts["columns"], COLUMN_FACTS)
        if rows.null_count().sum_horizontal().item() or not all(isinstance(name, str) for name in facts["waiting"]):
            raise ValueError("a series without a name or a group")
        growing._columns = facts["columns"]
        growing._stretches = [PushedStretch(**stretch) for stretch in facts["stretches"]]
        growing._series = {name: place for place, name in enumerate(rows["series"].to_list())}
        growing._subjects = rows["subject"].to_list()
        for name, attribute in {"since": "_since", **cls._columns_of_members}.items():
            setattr(growing, attribute, rows[name].to_numpy().astype(np.int64))
        growing._waiting = set(facts["waiting"])
        if not growing._is_sound():
            raise InputError(
                "The state of the growing panel is not as it was written: its groups are not those that were "
                f"published, or some have fewer than {growing.promise['k']} subjects. Restore a copy of it."
            )
        return growing

    @classmethod
    @abstractmethod
    def _begun(cls, method: Any, facts: Mapping[str, Any]) -> Self:
        """A new operator with the options of a state."""

    @abstractmethod
    def _is_sound(self) -> bool:
        """Whether a state is one that was written."""
