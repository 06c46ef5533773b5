"""What each column of a sample holds, regardless of its name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.read.headings import groups_of
from shoal.read.stamps import ENOUGH, StampForm, find_form
from shoal.read.tables import as_series
from shoal.read.time_numbers import Stamps, find_day_count

_MARKED = r"^[+-]?(?:\d[\d.,' \u00a0\u202f]*|[.,]\d+)$"
_FEW_WORDS = 12
_ENOUGH_COLUMNS = 60
"""Columns that show how numbers are written."""


@dataclass(frozen=True)
class NumberForm:
    """How numbers are written.

    Parameters
    ----------
    decimal
        The decimal mark.
    thousands
        The mark between thousands, or nothing.
    nulls
        Words in lower case that mean missing.
    """

    decimal: str = "."
    thousands: str = ""
    nulls: tuple[str, ...] = ()

    def read(self, texts: pl.Series) -> NDArray[np.float64]:
        """Numbers of texts without blanks at their ends; NaN if there is none."""
        plain = texts
        if self.thousands:
            plain = self._joined(plain)
        if plain.str.ends_with("-").any():
            plain = plain.str.replace(r"^(\d.*)-$", "-$1")  # as SAP writes negative numbers
        if plain.str.starts_with("(").any():
            plain = plain.str.replace(r"^\((\d.*)\)$", "-$1")  # as accountants do
        if self.decimal != ".":
            plain = plain.str.replace(self.decimal, ".", literal=True)
        numbers = plain.cast(pl.Float64, strict=False)
        if numbers.null_count() > texts.null_count():
            # A unit or a quality flag after the number; a currency before it.
            bare = plain.str.extract(
                r"^(?:[$£€] ?)?([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) *[%*A-Za-z³²/°-]{0,6}$", 1
            )
            numbers = numbers.fill_null(bare.cast(pl.Float64, strict=False))
        return np.array(numbers.fill_null(np.nan).to_numpy(), dtype=np.float64)

    def _joined(self, texts: pl.Series) -> pl.Series:
        """Digits in groups of three, joined; other texts unchanged."""
        mark = r"[ \u00a0\u202f]" if self.thousands == " " else re.escape(self.thousands)
        grouped = texts.str.contains(rf"^[+-]?\d{{1,3}}(?:{mark}\d{{3}})+(?:{re.escape(self.decimal)}\d*)?$")
        together = texts.str.replace_all(mark, "")
        return pl.select(pl.when(grouped).then(together).otherwise(texts)).to_series()

    def wrong(self, texts: pl.Series, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which texts are neither numbers nor words that mean missing."""
        empty = texts.is_null() | (texts == "") | texts.str.to_lowercase().is_in(list(self.nulls))
        wrong: NDArray[np.bool_] = np.isnan(numbers) & ~empty.fill_null(True).to_numpy() & ~_nan_words(texts)
        return wrong


def _nan_words(texts: pl.Series) -> NDArray[np.bool_]:
    return np.asarray(texts.str.to_lowercase().is_in(["nan", "na", "null"]).fill_null(True).to_numpy(), dtype=np.bool_)


