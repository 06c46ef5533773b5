"""Cut every series into slices that nobody can reassemble by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.methods.altered import AlteringMethod, candidate_of, shaped
from shoal.methods.lengths import Length, check_length, instants_in
from shoal.model import Candidate, Panel, Progress
from shoal.model.parameters import check_choice

Dates = Literal["dropped", "kept"]


@dataclass(frozen=True, kw_only=True)
class TimeSlicing(AlteringMethod):
    """Cut every series into slices of one length and publish each under its own pseudonym.

    Slices are counted from the first instant. A remainder at the end is withheld, because a shorter slice would reveal
    its time; the recipe says how many instants. A panel shorter than one slice is one slice.

    Aims at no guarantee: every reading is true, and habits help to reassemble slices. Judge it by attack. Slices of
    equal series are equal. A gap stays in its slice.

    Parameters
    ----------
    length
        How long a slice is: "1d", "7d", or a number of instants. Shorter hides better and breaks more trends.
    dates
        "dropped": instants are counted from the start of each slice, so that not even the day is revealed. "kept": a
        slice keeps its times, and is missing at all others; the table grows by the number of slices.

    Examples
    --------
    >>> panel = Panel([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    >>> candidate = TimeSlicing(length=2).anonymize(panel)
    >>> candidate.values.tolist()
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
    >>> candidate.stands_for.tolist()
    [0, 0, 1, 1]

    References
    ----------
    "Data-driven anonymization process applied to time series", section 5.1 (time slicing breaks individual trends).
    """

    same_in_all_shards: ClassVar[frozenset[str]] = frozenset({"slices", "instants_withheld"})
    name: ClassVar[str] = "time-slicing"
    keeps_equal: ClassVar[bool] = True
    each_alone: ClassVar[bool] = True
    keeps_apart: ClassVar[bool] = True
    takes_fictives: ClassVar[bool] = True

    length: Length
    dates: Dates = "dropped"

    def __post_init__(self) -> None:
        check_length(self.length, "length")
        check_choice("dates", self.dates, Dates)

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Cut; rows are the slices of the first series in the order of time, then those of the next."""
        length, n_slices = self._cuts(panel)
        n, channels = panel.n_series, panel.n_channels
        cut = panel.cube[:, : n_slices * length].reshape(n, n_slices, length, channels)
        if self.dates == "dropped":
            values, times = cut, np.arange(length)
        else:
            values, times = np.full((n, n_slices, panel.n_instants, channels), np.nan), panel.times
            for at in range(n_slices):
                values[:, at, at * length : (at + 1) * length] = cut[:, at]
        flat = values.reshape(n * n_slices, -1, channels)
        published = panel.like(
            flat if panel.values.ndim == 3 else flat[:, :, 0],
            times=times,
            subjects=np.repeat(panel.subject_codes, n_slices),
            timezone=panel.timezone if self.dates == "kept" else None,
        )
        if progress is not None:
            progress(n, n)
        return candidate_of(
            self,
            panel,
            published,
            figures={"slices": n_slices, "instants_withheld": panel.n_instants - n_slices * length},
            curves=self.unfold(panel, published),
            stands_for=np.repeat(np.arange(n), n_slices),
        )

    def unfold(self, original: Panel, published: Panel) -> Panel:
        """The slices of each series put together again; missing where nothing was published."""
        length, n_slices = self._cuts(original)
        shape = (original.n_series, n_slices, -1, original.n_channels)
        slices = published.cube.reshape(shape)
        values = np.full((original.n_series, original.n_instants, original.n_channels), np.nan)
        for at in range(n_slices):
            here = slice(at * length, (at + 1) * length)
            values[:, here] = slices[:, at] if self.dates == "dropped" else slices[:, at, here]
        return shaped(original, values)

    def _cuts(self, panel: Panel) -> tuple[int, int]:
        """Instants of a slice, and the number of whole slices."""
        length = min(instants_in(self.length, panel, "length"), panel.n_instants)
        return length, panel.n_instants // length
