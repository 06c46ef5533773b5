"""Groups of at least k similar rows for panels of any size, in time that grows with the rows.

    cut the rows into blocks of neighbours;  in each block: MDAV, then moves and swaps between near groups
    repeat a few times:  cut the groups into other blocks, with borders elsewhere;  in each: moves and swaps

If a few coordinates hold nearly all of the spread (flat rows), borders cost more than otherwise, but MDAV with an index
is fast. Then MDAV works in much larger blocks, and the first round does nothing else.

With several blocks, the search in each is thrifty (`refine_near`), since the next round looks at most groups again, and
groups are dissolved only while that happens often enough.

If subjects have several rows, MDAV groups all rows at once, and blocks are only refined.

One thread works on a block, using only its own rows, and the borders depend only on the rows: the groups are the same
for any number of threads. A round never raises the loss. Up to `MOST_UNCUT` rows there is one block and no border, so
one round.

Cuts are made in the leading coordinates of the rows: in the first round, at right angles to the widest direction of the
part that is cut; later, to a random mixture in which wide directions weigh most. Sums use einsum, because the rounding
of a matrix product depends on threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Ints, renumber
from shoal.kernels.refine import refine_near

MOST_UNCUT = 4000  # rows
MOST_IN_BLOCK = 3000  # rows, if there are more
LEAST_GROUPS_IN_BLOCK = 100  # where groups are large, a block has more rows
N_NEAR_UNCUT = 24  # near groups tried with each
N_NEAR = (24, 24, 24, 24, 32, 32, 32)  # the same in each round: fewer while borders are far from final
FLAT = 0.9  # share of the spread that the coordinates of flat rows hold
MOST_IN_FLAT_BLOCK = 50_000  # rows, where MDAV begins
N_NEAR_IF_FLAT = (0, 24, 24, 28, 28)
FIRST_CUTS = (0.5, 0.3, 0.4, 0.45, 0.35, 0.55, 0.25)  # share of the rows below the first cut of each round
WORTH_DISSOLVING = 0.001  # share of the groups that a round must dissolve for the next one to try
N_COORDINATES = 8
_SAMPLE = 4096, 1_000_000  # rows that determine the coordinates, and their values, at most
_FEWEST = 256  # such rows, at least
_SAMPLE_LATER = 1024  # groups that determine the direction of a cut, at most
_ITERATIONS = 8

Start = Callable[[Floats, Ints], Ints]


def block_groups(
    x: Floats, k: int, start: Start, max_evaluations: int, done: Ints, threads: int, subjects: Ints | None = None
) -> Ints:
    """Group label of each row, numbered in the order of first rows.

    `start(rows of x, done)` forms the groups of a block, of at least k each. `max_evaluations` bounds the moves and
    swaps evaluated, per row and round. x is complete, with at least k rows; `done[0]` counts rows for a progress bar.
    `subjects` are those of the rows if some have several. Then `start` forms the groups of all rows at once: a block
    may hold too many rows of one subject.
    """
    n = x.shape[0]
    most = max(MOST_IN_BLOCK, LEAST_GROUPS_IN_BLOCK * k)
    if n <= max(MOST_UNCUT, most):
        return refine_near(x, start(x, done), k, max_evaluations * n, N_NEAR_UNCUT, subjects=subjects)
    coordinates, share = _coordinates(x)
    is_flat = share >= FLAT
    labels = np.zeros(n, dtype=np.int64) if subjects is None else start(x, done)
    rounds, dissolving = N_NEAR_IF_FLAT if is_flat else N_NEAR, True
    with ThreadPoolExecutor(threads) as pool:
        for turn, n_near in list(enumerate(rounds))[0 if subjects is None else 1 :]:
            largest = max(most, MOST_IN_FLAT_BLOCK) if is_flat and not turn else most
            blocks = _blocks(coordinates, labels if turn else np.arange(n), k, largest, turn)

            def work(
                rows: Ints, turn: int = turn, n_near: int = n_near, before: Ints = labels, dissolving: bool = dissolving
            ) -> tuple[Ints, int]:
                y = np.take(x, rows, axis=0)
                given = renumber(before[rows]) if turn else start(y, np.zeros(1, dtype=np.int64))
                limit = max_evaluations * rows.shape[0]
                own = None if subjects is None else subjects[rows]
                refined = (
                    refine_near(y, given, k, limit, n_near, thrifty=True, dissolving=dissolving, subjects=own)
                    if n_near
                    else given
                )
                if subjects is None:  # otherwise all are counted by then
                    done[0] += rows.shape[0] // len(rounds)
                return refined, int(given.max()) + 1

            merged, n_groups, n_given = np.empty(n, dtype=np.int64), 0, 0
            for rows, (part, n_before) in zip(blocks, pool.map(work, blocks), strict=True):
                merged[rows] = n_groups + part
                n_groups += int(part.max()) + 1
                n_given += n_before
            labels = merged
            if n_near:
                dissolving = n_given - n_groups > WORTH_DISSOLVING * n_given
    done[0] = n
    return renumber(labels)


def _coordinates(x: Floats) -> tuple[Floats, float]:
    """Coordinates of the rows along (nearly) the directions in which a sample is spread most; and their share of it."""
    most_rows, most_values = _SAMPLE
    sample = x[:: -(-x.shape[0] // max(min(most_rows, most_values // x.shape[1]), _FEWEST))]
    scale = max(float(np.abs(sample).max()), np.finfo(np.float64).tiny)  # squares stay within the range of float64
    centred = sample / scale
    centred -= centred.mean(axis=0)
    n_axes = min(N_COORDINATES, x.shape[1])
    axes = np.random.default_rng(0).normal(size=(n_axes, x.shape[1]))
    for _ in range(_ITERATIONS):
        axes = _orthonormal(np.einsum("ai,ic->ac", np.einsum("ac,ic->ai", axes, centred), centred))
    along = np.einsum("ac,ic->ai", axes, centred)
    spread = float(np.einsum("ic,ic->", centred, centred))
    coordinates: Floats = np.einsum("ic,ac->ia", x, axes / scale)
    return coordinates, float(np.einsum("ai,ai->", along, along)) / spread if spread > 0.0 else 1.0


def _orthonormal(vectors: Floats) -> Floats:
    """Gram-Schmidt, row by row; a linearly dependent row becomes 0."""
    result = np.zeros_like(vectors)
    for a, vector in enumerate(vectors):
        left = vector - np.einsum("b,bc->c", np.einsum("bc,c->b", result, vector), result)
        length = np.sqrt(np.einsum("c,c->", left, left))
        if length > 1e-12 * np.sqrt(np.einsum("c,c->", vector, vector)):
            result[a] = left / length
    return result


def _blocks(coordinates: Floats, labels: Ints, k: int, most: int, turn: int) -> list[Ints]:
    """Blocks of whole groups, each as its rows in row order."""
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) for column in coordinates.T], axis=1) / sizes[:, None]
    parts = _cut(means, sizes, k, most, turn)
    block_of = np.empty(sizes.shape[0], dtype=np.min_scalar_type(len(parts)))  # short numbers are sorted in one pass
    for block, groups in enumerate(parts):
        block_of[groups] = block
    of_rows = block_of[labels]
    order = np.argsort(of_rows, kind="stable")
    return np.split(order, np.cumsum(np.bincount(of_rows))[:-1])


def _cut(points: Floats, weights: Ints, k: int, most: int, turn: int) -> list[Ints]:
    """Points in parts of about equal weight, at most `most`; if each weighs 1, all parts but one are multiples of k."""
    random = np.random.default_rng(turn)
    parts, waiting = [], [np.arange(points.shape[0])]
    while waiting:
        some = waiting.pop()
        weight = int(weights[some].sum())
        if weight <= most or some.shape[0] < 2:
            parts.append(some)
            continue
        centred = points[some] - points[some].mean(axis=0)
        sample = centred[:: -(-some.shape[0] // (_SAMPLE_LATER if turn else _SAMPLE[0]))]
        spread = np.einsum("ia,ib->ab", sample, sample)
        mixture = random.normal(size=spread.shape[0])
        towards = np.einsum("ab,b->a", spread, mixture) if turn else np.linalg.eigh(spread)[1][:, -1]
        along = np.einsum("ia,a->i", centred, towards)
        n_parts = -(-weight // most)
        share = FIRST_CUTS[turn] if some.shape[0] == points.shape[0] else (n_parts // 2) / n_parts
        wanted = max(int(weight * share) // k, 1) * k
        if weight == some.shape[0]:
            below = _lowest(along, min(wanted, some.shape[0] - 1))
            waiting += [some[~below], some[below]]
        else:
            order = some[np.argsort(along, kind="stable")]
            place = int(np.searchsorted(np.cumsum(weights[order]), wanted, side="left")) + 1
            place = min(place, order.shape[0] - 1)
            waiting += [order[place:], order[:place]]
    return parts


def _lowest(values: Floats, n: int) -> Bools:
    """Which values are the n lowest, of equal ones the first."""
    last = np.partition(values, n - 1)[n - 1]
    lowest: Bools = values < last
    ties = np.flatnonzero(values == last)
    lowest[ties[: n - int(np.count_nonzero(lowest))]] = True
    return lowest
