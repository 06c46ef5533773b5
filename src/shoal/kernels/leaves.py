"""A shrinking set of points, in leaves: the farthest and the nearest row without looking at most rows.

Rows are turned onto their principal axes and cut into leaves of neighbours (a k-d tree of which only the leaves are
kept). With y the first axes of a row and r the length of what lies beyond them, for two rows a and b

    |y_a - y_b|^2 + (r_a - r_b)^2  <=  |a - b|^2  <=  |y_a - y_b|^2 + (r_a + r_b)^2

so a leaf, and then a row, is skipped when its bound cannot beat what is already found. Bounds are float32 and widened
by their rounding error; every row that could matter is measured exactly, with `squared_distance`, and ties go to the
lower row. The answers are therefore those of a search through all rows, bit for bit.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.mdav import squared_distance

WIDTH = 64  # slots per leaf: long enough for vector instructions, short enough to skip
FEW = 8  # axes looked at first
MANY = 24  # axes looked at where those do not decide
_FIRST_LEAVES = 8  # leaves measured first, to know early how near is near
# Relative rounding error of a float32 sum of MANY + 1 squares, generously.
SLACK = 1e-5


class Leaves(NamedTuple):
    """The rows of each leaf and their coordinates.

    `axes[leaf, j, slot]` holds coordinate j; `beyond_few` and `beyond_many` what lies beyond the first FEW and all
    axes; `low` and `high` the box of a leaf in the first axes and `beyond_few`. Slots from `filled[leaf]` on are
    empty.
    """

    axes: NDArray[np.float32]
    beyond_few: NDArray[np.float32]
    beyond_many: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    rows: NDArray[np.int64]
    filled: NDArray[np.int64]
    leaf_of: NDArray[np.int64]
    slot_of: NDArray[np.int64]


class Frame(NamedTuple):
    """How a point becomes coordinates, and by how much these may be off."""

    origin: NDArray[np.float64]
    turn: NDArray[np.float64]
    error: float


class Place(NamedTuple):
    """The coordinates of a query point."""

    axes: NDArray[np.float32]
    beyond_few: np.float32
    beyond_many: np.float32


def build_leaves(x: NDArray[np.float64], rows: NDArray[np.int64]) -> tuple[Leaves, Frame]:
    """Leaves over some rows of x."""
    centred = x[rows]
    origin = centred.mean(axis=0)
    centred -= origin
    _, vectors = np.linalg.eigh(centred.T @ centred)
    n_axes = min(MANY, x.shape[1])
    turn = np.ascontiguousarray(vectors[:, ::-1][:, :n_axes])
    y = centred @ turn
    n_few = min(FEW, n_axes)
    squares = np.einsum("ij,ij->i", centred, centred)
    beyond_few = np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", y[:, :n_few], y[:, :n_few]), 0.0))
    beyond_many = np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", y, y), 0.0))
    y32, few32, many32 = y.astype(np.float32), beyond_few.astype(np.float32), beyond_many.astype(np.float32)
    split = np.column_stack([y32[:, :n_few], few32])
    parts = _cut(split)
    n_leaves = len(parts)
    leaves = Leaves(
        axes=np.zeros((n_leaves, n_axes, WIDTH), np.float32),
        beyond_few=np.zeros((n_leaves, WIDTH), np.float32),
        beyond_many=np.zeros((n_leaves, WIDTH), np.float32),
        low=np.empty((n_few + 1, n_leaves), np.float32),
        high=np.empty((n_few + 1, n_leaves), np.float32),
        rows=np.full((n_leaves, WIDTH), -1),
        filled=np.array([len(part) for part in parts]),
        leaf_of=np.full(len(x), -1),
        slot_of=np.full(len(x), -1),
    )
    for leaf, part in enumerate(parts):
        size = len(part)
        leaves.axes[leaf, :, :size] = y32[part].T
        leaves.beyond_few[leaf, :size] = few32[part]
        leaves.beyond_many[leaf, :size] = many32[part]
        leaves.low[:, leaf] = split[part].min(axis=0)
        leaves.high[:, leaf] = split[part].max(axis=0)
        leaves.rows[leaf, :size] = rows[part]
        leaves.leaf_of[rows[part]] = leaf
        leaves.slot_of[rows[part]] = np.arange(size)
    # Each coordinate is off by half a unit of float32 and by the rounding of the turn; squares lose half their digits
    # where almost nothing lies beyond.
    largest = float(np.sqrt(squares.max()))
    return leaves, Frame(origin, turn, largest * (np.sqrt(n_axes + 2) * 2.0**-22 + 1e-7))


def _cut(points: NDArray[np.float32]) -> list[NDArray[np.int64]]:
    """Halve along the widest coordinate until every part fits into a leaf."""
    whole, parts = [np.arange(len(points))], []
    while whole:
        part = whole.pop()
        if len(part) <= WIDTH:
            parts.append(part)
            continue
        own = points[part]
        widest = int(np.argmax(own.max(axis=0) - own.min(axis=0)))
        # Whole leaves to the left, so that almost all leaves are full.
        half = -(-len(part) // (2 * WIDTH)) * WIDTH
        order = np.argpartition(own[:, widest], half)
        whole += [part[order[half:]], part[order[:half]]]
    return parts


@njit(cache=True)
def place_of_row(leaves: Leaves, row: int) -> Place:
    """The coordinates of a row that is in a leaf."""
    leaf, slot = leaves.leaf_of[row], leaves.slot_of[row]
    return Place(leaves.axes[leaf, :, slot].copy(), leaves.beyond_few[leaf, slot], leaves.beyond_many[leaf, slot])


@njit(cache=True)
def place_of_point(frame: Frame, point: NDArray[np.float64]) -> Place:
    """The coordinates of any point."""
    n_axes = frame.turn.shape[1]
    axes = np.empty(n_axes, np.float32)
    few = many = 0.0
    for c in range(point.shape[0]):
        many += (point[c] - frame.origin[c]) ** 2
    few = many
    for j in range(n_axes):
        y = 0.0
        for c in range(point.shape[0]):
            y += (point[c] - frame.origin[c]) * frame.turn[c, j]
        axes[j] = y
        many -= y * y
        if j < FEW:
            few -= y * y
    return Place(axes, np.float32(np.sqrt(max(few, 0.0))), np.float32(np.sqrt(max(many, 0.0))))


@njit(cache=True)
def drop_row(leaves: Leaves, row: int) -> None:
    """Take a row out: the last row of its leaf moves into its slot, and the box shrinks."""
    leaf, slot = leaves.leaf_of[row], leaves.slot_of[row]
    last = leaves.filled[leaf] - 1
    moved = leaves.rows[leaf, last]
    leaves.rows[leaf, slot] = moved
    leaves.slot_of[moved] = slot
    leaves.axes[leaf, :, slot] = leaves.axes[leaf, :, last]
    leaves.beyond_few[leaf, slot] = leaves.beyond_few[leaf, last]
    leaves.beyond_many[leaf, slot] = leaves.beyond_many[leaf, last]
    leaves.filled[leaf] = last
    leaves.leaf_of[row] = -1
    n_few = leaves.low.shape[0] - 1
    for j in range(n_few + 1):
        low, high = np.float32(np.inf), np.float32(-np.inf)
        for s in range(last):
            value = leaves.axes[leaf, j, s] if j < n_few else leaves.beyond_few[leaf, s]
            low, high = min(low, value), max(high, value)
        leaves.low[j, leaf], leaves.high[j, leaf] = low, high


@njit(cache=True)
def _box_bounds(leaves: Leaves, at: Place, far: bool, bounds: NDArray[np.float32]) -> None:
    """Bounds of each leaf's box: how far its rows are at most (`far`) or at least."""
    n_few = leaves.low.shape[0] - 1
    bounds[:] = 0.0
    for j in range(n_few + 1):
        q = at.axes[j] if j < n_few else at.beyond_few
        low, high = leaves.low[j], leaves.high[j]
        if not far:
            for i in range(bounds.shape[0]):
                d = max(max(low[i] - q, q - high[i]), np.float32(0.0))
                bounds[i] += d * d
        elif j < n_few:
            for i in range(bounds.shape[0]):
                d = max(q - low[i], high[i] - q)
                bounds[i] += d * d
        else:
            for i in range(bounds.shape[0]):
                d = q + high[i]
                bounds[i] += d * d


