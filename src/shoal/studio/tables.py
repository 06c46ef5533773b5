"""The publisher's tables: uploaded or copied into data/ by hand, and how they are read."""

from __future__ import annotations

import re
from pathlib import Path as FilePath
from pathlib import PurePosixPath

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from shoal.errors import ParameterError
from shoal.studio.context import CSRF_FIELD, CSRF_HEADER, InStudio, Publisher
from shoal.studio.names import ENDINGS, endings
from shoal.studio.security import same
from shoal.studio.uploads import receive_table

router = APIRouter()


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
    """Receive an upload."""
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
    """The name of an uploaded table: the one requested, else that of the file, as a slug.

    Examples
    --------
    >>> table_name("C:\\\\My days (2024).CSV", ""), table_name("x.parquet", "days")
    ('My-days-2024.csv', 'days.parquet')
    >>> table_name("../../etc/passwd.csv", "")
    'passwd.csv'
    """
    path = PurePosixPath(file_name.replace("\\", "/"))
    suffix = path.suffix.lower()
    if suffix.removeprefix(".") not in ENDINGS:
        raise ParameterError(f"A table is a file that ends in {endings()}. Choose such a file.")
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", wanted.strip() or path.stem).strip("-")[:64]
    return f"{stem or 'table'}{suffix}"
