"""Sums of squares of whole numbers, many rows at a time.

Coordinates are int16 and stored in pairs, so that one instruction squares and adds two of them for sixteen rows: half
the bytes of float32 and a quarter of the instructions. numba does not find these instructions in a loop, so the few
functions here spell out the vectors; LLVM fits them to the processor at hand.

A block is one leaf of `WIDTH` rows, stored pair by pair, and within a pair row by row. Its last value is not a
coordinate but a length: that of a row's part beyond the coordinates so far. Two such parts differ by at least the
difference of their lengths and at most by the sum, so each row has two sums, the least and the most its squared
distance can be. The caller ensures that differences fit into 16 bits and sums into 31.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

WIDTH = 32  # rows per block, one bit each in a mask
GROUP = 16  # boxes per call
STRIDE = 32  # consecutive values of a row
cgutils: Any = _cgutils
ir: Any = vars(cgutils)["ir"]  # of the llvmlite that numba uses
_BIT, _I16, _I32, _I64 = ir.IntType(1), ir.IntType(16), ir.IntType(32), ir.IntType(64)
_HIGHEST = 2**31 - 1


def _instruction(generate: Any) -> Any:
    """`intrinsic` without its type, by which callers would have to pass the compiler's context."""
    return intrinsic(generate)


class _Lanes:
    """The vectors of one function: `width` sums, or as many pairs of values."""

    def __init__(self, context: Any, builder: Any, signature: Any, width: int) -> None:
        self.context, self.b, self.types, self.width = context, builder, signature.args, width
        self.pairs, self.sums = ir.VectorType(_I16, 2 * width), ir.VectorType(_I32, width)
        self.sixteen = self.constant(_I32, [16] * width)

    def constant(self, of: Any, values: Any) -> Any:
        values = list(values)
        return ir.Constant(ir.VectorType(of, len(values)), values)

    def address(self, number: int, array: Any, at: Any) -> Any:
        """The address of the element `at` of an argument."""
        return self.b.gep(self.context.make_array(self.types[number])(self.context, self.b, array).data, [at])

    def after(self, address: Any, n: int) -> Any:
        return self.b.gep(address, [ir.Constant(_I64, n)])

    def load(self, address: Any, of: Any) -> Any:
        align = of.element.width // 8 if isinstance(of, ir.VectorType) else 2
        return self.b.load(self.b.bitcast(address, of.as_pointer()), align=align)

    def store(self, vector: Any, address: Any) -> None:
        self.b.store(vector, self.b.bitcast(address, vector.type.as_pointer()), align=vector.type.element.width // 8)

    def everywhere(self, number: Any) -> Any:
        first = self.b.insert_element(ir.Constant(self.sums, ir.Undefined), number, ir.Constant(_I32, 0))
        return self.b.shuffle_vector(first, first, self.constant(_I32, [0] * self.width))

    def pair(self, point: Any, j: int) -> Any:
        """Pair j of a point, repeated for every row."""
        return self.b.bitcast(self.everywhere(self.load(self.after(point, 2 * j), _I32)), self.pairs)

    def even_squares(self, pairs: Any) -> Any:
        value = self.b.ashr(self.b.shl(self.b.bitcast(pairs, self.sums), self.sixteen), self.sixteen)
        return self.b.mul(value, value)

    def odd_squares(self, pairs: Any) -> Any:
        value = self.b.ashr(self.b.bitcast(pairs, self.sums), self.sixteen)
        return self.b.mul(value, value)

    def squares(self, pairs: Any) -> Any:
        """The two squares of each pair, added. LLVM recognises its one instruction for this only in this form."""
        n = 2 * self.width
        values = self.b.sext(pairs, ir.VectorType(_I32, n))
        squares = self.b.mul(values, values)
        even, odd = (self.b.shuffle_vector(squares, squares, self.constant(_I32, range(i, n, 2))) for i in (0, 1))
        return self.b.add(even, odd)

    def lower(self, v: Any, w: Any) -> Any:
        return self.b.select(self.b.icmp_signed("<", v, w), v, w)

    def higher(self, v: Any, w: Any) -> Any:
        return self.b.select(self.b.icmp_signed(">", v, w), v, w)

    def fold(self, vector: Any, together: Callable[[Any, Any], Any], n_left: int = 1) -> Any:
        """Combine halves until `n_left` elements remain."""
        n = vector.type.count
        while n > n_left:
            n //= 2
            halves = [self.constant(_I32, range(i, i + n)) for i in (0, n)]
            vector = together(*(self.b.shuffle_vector(vector, vector, half) for half in halves))
        return vector

    def only(self, vector: Any) -> Any:
        return self.b.extract_element(vector, ir.Constant(_I32, 0))

    def mask(self, hits: Any) -> Any:
        """One bit per row."""
        return self.b.zext(self.b.bitcast(hits, ir.IntType(self.width)), _I64)

    def rows_of(self, mask: Any) -> Any:
        return self.b.bitcast(self.b.trunc(mask, ir.IntType(self.width)), ir.VectorType(_BIT, self.width))

    def block(self, values: Any, point: Any, total: Any, n_pairs: int) -> tuple[Any, Any, Any]:
        """Sums of the coordinates of a block; and, with the lengths beyond, the least and the most."""
        b = self.b
        for j in range(n_pairs - 1):
            here = self.load(self.after(values, 2 * self.width * j), self.pairs)
            squares = self.squares(b.sub(here, self.pair(point, j)))
            total = squares if total is None else b.add(total, squares)
        here = self.load(self.after(values, 2 * self.width * (n_pairs - 1)), self.pairs)
        there = self.pair(point, n_pairs - 1)
        less, more = b.sub(here, there), b.add(here, there)
        total = b.add(total, self.even_squares(less))
        return total, b.add(total, self.odd_squares(less)), b.add(total, self.odd_squares(more))


@_instruction
def begin_sums(
    _: Any, values: Any, start: Any, point: Any, there: Any, sums: Any, least: Any, most: Any, i: Any
) -> Any:
    """Store the sums of a block of 4 pairs as the i-th, and the least and the most of the rows in the mask `there`."""
    n = types.int64

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        values, start, point, there, sums, least, most, i = arguments
        lanes = _Lanes(context, b, signature, WIDTH)
        origin = ir.Constant(_I64, 0)
        total, low, high = lanes.block(lanes.address(0, values, start), lanes.address(2, point, origin), None, 4)
        lanes.store(total, lanes.address(4, sums, b.mul(i, ir.Constant(_I64, WIDTH))))
        rows = lanes.rows_of(there)
        low = b.select(rows, low, lanes.constant(_I32, [_HIGHEST] * WIDTH))
        high = b.select(rows, high, lanes.constant(_I32, [-1] * WIDTH))
        b.store(lanes.only(lanes.fold(low, lanes.lower)), lanes.address(5, least, i))
        b.store(lanes.only(lanes.fold(high, lanes.higher)), lanes.address(6, most, i))
        return context.get_dummy_value()

    return types.void(values, n, point, n, sums, least, most, n), generate


@_instruction
def continue_sums(_: Any, values: Any, start: Any, point: Any, sums: Any, i: Any, near: Any, far: Any) -> Any:
    """Add a block of 8 pairs to the i-th sums; returns the mask of rows at most `near` or at least `far`."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        values, start, point, sums, i, near, far = arguments
        lanes = _Lanes(context, b, signature, WIDTH)
        own = lanes.address(3, sums, b.mul(i, ir.Constant(_I64, WIDTH)))
        start, origin = lanes.address(0, values, start), ir.Constant(_I64, 0)
        total, low, high = lanes.block(start, lanes.address(2, point, origin), lanes.load(own, lanes.sums), 8)
        lanes.store(total, own)
        is_near = b.icmp_signed("<=", low, lanes.everywhere(near))
        return lanes.mask(b.or_(is_near, b.icmp_signed(">=", high, lanes.everywhere(far))))

    return types.int64(values, types.int64, point, sums, types.int64, types.int32, types.int32), generate


@_instruction
def row_sum(_: Any, values: Any, start: Any, point: Any, n: Any) -> Any:
    """Squared distance of a point to a row whose values are consecutive, n times STRIDE of them."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        values, start, point, n = arguments
        lanes = _Lanes(context, b, signature, STRIDE // 2)
        total = cgutils.alloca_once_value(b, lanes.constant(_I32, [0] * (STRIDE // 2)))
        with cgutils.for_range(b, n) as loop:
            at = b.mul(loop.index, ir.Constant(_I64, STRIDE))
            here = lanes.load(lanes.address(0, values, b.add(start, at)), lanes.pairs)
            there = lanes.load(lanes.address(2, point, at), lanes.pairs)
            b.store(b.add(b.load(total), lanes.squares(b.sub(here, there))), total)
        return b.sext(lanes.only(lanes.fold(b.load(total), b.add)), _I64)

    return types.int64(values, types.int64, point, types.int64), generate


@_instruction
def bound_boxes(_: Any, low: Any, high: Any, n: Any, i: Any, near: Any, far: Any, lower: Any, upper: Any) -> Any:
    """Least squared distances of GROUP of n boxes, from the i-th on; and a quarter of the largest.

    `low` and `high` hold 4 pairs: pair by pair, box by box. A corner of a box may lie beyond all rows, hence the
    quarter. `far` is the point with its length negated: at worst, the lengths beyond add up.
    """

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        low, high, n, i, near, far, lower, upper = arguments
        lanes = _Lanes(context, b, signature, GROUP)
        zero, one = (lanes.constant(_I16, [value] * 2 * GROUP) for value in (0, 1))
        least = most = lanes.constant(_I32, [0] * GROUP)
        origin, two = ir.Constant(_I64, 0), ir.Constant(_I64, 2)
        at = b.mul(i, two)
        for j in range(4):
            lows = lanes.load(lanes.address(0, low, at), lanes.pairs)
            highs = lanes.load(lanes.address(1, high, at), lanes.pairs)
            point = lanes.pair(lanes.address(4, near, origin), j)
            outside = lanes.higher(lanes.higher(b.sub(lows, point), b.sub(point, highs)), zero)
            least = b.add(least, lanes.squares(outside))
            point = lanes.pair(lanes.address(5, far, origin), j)
            across = lanes.higher(b.sub(point, lows), b.sub(highs, point))
            most = b.add(most, lanes.squares(b.ashr(b.add(across, one), one)))
            at = b.add(at, b.mul(n, two))
        lanes.store(least, lanes.address(6, lower, i))
        lanes.store(most, lanes.address(7, upper, i))
        return context.get_dummy_value()

    return types.void(low, high, types.int64, types.int64, near, far, lower, upper), generate


@_instruction
def promising_boxes(_: Any, lower: Any, upper: Any, i: Any, near: Any, far: Any) -> Any:
    """The mask of GROUP boxes, from the i-th on, whose `lower` is at most `near` or whose `upper` at least `far`."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        lower, upper, i, near, far = arguments
        lanes = _Lanes(context, b, signature, GROUP)
        low = lanes.load(lanes.address(0, lower, i), lanes.sums)
        high = lanes.load(lanes.address(1, upper, i), lanes.sums)
        is_near = b.icmp_signed("<=", low, lanes.everywhere(near))
        return lanes.mask(b.or_(is_near, b.icmp_signed(">=", high, lanes.everywhere(far))))

    return types.int64(lower, upper, types.int64, types.int32, types.int32), generate


@_instruction
def fit_box(_: Any, values: Any, start: Any, there: Any, low: Any, high: Any, n: Any, i: Any) -> Any:
    """Make the i-th of n boxes the smallest around the rows of a block in the mask `there`."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        values, start, there, low, high, n, i = arguments
        lanes = _Lanes(context, b, signature, WIDTH)
        rows = lanes.rows_of(there)
        rows = b.shuffle_vector(rows, rows, lanes.constant(_I32, [slot // 2 for slot in range(2 * WIDTH)]))
        start, two = lanes.address(0, values, start), ir.Constant(_I64, 2)
        at = b.mul(i, two)
        for j in range(4):
            here = lanes.load(lanes.after(start, 2 * WIDTH * j), lanes.pairs)
            for number, box, together, worst in ((3, low, lanes.lower, 2**15 - 1), (4, high, lanes.higher, -(2**15))):
                kept = b.select(rows, here, lanes.constant(_I16, [worst] * 2 * WIDTH))
                lanes.store(lanes.fold(kept, together, 2), lanes.address(number, box, at))
            at = b.add(at, b.mul(n, two))
        return context.get_dummy_value()

    return types.void(values, types.int64, types.int64, low, high, types.int64, types.int64), generate


@_instruction
def lowest(_: Any, mask: Any) -> Any:
    """Position of the lowest bit of a mask that is not zero."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        return b.cttz(arguments[0], ir.Constant(_BIT, 1))

    return types.int64(types.int64), generate
