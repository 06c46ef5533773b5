"""The curves that an analyst may see, and why he may.

There are three ways in: series that Shoal groups itself and shows as means of k subjects, series that are public
already, and the series of a release that verifies. What is kept is published or public values alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.guarantees import KAnonymity, build_guarantee
from shoal.methods import Microaggregation
from shoal.model import Guarantee, Panel, Verdict
from shoal.release import load_release, verify

Source = Literal["presanitised", "public", "released"]
PUBLIC: Source = "public"


@dataclass(frozen=True, eq=False)
class Shown:
    """Different curves, how many rows are published as each, and what is promised of them.

    `values` (curves, instants) are in the order of their values and not of the data, so that their order tells
    nothing. Of a pre-sanitised panel `crowds` counts the different subjects behind a curve, of a release its series;
    who they are is forgotten, and with it whether two curves share a subject.
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
        """Every curve as often as it is published."""
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
        """Check the guarantee on the values again; of public series there is none to check."""
        if len(self.values) < 2:
            raise ParameterError(
                f"A pair needs two different curves, {len(self.values)} is there. "
                "Lower k, or give more and more varied series."
            )
        if self.source == PUBLIC:
            return
        guarantee = build_guarantee(self.guarantee["name"], self.guarantee["parameters"])
        verdict = guarantee.check(Panel(self.rows, times=self.times, timezone=self.timezone))
        if not verdict.holds:
            raise GuaranteeNotMetError(_refusal(guarantee, verdict))
        if self.guarantee != _promise(guarantee, verdict, self.guarantee.get("note")):
            raise GuaranteeNotMetError(
                f"The task does not state what {guarantee.name} promises or what is measured on its curves. "
                "Build it again."
            )


def presanitise(panel: Panel, k: int) -> Shown:
    """Means of at least k subjects in place of raw series."""
    method = Microaggregation(k=k)
    _refuse_odd(panel)
    published = method.anonymize(panel).values
    if published.shape != panel.values.shape:
        raise GuaranteeNotMetError("The pre-sanitised series are not those of the panel, row by row. Nothing is shown.")
    published = published.reshape(panel.n_series, -1)
    # The subjects are the panel's own: a method that lost track of them would make its own crowd.
    guarantee = KAnonymity(k)
    verdict = guarantee.check(Panel(published, subjects=panel.subject_codes))
    if not verdict.holds:
        raise GuaranteeNotMetError(_refusal(guarantee, verdict))
    curves, number = _different(published)
    behind = np.unique(number * panel.n_subjects + panel.subject_codes) // panel.n_subjects
    crowds = np.bincount(behind, minlength=len(curves))
    measured = Verdict(holds=True, measured=int(crowds.min()), required=int(k))
    return _shown(panel, curves, crowds, "presanitised", _promise(guarantee, measured))


def admit_public(panel: Panel, statement: str, private: Sequence[Panel]) -> Shown:
    """Series as they are, on the word of whoever states that they are public."""
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
    if not outcome.holds:
        raise GuaranteeNotMetError(f"No label task from a release that does not verify: {outcome.findings[0]}.")
    release = load_release(folder)
    if not isinstance(release.published, Panel):
        raise ParameterError(
            f"The release is of {release.certificate['form']}; a label task shows curves. Give a release of values."
        )
    panel = release.published
    _refuse_odd(panel)
    _refuse_private(panel, private)
    if not outcome.verdicts:
        raise GuaranteeNotMetError(
            "The release promises nothing that can be checked from its folder. Nothing is shown."
        )
    name, _ = outcome.verdicts[0]
    parameters = next(part["parameters"] for part in release.certificate["guarantees"] if part["name"] == name)
    guarantee = build_guarantee(name, parameters)
    curves, number = _different(panel.rows)
    counts = release.certificate["counts"]
    note = "counted in series, of which a subject may have several" if counts["subjects"] < counts["series"] else None
    crowds = np.bincount(number, minlength=len(curves))
    verdict = guarantee.check(Panel(np.repeat(curves, crowds, axis=0), times=panel.times))
    if not verdict.holds:
        raise GuaranteeNotMetError(_refusal(guarantee, verdict))
    return _shown(panel, curves, crowds, "released", _promise(guarantee, verdict, note))


def _shown(
    panel: Panel, curves: NDArray[np.float64], crowds: NDArray[np.int64], source: Source, promise: dict[str, Any]
) -> Shown:
    return Shown(curves, crowds.astype(np.int64), panel.times, panel.timezone, source, promise)


def _different(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The different rows in the order of their values, and which of them each row is."""
    # Plus zero: -0.0 and 0.0 are one curve to whoever looks at it.
    curves, number = np.unique(rows + 0.0, axis=0, return_inverse=True)
    return curves, number.reshape(-1).astype(np.int64)


def _promise(guarantee: Guarantee, verdict: Verdict, note: str | None = None) -> dict[str, Any]:
    found = {
        "name": guarantee.name,
        "parameters": json.loads(json.dumps(guarantee.parameters)),
        "statement": guarantee.statement,
        "holds": verdict.holds,
        "measured": verdict.measured,
        "required": verdict.required,
    }
    return found if note is None else found | {"note": note}


def _refusal(guarantee: Guarantee, verdict: Verdict) -> str:
    where = f", first at series position {verdict.witness}" if isinstance(verdict.witness, int) else ""
    return (
        f"{guarantee.name} does not hold on the curves to be shown: measured {verdict.measured}, required "
        f"{verdict.required}{where}. Nothing is shown."
    )


def _refuse_odd(panel: Panel) -> None:
    if panel.n_channels > 1:
        raise ParameterError(
            f"A label task shows one curve for each series, the panel has {panel.n_channels} channels. "
            "Read one value column."
        )
    if panel.n_missing:
        raise ParameterError(
            f"Metrics are learned from complete series, the panel has {panel.n_missing} missing values. Read it with "
            "`missing` set to 'drop-series', 'drop-instants' or 'interpolate:2h'."
        )


def _compared(private: Sequence[Panel]) -> dict[str, Any]:
    return {"compared_with_series": sum(panel.n_series for panel in private)}


def _refuse_private(panel: Panel, private: Sequence[Panel]) -> None:
    """No series may be one of a private panel; a constant one, an empty day say, gives nobody away."""
    hidden = {
        row.tobytes()
        for other in private
        if other.rows.shape[1] == panel.rows.shape[1]
        for row in other.rows + 0.0
        if (row != row[0]).any()
    }
    found = [at for at, row in enumerate(panel.rows + 0.0) if row.tobytes() in hidden]
    if found:
        raise GuaranteeNotMetError(
            f"{len(found)} of {panel.n_series} series are the same as a series of a private panel, at all instants, "
            f"first at series position {found[0]}. Leave them out, or use LabelTask.presanitised."
        )
