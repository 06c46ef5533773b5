"""Everything that experiments/pad_paper.py measured, in one place."""

import time
from dataclasses import dataclass

from pad_paper_data import ASKED, INTERESTS, Kind, Sets
from pad_paper_learning import Task, learn_all
from pad_paper_measures import Described, Predicted, Times, describe, predict, take_times
from pad_paper_plan import Plan


@dataclass(frozen=True)
class Results:
    """What page, figures and findings are made of."""

    plan: Plan
    sets: Sets
    predicted: dict[str, Predicted]
    described: dict[str, Described]
    tasks: dict[tuple[str, str], Task]
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


def measure(sets: Sets, plan: Plan, seed: int) -> Results:
    """All of it."""
    begun = time.process_time()
    times = take_times(plan, seed)
    predicted, described = predict(sets, plan, seed), describe(sets, plan)
    tasks = learn_all(sets, plan, seed)
    return Results(plan, sets, predicted, described, tasks, times, time.process_time() - begun)


def _kind(interest: str) -> Kind:
    return next(kind for kind, asked in ASKED.items() if interest in asked)
