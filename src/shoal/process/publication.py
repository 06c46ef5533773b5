"""From a candidate to a release: measure, then ask the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from shoal.attacks import Homogeneity, Republication
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.guarantees.crowds import crowd_sizes, published_classes
from shoal.ledger.file import recording
from shoal.methods.remedies import reach_of
from shoal.model import (
    Candidate,
    CandidateShards,
    Events,
    EventsCandidate,
    Measure,
    Panel,
    PanelShards,
    Release,
    Risk,
    Role,
    Score,
)
from shoal.model.reduction import Answer, Reduction
from shoal.process.catalogue import find_method, summary_of
from shoal.process.categories import loss_by_category
from shoal.release import ReleaseOptions, release_candidate, verify
from shoal.release.certificate import read_certificate
from shoal.release.gate import Figures
from shoal.release.openness import without_originals
from shoal.release.private import read_measured
from shoal.report import Audience, render, summarise
from shoal.utility import InformationLoss, NormalizedDivergence, WindowError

DRAWN = 500
"""About how many published series the curves of a report use if the release consists of shards."""

WHY = "Not shown: the release consists of shards, and these curves come from a sample of it."
"""Why the report has no curve of the originals next to them."""


Scores = Mapping[str, tuple[Score, str]]


def publish(
    candidate: Candidate | EventsCandidate | CandidateShards,
    to: str | Path,
    *,
    risks: Mapping[str, tuple[Risk, str]] | None = None,
    scores: Scores | None = None,
    measures: Mapping[str, Measure] | None = None,
    process: Mapping[str, Any] | None = None,
    ledger: str | Path | None = None,
    options: ReleaseOptions | None = None,
    **given: Any,
) -> Release:
    """Write a candidate as a release folder, if and only if its guarantees check on the published values.

    Raises GuaranteeNotMetError, and writes nothing, when one does not hold.

    Parameters
    ----------
    candidate
        What a method proposes, in memory or in shards. Tables of a large one are written in parts.
    to
        The folder to write. It appears whole or not at all.
    risks, scores
        What attacks achieved and measures found, each with its meaning in words, in addition to what is measured here.
    measures
        What else to measure after the check, by its name in the certificate.
    process
        How the parameters were found, for the certificate and the report.
    ledger
        The file of earlier releases: a candidate that breaks a promise together with them is refused, others are
        recorded. Created on first use; its key, next to it, stays with you.
    options, given
        How it is written: `shoal.release.ReleaseOptions`, or its fields by name, such as `private="private"`.

    Examples
    --------
    >>> from shoal import Microaggregation, Panel, publish
    >>> candidate = Microaggregation(k=2).anonymize(Panel([[1.0], [2.0], [10.0], [12.0]]))
    >>> publish(candidate, "out")  # doctest: +SKIP
    Release('out', Panel(4 series, 1 instants, 4 subjects))
    """
    options = options or ReleaseOptions(**given)

    wanted = _measures(candidate, measures or {}, scores or {})
    reductions: list[Reduction] = []
    if isinstance(candidate, CandidateShards):
        reductions = [
            candidate.to_sample(DRAWN, partial(_of_sample, candidate)),
            *map(candidate.to_measure, wanted.values()),
        ]

    def measured(answers: list[Answer]) -> Figures:
        found = _figures(candidate, wanted, answers)
        return Figures(
            {**found.scores, **(scores or {})},
            {**found.risks, **(risks or {})},
            found.figures if process is None else {**found.figures, "process": dict(process)},
        )

    if isinstance(candidate, CandidateShards):
        if ledger is not None:
            raise ParameterError(
                "A ledger compares the groups of all releases in one place, and those of shards may not fit there. "
                "Omit the ledger or the shards; release panels that grow month by month with shoal grow."
            )
        return _with_notes(_released(candidate, to, measured, reductions, risks or {}, options), candidate)
    with recording(ledger, candidate, to, require=options.require, keyed=options.pseudonyms == "keyed") as record:
        release = _released(candidate, to, measured, reductions, risks or {}, options)
        n_earlier = record(release)
    return _with_notes(release, candidate, None if ledger is None else {"file": str(ledger), "earlier": n_earlier})


def _with_notes(
    release: Release, candidate: Candidate | EventsCandidate | CandidateShards, ledger: Mapping[str, Any] | None = None
) -> Release:
    """A new release, and for its publisher which columns it lacks, what the ledger knew and how far its loss is above
    the bound. None of these is certified."""
    source = candidate.panel if isinstance(candidate, CandidateShards) else candidate.private.original
    notes = {"held_back": held_back(source, release.certificate), "ledger": ledger}
    # A small release leaves it out of the certificate.
    figures = {"loss_above_bound": candidate.recipe.figures.get("loss_above_bound")}
    told = {name: figure for name, figure in figures.items() if figure is not None}
    return release.with_notes(**{name: note for name, note in notes.items() if note}, **told)


def held_back(source: Panel | PanelShards | Events, certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the input's columns that the release lacks. Identifiers go without saying: pseudonyms replace them."""
    columns = certificate["columns"]
    published = {*columns["published"], *(columns.get("attributes") or ()), *(columns.get("sensitive") or ())}
    read = [name for name, role in source.roles.items() if role not in (Role.IDENTIFIER, Role.TIME, Role.VALUE)]
    unread = () if source.origin is None else source.origin.unread
    return tuple(name for name in (*read, *unread) if name not in published)


