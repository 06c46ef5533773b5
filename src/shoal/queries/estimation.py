"""Estimate the ranges and letters that customised publishing left out.

The value at an instant is x = μ + zσ, with μ and σ >= 0 the mean and deviation of the series and z its normalised value
there. A letter gives [floor, ceil] for z: its breakpoints, and for the outermost letters ∓√(n - 1), which no normalised
value of n instants exceeds (a single spike attains it; the paper's √n is looser). So anyone who knows ranges [low,
high] knows

    μ + floor(j) σ <= high(j)           μ + ceil(j) σ >= low(j)           for each of the m instants j with a range
    m μ - σ Σ ceil(i) <= Σ high(j)      m μ - σ Σ floor(i) >= Σ low(j)    i being all other instants: Σ z = 0

and a value with letter α lies between the least μ + floor(α) σ and the largest μ + ceil(α) σ. Each is a linear program
in two unknowns. If every instant has a range, σ is at most half the distance between the lowest and highest end
(Popoviciu); else a program has a solution unless σ can grow without bound along with the objective, which the
constraints show. Besides (lemma 1), it lies above low(j) of every instant with a lower letter and below high(j) of
every one with a higher letter.

Series published with the same ranges, level and word have the same estimates: each such class is solved once, and the
programs of many classes form one program with a block matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.features.sax import MOST_LETTERS, breakpoints, parse, text
from shoal.kernels.equal_rows import row_classes
from shoal.model import Envelopes
from shoal.model.parameters import check_choice

_TOLERANCE = 2e-7  # in deviations: letters are given with 1e-7, see kernels/kp_letters
_SLACK = 1e-6  # of the width of a class: what a solver may leave out
_CLASSES = 2_000  # worked on at a time
_PROGRAMS = 500  # in one matrix; the time of a program grows with it

Array = NDArray[np.float64]
OpenEnds = Literal["release", "series"]


@dataclass(frozen=True, eq=False)
class Estimation:
    """Envelopes and words for all instants of a release, and how reliable they are.

    Parameters
    ----------
    envelopes
        Ranges and letters for every instant that has either: published ones unchanged, the others estimated.
    estimated_ranges, estimated_letters
        Which instants have no published range, and which no published letter.
    assumed
        (series, instants): whether an end of a range does not follow from what is published, and is set as `open_ends`
        says.
    """

    envelopes: Envelopes
    estimated_ranges: NDArray[np.bool_]
    estimated_letters: NDArray[np.bool_]
    assumed: NDArray[np.bool_]


def complete(envelopes: Envelopes, *, open_ends: OpenEnds = "release") -> Envelopes:
    """Ranges and letters for every instant that has either; a release where all have both is returned as it is.

    A range is what the letter and the published ranges leave possible: every original whose word is its own lies in it,
    unless nothing bounds an end, which is then assumed; `estimate` says where. A letter is the one whose own range
    overlaps the published one most, the lower in a tie.

    Parameters
    ----------
    envelopes
        A release with ranges of some instants and words of others; at least one must have both.
    open_ends
        The value of an end that nothing bounds: the lowest or highest of all published ranges ("release", wide, so that
        few originals lie outside) or of those of the same series ("series", closer to the truth on average; queries use
        it).

    Examples
    --------
    >>> low, high = [[1.0, 8.0]], [[2.0, 9.0]]
    >>> published = Envelopes(low, high, levels=[3], patterns=["acba"], times=[0, 1], pattern_times=[0, 1, 2, 3])
    >>> whole = complete(published)
    >>> whole.low[0].round(1).tolist(), whole.high[0].round(1).tolist()
    ([1.0, 8.0, 1.0, -11.1], [2.0, 9.0, 9.0, 4.6])

    References
    ----------
    The paper on (k, P)-anonymity, section 6.
    """
    return estimate(envelopes, open_ends=open_ends).envelopes


def estimate(envelopes: Envelopes, *, open_ends: OpenEnds = "release") -> Estimation:
    """Complete a release, and say which ends of ranges are assumed. See `complete`."""
    check_choice("open_ends", open_ends, OpenEnds)
    if envelopes.n_channels > 1:
        raise ParameterError(
            f"Estimates are made for one channel, the release has {envelopes.n_channels}. Take one: "
            "envelopes.channel(name)."
        )
    times, pattern_times = envelopes.times, np.asarray(envelopes.pattern_times)
    union = np.union1d(times, pattern_times)
    ranged, lettered = np.isin(union, times), np.isin(union, pattern_times)
    if not (ranged & lettered).any():
        raise ParameterError(
            "Ranges and words of this release have no instant in common: nothing ties letters to values, and neither "
            "can be estimated from the other. Ask the publisher for a release in which some instants have both."
        )
    if ranged.all() and lettered.all():
        return Estimation(envelopes, ~ranged, ~lettered, np.zeros(envelopes.low.shape, dtype=np.bool_))
    given = _Given.of(envelopes, ranged, lettered)
    one, of_series = given.classes()
    axis = None if open_ends == "release" else 1
    ends = np.nanmin(given.low, axis=axis, keepdims=True), np.nanmax(given.high, axis=axis, keepdims=True)
    hull = [np.broadcast_to(end, (len(given.low), 1))[one] for end in ends]
    low, high = (np.empty((len(one), len(union))) for _ in range(2))
    letters = np.empty((len(one), len(union)), dtype=np.uint8)
    assumed = np.zeros((len(one), len(union)), dtype=np.bool_)
    for first in range(0, len(one), _CLASSES):
        some = slice(first, first + _CLASSES)
        low[some], high[some], letters[some], assumed[some] = given.rows(one[some]).filled(hull[0][some], hull[1][some])
    whole = replace(
        envelopes,
        low=low[of_series],
        high=high[of_series],
        patterns=tuple(map(text(letters).__getitem__, of_series.tolist())),
        times=union,
        pattern_times=union,
    )
    return Estimation(whole, ~ranged, ~lettered, assumed[of_series])


class _Given(NamedTuple):
    """What is published at each instant of the union: NaN for no range, -1 for no letter."""

    low: Array
    high: Array
    letters: NDArray[np.int64]
    levels: NDArray[np.int64]
    floor: Array
    ceil: Array
    """What [level, letter + 1] says about a normalised value; column 0 is for no letter."""
    n_unknown: int
    """Instants the words were formed over, of which nothing is published."""

    @staticmethod
    def of(envelopes: Envelopes, ranged: NDArray[np.bool_], lettered: NDArray[np.bool_]) -> _Given:
        shape = envelopes.n_series, len(ranged)
        low, high, letters = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, -1, dtype=np.int64)
        low[:, ranged], high[:, ranged] = envelopes.low, envelopes.high
        letters[:, lettered] = parse(envelopes.patterns)
        if (envelopes.levels > MOST_LETTERS).any() or (letters >= envelopes.levels[:, None]).any():
            raise InputError(f"A word has a letter beyond its level, or a level above {MOST_LETTERS}.")
        n = int(envelopes.word_instants or 0)
        return _Given(low, high, letters, envelopes.levels, *_limits(n), n - len(ranged))

    def classes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A row of each class of equal rows, and the class of each row."""
        everything = np.concatenate([self.low, self.high, self.letters, self.levels[:, None]], axis=1)
        one, of_row = np.unique(row_classes(everything.view(np.uint64)), return_inverse=True)
        return one, of_row.reshape(-1)

    def rows(self, rows: NDArray[np.int64]) -> _Given:
        return self._replace(
            low=self.low[rows], high=self.high[rows], letters=self.letters[rows], levels=self.levels[rows]
        )

    def filled(
        self, lowest_end: Array, highest_end: Array
    ) -> tuple[Array, Array, NDArray[np.int64], NDArray[np.bool_]]:
        """Low, high and letters without gaps, and where an end is assumed because nothing bounds it."""
        no_range, no_letter = np.isnan(self.low[0]), self.letters[0] < 0
        lowest, highest = self.letter_bounds(no_range, every_letter=bool(no_letter.any()))
        is_open = np.isinf(lowest) | np.isinf(highest)
        lowest, highest = (
            np.where(np.isinf(lowest), np.minimum(lowest_end, highest), lowest),
            np.where(np.isinf(highest), np.maximum(highest_end, lowest), highest),
        )
        low, high, letters = self.low.copy(), self.high.copy(), self.letters.copy()
        assumed = np.zeros(low.shape, dtype=np.bool_)
        rows, own = np.arange(len(low))[:, None], self.letters[:, no_range]
        low[:, no_range], high[:, no_range] = lowest[rows, own], highest[rows, own]
        assumed[:, no_range] = is_open[rows, own]
        for t in np.flatnonzero(no_letter):
            common = np.minimum(self.high[:, t, None], highest) - np.maximum(self.low[:, t, None], lowest)
            common[np.arange(MOST_LETTERS) >= self.levels[:, None]] = -np.inf
            letters[:, t] = common.argmax(axis=1)
        return low, high, letters, assumed

    def letter_bounds(self, no_range: NDArray[np.bool_], *, every_letter: bool) -> tuple[Array, Array]:
        """For each row and needed letter, the values between which it lies; infinite if unknown."""
        lowest, highest = (np.full((len(self.low), MOST_LETTERS), end) for end in (-np.inf, np.inf))
        both = ~no_range & (self.letters[0] >= 0)
        low, high, letters = self.low[:, both], self.high[:, both], self.letters[:, both]
        needed = np.zeros(lowest.shape, dtype=np.bool_)
        for letter in range(MOST_LETTERS):
            lowest[:, letter] = np.where(letters < letter, low, -np.inf).max(axis=1)
            highest[:, letter] = np.where(letters > letter, high, np.inf).min(axis=1)
            asked = every_letter or (self.letters[:, no_range] == letter).any(axis=1)
            needed[:, letter] = asked & (letter < self.levels)
        region = self.region(no_range)
        row, which = np.nonzero(needed)
        level = self.levels[row]
        below, above = region.ends(row, self.floor[level, which + 1], self.ceil[level, which + 1])
        lowest[row, which] = np.maximum(lowest[row, which], below)
        highest[row, which] = np.minimum(highest[row, which], above)
        contrary = lowest > highest  # no series has such a word in such ranges: nothing can be concluded
        return np.where(contrary, -np.inf, lowest), np.where(contrary, np.inf, highest)

    def region(self, no_range: NDArray[np.bool_]) -> _Region:
        """What is known about the mean and deviation of each row."""
        low, high = self.low[:, ~no_range], self.high[:, ~no_range]
        offset = low.min(axis=1)
        width = high.max(axis=1) - offset
        scale = np.where(width > 0.0, width, 1.0)
        low, high = ((end - offset[:, None]) / scale[:, None] for end in (low, high))
        level = self.levels[:, None]
        floor, ceil = self.floor[level, self.letters + 1], self.ceil[level, self.letters + 1]
        others = self.n_unknown * self.ceil[1, 0]
        rest_floor, rest_ceil = floor[:, no_range].sum(axis=1) - others, ceil[:, no_range].sum(axis=1) + others
        n_ranges = low.shape[1]
        at_most = _tightest(_beside(floor[:, ~no_range], -rest_ceil / n_ranges), _beside(high, high.mean(axis=1)))
        at_least = _tightest(-_beside(ceil[:, ~no_range], -rest_floor / n_ranges), -_beside(low, low.mean(axis=1)))
        widest = np.full(len(low), np.inf)
        if not (no_range.any() or self.n_unknown):
            widest = 0.5 * (width > 0.0)
        slack = _SLACK * width + 4 * np.spacing(np.abs(offset) + width)
        return _Region(at_most, at_least, widest, offset, scale, slack)


