"""What a release must keep: built into the method, measured, and compared with groups formed on raw values.

`apply_keep` is the one way from words such as "peaks" to a method; `measures_of` returns the measures of exactly that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from shoal.errors import InputError, ParameterError
from shoal.features import Kept, find_features
from shoal.features import keep as kept_features
from shoal.methods import Steps
from shoal.model import Candidate, CandidateShards, Described, Measure, Method, Panel, PanelShards, Release, Score
from shoal.model.watcher import Watcher
from shoal.process.usefulness import Asked
from shoal.utility import InformationLoss, InterestLoss, PeakHeightError, PeakTimeError

M = TypeVar("M", bound=Described)
Keep = str | Mapping[str, Any] | Kept | Iterable[str | Mapping[str, Any]]


@dataclass(frozen=True)
class KeptFigure:
    """What a measure finds with `keep`, and what it would find for groups formed on raw values."""

    label: str
    kept: float
    raw: float
    unit: str = ""

    @property
    def sentence(self) -> str:
        """Both figures, and by how much they differ."""
        unit = " hours" if self.unit == "hours" else ""
        if self.raw == self.kept:
            return f"{self.label} {self.kept:.3g}{unit}, as with groups formed on raw values"
        change = "" if self.raw == 0.0 else f": {_percent(self.kept / self.raw - 1.0)}"
        return f"{self.label} {self.kept:.3g}{unit}, with groups formed on raw values {self.raw:.3g}{unit}{change}"


def apply_keep(method: M, keep: Keep | None) -> M:
    """The same method with groups formed on what must be kept; the method itself if nothing must.

    Examples
    --------
    >>> from shoal import Microaggregation
    >>> apply_keep(Microaggregation(k=5), "peaks").parameters["features"]
    'keep:peaks'
    """
    if keep is None or keep in ((), []):
        return method
    features = kept_features(keep)
    several = _steps_of(method)
    if any(_has(step, "features") for step in several):
        return method.set_params(steps=tuple(apply_keep(s, keep) if _has(s, "features") else s for s in several))
    if not _has(method, "features"):
        raise ParameterError(
            f"keep applies to methods that group similar series; {method.name} does not. Use microaggregation, or "
            "omit keep."
        )
    if method.get_params()["features"] != "raw":
        raise ParameterError("keep and features both define similarity. Give one of them.")
    return method.set_params(features=features.name)


def publish_columns(method: M, columns: Sequence[str]) -> M:
    """The same method with these attributes published; its groups then do not cross them."""
    if not columns:
        return method
    if not _has(method, "attributes"):
        raise ParameterError(
            f"{method.name} publishes no attributes: only a method whose groups do not cross them may. Use "
            "microaggregation alone, or withhold the columns."
        )
    published = method.get_params()["attributes"]
    return method.set_params(attributes=tuple(dict.fromkeys([*published, *columns])))


def kept_by(method: Described) -> Kept | None:
    """What a method keeps, or the one of its steps that does."""
    for step in _steps_of(method) or (method,):
        if _has(step, "features"):
            features = find_features(step.get_params()["features"])
            if isinstance(features, Kept):
                return features
    return None


def measures_of(kept: Kept, panel: Panel | PanelShards) -> dict[str, Measure]:
    """Measures of exactly what is kept, by the name that a release gives them."""
    facts: Any = panel.whole if isinstance(panel, PanelShards) else panel
    per_day = None if facts.times.dtype.kind == "M" else len(facts.times)
    measures: list[Measure] = []
    for one in kept.interests:
        if one.word == "peaks":
            measures += [PeakHeightError(per_day=per_day), PeakTimeError(per_day=per_day)]
        elif one.word != "values":  # which information loss is about
            measures.append(InterestLoss(one.text))
    return {Asked(measure).label: measure for measure in measures}


def kept_measures(method: Described, panel: Panel | PanelShards) -> dict[str, Measure]:
    """Measures of what the method was asked to keep; none if that is nothing."""
    kept = kept_by(method)
    return {} if kept is None else measures_of(kept, panel)


def scores_of(
    method: Described, candidate: Candidate | CandidateShards, panel: Panel | PanelShards
) -> dict[str, tuple[Score, str]]:
    """How well what must be kept was kept, each figure with its meaning; empty if nothing must."""
    measures = kept_measures(method, panel)
    return {label: (candidate.measure(m), candidate.meaning_of(m)) for label, m in measures.items()}


def compare_with_raw(
    method: Method, candidate: Candidate | CandidateShards, panel: Panel | PanelShards
) -> tuple[KeptFigure, ...]:
    """What keeping cost and gained: every measure of it, and the information loss, next to those of raw groups.

    For the publisher only: the second candidate is never published, and its figures are in no certificate.
    """
    kept = kept_by(method)
    if kept is None:
        return ()
    try:
        other = _with_raw(method).anonymize(panel)
    except (ParameterError, InputError):
        return ()
    measures = {**measures_of(kept, panel), InformationLoss.name: InformationLoss()}
    scores = {label: (candidate.measure(measure), other.measure(measure)) for label, measure in measures.items()}
    return tuple(KeptFigure(label, own.value, raw.value, own.unit) for label, (own, raw) in scores.items())


def with_comparison(
    release: Release, method: Method, candidate: Candidate | CandidateShards, panel: Panel | PanelShards, steps: Watcher
) -> Release:
    """A new release, and for its publisher what keeping cost and gained; the release alone if nothing was kept."""
    if kept_by(method) is None:
        return release
    steps.start("comparing with groups of raw values")
    figures = [asdict(figure) | {"sentence": figure.sentence} for figure in compare_with_raw(method, candidate, panel)]
    return release.with_notes(kept=figures) if figures else release


def _with_raw(method: Method) -> Method:
    if several := _steps_of(method):
        return method.set_params(steps=tuple(_with_raw(s) if _has(s, "features") else s for s in several))
    return method.set_params(features="raw")


def _steps_of(method: Described) -> tuple[Method, ...]:
    """The steps of a method; none if it is a single one."""
    return method.each_step if isinstance(method, Steps) else ()


def _has(method: Described, parameter: str) -> bool:
    return parameter in method.get_params()


def _percent(change: float) -> str:
    share = f"{100 * abs(change):.0f}"
    return f"{'less than 1' if share == '0' else share} % {'worse' if change > 0 else 'better'}"
