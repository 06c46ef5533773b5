"""What a release is still good for, by purpose: every measure that applies, or those requested."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from shoal import utility
from shoal.errors import InputError, ParameterError
from shoal.model import Candidate, CandidateShards, Envelopes, Measure, Panel, Scenarios, Score
from shoal.model.reduction import Answer
from shoal.model.watcher import Watcher, silent, tell
from shoal.process.catalogue import build, find_in, parse_options
from shoal.process.comparison import Compared, compare
from shoal.release import load_release

MEASURES: tuple[type[Measure], ...] = tuple(getattr(utility, name) for name in utility.__all__)

PURPOSES: Mapping[str, tuple[str, ...]] = {
    purpose: tuple(measure.name for measure in MEASURES if measure.purpose == purpose)
    for purpose in dict.fromkeys(measure.purpose for measure in MEASURES)
}
"""Every measure by its purpose."""


@dataclass(frozen=True)
class Asked:
    """A measure, and the limits it is held to."""

    measure: Measure
    at_most: float | None = None
    at_least: float | None = None

    @property
    def label(self) -> str:
        """Its name, and the parameters that differ from the defaults: as it is requested."""
        usual = {field.name: field.default for field in fields(self.measure)}
        changed = {name: value for name, value in self.measure.parameters.items() if value != usual[name]}
        listed = ",".join(f"{name}={value}" for name, value in changed.items())
        return f"{self.measure.name}:{listed}" if listed else self.measure.name

    def met_by(self, score: Score) -> bool:
        """Whether a score meets the limits; a figure that is not a number meets none."""
        above = self.at_least is None or score.value >= self.at_least
        return above and (self.at_most is None or score.value <= self.at_most)


@dataclass(frozen=True)
class Measured:
    """What a measure found, or why it does not apply."""

    purpose: str
    asked: Asked
    score: Score | None
    reason: str = ""
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the limits are met; true if there are none."""
        return self.score is None or self.asked.met_by(self.score)


