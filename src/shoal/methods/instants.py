"""Some instants of a panel, chosen by position: `0:12,18` are the first twelve and the nineteenth."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats, Ints

Instants = str | Sequence[int] | slice
"""Positions counted from 0: as text with ranges that leave out their end, as whole numbers, or as a slice."""

Sensitivity = str | Sequence[float]
"""A factor of at least 1 for some instants: as text such as `34:40=2,12=1.5`, or one number for each instant."""

_PART = re.compile(r"(\d+)|(\d*):(\d+)")
_MOST = 10_000_000  # positions; a mistyped end must not fill the memory


def canonical(name: str, chosen: Instants) -> str:
    """The one spelling of a choice: sorted, each position once, neighbours as a range.

    Examples
    --------
    >>> canonical("envelope_instants", [18, 0, 1, 2, 1]), canonical("envelope_instants", slice(6, 24))
    ('0:3,18', '6:24')
    """
    found = _positions(name, chosen)
    if not len(found):
        raise ParameterError(f"{name} chooses no instant. Name at least one, such as 0:12, or omit it for all.")
    starts = np.flatnonzero(np.diff(found, prepend=found[0] - 2) > 1)
    runs = zip(found[starts].tolist(), (found[np.append(starts[1:], len(found)) - 1] + 1).tolist(), strict=True)
    return ",".join(str(first) if end == first + 1 else f"{first}:{end}" for first, end in runs)


def positions(name: str, chosen: Instants | None, n_instants: int) -> Ints:
    """The positions that a choice stands for in a panel of this many instants; None chooses all."""
    if chosen is None:
        return np.arange(n_instants)
    chosen_positions = _positions(name, chosen)
    if chosen_positions[-1] >= n_instants:
        raise ParameterError(
            f"{name}={chosen} goes up to position {chosen_positions[-1]}; the panel has {n_instants} instants, "
            f"0 to {n_instants - 1}."
        )
    return chosen_positions


def are_disjoint(one: Instants | None, other: Instants | None) -> bool:
    """Whether two choices have no instant in common; None chooses all."""
    if one is None or other is None:
        return False
    return not len(np.intersect1d(_positions("", one), _positions("", other)))


def _positions(name: str, chosen: Instants) -> Ints:
    if isinstance(chosen, slice):
        if chosen.stop is None or min(chosen.start or 0, chosen.stop) < 0 or chosen.step not in (None, 1):
            raise ParameterError(f"{name} as a slice needs an end, and takes no step: slice(6, 24).")
        chosen = f"{chosen.start or 0}:{chosen.stop}"
    if not isinstance(chosen, str):
        numbers = np.asarray(chosen)
        if numbers.ndim != 1 or (numbers.size and (numbers.dtype.kind not in "iu" or (numbers < 0).any())):
            raise ParameterError(f"{name} takes positions counted from 0, whole numbers; or text such as 0:12,18.")
        return np.unique(numbers.astype(np.int64))
    ranges = []
    for part in filter(None, (part.strip() for part in chosen.split(","))):
        found = _PART.fullmatch(part)
        if found is None:
            raise ParameterError(
                f"{name} must have the form of positions counted from 0, such as 0:12,18 (0 to 11, and 18)."
            )
        first = int(found[1] or found[2] or 0)
        end = first + 1 if found[1] else int(found[3])
        if end > _MOST:
            raise ParameterError(f"{name} goes beyond position {_MOST}.")
        ranges.append(np.arange(first, end))
    return np.unique(np.concatenate(ranges)) if ranges else np.empty(0, dtype=np.int64)


def canonical_factors(name: str, given: Sensitivity) -> str:
    """The one spelling of factors per instant; instants with a factor of 1 are left out.

    Examples
    --------
    >>> canonical_factors("sensitivity", [1.0, 2.0, 2.0, 1.5]), canonical_factors("sensitivity", "3=1.50, 1:3=2")
    ('1:3=2,3=1.5', '1:3=2,3=1.5')
    """
    factors = _factors(name, given)
    if not factors:
        raise ParameterError(f"{name} chooses no instant. Name at least one, such as 34:40=2, or omit it.")
    wide = [(at, factor) for at, factor in sorted(factors.items()) if factor != 1.0]
    parts: list[tuple[int, int, float]] = []
    for at, factor in wide:
        if parts and parts[-1][1] == at and parts[-1][2] == factor:
            parts[-1] = (parts[-1][0], at + 1, factor)
        else:
            parts.append((at, at + 1, factor))
    spelled = ((str(first) if end == first + 1 else f"{first}:{end}", f"{factor:g}") for first, end, factor in parts)
    return ",".join("=".join(part) for part in spelled)


def factors_of(name: str, given: Sensitivity | None, n_instants: int) -> Floats:
    """The factor of each instant of a panel; 1 where none is given."""
    factors_of_all = np.ones(n_instants)
    factors = {} if given is None else _factors(name, given)
    if factors and max(factors) >= n_instants:
        raise ParameterError(
            f"{name} goes up to position {max(factors)}; the panel has {n_instants} instants, 0 to {n_instants - 1}."
        )
    for at, factor in factors.items():
        factors_of_all[at] = factor
    return factors_of_all


def largest_factor(name: str, given: Sensitivity | None) -> float:
    """The largest factor of any instant; 1 without any."""
    return max([1.0] if given is None else _factors(name, given).values())


def _factors(name: str, given: Sensitivity) -> dict[int, float]:
    """The factor of each instant that has one."""
    factors: dict[int, float] = {}
    wrong = f"{name} must have the form of positions and factors of at least 1, such as 34:40=2,12=1.5."
    try:
        if isinstance(given, str):
            for part in filter(None, (part.strip() for part in given.split(","))):
                where, _, factor = part.partition("=")
                wide = dict.fromkeys(_positions(name, where).tolist(), float(factor))
                if not wide:
                    raise ParameterError(f"{name} chooses no instant in a range that ends where it begins or before.")
                factors |= wide
        else:
            every = np.asarray(given, dtype=np.float64)
            if every.ndim != 1:
                raise ParameterError(wrong)
            factors = dict(enumerate(every.tolist()))
    except (TypeError, ValueError):
        raise ParameterError(wrong) from None
    if not all(1.0 <= factor < float("inf") for factor in factors.values()):
        raise ParameterError(wrong)
    return factors
