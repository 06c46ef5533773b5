"""How a table is read: every option once, for `read_panel`, the command line, policies and the private folder.

To add one, write an entry in `OPTIONS`, and a parameter of `read_panel` with the same name and default (and of
`engines.reading.read_series`, if engines can do it). The options of all commands, the fields under `data:` of a policy,
and what the private folder remembers follow from the entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeVar

from shoal.errors import ParameterError


@dataclass(frozen=True)
class ReadOption:
    """One option of `read_panel`.

    Parameters
    ----------
    name
        Of the parameter, of the field in a policy, and with -- of the option on the command line.
    kind
        Its type in a policy; a command line has texts.
    meaning
        In a line, for the command line.
    default
        The value if nothing is given.
    in_policy
        The meaning if a policy writes it differently.
    columns
        Whether it names columns: repeat the option for several.
    is_role
        Whether a policy says it under `roles:`.
    on_engines
        Whether engines that read Parquet in parts know it.
    between
        It may also be a number, above the first of these and at most the second.
    """

    name: str
    kind: Any
    meaning: str
    default: Any = None
    in_policy: str = ""
    columns: bool = False
    is_role: bool = False
    on_engines: bool = True
    between: tuple[float, float] | None = None


_LISTED = (
    ReadOption("id", str | None, "Column that names the series."),
    ReadOption("time", str | None, "Column with the timestamp."),
    ReadOption(
        "value",
        str | list[str] | None,
        "Column with the value; repeat for channels.",
        in_policy="Column with the value; several are channels.",
        columns=True,
    ),
    ReadOption("subject", str | None, "Column with the person behind several series or events."),
    ReadOption("quasi", list[str], "Static quasi-identifier; repeatable.", (), columns=True, is_role=True),
    ReadOption("sensitive", list[str], "Static sensitive column; repeatable.", (), columns=True, is_role=True),
    ReadOption("other", list[str], "Another static column to read; repeatable.", (), columns=True, is_role=True),
    ReadOption("layout", Literal["auto", "long", "wide"], "How the table is laid out: long, wide or auto.", "auto"),
    ReadOption(
        "missing",
        str | dict[str, Any] | list[str | dict[str, Any]],
        "fail, drop-series, drop-instants, interpolate:2h, keep; several separated by commas.",
        "fail",
        in_policy="fail, drop-series, drop-instants, {interpolate: 2h}, keep, or a list of them.",
    ),
    ReadOption(
        "align",
        str | dict[str, Any],
        "exact, or resample:1h (resample:1h:sum). Default aggregate: sum for energy, mean for the rest.",
        "exact",
        in_policy="exact, or {resample: 1h, by: sum}.",
    ),
    ReadOption(
        "duplicates",
        Literal["fail", "first", "last", "mean"],
        "For rows that differ for one series and time: fail, first, last or mean. Never added up.",
        "fail",
    ),
    ReadOption(
        "complete",
        Literal["any"],
        "With resample: share of its readings a step needs; sums are scaled up. Or any.",
        1.0,
        between=(0.0, 1.0),
    ),
    ReadOption(
        "quantity",
        Literal["energy", "power", "other"] | None,
        "energy (adds up), power or other (average). Default: by the name.",
    ),
    ReadOption("timezone", str | None, "Zone of the timestamps, such as Europe/Bratislava."),
    ReadOption("channel", str | None, "Column that says which channel a reading belongs to.", on_engines=False),
    ReadOption("decimal", Literal[".", ","] | None, "Decimal mark: . or , (detected by default).", on_engines=False),
    ReadOption(
        "time_format", str | None, "Format of times, such as %d/%m/%Y %H:%M (detected by default).", on_engines=False
    ),
    ReadOption(
        "dst",
        Literal["infer", "first", "second", "fail"],
        "For the hour shown twice in autumn: infer (by the order of rows), first, second or fail.",
        "infer",
        on_engines=False,
    ),
    ReadOption(
        "interval",
        Literal["auto", "start", "end"],
        "Whether times are the start or the end of intervals.",
        "auto",
        on_engines=False,
    ),
    ReadOption(
        "null",
        str | list[str] | None,
        "Words that mean a missing reading, such as NA,Null,- (detected by default).",
        on_engines=False,
    ),
    ReadOption(
        "register",
        Literal["keep", "difference"],
        "For register readings, which only grow: keep them, or take the difference.",
        "keep",
        on_engines=False,
    ),
    ReadOption(
        "split",
        Literal["day", "week"] | None,
        "Turn each day or week of a series into a series of its own: day or week.",
        on_engines=False,
    ),
    ReadOption(
        "every",
        str | None,
        "For events: length of a snapshot, such as 1d. Default: events with the same time form one.",
        on_engines=False,
    ),
    ReadOption("sql", str | None, "SQL query to read with; a file given as the source is the table `input`."),
    ReadOption("sheet", str | None, "Sheet of a workbook. Default: the first with a table.", on_engines=False),
)

OPTIONS: Mapping[str, ReadOption] = {one.name: one for one in _LISTED}
"""Every option by its name."""


Choice = TypeVar("Choice", bound=StrEnum)


def parse_choice(kind: type[Choice], given: Any, setting: str) -> Choice:
    """Read one of the words of an enumeration; `setting` names the parameter in the message.

    Examples
    --------
    >>> parse_choice(StrEnum("Season", ["summer", "winter"]), "summer", "season")
    <Season.summer: 'summer'>
    """
    try:
        return kind(given)
    except ValueError:
        *others, last = (f"'{word}'" for word in kind)
        raise ParameterError(f"{setting}: give {', '.join(others)} or {last}.") from None


def given_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that differ from the defaults: what the caller said, and what has to be remembered.

    Examples
    --------
    >>> given_options({"id": "meter", "value": None, "quasi": (), "missing": "fail", "complete": "1"})
    {'id': 'meter'}
    """
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in settings.items()
        if value not in (None, (), []) and (name not in OPTIONS or not _same(value, OPTIONS[name].default))
    }


def different_options(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Names of the options that differ, in the order of `OPTIONS`.

    Examples
    --------
    >>> different_options({"missing": {"interpolate": "2h"}, "id": "meter"}, {"missing": "interpolate:2h"})
    ['id']
    """
    left, right = given_options(one), given_options(other)
    named = [*OPTIONS, *sorted(set(left | right) - set(OPTIONS))]
    return [name for name in named if not _same(left.get(name), right.get(name))]


def _same(one: Any, other: Any) -> bool:
    return one == other or (one is not None and other is not None and option_text(one) == option_text(other))


def option_text(value: Any) -> str:
    """A setting as the command line would write it.

    Examples
    --------
    >>> option_text([{"interpolate": "2h"}, "drop-series"]), option_text(1.0), option_text("1")
    ('interpolate:2h,drop-series', '1', '1')
    """
    if isinstance(value, Mapping):
        return ":".join([*list(value)[:1], *(option_text(part) for part in value.values())])
    if isinstance(value, list | tuple):
        return ",".join(option_text(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
