"""What the steps of a release take on one core, counted and timed; and what Spark adds."""

# ruff: noqa: E402 - libraries read how many threads they may have when they are loaded

import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

# What is measured is the work of one core.
for _name in ("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shoal import Microaggregation, publish, simulate, verify
from shoal.attacks import KnownTotals
from shoal.engines import Local, Same
from shoal.engines import spark as spark_engine
from shoal.engines.contract import Blocks
from shoal.engines.local import LocalTable
from shoal.engines.parts import MappedPart
from shoal.engines.shard_plan import default_size
from shoal.engines.work import Columns, Having
from shoal.errors import ParameterError
from shoal.model import Whole

GB = 1e9
PER_DAY = 48
_SPARK_ROWS = 1500


@dataclass(frozen=True)
class Cluster:
    """Where it would run."""

    executors: int
    cores: int
    memory: int
    network: float
    busy: float

    @property
    def all_cores(self) -> int:
        """Of all executors."""
        return self.executors * self.cores

    @property
    def words(self) -> str:
        """For people."""
        return (
            f"{self.executors} executors with {self.cores} cores, {self.memory} GB and {self.network:g} Gbit/s each, "
            f"cores at work {100 * self.busy:.0f} % of the time"
        )


@dataclass
class Step:
    """What one step took, of all series measured."""

    name: str
    seconds: float = 0.0
    """Of processor time."""
    once: float = 0.0
    """Seconds of these that it takes however many series there are."""
    shuffled: list[tuple[str, int]] = field(default_factory=list)
    """What rows were brought together by, and their bytes."""
    kept: int = 0
    """Bytes written to scratch to be read again."""
    read: int = 0
    """Bytes read from there."""
    passed: int = 0
    """Bytes passed over there, in search of a few rows."""
    passes: float = 0.0
    """How often the input was read."""

    @property
    def moved(self) -> int:
        """Bytes through shuffles."""
        return sum(size for _, size in self.shuffled)


class Counting(Local):
    """The local engine in one process, with a count of what it moves."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(scratch=scratch)
        self.step = Step("before")
        self.input_rows = 1

    def read(self, path, columns=None):  # type: ignore[no-untyped-def]
        """The same, rows counted as they are read."""
        table = super().read(path, columns)
        return self.map(table, _Watch(self._saw_input), table.schema)

    def map(self, table, work, schema):  # type: ignore[no-untyped-def]
        """The same; of kept rows only the columns asked for are read, and rows not asked for are passed over."""
        if isinstance(work, Columns | Having):
            return LocalTable(tuple(self._inside(part, work, schema) for part in table.parts), schema)
        return super().map(table, work, schema)

    def _inside(self, part, work, schema):  # type: ignore[no-untyped-def]
        """Such work on a part, done before its rows are counted, as Spark does it."""
        before = getattr(part, "work", None)
        if isinstance(before, Having) and isinstance(work, Columns):
            names = tuple(dict.fromkeys((*work.names, before.column)))
            wider = pa.schema([part.schema.field(name) for name in names])
            found = MappedPart(self._inside(part.part, Columns(names), wider), before, wider)
            return MappedPart(found, work, schema)
        if isinstance(before, _Watch):
            rows = part.part
            if isinstance(work, Having) and not work.others:
                rows = MappedPart(rows, _Watch(self._saw_passed), schema)
            return MappedPart(MappedPart(rows, work, schema), before, schema)
        if isinstance(before, Having) and isinstance(work, Having):
            return MappedPart(self._inside(part.part, work, schema), before, schema)
        return MappedPart(part, work, schema)

    def together(self, table, keys, work, schema, *, order=()):  # type: ignore[no-untyped-def]
        """The same, with the bytes of what was written by key."""
        found = super().together(table, keys, work, schema, order=order)
        self.step.shuffled.append((", ".join(keys), sum(part.size for part in found.parts)))
        return found

    def keep(self, table):  # type: ignore[no-untyped-def]
        """The same, with the bytes of what was kept."""
        found = super().keep(table)
        self.step.kept += sum(part.size for part in found.parts)
        return self.map(found, _Watch(self._saw_kept), found.schema)

    def _saw_input(self, block: pa.RecordBatch) -> None:
        self.step.passes += block.num_rows / self.input_rows

    def _saw_kept(self, block: pa.RecordBatch) -> None:
        self.step.read += block.nbytes

    def _saw_passed(self, block: pa.RecordBatch) -> None:
        self.step.passed += block.nbytes

    @contextmanager
    def doing(self, name: str, steps: list[Step]) -> Iterator[None]:
        """A step with its processor time."""
        self.step = Step(name)
        began = time.process_time()
        yield
        self.step.seconds = time.process_time() - began
        steps.append(self.step)
        print(f"{name}: {self.step.seconds:.1f} s, {len(self.step.shuffled)} shuffles, {self.step.moved / GB:.2f} GB")


@dataclass(frozen=True)
class _Watch:
    seen: Callable[[pa.RecordBatch], None]

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            self.seen(block)
            yield block


@dataclass(frozen=True)
class Measured:
    """Everything that was measured on the local engine."""

    steps: list[Step]
    input_bytes: int
    release_bytes: int
    shards: int
    told: int
    """Bytes that a shard tells about itself."""
    holds: bool

    @property
    def once(self) -> float:
        """Seconds of all steps that do not grow with the number of series."""
        return sum(step.once for step in self.steps)


def measure_steps(n: int, days: int, k: int, targets: int) -> Measured:
    """Run all steps, after a small run in which the kernels are compiled.

    Once with half of the series and once with all: a sample is looked through once, however many series there are.
    """
    with tempfile.TemporaryDirectory(prefix="shoal-arithmetic-") as folder:
        place = Path(folder)
        write_meters(place / "small.parquet", 4 * k, min(3, days))
        run_steps(place / "small.parquet", place, k, 2 * k)
        few = n // 2
        write_meters(place / "few.parquet", few, days)
        fewer = run_steps(place / "few.parquet", place, k, targets // 2)
        write_meters(place / "meters.parquet", n, days)
        measured = run_steps(place / "meters.parquet", place, k, targets)
    for step, before in zip(measured.steps, fewer.steps, strict=True):
        each = (step.seconds - before.seconds) / (n - few)
        step.once = min(step.seconds, max(0.0, step.seconds - n * each))
        for name in ("kept", "read", "passed"):  # a sample is read once, too
            more = (getattr(step, name) - getattr(before, name)) / (n - few)
            setattr(step, name, max(0, round(n * more)))
    return measured


def planned_size(n: int, length: int) -> int:
    """Meters in a shard where nobody asks for a number."""
    return default_size(Whole(n_series=n, n_subjects=n, n_missing=0, times=np.arange(length)))


def write_meters(path: Path, n: int, days: int) -> None:
    """Half-hourly meters as a long table, a group of rows for some hundred series."""
    first = True
    writer = None
    for start in range(0, n, 500):
        meters = simulate.meters(min(500, n - start), days=days, step="30min", seed=start + 1)
        size, length = meters.values.shape
        names = np.repeat([f"meter-{start + i:08}" for i in range(size)], length)
        table = pl.DataFrame({"id": names, "time": np.tile(meters.times, size), "value": meters.values.ravel()})
        rows = table.to_arrow().cast(
            pa.schema([("id", pa.string()), ("time", pa.timestamp("us")), ("value", pa.float64())])
        )
        if first:
            writer, first = pq.ParquetWriter(path, rows.schema, compression="zstd"), False
        writer.write_table(rows)
    assert writer is not None
    writer.close()


def run_steps(path: Path, place: Path, k: int, targets: int) -> Measured:
    """Read, group, attack, publish."""
    steps: list[Step] = []
    out = place / f"release-{path.stem}"
    with Counting(place) as engine:
        engine.input_rows = pq.read_metadata(path).num_rows
        with engine.doing("read", steps):
            panel = engine.read_panel(path, digests=False)
        with engine.doing("microaggregation", steps):
            candidate = Microaggregation(k=k).anonymize(panel)
        with engine.doing("attack: known totals", steps):
            risk = candidate.attack(KnownTotals(), n_targets=targets)
        with engine.doing("check, measure, write, verify", steps):
            publish(candidate, out, risks={KnownTotals.name: (risk, KnownTotals().meaning)})
        shards, told = candidate.n_shards, len(pickle.dumps(candidate.facts[0], protocol=5))
    holds = verify(out).outcome == "holds"
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    return Measured(steps, path.stat().st_size, size, shards, told, holds)


@dataclass(frozen=True)
class SparkCosts:
    """Seconds of a core for each GB, above what the local engine takes."""

    shuffled: float
    kept: float
    passed: float
    java: str


@dataclass(frozen=True)
class _Make:
    """Rows of the full length from their numbers."""

    length: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            numbers = block.column("number").to_numpy()
            # Part of the digits repeat, as readings do; noise alone would not compress.
            rows = np.random.default_rng(int(numbers[0])).integers(0, 2000, (len(numbers), self.length)) / 1000.0
            data = pa.array([row.tobytes() for row in rows], pa.binary())
            yield pa.record_batch([pa.array(numbers), data], names=["number", "row"])


@dataclass(frozen=True)
class _Weigh:
    """How many bytes there are."""

    def __call__(self, blocks: Blocks) -> Blocks:
        size = sum(block.nbytes for block in blocks)
        yield pa.record_batch([[size]], schema=_SIZE)


_SIZE = pa.schema([("size", pa.int64())])
_ROWS = pa.schema([("number", pa.int64()), ("row", pa.binary())])


def measure_spark(length: int) -> SparkCosts | None:
    """What a shuffle and a kept table cost on Spark with one core; None without Java."""
    try:
        engine = spark_engine.Spark(master="local[1]", conf={"spark.driver.memory": "4g"})
    except ParameterError:
        return None
    numbers = pa.table({"number": np.arange(_SPARK_ROWS)})
    with engine:
        engine.session.sparkContext.addPyFile(__file__)  # workers do not know this folder
        made = engine.map(engine.scatter(numbers, 8), _Make(length), _ROWS)

        def seconds(table: spark_engine.SparkTable) -> tuple[float, int]:
            began = processor_time()
            found = engine.collect(engine.map(table, _Weigh(), _SIZE))
            return processor_time() - began, int(np.sum(found["size"].to_numpy()))

        few = engine.scatter(numbers, 8)
        tables = (
            few,
            engine.together(few, ["number"], Same(), few.schema),
            made,
            engine.together(made, ["number"], Same(), _ROWS),
        )
        for table in tables:
            seconds(table)  # Java compiles what it sees often, in threads that would count
        # Tasks cost something without any rows; only what rows add is carried over.
        nothing, few_together, plain, together = (min(seconds(table)[0] for _ in range(3)) for table in tables)
        kept = engine.keep(made)
        written, size = seconds(kept)
        read = min(seconds(kept)[0] for _ in range(2))
        one = engine.map(kept, Having("number", pa.array([7])), _ROWS)
        found = min(seconds(one)[0] for _ in range(3))
        java = engine.session.sparkContext._jvm.System.getProperty("java.version")
    print(f"Spark, {size / GB:.2f} GB: {plain:.1f} s, together {together:.1f}, kept {written:.1f}, read {read:.1f}")
    print(f"Spark, one row of these found: {found:.1f} s")
    print(f"Spark, no rows to speak of: {nothing:.1f} s, together {few_together:.1f}")
    moved = max(0.0, (together - plain) - (few_together - nothing))
    kept_and_read = max(0.0, (written - plain) + (read - nothing)) / 2
    passed = max(0.0, found - nothing)
    return SparkCosts(moved / (size / GB), kept_and_read / (size / GB), passed / (size / GB), str(java))


def processor_time() -> float:
    """Seconds that this process and everything it started have worked: Java, and Python under it."""
    parents, worked = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
                worked[int(entry.name)] = sum(map(int, fields[11:15]))  # its own, and of those it waited for
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(worked[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")
