"""The box that increases the cost of a growing box least, found without examining all boxes.

Boxes are low[b], high[b] (instants) with sizes[b] rows. For a box G of n rows

    cost(G, b) = (n + sizes[b])² · Σ_t (max(G.high, high[b]) - min(G.low, low[b]))²

is the value loss of all rows of the union (formula 2), squared, times T. `cheapest` gives the box with the least
(cost, number) among those not yet taken: exactly, ties included. A tree over the boxes bounds the cost of all below a
node: with the least high, the greatest low, the least width at each instant and the least size of them,

    cost(G, b) >= (n + size)² · Σ_t max(max(G.high, high) - min(G.low, low), width)²

As rounding is monotone and both sides add in the same order, the bound holds for the rounded numbers as well. The
lowest number below a node settles ties, so that a million equal boxes are no harder than others.

The tree is a full binary one, node i above 2i + 1 and 2i + 2; leaf j holds the boxes at positions ends[j] to ends[j +
1] - 1 of `number`, an order made by halving at the median of the middles of the instant where they spread most (or
their sizes). Taking a box tightens the bounds above it; when half of the boxes are gone, the tree is rebuilt.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.arrays import Bools, Floats, Ints

LEAF = 8  # boxes in a leaf


class BoxTree(NamedTuple):
    """Boxes in the order of the leaves, and the bounds of each node."""

    low: Floats  # (boxes, instants)
    high: Floats
    size: Ints
    number: Ints
    taken: Bools
    position: Ints  # of each number, -1 where it is not in the tree
    ends: Ints
    leaf: Ints  # of each position
    bounds: Floats  # (nodes, 3, instants): least high, greatest low, least width
    least: Ints  # (nodes): smallest size; 0 if all below are taken
    lowest: Ints  # (nodes): lowest number


def make_tree(low: Floats, high: Floats, sizes: Ints, alive: Ints) -> BoxTree:
    """The tree of the boxes whose numbers are in `alive`, of which there is at least one."""
    depth = max(0, int(np.ceil(np.log2(len(alive) / LEAF))))
    order, ends = _layout(low[alive], high[alive], sizes[alive], depth)
    order = alive[order]
    position = np.full(len(sizes), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    ordered = low[order], high[order], sizes[order]
    bounds = np.empty((2 ** (depth + 1) - 1, 3, low.shape[1]))
    least, lowest = np.empty((2, len(bounds)), dtype=np.int64)
    for level in range(depth, -1, -1):
        nodes, starts = slice(2**level - 1, 2 ** (level + 1) - 1), ends[: -1 : 2 ** (depth - level)]
        bounds[nodes, 0] = np.minimum.reduceat(ordered[1], starts, axis=0)
        bounds[nodes, 1] = np.maximum.reduceat(ordered[0], starts, axis=0)
        bounds[nodes, 2] = np.minimum.reduceat(ordered[1] - ordered[0], starts, axis=0)
        least[nodes] = np.minimum.reduceat(ordered[2], starts)
        lowest[nodes] = np.minimum.reduceat(order, starts)
    leaf = np.repeat(np.arange(2**depth), np.diff(ends))
    return BoxTree(*ordered, order, np.zeros(len(order), dtype=np.bool_), position, ends, leaf, bounds, least, lowest)


def _layout(low: Floats, high: Floats, sizes: Ints, depth: int) -> tuple[Ints, Ints]:
    """The order of the boxes in 2^depth leaves, and where each leaf begins; all nodes of a level at once."""
    # A third more rows raises the cost of a box about as much as a distance of a third of a usual width.
    width = np.sqrt(np.square(high - low).sum(axis=1)).mean() / sizes.min()
    middles = np.concatenate([0.5 * low + 0.5 * high, width * sizes[:, None]], axis=1)
    order = np.arange(len(sizes))
    ends = np.array([0, len(sizes)])
    for _ in range(depth):
        counts = np.diff(ends)
        here = middles[order]
        means = np.add.reduceat(here, ends[:-1], axis=0) / counts[:, None]
        here -= np.repeat(means, counts, axis=0)
        widest = np.argmax(np.add.reduceat(here * here, ends[:-1], axis=0), axis=1)
        keys = middles[order, np.repeat(widest, counts)]
        order = order[np.lexsort((keys, np.repeat(np.arange(len(counts)), counts)))]
        ends = np.insert(ends, np.arange(1, len(ends)), ends[:-1] + counts // 2)
    return order, ends


@njit(cache=True)
def _bound_leaf(tree: BoxTree, j: int) -> None:
    node = len(tree.ends) - 2 + j
    least, lowest = 0, len(tree.position)
    for t in range(tree.low.shape[1]):
        tree.bounds[node, 0, t] = tree.bounds[node, 2, t] = np.inf
        tree.bounds[node, 1, t] = -np.inf
    for b in range(tree.ends[j], tree.ends[j + 1]):
        if not tree.taken[b]:
            least = tree.size[b] if least == 0 else min(least, tree.size[b])
            lowest = min(lowest, tree.number[b])
            for t in range(tree.low.shape[1]):
                low, high = tree.low[b, t], tree.high[b, t]
                tree.bounds[node, 0, t] = min(tree.bounds[node, 0, t], high)
                tree.bounds[node, 1, t] = max(tree.bounds[node, 1, t], low)
                tree.bounds[node, 2, t] = min(tree.bounds[node, 2, t], high - low)
    tree.least[node], tree.lowest[node] = least, lowest


@njit(cache=True)
def _bound_node(tree: BoxTree, node: int) -> None:
    a, b = 2 * node + 1, 2 * node + 2
    if tree.least[a] == 0:
        a = b
    elif tree.least[b] == 0:
        b = a
    tree.least[node] = min(tree.least[a], tree.least[b])
    tree.lowest[node] = min(tree.lowest[a], tree.lowest[b])
    for t in range(tree.bounds.shape[2]):
        tree.bounds[node, 0, t] = min(tree.bounds[a, 0, t], tree.bounds[b, 0, t])
        tree.bounds[node, 1, t] = max(tree.bounds[a, 1, t], tree.bounds[b, 1, t])
        tree.bounds[node, 2, t] = min(tree.bounds[a, 2, t], tree.bounds[b, 2, t])


@njit(cache=True)
def take(tree: BoxTree, number: int) -> None:
    """Take a box out of the search."""
    at = tree.position[number]
    tree.taken[at] = True
    j = tree.leaf[at]
    _bound_leaf(tree, j)
    node = len(tree.ends) - 2 + j
    while node > 0:
        node = (node - 1) // 2
        _bound_node(tree, node)


@njit(cache=True)
def _bound(tree: BoxTree, node: int, box: Floats, n: int) -> float:
    if tree.least[node] == 0:
        return np.inf
    total = 0.0
    for t in range(box.shape[1]):
        d = max(box[1, t], tree.bounds[node, 0, t]) - min(box[0, t], tree.bounds[node, 1, t])
        d = max(d, tree.bounds[node, 2, t])
        total += d * d
    size = float(n + tree.least[node])
    return size * size * total


@njit(cache=True)
def cheapest(tree: BoxTree, box: Floats, n: int, share: float) -> int:
    """The number of the box with the least (cost, number) for `box`, low and high, of n rows; -1 if all are taken.

    With a share below 1, any box whose cost times `share` is not above the least.
    """
    n_leaves = len(tree.ends) - 1
    nodes = np.empty(64, dtype=np.int64)
    floors = np.empty(64)
    nodes[0], floors[0] = 0, _bound(tree, 0, box, n)
    depth = 1
    best, cost = -1, np.inf
    while depth > 0:
        depth -= 1
        node = nodes[depth]
        if floors[depth] > share * cost or tree.least[node] == 0:
            continue
        if floors[depth] == cost and best >= 0 and tree.lowest[node] > best:
            continue
        if node >= n_leaves - 1:
            j = node - (n_leaves - 1)
            for b in range(tree.ends[j], tree.ends[j + 1]):
                if tree.taken[b]:
                    continue
                total = 0.0
                for t in range(box.shape[1]):
                    d = max(box[1, t], tree.high[b, t]) - min(box[0, t], tree.low[b, t])
                    total += d * d
                size = float(n + tree.size[b])
                total *= size * size
                if total < cost or (total == cost and (best < 0 or tree.number[b] < best)):
                    best, cost = tree.number[b], total
            continue
        a, b = 2 * node + 1, 2 * node + 2
        floor_a, floor_b = _bound(tree, a, box, n), _bound(tree, b, box, n)
        # The more promising node goes on top of the stack.
        if floor_a < floor_b or (floor_a == floor_b and tree.lowest[a] < tree.lowest[b]):
            a, b, floor_a, floor_b = b, a, floor_b, floor_a
        nodes[depth], floors[depth] = a, floor_a
        nodes[depth + 1], floors[depth + 1] = b, floor_b
        depth += 2
    return best
