"""The tables in experiments/nlk_paper.py that judge "optimal": against "mth" cell by cell, and by three targets."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from nlk_paper_measures import Measured, Plan, Results, Runs

RATIO, GAP = 0.86, 0.03  # targets: mean ratio to mth, mean distance from the bound
HEADER = "| k | l − n | cluster | optimal grouping alone | mth | optimal | optimal / mth | gap at most | seconds |"


@dataclass(frozen=True)
class Cell:
    """The releases at one k and l - n."""

    k: int
    margin: int
    cluster: Measured
    alone: Measured  # optimal grouping without anybody below k
    mth: Measured
    optimal: Measured

    @property
    def ratio(self) -> float:
        """Divergence of optimal as a share of that of mth."""
        return self.optimal.divergence / self.mth.divergence


@dataclass(frozen=True)
class Acceptance:
    """All cells of one set."""

    cells: tuple[Cell, ...]

    @property
    def ratio(self) -> float:
        """The mean over the cells."""
        return float(np.mean([cell.ratio for cell in self.cells]))

    @property
    def gap(self) -> float:
        """The mean over the cells."""
        return float(np.mean([cell.optimal.gap for cell in self.cells]))

    @property
    def least(self) -> float:
        """The ratio of the lower bound: no release of runs of neighbours under the condition of optimal is below it."""
        return float(np.mean([cell.ratio / (1.0 + cell.optimal.gap) for cell in self.cells]))

    @property
    def below(self) -> int:
        """In how many cells optimal loses less than mth."""
        return sum(cell.ratio < 1.0 for cell in self.cells)

    @property
    def slowest(self) -> float:
        """Processor seconds of optimal, the most of any cell."""
        return max(cell.optimal.seconds for cell in self.cells)

    def answers(self) -> list[str]:
        """The three targets, and where the difference comes from."""
        cluster, alone, mth, optimal = self.means
        why = "" if self.ratio <= RATIO or self.least <= RATIO else f" {self._why()}"
        return [
            f"Below mth in every cell? {_word(self.below == len(self.cells))} In {self.below} of {len(self.cells)}.",
            f"Mean ratio at most {RATIO}? {_word(self.ratio <= RATIO)} {self.ratio:.3f}.{why}",
            f"Mean gap at most {GAP:.0%}? {_word(self.gap <= GAP)} {self.gap:.2%}.",
            f"Of the mean loss of `cluster`, grouping by `optimal` takes away {1.0 - alone / cluster:.1%}, being alone "
            f"a further {(alone - optimal) / cluster:.1%}; stage 2 of `mth` {1.0 - mth / cluster:.1%}. The slowest "
            f"cell took {self.slowest:.2f} s.",
        ]

    @property
    def means(self) -> list[float]:
        """Mean divergence of cluster, optimal grouping alone, mth and optimal."""
        names = ("cluster", "alone", "mth", "optimal")
        return [float(np.mean([getattr(cell, name).divergence for cell in self.cells])) for name in names]

    def _why(self) -> str:
        return (
            f"The lower bound itself is {self.least:.3f} of `mth`: under the condition of `optimal`, with groups that "
            "are runs of neighbouring values, no release reaches the target here."
        )

    def table(self) -> str:
        """One row per cell and their averages."""
        lines = [HEADER, "|" + "---:|" * 9]
        for c in self.cells:
            shown = _shown(c.cluster.divergence, c.alone.divergence, c.mth.divergence, c.optimal.divergence)
            ends = f"{c.ratio:.3f} | {c.optimal.gap:.2%} | {c.optimal.seconds:.2f} |"
            lines.append(f"| {c.k} | {c.margin} | {shown} | {ends}")
        seconds = float(np.mean([c.optimal.seconds for c in self.cells]))
        ends = f"**{self.ratio:.3f}** | **{self.gap:.2%}** | {seconds:.2f} |"
        lines.append(f"| mean | | {_shown(*self.means)} | {ends}")
        return "\n".join(lines)


def acceptances(results: Results) -> dict[str, Acceptance]:
    """The table of every set of meters."""
    return {name: Acceptance(tuple(_cells(results.runs[name], results.plan))) for name in results.sets.meters}


def _cells(runs: Runs, plan: Plan) -> Iterator[Cell]:
    n = plan.target_n
    for k in plan.target_ks:
        for margin in plan.target_margins:
            yield Cell(
                k,
                margin,
                cluster=runs.get("cluster", n, n + margin, k),
                alone=runs.get("optimal", n, n + 1, k),
                mth=runs.get("mth", n, n + margin, k),
                optimal=runs.get("optimal", n, n + margin, k),
            )


def _shown(*shares: float) -> str:
    return " | ".join(f"{share:.2%}" for share in shares)


def _word(yes: bool) -> str:
    return "**Yes.**" if yes else "**No.**"
