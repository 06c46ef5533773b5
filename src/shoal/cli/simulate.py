"""`shoal simulate`: data that belongs to no real person, as a table."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.output import print_json, print_table
from shoal.errors import ParameterError


class Kind(StrEnum):
    """What can be simulated."""

    METERS = "meters"
    TRAINED = "trained"
    OCCUPANCY = "occupancy"
    EVENTS = "events"


def simulate(
    out: Annotated[Path, typer.Option("--out", "-o", help="The table to write: .parquet or .csv.")],
    kind: Annotated[Kind | None, typer.Argument(help="What to simulate.", show_default=False)] = None,
    from_release: Annotated[
        Path | None, typer.Option(help="Draw curves from this release of scenarios instead.", show_default=False)
    ] = None,
    n: Annotated[int | None, typer.Option(help="Number of meters, persons, events per day, or curves.")] = None,
    days: Annotated[int | None, typer.Option(help="Number of days.")] = None,
    step: Annotated[str | None, typer.Option(help="Time between readings, such as 15min or 1h.")] = None,
    start: Annotated[str | None, typer.Option(help="First day, such as 2024-01-01.")] = None,
    families: Annotated[
        str | None, typer.Option(help="Mix of meters, such as household=0.7,small-business=0.2,second-home=0.1.")
    ] = None,
    missing: Annotated[float, typer.Option(help="Share of readings left out.")] = 0.0,
    loads: Annotated[
        str | None,
        typer.Option(
            help="With trained: table of hourly loads of zones to train on. Nothing anonymizes them; give sums over "
            "many people.",
            show_default=False,
        ),
    ] = None,
    temperatures: Annotated[
        str | None, typer.Option(help="With trained: table of hourly temperatures.", show_default=False)
    ] = None,
    models: Annotated[int | None, typer.Option(help="With trained: number of models.", show_default=False)] = None,
    degrees: Annotated[
        float | None,
        typer.Option(
            help="With trained: largest shift of a household's temperatures, 4 for °F, about 2 for °C.",
            show_default=False,
        ),
    ] = None,
    at_least: Annotated[
        float | None, typer.Option(help="With --from-release: lower bound of every reading, such as 0.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same table.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Simulate meters, households trained on loads, office occupancy, a stream of events, or curves like those of a
    release, as a long table."""
    from shoal.process import simulate_table

    options: dict[str, Any] = {
        "n": n,
        "days": days,
        "step": step,
        "start": start,
        "families": _shares(families),
        "missing": missing or None,
        "loads": loads,
        "temperatures": temperatures,
        "models": models,
        "degrees": degrees,
        "at_least": at_least,
        "seed": seed,
    }
    given = {name: value for name, value in options.items() if value is not None}
    counts = simulate_table(None if kind is None else kind.value, out, given, from_release=from_release)
    if as_json:
        print_json({"table": str(out), **counts})
    else:
        print_table([("table", str(out)), *((name, str(count)) for name, count in counts.items())])


def _shares(text: str | None) -> dict[str, float] | None:
    if text is None:
        return None
    shares: dict[str, float] = {}
    for pair in filter(None, text.split(",")):
        family, _, share = pair.partition("=")
        try:
            shares[family.strip()] = float(share)
        except ValueError:
            raise ParameterError("--families takes NAME=SHARE,NAME=SHARE, such as household=1.") from None
    return shares