@dataclass(eq=False)
class Profile:
    """What a column of a sample holds."""

    name: str
    position: int
    texts: pl.Series
    kind: str = "word"
    """"empty", "number", "stamp" (date and time), "date", "time" (of day) or "word"."""
    form: StampForm | None = None
    stamps: Stamps | None = None
    numbers: NDArray[np.float64] | None = None
    nulls: tuple[str, ...] = ()
    has_decimals: bool = False
    """Whether numbers are written with a decimal mark, as readings are and identifying numbers are not."""
    doubt: str = ""
    n_distinct: int = 0
    share_filled: float = 0.0
    groups: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_constant(self) -> bool:
        """Whether all entries are the same."""
        return self.n_distinct <= 1

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are all integers."""
        found = self.present
        return bool(len(found) and np.all(np.isfinite(found)) and np.all(found == np.floor(found)))

    @property
    def present(self) -> NDArray[np.float64]:
        """Its numbers without gaps."""
        if self.numbers is None:
            return np.empty(0)
        return self.numbers[~np.isnan(self.numbers)]

    @property
    def instants(self) -> NDArray[np.int64]:
        """Its times, with offsets subtracted."""
        assert self.stamps is not None
        return np.asarray(self.stamps.printed - self.stamps.offset * 60_000_000)


def texts_of(array: Any) -> pl.Series:
    """A column as stripped text; typed ones as they would be printed."""
    series = array if isinstance(array, pl.Series) else as_series(array)
    if series.dtype.is_temporal() and series.dtype != pl.Duration:
        if series.dtype == pl.Date:
            series = series.dt.to_string("%Y-%m-%d")
        elif series.dtype == pl.Time:
            series = series.dt.to_string("%H:%M:%S%.6f")
        else:
            aware = getattr(series.dtype, "time_zone", None)
            series = (
                series.dt.convert_time_zone("UTC").dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ")
                if aware
                else series.dt.to_string("%Y-%m-%dT%H:%M:%S%.6f")
            )
    elif series.dtype.is_float():
        present = series.drop_nulls().drop_nans().to_numpy().astype(np.float64)
        whole = bool(len(present) and np.all(present == np.floor(present)) and np.abs(present).max() < 2**53)
        series = series.fill_nan(None)
        series = (series.cast(pl.Int64) if whole else series).cast(pl.String)
    elif series.dtype != pl.String:
        try:
            series = series.cast(pl.String)
        except pl.exceptions.PolarsError:
            return pl.Series([None] * len(series), dtype=pl.String)
    return strip(series)


def strip(texts: pl.Series) -> pl.Series:
    """Without blanks at the ends and without the marks that guard cells from spreadsheets."""
    plain = texts.str.replace_all("\u00a0", " ", literal=True).str.strip_chars()
    if plain.str.contains(r"""^(="|'\w)""").any():
        plain = plain.str.replace(r'^="(.*)"$', "$1").str.replace(r"^'(\w.*?)'?$", "$1").str.strip_chars()
    return plain


def profile(columns: list[pl.Series], names: tuple[str, ...], numbers: NumberForm, pattern: str) -> list[Profile]:
    """Profiles of columns of stripped texts.

    Parameters
    ----------
    columns
        Stripped texts.
    names
        Names of the columns.
    numbers
        How numbers are written.
    pattern
        A `strptime` pattern, if times have a form of their own.
    """
    return [
        _profile(Profile(name, place, texts), numbers, pattern)
        for place, (name, texts) in enumerate(zip(names, columns, strict=True))
    ]


def _is_decimals(found: Profile, form: NumberForm) -> bool:
    """Fill in the profile of a column of plain decimal numbers, quickly: most of a wide table consists of them."""
    texts, found.groups = found.texts, groups_of(found.name)
    plain = texts if form.decimal == "." else texts.str.replace(form.decimal, ".", literal=True)
    numbers = plain.cast(pl.Float64, strict=False)
    n_filled = len(texts) - texts.null_count()
    if form.thousands or "time" in found.groups or not n_filled or numbers.null_count() > texts.null_count():
        return False
    if int(texts.str.contains(form.decimal, literal=True).sum()) < ENOUGH * n_filled:
        return False
    found.numbers = np.array(numbers.fill_null(np.nan).to_numpy(), dtype=np.float64)
    if np.nanmin(found.numbers) >= 1900 and np.nanmax(found.numbers) <= 2100:
        return False  # years and months look like it
    found.kind, found.has_decimals, found.share_filled = "number", True, n_filled / len(texts)
    found.n_distinct = texts.drop_nulls().n_unique()
    return True


