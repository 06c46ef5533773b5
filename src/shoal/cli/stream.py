"""`shoal stream`: publish events as they arrive, one file per snapshot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.options import build, method_options
from shoal.cli.output import print_json, print_table, steps
from shoal.cli.spark import refuse_spark_options, stream_on_spark
from shoal.errors import GuaranteeNotMetError, ParameterError

if TYPE_CHECKING:
    from shoal.streams.topics import Topic


def stream(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A folder of CSV or Parquet files, mqtt://HOST/TOPIC or kafka://HOST/TOPIC, or - for standard input."
        ),
    ] = "-",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder for published snapshots: new, or the one that belongs to the state in --private.",
        ),
    ] = Path("out"),
    time: Annotated[str, typer.Option(help="Column with the time.")] = "time",
    sensitive: Annotated[str, typer.Option(help="Column with the sensitive value.")] = "sensitive",
    quasi: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Quasi-identifier; repeatable.")] = None,
    id: Annotated[
        str | None, typer.Option("--id", help="Column that identifies an event, to drop duplicates; never published.")
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(help="Column with the person behind an event, who may come back; never published. --m needs it."),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(help="Length of a snapshot, such as 1d or 1h, or a whole number; by default each instant is one."),
    ] = None,
    lateness: Annotated[
        str | None,
        typer.Option(help="How long a snapshot waits for late events, such as 10min; by default not at all."),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUE",
            help="A known sensitive value; repeatable. If you give any, events with other values are rejected.",
        ),
    ] = None,
    known_file: Annotated[
        Path | None, typer.Option(help="File with one sensitive value per line, instead of --known.")
    ] = None,
    private: Annotated[
        Path | None,
        typer.Option(help="Folder for the state from which a stopped or killed stream resumes. Holds raw events."),
    ] = None,
    send: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="mqtt://HOST/TOPIC or kafka://HOST/TOPIC: also send each published snapshot there."
        ),
    ] = None,
    suppression_limit: Annotated[
        float,
        typer.Option(
            help="Exit 1 at the end of a run if a larger share was suppressed; what was published stays published."
        ),
    ] = 0.25,
    format: options.Format = "parquet",
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first rejected event instead of counting it.")
    ] = False,
    goes_on: Annotated[
        bool,
        typer.Option("--continue", help="Resume standard input after the last line consumed, not at its beginning."),
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more files or messages, until SIGINT or SIGTERM.")
    ] = False,
    no_flush: Annotated[
        bool, typer.Option("--no-flush", help="Keep pending events for the next run instead of publishing the rest.")
    ] = False,
    engine: Annotated[
        str,
        typer.Option(help="local, or spark: a folder of Parquet, CSV or JSON files on Spark, each --key by itself."),
    ] = "local",
    key: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With Spark: the column whose values get folders of their own.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="Spark master, such as local[4]; all local cores by default.")
    ] = None,
    conf: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A Spark setting; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Publish events as they arrive, repositioned so that every snapshot is l-diverse.

    Parameters of reposition are options of the same name: --l 4 --window 12. `shoal methods` lists them. A snapshot is
    published when it leaves the window. Events that are malformed, incomplete, unknown, late or duplicates are not
    published, only counted in summary.json. For a growing panel of series, see `shoal grow`.
    """
    from shoal.methods import Reposition
    from shoal.process import StreamColumns, stream_events
    from shoal.release.suppression import check_suppression_limit
    from shoal.streams.topics import Topic

    check_suppression_limit(suppression_limit)
    reposition = build(Reposition, method_options(ctx), ctx)
    columns = StreamColumns(time, sensitive, tuple(quasi or ()), id, subject)
    if engine not in ("local", "spark"):
        raise ParameterError(f"--engine must be local or spark, got {engine!r}.")
    if engine == "spark":
        with steps() as progress:
            summary = stream_on_spark(ctx, reposition, columns, _known(known, known_file), progress)
        _warn(summary)
        _show(out, summary, as_json, suppression_limit)
        return
    refuse_spark_options(ctx)
    with steps() as progress:
        summary = stream_events(
            sys.stdin.fileno() if source == "-" else Topic.parse(source) or Path(source),
            reposition,
            out,
            columns,
            every=every,
            lateness=lateness,
            known=_known(known, known_file),
            private=private,
            file_format=format,
            strict=strict,
            goes_on=goes_on,
            follow=follow,
            flush=not no_flush,
            send=_topic(send),
            steps=progress,
            tell=lambda note: print(f"shoal: {note}", file=sys.stderr),
        )
    _show(out, summary, as_json, suppression_limit)


