"""`shoal anonymize`: from a table to a checked release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import engines, options, read_options
from shoal.cli.options import build, method_options
from shoal.cli.output import print_json, print_table, steps


@read_options.reads()
def anonymize(
    ctx: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(help="A CSV or Parquet file, a folder or glob, or a postgresql:// address together with --sql."),
    ] = None,
    method: Annotated[str, typer.Option(help="The method to apply; `shoal methods` lists them.")] = "microaggregation",
    out: Annotated[Path, typer.Option("--out", "-o", help="The release folder to write.")] = Path("out"),
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="What must stay useful: peaks, total, daily-totals, window:17:00-20:00, arrival:0.5, departure:0.5, "
            "shape; peaks=2 counts twice. Repeatable.",
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GUARANTEE",
            help="An additional guarantee, such as aggregate-rule:15/15 or aggregate-rule:size=15,share=0.15.",
        ),
    ] = None,
    suppression_limit: Annotated[
        float,
        typer.Option(help="Largest share of events or series that may be left out; above it, nothing is written."),
    ] = 0.25,
    format: options.Format = "parquet",
    shape: Annotated[
        str,
        typer.Option(
            "--as",
            help="Also write the values as: wide (one column per series), row-per-series, day-rows (one row per "
            "series and day), or same (the shape of your table). long: only the long table.",
        ),
    ] = "long",
    pseudonyms: Annotated[
        str, typer.Option(help="random, or keyed (needs --private): anyone can join releases that share a key.")
    ] = "random",
    private: Annotated[
        Path | None, typer.Option(help="Folder for what you keep: pseudonym map, group labels, key.")
    ] = None,
    hold_out: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Keep this many subjects out of the release at random, such as 10%: the control for attacks. Needs "
            "--private, which stores their names.",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    insecure_seed: options.InsecureSeed = None,
    ledger: options.Ledger = None,
    accept: options.Accept = None,
    title: options.Title = None,
    publisher: options.Publisher = None,
    purpose: options.Purpose = None,
    date: options.Date = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="PEM", help="Your private Ed25519 key, used to sign the certificate.")
    ] = None,
    engine: engines.Engine = None,
    master: engines.Master = None,
    conf: engines.Conf = None,
    memory: engines.Memory = None,
    processes: engines.Processes = None,
    shard_size: engines.ShardSize = None,
    as_json: options.Json = False,
) -> None:
    """Anonymize a table of series, check the guarantee, and write a release folder.

    Parameters of the method are options of the same name, for example --k 10. `shoal methods` lists them.
    """
    from shoal.cli.sentences import Told, release_figures, release_rows, warn_of_suppression
    from shoal.process import anonymize_source, find_method
    from shoal.process.hold_out import as_share

    chosen = build(find_method(method), method_options(ctx), ctx)
    settings = read_options.settings_of(ctx)
    where = engines.engine_of(ctx)
    with steps() as progress:
        release = anonymize_source(
            source,
            chosen,
            out,
            settings,
            keep=keep,
            engine=where,
            hold_out=None if hold_out is None else as_share(hold_out),
            steps=progress,
            require=[_guarantee(text) for text in require or ()],
            suppression_limit=suppression_limit,
            format=format,
            shape=shape,
            pseudonyms=pseudonyms,
            private=private,
            overwrite=overwrite,
            insecure_seed=insecure_seed,
            ledger=ledger,
            accept=tuple(accept or ()),
            title=title,
            publisher=publisher,
            purpose=purpose,
            date=None if date is None else date.date(),
            sign=sign,
        )
    if as_json:
        lost = {"suppression": release.suppression.as_dict()} if release.suppression else {}
        figures = release_figures(Told.of(release).certificate)
        print_json({"release": str(release.path), "read": progress.said, **figures, **lost})
    else:
        print_table([*progress.rows, *release_rows(Told.of(release))])
    warn_of_suppression(release)


def _guarantee(text: str) -> Any:
    """Build a guarantee from `name` or `name:parameter=value,…`."""
    from shoal.process.catalogue import find_guarantee, parse_options

    name, _, listed = text.partition(":")
    kind = find_guarantee(name)
    if listed and "=" not in listed and listed in getattr(kind, "rules", ()):
        return kind.named(listed)
    rules = f", or one of {', '.join(kind.rules)} for a value" if hasattr(kind, "rules") else ""
    return build(kind, parse_options(listed, f"--require takes NAME or NAME:parameter=value,parameter=value{rules}."))
