"""Every sentence a closed service says about its answers, next to the condition under which it is true.

Under differential privacy, no condition depends on the data: the presence of a sentence would itself reveal something.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.closed.settings import ClosedPart
from shoal.closed.table import ClosedTable
from shoal.model.sentence import Sentence


@dataclass(frozen=True, eq=False)
class Answering:
    """What a service answers from, and by which rules."""

    settings: ClosedPart
    table: ClosedTable

    @property
    def noisy(self) -> bool:
        """Whether answers carry noise."""
        return self.settings.epsilon is not None


Said = Sentence[Answering]

ANSWERS = (
    Said(
        "cells",
        lambda a: not a.noisy,
        lambda a: (
            f"Answers come from groups of at least {a.settings.minimum_group} subjects. Every series is taken to be "
            "like its group: conditions, counts, means and quantiles are those of groups, not of series as measured."
        ),
    ),
    Said(
        "one series each",
        lambda a: not a.noisy and a.table.one_each,
        lambda a: "Counts refer to published series, one for each subject.",
    ),
    Said(
        "several series",
        lambda a: not a.noisy and not a.table.one_each,
        lambda a: "Counts are those of groups; a subject with several series may count more than once.",
    ),
    Said(
        "gaps",
        lambda a: not a.noisy and bool(np.isnan(a.table.values).any()),
        lambda a: "Some groups have no value at some instants. They are left out of answers that need one there.",
    ),
    Said(
        "minimum",
        lambda a: not a.noisy,
        lambda a: (
            f"No answer, and no combination of answers, concerns fewer than {a.settings.minimum_group} subjects, "
            "unless it concerns none."
        ),
    ),
    Said(
        "noise",
        lambda a: a.noisy,
        lambda a: (
            f"Answers carry noise; each spends {a.settings.epsilon:g} of the {a.settings.epsilon_recipient:g} a "
            "recipient has. They concern subjects, each with the mean of its series, clipped to bounds set without "
            "the data."
        ),
    ),
    Said(
        "minimum by chance",
        lambda a: a.noisy,
        lambda a: (
            f"A question about fewer than {a.settings.minimum_group} subjects is answered with a chance of at most "
            "one in a million; the noise decides."
        ),
    ),
)
