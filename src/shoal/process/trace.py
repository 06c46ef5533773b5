"""Find out whose copy a leaked table is.

By names: a pseudonym has 64 bits under a key of the recipient's own. The odds that one of a leaked names is by chance
among the n names of another recipient's copy are at most a n / 2^64.

By order, if no name survived: each leaked row is matched to the nearest published curve, so that rounding does no harm,
and the longest sequence of curves in the same order in the leaked table and in the copy is found. In another
recipient's copy, rows are in random order. There a given sequence of length s, with curve c in it s_c times, fits s
given places with a chance of Π n_c (n_c - 1) ... (n_c - s_c + 1) / n (n - 1) ... (n - s + 1), where n_c of its n rows
are curve c. There are C(n, s) choices of places and C(a, s) of leaked rows, hence

    P(some sequence of length s) <= C(a, s) max Π n_c (n_c - 1) ... / s!

The reported odds are this bound times the number of copies compared: how often, at most, a table that is nobody's copy
would be attributed to someone.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ReleaseError
from shoal.release.copies import Copy, Rows, load_copies, read_rows

FALSE_ALARM = 1e-6
"""Highest acceptable rate at which a table that is nobody's copy is attributed to someone."""

LEAST_ODDS = 1e-300
"""Odds below this are reported as this."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Suspicion:
    """How well a leaked table fits a recipient's copy.

    Parameters
    ----------
    recipient
        Whose copy it is.
    data_sha256
        Of the data file of that copy.
    by
        "pseudonyms", or "order" if no name is known.
    matched, of
        Leaked names that are in the copy, or leaked rows in the order of the copy; and how many were leaked.
    odds
        Upper bound on the chance of so good a fit for another recipient's copy.
    """

    recipient: str
    data_sha256: str
    by: Literal["pseudonyms", "order"]
    matched: int
    of: int
    odds: float

    @property
    def is_certain(self) -> bool:
        """Whether chance is ruled out."""
        return self.odds <= FALSE_ALARM


def trace(leaked: str | Path, private: str | Path) -> list[Suspicion]:
    """How well a leaked table fits each copy in the private folder, the best first.

    Parameters
    ----------
    leaked
        CSV or Parquet with `time` and figures as they were published, and `id` or `group` if it is left. Rows may be
        missing, values rounded, names replaced.
    private
        The private folder the copies were made with.
    """
    copies = load_copies(Path(private))
    if not copies:
        raise ReleaseError(
            f"The private folder {str(private)!r} knows no copy. Copies are kept when a policy with model: agreement "
            "is run."
        )
    if not Path(leaked).is_file():
        raise InputError(f"There is no file {str(leaked)!r}.")
    rows = read_rows(Path(leaked))
    if rows is None:
        raise InputError("The leaked table needs a time column and a column of figures, as published.")
    by_name = [_by_name(rows[0], copy, len(copies)) for copy in copies]
    suspicions = by_name if any(s.matched for s in by_name) else [_by_order(rows, copy, len(copies)) for copy in copies]
    return sorted(suspicions, key=lambda s: (s.odds, -s.matched, s.data_sha256))


def _by_name(names: Sequence[str], copy: Copy, n_copies: int) -> Suspicion:
    matched = len(set(names) & set(copy.names))
    # Hexadecimal digits of the names; any other name is not one of our pseudonyms.
    odds = min(1.0, n_copies * len(names) * len(copy.names) / 2.0**64) if matched else 1.0
    return Suspicion(copy.recipient, copy.data_sha256, "pseudonyms", matched, len(names), odds)


def _by_order(found: Rows, copy: Copy, n_copies: int) -> Suspicion:
    leaked = nearest_curves(found, copy)
    fits = leaked[leaked >= 0]
    matched = longest_common(fits, copy.classes) if len(fits) else 0
    odds = min(1.0, n_copies * order_odds(fits, copy.classes, matched))
    return Suspicion(copy.recipient, copy.data_sha256, "order", matched, len(leaked), odds)


def nearest_curves(found: Rows, copy: Copy) -> Numbers:
    """For each leaked row, the curve of the copy nearest to it over the readings both have; -1 if there are none.

    Matching a row to a curve ignores order, so a wrong match makes a fit worse, never a chance larger.
    """
    _, times, figures, values = found
    shared_figures = [name for name in figures if name in copy.figures]
    shared_times = [time for time in times if time in set(copy.times)]
    n_rows = len(values)
    if not shared_figures or not shared_times:
        return np.full(n_rows, -1, dtype=np.int64)
    mine = values.reshape(n_rows, len(times), len(figures))
    mine = mine[:, [times.index(t) for t in shared_times]][:, :, [figures.index(f) for f in shared_figures]]
    theirs = copy.curves.reshape(len(copy.curves), len(copy.times), len(copy.figures))
    place = {time: at for at, time in enumerate(copy.times)}
    theirs = theirs[:, [place[t] for t in shared_times]][:, :, [copy.figures.index(f) for f in shared_figures]]
    rows, curves = mine.reshape(n_rows, -1), np.nan_to_num(theirs.reshape(len(theirs), -1))
    result = np.full(n_rows, -1, dtype=np.int64)
    for row, readings in enumerate(rows):
        known = ~np.isnan(readings)
        if known.any():
            result[row] = int(((curves[:, known] - readings[known]) ** 2).sum(axis=1).argmin())
    return result


def longest_common(first: Numbers, second: Numbers) -> int:
    """Length of the longest sequence in the same order in both (Hunt and Szymanski 1977).

    Examples
    --------
    >>> longest_common(np.array([0, 1, 2, 0]), np.array([1, 0, 2, 2, 0]))
    3
    """
    places: dict[int, list[int]] = {}
    for at in range(len(second) - 1, -1, -1):
        places.setdefault(int(second[at]), []).append(at)
    ends: list[int] = []
    for entry in first.tolist():
        # From the last place to the first, so that an entry is used once.
        for at in places.get(entry, ()):
            length = bisect_left(ends, at)
            ends[length : length + 1] = [at]
    return len(ends)


def order_odds(leaked: Numbers, copy: Numbers, length: int) -> float:
    """Upper bound on the chance of so long a common sequence if the copy's rows are in random order.

    Examples
    --------
    >>> round(order_odds(np.array([0, 1, 2]), np.array([2, 0, 1]), 3), 6)  # one order of six
    0.166667
    """
    if length == 0:
        return 1.0
    sizes, wanted = np.bincount(copy), np.bincount(leaked)
    factors = [size - i for size, times in zip(sizes.tolist(), wanted.tolist(), strict=False) for i in range(times)]
    # More of a curve than the copy has cannot be in common with it.
    largest = sorted((factor for factor in factors if factor > 0), reverse=True)[:length]
    choices = math.lgamma(len(leaked) + 1) - math.lgamma(length + 1) - math.lgamma(len(leaked) - length + 1)
    exponent = choices + sum(map(math.log, largest)) - math.lgamma(length + 1)
    # Never 0: a float that cannot be smaller is no proof.
    return max(math.exp(min(0.0, exponent)), LEAST_ODDS)
