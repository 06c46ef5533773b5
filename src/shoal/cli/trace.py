"""`shoal trace`: find out whose copy a leaked table is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options
from shoal.cli.output import print_json, print_table


def trace(
    leaked: Annotated[Path, typer.Argument(help="The leaked table, CSV or Parquet.")],
    private: Annotated[Path, typer.Option(help="The private folder that the copies were made with.")],
    as_json: options.Json = False,
) -> None:
    """Find the recipient whose copy a leaked table is: by its pseudonyms, or else by its row order.

    Rows may be missing, values rounded, pseudonyms replaced. Exit 1 if chance cannot be ruled out.
    """
    from shoal.process.trace import FALSE_ALARM
    from shoal.process.trace import trace as trace_copy

    fits = trace_copy(leaked, private)
    certain = [suspicion for suspicion in fits if suspicion.is_certain]
    if as_json:
        listed = [asdict(suspicion) | {"certain": suspicion.is_certain} for suspicion in fits]
        print_json({"leaked": str(leaked), "false_alarm": FALSE_ALARM, "copies": listed})
    else:
        what = {"pseudonyms": "pseudonyms are in it", "order": "rows are in its order"}
        lines = [
            (s.recipient, f"{s.matched} of {s.of} {what[s.by]}, odds by chance at most {s.odds:.2g}") for s in fits
        ]
        named = ", ".join(dict.fromkeys(suspicion.recipient for suspicion in certain))
        print_table([*lines, ("verdict", f"a copy of: {named}" if named else "cannot be determined")])
    raise typer.Exit(0 if certain else 1)
