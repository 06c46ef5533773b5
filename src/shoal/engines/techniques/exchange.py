"""Exchange of stretches on an engine.

For each stretch of time the subjects are dealt by chance into parts of about 4000, anew each time. Inside a part it is
done as in memory: a share of the series is drawn, subjects in random order, and each gets the stretch that lies as many
places before it as the largest subject has series. So every value stays at its instant and goes to one series, totals
are exact, and no series gets one of its own subject unless that has more than half of the drawn series of a part. With
fewer than 8192 subjects there is one part, and it is the exchange in memory with other random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import BlockCandidate, BlockPanel, Clock
from shoal.engines.contract import Blocks
from shoal.engines.reading.tally import TALLY
from shoal.engines.rows import ID, ROW, SERIES, SUBJECT, pack, unpack
from shoal.engines.techniques.random import random_bits, secret_key
from shoal.engines.techniques.table import made, schema_of, with_published
from shoal.engines.work import Columns, each_key, starts_of_keys, whole_keys
from shoal.errors import ParameterError
from shoal.methods.lengths import instants_in
from shoal.methods.permutation import Permutation
from shoal.model import Panel

_PER_PART = 4096
_STRETCH, _PART, _TURN, _DRAW, _PIECE, _MOVED = "stretch", "part", "turn", "draw", "piece", "moved"


def exchange(method: Permutation, panel: BlockPanel) -> BlockCandidate:
    """Draw who exchanges with whom, stretch by stretch."""
    if panel.n_subjects < 2:
        raise ParameterError(
            f"permutation needs at least 2 subjects to exchange between, the panel has {panel.n_subjects}. "
            "Read more series."
        )
    clock, engine = panel.clock, panel.engine
    few = Panel(np.zeros((1, clock.n_instants)), times=clock.times)
    length = min(instants_in(method.length, few, "length"), clock.n_instants)
    n_stretches = -(-clock.n_instants // length)
    key = secret_key(panel, int(method.seed), method.name)
    dealt = _Deal(clock, length, n_stretches, max(1, panel.n_subjects // _PER_PART), key)
    further = [panel.table.schema.field(name) for name in panel.attributes]
    pieces = pa.schema(
        [*SERIES, *further, *((name, pa.int64()) for name in (_STRETCH, _PART, _TURN, _DRAW)), (_PIECE, pa.binary())]
    )
    moved = pa.schema([*(pieces.field(i) for i in range(4 + len(further))), pieces.field(_PIECE), (_MOVED, pa.int64())])
    exchanged = engine.together(
        engine.map(panel.table, dealt, pieces),
        [_STRETCH, _PART],
        _Exchange(float(method.share)),
        moved,
        order=[ID],
    )
    final = schema_of(panel)
    kept = engine.keep(
        engine.together(exchanged, [ID], _Join(), final.append(pa.field(_MOVED, pa.int64())), order=[_STRETCH])
    )
    n_exchanged = int(sum(engine.collect(engine.map(kept, _Sum(), TALLY))["n"].to_pylist()))
    return made(
        method,
        panel,
        engine.map(kept, Columns(tuple(final.names)), final),
        clock=clock,
        figures={"stretches": n_stretches, "exchanges": n_exchanged},
    )


@dataclass(frozen=True)
class _Deal:
    """Cut every series into its stretches, each with the part it is dealt to and its chances there."""

    clock: Clock
    length: int
    n_stretches: int
    n_parts: int
    key: bytes = field(repr=False)

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if not block.num_rows:
                continue
            of_subject = self._bits(b"subject ", block.column(SUBJECT))
            of_series = self._bits(b"series ", block.column(ID))
            cube = unpack(block.column(ROW)).reshape(block.num_rows, self.clock.n_instants, -1)
            nothing = pa.array([b""] * block.num_rows, pa.binary())
            for stretch in range(self.n_stretches):
                piece = cube[:, stretch * self.length : (stretch + 1) * self.length]
                turn = of_subject[:, stretch]
                own = dict(zip(block.schema.names, block.columns, strict=True))
                # The original goes along once.
                own |= {ROW: block.column(ROW) if stretch == 0 else nothing}
                own |= {_STRETCH: pa.array(np.full(block.num_rows, stretch))}
                own |= {_PART: pa.array((turn % np.uint64(self.n_parts)).astype(np.int64)), _TURN: _signed(turn)}
                own |= {_DRAW: _signed(of_series[:, stretch]), _PIECE: pack(piece.reshape(block.num_rows, -1))}
                yield pa.record_batch(list(own.values()), names=list(own))

    def _bits(self, what: bytes, names: pa.Array) -> NDArray[np.uint64]:
        return random_bits(self.key + what, (name.encode() for name in names.to_pylist()), self.n_stretches)


def _signed(bits: NDArray[np.uint64]) -> pa.Array:
    return pa.array((bits >> np.uint64(1)).astype(np.int64))


@dataclass(frozen=True)
class _Exchange:
    share: float

    def __call__(self, blocks: Blocks) -> Blocks:
        for table in each_key(blocks, [_STRETCH, _PART]):
            n = table.num_rows
            subjects = table[SUBJECT].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
            takers, givers = exchanged(
                table[_TURN].to_numpy(), table[_DRAW].to_numpy(), subjects.astype(np.int64), self.share
            )
            source = np.arange(n)
            source[takers] = givers
            moved = (subjects[source] != subjects).astype(np.int64)
            pieces = table[_PIECE].combine_chunks().take(pa.array(source))
            names = [name for name in table.column_names if name not in (_PART, _TURN, _DRAW, _PIECE)]
            changed = table.select(names).append_column(_PIECE, pieces).append_column(_MOVED, pa.array(moved))
            yield from changed.combine_chunks().to_batches()


def exchanged(
    turns: NDArray[np.int64], draws: NDArray[np.int64], subjects: NDArray[np.int64], share: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Series drawn by chance, and for each the one whose stretch it gets: each is named once on both sides."""
    if len(draws) < 2:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    drawn = np.argsort(draws, kind="stable")[: max(2, round(share * len(draws)))]
    # Subjects by turn, each with its series side by side: moving on by as many places as the largest has series leads
    # every one out of its own subject, unless that is more than half of all.
    drawn = drawn[np.lexsort((draws[drawn], subjects[drawn], turns[drawn]))]
    most = int(np.unique(subjects[drawn], return_counts=True)[1].max())
    return drawn, np.roll(drawn, most)


