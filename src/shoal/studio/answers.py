"""The answers of analysts, each stored in its own transaction, and the next question.

The pair at each position is fixed: in a uniform task by its plan, in an active task by the database as soon as the
question is first shown. So an answer that is sent twice, late or out of order still belongs to that pair. Any position
of a uniform plan may be answered, even one that has not been shown yet; an analyst who does so has not looked, which
the repeated questions reveal.
"""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from shoal.labels import Label, Labels, LabelTask, Question
from shoal.studio.project import Project
from shoal.studio.tokens import Clock

Outcome = Literal["stored", "same", "other", "unknown"]


@dataclass(frozen=True)
class LabelProgress:
    """An analyst's progress in a task."""

    question: Question | None
    """The next one; None if all are answered."""
    done: int
    total: int
    last: int | None
    """Position of the latest answer, which undo removes."""


class Answers:
    """The labels of a project."""

    def __init__(self, project: Project, clock: Clock) -> None:
        self._project, self._store, self._clock = project, project.store, clock
        self._lock = threading.Lock()
        self._tasks: dict[str, tuple[object, LabelTask]] = {}
        self._plans: dict[tuple[str, str], dict[int, Question]] = {}

    def task(self, name: str) -> LabelTask:
        """A task, checked when it is first loaded and again whenever its files have changed."""
        folder = self._project.task_folder(name)
        stamp = _stamp(folder)
        with self._lock:
            known = self._tasks.get(name)
            if known is None or known[0] != stamp:
                loaded = LabelTask.load(folder)
                self._project.recognise(name, loaded)
                known = (stamp, loaded)
                self._tasks[name] = known
                self._plans = {key: plan for key, plan in self._plans.items() if key[0] != name}
            return known[1]

    def labels(self, name: str) -> Labels:
        """All labels of a task, in the order they were given."""
        with self._store.reading() as connection:
            return _labels(connection, name)

    def standing(self, name: str, analyst: str) -> LabelProgress:
        """An analyst's progress, with the next question fixed."""
        task = self.task(name)
        plan = self._plan(name, task, analyst)
        with self._store.reading() as connection:
            found = self._look(connection, name, task, analyst, plan)
            labels = _labels(connection, name) if found.question is None and found.done < found.total else None
        if labels is None:
            return found
        # Chosen without holding the lock, because it may take a moment; the first question stored wins.
        chosen = task.questions(labels, analyst, 1) if found.done < task.n_pairs else []
        if found.done >= task.n_pairs:
            with self._store.reading() as connection:
                asked = _asked(connection, name, analyst) | plan
            more = task.further(analyst, asked.values(), max(asked, default=-1) + 1)
            chosen = [] if more is None else [more]
        with self._store.writing() as connection:
            for q in chosen:
                connection.execute(
                    "insert or ignore into questions values (?, ?, ?, ?, ?, ?)",
                    (name, analyst, q.position, q.left, q.right, q.repeat_of),
                )
            return self._look(connection, name, task, analyst, plan)

    def give(self, name: str, analyst: str, position: int, answer: str) -> Outcome:
        """Store an answer once. The same answer again changes nothing; a different one is refused until the first is
        undone."""
        plan = self._plan(name, self.task(name), analyst)
        with self._store.writing() as connection:
            question = plan.get(position) or _asked(connection, name, analyst).get(position)
            if question is None:
                return "unknown"
            before = connection.execute(
                "select answer from labels where task = ? and analyst = ? and position = ?", (name, analyst, position)
            ).fetchone()
            if before is not None:
                return "same" if before[0] == answer else "other"
            (number,) = connection.execute("select coalesce(max(number), 0) + 1 from labels").fetchone()
            connection.execute(
                "insert into labels values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    name,
                    analyst,
                    position,
                    question.left,
                    question.right,
                    question.repeat_of,
                    answer,
                    number,
                    self._clock(),
                ),
            )
            return "stored"

    def undo(self, name: str, analyst: str, position: int) -> bool:
        """Undo the latest answer; False if another one is the latest. Undoing an answer that does not exist
        succeeds."""
        with self._store.writing() as connection:
            if position not in _answered(connection, name, analyst):
                return True
            if position != _last(connection, name, analyst):
                return False
            connection.execute(
                "delete from labels where task = ? and analyst = ? and position = ?", (name, analyst, position)
            )
            return True

    def n_pairs(self, name: str) -> int:
        """Number of questions for an analyst, including those added later."""
        with self._store.reading() as connection:
            return self.task(name).n_pairs + further_pairs(connection, name)

    def ask_further(self, name: str, pairs: int) -> None:
        """Ask every analyst about this many more pairs, or as many as there are."""
        with self._store.writing() as connection:
            wanted = min(further_pairs(connection, name) + pairs, self._most_further(name))
            connection.execute("insert or replace into further_pairs values (?, ?)", (name, wanted))

    def n_left(self, name: str) -> int:
        """How many pairs could still be added."""
        with self._store.reading() as connection:
            return self._most_further(name) - further_pairs(connection, name)

    def _most_further(self, name: str) -> int:
        task = self.task(name)
        return task.n_curves * (task.n_curves - 1) // 2 - task.n_different

    def _plan(self, name: str, task: LabelTask, analyst: str) -> dict[int, Question]:
        with self._lock:
            if (name, analyst) not in self._plans:
                self._plans[name, analyst] = {q.position: q for q in task.plan(analyst)}
            return self._plans[name, analyst]

    @staticmethod
    def _look(
        connection: sqlite3.Connection, name: str, task: LabelTask, analyst: str, plan: dict[int, Question]
    ) -> LabelProgress:
        answered = _answered(connection, name, analyst)
        asked = _asked(connection, name, analyst) | plan
        open_questions = (asked[position] for position in sorted(asked) if position not in answered)
        total = task.n_pairs + further_pairs(connection, name)
        return LabelProgress(next(open_questions, None), len(answered), total, _last(connection, name, analyst))


def further_pairs(connection: sqlite3.Connection, task: str) -> int:
    """How many questions were added to those of a task."""
    row = connection.execute("select pairs from further_pairs where task = ?", (task,)).fetchone()
    return 0 if row is None else int(row[0])


def _stamp(folder: Path) -> object:
    """Changes when a file of the task does."""
    files = (folder / "task.json", folder / "series.parquet")
    return tuple((s.st_mtime_ns, s.st_size, s.st_ino) for s in (p.stat() for p in files if p.is_file()))


def _labels(connection: sqlite3.Connection, task: str) -> Labels:
    rows = connection.execute(
        "select analyst, position, left_curve, right_curve, answer, repeat_of from labels where task = ? "
        "order by number",
        (task,),
    )
    return Labels(tuple(Label(*row) for row in rows))


def _asked(connection: sqlite3.Connection, task: str, analyst: str) -> dict[int, Question]:
    rows = connection.execute(
        "select position, left_curve, right_curve, repeat_of from questions where task = ? and analyst = ?",
        (task, analyst),
    )
    return {row[0]: Question(*row) for row in rows}


def _answered(connection: sqlite3.Connection, task: str, analyst: str) -> set[int]:
    rows = connection.execute("select position from labels where task = ? and analyst = ?", (task, analyst))
    return {position for (position,) in rows}


def _last(connection: sqlite3.Connection, task: str, analyst: str) -> int | None:
    row = connection.execute(
        "select position from labels where task = ? and analyst = ? order by number desc limit 1", (task, analyst)
    ).fetchone()
    return None if row is None else int(row[0])
