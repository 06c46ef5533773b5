"""Groups of one block, and what is published of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import GROUP, LEVEL, PUBLISHED, WORD, Clock
from shoal.engines.contract import Blocks, Shared
from shoal.engines.kp.cells import Plan, places
from shoal.engines.kp.subgroups import BOX, IN_SUBGROUPS, LEAD, PLACE, SIZE, places_of, with_subgroup
from shoal.engines.kp.words import LETTERS, pack_letters, unpack_letters
from shoal.engines.rows import ID, ROW, SERIES, SUBJECT, pack, unpack
from shoal.engines.work import each_key
from shoal.features.sax import text
from shoal.kernels.kp_groups import boxes_of, form_groups
from shoal.methods.instants import positions
from shoal.methods.kp import KP
from shoal.methods.mean_words import Words, with_mean_words
from shoal.model import Envelopes

BLOCK = "block"

IN_BLOCKS = pa.schema([(BLOCK, pa.int64()), *SERIES, *(IN_SUBGROUPS.field(name) for name in (LEVEL, LETTERS, LEAD))])

ENVELOPES = pa.schema(
    [*SERIES, (PUBLISHED, pa.binary()), (GROUP, pa.int64()), (LEVEL, pa.int64()), (WORD, pa.string())]
)


@dataclass(frozen=True)
class ToBlocks:
    """Series with the block of their subgroup."""

    plan: Shared[Plan]

    def __call__(self, blocks: Blocks) -> Blocks:
        """Without what was needed on the way."""
        for block in map(with_subgroup, blocks):
            number = self.plan.value.numbers(places_of(block.column(PLACE)), block.column(LEAD))
            kept = [block.column(name) for name in IN_BLOCKS.names[1:]]
            yield pa.RecordBatch.from_arrays([pa.array(number), *kept], schema=IN_BLOCKS)


@dataclass(frozen=True)
class Alone:
    """Every series as a subgroup of its own: what "naive" begins with."""

    def __call__(self, blocks: Blocks) -> Blocks:
        """Where each lies is where its values are."""
        for block in blocks:
            x = unpack(block.column(ROW))
            nothing = pa.array(np.zeros(len(x), dtype=np.int64))
            columns = {
                **{name: block.column(name) for name in (ID, SUBJECT, ROW)},
                LEVEL: nothing,
                LETTERS: pa.array([b""] * len(x), pa.binary()),
                LEAD: block.column(ID),
                SIZE: pa.array(np.ones(len(x), dtype=np.int64)),
                BOX: pack(np.stack([x, x], axis=2)),
                PLACE: pack_letters(np.ascontiguousarray(places(x)).view(np.uint8)),
            }
            yield pa.RecordBatch.from_arrays([columns[name] for name in IN_SUBGROUPS.names], schema=IN_SUBGROUPS)


@dataclass(frozen=True)
class FormGroups:
    """Subgroups of a block put together to groups of k series or more, by the kernel that does it in memory."""

    method: KP

    def __call__(self, blocks: Blocks) -> Blocks:
        """Envelopes and words of every series."""
        for table in each_key(blocks, [BLOCK]):
            rows = table.combine_chunks()
            x = np.array(unpack(rows[ROW]))
            # Rows come sorted by id, so that subgroups are numbered by their first row.
            lead = rows[LEAD].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
            first = np.unique(lead, return_index=True)[1]
            boxes = boxes_of(x, lead)
            groups = form_groups(*boxes, int(self.method.k), np.zeros(1, dtype=np.int64))[lead]
            low, high, _ = boxes_of(x, groups)
            words = Words(unpack_letters(rows[LETTERS])[first], rows[LEVEL].to_numpy()[first], lead)
            if self.method.words == "mean":
                words = with_mean_words(x, lead, words, self.method.representation)
            ranges = positions("envelope_instants", self.method.envelope_instants, x.shape[1])
            spelled = positions("pattern_instants", self.method.pattern_instants, x.shape[1])
            texts = pa.array(text(words.letters[:, spelled]))
            ends = np.stack([low[:, ranges], high[:, ranges]], axis=2)
            yield from envelopes(
                rows,
                rows[BLOCK][0].as_py(),
                ends[groups],
                groups,
                words.levels[words.of_row],
                texts.take(pa.array(words.of_row)),
            )


@dataclass(frozen=True)
class WholeBlocks:
    """All of the method on each block, as if it were the whole panel."""

    method: KP
    clock: Clock

    def __call__(self, blocks: Blocks) -> Blocks:
        """Envelopes and words of every series that is not suppressed."""
        for table in each_key(blocks, [BLOCK]):
            rows = table.combine_chunks()
            found = self.method.anonymize(self.clock.panel(rows))
            published, private = found.published, found.private
            assert isinstance(published, Envelopes)
            kept = np.arange(rows.num_rows) if private.rows is None else private.rows
            yield from envelopes(
                rows.take(pa.array(kept)),
                rows[BLOCK][0].as_py(),
                published.values,
                private.groups[kept],
                published.levels,
                pa.array(published.patterns),
            )


@dataclass(frozen=True)
class OneBlock:
    """Series that are all in one block."""

    def __call__(self, blocks: Blocks) -> Blocks:
        """With its number."""
        for block in blocks:
            number = pa.array(np.zeros(block.num_rows, dtype=np.int64))
            columns = [number, *(block.column(name) for name in (ID, SUBJECT, ROW))]
            yield pa.RecordBatch.from_arrays(columns, schema=IN_ONE_BLOCK)


IN_ONE_BLOCK = pa.schema([(BLOCK, pa.int64()), *SERIES])


def envelopes(
    rows: pa.Table,
    block: int,
    ends: NDArray[np.float64],
    groups: NDArray[np.int64],
    levels: NDArray[np.int64],
    words: pa.Array,
) -> Blocks:
    """Rows as they are published, one group after another; groups are numbered over all blocks."""
    # What is alike lies together: a check then moves it once.
    order = np.argsort(groups, kind="stable")
    columns = [
        *(rows[name].combine_chunks().take(pa.array(order)) for name in (ID, SUBJECT, ROW)),
        pack(ends[order]),
        pa.array((np.int64(block) << 32) + groups[order]),
        pa.array(levels[order]),
        words.take(pa.array(order)),
    ]
    yield pa.RecordBatch.from_arrays(columns, schema=ENVELOPES)
