"""What can be said about an extra column without showing it: whether it belongs to a series, and whether to a person.

static    one entry for each series that has any
own       entries that only one series has
shared    entries that several series have
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MOST_ENTRIES = 1_000_000
"""Different entries of a column that are counted separately; a column with more does not belong to series."""

_SAMPLE = 1000
"""Number of entries whose shape is examined."""

_SHAPES = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "telephone numbers": re.compile(r"(\+|00?)[\d][\d ()/.-]{6,16}\d"),
    "postcodes": re.compile(
        r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{5}-\d{4}|\d{4} ?[A-Z]{2}|\d{3} \d{2}",
        re.IGNORECASE,
    ),
    "IBANs": re.compile(r"[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?"),
}
"""Shapes that few other entries have; a plain number of five digits is not a postcode by its shape alone."""

_NAMES = {
    "names": "name surname firstname lastname forename fullname",
    "addresses": "address addr street house flat apartment location lat lon latitude longitude coordinates",
    "postcodes": "postcode post_code postal zip zipcode plz psc postal_code",
    "telephone numbers": "phone telephone tel mobile",
    "e-mail addresses": "mail email e_mail",
    "birthdays": "birth birthday dob birthdate",
    "account numbers": "iban account contract customer client person user login ssn passport tax_id tax_no tax_number",
    "devices": "mac imei ip plate serial uuid guid mpan mprn ean nmi",
}
_OF_WORD = {word: kind for kind, words in _NAMES.items() for word in words.split()}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class ColumnCounts:
    """Counts of one column."""

    name: str
    n_series: int
    """Series that have an entry."""
    n_varying: int
    """Series with several entries."""
    n_entries: int
    """Different entries."""
    n_own: int
    """Entries that only one series has."""
    n_shared: int
    """Entries that several series have."""
    largest: int
    """Series with the most frequent entry."""
    shape: str | None
    """What nine tenths of the entries look like, such as "postcodes"."""

    @property
    def static(self) -> bool:
        """Whether every series has one entry."""
        return self.n_varying == 0 and self.n_series > 0


class ColumnSurvey:
    """Counts the entries of one column, batch by batch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._known: Any = None
        self._codes = np.empty(0, dtype=np.int64)
        self._varies = np.empty(0, dtype=bool)
        self._given_up = False

    def add(self, series: NDArray[np.integer], array: Any) -> None:
        """Count a batch; `series` numbers the series of each entry."""
        if self._given_up or not len(series):
            return
        if pa.types.is_nested(array.type):
            self._given_up = True
            return
        try:
            texts = _texts(array)
        except pa.ArrowException:  # bytes that are no text
            self._given_up = True
            return
        encoded = texts.dictionary_encode()
        if encoded.null_count:
            there = encoded.is_valid().to_numpy(zero_copy_only=False)
            series = series[there]
            encoded = encoded.filter(pa.array(there))
            if not len(series):
                return
        self._grow(int(series.max()) + 1)
        codes = self._number(encoded.dictionary)[encoded.indices.to_numpy(zero_copy_only=False)]
        fresh = self._codes[series] < 0
        self._codes[series[fresh]] = codes[fresh]
        self._varies[series[self._codes[series] != codes]] = True
        # A column that changes within most series holds readings or remarks; its entries need not be distinguished.
        seen = self._codes >= 0
        self._given_up = len(self._known) > MOST_ENTRIES or bool(
            seen.sum() > 20 and 2 * self._varies.sum() > seen.sum()
        )

    def _join(self, owner: NDArray[np.int64]) -> None:
        self._grow(len(owner))
        codes, varies = np.full(int(owner.max()) + 1, -1, dtype=np.int64), self._varies[: len(owner)]
        seen = np.flatnonzero(self._codes[: len(owner)] >= 0)
        codes[owner[seen]] = self._codes[seen]
        joined = np.zeros(len(codes), dtype=bool)
        joined[owner[varies]] = True
        joined[owner[seen[codes[owner[seen]] != self._codes[seen]]]] = True
        self._codes, self._varies = codes, joined

    def _grow(self, n_series: int) -> None:
        more = n_series - len(self._codes)
        if more > 0:
            self._codes = np.append(self._codes, np.full(max(more, len(self._codes)), -1, dtype=np.int64))
            self._varies = np.append(self._varies, np.zeros(len(self._codes) - len(self._varies), dtype=bool))

    def _number(self, entries: Any) -> NDArray[np.int64]:
        """The number of each entry, new ones included."""
        if self._known is None:
            self._known = entries[:0]
        places = pc.index_in(entries, value_set=self._known)
        if places.null_count:
            self._known = pa.concat_arrays([self._known, entries.filter(pc.is_null(places))])
            places = pc.index_in(entries, value_set=self._known)
        return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)

    def finish(self, owner: NDArray[np.int64] | None = None) -> ColumnCounts:
        """The counts; by the owner of each series if several belong together."""
        if owner is not None and len(owner):
            self._join(owner)
        seen = self._codes >= 0
        n_series, n_varying = int(seen.sum()), int(self._varies.sum())
        if self._given_up or not n_series:
            return ColumnCounts(self.name, n_series, n_varying or int(self._given_up), 0, 0, 0, 0, None)
        uses = np.bincount(self._codes[seen], minlength=len(self._known))
        return ColumnCounts(
            self.name,
            n_series,
            n_varying,
            n_entries=len(self._known),
            n_own=int((uses == 1).sum()),
            n_shared=int((uses > 1).sum()),
            largest=int(uses.max()),
            shape=_shape(self._known),
        )


def _texts(array: Any) -> Any:
    """The entries as text; empty is null."""
    texts = array if pa.types.is_large_string(array.type) else pc.cast(array, pa.large_string(), safe=False)
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), pa.scalar(None, pa.large_string()), texts)


def _shape(entries: Any) -> str | None:
    texts = [text.strip() for text in entries[:_SAMPLE].to_pylist()]
    for kind, pattern in _SHAPES.items():
        if len(texts) >= 3 and sum(pattern.fullmatch(text) is not None for text in texts) >= 0.9 * len(texts):
            return kind
    return None


def called_like_people(name: str) -> str | None:
    """What a column's name says it reveals about a person; None if it says nothing.

    Examples
    --------
    >>> called_like_people("customerPostcode"), called_like_people("cost inc. tax"), called_like_people("contract_no")
    ('postcodes', None, 'account numbers')
    """
    words = [word for word in re.split(r"[^a-z]+", _CAMEL.sub("_", name).lower()) if word]
    pairs = [f"{one}_{other}" for one, other in itertools.pairwise(words)]
    found = {_OF_WORD[word] for word in (*pairs, *words) if word in _OF_WORD}
    return next((kind for kind in _NAMES if kind in found), None) if found else None
