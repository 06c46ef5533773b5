"""l-diversity of what lies in blocks, exactly.

Series that are published alike (by envelope, level and word, or by values; by their bytes, never by a hash alone) are
brought together with their sensitive values, and each group is counted as in memory. Of each stretch of whole groups
only the worst share of every column comes to the driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import LEVEL, PUBLISHED, WORD, BlockPublished
from shoal.engines.contract import Blocks
from shoal.engines.guarantees.l_diversity_events import BlockEvents, check_events
from shoal.engines.kp.words import ROWS_AT_ONCE
from shoal.engines.rows import ID, SUBJECT
from shoal.engines.work import Columns, starts_of_keys, whole_keys
from shoal.guarantees import LDiversity
from shoal.guarantees.l_diversity import largest_counts
from shoal.model import Verdict

_DIGITS = 10_000  # as in memory: cut to four decimals, never rounded up

_FOUND = pa.schema([("column", pa.string()), ("size", pa.int64()), ("most", pa.int64()), ("too_many", pa.int64())])


def check(guarantee: LDiversity, published: BlockPublished | BlockEvents) -> Verdict:
    """The verdict that `LDiversity.check` gives of the same rows, without a witness."""
    if isinstance(published, BlockEvents):
        return check_events(guarantee, published)
    alike = (PUBLISHED, LEVEL, WORD) if published.form == "envelopes" else (PUBLISHED,)
    columns = sensitive_columns(published)
    if not columns:
        return _nothing(guarantee, "column")
    engine = published.engine
    names = (*alike, SUBJECT, *columns)
    schema = pa.schema([published.table.schema.field(name) for name in names])
    rows = engine.map(published.table, Columns(names), schema)
    work = WorstShares(alike, columns, int(guarantee.l))
    found = engine.collect(engine.together(rows, alike, work, _FOUND)).to_pylist()
    verdicts = []
    for name in columns:
        judged = [row for row in found if row["column"] == name]
        if not judged:
            continue
        least = min(Fraction(row["size"], row["most"]) for row in judged)
        n_groups = sum(row["too_many"] for row in judged)
        note = f"size of a group over its most frequent value, at the least; column {name!r}"
        if n_groups:
            note = f"one value of column {name!r} has too large a share of a group; so in {n_groups} groups"
        measured = int(least * _DIGITS) / _DIGITS
        verdicts.append(Verdict.of(not n_groups, measured, int(guarantee.l), None, note))
    if not verdicts:
        return _nothing(guarantee, "value")
    return min(verdicts, key=lambda verdict: (verdict.holds, verdict.measured))


def sensitive_columns(published: BlockPublished) -> tuple[str, ...]:
    """Names of the sensitive columns that are published: those beyond what every series has."""
    known = {ID, SUBJECT, PUBLISHED, LEVEL, WORD}
    return tuple(name for name in published.table.schema.names if name not in known)


@dataclass(frozen=True)
class WorstShares:
    """Of stretches of whole groups: for each column the group where one value has the largest share."""

    alike: tuple[str, ...]
    columns: tuple[str, ...]
    l: int

    def __call__(self, blocks: Blocks) -> Blocks:
        """One row for each column that has an entry."""
        for table in whole_keys(blocks, self.alike, rows=ROWS_AT_ONCE):
            rows = table.combine_chunks()
            groups = np.cumsum(starts_of_keys(rows, self.alike)) - 1
            subjects = rows[SUBJECT].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
            found = []
            for name in self.columns:
                values = codes_of(rows[name].combine_chunks())
                # Where a subject has several series, shares are judged among subjects as well.
                ways = [largest_counts(groups, values, members) for members in (np.arange(len(groups)), subjects)]
                sizes, most = (np.concatenate(parts) for parts in zip(*ways, strict=True))
                at = np.flatnonzero(most)
                if len(at):
                    least = at[(sizes[at] / most[at]).argmin()]
                    too_many = (most * self.l > sizes).reshape(2, -1).any(axis=0).sum()
                    found.append([name, int(sizes[least]), int(most[least]), int(too_many)])
            entries = [dict(zip(_FOUND.names, row, strict=True)) for row in found]
            if entries:
                yield pa.RecordBatch.from_pylist(entries, schema=_FOUND)


def codes_of(column: pa.Array) -> NDArray[np.int64]:
    """The value of each row as a number from 0; -1 where it is missing, as not-a-number is."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        # 0.0 and -0.0 are one value to whoever reads them; telling them apart would err towards "holds".
        numbers: NDArray[Any] = column.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
        column = pa.array(numbers, mask=np.isnan(numbers))
    codes: NDArray[Any] = pc.fill_null(column.dictionary_encode().indices, -1).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64)


def _nothing(guarantee: LDiversity, what: str) -> Verdict:
    note = f"no sensitive {what} is published, so there is none to judge"
    return Verdict("not judged", None, int(guarantee.l), None, note)
