"""The 15/15 rule on an engine: exact, the verdict of the check in memory.

Series published alike, and kept together by the method, form an aggregate. Their published bytes travel as SHA-256: two
different rows with the same one are not known to anybody, and the group of the method tells them apart besides. Of the
originals only what the rule needs travels: over a period one sum for each channel. Where a share comes too near to the
limit for floating point, the sums of that aggregate are taken again as fractions, and decided exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import GROUP, PUBLISHED, BlockCandidate
from shoal.engines.contract import Blocks, Engine, Shared, Table
from shoal.engines.rows import ID, ROW, SUBJECT, pack, unpack
from shoal.engines.work import each_key
from shoal.errors import ParameterError
from shoal.guarantees.aggregate_rule import CLOSE, NOT_MEANS, AggregateRule, fewest_subjects, shares_of
from shoal.model import Guarantee, Recipe, Verdict

_ALIKE, _PARTS, _EXACT = "alike", "parts", "exact"
_KEYS = (_ALIKE, GROUP)

_AMOUNTS = pa.schema(
    [(_ALIKE, pa.binary()), (GROUP, pa.int64()), (ID, pa.string()), (SUBJECT, pa.string()), (_PARTS, pa.binary())]
)
_FOUND = pa.schema(
    [
        (_ALIKE, pa.binary()),
        (GROUP, pa.int64()),
        ("first", pa.string()),
        ("fewest", pa.int64()),  # null where nothing is published
        ("share", pa.float64()),
        ("close", pa.bool_()),
    ]
)
_SHARES = pa.schema([("share", pa.float64())])
_CLOSE_ONES = pa.schema([(_ALIKE, pa.binary()), (GROUP, pa.int64())])

_MOST_CLOSE = 100_000
"""Aggregates decided by fractions at most; above that only the sums in floating point are too near to be trusted."""


def check(guarantee: Guarantee, judged: BlockCandidate) -> Verdict:
    """Judge every aggregate where it lies. The witness stays there: it would be somebody's position."""
    if not isinstance(guarantee, AggregateRule):
        raise ParameterError(f"{guarantee.name} is not the aggregate rule.")
    if judged.form != "values":
        return _unknown(guarantee, "the ends of an envelope are single members' values, not aggregates")
    if judged.recipe.method == "nlk":
        return _unknown(guarantee, "groups differ from instant to instant, so that no aggregate lasts a period")
    if not judged.row_by_row:
        return _unknown(guarantee, "what is published has other instants than the originals; aggregate without steps")
    if not _publishes_means(judged.recipe):
        return _unknown(guarantee, NOT_MEANS)
    if judged.panel.n_missing and guarantee.per == "period":
        return _unknown(
            guarantee,
            "it cannot be judged: with gaps, subjects are counted in every published value, which is not done on an "
            "engine; work in memory, fill the gaps, or ask for per='instant'",
        )
    engine, n_channels = judged.panel.engine, judged.clock.n_channels
    amounts = engine.map(judged.table, _Amounts(n_channels, guarantee.per == "instant"), _AMOUNTS)
    found = engine.keep(
        engine.together(amounts, _KEYS, _Judge(guarantee.size, guarantee.share, guarantee.per), _FOUND, order=[ID])
    )
    small = engine.collect(engine.map(found, _First(guarantee.size), _FOUND)).sort_by("first")
    if small.num_rows:
        return Verdict(
            "does not hold",
            measured=int(small["fewest"][0].as_py()),
            required=int(guarantee.size),
            note="an aggregate has too few subjects",
        )
    worst = engine.collect(engine.map(found, _Largest(), _SHARES))
    largest = max([0.0, *worst["share"].to_pylist()])
    close = engine.collect(engine.map(found, _Close(), _CLOSE_ONES))
    if close.num_rows > _MOST_CLOSE:
        return _unknown(guarantee, f"{close.num_rows} aggregates are too near to the limit to be decided one by one")
    if close.num_rows:
        largest = max(largest, _decide(engine, judged.table, n_channels, close))
    holds = largest <= guarantee.share
    return Verdict.of(
        holds,
        measured=largest,
        required=float(guarantee.share),
        note="largest share of one subject, at most" if holds else "one subject has too large a share of an aggregate",
    )


