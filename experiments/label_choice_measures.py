"""What experiments/label_choice.py measures: what chosen and drawn pairs teach, and whom two releases leave."""

import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pad_paper_data import BUILDING
from pad_paper_data import load as load_days
from scipy.stats import t as student

from shoal import LabelTask, Microaggregation, Panel, simulate
from shoal.attacks import Intersection
from shoal.features import Learned
from shoal.features.interests import Arrival, Departure, Interest, Segment, WindowTotal, distances
from shoal.labels import Label, Labels, learn

Floats = NDArray[np.float64]

OFFICES = "simulated offices"
UNIFORM, ACTIVE = "uniform", "active"
CHOICES = (UNIFORM, ACTIVE)
LUNCH = "lunchtime segment"
INTERESTS: dict[str, Interest] = {
    LUNCH: Segment("11:00", "14:00"),
    "use in the afternoon": WindowTotal("13:00", "17:00"),
    "arrival": Arrival(),
    "departure": Departure(),
}
STEP = "30min"
N_JUDGED = 4000  # pairs of days that no metric has seen


@dataclass(frozen=True)
class Plan:
    """Sizes of everything."""

    repetitions: int = 10
    real_repetitions: int = 5
    persons: int = 80
    unseen: int = 60
    days: int = 5
    k: int = 3  # of the curves that are labelled
    common: float = 0.3  # share of the pairs drawn before anything is chosen
    round: int = 5  # questions handed out together
    labels: tuple[int, ...] = (60, 120, 240)
    crowd: int = 4  # k of the release, below
    task_crowds: tuple[int, ...] = (4, 8, 16)
    published: tuple[int, ...] = (120, 480)  # persons
    taught: int = 400  # labels of the metric that the release is grouped by


QUICK = Plan(
    repetitions=2,
    real_repetitions=2,
    persons=30,
    unseen=20,
    days=5,
    labels=(40, 60),
    task_crowds=(4, 8),
    published=(60,),
    taught=300,
)


@dataclass
class Taught:
    """What was learned about one interest on one set; every list has one figure for each repetition."""

    correlation: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    used: dict[tuple[str, int], list[bool]] = field(default_factory=lambda: defaultdict(list))

    def mean(self, choice: str, n: int) -> float:
        """Mean correlation with the true distances."""
        return float(np.mean(self.correlation[choice, n]))

    def gain(self, n: int) -> tuple[float, float]:
        """Active less uniform, the mean over repetitions and half the width of Student's 95 % interval."""
        apart = np.subtract(self.correlation[ACTIVE, n], self.correlation[UNIFORM, n])
        reach = float(student.ppf(0.975, len(apart) - 1))
        return float(apart.mean()), reach * float(apart.std(ddof=1)) / len(apart) ** 0.5


@dataclass
class Left:
    """What a task and a release leave together, of persons over all repetitions."""

    k: int
    crowds: list[int] = field(default_factory=list)  # of each person
    chances: list[float] = field(default_factory=list)  # of each repetition, together
    alone: list[float] = field(default_factory=list)  # the better of the two

    def at_most(self, n: int) -> float:
        """Share of persons with so many persons left or fewer, themselves included."""
        return float(np.mean(np.array(self.crowds) <= n))


@dataclass(frozen=True)
class Results:
    """Everything."""

    plan: Plan
    taught: dict[tuple[str, str], Taught]  # by set and interest
    left: dict[
        tuple[int, int, bool], Left
    ]  # by persons, k of the task, and whether the release is by the learned metric
    absentees: float  # share of the persons published who are not there that day, and so alike
    n_used: int  # repetitions in which the metric of the release was found good enough; else it is Euclidean distance
    absent: tuple[str, ...]
    seconds: float

    @property
    def sets(self) -> list[str]:
        """Their names."""
        return list(dict.fromkeys(name for name, _ in self.taught))


def measure(folder: Path, plan: Plan, seed: int) -> Results:
    """All of it."""
    begun = time.process_time()
    quarters = load_days(folder, 8, 450, seed).days.get(BUILDING)
    real = None if quarters is None else quarters[:, ::2]
    sets = [OFFICES] if real is None else [OFFICES, BUILDING]
    taught = {(name, interest): Taught() for name in sets for interest in INTERESTS}
    for repetition in range(plan.repetitions):
        own = int(np.random.SeedSequence([seed, repetition]).generate_state(1)[0] % 2**31)
        days = simulate.occupancy(plan.persons, days=plan.days, step=STEP, seed=own)
        others = simulate.occupancy(plan.unseen, days=plan.days, step=STEP, seed=own + 1).values
        for interest, wanted in INTERESTS.items():
            teach(taught[OFFICES, interest], wanted, days, others, plan, own)
            if real is not None and repetition < plan.real_repetitions:
                shown, private = (real[half] for half in np.array_split(_shuffled(len(real), own), 2))
                teach(taught[BUILDING, interest], wanted, Panel(shown), private, plan, own, public=True)
        print(f"repetition {repetition + 1} after {time.process_time() - begun:.0f} s", flush=True)
    left, absentees, n_used = intersect(plan, seed)
    return Results(
        plan, taught, left, absentees, n_used, () if real is not None else (BUILDING,), time.process_time() - begun
    )