@njit(cache=True)
def _slot_bounds(
    leaves: Leaves, leaf: int, at: Place, far: bool, limit: np.float32, bounds: NDArray[np.float32]
) -> bool:
    """Bounds of each row of a leaf; False, and nothing of use, where the first axes already rule the leaf out."""
    n_few, n_axes = leaves.low.shape[0] - 1, leaves.axes.shape[1]
    sign = np.float32(1.0) if far else np.float32(-1.0)
    for s in range(WIDTH):
        bounds[s] = 0.0
    for j in range(n_few):
        q = at.axes[j]
        for s in range(WIDTH):
            d = leaves.axes[leaf, j, s] - q
            bounds[s] += d * d
    promising = False
    for s in range(leaves.filled[leaf]):
        d = leaves.beyond_few[leaf, s] + sign * at.beyond_few
        bound = bounds[s] + d * d
        if (bound >= limit) if far else (bound <= limit):
            promising = True
    if not promising:
        return False
    for j in range(n_few, n_axes):
        q = at.axes[j]
        for s in range(WIDTH):
            d = leaves.axes[leaf, j, s] - q
            bounds[s] += d * d
    for s in range(WIDTH):
        d = leaves.beyond_many[leaf, s] + sign * at.beyond_many
        bounds[s] += d * d
    return True


