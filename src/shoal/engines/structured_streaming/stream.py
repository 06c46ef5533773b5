"""Reposition on Spark's Structured Streaming: events of many keys in, checked snapshots of each key out.

Every micro-batch is sorted into order of arrival and grouped by key. It then goes through the same operator and the
same closing rule as `shoal stream` (`Arrivals`, `RepositionStream`), with one stream for each key. The work is a
`foreachBatch` over `mapInArrow` with states of our own, not an operator with Spark's state, for three reasons:

Order. What happens to an event depends on those before it. Spark passes the events of a key to `applyInPandasWithState`
and `transformWithStateInPandas` in no stated order. With sorting within partitions, `mapInArrow` gets them as they
arrived, in blocks, so no key has to fit into memory.

Lateness. Spark has one watermark for all keys, which moves between batches, so which events are late would depend on
where batches end. Here, the watermark of a key is its latest time less `lateness`, updated after every event.

Exactly once. The files are the sink, and Spark's states cannot be committed together with them. So a batch may run
twice. Spark records which events make a batch before it runs; a state carries the number of its batch; the batch starts
from the state before it; and the same events give the same bytes under the same names. Repeating a batch that already
ran changes nothing; a snapshot that would come out differently is refused.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engines.structured_streaming.keys import PARTIAL, STATES, Terms
from shoal.engines.structured_streaming.run import Run
from shoal.engines.structured_streaming.work import KEY, MALFORMED
from shoal.errors import InputError, ParameterError, ReleaseError
from shoal.methods import Reposition
from shoal.streams.checkpoint import locked
from shoal.streams.output import check_new
from shoal.streams.stop_request import stopping
from shoal.streams.terms import check_terms, stream_terms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEY_TYPES = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "date")


def reposition_stream(
    events: DataFrame,
    method: Reposition,
    to: str | Path,
    *,
    private: str | Path,
    key: str,
    order: Sequence[str],
    time: str,
    sensitive: str,
    quasi: Sequence[str] = (),
    id: str | None = None,
    every: str | None = None,
    lateness: str | None = None,
    known: Sequence[str] | None = None,
    file_format: str = "parquet",
    strict: bool = False,
    follow: bool = False,
    flush: bool = True,
    source: str = "",
    untyped: bool = False,
    malformed: str | None = None,
    advance: Callable[[int, int], None] = lambda published, closed: None,
    certify: Callable[[Sequence[Path]], None] = lambda folders: None,
    tell: Callable[[str], None] = lambda note: None,
) -> dict[str, Any]:
    """Publish events of many keys as they arrive, each key separately. Returns the summary when the stream ends.

    For each value of `key` a folder `key=value` in `to` gets the files that `shoal stream` would write for the events
    of that key alone. A stopped or killed stream resumes with the same call: nothing is lost or published twice. Driver
    and workers must see `to` and `private` under the same path, and have Shoal installed.

    Parameters
    ----------
    events
        A streaming frame of Spark's.
    to, private
        Folders for what is published, and for the state and Spark's checkpoint, which hold raw events.
    key
        The column whose values are kept separate, such as a region or a tenant. They become names of folders, so they
        are public. Events without one are counted and not published.
    order
        Columns that put the events of a batch in order of arrival, such as the offset of a queue. Events that are equal
        in all of them come in the order in which Spark reads them.
    time, sensitive, quasi, id, every, lateness, known, strict
        As in `Arrivals`.
    follow
        Whether to wait for further events until SIGINT or SIGTERM; otherwise only existing events are taken.
    flush
        Whether the end of the input is the end of the stream.
    source
        A name for the input; when the stream resumes, a different name is refused.
    untyped, malformed
        Whether all columns are text because the source knows no types; the column that is not null for an event that
        could not be read.
    advance, certify, tell
        Callbacks: `advance` gets the numbers of published and closed snapshots; `certify`, after each batch, the
        folders of keys with something new; `tell`, notes that are not errors but should be known.
    """
    to, private = Path(to).resolve(), Path(private).resolve()
    if not events.isStreaming:
        raise ParameterError("The events must be a streaming frame: spark.readStream, not spark.read.")
    check_terms(method, [*quasi, sensitive], known, file_format)
    columns = {"time": time, "sensitive": sensitive, "quasi": tuple(quasi), "id": id}
    settings = stream_terms(
        method, columns, to=to, file_format=file_format, every=every, lateness=lateness, known=known
    ) | {
        "engine": "spark",
        "source": f"spark {source}",
        "key": key,
        "order": list(order),
    }
    terms = Terms(
        method=method,
        key=key,
        time=time,
        sensitive=sensitive,
        quasi=tuple(quasi),
        id=id,
        every=every,
        lateness=lateness,
        known=None if known is None else tuple(sorted(set(known))),
        strict=strict,
        untyped=untyped,
        file_format="csv" if file_format == "csv" else "parquet",
        to=to,
        private=private,
    )
    frame = _arranged(events, terms, order, malformed)
    with ExitStack() as stack:
        _open(private, to)
        stack.enter_context(locked(private))
        stream = Run(frame, tuple(order), terms, settings, advance, certify)
        if stream.is_new:
            check_new(to)
        elif stream.n_published and not to.exists():
            raise ReleaseError(
                f"{str(to)!r} is gone, and with it {stream.n_published} published snapshots. Restore the folder "
                "(empty if the snapshots were moved elsewhere), or start a new stream in new folders."
            )
        to.mkdir(parents=True, exist_ok=True)
        _tidy(to, private)
        return stream.run(stack.enter_context(stopping()), follow=follow, flush=flush, tell=tell)


def _arranged(events: DataFrame, terms: Terms, order: Sequence[str], malformed: str | None) -> DataFrame:
    """The columns needed, the key as text, and a mark on events that could not be read."""
    from pyspark.sql import functions as f

    columns = terms.arrivals().columns
    if terms.key in (terms.time, terms.sensitive, terms.id):
        raise ParameterError(
            f"The key {terms.key!r} cannot be the time, the sensitive value or the id: its values become names of "
            "folders."
        )
    wanted = [*columns, terms.key, *order, *([] if malformed is None else [malformed])]
    if lacking := [name for name in dict.fromkeys(wanted) if name not in events.columns]:
        raise InputError(f"There is no column {lacking[0]!r} among the {len(events.columns)} columns of the events.")
    kind = next(name for column, name in events.dtypes if column == terms.key)
    if kind not in _KEY_TYPES:
        raise ParameterError(
            f"The key {terms.key!r} has Spark's type {kind.split('<')[0]}; folder names are made from text, whole "
            "numbers, dates and booleans."
        )
    text = f.col(f"`{terms.key}`").cast("string")
    wrong = f.lit(False) if malformed is None else f.col(f"`{malformed}`").isNotNull()
    return events.select(
        # An entry in a line that could not be read is not a key: it must not name a folder.
        f.when((text != "") & ~wrong, text).alias(KEY),
        wrong.alias(MALFORMED),
        *(f.col(f"`{name}`") for name in dict.fromkeys([*columns, *order])),
    )


def _open(private: Path, to: Path) -> None:
    """Make the private folder, readable by its owner only."""
    if private == to or to in private.parents:
        raise ReleaseError("The private folder must not be inside the release.")
    try:
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(f"Cannot make the private folder {str(private)!r}: {error.strerror}.") from None
    if private.stat().st_mode & 0o077:
        name = str(private)
        raise ReleaseError(f"The private folder {name!r} can be read by others. Run: chmod 700 {name!r}")


def _tidy(to: Path, private: Path) -> None:
    """Remove temporary files of a killed run; some of them hold events."""
    for folder in to.glob(f"*/{PARTIAL}*"):
        shutil.rmtree(folder, ignore_errors=True)
    for path in (private / STATES).glob("*/.*.partial"):
        path.unlink(missing_ok=True)
