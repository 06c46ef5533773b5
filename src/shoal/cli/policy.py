"""`shoal policy`: draft a policy for a table, check one, and print the schema for an editor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import read_options
from shoal.cli.output import print_json, write_new

policy = typer.Typer(
    name="policy",
    help="Propose a policy file for a table, check one, or print the policy schema.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@policy.command()
@read_options.reads(without=read_options.NOT_LOOKED_AT)
def init(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(help="The table; anything `shoal look` can read.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The policy file to write. Default: standard output.")
    ] = None,
) -> None:
    """Look at a table and write the findings as a policy; read it before use."""
    from shoal.process.look import look

    found = look(source, **read_options.settings_of(ctx))
    found.require_subjects()
    text = found.policy
    if out is None:
        print(text, end="")
        return
    write_new(out, text)
    print(f"{out}  read every line before you use it, then: shoal run {out}")


@policy.command()
def check(path: Annotated[Path, typer.Argument(help="The policy file.")]) -> None:
    """Read a policy and everything it names, without touching the data."""
    from shoal.process.policy import load_policy
    from shoal.process.search import task_of

    n_points = len(task_of(load_policy(path)).choices.settings())
    print(f"{path}  reads as a policy: {n_points} point{'s' * (n_points != 1)} to try")


@policy.command()
def schema() -> None:
    """Print the JSON schema of a policy file, for editors."""
    from shoal.process.policy import policy_schema

    print_json(policy_schema())
