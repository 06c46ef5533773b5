"""What a worker does with a batch, without Spark: the gate, crashes between two steps, and what it tells."""

import dataclasses
import json

import polars as pl
import pyarrow as pa
import pytest

from shoal import Reposition
from shoal.engines.structured_streaming.keys import KeyFiles, Terms
from shoal.engines.structured_streaming.work import KEY, MALFORMED, FinishKeys, TakeBatch, raise_told
from shoal.errors import GuaranteeNotMetError

SECRETS = ["hunter2", "alice", "4711"]


@pytest.fixture
def terms(tmp_path):
    return Terms(
        method=Reposition(l=2, window=2, seed=1),
        key="tenant",
        time="time",
        sensitive="x",
        quasi=("age",),
        id=None,
        every=None,
        lateness=None,
        known=None,
        strict=False,
        untyped=False,
        file_format="parquet",
        to=tmp_path / "out",
        private=tmp_path / "keep",
    )


def batch(first, last, keys=("alice", "bob")):
    """Two events of different values at each instant, for each key."""
    rows = [(key, t, age, x) for key in keys for t in range(first, last) for age, x in ((4711, "hunter2"), (30, "b"))]
    frame = pl.DataFrame(rows, schema=[KEY, "time", "age", "x"], orient="row")
    return frame.with_columns(pl.lit(False).alias(MALFORMED)).to_arrow().to_batches(max_chunksize=5)


def told(work, blocks):
    return [row for block in work(iter(blocks)) for row in block.to_pylist()]


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def finish(terms):
    names = pa.RecordBatch.from_pydict({"name": ["tenant=alice", "tenant=bob"]})
    return told(FinishKeys(terms), [names])


def test_a_worker_tells_counts_alone(terms):
    rows = told(TakeBatch(terms, 0), batch(0, 6))
    assert [row["name"] for row in rows] == ["tenant=alice", "tenant=bob"]
    for row in rows:
        assert json.loads(row["summary"])["snapshots"] == {"closed": 5, "published": 3}
        assert not [secret for secret in SECRETS if secret in row["summary"]]


def test_what_is_not_diverse_is_not_written_and_nothing_is_remembered_of_it(terms, monkeypatch):
    tables = Reposition.tables

    def one_value(self, eligible, **columns):
        found = tables(self, eligible, **columns)
        return [dataclasses.replace(one, counts=one.counts.with_columns(pl.lit("b").alias("x"))) for one in found]

    monkeypatch.setattr(Reposition, "tables", one_value)
    rows = told(TakeBatch(terms, 0), batch(0, 6))
    assert [row["error"] for row in rows] == ["GuaranteeNotMetError"] * 2
    with pytest.raises(GuaranteeNotMetError, match=r"from position 0 on is not 2-diverse\. None of them was published"):
        raise_told(rows[0]["error"], rows[0]["message"])
    assert files_of(terms.to) == {}
    assert not list((terms.private).rglob("state-*"))


def test_a_batch_that_is_done_twice_or_cut_off_anywhere_gives_the_same_bytes(terms, tmp_path, monkeypatch):
    for number, (first, last) in enumerate([(0, 4), (4, 7), (7, 9)]):
        told(TakeBatch(terms, number), batch(first, last))
    finish(terms)
    expected = files_of(terms.to)
    assert sum("data-" in name for name in expected) == 18

    other = dataclasses.replace(terms, to=tmp_path / "again" / "out", private=tmp_path / "again" / "keep")
    publish, commit = KeyFiles.publish, KeyFiles.commit

    def fail(self, *about):
        if step == "half published":
            publish(self, about[0][:1])
        if step == "committed":
            commit(self, *about)
        raise KeyboardInterrupt

    for number, (first, last) in enumerate([(0, 4), (4, 7), (7, 9)]):
        for step in ("not published", "half published", "not committed", "committed"):
            with monkeypatch.context() as patch:
                patch.setattr(KeyFiles, "publish" if "published" in step else "commit", fail)
                with pytest.raises(KeyboardInterrupt):
                    told(TakeBatch(other, number), batch(first, last))
        told(TakeBatch(other, number), batch(first, last))
        told(TakeBatch(other, number), batch(first, last))
    finish(other)
    finish(other)
    assert files_of(other.to) == expected


def test_a_defect_is_told_by_its_kind_and_place_and_the_other_keys_go_on(terms, monkeypatch):
    calls = []
    tables = Reposition.tables

    def first_fails(self, eligible, **columns):
        calls.append(1)
        if len(calls) == 1:
            raise ValueError(f"cannot convert {eligible[0].events['x'][0]!r}")
        return tables(self, eligible, **columns)

    monkeypatch.setattr(Reposition, "tables", first_fails)
    rows = told(TakeBatch(terms, 0), batch(0, 6))
    assert rows[0]["error"] == "internal"
    assert rows[0]["message"].startswith("ValueError at test_structured_streaming_work.py:")
    assert rows[1]["name"] == "tenant=bob"
    assert not rows[1]["error"]
    assert not [secret for row in rows for secret in SECRETS if secret in row["message"]]


def test_a_column_of_no_use_is_told_without_its_values(terms):
    blocks = [
        pa.RecordBatch.from_pydict(
            {KEY: ["alice"], MALFORMED: [False], "time": [{"a": "hunter2"}], "age": [1], "x": ["hunter2"]}
        )
    ]
    rows = told(TakeBatch(terms, 0), blocks)
    assert rows[0]["error"] == "InputError"
    assert rows[0]["message"] == (
        "Column 'time' must hold dates, timestamps, text such as 2024-05-31 14:30, or whole numbers."
    )


def test_a_damaged_state_is_refused(terms):
    told(TakeBatch(terms, 0), batch(0, 4))
    for path in terms.private.rglob("state-*"):
        path.write_bytes(path.read_bytes()[:-1])
    rows = told(TakeBatch(terms, 1), batch(4, 6))
    assert [row["error"] for row in rows] == ["ReleaseError"] * 2
    assert "cannot be read: it is damaged" in rows[0]["message"]


def test_a_folder_that_cannot_be_written_is_told(terms):
    terms.to.write_text("a file where a folder should be")
    rows = told(TakeBatch(terms, 0), batch(0, 6))
    assert rows[0]["error"] == "ReleaseError"
    assert rows[0]["message"] == "Cannot write the stream: Not a directory."
