"""What a label task may show: groups of m·k that the release stays within, in experiments/pad_paper.py."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pad_paper_data import INTERESTS, Floats
from pad_paper_learning import losses, publish, show, too_few, wanted
from pad_paper_plan import Plan

from shoal.features import LinearMetric
from shoal.features.interests import label_pairs

WITHIN, GENERIC_WITHIN, FREE, WANTED_WITHIN, HELD_OUT = "within", "generic within", "free", "wanted within", "held out"


@dataclass
class Shown:
    """One interest on one set; every list has one figure for each repetition. Places are (m, k)."""

    name: str
    interest: str
    share: dict[tuple[str, int, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    """Loss as a share of that of a generic release without a label task, by what is done and place."""
    small: dict[tuple[str, int, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    """Share of days left in a crowd below k when what was shown and what was released are intersected."""
    smallest: dict[tuple[str, int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    n_curves: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    few: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    """How often there were too few curves to learn from."""

    def add(self, other: "Shown") -> None:
        """Append further repetitions."""
        for name in ("share", "small", "smallest", "n_curves"):
            for place, figures in getattr(other, name).items():
                getattr(self, name)[place].extend(figures)
        for place, times in other.few.items():
            self.few[place] += times


def show_groups(name: str, interest: str, days: Floats, plan: Plan, seed: int, repetition: int) -> Shown:
    """One repetition: four fifths of the days by chance, shown and then released."""
    found, rng = Shown(name, interest), np.random.default_rng([seed, 4, repetition])
    days = days[rng.permutation(len(days))[: len(days) * 4 // 5]]
    of, number = INTERESTS[interest], int(rng.integers(2**31))
    for k in plan.shown_ks:
        generic = losses(name, interest, days, {"": "raw"}, k, None)[""]
        for m in plan.multiples:
            groups, curves = show(days, m * k)
            found.n_curves[m, k].append(len(curves))
            learned = _learned(curves, interest, plan, number)
            found.few[m, k] += learned == "raw"
            asked = {WITHIN: learned, GENERIC_WITHIN: "raw", WANTED_WITHIN: wanted(of)}
            lost = losses(name, interest, days, asked, k, groups)
            lost[FREE] = losses(name, interest, days, {"": learned}, k, None)[""]
            for what, own in lost.items():
                found.share[what, m, k].append(own / generic if generic > 0.0 else 1.0)
            for what, within in ((WITHIN, groups), (FREE, None)):
                crowds = _crowds(groups, publish(name, days, learned, k, within).private.groups)
                found.small[what, m, k].append(float((crowds < k).mean()))
                found.smallest[what, m, k].append(int(crowds.min()))
        found.share[HELD_OUT, 1, k].append(_held_out(name, interest, days, plan, k, number))
    return found


def _learned(curves: Floats, interest: str, plan: Plan, seed: int) -> Any:
    """The metric that labels of these curves give; Euclidean distance where there are too few of them."""
    if len(curves) < 2:
        return "raw"
    pairs = label_pairs(curves, INTERESTS[interest], n_pairs=plan.shown_pairs, seed=seed)
    return "raw" if too_few(pairs) else LinearMetric(seed=seed).learn(*pairs)


def _held_out(name: str, interest: str, days: Floats, plan: Plan, k: int, seed: int) -> float:
    """A third of the days is shown in groups of k, and the others are released by what was learned."""
    shown, others = days[: len(days) // 3], days[len(days) // 3 :]
    _, curves = show(shown, k)
    learned = _learned(curves, interest, plan, seed)
    lost = losses(name, interest, others, {"learned": learned, "generic": "raw"}, k, None)
    return lost["learned"] / lost["generic"] if lost["generic"] > 0.0 else 1.0


def _crowds(shown: Floats, released: Floats) -> Floats:
    """For each day how many are in its group of the task and in its group of the release."""
    _, both = np.unique(np.stack([shown, released]), axis=1, return_inverse=True)
    return np.bincount(both.reshape(-1))[both.reshape(-1)]
