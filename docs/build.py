"""Make what the documentation takes from the code: the reference page and the pictures; then run it all.

Run: make docs
"""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, get_args, get_type_hints

from draw_rooms import write_pictures
from notebooks import main as run_notebooks

DOCS = Path(__file__).resolve().parent
PICTURE = DOCS / "images" / "report.png"
LARGEST_PICTURE = 300_000  # bytes; a README should open at once


def main() -> None:
    (DOCS / "reference.md").write_text(reference(), encoding="utf-8")
    write_pictures()
    run_notebooks()
    photograph_report()
    tests = DOCS.parent / "tests" / "test_docs.py"
    sys.exit(subprocess.run([sys.executable, "-m", "pytest", "-q", str(tests)], check=False).returncode)


def reference() -> str:
    """The text of docs/reference.md."""
    lines = [
        "# Reference",
        "",
        "Made from the code by `make docs`; do not edit. What the words mean is in [Concepts](concepts.md).",
        "",
        "Parameters of a method are options of `shoal anonymize` (`--k 10`) and keyword arguments in Python",
        "(`Microaggregation(k=10)`). Parameters of a guarantee follow its name in `--require`",
        "(`--require aggregate-rule:size=15,share=0.15`).",
    ]
    return "\n".join([*lines, *_python(), *_catalogue(), *_commands()]) + "\n"


def _python() -> list[str]:
    """Each public name that is not in the catalogue, with its docstring."""
    import shoal
    from shoal.process.catalogue import catalogue

    listed = {entry.name for entry in catalogue()}
    lines = ["", "## Python", "", "Names of `shoal`. Methods and guarantees follow below, under their own names."]
    for name in sorted(shoal.__all__, key=str.lower):
        found = getattr(shoal, name)
        if name == "__version__" or getattr(found, "name", None) in listed:
            continue
        lines += ["", f"### shoal.{name}", "", *_docstring(found)]
        if inspect.isclass(found):
            lines += _members(found)
        elif inspect.ismodule(found):
            lines += ["", "Names in it: " + ", ".join(f"`{inner}`" for inner in found.__all__) + "."]
    return lines


def _docstring(found: Any) -> list[str]:
    """The signature, the text, the parameters as a table, and examples as a block that is only read."""
    lines = [f"`{found.__name__}{_signature(found)}`", ""] if callable(found) else []
    text = inspect.getdoc(found) or ""
    parts = re.split(r"^(\w+)\n-+\n", text, flags=re.M)
    lines += parts[0].strip().splitlines()
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title == "Parameters":
            entries = re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?|\n(?=    ))+)", body, re.M)
            lines += ["", "| parameter | meaning |", "|---|---|"]
            lines += [f"| `{name}` | {_cell(meaning)} |" for name, meaning in entries]
        elif title == "Examples":
            lines += ["", "```pycon", *body.strip().splitlines(), "```"]
        else:
            lines += ["", f"{title}: {_sentence(body)}"]
    return lines


def _signature(found: Any) -> str:
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return "()"
    shown = [p.replace(annotation=inspect.Parameter.empty) for p in parameters if p.name != "self"]
    return str(inspect.Signature(shown))


def _members(cls: type) -> list[str]:
    """What instances can do, with the first sentence of each."""
    lines = []
    for name, member in sorted(vars(cls).items()):
        inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        doc = inspect.getdoc(inner) if inspect.isfunction(inner) else None
        if doc and (not name.startswith("_") or name == "__getitem__"):
            call = "" if isinstance(member, property) else _signature(inner)
            lines.append(f"| `{name}{call}` | {_cell(doc.split(chr(10) + chr(10))[0])} |")
    return ["", "| member | meaning |", "|---|---|", *lines] if lines else []


def _catalogue() -> list[str]:
    from shoal.process.catalogue import catalogue

    lines: list[str] = []
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
    return lines


def _commands() -> list[str]:
    """Each command with its options, read off the functions: how help is laid out differs between typer's versions."""
    from shoal.cli.app import app

    lines = ["", "## Commands", "", _sentence(app.info.epilog or "")]
    for prefix, command in _all_commands(app, ""):
        function: Any = command.callback
        lines += ["", f"### shoal {prefix}{command.name or function.__name__}", "", inspect.getdoc(function) or "", ""]
        lines += ["| argument or option | default | meaning |", "|---|---|---|"]
        hints = get_type_hints(function, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            if len(get_args(hints[name])) == 2 and hasattr(get_args(hints[name])[1], "help"):
                info = get_args(hints[name])[1]
                lines.append(f"| {_spelling(name, info)} | {_default(parameter.default, info)} | {_cell(info.help)} |")
    return lines


def _all_commands(app: Any, prefix: str) -> list[tuple[str, Any]]:
    """Commands, and those of groups behind the group's name."""
    found = [(prefix, command) for command in app.registered_commands]
    for group in app.registered_groups:
        name = group.name if isinstance(group.name, str) else group.typer_instance.info.name
        found += _all_commands(group.typer_instance, f"{prefix}{name} ")
    return found


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
    return " ".join((text or "").split()).replace("|", "\\|")


def _sentence(text: str) -> str:
    return " ".join(text.split())


def photograph_report() -> None:
    """Photograph the top of the page that `shoal demo` writes."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("chromium is not installed: docs/images/report.png stays as it is")
        return
    PICTURE.parent.mkdir(exist_ok=True)
    # The browser's profile may still be written to while it is being removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        release = Path(folder) / "shoal-demo"
        shoal = [sys.executable, "-c", "from shoal.cli.app import main; main()"]
        subprocess.run([*shoal, "demo", "--out", str(release)], check=True, stdout=subprocess.DEVNULL)
        picture = Path(folder) / "report.png"
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
            "--virtual-time-budget=10000",
            "--window-size=1000,1520",
            "--force-device-scale-factor=0.8",
            f"--screenshot={picture}",
            (release / "report.html").as_uri(),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
        if (size := picture.stat().st_size) > LARGEST_PICTURE:
            sys.exit(f"docs/images/report.png would have {size} bytes; {LARGEST_PICTURE} are allowed")
        shutil.copyfile(picture, PICTURE)


if __name__ == "__main__":
    main()
