"""`shoal stream --engine spark`: events of many keys on Spark, each key by itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shoal.cli.options import is_given
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.methods import Reposition
    from shoal.model.watcher import Watcher
    from shoal.process import StreamColumns

OF_SPARK = ("key", "master", "conf")
"""Options of `shoal stream` that apply to Spark alone."""


def refuse_spark_options(ctx: typer.Context) -> None:
    """Refuse options that make no sense on one machine."""
    if given := [name for name in OF_SPARK if is_given(ctx, name)]:
        raise ParameterError(f"--{given[0]} applies to Spark. Add --engine spark, or leave it out.")


def read_conf(settings: Sequence[str]) -> dict[str, str]:
    """Parse Spark settings, each key=value."""
    pairs = [setting.partition("=") for setting in settings]
    if any(not (name.startswith("spark.") and equals) for name, equals, _ in pairs):
        raise ParameterError("--conf takes a Spark setting and its value: --conf spark.executor.memory=4g.")
    return {name: value for name, _, value in pairs}


def stream_on_spark(
    ctx: typer.Context, method: Reposition, columns: StreamColumns, known: list[str] | None, steps: Watcher
) -> dict[str, Any]:
    """Run the stream and return its summary."""
    from shoal.process.spark_stream import stream_events_on_spark

    given = ctx.params
    if given["source"] == "-" or given["goes_on"]:
        raise ParameterError("On Spark, a stream is a folder of Parquet, CSV or JSON files: give it as SOURCE.")
    if given["key"] is None:
        raise ParameterError("--engine spark needs --key: the column that separates the streams, such as a region.")
    if given["private"] is None:
        raise ParameterError("--engine spark needs --private: it holds Spark's checkpoint and pending events.")
    return stream_events_on_spark(
        Path(given["source"]),
        method,
        given["out"],
        columns,
        key=given["key"],
        private=given["private"],
        master=given["master"],
        conf=read_conf(given["conf"] or ()),
        every=given["every"],
        lateness=given["lateness"],
        known=known,
        file_format=given["format"],
        strict=given["strict"],
        follow=given["follow"],
        flush=not given["no_flush"],
        steps=steps,
        tell=lambda note: print(f"shoal: {note}", file=sys.stderr),
    )
