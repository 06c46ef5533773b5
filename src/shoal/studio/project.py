"""The project folder: raw tables, tasks, metrics, releases. Files in data/ are never served."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import GuaranteeNotMetError, InputError, ParameterError, ShoalError
from shoal.features import Learned, ShownGroups
from shoal.features.shown_groups import FILE_NAME as SHOWN
from shoal.labels import LabelTask
from shoal.model import Panel
from shoal.read import read_panel
from shoal.read.columns import parse_layout, parse_request, place_columns
from shoal.read.options import OPTIONS, given_options, option_text
from shoal.read.sources import open_table
from shoal.studio.names import endings, is_slug, is_table
from shoal.studio.store import ProjectStore
from shoal.studio.uploads import ASIDE

READING = tuple(name for name, option in OPTIONS.items() if not option.is_role)
"""Settings of `read_panel` a publisher can give for a table; roles of further columns belong to a draft."""

Reading = dict[str, Any]
"""How a table is read: text as on the command line, with a list for value columns."""

KINDS = ("linear", "deep")
_COLUMNS = ("id", "time", "value", "subject")
_NAMES = ("id", "subject", "layout")
_BY_TASK = ("tasks", "identities", "links", "questions", "labels", "results")

LEDGER = "ledger.jsonl"
"""The file of earlier releases, in the project."""


def identity(task: LabelTask) -> str:
    """SHA-256 of what a task shows, promises and asks, independent of where and when it is loaded."""
    asked = (task.question, task.n_pairs, task.choice, task.repeats, task.common, task.seed)
    return hashlib.sha256(json.dumps([task.digest, *asked]).encode()).hexdigest()


def stored_reading(connection: sqlite3.Connection, table: str) -> Reading:
    """How a table is read, as it is stored."""
    row = connection.execute("select settings from readings where name = ?", (table,)).fetchone()
    return {} if row is None else _listed(json.loads(row[0]))


def _listed(reading: Mapping[str, Any]) -> Reading:
    """The same with value columns as a list; earlier studios separated them with commas."""
    value = reading.get("value")
    several = {"value": [name.strip() for name in value.split(",")]} if isinstance(value, str) else {}
    return {**reading, **several}


class Project:
    """A publisher's folder.

    Names are checked again here, where they become paths.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("data", "drafts", "tasks", "metrics", "releases"):
                (folder / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(f"{str(folder)!r} cannot be used as a project folder: {error.strerror}.") from None
        self.store = ProjectStore(folder / "studio.sqlite")

    def tables(self) -> list[str]:
        """Names of the tables in data/."""
        return sorted(p.name for p in (self.folder / "data").iterdir() if p.is_file() and is_table(p.name))

    def table(self, name: str) -> Path:
        """The file of a table that exists."""
        if not is_table(name) or not (path := self.folder / "data" / name).is_file():
            raise InputError("There is no such table in the project.")
        return path

    def add_table(self, aside: Path, name: str) -> None:
        """Move a complete upload into place; an existing table is never replaced."""
        if not is_table(name):
            raise ParameterError(
                f"The name of a table has letters, digits, _ and -, at most 64, and ends in {endings()}."
            )
        try:
            os.link(aside, self.folder / "data" / name)  # unlike a rename, it fails if the file exists
        except FileExistsError:
            raise ParameterError(f"The project already has a table {name}. Choose another name.") from None

    def remove_half_uploads(self) -> None:
        """Remove incomplete uploads left by a killed studio."""
        for path in (self.folder / "data").glob(f"{ASIDE}*"):
            path.unlink(missing_ok=True)

    def reading(self, table: str) -> Reading:
        """How a table is read; settings that are detected are empty."""
        with self.store.reading() as connection:
            return stored_reading(connection, table)

    def set_reading(self, table: str, settings: Mapping[str, Any]) -> None:
        """Save how a table is read; refused if subjects who were shown or released would get other names."""
        given = given_options({name: settings[name] for name in READING if settings.get(name) not in (None, "")})
        kept = _listed({name: value if name == "value" else option_text(value) for name, value in given.items()})
        with self.store.writing() as connection:
            before = stored_reading(connection, table)
            if table in self.protected(connection) and self._names(table, kept) != self._names(table, before):
                raise ParameterError(
                    f"A task of means or a release was made from {table}, and the project knows its subjects by the "
                    "id and subject they had there. With other columns they would count as strangers. Keep the id, "
                    "the subject and the layout as they are."
                )
            connection.execute("insert or replace into readings values (?, ?)", (table, json.dumps(kept)))

    def _names(self, table: str, reading: Reading) -> tuple[object, ...]:
        """The columns that identify subjects, as named or as reading the table would detect them."""
        named = {name: setting for name, setting in reading.items() if name in _COLUMNS}
        request = parse_request(**dict.fromkeys((*_COLUMNS, "quasi", "sensitive", "other")) | named)
        try:
            with open_table(str(self.table(table)), None) as opened:
                plan = place_columns(opened.names, request, parse_layout(reading.get("layout", "auto")))
        except ShoalError:
            return tuple(reading.get(name) for name in _NAMES)
        return plan.layout, plan.id, plan.subject

    def protected(self, connection: sqlite3.Connection) -> set[str]:
        """Recorded tables from which a release was made, or a task that shows anything but the series themselves."""
        found = {name for (name,) in connection.execute("select name from released_tables")}
        made = connection.execute(
            "select task, source_table, source from tasks left join identities using (task) where source_table not null"
        ).fetchall()
        return found | {table for task, table, source in made if (source or self._source(task)) != "public"}

    def _source(self, task: str) -> str:
        """What a task from an earlier studio shows; assumed not public in doubt."""
        try:
            return LabelTask.load(self.task_folder(task)).source
        except ShoalError:
            return "presanitised"

    def panel(self, table: str, *, reading: Reading | None = None) -> Panel:
        """The raw series of a table, for methods only; read with its own settings or with others."""
        panel: Panel = read_panel(self.table(table), **(self.reading(table) if reading is None else reading))
        return panel

    def readings_beside(self, table: str, other: str) -> list[Reading]:
        """How to read a table for comparison with another: with its own names but the other's settings, then as itself.

        The last is its own settings, which must succeed.
        """
        own, theirs = self.reading(table), self.reading(other)
        found: list[Reading] = []
        for kept in (_NAMES, (*_NAMES, *_COLUMNS), READING):
            mixed = {name: (own if name in kept else theirs).get(name, "") for name in READING}
            reading = {name: setting for name, setting in mixed.items() if setting}
            found = [*(before for before in found if before != reading), reading]
        return found

    def tasks(self) -> list[str]:
        """Names of the tasks, newest last; those copied there by hand come first."""
        with self.store.reading() as connection:
            made = dict(connection.execute("select task, at from tasks").fetchall())
        folders = (self.folder / "tasks").iterdir()
        found = [p.name for p in folders if is_slug(p.name) and (p / "task.json").is_file()]
        return sorted(found, key=lambda task: (made.get(task, 0.0), task))

    def task_folder(self, task: str) -> Path:
        """The folder of a task, existing or not."""
        if not is_slug(task):
            raise ParameterError("The name of a task has letters, digits, _ and -, at most 64.")
        return self.folder / "tasks" / task

    def add_task(self, name: str, task: LabelTask, table: str, at: float) -> None:
        """Save a task, its identity and its source."""
        self.refuse_task(name)
        # Recorded first: a kill in between may waste a name, but the record of what was made from a table is never
        # lost.
        with self.store.writing() as connection:
            connection.execute("insert into tasks values (?, ?, ?)", (name, table, at))
            connection.execute("insert into identities values (?, ?, ?)", (name, identity(task), task.source))
        try:
            task.save(self.task_folder(name))
        except BaseException:
            with self.store.writing() as connection:
                connection.execute("delete from tasks where task = ?", (name,))
                connection.execute("delete from identities where task = ?", (name,))
            raise

    def refuse_task(self, name: str) -> None:
        """Raise if there is or was a task of that name: links and labels are stored under it."""
        if self.task_folder(name).exists():
            raise ParameterError(f"The project already has a task {name}. Choose another name.")
        known = " union all ".join(f"select 1 from {where} where task = ?1" for where in _BY_TASK)
        with self.store.reading() as connection:
            if connection.execute(f"select exists ({known})", (name,)).fetchone()[0]:
                raise ParameterError(
                    f"The project had a task {name}, whose links and labels are kept. Choose another name."
                )

    def recognise(self, name: str, task: LabelTask) -> None:
        """Refuse a folder that holds another task than before; a task copied there by hand is recorded."""
        with self.store.writing() as connection:
            row = connection.execute("select identity from identities where task = ?", (name,)).fetchone()
            if row is None:
                connection.execute("insert into identities values (?, ?, ?)", (name, identity(task), task.source))
        if row is not None and row[0] != identity(task):
            raise GuaranteeNotMetError(
                f"The folder of task {name} contains another task than the one its links and labels belong to. Restore "
                "the old folder, or move this one to a name of its own."
            )

    def table_of(self, task: str) -> str | None:
        """The table a task was made from."""
        with self.store.reading() as connection:
            return self._table_of(connection, task)

    @staticmethod
    def _table_of(connection: sqlite3.Connection, task: str) -> str | None:
        row = connection.execute("select source_table from tasks where task = ?", (task,)).fetchone()
        return None if row is None else row[0]

    def shown_groups(self, panel: Panel) -> dict[str, ShownGroups]:
        """The groups in which analysts were shown subjects of a panel, by task of means, whatever its table."""
        found = {task: LabelTask.load(self.task_folder(task)).shown_groups for task in self.tasks()}
        return {task: shown for task, shown in found.items() if shown is not None and shown.concern(panel)}

    def shown_files(self, table: str) -> list[Path]:
        """The files of these groups; the table is read only if there are any."""
        if not any((self.task_folder(task) / SHOWN).is_file() for task in self.tasks()):
            return []
        return [self.task_folder(task) / SHOWN for task in self.shown_groups(self.panel(table))]

    def public_tasks(self) -> dict[str, LabelTask]:
        """The tasks that show series as they are."""
        found = {task: LabelTask.load(self.task_folder(task)) for task in self.tasks()}
        return {name: task for name, task in found.items() if task.source == "public"}

    def closed_by(self, task: str) -> str | None:
        """The table whose series a public task shows and that became private; None while the task is open."""
        with self.store.reading() as connection:
            row = connection.execute("select source_table from closed_tasks where task = ?", (task,)).fetchone()
            if row is None and (own := self._table_of(connection, task)) in self.protected(connection):
                source = connection.execute("select source from identities where task = ?", (task,)).fetchone()
                return own if source == ("public",) else None
        return None if row is None else str(row[0])

    def metric_path(self, task: str, kind: str) -> Path:
        """Where the metric learned from a task is kept."""
        if not is_slug(task) or kind not in KINDS:
            raise ParameterError("A metric belongs to a task and is linear or deep.")
        return self.folder / "metrics" / f"{task}.{kind}.npz"

    def metrics(self, task: str) -> dict[str, Learned]:
        """The metrics learned from a task, by kind."""
        paths = {kind: self.metric_path(task, kind) for kind in KINDS}
        return {kind: Learned.load(path) for kind, path in paths.items() if path.is_file()}

    def all_metrics(self) -> list[str]:
        """Every learned metric as `task.kind`."""
        found = ((task, kind) for task in self.tasks() for kind in KINDS)
        return [f"{task}.{kind}" for task, kind in found if self.metric_path(task, kind).is_file()]

    def save_metric(self, task: str, learned: Learned) -> None:
        """Save a learned metric, replacing an earlier one."""
        path = self.metric_path(task, learned.kind)
        aside = path.with_name(f".{path.name}")
        learned.save(aside)
        aside.replace(path)

    @property
    def ledger(self) -> Path:
        """The file of earlier releases of this project."""
        return self.folder / LEDGER

    def releases(self) -> list[str]:
        """Names of the release folders."""
        folders = (self.folder / "releases").iterdir()
        return sorted(p.name for p in folders if is_slug(p.name) and (p / "release.json").is_file())

    def release(self, name: str) -> Path:
        """The folder of a release, existing or not."""
        if not is_slug(name):
            raise ParameterError("The name of a release has letters, digits, _ and -, at most 64.")
        return self.folder / "releases" / name

    def result(self, task: str, name: str) -> dict[str, Any] | None:
        """The latest result about a task."""
        with self.store.reading() as connection:
            row = connection.execute("select content from results where task = ? and name = ?", (task, name)).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    def set_result(self, task: str, name: str, content: Mapping[str, Any], at: float) -> None:
        """Save a result about a task: figures, no values."""
        with self.store.writing() as connection:
            connection.execute(
                "insert or replace into results values (?, ?, ?, ?)", (task, name, json.dumps(content), at)
            )
