"""Columns that are intervals of a day, found by their names or, if nothing names them, by their number."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.read.durations import DAY, HOUR, MINUTE
from shoal.read.headings import groups_of
from shoal.read.profiles import Profile
from shoal.read.stamps import share_with, time_of_label

_NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>\d{1,4})(?P<after>\D*)$")
_AGAIN = re.compile(r"(?P<before>.*?)(?P<number>\d{1,2})(?:[xX*']|bis|[bB]|DST)$")
_ONCE = re.compile(r"(.*?\d{1,2})[aA]$")
"""The first of two hours, next to one that ends in b."""
_HOURS = re.compile(r"(?P<before>\D*?)(?P<from>\d{1,2}) *[-–] *(?P<to>\d{1,2})\D*$")
_HALF = re.compile(r"(?P<before>\D*?)(?P<hour>\d{1,2}) *(?P<half>[AaPp])\.?[Mm]\.?$")
_ENOUGH = 23


@dataclass(frozen=True)
class QuantityBlock:
    """Columns of one quantity, one for each interval of a day."""

    name: str
    """What their names have in common; may be empty."""
    positions: tuple[int, ...]
    offsets: tuple[int, ...]
    """Microseconds from midnight to the start of each interval."""
    step: int
    elapsed: bool
    """Whether intervals are counted, so that a day may have 46 or 50; otherwise named by the clock."""
    labelled: str
    """"start", "end" or "number"."""
    again: frozenset[int] = frozenset()
    """Positions of columns for the second of two hours that a clock shows; empty except on one day of the year."""

    @property
    def is_monthly(self) -> bool:
        """Whether the columns are days of a month."""
        return self.step == DAY


def per_day(n: int) -> int | None:
    """How many intervals a usual day has if columns or numbers go up to `n`; None if no day has as many.

    Examples
    --------
    >>> [per_day(n) for n in (24, 25, 46, 50, 96, 100, 288, 30)]
    [24, 24, 48, 48, 96, 96, 288, None]
    """
    for usual, slack in ((24, 1), (48, 2), (96, 4), (144, 6), (288, 12), (1440, 60)):
        if usual - slack <= n <= usual + slack:
            return usual
    return None


def find_blocks(columns: Sequence[Profile]) -> list[QuantityBlock]:
    """Every block of a table with a row per day; none if its columns are not intervals."""
    named = [column for column in columns if column.name]
    blocks = _by_clock(named) or _by_number(named)
    if not blocks and len({re.sub(r"\d+", "", column.name) for column in columns}) == 1:
        # Columns without names, or with numbers for names.
        blocks = _by_position(columns)
    filled = [block for block in blocks if any(columns[p].kind == "number" for p in block.positions)]
    return [block for block in filled if _is_numeric(columns, block)]


def _is_numeric(columns: Sequence[Profile], block: QuantityBlock) -> bool:
    kinds = [columns[p].kind for p in block.positions]
    return sum(kind in ("number", "empty") for kind in kinds) >= 0.9 * len(kinds)


def _may_be_reading(column: Profile) -> bool:
    """Whether a column has numbers, apart from a few words among them."""
    return column.kind in ("number", "empty") or (
        column.kind == "word" and share_with(column.texts.drop_nulls(), r"^[+-]?\d+(?:[.,]\d+)?$") >= 0.5
    )


def _by_clock(columns: Sequence[Profile]) -> list[QuantityBlock]:
    """Columns called 00:30, [00:30], 12:30 AM, kWh 00:30 or 00:00-00:30."""
    groups: dict[str, list[tuple[int, int]]] = defaultdict(list)
    readings = [column for column in columns if _may_be_reading(column)]
    if parts := _parts_of_day(readings):
        return [block] if (block := _clock_block("", parts)) else []
    for column in readings:
        if (found := time_of_label(column.name)) is not None:
            groups[found[0]].append((column.position, found[1]))
        elif (half := _HALF.match(column.name.strip())) is not None:
            hour = int(half["hour"]) % 12 + 12 * (half["half"].lower() == "p")
            groups[half["before"]].append((column.position, hour * HOUR))
        elif (hours := _HOURS.match(column.name.strip())) and (int(hours["to"]) - int(hours["from"])) % 24 == 1:
            groups[hours["before"]].append((column.position, int(hours["from"]) * HOUR))
        elif (within := _time_within(column.name.strip())) is not None:
            groups[re.sub(r"\d+", "", column.name.strip())].append((column.position, within))
    if all(len(entries) == 1 for entries in groups.values()):
        # Numbered besides: HH1 (00:00), HH2 (00:30).
        joined: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for name, entries in groups.items():
            joined[name.rstrip("0123456789")] += entries
        groups = joined
    return [
        block for name, entries in groups.items() if len(entries) >= _ENOUGH and (block := _clock_block(name, entries))
    ]


def _parts_of_day(columns: Sequence[Profile]) -> list[tuple[int, int]]:
    """Columns named by the fraction of the day that has passed, as in spreadsheets: 0, 0.020833, 0.041667."""
    named = [c for c in columns if re.fullmatch(r"[01]?[.,]\d+|[01]", c.name.strip())]
    if len(named) < _ENOUGH or sum(len(c.name.strip()) > 5 for c in named) < len(named) // 3:
        return []
    return [(c.position, round(float(c.name.replace(",", ".")) * 1440) * MINUTE) for c in named]


def _time_within(name: str) -> int | None:
    """The time of day in a name that has other numbers too: HH1 (00:00-00:30), 30/12/1899 00:30:00.

    Examples
    --------
    >>> [_time_within(name) for name in ("P3 01:00", "2024-03-01 00:30", "Flat 1.5")]
    [3600000000, None, None]
    """
    found = re.search(r"(?<![\d.:])(\d{1,2}):(\d{2})(?!\d)", name)
    if found is None or re.search(r"(?<!\d)(?!1899|1900)(?:19|20)\d{2}(?!\d)", name):
        return None
    hour, minute = int(found[1]), int(found[2])
    return (hour * 60 + minute) * MINUTE if hour * 60 + minute <= 1440 and minute < 60 else None


def _clock_block(name: str, entries: list[tuple[int, int]]) -> QuantityBlock | None:
    entries, again = _once(entries)
    if again:
        block = _clock_block(name, entries)
        if block is None or block.labelled == "end":
            return None
        # After the hour that they repeat, wherever they are in the table.
        place = sum(start <= max(start for _, start in again) for start in block.offsets)
        positions = [*block.positions[:place], *(p for p, _ in again), *block.positions[place:]]
        offsets = [*block.offsets[:place], *(start for _, start in again), *block.offsets[place:]]
        return replace(block, positions=tuple(positions), offsets=tuple(offsets), again=frozenset(p for p, _ in again))
    positions, times = [p for p, _ in entries], [t for _, t in entries]
    if times[-1] == 0:
        times[-1] = DAY
    steps = np.diff(times)
    if np.sum(steps < 0) == 1 and times[-1] < times[0]:
        # A day that begins in the morning, such as a gas day: what follows midnight belongs to the next date.
        turn = int(np.argmax(steps < 0)) + 1
        times = times[:turn] + [time + DAY for time in times[turn:]]
        steps = np.diff(times)
    if not np.all(steps > 0):
        return None
    step = int(np.min(steps))
    ends = times[0] > 0 and times[-1] == DAY
    starts = [t - step for t in times] if ends else times
    return QuantityBlock(_common(name), tuple(positions), tuple(starts), step, False, "end" if ends else "start")


def _once(entries: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Columns by their first time of day, and those of one hour that comes a second time: 01:00 (2), 01:30 (2)."""
    first: dict[int, int] = {}
    again = []
    for position, time in entries:
        if time and time in first:
            again.append((position, time))
        else:
            first.setdefault(time, position)
    times = [time for _, time in again]
    if not again or max(times) - min(times) >= HOUR or len(set(times)) < len(times):
        return entries, []
    return [(p, t) for p, t in entries if (p, t) not in again], again


