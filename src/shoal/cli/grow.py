"""`shoal grow`: a panel that grows, one release folder per stretch."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import options, read_options
from shoal.cli.options import build, method_options
from shoal.cli.output import print_json, print_table, steps


@read_options.reads(without=("layout", "sensitive", "other", "split", "every", "sql"), missing="keep")
def grow(
    ctx: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            help="A folder with one table per release, such as a day or a month, or one table that is appended to."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Folder for the releases: new, or the one that belongs to the state in --private."
        ),
    ] = Path("out"),
    every: Annotated[
        str | None,
        typer.Option(help="Length of a stretch of one table, such as 1d; in a folder, each table is one stretch."),
    ] = None,
    method: Annotated[str, typer.Option(help="microaggregation or nlk.")] = "microaggregation",
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT", help="What must stay useful, as in shoal anonymize: peaks, total. Repeatable."),
    ] = None,
    spare: Annotated[
        int, typer.Option(help="Members a group gets beyond k, so that some may lack readings on a day.")
    ] = 0,
    join: Annotated[
        bool, typer.Option("--join", help="Merge groups that have too few members left, instead of leaving them out.")
    ] = False,
    alone: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="With nlk: instants at which a series may be in a group below k in one release, until l - n - 1 are "
            "used up.",
        ),
    ] = 0,
    private: Annotated[
        Path | None, typer.Option(help="Folder for the state that the next run continues from. It says who is who.")
    ] = None,
    ledger: options.Ledger = None,
    accept: options.Accept = None,
    title: options.Title = None,
    publisher: options.Publisher = None,
    purpose: options.Purpose = None,
    date: options.Date = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="PEM", help="Your private Ed25519 key, used to sign each certificate.")
    ] = None,
    format: options.Format = "parquet",
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Publish a growing panel stretch by stretch, so that all releases taken together keep the promise.

    Parameters of the method are options of the same name: --k 10. Each stretch (one table of a folder, or one day
    of a table) becomes a release folder of its own.
    """
    from shoal.process import find_method, publish_growing

    settings = {"missing": "keep", **read_options.settings_of(ctx)}
    settings.pop("every", None)  # the release's own, not that of events
    with steps() as progress:
        summary = publish_growing(
            source,
            build(find_method(method), method_options(ctx), ctx),
            out,
            settings,
            private=private,
            keep=keep,
            options={"spare": spare, "join": join, "alone": alone},
            every=every,
            ledger=ledger,
            format=format,
            accept=tuple(accept or ()),
            title=title,
            publisher=publisher,
            purpose=purpose,
            date=None if date is None else date.date(),
            sign=sign,
            steps=progress,
            tell=lambda note: print(f"shoal: {note}", file=sys.stderr),
        )
    if as_json:
        print_json({"out": str(out), **summary})
    else:
        print_table([*progress.rows, *_rows(out, summary, has_reserve=join or spare > 0 or method == "nlk")])


def _rows(out: Path, summary: dict[str, Any], *, has_reserve: bool) -> list[tuple[str, str]]:
    """The summary; `has_reserve`: nothing more could have been asked for against empty values."""
    from shoal.cli.sentences import ledger_line, names_line
    from shoal.model.words import plural

    last = f", the last is {summary['last']}" if summary["last"] else ""
    groups = "" if summary["groups"] is None else f" in {summary['groups']:,} groups"
    rows = [
        ("out", str(out)),
        ("written", plural(summary["written"], "release")),
        ("releases", f"{summary['releases']}{last}"),
        ("published", f"{summary['series']:,} series{groups}"),
        ("waiting", plural(summary["waiting"], "series")),
        *_lacking(summary["new"], "" if has_reserve else NO_RESERVE),
        *_warnings(summary["new"]),
    ]
    if summary["held_back"]:
        rows.append(("held back", names_line(summary["held_back"])))
    if "ledger" in summary:
        rows.append(("ledger", ledger_line(**summary["ledger"], recorded=summary["written"])))
    if n := summary["without"]:
        rows.append(("without release", f"{n} stretch{'es' * (n != 1)} could not be published at all"))
    return rows


_WHY = {
    "empty": ("values", "fewer than k subjects of their group have a reading there"),
    "absent": ("series", "they have gaps, or were left out so that those with gaps are not alone"),
}


NO_RESERVE = ". With --join or --spare from the first release on, fewer would be empty"


def _lacking(releases: Sequence[Mapping[str, Any]], more: str) -> list[tuple[str, str]]:
    """What the new releases lack: values of groups below k, and under (n, l, k) whole series."""
    rows = []
    for name, (what, why) in _WHY.items():
        found = [release for release in releases if release[name]]
        if not found:
            continue
        worst = max(found, key=lambda release: release[name])
        of, n = sum(release[what] for release in found), sum(release[name] for release in found)
        most = f", most in {worst['folder']} ({worst[name]:,})" if len(found) > 1 else ""
        where = worst["folder"] if len(found) == 1 else f"{len(found)} releases"
        rows.append((name, f"{n:,} of {of:,} {what} in {where}{most}: {why}{more * (name == 'empty')}"))
    return rows


def _warnings(releases: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The warning of dominated means, for the release with the largest share; the others are counted."""
    from shoal.guarantees.dominance import Dominance

    found = [(one.largest, release["folder"], one.warning) for release in releases
             if (one := Dominance.from_dict(release.get("dominance"))) is not None and one.warning]  # fmt: skip
    if not found:
        return []
    _, folder, warning = max(found, key=lambda one: one[0])
    more = len(found) - 1
    where = folder + (f" (and {more} other release{'s' * (more != 1)})" if more else "")
    return [("warning", f"{where}: {warning}")]
