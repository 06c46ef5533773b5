"""What is lost in each category of a published column, such as a tariff.

One column alone: if two nearly agree, the difference of two figures would be that of a handful of subjects. Its
categories are reported together or not at all, because the last one follows from the figure of the whole. They are
reported if each by itself leaves as much open as a whole release must (see `release.openness`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.features import Kept, find_features
from shoal.model import Candidate, Measure, Panel
from shoal.model.joined import take_from
from shoal.process.keep import measures_of
from shoal.release.certification import certified_figures
from shoal.release.openness import affordable, sampled_bits
from shoal.utility import NormalizedDivergence

MOST_CATEGORIES = 6
"""If there are more, the smallest are reported together."""

N_MEASURES = 2
"""Measures of what must be kept come first."""

OTHERS = "all others"


def loss_by_category(candidate: Candidate) -> dict[str, Any] | None:
    """The loss in each category of the first published column that has several; None if nothing may be reported."""
    published = candidate.published
    if not isinstance(published, Panel) or candidate.private.stands_for is not None:
        return None
    divided = {column: _divided(entries) for column, entries in published.attributes.items()}
    column = next((name for name, parts in divided.items() if len(parts) > 1), None)
    if column is None:
        return None
    positions = np.arange(published.n_series) if candidate.private.rows is None else candidate.private.rows
    measures, rows = _measures(candidate), []
    for category, places in divided[column].items():
        part = take_from(candidate, np.sort(positions[places]))
        scores = _scores(part, measures)
        if scores is None or affordable(partial(sampled_bits, part), candidate.guarantees) < len(measures):
            return None
        rows.append({"category": category, "series": len(places), "scores": scores})
    return {"column": column, "rows": rows}


def _divided(entries: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
    """The rows of each category by its name, the largest first; the smallest of many are merged."""
    names = np.array([str(entry) for entry in entries])
    listed, codes, counts = np.unique(names, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    own = order if len(order) <= MOST_CATEGORIES else order[: MOST_CATEGORIES - 1]
    parts = {str(listed[code]): np.flatnonzero(codes == code) for code in own}
    rest = np.flatnonzero(~np.isin(codes, own))
    return parts | ({OTHERS: rest} if len(rest) else {})


def _measures(candidate: Candidate) -> dict[str, Measure]:
    """Measures of what must be kept, and how far readings are off."""
    features = candidate.recipe.parameters.get("features")
    kept = find_features(features) if isinstance(features, str) else None
    wanted = measures_of(kept, candidate.private.original) if isinstance(kept, Kept) else {}
    usual = NormalizedDivergence()
    return dict(list({**wanted, usual.name: usual}.items())[:N_MEASURES])


def _scores(part: Candidate, measures: Mapping[str, Measure]) -> dict[str, Any] | None:
    try:
        scores = {name: (part.measure(measure), "") for name, measure in measures.items()}
    except (ParameterError, InputError):
        return None
    told = certified_figures(scores, {})["utility"]
    return {name: {"value": score["value"], "unit": score["unit"]} for name, score in told.items()}
