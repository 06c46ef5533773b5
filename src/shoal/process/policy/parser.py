"""From YAML to a policy; a mistake is reported with its line, the problem, and the way out."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from shoal.errors import ParameterError
from shoal.process.policy.schema import Policy

Path_ = tuple[str | int, ...]

LARGEST = 1_000_000
"""Largest size of a policy in bytes; a larger file is something else, most likely the data."""


DEEPEST = 12
"""Largest depth of fields; deeper is an alias that contains itself, or not a policy."""

MOST_FIELDS = 10_000
"""Largest number of fields and entries, aliases expanded; more are aliases that multiply, or not a policy."""

LONGEST_NUMBER = 40
"""Largest number of characters in a number."""


class _Loader(yaml.SafeLoader):
    """YAML 1.2's idea of plain words: only true and false are truth values, 11:00 is a time and not 660."""


_DIGITS = "0123456789"
_PLAIN_WORDS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", f"-+{_DIGITS}"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)", f"-+.{_DIGITS}"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
)
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_Loader.yaml_implicit_resolvers = {}
for _kind, _pattern, _starts in _PLAIN_WORDS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), list(_starts))


class _Dumper(yaml.SafeDumper):
    """Quotes what the loader would not read as text."""


_Dumper.yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def load_policy(path: str | Path) -> Policy:
    """Read a policy file."""
    source = Path(path)
    try:
        if source.stat().st_size > LARGEST:
            raise ParameterError(f"{source} has more than {LARGEST} bytes, too many for a policy. Is it the data?")
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"The policy {source} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{source} is not a text file. A policy is a YAML file; see: shoal policy init") from None
    return parse_policy(text, name=source.name)


def parse_policy(text: str, *, name: str = "policy") -> Policy:
    """A policy from YAML text.

    Examples
    --------
    >>> parse_policy("method: {name: microaggregation, k: 10}").method
    {'name': 'microaggregation', 'k': 10}
    """
    lines = text.splitlines()
    root = _compose(text, name, lines)
    places: dict[Path_, int] = {}
    content = {} if root is None else _plain(root, (), places, name, lines)
    if not isinstance(content, dict):
        raise ParameterError(f"{name} holds no fields. A policy has the fields: {', '.join(Policy.model_fields)}.")
    try:
        return Policy.model_validate(content)
    except ValidationError as error:
        raise ParameterError(_told(error, places, name, lines)) from None


def policy_text(policy: Policy) -> str:
    """A policy as YAML, without defaults; parsing it gives the same policy.

    Examples
    --------
    >>> print(policy_text(parse_policy("method: {name: microaggregation, k: 10}")), end="")
    method:
      name: microaggregation
      k: 10
    """
    content = policy.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _compose(text: str, name: str, lines: list[str]) -> Node | None:
    try:
        root: Node | None = yaml.compose(text, _Loader)
        return root
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ParameterError(
            f"{_at(name, mark.line if mark else 0, lines)}: this is not valid YAML "
            f"({error.problem or error.context}). Look for a bracket, a colon or an indent."
        ) from None
    except yaml.YAMLError:
        raise ParameterError(f"{name} is not valid YAML: it has a character that YAML does not allow.") from None
    except RecursionError:
        raise ParameterError(f"{name} is nested too deeply for a policy.") from None


