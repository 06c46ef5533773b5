"""(n, l, k)-anonymity on an engine: instants are independent given the prices.

The panel is turned around once, so that all series at an instant lie in one place, sorted. Then, in rounds: the driver
shares a price per series, every instant is solved, what each series gained is summed up over the instants and merged,
and the driver moves the prices. At the end the series are put together again.

Exact: "optimal" and "cluster", and whatever publishes clusters, give the bits that they give in memory for the same
panel sorted by id, on every engine, with all figures. (Only where gains overflow to no number may prices differ.)
Refused: "mth" and "mil" above 200 000 values, for each split is judged by the whole panel, and several channels above
that, for series leave groups in one order over all instants. Up to there one worker does all of it as in memory.

At the driver: 8 bytes per series for prices, 8 for what moves them, and 2 (l - n - 1) for where series may be alone;
twice that for a moment. On the workers: one instant for each thread, see `nlk_instants`. Values move four times, and in
each round at most as many bytes as the panel has.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines import blocks as columns
from shoal.engines.blocks import BlockCandidate, BlockPanel, Clock
from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.nlk.instants import GAINED, GROUPED, SORTED, Plan, Publish, Solve, SortInstants, Terms
from shoal.engines.nlk.merging import (
    CHOSEN,
    FIGURES,
    MERGED,
    MIDDLE,
    NUMBER,
    Merge,
    Rows,
    TurnBack,
    figure_rows,
    finished,
)
from shoal.engines.nlk.turning import INSTANT, NOBODY, RANGE, Layout, joined, turned
from shoal.engines.rows import ID, ROW, pack
from shoal.engines.work import whole_keys
from shoal.errors import ParameterError
from shoal.kernels.nlk_instant import moves
from shoal.kernels.nlk_intervals import Floats
from shoal.kernels.nlk_prices import LEAST_FALL, LEAST_RISE, MOVES, ROUNDS, SERIES_PER_MOVE, WITHOUT_HOLES
from shoal.methods.nlk import LARGEST_LIKENESS, NLK, SPLIT_FURTHER_UP_TO
from shoal.model import Panel, Recipe

ONE_PART = 200_000
"""Values up to which a panel is one part, where only the whole of it will do."""

_FIGURES = pa.schema([(FIGURES, pa.binary())])
_KEY = "key"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How many rounds "optimal" has at most. Fewer are quicker and lose more; what they give is as anonymous.

    Parameters
    ----------
    without_holes, with_holes
        Rounds of prices: quick ones first. Without any of the second kind there is no bound on the loss.
    moves
        Rounds in which permissions move.
    """

    without_holes: int = WITHOUT_HOLES
    with_holes: int = ROUNDS
    moves: int = MOVES


def anonymize(method: NLK, panel: BlockPanel, *, limits: Limits | None = None) -> BlockCandidate:
    """What `NLK.anonymize` publishes for the same panel in memory, sorted by id.

    The column `group` holds the group of a series at each instant, as 32-bit numbers.
    """
    _refuse(method, panel)
    worst_case = method.n == panel.clock.n_instants - 1
    clusters = method.strategy == "cluster" or (method.strategy != "optimal" and worst_case)
    size = panel.n_series * panel.clock.n_instants * panel.clock.n_channels
    further = method.strategy == "optimal" and method.n <= SPLIT_FURTHER_UP_TO and not worst_case
    if panel.clock.n_channels > 1 or not (clusters or method.strategy == "optimal") or (further and size <= ONE_PART):
        if size > ONE_PART:
            _refuse_large(method, panel, size)
        table, figures = _in_one_part(method, panel)
    else:
        table, figures = _by_instants(method, panel, limits or Limits(), clusters=clusters)
    return BlockCandidate(
        panel=panel,
        table=table,
        clock=panel.clock,
        guarantee=method.aims_at,
        recipe=Recipe(method.name, method.parameters, figures),
    )


def _by_instants(method: NLK, panel: BlockPanel, limits: Limits, *, clusters: bool) -> tuple[Table, dict[str, Any]]:
    engine = panel.engine
    layout = Layout.of(engine, panel.n_series, panel.clock.n_instants, 1)
    squared = method.loss == "squared"
    terms = Terms(int(method.k), method.budget, squared, method.representative, layout.instants)
    instants = engine.keep(turned(engine, panel.table, ROW, layout, SortInstants(), SORTED, who=True))
    bound: float | None = None
    plan = Plan()
    if not clusters and terms.budget > 0:
        rounds = _Rounds(engine, instants, layout, terms)
        bound, plan = rounds.solved(limits)
    grouped = engine.map(instants, Publish(terms, engine.share(plan), clusters), GROUPED)
    schema = finished(panel.table.schema)
    back = engine.together(grouped, [RANGE], TurnBack(schema, terms.median), schema, order=[INSTANT])
    kept = engine.keep(back)
    told = engine.collect(engine.map(kept, Rows(figures=True), _FIGURES))[FIGURES].to_pylist()
    figures = _figures(method, layout, told, bound, clusters=clusters)
    return engine.map(kept, Rows(figures=False), schema.remove(schema.get_field_index(FIGURES))), figures


