"""Which parameters a policy lets us try.

`k: 10` is one value, `k: {search: [4, 8, 12]}` these values and no others, `k: {search: {from: 4, to: 28}}` a range: a
grid over it first, and then between two neighbours of the grid where the limit is crossed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.methods.altered import SECRET

GRID = 7
"""Values of a range that are tried first, its ends among them."""

MOST_POINTS = 500
"""Combinations above which a policy is refused: somebody forgot a nought."""

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
        """A value in the middle of two that were tried; None where there is none worth trying."""
        middle = self.value((low + high) / 2)
        if self.step is not None:
            return None
        near = abs(high - low) <= 1 if self.whole else abs(high - low) <= 0.02 * (self.end - self.start)
        return None if near or middle in (low, high) else middle


@dataclass(frozen=True)
class Choices:
    """The steps of a policy's method with what is open in them."""

    steps: tuple[tuple[str, Mapping[str, Any]], ...]
    """Name and fixed parameters of each step."""
    lists: Mapping[Place, Sequence[Any]]
    spans: Mapping[Place, Span]

    @property
    def places(self) -> tuple[Place, ...]:
        """What is open, in the order of the policy."""
        return (*self.lists, *self.spans)

    def points(self) -> Iterator[tuple[Any, ...]]:
        """Every combination of the grid, one value for each place."""
        values = [*self.lists.values(), *(span.grid() for span in self.spans.values())]
        return product(*values)

    def n_points(self) -> int:
        """How many combinations the grid has."""
        return sum(1 for _ in self.points())

    def parameters(self, point: tuple[Any, ...]) -> list[tuple[str, dict[str, Any]]]:
        """Name and all parameters of each step at a point."""
        given: list[tuple[str, dict[str, Any]]] = [(name, dict(fixed)) for name, fixed in self.steps]
        for (step, name), value in zip(self.places, point, strict=True):
            given[step][1][name] = value
        return given

    def described(self, point: tuple[Any, ...]) -> dict[str, Any]:
        """The open parameters of a point by name; with the step's name where there are several steps."""
        return {
            f"{self.steps[step][0]}.{name}" if len(self.steps) > 1 else name: value
            for (step, name), value in zip(self.places, point, strict=True)
        }


def choices_of(method: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Choices:
    """What the `method` part of a policy leaves open.

    Examples
    --------
    >>> choices = choices_of({"name": "microaggregation", "k": {"search": [4, 8]}, "features": "haar"})
    >>> [choices.described(point) for point in choices.points()]
    [{'k': 4}, {'k': 8}]
    """
    listed = [method] if isinstance(method, Mapping) else list(method)
    if not listed:
        raise ParameterError(
            "method: the list of steps is empty. Give at least one, such as {name: microaggregation, k: 10}."
        )
    steps: list[tuple[str, dict[str, Any]]] = []
    lists: dict[Place, Sequence[Any]] = {}
    spans: dict[Place, Span] = {}
    for at, given in enumerate(listed):
        name = given.get("name")
        if not isinstance(name, str):
            raise ParameterError(f"method: step {at + 1} has no name. See: shoal methods")
        fixed: dict[str, Any] = {}
        for key, value in given.items():
            if key == "name":
                continue
            if not isinstance(value, Mapping):
                fixed[key] = value
            elif key in SECRET:
                raise ParameterError(f"method.{key}: a seed is not searched for; that would pick the luckiest draw.")
            elif set(value) != {"search"}:
                raise ParameterError(f"method.{key}: give a value or {{search: [...]}}, found other fields.")
            elif isinstance(value["search"], Mapping):
                spans[at, key] = _span(key, value["search"])
            else:
                lists[at, key] = _listed(key, value["search"])
        steps.append((name, fixed))
    choices = Choices(tuple(steps), lists, spans)
    n_points = int(np.prod([len(values) for values in lists.values()] + [len(s.grid()) for s in spans.values()] or [1]))
    if n_points > MOST_POINTS:
        raise ParameterError(f"method: {n_points} combinations to try, at most {MOST_POINTS} are. Search fewer values.")
    return choices


def _listed(key: str, given: Any) -> Sequence[Any]:
    if not isinstance(given, list) or not given:
        raise ParameterError(f"method.{key}.search: give a list of values or {{from: 4, to: 28}}.")
    different: list[Any] = []
    for value in given:
        if value not in different:
            different.append(value)
    return different


def _span(key: str, given: Mapping[str, Any]) -> Span:
    if not {"from", "to"} <= set(given) <= {"from", "to", "step"}:
        raise ParameterError(f"method.{key}.search: a range has from and to, and may have step.")
    numbers = list(given.values())
    if any(isinstance(n, bool) or not isinstance(n, int | float) or not np.isfinite(n) for n in numbers):
        raise ParameterError(f"method.{key}.search: from, to and step are numbers.")
    if not given["from"] < given["to"] or given.get("step", 1) <= 0:
        raise ParameterError(f"method.{key}.search: from must be below to, and step above 0.")
    whole = all(isinstance(n, int) for n in numbers)
    return Span(given["from"], given["to"], whole, given.get("step"))
