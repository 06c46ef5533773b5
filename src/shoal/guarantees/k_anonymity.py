"""k-anonymity of published series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.errors import ParameterError
from shoal.guarantees.crowds import crowd_sizes, published_classes, published_panel, what_is_published
from shoal.guarantees.numbers import refuse_unless_whole
from shoal.model import Guarantee, Judged, Profiles, Verdict


@dataclass(frozen=True)
class KAnonymity(Guarantee):
    """Every published series equals those of at least k - 1 other subjects.

    For every series f there are series of at least k different subjects, f included, that have the same value as f, bit
    for bit, at all instants and in all channels, and the same published attributes; missing equals only missing. A
    group profile stands for as many equal series as it counts subjects, so each must count at least k. For scenarios, a
    level is one of L equal parts of the groups that share it bit for bit, which must count at least L k together.

    A disjoint union of subjects keeps it: the series equal to f are still there, so its crowd can only grow.

    Parameters
    ----------
    k
        Smallest crowd. Larger hides better.
    per
        "subject" counts different subjects. "series" is the weaker form: it counts rows, so one subject's many days may
        be each other's crowd. Without known subjects the two are the same.

    Examples
    --------
    >>> from shoal import KAnonymity, Panel
    >>> KAnonymity(2).check(Panel([[1.0, 2.0], [1.0, 2.0], [1.0, 2.5]]))
    Verdict(outcome='does not hold', measured=1, required=2, witness=2, note='')

    References
    ----------
    L. Sweeney, "k-anonymity: a model for protecting privacy", 2002.
    """

    name: ClassVar[str] = "k-anonymity"

    k: int
    per: Literal["subject", "series"] = "subject"

    def __post_init__(self) -> None:
        refuse_unless_whole("k", self.k, 2, "a crowd of one hides nobody.")
        if self.per not in ("subject", "series"):
            raise ParameterError("per must be 'subject' or 'series'.")

    @property
    def crowds(self) -> tuple[int, int]:
        """The smallest number of subjects in a group, and for what is alike inside one."""
        return int(self.k), int(self.k)

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        others = "series of at least {} other subjects" if self.per == "subject" else "at least {} other series"
        return f"Every published series is exactly the same as {others.format(self.k - 1)}, at all instants."

    def check(self, published: Judged) -> Verdict:
        """Count the crowd of every series or profile; the witness is the row of the smallest."""
        found = what_is_published(published)
        if isinstance(found, Profiles):
            # Equal profiles are not one crowd: they are published separately, each with its own count.
            sizes = found.crowds
        else:
            panel = published_panel(found)
            subjects = panel.subject_codes if self.per == "subject" else np.arange(panel.n_series)
            sizes = crowd_sizes(published_classes(panel), subjects)
        row = int(sizes.argmin())
        return Verdict.of(
            bool(sizes[row] >= self.k),
            measured=int(sizes[row]),
            required=int(self.k),
            witness=None if sizes[row] >= self.k else row,
        )