def _figures(method: NLK, layout: Layout, told: list[bytes], bound: float | None, *, clusters: bool) -> dict[str, Any]:
    rows = [np.frombuffer(some, np.float64) for some in told]
    instants = np.array(sorted(tuple(row) for row in rows if len(row) > 1))
    likeness = [float(row[0]) for row in rows if len(row) == 1]
    figures: dict[str, Any] = {}
    if not clusters:
        found, loss = float(instants[:, 1].sum()), float(np.minimum(instants[:, 1], instants[:, 2]).sum())
        if method.budget == 0:
            bound = (1.0 - _rounding(layout, int(method.k))) * found
        if bound is not None:
            bound = min(found, bound)
            if loss <= bound or bound > 0.0:
                # Three digits, as in memory.
                figures["at_most_above_best"] = float(f"{max(0.0, loss / bound - 1.0) if bound > 0.0 else 0.0:.3g}")
    if likeness:
        _refuse_likeness(max(likeness))
        figures["largest_likeness"] = round(max(likeness), 4)
    return figures | {"cells_alone": int(instants[:, 3].sum())}


class _Rounds:
    """The driver's part: prices, permissions and when to stop, as `nlk_prices` does it with all in memory."""

    def __init__(self, engine: Engine, instants: Table, layout: Layout, terms: Terms) -> None:
        self.engine, self.instants, self.layout, self.terms = engine, instants, layout, terms

    def solved(self, limits: Limits) -> tuple[float | None, Plan]:
        """The bound, if there is one, and where each series may be alone."""
        n, budget = self.layout.n_series, self.terms.budget
        rounding = _rounding(self.layout, self.terms.k)
        prices = np.zeros(n)
        bounds: list[float] = []
        nowhere = Plan(where=np.empty((n, 0), dtype=self.layout.instants))
        last = limits.without_holes + limits.with_holes
        _, middle, where = self._round(nowhere, with_holes=False, where=last == 0)
        best = where
        for turn in range(last):
            prices += (1.0 if turn == 0 else 0.5 if turn < limits.without_holes + 4 else 0.25) * (middle - prices)
            with_holes = turn >= limits.without_holes
            wanted = with_holes or turn == last - 1
            value, middle, where = self._round(Plan(prices=prices.copy()), with_holes=with_holes, where=wanted)
            if not with_holes:
                best = where
                continue
            paid = budget * float(prices.sum())
            bounds.append(value - paid - rounding * (value + paid))
            if bounds[-1] == max(bounds):
                best = where
            if len(bounds) > 3 and max(bounds) - max(bounds[:-2]) <= LEAST_RISE * max(bounds):
                break
        return (max(0.0, *bounds) if bounds else None), Plan(where=self._moved(best, limits.moves))

    def _moved(self, where: NDArray[Any], most_rounds: int) -> NDArray[Any]:
        """Permissions after the rounds that lowered the loss."""
        most = max(1, self.layout.n_series // SERIES_PER_MOVE)
        if most_rounds == 0:
            return where
        loss, more, ends = self._round(Plan(where=where), with_holes=True, ends="moves")
        for _ in range(most_rounds):
            chosen = moves(more, np.argsort(-more, kind="stable"), ends, self.layout.n_instants, most)
            if len(chosen) == 0:
                break
            moved = where.copy()
            place = (where[chosen] == ends[chosen, :1]).argmax(axis=1)
            moved[chosen, place] = ends[chosen, 1]
            lower, more, ends = self._round(Plan(where=moved), with_holes=True, ends="moves")
            if lower >= loss:
                break
            fall, loss, where = loss - lower, lower, moved
            if fall <= LEAST_FALL * loss:
                break
        return where

    def _round(
        self, plan: Plan, *, with_holes: bool, ends: Literal["largest", "moves"] = "largest", where: bool = True
    ) -> tuple[float, Floats, NDArray[Any]]:
        """All instants by a plan: the sum of least loss plus prices, and for each series a figure and instants."""
        solve = Solve(self.terms, self.engine.share(plan), with_holes, ends)
        gained = self.engine.map(self.instants, solve, GAINED)
        merged = self.engine.together(gained, [RANGE], Merge(self.terms, ends, where), MERGED, order=["first"])
        width = 8 + 2 * 4 * (self.terms.budget + 1)
        rows = self.engine.collect(merged, most=2 * width * self.layout.n_series + 64 * self.layout.n_instants + 2**20)
        rows = rows.sort_by([(RANGE, "ascending"), (NUMBER, "ascending")])
        n_instants = int(np.count_nonzero(rows[RANGE].to_numpy() == NOBODY))
        lowest = joined(rows[MIDDLE].slice(0, n_instants), np.float64)
        figures = joined(rows[MIDDLE].slice(n_instants), np.float64)
        kind = self.layout.instants if ends == "largest" else np.dtype(np.int32)
        chosen = joined(rows[CHOSEN].slice(n_instants), kind).reshape(self.layout.n_series, -1)
        return float(lowest.sum()), figures, chosen


def _rounding(layout: Layout, k: int) -> float:
    """As in `nlk_prices`."""
    return float(4.0 * np.finfo(np.float64).eps * (layout.n_series + layout.n_instants + 4 * k * k))


def _in_one_part(method: NLK, panel: BlockPanel) -> tuple[Table, dict[str, Any]]:
    """As in memory, by one worker."""
    engine = panel.engine
    keyed = pa.schema([(_KEY, pa.int32()), *panel.table.schema])
    schema = finished(panel.table.schema)
    work = _AsInMemory(method, panel.clock, schema)
    together = engine.together(engine.map(panel.table, _OneKey(), keyed), [_KEY], work, schema, order=[ID])
    kept = engine.keep(together)
    (told,) = engine.collect(engine.map(kept, Rows(figures=True), _FIGURES))[FIGURES].to_pylist()
    return engine.map(kept, Rows(figures=False), schema.remove(schema.get_field_index(FIGURES))), json.loads(told)


@dataclass(frozen=True)
class _OneKey:
    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            zeros = pa.array(np.zeros(block.num_rows, dtype=np.int32))
            yield pa.RecordBatch.from_arrays([zeros, *block.columns], [_KEY, *block.schema.names])


@dataclass(frozen=True)
class _AsInMemory:
    method: NLK
    clock: Clock
    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        for table in whole_keys(blocks, [_KEY]):
            candidate = self.method.anonymize(self.clock.panel(table))
            n = table.num_rows
            groups = np.ascontiguousarray(candidate.private.groups, dtype=np.int32)
            found = {name: table[name].combine_chunks() for name in table.schema.names}
            found[columns.PUBLISHED] = pack(candidate.values.reshape(n, -1))
            found[columns.GROUP] = pa.array([row.tobytes() for row in groups], pa.binary())
            found[FIGURES] = pa.nulls(n, pa.binary())
            yield pa.RecordBatch.from_arrays([found[name] for name in self.schema.names], schema=self.schema)
            told = json.dumps(candidate.recipe.figures).encode()
            yield figure_rows(self.schema, pa.array([told], pa.binary()))


@dataclass(frozen=True)
class _Counts:
    """What a refusal looks at."""

    n_subjects: int
    n_series: int
    n_instants: int
    n_channels: int
    n_missing: int
    one_series_per_subject: bool


def _refuse(method: NLK, panel: BlockPanel) -> None:
    counts = _Counts(
        panel.n_subjects,
        panel.n_series,
        panel.clock.n_instants,
        panel.clock.n_channels,
        panel.n_missing,
        panel.one_series_per_subject,
    )
    method._refuse(cast(Panel, counts))


def _refuse_large(method: NLK, panel: BlockPanel, size: int) -> None:
    if panel.clock.n_channels > 1:
        raise ParameterError(
            f"nlk on an engine is for one channel where there are more than {ONE_PART} values; the panel has "
            f"{panel.clock.n_channels} channels and {size} values. Publish the channels one by one, use "
            "microaggregation, or leave --engine out."
        )
    raise ParameterError(
        f"strategy {method.strategy!r} judges each split by the whole panel: on an engine by up to {ONE_PART} values, "
        f"here are {size}. Use 'optimal' or 'cluster', or leave --engine out."
    )


def _refuse_likeness(likeness: float) -> None:
    if likeness > LARGEST_LIKENESS:
        raise ParameterError(
            f"The published medians of a series are its own values at {100 * likeness:.0f} % of the instants, more "
            f"than {100 * LARGEST_LIKENESS:.0f} %: it would be published. Use representative='mean', or a larger k."
        )
