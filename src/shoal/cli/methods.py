"""`shoal methods`: everything that can be asked for by name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from shoal.cli.output import print_json

_HOW = {
    "method": "(shoal anonymize --method NAME, with its parameters as options)",
    "guarantee": "(shoal anonymize --require NAME:parameter=value,parameter=value)",
    "attack": "(shoal attack --knows NAME:parameter=value, and in a policy under adversary.knows)",
    "measure": "(shoal utility --measure NAME:parameter=value, and in a policy under require.utility)",
}


def methods(as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List every method, guarantee, attack and measure with its parameters."""
    from shoal.process.catalogue import catalogue

    entries = catalogue()
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    for kind in dict.fromkeys(entry.kind for entry in entries):
        print(f"{kind.upper()}S  {_HOW[kind]}")
        for entry in (e for e in entries if e.kind == kind):
            print(f"  {entry.name}: {entry.summary}")
            if entry.aims_at:
                print(f"      aims at {entry.aims_at}")
            for parameter in entry.parameters:
                default = "required" if parameter.default is None else f"default {parameter.default}"
                option = f"--{parameter.name.replace('_', '-')}" if kind == "method" else parameter.name
                print(f"      {option} {parameter.type} ({default})  {parameter.meaning}")
        print()
