"""Uploads: read piece by piece into a temporary file, which is moved into place only when complete.

The fields of the form precede the file, so the token is checked before any of the table is stored.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from fastapi import HTTPException, Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from shoal.errors import InputError

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

_LONGEST_FIELD = 4096
_MOST_PARTS = 8
ASIDE = ".upload-"
"""Prefix of the name of an incomplete file."""


class _Form:
    """A form with one file, parsed as its pieces arrive."""

    def __init__(self, file: IO[bytes], check: Callable[[dict[str, str]], None]) -> None:
        self._file, self._check = file, check
        self.fields: dict[str, str] = {}
        self.file_name: str | None = None
        self._n_parts = 0
        self._header = self._value = b""
        self._disposition: dict[bytes, bytes] = {}
        self._name, self._is_file, self._data = "", False, b""

    @property
    def callbacks(self) -> MultipartCallbacks:
        """What the parser calls."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_end,
            "on_part_data": self._part_data,
            "on_part_end": self._end,
        }

    def _begin(self) -> None:
        self._n_parts += 1
        if self._n_parts > _MOST_PARTS:
            raise HTTPException(400, "The form has too many parts.")
        self._disposition, self._data = {}, b""

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]
        if len(self._header) > _LONGEST_FIELD:
            raise HTTPException(400, "The form has a header that is too long.")

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        if len(self._value) > _LONGEST_FIELD:
            raise HTTPException(400, "The form has a header that is too long.")

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = parse_options_header(self._value)[1]
        self._header = self._value = b""

    def _headers_end(self) -> None:
        self._name = self._disposition.get(b"name", b"").decode(errors="replace")
        self._is_file = b"filename" in self._disposition
        if not self._is_file:
            return
        if self.file_name is not None:
            raise HTTPException(400, "Send one table at a time.")
        self.file_name = self._disposition[b"filename"].decode(errors="replace")
        self._check(self.fields)

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self._file.write(data[start:end])
            return
        self._data += data[start:end]
        if len(self._data) > _LONGEST_FIELD:
            raise HTTPException(400, "The form has a field that is too long.")

    def _end(self) -> None:
        if not self._is_file:
            self.fields[self._name] = self._data.decode(errors="replace")


async def receive_table(
    request: Request, folder: Path, check: Callable[[dict[str, str]], None], keep: Callable[[Path, str, str], None]
) -> None:
    """Read an upload into a file in `folder` and pass it to `keep`, with the file's name and the form's `name`.

    `check` gets the fields before the file begins and raises if the upload must be refused.
    """
    kind, options = parse_options_header(request.headers.get("content-type"))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not 1 <= len(boundary) <= 200:
        raise HTTPException(400, "Use the form on the start page to send the table.")
    # Removed in any case: `keep` made another link to it.
    with tempfile.NamedTemporaryFile(dir=folder, prefix=ASIDE) as aside:
        form = _Form(aside.file, check)
        try:
            parser = MultipartParser(boundary, form.callbacks)
            async for piece in request.stream():
                parser.write(piece)
            parser.finalize()
        except FormParserError:
            raise HTTPException(400, "The form could not be read. Send the table again.") from None
        except OSError as error:
            raise InputError(f"The table could not be written: {error.strerror}.") from None
        if form.file_name is None:
            # Nothing was refused because nothing came.
            check(form.fields)
            raise HTTPException(400, "No file was chosen. Go back and choose a table.")
        aside.flush()
        keep(Path(aside.name), form.file_name, form.fields.get("name", ""))
