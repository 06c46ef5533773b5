"""`shoal stream --method microaggregation`: a panel that grows, one release folder per stretch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from shoal.cli.options import build, method_options
from shoal.cli.output import print_json, print_table, steps
from shoal.errors import ParameterError

_READING = ("value", "subject", "missing", "align", "duplicates", "complete", "quantity", "timezone")
OF_SERIES = (*_READING, "spare", "join", "ledger", "accept")
"""Options of `shoal stream` that are about series alone."""
_BOTH = ("source", "out", "method", "time", "id", "quasi", "every", "private", "format", "as_json")


def is_given(ctx: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_series_options(ctx: typer.Context) -> None:
    """Refuse what makes no sense of events."""
    if given := [name for name in OF_SERIES if is_given(ctx, name)]:
        raise ParameterError(
            f"--{given[0]} is about series, reposition publishes events. See: --method microaggregation"
        )


def grow(ctx: typer.Context) -> None:
    """Publish every stretch that has come, and tell what was done."""
    from shoal.methods import Microaggregation
    from shoal.process import publish_growing

    given = ctx.params
    if given["method"] != Microaggregation.name:
        raise ParameterError(
            f"shoal stream publishes by reposition or {Microaggregation.name}, got {given['method']!r}. Others need "
            "all data at once: shoal anonymize."
        )
    if foreign := [name for name in given if name not in (*OF_SERIES, *_BOTH) and is_given(ctx, name)]:
        spelling = {"goes_on": "continue"}.get(foreign[0], foreign[0].replace("_", "-"))
        if spelling == "engine":
            raise ParameterError("A panel that grows is published in memory, a stretch at a time. Leave --engine out.")
        raise ParameterError(
            f"--{spelling} is for streams of events, {Microaggregation.name} publishes series. Leave it out."
        )
    if given["source"] == "-":
        raise ParameterError("Give a folder with one table per day, or a table that is appended to, as SOURCE.")
    settings: dict[str, Any] = {name: given[name] for name in ("id", *_READING)} | {
        "value": list(given["value"] or ()) or None,
        "time": given["time"] if is_given(ctx, "time") else None,
        "quasi": list(given["quasi"] or ()),
    }
    with steps() as progress:
        summary = publish_growing(
            Path(given["source"]),
            build(Microaggregation, method_options(ctx)),
            given["out"],
            settings,
            private=given["private"],
            spare=given["spare"],
            join=given["join"],
            every=given["every"],
            file_format=given["format"],
            ledger=given["ledger"],
            accept=tuple(given["accept"] or ()),
            steps=progress,
            tell=lambda note: print(f"shoal: {note}", file=sys.stderr),
        )
    if given["as_json"]:
        print_json({"out": str(given["out"]), **summary})
    else:
        print_table([*progress.rows, *_rows(given["out"], summary)])


def _rows(out: Path, summary: dict[str, Any]) -> list[tuple[str, str]]:
    last = f", the last is {summary['last']}" if summary["last"] else ""
    rows = [
        ("out", str(out)),
        ("written", f"{summary['written']} release{'s' * (summary['written'] != 1)}"),
        ("releases", f"{summary['releases']}{last}"),
        ("published", f"{summary['series']} series in {summary['groups']} groups"),
        ("waiting", f"{summary['waiting']} series"),
    ]
    if summary["without"]:
        rows.append(("without release", f"{summary['without']} stretch(es) of which nothing could be published"))
    return rows
