"""`shoal edge`: meters that send nothing unprotected, and their collector."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options, read_options
from shoal.cli.options import with_options
from shoal.cli.output import print_json, print_table, steps
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.edge import Plan

edge = typer.Typer(
    name="edge",
    help="Collect from meters that send nothing unprotected: randomised readings, or encrypted readings that open "
    "only as sums.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_TERMS: dict[str, tuple[Any, Any]] = {
    "way": (
        Annotated[str, typer.Option(help="local: each meter randomises its readings. sum: only sums can be opened.")],
        "local",
    ),
    "lower": (
        Annotated[float | None, typer.Option(help="Lower bound of a reading; must not be taken from the data.")],
        None,
    ),
    "upper": (
        Annotated[float | None, typer.Option(help="Upper bound of a reading; must not be taken from the data.")],
        None,
    ),
    "epsilon": (Annotated[float, typer.Option(help="Privacy budget of a meter for any w successive instants.")], 1.0),
    "w": (Annotated[int, typer.Option("--w", help="Number of successive instants that share the budget.")], 48),
    "minutes": (Annotated[int, typer.Option(help="Duration of an instant.")], 30),
    "scheme": (
        Annotated[
            str, typer.Option(help="How a local budget is divided: budget-uniform, population-uniform and others.")
        ],
        "population-uniform",
    ),
    "points": (
        Annotated[int, typer.Option(help="Points of a local answer: 2 for means, more for distributions.")],
        2,
    ),
    "fewest": (
        Annotated[
            float, typer.Option(help="Share of a neighbourhood that must respond; otherwise the sum is withheld.")
        ],
        0.7,
    ),
    "colluding": (
        Annotated[float, typer.Option(help="Share of a neighbourhood that may collude with the collector.")],
        0.0,
    ),
    "levels": (
        Annotated[int, typer.Option(help="How many different counts of missing meters the noise of a sum adapts to.")],
        3,
    ),
}
"""What a fleet agrees on."""

_Groups = Annotated[int, typer.Option(help="Number of groups that the meters are assigned to.")]
_Link = Annotated[
    str | None, typer.Option(help="mqtt://HOST:PORT, or a folder shared by the meters and the collector.")
]
_Smooth = Annotated[bool, typer.Option("--smooth", help="Also publish smoothed means; this costs no budget.")]


@edge.command()
@with_options(_TERMS)
def enroll(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder of the fleet; with --device, folder of the meter.")],
    device: Annotated[
        bool, typer.Option("--device", help="On the meter: generate keys and print the public ones.")
    ] = False,
    join: Annotated[
        Path | None, typer.Option(metavar="FLEET", help="On the meter: import the fleet's file; its budget starts now.")
    ] = None,
    group: Annotated[str, typer.Option(help="With --device: the group the meter belongs to.")] = "all",
    members: Annotated[
        Path | None, typer.Option(metavar="FILE", help="At the utility: the lines that meters printed, one each.")
    ] = None,
    meters: Annotated[
        int | None, typer.Option(help="For trials: create this many meters, all on this machine.")
    ] = None,
    groups: _Groups = 1,
    as_json: options.Json = False,
) -> None:
    """Enrol meters: keys on each device, then one file with the terms and all public keys.

    On a meter: `enroll DIR --device` prints a line. At the utility: `enroll FLEET --members LINES --lower 0 --upper 8`.
    Back on the meter: `enroll DIR --join fleet.json`.
    """
    from shoal.process import edge as fleets

    if device or join is not None:
        if device:
            print(fleets.as_line(fleets.enroll_device(folder, group)))
        if join is not None:
            fleets.join(folder, join)
        return
    if (members is None) == (meters is None):
        raise ParameterError("Give --members FILE at the utility, --meters N for a trial, or --device on a meter.")
    terms = _plan(ctx)
    if members is not None:
        fleet = fleets.enroll_fleet(folder, terms, fleets.read_lines(members))
    else:
        assert meters is not None
        fleet = fleets.enroll_together(folder, terms, meters, groups)
    figures = {"fleet": str(folder), "meters": len(fleet.meters), "groups": len(fleet.groups), "way": terms.way}
    if as_json:
        print_json(figures)
    else:
        print_table([(name, str(figure)) for name, figure in figures.items()])


@edge.command()
def meter(
    folder: Annotated[Path, typer.Argument(help="Folder of the meter.")],
    link: _Link = None,
) -> None:
    """Run one meter: it reads `time,value` lines from standard input and sends protected messages.

    Without --link, messages go to standard output, one per line. This works for schemes in which the collector asks no
    questions.
    """
    from shoal.process import edge as fleets

    if link is None:
        for line in fleets.run_meter(folder, sys.stdin):
            print(line, flush=True)
    else:
        sent = fleets.serve_meter(folder, sys.stdin, link)
        print(f"shoal: {sent} message(s) sent", file=sys.stderr)


@edge.command()
def collect(
    folder: Annotated[Path, typer.Argument(help="Folder of the fleet.")],
    reports: Annotated[
        list[Path] | None, typer.Argument(help="Files with the lines that meters printed; standard input by default.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Release folder to write.")] = Path("out"),
    link: _Link = None,
    begin: Annotated[
        str | None, typer.Option(help="With --link: time of the first instant; the next one by default.")
    ] = None,
    instants: Annotated[int, typer.Option(help="With --link: number of instants to collect.")] = 48,
    wait: Annotated[float, typer.Option(help="With --link: seconds to wait for messages in each round.")] = 30.0,
    smooth: _Smooth = False,
    as_json: options.Json = False,
) -> None:
    """Estimate from the messages of meters, and publish the result through the gate.

    Without --link, messages come from files or standard input. With it, they come live: an instant is concluded when it
    is over.
    """
    from shoal.process import edge as fleets

    collector = fleets.open_collector(folder)
    if link is not None:
        fleets.collect_live(collector, link, begin=begin, instants=instants, wait=wait)
    else:
        lines: list[str] = []
        for path in reports or []:
            lines += fleets.read_lines(path)
        fleets.collect_reports(collector, lines if reports else sys.stdin)
    release = fleets.publish_collected(collector, out, smoothed=smooth)
    _show({"out": str(out), **collector.counts, "why_refused": dict(collector.refused)}, release, as_json)


@edge.command()
@read_options.reads(without=("layout", "sensitive", "quasi", "other", "split", "sql"))
@with_options(_TERMS)
def simulate(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(help="A table of readings; each series is a meter.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Release folder to write.")] = None,
    groups: _Groups = 1,
    absent: Annotated[float, typer.Option(help="Share of meters that are offline at an instant.")] = 0.0,
    link: _Link = None,
    smooth: _Smooth = False,
    as_json: options.Json = False,
) -> None:
    """Run a fleet on the readings of a table, to see what it would give; budgets are kept in memory."""
    from shoal.process import edge as fleets
    from shoal.read import read_panel

    terms = _plan(ctx)
    with steps() as progress:
        progress.start("reading")
        panel = read_panel(source, **{"missing": "keep", **read_options.settings_of(ctx)})
        field = fleets.simulate_fleet(panel, terms, groups=groups, absent=absent, at=link, steps=progress)
    release = None if out is None else fleets.publish_collected(field.collector, out, smoothed=smooth)
    _show({**({} if out is None else {"out": str(out)}), **fleets.fleet_figures(field)}, release, as_json)


def _plan(ctx: typer.Context) -> Plan:
    from shoal.process.edge import make_plan

    terms = {name: ctx.params[name] for name in _TERMS}
    if terms["lower"] is None or terms["upper"] is None:
        raise ParameterError("--lower and --upper are required: bounds of a reading that are not taken from the data.")
    return make_plan(**terms)


def _show(figures: dict[str, Any], release: Any, as_json: bool) -> None:
    if release is not None:
        figures["guarantee"] = release.certificate["guarantees"][0]["statement"]
    if as_json:
        print_json(figures)
    else:
        rows = [(name.replace("_", " "), str(figure)) for name, figure in figures.items() if figure != {}]
        print_table(rows)
