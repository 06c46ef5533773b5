"""One part of a release: named, written, read back and linted where its shards are."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import GuaranteeNotMetError, ReleaseError
from shoal.files.durable import sync
from shoal.model import Candidate, CandidateShards, EventsCandidate, Guarantee, Panel
from shoal.model.joined import join_candidates
from shoal.release import certificate as cert
from shoal.release.certification import time_part
from shoal.release.files import MOST_PARTS, FileFormat, NotAPanelError, part_name
from shoal.release.forms import form_of
from shoal.release.lint import Finding, Written, lint
from shoal.release.private import who_is_who
from shoal.release.pseudonyms import names_of, refuse_repeated
from shoal.release.shapes import Shape, write_shape

PART_BYTES = 64 * 2**20
"""About how many bytes of readings a part holds, before compression."""


@dataclass(frozen=True)
class WrittenPart:
    """What was written, as far as the certificate needs it."""

    form: cert.FormName
    files: dict[str, cert.FilePart]
    counts: cert.CountsPart
    columns: cert.ColumnsPart
    time: cert.TimePart
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class WritePart:
    """Write some shards as one part.

    Files are written to a temporary place and renamed, and their bytes depend on the shards alone. So work lost with
    its worker is repeated, and work done twice writes the same files twice.

    Parameters
    ----------
    folder, aside
        Where the tables go, and where they are while being written: on the same file system.
    map_folder
        Where the map of names goes, in parts; None: with the publisher's process, or nowhere.
    key
        The secret of the names.
    file_format
        "parquet" or "csv".
    guarantees
        What is promised, for the lint.
    began
        When writing began, in seconds of the system's clock.
    in_parts
        Whether there are several parts, which are numbered.
    shape
        In which other shape values are written as well.
    """

    folder: str
    aside: str
    map_folder: str | None
    key: bytes = field(repr=False)
    file_format: FileFormat
    guarantees: Sequence[Guarantee]
    began: float
    in_parts: bool
    shape: Shape = "long"

    def __call__(self, number: int, items: Sequence[tuple[int, Candidate | EventsCandidate]]) -> WrittenPart:
        """The receipt for a part."""
        place = Path(self.aside) / f"{number}-{secrets.token_hex(8)}"
        try:
            place.mkdir()
            return self._write(number, items, place)
        except OSError as error:
            raise ReleaseError(
                f"A part of the release cannot be written: {error.strerror}. The folder must be on a file system that "
                "this machine and all workers share, under the same path."
            ) from None
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _write(self, number: int, items: Sequence[tuple[int, Any]], place: Path) -> WrittenPart:
        names = [name for shard, candidate in items for name in names_of(self.key, shard, candidate)]
        refuse_repeated(names)
        maps = [who_is_who(self.key, shard, one) for shard, one in items] if self.map_folder is not None else []
        candidate = items[0][1] if len(items) == 1 else join_candidates([one for _, one in items], names=True)
        del items
        form = form_of(candidate.published)
        tables = form.write(candidate.published, names, place, self.file_format)
        if isinstance(candidate.published, Panel):
            renamed = form.renamed(candidate.published, names)
            tables += write_shape(renamed, self.shape, place, self.file_format)
        counts = form.counts(candidate.published, candidate.private)
        columns = form.columns(candidate.published, 0)
        time = time_part(candidate.published.times, candidate.published.timezone)
        # Only the fields of the certificate that reading needs.
        draft = cert.Certificate.model_construct(
            form=form.name,
            counts=counts,
            columns=columns,
            time=time,
            files={table.name: None for table in tables},
        )
        try:
            read_back = form.read(place, draft)
        except NotAPanelError as error:
            raise GuaranteeNotMetError(
                f"The written release does not verify: {error}. Nothing was published."
            ) from None
        findings = lint(Written(place, candidate, read_back, self.guarantees, names, self.began))
        files: dict[str, cert.FilePart] = {}
        for table in tables:
            name = part_name(table.name, number if self.in_parts else None)
            files[name] = cert.digest_file(table)
            sync(table)
            table.rename(Path(self.folder) / name)
        if self.map_folder is not None:
            self.keep_names(number, maps)
        return WrittenPart(form.name, files, counts, columns, time, findings)

    def keep_names(self, number: int, maps: list[pl.DataFrame]) -> None:
        """The map of names: for its owner alone."""
        assert self.map_folder is not None
        path = Path(self.map_folder) / f".{secrets.token_hex(8)}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        pl.concat(maps).write_parquet(path)
        sync(path)
        path.rename(Path(self.map_folder) / f"part-{number:05}.parquet")


def deal(candidate: CandidateShards, key: bytes) -> list[list[int]]:
    """Which shards make up each part: drawn under the key of the names, and never of one attribute value alone."""
    whole = candidate.panel.whole
    writing = [number for number, fact in enumerate(candidate.facts) if fact.n_published or not fact.is_spread]
    per_part = max(1, PART_BYTES // (8 * whole.n_instants * whole.n_channels))
    wanted = min(MOST_PARTS, max(1, round(sum(candidate.facts[one].n_original for one in writing) / per_part)))
    stream = np.random.default_rng(int.from_bytes(hashlib.sha256(key + b" parts").digest(), "big"))
    values = candidate.panel.values or (-1,) * candidate.n_shards
    parts = deal_shards(len(writing), [values[one] for one in writing], wanted, stream)
    return [[writing[at] for at in part] for part in parts]


def deal_shards(n: int, values: Sequence[int], wanted: int, stream: np.random.Generator) -> list[list[int]]:
    """`n` shards in at most `wanted` parts. `values` is the one attribute value of each shard, -1 if it has several.

    Shards of the same value lie next to each other and are dealt out one by one, like cards. Two shards or more come to
    each part, and those of the most frequent value are too few to fill one.

    Examples
    --------
    >>> parts = deal_shards(6, [0, 0, 0, 0, 1, 1], 6, np.random.default_rng(1))
    >>> sorted(len({(0, 0, 0, 0, 1, 1)[shard] for shard in part}) for part in parts)
    [2, 2]
    """
    order = stream.permutation(n)
    n_parts = min(wanted, n)
    counted = Counter(value for value in values if value >= 0)
    if counted and len(set(values)) > 1:
        largest = max(counted.values())
        n_parts = max(1, min(n_parts, n // 2, n - largest))
        order = order[np.argsort(np.asarray(values)[order], kind="stable")]
    parts = [order[first::n_parts].tolist() for first in range(n_parts)]
    return [parts[at] for at in stream.permutation(n_parts)]


def merge_counts(several: Sequence[cert.CountsPart]) -> cert.CountsPart:
    """The counts of all parts together."""
    first = several[0]
    if len(several) == 1:
        return first
    sizes: Counter[str] = Counter()
    for one in several:
        sizes.update(one.group_sizes)
    ordered = dict(sorted(sizes.items(), key=lambda pair: int(pair[0])))
    return first.model_copy(
        update={
            "series": sum(one.series for one in several),
            "subjects": sum(one.subjects for one in several),
            "missing": sum(one.missing for one in several),
            "groups": sum(one.groups for one in several),
            "smallest_group": min(one.smallest_group for one in several),
            "largest_group": max(one.largest_group for one in several),
            "group_sizes": ordered,
        }
    )