@njit(cache=True)
def farthest(
    x: NDArray[np.float64], leaves: Leaves, point: NDArray[np.float64], at: Place, error: float
) -> tuple[int, float, float]:
    """The row farthest from a point (ties: the lowest), its squared distance, and that of the runner-up.

    Runners-up nearer than the best by more than `error` need not be found; -1 stands for none.
    """
    bounds = np.empty(leaves.filled.shape[0], np.float32)
    slots = np.empty(WIDTH, np.float32)
    _box_bounds(leaves, at, True, bounds)
    best_row, best, second = -1, -1.0, -1.0
    limit = np.float32(-1.0)
    widest = 0
    for leaf in range(bounds.shape[0]):
        if leaves.filled[leaf] > 0 and (leaves.filled[widest] == 0 or bounds[leaf] > bounds[widest]):
            widest = leaf
    for step in range(bounds.shape[0] + 1):
        leaf = widest if step == 0 else step - 1  # the most promising leaf first
        if leaves.filled[leaf] == 0 or bounds[leaf] < limit or (step > 0 and leaf == widest):
            continue
        if not _slot_bounds(leaves, leaf, at, True, limit, slots):
            continue
        for s in range(leaves.filled[leaf]):
            if slots[s] < limit:
                continue
            row = leaves.rows[leaf, s]
            distance = squared_distance(x[row], point)
            if distance > best or (distance == best and row < best_row):
                best_row, best, second = row, distance, best
                limit = np.float32(max(np.sqrt(best) - error, 0.0) ** 2 * (1.0 - SLACK))
            elif distance > second:
                second = distance
    return best_row, best, second


@njit(cache=True)
def nearest(
    x: NDArray[np.float64], leaves: Leaves, centre: int, at: Place, error: float, found: NDArray[np.int64]
) -> None:
    """Fill `found` with the rows nearest to a row, by (distance, row); there must be enough others."""
    wanted = found.shape[0]
    distances = np.empty(wanted)
    bounds = np.empty(leaves.filled.shape[0], np.float32)
    slots = np.empty(WIDTH, np.float32)
    _box_bounds(leaves, at, False, bounds)
    first = _lowest(bounds, leaves.filled)
    n_found = 0
    limit = np.float32(np.inf)
    for step in range(first.shape[0] + bounds.shape[0]):
        leaf = first[step] if step < first.shape[0] else step - first.shape[0]
        if leaf < 0 or leaves.filled[leaf] == 0 or bounds[leaf] > limit:
            continue
        if step >= first.shape[0] and _among(first, leaf):
            continue
        if not _slot_bounds(leaves, leaf, at, False, limit, slots):
            continue
        for s in range(leaves.filled[leaf]):
            row = leaves.rows[leaf, s]
            if slots[s] > limit or row == centre:
                continue
            distance = squared_distance(x[row], x[centre])
            p = n_found
            if n_found == wanted:
                p -= 1
                if distance > distances[p] or (distance == distances[p] and row > found[p]):
                    continue
            else:
                n_found += 1
            while p > 0 and (distance < distances[p - 1] or (distance == distances[p - 1] and row < found[p - 1])):
                distances[p], found[p] = distances[p - 1], found[p - 1]
                p -= 1
            distances[p], found[p] = distance, row
            if n_found == wanted:
                limit = np.float32((np.sqrt(distances[wanted - 1]) + error) ** 2 * (1.0 + SLACK))


@njit(cache=True)
def _lowest(bounds: NDArray[np.float32], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """The few leaves with the lowest bounds, lowest first; -1 where there are not so many."""
    leaves = np.full(_FIRST_LEAVES, -1)
    for leaf in range(bounds.shape[0]):
        p = _FIRST_LEAVES - 1
        if count[leaf] == 0 or (leaves[p] >= 0 and bounds[leaf] >= bounds[leaves[p]]):
            continue
        while p > 0 and (leaves[p - 1] < 0 or bounds[leaf] < bounds[leaves[p - 1]]):
            leaves[p] = leaves[p - 1]
            p -= 1
        leaves[p] = leaf
    return leaves


@njit(cache=True)
def _among(leaves: NDArray[np.int64], wanted: int) -> bool:
    for leaf in leaves:  # noqa: SIM110 - numba compiles the loop, not the generator
        if leaf == wanted:
            return True
    return False
