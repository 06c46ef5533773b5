"""The options that say how a table of series is read; the same for every command, from `shoal.read.options`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from shoal.cli.options import is_given
from shoal.read.options import OPTIONS, given_options, option_text

_AFTERWARDS = ("as_json",)

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

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = [one.replace(annotation=hints[one.name]) for one in inspect.signature(command).parameters.values()]
        kind = inspect.Parameter.KEYWORD_ONLY
        ours = [
            inspect.Parameter(name, kind, default=None, annotation=_annotation(name, defaults.get(name)))
            for name in names
        ]
        first = [one.replace(kind=kind) for one in own if one.name not in _AFTERWARDS]
        last = [one.replace(kind=kind) for one in own if one.name in _AFTERWARDS]

        @wraps(command)
        def called(**given: Any) -> None:
            command(**{name: value for name, value in given.items() if name not in names})

        listed = [*first, *ours, *last]
        called.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in listed}
        return called

    return decorated


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
