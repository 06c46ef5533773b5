"""Long work in the background, one job at a time: its progress, how to stop it, and how it resumes after a restart.

A job is a kind of work and its arguments, both stored in the database, so that a studio that was killed resumes
unfinished jobs. Work writes its result completely or not at all, and may be repeated. Progress is kept in memory only.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from shoal.errors import GuaranteeNotMetError, ParameterError, ShoalError
from shoal.studio.security import tell_place
from shoal.studio.store import ProjectStore
from shoal.studio.tokens import Clock

if TYPE_CHECKING:
    from shoal.studio.context import Studio

Status = Literal["waiting", "running", "done", "refused", "failed", "stopped"]
MOST_LISTED = 100
MOST_WAITING = 20
MOST_STARTS = 3
"""How often a job may be started: one that crashes the whole studio must not do so forever."""

Work = Callable[["Studio", dict[str, Any], "Progress"], str]
"""The work of a job; it returns the page with the result."""

_KINDS: dict[str, Work] = {}


def job_kind(name: str) -> Callable[[Work], Work]:
    """Register a kind of work."""

    def known(work: Work) -> Work:
        _KINDS[name] = work
        return work

    return known


class StoppedError(Exception):
    """Someone stopped the job, or the studio."""


@dataclass(frozen=True)
class Job:
    """A piece of work."""

    job: str
    title: str
    kind: str
    arguments: dict[str, Any]
    back: str
    """The page to return to if it fails."""
    status: Status = "waiting"
    message: str = ""
    leads_to: str = ""
    """The page with the result."""
    at: float = 0.0
    step: str = ""
    done: int | None = None
    total: int | None = None

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.status not in ("waiting", "running")


class Progress:
    """Receives the steps of a job and tells it to stop; what `process` calls `steps`."""

    def __init__(self, tell: Callable[..., None], stop: threading.Event) -> None:
        self._tell, self._stop = tell, stop
        self._name = ""
        self.may_stop = True
        """Whether the job may stop before the next step: not while something is being written."""

    def start(self, name: str) -> None:
        """Start a step."""
        self._name = name
        self._tell(step=name, done=None, total=None)
        self._heed()

    def advance(self, done: int, total: int) -> None:
        """Report progress within the step."""
        self._tell(step=self._name, done=done, total=total)
        self._heed()

    def say(self, text: str) -> None:
        """Show a note, such as what was taken for a subject, as a step."""
        self._tell(step=text)

    def stopping(self) -> bool:
        """Whether it should stop; for work that stops by itself."""
        return self._stop.is_set()

    def _heed(self) -> None:
        if self.may_stop and self._stop.is_set():
            raise StoppedError


class Jobs:
    """The jobs of a project."""

    def __init__(self, studio: Studio, store: ProjectStore, clock: Clock) -> None:
        self._studio, self._store, self._clock = studio, store, clock
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="studio-job")
        self._lock = threading.Lock()
        self._live: dict[str, dict[str, Any]] = {}
        """The progress of a job."""
        self._stops: dict[str, threading.Event] = {}
        self._closing = self._resumed = False

    def start(self, title: str, kind: str, arguments: Mapping[str, Any], *, back: str) -> str:
        """Queue work; returns the name of the job. Work that is already queued or running is not queued twice."""
        text, name = json.dumps(arguments, sort_keys=True), secrets.token_hex(8)
        with self._store.writing() as connection:
            rows = connection.execute(
                "select job, kind, arguments from jobs where status in ('waiting', 'running')"
            ).fetchall()
            for job, its_kind, its_arguments in rows:
                if (its_kind, its_arguments) == (kind, text):
                    return str(job)
            if len(rows) >= MOST_WAITING:
                raise ParameterError(f"{MOST_WAITING} jobs are waiting. Let some of them finish first.")
            connection.execute(
                "insert into jobs (job, title, kind, arguments, back, status, at) values (?, ?, ?, ?, ?, 'waiting', ?)",
                (name, title, kind, text, back, self._clock()),
            )
            connection.execute(
                "delete from jobs where status not in ('waiting', 'running') and job not in "
                "(select job from jobs order by rowid desc limit ?)",
                (MOST_LISTED,),
            )
        self._submit(name)
        return name

    def resume(self) -> None:
        """Resume, once, what was unfinished when the studio stopped or was killed."""
        with self._lock:
            if self._resumed:
                return
            self._resumed = True
            known = set(self._stops)
        for job in self.under_way():
            if job.job not in known:
                self._submit(job.job)

    def find(self, job: str) -> Job | None:
        """A job by its name."""
        return next(iter(self._select("where job = ?", job)), None)

    def listed(self) -> list[Job]:
        """All recorded jobs, newest first."""
        return self._select("order by rowid desc")

    def under_way(self) -> list[Job]:
        """Unfinished jobs, in order."""
        return self._select("where status in ('waiting', 'running') order by rowid")

    def of(self, kind: str, **arguments: Any) -> Job | None:
        """The latest job of a kind whose arguments include these."""
        found = self._select("where kind = ? order by rowid desc", kind)
        return next((job for job in found if arguments.items() <= job.arguments.items()), None)

    def stop(self, job: str) -> None:
        """Stop a job: at once if it is waiting, else at its next step."""
        with self._store.writing() as connection:
            connection.execute("update jobs set status = 'stopped' where job = ? and status = 'waiting'", (job,))
        with self._lock:
            if job in self._stops:
                self._stops[job].set()

    def close(self) -> None:
        """Stop at the next step; unfinished jobs resume when the studio starts again."""
        self._closing = True
        with self._lock:
            for stop in self._stops.values():
                stop.set()
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _submit(self, job: str) -> None:
        with self._lock:
            self._stops[job] = threading.Event()
        self._worker.submit(self._run, job)

    def _run(self, name: str) -> None:
        stop = self._stops[name]
        with self._store.writing() as connection:
            begun = connection.execute(
                "update jobs set status = 'running', starts = starts + 1 where job = ? "
                "and status in ('waiting', 'running') returning kind, arguments, starts",
                (name,),
            ).fetchone()
        if begun is None:
            self._forget(name)
            return
        kind, arguments, starts = begun
        if starts > MOST_STARTS or kind not in _KINDS:
            self._end(name, "failed", "The studio stopped several times while this was running. Start it again.")
            return
        progress = Progress(lambda **how_far: self._tell(name, how_far), stop)
        try:
            page = _KINDS[kind](self._studio, json.loads(arguments), progress)
            if stop.is_set() and progress.may_stop:
                raise StoppedError
        except StoppedError:
            self._stopped(name)
        except GuaranteeNotMetError as error:
            self._end(name, "refused", str(error))
        except ShoalError as error:
            self._end(name, "failed", str(error))
        except Exception as error:
            # Its message may quote the data.
            tell_place(error)
            self._end(name, "failed", "An internal error; its location is logged.")
        else:
            self._end(name, "done", leads_to=page)

    def _stopped(self, name: str) -> None:
        """End a job that someone stopped; if the studio itself is stopping, the job resumes later."""
        if not self._closing:
            self._end(name, "stopped", "It was stopped. Its results so far are kept.")
            return
        with self._store.writing() as connection:
            connection.execute("update jobs set status = 'waiting', starts = starts - 1 where job = ?", (name,))

    def _tell(self, name: str, how_far: dict[str, Any]) -> None:
        with self._lock:
            self._live[name] = self._live.get(name, {}) | how_far

    def _end(self, name: str, status: Status, message: str = "", *, leads_to: str = "") -> None:
        with self._store.writing() as connection:
            connection.execute(
                "update jobs set status = ?, message = ?, leads_to = ? where job = ?",
                (status, message, leads_to, name),
            )
        self._forget(name)

    def _forget(self, name: str) -> None:
        """Drop what is kept in memory of a job that has ended."""
        with self._lock:
            self._live.pop(name, None)
            self._stops.pop(name, None)

    def _select(self, where: str, *values: object) -> list[Job]:
        with self._store.reading() as connection:
            rows = connection.execute(
                f"select job, title, kind, arguments, back, status, message, leads_to, at from jobs {where}", values
            ).fetchall()
        with self._lock:
            live = dict(self._live)
        found = (Job(row[0], row[1], row[2], json.loads(row[3]), *row[4:]) for row in rows)
        return [replace(job, **live.get(job.job, {})) for job in found]
