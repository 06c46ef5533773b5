"""How best to read a table, and what prevents it: settings of `read_panel`, and problems with their options.

Nothing is chosen that would change a reading silently: each setting beyond names of columns belongs to a problem that
says what it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.model.words import plural
from shoal.process.look.findings import TableFindings, identifies, may_be_accounts
from shoal.read.column_survey import called_like_people
from shoal.read.durations import DAY, HOUR, write_duration
from shoal.read.headings import groups_of
from shoal.read.numbers import MISSING_WORDS
from shoal.read.understanding import Part, TableShape

MOST_ASKED = 3
"""Above this many columns that may name people, one question is asked about all of them."""
K = 10
"""The crowd that the proposed command asks for, if there are enough subjects."""

_KEPT = 0.8
"""Share of the series that must remain after filling and dropping; if fewer would, gaps are kept."""


@dataclass(frozen=True)
class Problem:
    """Something the publisher must know before reading, and the option that settles it."""

    name: str
    sentence: str
    flag: str | None = None
    """As written on the command line; None if no option exists."""

    def as_dict(self) -> dict[str, str | None]:
        """For `--json`."""
        return {"name": self.name, "sentence": self.sentence, "flag": self.flag}


@dataclass(frozen=True)
class Advice:
    """Settings that read the table, the largest sensible k, and the problems, most important first."""

    settings: dict[str, Any]
    k: int
    problems: tuple[Problem, ...]


def advise(found: TableFindings, said: dict[str, Any]) -> Advice:
    """What to do with a table; what the caller said stays."""
    settings = _columns(found) | said
    problems: list[Problem] = []
    for part in (
        _unlike,
        _events,
        _subjects,
        _units,
        _far_off,
        _words,
        _registers,
        _interval,
        _clock,
        _long_days,
        _conflicts,
        _instants,
        _gaps,
    ):
        problems += part(found, settings)
    left = _subjects_left(found, settings)
    k = K if left >= 2 * K else max(2, left // 2)
    if left < 2 * K:
        few = "no crowd to hide in" if left < 4 else f"k can be {k} at most"
        problems.insert(
            int(bool(found.unlike)),
            Problem("few subjects", f"{plural(left, 'subject')} can be published together: {few}.", f"--k {k}"),
        )
    problems += [*_doubts(found), *_people(found), *_odd_series(found)]
    return Advice(settings, k, tuple(problems))


def _columns(found: TableFindings) -> dict[str, Any]:
    """The columns by name, if naming them reads the table as it was understood; all others are detected."""
    understanding = found.understanding
    if understanding.shape is TableShape.COLUMN_PER_SERIES and found.by_name:
        time = understanding.column(Part.TIME)
        return {} if time is None or found.unlike else {"time": time.name, "layout": "wide"}
    if understanding.shape is not TableShape.LONG or not found.nameable:
        return {}
    names = {role: [c.name for c in understanding.columns if c.role is role] for role in (Part.ID, Part.TIME)}
    values = [column.name for column in understanding.columns if column.role is Part.VALUE]
    return {"id": names[Part.ID][0], "time": names[Part.TIME][0], "value": values}


def _unlike(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    """Columns that may not be subjects: only the publisher knows, so nothing is set."""
    if not found.unlike or "layout" in settings:
        return []
    n = found.understanding.n_value_columns
    if found.understanding.shape is TableShape.LONG:
        taken = "They are read as channels of one subject, such as sensors of one place."
    else:
        taken = "They may be sensors of one place, and a guarantee would count them as a crowd."
    sentence = f"{n} columns have readings, and {found.unlike}. {taken} Treat them as subjects only if each is one."
    return [Problem("sensors of one place?", sentence, "--layout wide")]


def _subjects(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    subject = found.subject
    if subject is None:
        return _asked(found)
    settings["subject"] = subject.name
    if not subject.n_shared:
        return []
    sentence = (
        f"{found.n_meters:,} meters belong to {found.n_subjects:,} subjects: by column {subject.name!r}, "
        f"{subject.n_shared:,} of them have several. k must count subjects."
    )
    return [Problem("accounts with several meters", sentence, f"--subject {subject.name}")]


def _events(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    survey = found.survey
    if survey.step is not None or survey.n_series < 2:
        return []
    sentence = f"Each of {survey.n_series:,} series has one reading: this looks like a table of events, not of series."
    return [Problem("events?", sentence, "--method reposition --sensitive COLUMN")]


def _asked(found: TableFindings) -> list[Problem]:
    """Columns that may name people with several meters, though they are not called so: only the publisher knows."""
    names = [
        c for c in found.columns if may_be_accounts(c) and "postcodes" not in (called_like_people(c.name), c.shape)
    ]
    if len(names) > MOST_ASKED:
        listed = ", ".join(repr(c.name) for c in names[:MOST_ASKED])
        sentence = (
            f"{len(names)} columns, such as {listed}, have entries that several meters share. If one of them names "
            "people, k must count them."
        )
        return [Problem("one person, several meters?", sentence, "--subject COLUMN")]
    return [
        Problem(
            "one person, several meters?",
            f"{plural(c.n_shared, 'entry', 'entries')} of {c.name!r} {'has' if c.n_shared == 1 else 'have'} several "
            "meters. If they name people, k must count them.",
            f"--subject {c.name}",
        )
        for c in names
    ]


def _units(found: TableFindings, _: dict[str, Any]) -> list[Problem]:
    """Meters in several units: nothing is converted, so Wh and kWh would be compared."""
    mixed = [c for c in found.columns if c.static and c.n_entries > 1 and "unit" in groups_of(c.name)]
    return [
        Problem(
            "several units",
            f"Column {c.name!r} states {c.n_entries:,} units, one for each meter, and readings are taken as printed. "
            "Convert them to one unit first.",
        )
        for c in mixed
    ]


def _far_off(found: TableFindings, _: dict[str, Any]) -> list[Problem]:
    """Series whose readings are of another order of magnitude: a mean with a far larger one is mostly its own."""
    problems = []
    for larger, what in ((True, "{} times"), (False, "a {}th of")):
        apart = found.far_off(larger=larger)
        if not len(apart):
            continue
        n, first = len(apart), int(apart[0, 0]) + 1
        # To a power of ten: no reading follows from it.
        ratio = what.format(f"{10 ** round(float(np.log10(np.median(apart[:, 1])))):,}")
        where = f"{'' if n == 1 else 'the first is '}number {first:,} of {found.survey.n_series:,} in the table"
        sentence = (
            f"{plural(n, 'series')} ({where}) read{'s' * (n == 1)} about {ratio} the middle one: another "
            "unit? Nothing is converted."
        )
        theirs = f" A mean with {'it' if n == 1 else 'one of them'} would be mostly its own." if larger else ""
        problems.append(Problem("another unit?", sentence + theirs))
    return problems


def _words(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    """Words beyond those that reading takes as missing by default, and text that is neither word nor number."""
    problems = [Problem("unreadable", trouble) for trouble in found.troubles]
    known = {*MISSING_WORDS, *found.understanding.null_words}
    odd = sorted(word for word in found.words if word and word.lower() not in known)
    if odd:
        settings.setdefault("null", ",".join(found.null_words))
        n = sum(found.words[word] for word in odd)
        sentence = f"Words that stand for missing readings: {', '.join(odd)}, {plural(n, 'time')}."
        problems.append(Problem("words for missing", sentence, f"--null {settings['null']}"))
    if n := found.words.get("", 0):
        sentence = f"{plural(n, 'cell')} with text where a reading should be. List the words that mean missing."
        problems.append(Problem("text among readings", sentence, "--null WORD"))
    return problems


def _interval(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    interval, why = found.interval
    if interval != "end" or found.understanding.shape is not TableShape.LONG:
        return []
    settings.setdefault("interval", "end")
    return [Problem("ends of intervals", f"Times name the end of an interval: {why}.", "--interval end")]


def _registers(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    survey = found.survey
    n, live = int(survey.registers.sum()), int((~survey.empty & ~survey.zero).sum())
    if not n or 2 * n < live:
        return []
    sentence = f"{n:,} of {survey.n_series:,} series only grow: they are register readings, not consumption."
    settings.setdefault("register", "difference")
    return [Problem("registers", sentence, "--register difference")]


def _clock(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    changes = found.changes
    if changes is None:
        return []
    shown = []
    if changes.n_skipped:
        shown.append("an hour is missing in spring")
    if changes.n_twice:
        shown.append("an hour comes twice in autumn")
    if changes.n_once:
        shown.append("an hour that should come twice in autumn comes once")
    settings.setdefault("timezone", changes.zone)
    sentence = (
        f"Times are those of a local clock with summer time: {' and '.join(shown)}, as in {changes.zone} and other "
        "zones with these changes."
    )
    problems = [Problem("local clock", sentence, f"--timezone {changes.zone}")]
    if found.n_undecided and changes.n_twice + changes.n_once:
        settings.setdefault("dst", "first")
        sentence = (
            "In the hour that comes twice, some series have more or fewer than two rows for a time; if their order "
            "does not decide, the first hour is taken."
        )
        problems.append(Problem("autumn hour", sentence, "--dst first"))
    return problems


def _long_days(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    n = found.n_beyond
    if not n or "timezone" in settings:
        return []
    sentence = f"{plural(n, 'reading')} of a 25th hour: days follow a local clock that goes back in autumn."
    if (zone := found.long_days) is None:
        return [Problem("local days", f"{sentence} Name its zone.", "--timezone ZONE")]
    settings["timezone"] = zone
    sentence += f" {zone} has such a day in the table, as do other zones."
    return [Problem("local days", sentence, f"--timezone {zone}")]


def _conflicts(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    n = found.n_conflicting
    if not n:
        return []
    settings["duplicates"] = "first"
    more = f" Rows that repeat another exactly count once: {found.n_repeated:,}." if found.n_repeated else ""
    sentence = f"Rows with the series and time of another but a different reading: {n:,}.{more}"
    return [Problem("duplicates that differ", sentence, "--duplicates first")]


def _instants(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    survey = found.survey
    n, step = found.n_irregular, found.length(survey.step)
    if not n or step is None:
        return []
    settings["align"] = f"resample:{step}"
    n_own = int((survey.series.steps != survey.step).sum() - (survey.series.steps == 0).sum())
    other = f" {plural(n_own, 'series')} have another step." if n_own > 0 else ""
    sentence = (
        f"The times of the table are not evenly spaced: most readings of a series are {step} apart, "
        f"{survey.n_steps - survey.n_regular:,} of {survey.n_steps:,} differences are not.{other}"
    )
    return [Problem("uneven times", sentence, f"--align resample:{step}")]


def _gaps(found: TableFindings, settings: dict[str, Any]) -> list[Problem]:
    survey, n = found.survey, found.n_absent
    if found.n_pairs_absent:
        settings["missing"] = "keep"
        lack = plural(found.n_pairs_absent, "channel")
        sentence = f"{lack} of some meters {'is' if found.n_pairs_absent == 1 else 'are'} not in the table."
        return [Problem("channels that lack", f"{sentence} {n:,} more readings are missing.", "--missing keep")]
    if not n or survey.step is None:
        return []
    longest = _fillable(survey.step, on_clock=found.on_clock)
    short = write_duration(longest) if found.on_clock else str(longest // survey.step)
    unfilled = found.by_meter(~survey.unfilled(longest))
    left = int(unfilled.sum())
    if left >= _KEPT * found.n_meters:
        way = f"interpolate:{short}" + (",drop-series" if left < found.n_meters or "align" in settings else "")
        what = f"gaps up to {short} can be filled, which leaves {left:,} of {found.n_meters:,} meters complete"
    else:
        way = "keep"
        what = f"filling gaps up to {short} would leave {left:,} of {found.n_meters:,} meters, so they are kept"
    settings["missing"] = way
    in_rows = f", {survey.n_missing:,} of them in rows without a reading" if survey.n_missing else ""
    sentence = (
        f"{n:,} readings are missing ({_percent(n / (n + survey.n_readings))}){in_rows}. "
        f"{int(found.gappy.sum()):,} of {survey.n_series:,} series have gaps: {what}."
    )
    return [Problem("gaps", sentence, f"--missing {way}")]


WAYS_OUT = "drop-series, drop-instants, {interpolate: 2h} or keep"
"""What to do with gaps."""


def _fillable(step: int, *, on_clock: bool) -> int:
    """The longest gap that a straight line may fill: two hours, or two instants if the step is longer."""
    return max(2 * HOUR, 2 * step) if on_clock and step < DAY else 2 * step


def _subjects_left(found: TableFindings, settings: dict[str, Any]) -> int:
    """About how many subjects remain after series with gaps are dropped."""
    if "drop-series" not in settings.get("missing", "") or found.survey.step is None:
        return found.n_subjects
    whole = found.by_meter(~found.survey.unfilled(_fillable(found.survey.step, on_clock=found.on_clock)))
    return max(0, found.n_subjects - int((~whole).sum()))


def _doubts(found: TableFindings) -> list[Problem]:
    return [Problem("not settled", doubt) for doubt in found.understanding.doubts]


def _people(found: TableFindings) -> list[Problem]:
    told = [
        f"{column.name!r} ({why})"
        for column in found.columns
        if (why := identifies(column)) is not None and (found.subject is None or column.name != found.subject.name)
    ]
    if not told:
        return []
    if len(told) == 1:
        sentence = f"A column that identifies people: {told[0]}. It is never read unless you name it."
    else:
        sentence = f"Columns that identify people: {', '.join(told)}. They are never read unless you name them."
    return [Problem("people", sentence)]


def _odd_series(found: TableFindings) -> list[Problem]:
    survey, problems = found.survey, []
    if n := int(found.by_meter(survey.empty).sum()):
        problems.append(Problem("empty meters", f"{plural(n, 'meter')} without readings."))
    if n := int(found.by_meter(survey.zero | survey.empty).sum()) - n:
        problems.append(Problem("meters of zeros", f"{plural(n, 'meter')} with nothing but zeros; they are kept."))
    if n := int((survey.series.negatives > 0).sum()):
        total = int(survey.series.negatives.sum())
        problems.append(
            Problem(
                "negative readings",
                f"{plural(total, 'negative reading')} in {n} series, as from export to the grid; they are kept.",
            )
        )
    return problems


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
