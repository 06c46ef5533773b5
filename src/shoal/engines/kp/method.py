"""(k, P)-anonymity on an engine: words counted everywhere, groups formed in blocks.

One block (50 000 series by default) gives what `KP.anonymize` gives in memory for the panel sorted by id, bit for bit.
With more blocks, and the algorithm "kapra":

1. *Words, exact.* The tree of words is that of the undivided panel. Nodes of more than a block are split on counts
   (`kp_words`); to the driver come the words that p series or more of such a node share, at most one for p series,
   and nothing else. Smaller nodes are grown where their series are. Series of bad leaves, a small part of all, are
   recycled in one place; above a million of them in several, by their word of two letters, and each may suppress up to
   p - 1.
2. *Subgroups, exact.* Series of one leaf form subgroups of p to 2p - 1, as in memory. Only a leaf of more than a block
   is cut in pieces of half a block or more first, each of series that lie near each other.
3. *Groups, per block.* Subgroups meet those nearby: a plan learned on a sample cuts the space of their middles in cells
   (`kp_cells`), cells of fewer than 3k series are joined to their neighbours, and in each block the kernels do exactly
   what they do in memory. Every group has k series and every word in it p, as always, and the check says so.

What the blocks cost is bounded: `figures["value_loss_extra_at_most"]` says how far the mean value loss of the release,
`figures["value_loss"]`, can be above that of the undivided panel, and above that of any other way to put its subgroups
together. The proof is in `kp_bound`. It is 0 where p = k and no leaf was cut: then every subgroup is a group.

"naive" begins with groups of near values: there the whole method runs in each block, and the bound is against all ways
to form groups of k.

Columns of sensitive values need numbers that nobody in the whole column has, and partners anywhere in it: `l` is
refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import BlockCandidate, BlockPanel, Clock
from shoal.engines.contract import Shared, Table
from shoal.engines.kp.bound import Outcome, Sample, as_sample, draw, extra_at_most, look_near, outcome, share_drawn
from shoal.engines.kp.cells import Cells, Plan, places
from shoal.engines.kp.formation import (
    BLOCK,
    ENVELOPES,
    IN_BLOCKS,
    IN_ONE_BLOCK,
    Alone,
    FormGroups,
    OneBlock,
    ToBlocks,
    WholeBlocks,
)
from shoal.engines.kp.subgroups import (
    BUCKET,
    CELL_COUNTS,
    IN_BUCKETS,
    IN_NODES,
    IN_SUBGROUPS,
    PIECE,
    CountInCells,
    FormSubgroups,
    OnlyBad,
    Recycle,
    ToNodes,
)
from shoal.engines.kp.words import LEAF, NODE, Top, grow_on_counts, only
from shoal.engines.rows import ID, ROW
from shoal.errors import ParameterError
from shoal.methods.instants import positions
from shoal.methods.kp import KP
from shoal.model import Recipe

DEFAULT_BLOCK = 50_000
"""Series of a block, about; fewer where so many would not fit into a worker's memory."""

MOST_RECYCLED = 1_000_000
"""Series of bad leaves that are recycled in one place."""

_SAMPLED, _SAMPLED_BYTES = 20_000, 2**27  # series that show where series lie


