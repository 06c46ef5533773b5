"""Everything that experiments/pad_paper.py measured, in one place.

It is measured in units that do not depend on each other: in as many processes as are asked for, with the same results,
and each kept in a file where a folder is given, so that an interrupted run can go on.
"""

import hashlib
import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numba
import scipy.optimize  # noqa: F401 - brings a BLAS of its own, which can be limited only once it is there
import sklearn.svm  # noqa: F401 - likewise
from pad_paper_data import ASKED, INTERESTS, KINDS, Kind, Sets
from pad_paper_learning import Task, repeat
from pad_paper_measures import Described, Predicted, Times, describe, predict, take_times
from pad_paper_plan import Plan
from pad_paper_shown import Shown, show_groups
from threadpoolctl import threadpool_limits


@dataclass(frozen=True)
class Results:
    """What page, figures and findings are made of."""

    plan: Plan
    sets: Sets
    predicted: dict[str, Predicted]
    described: dict[str, Described]
    tasks: dict[tuple[str, str], Task]
    shown: dict[tuple[str, str], Shown]
    times: Times
    seconds: float

    def on(self, interest: str) -> list[Task]:
        """The tasks of an interest, one for each set."""
        return [task for task in self.tasks.values() if task.interest == interest]

    @property
    def counted(self) -> list[Task]:
        """The tasks whose labels are counted, in the order of the interests."""
        mains = {interest: self.sets.main(_kind(interest)) for interest in INTERESTS}
        return [self.tasks[mains[interest], interest] for interest in INTERESTS]


@dataclass(frozen=True)
class Unit:
    """A part of the work, under the name of its file."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    keep: Path | None

    def __call__(self) -> tuple[Any, float]:
        """What it finds, or found before, and the seconds of the processor it took."""
        if self.keep is not None and (self.keep / self.name).is_file():
            kept: tuple[Any, float] = pickle.loads((self.keep / self.name).read_bytes())
            return kept
        numba.set_num_threads(1)  # threads that wait for a busy core would be timed as well
        begun = time.process_time()
        with threadpool_limits(limits=1):
            found = self.function(*self.arguments, **self.options)
        outcome = found, time.process_time() - begun
        if self.keep is not None:
            aside = self.keep / f".{self.name}"
            aside.write_bytes(pickle.dumps(outcome))
            aside.replace(self.keep / self.name)
        return outcome


def measure(sets: Sets, plan: Plan, seed: int, *, jobs: int = 1, keep: Path | None = None) -> Results:
    """All of it."""
    if keep is not None:
        # What was measured on other days or with other settings is something else.
        known = [(name, days.tobytes()) for name, days in sets.days.items()]
        digest = hashlib.sha256(repr((replace(plan, repetitions=0), seed, known)).encode()).hexdigest()
        keep = keep / digest[:16]
        keep.mkdir(parents=True, exist_ok=True)
    units = list(_units(sets, plan, seed, keep))
    if jobs == 1:
        outcomes = [unit() for unit in units]
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            outcomes = list(pool.map(Unit.__call__, units))
    found = {unit.name: outcome for unit, outcome in zip(units, outcomes, strict=True)}
    tasks = {place: Task(*place) for place in _places(sets)}
    shown = {place: Shown(*place) for place in _places(sets)}
    for unit in units:
        part, _ = found[unit.name]
        if isinstance(part, Task | Shown):
            (tasks if isinstance(part, Task) else shown)[part.name, part.interest].add(part)
    return Results(
        plan,
        sets,
        found["predicted"][0],
        found["described"][0],
        tasks,
        shown,
        found["times"][0],
        sum(seconds for _, seconds in found.values()),
    )


def _units(sets: Sets, plan: Plan, seed: int, keep: Path | None) -> Iterator[Unit]:
    """The work, repetition by repetition."""
    for repetition in range(plan.repetitions):
        for name, interest in _places(sets):
            given = (name, interest, sets.days[name], plan, seed, repetition)
            slug = f"{name}-{interest}-{repetition}".replace(" ", "_")
            yield Unit(f"shown-{slug}", show_groups, given, {}, keep)
            yield Unit(f"learned-{slug}", repeat, given, {"count": name == sets.main(KINDS[name])}, keep)
    yield Unit("times", take_times, (plan, seed), {}, keep)
    yield Unit("predicted", predict, (sets, plan, seed), {}, keep)
    yield Unit("described", describe, (sets, plan), {}, keep)


def _places(sets: Sets) -> list[tuple[str, str]]:
    return [(name, interest) for name in sets.days for interest in ASKED[KINDS[name]]]


def _kind(interest: str) -> Kind:
    return next(kind for kind, asked in ASKED.items() if interest in asked)