def _profile(found: Profile, form: NumberForm, pattern: str) -> Profile:
    if not pattern and _is_decimals(found, form):
        return found
    texts = found.texts
    filled = texts.filter((texts.str.len_chars() > 0).fill_null(False))
    found.groups = groups_of(found.name)
    found.share_filled = len(filled) / max(1, len(texts))
    distinct = filled.unique(maintain_order=True)
    found.n_distinct = len(distinct)
    if not found.n_distinct:
        found.kind = "empty"
        return found
    given = StampForm("given", pattern=pattern)
    is_time = "time" in found.groups
    is_given = pattern and given.read(distinct).valid.mean() >= 0.9
    stamp = (given, "") if is_given else find_form(distinct, is_named=is_time)
    # Meter numbers look like seconds, but times advance from row to row.
    is_named = is_time or 2 * found.n_distinct >= len(filled)
    if stamp is not None and stamp[0].is_counted and not is_named:
        later = np.diff(form.read(filled)) > 0
        stamp = stamp if np.mean(later) > 0.5 else None
    if stamp is not None:
        found.form, found.doubt = stamp
        found.stamps = found.form.read(texts)
        has_time = found.stamps.has_time[found.stamps.valid]
        found.kind = "time" if found.form.name == "time" else "stamp" if has_time.any() else "date"
        if found.form.is_counted or found.form.name == "compact":
            found.numbers = form.read(texts)
        return found
    numbers = form.read(texts)
    is_number = ~np.isnan(numbers)
    filled_here = (texts.str.len_chars() > 0).fill_null(False).to_numpy()
    words = texts.filter(pl.Series(filled_here & ~is_number)).str.to_lowercase().unique().to_list()
    # A few words among many numbers mean missing. If nearly all entries are words, they must be known ones.
    n_numbers = int(is_number.sum())
    usual = all(word in USUAL_NULLS for word in words)
    if n_numbers and len(words) <= _FEW_WORDS and (2 * n_numbers >= len(filled) or usual):
        if not usual and any(re.search(r"\d", word) for word in words):
            return found
        found.kind, found.numbers, found.nulls = "number", numbers, tuple(sorted(words))
        counted = find_day_count(found.present) if is_time and found.n_distinct > 1 else None
        if counted is not None:
            # Readings are not called a time.
            found.form, found.stamps = StampForm(counted), StampForm(counted).read(texts)
            found.kind = "date" if found.is_whole else "stamp"
            return found
        found.has_decimals = bool(distinct.str.contains(form.decimal, literal=True).any()) or not found.is_whole
    return found


USUAL_NULLS = frozenset("na n/a nan null none - -- --- . : ? ?? n/e #n/a #na missing nil".split())  # noqa: SIM905
"""Words that mean missing wherever they occur among numbers."""


def number_form(columns: list[pl.Series], separator: str, decimal: str | None) -> NumberForm:
    """Which decimal mark a table uses, and which mark between thousands."""
    votes = {".": 0, ",": 0}
    grouped = {".": 0, ",": 0}
    parted = {".": 0, ",": 0}
    other = {" ": 0, "'": 0}
    # Columns of a wide table are written alike.
    for texts in columns[:: max(1, len(columns) // _ENOUGH_COLUMNS)]:
        distinct = texts.drop_nulls().unique().head(500)
        shaped = distinct.filter(
            distinct.str.contains(_MARKED) & ~distinct.str.contains(r"^\d{1,4}[.]\d{1,2}[.]\d{2,4}$")
        )
        if not len(shaped) or 2 * len(shaped) < len(distinct.filter(distinct.str.contains(r"\d"))):
            continue
        for mark, other_mark in ((".", ","), (",", ".")):
            own, apart = re.escape(mark), re.escape(other_mark)
            sure = rf"{apart}\d{{3}}{own}\d|^[+-]?\d*{own}(?:\d{{1,2}}|\d{{4,}})$|^[+-]?0?{own}\d+$|"
            sure += rf"^[+-]?\d{{4,}}{own}\d+$"
            votes[mark] += int(shaped.str.contains(sure).sum())
        grouped[","] += int(shaped.str.contains(r"^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$").sum())
        grouped["."] += int(shaped.str.contains(r"^[+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?$").sum())
        bare = shaped.filter(shaped.str.contains(r"^[+-]?\d+$"))
        if len(bare) and (bare.str.len_chars() == 3).any() and bare.str.len_chars().max() == 3:
            for mark in grouped:  # 998 and 1.002: a mark that only numbers from a thousand have
                whole = int(shaped.str.contains(rf"^[+-]?[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+$").sum())
                parted[mark] += whole if whole + len(bare) == len(shaped) else 0
        other[" "] += int(shaped.str.contains(r"^[+-]?\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d*)?$").sum())
        other["'"] += int(shaped.str.contains(r"^[+-]?\d{1,3}(?:'\d{3})+(?:[.,]\d*)?$").sum())
    if decimal is None:
        comma = votes[","] > votes["."]
        if votes["."] == votes[","] == 0 and grouped[","] and not grouped["."]:
            # 1,234 alone: a file with another separator uses commas within numbers.
            comma = separator not in (",", "")
        if not any(votes.values()) and any(parted.values()):
            comma = parted["."] > parted[","]
        decimal = "," if comma else "."
    mark = "," if decimal == "." else "."
    thousands = mark if grouped[mark] else next((sign for sign, n in other.items() if n), "")
    return NumberForm(decimal, thousands)
