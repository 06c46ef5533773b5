"""Options that several commands have, and parameters of a method as options of the same name: `--k 10`.

Which parameters exist depends on `--method`, and asking the methods would load numba before `--help` could answer. So
the command sets aside every option it does not know, with its value, and the method's own fields decide about them
later.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from shoal.errors import ParameterError

Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
Format = Annotated[str, typer.Option("--format", help="parquet or csv.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier release.")]
InsecureSeed = Annotated[
    int | None,
    typer.Option(help="Makes pseudonyms repeatable, for tests; anyone who guesses it can undo the shuffling."),
]
Ledger = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="File of earlier releases: refuse a release that would break a promise made with them."
    ),
]
Accept = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Ignore this finding of the side-channel lint; repeatable.")
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[:parameter=value,...]",
        help="A measure, such as mean-day-error:of=all,at_most=0.1; repeatable. Default: all that apply.",
    ),
]

Title = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Title of the release, shown at the top of its report.")
]
Publisher = Annotated[str | None, typer.Option(metavar="TEXT", help="Who publishes it.")]
Purpose = Annotated[str | None, typer.Option(metavar="TEXT", help="Purpose of the publication.")]
Date = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Publication date; by default the release has none.")
]

_AFTERWARDS = ("as_json",)


def with_options(
    ours: Mapping[str, tuple[Any, Any]],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options that others have too: an annotation and a default by name.

    They come before --json. The command finds them in `ctx.params`.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = [one.replace(annotation=hints[one.name]) for one in inspect.signature(command).parameters.values()]
        kind = inspect.Parameter.KEYWORD_ONLY
        added = [inspect.Parameter(n, kind, default=usual, annotation=hint) for n, (hint, usual) in ours.items()]
        first = [one.replace(kind=kind) for one in own if one.name not in _AFTERWARDS]
        last = [one.replace(kind=kind) for one in own if one.name in _AFTERWARDS]

        @wraps(command)
        def called(**given: Any) -> None:
            command(**{name: value for name, value in given.items() if name not in ours})

        listed = [*first, *added, *last]
        called.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in listed}
        return called

    return decorated


_ASIDE = "shoal.method_options"
_KNOWN = "shoal.command_options"


class MethodCommand(TyperCommand):
    """A command that keeps options it does not know for the method."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Split off the unknown options, parse the rest as usual."""
        known = {name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)}
        known.add("--help")
        rest: list[str] = []
        aside: dict[str, str] = {}
        words = iter(args)
        for word in words:
            name, equals, value = word.partition("=")
            if not name.startswith("--") or name == "--" or name in known:
                rest.append(word)
                continue
            if not equals:
                value = next(words, "")
            if not value or (value.startswith("-") and not re.fullmatch(r"-\d.*|-\.\d.*", value)):
                raise ParameterError(f"Option {name} needs a value. See: shoal methods")
            aside[name[2:].replace("-", "_")] = value
        ctx.meta[_ASIDE] = aside
        ctx.meta[_KNOWN] = sorted(name for name in known if name.startswith("--"))
        parsed: list[str] = super().parse_args(ctx, rest)
        return parsed


def method_options(ctx: Any) -> dict[str, str]:
    """Return the options set aside for the method."""
    aside: dict[str, str] = ctx.meta.get(_ASIDE, {})
    return aside


def build(cls: Any, options: dict[str, str], ctx: Any = None) -> Any:
    """Build a method or guarantee from the text of its options; with `ctx`, misspelt options of the command are
    recognised too."""
    from shoal.process.catalogue import build as build_from

    beside = () if ctx is None else ctx.meta.get(_KNOWN, ())
    return build_from(cls, options, called=lambda name: f"--{name.replace('_', '-')}", beside=beside)


def is_given(ctx: Any, name: str) -> bool:
    """Return whether an option is on the command line."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
