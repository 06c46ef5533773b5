"""The step *Table*: what a look found, and how the table is read, each problem next to the option that solves it.

Every option of reading is a field, made from its entry in `read.options`; columns are picked from a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args, get_origin

from fastapi import APIRouter, HTTPException, Path, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from shoal.errors import ShoalError
from shoal.process.policy.schema import Data, RoleName
from shoal.read.options import OPTIONS, option_text
from shoal.report.look import look_parts
from shoal.studio.context import InStudio, OfDraft, Publisher, Studio
from shoal.studio.drafts import Draft
from shoal.studio.form_fields import Given, read_form
from shoal.studio.jobs import Progress, job_kind
from shoal.studio.looks import is_quick, kept_look, look_at
from shoal.studio.names import TABLE
from shoal.studio.pages import page
from shoal.studio.project import READING
from shoal.studio.sessions import Session
from shoal.studio.step_list import draft_page

router = APIRouter()

Name = Annotated[str, Path(pattern=TABLE)]
Choices = tuple[tuple[str, str], ...]

ROLES = get_args(RoleName)
ROLE = "role:"
"""Prefix of the field of a further column."""
WITHHELD = ""
_OF_A_COLUMN = ("id", "time", "subject", "channel")
_USUAL: Mapping[str, tuple[str, ...]] = {
    "missing": ("fail", "drop-series", "drop-instants", "interpolate:2h", "interpolate:2h,drop-series", "keep"),
    "align": ("exact", "resample:15min", "resample:30min", "resample:1h", "resample:1d"),
    "complete": ("1", "0.9", "0.75", "0.5", "any"),
}
"""Values offered for options that accept free text; what a look proposes is added."""
_WORDS = {
    ("missing", "fail"): "refuse the table",
    ("missing", "drop-series"): "leave out series with gaps",
    ("missing", "drop-instants"): "leave out instants with gaps",
    ("missing", "interpolate"): "fill gaps up to {}",
    ("missing", "keep"): "keep them as gaps",
    ("align", "exact"): "as they are",
    ("align", "resample"): "in steps of {}",
    ("duplicates", "fail"): "refuse the table",
    ("duplicates", "first"): "keep the first",
    ("duplicates", "last"): "keep the last",
    ("duplicates", "mean"): "take their mean",
    ("interval", "start"): "start of an interval",
    ("interval", "end"): "end of an interval",
    ("register", "keep"): "keep them as they are",
    ("register", "difference"): "take consumption: their difference",
}
_LABELS = {
    "id": "Name of the series",
    "time": "Time",
    "value": "Readings",
    "subject": "Subject behind several series",
    "channel": "Channel of a reading",
    "missing": "Missing readings",
    "align": "Instants",
    "duplicates": "Rows that differ for one series and time",
    "complete": "Readings a step needs",
    "timezone": "Time zone",
    "dst": "The hour shown twice in autumn",
    "interval": "Times mark the",
    "null": "Words that mean missing",
    "register": "Readings of a register",
    "time_format": "How times are written",
    "decimal": "Decimal mark",
    "split": "Cut series into days or weeks",
    "sql": "SQL",
}
_NOT_FOR_FILES = ("sheet",)


@dataclass(frozen=True)
class OptionField:
    """An option of reading on the page."""

    name: str
    label: str
    value: Any
    choices: Choices = ()
    """Choices; any text if there are none."""
    hint: str = ""
    error: str = ""
    several: bool = False


@router.get("/tables/{table}")
def show_table(table: Name, studio: InStudio, session: Publisher) -> Response:
    """A table that has no draft yet."""
    return _table_page(studio, session, _known(studio, table), None)


@router.post("/tables/{table}")
async def save_table(table: Name, request: Request, studio: InStudio, session: Publisher) -> Response:
    """Save how a table is read; with `to`, create a draft for it."""
    return await run_in_threadpool(_save, await read_form(request), studio, session, _known(studio, table), None)


@router.get("/drafts/{draft}/table")
def show_draft_table(draft: OfDraft, studio: InStudio, session: Publisher) -> Response:
    """The table of a draft."""
    return _table_page(studio, session, _known(studio, draft.table), draft)


@router.post("/drafts/{draft}/table")
async def save_draft_table(draft: OfDraft, request: Request, studio: InStudio, session: Publisher) -> Response:
    """Save how the table of a draft is read, and the roles of its further columns."""
    return await run_in_threadpool(_save, await read_form(request), studio, session, _known(studio, draft.table), draft)


@job_kind("look")
def look_job(studio: Studio, arguments: dict[str, Any], progress: Progress) -> str:
    """Examine a large table."""
    progress.start("counting the rows of the table")
    look_at(studio.project, arguments["table"])
    return str(arguments["page"])


def _save(given: Given, studio: Studio, session: Session, table: str, draft: Draft | None) -> Response:
    settings = {name: given[name] if name == "value" else given[name][0].strip() for name in READING if given.get(name)}
    roles = {
        name.removeprefix(ROLE): values[0]
        for name, values in given.items()
        if name.startswith(ROLE) and values and values[0] in ROLES
    }
    errors = _mistakes(settings)
    if not errors:
        try:
            studio.project.set_reading(table, settings)
            if is_quick(studio.project, table):
                studio.project.panel(table)
            if draft is not None:
                studio.drafts.save(draft.name, studio.drafts.fields(draft.name) | {"roles": roles})
        except ShoalError as error:
            errors = {blamed(str(error), settings): str(error)}
    if errors:
        return _table_page(studio, session, table, draft, tried=settings, roles=roles, errors=errors)
    if "stay" in given:
        return RedirectResponse(f"/drafts/{draft.name}/table" if draft else f"/tables/{table}", 303)
    name = draft.name if draft else studio.drafts.add(table, {"roles": roles} if roles else {})
    return RedirectResponse(f"/drafts/{name}/purpose", 303)


def _mistakes(settings: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with settings, by field, according to the policy schema."""
    given = dict(settings)
    if given.get("complete", "any") != "any":
        try:
            given["complete"] = float(given["complete"])
        except ValueError:
            return {"complete": "Give a share such as 0.75, or any."}
    try:
        Data.model_validate(given)
    except ValidationError as error:
        return {str(one["loc"][0]): f"This cannot be used. {_hint(str(one['loc'][0]))}" for one in error.errors()}
    return {}


