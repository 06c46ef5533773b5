"""How much of the future the rolling plan would have to know to come near the offline optimum, on the register.

    python experiments/reposition_look_ahead.py --days 120 --seed 1

A window of 7 knows the snapshot that leaves and the 7 after it. Here the same program is solved at each departure with
more of the future given away: those events are known, and may be planned for, but delays keep their limit and only the
snapshot that leaves is final. Each look-ahead gets the price of leaving events to snapshots beyond it that is best in
hindsight, which no online method knows. It writes a section of docs/results/reposition-plans.md.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from offline_reposition import offline
from reposition_paper_data import LEVELS, PER_DAY, REGISTER
from reposition_yardsticks import Counts, counts_of

from shoal import simulate
from shoal.methods.reposition_costs import delay_costs
from shoal.methods.rolling_plan import place

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))

from sections import put_section  # noqa: E402

WINDOW, LOST_LIKE = 7, 30.0
NEAR = 0.05
LOOK_AHEADS = (7, 14, 28)
PRICES = (0.8, 1.0)
PAGE = HERE.parent / "docs" / "results" / "reposition-plans.md"
TITLE = "Reposition: planning the window anew, remedies, and subjects who come back"
OPENING = (
    "See how much a look ahead saves, what each remedy for suppressed events costs, and how subjects who come back are "
    "protected."
)
HEADING = "How far a window of 7 can see"
ABOUT = """
On the register the rolling plan is furthest above the offline optimum. Here it sees more of the future than a window
of 7 does: *known* snapshots after the one that leaves, with the same limit on delay. *Price* is what leaving an event
to snapshots that are not known costs, as a share of suppression, the best of {prices} in hindsight. {conclusion}
"""


def losses(counts: Counts, known: int, price: float, l: int) -> float:
    """Loss per event where `known` snapshots after each departure are known."""
    cost, (n, n_values) = delay_costs("linear", WINDOW), counts.shape
    beta = np.full(n_values, LOST_LIKE)
    rest = np.concatenate([np.zeros((WINDOW - 1, n_values), dtype=np.int64), counts])  # by home, from 1 - window on
    loss = 0.0
    for leaving in range(n):
        end = min(n, leaving + known + 1)
        found = place(
            rest[leaving : end + WINDOW - 1], WINDOW - 1, end - leaving, l, cost, beta, 1.0 if end == n else price
        )
        assert found is not None, "the program is too large"
        published = found[0][:, 0]
        for late in range(WINDOW):
            rest[leaving + WINDOW - 1 - late] -= published[:, late]
        loss += float(published.sum(axis=0) @ cost)
    assert (rest >= 0).all()
    return (loss + LOST_LIKE * float(rest.sum())) / float(counts.sum())


def look_ahead(days: int, seed: int) -> str:
    """The section: what was done, and a row for each look-ahead."""
    counts = np.asarray(counts_of(simulate.events(days=days, per_day=PER_DAY[REGISTER], seed=seed)))
    l, cost = LEVELS[REGISTER], delay_costs("linear", WINDOW)
    beta = np.full(counts.shape[1], LOST_LIKE)
    best = offline(counts, WINDOW, l, cost, beta, gap=0.001, nodes=200).loss / counts.sum()
    lines = ["| known | price | loss per event | above offline |", "|---:|---:|---:|---:|"]
    enough = []
    for known in LOOK_AHEADS:
        loss, price = min((losses(counts, known, price, l), price) for price in PRICES)
        enough += [known] if loss <= (1 + NEAR) * best else []
        lines.append(f"| {known} | {price:g} | {loss:.4f} | {loss / best - 1:.1%} |")
        print(lines[-1], flush=True)
    lines.append(f"| all | – | {best:.4f} | 0.0% |")
    tried = ", ".join(map(str, LOOK_AHEADS))
    conclusion = f"None of {tried} known snapshots brings the loss within {NEAR:.0%} of the optimum."
    if enough:
        far = f": a window of {WINDOW} does not see that far" * (min(enough) > WINDOW)
        conclusion = (
            f"Of {tried} known snapshots, {min(enough)} are the fewest that bring the loss within {NEAR:.0%} of the "
            f"optimum{far}."
        )
    about = ABOUT.format(prices=", ".join(f"{price:g}" for price in PRICES), conclusion=conclusion)
    command = f"python experiments/reposition_look_ahead.py --days {days} --seed {seed}"
    return "\n\n".join([f"Written by `{command}`; do not edit.", " ".join(about.split()), "\n".join(lines)])


def main() -> None:
    """Measure and write the section."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--to", type=Path, default=PAGE)
    asked = parser.parse_args()
    put_section(asked.to, f"{TITLE}\n\n{OPENING}", HEADING, look_ahead(asked.days, asked.seed))


if __name__ == "__main__":
    main()