def _publishes_means(recipe: Recipe) -> bool:
    """Whether published values are means of the originals' own readings, as the recipe has it.

    In memory the values themselves are compared. Here earlier steps are taken on trust only where they leave readings
    as they are.
    """
    *earlier, last = recipe.parameters["steps"] if recipe.method == "steps" else [_named(recipe)]
    if any(step["name"] != "sampling-with-fictives" for step in earlier):
        return False
    if last["name"] == "microaggregation":
        return bool(last.get("aggregate", "mean") == "mean")
    return bool(last["name"] == "scope-aggregation")


def _named(recipe: Recipe) -> dict[str, Any]:
    return {"name": recipe.method, **recipe.parameters}


def _unknown(rule: AggregateRule, why: str) -> Verdict:
    return Verdict("not judged", measured=None, required=int(rule.size), note=why)


def _digests(published: pa.Array) -> pa.Array:
    return pa.array([hashlib.sha256(row).digest() for row in published.to_pylist()], pa.binary())


def _own_amounts(block: pa.RecordBatch, n_channels: int) -> NDArray[np.float64]:
    """What each series adds at each instant, (series, instants, channels); NaN where nothing is published of it."""
    shape = (block.num_rows, -1, n_channels)
    amounts = np.abs(unpack(block.column(ROW)).reshape(shape))
    amounts[np.isnan(unpack(block.column(PUBLISHED)).reshape(shape))] = np.nan
    return amounts


@dataclass(frozen=True)
class _Amounts:
    """What each series adds to each total."""

    n_channels: int
    each_instant: bool

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if not block.num_rows:
                continue
            amounts = _own_amounts(block, self.n_channels)
            if self.each_instant:
                parts = amounts.reshape(block.num_rows, -1)
            else:
                parts = np.nansum(amounts, axis=1)
                parts[np.isnan(amounts).all(axis=1)] = np.nan
            yield pa.record_batch(
                [
                    _digests(block.column(PUBLISHED)),
                    block.column(GROUP).cast(pa.int64()),
                    block.column(ID),
                    block.column(SUBJECT),
                    pack(parts),
                ],
                schema=_AMOUNTS,
            )


@dataclass(frozen=True)
class _Judge:
    """One row for each aggregate: its fewest subjects and largest share."""

    size: int
    share: float
    per: str

    def __call__(self, blocks: Blocks) -> Blocks:
        rows = list[tuple[object, ...]]()
        for table in each_key(blocks, _KEYS):
            rows.append(self._judge(table))
            if len(rows) >= 4096:
                yield _batch(rows)
                rows = []
        if rows:
            yield _batch(rows)

    def _judge(self, table: pa.Table) -> tuple[object, ...]:
        subjects = table[SUBJECT].combine_chunks().dictionary_encode()
        names = subjects.dictionary.to_pylist()
        numbers = subjects.indices.to_numpy(zero_copy_only=False)
        amounts = unpack(table[_PARTS])[:, None, :]
        fewest = fewest_subjects(amounts, numbers, len(names))
        shares = shares_of(np.nansum(amounts, axis=1), numbers, len(names))
        largest = float(shares.max())
        close = abs(largest - self.share) <= CLOSE
        if close and self.per == "instant":  # single readings: nothing was rounded yet
            largest = AggregateRule(self.size, self.share, "instant").largest_share(amounts, numbers, len(names))
            close = False
        first = table[ID][0].as_py()
        return table[_ALIKE][0].as_py(), table[GROUP][0].as_py(), first, fewest, largest, close


