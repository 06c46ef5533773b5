"""Long work in the background, one piece at a time, and how far it is.

Jobs are not kept over a restart: each writes its result whole or not at all, and can be started again.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

from shoal.errors import GuaranteeNotMetError, ParameterError, ShoalError
from shoal.studio.security import tell_place

Status = Literal["waiting", "running", "done", "refused", "failed"]
MOST_JOBS = 200
MOST_WAITING = 20


@dataclass(frozen=True)
class Job:
    """A piece of work."""

    job: str
    title: str
    back: str
    """The page to return to where it did not end well."""
    status: Status = "waiting"
    step: str = ""
    message: str = ""
    leads_to: str = ""
    """The page with the result."""

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ("done", "refused", "failed")


class Progress:
    """Where a job tells its step; what `process` calls steps."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._name = ""

    def start(self, name: str) -> None:
        """A step begins."""
        self._name = name
        self._tell(name)

    def advance(self, done: int, total: int) -> None:
        """The step is that far."""
        self._tell(f"{self._name}: {done} of {total}")

    def say(self, text: str) -> None:
        """What was taken for a subject, shown as a step."""
        self._tell(text)


class Jobs:
    """The jobs since the studio was started."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="studio-job")
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()

    def start(self, title: str, work: Callable[[Progress], str], *, back: str) -> str:
        """Put work in line; gives the job's name. The work returns the page with its result."""
        job = Job(secrets.token_hex(8), title, back)
        with self._lock:
            if sum(not j.ended for j in self._jobs.values()) >= MOST_WAITING:
                raise ParameterError(f"{MOST_WAITING} jobs are waiting. Let some of them end first.")
            self._jobs[job.job] = job
            while len(self._jobs) > MOST_JOBS:
                self._jobs.popitem(last=False)
        self._worker.submit(self._run, job.job, work)
        return job.job

    def find(self, job: str) -> Job | None:
        """A job by its name."""
        with self._lock:
            return self._jobs.get(job)

    def under_way(self) -> list[Job]:
        """Jobs that have not ended."""
        with self._lock:
            return [job for job in self._jobs.values() if not job.ended]

    def close(self) -> None:
        """Drop what waits; what runs is let to its end."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _run(self, name: str, work: Callable[[Progress], str]) -> None:
        self._change(name, status="running")
        try:
            page = work(Progress(lambda step: self._change(name, step=step)))
        except GuaranteeNotMetError as error:
            self._change(name, status="refused", message=str(error))
        except ShoalError as error:
            self._change(name, status="failed", message=str(error))
        except Exception as error:
            # Its message may quote the data.
            tell_place(error)
            self._change(name, status="failed", message="An internal error; its place is logged.")
        else:
            self._change(name, status="done", leads_to=page)

    def _change(self, name: str, **changes: Any) -> None:
        with self._lock:
            if name in self._jobs:
                self._jobs[name] = replace(self._jobs[name], **changes)
