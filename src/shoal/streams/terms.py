"""The settings of a stream of events: checked before it starts, saved, and unchanged when it resumes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError
from shoal.methods.reposition import Reposition
from shoal.model.event_tables import COUNT, GROUP, TIME
from shoal.model.names import value_of
from shoal.read.durations import Duration, parse_duration


def check_terms(
    method: Reposition,
    published: Sequence[str],
    known: Sequence[str] | None,
    file_format: str,
    *,
    subject: str | None = None,
) -> None:
    """Refuse settings that are clearly impossible; `published` are the quasi-identifiers and the sensitive column."""
    method.start(time="", sensitive="", subject=subject)  # refuses m without a subject with its own message
    if file_format not in ("parquet", "csv"):
        raise ParameterError("format must be parquet or csv.")
    if known is not None and (n_known := len({value_of(str(value)) for value in known})) < method.l:
        raise ParameterError(f"l={method.l} needs at least {method.l} different sensitive values, {n_known} are known.")
    if taken := {TIME, GROUP, COUNT} & set(published):
        raise ParameterError(
            f"Column {min(taken)!r} clashes with the column of that name that every release of events has. Rename it."
        )


def read_duration(text: str | None, setting: str) -> Duration | None:
    """A duration from its text; None for none and 0."""
    return None if text is None or text.strip() == "0" else parse_duration(text, setting)


def stream_terms(
    method: Reposition,
    columns: Mapping[str, Any],
    *,
    to: Path,
    file_format: str,
    every: str | None,
    lateness: str | None,
    known: Sequence[str] | None,
) -> dict[str, Any]:
    """Everything that must be the same when a stream resumes, for JSON."""
    return {
        "out": str(to.resolve()),
        "format": file_format,
        **{name: list(value) if isinstance(value, tuple) else value for name, value in columns.items()},
        "every": every,
        "lateness": lateness,
        "known": None if known is None else sorted(set(known)),
        **_method_terms(method),
    }


def _method_terms(method: Reposition) -> dict[str, Any]:
    """Parameters of the method as JSON holds them: a function by its values, a mapping by its entries."""
    return {f.name: _plain(getattr(method, f.name), method.window) for f in dataclasses.fields(method)}


def _plain(value: Any, window: int) -> Any:
    if isinstance(value, Mapping):
        return sorted([str(key), float(cost)] for key, cost in value.items())
    return [float(value(d)) for d in range(window)] if callable(value) else value
