"""(k, P)-anonymity of published envelopes and patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.guarantees.crowds import crowd_sizes, published_classes, what_is_published
from shoal.guarantees.numbers import refuse_unless_whole
from shoal.kernels.equal_rows import row_classes
from shoal.model import Envelopes, Guarantee, Judged, Profiles, Verdict

_SMALL_ENVELOPE = "an envelope has too few subjects"


@dataclass(frozen=True)
class KPAnonymity(Guarantee):
    """Every published envelope belongs to at least k subjects, and every pattern inside it to at least P.

    Series are in one group when both ends of their envelopes are equal, bit for bit, at all instants and channels. Each
    group must have series of at least k different subjects; and in each group, those with the same words in all
    channels, at the same level, must be of at least P. If values are published instead of envelopes, a series is its
    own envelope and pattern, and the series equal to it must belong to max(k, P) subjects.

    A disjoint union of subjects keeps it: groups of an envelope, and those of a pattern inside it, can only grow.

    Parameters
    ----------
    k
        Smallest group of one envelope. Larger hides better from someone who knows values.
    p
        Smallest group of one pattern inside an envelope. Larger hides better from someone who also knows the shape;
        nobody finds a series with a chance above 1/P. With 1, anyone who knows the shape may find it: k-anonymity of
        envelopes alone.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import KPAnonymity
    >>> from shoal.model import Envelopes
    >>> low, high = np.zeros((4, 2)), np.ones((4, 2))
    >>> words = Envelopes(low, high, np.full(4, 2), ("ab", "ab", "ba", "ba"), np.arange(2))
    >>> KPAnonymity(k=4, p=2).check(words).holds
    True
    >>> KPAnonymity(k=4, p=3).check(words).witness
    0

    References
    ----------
    L. Shou, X. Shang, K. Chen, G. Chen, C. Zhang, "Supporting pattern-preserving anonymization for time-series data",
    2013, definition 5.
    """

    name: ClassVar[str] = "kp-anonymity"

    k: int
    p: int

    def __post_init__(self) -> None:
        refuse_unless_whole("k", self.k, 2, "a crowd of one hides nobody.")
        refuse_unless_whole("p", self.p, 1, "every pattern belongs to a series.")

    @property
    def crowds(self) -> tuple[int, int]:
        """The smallest number of subjects in a group, and for what is alike inside one."""
        return int(self.k), int(self.p)

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        if self.p == 1:
            return (
                f"Every published envelope is shared by series of at least {self.k} subjects; a pattern inside it may "
                "be one subject's own."
            )
        return (
            f"Every published envelope is shared by series of at least {self.k} subjects, "
            f"and every pattern inside it by at least {self.p}."
        )

    def check(self, published: Judged) -> Verdict:
        """Count both crowds of every series; the witness is the row of the smallest that is too small."""
        found = what_is_published(published)
        if isinstance(found, Profiles):
            by_envelope = by_pattern = found.crowds
        elif isinstance(found, Envelopes):
            classes = envelope_classes(found)
            by_envelope = crowd_sizes(classes, found.subject_codes)
            by_pattern = crowd_sizes(pattern_classes(found, classes), found.subject_codes)
        else:
            by_envelope = by_pattern = crowd_sizes(published_classes(found), found.subject_codes)
        row = int(by_envelope.argmin())
        if by_envelope[row] < self.k:
            return Verdict("does not hold", int(by_envelope[row]), int(self.k), row, _SMALL_ENVELOPE)
        row = int(by_pattern.argmin())
        holds = bool(by_pattern[row] >= self.p)
        note = (
            f"smallest group of a pattern; of an envelope it is {int(by_envelope.min())}, required {self.k}"
            if holds
            else "a pattern has too few subjects inside its envelope"
        )
        return Verdict.of(holds, int(by_pattern[row]), int(self.p), None if holds else row, note)

    def merge(self, verdicts: Sequence[Verdict]) -> Verdict:
        """The weakest verdict; if all hold, the smallest envelope of one shard is not that of the union."""
        merged = super().merge(verdicts)
        if not merged.holds or len(verdicts) == 1:
            return merged
        return replace(merged, note=f"smallest group of a pattern; of an envelope it is at least the {self.k} required")

    def _weakness(self, verdict: Verdict) -> tuple[float, ...]:
        """Envelopes are judged before patterns."""
        return (verdict.note != _SMALL_ENVELOPE, *super()._weakness(verdict))


def envelope_classes(envelopes: Envelopes) -> NDArray[np.int64]:
    """For each series, the first series with the same envelope."""
    return row_classes(np.ascontiguousarray(envelopes.ends).view(np.uint64))


def pattern_classes(envelopes: Envelopes, classes: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """For each series, the first series with the same envelope, level and word; `classes` are those of the
    envelopes."""
    if classes is None:
        classes = envelope_classes(envelopes)
    words = np.unique(np.array(envelopes.patterns), return_inverse=True)[1].reshape(-1)
    keys = np.stack([classes, envelopes.levels, words], axis=1)
    return row_classes(np.ascontiguousarray(keys, dtype=np.int64).view(np.uint64))
