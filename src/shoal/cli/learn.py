"""`shoal learn`: turn labels into a metric for `shoal anonymize --features`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.output import print_json, print_table


def learn(
    folder: Annotated[Path, typer.Argument(metavar="TASK", help="The task folder, with imported labels.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("metric.npz"),
    metric: Annotated[
        str,
        typer.Option(
            help="auto: whichever does best on held-out labels. linear: quick, needs few labels. deep: a network; "
            "needs a few hundred labels."
        ),
    ] = "auto",
    seed: Annotated[int, typer.Option(help="The same labels and seed give the same metric.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Learn from an analyst's labels what makes series similar; use it with `shoal anonymize --features metric.npz`."""
    from shoal.labels import learn_from

    chosen: Any = metric
    learned = learn_from(folder, out, metric=chosen, seed=seed)
    if as_json:
        print_json({"metric": str(out), "statement": learned.statement, **learned.entry, "figures": learned.figures})
        return
    figures = learned.figures
    apart = figures["n_pairs"] - figures["n_similar"]
    print_table(
        [
            ("metric", f"{out} ({learned.kind})"),
            ("pairs", f"{figures['n_pairs']}: {figures['n_similar']} similar, {apart} dissimilar"),
            ("used", learned.statement),
            ("sha256", learned.digest()),
        ]
    )
