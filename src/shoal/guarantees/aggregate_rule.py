"""The 15/15 rule of utilities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees.crowds import published_classes
from shoal.guarantees.numbers import refuse_unless_whole
from shoal.model import Candidate, Envelopes, Judged, Panel, Profiles, Verdict

# Shares nearer to the limit than this are decided in rational arithmetic: a float cannot be trusted there.
CLOSE = 1e-9


@dataclass(frozen=True)
class AggregateRule:
    """Each published aggregate has at least `size` subjects, none with more than `share` of its total.

    Series published exactly alike, and kept together by the method, form one aggregate; so does a group profile.
    Bands, which are means over a part of a group, are not aggregates of the rule, and it does not hold where they
    are published. For each channel, a subject's part is the sum of the absolute values of its original series in
    the aggregate; missing counts as nothing, and where the total is zero nobody has a share.

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
        refuse_unless_whole("size", self.size, 2, "an aggregate of one is that one.")
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

    def check(self, published: Judged) -> Verdict:
        """Judge the aggregates found in the published values; the witness is a series of the worst one."""
        if not isinstance(published, Candidate):
            return self._unknown("the rule needs the original series, which only the publisher has")
        original = published.private.original
        if published.private.groups.ndim > 1:
            return self._unknown("groups differ from instant to instant, so that no aggregate lasts a period")
        if isinstance(published.published, Envelopes):
            return self._unknown("the ends of an envelope are single members' values, not aggregates")
        if _has_bands(published):
            return self._unknown("bands are means over a part of a group; publish aggregate='mean' under this rule")
        aggregates = _aggregates(published)
        worst_row, worst_share = 0, 0.0
        for members in aggregates:
            subjects, numbers = np.unique(original.subject_codes[members], return_inverse=True)
            amounts = _amounts(original, published.curves, members, self.per)
            smallest = fewest_subjects(amounts, numbers, len(subjects))
            if smallest is not None and smallest < self.size:
                return Verdict(
                    "does not hold",
                    measured=smallest,
                    required=int(self.size),
                    witness=int(members[0]),
                    note="an aggregate has too few subjects",
                )
            largest = self.largest_share(amounts, numbers, len(subjects))
            if largest > worst_share:
                worst_row, worst_share = int(members[0]), largest
        holds = worst_share <= self.share
        return Verdict.of(
            holds,
            measured=worst_share,
            required=float(self.share),
            witness=None if holds else worst_row,
            note="largest share of one subject, at most"
            if holds
            else "one subject has too large a share of an aggregate",
        )

    def _unknown(self, why: str) -> Verdict:
        return Verdict("not judged", measured=None, required=int(self.size), note=why)

    def largest_share(self, amounts: NDArray[np.float64], numbers: NDArray[np.int64], n_subjects: int) -> float:
        """The largest share, by exact arithmetic where it is too close to the limit for floating point."""
        parts = np.nansum(amounts, axis=1)
        shares = shares_of(parts, numbers, n_subjects)
        largest = float(shares.max())
        if abs(largest - self.share) > CLOSE:
            return largest
        # Rounded once, to the nearest float: 15 of 100 then equals share=0.15.
        return max(
            float(_exact_share(amounts[:, :, column], numbers, subject))
            for subject, column in zip(*np.nonzero(shares >= largest - CLOSE), strict=True)
        )


def _has_bands(candidate: Candidate) -> bool:
    published = candidate.published
    if isinstance(published, Profiles):
        # A total beside its mean and its count says nothing new.
        return bool(set(published.bands) - {"mean", "total"})
    return isinstance(published, Panel) and published.n_channels != candidate.private.original.n_channels


def _aggregates(candidate: Candidate) -> list[NDArray[np.int64]]:
    """The rows behind each published aggregate: published exactly alike, and not told apart by the method itself.

    Two groups may have the same mean by chance; taken as one they would look larger than they are.
    """
    classes = published_classes(candidate.curves)
    split = np.unique(candidate.private.groups, return_inverse=True)[1]
    labels = np.unique(classes * (int(split.max()) + 1) + split, return_inverse=True)[1]
    order = np.argsort(labels, kind="stable")
    return sorted(np.split(order, np.cumsum(np.bincount(labels))[:-1]), key=lambda rows: int(rows[0]))


def _amounts(original: Panel, published: Panel, members: NDArray[np.int64], per: str) -> NDArray[np.float64]:
    """What each member adds to each total: (members, instants of the total, totals).

    NaN where nothing was observed, or nothing is published.
    """
    shape = (len(members), original.n_instants, -1)
    amounts = np.abs(original.values[members].reshape(shape))
    amounts[np.isnan(published.values[members].reshape(shape))] = np.nan
    return amounts if per == "period" else amounts.reshape(len(members), 1, -1)


def fewest_subjects(amounts: NDArray[np.float64], numbers: NDArray[np.int64], n_subjects: int) -> int | None:
    """The least number of subjects observed in a total; None where nothing is published."""
    observed = (~np.isnan(amounts)).any(axis=1)
    seen = np.zeros((n_subjects, observed.shape[1]), dtype=bool)
    np.logical_or.at(seen, numbers, observed)
    counts = seen.sum(axis=0)
    return int(counts[counts > 0].min()) if counts.any() else None


def shares_of(parts: NDArray[np.float64], numbers: NDArray[np.int64], n_subjects: int) -> NDArray[np.float64]:
    """The share of each subject in each total."""
    by_subject = np.zeros((n_subjects, parts.shape[1]))
    np.add.at(by_subject, numbers, parts)
    total = by_subject.sum(axis=0)
    shares: NDArray[np.float64] = np.divide(by_subject, total, out=np.zeros_like(by_subject), where=total > 0.0)
    return shares


def _exact_share(amounts: NDArray[np.float64], numbers: NDArray[np.int64], subject: int) -> Fraction:
    exact = [sum((Fraction(v) for v in row.tolist() if v == v), Fraction(0)) for row in amounts]
    return sum((exact[m] for m in np.flatnonzero(numbers == subject)), Fraction(0)) / sum(exact, Fraction(0))
