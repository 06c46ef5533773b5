"""`shoal look`: everything about a table at once, without changing it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import read_options
from shoal.cli.output import print_table, steps, write_new


@read_options.reads(without=read_options.NOT_LOOKED_AT)
def look(
    ctx: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="A file, folder or pattern, or an address, as for shoal anonymize."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with charts; keep it to yourself.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Describe a table: what it is, what is wrong with it, and which command publishes it.

    Nothing is written unless --html is given. No reading and no identifier is shown.
    """
    from shoal.process.look import look as look_at

    with steps() as progress:
        progress.start("looking")
        found = look_at(source, **read_options.settings_of(ctx))
    if html is not None:
        write_new(html, found.to_html())
    if as_json:
        print(found.to_json())
        return
    problems = [(f"{number}.", text) for number, text in enumerate(found.problems, 1)]
    print_table([*found.rows, *problems])
    print(f"\n{found.command}\n\n{found.policy}", end="")
    if html is not None:
        print(f"\n{html}  a page with charts; keep it to yourself")
