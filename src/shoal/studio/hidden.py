"""Private tables of a project: series that were protected once are never shown as they are.

A table is private if a release was made from it, or a task that shows anything but the series themselves. The studio
records which tables it released. A release made elsewhere and copied here does not say which table it came from. Unless
it can belong to a recorded table, every table with as many rows as its certificate states counts as private, and if it
states none, every table does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from shoal.errors import GuaranteeNotMetError, InputError, ParameterError, ShoalError
from shoal.labels import copies
from shoal.model import Panel
from shoal.model.names import text_of
from shoal.read.sources import open_table
from shoal.studio.project import Project, Reading, stored_reading


@contextmanager
def protecting(project: Project, table: str, panel: Panel, reading: Reading) -> Iterator[None]:
    """Make a table private while a release or a task of means is made from it, and permanently unless that is refused.

    This also closes public tasks of the table, and those that show one of its series. `reading` is how the panel was
    read.
    """
    shown = [name for name, task in project.public_tasks().items() if any(copies(task.values, panel.rows))]
    with project.store.writing() as connection:
        if stored_reading(connection, table) != reading:
            raise ParameterError(f"The reading of {table} was changed while this was being made. Start again.")
        new = connection.execute("insert or ignore into released_tables values (?)", (table,)).rowcount
        closed = [
            task
            for task in shown
            if connection.execute("insert or ignore into closed_tasks values (?, ?)", (task, table)).rowcount
        ]
    try:
        yield
    except BaseException:
        with project.store.writing() as connection:
            connection.executemany("delete from closed_tasks where task = ?", [(task,) for task in closed])
            if new:
                connection.execute("delete from released_tables where name = ?", (table,))
        raise


def hidden_tables(project: Project) -> list[str]:
    """Tables of the project that are private."""
    with project.store.reading() as connection:
        found = project.protected(connection)
    released = _released_rows(project)
    if not released:
        return [table for table in project.tables() if table in found]
    rows = {table: _rows(project, table) for table in project.tables()}
    of_others = released - {rows[table] for table in found if table in rows} - ({None} if found else set())
    return [t for t, n in rows.items() if t in found or (of_others and (n is None or {n, None} & of_others))]


def refuse_hidden(project: Project, table: str) -> None:
    """Raise if a table is private."""
    if table in hidden_tables(project):
        raise GuaranteeNotMetError(
            f"{table} is private in this project: a task of means or a release was made from it. Its series are not "
            "shown as public. Choose means of groups, or another table."
        )


def refuse_closed(project: Project, task: str) -> None:
    """Raise if series that a public task shows have become private."""
    if closed := project.closed_by(task):
        raise GuaranteeNotMetError(
            f"The task {task} shows series of {closed} as they are, but a task of means or a release was made from "
            f"{closed} since. Its links are closed. Make a task of means of groups."
        )
    if table := project.table_of(task):
        refuse_hidden(project, table)


def refuse_renamed(project: Project, table: str, panel: Panel) -> None:
    """Raise if series of a private table appear under other names, which the ledger would not recognise."""
    names = _subjects(panel)
    for other in hidden_tables(project):
        if other == table:
            continue
        renamed: set[int] = set()
        for hidden in _panels(project, other, table):
            theirs = _subjects(hidden)
            pairs = copies(panel.rows, hidden.rows)
            renamed |= {row for row, alike in pairs if names[row] not in {theirs[place] for place in alike.tolist()}}
        if renamed:
            raise GuaranteeNotMetError(
                f"{len(renamed)} of {panel.n_series} series of {table} are the same as series of {other}, from which "
                "a task of means or a release was made, but have other names: the same subjects would count as "
                f"strangers. Use {other}, or the same names in both. If they are other subjects whose series happen "
                "to be alike, say so in the form."
            )


def hidden_panels(project: Project, shown: str) -> list[Panel]:
    """The series of every private table, for comparison with those of `shown`, however the two are read."""
    panels = []
    for table in hidden_tables(project):
        with suppress(ShoalError):
            panels.append(project.panel(table, reading=project.reading(shown)))
        panels += _panels(project, table, shown)
    return panels


def _panels(project: Project, table: str, shown: str) -> Iterator[Panel]:
    """The series of a private table under its own names, with the settings of `shown` and with its own."""
    *others, own = project.readings_beside(table, shown)
    for reading in others:
        with suppress(ShoalError):
            yield project.panel(table, reading=reading)
    try:
        yield project.panel(table, reading=own)
    except ShoalError as error:
        raise InputError(
            f"The private table {table} must be compared with these series but cannot be read: {error}"
        ) from None


def _subjects(panel: Panel) -> list[str]:
    """The name of the subject of each series."""
    return [text_of(name) for name in (panel.ids if panel.subjects is None else panel.subjects).tolist()]


def _released_rows(project: Project) -> set[int | None]:
    """Row counts of the tables that releases here were made from; None for a release that does not state it."""
    found: set[int | None] = set()
    for release in project.releases():
        try:
            certificate = json.loads((project.release(release) / "release.json").read_bytes())
            found.add(certificate["input"]["rows"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # no certificate, so nothing says what it was made from
    return found


def _rows(project: Project, table: str) -> int | None:
    """Number of rows of a table; None if unknown."""
    try:
        with open_table(str(project.table(table)), None) as opened:
            return sum(len(batch[0]) for batch in opened.batches([0]))
    except ShoalError:
        return None
