"""`shoal judge`: compare any published table, however it was made, with its originals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from shoal.cli import options, read_options
from shoal.cli.attack import known
from shoal.cli.output import print_json, print_table, steps
from shoal.cli.utility import print_findings

if TYPE_CHECKING:
    from shoal.process.judgement import Judgement

_MATCHED = {
    "ids": "by the same names",
    "map": "by the list of pairs",
    "order": "row by row",
    "private": "by the private folder",
    None: "as a whole: nothing says which published series belongs to which original",
}


@read_options.reads()
def judge(
    ctx: typer.Context,
    original: Annotated[
        str, typer.Argument(metavar="ORIGINAL", help="The table that the published one was made from.")
    ],
    published: Annotated[
        str, typer.Argument(metavar="PUBLISHED", help="The table to judge, or the folder of a release.")
    ],
    control: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Series of similar people whose data did not go into the table.")
    ] = None,
    match: Annotated[
        Literal["auto", "ids", "order", "none"],
        typer.Option(help="How to match published series to originals. auto: by name, if most names are the same."),
    ] = "auto",
    names: Annotated[
        Path | None,
        typer.Option("--map", metavar="TABLE", help="CSV with two columns: original names and published names."),
    ] = None,
    private: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The private folder of a Shoal release: it maps pseudonyms to subjects."),
    ] = None,
    instants: Annotated[
        Literal["time", "position"],
        typer.Option(help="Compare readings with the same time, or in order of position, whatever the clock says."),
    ] = "time",
    knows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ATTACK",
            help="What the adversary knows about a target: points=5, totals=day, another-period, or an attack with "
            "its parameters; repeatable. Default: these three.",
        ),
    ] = None,
    measure: options.Measures = None,
    at_most: Annotated[
        float | None,
        typer.Option(
            help="Exit 1 if an attack gains more from the table than this share; the upper end of its interval counts."
        ),
    ] = None,
    targets: Annotated[int | None, typer.Option(help="Attack this many originals, drawn at random.")] = None,
    shadows: Annotated[
        int,
        typer.Option(
            help="Learn who is behind the table from this many shadow tables, made the same way from other random "
            "selections of people; start with 16. Needs --control or a private folder that has one.",
        ),
    ] = 0,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:parameter=value,...]",
            help="With --shadows: what made the table, such as microaggregation:k=10. A release says so itself.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the targets.")] = 0,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the judgement as an HTML page.")] = None,
    policy: read_options.Policy = None,
    as_json: options.Json = False,
) -> None:
    """Judge any published table, anonymized or synthetic, against its originals: attack it and measure what it is good
    for.

    Reading options apply to all tables; a column that one of them lacks is detected there, and --layout wide leaves
    long tables alone. Exit 1 when a stated limit is not met.
    """
    from shoal.process.judgement import judge as judge_tables

    settings = read_options.settings_of(ctx)
    with steps() as progress:
        found = judge_tables(
            original,
            published,
            control,
            match=match,
            names=names,
            private=private,
            instants=instants,
            knows=known(knows) if knows else None,
            measures=measure or (),
            at_most=at_most,
            n_targets=targets,
            shadows=shadows,
            method=method,
            seed=seed,
            steps=progress,
            **settings,
        )
    if html is not None:
        html.write_text(found.to_html(), encoding="utf-8")
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found, progress.rows)
    raise typer.Exit(0 if found.met else 1)


def _print(found: Judgement, said: list[tuple[str, str]]) -> None:
    from shoal.report.judgement import COPIES, undecided

    rows = [*said, ("compared", _MATCHED[found.matched])]
    rows += [(name, risk.sentence) for name, (_, risk) in found.risks.items()]
    rows += [("copies", COPIES)] if found.has_copies else []
    above = [name for name in found.above if name not in found.undecided]
    rows += [("above the limit", ", ".join(above))] if above else []
    if found.undecided:
        rows.append(("undecided", f"{', '.join(found.undecided)}: {undecided(found.n_control)}"))
    print_table(rows + [("cannot be shown", text) for text in found.absent])
    print_findings(found.usefulness)
