"""A shrinking set of points, in leaves of neighbours: what is stored, how it is built, how a row leaves.

Rows are turned onto their principal axes and cut into leaves (a k-d tree of which only the leaves are kept). Axes come
in steps of `STEP`. After each step a row has y, its coordinates so far, and r, the length of what lies beyond them, so
that for two rows a and b

    |y_a - y_b|^2 + (r_a - r_b)^2  <=  |a - b|^2  <=  |y_a - y_b|^2 + (r_a + r_b)^2

Short rows are turned completely: after the last step r is zero and both sides are the distance itself. Of long rows
only the first axes are taken, and a copy in float32 stands ready for rows these do not decide.

Everything is float32 and scaled by a power of two to lengths of at most one, so nothing overflows. `Frame.error` bounds
by how much rounding can move the distance of two points, `Frame.slack` the relative error of a float32 sum of squares.
Whoever widens a limit by both rules out no row wrongly. Which axes are chosen changes the speed and nothing else.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

WIDTH = 32  # slots per leaf: long enough for vector instructions, short enough to skip
STEP = 8  # axes looked at together
ROW = (STEP + 1) * WIDTH  # one step of one leaf: its axes, then what lies beyond them
LONG = 64  # columns above which rows are not turned completely
LONG_AXES = 16  # axes taken of such rows
_LONG_SAMPLE = 64  # rows that choose the axes of long rows
_SAMPLE = 4096  # and of short ones
_CUT_SAMPLE = 64  # rows that choose where to cut
_PRODUCT = 600_000  # multiplications below which a matrix product stays on one thread
_REFIT = 4  # rows dropped from a leaf between two fits of its box
_MANY_ROWS = 50_000  # rows from which a second thread pays
# Sums may be reordered and contracted where limits allow for it; NaN and infinity keep their meaning.
LOOSE = {"contract", "reassoc"}


class Leaves(NamedTuple):
    """The rows of each leaf and their coordinates.

    `values` is flat: step, leaf, the axes of the step and what lies beyond, slot. An empty slot has NaN on its first
    axis, so that no comparison lets its sums through. `low` and `high` are the box of each leaf, or a little more, in
    the values of the first step. `rows` go by place: leaf times WIDTH plus slot. `place_of` is -1 for a row that is not
    there. `full`, the float32 copy, goes by row; it is empty where rows are short.
    """

    values: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    rows: NDArray[np.int64]
    n_left: NDArray[np.int64]
    place_of: NDArray[np.int64]
    full: NDArray[np.float32]


class Frame(NamedTuple):
    """How a point becomes coordinates, and by how much these may be off.

    `largest` is the length of the longest row seen from the origin; times `scale` it is at most one.
    """

    origin: NDArray[np.float64]
    turn: NDArray[np.float64]
    largest: float
    scale: float
    complete: bool
    error: float
    slack: float


class Place(NamedTuple):
    """A query point: its values, step by step, and its float32 copy (empty where rows are short)."""

    values: NDArray[np.float32]
    full: NDArray[np.float32]


def empty_place(frame: Frame) -> Place:
    """Room for the coordinates of a point."""
    n_columns, n_axes = frame.turn.shape
    return Place(
        np.empty(n_axes // STEP * (STEP + 1), np.float32),
        np.empty(0 if frame.complete else n_columns, np.float32),
    )


def frame_of(x: NDArray[np.float64], rows: NDArray[np.int64]) -> Frame:
    """Axes for some rows of x, from a sample of them."""
    n_columns = x.shape[1]
    complete = n_columns <= LONG
    sample = x[rows[:: -(-len(rows) // (_SAMPLE if complete else _LONG_SAMPLE))]]
    origin = sample.mean(axis=0)
    sample -= origin
    if complete:
        axes = np.linalg.eigh(sample.T @ sample)[1][:, ::-1]
    else:
        # From the small side; orthonormal even where the sample has fewer directions than axes.
        strongest = np.linalg.eigh(sample @ sample.T)[1][:, ::-1][:, :LONG_AXES]
        axes = np.linalg.qr(sample.T @ strongest)[0]
    largest = _largest(x, rows, origin)
    scale = float(2.0 ** -np.ceil(np.log2(largest))) if 0.0 < largest < np.inf else 1.0
    turn = np.zeros((n_columns, -(-axes.shape[1] // STEP) * STEP))
    turn[:, : axes.shape[1]] = axes * scale
    # Two points of length one at most, rounded to float32; and a length that is a difference of squares loses half
    # its digits.
    error = 2.0**-22 + (0.0 if complete else 2.0 * np.sqrt((2.0 * n_columns + 128.0) * 2.0**-53))
    return Frame(origin, turn, largest, scale, complete, error, max(2e-5, (n_columns + 32) * 2.0**-22))


def build_leaves(x: NDArray[np.float64], rows: NDArray[np.int64], frame: Frame, threads: int = 1) -> Leaves:
    """Leaves over some rows of x; the same for any number of threads."""
    n, n_axes = len(rows), frame.turn.shape[1]
    n_steps = n_axes // STEP
    y = np.empty((n, n_steps, STEP + 1), np.float32)
    full = np.empty((0 if frame.complete else len(x), x.shape[1]), np.float32)
    size = max(16, _PRODUCT // (x.shape[1] * n_axes))

    def turn(starts: range) -> None:
        for i in starts:
            points = x[rows[i : i + size]]
            points -= frame.origin
            _store(points @ frame.turn, points, frame.scale, frame.complete, y[i : i + size])
            if not frame.complete:
                full[rows[i : i + size]] = points * frame.scale

    starts = range(0, n, size)
    if threads > 1 and n >= _MANY_ROWS:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(turn, [starts[t::threads] for t in range(threads)]))
    else:
        turn(starts)
    order, ends = _cut(np.ascontiguousarray(y[:, 0]))
    n_leaves = len(ends)
    leaves = Leaves(
        values=_aligned(n_leaves * n_steps * ROW),
        low=np.empty((STEP + 1, n_leaves), np.float32),
        high=np.empty((STEP + 1, n_leaves), np.float32),
        rows=np.full(n_leaves * WIDTH, -1),
        n_left=np.diff(ends, prepend=0),
        place_of=np.full(len(x), -1),
        full=full,
    )
    _fill(leaves, rows, order, ends, y)
    return leaves


def _aligned(n: int) -> NDArray[np.float32]:
    """Numbers that start on a cache line, so that no vector of them lies across two."""
    line = 64 // np.dtype(np.float32).itemsize
    room = np.empty(n + line, np.float32)
    start = -(room.ctypes.data // room.itemsize) % line
    return room[start : start + n]


@njit(cache=True, nogil=True, fastmath=LOOSE)
def _largest(x: NDArray[np.float64], rows: NDArray[np.int64], origin: NDArray[np.float64]) -> float:
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


@njit(cache=True, nogil=True, fastmath=LOOSE)
def _store(
    turned: NDArray[np.float64], points: NDArray[np.float64], scale: float, complete: bool, y: NDArray[np.float32]
) -> None:
    """Coordinates of points and the lengths beyond them, last step first."""
    for i in range(turned.shape[0]):
        beyond = 0.0
        if not complete:
            for c in range(points.shape[1]):
                value = points[i, c] * scale
                beyond += value * value
            for j in range(turned.shape[1]):
                beyond -= turned[i, j] * turned[i, j]
            beyond = beyond if beyond > 0.0 else 0.0
        for step in range(y.shape[1] - 1, -1, -1):
            y[i, step, STEP] = np.sqrt(beyond)
            for j in range(STEP):
                value = turned[i, step * STEP + j]
                y[i, step, j] = value
                beyond += value * value


@njit(cache=True, nogil=True, fastmath=LOOSE)
def _cut(first: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Halve along the value of the first step that varies most, in a sample, until every part fits into a leaf.

    Returns the rows in order and where in it each leaf ends.
    """
    n = first.shape[0]
    order, keys = np.empty(n, np.int64), np.empty(n, np.float32)
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
        for j in range(STEP + 1):
            total, squares, n_seen = 0.0, 0.0, 0
            for i in range(start, end, apart):
                value = first[order[i], j]
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
def select(keys: NDArray[np.floating[Any]], order: NDArray[np.int64], k: int) -> None:
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
def _fill(
    leaves: Leaves, rows: NDArray[np.int64], order: NDArray[np.int64], ends: NDArray[np.int64], y: NDArray[np.float32]
) -> None:
    n_leaves = ends.shape[0]
    start = 0
    for leaf in range(n_leaves):
        for slot in range(WIDTH):
            place = leaf * WIDTH + slot
            filled = start + slot < ends[leaf]
            i = order[start + slot] if filled else 0
            for step in range(y.shape[1]):
                at = (step * n_leaves + leaf) * ROW + slot
                for j in range(STEP + 1):
                    leaves.values[at + j * WIDTH] = y[i, step, j] if filled else np.nan
            if filled:
                leaves.rows[place] = rows[i]
                leaves.place_of[rows[i]] = place
        start = ends[leaf]
        _fit_box(leaves, leaf)