def _by_number(columns: Sequence[Profile]) -> list[QuantityBlock]:
    """Columns called HH1 ... HH48, kWh_1 ..., 1 ... 24, or 30, 100, ... 2400."""
    groups: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    names = {column.name.strip() for column in columns}
    for column in columns:
        name = column.name.strip()
        if (first := _ONCE.match(name)) and names & {f"{first[1]}b", f"{first[1]}B"}:
            name = first[1]
        if _may_be_reading(column) and (found := _NUMBERED.match(name)):
            groups[found["before"], found["after"]].append((column.position, int(found["number"])))
    blocks = []
    for (before, after), entries in groups.items():
        if len(entries) < _ENOUGH or groups_of(before) & {"point", "meter", "owner"}:
            continue
        positions, numbers = tuple(p for p, _ in entries), [n for _, n in entries]
        name = _common(f"{before}{after}")
        usual = per_day(len(entries))
        if numbers == list(range(1, len(entries) + 1)) and 28 <= len(entries) <= 31:
            days = tuple(DAY * n for n in range(len(entries)))
            blocks.append(QuantityBlock(name, positions, days, DAY, False, "number"))
            continue
        if usual == 24 and not after and (again := _again(columns, before, numbers)):
            hours = sorted([*entries, *again])
            offsets = tuple(HOUR * (n - 1) for _, n in hours)
            places = tuple(p for p, _ in hours)
            blocks.append(QuantityBlock(name, places, offsets, HOUR, False, "number", frozenset(p for p, _ in again)))
            continue
        if usual and numbers[0] in (0, 1) and np.all(np.diff(numbers) == 1):
            step = DAY // usual
            offsets = tuple(step * (n - numbers[0]) for n in numbers)
            blocks.append(QuantityBlock(name, positions, offsets, step, True, "number"))
            continue
        minutes = [n // 100 * 60 + n % 100 for n in numbers]
        if all(n % 100 < 60 for n in numbers) and usual:
            entries = [(p, m * MINUTE) for p, m in zip(positions, minutes, strict=True)]
            block = _clock_block(name, entries)
            if block is not None and block.step * len(entries) == DAY:
                blocks.append(block)
    return blocks


def _again(columns: Sequence[Profile], before: str, numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Columns such as HE02X next to HE02."""
    found = ((column.position, _AGAIN.match(column.name.strip())) for column in columns)
    return [(p, int(m["number"])) for p, m in found if m and m["before"] == before and int(m["number"]) in numbers]


def _by_position(columns: Sequence[Profile]) -> list[QuantityBlock]:
    """Without names: as many numbers right of a date as a day has intervals, alone or with a flag next to each."""
    dates = [column.position for column in columns if column.kind == "date"]
    for date in dates:
        right = columns[date + 1 :]
        numbers = [c.position for c in right if c.kind == "empty" or (c.kind == "number" and not _names(c))]
        for run in _runs(numbers):
            positions = _without_total(run, columns)
            usual = per_day(len(positions))
            if usual is not None:
                return [_counted_block(positions, usual)]
    return []


def _counted_block(positions: list[int], usual: int) -> QuantityBlock:
    """Columns without names for the intervals of a day, of which a usual one has so many."""
    step = DAY // usual
    return QuantityBlock("", tuple(positions), tuple(step * n for n in range(len(positions))), step, True, "number")


def find_block_by_number(columns: Sequence[Profile]) -> list[QuantityBlock]:
    """As many readings side by side as a day has half or quarter hours, under any names: no table has so many
    quantities."""
    for run in _runs([c.position for c in columns if c.kind == "number" and c.has_decimals])[:1]:
        positions = _without_total(run, columns)
        if len(positions) in (48, 96, 144, 288) and len({columns[p].name for p in positions}) == len(positions):
            return [_counted_block(positions, len(positions))]
    return []


def _names(column: Profile) -> bool:
    """Whether numbers look like names: whole and long."""
    return not column.has_decimals and bool(np.abs(column.present).min(initial=1e9) >= 1e7)


def _runs(positions: list[int]) -> list[list[int]]:
    """Maximal runs of positions one apart, then of positions two apart."""
    found = []
    for gap in (1, 2):
        run: list[int] = []
        for position in positions:
            if run and position - run[-1] != gap:
                found.append(run)
                run = []
            run.append(position)
        found.append(run)
    return sorted((run for run in found if len(run) >= _ENOUGH), key=len, reverse=True)


def _without_total(run: list[int], columns: Sequence[Profile]) -> list[int]:
    """A run without a column at either end that is the sum of the others."""
    for total, rest in ((run[0], run[1:]), (run[-1], run[:-1])):
        if per_day(len(rest)) is None:
            continue
        filled = [numbers for p in rest if (numbers := columns[p].numbers) is not None]
        matrix = np.array(filled)
        sums, told = np.nansum(matrix, axis=0), columns[total].numbers
        if told is not None and np.allclose(sums, told, rtol=1e-3, atol=0.01):
            return rest
    return run


def _common(text: str) -> str:
    return text.strip(" _-.:[]()")
