"""The search of a policy, kept in a folder: watched while it runs, stopped, killed, resumed.

The folder stays with the publisher and is for its owner alone. It holds

    policy.yaml     what is searched
    points.jsonl    a line for each trial, on disk before the next begins, and one whenever the search ends
    details/N.json  what a point looks like, made on request

What is tried next follows from earlier trials alone (see `search.rule`). So a killed search replays the trials in its
journal and continues as if nothing had happened: no point is lost, and none is tried twice. The folder holds no
identifier, and every figure of the originals covers at least as many subjects as the guarantee asks for.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoal.errors import InputError, ParameterError
from shoal.files.durable import sync, write_aside
from shoal.files.journal import Journal
from shoal.model import Candidate, Panel, Score
from shoal.model.watcher import Watcher, never, silent
from shoal.process.point_detail import detail_of, figures_of, no_figures
from shoal.process.policy import Limit, Policy, load_policy, policy_text
from shoal.process.policy.schema import Explored
from shoal.process.policy_run import panel_of, refuse_no_data
from shoal.process.search import Point, SearchTask, Setting, task_of
from shoal.process.search.frontier import Stopped
from shoal.process.search.rule import round_lengths, try_points
from shoal.process.search.trials import Sample, evaluate, samples_of
from shoal.process.usefulness import Asked
from shoal.report.units import unit_of

State = Literal["new", "running?", "stopped", "complete"]

POLICY, POINTS, DETAILS = "policy.yaml", "points.jsonl", "details"


class Exploration:
    """The search of one policy over one table, kept in a folder.

    Parameters
    ----------
    folder
        Where it is kept; created if missing, for its owner alone.
    policy
        What is searched.
    base
        The folder that relative paths of the policy start from.

    Examples
    --------
    >>> exploration = Exploration(Path("private/explored"), policy, base=Path())  # doctest: +SKIP
    >>> exploration.run()  # doctest: +SKIP
    >>> exploration.points()[0]["risk"]  # doctest: +SKIP
    0.061
    """

    def __init__(self, folder: Path, policy: Policy, *, base: Path) -> None:
        self._task = _task_of(policy)
        self.folder, self.policy, self.base = Path(folder), policy, Path(base)
        (self.folder / DETAILS).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        place = self.folder / POLICY
        if not place.exists():
            _write(place, policy_text(policy))
        elif load_policy(place) != policy:
            raise InputError(f"{str(self.folder)!r} holds the search of another policy. Choose another folder.")
        self._journal = Journal(self.folder / POINTS)
        self._reading = threading.Lock()

    @classmethod
    def open(cls, folder: Path, *, base: Path) -> Exploration:
        """One that exists."""
        if not (Path(folder) / POLICY).is_file():
            raise InputError(f"{str(folder)!r} holds no search: it has no {POLICY}.")
        return cls(folder, load_policy(Path(folder) / POLICY), base=base)

    @property
    def state(self) -> State:
        """What the folder says. "running?": it has started and not ended; `is_running` says whether it runs."""
        lines = self._journal.lines()
        if not lines:
            return "new"
        ended: State | None = lines[-1].get("ended")
        return ended or "running?"

    @property
    def is_running(self) -> bool:
        """Whether a live process is trying points."""
        return self._journal.is_being_written

    @property
    def stopped(self) -> Stopped | None:
        """After how many points of how many a person stopped it, if one did."""
        lines = self._journal.lines()
        ended = lines[-1] if lines else {}
        return Stopped(**ended["stopped"]) if ended.get("ended") == "stopped" else None

    @property
    def n_points(self) -> int:
        """Points of the grid; a range may get more."""
        return len(self._task.choices.settings())

    @property
    def purpose(self) -> dict[str, Any]:
        """The measure that says what is lost for the purpose: its name, meaning, unit and goal, and its limit."""
        name = self._bare_task.limits.first
        measure = self._bare_task.measures[name]
        limit = self.policy.require.utility.get(name)
        bounds = [] if limit is None else [one for one in (limit.at_most, limit.at_least) if one is not None]
        unit = next((point["scores"][name]["unit"] for point in self.points() if name in point["scores"]), None)
        return {
            "measure": name,
            "meaning": measure.meaning,
            "unit": unit or _unit(measure.unit, ()),
            "goal": measure.goal,
            "limit": bounds[0] if bounds else None,
        }

    @cached_property
    def _bare_task(self) -> SearchTask:
        """The task for a panel with times, before one is read."""
        return self._task.on(Panel([[0.0, 0.0]], times=np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[us]")))

    def run(self, *, steps: Watcher = silent, stop: Callable[[], bool] = never) -> None:
        """Try points, resuming where it stopped; `stop` is asked before every point except the very first."""
        if self.state == "complete":
            return
        try:
            with self._journal.writing() as append:
                self._run(append, steps, stop)
        except BlockingIOError:
            raise InputError(f"The search in {str(self.folder)!r} is already running.") from None

    def _run(self, append: Callable[[Mapping[str, Any]], None], steps: Watcher, stop: Callable[[], bool]) -> None:
        steps.start("reading")
        task, samples = self._read()
        lines = self._journal.lines()
        panel = _account(samples[-1])
        if not lines:
            append({"begun": panel})
        elif lines[0]["begun"] != panel:
            raise InputError(
                "The table is not the one that this search started with. Restore it, or start a new search."
            )
        known = {(line["point"]["number"], line["part"]): line["point"] for line in lines if "point" in line}
        n_replayed = 0
        steps.start("searching")

        def trial(number: int, setting: Setting, part: int) -> Point:
            nonlocal n_replayed
            if (number, part) in known:
                n_replayed += 1
                return _point(known[number, part])
            sample = samples[part]
            _, candidate, point = evaluate(task, setting, sample)
            shown = self._shown(task, number, setting, point)
            if point.refused is None and isinstance(candidate, Candidate):
                shown |= figures_of(
                    task, candidate, point, lambda unit: _unit(unit, candidate.private.original.channels)
                )
            else:
                shown |= no_figures()
            append({"part": part, "setting": [setting.alternative, list(setting.values)], "point": shown})
            return point

        tried = try_points(
            task.choices,
            task.limits,
            self.policy.search.points,
            trial,
            steps=steps,
            stop=lambda: n_replayed == len(known) and stop(),
        )
        if tried.stopped is None:
            append({"ended": "complete"})
        else:
            told = tried.stopped
            append({"ended": "stopped", "stopped": {name: getattr(told, name) for name in told.__dataclass_fields__}})

    def _shown(self, task: SearchTask, number: int, setting: Setting, point: Point) -> dict[str, Any]:
        alternative = task.choices.alternatives[setting.alternative]
        return {
            "number": number,
            "method": alternative.name,
            "label": ", ".join(f"{name} = {value}" for name, value in point.parameters.items() if name != "method")
            or "as given",
            "parameters": [[name, given] for name, given in task.choices.parameters(setting)],
            "refused": point.refused,
            "impossible": point.impossible,
            "on": point.on,
            "n_subjects": point.n_subjects,
            "seconds": round(point.seconds, 3),
        }

    def points(self) -> list[dict[str, Any]]:
        """What was tried, by number, each on the most subjects it was tried on; also while it runs."""
        return [line["point"] for _, line in sorted(self._latest().items())]

    def _latest(self) -> dict[int, dict[str, Any]]:
        return {line["point"]["number"]: line for line in self._journal.lines() if "point" in line}

    def _line(self, number: int) -> dict[str, Any]:
        lines = self._latest()
        if number not in lines:
            raise ParameterError(f"Point {number} was not tried. There are {len(lines)}, the first is 0.")
        return lines[number]

    def detail(self, number: int) -> dict[str, Any]:
        """What a point looks like: curves before and after, of groups and never of one subject; attacks with more
        knowledge; the worst-off by position; its policy. Made once, then kept."""
        line = self._line(number)
        policy = {"policy": policy_text(self.policy_at(number))}
        place = self.folder / DETAILS / f"{number}.json"
        with suppress(FileNotFoundError):
            kept: dict[str, Any] = json.loads(place.read_bytes())
            if kept.pop("part") == line["part"]:
                return kept | policy
        if line["point"]["refused"] is not None:
            return {"refused": line["point"]["refused"], **policy}
        task, samples = self._read()
        sample = samples[line["part"]]
        _, candidate, point = evaluate(task, _setting(line), sample)
        assert isinstance(candidate, Candidate)  # it was not refused, and samples are in memory
        detail = detail_of(task, candidate, point, sample)
        _write(place, json.dumps({"part": line["part"], **detail}, allow_nan=False))
        return detail | policy

    def policy_at(
        self, number: int, *, risk: float | None = None, utility: Mapping[str, float] | None = None
    ) -> Policy:
        """The policy whose run gives that point, with the limits on screen if they were moved.

        A measure's limit applies to the worse side: at most if lower is better.
        """
        setting = _setting(self._line(number))
        given = [{"name": name, **parameters} for name, parameters in self._task.choices.parameters(setting)]
        method: Any = given[0] if len(given) == 1 else {"steps": given}
        if self._task.choices.over_methods:
            method = {"search": [method]}
        require = self.policy.require
        if risk is not None:
            require = require.model_copy(update={"risk": require.risk.model_copy(update={"at_most": risk})})
        if utility is not None:
            require = require.model_copy(update={"utility": self._limits(utility)})
        search = self.policy.search.model_copy(update={"explored": self._explored()})
        changed = self.policy.model_copy(update={"method": method, "require": require, "search": search})
        return Policy.model_validate(changed.model_dump(by_alias=True))

    def _explored(self) -> Explored:
        """How much was tried so far, and before, if this policy itself came from a point."""
        earlier = self.policy.search.explored
        if earlier is not None and self.n_points == 1:
            return earlier
        lines = self._journal.lines()
        n_points, n_trials = len(self._latest()), sum("point" in line for line in lines)
        n_planned = max(sum(round_lengths(self.n_points, self.policy.search.points)), n_trials)
        ended = lines[-1].get("ended") == "complete"
        if earlier is not None:
            n_points += earlier.points
            n_trials += earlier.after or earlier.points
            n_planned += earlier.of or earlier.points
            ended = ended and earlier.after is None
        return Explored(points=n_points) if ended else Explored(points=n_points, after=n_trials, of=n_planned)

    def _limits(self, utility: Mapping[str, float]) -> dict[str, Limit]:
        measures = {Asked(one).label: one for one in self._bare_task.measures.values()} | dict(self._bare_task.measures)
        limits: dict[str, Limit] = {}
        for name, value in utility.items():
            if name not in measures:
                raise ParameterError(
                    f"{name} is not a measure of this search. Its measures are: {', '.join(measures)}."
                )
            measure = measures[name]
            usual = type(measure)().parameters if name not in self.policy.require.utility else {}
            further = {key: one for key, one in measure.parameters.items() if one != usual.get(key)}
            side = "at_least" if measure.goal == "higher" else "at_most"
            limits[measure.name] = Limit.model_validate({side: value, **further})
        return limits

    def _read(self) -> tuple[SearchTask, list[Sample]]:
        """The task on its panel, and the parts of the sample; read once."""
        with self._reading:
            if not hasattr(self, "_known"):
                with panel_of(self.policy, self.base) as panel:
                    task = self._task.on(panel)
                    self._known = task, samples_of(task, panel)
            return self._known


def _task_of(policy: Policy) -> SearchTask:
    task = task_of(policy)
    refuse_no_data(policy)
    if task.by_mechanism:
        raise ParameterError(
            "method: differential privacy is not explored. Choosing by results would itself reveal something about "
            "the data, and no budget was spent on it. Give every parameter a value known without the data: shoal run"
        )
    return task


def _setting(line: Mapping[str, Any]) -> Setting:
    alternative, values = line["setting"]
    return Setting(alternative, tuple(values))


def _point(shown: Mapping[str, Any]) -> Point:
    """As much of a point as the rule of the search needs."""
    scores = {
        name: Score(math.nan if one["value"] is None else one["value"], one["goal"], (-math.inf, math.inf))
        for name, one in shown["scores"].items()
    }
    return Point(
        {},
        refused=shown["refused"],
        risk=1.0 if shown["risk"] is None else shown["risk"],
        scores=scores,
        on=shown["on"],
        impossible=shown["impossible"],
        n_subjects=shown["n_subjects"],
    )


def _account(sample: Sample) -> dict[str, Any]:
    """What distinguishes one table from another."""
    panel: Any = sample.panel  # samples are in memory
    state = hashlib.sha256(np.ascontiguousarray(panel.values).data)
    state.update(np.ascontiguousarray(panel.subject_codes).data)
    return {
        "subjects": panel.n_subjects,
        "series": panel.n_series,
        "instants": panel.n_instants,
        "digest": state.hexdigest(),
    }


def _unit(unit: str, channels: Any) -> str:
    """A measure's unit in the words of a page."""
    if unit != "data":
        return {"number": "", "decibel": "dB"}.get(unit, unit)
    units = {unit_of(name) for name in channels}
    return units.pop() if len(units) == 1 else ""


def _write(place: Path, text: str) -> None:
    mark = f".{os.getpid()}.{threading.get_ident()}"
    aside = write_aside(place, text.encode(), mode=0o600, mark=mark)
    aside.sync()
    aside.put_in_place()
    sync(place.parent)
