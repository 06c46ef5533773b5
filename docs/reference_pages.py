"""The pages of the site that are made from the code: names of Python, parameters, commands, policy and certificate."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints


def pages() -> dict[str, str]:
    """The text of every page, by its path in the site."""
    return {
        "reference/python.md": python_page(),
        "reference/parameters.md": parameters_page(),
        "reference/commands.md": commands_page(),
        "reference/policy.md": policy_page(),
        "reference/certificate.md": certificate_page(),
    }


def python_page() -> str:
    """Each public name, by mkdocstrings, under the name that users import."""
    import shoal

    lines = [
        "# Python",
        "",
        "Look up every name in `shoal`, with its parameters. Packages such as `shoal.attacks` list their own names.",
    ]
    for name in sorted(shoal.__all__, key=str.lower):
        found = getattr(shoal, name)
        if name == "__version__":
            continue
        if inspect.ismodule(found):
            inner = [f"{name}.{one}" for one in sorted(found.__all__, key=str.lower)]
            inner = [one for one in inner if one.partition(".")[2] not in shoal.__all__]
            lines += ["", f"## shoal.{name}", "", (inspect.getdoc(found) or "").partition("\n\n")[0]]
            lines += [part for one in inner for part in _described(one, 3)]
        else:
            lines += _described(name, 2)
    return "\n".join(lines) + "\n"


def _described(name: str, level: int) -> list[str]:
    """What mkdocstrings is asked for; plain values, which have no docstring of their own, are left out."""
    import shoal

    found: Any = shoal
    for part in name.split("."):
        found = getattr(found, part)
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        return []
    place = f"{found.__module__}.{found.__qualname__}"
    return ["", f"::: {place}", "    options:", f"      heading: shoal.{name}", f"      heading_level: {level}"]


def parameters_page() -> str:
    """Methods, guarantees, attacks and measures with their parameters, as the command line and a policy name them."""
    from shoal.process.catalogue import catalogue

    lines = [
        "# Parameters",
        "",
        "Look up every parameter here. Those of a method are options of `shoal anonymize` (`--k 10`) and keyword",
        "arguments in Python (`Microaggregation(k=10)`). Parameters of a guarantee follow its name in `--require`",
        "(`--require aggregate-rule:size=15,share=0.15`).",
    ]
    kind = ""
    for entry in catalogue():
        if entry.kind != kind:
            kind = entry.kind
            lines += ["", f"## {kind.capitalize()}s"]
        lines += ["", f"### {entry.name}", "", entry.summary]
        if entry.aims_at:
            lines += ["", f"Aims at [{entry.aims_at}](#{entry.aims_at})."]
        if entry.parameters:
            lines += ["", "| parameter | type | default | meaning |", "|---|---|---|---|"]
        for parameter in entry.parameters:
            default = "required" if parameter.default is None else f"`{parameter.default}`"
            lines.append(f"| `{parameter.name}` | {_type(parameter.type)} | {default} | {_cell(parameter.meaning)} |")
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """Each command with its options, read off the functions: how help is laid out differs between typer's versions."""
    from shoal.cli.app import app

    lines = ["# Commands", "", f"Look up every command and option. {' '.join((app.info.epilog or '').split())}"]
    for prefix, command in _all_commands(app, ""):
        function: Any = command.callback
        lines += ["", f"## shoal {prefix}{command.name or function.__name__}", "", inspect.getdoc(function) or "", ""]
        lines += ["| argument or option | default | meaning |", "|---|---|---|"]
        hints = get_type_hints(function, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            if len(get_args(hints[name])) == 2 and hasattr(get_args(hints[name])[1], "help"):
                info = get_args(hints[name])[1]
                lines.append(f"| {_spelling(name, info)} | {_default(parameter.default, info)} | {_cell(info.help)} |")
    return "\n".join(lines) + "\n"


def policy_page() -> str:
    """Every field of a policy file."""
    from shoal.process.policy.schema import Policy

    lines = [
        "# Policy file",
        "",
        "Look up every field of the [policy file](../process.md), with its type, default and meaning.",
        "`shoal policy schema` prints the same as a JSON schema, for editors that complete and check YAML.",
    ]
    return "\n".join([*lines, *_schema(Policy.model_json_schema(), "Fields")]) + "\n"


def certificate_page() -> str:
    """Every field of `release.json`."""
    from shoal.release.certificate import Certificate

    schema = Certificate.model_json_schema()
    lines = [
        "# Certificate",
        "",
        "Look up every field of `release.json`. [The release](../release.md) explains them. `format` is its version,",
        "and later versions of Shoal read earlier ones.",
    ]
    return "\n".join([*lines, *_schema(schema, "Fields")]) + "\n"


def _schema(schema: dict[str, Any], title: str) -> list[str]:
    """The fields of a JSON schema, and then those of each part it refers to."""
    parts = schema.get("$defs", {})
    lines: list[str] = []
    for name, found in ((title, schema), *sorted(parts.items())):
        # A part that may be written shorter is one of several; the one with fields tells them.
        part = next((one for one in (found, *found.get("anyOf", ())) if "properties" in one), None)
        if part is None:
            continue
        fields = part["properties"]
        lines += ["", f"## {name}", ""]
        if about := part.get("description"):
            lines += [" ".join(about.partition("\n\n")[0].split()), ""]
        lines += ["| field | type | default | meaning |", "|---|---|---|---|"]
        for field, one in fields.items():
            default = "required" if field in part.get("required", ()) else _value(one.get("default"))
            lines.append(f"| `{field}` | {_schema_type(one)} | {default} | {_cell(one.get('description'))} |")
    return lines


def _value(default: Any) -> str:
    return "" if default in (None, "", [], {}) or isinstance(default, dict) else f"`{default}`"


def _schema_type(field: dict[str, Any]) -> str:
    """A type of JSON Schema in words; a part is linked."""
    if reference := field.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in field:
            return " or ".join(dict.fromkeys(_schema_type(one) for one in field[several]))
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    kind = field.get("type", "any")
    if kind == "array" and isinstance(field.get("items"), dict):
        return f"list of {_schema_type(field['items'])}"
    return {"null": "none"}.get(kind, str(kind))


def _all_commands(app: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Commands, and those of groups behind the group's name."""
    for command in app.registered_commands:
        yield prefix, command
    for group in app.registered_groups:
        name = group.name if isinstance(group.name, str) else group.typer_instance.info.name
        yield from _all_commands(group.typer_instance, f"{prefix}{name} ")


def _spelling(name: str, info: Any) -> str:
    if type(info).__name__ == "ArgumentInfo":
        return f"`{name.upper()}`"
    # Inside Annotated typer keeps the first spelling in the place of the default.
    words = [word for word in (info.default, *(info.param_decls or ())) if isinstance(word, str) and word[:1] == "-"]
    return ", ".join(f"`{word}`" for word in words or [f"--{name.replace('_', '-')}"])


def _default(default: Any, info: Any) -> str:
    # What holds where an option is left out may be known only later.
    shown = getattr(info, "show_default", None)
    if default is None and isinstance(shown, str):
        default = shown
    if default is inspect.Parameter.empty:
        return "required"
    return "" if default is None or default is False else f"`{default}`"


def _type(text: str) -> str:
    return " or ".join(f"`{choice}`" for choice in text.split("|")) if "|" in text else text


def _cell(text: str | None) -> str:
    return re.sub(r"\|", "\\|", " ".join((text or "").split()))
