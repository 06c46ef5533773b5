"""From files that appear in a folder to published snapshots of each key, on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.engines.session import opened
from shoal.engines.structured_streaming import reposition_stream
from shoal.engines.structured_streaming.keys import folder_name
from shoal.engines.structured_streaming.source import arriving_files
from shoal.errors import ParameterError
from shoal.methods.reposition import Reposition
from shoal.model import Recipe
from shoal.model.watcher import Watcher, silent
from shoal.process.event_stream import StreamColumns
from shoal.release.stream_gate import certify_in_place


def stream_events_on_spark(
    source: Path,
    method: Reposition,
    to: Path,
    columns: StreamColumns,
    *,
    key: str,
    private: Path,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    every: str | None = None,
    lateness: str | None = None,
    known: Sequence[str] | None = None,
    file_format: str = "parquet",
    strict: bool = False,
    follow: bool = False,
    flush: bool = True,
    steps: Watcher = silent,
    tell: Callable[[str], None] = lambda note: None,
) -> dict[str, Any]:
    """Publish the events in a folder of Parquet, CSV or JSON files, each key by itself. Returns the summary.

    Parameters
    ----------
    source, to, columns, every, lateness, known, private, file_format, strict, follow, flush, steps, tell
        As in `stream_events`; the state is always kept.
    key
        The column whose values are kept separate.
    master, conf
        Spark's master and settings; by default the session of this process or of spark-submit, or all cores of this
        machine.
    """
    if columns.subject is not None or method.m is not None:
        raise ParameterError(
            "On Spark each key is a stream of its own, and a subject may occur under several of them: --subject and "
            "--m need --engine local."
        )

    def certify(folders: Sequence[Path]) -> None:
        for folder in folders if file_format == "parquet" else ():
            certify_in_place(
                folder,
                (method.aims_at,),
                Recipe(method.name, method.parameters),
                quasi=columns.quasi,
                sensitive=columns.sensitive,
                n_withheld=1 + (columns.id is not None),
            )

    with opened(master, conf) as spark:
        wanted = [columns.time, *columns.quasi, columns.sensitive, *([] if columns.id is None else [columns.id]), key]
        files = arriving_files(spark, source, wanted)
        steps.start("publishing snapshots")
        summary = reposition_stream(
            files.frame,
            method,
            to,
            private=private,
            key=key,
            order=files.order,
            time=columns.time,
            sensitive=columns.sensitive,
            quasi=columns.quasi,
            id=columns.id,
            every=every,
            lateness=lateness,
            known=known,
            file_format=file_format,
            strict=strict,
            follow=follow,
            flush=flush,
            source=str(source.resolve()),
            untyped=files.untyped,
            malformed=files.malformed,
            advance=steps.advance,
            certify=certify,
            tell=tell,
        )
    certify(sorted(to.glob(f"{folder_name(key, '')}*")))  # also what a killed run has left
    return summary
