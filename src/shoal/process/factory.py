"""Methods, guarantees, attacks and measures built from names and plain values, as a command line or a policy gives
them."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from shoal.errors import ParameterError


def build(
    cls: Any, options: Mapping[str, Any], *, called: Callable[[str], str] = str, beside: Collection[str] = ()
) -> Any:
    """Build one of them from its options.

    `called` says how this user writes the name of an option, `beside` which other options exist.
    """
    if not isinstance(options, Mapping):
        raise ParameterError(f"{cls.name} takes its parameters by name, such as {{name: value}}.")
    fields = {f.name: f for f in dataclasses.fields(cls)}
    hints = get_type_hints(cls)
    parameters: dict[str, Any] = {}
    for name, given in options.items():
        if name not in fields:
            names = [called(field) for field in fields]
            near = difflib.get_close_matches(called(name), [*names, *beside], n=1)
            meant = f"Did you mean {near[0]}? " if near else ""
            takes = ", ".join(names) or "none"
            raise ParameterError(f"Unknown option {called(name)} for {cls.name}. {meant}It takes: {takes}.")
        try:
            # Some types are for Python only, such as a slice.
            wanted = TypeAdapter(hints[name], config=ConfigDict(arbitrary_types_allowed=True))
            parameters[name] = wanted.validate_python(given)
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise ParameterError(f"Option {called(name)} of {cls.name}: {reason}.") from None
    lacking = [
        called(name)
        for name, field in fields.items()
        if name not in parameters
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if lacking:
        raise ParameterError(f"{cls.name} needs {', '.join(lacking)}. See: shoal methods")
    return cls(**parameters)
