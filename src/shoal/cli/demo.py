"""`shoal demo`: the main job in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.output import print_json, print_table, steps


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The release folder to write.")] = Path("shoal-demo"),
    k: Annotated[int, typer.Option(help="Smallest crowd a household hides in.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the simulated households.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Simulate 500 households, anonymize them, check, publish to shoal-demo/, and say what came out."""
    from shoal.cli.anonymize import release_figures, release_rows
    from shoal.process import run_demo

    with steps() as progress:
        release = run_demo(out, k=k, seed=seed, steps=progress)
    if as_json:
        print_json({"release": str(release.path), **release_figures(release.certificate)})
        return
    print_table(release_rows(release.path, release.certificate))
    print(f"\nCheck it as a recipient would:  shoal verify {out}")
