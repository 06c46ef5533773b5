"""How much a release in parts leaves open: the rule of releases in memory, on whole groups that are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.blocks import PUBLISHED, BlockCandidate, chances
from shoal.engines.contract import Blocks
from shoal.engines.rows import ROW, unpack
from shoal.release.openness import most_open

_SAMPLE = 2_000
_SAMPLE_BYTES = 64 * 2**20  # of long series fewer are drawn; one group of them leaves enough open
_PAIRS = pa.schema([(ROW, pa.binary()), (PUBLISHED, pa.binary())])


def open_bits_of(candidate: BlockCandidate) -> float:
    """The binary logarithm of how many originals could surely have led to what is published.

    What is open in some groups is open in all, so groups are drawn, each whole: by a hash of what they are published
    as. Of envelopes, and where instants are not those of the originals, nothing counts as open.
    """
    panel = candidate.panel
    if candidate.form != "values" or not candidate.row_by_row or candidate.n_published is not None:
        return 0.0
    wanted = min(_SAMPLE, _SAMPLE_BYTES // (16 * candidate.clock.n_instants * candidate.clock.n_channels) + 1)
    share = min(1.0, wanted / max(1, candidate.n_series))
    drawn = panel.engine.collect(panel.engine.map(candidate.table, _WholeGroups(share), _PAIRS))
    if not drawn.num_rows:
        return 0.0
    before, after = (unpack(drawn[name]) for name in (ROW, PUBLISHED))
    if candidate.recipe.method == "nlk":
        labels = [np.unique(column, return_inverse=True)[1] for column in after.T]
        return most_open(before, after, np.stack(labels, axis=1))
    return most_open(before, after, pc.rank(drawn[PUBLISHED].combine_chunks(), tiebreaker="dense").to_numpy())


@dataclass(frozen=True)
class _WholeGroups:
    share: float

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            taken = pa.array(chances(block.column(PUBLISHED), 2) < self.share)
            yield block.select([ROW, PUBLISHED]).filter(taken)
