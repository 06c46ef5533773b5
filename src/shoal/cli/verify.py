"""`shoal verify`: a recipient checks a release without seeing raw data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.output import print_json, print_table


def verify(
    folder: Annotated[Path, typer.Argument(help="The release folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check a release from its folder alone: hashes, then guarantees on the published values."""
    from shoal.release import verify as verify_folder

    outcome = verify_folder(folder)
    if as_json:
        print_json(
            {
                "release": str(folder),
                "holds": outcome.holds,
                "findings": list(outcome.findings),
                "guarantees": [{"name": name, **asdict(verdict)} for name, verdict in outcome.verdicts],
                "notes": list(outcome.notes),
            }
        )
    else:
        rows = [("release", str(folder)), ("verdict", "holds" if outcome.holds else "DOES NOT HOLD")]
        for name, verdict in outcome.verdicts:
            state = "holds" if verdict.holds else "does not hold"
            rows.append((name, f"{state}: measured {verdict.measured}, required {verdict.required}"))
        rows += [("finding", finding) for finding in outcome.findings]
        rows += [("note", note) for note in outcome.notes]
        print_table(rows)
    raise typer.Exit(0 if outcome.holds else 1)