@dataclass(frozen=True)
class _Join:
    """Put the stretches of each series together again."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for table in whole_keys(blocks, [ID]):
            starts = np.flatnonzero(starts_of_keys(table, [ID]))
            # Sorted by series and stretch, the bytes of all stretches already lie as rows do.
            published = pack(_numbers(table[_PIECE]).reshape(len(starts), -1))
            first = table.take(pa.array(starts))
            own = {name: first[name].combine_chunks() for name in first.column_names}
            moved = np.add.reduceat(table[_MOVED].to_numpy(), starts)
            block = pa.record_batch(
                [own[name] for name in own if name not in (_STRETCH, _PIECE, _MOVED)],
                names=[name for name in own if name not in (_STRETCH, _PIECE, _MOVED)],
            )
            yield with_published(block, published).append_column(_MOVED, pa.array(moved))


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """All numbers of a column of bytes, one row after another, however long each is."""
    array = column.combine_chunks()
    _, bounds, data = array.buffers()
    offsets = np.frombuffer(bounds, np.int32)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, "<f8", count=int(offsets[-1] - offsets[0]) // 8, offset=int(offsets[0]))


@dataclass(frozen=True)
class _Sum:
    def __call__(self, blocks: Blocks) -> Blocks:
        n = sum(int(block.column(_MOVED).to_numpy().sum()) for block in blocks)
        yield pa.record_batch([["moved"], [0], [n]], schema=TALLY)
