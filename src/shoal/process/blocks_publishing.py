"""From a candidate on an engine to a release in parts: measure there, then ask the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from shoal.engines.blocks import PUBLISHED, BlockCandidate, chances
from shoal.engines.contract import Blocks
from shoal.engines.measuring import measure
from shoal.engines.rows import unpack
from shoal.errors import InputError, ParameterError
from shoal.model import Guarantee, Panel, Risk, Score
from shoal.process.catalogue import find_method, summary_of
from shoal.release.agreement import Agreement
from shoal.release.openness import without_originals
from shoal.release.parts import PartsRelease, release_blocks
from shoal.release.suppression import LIMIT
from shoal.report import render, summarise
from shoal.utility import InformationLoss, NormalizedDivergence

DRAWN = 500
"""About how many published rows the report's curves are drawn from."""

WHY = "Not shown: the release is in parts, and this is drawn from a sample of its rows."
"""Why the report has no curve of the originals beside them."""


def publish_blocks(
    candidate: BlockCandidate,
    to: str | Path,
    *,
    require: Sequence[Guarantee] = (),
    format: Literal["parquet", "csv"] = "parquet",
    pseudonyms: Literal["random", "keyed"] = "random",
    private: str | Path | None = None,
    overwrite: bool = False,
    insecure_seed: int | None = None,
    risks: Mapping[str, tuple[Risk, str]] | None = None,
    risk_limit: float | None = None,
    suppression_limit: float = LIMIT,
    scores: Mapping[str, tuple[Score, str]] | None = None,
    process: Mapping[str, Any] | None = None,
    ledger: str | Path | None = None,
    accept: Sequence[str] = (),
    agreement: Agreement | None = None,
) -> PartsRelease:
    """Write a candidate that lies on an engine as a release in parts; parameters are those of `publish`."""
    refuse_publishing(format=format, ledger=ledger, agreement=agreement)
    figures = figures_of(candidate)
    if process is not None:
        figures["process"] = dict(process)
    return release_blocks(
        candidate,
        to,
        summary=summary_of(find_method(candidate.recipe.method)),
        require=require,
        scores={**usual_scores(candidate, known=scores or {}), **(scores or {})},
        risks=risks,
        risk_limit=risk_limit,
        suppression_limit=suppression_limit,
        figures=figures,
        page=render,
        pseudonyms=pseudonyms,
        private=private,
        overwrite=overwrite,
        insecure_seed=insecure_seed,
        accept=accept,
    )


def refuse_publishing(*, format: str = "parquet", ledger: Any = None, agreement: Any = None) -> None:
    """Say no to what a release in parts cannot have."""
    if format != "parquet":
        raise ParameterError("A release in parts is of Parquet files. Leave out --format, or the engine.")
    if ledger is not None:
        raise ParameterError(
            "A ledger compares the groups of all releases in memory, and those of an engine may not fit there. Leave "
            "out the ledger, or the engine."
        )
    if agreement is not None:
        raise ParameterError(
            "An agreement marks the copy of one recipient, which is done in memory. Leave out the agreement, or the "
            "engine."
        )


def usual_scores(candidate: BlockCandidate, *, known: Mapping[str, Any] = {}) -> dict[str, tuple[Score, str]]:
    """What every release reports, unless it is known already; without those that do not apply."""
    found: dict[str, tuple[Score, str]] = {}
    for one in (InformationLoss(), NormalizedDivergence()):
        if one.name in known:
            continue
        try:
            found[one.name] = (measure(one, candidate), one.meaning)
        except (ParameterError, InputError):
            continue
    return found


def figures_of(candidate: BlockCandidate) -> dict[str, Any]:
    """Curves of published rows, from whole groups that are drawn by chance; nothing of the originals."""
    if candidate.form != "values":
        return {}
    engine, clock = candidate.panel.engine, candidate.clock
    share = min(1.0, DRAWN / max(1, candidate.n_series))
    rows = engine.collect(engine.map(candidate.table, _Drawn(share), _ROWS))
    if not rows.num_rows:
        return {}
    drawn = Panel(
        clock.shaped(unpack(rows[PUBLISHED])), times=clock.times, channels=clock.channels, timezone=clock.timezone
    )
    summary = without_originals(summarise(drawn, drawn, 2), WHY)
    return summary | {"series": {"original": candidate.panel.n_series, "published": candidate.n_series}}


_ROWS = pa.schema([(PUBLISHED, pa.binary())])


@dataclass(frozen=True)
class _Drawn:
    """Rows by a hash of what is published: whoever they are of plays no part."""

    share: float

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield block.select([PUBLISHED]).filter(pa.array(chances(block.column(PUBLISHED), 4) < self.share))
