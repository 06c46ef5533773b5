"""The role of each column of a table, and the layout of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from shoal.errors import InputError, ParameterError
from shoal.model import Role, Roles
from shoal.read.options import parse_choice

DEFAULTS = {
    "id": ("id", "series_id"),
    "time": ("time", "timestamp"),
    "value": ("value",),
    # If a subject column were overlooked, a person's own days would count as that person's crowd.
    "subject": ("subject",),
}
"""Names by which columns are found, in lower case."""


class Layout(StrEnum):
    """How series and instants lie in a table."""

    AUTO = "auto"
    LONG = "long"
    WIDE = "wide"


@dataclass(frozen=True)
class Column:
    """A column: its name, and its position in the table."""

    name: str
    position: int


@dataclass(frozen=True)
class Request:
    """The columns the caller named."""

    id: str | None = None
    time: str | None = None
    value: tuple[str, ...] | None = None
    subject: str | None = None
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    other: tuple[str, ...] = ()

    @property
    def static(self) -> tuple[str, ...]:
        """Columns with one entry per series."""
        subject = () if self.subject is None else (self.subject,)
        return (*subject, *self.quasi, *self.sensitive, *self.other)

    @property
    def names(self) -> tuple[str, ...]:
        """Every column named."""
        single = tuple(name for name in (self.id, self.time) if name is not None)
        return (*single, *(self.value or ()), *self.static)


@dataclass(frozen=True)
class Placement:
    """Positions of everything. Long: id, time and values. Wide: id or time, and one column per instant or series."""

    layout: Layout
    id: Column | None
    time: Column | None
    values: tuple[Column, ...]
    subject: Column | None
    quasi: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    other: tuple[Column, ...]
    guessed: bool
    """True if neither the layout nor the value columns were named: then the names must look like instants."""
    asked: bool = False
    """True if the layout was named: otherwise columns are subjects only if they look like one quantity."""

    @property
    def static(self) -> tuple[Column, ...]:
        """Columns with one entry per series."""
        subject = () if self.subject is None else (self.subject,)
        return (*subject, *self.quasi, *self.sensitive, *self.other)

    def roles(self) -> Roles:
        """Roles of the columns, for the panel. Columns of a wide table that hold values are not listed."""
        roles: dict[str, Role] = {}
        for columns, role in (
            ((self.id, self.subject), Role.IDENTIFIER),
            ((self.time,), Role.TIME),
            (self.values if self.layout is Layout.LONG else (), Role.VALUE),
            (self.quasi, Role.QUASI_IDENTIFIER),
            (self.sensitive, Role.SENSITIVE),
            (self.other, Role.OTHER),
        ):
            roles |= {column.name: role for column in columns if column is not None}
        return Roles(roles)

    def unread(self, names: Sequence[str]) -> tuple[str, ...]:
        """Columns of a long table that have no role. In a wide one, names may be times or people."""
        roles = self.roles()
        return tuple(name for name in names if name not in roles) if self.layout is Layout.LONG else ()


def parse_request(*, id: Any, time: Any, value: Any, subject: Any, quasi: Any, sensitive: Any, other: Any) -> Request:
    """Check the names as given."""
    request = Request(
        id=_one("id", id),
        time=_one("time", time),
        value=None if value is None else _several("value", value),
        subject=_one("subject", subject),
        quasi=_several("quasi", quasi),
        sensitive=_several("sensitive", sensitive),
        other=_several("other", other),
    )
    if request.value == ():
        raise ParameterError("value: name at least one column.")
    for name in request.names:
        if request.names.count(name) > 1:
            raise ParameterError(f"Column {name!r} is named for two roles. Give each column one role.")
    return request


def _one(setting: str, given: Any) -> str | None:
    if given is None or (isinstance(given, str) and given):
        return given
    raise ParameterError(f"{setting}: give the name of one column.")


def _several(setting: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else () if given is None else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(f"{setting}: give the name of a column, or a list of names.")
    return tuple(names)


def parse_layout(given: Any) -> Layout:
    """Read "auto", "long" or "wide"."""
    return parse_choice(Layout, given, "layout")


def find_column(names: Sequence[str], wanted: str) -> Column:
    """The column of that name. Names in the table are not listed: in a wide table they are identifiers."""
    places = [position for position, name in enumerate(names) if name == wanted]
    if not places:
        raise InputError(
            f"There is no column {wanted!r} among the {len(names)} columns of the table. Check the name and its case."
        )
    if len(places) > 1:
        raise InputError(f"{len(places)} columns of the table are called {wanted!r}. Rename them so that they differ.")
    return Column(wanted, places[0])


def find_default(names: Sequence[str], part: str, taken: Sequence[str]) -> Column | None:
    """The column that has a role by its name, in upper or lower case."""
    for word in DEFAULTS[part]:
        found = [Column(n, place) for place, n in enumerate(names) if n.lower() == word and n not in taken]
        if len(found) > 1:
            raise InputError(f"{len(found)} columns could be the {part}. Say which with {part}=.")
        if found:
            return found[0]
    return None


def place_columns(names: Sequence[str], request: Request, layout: Layout) -> Placement:
    """Find every column and decide the layout.

    Auto is long if id, time and value are all present; else wide with one row per series if there is an id and no time;
    else wide with one row per instant if there is a time and no id.
    """
    taken = request.names
    id_ = find_column(names, request.id) if request.id else find_default(names, "id", taken)
    time = find_column(names, request.time) if request.time else find_default(names, "time", taken)
    if request.value is not None:
        values = tuple(find_column(names, name) for name in request.value)
    else:
        default = find_default(names, "value", taken)
        values = () if default is None else (default,)
    if id_ is not None and request.subject is None and (found := find_default(names, "subject", taken)):
        request = replace(request, subject=found.name)
    static = {name: find_column(names, name) for name in request.static}
    guessed, asked = layout is Layout.AUTO and request.value is None, layout is not Layout.AUTO
    if layout is Layout.AUTO:
        if id_ is None and time is not None and values and request.value is None:
            raise InputError(
                "The table has a time and a value but no column called id or series_id. Name the id column with id=; "
                "a table with one row per instant and one column per series needs layout='wide'."
            )
        layout = Layout.LONG if id_ and time and values else Layout.WIDE
        if id_ and time and not values:
            raise InputError(
                f"The table has an id and a time but none of its {len(names)} columns is called value. "
                "Name the column with value=."
            )
    if layout is Layout.LONG:
        for part, column in (("id", id_), ("time", time), ("value", values)):
            if not column:
                words = " or ".join(DEFAULTS[part])
                raise InputError(
                    f"None of the {len(names)} columns of the table is called {words}. "
                    f"Name the {part} column with {part}=."
                )
    else:
        id_, time, values = _wide(names, request, id_, time, values)
    return Placement(
        layout,
        id_,
        time,
        values,
        None if request.subject is None else static[request.subject],
        tuple(static[name] for name in request.quasi),
        tuple(static[name] for name in request.sensitive),
        tuple(static[name] for name in request.other),
        guessed,
        asked,
    )


def _wide(
    names: Sequence[str], request: Request, id_: Column | None, time: Column | None, values: tuple[Column, ...]
) -> tuple[Column | None, Column | None, tuple[Column, ...]]:
    if id_ is None and time is None:
        raise InputError(
            f"None of the {len(names)} columns of the table is an id or a time. For a long table, name id=, time= and "
            "value=; for a wide one with a row per series, id=; for a wide one with a row per instant, time=."
        )
    if id_ is not None and time is not None:
        # A given name outweighs a guessed one; between two given or two guessed names, neither does.
        if (request.id is None) == (request.time is None):
            raise InputError(
                "A wide table has an id column (a row per series) or a time column (a row per instant), not both. "
                "Name only one of them, or use layout='long'."
            )
        id_, time = (id_, None) if request.id is not None else (None, time)
    if time is not None and request.static:
        raise ParameterError(
            "subject, quasi, sensitive and other need a row per series or a long table; "
            "this table has a row per instant."
        )
    if request.value is None:
        used = {column.position for column in (id_, time) if column is not None}
        used |= {place for place, name in enumerate(names) if name in request.static}
        values = tuple(Column(name, place) for place, name in enumerate(names) if place not in used)
    if not values:
        raise InputError("The wide table has no columns with values next to the id or time column.")
    return id_, time, values
