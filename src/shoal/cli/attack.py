"""`shoal attack`: what an outsider would learn from a release."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import options, read_options
from shoal.cli.output import print_json, print_table, steps
from shoal.errors import ParameterError


@read_options.reads()
def attack(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The release folder.")],
    source: Annotated[str, typer.Argument(help="The originals: the table that the release was made from.")],
    private: Annotated[
        Path, typer.Option(help="The private folder kept with the release: it maps pseudonyms to subjects.")
    ],
    knows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ATTACK",
            help="What the adversary knows: points=5, totals=day, or an attack with its parameters, such as "
            "known-points:n=5,choose=peaks; repeatable. Default: points=5 and totals=day.",
        ),
    ] = None,
    targets: Annotated[
        int | None, typer.Option(help="Attack this many subjects, drawn at random. Default: all.")
    ] = None,
    shadows: Annotated[
        int,
        typer.Option(
            help="Learn who is in the release from this many shadow releases of other random selections of people; "
            "start with 16. Needs subjects kept out with --hold-out.",
        ),
    ] = 0,
    at_most: Annotated[
        float | None,
        typer.Option(
            help="Exit 1 if an attack gains more than this, at the upper end of its interval: for a link its chance, "
            "for copies, completion and membership the excess over those kept out."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the targets.")] = 0,
    policy: read_options.Policy = None,
    as_json: options.Json = False,
) -> None:
    """Attack a release as an outsider would, and print what was learned. Every published series is a candidate.

    The table is read as it was for the release: the private folder remembers how. Options given here override it.
    """
    from shoal.process.hold_out import gained_by
    from shoal.process.release_attack import attack_release

    settings = read_options.settings_of(ctx)
    if at_most is not None and not 0.0 <= at_most <= 1.0:
        raise ParameterError("--at-most is a share of the targets, from 0 to 1.")
    with steps() as progress:
        found = attack_release(
            source,
            settings,
            folder,
            private,
            known(knows or []),
            n_targets=targets,
            shadows=shadows,
            seed=seed,
            steps=progress,
        )
    worst = max(gained_by(attack, risk) for attack, risk in found.values())
    if as_json:
        plain = {name: asdict(risk) | {"knows": attack.knows} for name, (attack, risk) in found.items()}
        print_json({"release": str(folder), "read": progress.said, "attacks": plain})
    else:
        print_table([*progress.rows, *((name, risk.sentence) for name, (_, risk) in found.items())])
    if at_most is not None and worst > at_most:
        raise typer.Exit(1)


def known(listed: list[str]) -> dict[str, Any]:
    """Convert `points=5` and `known-points:n=5,choose=peaks` to the form a policy uses."""
    from shoal.process.catalogue import parse_options

    attacks: dict[str, Any] = {}
    for text in listed:
        name, colon, rest = text.partition(":")
        if colon:
            attacks[name] = parse_options(rest, "--knows takes ATTACK:parameter=value,parameter=value.")
            continue
        word, equals, given = text.partition("=")
        attacks[word] = given if equals else None
    return attacks
