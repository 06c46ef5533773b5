"""How much a release in parts leaves open: the rule of releases in memory, on whole groups that are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from shoal.engines.blocks import PUBLISHED, BlockCandidate, chances
from shoal.engines.contract import Blocks
from shoal.engines.rows import ROW, unpack
from shoal.model import Panel
from shoal.release.openness import enough_is_open

_SAMPLE = 2_000
_SAMPLE_BYTES = 64 * 2**20  # of long series fewer are drawn; one group of them leaves enough open
_PAIRS = pa.schema([(ROW, pa.binary()), (PUBLISHED, pa.binary())])


def enough_is_open_in(candidate: BlockCandidate) -> bool:
    """Whether somebody who has the release still has at least 2^128 possible originals to try.

    What is open in some groups is open in all, so groups are drawn, each whole: by a hash of what they are published
    as. Of envelopes, and where instants are not those of the originals, nothing counts as open.
    """
    panel = candidate.panel
    if candidate.form != "values" or candidate.clock.n_instants != panel.clock.n_instants:
        return False
    if candidate.n_published is not None or candidate.clock.n_channels != panel.clock.n_channels:
        return False
    wanted = min(_SAMPLE, _SAMPLE_BYTES // (16 * candidate.clock.n_instants * candidate.clock.n_channels) + 1)
    share = min(1.0, wanted / max(1, candidate.n_series))
    drawn = panel.engine.collect(panel.engine.map(candidate.table, _WholeGroups(share), _PAIRS))
    if not drawn.num_rows:
        return False
    before, after = (Panel(candidate.clock.shaped(unpack(drawn[name]))) for name in (ROW, PUBLISHED))
    return enough_is_open(before, after)


@dataclass(frozen=True)
class _WholeGroups:
    share: float

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            taken = pa.array(chances(block.column(PUBLISHED), 2) < self.share)
            yield block.select([ROW, PUBLISHED]).filter(taken)
