"""A label task as a folder: `task.json`, which says what is promised and asked, and `series.parquet`.

For a pre-sanitised panel also `shown.json`, readable by its owner only, with the hashes of the people behind each
curve.

The seal is the SHA-256 of everything else in `task.json`, the digest that of the curves and their guarantee. They
detect accidents, not intent: anyone who can write the folder can write a matching seal. The guarantee is checked on the
values each time a task is opened.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from shoal.errors import GuaranteeNotMetError, InputError
from shoal.features import ShownGroups
from shoal.features.shown_groups import FILE_NAME as GROUPS
from shoal.files.durable import sync
from shoal.labels.questions import Asking
from shoal.labels.shown import Shown, Source
from shoal.release.canonical import read_long
from shoal.release.files import NotAPanelError, time_array, write_blocks
from shoal.release.private import write_privately

FILE_NAME = "task.json"
SERIES = "series.parquet"

_ROWS_AT_ONCE = 1 << 20


class TaskCertificate(BaseModel):
    """The content of `task.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    shoal: str
    format: Literal[1] = 1
    source: Source
    guarantee: dict[str, Any]
    digest: str
    curves: int
    instants: int
    timezone: str | None
    questions: int
    n_pairs: int
    choice: Literal["uniform", "active"]
    repeats: float
    common: float
    question: str
    seed: int
    seal: str = ""

    def sealed(self) -> TaskCertificate:
        """The same certificate with its seal set."""
        unsealed = self.model_copy(update={"seal": ""}).as_bytes()
        return self.model_copy(update={"seal": hashlib.sha256(unsealed).hexdigest()})

    def as_bytes(self) -> bytes:
        """Its only serialisation."""
        return (json.dumps(self.model_dump(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def certify(shown: Shown, asking: Asking) -> dict[str, Any]:
    """The certificate as plain types for JSON."""
    plain: dict[str, Any] = json.loads(_certificate(shown, asking).as_bytes())
    return plain


def _certificate(shown: Shown, asking: Asking) -> TaskCertificate:
    settings = asdict(asking) | {"n_pairs": int(asking.n_pairs), "seed": int(asking.seed)}
    return TaskCertificate(
        shoal=importlib.metadata.version("shoal"),
        source=shown.source,
        guarantee=shown.guarantee,
        digest=shown.digest(),
        curves=len(shown.values),
        instants=len(shown.times),
        timezone=shown.timezone,
        questions=sum(asking.counts(len(shown.values))[::2]),
        **settings | {"repeats": float(asking.repeats), "common": float(asking.common)},
    ).sealed()


def refuse_folder(folder: Path) -> None:
    """Refuse a folder that is not empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{str(folder)!r} exists. Choose another folder for the label task.")


def write_task(shown: Shown, asking: Asking, groups: ShownGroups | None, folder: Path) -> Path:
    """Write the folder completely or not at all."""
    refuse_folder(folder)
    partial = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.partial-", dir=folder.parent))
        write_blocks(_blocks(shown), partial / SERIES, "parquet")
        (partial / FILE_NAME).write_bytes(_certificate(shown, asking).as_bytes())
        if groups is not None:
            write_privately(partial / GROUPS, groups.as_bytes())
        read_task(partial)  # the content was checked before; this checks what was written
        partial.chmod(0o755)  # not mkdtemp's 0700: readable by those who can read its parent
        for path in (partial / SERIES, partial / FILE_NAME, partial):
            sync(path)
        partial.rename(folder)
        sync(folder.parent)
    except OSError as error:
        raise InputError(f"Cannot write the label task {str(folder)!r}: {error.strerror}.") from None
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def _blocks(shown: Shown) -> Iterator[pa.Table]:
    rows, n_instants = np.repeat(np.arange(len(shown.values)), shown.crowds), len(shown.times)
    height = max(1, _ROWS_AT_ONCE // n_instants)
    for first in range(0, len(rows), height):
        some = rows[first : first + height]
        columns = [
            pa.array(np.repeat(np.arange(first, first + len(some)), n_instants), pa.int64()),
            time_array(np.tile(shown.times, len(some)), shown.timezone),
            pa.array(shown.values[some].reshape(-1), pa.float64()),
        ]
        yield pa.table(columns, names=["series", "time", "value"])


def read_task(folder: Path) -> tuple[Shown, Asking, ShownGroups | None]:
    """What is shown and asked, from files that are those written; the guarantee is for the task to check."""
    path = folder / FILE_NAME
    if not path.is_file() or not (folder / SERIES).is_file():
        raise InputError(f"{str(folder)!r} is not a label task: it has no {FILE_NAME} or no {SERIES}.")
    content = path.read_bytes()
    try:
        certificate = TaskCertificate.model_validate_json(content)
        sealed = certificate.sealed().as_bytes()
    except (ValueError, RecursionError):  # from validation, and from numbers that JSON does not have
        raise GuaranteeNotMetError(_changed(FILE_NAME)) from None
    if sealed != content:
        raise GuaranteeNotMetError(_changed(FILE_NAME))
    try:
        table = read_long(
            folder / SERIES,
            "series",
            ["value"],
            what="series",
            timezone=certificate.timezone,
            most_rows=None,
            label_type=pa.int64(),
        )
    except NotAPanelError:
        raise GuaranteeNotMetError(_changed(SERIES)) from None
    rows = table.figures[..., 0]
    if not np.isfinite(rows).all():
        raise GuaranteeNotMetError(_changed(SERIES))
    curves, crowds = np.unique(rows, axis=0, return_counts=True)
    shown = Shown(
        curves, crowds.astype(np.int64), table.clock, certificate.timezone, certificate.source, certificate.guarantee
    )
    if shown.digest() != certificate.digest:
        raise GuaranteeNotMetError(_changed(SERIES))
    asked = ("n_pairs", "choice", "repeats", "common", "question", "seed")
    return shown, Asking(**{name: getattr(certificate, name) for name in asked}), _groups(folder, shown)


def _groups(folder: Path, shown: Shown) -> ShownGroups | None:
    """Who is behind which curve; without it, a release could not stay within what was shown."""
    if shown.source != "presanitised":
        return None
    if not (folder / GROUPS).is_file():
        raise InputError(
            f"{str(folder)!r} has no {GROUPS}, which records whom analysts were shown together, so that a release can "
            "stay within those groups. Restore it, or build the task again."
        )
    return ShownGroups.load(folder / GROUPS)


def _changed(name: str) -> str:
    return f"{name} was changed after the task was saved: its SHA-256 differs. Nothing is shown; build the task again."