def _batch(rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    return pa.record_batch([list(column) for column in zip(*rows, strict=True)], schema=_FOUND)


@dataclass(frozen=True)
class _First:
    """Of the aggregates with too few subjects the first of the part, by the ids of their members."""

    size: int

    def __call__(self, blocks: Blocks) -> Blocks:
        best: pa.RecordBatch | None = None
        for block in blocks:
            few = block.filter(pc.fill_null(pc.less(block.column("fewest"), self.size), False))
            if few.num_rows:
                few = few.take(pc.sort_indices(few.column("first"))[:1])
                if best is None or few.column("first")[0].as_py() < best.column("first")[0].as_py():
                    best = few
        if best is not None:
            yield best


@dataclass(frozen=True)
class _Largest:
    """The largest share of the part, of those that floating point decides."""

    def __call__(self, blocks: Blocks) -> Blocks:
        largest = 0.0
        for block in blocks:
            certain = block.filter(pc.invert(block.column("close")))
            largest = max(largest, float(pc.max(certain.column("share")).as_py() or 0.0))
        yield pa.record_batch([[largest]], schema=_SHARES)


@dataclass(frozen=True)
class _Close:
    """The aggregates that floating point does not decide."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield block.filter(block.column("close")).select([_ALIKE, GROUP])


_FRACTIONS = pa.schema(
    [(_ALIKE, pa.binary()), (GROUP, pa.int64()), (ID, pa.string()), (SUBJECT, pa.string()), (_EXACT, pa.string())]
)


def _decide(engine: Engine, table: Table, n_channels: int, close: pa.Table) -> float:
    """The largest share among some aggregates, in rational arithmetic, rounded once to the nearest float."""
    which = frozenset(zip(close[_ALIKE].to_pylist(), close[GROUP].to_pylist(), strict=True))
    exact = engine.map(table, _Fractions(n_channels, engine.share(which)), _FRACTIONS)
    found = engine.collect(engine.together(exact, _KEYS, _ExactShares(), _SHARES, order=[ID]))
    return float(max([0.0, *found["share"].to_pylist()]))


@dataclass(frozen=True)
class _Fractions:
    """The exact sum of each channel of each series in these aggregates, as text."""

    n_channels: int
    which: Shared[frozenset[tuple[bytes, int]]]

    def __call__(self, blocks: Blocks) -> Blocks:
        which = self.which.value
        for block in blocks:
            alike = _digests(block.column(PUBLISHED))
            groups = block.column(GROUP).cast(pa.int64())
            keys = zip(alike.to_pylist(), groups.to_pylist(), strict=True)
            some = np.array([key in which for key in keys], dtype=np.bool_)
            if not some.any():
                continue
            mask = pa.array(some)
            sums = [self._exact(series) for series in _own_amounts(block.filter(mask), self.n_channels)]
            yield pa.record_batch(
                [
                    alike.filter(mask),
                    groups.filter(mask),
                    block.column(ID).filter(mask),
                    block.column(SUBJECT).filter(mask),
                    pa.array(sums, pa.string()),
                ],
                schema=_FRACTIONS,
            )

    @staticmethod
    def _exact(amounts: NDArray[np.float64]) -> str:
        sums = (sum(map(Fraction, column[~np.isnan(column)].tolist()), Fraction(0)) for column in amounts.T)
        return " ".join(f"{value.numerator}/{value.denominator}" for value in sums)


@dataclass(frozen=True)
class _ExactShares:
    def __call__(self, blocks: Blocks) -> Blocks:
        for table in each_key(blocks, _KEYS):
            yield pa.record_batch([[max(self._shares(table))]], schema=_SHARES)

    @staticmethod
    def _shares(table: pa.Table) -> Iterator[float]:
        own: dict[str, list[Fraction]] = {}
        for subject, text in zip(table[SUBJECT].to_pylist(), table[_EXACT].to_pylist(), strict=True):
            sums = [Fraction(part) for part in text.split()]
            before = own.get(subject, [Fraction(0)] * len(sums))
            own[subject] = [one + more for one, more in zip(before, sums, strict=True)]
        for column in zip(*own.values(), strict=True):
            total = sum(column, Fraction(0))
            yield float(max(column) / total) if total else 0.0
