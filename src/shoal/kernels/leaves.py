"""A shrinking set of points, in leaves of neighbours: how it is stored and built, and how rows leave it.

Rows are rotated onto their principal axes and cut into leaves (a k-d tree of which only the leaves are kept). The axes
come in steps. After each step a row has y, its coordinates so far, and r, the length of what lies beyond them, so that
for two rows a and b

    |y_a - y_b|^2 + (r_a - r_b)^2  <=  |a - b|^2  <=  |y_a - y_b|^2 + (r_a + r_b)^2

The first two steps are stored leaf by leaf, ready for `lanes`. Few rows outlast them. What decides about those is
stored row by row: the remaining axes or, for long rows, which get no more axes, all columns as they are.

Coordinates are int16, scaled so that the longest row has length `LONGEST`: distances stay below 2^15 and their squares
below 2^31. `Frame` bounds how much rounding can change the distance of two points. A limit widened by that bound rules
out no row wrongly. The choice of axes affects only the speed.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.lanes import GROUP, STRIDE, WIDTH, fit_box

LONGEST = 16000.0
FIRST, SECOND = 8, 16  # values of a step: its axes, then what lies beyond them
BLOCK, SECOND_BLOCK = FIRST * WIDTH, SECOND * WIDTH
_FIRST_AXES, _TWO_AXES = FIRST - 1, FIRST + SECOND - 2
LONG = _TWO_AXES + STRIDE  # columns above which rows are not rotated completely
_LONG_SAMPLE = 64  # rows that choose the axes of long rows
_SAMPLE = 4096  # and of short ones
_FEW_LONG = 4096  # long rows that get one step of axes
_CUT_SAMPLE = 64  # rows that choose where to cut
_PRODUCT = 600_000  # multiplications below which a matrix product stays on one thread
_REFIT = 4  # rows dropped from a leaf between two fits of its box
_MANY_ROWS = 50_000  # rows from which a second thread pays
_LINE = 64  # bytes the processor fetches together
# Sums may be reordered and contracted where limits allow for it; NaN and infinity keep their meaning.
LOOSE = {"contract", "reassoc"}


class Leaves(NamedTuple):
    """The rows of each leaf and their coordinates.

    `first` and `second` are blocks of `lanes`, one per leaf. `rest`, the remaining axes, and `rows` go by place: leaf
    times WIDTH plus slot. `full`, the columns of long rows, goes by row. What is not needed is empty. `low` and `high`
    are the box of each leaf, or a little more, in the values of the first step. `there` has a bit for each slot that is
    filled, `filled` for each leaf of a group that has rows. `place_of` is -1 for a row that is not there. `error` and
    `last_error` are like those of the `Frame`, but for two of these very rows, from how far they were really moved.
    """

    first: NDArray[np.int16]
    second: NDArray[np.int16]
    rest: NDArray[np.int16]
    full: NDArray[np.int16]
    low: NDArray[np.int16]
    high: NDArray[np.int16]
    rows: Ints
    there: Ints
    filled: Ints
    n_left: NDArray[np.int32]
    place_of: Ints
    error: float
    last_error: float


class Frame(NamedTuple):
    """How points become coordinates, and how far off these may be.

    `largest` is the length of the longest row seen from the origin; times `scale` it is LONGEST. `error` bounds how far
    off the distance of any two points may be by its steps, `last_error` by the final comparison; `beyond_error` is the
    part of `error` that is not due to whole numbers.
    """

    origin: Floats
    turn: Floats
    largest: float
    scale: float
    error: float
    last_error: float
    beyond_error: float


class Place(NamedTuple):
    """A query point, step by step; `opposite` is the first step with what lies beyond negated."""

    first: NDArray[np.int16]
    opposite: NDArray[np.int16]
    second: NDArray[np.int16]
    rest: NDArray[np.int16]
    full: NDArray[np.int16]


def empty_place(frame: Frame) -> Place:
    """Space for the coordinates of a point."""
    n_columns = frame.turn.shape[0]
    return Place(
        first=np.empty(FIRST, np.int16),
        opposite=np.empty(FIRST, np.int16),
        second=np.empty(SECOND, np.int16),
        rest=np.empty(STRIDE, np.int16),
        full=np.zeros(_width(n_columns), np.int16),
    )


def frame_of(x: Floats, rows: Ints) -> Frame:
    """Axes for some rows of x, from a sample of them."""
    n_columns = x.shape[1]
    complete = n_columns <= LONG
    sample = x[rows[:: -(-len(rows) // (_SAMPLE if complete else _LONG_SAMPLE))]]
    origin = sample.mean(axis=0)
    sample -= origin
    if complete:
        axes = np.linalg.eigh(sample.T @ sample)[1][:, ::-1]
    else:
        # From the smaller product; orthonormal even if the sample has fewer directions than axes. Few rows are not
        # searched often enough to pay for the rotation onto the second step's axes.
        n_wanted = _FIRST_AXES if len(rows) <= _FEW_LONG else _TWO_AXES
        strongest = np.linalg.eigh(sample @ sample.T)[1][:, ::-1][:, :n_wanted]
        axes = np.linalg.qr(sample.T @ strongest)[0]
    largest = _largest(x, rows, origin)
    scale = LONGEST / largest if 0.0 < largest < np.inf else 1.0
    n_axes = next(n for n in (_FIRST_AXES, _TWO_AXES, LONG) if axes.shape[1] <= n)
    turn = np.zeros((n_columns, n_axes))
    turn[:, : axes.shape[1]] = axes * scale
    # Each value of two points is off by half at most; a length that is a difference of squares loses half its digits.
    beyond_error, last_error = 0.01, 0.01 + np.sqrt(LONG if complete else n_columns)
    if not complete:
        beyond_error += 2.0 * LONGEST * np.sqrt((2.0 * n_columns + 128.0) * 2.0**-53)
    return Frame(origin, turn, largest, scale, beyond_error + np.sqrt(FIRST + SECOND), last_error, beyond_error)


def build_leaves(x: Floats, rows: Ints, frame: Frame, threads: int = 1) -> Leaves:
    """Leaves over some rows of x; the same for any number of threads."""
    n, (n_columns, n_axes) = len(rows), frame.turn.shape
    y = np.empty((n, FIRST + SECOND + STRIDE if n_axes > _TWO_AXES else FIRST + SECOND), np.int16)
    full = _aligned(len(x) * _width(n_columns)).reshape(len(x), _width(n_columns))
    size = max(16, _PRODUCT // (n_columns * n_axes))

    def turn(starts: range) -> tuple[float, float]:
        moved = last_moved = 0.0
        room = np.empty((min(size, n), n_columns))
        for i in starts:
            points = room[: n - i]
            _centre(x, rows[i : i + size], frame.origin, points)
            some = _store(points @ frame.turn, points, frame.scale, y[i : i + size], full, rows[i : i + size])
            moved, last_moved = max(moved, some[0]), max(last_moved, some[1])
        return moved, last_moved

    starts = range(0, n, size)
    if threads > 1 and n >= _MANY_ROWS:
        with ThreadPoolExecutor(threads) as pool:
            moves = list(pool.map(turn, [starts[t::threads] for t in range(threads)]))
    else:
        moves = [turn(starts)]
    moved, last_moved = (max(each) for each in zip(*moves, strict=True))
    order, ends = _cut(np.ascontiguousarray(y[:, :FIRST]))
    n_leaves = len(ends)
    n_groups = -(-n_leaves // GROUP)
    leaves = Leaves(
        first=_aligned(n_leaves * BLOCK),
        second=_aligned(n_leaves * SECOND_BLOCK if n_axes > _FIRST_AXES else 0),
        rest=_aligned(n_leaves * WIDTH * STRIDE if n_axes > _TWO_AXES else 0),
        full=full.reshape(-1),
        low=np.zeros(n_groups * GROUP * FIRST, np.int16),
        high=np.zeros(n_groups * GROUP * FIRST, np.int16),
        rows=np.full(n_leaves * WIDTH, -1),
        there=np.zeros(n_leaves, np.int64),
        filled=np.zeros(n_groups, np.int64),
        n_left=np.diff(ends, prepend=0).astype(np.int32),
        place_of=np.full(len(x), -1),
        error=frame.beyond_error + 2.0 * moved,
        last_error=0.01 + 2.0 * last_moved,
    )
    _fill(leaves, rows, order, ends, y)
    return leaves


def _width(n_columns: int) -> int:
    """Values stored for all columns: none for short rows, whole strides for long ones."""
    return 0 if n_columns <= LONG else -(-n_columns // STRIDE) * STRIDE


def _aligned(n: int) -> NDArray[np.int16]:
    """An array that starts on a cache line, so that none of its vectors crosses two."""
    line = _LINE // np.dtype(np.int16).itemsize
    room = np.zeros(n + line, np.int16)
    start = -(room.ctypes.data // room.itemsize) % line
    return room[start : start + n]


@njit(cache=True, nogil=True, fastmath=LOOSE)
def _largest(x: Floats, rows: Ints, origin: Floats) -> float:
    """Length of the longest row, seen from the origin, or a little more."""
    largest = 0.0
    for i in range(rows.shape[0]):
        row = x[rows[i]]
        total = 0.0
        for c in range(origin.shape[0]):
            difference = row[c] - origin[c]
            total += difference * difference
        if not total <= largest:
            largest = total
    return float(np.sqrt(largest)) * (1.0 + 1e-9)


@njit(cache=True, nogil=True)
def _centre(x: Floats, rows: Ints, origin: Floats, points: Floats) -> None:
    """Write rows relative to the origin into space that is used again: fresh memory costs more than subtracting."""
    for i in range(rows.shape[0]):
        row = x[rows[i]]
        for c in range(origin.shape[0]):
            points[i, c] = row[c] - origin[c]


@njit(cache=True, nogil=True)
def _round(value: float) -> np.int16:
    """Round to a whole number. No row is out of range; a mean that is, by rounding, is moved in, towards all rows."""
    return np.int16(np.rint(min(max(value, -LONGEST), LONGEST)))


@njit(cache=True, nogil=True, fastmath=LOOSE)
def _store(
    turned: Floats, points: Floats, scale: float, y: NDArray[np.int16], full: NDArray[np.int16], rows: Ints
) -> tuple[float, float]:
    """Store coordinates of points and the lengths beyond them, last step first; for long ones, also their columns.

    Returns the farthest that rounding moved a point: as it is after one of the steps, and in the final comparison.
    """
    n_columns, n_axes = points.shape[1], turned.shape[1]
    most = last_most = 0.0
    for i in range(turned.shape[0]):
        beyond = moved = last_moved = 0.0
        if n_columns > LONG:
            whole = full[rows[i]]
            for c in range(n_columns):
                value = points[i, c] * scale
                nearest = np.rint(value)
                whole[c] = np.int16(nearest)
                beyond += value * value
                last_moved += (value - nearest) * (value - nearest)
            for j in range(n_axes):
                beyond -= turned[i, j] * turned[i, j]
            beyond = beyond if beyond > 0.0 else 0.0
        for j in range(_TWO_AXES, n_axes):
            beyond += turned[i, j] * turned[i, j]
            y[i, j + 2] = _round(turned[i, j])
            last_moved += (turned[i, j] - y[i, j + 2]) ** 2
        length = np.sqrt(beyond)
        second = y[i, FIRST + SECOND - 1] = _round(length)
        second_moved = (length - second) ** 2
        for j in range(_FIRST_AXES, _TWO_AXES):
            value = turned[i, j] if j < n_axes else 0.0
            beyond += value * value
            y[i, j + 1] = _round(value)
            moved += (value - y[i, j + 1]) ** 2
        length = np.sqrt(beyond)
        first = y[i, FIRST - 1] = _round(length)
        first_moved = (length - first) ** 2
        axes_moved = 0.0
        for j in range(_FIRST_AXES):
            y[i, j] = _round(turned[i, j])
            axes_moved += (turned[i, j] - y[i, j]) ** 2
        most = max(most, axes_moved + first_moved, axes_moved + moved + second_moved)
        last_most = max(last_most, last_moved if n_columns > LONG else axes_moved + moved + last_moved)
    return np.sqrt(most), np.sqrt(last_most)


@njit(cache=True, nogil=True)
def _cut(first: NDArray[np.int16]) -> tuple[Ints, Ints]:
    """Halve along the value of the first step that varies most, in a sample, until every part fits into a leaf.

    Returns the order of the rows and where in it each leaf ends.
    """
    n = first.shape[0]
    order, keys = np.empty(n, np.int64), np.empty(n, np.int16)
    for i in range(n):
        order[i] = i
    ends = np.empty(2 * n // WIDTH + 2, np.int64)
    todo = np.empty(2 * 64, np.int64)  # ends of the parts still to halve, the leftmost part last
    todo[0] = n
    n_todo, n_leaves, start = 1, 0, 0
    while n_todo > 0:
        end = todo[n_todo - 1]
        if end - start <= WIDTH:
            ends[n_leaves] = start = end
            n_leaves += 1
            n_todo -= 1
            continue
        widest, largest = 0, -1.0
        apart = max(1, (end - start) // _CUT_SAMPLE)
        for j in range(FIRST):
            total, squares, n_seen = 0.0, 0.0, 0
            for i in range(start, end, apart):
                value = float(first[order[i], j])
                total += value
                squares += value * value
                n_seen += 1
            spread = squares - total * total / n_seen
            if spread > largest:
                widest, largest = j, spread
        for i in range(start, end):
            keys[i] = first[order[i], widest]
        # Whole leaves to the left, so that almost all leaves are full.
        half = -(-(end - start) // (2 * WIDTH)) * WIDTH
        select(keys[start:end], order[start:end], half)
        todo[n_todo] = start + half
        n_todo += 1
    return order, ends[:n_leaves]


@njit(cache=True, nogil=True)
def select(keys: NDArray[Any], order: Ints, k: int) -> None:
    """Rearrange both so that the k lowest keys come first (Hoare 1961)."""
    low, high = 0, keys.shape[0] - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return


@njit(cache=True, nogil=True)
def _fill(leaves: Leaves, rows: Ints, order: Ints, ends: Ints, y: NDArray[np.int16]) -> None:
    start = 0
    for leaf in range(ends.shape[0]):
        for slot in range(WIDTH):
            place = leaf * WIDTH + slot
            filled = start + slot < ends[leaf]
            i = order[start + slot if filled else start]  # an empty slot has to hold something
            for j in range(FIRST):
                leaves.first[_within(leaf * BLOCK, slot, j)] = y[i, j]
            if leaves.second.shape[0] > 0:
                for j in range(SECOND):
                    leaves.second[_within(leaf * SECOND_BLOCK, slot, j)] = y[i, FIRST + j]
            if leaves.rest.shape[0] > 0:
                for j in range(STRIDE):
                    leaves.rest[place * STRIDE + j] = y[i, FIRST + SECOND + j]
            if filled:
                leaves.rows[place] = rows[i]
                leaves.place_of[rows[i]] = place
        leaves.there[leaf] = (1 << (ends[leaf] - start)) - 1
        leaves.filled[leaf // GROUP] |= 1 << leaf % GROUP
        start = ends[leaf]
        _fit(leaves, leaf)


@njit(cache=True)
def _within(block: int, slot: int, j: int) -> int:
    """The position in a block of the value j of a row."""
    return block + (j // 2 * WIDTH + slot) * 2 + j % 2


@njit(cache=True)
def _fit(leaves: Leaves, leaf: int) -> None:
    fit_box(leaves.first, leaf * BLOCK, leaves.there[leaf], leaves.low, leaves.high, leaves.low.shape[0] // FIRST, leaf)


@njit(cache=True)
def drop_row(leaves: Leaves, row: int) -> None:
    """Remove a row; now and then, fit the box of its leaf to the rows that are left."""
    place = leaves.place_of[row]
    leaf = place // WIDTH
    leaves.there[leaf] &= ~(1 << place % WIDTH)
    leaves.place_of[row] = -1
    leaves.n_left[leaf] -= 1
    if leaves.n_left[leaf] == 0:
        leaves.filled[leaf // GROUP] &= ~(1 << leaf % GROUP)
    elif leaves.n_left[leaf] % _REFIT == 0:
        _fit(leaves, leaf)


@njit(cache=True)
def place_of_row(leaves: Leaves, row: int, at: Place) -> None:
    """The coordinates of a row that is in a leaf."""
    place = leaves.place_of[row]
    leaf, slot = place // WIDTH, place % WIDTH
    for j in range(FIRST):
        at.first[j] = leaves.first[_within(leaf * BLOCK, slot, j)]
    if leaves.second.shape[0] > 0:
        for j in range(SECOND):
            at.second[j] = leaves.second[_within(leaf * SECOND_BLOCK, slot, j)]
    if leaves.rest.shape[0] > 0:
        _copy(leaves.rest, place * STRIDE, at.rest)
    width = at.full.shape[0]
    _copy(leaves.full, row * width, at.full)
    _negate(at)


@njit(cache=True)
def beyond_first(leaves: Leaves, place: int) -> int:
    """The length beyond the first step of the row at a place."""
    return int(leaves.first[_within(place // WIDTH * BLOCK, place % WIDTH, FIRST - 1)])


@njit(cache=True)
def place_of_point(frame: Frame, point: Floats, at: Place) -> None:
    """The coordinates of any point among the rows."""
    n_columns, n_axes = frame.turn.shape
    centred, turned = np.zeros((1, n_columns)), np.zeros((1, n_axes))
    for c in range(n_columns):
        centred[0, c] = point[c] - frame.origin[c]
        for j in range(n_axes):
            turned[0, j] += centred[0, c] * frame.turn[c, j]
    y = np.empty((1, FIRST + SECOND + STRIDE), np.int16)
    _store(turned, centred, frame.scale, y, at.full.reshape(1, at.full.shape[0]), np.zeros(1, np.int64))
    _copy(y[0], 0, at.first)
    _copy(y[0], FIRST, at.second)
    _copy(y[0], FIRST + SECOND, at.rest)
    _negate(at)


@njit(cache=True)
def _copy(source: NDArray[Any], start: int, to: NDArray[Any]) -> None:
    """Fill an array. An assignment of arrays does the same, but takes numba seconds to compile."""
    for i in range(to.shape[0]):
        to[i] = source[start + i]


@njit(cache=True)
def _negate(at: Place) -> None:
    _copy(at.first, 0, at.opposite)
    at.opposite[FIRST - 1] = -at.first[FIRST - 1]
