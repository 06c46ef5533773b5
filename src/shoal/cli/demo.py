"""`shoal demo`: the whole job in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options
from shoal.cli.output import print_json, steps


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The release folder to write.")] = Path("shoal-demo"),
    k: Annotated[
        int | None,
        typer.Option(help="Size of the smallest crowd that hides a household. Default: found by the policy's search."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for the simulated households.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Simulate 500 households, then search, attack, check and publish to shoal-demo/, following a policy saved next to
    it."""
    from shoal.cli.run import outcome_figures, print_outcome
    from shoal.process.demo import run_demo

    with steps() as progress:
        outcome, policy = run_demo(out, k=k, seed=seed, steps=progress)
    if as_json:
        print_json({"policy": str(policy), **outcome_figures(outcome)})
        return
    print_outcome(outcome, progress.rows)
    print(f"\nRead the policy:  {policy}\nCheck it as a recipient would:  shoal verify {out}")
