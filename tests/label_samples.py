"""Panels whose values tell where they come from, and analysts who answer by program."""

import numpy as np

from shoal import Panel
from shoal.labels import Label, Labels

IDS = [f"household-{n:03d}-secret" for n in range(48)]
TIMES = np.datetime64("2024-03-01T00:00") + np.arange(12) * np.timedelta64(1, "h")


def telling_panel(seed=0, n_subjects=24, days=2):
    """Several days for each subject; every value has a fraction that no other value has, nor any mean of some."""
    rng = np.random.default_rng(seed)
    n = n_subjects * days
    shape = rng.integers(1, 9, size=(n, 12)).astype(float)
    subjects = [f"person-{at // days:03d}-secret" for at in range(n)]
    return Panel(shape + rng.random((n, 12)), ids=IDS[:n], times=TIMES, subjects=subjects)


def answers(task, questions, analyst="anna", window=slice(3, 6), within=None):
    """Labels of an analyst to whom the total of a window matters; by default about half of all pairs are similar."""
    totals = task.values[:, window].sum(axis=1)
    if within is None:
        within = np.median(np.abs(totals[:, None] - totals[None, :]))
    return [
        Label(
            analyst,
            question.position,
            question.left,
            question.right,
            "similar" if abs(totals[question.left] - totals[question.right]) <= within else "dissimilar",
            question.repeat_of,
        )
        for question in questions
    ]


def fully_answered(task, analyst="anna", **how):
    """All questions of a task, a few at a time."""
    labels = Labels()
    while questions := task.questions(labels, analyst, 10):
        labels = labels.and_also(answers(task, questions, analyst, **how))
    return labels
