"""`shoal verify`: a recipient checks a release without seeing raw data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import engines
from shoal.cli.output import print_json, print_table


def verify(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The release folder, or a folder of releases of a growing panel.")],
    engine: engines.Engine = None,
    master: engines.Master = None,
    conf: engines.Conf = None,
    memory: engines.Memory = None,
    processes: engines.Processes = None,
    accept_unjudged: Annotated[
        bool,
        typer.Option(
            "--accept-unjudged",
            help="Also exit 0 if a promise cannot be judged from the folder: you take the publisher's word for it.",
        ),
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="PEM", help="The publisher's public key; the release must be signed with its private counterpart."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check a release from its folder alone: hashes, then guarantees on the published values.

    Exit 0: every promise was judged and holds. Exit 1: something does not hold, or a promise (such as differential
    privacy) cannot be judged from the folder.

    In a folder of releases of a growing panel, each is checked, and then all together. A release in parts is checked
    part by part on this machine, in --processes at once, or where --engine says.
    """
    from shoal.release import verify as verify_folder
    from shoal.release.sequence import releases_in

    part = None if engine is None and processes else engines.engine_of(ctx)
    if part is None:
        outcome = verify_folder(folder, processes=processes or 1, key=key)
    else:
        from shoal.process.engine import open_engine

        with open_engine(part) as opened:
            outcome = verify_folder(folder, engine=opened, key=key)
    several = releases_in(folder)
    if as_json:
        print_json(
            {
                "release": str(folder),
                **({"releases": [release.name for release in several]} if several else {}),
                "outcome": outcome.outcome,
                "holds": outcome.holds,
                "not_judged": list(outcome.not_judged),
                "findings": list(outcome.findings),
                "guarantees": [
                    {"name": name, "holds": verdict.holds, **asdict(verdict)} for name, verdict in outcome.verdicts
                ],
                "notes": list(outcome.notes),
                "unchecked": list(outcome.unchecked),
            }
        )
    else:
        what = ("releases", f"{len(several)} in {folder}") if several else ("release", str(folder))
        rows = [what, ("verdict", outcome.words)]
        rows += [(name, verdict.words) for name, verdict in outcome.verdicts]
        rows += [("finding", finding) for finding in outcome.findings]
        rows += [("note", note) for note in outcome.notes]
        if outcome.unchecked:
            rows.append(("unchecked", f"{', '.join(outcome.unchecked)}: the publisher's own words"))
        print_table(rows)
    accepted = ("holds", "not judged") if accept_unjudged else ("holds",)
    raise typer.Exit(0 if outcome.outcome in accepted else 1)