def blamed(message: str, settings: Mapping[str, Any]) -> str:
    """The field that an error is about: the first option it names; none if it names no option."""
    written = {name: (f"--{name}", f"`{name}`", f"{name}=") for name in READING}
    places = [(message.find(text), name) for name, texts in written.items() for text in texts if text in message]
    places += [(0, name) for name in READING if message.startswith(f"{name}:")]
    named = [name for name in reversed(_OF_A_COLUMN) if settings.get(name) and repr(settings[name]) in message]
    return named[0] if named else min(places)[1] if places else ""


def _table_page(
    studio: Studio,
    session: Session,
    table: str,
    draft: Draft | None,
    *,
    tried: Mapping[str, Any] | None = None,
    roles: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    here = f"/drafts/{draft.name}/table" if draft else f"/tables/{table}"
    found, problem = kept_look(studio.project, table), ""
    if found is None and not is_quick(studio.project, table):
        job = studio.jobs.start(f"Looking at {table}", "look", {"table": table, "page": here}, back="/")
        return RedirectResponse(f"/jobs/{job}", 303)
    if found is None:
        try:
            found = look_at(studio.project, table)
        except ShoalError as error:
            problem = str(error)
    saved = studio.project.reading(table)
    reading = tried if tried is not None else saved or (found or {}).get("settings", {})
    errors = dict(errors or {})
    fields = option_fields(found, reading, errors)
    status = 400 if errors else 200
    facts: dict[str, Any] = {
        "table": table,
        "here": here,
        "saved": bool(saved),
        "megabytes": studio.project.table(table).stat().st_size / 1e6,
        "look": None if found is None else look_parts(found),
        "problem": problem,
        "findings": [] if found is None else findings(found, fields),
        "columns": [fields[name] for name in ("id", "time", "value", "subject", "channel")],
        "rest": [one for name, one in fields.items() if name not in (*_OF_A_COLUMN, "value")],
        "further": _further(found, roles if roles is not None else draft.policy.roles if draft else None),
        "roles": [(WITHHELD, "withhold"), *((role, role) for role in ROLES)],
        "role": ROLE,
        "error": errors.get("", ""),
        "n_errors": len(errors),
    }
    if draft is None:
        return page("table.html.j2", status, session=session, step="table", **facts)
    return draft_page("table.html.j2", studio, session, draft, "table", status, **facts)


def findings(found: Mapping[str, Any], fields: Mapping[str, OptionField]) -> list[dict[str, Any]]:
    """The problems a look found, each once, with the option that solves it."""
    told, taken = [], set()
    for problem in found["problems"]:
        name = (problem["flag"] or "").removeprefix("--").partition(" ")[0].replace("-", "_")
        field = fields.get(name) if name not in taken else None
        taken.add(name)
        told.append({"name": problem["name"], "sentence": problem["sentence"], "field": field})
    return told


def option_fields(
    found: Mapping[str, Any] | None, reading: Mapping[str, Any], errors: Mapping[str, str]
) -> dict[str, OptionField]:
    """Every reading option as a field, with its choices."""
    names = _column_names(found, reading)
    fields = {}
    for name in READING:
        if name in _NOT_FOR_FILES:
            continue
        option, value = OPTIONS[name], reading.get(name, "")
        field = OptionField(
            name, _LABELS.get(name, name.capitalize()), value, hint=_hint(name), error=errors.get(name, "")
        )
        proposed = (found or {}).get("settings", {}).get(name)
        if name == "value":
            values = [value] if isinstance(value, str) and value else list(value)
            field = replace(field, value=values, choices=tuple((n, n) for n in names), several=True)
        elif name in _OF_A_COLUMN:
            field = replace(field, choices=(("", "detected"), *((n, n) for n in names)), hint="")
        elif offered := _offered(option.kind, name, value, proposed):
            said = any(worded == name for worded, _ in _WORDS)
            hint = "" if said else field.hint
            field = replace(field, value=option_text(value) if value else "", choices=offered, hint=hint)
        else:
            field = replace(field, value=option_text(value) if value else "")
        fields[name] = field
    return fields


def _offered(kind: Any, name: str, value: Any, proposed: Any) -> Choices:
    """The values of an option, default first."""
    default = OPTIONS[name].default
    words = _USUAL.get(name) or _literals(kind)
    if not words:
        return ()
    more = [option_text(one) for one in (value, proposed) if one]
    usual = option_text(default) if default is not None else ""
    listed = dict.fromkeys([*words, *more])
    first = f"{in_words(name, usual)} (usual)" if usual else "detected"
    return (("", first), *((word, in_words(name, word)) for word in listed if word != usual))


def in_words(name: str, setting: str) -> str:
    """A setting as a list shows it.

    Examples
    --------
    >>> in_words("missing", "interpolate:2h,drop-series"), in_words("align", "resample:1h"), in_words("dst", "first")
    ('fill gaps up to 2h, leave out series with gaps', 'in steps of 1h', 'first')
    """
    parts = [part.partition(":") for part in setting.split(",")]
    said = [_WORDS.get((name, word), "").format(detail) for word, _, detail in parts]
    return ", ".join(said) if all(said) else setting


def _literals(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return tuple(str(word) for word in get_args(kind))
    return tuple(word for part in get_args(kind) if get_origin(part) is Literal for word in get_args(part))


def _hint(name: str) -> str:
    return OPTIONS[name].meaning if name in OPTIONS else ""


def _column_names(found: Mapping[str, Any] | None, reading: Mapping[str, Any]) -> list[str]:
    """Columns to choose from: those a look names. Columns of a wide table are subjects and are not named."""
    known = [] if found is None else [column["name"] for column in found["understanding"]["columns"]]
    known += [] if found is None else [column["name"] for column in found["columns"]]
    given = [reading.get(name) for name in (*_OF_A_COLUMN, "value")]
    told = [n for one in given if one for n in (one if isinstance(one, list) else [one])]
    return [name for name in dict.fromkeys([*known, *told]) if name]


def _further(found: Mapping[str, Any] | None, roles: Mapping[str, str] | None) -> list[dict[str, str]]:
    """Further columns with their roles, as given or else as proposed; nothing is published unless asked for."""
    columns = [] if found is None else found["columns"]
    return [
        {
            "name": column["name"],
            "role": (roles.get(column["name"], "") if roles is not None else column["role"]) or WITHHELD,
            "reason": column["reason"],
        }
        for column in columns
    ]


def _known(studio: Studio, table: str) -> str:
    try:
        studio.project.table(table)
    except ShoalError:
        raise HTTPException(404, "There is no such table.") from None
    return table
