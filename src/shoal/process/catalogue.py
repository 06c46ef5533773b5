"""Everything that can be requested by name, with its parameters, read from the classes themselves; and built from names
and plain values, as a command line or a policy gives them."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from shoal import attacks, guarantees, methods, utility
from shoal.errors import ParameterError

_NUMBERS = {"int_": "a whole number", "float_": "a number"}
"""How kinds of errors about numbers begin, and what was wanted."""


@dataclass(frozen=True)
class Parameter:
    """An option of a method, guarantee or measure."""

    name: str
    type: str
    default: str | None
    meaning: str


@dataclass(frozen=True)
class Entry:
    """One line of `shoal methods`."""

    kind: str
    name: str
    summary: str
    aims_at: str | None
    parameters: tuple[Parameter, ...]


def catalogue() -> list[Entry]:
    """Every method, guarantee, attack and measure, each kind by name."""
    rooms = (("method", methods), ("guarantee", guarantees), ("attack", attacks), ("measure", utility))
    entries = [[_entry(kind, cls) for cls in named_in(room)] for kind, room in rooms]
    return [entry for some in entries for entry in sorted(some, key=lambda entry: entry.name)]


def named_in(room: Any) -> list[Any]:
    """What a package exports that can be requested by name."""
    return [found for found in (getattr(room, name) for name in room.__all__) if hasattr(found, "name")]


def find_method(name: str) -> Any:
    """The class of a method by its name on the command line."""
    return find_in("method", methods, name)


def find_guarantee(name: str) -> Any:
    """The class of a guarantee by its name on the command line."""
    return find_in("guarantee", guarantees, name)


def summary_of(cls: Any) -> str:
    """The first sentence of a class's docstring."""
    return (cls.__doc__ or "").strip().splitlines()[0].replace("`", "")


def find_in(kind: str, room: Any, name: str) -> Any:
    """The class of a package by its name."""
    known = {found.name: found for found in named_in(room)}
    if name not in known:
        # An attack may also be known by what its adversary has, as a policy says it.
        words = {found.short[0]: found.name for found in known.values() if getattr(found, "short", None)}
        near = difflib.get_close_matches(name.lower().replace("_", "-"), [*known, *words], n=1)
        hint = f"Did you mean {words.get(near[0], near[0])!r}? " if near else ""
        raise ParameterError(f"Unknown {kind} {name!r}. {hint}Known: {', '.join(sorted(known))}. See: shoal methods")
    return known[name]


def _entry(kind: str, cls: Any) -> Entry:
    meanings = _meanings(cls.__doc__ or "")
    hints = get_type_hints(cls)
    parameters = tuple(
        Parameter(
            name=f.name,
            type=_type_name(hints[f.name]),
            default=None if f.default is dataclasses.MISSING else str(f.default),
            meaning=meanings.get(f.name, ""),
        )
        for f in dataclasses.fields(cls)
    )
    # What aims at whatever its steps aim at names none.
    aims_at = getattr(get_type_hints(cls.aims_at.fget)["return"], "name", None) if hasattr(cls, "aims_at") else None
    return Entry(kind=kind, name=cls.name, summary=summary_of(cls), aims_at=aims_at, parameters=parameters)


def _type_name(hint: Any) -> str:
    """A type as a user of the command line would write it."""
    origin = get_origin(hint)
    if origin is Literal:
        return "|".join(str(choice) for choice in get_args(hint))
    if origin in (Union, UnionType):
        return "|".join(_type_name(part) for part in get_args(hint) if _can_be_typed(part))
    if origin is Callable:
        return "function"
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _can_be_typed(part: Any) -> bool:
    """Whether a part of a union is for the command line; others are for Python, as an alternative to text."""
    return part not in (NoneType, slice) and get_origin(part) is not Sequence


def _meanings(doc: str) -> dict[str, str]:
    """Parameter descriptions of a docstring: a name on a line of its own, its text indented below."""
    section = re.search(r"Parameters\n\s*-+\n(.*?)(?:\n\s*\n\s*\w+\n\s*-+\n|\n\n    \S|\Z)", doc, re.S)
    meanings: dict[str, str] = {}
    name = ""
    for line in (section.group(1) if section else "").splitlines():
        if match := re.fullmatch(r"    (\w+)", line):
            name = match.group(1)
        elif name and line.strip():
            meanings[name] = f"{meanings.get(name, '')} {line.strip()}".strip()
    return meanings


def parse_options(listed: str, complaint: str) -> dict[str, str]:
    """Options written as `parameter=value,parameter=value`; anything else raises the complaint."""
    pairs = [pair.partition("=") for pair in listed.split(",") if pair]
    if not all(equals for _, equals, _ in pairs):
        raise ParameterError(complaint)
    return {name.strip().replace("-", "_"): value.strip() for name, _, value in pairs}


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
            first = error.errors()[0]
            wanted_kind = next((words for kind, words in _NUMBERS.items() if first["type"].startswith(kind)), None)
            if wanted_kind is not None and isinstance(given, str):
                raise ParameterError(f"{called(name)} of {cls.name} must be {wanted_kind}, got {given!r}.") from None
            raise ParameterError(f"Option {called(name)} of {cls.name}: {first['msg']}.") from None
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