@njit(cache=True)
def _fit_box(leaves: Leaves, leaf: int) -> None:
    values = leaves.values[leaf * ROW : (leaf + 1) * ROW]
    for j in range(STEP + 1):
        low, high = np.float32(np.inf), np.float32(-np.inf)
        for slot in range(WIDTH):
            value = values[j * WIDTH + slot]
            there = values[slot] == values[slot]  # not NaN
            low = value if there and value < low else low
            high = value if there and value > high else high
        leaves.low[j, leaf], leaves.high[j, leaf] = low, high


@njit(cache=True)
def drop_row(leaves: Leaves, row: int) -> None:
    """Take a row out; now and then the box of its leaf is fitted to what is left."""
    place = leaves.place_of[row]
    leaf = place // WIDTH
    leaves.values[leaf * ROW + place % WIDTH] = np.nan
    leaves.place_of[row] = -1
    leaves.n_left[leaf] -= 1
    if leaves.n_left[leaf] % _REFIT == 0:
        _fit_box(leaves, leaf)


@njit(cache=True)
def place_of_row(leaves: Leaves, row: int, at: Place) -> None:
    """The coordinates of a row that is in a leaf."""
    place = leaves.place_of[row]
    leaf, slot = place // WIDTH, place % WIDTH
    n_leaves = leaves.n_left.shape[0]
    for i in range(at.values.shape[0]):
        step, j = i // (STEP + 1), i % (STEP + 1)
        at.values[i] = leaves.values[(step * n_leaves + leaf) * ROW + j * WIDTH + slot]
    for c in range(at.full.shape[0]):
        at.full[c] = leaves.full[row, c]


@njit(cache=True)
def place_of_point(frame: Frame, point: NDArray[np.float64], at: Place) -> None:
    """The coordinates of any point."""
    n_columns, n_axes = frame.turn.shape
    centred, turned = np.zeros((1, n_columns)), np.zeros((1, n_axes))
    for c in range(n_columns):
        centred[0, c] = point[c] - frame.origin[c]
        for j in range(n_axes):
            turned[0, j] += centred[0, c] * frame.turn[c, j]
    _store(turned, centred, frame.scale, frame.complete, at.values.reshape((1, n_axes // STEP, STEP + 1)))
    for c in range(at.full.shape[0]):
        at.full[c] = centred[0, c] * frame.scale
