"""Everything that experiments/kp_paper.py measured, in one place."""

from dataclasses import dataclass

from kp_paper_data import WALK, Sets
from kp_paper_measures import Figures, Losses, Plan, Times, losses, more_instants, more_series, times
from kp_paper_queries import Asked, Customised, Levels, customised, on_string, on_walk


@dataclass(frozen=True)
class Results:
    """What page, figures and findings are made of."""

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


def measure(sets: Sets, plan: Plan, seed: int) -> Results:
    """All of it."""
    found = {name: losses(panel, plan, seed) for name, panel in sets.panels.items()}
    string, levels = on_string(sets, plan, seed)
    return Results(
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
