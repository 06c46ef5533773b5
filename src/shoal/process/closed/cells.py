"""The cells of a closed service: what is published of at least `minimum_group` subjects each, and nothing finer.

Questions are answered from cells alone. What a question selects is a union of cells, so are the differences, the
intersections and all other combinations of what any number of questions select, and each of them has either no
subject or at least those of one cell. No choice of questions, by one recipient or by all together, gets below.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.guarantees import KAnonymity
from shoal.guarantees.crowds import crowd_sizes, published_classes
from shoal.methods import Microaggregation
from shoal.model import Candidate, Envelopes, EventTables, Panel, Profiles, Release
from shoal.process.closed.questions import Count, Mean, Quantile, Refused
from shoal.process.closed.table import Table


def cells_of_candidate(candidate: Candidate, minimum_group: int) -> Table:
    """The cells of what a method proposes, in subjects; fictive series are nobody's and are left out."""
    published = candidate.published
    if isinstance(published, Profiles):
        return cells_of_profiles(published, minimum_group)
    panel = _panel(published)
    rows = np.flatnonzero(candidate.stands_for >= 0)
    return cells_of_panel(panel if len(rows) == panel.n_series else panel.take(rows), minimum_group)


def cells_of_release(release: Release, minimum_group: int) -> Table:
    """The cells of a release folder, which tells subjects apart only where every series has its own."""
    published, certificate = release.published, release.certificate
    if isinstance(published, EventTables):
        raise ParameterError("A closed service answers about series, and this release is of events.")
    counts = certificate["counts"]
    if any(part["name"] == "none" for part in certificate["guarantees"]) or counts["subjects"] != counts["series"]:
        raise ParameterError(
            "This release does not tell which of its series are of one subject, or of nobody, so its crowds cannot be "
            "counted. Run the policy again with release: {model: closed}."
        )
    if isinstance(published, Profiles):
        return cells_of_profiles(published, minimum_group)
    return cells_of_panel(_panel(published), minimum_group)


def _panel(published: Panel | Envelopes) -> Panel:
    """A curve for each series: of envelopes, the middle between their ends."""
    if isinstance(published, Panel):
        return published
    return Panel(
        published.middles, times=published.times, subjects=published.subject_codes, timezone=published.timezone
    )


def cells_of_panel(panel: Panel, minimum_group: int) -> Table:
    """Series published alike are a cell; where some are alike with too few, all are grouped anew.

    Checked on the values of the cells themselves, as every release is.
    """
    guarantee = KAnonymity(minimum_group)
    if not guarantee.check(panel).holds:
        grouped = Microaggregation(k=minimum_group).anonymize(panel).published
        assert isinstance(grouped, Panel)
        panel = grouped
    verdict = guarantee.check(panel)
    if not verdict.holds:
        raise GuaranteeNotMetError(
            f"The cells have {verdict.measured} subjects at least, {minimum_group} are required. Nothing was written."
        )
    classes = published_classes(panel)
    first, sizes = np.unique(classes, return_counts=True)
    return Table(
        values=panel.values.reshape(panel.n_series, panel.n_instants, -1)[first],
        weights=sizes.astype(np.int64),
        subjects=crowd_sizes(classes, panel.subject_codes)[first].astype(np.int64),
        times=panel.times,
        channels=panel.channels,
        timezone=panel.timezone,
    )


def cells_of_profiles(profiles: Profiles, minimum_group: int) -> Table:
    """Each profile is a cell; one with too few subjects is merged with the one most like it, again and again.

    A cell is missing where one of its profiles is: the others alone may be too few.
    """
    if int(profiles.counts.sum()) < minimum_group:
        raise ParameterError(
            f"minimum_group={minimum_group} needs at least {minimum_group} subjects, the profiles have "
            f"{int(profiles.counts.sum())}. Lower it or read more series."
        )
    values, counts = profiles.values[..., 0], profiles.counts
    while int(counts.min()) < minimum_group:
        values, counts = _merge(values, counts, int(counts.argmin()))
    return Table(
        values=values,
        weights=counts,
        subjects=counts,
        times=profiles.times,
        channels=profiles.channels,
        timezone=profiles.timezone,
    )


def _merge(values: Any, counts: NDArray[np.int64], small: int) -> tuple[Any, NDArray[np.int64]]:
    apart = np.nan_to_num((values - values[small]) ** 2).reshape(len(values), -1).sum(axis=1)
    apart[small] = np.inf
    near = int(apart.argmin())
    both = [small, near]
    values, total = values.copy(), int(counts[both].sum())
    values[near] = (values[both] * counts[both][:, None, None]).sum(axis=0) / total
    counts = counts.copy()
    counts[near] = total
    return np.delete(values, small, axis=0), np.delete(counts, small)


def answer_from_cells(cells: Table, question: Count | Mean | Quantile) -> float:
    """The answer, each series taken to be like its cell. Raises Refused where no cell is left to answer about.

    Examples
    --------
    >>> cells = cells_of_panel(Panel([[1.0], [1.0], [4.0], [4.0]]), 2)
    >>> answer_from_cells(cells, Mean())
    2.5
    """
    kept = cells.select(question.where)
    if isinstance(question, Count):
        return float(_weights(cells, kept).sum())
    found = cells.over(question.start, question.end, question.channel)
    kept &= ~np.isnan(found)
    weights, found = _weights(cells, kept), found[kept]
    if isinstance(question, Mean):
        return float((weights * found).sum() / weights.sum())
    order = np.argsort(found, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, question.q * reached[-1]))
    return float(found[order[min(place, len(order) - 1)]])


def _weights(cells: Table, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many series each selected cell has."""
    if not kept.any():
        raise Refused("below-minimum")
    return cells.weights[kept]
