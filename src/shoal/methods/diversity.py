"""Sensitive columns, changed as little as l-diversity allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees.l_diversity import value_codes
from shoal.kernels.arrays import Ints
from shoal.methods.exchange import can_be_exchanged, exchange
from shoal.methods.perturbation import perturb
from shoal.model import Panel
from shoal.model.columns import missing_entries, plain_column


class Diverse(NamedTuple):
    """The columns that may be published, and how much of them was changed."""

    columns: dict[str, NDArray[Any]]
    figures: dict[str, int]


def diversify(
    panel: Panel, rows: Ints, classes: Ints, envelopes: Ints, *, l: int, epsilon: float, seed: int
) -> Diverse:
    """Change the sensitive columns of the published `rows` so that in no class a value has a share above 1/l.

    `classes` are the rows that are published alike, `envelopes` those that share an envelope. Numbers are perturbed by
    up to `epsilon` standard deviations of their column over the whole panel, everything else is exchanged.
    """
    classes, envelopes = (np.unique(codes, return_inverse=True)[1].reshape(-1) for codes in (classes, envelopes))
    seeds = np.random.SeedSequence(seed).spawn(len(panel.sensitive))
    columns: dict[str, NDArray[Any]] = {}
    n_perturbed = n_beyond = n_exchanged = 0
    for (name, whole), child in zip(plain_sensitive(panel).items(), seeds, strict=True):
        rng, column = np.random.default_rng(child), whole[rows]
        if column.dtype.kind in "if":
            done = perturb(column, classes, l, epsilon * _deviation(whole), rng)
            columns[name] = done.column
            n_perturbed, n_beyond = n_perturbed + done.n_changed, n_beyond + done.n_beyond
            continue
        codes = value_codes(column)
        _refuse_what_cannot_be_exchanged(name, codes, np.bincount(classes), l)
        done_codes, n_changed = exchange(codes, classes, envelopes, l, rng)
        first = np.unique(codes, return_index=True)[1]
        columns[name] = column[first][done_codes]
        n_exchanged += n_changed
    figures = {
        "sensitive_perturbed": n_perturbed,
        "sensitive_beyond_epsilon": n_beyond,
        "sensitive_exchanged": n_exchanged,
    }
    return Diverse(columns, figures)


def plain_sensitive(panel: Panel) -> Mapping[str, NDArray[Any]]:
    """The sensitive columns in plain types; refused if there are none, or if entries are missing."""
    if not panel.sensitive:
        raise ParameterError("l needs a sensitive column, and the panel has none. Name one with sensitive=, or omit l.")
    columns = {name: plain_column(column) for name, column in panel.sensitive.items()}
    for name, column in columns.items():
        if n_missing := int(missing_entries(column).sum()):
            raise ParameterError(
                f"Column {name!r} needs an entry for every series to be published; {n_missing} of {len(column)} are "
                "missing. Complete them, or drop those series or the column."
            )
        if column.dtype.kind == "f" and (n_infinite := int(np.isinf(column).sum())):
            raise ParameterError(
                f"Column {name!r} has {n_infinite} infinite numbers among {len(column)}. Correct them, or drop the "
                "column."
            )
    return columns


def _refuse_what_cannot_be_exchanged(name: str, codes: Ints, sizes: Ints, l: int) -> None:
    if can_be_exchanged(codes, sizes, l):
        return
    most, room = int(np.bincount(codes).max()), int((sizes // l).sum())
    why = f"its {int(codes.max()) + 1} different values are too few for subgroups whose sizes are not multiples of l"
    if most > room:
        why = f"one value has {most} of {len(codes)} entries, and subgroups take at most {room} of them"
    raise ParameterError(
        f"Column {name!r} cannot be made {l}-diverse by exchange: {why}. {'Lower l, raise' if l > 2 else 'Raise'} p "
        "for larger subgroups, or drop the column."
    )


def _deviation(column: NDArray[Any]) -> float:
    """The standard deviation, of numbers of any size."""
    numbers = column.astype(np.float64)
    largest = float(np.abs(numbers).max())
    return float((numbers / largest).std()) * largest if largest > 0.0 else 0.0
