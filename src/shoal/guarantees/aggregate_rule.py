"""The 15/15 rule of utilities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees.crowds import published_classes
from shoal.model import Candidate, Panel, Verdict

# Shares nearer to the limit than this are decided in rational arithmetic: a float cannot be trusted there.
_CLOSE = 1e-9


@dataclass(frozen=True)
class AggregateRule:
    """Each published aggregate has at least `size` subjects, none with more than `share` of its total.

    Series published exactly alike form one aggregate. For each channel, a subject's part is the sum of the absolute
    values of its original series in the aggregate; missing counts as nothing, and where the total is zero nobody has
    a share.

    Parameters
    ----------
    size
        Smallest number of different subjects.
    share
        Largest part of the total any one subject may have.
    per
        "period" takes the total over all instants of the release, as the rule is used in practice. "instant" asks it
        of every single published value, which is far stricter.

    Only the publisher can check it, because it needs the originals; given a bare panel it does not hold, and says why.

    Examples
    --------
    >>> AggregateRule(size=15, share=0.15).statement
    'Each published aggregate covers at least 15 subjects, none with more than 15 % of its total.'

    References
    ----------
    California Public Utilities Commission, decision 14-05-016, 2014.
    """

    name: ClassVar[str] = "aggregate-rule"

    size: int = 15
    share: float = 0.15
    per: Literal["period", "instant"] = "period"

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or not isinstance(self.size, int | np.integer) or self.size < 2:
            raise ParameterError("size must be a whole number of at least 2: an aggregate of one is that one.")
        if not 0.0 < self.share <= 1.0:
            raise ParameterError("share must be above 0 and at most 1.")
        if self.per not in ("period", "instant"):
            raise ParameterError("per must be 'period' or 'instant'.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to build the same guarantee again."""
        return {"size": int(self.size), "share": float(self.share), "per": self.per}

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        when = " at any instant" if self.per == "instant" else ""
        return (
            f"Each published aggregate covers at least {self.size} subjects, "
            f"none with more than {100 * self.share:g} % of its total{when}."
        )

    @property
    def needs_originals(self) -> bool:
        """Shares cannot be seen in the release."""
        return True

    def check(self, published: Panel | Candidate) -> Verdict:
        """Judge the aggregates found in the published values; the witness is a series of the worst one."""
        if not isinstance(published, Candidate):
            return Verdict(
                holds=False,
                measured=None,
                required=int(self.size),
                note="the rule needs the original series, which only the publisher has",
            )
        original = published.private.original
        classes = published_classes(published.published)
        parts = _parts(original, self.per)
        worst_row, worst_share = 0, 0.0
        for first in np.unique(classes):
            members = np.flatnonzero(classes == first)
            subjects, numbers = np.unique(original.subject_codes[members], return_inverse=True)
            if len(subjects) < self.size:
                return Verdict(
                    holds=False,
                    measured=len(subjects),
                    required=int(self.size),
                    witness=int(first),
                    note="an aggregate has too few subjects",
                )
            shares = _shares(parts[members], numbers, len(subjects))
            largest = self._settled(float(shares.max()), shares, original, members, numbers)
            if largest > worst_share:
                worst_row, worst_share = int(first), largest
        holds = worst_share <= self.share
        return Verdict(
            holds=holds,
            measured=worst_share,
            required=float(self.share),
            witness=None if holds else worst_row,
            note="largest share of one subject, at most"
            if holds
            else "one subject has too large a share of an aggregate",
        )

    def _settled(
        self,
        largest: float,
        shares: NDArray[np.float64],
        original: Panel,
        members: NDArray[np.int64],
        numbers: NDArray[np.int64],
    ) -> float:
        """The largest share, put on the right side of the limit by exact arithmetic where it is close to it."""
        if abs(largest - self.share) > _CLOSE:
            return largest
        # Rounded once, to the nearest float: 15 of 100 then equals share=0.15.
        return max(
            float(_exact_share(original, members, numbers, subject, column, self.per))
            for subject, column in zip(*np.nonzero(shares >= largest - _CLOSE), strict=True)
        )


def _parts(original: Panel, per: str) -> NDArray[np.float64]:
    """What each series adds to each total: (series, totals)."""
    amounts = np.nan_to_num(np.abs(original.values.reshape(original.n_series, original.n_instants, -1)), nan=0.0)
    if per == "instant":
        return amounts.reshape(original.n_series, -1)
    totals: NDArray[np.float64] = amounts.sum(axis=1)
    return totals


def _shares(parts: NDArray[np.float64], numbers: NDArray[np.int64], n_subjects: int) -> NDArray[np.float64]:
    by_subject = np.zeros((n_subjects, parts.shape[1]))
    np.add.at(by_subject, numbers, parts)
    total = by_subject.sum(axis=0)
    shares: NDArray[np.float64] = np.divide(by_subject, total, out=np.zeros_like(by_subject), where=total > 0.0)
    return shares


def _exact_share(
    original: Panel, members: NDArray[np.int64], numbers: NDArray[np.int64], subject: int, column: int, per: str
) -> Fraction:
    amounts = original.values[members].reshape(len(members), original.n_instants, -1)
    amounts = amounts.reshape(len(members), -1)[:, [column]] if per == "instant" else amounts[:, :, column]
    exact = [sum((Fraction(abs(v)) for v in row.tolist() if v == v), Fraction(0)) for row in amounts]
    return sum((exact[m] for m in np.flatnonzero(numbers == subject)), Fraction(0)) / sum(exact, Fraction(0))
