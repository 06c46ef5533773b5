"""A look written as a policy: how the table is read, a role for every static column, and the reason next to it.

    identifier  named or shaped like something that identifies a person, or more than a twentieth of the meters have an
                entry of their own
    sensitive   static, and named like one
    quasi       static, and neither

None of this is a promise: it follows from names, shapes and counts. A column that is not static, or has one entry in
all rows, has no role and is withheld, and so is every column the publisher removes from the list. No entry of the table
is written.
"""

from __future__ import annotations

import re
from typing import Any

from shoal.process.look.advice import WAYS_OUT, Advice
from shoal.process.look.findings import TableFindings, identifies
from shoal.read.column_survey import ColumnCounts
from shoal.read.understanding import TableShape

VARYING = "changes within a meter"
CONSTANT = "one entry in all rows"
"""Why a column has no role."""

OWN_ENTRY = 0.05
"""Share of meters with a unique entry above which a static column is taken for an identifier."""

_OUR_WORDS = ("missing", "align", "timezone", "layout", "duplicates")
"""Settings whose values are keywords of Shoal and need no quotes."""

_CALLED_SENSITIVE = re.compile(
    r"(^|_)(diagnosis|disease|illness|health|medical|income|salary|wage|debt|religion|belief|party|union|ethnicity|"
    r"race|nationality|orientation|offence|conviction|disability|benefit)(_|$|s$)"
)


def column_roles(found: TableFindings) -> list[tuple[str, str | None, str]]:
    """Name, proposed role and reason of each further column; no role for what tells no meters apart."""
    roles: list[tuple[str, str | None, str]] = []
    for column in found.columns:
        if found.subject is not None and column.name == found.subject.name:
            continue
        roles.append((column.name, *_role(column, found.n_meters)))
    return roles


def _role(column: ColumnCounts, n_meters: int) -> tuple[str | None, str]:
    if not column.static:
        return None, VARYING if column.n_varying else "empty"
    if (why := identifies(column)) is not None:
        return "identifier", f"{why}; never read"
    if column.n_own > OWN_ENTRY * n_meters:
        return "identifier", f"{column.n_own} of {n_meters} series have a unique entry; never read"
    if _CALLED_SENSITIVE.search(re.sub(r"[ -]", "_", column.name.lower())):
        return "sensitive", f"named like one; {column.n_entries} different entries"
    if column.n_entries == 1:
        return None, CONSTANT
    return "quasi-identifier", f"{column.n_entries} different entries; may help to recognise someone"


def propose(found: TableFindings, advice: Advice, source: str | None) -> str:
    """The policy as YAML text, with a remark next to what needs a second look."""
    settings, reasons = dict(advice.settings), _reasons(found, advice)
    n_series = found.n_meters
    about = "this table" if source is None else source.rsplit("/", 1)[-1]
    lines = [
        f"# A first policy for {_comment(about)}: {found.size}, {n_series} series. Read every line before you use it.",
        "data:",
        f"  path: {_word(source)}" if source else "  path: null  # name the table",
    ]
    settings.setdefault("missing", "fail")
    for setting, value in settings.items():
        text = str(value) if setting in _OUR_WORDS else _names(value)
        reason = f"  # {reasons[setting]}" if setting in reasons else ""
        lines.append(f"  {setting}: {text}{reason}")
    roles = column_roles(found)
    steady = [entry for entry in roles if entry[1] is not None]
    lines.append("roles:" if steady else "roles: {}")
    lines += [f"  {_word(name)}: {role}  # {why}" for name, role, why in steady]
    withheld = [name for name, role, why in roles if role is None and why == VARYING]
    if withheld:
        lines.append(f"# Withheld, as they change within a series: {', '.join(map(_comment, withheld))}.")
    lines += [
        "# Columns that are not listed are withheld.",
        "adversary:",
        "  knows: {points: 5, totals: day}" if found.on_clock else "  knows: {points: 5}",
        "  scenario: prosecutor",
        "require:",
        "  risk: {at_most: 0.09}",
        "  utility: {information-loss: {at_most: 0.3}}  # share of the variance; set what your use tolerates",
        "method:",
        "  name: microaggregation",
        "  k: {search: [4, 8, 12, 16, 20, 24, 28]}",
        "release:",
        "  model: publish",
        "  to: out",
        "  private: private  # who is who stays there; give it to nobody",
    ]
    return "\n".join(lines) + "\n"


def _reasons(found: TableFindings, advice: Advice) -> dict[str, str]:
    """The problem that each setting answers."""
    reasons = {
        problem.flag.removeprefix("--").partition(" ")[0].replace("-", "_"): problem.name
        for problem in advice.problems
        if problem.flag is not None
    }
    if n := found.n_absent:
        reasons["missing"] = f"{n:,} reading{'s are' if n > 1 else ' is'} missing: {WAYS_OUT}"
    if advice.settings.get("layout") == "wide" and found.understanding.shape is TableShape.COLUMN_PER_SERIES:
        reasons["layout"] = f"{found.n_meters} columns read as {found.n_meters} subjects"
    return reasons


def _names(value: Any) -> str:
    names = value if isinstance(value, list) else [value]
    return _word(names[0]) if len(names) == 1 else f"[{', '.join(map(_word, names))}]"


def _word(name: Any) -> str:
    """A name as YAML reads it back; quoted if it is more than a plain word."""
    text = str(name)
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", text) is not None
    if plain and text.lower() not in ("null", "true", "false", "yes", "no", "on", "off"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _comment(name: str) -> str:
    return " ".join(name.split())
