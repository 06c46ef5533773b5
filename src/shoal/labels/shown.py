"""The curves that an analyst may see, and why.

There are three sources: series that Shoal groups itself and shows as means of k subjects, series that are already
public, and the series of a release that verifies. Only published or public values are kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.features import ShownGroups
from shoal.guarantees import KAnonymity, build_guarantee
from shoal.ledger.file import record_shown
from shoal.methods import Microaggregation
from shoal.model import Candidate, Guarantee, Panel, Verdict
from shoal.model.parameters import check_whole
from shoal.model.words import names_apart
from shoal.release import load_release, verify
from shoal.release.certification import time_part

Source = Literal["presanitised", "public", "released"]
PUBLIC: Source = "public"

MULTIPLE = 4
"""A label task shows groups of at least this many times k subjects, for a release in groups of k within them: within
groups of k, nothing is left to choose, and much larger groups leave too few curves to label. If 1, 2, 4 and 8 all leave
enough to learn from, 4 loses least: on average 1.00, 0.88, 0.82 and 0.96 of a generic release's loss. Over all cases,
including sets of 48 days, 2 loses least: 1.00, 0.92, 0.96 and 0.97 (docs/results/pad.md)."""

ROUNDING = 1e-6
"""How far a private series and its copy may be apart, relative to the largest value: more than single precision or text
with six digits causes."""


@dataclass(frozen=True, eq=False)
class Shown:
    """Distinct curves, the number of rows published as each, and what is promised about them.

    `values` (curves, instants) are sorted by value, so that their order reveals nothing about the data. For a
    pre-sanitised panel, `crowds` counts the different subjects behind a curve, for a release its series; who they are
    is not kept, nor whether two curves share a subject.
    """

    values: NDArray[np.float64]
    crowds: NDArray[np.int64]
    times: NDArray[Any]
    timezone: str | None
    source: Source
    guarantee: dict[str, Any]

    def __post_init__(self) -> None:
        for name in ("values", "crowds", "times"):
            array = np.array(getattr(self, name), order="C")
            array.setflags(write=False)
            object.__setattr__(self, name, array.view())  # a view of a locked array cannot be unlocked

    @property
    def rows(self) -> NDArray[np.float64]:
        """Every curve, repeated as often as it is published."""
        return np.repeat(self.values, self.crowds, axis=0)

    def digest(self) -> str:
        """SHA-256 of the published values, the instants and the guarantee."""
        state = hashlib.sha256(json.dumps(self.guarantee, sort_keys=True).encode())
        state.update(repr((self.source, self.values.shape, self.times.dtype.kind, self.timezone)).encode())
        state.update(self.values.astype("<f8").tobytes())
        state.update(self.crowds.astype("<i8").tobytes())
        state.update(np.ascontiguousarray(self.times).view(np.int64).astype("<i8").tobytes())
        return state.hexdigest()

    def refuse_unless_it_holds(self) -> None:
        """Check the guarantee on the values again; public series have none to check."""
        if len(self.values) < 2:
            raise ParameterError(
                f"A pair needs two different curves, but there is only {len(self.values)}. Lower k, or give more and "
                "more varied series."
            )
        if self.source == PUBLIC:
            return
        guarantee = build_guarantee(self.guarantee["name"], self.guarantee["parameters"])
        verdict = guarantee.check(Panel(self.rows, times=self.times, timezone=self.timezone))
        if not verdict.holds:
            raise GuaranteeNotMetError(_refusal(guarantee, verdict))
        extras = {name: self.guarantee[name] for name in _EXTRAS if name in self.guarantee}
        if self.guarantee != _promise(guarantee, verdict) | extras or not self._extras_are_possible(guarantee):
            raise GuaranteeNotMetError(
                f"The task does not state what {guarantee.name} promises or what is measured on its curves. "
                "Build it again."
            )

    def refuse_other_groups(self, groups: ShownGroups) -> None:
        """Refuse groups that are not those behind the curves."""
        behind = [len(np.unique(groups.subjects[groups.groups == curve])) for curve in range(len(self.values))]
        if behind != self.crowds.tolist() or groups.k != self.guarantee["parameters"]["k"]:
            raise GuaranteeNotMetError(
                "What the task says about who was shown together does not match its curves. Nothing is shown; build "
                "the task again."
            )

    def _extras_are_possible(self, guarantee: Guarantee) -> bool:
        """Who is behind a curve is not kept, so a largest share can only be one that would have been accepted."""
        if self.source != "presanitised":
            return self.guarantee.get("counts") == "series" and "largest_share" not in self.guarantee
        share = self.guarantee.get("largest_share")
        k, size = guarantee.parameters["k"], self.guarantee.get("groups_of")
        possible = isinstance(share, float) and 0.0 < share <= 2 / k
        possible &= type(size) is int and k <= size <= self.guarantee["measured"]
        return possible and self.guarantee.get("counts") in ("subjects", "series")


_EXTRAS = ("counts", "largest_share", "groups_of", "note")


def presanitise(
    panel: Panel, k: int, multiple: int = MULTIPLE, ledger: str | Path | None = None
) -> tuple[Shown, ShownGroups]:
    """Means of at least multiple·k subjects instead of raw series, and the hashed record of who is in which."""
    check_whole("multiple", multiple, 1)
    _refuse_odd(panel)
    KAnonymity(k)  # refuses an impossible k with its own message
    size = int(multiple) * int(k)
    if panel.n_subjects < size:
        raise ParameterError(
            f"Showing groups of {int(multiple)} times k={k} needs at least {size} subjects, the panel has "
            f"{panel.n_subjects}. Lower k or multiple, or read more series."
        )
    candidate = Microaggregation(k=size).anonymize(panel)
    published = candidate.values
    if published.shape != panel.values.shape:
        raise GuaranteeNotMetError("The pre-sanitised series do not match the panel, row by row. Nothing is shown.")
    published = published.reshape(panel.n_series, -1)
    # The subjects are the panel's own: a method that lost track of them would invent its own crowd. Without named
    # subjects, series are counted, and nothing is said about subjects.
    counts = "series" if panel.subjects is None else "subjects"
    guarantee = KAnonymity(k, per="series" if panel.subjects is None else "subject")
    verdict = guarantee.check(Panel(published, subjects=panel.subject_codes))
    if not verdict.holds:
        raise GuaranteeNotMetError(_refusal(guarantee, verdict))
    curves, number = _different(published)
    both, n_rows = np.unique(number * panel.n_subjects + panel.subject_codes, return_counts=True)
    behind = both // panel.n_subjects
    crowds = np.bincount(behind, minlength=len(curves))
    extras = {"counts": counts, "largest_share": _largest_share(behind, n_rows, int(k)), "groups_of": size}
    smallest = int(crowds.min())
    if smallest < size:
        raise GuaranteeNotMetError(
            _refusal(KAnonymity(size), Verdict("does not hold", measured=smallest, required=size))
        )
    measured = Verdict("holds", measured=smallest, required=int(k))
    shown = _shown(panel, curves, crowds, "presanitised", _promise(guarantee, measured) | extras)
    shown.refuse_unless_it_holds()  # nothing refused is recorded
    if ledger is not None:
        record_shown(ledger, replace(candidate, guarantee=guarantee), _as_release(candidate, shown), shown.digest())
    return shown, ShownGroups.of(panel, number, int(k))


def _as_release(candidate: Candidate, shown: Shown) -> dict[str, Any]:
    """What a ledger records of a label task."""
    return {
        "form": "label task",
        "files": {},
        "method": {"name": candidate.recipe.method, "parameters": dict(candidate.recipe.parameters)},
        "guarantees": [{name: shown.guarantee[name] for name in ("name", "parameters")}],
        "counts": {
            "series": candidate.private.original.n_series,
            "subjects": candidate.private.original.n_subjects,
            "groups": len(shown.values),
        },
        "time": time_part(shown.times, shown.timezone).model_dump(),
    }


def _largest_share(curve: NDArray[np.int64], n_rows: NDArray[np.int64], k: int) -> float:
    """The largest share of one subject in a mean; each entry counts the rows of a subject behind a curve.

    A mean of a thousand days of one subject and one day each of k - 1 others is almost that subject's own.
    """
    shares = n_rows / np.bincount(curve, weights=n_rows)[curve]
    largest = float(shares.max())
    if largest > 2 / k:
        n_curves = len(np.unique(curve[shares > 2 / k]))
        raise GuaranteeNotMetError(
            f"In {n_curves} of {int(curve.max()) + 1} curves to be shown, one subject has more than 2/{k} of the "
            f"series behind it, up to {largest:.0%}: a mean that is almost one subject's own. Read fewer series of "
            "the subjects that have many: one day of each, for example."
        )
    return largest


def admit_public(panel: Panel, statement: str, private: Sequence[Panel]) -> Shown:
    """Series as they are, on the publisher's word that they are public."""
    if not isinstance(statement, str) or not statement.strip():
        raise ParameterError(
            "statement must say why these series are public, for the record. Series that are not public go through "
            "LabelTask.presanitised."
        )
    _refuse_odd(panel)
    _refuse_private(panel, private)
    curves, _ = _different(panel.rows)
    promise = {"name": PUBLIC, "parameters": _compared(private), "statement": statement.strip()}
    return _shown(panel, curves, np.ones(len(curves), dtype=np.int64), PUBLIC, promise)


