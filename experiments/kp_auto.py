"""What `KP` loses by algorithm, and which one "auto" publishes: writes docs/results/kp_auto.md.

Run: python experiments/kp_auto.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from shoal import KP, Panel, simulate
from shoal.utility import PatternLoss, ValueLoss

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from kp_samples import INCOMES  # noqa: E402

PAGE = ROOT / "docs" / "results" / "kp_auto.md"
METHODS = {
    "kapra, own words": {"algorithm": "kapra", "words": "own"},
    "kapra": {"algorithm": "kapra"},
    "naive, own words": {"algorithm": "naive", "words": "own"},
    "naive": {"algorithm": "naive"},
    **{f"auto, weight {w}": {"algorithm": "auto", "pattern_weight": w} for w in (0.1, 0.5, 0.9)},
}


def sets() -> dict[str, tuple[Panel, int, int]]:
    """Panels with k and P."""
    rng = np.random.default_rng(1)
    return {
        "eight incomes": (Panel(INCOMES), 4, 2),
        "random walks, 2 000 x 10": (Panel(rng.normal(size=(2000, 10)).cumsum(axis=1)), 10, 3),
        "uniform, 2 000 x 10": (Panel(rng.uniform(size=(2000, 10))), 10, 3),
        "meters, 1 000 x 12": (simulate.meters(1000, days=1, step="2h", seed=7), 10, 3),
    }


def main() -> None:
    """Measure all and write the page."""
    lines = [
        "# KP: which algorithm",
        "",
        "See which algorithm of KP keeps shapes and which keeps values, and what the automatic choice takes.",
        "",
        "Written by `python experiments/kp_auto.py`; do not edit. Words are those of means unless stated otherwise.",
        "Shapes: mean pattern loss. Values: mean value loss, as a share of the width of one envelope around all",
        "series. Missing: series suppressed.",
        "",
        "| set | k, P | algorithm | shapes | values | missing | grouped by values |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, (panel, k, p) in sets().items():
        widest = float(np.sqrt(np.square(panel.rows.max(axis=0) - panel.rows.min(axis=0)).mean()))
        for label, options in METHODS.items():
            candidate = KP(k=k, p=p, **options).anonymize(panel)  # type: ignore[arg-type]
            assert candidate.check().holds
            shapes = PatternLoss().measure(panel, candidate.published, rows=candidate.private.rows).value
            values = ValueLoss().measure(panel, candidate.published).value / widest
            figures = candidate.recipe.figures
            chosen = "yes" if figures.get("series_grouped_by_values", "naive" in label) else "no"
            lines.append(
                f"| {name} | {k}, {p} | {label} | {shapes:.3f} | {values:.3f} | {figures['series_suppressed']} "
                f"| {chosen} |"
            )
    lines += [
        "",
        "Better: words of means keep more of the shape than own words on every set, and nobody is missing. Worse: a",
        "series that joins others because it lacks a word of its own may widen their envelope.",
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
