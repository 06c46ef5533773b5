"""Exchange stretches of time between series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.arrays import Ints
from shoal.methods.altered import AlteringMethod, candidate_of, check_share, shaped
from shoal.methods.lengths import Length, check_length, instants_in
from shoal.methods.randomness import stream
from shoal.model import Candidate, Panel, Progress
from shoal.model.parameters import check_whole


@dataclass(frozen=True, kw_only=True)
class Permutation(AlteringMethod):
    """Exchange stretches of `length` instants between a share of the series.

    The instants are cut into stretches, the last one may be shorter. In each stretch, a new share of the series is
    drawn, and each of them gets the stretch of another: every value stays at its instant and goes to one series, so the
    values published at every instant are those that were measured, and totals are exact. No series gets a stretch of
    its own subject, unless that subject has more than half of the drawn series.

    Aims at no guarantee: every reading is true, and jumps where stretches meet help to find out whose it is. Judge it
    by attack. A gap moves with its stretch.

    Parameters
    ----------
    length
        How long a stretch is: "6h", "1d", or a number of instants. Shorter hides better and breaks more days apart.
    share
        Share of the series that exchange in each stretch. Larger hides better and leaves fewer true series.
    seed
        Seeds the random numbers, together with the readings; without those, nobody can draw the same again.

    Examples
    --------
    >>> panel = Panel([[1.0, 2.0], [3.0, 4.0]])
    >>> Permutation(length=1, share=1.0).anonymize(panel).values.tolist()
    [[3.0, 4.0], [1.0, 2.0]]

    References
    ----------
    "Data-driven anonymization process applied to time series", table 1 and section 5.1 (type and quantity of
    permutation).
    """

    same_in_all_shards: ClassVar[frozenset[str]] = frozenset({"stretches"})
    name: ClassVar[str] = "permutation"

    length: Length
    share: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        check_length(self.length, "length")
        check_share("share", self.share)
        check_whole("seed", self.seed, 0)

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Draw who exchanges with whom, stretch by stretch."""
        if panel.n_subjects < 2:
            raise ParameterError(
                f"permutation needs at least 2 subjects to exchange between, the panel has {panel.n_subjects}. "
                "Read more series."
            )
        length = instants_in(self.length, panel, "length")
        rng = stream(panel, int(self.seed), self.name)
        x = panel.cube
        values = x.copy()
        n_drawn = max(2, round(float(self.share) * panel.n_series))
        n_exchanged = 0
        starts = range(0, panel.n_instants, length)
        for done, start in enumerate(starts):
            takers, givers = _exchange(rng, panel.subject_codes, n_drawn)
            values[takers, start : start + length] = x[givers, start : start + length]
            n_exchanged += int((panel.subject_codes[takers] != panel.subject_codes[givers]).sum())
            if progress is not None:
                progress(done + 1, len(starts))
        figures = {"stretches": len(starts), "exchanges": n_exchanged}
        return candidate_of(self, panel, shaped(panel, values), figures=figures)


def _exchange(rng: np.random.Generator, subjects: Ints, n_drawn: int) -> tuple[Ints, Ints]:
    """Series drawn at random, and for each the one whose stretch it gets: each is named once on both sides."""
    drawn = rng.permutation(len(subjects))[:n_drawn]
    # Subjects in random order, each with its series side by side: moving on by as many places as the largest has
    # series leads every one out of its own subject, unless that is more than half of all.
    order = rng.permutation(int(subjects.max()) + 1)
    drawn = drawn[np.argsort(order[subjects[drawn]], kind="stable")]
    most = int(np.unique(subjects[drawn], return_counts=True)[1].max())
    return drawn, np.roll(drawn, most)
