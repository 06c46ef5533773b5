"""The engine for Spark: on one machine, on a cluster, or in an existing session."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import pyarrow as pa

from shoal.engines.contract import MOST_COLLECTED, Blocks, PanelReading, Shared, Table, Work, refuse_large
from shoal.engines.scatter import refuse_missing_keys
from shoal.engines.session import close as close_session
from shoal.engines.session import session as new_session
from shoal.engines.work import Chain, Columns, Having
from shoal.engines.work_errors import carried, raise_carried
from shoal.errors import InputError
from shoal.files.scratch import ScratchFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

V = TypeVar("V")

_BATCH = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH_BYTES = str(64 * 2**20)  # not a number of rows: they may be of any length, and a worker holds a whole batch


@dataclass(frozen=True)
class SparkTable:
    """A Spark frame and the work still to be done on it, chained so that rows cross to Python once."""

    frame: DataFrame
    schema: pa.Schema
    pending: tuple[Work, ...] = ()

    def done(self) -> DataFrame:
        """The frame after its work."""
        if not self.pending:
            return self.frame
        from pyspark.sql.pandas.types import from_arrow_schema

        with _no_word_of_pandas():
            return self.frame.mapInArrow(_Cast(Chain(self.pending), self.schema), from_arrow_schema(self.schema))


@dataclass(frozen=True)
class _Cast:
    """Work whose blocks have exactly the promised columns: Spark takes columns by position and does not check."""

    work: Work
    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        try:
            for block in self.work(blocks):
                if block.num_rows:
                    yield block.select(self.schema.names).cast(self.schema)
        except Exception as error:
            raise carried(error) from None


@dataclass(frozen=True)
class _WithKeys:
    """Refuse rows that lack a key."""

    keys: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            refuse_missing_keys(block, self.keys)
            yield block


@dataclass(frozen=True)
class _Names:
    """Give columns their own names again."""

    names: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield block.rename_columns(list(self.names))


class Spark(PanelReading):
    """Runs on Spark; only samples, plans and summaries reach the driver.

    Parameters
    ----------
    session
        An existing session, such as that of a notebook or a cluster. It stays open.
    master
        Where a new session runs, such as "local[2]" or "spark://host:7077"; by default, the master that spark-submit
        was given, or else all cores of this machine.
    conf
        Spark settings for a new session.

    Examples
    --------
    >>> from shoal.engines import Spark
    >>> with Spark(master="local[2]") as engine:  # doctest: +SKIP
    ...     engine.cores
    2
    """

    name: ClassVar[str] = "spark"

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        self._own = session is None
        self.session: SparkSession = new_session(master, conf) if session is None else session
        self.session.conf.set(_BATCH, _BATCH_BYTES)
        self._kept: list[DataFrame] = []
        self._shared: list[Any] = []
        self._folders: list[ScratchFolder] = []

    @property
    def cores(self) -> int:
        """Number of tasks that run at once."""
        return int(self.session.sparkContext.defaultParallelism)

    def read(self, path: str, columns: Sequence[str] | None = None) -> SparkTable:
        """A Parquet file or folder, anywhere Spark can read."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if any(sign in path for sign in "*?[]{}\\"):
            # Spark would treat the name as a pattern: asked for m[1].parquet, it reads m1.parquet.
            raise InputError("Spark cannot read a path with *, ?, [ or {: it treats it as a pattern. Rename it.")
        try:
            frame = self.session.read.parquet(path)
        except (PySparkException, Py4JError):
            # For a file system it does not know, Spark passes on Java's error unwrapped.
            raise unreadable(path) from None
        for name in columns or ():
            if name not in frame.columns:
                raise InputError(f"There is no column {name!r} in the table.")
        return self._table(frame if columns is None else frame.select(*(f"`{name}`" for name in columns)))

    def scatter(self, rows: pa.Table, parts: int | None = None) -> SparkTable:
        """Spread rows from the driver over parts in turn."""
        # Arrow tables become frames of one row group each; the shuffle of a few rows costs nothing.
        with _no_word_of_pandas():
            frame = self.session.createDataFrame(rows)
        return SparkTable(frame.repartition(max(1, parts or rows.num_rows)), rows.schema)

    def map(self, table: Table, work: Work, schema: pa.Schema) -> SparkTable:
        """Done in the next step that needs it."""
        mine = _mine(table)
        if isinstance(work, Columns) and not mine.pending and schema.names == list(work.names):
            return SparkTable(mine.frame.select(*(f"`{name}`" for name in work.names)), schema)
        if isinstance(work, Having) and not mine.pending:
            return SparkTable(self._having(mine.frame, work), schema)
        return SparkTable(mine.frame, schema, (*mine.pending, work))

    def together(
        self, table: Table, keys: Sequence[str], work: Work, schema: pa.Schema, *, order: Sequence[str] = ()
    ) -> SparkTable:
        """One shuffle; Spark chooses the number of parts."""
        mine = _mine(table)
        sorted_frame = mine.done().repartition(*keys).sortWithinPartitions(*keys, *order)
        return SparkTable(sorted_frame, schema, (_WithKeys(tuple(keys)), work))

    def concat(self, tables: Sequence[Table]) -> SparkTable:
        """Their union; columns are matched by name."""
        first, *others = (_mine(table) for table in tables)
        frame = first.done()
        for other in others:
            frame = frame.unionByName(other.done())
        return SparkTable(frame, first.schema)

    def keep(self, table: Table) -> SparkTable:
        """On the executors' disks; what is lost with an executor is computed again."""
        from pyspark import StorageLevel

        mine = _mine(table)
        frame = mine.done().persist(StorageLevel.DISK_ONLY)
        self._kept.append(frame)
        return SparkTable(frame, mine.schema)

    def collect(self, table: Table, *, most: int = MOST_COLLECTED) -> pa.Table:
        """All rows as Arrow."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        mine = _mine(table)
        try:
            with _no_word_of_pandas():
                rows = mine.done().toArrow()
        except (PySparkException, Py4JError) as error:
            raise_carried(str(error))
        refuse_large(rows.nbytes, most)
        return rows.select(mine.schema.names).cast(mine.schema)

    def share(self, value: V) -> Shared[V]:
        """By a broadcast."""
        shared = self.session.sparkContext.broadcast(value)
        self._shared.append(shared)
        return shared

    def scratch(self) -> Path | None:
        """A new folder for files, removed at the end. None on a cluster: workers on other machines would not see it."""
        if not str(self.session.sparkContext.master).startswith("local"):
            return None
        self._folders.append(ScratchFolder.make("shoal-rows-"))
        rows = self._folders[-1].path / "rows"
        rows.mkdir()
        return rows

    def close(self) -> None:
        """Release what was kept; end the session if we started it."""
        for frame in self._kept:
            frame.unpersist()
        for shared in self._shared:
            shared.unpersist()
        for folder in self._folders:
            folder.remove()
        self._kept, self._shared, self._folders = [], [], []
        if self._own:
            close_session(self.session)

    def __enter__(self) -> Spark:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _having(self, frame: DataFrame, work: Having) -> DataFrame:
        from pyspark.sql.functions import broadcast

        with _no_word_of_pandas():
            names = self.session.createDataFrame(pa.table({work.column: work.among}))
        columns = [f"`{name}`" for name in frame.columns]
        way = "left_anti" if work.others else "left_semi"
        return frame.join(broadcast(names), on=work.column, how=way).select(*columns)

    def _table(self, frame: DataFrame) -> SparkTable:
        from pyspark.sql.pandas.types import to_arrow_schema

        zone = str(self.session.conf.get("spark.sql.session.timeZone"))
        schema = to_arrow_schema(frame.schema, timezone=zone)
        if not any("." in name for name in schema.names):
            return SparkTable(frame, schema)
        # Spark reads a dot in a name, such as that of a time with fractions, as the way into a nested column.
        plain = frame.toDF(*(f"column {i}" for i in range(len(schema.names))))
        return SparkTable(plain, schema, (_Names(tuple(schema.names)),))


def unreadable(path: str) -> InputError:
    """The error for a path that Spark cannot read."""
    scheme, mark, _ = path.partition("://")
    if not mark:
        return InputError("There is no Parquet file at the path given.")
    connector = {"s3": "s3a:// and hadoop-aws", "s3a": "hadoop-aws", "gs": "gcs-connector"}.get(scheme, "hadoop-azure")
    needs = "a file" if scheme in ("http", "https") else f"{connector} among its jars (spark.jars.packages)"
    return InputError(
        f"Spark cannot read the {scheme}:// address as Parquet. It needs {needs} and credentials of its own; --engine "
        "local reads s3://, gs://, az:// and https:// without them."
    )


@contextmanager
def _no_word_of_pandas() -> Iterator[None]:
    """Suppress PySpark's remark on the version of pandas, which it looks for wherever it uses Arrow; we do not use
    it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def _mine(table: Table) -> SparkTable:
    if not isinstance(table, SparkTable):
        raise TypeError("This table belongs to another engine.")
    return table
