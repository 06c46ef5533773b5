"""The budget of a device: spending is on disk before anything is sent.

The rule. Readings are counted as they are measured (ticks), and each carries the number of its instant by the
device's clock (labels). A cost c at tick i and label t is allowed only where

    c + costs of all ticks above i - w <= epsilon   and   c + costs of all labels within w of t <= epsilon.

So in any w successive ticks, and in any w successive labels, at most epsilon is spent. The first holds whatever the
clock says: setting the clock forward gives no new budget. The second holds whatever happens to ticks: a tick that was
not recorded before a crash only makes the count smaller and the window longer. After setting the clock back, its labels
are already spent.

A device that fails between writing and sending has spent the budget and sent nothing. It never sends what it has not
recorded.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, ParameterError
from shoal.files.durable import sync, write_aside
from shoal.files.format import check_format
from shoal.files.journal import Journal

FILE_NAME = "budget.jsonl"
_FORMAT = 1
_LOCK = "lock"
_KEPT = 4
"""After this many windows, old entries are dropped when the file is opened."""


@dataclass(frozen=True)
class Expense:
    """A cost, at a tick and under a label."""

    tick: int
    label: int
    cost: int


class Budget:
    """What one device may still spend, in whole units.

    Parameters
    ----------
    most
        What may be spent within any window.
    w
        The length of a window, in readings.
    folder
        The folder of the device, where it is stored. None keeps it in memory, for simulations.

    Examples
    --------
    >>> budget = Budget(10, 2)
    >>> budget.tick(), budget.spend(label=7, cost=6), budget.spend(label=7, cost=6)
    (None, True, False)
    """

    def __init__(self, most: int, w: int, folder: Path | None = None) -> None:
        self.most, self.w = most, w
        self._entries: list[Expense] = []
        self._now = 0
        self._floor: int | None = None
        self._period: int | None = None
        self._files = ExitStack()
        self._append: Callable[[Mapping[str, Any]], None] | None = None
        self._in_memory = folder is None
        if folder is not None:
            self._open(folder)

    def tick(self) -> None:
        """A reading was measured."""
        self._now += 1

    @property
    def spent(self) -> int:
        """What the last w readings cost."""
        return sum(entry.cost for entry in self._entries if entry.tick > self._now - self.w)

    def spend(self, *, label: int, cost: int) -> bool:
        """Record a cost for the latest reading; False, and nothing written, if it is too much.

        Returns only when the entry is on disk.
        """
        if isinstance(cost, bool) or not isinstance(cost, int) or cost < 1 or not self.allows(label=label, cost=cost):
            return False
        entry = Expense(self._now, label, cost)
        # Counted before it is written: a failing disk costs budget, and never gives any.
        self._entries.append(entry)
        if self._in_memory:
            self._forget()
            return True
        return self._write({"tick": entry.tick, "label": entry.label, "cost": entry.cost})

    def _write(self, line: Mapping[str, Any]) -> bool:
        if self._append is None:
            return False
        try:
            self._append(line)
        except OSError:
            # A line may be incomplete, and nothing may follow it: the next start cuts it off.
            self.close()
            return False
        return True

    def begin(self, period: int) -> bool:
        """Record the start of a period, once; False if it, or a later one, was started before."""
        if self._period is not None and period <= self._period:
            return False
        self._period = period
        return self._in_memory or self._write({"period": period})

    def allows(self, *, label: int, cost: int) -> bool:
        """Whether a cost fits into every window that contains the reading."""
        if self._now < 1 or (self._floor is not None and label < self._floor + self.w):
            return False
        near = sum(entry.cost for entry in self._entries if abs(entry.label - label) < self.w)
        return max(self.spent, near) + cost <= self.most

    def close(self) -> None:
        """Close the files."""
        self._files.close()
        self._append = None

    def __enter__(self) -> Budget:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, folder: Path) -> None:
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            self._files.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._files.close()
            raise InputError(
                "Another process runs this meter. Stop it first: two would spend one budget twice."
            ) from None
        except OSError as error:
            self._files.close()
            raise InputError(f"The folder of the meter cannot be used: {error.strerror}.") from None
        try:
            self._load(folder)
        except BaseException:
            self._files.close()
            raise

    def _load(self, folder: Path) -> None:
        path = folder / FILE_NAME
        if not path.exists():
            raise InputError(
                f"The folder of the meter has no {FILE_NAME}: what was spent is unknown, so nothing is sent. Enrol "
                "the meter again, as another one, not before a whole window has passed."
            )
        try:
            begun, *lines = Journal(path).lines()
            check_format(begun.get("format", 1), _FORMAT, FILE_NAME)
            self._floor, *periods = (
                None if begun[name] is None else _whole(begun, name) for name in ("floor", "period")
            )
            if (begun["most"], begun["w"]) != (self.most, self.w):
                raise ParameterError("The budget of this meter was started with another epsilon or w. Enrol it again.")
            periods += [_whole(line, "period") for line in lines if "period" in line]
            self._period = max((one for one in periods if one is not None), default=None)
            costs = [line for line in lines if "period" not in line]
            self._entries = [Expense(*(_whole(line, name) for name in ("tick", "label", "cost"))) for line in costs]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(
                f"{FILE_NAME} of the meter is damaged: what was spent is unknown, so nothing is sent. Restore an "
                "up-to-date copy, or enrol the meter again, as another one."
            ) from None
        self._now = max((entry.tick for entry in self._entries), default=0)
        if len(self._entries) > _KEPT * self.w + 100:
            before = len(self._entries)
            self._forget()
            if len(self._entries) < before:
                kept = {"floor": self._floor, "period": self._period}
                write_budget(folder, self.most, self.w, entries=self._entries, **kept)
        self._append = self._files.enter_context(Journal(path).writing())

    def _forget(self) -> None:
        """Drop what no window can reach; labels up to the last one dropped, and those within w of it, are refused."""
        recent = [entry for entry in self._entries if entry.tick > self._now - self.w]
        if len(self._entries) <= 2 * len(recent) + 100 or not recent:
            return
        below = min(entry.label for entry in recent) - self.w
        dropped = [e.label for e in self._entries if e.tick <= self._now - self.w and e.label <= below]
        if dropped:
            self._floor = max([*dropped, *([] if self._floor is None else [self._floor])])
            self._entries = [e for e in self._entries if e.tick > self._now - self.w or e.label > below]


def _whole(line: Mapping[str, Any], name: str) -> int:
    number = line[name]
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError
    return number


def write_budget(
    folder: Path,
    most: int,
    w: int,
    *,
    floor: int | None = None,
    period: int | None = None,
    entries: Sequence[Expense] = (),
) -> None:
    """Write the whole file of a budget; for a new device, with nothing spent."""
    lines: list[dict[str, Any]] = [{"format": _FORMAT, "most": most, "w": w, "floor": floor, "period": period}]
    lines += [{"tick": entry.tick, "label": entry.label, "cost": entry.cost} for entry in entries]
    aside = write_aside(folder / FILE_NAME, "".join(json.dumps(line) + "\n" for line in lines).encode(), mode=0o600)
    aside.sync()
    aside.put_in_place()
    sync(folder)
