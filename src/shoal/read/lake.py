"""Tables of a data lake: Delta and Iceberg, whose log says which Parquet files belong to the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.read.remote_files import folder_of_store, is_store
from shoal.read.source_files import shown
from shoal.read.tables import SourceTable, plain, rows_per_batch


def is_lake(source: str) -> bool:
    """Whether this is the folder of a Delta or Iceberg table: its Parquet files may hold deleted rows."""
    return _kind(source) is not None


def _kind(source: str) -> str | None:
    for kind, mark in (("Delta", "_delta_log"), ("Iceberg", "metadata")):
        names = folder_of_store(source, mark) if is_store(source) else _names(Path(source).expanduser() / mark)
        if any(name.endswith(".json") for name in names) and (kind == "Delta" or _metadata(names) is not None):
            return kind
    return None


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()] if folder.is_dir() else []
    except (OSError, ValueError):
        return []


def _metadata(names: Sequence[str]) -> str | None:
    """The newest metadata file: by its number, v3.metadata.json or 00003-<uuid>.metadata.json."""
    found = [name for name in names if name.endswith(".metadata.json")]
    return max(found, key=lambda name: (_number(name), name), default=None)


def _number(name: str) -> int:
    digits = name.lstrip("v").partition("-")[0].partition(".")[0]
    return int(digits) if digits.isdigit() else -1


def open_lake(source: str) -> SourceTable:
    """The current state of the table by its log."""
    return LakeTable(source, str(_kind(source)))


class LakeTable(SourceTable):
    """A Delta or Iceberg table, in one version for all passes."""

    def __init__(self, source: str, kind: str) -> None:
        self._source, self._what = shown(source), kind
        try:
            self._dataset = _open_delta(source) if kind == "Delta" else _open_iceberg(source)
        except ImportError:
            raise InputError(f"Reading {kind} tables needs a package: pip install 'shoal[lake]'.") from None
        except Exception:  # each library has a family of its own, and its words may quote addresses
            raise self._refused() from None
        super().__init__(self._dataset.names, kind="file")

    def _refused(self) -> InputError:
        return InputError(
            f"{self._source} cannot be read as a {self._what} table: its log or one of its files is damaged, missing "
            "or not accessible. Details are withheld because they may quote data or keys."
        )

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Batches of the version that was opened."""
        wanted = [self.names[c] for c in columns]
        try:
            for batch in self._dataset.batches(list(dict.fromkeys(wanted))):
                for start in range(0, batch.num_rows, rows_per_batch(len(columns))):
                    part = batch.slice(start, rows_per_batch(len(columns)))
                    yield plain([part.column(name) for name in wanted])
        except InputError:
            raise
        except Exception:
            raise self._refused() from None


class _Delta:
    def __init__(self, dataset: Any) -> None:
        self._dataset, self.names = dataset, dataset.schema.names

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._dataset.to_batches(columns=columns)  # type: ignore[no-any-return]


def _open_delta(source: str) -> _Delta:
    from deltalake import DeltaTable

    return _Delta(DeltaTable(source if is_store(source) else str(Path(source).expanduser())).to_pyarrow_dataset())


class _Iceberg:
    def __init__(self, table: Any) -> None:
        self._table, self.names = table, [field.name for field in table.schema().fields]

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self._table.scan(selected_fields=tuple(columns)).to_arrow_batch_reader()


def _open_iceberg(source: str) -> _Iceberg:
    from pyiceberg.table import StaticTable

    root = source.rstrip("/") if is_store(source) else str(Path(source).expanduser().resolve())
    names = folder_of_store(source, "metadata") if is_store(source) else _names(Path(root) / "metadata")
    return _Iceberg(StaticTable.from_metadata(f"{root}/metadata/{_metadata(names)}"))
