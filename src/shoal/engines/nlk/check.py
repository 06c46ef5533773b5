"""The check of (n, l, k)-anonymity on an engine: exact, from the published bytes.

    1  the panel is turned around, every instant grouped by the bits of its values, groups counted in subjects
    2  each series' instants in groups below k are counted and merged; if no series has l - n of them, it holds
    3  otherwise the series that have are searched as in memory (`shoal.kernels.nlk_search`), at the driver: in a panel
       of up to GATHERED_CELLS values among all series, in a larger one among those that share a value with one of them

Step 3 sees group numbers and group sizes, no values. Whom f shares no value with at any instant is no candidate for
f whatever somebody knows, so those who share one are enough; group sizes are those in the whole panel. What a search
says of holding is therefore exact. `measured` is that of the breach found first, in a panel that was gathered whole
the same as in memory. Where those to be gathered are more than GATHERED_CELLS values, or a subject has several series
and the panel is not gathered whole, or the work limit runs out, it is undecided: it does not hold, and says so.

The driver holds 8 bytes for each of these cells, and, where a subject has several series, their ids.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import PUBLISHED, BlockPublished
from shoal.engines.contract import Table, Work
from shoal.engines.nlk.judging import (
    ALL,
    CODE,
    COUNTED,
    CROWDS,
    FIRST,
    GATHERED,
    LABELS,
    MARKED,
    MEMBERS,
    MOST,
    N_SERIES,
    SUMMED,
    SUSPECTS,
    Count,
    FirstOfSubject,
    Gather,
    Mark,
    MostSeries,
    Rule,
    Sum,
    Unite,
    subject_codes,
)
from shoal.engines.nlk.turning import INSTANT, RANGE, Layout, joined, lengths_of, turned
from shoal.engines.rows import ID, SUBJECT
from shoal.engines.work import Columns
from shoal.errors import ParameterError
from shoal.guarantees.nlk_anonymity import WORK_LIMIT, NLKAnonymity
from shoal.kernels.nlk_check import find_breach
from shoal.kernels.nlk_labels import instant_labels
from shoal.kernels.nlk_search import FOUND, NOTHING
from shoal.model import Verdict

GATHERED_CELLS = 2**24
"""Values whose group numbers and group sizes are searched at the driver, at most."""


def check(
    guarantee: NLKAnonymity, published: BlockPublished, *, limit: int = WORK_LIMIT, cells: int = GATHERED_CELLS
) -> Verdict:
    """The verdict of the check in memory for the same rows; the note says what decided.

    At most `limit` sets of known instants are looked at, and at most `cells` values gathered for that.
    """
    _refuse(guarantee, published)
    return _Check(guarantee, published).verdict(limit, cells)


class _Check:
    """One check: what all its steps need."""

    def __init__(self, guarantee: NLKAnonymity, published: BlockPublished) -> None:
        self.guarantee, self.published, self.engine = guarantee, published, published.engine
        self.n, self.l, self.k = int(guarantee.n), int(guarantee.l), int(guarantee.k)
        clock = published.clock
        self.layout = Layout.of(self.engine, published.n_series, clock.n_instants, clock.n_channels)
        self.subjects = self._subjects()
        codes = None if self.subjects is None else self.engine.share(self.subjects)
        self.rule = Rule(self.k, clock.n_channels, codes)

    def verdict(self, limit: int, cells: int) -> Verdict:
        """Count; and search where that does not decide."""
        required = self.l - self.n - 1
        most, suspects = self._counts()
        if most <= required:
            return Verdict("holds", most, required, note="no more instants than this can be inferred")
        undecided = f"undecided: {len(suspects)} series have {required + 1} or more instants in groups below k, and"
        n_instants = self.layout.n_instants
        chosen = None
        if self.layout.n_series * n_instants > cells:
            if self.subjects is not None:
                note = f"{undecided} where a subject has several series up to {cells} values are searched on an engine"
                return Verdict("does not hold", most, required, note=note)
            chosen = self._neighbours(suspects)
            if len(chosen) * n_instants > cells:
                note = f"{undecided} those who share values with them have more than the {cells} that are searched"
                return Verdict("does not hold", most, required, note=note)
        labels, crowds = self._gathered(chosen)
        subjects = np.arange(len(labels)) if self.subjects is None else self.subjects
        sizes = None if self.subjects is not None else crowds
        breach = find_breach(labels, subjects, self.n, self.l, self.k, limit, sizes)
        if breach.status == NOTHING:
            return Verdict("holds", breach.at_most, required, note="no more instants than this can be inferred")
        if breach.status == FOUND:
            note = f"{len(suspects)} series have {required + 1} or more instants in groups below k; one is a breach"
            return Verdict("does not hold", len(breach.inferred), required, note=note)
        return Verdict(
            "does not hold",
            breach.at_most,
            required,
            note=f"undecided: the search used up its limit of {limit} steps and found no breach; "
            "no more instants than this can be inferred",
        )

    def _turned(self, work: Work, schema: pa.Schema) -> Table:
        return turned(self.engine, self.published.table, PUBLISHED, self.layout, work, schema, who=False)

    def _counts(self) -> tuple[int, NDArray[np.int64]]:
        """The largest count, and the series that have too many instants in groups below k, in the order of ids."""
        counted = self._turned(Count(self.rule), COUNTED)
        summed = self.engine.together(counted, [RANGE], Sum(self.l - self.n), SUMMED, order=[FIRST])
        rows = self.engine.collect(summed).sort_by(RANGE)
        lengths = rows[N_SERIES].to_numpy().astype(np.int64)
        if lengths.sum() != self.layout.n_series:
            raise ParameterError(
                f"{self.layout.n_series} series were announced and {lengths.sum()} found. Ids must be unique."
            )
        places = joined(rows[SUSPECTS], np.int32).astype(np.int64)
        before = np.repeat(np.cumsum(lengths) - lengths, lengths_of(rows[SUSPECTS]) // 4)
        return int(rows[MOST].to_numpy().max()), places + before

    def _neighbours(self, suspects: NDArray[np.int64]) -> NDArray[np.int64]:
        """Who shares a value with a suspect at some instant, suspects included."""
        marked = self._turned(Mark(self.rule, self.engine.share(suspects)), MARKED)
        united = self.engine.collect(
            self.engine.together(marked, [ALL], Unite(), MARKED), most=self.layout.n_series + 64
        )
        return np.flatnonzero(np.unpackbits(joined(united[MEMBERS], np.uint8), count=self.layout.n_series))

    def _gathered(self, chosen: NDArray[np.int64] | None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Labels and group sizes (series, instants) of the chosen series, or of all."""
        work = Gather(self.rule, None if chosen is None else self.engine.share(chosen))
        rows = self.engine.collect(self._turned(work, GATHERED)).sort_by(INSTANT)
        labels, crowds = (joined(rows[name], np.int32).reshape(rows.num_rows, -1).T for name in (LABELS, CROWDS))
        # Numbered anew, for of a part of the series some labels are missing.
        return instant_labels(np.ascontiguousarray(labels).astype(np.uint64)[:, :, None]), np.ascontiguousarray(crowds)

    def _subjects(self) -> NDArray[np.int64] | None:
        """Codes in the order of ids; None where everybody has one series, or series are counted."""
        if self.guarantee.per == "series":
            return None
        names = pa.schema([(SUBJECT, pa.string())])
        alone = self.engine.map(self.published.table, Columns((SUBJECT,)), names)
        most = pa.schema([(MOST, pa.int32())])
        found = self.engine.collect(self.engine.together(alone, [SUBJECT], MostSeries(), most))
        if max(found[MOST].to_pylist()) == 1:
            return None
        both = pa.schema([(ID, pa.string()), (SUBJECT, pa.string())])
        coded = pa.schema([(ID, pa.string()), (CODE, pa.string())])
        pairs = self.engine.map(self.published.table, Columns((ID, SUBJECT)), both)
        return subject_codes(
            self.engine.collect(self.engine.together(pairs, [SUBJECT], FirstOfSubject(), coded, order=[ID]))
        )


def _refuse(guarantee: NLKAnonymity, published: BlockPublished) -> None:
    if published.form != "values":
        raise ParameterError(
            f"nlk-anonymity of {published.form} is not checked on an engine. In memory, without --engine, it is."
        )
    if guarantee.l > published.clock.n_instants:
        raise ParameterError(
            f"l={guarantee.l} needs at least {guarantee.l} instants, the panel has {published.clock.n_instants}. "
            "Lower l or publish more instants."
        )
