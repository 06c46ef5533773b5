"""What reading did to the readings, in words: the terminal and the report say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.model.words import percent

_DUPLICATES = {"first": "the first counts", "last": "the last counts", "mean": "their mean counts"}
_SOURCES = {"name": "by the name of the column", "setting": "as the publisher says"}
_MOST = 10**15  # a certificate is read from anywhere; a longer number is no count


def account_of(reading: Mapping[str, Any], part: str | None = None, n_readings: int | None = None) -> list[str]:
    """Sentences about a certificate's `input.reading`, each only if it is true; none if nothing was changed.

    `part` is "dropped" for what was left out, "changed" for what was filled, merged and gathered, or None for all.
    `n_readings` is their number, including those filled in, if known.

    Examples
    --------
    >>> account_of({"align": "exact", "duplicates": "fail", "repeated": 2})
    ['Exact repeats taken once: 2.']
    >>> account_of({"align": "exact", "repeated": 2, "dropped_series": 1}, "dropped")
    ['Series dropped because of gaps: 1.']
    """
    n = {name: value for name, value in reading.items() if type(value) is int and 0 < value < _MOST}
    said = [(kind, f"{what}: {n[name]:,}.") for name, kind, what in _LINES if name in n]
    if "repeated" in n:
        said.append(("changed", f"Exact repeats taken once: {n['repeated']:,}."))
    if "merged" in n:
        how = _DUPLICATES.get(str(reading.get("duplicates"))[:20], "one counts")
        merged = f"Readings merged with a different one of the same series and instant: {n['merged']:,} ({how})."
        said.append(("changed", merged))
    said += _gathered(reading, n)
    what = "Weeks" if reading.get("split") == "week" else "Days"
    said += [("dropped", f"{what} {why}: {n[name]:,}.") for name, why in _SPLIT if name in n]
    if "interpolated" in n:
        rounded = float(f"{n['interpolated'] / n_readings:.2g}") if n_readings else 0.0
        share = f" ({percent(rounded)} of all)" if n_readings else ""
        said.append(("changed", f"Readings interpolated inside short gaps: {n['interpolated']:,}{share}."))
    dropped = [f"{what.capitalize()} dropped because of gaps: {n[name]:,}." for name, what in _DROPPED if name in n]
    said += [("dropped", sentence) for sentence in dropped]
    return [sentence for kind, sentence in said if part in (None, kind)]


_LINES = (
    (
        "lines_skipped",
        "dropped",
        "Lines not read as rows, such as headings, footers or incomplete rows",
    ),
    ("not_readings", "dropped", "Entries left out because they have neither a reading nor a valid time"),
    ("filled_down", "changed", "Empty cells given the entry above them, which the table states once per block"),
)
_SPLIT = (
    ("parts_clock_changed", "left out because the clock was changed"),
    ("parts_cut_off", "left out for lack of the usual instants"),
    ("parts_empty", "of single series left out for lack of readings"),
)
_DROPPED = (("dropped_series", "series"), ("dropped_instants", "instants"))


def _gathered(reading: Mapping[str, Any], n: Mapping[str, int]) -> list[tuple[str, str]]:
    """Sentences about buckets, which are steps of the panel."""
    word, _, rest = str(reading.get("align"))[:60].partition(":")
    if word != "resample":
        return []
    step, _, by = rest.partition(":")
    source = _SOURCES.get(str(reading.get("quantity_from"))[:20])
    what = f"{str(reading.get('quantity'))[:60]}, {source}" if source else "their quantity is unknown"
    said = [("changed", f"Readings resampled to steps of {step} by {by} ({what}).")]
    share = str(reading.get("complete"))[:20]
    if share == "any":
        said.append(("changed", "Each step with a reading was taken as it is; gaps inside it were not looked for."))
    if "incomplete" in n:
        said.append(("dropped", f"Steps taken as missing for lack of readings: {n['incomplete']:,}."))
    if "scaled" in n:
        scaled = f"Sums scaled up for lack of readings: {n['scaled']:,} (each had at least {share} of them)."
        said.append(("changed", scaled))
    if "partial" in n:
        partial = f"Steps taken as they are that lack readings: {n['partial']:,} (each has at least {share} of them)."
        said.append(("changed", partial))
    return said
