"""Everything that experiments/kp_paper.py measured, in one place."""

from dataclasses import dataclass, replace

from kp_paper_data import EACH, WALK, WHOLE, Sets
from kp_paper_measures import KAPRA, RELEASES, Figures, Losses, Plan, Times, losses, more_instants, more_series, times
from kp_paper_queries import Asked, Customised, Levels, customised, on_string, on_walk


@dataclass(frozen=True)
class Results:
    """What page, figures and findings are made of, under one reading of "normalized to [0,1]"."""

    plan: Plan
    sets: Sets
    losses: dict[str, Losses]
    more_series: dict[int, dict[str, Figures]]
    more_instants: dict[int, dict[str, Figures]]
    times: Times
    walk: Asked
    string: Asked
    levels: Levels
    customised: Customised


def measure(sets: Sets, plan: Plan, seed: int) -> dict[str, Results]:
    """All of it under one reading; under the other what depends on it: letters, and times about, are the same."""
    found = _losses(sets, plan, seed)
    string, levels = on_string(sets, plan, seed)
    whole = Results(
        plan=plan,
        sets=sets,
        losses=found,
        more_series=more_series(plan, seed),
        more_instants=more_instants(plan, seed),
        times=times(sets, plan, seed),
        walk=on_walk(sets.panels[WALK], found[WALK], plan, seed),
        string=string,
        levels=levels,
        customised=customised(sets, plan, seed),
    )
    other = sets.by_series
    found = _losses(other, plan, seed)
    each = replace(
        whole,
        sets=other,
        losses=found,
        walk=on_walk(other.panels[WALK], found[WALK], plan, seed),
        customised=customised(other, plan, seed),
    )
    return {WHOLE: whole, EACH: each}


def _losses(sets: Sets, plan: Plan, seed: int) -> dict[str, Losses]:
    """P and k are varied for all releases on the sets that are drawn, for KAPRA, which suppresses, on all."""
    return {
        name: losses(panel, plan, seed, RELEASES if name in sets.shown else (KAPRA,))
        for name, panel in sets.panels.items()
    }
