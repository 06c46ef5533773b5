"""Identifiers that survived."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from shoal.model import Envelopes, Events, EventTables, Panel, Role
from shoal.model.event_tables import COUNT, GROUP, TIME
from shoal.release.lint.file_metadata import texts_in_metadata
from shoal.release.lint.written import Finding, Written

NAME = "surviving-identifiers"

_SHORTEST = 4
"""Length of an identifier that hardly equals an entry of another column by chance."""
_OURS = {"id", "time", "value", "low", "high", "level", "pattern", "group", "count", "mean"}
"""Names of columns that every release has."""


def surviving_identifiers(written: Written) -> Finding | None:
    """No identifier may appear in a published table, in the name of a column, or in the metadata of a file.

    Identifiers are the ids of the series, their subjects, and columns with the role of an identifier, as texts. Names
    of series and groups must be pseudonyms drawn for this release. Another entry, of text or whole numbers, is a
    finding when it equals an identifier. Whole numbers and identifiers of fewer than four characters equal others by
    chance; such a column is a finding only if at least half of the originals have their own identifier in it.
    """
    columns = _identifiers(written.candidate.private.original)
    known = {text for column in columns for text in column if text is not None}
    findings = []
    names = written.published_names
    if n := sum(name in known for name in names):
        findings.append(f"{n} of {len(names)} names are identifiers")
    elif n := int((written.rows < 0).sum()):
        findings.append(f"{n} of {len(names)} names are not the pseudonyms drawn for it")
    telling = {text for text in known if len(text) >= _SHORTEST and not _is_number(text)}
    findings += [
        f"column {place} holds {n} identifier(s)"
        for place, n in enumerate(_in_columns(written, columns, known, telling))
        if n
    ]
    long = {text for text in known if len(text) >= _SHORTEST}
    if n := sum(name in long for path in written.tables for name in _header(path) if name not in _OURS):
        findings.append(f"{n} column(s) are named like one")
    words = {word for path in written.tables for text in texts_in_metadata(path) for word in _words(text)}
    if n := len(words & long):
        findings.append(f"{n} are in the metadata of files")
    if not findings:
        return None
    return Finding(
        NAME,
        f"Identifiers are in the release: {'; '.join(findings)}.",
        "Read the table without those columns, or name them as --id or --subject, which stay behind.",
    )


def _identifiers(original: Panel | Events) -> list[list[str | None]]:
    """One list of texts, in the order of the originals, for each column that identifies."""
    if isinstance(original, Events):
        frame = original.frame
        return [frame[name].cast(pl.String).to_list() for name in original.roles.columns(Role.IDENTIFIER)]
    listed = original.roles.columns(Role.IDENTIFIER)
    static = {**original.attributes, **original.sensitive}
    columns = [original.ids, *(static[name] for name in listed if name in static)]
    if original.subjects is not None:
        columns.append(original.subjects)
    return [[str(entry) for entry in column.tolist()] for column in columns]


def _in_columns(
    written: Written, identifiers: list[list[str | None]], known: set[str], telling: set[str]
) -> Iterator[int]:
    """How many different identifiers each published column of labels holds."""
    for texts, own in _labels(written):
        different = {entry for text in set(texts) for entry in _entries(text)}
        if n := len(different & telling):
            yield n
            continue
        repeated = any(
            2 * sum(a == b for a, b in zip(own, column, strict=True) if a is not None) >= len(own)
            for column in identifiers
        )
        yield len(different & known) if repeated and len(own) > 1 else 0


def _labels(written: Written) -> Iterator[tuple[list[str | None], list[str | None]]]:
    """Entries of each published column of texts or whole numbers, and of its original in the order of the originals."""
    published, proposed = written.published, written.candidate.published
    original = written.candidate.private.original
    if isinstance(published, Envelopes) and isinstance(proposed, Envelopes) and isinstance(original, Panel):
        # Columns of the file have other names if theirs are not plain words.
        for column, name in zip(published.sensitive.values(), proposed.sensitive, strict=True):
            if column.dtype.kind in "iO":
                yield [str(entry) for entry in column.tolist()], [str(e) for e in original.sensitive[name].tolist()]
    elif isinstance(published, Panel) and isinstance(proposed, Panel) and isinstance(original, Panel):
        for column, name in zip(published.attributes.values(), proposed.attributes, strict=True):
            if column.dtype.kind in "iO":
                yield [str(entry) for entry in column.tolist()], [str(e) for e in original.attributes[name].tolist()]
    elif isinstance(published, EventTables) and isinstance(original, Events):
        ours = (TIME, GROUP, COUNT)
        for table in (published.records, published.counts):
            for name in [] if table is None else [n for n in table.columns if n not in ours]:
                if table is None or not (table[name].dtype == pl.String or table[name].dtype.is_integer()):
                    continue
                source = name if name in original.roles else re.sub("_(low|high)$", "", name)
                own = original.frame[source].cast(pl.String).to_list()
                yield table[name].unique().cast(pl.String).to_list(), own


def _entries(text: str | None) -> list[str]:
    """A text, or its list entries if coarse records list several."""
    if text is None:
        return []
    if text.startswith("["):
        try:
            return [text, *(str(entry) for entry in json.loads(text))]
        except (TypeError, ValueError):
            pass
    return [text]


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.0)?", text) is not None


def _header(path: Path) -> list[str]:
    """Names of the columns of a table."""
    if path.suffix == ".parquet":
        return list(pq.read_schema(path).names)
    return pl.read_csv(path, n_rows=0, infer_schema=False, glob=False).columns


def _words(text: str) -> set[str]:
    """A text and the words in it."""
    return {text, *re.split(r"[\s\"'=:;,\[\]{}()]+", text)}
