"""`shoal grow`: a panel that grows, one release folder per stretch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import read_options
from shoal.cli.options import build, method_options
from shoal.cli.output import print_json, print_table, steps


@read_options.reads(without=("layout", "sensitive", "other", "split", "every", "sql"), missing="keep")
def grow(
    ctx: typer.Context,
    source: Annotated[Path, typer.Argument(help="A folder with one table per day, or a table that is appended to.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the releases: new, or that of the state in --private.")
    ] = Path("out"),
    every: Annotated[
        str | None, typer.Option(help="Length of a stretch of one table, such as 1d; a table of a folder is one.")
    ] = None,
    spare: Annotated[
        int, typer.Option(help="Members a group gets beyond k, so that some may have no readings on a day.")
    ] = 0,
    join: Annotated[
        bool, typer.Option("--join", help="Join groups of which too few are left, instead of leaving them out.")
    ] = False,
    private: Annotated[
        Path | None, typer.Option(help="Folder for the state, from which the next run goes on. Holds who is who.")
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of earlier releases: refuse what breaks a promise with them."),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Ignore this finding of the side-channel lint; repeatable."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="PEM", help="Your private Ed25519 key: each certificate is signed with it.")
    ] = None,
    format: Annotated[str, typer.Option("--format", help="parquet or csv.")] = "parquet",
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Publish the series of a panel that grows, stretch by stretch, so that all releases together keep k.

    Parameters of microaggregation are options of the same name: --k 10. Each stretch (a table of a folder, or a day of
    one table) becomes a release folder of its own.
    """
    from shoal.methods import Microaggregation
    from shoal.process import publish_growing

    settings = {"missing": "keep", **read_options.settings_of(ctx)}
    settings.pop("every", None)  # the release's own, not that of events
    with steps() as progress:
        summary = publish_growing(
            source,
            build(Microaggregation, method_options(ctx), ctx),
            out,
            settings,
            private=private,
            spare=spare,
            join=join,
            every=every,
            file_format=format,
            ledger=ledger,
            accept=tuple(accept or ()),
            sign=sign,
            steps=progress,
            tell=lambda note: print(f"shoal: {note}", file=sys.stderr),
        )
    if as_json:
        print_json({"out": str(out), **summary})
    else:
        print_table([*progress.rows, *_rows(out, summary)])


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
