"""What was tried, what it cost and hid, and why one point was chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.model import Risk, Score
from shoal.model.frame_shape import need
from shoal.model.html import html_grid
from shoal.model.words import number, setting
from shoal.process.policy import Limit
from shoal.release.publishers_word import rough

if TYPE_CHECKING:
    from shoal.process.result import Result


@dataclass(frozen=True)
class Limits:
    """The policy's limits: on every attack, and on each measure."""

    risk: float
    utility: Mapping[str, Limit]
    purpose: str | None = None
    """The measure of what must be kept, if anything."""

    @property
    def first(self) -> str:
        """The measure by which one point is better than another: the first that is limited, else that of what must be
        kept, else the information loss."""
        return next(iter(self.utility), self.purpose or "information-loss")


@dataclass(frozen=True)
class Point:
    """One setting of the parameters and its result."""

    parameters: dict[str, Any]
    refused: str | None = None
    """Why it failed: a parameter the data do not allow, or a guarantee that does not hold."""
    risk: float = 1.0
    """The highest figure of all attacks in the policy's scenario."""
    risks: Mapping[str, Risk] = field(default_factory=dict)
    scores: Mapping[str, Score] = field(default_factory=dict)
    seconds: float = 0.0
    on: str = "all subjects"
    """The subjects it was tried on, in words."""
    impossible: bool = False
    """Whether a parameter is impossible, or not possible with these data: bad input rather than a limit."""
    n_subjects: int = 0
    """Their number; figures are comparable between points tried on the same number."""

    def misses(self, limits: Limits) -> dict[str, tuple[float, float]]:
        """What is beyond its limit: figure and limit, by name. Empty if both limits are met."""
        misses: dict[str, tuple[float, float]] = {}
        if self.risk > limits.risk:
            misses["risk"] = (self.risk, limits.risk)
        for name, limit in limits.utility.items():
            value = self.scores[name].value
            if limit.at_most is not None and not value <= limit.at_most:
                misses[name] = (value, limit.at_most)
            elif limit.at_least is not None and not value >= limit.at_least:
                misses[name] = (value, limit.at_least)
        return misses

    def meets(self, limits: Limits) -> bool:
        """Whether everything holds."""
        return self.refused is None and not self.misses(limits)

    def excess(self, limits: Limits) -> float:
        """How far it is beyond its limits, relative to each, the largest of them; infinite if a figure is not a
        number."""
        far = [abs(figure - bound) / (abs(bound) or 1.0) for figure, bound in self.misses(limits).values()]
        return max((math.inf if math.isnan(one) else one for one in far), default=0.0)

    def loss(self, limits: Limits) -> float:
        """The score by which one point is better than another, turned so that lower is better."""
        score = self.scores[limits.first]
        return -score.value if score.goal == "higher" else score.value

    def beats(self, other: Point, names: Iterable[str]) -> bool:
        """Whether it is no worse in risk and in these measures, and better in one of them."""
        pairs = [(self.scores[name], other.scores[name]) for name in names]
        if self.risk > other.risk or any(its.better_than(mine) for mine, its in pairs):
            return False
        return self.risk < other.risk or any(mine.better_than(its) for mine, its in pairs)

    def described(self) -> str:
        """Method and parameters in words."""
        return setting(self.parameters) or "the one setting given"


@dataclass(frozen=True)
class Stopped:
    """A person ended the search early."""

    after: int
    """Number of trials; a point tried again on more subjects counts again."""
    of: int
    """Number of trials planned by then; a range may have added some, and refused points may have removed some."""
    halved: bool = False
    """Whether points were tried on parts of the sample."""

    @property
    def sentence(self) -> str:
        """The same in words, for certificate and report."""
        what = "trials, in which a point tried again on more subjects counts again" if self.halved else "points"
        return f"A person stopped the search after {self.after} of {self.of} planned {what}."

    def as_dict(self) -> dict[str, Any]:
        """For the certificate."""
        return {"after": self.after, "of": self.of, "sentence": self.sentence}


