"""The result of a look, for a terminal, a notebook, a page and a program."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from shoal.errors import InputError
from shoal.process.look.advice import Advice, advise
from shoal.process.look.findings import TableFindings, channel_names, column_parts, pictures, span
from shoal.process.look.proposal import column_roles, propose

PRIVATE = "For the publisher: it holds no reading and no identifier, but says much about the table."
"""Printed with every look."""


@dataclass(frozen=True, eq=False)
class Look:
    """Everything about a table at once; what `shoal.look` returns.

    Parameters
    ----------
    source
        How the caller named the table; None for a frame.
    found
        The table as it was understood and counted.
    said
        Settings that the caller gave.
    """

    source: str | None
    found: TableFindings
    said: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def advice(self) -> Advice:
        """Settings that read the table, and the problems in the way."""
        return advise(self.found, self.said)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings with which `read_panel` reads the table."""
        return dict(self.advice.settings)

    @property
    def problems(self) -> list[str]:
        """Problems in the way, most important first, each with its option."""
        return [problem.sentence + (f"  {problem.flag}" if problem.flag else "") for problem in self.advice.problems]

    @property
    def command(self) -> str:
        """A command that anonymizes the table."""
        words = ["shoal", "anonymize", self.source or "TABLE"]
        for setting, value in self.advice.settings.items():
            for entry in value if isinstance(value, list) else [value]:
                words += [f"--{setting.replace('_', '-')}", str(entry)]
        return " ".join(shlex.quote(word) for word in (*words, "--k", str(self.advice.k), "--out", "release"))

    @property
    def policy(self) -> str:
        """A policy for the table, as YAML."""
        return propose(self.found, self.advice, self.source)

    def require_subjects(self) -> None:
        """Refuse a table whose columns may be sensors of one place: a policy would count them as a crowd."""
        if self.found.unlike and "layout" not in self.said:
            raise InputError(f"{self.advice.problems[0].sentence} Say so with layout='wide'.")

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What was found, name by name, for a table of a few lines."""
        known, found, survey = self.found.understanding, self.found, self.found.survey
        ends, step = span(found), found.length(survey.step)
        values = {
            "layout": _layout(found),
            **{f"column {name!r}": f"{role}: {evidence}" for name, role, evidence in column_parts(found)},
            "series": self._series(),
            "span": f"{ends['from']} to {ends['to']}, {ends['days']} days" if "from" in ends else "",
            "step": f"{step} ({_share(survey.n_regular, survey.n_steps)} of all differences)" if step else "",
            "clock": _clock(found),
            "interval": ": ".join(found.interval) if found.on_clock else "",
            "unit": ", ".join(filter(None, (known.unit, known.quantity))),
            "numbers": _numbers(found),
            "missing": _missing(found),
            "repeats": _repeats(found),
            "gaps": _gaps(found),
        }
        return [(name, value) for name, value in values.items() if value]

    def _series(self) -> str:
        found = self.found
        channels = channel_names(found.understanding)
        subjects = f" of {found.n_subjects:,} subjects" if found.subject is not None else ""
        named = f", channels {', '.join(channels)}" if len(channels) > 1 else ""
        return f"{found.n_meters:,} meters{subjects}, {found.size}{named}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, for programs: what was understood, counted, found missing and proposed."""
        found, survey = self.found, self.found.survey
        return {
            "understanding": found.understanding.as_json(),
            "columns": [{"name": name, "role": role, "reason": reason} for name, role, reason in column_roles(found)],
            "counts": {
                "rows": found.n_rows,
                "readings": survey.n_readings,
                "meters": found.n_meters,
                "subjects": found.n_subjects,
                "repeated": found.n_repeated,
                "conflicting": found.n_conflicting,
                "autumn": found.n_autumn,
                "missing_rows": survey.n_missing,
                "absent": found.n_absent,
                "series_with_gaps": int(found.gappy.sum()),
                "zero_meters": int(found.by_meter(survey.zero).sum()),
                "empty_meters": int(found.by_meter(survey.empty).sum()),
                "negative_readings": int(survey.series.negatives.sum()),
                "registers": int(survey.registers.sum()),
            },
            "span": span(found),
            "step": found.length(survey.step),
            "zone": found.changes.zone if found.changes else found.zone,
            "rows": [list(row) for row in self.rows],
            "problems": [problem.as_dict() for problem in self.advice.problems],
            "settings": self.settings,
            "k": self.advice.k,
            "command": self.command,
            "policy": self.policy,
            "pictures": pictures(found),
            "note": PRIVATE,
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        """One self-contained page, with pictures."""
        from shoal.report.look import render_look

        return render_look(self.to_dict(), self.source)

    def _repr_html_(self) -> str:
        """The tables of the page, for a notebook."""
        from shoal.report.look import notebook_look

        return notebook_look(self.to_dict())

    def __repr__(self) -> str:
        rows = [*self.rows, *((f"problem {n}", text) for n, text in enumerate(self.problems, 1))]
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {value}" for name, value in rows]
        return "\n".join([*lines, "", self.command])


def _layout(found: TableFindings) -> str:
    known = found.understanding
    what = {
        "long": "one row per meter and time",
        "day-rows": f"one row per meter and day, {known.n_value_columns} columns of readings",
        "row-per-series": f"one row per meter, {known.n_value_columns} columns of readings",
        "column-per-series": f"one row per time, {known.n_value_columns} columns of readings",
    }[known.shape]
    sections = f", {known.n_sections} sections" if known.n_sections > 1 else ""
    return f"{known.shape}: {what}{sections}"


def _clock(found: TableFindings) -> str:
    known = found.understanding.clock
    told = [known.form, known.zone_evidence]
    if (changes := found.changes) is not None:
        shown = [
            f"{n} {season} hour{'s' * (n != 1)} {what}"
            for n, season, what in (
                (changes.n_skipped, "spring", "skipped"),
                (changes.n_twice, "autumn", "twice"),
                (changes.n_once, "autumn", "once"),
            )
            if n
        ]
        told.append(f"local clock as in {changes.zone} ({', '.join(shown)})")
    return "; ".join(filter(None, told))


def _missing(found: TableFindings) -> str:
    n, words = found.survey.n_missing, found.null_words
    told = f", words for it: {', '.join(words)}" if words else ""
    return f"{n:,} rows without a reading{told}" if n else "none"


def _repeats(found: TableFindings) -> str:
    if not found.n_repeated + found.n_conflicting:
        return "none"
    return f"{found.n_repeated:,} rows repeat another, {found.n_conflicting:,} contradict one"


def _gaps(found: TableFindings) -> str:
    n = found.n_absent
    return f"{n:,} readings, in {int(found.gappy.sum()):,} of {found.survey.n_series:,} series" if n else "none"


def _numbers(found: TableFindings) -> str:
    text = found.understanding.text
    if text is None:
        return ""
    thousands = f", thousands {text.thousands!r}" if text.thousands else ""
    return f"decimal {text.decimal!r}{thousands}, separator {text.separator!r}, {text.encoding}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g} %" if whole else "0 %"
