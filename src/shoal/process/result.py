"""A checked result in memory: its frames, what attacks achieve and measures find, and the way to a release."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import attacks as attack_room
from shoal import utility as utility_room
from shoal.errors import InputError, ParameterError
from shoal.guarantees.dominance import Dominance
from shoal.model import (
    Attack,
    Candidate,
    CandidateShards,
    Envelopes,
    Measure,
    Method,
    Origin,
    Panel,
    Profiles,
    Release,
    Risk,
    Score,
    Verdict,
)
from shoal.model.envelopes import ENDS
from shoal.model.frame_shape import FrameShape
from shoal.model.html import html_grid, html_table
from shoal.model.words import number, percent
from shoal.process.catalogue import build, find_in, named_in
from shoal.process.hold_out import WHOLE, Control, attack_alone, attack_with_control, control_risks
from shoal.process.keep import scores_of
from shoal.process.progress import steps
from shoal.process.publication import publish, shown_figures
from shoal.process.remembered import remember
from shoal.process.usefulness import PURPOSES, scores_by_purpose
from shoal.release import ReleaseOptions
from shoal.release.forms import form_of
from shoal.release.openness import without_originals
from shoal.release.profiles import profile_columns
from shoal.release.pseudonyms import name_key, names_of
from shoal.release.publishers_word import tells_exact_figures
from shoal.report.charts import before_after, group_curves

TARGETS = 1_000
"""Number of subjects attacked by default; candidates are always all."""


class Risks(dict[str, Risk]):
    """What attacks achieved, by name; `skipped` says why others do not apply."""

    skipped: dict[str, str]

    def _repr_html_(self) -> str:
        rows = [
            [name, percent(risk.success), percent(risk.baseline), number(risk.n_targets), risk.sentence]
            for name, risk in self.items()
        ]
        return html_grid("Attacks", ["attack", "success", "guessing", "targets", "in words"], rows)


class Scores(dict[str, Score]):
    """What measures found, by name, in the order of their purposes."""

    meanings: dict[str, tuple[str, str]]

    def _repr_html_(self) -> str:
        rows = [
            [self.meanings[name][0], name, number(score.value), score.goal, self.meanings[name][1]]
            for name, score in self.items()
        ]
        return html_grid("Utility", ["purpose", "measure", "value", "better", "meaning"], rows)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What `shoal.anonymize` returns: series whose guarantee was checked, under fresh names, in a new order.

    `to_pandas()`, `to_polars()`, `to_arrow()`, `to_numpy()` and `to_xarray()` return the layout, the index, the column
    names and the types of the input, as far as these can hold the result: means of whole numbers are floats. Envelopes
    come as columns low, high, level and pattern, in a wide pandas frame as a level of its columns; groups as their
    profiles. Names and order are drawn once per result. A written release has others.

    Parameters
    ----------
    candidate
        What was checked, with the originals: for the publisher only.
    verdicts
        The verdict on each guarantee.
    options
        What was requested beyond the method's own guarantees.
    method
        The method that made it.
    held_out
        Subjects that were kept out, as a control for attacks.
    reading
        How the data was read.
    dominance
        Groups whose mean is mostly one subject's, for the publisher; None if no means are published.
    """

    candidate: Candidate | CandidateShards
    verdicts: tuple[Verdict, ...]
    options: ReleaseOptions
    method: Method | None = None
    held_out: Control | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    dominance: Dominance | None = None

    def check(self) -> Verdict:
        """Judge every guarantee again: returns the first that does not hold, else the one aimed at first."""
        return self.candidate.check()

    @overload
    def attack(self, attack: None = None, *, n_targets: int = TARGETS, seed: int = 0) -> Risks: ...

    @overload
    def attack(self, attack: Attack[Any] | str, *, n_targets: int = TARGETS, seed: int = 0) -> Risk: ...

    def attack(
        self, attack: Attack[Any] | str | None = None, *, n_targets: int = TARGETS, seed: int = 0
    ) -> Risk | Risks:
        """Return what an attack achieves, a `Risk`; without one, all attacks that apply, by name.

        Parameters
        ----------
        attack
            An attack such as `shoal.attacks.KnownPoints(n=5)`, or its name.
        n_targets
            How many series are attacked, drawn by `seed`; every published series is a candidate.
        seed
            Seed of the draw.
        """
        if attack is not None:
            return self._attack(_an_attack(attack) if isinstance(attack, str) else attack, n_targets, seed)
        found = Risks()
        found.skipped = {}
        with steps() as watched:
            for cls in named_in(attack_room):
                if cls.unfit or (cls.against == "envelopes") != self.candidate.has_envelopes:
                    continue
                watched.start(cls.name)
                try:
                    found[cls.name] = self._attack(_an_attack(cls.name), n_targets, seed)
                except (ParameterError, InputError) as error:
                    found.skipped[cls.name] = str(error)
            if self.held_out is not None:
                watched.start("comparing with those kept out")
                whole = attack_with_control(self.candidate, self.held_out, seed)
                found |= {name: risk for name, (_, risk) in whole.items()}
        return found

    def _attack(self, attack: Attack[Any], n_targets: int, seed: int) -> Risk:
        if not isinstance(attack, Attack):
            raise ParameterError("attack: give one of shoal.attacks, such as KnownPoints(n=5), or its name.")
        if self.held_out is not None and isinstance(attack, WHOLE):
            return attack_alone(self.candidate, self.held_out, attack)
        if isinstance(self.candidate, CandidateShards):
            return self.candidate.attack(attack, n_targets=n_targets, seed=seed)
        drawn = np.random.default_rng(seed).permutation(self.candidate.private.original.n_series)[:n_targets]
        return self.candidate.attack(attack, np.sort(drawn))

    @overload
    def measure(self, measure: None = None) -> Scores: ...

    @overload
    def measure(self, measure: Measure) -> Score: ...

    @overload
    def measure(self, measure: str) -> Score | Scores: ...

    def measure(self, measure: Measure | str | None = None) -> Score | Scores:
        """Return what it is still good for, a `Score`; without a measure, or for a purpose, all that apply, by name.

        Parameters
        ----------
        measure
            A measure such as `shoal.utility.PeakTimeError()`, its name, or a purpose such as "peaks".
        """
        if isinstance(measure, Measure):
            return self.candidate.measure(measure)
        if isinstance(measure, str) and measure not in PURPOSES:
            if measure not in [cls.name for cls in named_in(utility_room)]:
                near = difflib.get_close_matches(measure, [*PURPOSES, *(c.name for c in named_in(utility_room))], n=1)
                hint = f"Did you mean {near[0]!r}? " if near else ""
                raise ParameterError(
                    f"{measure!r} is neither a measure nor a purpose. {hint}Purposes are: {', '.join(PURPOSES)}."
                )
            return self.candidate.measure(build(find_in("measure", utility_room, measure), {}))
        if measure is not None and not isinstance(measure, str):
            raise ParameterError("measure: give one of shoal.utility, such as PeakTimeError(), its name or a purpose.")
        found = Scores()
        found.meanings = {}
        for purpose, pairs in scores_by_purpose(self.candidate, None if measure is None else measure).items():
            for name, (score, meaning) in pairs.items():
                found[name], found.meanings[name] = score, (purpose, meaning)
        return found

    def publish(self, to: str | Path, **given: Any) -> Release:
        """Write it as a release folder; see `shoal.publish`. Names and order there are drawn again.

        Where subjects were kept out, `private=` must say where to write who they are.
        """
        candidate = self.candidate
        asked: dict[str, Any] = {"require": self.options.require, "suppression_limit": self.options.suppression_limit}
        panel = candidate.panel if isinstance(candidate, CandidateShards) else candidate.private.original
        scores = {} if self.method is None else scores_of(self.method, candidate, panel)
        asked["scores"] = {**scores, **(given.pop("scores", None) or {})}
        if self.held_out is None:
            return publish(candidate, to, **(asked | given))
        if given.get("private") is None:
            raise ParameterError("hold_out: who is kept out is written to the private folder. Give private=.")
        asked["risks"] = {**control_risks(candidate, self.held_out), **(given.pop("risks", None) or {})}
        release = publish(candidate, to, **(asked | given))
        remember(Path(given["private"]), release, self.reading, self.held_out.names)
        return release

    def plot(self, *, channel: int = 0) -> Any:
        """Draw mean day, load duration and a few groups, before and after, as a plotly figure.

        Everything about the originals covers at least as many subjects as the guarantee asks for. A group is drawn as
        published, if enough subjects share it.
        """
        candidate = self.candidate
        figures, original, curves = shown_figures(candidate)
        if not tells_exact_figures(candidate.guarantees):
            figures = without_originals(figures, "Not shown: exact figures next to the noise would undo it.")
        n_channels = len(figures["channels"])
        if isinstance(channel, bool) or not isinstance(channel, int) or not 0 <= channel < n_channels:
            raise ParameterError(f"channel: give a position from 0 to {n_channels - 1}.")
        return before_after(figures, group_curves(original, curves, figures["crowd"], channel), channel)

    def to_pandas(self) -> Any:
        """Return a pandas frame in the shape of the input, or a Series."""
        return self._framed.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return a polars frame in the shape of the input; a former index is a column."""
        return self._framed.to_polars()

    def to_arrow(self) -> Any:
        """Return a pyarrow table in the shape of the input."""
        return self._framed.to_arrow()

    def to_numpy(self) -> NDArray[Any]:
        """Return an array (series, instants) or (series, instants, channels)."""
        return self._framed.to_numpy()

    def to_xarray(self) -> Any:
        """Return an xarray DataArray with the dimensions of the input."""
        return self._framed.to_xarray()

    @property
    def _framed(self) -> Panel:
        """What is published, under fresh names in a new order, as a panel in the shape of the input."""
        if isinstance(self.candidate, CandidateShards):
            raise ParameterError(
                "This result is in shards, for data larger than memory, so no frame can hold it. Write it with "
                "publish(to), or read the data without an engine."
            )
        origin = self.candidate.private.original.origin
        shape = FrameShape() if origin is None or origin.shape is None else origin.shape
        renamed = form_of(self.candidate.published).renamed(self.candidate.published, self._names)
        return _as_panel(renamed, shape)

    @cached_property
    def _names(self) -> list[str]:
        """Fresh names, whose order is that of the rows."""
        assert isinstance(self.candidate, Candidate)
        return names_of(name_key(None), 0, self.candidate)

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading took for a subject, and what it did to the readings."""
        candidate = self.candidate
        origin = candidate.panel.origin if isinstance(candidate, CandidateShards) else candidate.private.original.origin
        return () if origin is None else origin.notes

    @property
    def warning(self) -> str:
        """What the guarantee does not cover and you should look at before you publish: a mean that is mostly one
        subject's. Empty if there is nothing."""
        return "" if self.dominance is None else self.dominance.warning

    def __repr__(self) -> str:
        candidate = self.candidate
        if isinstance(candidate, CandidateShards):
            size = f"{candidate.n_series} series in {candidate.n_shards} shards"
        elif isinstance(candidate.published, Profiles):
            size = f"{candidate.published.n_groups} groups, {candidate.published.n_instants} instants"
        else:
            size = f"{len(candidate.published)} series, {candidate.published.n_instants} instants"
        warned = f". {self.warning}" if self.warning else ""
        return f"Result({candidate.guarantee.name} {self.verdicts[0].words}; {size}{warned})"

    def _repr_html_(self) -> str:
        recipe = self.candidate.recipe
        guarantees = (*self.candidate.guarantees, *self.options.require)
        rows = [("method", recipe.method)]
        for guarantee, verdict in zip(guarantees, self.verdicts, strict=True):
            rows += [(guarantee.name, verdict.words), ("meaning", guarantee.statement)]
        if self.warning:
            rows.append(("warning", self.warning))
        if isinstance(self.candidate, Candidate):
            rows.append(("publishes", repr(self.candidate.published)))
        rows += [("read", text) for text in self.notes]
        return html_table("Result", rows)


