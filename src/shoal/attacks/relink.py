"""Linking another period to published series with a model learned from other people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import Ground, Rows, SeriesAttack, Truth, find_classes
from shoal.attacks.habits import Cycle, check_cycle
from shoal.attacks.links import Chances, LinkFindings, LinkRisk, Links, count_links, link_figures
from shoal.attacks.nearest_neighbour import NearestNeighbour
from shoal.attacks.periods import Periods, find_grounds_of_periods
from shoal.attacks.sentences import OTHERS_FIT
from shoal.attacks.words import check_choice, check_targets
from shoal.errors import ParameterError
from shoal.features.fingerprint import Calendar
from shoal.features.linker import FEWEST, Encoder, Linker, TooFewWindowsError, learn_linker, window_days
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Panel
from shoal.read.zones import local_times


@dataclass(frozen=True)
class Relink(SeriesAttack[LinkRisk]):
    """The chance of finding a target's published series from its habits, by a model of other people's series.

    The adversary holds identified series of another period: the instants of the original that the release does not
    have. If the release has them all, the first half of the instants is known and the second half of the release is
    attacked. Beforehand, it learned from other people what lasts from week to week and what does not: weekday and
    weekend profiles, the distribution of readings and of their changes, the spectrum, the resolution of the meter
    (`shoal.features.fingerprint`), weighted by how much they differ between households and within one
    (`shoal.features.linker`). The likeliest published series are the candidates, and a target's chance is the share of
    its own series among them.

    It never learns from a target. Without a `linker`, it learns from half of the subjects of the original to attack the
    other half, and vice versa: an adversary who holds a few weeks of similar people. The adversary may also compare
    mean days, as `NearestNeighbour` does, and uses whichever finds more; with too few people or windows to learn from,
    only that is used.

    Parameters
    ----------
    linker
        A model learned from other people: a `Linker`, or the file of one (`Relink.train(panel).save("linker.npz")`).
        Then only that is used, and the caller is responsible for the people it was learned from.
    encoder
        "linear": discriminants alone. "deep": discriminants of a network's outputs; needs torch.
    cycle
        The length of the cycle if instants are numbers. Dates have days and weeks.
    n_targets
        Attack this many targets, drawn at random; all by default. Candidates are never sampled.
    seed
        Draws targets and the halves to learn from.

    Examples
    --------
    >>> from shoal import simulate
    >>> homes = simulate.meters(60, days=28, seed=1)
    >>> risk = Relink().attack(homes, homes)
    >>> risk.success > 10 * risk.baseline
    True

    References
    ----------
    A.-M. Cretu, M. Rusu and Y.-A. de Montjoye, "Re-pseudonymization strategies for smart meter data are not robust to
    deep learning profiling attacks", 2024.
    """

    name: ClassVar[str] = "relink"
    meaning: ClassVar[str] = (
        "chance of finding a target's published series from habits, as learned from other people's series"
    )
    against: ClassVar[str] = "values"
    knows: ClassVar[str] = (
        "Identified series of the same subjects over another period, and series of other people to learn from."
    )
    answers: ClassVar[Mapping[str, str]] = {"linkability": "success"}
    control: ClassVar[str] = OTHERS_FIT
    called: ClassVar[str] = "series of another period, and what habits look like"
    short: ClassVar[tuple[str, str]] = ("another-period", "linker")

    linker: Linker | str | Path | None = None
    encoder: Encoder = "linear"
    cycle: Cycle = "day"
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("encoder", self.encoder, ("linear", "deep"))
        check_cycle(self.cycle)
        check_targets(self.n_targets, self.seed)
        if isinstance(self.linker, str | Path):
            object.__setattr__(self, "linker", Linker.load(self.linker))

    @classmethod
    def train(cls, panel: Panel, *, encoder: Encoder = "linear", cycle: Cycle = "day", seed: int = 0) -> Self:
        """An attack that learned from these people; save what it learned with `attack.linker.save(path)`."""
        calendar = _calendar(local_times(panel.times, panel.timezone), cycle)
        linker = learn_linker(
            panel.cube,
            panel.subject_codes,
            calendar,
            window_days([calendar]),
            encoder=encoder,
            seed=seed,
        )
        return cls(linker=linker, encoder=encoder, cycle=cycle, seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields; a linker is given by its digest."""
        learned = {"linker": self.linker.digest() if isinstance(self.linker, Linker) else None}
        return super().parameters | learned

    def look(self, original: Panel, published: Panel, truth: Truth) -> RelinkFindings:
        """The published series most likely to belong to each target's household."""
        periods, grounds, levels = find_grounds_of_periods("Relink", original, published, truth.is_shard)
        return RelinkFindings.of(truth, (self._views(original, periods, ground, truth) for ground in grounds), levels)

    def risk(self, findings: LinkFindings) -> LinkRisk:
        """The chance of finding a target's own published series."""
        return LinkRisk(**link_figures(findings, "series of another period"))

    def _views(self, original: Panel, periods: Periods, ground: Ground, truth: Truth) -> tuple[Chances, ...]:
        plain = NearestNeighbour(cycle=self.cycle).views(periods, ground, truth)
        calendars = [_calendar(times, self.cycle) for times in (periods.known_times, periods.shown_times)]
        if isinstance(self.linker, Linker):
            folds = [(self.linker, np.arange(len(truth.targets)))]
        else:
            folds = self._folds(original, periods, ground, calendars, truth)
        if not folds:
            return plain
        known, shown = ground.original[:, periods.known], ground.published[:, periods.shown]
        distinct, classes = find_classes(shown.reshape(len(shown), -1))
        distinct = distinct.reshape(len(distinct), *shown.shape[1:])
        chances = []
        for linker, places in folds:
            targets = truth.targets[places]
            sides = [linker.embed(known[targets], calendars[0]), linker.embed(distinct, calendars[1])]
            if not all(n_windows for _, n_windows in sides):
                return plain
            links = Links(*nearest_rows(*linker.comparable(*sides)))
            chances.append((places, count_links(links, classes, replace(truth, targets=targets))))
        return (_in_order(chances), *plain)

    def _folds(
        self, original: Panel, periods: Periods, ground: Ground, calendars: list[Calendar], truth: Truth
    ) -> list[tuple[Linker, Rows]]:
        """A linker for the targets of each half of the subjects, learned from the other half; none if there are too
        few."""
        times, values = local_times(original.times, original.timezone), original.values
        if periods.alignment is not None and periods.alignment.cells:
            # The release is coarser: learn from series with its own step.
            times, values = np.concatenate([periods.known_times, periods.shown_times]), ground.original
        whole = _calendar(times, self.cycle)
        if whole.per_day != calendars[1].per_day:
            return []  # another step over another period: only a model trained on similar series could be used
        n_days = window_days(calendars)
        codes = original.subject_codes
        half = np.random.default_rng(np.random.SeedSequence([self.seed, 7])).permutation(original.n_subjects) % 2
        if min(np.bincount(half, minlength=2)) < FEWEST or whole.n_full_days < 2 * n_days:
            return []
        values = values.reshape(len(values), len(times), -1)
        folds = []
        for fold in (0, 1):
            places = np.flatnonzero(half[codes[truth.targets]] == fold)
            if len(places):
                others = half[codes] != fold
                try:
                    learned = learn_linker(
                        values[others], codes[others], whole, n_days, encoder=self.encoder, seed=self.seed
                    )
                except TooFewWindowsError:
                    return []
                folds.append((learned, places))
        return folds


class RelinkFindings(LinkFindings):
    """What it finds in a shard depends on who else is there to learn from, so shards do not add up."""

    @classmethod
    def merged(cls, several: Sequence[Self]) -> Self:
        """Only for a single shard; links of several, which other attacks add up, are refused."""
        return super(LinkFindings, cls).merged(several)


def _calendar(times: NDArray[Any], cycle: Cycle) -> Calendar:
    calendar = Calendar.of(times, None if isinstance(cycle, str) else int(cycle))
    if calendar is None:
        raise ParameterError(
            "Relink compares days and weeks: it needs instants with dates and a step of at most a day, or a `cycle` of "
            "so many instants."
        )
    return calendar


def _in_order(parts: list[tuple[Rows, Chances]]) -> Chances:
    """The chances of all targets in their order."""
    order = np.argsort(np.concatenate([places for places, _ in parts]))
    joined = Chances.joined([chances for _, chances in parts])
    return Chances(joined.sizes[order], joined.own[order], joined.distances[order])
