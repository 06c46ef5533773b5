"""Publish some of the series among others that belong to nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.methods.altered import AlteringMethod, candidate_of, check_share, refuse_gaps
from shoal.methods.fictives import make_fictives
from shoal.methods.randomness import stream
from shoal.model import Candidate, Panel, Progress
from shoal.model.parameters import check_whole

LEAST = 3
"""The fewest drawn subjects from which fictive series can be made."""


@dataclass(frozen=True, kw_only=True)
class SamplingWithFictives(AlteringMethod):
    """Publish the series of a random sample of subjects, mixed with fictive series.

    A share of the subjects is drawn without replacement and published as measured. Fictive series get their principal
    component scores each from another of the drawn series, with noise (a smoothed bootstrap), are rounded to the digits
    of the readings, and drawn again if they come closer to a real series than half the smallest distance between two
    real ones: they have the means, variances and correlations of the real ones and belong to nobody.

    Nobody can be sure that someone is among them, or that a series is real. But someone who knows some readings of a
    drawn subject finds them unchanged: it aims at no guarantee, and is not differential privacy. Judge it by attack. A
    fictive series smooths what is rare, such as many zeros; a close look may reveal it.

    Gaps are refused, and fictive series need at least 3 drawn subjects.

    Parameters
    ----------
    share
        Share of the subjects that are drawn. Smaller hides better and leaves less.
    fictives
        Share of the published series that are fictive; 0 for none. Larger hides better, and blurs every count.
    seed
        Seeds the random numbers, together with the readings; without those, nobody can draw the same again.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> candidate = SamplingWithFictives(share=0.5, fictives=0.25).anonymize(Panel(rng.random((60, 4))))
    >>> candidate.published.n_series, int((candidate.stands_for < 0).sum())
    (40, 10)

    References
    ----------
    "Data-driven anonymization process applied to time series", section 2 and table 1 (sampling probability and fictive
    curve).
    """

    name: ClassVar[str] = "sampling-with-fictives"
    keeps_apart: ClassVar[bool] = True
    takes_fictives: ClassVar[bool] = True

    share: float = 0.5
    fictives: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        check_share("share", self.share)
        check_share("fictives", self.fictives, open_end=True)
        check_whole("seed", self.seed, 0)

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Draw the subjects in the order of rows, then make the fictive series after them."""
        refuse_gaps(self, panel)
        rng = stream(panel, int(self.seed), self.name)
        n_drawn = max(1, round(float(self.share) * panel.n_subjects))
        if self.fictives and n_drawn < LEAST:
            raise ParameterError(
                f"fictives need at least {LEAST} drawn subjects; share={self.share:g} draws {n_drawn}, the panel has "
                f"{panel.n_subjects}. Raise share, read more series, or set fictives=0."
            )
        drawn = rng.permutation(panel.n_subjects)[:n_drawn]
        rows = np.flatnonzero(np.isin(panel.subject_codes, drawn))
        n_fictives = max(1, round(self.fictives / (1.0 - self.fictives) * len(rows))) if self.fictives else 0
        values = panel.rows[rows]
        if n_fictives:
            values = np.concatenate([values, make_fictives(values, n_fictives, rng)])
        subjects = np.concatenate([panel.subject_codes[rows], panel.n_subjects + np.arange(n_fictives)])
        published = panel.like(values.reshape(len(values), *panel.values.shape[1:]), subjects=subjects)
        if progress is not None:
            progress(panel.n_series, panel.n_series)
        return candidate_of(
            self,
            panel,
            published,
            figures={"series_drawn": len(rows), "series_fictive": n_fictives},
            curves=published.like(published.values[: len(rows)], subjects=published.subject_codes[: len(rows)]),
            rows=rows,
            stands_for=np.concatenate([rows, np.full(n_fictives, -1)]),
        )
