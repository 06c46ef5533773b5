"""The publisher's tables: uploaded or put into data/ by hand, and how they are read."""

from __future__ import annotations

import re
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from shoal.errors import ParameterError, ShoalError
from shoal.studio.context import CSRF_FIELD, CSRF_HEADER, InStudio, Publisher, Studio
from shoal.studio.names import TABLE
from shoal.studio.pages import page
from shoal.studio.security import same
from shoal.studio.uploads import receive_table

router = APIRouter()

Name = Annotated[str, Path(pattern=TABLE)]
_Setting = Annotated[str, Field(max_length=200)]


class Reading(BaseModel):
    """How a table is read; empty means found by itself."""

    id: _Setting = ""
    time: _Setting = ""
    value: _Setting = ""
    subject: _Setting = ""
    layout: _Setting = ""
    timezone: _Setting = ""
    missing: _Setting = ""
    align: _Setting = ""
    duplicates: _Setting = ""
    complete: _Setting = ""
    quantity: _Setting = ""


_UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "csrf": {"type": "string"},
                        "name": {"type": "string"},
                        "file": {"type": "string", "format": "binary"},
                    },
                    "required": ["file"],
                }
            }
        },
    }
}


@router.post("/tables", openapi_extra=_UPLOAD_BODY)
async def upload(request: Request, studio: InStudio, session: Publisher) -> Response:
    """Take a table in."""
    added = ""

    def check(fields: dict[str, str]) -> None:
        given = request.headers.get(CSRF_HEADER, fields.get(CSRF_FIELD))
        if not same(given, session.csrf):
            raise HTTPException(403, "The form was too old or came from elsewhere. Reload the page, try again.")

    def keep(aside: FilePath, file_name: str, wanted: str) -> None:
        nonlocal added
        added = table_name(file_name, wanted)
        studio.project.add_table(aside, added)

    await receive_table(request, studio.project.folder / "data", check, keep)
    return RedirectResponse(f"/tables/{added}", 303)


def table_name(file_name: str, wanted: str) -> str:
    """The name of an uploaded table: the one asked for, else that of the file, as a slug.

    Examples
    --------
    >>> table_name("C:\\\\My days (2024).CSV", ""), table_name("x.parquet", "days")
    ('My-days-2024.csv', 'days.parquet')
    >>> table_name("../../etc/passwd.csv", "")
    'passwd.csv'
    """
    path = PurePosixPath(file_name.replace("\\", "/"))
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise ParameterError("A table is a file that ends in .csv or .parquet. Choose such a file.")
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", wanted.strip() or path.stem).strip("-")[:64]
    return f"{stem or 'table'}{suffix}"


@router.get("/tables/{table}")
def show_table(table: Name, studio: InStudio, session: Publisher) -> HTMLResponse:
    """What a table holds: counts, no values."""
    path = _path(studio, table)
    counts, problem = None, ""
    told: tuple[str, ...] = ()
    try:
        panel = studio.project.panel(table)
        told = panel.origin.told if panel.origin is not None else ()
        counts = [
            ("series", panel.n_series),
            ("subjects", panel.n_subjects),
            ("instants", panel.n_instants),
            ("channels", panel.n_channels),
            ("missing values", panel.n_missing),
        ]
    except ShoalError as error:
        problem = str(error)
    return page(
        "table.html.j2",
        200,
        table=table,
        megabytes=path.stat().st_size / 1e6,
        counts=counts,
        problem=problem,
        told=told,
        reading=Reading(**studio.project.reading(table)),
        session=session,
    )


@router.post("/tables/{table}/reading")
def set_reading(table: Name, studio: InStudio, session: Publisher, form: Annotated[Reading, Form()]) -> Response:
    """Say how a table is read."""
    _path(studio, table)
    studio.project.set_reading(table, {name: text.strip() for name, text in form.model_dump().items()})
    return RedirectResponse(f"/tables/{table}", 303)


def _path(studio: Studio, table: str) -> FilePath:
    try:
        return studio.project.table(table)
    except ShoalError:
        raise HTTPException(404, "There is no such table.") from None