class _Lines(NamedTuple):
    """±μ + slope σ <= limit, several for each row; only those with `kept`."""

    slope: Array
    limit: Array
    kept: NDArray[np.bool_]


class _Region(NamedTuple):
    """The possible mean and deviation of each class, in units of its own."""

    at_most: _Lines
    at_least: _Lines
    widest: Array
    """The largest deviation."""
    offset: Array
    scale: Array
    slack: Array

    def ends(self, row: NDArray[np.int64], floor: Array, ceil: Array) -> tuple[Array, Array]:
        """For each row, the least μ + floor σ and the largest μ + ceil σ, infinite if there is none."""
        steepest, flattest = self.at_most.slope[row, 0], -self.at_least.slope[row, 0]
        # The deviation may grow if no letters are far enough apart.
        endless = (steepest <= flattest + _SLACK) & np.isinf(self.widest[row])
        bounded = ~(endless & (floor < flattest)), ~(endless & (ceil > steepest))
        found = []
        for sign, slope, solvable in ((1.0, floor, bounded[0]), (-1.0, ceil, bounded[1])):
            best = np.full(len(row), -np.inf)
            where = np.flatnonzero(solvable)
            for first in range(0, len(where), _PROGRAMS):
                some = where[first : first + _PROGRAMS]
                best[some] = self._least(row[some], sign, sign * slope[some])
            found.append(sign * (best * self.scale[row] - self.slack[row]) + self.offset[row])
        return found[0], found[1]

    def _least(self, row: NDArray[np.int64], sign: float, slope: Array) -> Array:
        """For each row, the least sign μ + slope σ; -infinity if nothing is possible at all."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        limits, data, block = [], [], []
        for direction, lines in ((1.0, self.at_most), (-1.0, self.at_least)):
            kept = lines.kept[row]
            limits.append(lines.limit[row][kept])
            data.append(np.stack([np.full(len(limits[-1]), direction), lines.slope[row][kept]], axis=1))
            block.append(np.nonzero(kept)[0])
        columns = 2 * np.concatenate(block)[:, None] + [0, 1]
        starts = 2 * np.arange(len(columns) + 1)
        matrix = csr_array((np.concatenate(data).ravel(), columns.ravel(), starts), shape=(len(columns), 2 * len(row)))
        objective = np.stack([np.full(len(row), sign), slope], axis=1)
        bounds = np.tile([[-np.inf, np.inf], [0.0, np.inf]], (len(row), 1, 1))
        bounds[:, 1, 1] = self.widest[row]
        found = linprog(
            objective.ravel(),
            A_ub=matrix,
            b_ub=np.concatenate(limits),
            bounds=bounds.reshape(-1, 2),
            method="highs-ds",
            options={"presolve": False},
        )
        if found.status == 0:
            best: Array = (objective * found.x.reshape(-1, 2)).sum(axis=1)
            return best
        if len(row) == 1:
            return np.array([-np.inf])
        # A class whose ranges and word contradict each other makes the whole program infeasible: find it.
        half = len(row) // 2
        return np.concatenate(
            [self._least(row[:half], sign, slope[:half]), self._least(row[half:], sign, slope[half:])]
        )


def _limits(n: int) -> tuple[Array, Array]:
    """The normalised values between which each letter of each level lies, [level, letter + 1]; column 0 is for none."""
    furthest = np.sqrt(max(n - 1, 0))
    floor = np.full((MOST_LETTERS + 1, MOST_LETTERS + 1), -furthest)
    ceil = -floor
    for level in range(2, MOST_LETTERS + 1):
        floor[level, 2 : level + 1] = np.maximum(breakpoints(level), -furthest)
        ceil[level, 1:level] = np.minimum(breakpoints(level), furthest)
    return floor - _TOLERANCE, ceil + _TOLERANCE


def _beside(x: Array, further: Array) -> Array:
    return np.concatenate([x, further[:, None]], axis=1)


def _tightest(slope: Array, limit: Array) -> _Lines:
    """Lines by decreasing slope; because σ >= 0, a line is superfluous if one at least as steep has a limit at least as
    low."""
    order = np.lexsort((limit, -slope), axis=-1)
    slope, limit = (np.take_along_axis(x, order, axis=1) for x in (slope, limit))
    before = np.minimum.accumulate(limit, axis=1)[:, :-1]
    kept = np.concatenate([np.ones((len(limit), 1), dtype=np.bool_), limit[:, 1:] < before], axis=1)
    return _Lines(slope, limit, kept)
