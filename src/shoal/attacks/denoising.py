"""Filtering noise out of a release before linking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from shoal.attacks.components import denoise
from shoal.attacks.ground import SeriesAttack, Truth
from shoal.attacks.known_points import KnownPoints
from shoal.attacks.links import LinkFindings, LinkRisk
from shoal.attacks.sentences import OTHERS_FIT
from shoal.attacks.words import check_amount, check_targets, percent
from shoal.errors import ParameterError
from shoal.model import Findings, Interval, Panel
from shoal.model.parameters import check_whole


@dataclass(frozen=True)
class DenoisingRisk(LinkRisk):
    """What filtering the release adds to linking.

    Parameters
    ----------
    plain, plain_interval
        The same success without filtering.
    n_components
        Components that carry more than noise.
    """

    plain: float = 0.0
    plain_interval: Interval | None = None
    n_components: int = 0


@dataclass(frozen=True)
class Denoising(SeriesAttack[DenoisingRisk]):
    """The chance of finding a target's published series from a few readings, after filtering noise out of the release.

    Series have much in common; noise does not. The adversary decomposes the release into principal components, keeps
    those above what noise alone would produce, and weights everything by its share of signal (Wiener filter); then it
    links n known readings to the filtered series as `KnownPoints` does.

    Parameters
    ----------
    n
        How many readings of each target the adversary knows, at random instants.
    snr
        The signal-to-noise ratio of variances that the release states. By default it is estimated from the changes in
        the smoothest series, which mistakes slow noise for signal.
    n_targets
        Attack this many targets, drawn at random; all by default. Candidates are never sampled.
    seed
        Draws targets and instants.

    Examples
    --------
    >>> habit = np.outer([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 4.0, 2.0, 8.0, 5.0, 7.0, 3.0, 6.0])
    >>> noise = 6.0 * np.random.default_rng(4).standard_normal(habit.shape)
    >>> found = Denoising(4, snr=3.0).attack(Panel(habit), Panel(habit + noise))
    >>> found.success > found.plain
    True

    References
    ----------
    "Data-driven anonymization process applied to time series", sections 2 and 5.1; Z. Huang, W. Du, B. Chen,
    "Deriving private information from randomized data", 2005.
    """

    name: ClassVar[str] = "denoising"
    meaning: ClassVar[str] = (
        "chance of finding a target's published series from a few readings once noise is filtered out"
    )
    called: ClassVar[str] = "a few readings, and how to filter noise"
    against: ClassVar[str] = "values"
    answers: ClassVar[Mapping[str, str]] = {"singling out": "success"}
    control: ClassVar[str] = OTHERS_FIT

    n: int = 20
    snr: float | None = None
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("n", self.n, 1)
        if self.snr is not None:
            check_amount("snr", self.snr)
        check_targets(self.n_targets, self.seed)

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        return f"Exact readings at {self.n} instants drawn at random, and that noise was added to the release."

    def look(self, original: Panel, published: Panel, truth: Truth) -> DenoisingFindings:
        """The filtered series nearest to the known readings, and the published ones."""
        values = published.cube
        if np.isnan(values).all():
            raise ParameterError("Denoising needs published readings, but there are none.")
        filtered, n_components = denoise(values, self.snr)
        clean = published.like(filtered.reshape(published.values.shape), copy=False)
        after, before = (self._link.look(original, series, truth) for series in (clean, published))
        return DenoisingFindings(after, before, n_components)

    def risk(self, findings: DenoisingFindings) -> DenoisingRisk:
        """The chance of finding a target's own published series, and what filtering adds to it."""
        after, before = self._link.risk(findings.after), self._link.risk(findings.before)
        figures = {field.name: getattr(after, field.name) for field in fields(LinkRisk)}
        found, _, guessing = after.sentence.rpartition("; ")
        figures["sentence"] = f"{found}, without filtering {percent(before.success)}; {guessing}"
        return DenoisingRisk(
            **figures, plain=before.success, plain_interval=before.interval, n_components=findings.n_components
        )

    @property
    def _link(self) -> KnownPoints:
        # Filtering addresses noise; on another scale, `KnownPoints` alone says more than a filter adds.
        return KnownPoints(int(self.n), scale="same", seed=self.seed)


@dataclass(frozen=True, eq=False, repr=False)
class DenoisingFindings(Findings):
    """Links to filtered series and to published ones. Which components stand out depends on everyone."""

    after: LinkFindings
    before: LinkFindings
    n_components: int
