"""Utility figures grouped by purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.report.words import clipped, title

MOST_PURPOSES = 20
OTHERS = "Other figures"


def by_purpose(figures: Mapping[str, Any], scores: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Any]]]:
    """Return headings with their figures, in the order of the certificate; one without a heading if none is given.

    A figure belongs to the first purpose that lists it; figures that no purpose lists come last.
    """
    process = figures.get("process")
    listed = process.get("purposes") if isinstance(process, Mapping) else None
    if not isinstance(listed, Mapping):
        return [("", list(scores))] if scores else []
    left = {score["key"]: score for score in scores}
    found: list[tuple[str, list[Any]]] = []
    for purpose, names in list(listed.items())[:MOST_PURPOSES]:
        own = [left.pop(name) for name in names if isinstance(name, str) and name in left] if _is_list(names) else []
        if own:
            found.append((title(clipped(purpose, 80)), own))
    if left:
        found.append((OTHERS if found else "", list(left.values())))
    return found


def _is_list(names: Any) -> bool:
    return isinstance(names, list)