def _topic(address: str | None) -> Topic | None:
    from shoal.streams.topics import Topic

    topic = None if address is None else Topic.parse(address)
    if address is not None and topic is None:
        raise ParameterError("--send must be mqtt://HOST/TOPIC or kafka://HOST/TOPIC.")
    return topic


def _show(out: Path, summary: dict[str, Any], as_json: bool, limit: float) -> None:
    if as_json:
        print_json({"out": str(out), **summary})
    else:
        print_table(_rows(out, summary))
    lost, of = _suppressed(summary)
    if lost > limit * of:
        raise GuaranteeNotMetError(
            f"{lost:,} of {of:,} events ({100 * lost / of:.3g} %) were suppressed, more than the limit of "
            f"{100 * limit:.3g} %. A stream is judged at the end of a run, and what is published stays published. "
            "Start a new one with a wider window, longer snapshots or a smaller --l, or raise --suppression-limit."
        )


def _warn(summary: dict[str, Any]) -> None:
    """On Spark, only sums over all keys reach the driver, so the loss per value is not known here."""
    from shoal.model import Recipe, Suppression
    from shoal.release.suppression import warning_of

    lost, of = _suppressed(summary)
    method = summary["method"]
    if of and (told := warning_of(Suppression(of - lost, lost), Recipe(method["name"], method["parameters"]))):
        print(f"shoal: {told}", file=sys.stderr)


def _suppressed(summary: dict[str, Any]) -> tuple[int, int]:
    """Return how many events were suppressed, and how many have left the window."""
    events = summary["events"]
    return events["suppressed"], events["suppressed"] + events["published"]


def _known(values: list[str] | None, path: Path | None) -> list[str] | None:
    from shoal.errors import InputError

    if path is None:
        return values or None
    if values:
        raise ParameterError("Give --known or --known-file, not both.")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"Cannot read {str(path)!r} as text.") from None
    return [line.strip() for line in lines if line.strip()]


def _rows(out: Path, summary: dict[str, Any]) -> list[tuple[str, str]]:
    events, snapshots = summary["events"], summary["snapshots"]
    lost, of = _suppressed(summary)
    moved = {distance: number for distance, number in summary["moved"].items() if distance != "0" and number}
    by = ", ".join(f"{number:,} by {distance}" for distance, number in moved.items())
    rejected = ", ".join(f"{number} {name}" for name, number in summary["rejected"].items() if number)
    rows = [
        ("out", str(out)),
        ("published", f"{events['published']:,} events in {snapshots['published']:,} snapshots"),
        ("moved", f"{sum(moved.values()):,}{f' ({by})' if by else ''}"),
        ("suppressed", f"{lost:,} of {of:,} events ({100 * lost / max(1, of):.3g} %)"),
        ("rejected", f"{sum(summary['rejected'].values())}{f' ({rejected})' if rejected else ''}"),
        ("out of order", str(summary["out_of_order"])),
    ]
    if "repeated" in summary:
        rows.append(("repeated", f"{summary['repeated']} events beyond the first of a subject in a snapshot"))
    if unfit := summary["method"].get("figures", {}).get("invariance"):
        reasons = ", ".join(f"{number} {name}" for name, number in unfit.items())
        rows.append(("invariance", f"suppressed for it: {reasons}"))
    if latency := summary.get("latency"):
        rows.append(("latency", f"p50 {latency['p50_ms']} ms, p99 {latency['p99_ms']} ms from arrival to commit"))
    if not summary["finished"]:
        rows.append(("waiting", f"{events['waiting']:,} events"))
    return rows
