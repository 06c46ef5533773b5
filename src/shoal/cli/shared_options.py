"""Options that several commands have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, get_type_hints

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
