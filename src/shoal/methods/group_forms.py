"""The forms in which groups of series are published: a curve for each series, bands, profiles or scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats, Ints
from shoal.methods.aggregates import (
    THIRDS,
    Aggregate,
    Rounding,
    group_thirds,
    groups_of,
    largest_likeness,
    round_values,
)
from shoal.methods.scenarios import describe_groups
from shoal.model import Panel, Profiles, Published
from shoal.model.columns import missing_entries, plain_column

Form = Literal["values", "profiles", "scenarios"]

LARGEST_LIKENESS = 0.5
"""Largest share of informative cells at which a published curve may equal one member's own values."""


def publish_groups(
    panel: Panel,
    groups: Ints,
    means: Floats,
    *,
    form: Form,
    aggregate: Aggregate,
    levels: int,
    round_to: Rounding | None,
    attributes: Sequence[str],
) -> tuple[Published, Panel | None]:
    """What is published, and if its shape differs, the curve that stands for each series."""

    def rounded(values: Floats) -> Floats:
        return values if round_to is None else round_values(values, round_to)

    if form == "scenarios":
        return describe_groups(panel, groups, means, levels), None
    bands = group_thirds(panel.rows, groups, means) if aggregate == "quantiles" else None
    if form == "profiles":
        firsts = [int(members[0]) for members in groups_of(groups)]
        columns = means[firsts][:, :, None]
        profiles = columns if bands is None else np.concatenate([columns, bands], axis=2)
        return Profiles.of(
            panel,
            rounded(profiles).reshape(len(firsts), panel.n_instants, panel.n_channels, -1),
            _n_subjects(panel, groups),
            ("mean",) if bands is None else ("mean", *THIRDS),
        ), None
    like: dict[str, Any] = {"subjects": panel.subject_codes, "copy": False}
    columns_of_series = _published_attributes(panel, attributes)
    if bands is None:
        curves = rounded(means).reshape(panel.values.shape)
        return panel.like(curves, attributes=columns_of_series, **like), None
    of_series = rounded(bands)[groups]
    names = [band if panel.n_channels == 1 else f"{c}_{band}" for c in panel.channels for band in THIRDS]
    middle = np.ascontiguousarray(of_series[:, :, 1]).reshape(panel.values.shape)
    side_by_side = of_series.reshape(panel.n_series, panel.n_instants, -1)
    published = panel.like(side_by_side, channels=names, attributes=columns_of_series, **like)
    return published, panel.like(middle, **like)


def _published_attributes(panel: Panel, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The attributes to publish, in plain types and without gaps."""
    columns = {name: plain_column(panel.attributes[name]) for name in names}
    for name, column in columns.items():
        if n_missing := int(missing_entries(column).sum()):
            raise ParameterError(
                f"Column {name!r} cannot be published: {n_missing} of {panel.n_series} series have no entry in "
                "it. Fill it in the table, or drop these series."
            )
    return columns


def _n_subjects(panel: Panel, groups: Ints) -> Ints:
    """The number of different subjects in each group."""
    pairs = np.unique(groups * panel.n_subjects + panel.subject_codes)
    return np.bincount(pairs // panel.n_subjects)


def median_likeness(panel: Panel, medians: Floats, groups: Ints) -> float:
    """How nearly a median curve is one member's own; refused above the limit."""
    likeness = largest_likeness(panel.rows, medians, groups)
    if likeness > LARGEST_LIKENESS:
        raise ParameterError(
            f"A published median equals one member's own values at {100 * likeness:.0f} % of the cells, more than "
            f"{100 * LARGEST_LIKENESS:.0f} %: it would publish that member. Use aggregate='trimmed-mean' or "
            "'mean', or a larger k."
        )
    return likeness
