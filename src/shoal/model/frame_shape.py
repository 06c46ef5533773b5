"""The frame a panel came in, and how it is returned in the same shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from shoal.errors import ParameterError

Library = Literal["pandas", "polars", "arrow", "numpy", "xarray"]
Layout = Literal["long", "rows", "columns"]


@dataclass(frozen=True, eq=False, repr=False)
class FrameShape:
    """How readings were arranged in a frame, and the names and types of its columns.

    Names of columns may be identifiers, so none of this is certified or shown.

    Parameters
    ----------
    library
        Where the frame came from; None for files and databases.
    layout
        "long": a row per series and instant. "rows": a row per series. "columns": a column per series.
    id, time, values, subject
        Names of these columns, or of the levels of an index; None if they had none.
    index
        Parts that were in the index of a pandas frame, in their order.
    order
        Parts that were columns, in their order: "id", "time", "value 0", ...
    types
        Types of "id", "time" and "value" in the terms of the library; "value 0", "value 1", ... if they differ.
    labels
        For a row per series, the name of the column of each instant.
    across
        For a wide pandas frame, the name of its columns as a whole.
    as_series
        Whether it was a pandas Series.
    whole_ids
        Whether series were named by whole numbers.
    dims
        For an xarray DataArray, the parts of its dimensions in order: "id", "time", "channel".
    """

    library: Library | None = None
    layout: Layout = "long"
    id: Any = "id"
    time: Any = "time"
    values: tuple[Any, ...] = ()
    subject: Any = None
    index: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    types: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[int, Any] = field(default_factory=dict)
    across: Any = None
    as_series: bool = False
    whole_ids: bool = False
    dims: tuple[str, ...] = ()

    def type_of(self, part: str, library: Library, channel: int = 0) -> Any:
        """The type of a part, if the frame came from that library; with several values, each may have its own."""
        return self.types.get(f"{part} {channel}", self.types.get(part)) if self.library == library else None


def need(library: str, verb: str) -> Any:
    """A library that is loaded only when someone asks for its frames."""
    try:
        return import_module(library)
    except ImportError:
        raise ParameterError(
            f"{verb} needs {library}, which is not installed. Install it: pip install {library}"
        ) from None
