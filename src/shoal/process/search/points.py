"""Which methods and parameters a policy allows to be tried.

`k: 10` is one value, `k: {search: [4, 8, 12]}` these values and no others, `k: {search: {from: 4, to: 28}}` a range: a
grid over it first, then points between the two grid neighbours where the limit is crossed. `method: {search: [...]}`
lists alternatives, each a method or steps with open parameters of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import ParameterError
from shoal.methods.altered import SECRET
from shoal.model import Method

GRID = 7
"""Number of values of a range that are tried first, including its ends."""

MOST_POINTS = 500
"""Number of combinations above which a policy is refused: probably a typing error."""

Place = tuple[int, str]
"""Which step and which of its parameters."""


@dataclass(frozen=True)
class Span:
    """A range of numbers to search in."""

    start: float
    end: float
    whole: bool
    step: float | None = None

    def grid(self) -> list[Any]:
        """The values tried first."""
        if self.step is not None:
            # A hair beyond the end, for steps that rounding keeps just below it.
            values = np.arange(self.start, self.end + self.step * 1e-9, self.step)
        else:
            values = np.linspace(self.start, self.end, GRID)
        return list(dict.fromkeys(self.value(v) for v in values))

    def value(self, number: float) -> Any:
        """A number as the parameter takes it."""
        return int(np.floor(number + 0.5)) if self.whole else float(f"{number:.6g}")

    def between(self, low: Any, high: Any) -> Any | None:
        """A value halfway between two that were tried; None if there is none worth trying."""
        middle = self.value((low + high) / 2)
        if self.step is not None:
            return None
        near = abs(high - low) <= 1 if self.whole else abs(high - low) <= 0.02 * (self.end - self.start)
        return None if near or middle in (low, high) else middle


class Setting(NamedTuple):
    """One point to try: which alternative, and a value for each of its open parameters."""

    alternative: int
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Alternative:
    """A method, or several in a row, with their open parameters."""

    steps: tuple[tuple[str, Mapping[str, Any]], ...]
    """Name and fixed parameters of each step."""
    lists: Mapping[Place, Sequence[Any]]
    spans: Mapping[Place, Span]
    template: Method | None = None
    """The method itself if it was given as an object; its open parameters are changed in it."""

    @property
    def name(self) -> str:
        """The method, or the steps in their order."""
        return " + ".join(name for name, _ in self.steps)

    @property
    def places(self) -> tuple[Place, ...]:
        """What is open, in the order of the policy."""
        return (*self.lists, *self.spans)

    @property
    def span(self) -> Span | None:
        """The range to search, if nothing else is open."""
        return next(iter(self.spans.values())) if len(self.places) == 1 and self.spans else None

    @property
    def n_points(self) -> int:
        """How many combinations the grid has."""
        return math.prod([*map(len, self.lists.values()), *(len(span.grid()) for span in self.spans.values())])

    def grid(self) -> Iterator[tuple[Any, ...]]:
        """Every combination, one value for each place."""
        return product(*self.lists.values(), *(span.grid() for span in self.spans.values()))

    def parameters(self, values: tuple[Any, ...]) -> list[tuple[str, dict[str, Any]]]:
        """Name and given parameters of each step."""
        given: list[tuple[str, dict[str, Any]]] = [(name, dict(fixed)) for name, fixed in self.steps]
        for (step, name), value in zip(self.places, values, strict=True):
            given[step][1][name] = value
        return given

    def named(self, step: int, parameter: str) -> str:
        """A parameter, with the step's name if there are several steps."""
        return f"{self.steps[step][0]}.{parameter}" if len(self.steps) > 1 else parameter


@dataclass(frozen=True)
class Choices:
    """Everything that a policy allows to be tried."""

    alternatives: tuple[Alternative, ...]
    over_methods: bool = False
    """Whether methods are searched, and not only the parameters of one."""

    def settings(self) -> list[Setting]:
        """Every different point of the grid, in the order of the policy."""
        different: dict[str, Setting] = {}
        for at, alternative in enumerate(self.alternatives):
            for values in alternative.grid():
                key = repr((alternative.template, alternative.parameters(values)))
                different.setdefault(key, Setting(at, values))
        return list(different.values())

    def parameters(self, setting: Setting) -> list[tuple[str, dict[str, Any]]]:
        """Name and given parameters of each step at a point."""
        return self.alternatives[setting.alternative].parameters(setting.values)

    def described(self, setting: Setting) -> dict[str, Any]:
        """The open parameters of a point by name; if methods are searched, the method and all given parameters."""
        alternative = self.alternatives[setting.alternative]
        if not self.over_methods:
            return {
                alternative.named(*place): value
                for place, value in zip(alternative.places, setting.values, strict=True)
            }
        given = alternative.parameters(setting.values)
        listed = {
            alternative.named(step, name): value
            for step, (_, parameters) in enumerate(given)
            for name, value in parameters.items()
        }
        return {"method": alternative.name, **listed}


