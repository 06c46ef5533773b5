"""The interface of every method for series."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self, overload

from shoal.errors import ParameterError
from shoal.model.candidate import Candidate, Recipe
from shoal.model.candidate_shards import CandidateShards, facts_of
from shoal.model.described import Described
from shoal.model.guarantee import Guarantee
from shoal.model.panel import Panel
from shoal.model.panel_shards import PanelShards, ShardPlan

Progress = Callable[[int, int], None]
"""Called now and then with (rows done, rows in all)."""


_readers: list[Callable[[Any], Panel]] = []


def read_with(reader: Callable[[Any], Panel]) -> None:
    """Register what makes panels from frames: this package does not know how to read them."""
    _readers[:] = [reader]


def as_panel(data: Any) -> Panel:
    """A panel of a frame or an array."""
    if not _readers:
        raise ParameterError("A method takes a Panel. Make one from the data: shoal.read_panel(data).")
    return _readers[0](data)


class Method(Described):
    """A way to anonymize series, with its parameters.

    To add one, write a frozen dataclass with `aims_at` and `_anonymize`, which takes a panel and returns a candidate.
    On a sharded panel the same is done shard by shard. `prepare` finds what must be known about the whole first.
    """

    reads: ClassVar[str] = "series"
    same_in_all_shards: ClassVar[frozenset[str]] = frozenset()
    """Figures of the recipe that follow from the instants and not from the series: they are not added up."""
    why_alone: ClassVar[str] = ""
    """Why it cannot be one of several steps; empty if it can."""
    keeps_equal: ClassVar[bool] = False
    """Whether equal series stay equal."""
    each_alone: ClassVar[bool] = False
    """Whether it changes every series by its own readings only."""
    keeps_apart: ClassVar[bool] = False
    """Whether no series gets readings of another subject."""
    takes_fictives: ClassVar[bool] = False
    """Whether it accepts fictive series: it counts no crowds, and does not mix them with real ones."""

    @staticmethod
    def account(parameters: Mapping[str, Any]) -> str:
        """What was done to the series, as a sentence for readers who do not know the method; empty if its summary is
        used. It is made from the parameters of a recipe, which may come from anyone."""
        return ""

    @property
    def aims_at(self) -> Guarantee | None:
        """The guarantee a candidate of this method is checked against; None if it follows from the data."""
        return None

    @property
    def each_step(self) -> tuple[Method, ...]:
        """The methods that are applied one after another; the method itself if it is a single one."""
        return (self,)

    @property
    def shard_plan(self) -> ShardPlan:
        """How a panel must be split for it."""
        return ShardPlan()

    @property
    def publishes_groups(self) -> bool:
        """Whether it returns groups or bands, which leave no series for a later step."""
        return False

    @property
    def why_whole(self) -> str:
        """Why it needs all series in one place, as a sentence with a way out; empty if it does not."""
        return ""

    def prepare(self, panel: PanelShards) -> Self:
        """The same method with figures of the whole panel fixed, if it needs any."""
        return self

    def knowing(self, **facts: Any) -> Self:
        """The same method with facts about a panel that are not parameters."""
        copied = copy(self)
        for name, fact in facts.items():
            object.__setattr__(copied, name, fact)
        return copied

    def of_shard(self, number: int) -> Self:
        """The same method for one shard, if it works differently there."""
        return self

    @overload
    def anonymize(self, panel: Panel, *, progress: Progress | None = None) -> Candidate: ...

    @overload
    def anonymize(self, panel: PanelShards, *, progress: Progress | None = None) -> CandidateShards: ...

    @overload
    def anonymize(self, panel: Any, *, progress: Progress | None = None) -> Candidate: ...

    def anonymize(self, panel: Any, *, progress: Progress | None = None) -> Candidate | CandidateShards:
        """Propose what to publish; for a sharded panel, one candidate per shard.

        A frame or an array is read first, as by `shoal.read_panel` with default settings.
        """
        if not isinstance(panel, Panel | PanelShards):
            panel = as_panel(panel)
        if isinstance(panel, Panel):
            return self._anonymize(panel, progress)
        if self.why_whole:
            raise ParameterError(self.why_whole)
        split = panel.split(self.shard_plan)
        store = split.store.each(partial(_anonymize_shard, self.prepare(split)), facts_of)
        return CandidateShards.of(store, split, self.merged)

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """What to publish of a panel in memory."""
        raise NotImplementedError

    def merged(self, recipes: Sequence[Recipe]) -> Recipe:
        """One recipe from those of all shards."""
        return Recipe(recipes[0].method, recipes[0].parameters, self.merged_figures([r.figures for r in recipes]))

    def merged_figures(self, figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Add up counts; of shares and bounds, take the largest."""
        merged: dict[str, Any] = {}
        for name in dict.fromkeys(name for one in figures for name in one):
            listed = [one[name] for one in figures if name in one]
            same = name in self.same_in_all_shards
            merged[name] = listed[0] if same else max(listed) if isinstance(listed[0], float) else sum(listed)
        return merged


def _anonymize_shard(method: Method, number: int, panel: Panel) -> Candidate:
    return method.of_shard(number).anonymize(panel)
