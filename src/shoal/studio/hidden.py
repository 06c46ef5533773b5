"""Tables that are private in a project: what was protected once is not shown as it is.

A table is private when a release was made of it, or a task that shows anything but the series themselves. Whether one
was released is known from the studio's own record. A release made elsewhere and put here does not say of which table it
is. Unless it can be of a table on record, every table with as many rows as its certificate says counts as that one, and
where it says nothing every table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from shoal.errors import GuaranteeNotMetError, InputError, ShoalError
from shoal.model import Panel
from shoal.process.labelling import LabelTask
from shoal.read.sources import open_table
from shoal.studio.project import Project


@contextmanager
def released_from(project: Project, table: str) -> Iterator[None]:
    """Record that a release is made of a table; before it is, and no longer where it is refused."""
    with project.store.writing() as connection:
        new = connection.execute("insert or ignore into released_tables values (?)", (table,)).rowcount
    try:
        yield
    except BaseException:
        if new:
            with project.store.writing() as connection:
                connection.execute("delete from released_tables where name = ?", (table,))
        raise


def hidden_tables(project: Project) -> list[str]:
    """Tables of the project that are private."""
    with project.store.reading() as connection:
        found = {name for (name,) in connection.execute("select name from released_tables")}
        made = connection.execute(
            "select task, source_table, source from tasks left join identities using (task) where source_table not null"
        ).fetchall()
    found |= {table for task, table, source in made if (source or _source(project, task)) != "public"}
    released = _released_rows(project)
    if not released:
        return [table for table in project.tables() if table in found]
    rows = {table: _rows(project, table) for table in project.tables()}
    of_others = released - {rows[table] for table in found if table in rows} - ({None} if found else set())
    return [t for t, n in rows.items() if t in found or (of_others and (n is None or {n, None} & of_others))]


def shown_from(project: Project, table: str) -> bool:
    """Whether analysts were shown means of a table."""
    with project.store.reading() as connection:
        made = connection.execute(
            "select task, source from tasks left join identities using (task) where source_table = ?", (table,)
        ).fetchall()
    return any((source or _source(project, task)) == "presanitised" for task, source in made)


def refuse_hidden(project: Project, table: str) -> None:
    """Raise where a table is private."""
    if table in hidden_tables(project):
        raise GuaranteeNotMetError(
            f"{table} is private in this project: a task of means or a release was made from it. Its series are not "
            "shown as public. Choose means of groups, or another table."
        )


def hidden_panels(project: Project, shown: str) -> list[Panel]:
    """The series of every private table, to be compared with those of `shown`: as each is read, and as that one is."""
    panels = []
    for table in hidden_tables(project):
        with suppress(ShoalError):
            panels.append(project.panel(table, read_as=shown))
        try:
            panels.append(project.panel(table))
        except ShoalError as error:
            raise InputError(
                f"The private table {table} has to be compared with these series and cannot be read: {error}"
            ) from None
    return panels


def _source(project: Project, task: str) -> str:
    """What a task shows that was made before that was recorded; in doubt not public."""
    try:
        return LabelTask.load(project.task_folder(task)).source
    except ShoalError:
        return "presanitised"


def _released_rows(project: Project) -> set[int | None]:
    """How many rows the tables had that releases here were made from; None of one that does not say."""
    found: set[int | None] = set()
    for release in project.releases():
        try:
            certificate = json.loads((project.release(release) / "release.json").read_bytes())
            found.add(certificate["input"]["rows"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # no certificate, so nothing that says what it was made from
    return found


def _rows(project: Project, table: str) -> int | None:
    """How many rows a table has; None where that cannot be told."""
    try:
        with open_table(str(project.table(table)), None) as opened:
            return sum(len(batch[0]) for batch in opened.batches([0]))
    except ShoalError:
        return None