def anonymize(
    method: KP, panel: BlockPanel, *, block: int = DEFAULT_BLOCK, most_recycled: int = MOST_RECYCLED
) -> BlockCandidate:
    """Envelopes and words of all series but the suppressed ones; see the module for what is exact."""
    _refuse(method, panel)
    n_instants = panel.clock.n_instants
    ranges = positions("envelope_instants", method.envelope_instants, n_instants)
    positions("pattern_instants", method.pattern_instants, n_instants)
    block = max(3 * int(method.k), min(block, panel.engine.part_bytes // (8 * n_instants)))
    if panel.n_series <= block:
        table, figures = _in_one_block(method, panel)
    else:
        table, figures = _in_blocks(method, panel, block, most_recycled, ranges)
    return BlockCandidate(
        panel=panel,
        table=table,
        clock=Clock(panel.clock.times[ranges], ("low", "high"), panel.clock.timezone),
        guarantee=method.aims_at,
        recipe=Recipe(method.name, method.parameters, figures),
        form="envelopes",
        n_published=panel.n_series - figures["series_suppressed"],
    )


def _in_one_block(method: KP, panel: BlockPanel) -> tuple[Table, dict[str, Any]]:
    engine = panel.engine
    series = engine.map(panel.table, OneBlock(), IN_ONE_BLOCK)
    work = WholeBlocks(method, panel.clock)
    table = engine.keep(engine.together(series, [BLOCK], work, ENVELOPES, order=[ID]))
    return table, _figures(panel, outcome(engine, table, None), 1, 0.0)


def _in_blocks(
    method: KP, panel: BlockPanel, block: int, most_recycled: int, ranges: NDArray[np.int64]
) -> tuple[Table, dict[str, Any]]:
    engine, k = panel.engine, int(method.k)
    if method.algorithm == "kapra":
        subgroups, sample, is_cut = _subgroups(method, panel, block, most_recycled)
        work: Any = FormGroups(method)
    else:
        subgroups = engine.map(panel.table, Alone(), IN_SUBGROUPS)
        share = share_drawn(n_series=panel.n_series, least=1, n_instants=panel.clock.n_instants)
        sample, is_cut = as_sample(draw(engine, subgroups, share)[0], share, panel.clock.n_instants), True
        work = WholeBlocks(method, panel.clock)
    # Where every subgroup is a group nobody could do better, and nothing needs to be looked for.
    targets = None if method.p == k and not is_cut else sample
    cells = Cells.learn(sample.places, sample.sizes, panel.n_series, block)
    near = look_near(engine, subgroups, sample.first(0) if targets is None else targets, cells, k, ranges)
    plan = Plan.of(cells, near.in_cell, least=3 * k, block=block, k=k)
    series = engine.map(subgroups, ToBlocks(engine.share(plan)), IN_BLOCKS)
    table = engine.keep(engine.together(series, [BLOCK], work, ENVELOPES, order=[ID]))
    found = outcome(engine, table, targets)
    extra = 0.0 if targets is None else extra_at_most(found, near, targets)
    return table, _figures(panel, found, plan.n_blocks, extra)


def _subgroups(method: KP, panel: BlockPanel, block: int, most_recycled: int) -> tuple[Table, Sample, bool]:
    """All series by subgroup, some of the subgroups, and whether a leaf had to be cut."""
    engine, p, representation = panel.engine, int(method.p), method.representation
    top = grow_on_counts(engine, panel.table, n_series=panel.n_series, p=p, block=block, representation=representation)
    shared = engine.share(top)
    pieces = _pieces(method, panel, shared, block)
    cut = frozenset(pieces)
    to_nodes = ToNodes(shared, engine.share(pieces), representation)
    form = FormSubgroups(shared, cut, p, representation, block)
    in_nodes = engine.map(panel.table, to_nodes, IN_NODES)
    found = engine.keep(engine.together(in_nodes, [NODE, PIECE], form, IN_SUBGROUPS, order=[ID]))
    n_instants, is_cut = panel.clock.n_instants, bool(cut)
    share = share_drawn(n_series=panel.n_series, least=1 if is_cut else p, n_instants=n_instants)
    drawn, n_bad = draw(engine, found, share)
    if n_bad:
        n_buckets = -(-n_bad // most_recycled)
        is_cut = is_cut or n_buckets > 1
        only_bad = engine.map(found, OnlyBad(n_buckets, representation), IN_BUCKETS)
        recycle = Recycle(p, representation, n_buckets > 1)
        recycled = engine.keep(engine.together(only_bad, [BUCKET], recycle, IN_SUBGROUPS, order=[ID]))
        drawn = pa.concat_tables([drawn, draw(engine, recycled, share)[0]])
        found = engine.concat([found, recycled])
    return found, as_sample(drawn, share, n_instants), is_cut


def _pieces(method: KP, panel: BlockPanel, top: Shared[Top], block: int) -> dict[int, Plan]:
    """How leaves of more than a block are cut: by where their series lie, in pieces of half a block or more."""
    large = np.flatnonzero((top.value.kind == LEAF) & (top.value.size > block))
    if not len(large):
        return {}
    engine = panel.engine
    sample = panel.sample(min(_SAMPLED, _SAMPLED_BYTES // (8 * panel.clock.n_instants)))
    where = places(sample.values.reshape(sample.n_series, -1))
    cells = Cells.learn(where, np.ones(len(where), dtype=np.int64), panel.n_series, max(1, block // 2))
    work = CountInCells(top, tuple(large.tolist()), cells, method.representation)
    rows = engine.collect(engine.map(only(engine, panel.table, (ROW,)), work, CELL_COUNTS))
    node, cell, count = (rows[name].to_numpy() for name in CELL_COUNTS.names)
    found = {}
    for leaf in large.tolist():
        counts = np.zeros(cells.n_cells, dtype=np.int64)
        np.add.at(counts, cell[node == leaf], count[node == leaf])
        least = max(int(method.p), block // 2)
        found[leaf] = Plan.of(cells, counts, least=least, block=block, k=int(method.k))
    return found


def _figures(panel: BlockPanel, found: Outcome, n_blocks: int, extra: float) -> dict[str, Any]:
    return {
        "groups": found.n_groups,
        "series_suppressed": panel.n_series - found.n_series,
        "blocks": n_blocks,
        "value_loss": found.value_loss,
        "value_loss_extra_at_most": extra,
    }


def _refuse(method: KP, panel: BlockPanel) -> None:
    if panel.n_subjects < method.k:
        raise ParameterError(
            f"k={method.k} needs at least {method.k} subjects, the panel has {panel.n_subjects}. "
            "Lower k or read more series."
        )
    if not panel.one_series_per_subject:
        raise ParameterError(
            f"kp needs one series per subject; here are {panel.n_series} series of {panel.n_subjects} subjects. "
            "Use microaggregation, or publish one series of each."
        )
    if panel.clock.n_channels > 1:
        raise ParameterError(
            f"kp needs a panel of one channel, this one has {panel.clock.n_channels}. Publish them one by one, or use "
            "microaggregation."
        )
    if panel.n_missing:
        raise ParameterError(
            f"kp needs a panel without gaps; {panel.n_missing} values are missing. "
            "Read it with missing='drop-series' or 'interpolate:2h'."
        )
    if method.l is not None:
        raise ParameterError(
            f"l={method.l} changes sensitive values by what others in the whole column have, which does not work in "
            "blocks. Leave l out, or leave --engine out: in memory it does."
        )