@dataclass(frozen=True, repr=False)
class Frontier:
    """Every point that was tried, and the chosen one, if any met both limits. `shoal.search` returns one.

    It is a table (`to_pandas`, `to_polars`), a plot (`plot()`) and an index: `frontier[2]` is the result of the third
    point on all subjects, made again and checked; `frontier.result` is that of the chosen one.

    Parameters
    ----------
    limits
        The requested limits.
    points
        What was tried, in order.
    chosen
        The chosen point's result on all subjects with the other half of the targets.
    turned_down
        Points that met the limits in the search but not when confirmed.
    stopped
        If a person ended the search early: after how many points of how many.
    made
        Makes the result of a point by its position; None for the chosen one. Only a search in Python has it.
    """

    limits: Limits
    points: tuple[Point, ...]
    chosen: Point | None = None
    turned_down: tuple[Point, ...] = ()
    stopped: Stopped | None = None
    made: Callable[[int | None], Result] | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, position: int) -> Result:
        """Return the result of a point by its position: a `Result`, on all subjects, checked."""
        if not isinstance(position, int | np.integer) or not -len(self) <= position < len(self):
            raise ParameterError(
                f"Points are chosen by position: 0 to {len(self) - 1}. frontier.to_polars() lists them."
            )
        return self._make(int(position) % len(self))

    @property
    def result(self) -> Result:
        """Return the result of the chosen point; raises if no point met both limits."""
        if self.chosen is None:
            raise GuaranteeNotMetError(self.sentence)
        return self._make(None)

    def _make(self, position: int | None) -> Result:
        if self.made is None:
            raise ParameterError("This frontier belongs to a policy. Its release has the chosen point.")
        return self.made(position)

    def plot(self) -> Any:
        """Draw risk against utility of every point, with the limits, as a plotly figure."""
        from shoal.report.charts import risk_utility
        from shoal.report.search import search_part

        part = search_part({"process": self.as_dict()})
        assert part is not None  # a frontier has points
        return risk_utility(part)

    def to_polars(self) -> pl.DataFrame:
        """One row per point: method if several were tried, parameters, risk, scores, and whether it is within the
        limits."""
        return pl.DataFrame(self._rows(), infer_schema_length=None, strict=False)

    def to_pandas(self) -> Any:
        """The same for pandas."""
        return need("pandas", "to_pandas").DataFrame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        names = list(dict.fromkeys(name for point in self.points for name in point.scores))
        opened = dict.fromkeys(name for point in self.points for name in point.parameters)
        different = len({point.n_subjects for point in self.points}) > 1
        return [
            {
                **opened,
                **point.parameters,
                **({"subjects": point.n_subjects} if different else {}),
                "risk": None if point.refused is not None else point.risk,
                **{name: point.scores[name].value if name in point.scores else None for name in names},
                "verdict": self._verdict(point),
            }
            for point in self.points
        ]

    def _verdict(self, point: Point) -> str:
        """What happened to a point, in a few words."""
        if point.refused is not None:
            return f"refused: {point.refused}"
        if self.chosen is not None and point.parameters == self.chosen.parameters:
            return "chosen"
        return "within both limits" if point.meets(self.limits) else "beyond a limit"

    def __repr__(self) -> str:
        chosen = "none chosen" if self.chosen is None else f"chosen {self.chosen.described()}"
        return f"Frontier({len(self)} point{'s' * (len(self) != 1)}, {chosen})"

    def _repr_html_(self) -> str:
        rows = self._rows()
        head = list(dict.fromkeys(name for row in rows for name in row))
        table = html_grid("Frontier", head, [[number(row.get(name)) for name in head] for row in rows])
        return f"{table}<p>{escape(self.sentence)}</p>"

    def as_dict(self) -> dict[str, Any]:
        """What was tried, for the certificate and the report: figures of three digits, no times, so that bytes are
        reproducible."""
        return {
            "limits": {
                "risk": self.limits.risk,
                "utility": {
                    name: limit.model_dump(include={"at_most", "at_least"}, exclude_none=True)
                    for name, limit in self.limits.utility.items()
                },
            },
            "measure": self.limits.first,
            "points": [
                _as_dict(point, efficient) | {"meets": point.meets(self.limits)}
                for point, efficient in zip(self.points, self.efficient, strict=True)
            ],
            "chosen": None if self.chosen is None else dict(self.chosen.parameters),
            "sentence": self.sentence,
            **({} if self.stopped is None else {"stopped": self.stopped.as_dict()}),
        }

    @property
    def efficient(self) -> tuple[bool, ...]:
        """For each point, whether no other is as useful and hides better, or hides as well and is more useful."""
        return tuple(
            one.refused is None
            and one.n_subjects == self._most
            and not any(other.beats(one, (self.limits.first,)) for other in self._comparable if other is not one)
            for one in self.points
        )

    @property
    def _most(self) -> int:
        """On how many subjects a point was tried, at most."""
        return max((point.n_subjects for point in self.points), default=0)

    @property
    def _comparable(self) -> list[Point]:
        """Points with comparable figures: those tried on most subjects."""
        return [point for point in self.points if point.refused is None and point.n_subjects == self._most]

    def better_first(self) -> list[int]:
        """Positions of the points that met both limits, those tried on most subjects first.

        Among these, the most useful comes first; in a tie, the one that hides better.
        """

        def rank(position: int) -> tuple[int, float, float]:
            point = self.points[position]
            return -point.n_subjects, point.loss(self.limits), point.risk

        return sorted((at for at, point in enumerate(self.points) if point.meets(self.limits)), key=rank)

    @property
    def sentence(self) -> str:
        """Which limit binds, or what would have to give; and that a person ended the search early, if one did."""
        said = self._binding(self.chosen) if self.chosen is not None else self._what_would_have_to_give()
        return said if self.stopped is None else f"{said} {self.stopped.sentence}"

    def said_of(self, chosen: Point) -> str:
        """The result for the chosen point alone."""
        said = f"Chosen: {chosen.described()}, with risk {chosen.risk:.3g} (at most {self.limits.risk:.3g})"
        for name in self.limits.utility:
            said += f" and {name} {chosen.scores[name].value:.3g} ({_bound(self.limits.utility[name])})"
        return said

    def _binding(self, chosen: Point) -> str:
        first = self.limits.first
        if not chosen.scores:
            return "Drawn once. No figure of attacks or measures may influence differential privacy, and none did."
        said = self.said_of(chosen)
        more_useful = [
            point
            for point in self._comparable
            if point.parameters != chosen.parameters and point.scores[first].better_than(chosen.scores[first])
        ]
        if not more_useful:
            return f"{said}. No limit binds: no other point that was tried is more useful."
        nearest = min(more_useful, key=lambda point: abs(point.scores[first].value - chosen.scores[first].value))
        more = f"{nearest.described()} would be more useful"
        misses = nearest.misses(self.limits)
        if "risk" in misses:
            return f"{said}. The risk limit binds: {more}, but has risk {nearest.risk:.3g}."
        if misses:
            return f"{said}. The limit on {next(iter(misses))} binds: {more}, but {_missing(nearest, self.limits)}."
        return f"{said}. {more[0].upper()}{more[1:]}, but did not meet the limits when it was confirmed."

    def _what_would_have_to_give(self) -> str:
        tried = [point for point in self.points if point.refused is None]
        if not tried:
            why = self.points[0].refused if self.points else "nothing to try"
            return f"{self._none('could', 'could not')} be tried: {why}"
        said = [f"{self._none('meets', 'does not meet')} both limits."]
        if self.turned_down:
            point = self.turned_down[0]
            said.append(
                f"{point.described()} met them in the search but not on {point.on}: {_missing(point, self.limits)}."
            )
        safe = [point for point in tried if point.risk <= self.limits.risk]
        useful = [point for point in tried if set(point.misses(self.limits)) <= {"risk"}]
        if safe:
            nearest = min(safe, key=lambda point: point.excess(self.limits))
            if misses := nearest.misses(self.limits):
                wanted = ", ".join(f"{name} to {figure:.3g}" for name, (figure, _) in misses.items())
                said.append(
                    f"{nearest.described()} keeps the risk limit ({nearest.risk:.3g}) but "
                    f"{_missing(nearest, self.limits)}: change the limit on {wanted}."
                )
        if useful:
            nearest = min(useful, key=lambda point: point.risk)
            if nearest.risk > self.limits.risk:
                said.append(
                    f"{nearest.described()} is useful enough but has risk {nearest.risk:.3g}, above "
                    f"{self.limits.risk:.3g}: allow that risk, or assume an adversary who knows less."
                )
        if not safe and not useful:
            nearest = min(tried, key=lambda point: point.excess(self.limits))
            said.append(f"The nearest is {nearest.described()}: {_missing(nearest, self.limits)}.")
        return " ".join(line[0].upper() + line[1:] if line.startswith("the ") else line for line in said)

    def _none(self, does: str, does_not: str) -> str:
        n = len(self.points)
        return f"The only point {does_not}" if n == 1 else f"None of {n} points {does}"


def _as_dict(point: Point, efficient: bool) -> dict[str, Any]:
    if point.refused is not None:
        return {"parameters": point.parameters, "refused": point.refused, "efficient": False}
    return {
        "parameters": point.parameters,
        "risk": rough(point.risk),
        "risks": {name: rough(risk.success) for name, risk in point.risks.items()},
        "utility": {name: rough(score.value) for name, score in point.scores.items()},
        "efficient": efficient,
        "on": point.on,
    }


def _bound(limit: Limit) -> str:
    parts = [f"at most {limit.at_most:.3g}"] if limit.at_most is not None else []
    parts += [f"at least {limit.at_least:.3g}"] if limit.at_least is not None else []
    return ", ".join(parts)


def _missing(point: Point, limits: Limits) -> str:
    return " and ".join(
        f"{name} is {figure:.3g}, {'above' if figure > bound else 'below'} {bound:.3g}"
        for name, (figure, bound) in point.misses(limits).items()
    )
