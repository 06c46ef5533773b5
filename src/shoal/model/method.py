"""What every method for series can do."""

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
    """Say what makes panels of frames: reading them is not known in this room."""
    _readers[:] = [reader]


def as_panel(data: Any) -> Panel:
    """A panel of a frame or an array."""
    if not _readers:
        raise ParameterError("A method takes a Panel. Make one of the data: shoal.read_panel(data).")
    return _readers[0](data)


class Method(Described):
    """A way to anonymize series, with its parameters.

    To add one: a frozen dataclass with `aims_at` and `_anonymize`, which takes a panel and gives a candidate. On a
    panel in shards the same is done shard by shard. What must be known of the whole first is found by `prepare`.
    """

    reads: ClassVar[str] = "series"
    same_in_all_shards: ClassVar[frozenset[str]] = frozenset()
    """Figures of the recipe that follow from the instants and not from the series: they are not added up."""
    why_alone: ClassVar[str] = ""
    """Why it cannot be one of several steps; empty where it can."""
    keeps_equal: ClassVar[bool] = False
    """Whether series that are equal before it are equal after it."""
    each_alone: ClassVar[bool] = False
    """Whether it changes every series by its own readings only."""
    keeps_apart: ClassVar[bool] = False
    """Whether no series gets readings of another subject."""
    takes_fictives: ClassVar[bool] = False
    """Whether fictive series may be among those it is given: it counts no crowds, and mixes them with no real ones."""

    @staticmethod
    def account(parameters: Mapping[str, Any]) -> str:
        """What was done to the series, as a sentence for people who do not know the method; empty where its summary
        must do. From the parameters of a recipe, which may be anybody's."""
        return ""

    @property
    def aims_at(self) -> Guarantee | None:
        """The guarantee a candidate of this method is checked against; None where that follows from the data."""
        return None

    @property
    def each_step(self) -> tuple[Method, ...]:
        """The methods that are applied one after another; itself where it is one."""
        return (self,)

    @property
    def shard_plan(self) -> ShardPlan:
        """How a panel must be split for it."""
        return ShardPlan()

    @property
    def publishes_groups(self) -> bool:
        """Whether it gives groups or bands, after which no step has series to work on."""
        return False

    @property
    def why_whole(self) -> str:
        """Why it needs all series in one place, as a sentence with a way out; empty where it does not."""
        return ""

    def prepare(self, panel: PanelShards) -> Self:
        """The same method with figures of the whole panel fixed, where it needs some."""
        return self

    def knowing(self, **facts: Any) -> Self:
        """The same method with facts of a panel that are no parameters of it."""
        found = copy(self)
        for name, fact in facts.items():
            object.__setattr__(found, name, fact)
        return found

    def of_shard(self, number: int) -> Self:
        """The same method for one shard, where it does something else there."""
        return self

    @overload
    def anonymize(self, panel: Panel, *, progress: Progress | None = None) -> Candidate: ...

    @overload
    def anonymize(self, panel: PanelShards, *, progress: Progress | None = None) -> CandidateShards: ...

    @overload
    def anonymize(self, panel: Any, *, progress: Progress | None = None) -> Candidate: ...

    def anonymize(self, panel: Any, *, progress: Progress | None = None) -> Candidate | CandidateShards:
        """Propose what to publish; of a panel in shards a candidate for each of them.

        A frame or an array is read first, as `shoal.read_panel` does without further settings.
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
        """One recipe of those of all shards."""
        return Recipe(recipes[0].method, recipes[0].parameters, self.merged_figures([r.figures for r in recipes]))

    def merged_figures(self, figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Counts add up; of shares and bounds the largest counts."""
        found: dict[str, Any] = {}
        for name in dict.fromkeys(name for one in figures for name in one):
            listed = [one[name] for one in figures if name in one]
            same = name in self.same_in_all_shards
            found[name] = listed[0] if same else max(listed) if isinstance(listed[0], float) else sum(listed)
        return found


def _anonymize_shard(method: Method, number: int, panel: Panel) -> Candidate:
    return method.of_shard(number).anonymize(panel)