def _as_panel(renamed: Any, shape: FrameShape) -> Panel:
    """What is published as a panel: ends of envelopes and figures of groups are channels."""
    types = {part: kind for part, kind in shape.types.items() if not part.startswith("value ")}
    long = replace(shape, layout="long", labels={}, as_series=False, subject=None, types=types)
    if shape.layout != "long":
        long = replace(long, index=(), order=())
    names: Any = renamed.names if isinstance(renamed, Profiles) else renamed.ids
    ids = range(len(names)) if shape.whole_ids or shape.library == "numpy" else names
    if isinstance(renamed, Panel):
        return Panel(
            renamed.values,
            ids=ids,
            times=renamed.times,
            attributes=renamed.attributes,
            channels=renamed.channels,
            timezone=renamed.timezone,
            origin=Origin("result", shape=shape),
            copy=False,
        )
    if isinstance(renamed, Envelopes):
        static = {"level": renamed.levels, "pattern": np.array(renamed.patterns, dtype=object), **renamed.sensitive}
        values, channels = renamed.values, profile_columns(renamed.channel_names, ENDS)
        if shape.layout != "long" and shape.library == "pandas":
            long = replace(shape, subject=None)
    else:
        static, channels = {"count": renamed.counts}, profile_columns(renamed.channels, renamed.bands)
        values = renamed.values.reshape(renamed.n_groups, renamed.n_instants, -1)
        long = replace(long, id="group", types={k: v for k, v in long.types.items() if k != "id"})
    if len(channels) == 1:
        values = values[:, :, 0]
    return Panel(
        values,
        ids=ids,
        times=renamed.times,
        attributes=static,
        channels=channels,
        timezone=renamed.timezone,
        origin=Origin("result", shape=replace(long, values=tuple(channels))),
    )


def _an_attack(name: str) -> Attack[Risk]:
    """An attack by name, with its usual parameters."""
    cls = find_in("attack", attack_room, name)
    built: Attack[Risk] = build(cls, cls.usual)
    return built
