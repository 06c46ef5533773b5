"""Small pieces of work for the tests of engines: workers import them, so they are in a module of their own."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa

from shoal.engines import each_key
from shoal.engines.contract import Blocks
from shoal.engines.rows import pack
from shoal.errors import ParameterError
from shoal.release.written_parts import WritePart

NUMBERS = pa.schema([("n", pa.int64())])
COUNTED = pa.schema([("key", pa.string()), ("n", pa.int64())])


@dataclass(frozen=True)
class Double:
    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield pa.record_batch([pa.array(2 * block["n"].to_numpy())], schema=NUMBERS)


@dataclass(frozen=True)
class CountKeys:
    """Rows of each key, each key as often as it comes apart."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for rows in each_key(blocks, ["key"]):
            assert rows["n"].to_pylist() == sorted(rows["n"].to_pylist())
            yield pa.record_batch([[str(rows["key"][0].as_py())], [rows.num_rows]], schema=COUNTED)


@dataclass(frozen=True)
class CountRows:
    def __call__(self, blocks: Blocks) -> Blocks:
        yield pa.record_batch([[sum(block.num_rows for block in blocks)]], schema=NUMBERS)


@dataclass(frozen=True)
class Repeat:
    """Many large rows of a few."""

    times: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            for n in block["n"].to_pylist():
                numbers = np.full(self.times, n)
                yield pa.record_batch(
                    [pa.array(numbers), pack(np.tile(numbers[:, None], 64).astype(float))], ["n", "row"]
                )


@dataclass(frozen=True)
class AddShared:
    shared: object

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield pa.record_batch([pa.array(block["n"].to_numpy() + self.shared.value["add"])], schema=NUMBERS)


@dataclass(frozen=True)
class Refuse:
    def __call__(self, blocks: Blocks) -> Blocks:
        for _ in blocks:
            raise ParameterError("k=3 is too many.\nLower it.")
        yield from ()


@dataclass(frozen=True)
class Fail:
    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield block.append_column("wrong", pa.array([int(f"secret-{block['n'][0]}")]))


def _marks() -> str:
    return os.environ["SHOAL_TEST_MARKS"]


@dataclass(frozen=True)
class MarkedPart(WritePart):
    """The writing of a part, slowly, and each part leaves a mark with the number of its process."""

    marks: str = field(default_factory=_marks)

    def __call__(self, number, items):
        written = super().__call__(number, items)
        (Path(self.marks) / f"{os.getpid()}-{uuid4().hex}").touch()
        time.sleep(0.3)
        return written
