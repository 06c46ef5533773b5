"""The options that say how a table of series is read; the same for every command, from `shoal.read.options`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import is_given, with_options
from shoal.read.options import OPTIONS, given_options, option_text

NOT_LOOKED_AT = (
    *("missing", "align", "duplicates", "complete", "quantity", "dst", "split"),
    *("quasi", "sensitive", "other", "every"),
)
"""Options that say what to do with a table, not what it is."""


Policy = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="Read the table the way this policy reads its data.")
]


def reads(*, without: tuple[str, ...] = (), **defaults: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every reading option, `without` some; `defaults` replaces the usual defaults.

    The command gets them from `settings_of(ctx)`.
    """
    names = [name for name in OPTIONS if name not in without]
    return with_options({name: (_annotation(name, defaults.get(name)), None) for name in names})


def settings_of(ctx: typer.Context) -> dict[str, Any]:
    """Return the settings of `read_panel` given on the command line or in --policy; the others keep their defaults."""
    given = {name: value for name, value in ctx.params.items() if name in OPTIONS and is_given(ctx, name)}
    said = {name: list(value) if isinstance(value, list | tuple) else value for name, value in given.items()}
    if (path := ctx.params.get("policy")) is None:
        return said
    from shoal.process.policy import load_policy

    return {**given_options(load_policy(path).settings), **said}


def _annotation(name: str, default: str | None) -> Any:
    option, flag = OPTIONS[name], f"--{name.replace('_', '-')}"
    if option.columns:
        return Annotated[list[str] | None, typer.Option(flag, metavar="COLUMN", help=option.meaning)]
    usual = option.default if default is None else default
    shown = False if usual is None else option_text(usual)
    return Annotated[str | None, typer.Option(flag, help=option.meaning, show_default=shown)]