def choices_of(method: Any) -> Choices:
    """What the `method` part of a policy leaves open.

    Examples
    --------
    >>> choices = choices_of({"name": "microaggregation", "k": {"search": [4, 8]}, "features": "haar"})
    >>> [choices.described(setting) for setting in choices.settings()]
    [{'k': 4}, {'k': 8}]
    >>> choices = choices_of({"search": [{"name": "microaggregation", "k": {"search": [4]}}, {"name": "kp", "k": 8}]})
    >>> [choices.described(setting) for setting in choices.settings()]
    [{'method': 'microaggregation', 'k': 4}, {'method': 'kp', 'k': 8}]
    """
    if not isinstance(method, Mapping) or "search" not in method:
        return joined([_alternative(method, "method")], over_methods=False)
    if set(method) != {"search"}:
        raise ParameterError("method.search: alternatives must be the only field. Put other fields into one of them.")
    listed = method["search"]
    if not isinstance(listed, list) or not listed:
        raise ParameterError(
            "method.search: give a list of alternatives, such as [{name: microaggregation, k: 10}, {steps: [...]}]."
        )
    return joined([_alternative(one, f"method.search.{at + 1}") for at, one in enumerate(listed)])


def joined(alternatives: Sequence[Alternative], *, over_methods: bool = True) -> Choices:
    """All alternatives together, if they are not too many."""
    n_points = sum(alternative.n_points for alternative in alternatives)
    if n_points > MOST_POINTS:
        raise ParameterError(
            f"method: {n_points} combinations to try, more than the {MOST_POINTS} allowed. Search fewer values."
        )
    return Choices(tuple(alternatives), over_methods)


def _alternative(given: Any, where: str) -> Alternative:
    """A method by name, a list of steps, or `{steps: [...]}`."""
    if isinstance(given, Mapping) and "steps" in given:
        if set(given) != {"steps"}:
            raise ParameterError(f"{where}: steps must be the only field. Put other fields into one of them.")
        given = given["steps"]
    listed = [given] if isinstance(given, Mapping) else given
    if not isinstance(listed, list) or not listed:
        raise ParameterError(
            f"{where}: the list of steps is empty. Give at least one, such as {{name: microaggregation, k: 10}}."
        )
    steps: list[tuple[str, dict[str, Any]]] = []
    lists: dict[Place, Sequence[Any]] = {}
    spans: dict[Place, Span] = {}
    for at, step in enumerate(listed):
        name = step.get("name") if isinstance(step, Mapping) else None
        if not isinstance(name, str):
            raise ParameterError(f"{where}: step {at + 1} has no name. See: shoal methods")
        fixed: dict[str, Any] = {}
        for key, value in step.items():
            if key == "name":
                continue
            if not isinstance(value, Mapping):
                fixed[key] = value
            elif key in SECRET:
                raise ParameterError(f"{where}.{key}: a seed cannot be searched; that would pick the luckiest draw.")
            elif set(value) != {"search"}:
                raise ParameterError(f"{where}.{key}: give a value or {{search: [...]}}, found other fields.")
            elif isinstance(value["search"], Mapping):
                spans[at, key] = _span(f"{where}.{key}", value["search"])
            else:
                lists[at, key] = _listed(f"{where}.{key}", value["search"])
        steps.append((name, fixed))
    return Alternative(tuple(steps), lists, spans)


def _listed(key: str, given: Any) -> Sequence[Any]:
    if not isinstance(given, list) or not given:
        raise ParameterError(f"{key}.search: give a list of values or {{from: 4, to: 28}}.")
    different: list[Any] = []
    for value in given:
        if value not in different:
            different.append(value)
    return different


def _span(key: str, given: Mapping[str, Any]) -> Span:
    if not {"from", "to"} <= set(given) <= {"from", "to", "step"}:
        raise ParameterError(f"{key}.search: a range has from and to, and optionally step.")
    numbers = list(given.values())
    if any(isinstance(n, bool) or not isinstance(n, int | float) or not np.isfinite(n) for n in numbers):
        raise ParameterError(f"{key}.search: from, to and step must be numbers.")
    if not given["from"] < given["to"] or given.get("step", 1) <= 0:
        raise ParameterError(f"{key}.search: from must be below to, and step above 0.")
    whole = all(isinstance(n, int) for n in numbers)
    return Span(given["from"], given["to"], whole, given.get("step"))
