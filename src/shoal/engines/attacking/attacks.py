"""Attacks on series that lie on an engine: targets are drawn, candidates never.

Every published row is a candidate. Each block gets the targets once and says what is nearest there; blocks are merged
exactly, so that the risk is that of the same attack in memory on the same targets (rows sorted by id), ties included.
Draws of chance that do not depend on the panel's order are the same as well; errors in known totals, and figures that
rest on a mean over all series (the spread of readings and of statistics, the level of a coarser release), are worked
out exactly here and rounded in memory, so they may differ in the last digit.

At the driver and in every worker: the targets' originals. From each part to the others: a few numbers for each target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.attacks import KnownPoints, KnownTotals, Linkage, NearestNeighbour
from shoal.attacks.ground import Alignment, Ground, Truth, align
from shoal.attacks.habits import find_slots
from shoal.attacks.known_points import Scene, View, guessed_instants, marks, readings_at
from shoal.attacks.links import LinkRisk, better, link_figures
from shoal.attacks.nearest_neighbour import find_periods
from shoal.attacks.slices import has_slices
from shoal.attacks.totals import find_steps, step_words, sum_steps
from shoal.engines.attacking.linkage import attack_envelopes, refuse_linkage
from shoal.engines.attacking.links import Plan, Way, link, tell
from shoal.engines.attacking.targets import (
    Floats,
    Present,
    Targets,
    count_present,
    draw_targets,
    left_out,
    moments,
)
from shoal.engines.attacking.ways import (
    Aligned,
    AtPoints,
    ByFit,
    ByRows,
    ByWarping,
    Habits,
    Level,
    Levels,
    OriginalSummed,
    Readings,
    Shown,
    Summed,
)
from shoal.engines.blocks import PUBLISHED, BlockCandidate
from shoal.engines.rows import ROW
from shoal.errors import ParameterError
from shoal.kernels.likeness import LEAST
from shoal.model import Risk


def attack(attack: Any, candidate: BlockCandidate, *, targets: int | None = None, seed: int = 0) -> Risk:
    """What `attack.attack` finds in memory, found where the blocks are.

    Parameters
    ----------
    attack
        One of `shoal.attacks`: known-points (not the worst instants), known-totals, nearest-neighbour; of envelopes
        linkage.
    candidate
        What a method made on an engine, with the originals beside it.
    targets
        Attack all series of so many subjects, those with the lowest hash of their names; by default all subjects, where
        they fit in one place. An attack's own `n_targets` holds if it is lower.
    seed
        Of that hash. What the attack draws itself comes from its own seed.

    Examples
    --------
    >>> from shoal import Microaggregation, simulate
    >>> from shoal.attacks import KnownTotals
    >>> from shoal.engines import BlockPanel, Local, anonymize, attack
    >>> with Local() as engine:
    ...     panel = BlockPanel.of(simulate.meters(200, days=7, seed=1), engine)
    ...     risk = attack(KnownTotals(), anonymize(Microaggregation(k=10), panel), targets=50)
    >>> risk.n_targets, risk.highest <= 0.1
    (50, True)
    """
    if attack.name not in _ATTACKS and attack.name != Linkage.name:
        able = ", ".join(sorted({*_ATTACKS, Linkage.name}))
        raise ParameterError(
            f"{attack.name} does not run on an engine. Those that do: {able}. In memory, without --engine, it does: "
            "try it on a part of the series."
        )
    if targets is not None and (isinstance(targets, bool) or targets < 1):
        raise ParameterError("targets must be a whole number of at least 1.")
    candidate = candidate.shown
    if attack.name == Linkage.name:
        refuse_linkage(attack, candidate)
        return attack_envelopes(attack, candidate, draw_targets(candidate.panel, targets, seed))
    if candidate.form != "values":
        raise ParameterError(
            f"{attack.name} attacks published series of values; this candidate has {candidate.form}. Envelopes and "
            "words are attacked by linkage."
        )
    if has_slices(candidate.panel.clock, candidate.clock):
        raise ParameterError(
            f"{attack.name} does not compare slices without dates on an engine: which slice is of which stretch is "
            "worked out from all slices of a series. Keep the dates, or attack a part of the series in memory."
        )
    wanted = [n for n in (targets, attack.n_targets) if n is not None]
    drawn = draw_targets(candidate.panel, min(wanted) if wanted else None, seed)
    return _ATTACKS[attack.name](attack, candidate, drawn)


def _known_points(attack: KnownPoints, candidate: BlockCandidate, targets: Targets) -> Risk:
    if attack.choose == "worst":
        raise ParameterError(
            "choose='worst' tries instants on all published series at once and does not run on an engine. Use 'random' "
            "or 'peaks', or attack a part of the series in memory."
        )
    panel = candidate.panel
    alignment = _alignment("KnownPoints", candidate)
    shown = Aligned(alignment)
    targets, present = _present(candidate, targets, shown)
    true = np.ascontiguousarray(alignment.original(targets.values))
    if panel.n_missing == panel.n_series * panel.clock.n_instants * panel.clock.n_channels:
        raise ParameterError("KnownPoints needs readings to know; at the instants of the release there are none.")
    width = panel.clock.n_channels
    spread = np.zeros(width)
    if attack.noise:
        spread = moments(panel.engine, panel.table, ROW, panel.clock, Readings(alignment), width).deviations
    truth = _truth(candidate, targets)
    nothing = np.zeros(0, dtype=np.int64)
    scene = Scene(Ground(true, true[:0], alignment.times), truth, true[:0], nothing, spread)
    ways, guessed = [], []
    for fitted in attack.ways(scene):
        places, _ = attack.places(scene, truth, true, fitted)
        known = readings_at(true, places)
        seen, believed = attack.as_known(scene, truth, known, places)
        used = marks(places, len(alignment.times))
        within = float(attack.within)
        ways.append(AtPoints(np.ascontiguousarray(seen), believed, int(attack.shift), fitted, true, used, within))
        guessed.append(guessed_instants(known, true, used, within))
    plan = _plan(candidate, shown, tuple(ways), targets)
    linked = link(candidate, plan)
    unproven = np.zeros(len(true), dtype=np.bool_)
    views = [
        View(found.chances, told, by_chance, unproven)
        for found, told, by_chance in zip(linked, tell(candidate, plan, linked), guessed, strict=True)
    ]
    return attack.conclude(views, scene, present.guesses(targets))


def _known_totals(attack: KnownTotals, candidate: BlockCandidate, targets: Targets) -> Risk:
    panel = candidate.panel
    alignment = _alignment("KnownTotals", candidate)
    starts = find_steps(alignment.times, attack.step)
    shown = Summed(alignment, starts)
    targets, present = _present(candidate, targets, shown)
    known = sum_steps(alignment.original(targets.values), starts)
    if attack.noise:
        spread = moments(panel.engine, panel.table, ROW, panel.clock, OriginalSummed(alignment, starts), 1).deviations
        errors = [
            np.random.default_rng(np.random.SeedSequence([attack.seed, 2, position])).standard_normal(known.shape[1])
            for position in targets.positions.tolist()
        ]
        known = known + attack.noise * spread[0] * np.array(errors)
    ways: list[Way] = [ByRows(known, bool(present.gaps or np.isnan(known).any()))]
    if attack.scale == "any" and len(starts) >= LEAST:
        ways.append(ByFit(known, np.diff(starts, append=len(alignment.times))))
    holds = step_words(attack.step) + (" with errors" if attack.noise else "")
    return _concluded(candidate, targets, present, shown, tuple(ways), holds)


def _nearest_neighbour(attack: NearestNeighbour, candidate: BlockCandidate, targets: Targets) -> Risk:
    panel = candidate.panel
    periods = find_periods(panel.clock, candidate.clock)
    x = targets.values
    if periods.alignment is not None:
        alignment = _alignment("NearestNeighbour", candidate)
        periods = replace(periods, alignment=alignment)
        x = alignment.original(x)
    slots, there = find_slots(periods.known_times, attack.cycle), find_slots(periods.shown_times, attack.cycle)
    common = np.intersect1d(slots, there)
    if not len(common):
        raise ParameterError(
            "NearestNeighbour compares the same parts of a cycle, and the two periods share none. "
            "Choose a shorter cycle or longer periods."
        )
    habits = Habits(periods, there, common, attack.distance == "features")
    if habits.statistics:
        width = habits.of(x[:1, periods.known], slots).shape[1]
        spread = moments(panel.engine, candidate.table, PUBLISHED, candidate.clock, habits, width).deviations
        habits = Habits(periods, there, common, True, spread)
    known = habits.of(x[:, periods.known], slots)
    targets = replace(targets, values=known)
    targets, present = _present(candidate, targets, habits)
    known = targets.values
    way: Way = ByRows(known, bool(present.gaps or np.isnan(known).any()))
    if attack.distance == "dtw":
        way = _warping(attack, known, present.gaps, panel.clock.n_channels)
    return _concluded(candidate, targets, present, habits, (way,), "series of another period")


def _warping(attack: NearestNeighbour, known: Floats, gaps: int, n_channels: int) -> Way:
    if n_channels != 1:
        raise ParameterError(
            f"distance='dtw' needs one channel, the panels have {n_channels}. Use 'euclidean' or 'features'."
        )
    if gaps := gaps + int(np.isnan(known).any(axis=1).sum()):
        raise ParameterError(
            f"distance='dtw' needs mean cycles without gaps, {gaps} have some. Use 'euclidean' or 'features', or "
            "read the panel with `missing` set to 'drop-series' or 'interpolate:2h'."
        )
    return ByWarping(known, int(attack.band * known.shape[1]))


_ATTACKS: Mapping[str, Callable[[Any, BlockCandidate, Targets], Risk]] = {
    "known-points": _known_points,
    "known-totals": _known_totals,
    "nearest-neighbour": _nearest_neighbour,
}


def _concluded(
    candidate: BlockCandidate, targets: Targets, present: Present, shown: Shown, ways: tuple[Way, ...], holds: str
) -> LinkRisk:
    views = [found.chances for found in link(candidate, _plan(candidate, shown, ways, targets))]
    guesses = present.guesses(targets)
    return LinkRisk(**link_figures(views[better(views)], _truth(candidate, targets), holds, guesses, views))


def _alignment(name: str, candidate: BlockCandidate) -> Alignment:
    """How both sides come to the same instants; what a coarser release shows is judged by the general level."""
    panel = candidate.panel
    found = align(name, panel.clock, candidate.clock)
    if not found.cells:
        return found
    levels = moments(panel.engine, panel.table, ROW, panel.clock, Levels(found), 3).means
    level = moments(panel.engine, candidate.table, PUBLISHED, candidate.clock, Level(found), 1).means
    return found.chosen(np.nan_to_num(levels).tolist(), float(np.nan_to_num(level)[0]))


def _present(candidate: BlockCandidate, targets: Targets, shown: Shown) -> tuple[Targets, Present]:
    """The targets that are published, and what is known of all published rows."""
    found = count_present(candidate, targets, shown)
    targets = targets.kept(found.rows > 0)
    if not len(targets.positions):
        raise ParameterError("None of the targets is in the release: there is nothing to attack.")
    return targets, found


def _plan(candidate: BlockCandidate, shown: Shown, ways: tuple[Way, ...], targets: Targets) -> Plan:
    n_targets = len(targets.positions)
    return Plan(candidate.clock, shown, ways, n_targets, targets.subjects, targets.of_targets)


def _truth(candidate: BlockCandidate, targets: Targets) -> Truth:
    """What the figures need of it: where the targets stand, and how many originals are none."""
    nobody = np.zeros(0, dtype=np.int64)
    return Truth(nobody, nobody, nobody, targets.positions, left_out(candidate))
