"""The cells of a closed service: values of at least `minimum_group` subjects each, and nothing finer.

A cell has a value at an instant only if at least `minimum_group` of its subjects were observed there: subjects with a
gap are not behind that value. Questions are answered from cells only. What a question selects is a union of cells, and
so are differences, intersections and all other combinations of what any number of questions select; each has either no
subject or at least those of one cell. No set of questions, by one recipient or by all together, gets below that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.closed.questions import Count, Mean, Quantile, Refused
from shoal.closed.table import ClosedTable
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.guarantees import DifferentialPrivacy, KAnonymity
from shoal.guarantees.crowds import published_classes
from shoal.methods import Microaggregation
from shoal.model import Candidate, Envelopes, EventTables, Panel, Profiles, Release


def cells_of_candidate(candidate: Candidate, minimum_group: int) -> ClosedTable:
    """The cells of a candidate, counted in subjects; fictive series belong to nobody and are left out."""
    published, original = candidate.published, candidate.private.original
    if isinstance(published, Profiles):
        rows = np.flatnonzero(candidate.private.groups >= 0)
        seen = _observed(original, published)[rows]
        members = Members(candidate.private.groups[rows], original.subject_codes[rows], seen, published.n_groups)
        return cells_of_profiles(published, minimum_group, members)
    panel = _panel(published)
    rows = np.flatnonzero(candidate.stands_for >= 0)
    panel, origins = panel if len(rows) == panel.n_series else panel.take(rows), candidate.stands_for[rows]
    sliced = len(np.unique(origins)) < len(origins)
    return cells_of_panel(panel, minimum_group, _observed(original, panel, sliced=sliced)[origins])


@dataclass(frozen=True, eq=False)
class Members:
    """Who is in which group, and when each was observed.

    Parameters
    ----------
    groups, subjects
        The group and the subject of each series, numbered from 0.
    observed
        Array (series, instants, channels): whether the series has a reading.
    n_groups
        How many groups there are. Noise can make one of nobody.
    """

    groups: NDArray[np.int64]
    subjects: NDArray[np.int64]
    observed: NDArray[np.bool_]
    n_groups: int

    def merged(self, cells: NDArray[np.int64]) -> Members:
        """Members of cells, each a union of groups."""
        return Members(cells[self.groups], self.subjects, self.observed, int(cells.max()) + 1)

    @property
    def one_each(self) -> bool:
        """Whether every subject has one series only."""
        return len(np.unique(self.subjects)) == len(self.subjects)

    def n_subjects(self) -> NDArray[np.int64]:
        """How many different subjects each group has."""
        pairs = np.unique(np.stack([self.groups, self.subjects], axis=1), axis=0)
        return np.bincount(pairs[:, 0], minlength=self.n_groups).astype(np.int64)

    def n_observed(self) -> NDArray[np.int64]:
        """How many different observed subjects each group has: (groups, instants, channels)."""
        order = np.lexsort((self.subjects, self.groups))
        groups, subjects = self.groups[order], self.subjects[order]
        first = np.flatnonzero((np.diff(groups, prepend=-1) != 0) | (np.diff(subjects, prepend=-1) != 0))
        seen = np.logical_or.reduceat(self.observed[order], first, axis=0)
        starts = np.flatnonzero(np.diff(groups[first], prepend=-1))
        counts = np.zeros((self.n_groups, *seen.shape[1:]), dtype=np.int64)
        counts[groups[first][starts]] = np.add.reduceat(seen, starts, axis=0, dtype=np.int64)
        return counts


def _observed(original: Panel, published: Panel | Profiles, *, sliced: bool = False) -> NDArray[np.bool_]:
    """Whether each original series was observed at each published instant and channel.

    A published instant extends to the next one, and a series is observed there if no reading is missing until then. If
    a series is published in slices (`sliced`), only its own instants show which reading is which.
    """
    seen = ~np.isnan(original.cube)
    if seen.all():
        return np.ones((original.n_series, published.n_instants, published.n_channels), dtype=np.bool_)
    same = np.array_equal(original.times, published.times)
    kinds = original.times.dtype.kind, published.times.dtype.kind
    if not same and (sliced or kinds[0] != kinds[1] or not np.isin(published.times, original.times).all()):
        raise ParameterError(
            f"{int((~seen).sum())} values are missing, and the published instants differ from those of the series, so "
            "observed subjects cannot be counted. Say in data.missing what to do with them."
        )
    starts = np.searchsorted(original.times, published.times)
    last = int(starts[-1] + np.diff(starts).max()) if len(starts) > 1 else original.n_instants
    seen = np.logical_and.reduceat(seen[:, :last], starts, axis=1)
    if seen.shape[2] != published.n_channels:
        seen = np.repeat(seen.all(axis=2, keepdims=True), published.n_channels, axis=2)
    return np.asarray(seen)


def cells_of_release(release: Release, minimum_group: int) -> ClosedTable:
    """The cells of a release folder, which distinguishes subjects only if every series has its own."""
    published, certificate = release.published, release.certificate
    if isinstance(published, EventTables):
        raise ParameterError("A closed service answers about series, but this release holds events.")
    counts = certificate["counts"]
    if any(part["name"] == "none" for part in certificate["guarantees"]) or counts["subjects"] != counts["series"]:
        raise ParameterError(
            "This release does not show which of its series belong to one subject, or to nobody, so its crowds cannot "
            "be counted. Run the policy again with release: {model: closed}."
        )
    if not _tells_observed(certificate, minimum_group):
        raise ParameterError(
            "The series behind this release may have gaps, and it does not show how many subjects were observed at an "
            "instant. Run the policy again with release: {model: closed}."
        )
    if isinstance(published, Profiles):
        noisy = any(part["name"] == DifferentialPrivacy.name for part in certificate["guarantees"])
        cells = cells_of_profiles(published, minimum_group)
        return replace(cells, one_each=cells.one_each and not noisy)
    return cells_of_panel(_panel(published), minimum_group)


def _tells_observed(certificate: Mapping[str, Any], minimum_group: int) -> bool:
    """Whether every published value is known to be based on all members of its group, or on enough of them."""
    method, reading = certificate["method"], certificate["input"]["reading"]
    if certificate["form"] == "envelopes" or method["figures"].get("gaps_covered") == 0:
        return True  # gaps are refused there, and none was covered here
    if "missing" in reading and "keep" not in reading["missing"]:
        return True  # read without gaps
    # These two publish nothing at an instant where fewer than this were observed.
    enough = {"microaggregation": "k", "scope-aggregation": "size"}.get(method["name"])
    return enough is not None and int(method["parameters"][enough]) >= minimum_group


def _panel(published: Panel | Envelopes) -> Panel:
    """A curve for each series: for envelopes, the middle between their ends."""
    if isinstance(published, Panel):
        return published
    return Panel(
        published.middles,
        times=published.times,
        subjects=published.subject_codes,
        channels=published.channels,
        timezone=published.timezone,
    )


def cells_of_panel(panel: Panel, minimum_group: int, observed: NDArray[np.bool_] | None = None) -> ClosedTable:
    """Series published alike form a cell; if a cell would be too small, all series are grouped again.

    Checked on the values of the cells themselves, like every release. `observed` says where each series has its own
    reading, by default where something is published.
    """
    published = ~np.isnan(panel.cube)
    guarantee = KAnonymity(minimum_group)
    if not guarantee.check(panel).holds:
        grouped = Microaggregation(k=minimum_group).anonymize(panel).published
        assert isinstance(grouped, Panel)
        panel = grouped
    verdict = guarantee.check(panel)
    if not verdict.holds:
        raise GuaranteeNotMetError(
            f"The smallest cell has {verdict.measured} subjects, but {minimum_group} are required. Nothing was written."
        )
    classes = published_classes(panel)
    first, own, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    observed = published if observed is None else published & observed
    members = Members(own.reshape(-1), panel.subject_codes, observed, len(first))
    counts = members.n_observed()
    return ClosedTable(
        values=_withheld(panel.cube[first], counts, minimum_group),
        weights=sizes.astype(np.int64),
        subjects=members.n_subjects(),
        observed=counts,
        times=panel.times,
        channels=panel.channels,
        timezone=panel.timezone,
        one_each=panel.one_series_per_subject,
    )


def _withheld(values: Any, observed: NDArray[np.int64], minimum_group: int) -> Any:
    """The values based on enough subjects; others are missing."""
    return np.where(observed >= minimum_group, values, np.nan)


def cells_of_profiles(profiles: Profiles, minimum_group: int, members: Members | None = None) -> ClosedTable:
    """Each profile is a cell; one with too few subjects is repeatedly merged with the most similar one.

    A cell is missing if one of its profiles is: the others alone may be too few. Without `members`, each profile's
    subjects are assumed to be its own, and observed wherever it has a value.
    """
    values, counts = profiles.values[..., 0], profiles.counts
    # Noisy counts are of nobody.
    one_each = members is None or (members.one_each and np.array_equal(members.n_subjects(), counts))
    while int((subjects := counts if members is None else members.n_subjects()).min()) < minimum_group:
        if len(values) == 1:
            raise ParameterError(
                f"minimum_group={minimum_group} needs at least {minimum_group} subjects, the profiles have "
                f"{int(subjects[0])}. Lower it or read more series."
            )
        values, counts, cells = _merge(values, counts, int(subjects.argmin()))
        members = None if members is None else members.merged(cells)
    observed = np.where(np.isnan(values), 0, counts[:, None, None]) if members is None else members.n_observed()
    return ClosedTable(
        values=_withheld(values, observed, minimum_group),
        weights=counts,
        subjects=subjects,
        observed=observed,
        times=profiles.times,
        channels=profiles.channels,
        timezone=profiles.timezone,
        one_each=one_each,
    )


def _merge(values: Any, counts: NDArray[np.int64], small: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Values and counts with one merged into the nearest, and the new place of each."""
    apart = np.nan_to_num((values - values[small]) ** 2).reshape(len(values), -1).sum(axis=1)
    apart[small] = np.inf
    near = int(apart.argmin())
    both = [small, near]
    values, total = values.copy(), int(counts[both].sum())
    values[near] = (values[both] * counts[both][:, None, None]).sum(axis=0) / total
    counts = counts.copy()
    counts[near] = total
    cells = np.arange(len(counts))
    cells[small] = near
    cells -= cells > small
    return np.delete(values, small, axis=0), np.delete(counts, small), cells


def answer_from_cells(cells: ClosedTable, question: Count | Mean | Quantile) -> float:
    """The answer, with each series treated like its cell. Raises Refused if no cell is left to answer about.

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


def _weights(cells: ClosedTable, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many series each selected cell has."""
    if not kept.any():
        raise Refused("below-minimum")
    return cells.weights[kept]