def admit_release(folder: str | Path, private: Sequence[Panel]) -> Shown:
    """The series of a release, if it verifies."""
    outcome = verify(folder)
    if outcome.findings:
        raise GuaranteeNotMetError(f"No label task from a release that does not verify: {outcome.findings[0]}.")
    release = load_release(folder)
    if not isinstance(release.published, Panel):
        raise ParameterError(
            f"The release holds {release.certificate['form']}, but a label task shows curves. Give a release of values."
        )
    panel = release.published
    _refuse_odd(panel)
    _refuse_private(panel, private)
    if not outcome.verdicts:
        raise GuaranteeNotMetError(
            "The release promises nothing that can be checked from its folder. Nothing is shown."
        )
    parts = release.certificate["guarantees"]
    names = names_apart([(part["name"], part["parameters"]) for part in parts])
    first = parts[names.index(outcome.verdicts[0][0])]
    guarantee = build_guarantee(first["name"], first["parameters"])
    curves, number = _different(panel.rows)
    counts = release.certificate["counts"]
    extras = {"counts": "series"}
    if counts["subjects"] < counts["series"]:
        extras["note"] = "counted in series, of which a subject may have several"
    crowds = np.bincount(number, minlength=len(curves))
    verdict = guarantee.check(Panel(np.repeat(curves, crowds, axis=0), times=panel.times))
    if not verdict.holds:
        raise GuaranteeNotMetError(_refusal(guarantee, verdict))
    return _shown(panel, curves, crowds, "released", _promise(guarantee, verdict) | extras)


