"""The only door out. What does not check on the published values does not pass, and nothing is left half-written."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.model import (
    Candidate,
    Events,
    EventsCandidate,
    EventTables,
    Guarantee,
    Panel,
    Published,
    Release,
    Risk,
    Role,
    Score,
    Verdict,
)
from shoal.release import certificate as cert
from shoal.release.event_originals import refuse_late
from shoal.release.files import FileFormat
from shoal.release.folder import check_target, whole_folder
from shoal.release.form import Form
from shoal.release.forms import form_of
from shoal.release.openness import enough_is_open, enough_pairs_are_open
from shoal.release.private import keep, keep_aside, load_or_make_key, open_private
from shoal.release.pseudonyms import Pseudonyms
from shoal.release.verification import positions, verify

# Libraries whose version can change a published value.
_VERSIONS = ("numpy", "numba", "polars", "pyarrow")


def release_candidate(
    candidate: Candidate | EventsCandidate,
    to: str | Path,
    *,
    summary: str,
    require: Sequence[Guarantee] = (),
    scores: Mapping[str, tuple[Score, str]] | None = None,
    risks: Mapping[str, tuple[Risk, str]] | None = None,
    figures: Mapping[str, Any] | None = None,
    page: Callable[[Mapping[str, Any]], str] | None = None,
    file_format: FileFormat = "parquet",
    pseudonyms: Literal["random", "keyed"] = "random",
    private: str | Path | None = None,
    overwrite: bool = False,
    insecure_seed: int | None = None,
) -> Release:
    """Check a candidate and write it as a release folder.

    The folder is written aside, read back and verified as a recipient would, and only then renamed into place.

    Parameters
    ----------
    candidate
        What a method proposes.
    to
        The folder to write.
    summary
        The method in one sentence, for the certificate.
    require
        Guarantees asked for beyond those the method aims at.
    scores
        Utility figures for the certificate, each with its meaning in words.
    risks
        What attacks achieved, likewise.
    figures
        Aggregates for the report.
    page
        Makes the report from the certificate.
    file_format
        "parquet", or "csv" for readers without a Parquet library.
    pseudonyms
        "random", or "keyed" with the key in `private`.
    private
        Where the map of pseudonyms, the group labels and the key go. Without it they are forgotten.
    overwrite
        Replace an earlier release there.
    insecure_seed
        Repeatable pseudonyms, for tests only; the certificate says so.
    """
    target = Path(os.path.abspath(to))  # noqa: PTH100 - "." must get a name, links must stay links
    if file_format not in ("parquet", "csv"):
        raise ParameterError("format must be 'parquet' or 'csv'.")
    if pseudonyms == "keyed" and private is None:
        raise ParameterError("Keyed pseudonyms need a private folder for their key: give --private DIR.")
    check_target(target, overwrite=overwrite)
    form = form_of(candidate.published)
    why = form.refuse(candidate.published, candidate.private)
    if isinstance(candidate, EventsCandidate):
        why = why or refuse_late(candidate.private, int(candidate.recipe.parameters.get("window", 1)))
    if why:
        raise GuaranteeNotMetError(f"{why} Nothing was written.")
    guarantees = (*candidate.guarantees, *require)
    verdicts = [guarantee.check(candidate) for guarantee in guarantees]
    for guarantee, verdict in zip(guarantees, verdicts, strict=True):
        if not verdict.holds:
            raise GuaranteeNotMetError(refusal(guarantee, verdict, of_events=isinstance(candidate, EventsCandidate)))
    names = _names(form, candidate, target, pseudonyms, private, insecure_seed)
    aside = None
    if private is not None:
        aside = keep_aside(Path(private), candidate, form.name_of_each_series(candidate.private, names))
    with whole_folder(target, overwrite=overwrite) as partial:
        tables = form.write(candidate.published, names, partial, file_format)
        draft = _certify(form, candidate, guarantees, verdicts, summary, scores or {}, figures or {})
        draft = draft.model_copy(
            update={
                "risk": {name: _risk(risk, meaning) for name, (risk, meaning) in (risks or {}).items()},
                "pseudonyms": "insecure" if insecure_seed is not None else pseudonyms,
                "files": {table.name: cert.digest_file(table) for table in tables},
            }
        )
        if page is not None:
            report = partial / "report.html"
            report.write_text(page(draft.as_dict()), encoding="utf-8")
            draft = draft.model_copy(update={"files": draft.files | {report.name: cert.digest_file(report)}})
        final = draft.sealed()
        (partial / cert.FILE_NAME).write_bytes(final.as_bytes())
        # What was meant to be written was checked above; this checks what was written.
        outcome = verify(partial)
        if not outcome.holds:
            raise GuaranteeNotMetError(
                f"The written release does not verify: {outcome.findings[-1]}. Nothing was published."
            )
    if aside is not None:
        # Only now: until the release is in place, maps of earlier ones are all there is.
        keep(aside, final.files[tables[0].name].sha256)
    return Release(path=Path(to), certificate=final.as_dict(), published=form.renamed(candidate.published, names))


def refusal(guarantee: Guarantee, verdict: Verdict, *, of_events: bool = False) -> str:
    """Why the gate stays shut, in one line."""
    where = ""
    if isinstance(verdict.witness, int):
        what = "event row" if of_events else "series position"
        where = f", first at {what} {verdict.witness}"
    elif verdict.witness:
        where = f", first at {positions(verdict.witness)}"
    why = f" ({verdict.note})" if verdict.note else ""
    return (
        f"{guarantee.name} does not hold: measured {verdict.measured}, required {verdict.required}{where}{why}. "
        "Nothing was written."
    )


def _names(
    form: Form,
    candidate: Candidate | EventsCandidate,
    target: Path,
    kind: Literal["random", "keyed"],
    private: str | Path | None,
    insecure_seed: int | None,
) -> list[str]:
    ids = form.names_needed(candidate.published, candidate.private)
    if kind == "keyed" and form.name != "values":
        raise ParameterError(
            f"Keyed pseudonyms are for releases of values, this one is of {form.name}. Use random ones."
        )
    if private is None:
        return Pseudonyms(kind, insecure_seed=insecure_seed).of(ids)
    folder = Path(private)
    open_private(folder, target)
    key = load_or_make_key(folder) if kind == "keyed" else None
    return Pseudonyms(kind, key=key, insecure_seed=insecure_seed).of(ids)


def _certify(
    form: Form,
    candidate: Candidate | EventsCandidate,
    guarantees: Sequence[Guarantee],
    verdicts: Sequence[Verdict],
    summary: str,
    scores: Mapping[str, tuple[Score, str]],
    figures: Mapping[str, Any],
) -> cert.Certificate:
    original, published = candidate.private.original, candidate.published
    origin = original.origin
    # Where the release leaves little open, originals could be found by trying out which have this digest.
    unguessable = (
        enough_pairs_are_open(candidate.published)
        if isinstance(candidate, EventsCandidate)
        else enough_is_open(candidate.originals, candidate.curves)
    )
    recipe = candidate.recipe
    return cert.Certificate(
        shoal=importlib.metadata.version("shoal"),
        form=form.name,
        method=cert.MethodPart(
            name=recipe.method, summary=summary, parameters=recipe.parameters, figures=recipe.figures
        ),
        guarantees=tuple(
            cert.GuaranteePart(
                name=g.name,
                parameters=g.parameters,
                statement=g.statement,
                checked_by="publisher" if g.needs_originals else "anyone",
                verdict=cert.VerdictPart(
                    holds=v.holds, measured=v.measured, required=v.required, witness=v.witness, note=v.note
                ),
            )
            for g, v in zip(guarantees, verdicts, strict=True)
        ),
        counts=form.counts(published, candidate.private),
        time=_time(published),
        input=cert.InputPart(
            kind=origin.kind if origin else "array",
            sha256=origin.sha256 if origin and unguessable else (),
            rows=origin.n_rows if origin else None,
            reading=dict(origin.reading) if origin else {},
            panel_sha256=original.digest() if unguessable and isinstance(original, Panel) else None,
        ),
        columns=form.columns(published, _withheld(original)),
        pseudonyms="random",
        files={},
        utility={
            name: cert.ScorePart(
                value=_rough(s.value), goal=s.goal, range=(_finite(s.range[0]), _finite(s.range[1])), meaning=text
            )
            for name, (s, text) in scores.items()
        },
        risk={},
        figures=dict(figures),
        versions={"python": platform.python_version()} | {n: importlib.metadata.version(n) for n in _VERSIONS},
    )


def _risk(risk: Risk, meaning: str) -> dict[str, Any]:
    """What an attack achieved, in three digits and without the targets."""
    plain = {name: figure for name, figure in asdict(risk).items() if name != "worst"}
    ends = ("interval", "baseline_interval")
    rough = {name: _rough(figure) if isinstance(figure, float) else figure for name, figure in plain.items()}
    return (
        rough | {name: {end: _rough(plain[name][end]) for end in plain[name]} for name in ends} | {"meaning": meaning}
    )


def _withheld(original: Panel | Events) -> int:
    """How many columns stay behind: every one that is not a time or a value."""
    if isinstance(original, Events):
        return len(original.roles.columns(Role.IDENTIFIER))
    if original.roles:
        return sum(role not in (Role.VALUE, Role.TIME) for role in original.roles.values())
    return 1 + (original.subjects is not None) + len(original.attributes) + len(original.sensitive)


def _time(published: Published | EventTables) -> cert.TimePart:
    times = published.times
    steps = np.unique(np.diff(times))
    step = _duration(steps[0]) if len(steps) == 1 else None
    return cert.TimePart(first=str(times[0]), last=str(times[-1]), step=step, timezone=published.timezone)


def _duration(step: Any) -> str:
    """A step in the largest unit that divides it; a bare number where times are integers."""
    length = int(step.astype(np.int64))
    if step.dtype.kind == "i":
        return str(length)
    units = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("us", 1))
    return next(f"{length // size}{unit}" for unit, size in units if length % size == 0)


def _rough(value: float) -> float:
    """Three digits: a release of a few cells could be undone with the exact figure."""
    return float(f"{value:.3g}")


def _finite(bound: float) -> float | None:
    return bound if np.isfinite(bound) else None
