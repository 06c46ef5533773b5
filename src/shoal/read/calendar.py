"""Days or weeks cut from long recordings: each becomes a series of its own, of the same subject.

A day runs from midnight to midnight on the panel's own clock, a week starts on Monday. All series must share the times
of the day, so the result has the times of a day without a date: 1970-01-01, or the week from Monday 1970-01-05. The
calendar is kept as attributes: `weekday`, `weekend` and `month` of a day, `month` of the Monday of a week. Nothing is
moved or filled: a day that lacks the instants most days have is left out and counted. So are incomplete days at the
ends, days on which the clock changes, and, for each series, days without any reading.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.read.draft import PanelDraft
from shoal.read.durations import DAY
from shoal.read.zones import find_zone

Split = Literal["day", "week"]

CALENDAR = {"day": ("weekday", "weekend", "month"), "week": ("month",)}
"""Attributes that splitting adds; they are not columns of the table."""

_MONDAY = 4 * DAY  # 1970-01-05
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LENGTHS = {"day": DAY, "week": 7 * DAY}


def parse_split(given: Any) -> Split | None:
    """Read the setting of that name."""
    if given is not None and given not in get_args(Split):
        raise ParameterError("split: give 'day' or 'week', or omit it.")
    found: Split | None = given
    return found


def split_draft(draft: PanelDraft, split: Split | None) -> PanelDraft:
    """The same readings with a series for each day or week of each series."""
    if split is None:
        return draft
    if draft.times is None or not draft.on_clock:
        raise ParameterError(
            f"split='{split}' needs timestamps, and the times of this table are numbers. Omit split, or name the "
            "column with the timestamps as time=."
        )
    local = draft.times if draft.timezone is None else find_zone(draft.timezone).to_local(draft.times)
    length, start = _LENGTHS[split], 0 if split == "day" else _MONDAY
    numbers, first = np.unique((local - start) // length, return_index=True)
    ends = [*first[1:].tolist(), len(local)]
    slots = [(local[a:b] - start) % length for a, b in zip(first.tolist(), ends, strict=True)]
    usual = _usual(slots, split)
    whole = np.array([np.array_equal(one, usual) for one in slots])
    ahead = local - draft.times
    turned = np.array([len(np.unique(ahead[a:b])) > 1 for a, b in zip(first.tolist(), ends, strict=True)])
    places = first[whole][:, None] + np.arange(len(usual))
    values = draft.values[:, places]
    n_series, n_parts = values.shape[:2]
    values = values.reshape(n_series * n_parts, len(usual), *draft.values.shape[2:])
    ids = [str(name) for name in (range(n_series) if draft.ids is None else draft.ids)]
    dates = ((numbers[whole] * length + start) // DAY).astype("datetime64[D]")
    subjects: list[Any] = list(ids) if draft.subjects is None else list(draft.subjects)
    columns = {name: np.repeat(column, n_parts) for name, column in draft.attributes.items()}
    for name, column in _calendar(dates, split).items():
        columns[_free(name, (*draft.attributes, *draft.sensitive))] = np.tile(column, n_series)
    found = replace(
        draft,
        values=values,
        ids=[f"{name} {date}" for name in ids for date in dates.astype(str).tolist()],
        times=usual + start,
        timezone=None,
        subjects=[subject for subject in subjects for _ in range(n_parts)],
        attributes=columns,
        sensitive={name: np.repeat(column, n_parts) for name, column in draft.sensitive.items()},
        account=dict(draft.account),
        notes=(*draft.notes, _said(split, n_parts, int((~whole & turned).sum()), int((~whole & ~turned).sum()))),
    )
    empty = np.asarray(np.isnan(values.reshape(len(values), -1)).all(axis=1))
    found.count(parts_clock_changed=int((~whole & turned).sum()), parts_cut_off=int((~whole & ~turned).sum()))
    found.count(parts_empty=int(empty.sum()))
    if empty.all():
        raise InputError(f"split='{split}' leaves no series: none has a reading in a whole {split}.")
    return found.keep_series(~empty) if empty.any() else found


def _usual(slots: list[NDArray[np.int64]], split: Split) -> NDArray[np.int64]:
    """The instants that most of the whole parts have; in a tie, those of the first."""
    whole = [one for one in slots if _is_whole(one, split)]
    if not whole:
        raise InputError(
            f"split='{split}' needs whole {split}s in even steps; none of the {len(slots)} in this table qualifies. "
            "Read a longer period, or resample with align='resample:1h'."
        )
    times = Counter(one.tobytes() for one in whole)
    return max(whole, key=lambda one: times[one.tobytes()])


def _is_whole(slots: NDArray[np.int64], split: Split) -> bool:
    steps = np.unique(np.diff(slots))
    return len(steps) == 1 and steps[0] * len(slots) == _LENGTHS[split]


def _calendar(dates: NDArray[Any], split: Split) -> dict[str, NDArray[Any]]:
    months = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
    if split == "week":
        return {"month": months}
    place = (dates.astype(np.int64) + 3) % 7  # 1970-01-01 was a Thursday
    names = np.array([_WEEKDAYS[day] for day in place], dtype=object)
    return {"weekday": names, "weekend": place >= 5, "month": months}


def _free(name: str, taken: tuple[str, ...]) -> str:
    while name in taken:
        name = f"calendar_{name}"
    return name


def _said(split: Split, n_parts: int, n_turned: int, n_cut: int) -> str:
    def many(n: int) -> str:
        return f"{n} {split}{'s' * (n != 1)}"

    left = [f"{many(n_turned)} on which the clock is changed"] * bool(n_turned)
    left += [f"{many(n_cut)} cut off or without the usual instants"] * bool(n_cut)
    rest = f"; left out: {' and '.join(left)}" if left else ""
    return f"each series is split into {many(n_parts)}{rest}"
