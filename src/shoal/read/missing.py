"""Policies for missing values, applied in the order given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.read.draft import PanelDraft
from shoal.read.durations import Duration, parse_duration

_CELLS = 1 << 20  # filled at once, so that the places of neighbours take little memory

_FORMS = "'fail', 'drop-series', 'drop-instants', 'interpolate:2h' or 'keep', or several of them separated by commas"


@dataclass(frozen=True)
class Fail:
    """Refuse a panel with gaps; `filled` says that short ones were filled before."""

    filled: bool = False

    def apply(self, draft: PanelDraft) -> PanelDraft:
        """Count gaps and refuse."""
        gaps = np.isnan(draft.values)
        n_missing = int(gaps.sum())
        if not n_missing:
            return draft
        n_series = int(gaps.reshape(len(gaps), -1).any(axis=1).sum())
        n_incomplete = draft.account.get("incomplete", 0)
        raise refuse_gaps(n_series, len(gaps), n_missing, gaps.size, n_incomplete, filled=self.filled)


def refuse_gaps(
    n_gappy: int, n_series: int, n_missing: int, n_cells: int, n_incomplete: int, *, filled: bool
) -> InputError:
    """The message about gaps, and about buckets that are missing because they lack readings."""
    short = ""
    if n_incomplete:
        short = (
            f" {n_incomplete} buckets have some of their readings but not all; complete='0.75' keeps those with three "
            "in four and scales sums up."
        )
    have_gaps = "has gaps" if n_gappy == 1 else "have gaps"
    cells = f"{n_missing:,} of {n_cells:,} cells {'is' if n_missing == 1 else 'are'} missing"
    if filled:
        return InputError(
            f"{n_gappy:,} of {n_series:,} series still {have_gaps} after interpolation: {cells}, at an end of a series "
            f"or in a longer gap.{short} Allow longer gaps in missing=, or add 'drop-series', 'drop-instants' or "
            "'keep' to it after a comma."
        )
    return InputError(
        f"{n_gappy:,} of {n_series:,} series {have_gaps}: {cells}.{short} Set missing= to 'drop-series', "
        "'drop-instants', 'interpolate:2h' (any length; a number of instants if times are integers) or 'keep', or to "
        "several of them separated by commas."
    )


@dataclass(frozen=True)
class Keep:
    """Leave gaps as NaN."""

    def apply(self, draft: PanelDraft) -> PanelDraft:
        """Leave the draft as it is."""
        return draft


@dataclass(frozen=True)
class DropSeries:
    """Drop every series with a gap."""

    def apply(self, draft: PanelDraft) -> PanelDraft:
        """Keep complete series."""
        whole = np.asarray(~np.isnan(draft.values).reshape(draft.values.shape[0], -1).any(axis=1))
        if not whole.any():
            raise InputError(
                f"Every one of the {len(whole)} series has gaps, so drop-series would leave none. "
                "Try drop-instants, or interpolate first."
            )
        return draft if whole.all() else draft.keep_series(whole)


@dataclass(frozen=True)
class DropInstants:
    """Drop every instant at which any series has a gap."""

    def apply(self, draft: PanelDraft) -> PanelDraft:
        """Keep complete instants."""
        gaps = np.isnan(draft.values)
        whole = np.asarray(~(gaps.any(axis=0) if gaps.ndim == 2 else gaps.any(axis=(0, 2))))
        if not whole.any():
            raise InputError(
                f"Every one of the {len(whole)} instants is missing in some series, so drop-instants would leave none. "
                "Try drop-series, or interpolate first."
            )
        return draft if whole.all() else draft.keep_instants(whole)


@dataclass(frozen=True)
class Interpolate:
    """Fill short gaps inside a series by linear interpolation between its neighbours; never at the ends.

    Parameters
    ----------
    gap
        The longest gap to fill: missing instants times the step between them.
    """

    gap: Duration

    def apply(self, draft: PanelDraft) -> PanelDraft:
        """Fill in place."""
        longest = self.gap.needs(clock=draft.on_clock, setting="interpolate")
        clock = draft.times if draft.times is not None else np.arange(draft.values.shape[1], dtype=np.int64)
        # Without timestamps a gap is counted in instants, whatever the integers are.
        ruler = clock if draft.on_clock else np.arange(len(clock), dtype=np.int64)
        n_rows = max(1, _CELLS // len(clock))
        for channel in range(draft.values.shape[2] if draft.values.ndim == 3 else 1):
            block = draft.values if draft.values.ndim == 2 else draft.values[:, :, channel]
            gappy = np.flatnonzero(np.isnan(block).any(axis=1))
            for start in range(0, len(gappy), n_rows):
                some = gappy[start : start + n_rows]
                block[some] = _filled(block[some], clock, ruler, longest)
        return draft


def _filled(
    values: NDArray[np.float64], clock: NDArray[np.int64], ruler: NDArray[np.int64], longest: int
) -> NDArray[np.float64]:
    """The series with every gap filled that lies between two readings and is short enough."""
    n_instants = values.shape[1]
    observed = ~np.isnan(values)
    places = np.arange(n_instants)
    before = np.maximum.accumulate(np.where(observed, places, -1), axis=1)
    after = np.minimum.accumulate(np.where(observed, places, n_instants)[:, ::-1], axis=1)[:, ::-1]
    rows, at = np.nonzero(~observed & (before >= 0) & (after < n_instants))
    left, right = before[rows, at], after[rows, at]
    # An instant lasts until the next one, so the gap reaches up to the neighbour after it.
    short = ruler[right] - ruler[left + 1] <= longest
    rows, at, left, right = rows[short], at[short], left[short], right[short]
    share = (clock[at] - clock[left]) / (clock[right] - clock[left])
    with np.errstate(invalid="ignore", over="ignore"):  # infinite and huge values are refused elsewhere
        values[rows, at] = values[rows, left] + share * (values[rows, right] - values[rows, left])
    return values


Policy = Fail | Keep | DropSeries | DropInstants | Interpolate


def parse_missing(given: Any) -> tuple[Policy, ...]:
    """Read "interpolate:2h,drop-series", {"interpolate": "2h"}, or a list of such. Fail comes last unless keep does."""
    steps = [_parse(entry) for entry in _entries(given)]
    if not steps:
        raise ParameterError(f"missing: give {_FORMS}.")
    if any(isinstance(step, Fail | Keep) for step in steps[:-1]):
        raise ParameterError("missing: 'fail' and 'keep' end the list of steps; put them last.")
    if isinstance(steps[-1], Keep):
        return tuple(steps)
    further = steps[:-1] if isinstance(steps[-1], Fail) else steps
    return (*further, Fail(filled=any(isinstance(step, Interpolate) for step in further)))


def _entries(given: Any) -> list[Any]:
    if isinstance(given, str):
        return given.split(",")
    return [part for entry in given for part in _entries(entry)] if isinstance(given, list | tuple) else [given]


def _parse(entry: Any) -> Policy:
    if isinstance(entry, Mapping) and list(entry) == ["interpolate"]:
        return Interpolate(parse_duration(entry["interpolate"], "interpolate"))
    if isinstance(entry, str):
        word, _, length = entry.strip().partition(":")
        if word == "interpolate":
            return Interpolate(parse_duration(length, "interpolate"))
        simple: dict[str, Policy] = {
            "fail": Fail(),
            "keep": Keep(),
            "drop-series": DropSeries(),
            "drop-instants": DropInstants(),
        }
        if word in simple and not length:
            return simple[word]
    raise ParameterError(f"missing: give {_FORMS}.")


def handle_missing(draft: PanelDraft, policies: tuple[Policy, ...]) -> PanelDraft:
    """Apply the policies in order, and count what they change."""
    n_series, n_instants = draft.values.shape[:2]
    n_interpolated = 0
    for policy in policies:
        if isinstance(policy, Interpolate):
            n_interpolated += int(np.isnan(draft.values).sum())
        draft = policy.apply(draft)
        if isinstance(policy, Interpolate):
            n_interpolated -= int(np.isnan(draft.values).sum())
    draft.count(
        interpolated=n_interpolated,
        dropped_series=n_series - draft.values.shape[0],
        dropped_instants=n_instants - draft.values.shape[1],
    )
    return draft
