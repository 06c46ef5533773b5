"""A release in parts as verification sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from shoal.engines.contract import Engine
from shoal.release.certificate import FILE_NAME, Certificate
from shoal.release.parts_counts import sizes_of
from shoal.release.parts_reading import PartsPublished, read_parts


class PartsForm:
    """How parts are read back on an engine, and compared with the counts of their certificate."""

    name: ClassVar[str] = "parts"

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def read(self, folder: Path, certificate: Certificate) -> PartsPublished:
        """The published series, in blocks."""
        return read_parts(self.engine, folder, certificate)

    def findings(self, published: PartsPublished, certificate: Certificate) -> list[str]:
        """Counts of series, instants and gaps."""
        counts, n_instants = certificate.counts, published.clock.n_instants
        if (published.n_series, n_instants) != (counts.series, counts.instants):
            return [
                f"the data has {published.n_series} series of {n_instants} instants, "
                f"{FILE_NAME} says {counts.series} of {counts.instants}"
            ]
        if published.n_missing != counts.missing:
            return [f"the data has {published.n_missing} missing values, {FILE_NAME} says {counts.missing}"]
        return []

    def sizes(self, published: PartsPublished, certificate: Certificate) -> dict[str, int] | None:
        """Sizes are counted in subjects, which the folder does not tell apart where they have several series."""
        counts = certificate.counts
        return sizes_of(published, counts.grouped) if counts.subjects == counts.series else None

    def describe(self, published: Any, row: int, data_file: str) -> str:
        """Checks of parts name no row."""
        return f"series {row} of {data_file}"
