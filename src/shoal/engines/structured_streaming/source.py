"""Events from the files of a folder, which Spark reads as they appear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError
from shoal.read.columns import find_column
from shoal.read.files import read_header

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_ENDINGS = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz"),
    "json": (".json", ".ndjson", ".jsonl", ".json.gz"),
}
_PATTERNS = {"parquet": "*.{parquet,pq}", "csv": "*.{csv,csv.gz}", "json": "*.{json,ndjson,jsonl,json.gz}"}
_CORRUPT = "__shoal_corrupt"
_FILE, _PATH, _BLOCK = "__shoal_file", "__shoal_path", "__shoal_block"


@dataclass(frozen=True)
class ArrivingFiles:
    """A streaming frame of events, and the order of the events in a batch.

    Parameters
    ----------
    frame
        The requested columns, and those below.
    order
        Columns that sort the events of a batch by file name, and within a file by row.
    malformed
        The column that is not null where a line could not be read.
    untyped
        Whether all columns are text because the files know no types.
    """

    frame: DataFrame
    order: tuple[str, ...]
    malformed: str | None
    untyped: bool


def arriving_files(spark: SparkSession, folder: Path, columns: Sequence[str]) -> ArrivingFiles:
    """Stream the Parquet, CSV or JSON files that are in a folder or appear in it; all must be of one kind.

    As with `shoal stream`, a file must be complete when it gets its name, hidden files and other endings are ignored,
    and the entries of CSV and JSON are text until the stream decides.
    """
    from pyspark.sql import functions as f
    from pyspark.sql import types

    folder = folder.resolve()  # Java has its own working folder
    kind, first = _look(folder)
    reader = spark.readStream.format(kind).option("pathGlobFilter", _PATTERNS[kind])
    # By default, Spark silently leaves out a file that is a week older than another.
    reader = reader.option("maxFileAge", "36500d")
    if kind == "parquet":
        schema = _schema(spark, folder)
        names = schema.names
    else:
        names = read_header(first)[0] if kind == "csv" else list(columns)
        schema = types.StructType([types.StructField(name, types.StringType()) for name in (*names, _CORRUPT)])
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", _CORRUPT)
        if kind == "json":
            reader = reader.option("primitivesAsString", "true")
        else:
            separator = read_header(first)[1]
            reader = reader.options(header="true", sep=separator, enforceSchema="false", columnPruning="false")
            reader = reader.options(multiLine="true", escape='"')
    for name in columns:
        find_column(names, name)
    frame = reader.schema(schema).load(str(folder))
    frame = frame.select(
        *(f.col(f"`{name}`") for name in dict.fromkeys(columns)),
        *([] if kind == "parquet" else [_CORRUPT]),
        f.col("_metadata.file_name").alias(_FILE),
        f.col("_metadata.file_path").alias(_PATH),
        f.col("_metadata.file_block_start").alias(_BLOCK),
    )
    untyped = kind != "parquet"
    return ArrivingFiles(frame, (_FILE, _PATH, _BLOCK), _CORRUPT if untyped else None, untyped)


def _schema(spark: SparkSession, folder: Path) -> StructType:
    """The columns of Parquet files and their types."""
    from pyspark.errors import PySparkException

    try:
        return spark.read.option("pathGlobFilter", _PATTERNS["parquet"]).parquet(str(folder)).schema
    except PySparkException as error:
        kind = error.getCondition() or type(error).__name__  # the message may quote the data
        raise InputError(f"Spark cannot read the Parquet files in {str(folder)!r}: {kind}.") from None


def _look(folder: Path) -> tuple[str, Path]:
    """The kind of the files in a folder, and the first of them."""
    if not folder.is_dir():
        raise InputError(f"No such folder: {folder}. On Spark, a stream is a folder of Parquet, CSV or JSON files.")
    firsts: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        if any(part.startswith((".", "_")) for part in path.relative_to(folder).parts) or not path.is_file():
            continue
        for kind, endings in _ENDINGS.items():
            if path.name.lower().endswith(endings):
                firsts.setdefault(kind, path)
    if not firsts:
        raise InputError(f"{str(folder)!r} holds no Parquet, CSV or JSON file yet, so its columns are not known.")
    if len(firsts) > 1:
        raise InputError(f"{str(folder)!r} holds files of several kinds: {', '.join(sorted(firsts))}. Keep one kind.")
    return next(iter(firsts.items()))