def _plain(node: Node, path: Path_, places: dict[Path_, int], name: str, lines: list[str]) -> Any:
    """The content of a node, with the line of every field noted."""
    places.setdefault(path, node.start_mark.line)
    if len(path) > DEEPEST:
        raise ParameterError(f"{_at(name, node.start_mark.line, lines)}: nested too deeply for a policy.")
    if len(places) > MOST_FIELDS:
        raise ParameterError(
            f"{_at(name, node.start_mark.line, lines)}: more than {MOST_FIELDS} fields and entries, too many for a "
            "policy. Are there aliases of aliases?"
        )
    if isinstance(node, MappingNode):
        fields: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                raise ParameterError(f"{_at(name, key_node.start_mark.line, lines)}: a field's name must be a word.")
            key = str(key_node.value)
            if key in fields:
                raise ParameterError(
                    f"{_at(name, key_node.start_mark.line, lines)}: {key!r} is given twice. Remove one of them."
                )
            places[(*path, key)] = key_node.start_mark.line
            fields[key] = _plain(value_node, (*path, key), places, name, lines)
        return fields
    if isinstance(node, SequenceNode):
        return [_plain(part, (*path, at), places, name, lines) for at, part in enumerate(node.value)]
    if node.tag in _NUMBERS and len(node.value) > LONGEST_NUMBER:
        raise ParameterError(
            f"{_at(name, node.start_mark.line, lines)}: a number of {len(node.value)} characters; no policy needs that."
        )
    try:
        if node.tag == "tag:yaml.org,2002:int":
            return int(node.value, 10)  # PyYAML would take 010 for an octal number
        return _Loader("").construct_object(node)
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError):  # raised for tags that do not fit
        raise ParameterError(f"{_at(name, node.start_mark.line, lines)}: tags are not allowed in policies.") from None


def _told(error: ValidationError, places: dict[Path_, int], name: str, lines: list[str]) -> str:
    """The first mistake in one sentence, and how many more there are."""
    mistakes = error.errors(include_url=False, include_context=False, include_input=False)
    # A union reports each of its kinds; the first that got farthest is what the writer meant.
    first = max(mistakes, key=lambda mistake: len(_known(mistake["loc"], places)))
    path = _known(first["loc"], places)
    field = ".".join(str(part) for part in path) or "the policy"
    if first["type"] == "extra_forbidden":
        what = f"{field} is not a field of a policy. {_nearest(path)}"
    else:
        message = first["msg"].removeprefix("Value error, ")
        what = f"{field}: {message[0].lower()}{message[1:]}. {_meaning(path)}"
    lines_wrong = {_line(_known(mistake["loc"], places), places) for mistake in mistakes}
    n = len(lines_wrong) - 1
    more = f" ({n} more {'line has' if n == 1 else 'lines have'} a mistake.)" if n > 0 else ""
    return f"{_at(name, _line(path, places), lines)}: {what.strip()}{more}"


def _known(loc: Path_, places: dict[Path_, int]) -> Path_:
    """The part of a location that is in the file; pydantic adds names of its own for the kinds of a union."""
    path: Path_ = ()
    for part in loc:
        if (*path, part) in places:
            path = (*path, part)
    return path


def _line(path: Path_, places: dict[Path_, int]) -> int:
    return places.get(path, 0)


def _at(name: str, line: int, lines: list[str]) -> str:
    """The line, quoted: a policy is the publisher's own text and holds no data."""
    quoted = lines[line].strip() if line < len(lines) else ""
    if len(quoted) > 80:
        quoted = f"{quoted[:77]}..."
    return f"{name}, line {line + 1} ({quoted})"


def _nearest(path: Path_) -> str:
    """What was meant, or what exists."""
    fields = list(_fields(_model_at(path[:-1])))
    close = difflib.get_close_matches(str(path[-1]), fields, n=1)
    if close:
        return f"Is {close[0]} meant?"
    return f"Fields here: {', '.join(fields)}."


def _meaning(path: Path_) -> str:
    """What a field is for, in the words of the schema."""
    if not path:
        return ""
    for end in range(len(path), 0, -1):
        field = _fields(_model_at(path[: end - 1])).get(str(path[end - 1]))
        if field is not None:
            return f"It means: {field.description}"
    return ""


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a part by the names a policy has for them."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_at(path: Path_) -> type[BaseModel]:
    """The part of the schema that a location belongs to; the last known one if it leads into free fields."""
    model: type[BaseModel] = Policy
    for part in path:
        field = _fields(model).get(str(part))
        if field is None:
            return model
        kinds = [field.annotation, *get_args(field.annotation)]
        inner = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        if inner is None:
            return model
        model = inner
    return model
