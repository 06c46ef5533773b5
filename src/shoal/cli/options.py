"""Parameters of a method as options of the same name: `--k 10 --algorithm mdav`.

Which options exist depends on `--method`, and asking the methods would load numba before `--help` could answer. So
the command sets aside every option it does not know, with its value, and the method's own fields decide about them
later.
"""

from __future__ import annotations

import re
from typing import Any, get_type_hints

from typer.core import TyperCommand

from shoal.errors import ParameterError

_ASIDE = "shoal.method_options"


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
        parsed: list[str] = super().parse_args(ctx, rest)
        return parsed


def method_options(ctx: Any) -> dict[str, str]:
    """The options set aside for the method."""
    aside: dict[str, str] = ctx.meta.get(_ASIDE, {})
    return aside


def build(cls: Any, options: dict[str, str]) -> Any:
    """A method or guarantee from the text of its options."""
    import dataclasses

    from pydantic import ConfigDict, TypeAdapter, ValidationError

    fields = {f.name: f for f in dataclasses.fields(cls)}
    hints = get_type_hints(cls)
    takes = ", ".join("--" + name.replace("_", "-") for name in fields)
    parameters: dict[str, Any] = {}
    for name, text in options.items():
        if name not in fields:
            raise ParameterError(f"Unknown option --{name.replace('_', '-')} for {cls.name}. It takes: {takes}.")
        try:
            # Some types are for Python only, such as a slice.
            wanted = TypeAdapter(hints[name], config=ConfigDict(arbitrary_types_allowed=True))
            parameters[name] = wanted.validate_python(text)
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise ParameterError(f"Option --{name.replace('_', '-')} of {cls.name}: {reason}.") from None
    lacking = [
        f"--{name.replace('_', '-')}"
        for name, field in fields.items()
        if name not in parameters
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if lacking:
        raise ParameterError(f"{cls.name} needs {', '.join(lacking)}. See: shoal methods")
    return cls(**parameters)
