"""The options that say how a table of series is read: the same wherever one is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Id = Annotated[str | None, typer.Option("--id", help="Column that names the series.")]
Time = Annotated[str | None, typer.Option(help="Column with the timestamp.")]
Value = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Column with the value; repeat for channels.")]
Subject = Annotated[str | None, typer.Option(help="Column with the person behind several series.")]
Layout = Annotated[str, typer.Option(help="long, wide or auto.")]
Missing = Annotated[
    str, typer.Option(help="fail, drop-series, drop-instants, interpolate:2h, keep; several with commas.")
]
Align = Annotated[
    str, typer.Option(help="exact, or resample:1h (resample:1h:sum). Unnamed: sum for energy, mean for the rest.")
]
Duplicates = Annotated[
    str, typer.Option(help="Rows that differ for one series and time: fail, first, last or mean. Never added up.")
]
Complete = Annotated[
    str, typer.Option(help="With resample: share of its readings a step needs; sums are scaled up. Or any.")
]
Quantity = Annotated[str | None, typer.Option(help="energy (adds up), power or other (average). Unset: by the name.")]
Timezone = Annotated[str | None, typer.Option(help="Zone of the timestamps, such as Europe/Bratislava.")]
Sql = Annotated[str | None, typer.Option(help="SQL to read with; a file given as SOURCE is the table `input`.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of a workbook. Unset: the first with a table.")]

_ONE = (
    *("id", "time", "subject", "layout", "missing", "align", "duplicates", "complete", "quantity", "timezone"),
    *("sql", "sheet"),
)
_SEVERAL = ("quasi", "sensitive")


def settings_of(ctx: typer.Context) -> dict[str, Any]:
    """The settings of `read_panel` among the options of a command."""
    given = ctx.params
    settings: dict[str, Any] = {name: given[name] for name in _ONE if name in given}
    settings |= {name: tuple(given[name] or ()) for name in _SEVERAL if name in given}
    return settings | {"value": list(given.get("value") or ()) or None}