@dataclass(frozen=True)
class Usefulness:
    """Everything that was found about a release."""

    form: str
    paired: int | None
    """Series that were compared with their own original; None if it is not known who is who."""
    findings: tuple[Measured, ...]
    notes: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Whether every limit is kept."""
        return all(finding.met for finding in self.findings)


def asked_for(text: str) -> Asked:
    """A measure from `name` or `name:parameter=value,…`, where `at_most` and `at_least` are limits.

    Examples
    --------
    >>> asked_for("mean-day-error:of=all,at_most=0.1")
    Asked(measure=MeanDayError(of='all', per_day=None), at_most=0.1, at_least=None)
    """
    name, _, listed = text.partition(":")
    options = parse_options(listed, "--measure takes NAME or NAME:parameter=value,parameter=value.")
    limits = {limit: _limit(limit, options.pop(limit)) for limit in ("at_most", "at_least") if limit in options}
    asked = Asked(build(find_in("measure", utility, name.strip()), options), **limits)
    if asked.at_most is not None and asked.at_least is not None and asked.at_most < asked.at_least:
        raise ParameterError(f"{name}: at_most is below at_least, so nothing can meet both.")
    return asked


def usual_measures() -> list[Asked]:
    """What is measured by default."""
    return [Asked(build(measure, way)) for measure in MEASURES for way in measure.usual]


def measure_release(
    source: Any,
    folder: str | Path,
    settings: Mapping[str, Any],
    wanted: Sequence[Asked] = (),
    *,
    private: str | Path | None = None,
    steps: Watcher = silent,
) -> Usefulness:
    """Measure a release against the originals it was made from. `settings` are those of `read_panel`.

    A measure that was requested and does not apply is an error; a default one is listed with the reason.
    """
    steps.start("reading")
    release = load_release(folder)
    compared = compare(source, settings, release, None if private is None else Path(private))
    tell(steps, compared.original)
    findings = find_all(compared, list(wanted) or usual_measures(), strict=bool(wanted), steps=steps)
    paired = None if compared.pairs is None else compared.pairs.originals.n_series
    return Usefulness(compared.form, paired, findings, compared.notes)


def find_all(
    compared: Compared, todo: Sequence[Asked], *, strict: bool, steps: Watcher = silent
) -> tuple[Measured, ...]:
    """What each measure finds, by purpose; if `strict`, one that does not apply is an error."""
    findings = []
    for done, asked in enumerate(todo):
        steps.start(asked.label)
        steps.advance(done, len(todo))
        finding = _find(asked, compared)
        if strict and finding.score is None:
            raise ParameterError(f"{asked.label} does not apply here: {finding.reason}")
        findings.append(finding)
    order = list(PURPOSES)
    return tuple(sorted(findings, key=lambda finding: order.index(finding.purpose)))


def scores_by_purpose(
    candidate: Candidate | CandidateShards, only: str | None = None
) -> dict[str, dict[str, tuple[Score, str]]]:
    """What a candidate is still good for: by purpose, or for one alone, every usual measure that applies."""
    scores: dict[str, dict[str, tuple[Score, str]]] = {}
    passed_over = {"events"}
    passed_over |= set() if candidate.has_envelopes else {"envelopes"}
    passed_over |= set() if candidate.has_scenarios else {"scenarios"}
    todo = [
        asked
        for asked in usual_measures()
        if only in (None, asked.measure.purpose) and asked.measure.judges not in passed_over
    ]
    for asked, score in zip(todo, _scores(candidate, [asked.measure for asked in todo]), strict=True):
        # Too short for a day, gaps, one group: `shoal utility` says which and why.
        if score is not None and math.isfinite(score.value):
            meaning = candidate.meaning_of(asked.measure)
            scores.setdefault(asked.measure.purpose, {})[asked.label] = (score, meaning)
    return scores


def _scores(candidate: Candidate | CandidateShards, measures: Sequence[Measure]) -> list[Score | None]:
    """What each measure finds, for shards in one pass; None if it does not apply."""
    if isinstance(candidate, CandidateShards):
        answers: Sequence[Answer] = candidate.reduce(*map(candidate.to_measure, measures))
    else:
        answers = [partial(candidate.measure, measure) for measure in measures]
    return [_or_none(answer) for answer in answers]


def _or_none(answer: Answer) -> Score | None:
    try:
        score: Score = answer()
    except (ParameterError, InputError):
        return None
    return score


def _find(asked: Asked, compared: Compared) -> Measured:
    purpose = asked.measure.purpose
    reason = _why_not(asked.measure, compared)
    if reason:
        return Measured(purpose, asked, None, reason)
    try:
        score, published = _measure(asked.measure, compared)
    except (ParameterError, InputError) as error:
        return Measured(purpose, asked, None, str(error))
    return Measured(purpose, asked, score, note=asked.measure.note(published))


def _why_not(measure: Measure, compared: Compared) -> str:
    """Why a measure has nothing to compare; empty if it has."""
    of_events = measure.judges == "events"
    if of_events != (compared.form == "events"):
        return f"it applies to {'events' if of_events else 'series'}, but {compared.form} are published."
    if measure.needs_envelopes and compared.form != "envelopes":
        return f"it applies to envelopes, but {compared.form} are published."
    if compared.pairs is None and measure.matched:
        return f"it compares each series with its original. {compared.advice}"
    return ""


def _measure(measure: Measure, compared: Compared) -> tuple[Score, Any]:
    """The score, and what was judged."""
    published = compared.published
    if measure.judges == "events":
        return measure.measure(compared.original, published), published
    if measure.judges == "envelopes" and isinstance(published, Envelopes):
        rows = {"rows": compared.pairs.rows} if measure.takes_rows and compared.pairs is not None else {}
        return measure.measure(compared.original, published, **rows), published
    if measure.judges == "scenarios" and isinstance(published, Scenarios) and compared.pairs is not None:
        own = published.take(compared.pairs.published)
        return measure.measure(compared.pairs.originals, own), own
    before: Panel | None
    after: Panel | None
    if measure.matched and compared.pairs is not None:
        before, after = compared.pairs.originals, compared.pairs.curves
    else:
        before, after = compared.whole_original, compared.whole
    return measure.measure(before, after), after


def _limit(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if number != number:
        raise ParameterError(f"{name} must be a number, such as {name}=0.1.")
    return number
