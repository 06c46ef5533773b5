"""From a candidate to a release: measure, then ask the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shoal.attacks import Homogeneity
from shoal.errors import GuaranteeNotMetError
from shoal.guarantees.crowds import crowd_sizes, published_classes
from shoal.model import Candidate, EventsCandidate, Guarantee, Release, Risk, Score
from shoal.process.catalogue import find_method, summary_of
from shoal.release import release_candidate, verify
from shoal.release.agreement import Agreement
from shoal.release.certificate import read_certificate
from shoal.release.ledger import recording
from shoal.release.suppression import LIMIT
from shoal.report import render, summarise
from shoal.utility import InformationLoss, NormalizedDivergence, WindowError

if TYPE_CHECKING:  # engines are loaded where something lies on one
    from shoal.engines.blocks import BlockCandidate


def publish(
    candidate: Candidate | EventsCandidate | BlockCandidate,
    to: str | Path,
    *,
    require: Sequence[Guarantee] = (),
    format: Literal["parquet", "csv"] = "parquet",
    pseudonyms: Literal["random", "keyed"] = "random",
    private: str | Path | None = None,
    overwrite: bool = False,
    insecure_seed: int | None = None,
    risks: Mapping[str, tuple[Risk, str]] | None = None,
    risk_limit: float | None = None,
    suppression_limit: float = LIMIT,
    scores: Mapping[str, tuple[Score, str]] | None = None,
    process: Mapping[str, Any] | None = None,
    ledger: str | Path | None = None,
    accept: Sequence[str] = (),
    agreement: Agreement | None = None,
) -> Release:
    """Write a candidate as a release folder, if and only if its guarantees check on the published values.

    Raises GuaranteeNotMetError, and writes nothing, when one does not hold.

    Parameters
    ----------
    candidate
        What a method proposes, in memory or on an engine. Of one on an engine the tables are written in parts.
    to
        The folder to write. It appears whole or not at all.
    require
        Guarantees asked for beyond those the method aims at, for example `AggregateRule()`.
    format
        "parquet", or "csv" for readers without a Parquet library.
    pseudonyms
        "random": fresh names and a fresh order of rows each time. "keyed": the same series keeps its name in every
        release made with the key kept in `private`; anyone can join such releases, so think before you use it.
    private
        A folder for what must stay with you: who is who, group labels, the key. Without it they are forgotten.
    overwrite
        Replace an earlier release in that folder.
    insecure_seed
        Repeatable pseudonyms, for tests only; the certificate says so.
    risks, scores
        What attacks achieved and measures found, each with its meaning in words, beyond what is measured here.
    risk_limit
        What no attack may exceed. A candidate that aims at no guarantee is published only below it.
    suppression_limit
        The largest share of the events, or of the series, that the method may leave out; above it nothing is written.
    process
        How the parameters were found, for the certificate and the report.
    ledger
        The file of earlier releases: a candidate that breaks a promise together with them is refused, others are
        recorded. Made when it is first used; its key, beside it, stays with you.
    accept
        Names of findings of the side-channel lint that do not stop the release.
    agreement
        For whom it is: a copy for one recipient, with the text of the agreement and a mark of its own. Needs `private`.

    Examples
    --------
    >>> from shoal import Microaggregation, Panel, publish
    >>> candidate = Microaggregation(k=2).anonymize(Panel([[1.0], [2.0], [10.0], [12.0]]))
    >>> publish(candidate, "out")  # doctest: +SKIP
    Release('out', Panel(4 series, 1 instants, 4 subjects))
    """
    if not isinstance(candidate, Candidate | EventsCandidate):
        from shoal.process.blocks_publishing import publish_blocks

        return publish_blocks(
            candidate,
            to,
            require=require,
            format=format,
            pseudonyms=pseudonyms,
            private=private,
            overwrite=overwrite,
            insecure_seed=insecure_seed,
            risks=risks,
            risk_limit=risk_limit,
            suppression_limit=suppression_limit,
            scores=scores,
            process=process,
            ledger=ledger,
            accept=accept,
            agreement=agreement,
        )
    found = _event_figures(candidate) if isinstance(candidate, EventsCandidate) else _series_figures(candidate)
    found["scores"] = {**found["scores"], **(scores or {})}
    found["risks"] = {**found.get("risks", {}), **(risks or {})}
    if process is not None:
        found["figures"] = {**found.get("figures", {}), "process": dict(process)}
    with recording(ledger, candidate, to, require=require, keyed=pseudonyms == "keyed") as record:
        release = release_candidate(
            candidate,
            to,
            summary=summary_of(find_method(candidate.recipe.method)),
            require=require,
            **found,
            risk_limit=risk_limit,
            suppression_limit=suppression_limit,
            page=render,
            file_format=format,
            pseudonyms=pseudonyms,
            private=private,
            overwrite=overwrite,
            insecure_seed=insecure_seed,
            accept=accept,
            agreement=agreement,
        )
        record(release)
    return release


def _series_figures(candidate: Candidate) -> dict[str, Any]:
    original, curves = candidate.originals, candidate.curves
    measures = (InformationLoss(), NormalizedDivergence())
    alike = int(crowd_sizes(published_classes(curves), curves.subject_codes).min())
    # What is shown of the originals must hide in no smaller crowd than the guarantee asks for.
    crowd = max(alike, int(candidate.guarantee.parameters.get("k", 0)))
    return {
        "scores": {m.name: (m.measure(original, curves), m.meaning) for m in measures},
        "figures": summarise(original, curves, crowd),
    }


def _event_figures(candidate: EventsCandidate) -> dict[str, Any]:
    """Figures for the publisher, of all events, suppressed ones included."""
    original, published = candidate.private.original, candidate.published
    measure, attack = WindowError(), Homogeneity(window=int(candidate.recipe.parameters.get("window", 1)))
    return {
        "scores": {measure.name: (measure.measure(original, published), measure.meaning)},
        "risks": {attack.name: (attack.attack(original, published), attack.meaning)},
    }


def render_report(folder: str | Path) -> tuple[dict[str, Any], str]:
    """The certificate of a release and its report, made again from the folder alone, if the release still verifies."""
    outcome = verify(folder)
    if outcome.findings:
        raise GuaranteeNotMetError(f"No report of a release that does not verify: {outcome.findings[0]}.")
    sealed = read_certificate(Path(folder))
    assert sealed is not None  # it verifies
    certificate = sealed.as_dict()
    return certificate, render(certificate)