def teach(
    taught: Taught, interest: Interest, days: Panel, unseen: Floats, plan: Plan, seed: int, *, public: bool = False
) -> None:
    """Label by program, learn, and compare with the true distances of days that no metric has seen."""
    one, other = np.random.default_rng([seed, 0]).integers(len(unseen), size=(2, N_JUDGED))
    truth = distances(interest, unseen[one], unseen[other])
    for n in plan.labels:
        for choice in CHOICES:
            how = {"n_pairs": n, "choice": choice, "repeats": 0.0, "common": plan.common, "seed": seed}
            if public:
                task = LabelTask.public(days, statement="one half of a set of research data", **how)
            else:
                task = LabelTask.presanitised(days, k=plan.k, multiple=1, **how)
            learned = learn(task, answers(task, interest, plan.round))
            tried = replace(learned, figures=learned.figures | {"used": True})
            apart = tried.distances(unseen[one], unseen[other])
            taught.correlation[choice, n].append(_correlation(apart, truth))
            taught.used[choice, n].append(learned.used)


def answers(task: LabelTask, interest: Interest, together: int) -> Labels:
    """An analyst to whom the interest matters, and who calls about half of all pairs similar."""
    what = interest.of(task.values)
    apart = np.linalg.norm(what[:, None] - what[None, :], axis=2)
    border = np.median(apart[np.triu_indices(len(what), 1)])
    labels = Labels()
    while questions := task.questions(labels, "anna", together):
        labels = labels.and_also(
            Label("anna", q.position, q.left, q.right, "similar" if apart[q.left, q.right] <= border else "dissimilar")
            for q in questions
        )
    return labels


def intersect(plan: Plan, seed: int) -> tuple[dict[tuple[int, int, bool], Left], float, int]:
    """One day of each person, shown to the analyst in groups by Euclidean distance and published by a learned metric.

    The control publishes by Euclidean distance as well. Also the share of persons who are not there,
    and in how many repetitions the metric was used.
    """
    left = {
        (persons, k, learned): Left(k)
        for persons in plan.published
        for k in plan.task_crowds
        for learned in (True, False)
    }
    n_used, absentees = 0, []
    for repetition in range(plan.repetitions):
        own = int(np.random.SeedSequence([seed, repetition, 1]).generate_state(1)[0] % 2**31)
        metric = lunch_metric(plan, own)
        n_used += metric.used
        for persons in plan.published:
            day = simulate.occupancy(persons, days=1, step=STEP, seed=own)
            absentees.append(float((day.values.sum(axis=1) == 0.0).mean()))
            releases = {
                True: Microaggregation(k=plan.crowd, features=metric).anonymize(day).published,
                False: Microaggregation(k=plan.crowd).anonymize(day).published,
            }
            for k in plan.task_crowds:
                shown = Microaggregation(k=k).anonymize(day).published  # what LabelTask.presanitised shows
                for learned, release in releases.items():
                    found, into = [shown, release], left[persons, k, learned]
                    risk = Intersection().attack(day, found)
                    into.crowds.extend(Intersection().subjects_left(day, found)[1].tolist())
                    into.chances.append(risk.success)
                    into.alone.append(max(risk.alone))
    return left, float(np.mean(absentees)), n_used


def lunch_metric(plan: Plan, seed: int) -> Learned:
    """A metric for the lunchtime segment, from pre-sanitised days; free to cross what was shown, which Shoal is not."""
    days = simulate.occupancy(plan.published[0], days=plan.days, step=STEP, seed=seed)
    task = LabelTask.presanitised(days, k=plan.crowd, multiple=1, n_pairs=plan.taught, repeats=0.0, seed=seed)
    return replace(learn(task, answers(task, INTERESTS[LUNCH], task.n_pairs)), shown=None)


def _shuffled(n: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, 1]).permutation(n)


def _correlation(one: Floats, other: Floats) -> float:
    """Pearson's; a distance that is the same for all pairs tells nothing."""
    return float(np.corrcoef(one, other)[0, 1]) if one.std() > 0.0 and other.std() > 0.0 else 0.0