def _released(
    candidate: Candidate | EventsCandidate | CandidateShards,
    to: str | Path,
    measured: Callable[[list[Answer]], Figures],
    reductions: Sequence[Reduction],
    risks: Mapping[str, tuple[Risk, str]],
    options: ReleaseOptions,
) -> Release:
    return release_candidate(
        candidate,
        to,
        summary=summary_of(find_method(candidate.recipe.method)),
        risks=risks,
        measured=measured,
        reductions=reductions,
        page=render,
        options=options,
    )


def _measures(
    candidate: Candidate | EventsCandidate | CandidateShards, asked: Mapping[str, Measure], known: Mapping[str, Any]
) -> dict[str, Measure]:
    """What is measured here: two figures for every release of series, and what is asked for."""
    if isinstance(candidate, EventsCandidate):
        return {}
    usual = {measure.name: measure for measure in (InformationLoss(), NormalizedDivergence())}
    return {name: measure for name, measure in {**usual, **asked}.items() if name not in known}


def _figures(
    candidate: Candidate | EventsCandidate | CandidateShards, wanted: Mapping[str, Measure], answers: Sequence[Answer]
) -> Figures:
    if isinstance(candidate, EventsCandidate):
        return _event_figures(candidate)
    if isinstance(candidate, CandidateShards):
        figures = answers[0]()[0]
        scores = [answer() for answer in answers[1:]]
    else:
        figures = shown_figures(candidate)[0]
        if (categories := loss_by_category(candidate)) is not None:
            figures |= {"categories": categories}
        scores = [candidate.measure(measure) for measure in wanted.values()]
    meanings = [candidate.meaning_of(measure) for measure in wanted.values()]
    return Figures(dict(zip(wanted, zip(scores, meanings, strict=True), strict=True)), {}, figures)


def shown_figures(candidate: Candidate | CandidateShards) -> tuple[dict[str, Any], Panel, Panel]:
    """Aggregates that may be drawn, from the originals and from the curves that stand for them."""
    if isinstance(candidate, CandidateShards):
        return _of_sample(candidate, candidate.sample(DRAWN))
    original, curves = candidate.originals, candidate.curves
    alike = int(crowd_sizes(published_classes(curves), curves.subject_codes).min())
    # Figures of the originals must cover at least as many subjects as the guarantee asks for.
    return summarise(original, curves, max(alike, int(candidate.guarantee.parameters.get("k", 0)))), original, curves


def _of_sample(candidate: CandidateShards, drawn: Candidate) -> tuple[dict[str, Any], Panel, Panel]:
    figures = without_originals(summarise(drawn.curves, drawn.curves, 2), WHY)
    figures |= {"series": {"original": candidate.whole.n_series, "published": candidate.n_series}}
    return figures, drawn.curves, drawn.curves


def _event_figures(candidate: EventsCandidate) -> Figures:
    """Figures for the publisher, of all events, suppressed ones included."""
    original, published = candidate.private.original, candidate.published
    # The tree is in the certificate, with the other parameters.
    knows: dict[str, Any] = {"window": reach_of(candidate.recipe.parameters), "tree": candidate.private.coarser}
    measure = WindowError()
    attacks: list[Homogeneity | Republication] = [Homogeneity(**knows)]
    if original.subject is not None:
        attacks.append(Republication(**knows))
    return Figures(
        {measure.name: (measure.measure(original, published), measure.meaning)},
        {one.name: (one.attack(original, published), one.meaning) for one in attacks},
        {},
    )


def render_report(
    folder: str | Path, audience: Audience = "public", private: str | Path | None = None
) -> tuple[dict[str, Any], str]:
    """The certificate of a release and its report, rebuilt from the folder, if the release still verifies.

    With `private`, the folder the release was made with, the publisher's report also has figures that were left out of
    it.
    """
    if private is not None and audience != "publisher":
        raise ParameterError("A private folder is for its publisher: give --for publisher, or omit --private.")
    outcome = verify(folder)
    if outcome.findings:
        raise GuaranteeNotMetError(f"No report for a release that does not verify: {outcome.findings[0]}.")
    sealed = read_certificate(Path(folder))
    assert sealed is not None  # it verifies
    certificate = sealed.as_dict()
    if private is not None and (measured := read_measured(Path(private), certificate["files"])):
        figures = certificate["figures"]
        if measured.get("utility") or measured.get("risk"):
            figures = {name: figure for name, figure in figures.items() if name != "left_out"}
        return certificate, render({**certificate, **measured, "figures": figures}, audience)
    return certificate, render(certificate, audience)
