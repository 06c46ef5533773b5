"""`shoal policy`: a first policy for a table, and the schema for an editor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.output import print_json

policy = typer.Typer(
    name="policy",
    help="Propose a policy file for a table, check one, or print the schema of all.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@policy.command()
def init(
    source: Annotated[Path, typer.Argument(help="The table: a CSV or Parquet file.")],
    id: Annotated[str | None, typer.Option("--id", help="Column that names the series.")] = None,
    time: Annotated[str | None, typer.Option(help="Column with the timestamp.")] = None,
    layout: Annotated[
        str, typer.Option(help="wide where a table with a row per instant has a column per subject.")
    ] = "auto",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The policy file to write. Default: standard output.")
    ] = None,
) -> None:
    """Look at a table's columns and propose a policy with a role for each; correct it before use."""
    from shoal.process.policy import propose_policy, write_policy

    text = propose_policy(source, id=id, time=time, layout=layout)
    if out is None:
        print(text, end="")
        return
    write_policy(out, text)
    print(f"{out}  read every line before you use it, then: shoal run {out}")


@policy.command()
def check(path: Annotated[Path, typer.Argument(help="The policy file.")]) -> None:
    """Read a policy and everything it names, without touching the data."""
    from shoal.process.planning import plan_of
    from shoal.process.policy import load_policy

    n_points = plan_of(load_policy(path)).choices.n_points()
    print(f"{path}  reads as a policy: {n_points} point{'s' * (n_points != 1)} to try")


@policy.command()
def schema() -> None:
    """Print the JSON schema of a policy file, for editors."""
    from shoal.process.policy import policy_schema

    print_json(policy_schema())
