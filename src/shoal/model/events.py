"""Records with a timestamp, quasi-identifiers and a sensitive value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from shoal.errors import InputError
from shoal.model.panel import Origin
from shoal.model.roles import Role, Roles


class Events:
    """A table of events, one row each, in order of time. Immutable.

    Columns that are not listed are dropped at once.

    Parameters
    ----------
    frame
        A polars frame, or anything polars can build one from.
    time, sensitive
        Columns with the timestamp and the sensitive value. Neither may have missing entries.
    quasi
        Columns with quasi-identifiers.
    id
        Column that identifies an event; kept for the publisher, never published.
    subject
        Column with the person behind an event, who may have events in other snapshots; never published either.
    origin
        Digest of the input, for the certificate.
    """

    __slots__ = ("_frame", "_origin", "_roles", "_subject")

    def __init__(
        self,
        frame: pl.DataFrame,
        *,
        time: str = "time",
        sensitive: str,
        quasi: Sequence[str] = (),
        id: str | None = None,
        subject: str | None = None,
        origin: Origin | None = None,
    ) -> None:
        table = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
        roles = {time: Role.TIME, sensitive: Role.SENSITIVE} | dict.fromkeys(quasi, Role.QUASI_IDENTIFIER)
        named = tuple(dict.fromkeys(name for name in (id, subject) if name is not None))
        roles |= dict.fromkeys(named, Role.IDENTIFIER)
        if len(roles) != 2 + len(quasi) + len(named):
            raise InputError(
                "A column of events has two roles. Give each column one of time, sensitive, quasi, id or subject."
            )
        if any(column.startswith("__") for column in roles):
            raise InputError("Column names must not begin with two underscores, which Shoal reserves. Rename them.")
        for column in roles:
            if column not in table.columns:
                raise InputError(f"Events need the column {column!r}; the table has {len(table.columns)} others.")
        if table.is_empty():
            raise InputError("The table of events is empty.")
        for column in (time, sensitive):
            if empty := table[column].null_count():
                raise InputError(f"{empty} of {len(table)} events have no {column!r}. Remove or complete them.")
        if not (table[time].dtype.is_temporal() or table[time].dtype.is_integer()):
            raise InputError(f"Column {time!r} must hold dates, datetimes or integers.")
        table = table[list(roles)]
        self._frame = table if table[time].is_sorted() else table.sort(time, maintain_order=True)
        self._roles = Roles(roles)
        self._origin = origin
        self._subject = subject

    @property
    def frame(self) -> pl.DataFrame:
        """The events as a polars frame, sorted by time, ties in the order they were given."""
        return self._frame.clone()

    @property
    def roles(self) -> Roles:
        """The role of each column."""
        return self._roles

    @property
    def origin(self) -> Origin | None:
        """Digest of the input."""
        return self._origin

    @property
    def time(self) -> str:
        """Name of the time column."""
        return self._roles.columns(Role.TIME)[0]

    @property
    def sensitive(self) -> str:
        """Name of the sensitive column."""
        return self._roles.columns(Role.SENSITIVE)[0]

    @property
    def quasi(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return self._roles.columns(Role.QUASI_IDENTIFIER)

    @property
    def subject(self) -> str | None:
        """Name of the column with the person behind an event, if there is one."""
        return self._subject

    @property
    def n_repeated(self) -> int:
        """Events beyond the first of a subject in a snapshot; 0 if subjects are not known."""
        if self._subject is None:
            return 0
        known = self._frame.filter(pl.col(self._subject).is_not_null())
        return len(known) - len(known.select(self.time, self._subject).unique())

    @property
    def n_events(self) -> int:
        """Number of events."""
        return len(self._frame)

    def snapshots(self) -> Iterator[pl.DataFrame]:
        """The events of one instant at a time, in order of time."""
        yield from self._frame.partition_by(self.time, maintain_order=True)

    def __len__(self) -> int:
        return self.n_events

    def __repr__(self) -> str:
        n_snapshots = self._frame[self.time].n_unique()
        return f"Events({self.n_events} events, {n_snapshots} snapshots, {len(self.quasi)} quasi-identifiers)"
