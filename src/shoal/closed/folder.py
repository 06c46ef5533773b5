"""The closed folder: what a service answers from. It stays with the publisher, readable by its owner only.

| file | holds |
|---|---|
| `closed.json` | minimum group and budgets |
| `table.npz` | the cells; under differential privacy the curves of the subjects, cut off at the bounds |
| `closed.sqlite` | hashes of tokens, and the log |
| `release/` | the release behind the cells, where the folder was made by a policy |
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path

import numpy as np

from shoal.closed.cells import cells_of_candidate, cells_of_release
from shoal.closed.noisy import curves_of_subjects
from shoal.closed.settings import ClosedPart
from shoal.closed.table import ClosedTable
from shoal.errors import InputError, ReleaseError
from shoal.files.durable import sync, write_aside
from shoal.files.format import check_format
from shoal.model import Candidate
from shoal.release import load_release, verify
from shoal.release.certificate import FILE_NAME

SETTINGS, TABLE, DATABASE, RELEASE = "closed.json", "table.npz", "closed.sqlite", "release"
SUFFIX = ".closed"
FORMAT = 1
"""The current format of the settings and the table."""


def refuse_taken(folder: Path) -> None:
    """Raise if a closed folder must not be created: tokens and the log of an earlier one are never replaced."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ReleaseError(
            f"{str(folder)!r} exists. A closed folder holds tokens and a log and is never replaced; choose another one."
        )


def make_closed_folder(folder: Path, candidate: Candidate, settings: ClosedPart) -> None:
    """Create a closed folder from a candidate; the settings are written last and mark it as complete."""
    if settings.epsilon is not None and settings.lower is not None and settings.upper is not None:
        table = curves_of_subjects(candidate.private.original, settings.lower, settings.upper)
    else:
        table = cells_of_candidate(candidate, settings.minimum_group)
    _write(folder, table, settings)


def find_closed_folder(path: Path) -> Path:
    """The closed folder for a path: the folder itself, or the one next to a release, created if necessary."""
    if (path / SETTINGS).is_file():
        return path
    if not (path / FILE_NAME).is_file():
        raise InputError(f"{str(path)!r} is neither a closed folder (no {SETTINGS}) nor a release (no {FILE_NAME}).")
    beside = path.absolute().with_name(f"{path.absolute().name}{SUFFIX}")
    if (beside / SETTINGS).is_file():
        return beside
    refuse_taken(beside)
    outcome = verify(path)
    if outcome.findings:
        raise ReleaseError(f"No answers from a release that does not verify: {outcome.findings[0]}.")
    settings = ClosedPart()
    _write(beside, cells_of_release(load_release(path), settings.minimum_group), settings)
    return beside


def _write(folder: Path, table: ClosedTable, settings: ClosedPart) -> None:
    content = io.BytesIO()
    np.savez_compressed(
        content,
        values=table.values,
        weights=table.weights,
        subjects=table.subjects,
        observed=table.observed,
        times=table.times,
        channels=np.array(table.channels),
        timezone=np.array(table.timezone or ""),
        one_each=np.array(table.one_each),
    )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        plain = json.dumps({"format": FORMAT} | settings.model_dump(), indent=2) + "\n"
        for name, written in ((TABLE, content.getvalue()), (SETTINGS, plain.encode())):
            aside = write_aside(folder / name, written, mode=0o600)
            aside.sync()
            aside.put_in_place()
            sync(folder)
    except OSError as error:
        raise ReleaseError(f"Cannot write the closed folder {str(folder)!r}: {error.strerror}.") from None


def load_settings(folder: Path) -> ClosedPart:
    """Minimum group and budgets of a closed folder."""
    try:
        kept = json.loads((folder / SETTINGS).read_bytes())
        check_format(kept.pop("format", 1), FORMAT, SETTINGS)
        return ClosedPart.model_validate(kept)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        raise InputError(f"{SETTINGS} of the closed folder cannot be read as settings.") from None


def load_table(folder: Path) -> ClosedTable:
    """What a closed folder answers from."""
    try:
        with np.load(folder / TABLE, allow_pickle=False) as kept:
            if "observed" not in kept:
                raise InputError(
                    f"{TABLE} of the closed folder does not show how many subjects were observed at an instant; an "
                    "earlier version of Shoal wrote it. Make the folder again."
                )
            table = ClosedTable(
                values=kept["values"],
                weights=kept["weights"],
                subjects=kept["subjects"],
                observed=kept["observed"],
                times=kept["times"],
                channels=tuple(kept["channels"].tolist()),
                timezone=str(kept["timezone"]) or None,
                # Earlier folders do not say.
                one_each="one_each" in kept and bool(kept["one_each"]),
            )
    except (OSError, KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error, EOFError):
        raise _damaged() from None
    if not table.is_sound:
        raise _damaged()
    return table


def _damaged() -> InputError:
    return InputError(f"{TABLE} of the closed folder is damaged. Put back a copy of it, or make the folder again.")
