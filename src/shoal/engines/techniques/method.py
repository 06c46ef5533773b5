"""The techniques of the process on an engine.

Of each series by itself, with the same code and the same bytes as in memory: transformation, time-aggregation,
time-slicing. By chance, with other numbers than in memory and the same on every engine: noise-addition; permutation,
whose series exchange within parts of some thousand that are drawn anew for each stretch; sampling, where each subject
is drawn by itself with the probability `share`, so that their number is not fixed. From merged sums: scope-aggregation
within an attribute, each series published as the mean of its group. Steps are any of these and of the other methods in
order.

Not distributed, and refused with the way out: fictive series, which are compared with every real one;
scope-aggregation of groups drawn by chance, and totals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engines.blocks import OF, BlockCandidate, BlockPanel, Clock
from shoal.engines.contract import Blocks
from shoal.engines.reading.tally import TALLY
from shoal.engines.rows import ID, ROW, SUBJECT, pack, unpack
from shoal.engines.techniques.exchange import exchange
from shoal.engines.techniques.noise import add_noise
from shoal.engines.techniques.random import as_shares, random_bits, secret_key
from shoal.engines.techniques.scopes import aggregate_scopes
from shoal.engines.techniques.steps import apply_steps
from shoal.engines.techniques.table import candidate_of, with_published
from shoal.errors import ParameterError
from shoal.methods.altered import refuse_gaps
from shoal.methods.sampling_with_fictives import SamplingWithFictives
from shoal.methods.time_slicing import TimeSlicing
from shoal.model import Panel


def anonymize(method: Any, panel: BlockPanel) -> BlockCandidate:
    """What the technique does to a panel in memory, done where the blocks are."""
    done = {
        "noise-addition": add_noise,
        "transformation": change_each,
        "time-aggregation": change_each,
        "time-slicing": cut_slices,
        "sampling-with-fictives": draw_subjects,
        "scope-aggregation": aggregate_scopes,
        "permutation": exchange,
        "steps": apply_steps,
    }
    if method.name not in done:
        raise ParameterError(f"{method.name} is no technique. Known: {', '.join(sorted(done))}.")
    return done[method.name](method, panel)


def change_each(method: Any, panel: BlockPanel) -> BlockCandidate:
    """Apply a method that looks at one series at a time to each block."""
    pattern = method.anonymize(_pattern(panel.clock))
    published = pattern.published
    clock = Clock(published.times, published.channels, published.timezone)
    return candidate_of(method, panel, _Each(method, panel.clock), clock=clock, figures=pattern.recipe.figures)


def _pattern(clock: Clock) -> Panel:
    """One series of zeros over the same instants: it shows what a method does to a clock, or refuses of it."""
    return _as_panel(clock, np.zeros((1, clock.n_instants * clock.n_channels)))


def _as_panel(clock: Clock, rows: Any) -> Panel:
    return Panel(clock.shaped(rows), times=clock.times, channels=clock.channels, timezone=clock.timezone, copy=False)


@dataclass(frozen=True)
class _Each:
    method: Any
    clock: Clock

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if block.num_rows:
                changed = self.method.anonymize(_as_panel(self.clock, unpack(block.column(ROW)))).published
                yield with_published(block, pack(changed.rows))


def cut_slices(method: TimeSlicing, panel: BlockPanel) -> BlockCandidate:
    """Cut every series; each slice is a series of its own, named after the one it is cut from and its number."""
    pattern = method.anonymize(_pattern(panel.clock))
    published = pattern.published
    assert isinstance(published, Panel)
    n_slices = published.n_series
    return candidate_of(
        method,
        panel,
        _Slices(method, panel.clock, n_slices),
        clock=Clock(published.times, published.channels, published.timezone),
        figures=pattern.recipe.figures,
        n_published=panel.n_series * n_slices,
        parts=True,
    )


@dataclass(frozen=True)
class _Slices:
    method: TimeSlicing
    clock: Clock
    n_slices: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if not block.num_rows:
                continue
            cut = self.method.anonymize(_as_panel(self.clock, unpack(block.column(ROW)))).published
            assert isinstance(cut, Panel)
            repeated = block.take(pa.array(np.repeat(np.arange(block.num_rows), self.n_slices)))
            numbers = pa.array(np.tile(np.arange(self.n_slices), block.num_rows)).cast(pa.string())
            own = repeated.column(ID)
            rows = pack(cut.rows)
            # Never the same for two: what follows the last sign is the number, what precedes it the id.
            ids = pa.compute.binary_join_element_wise(own, numbers, "#")
            yield with_published(repeated, rows, **{ID: ids, OF: own, ROW: rows})


def draw_subjects(method: SamplingWithFictives, panel: BlockPanel) -> BlockCandidate:
    """Draw subjects, each by itself, and publish all their series."""
    refuse_gaps(method, panel)
    if method.fictives:
        raise ParameterError(
            f"fictives={method.fictives:g} does not run on an engine: a fictive series must be compared with every "
            "real one. Set fictives=0, or leave --engine out."
        )
    key = secret_key(panel, int(method.seed), method.name)
    work = _Drawn(key, float(method.share))
    engine = panel.engine
    n_drawn = int(sum(engine.collect(engine.map(panel.table, _CountDrawn(work), TALLY))["n"].to_pylist()))
    if not n_drawn:
        raise ParameterError(
            f"share={method.share:g} draws none of {panel.n_subjects} subjects. Raise share or read more series."
        )
    figures = {"series_drawn": n_drawn, "series_fictive": 0}
    return candidate_of(method, panel, work, clock=panel.clock, figures=figures, n_published=n_drawn)


@dataclass(frozen=True)
class _Drawn:
    key: bytes = field(repr=False)
    share: float

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if block.num_rows:
                drawn = block.filter(pa.array(self.chosen(block)))
                yield with_published(drawn, drawn.column(ROW))

    def chosen(self, block: pa.RecordBatch) -> Any:
        """Which series are of subjects that are drawn."""
        names = (name.encode() for name in block.column(SUBJECT).to_pylist())
        return as_shares(random_bits(self.key, names, 1))[:, 0] < self.share


@dataclass(frozen=True)
class _CountDrawn:
    drawn: _Drawn

    def __call__(self, blocks: Blocks) -> Blocks:
        n = sum(int(self.drawn.chosen(block).sum()) for block in blocks if block.num_rows)
        yield pa.record_batch([["drawn"], [0], [n]], schema=TALLY)
