"""`shoal query`: ask a release how many series or events meet conditions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.output import print_json, print_table
from shoal.errors import ParameterError


def query(
    folder: Annotated[Path, typer.Argument(help="The release folder.")],
    range: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME[@CHANNEL]=LOW..HIGH", help="The value at an instant lies in this range; repeatable."
        ),
    ] = None,
    difference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME,TIME[@CHANNEL]=LOW..HIGH",
            help="The normalised series changes by an amount in this range between two instants; repeatable.",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS[@CHANNEL]", help="A shape: one number per instant, separated by commas."),
    ] = None,
    within: Annotated[float | None, typer.Option(help="Largest distance from --like, such as 0.1.")] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="For events: the first instant. Default: all.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="For events: the last instant.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUES", help="For events: VALUE,VALUE or LOW..HIGH of a column; repeat for other columns."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Count the series or events of a release that meet all conditions; where the release is blurred, give the expected
    number.

    You may leave out one end of a range: 2024-01-01T07:00=2.. asks for at least 2. Times are in the time zone of the
    data, unless they carry an offset of their own. If the release has several channels, name the one of each condition:
    2024-01-01T07:00@kwh=2.. asks for kwh.
    """
    from shoal.process import ask

    pairs = [_condition(text, 2) for text in difference or ()]
    shape, like_channel = (None, None) if like is None else _channel(like)
    answer = ask(
        folder,
        ranges=[(at[0], low, high, channel) for at, low, high, channel in (_condition(t, 1) for t in range or ())],
        differences=[(at[0], at[1], low, high, channel) for at, low, high, channel in pairs],
        like=None if shape is None else [_number(text) for text in shape.split(",")],
        like_channel=like_channel,
        within=within,
        start=start,
        end=end,
        where=where or (),
    )
    if as_json:
        print_json({"release": str(folder), **asdict(answer), "share": answer.share})
        return
    exact = "expected number" if answer.form in ("envelopes", "events") else "number"
    print_table(
        [
            ("release", str(folder)),
            ("count", f"{answer.count:.6g} ({exact} among {answer.of} published)"),
            ("share", f"{100 * answer.share:.3g} %"),
            *[("estimated", "some of the ranges or letters you asked for are not published")] * answer.estimated,
        ]
    )


def _channel(text: str) -> tuple[str, str | None]:
    """Split off the channel of ...@CHANNEL, if there is one."""
    what, _, channel = text.partition("@")
    return what, channel or None


def _condition(text: str, n_times: int) -> tuple[list[str], float, float, str | None]:
    """Return instants, range and channel of TIME=LOW..HIGH or TIME,TIME=LOW..HIGH, with @CHANNEL or without."""
    times, equals, ends = text.rpartition("=")
    times, channel = _channel(times)
    low, dots, high = ends.partition("..")
    instants = [time.strip() for time in times.split(",")]
    if not equals or not dots or len(instants) != n_times or not all(instants):
        wanted = "TIME=LOW..HIGH" if n_times == 1 else "TIME,TIME=LOW..HIGH"
        example = ",".join(["2024-01-01T08:00", "2024-01-01T20:00"][:n_times])
        raise ParameterError(f"A condition must have the form {wanted}, such as {example}=1.5..3 or {example}=1.5..")
    infinite = float("inf")
    return instants, _number(low) if low else -infinite, _number(high) if high else infinite, channel


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError("A condition has text where a number is needed.") from None