def _shown(
    panel: Panel, curves: NDArray[np.float64], crowds: NDArray[np.int64], source: Source, promise: dict[str, Any]
) -> Shown:
    return Shown(curves, crowds.astype(np.int64), panel.times, panel.timezone, source, promise)


def _different(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distinct rows in the order of their values, and the number of each row among them."""
    # Plus zero: -0.0 and 0.0 are the same curve to a viewer.
    curves, number = np.unique(rows + 0.0, axis=0, return_inverse=True)
    return curves, number.reshape(-1).astype(np.int64)


def _promise(guarantee: Guarantee, verdict: Verdict) -> dict[str, Any]:
    return {
        "name": guarantee.name,
        "parameters": json.loads(json.dumps(guarantee.parameters)),
        "statement": guarantee.statement,
        "holds": verdict.holds,
        "measured": verdict.measured,
        "required": verdict.required,
    }


def _refusal(guarantee: Guarantee, verdict: Verdict) -> str:
    where = f", first at series position {verdict.witness}" if isinstance(verdict.witness, int) else ""
    return (
        f"{guarantee.name} does not hold on the curves to be shown: measured {verdict.measured}, required "
        f"{verdict.required}{where}. Nothing is shown."
    )


def _refuse_odd(panel: Panel) -> None:
    if panel.n_channels > 1:
        raise ParameterError(
            f"A label task shows one curve for each series, but the panel has {panel.n_channels} channels. Read one "
            "value column."
        )
    if panel.n_missing:
        raise ParameterError(
            f"Metrics are learned from complete series, but the panel has {panel.n_missing} missing values. Read it "
            "with `missing` set to 'drop-series', 'drop-instants' or 'interpolate:2h'."
        )


def _compared(private: Sequence[Panel]) -> dict[str, Any]:
    return {"compared_with_series": sum(panel.n_series for panel in private)}


def _refuse_private(panel: Panel, private: Sequence[Panel]) -> None:
    """No series may equal one of a private panel, apart from rounding; a constant one, such as an empty day, identifies
    nobody."""
    found = sorted({row for other in private for row, _ in copies(panel.rows, other.rows)})
    if found:
        raise GuaranteeNotMetError(
            f"{len(found)} of {panel.n_series} series are the same as a series of a private panel, at all instants up "
            f"to rounding, first at series position {found[0]}. Drop them, or use LabelTask.presanitised."
        )


def copies(rows: NDArray[np.float64], hidden: NDArray[np.float64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Rows that nowhere differ from hidden ones by more than ROUNDING times their largest value, and which these are.

    Hidden rows of another length, with gaps or of one value throughout are not compared.
    """
    if hidden.shape[1] != rows.shape[1]:
        return
    places = np.flatnonzero(np.isfinite(hidden).all(axis=1) & (hidden != hidden[:, :1]).any(axis=1))
    rows, hidden = rows + 0.0, hidden[places] + 0.0
    # Rows that are close everywhere have close weighted means, whatever the weights; random weights rule out most
    # others at once.
    weights = np.random.default_rng(0).random((rows.shape[1],))
    weights /= weights.sum()
    means = hidden @ weights
    order = np.argsort(means, kind="stable")
    hidden, means, places = hidden[order], means[order], places[order]
    far = ROUNDING * np.abs(hidden).max(axis=1, initial=0.0)
    own = rows @ weights
    # A row's copy has about the same largest value, so twice the row's own is enough.
    reach = 2 * ROUNDING * np.abs(rows).max(axis=1)
    first, last = np.searchsorted(means, own - reach), np.searchsorted(means, own + reach, side="right")
    for at in np.flatnonzero(last > first).tolist():
        some = slice(first[at], last[at])
        near = np.abs(hidden[some] - rows[at]).max(axis=1) <= far[some]
        if near.any():
            yield at, places[some][near]
