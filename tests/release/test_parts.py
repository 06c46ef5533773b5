"""The gate of releases in parts."""

import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parts_examples import K, as_published, in_blocks, small_candidate, small_panel
from shoal import KAnonymity, Microaggregation, NoGuarantee, load_release, publish, verify
from shoal.engines import Local
from shoal.engines.rows import pack
from shoal.errors import GuaranteeNotMetError, ParameterError, ReleaseError
from shoal.model import Interval, Panel, Risk
from shoal.release import Pseudonyms, parts_writing
from shoal.release.parts import release_blocks
from shoal.release.parts_layout import Layout
from shoal.release.parts_names import parts_of
from shoal.release.parts_writing import WriteParts, part_numbers

SMALL = 512
"""Bytes of a part: sixty series of six values make eight parts."""


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    with Local(memory="64MB", scratch=tmp_path_factory.mktemp("scratch")) as engine:
        yield engine


def release(candidate, to, **settings):
    return release_blocks(candidate, to, **({"summary": "Test.", "part_bytes": SMALL} | settings))


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())


def judged_by_attacks(candidate):
    """The same without a promise, and the risks that the gate asks for then."""
    risk = Risk(0.0, Interval(0.0, 0.05), 0.0, Interval(0.0, 0.05), n_targets=9)
    return replace(candidate, guarantee=NoGuarantee()), {"risks": {"test": (risk, "Test.")}, "risk_limit": 0.1}


class TestFolder:
    def test_a_table_in_parts_is_the_table_of_the_candidate(self, local, tmp_path):
        candidate = small_candidate(local)
        written = release(candidate, tmp_path / "out", insecure_seed=1)
        parts = parts_of(written.certificate["files"])
        assert len(parts) == 8
        table = pl.read_parquet(tmp_path / "out" / "data.parquet")
        assert table.columns == ["id", "time", "value"]
        found = np.sort(table["value"].to_numpy().reshape(60, 6), axis=0)
        assert np.array_equal(found, np.sort(candidate.values(), axis=0))
        assert table["id"].to_list() == sorted(table["id"].to_list())
        assert verify(tmp_path / "out").holds

    def test_a_part_holds_whole_series_with_the_same_leading_bits(self, local, tmp_path):
        release(small_candidate(local), tmp_path / "out")
        for path in (tmp_path / "out" / "data.parquet").iterdir():
            names = pl.read_parquet(path)["id"]
            assert set(names.value_counts()["count"]) == {6}
            assert {int(name[0], 16) >> 1 for name in names} == {int(path.name[5:10])}

    def test_a_release_in_parts_says_what_one_in_memory_says(self, local, tmp_path):
        candidate = Microaggregation(k=K).anonymize(small_panel())
        publish(candidate, tmp_path / "memory")
        publish(in_blocks(candidate, local), tmp_path / "parts")
        memory, parts = (json.loads((tmp_path / name / "release.json").read_text()) for name in ("memory", "parts"))
        for field in ("form", "method", "guarantees", "counts", "time", "columns", "versions"):
            assert memory[field] == parts[field]
        assert memory["utility"].keys() == parts["utility"].keys()

    def test_channels_and_gaps_come_through(self, local, tmp_path):
        values = np.repeat(np.random.default_rng(0).normal(size=(4, 6, 2)), 3, axis=0)
        values[:6, 0, 0] = np.nan
        times = np.arange(6)
        panel = Panel(values, ids=[f"m{i}" for i in range(12)], times=times, channels=("kwh", "kvarh"))
        candidate = in_blocks(as_published(panel), local)
        release(candidate, tmp_path / "out")
        loaded = load_release(tmp_path / "out").published
        assert (loaded.n_series, loaded.n_channels, loaded.n_missing) == (12, 2, 6)
        assert loaded.times.tolist() == times.tolist()
        assert verify(tmp_path / "out").holds

    def test_loaded_it_is_a_release_like_others(self, local, tmp_path):
        candidate = small_candidate(local)
        written = release(candidate, tmp_path / "out", private=tmp_path / "private")
        loaded = load_release(tmp_path / "out")
        assert np.array_equal(loaded.values, written.values)
        who = pl.read_parquet(next((tmp_path / "private").glob("pseudonyms-*")) / "*.parquet")
        places = {name: at for at, name in enumerate(loaded.published.ids)}
        order = [places[name] for name in who.sort("id")["pseudonym"]]
        assert np.array_equal(loaded.values[order], candidate.values())

    def test_above_a_gigabyte_it_is_not_loaded(self, local, tmp_path, monkeypatch):
        release(small_candidate(local), tmp_path / "out")
        monkeypatch.setattr("shoal.release.loading.MOST_BYTES", 100)
        with pytest.raises(ReleaseError, match=r"Read its data\.parquet with Spark, DuckDB or Polars"):
            load_release(tmp_path / "out")
        assert verify(tmp_path / "out").holds

    def test_it_is_replaced_only_when_asked_and_only_whole(self, local, tmp_path):
        release(small_candidate(local), tmp_path / "out")
        with pytest.raises(ReleaseError, match="exists"):
            release(small_candidate(local), tmp_path / "out")
        release(small_candidate(local), tmp_path / "out", overwrite=True)
        (tmp_path / "out" / "data.parquet" / "mine.txt").write_text("x")
        with pytest.raises(ReleaseError, match="something other than a release"):
            release(small_candidate(local), tmp_path / "out", overwrite=True)

    def test_bytes_and_order_do_not_depend_on_how_the_rows_lay(self, tmp_path):
        for name, memory, processes in (("one", "64MB", 1), ("two", "32MB", 2)):
            with Local(memory=memory, processes=processes) as engine:
                release(small_candidate(engine), tmp_path / name, insecure_seed=3)
        assert files_below(tmp_path / "one") == files_below(tmp_path / "two")
        for name in files_below(tmp_path / "one"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


class TestNames:
    def test_random_names_are_new_each_time(self, local, tmp_path):
        names = []
        for out in ("one", "two"):
            release(small_candidate(local), tmp_path / out)
            names.append(set(load_release(tmp_path / out).published.ids))
        assert len(names[0]) == 60
        assert not names[0] & names[1]

    def test_keyed_names_are_those_of_a_release_in_memory(self, local, tmp_path):
        for out in ("one", "two"):
            release(small_candidate(local), tmp_path / out, pseudonyms="keyed", private=tmp_path / "private")
        key = (tmp_path / "private" / "pseudonym.key").read_bytes().strip()
        expected = Pseudonyms("keyed", key=key).of(small_panel().ids)
        for out in ("one", "two"):
            assert sorted(load_release(tmp_path / out).published.ids) == sorted(expected)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"pseudonyms": "keyed"}, "need a private folder for their key"),
            ({"pseudonyms": "other"}, "must be 'random' or 'keyed'"),
            ({"pseudonyms": "keyed", "insecure_seed": 1}, "take no seed"),
        ],
    )
    def test_impossible_names_are_refused(self, local, tmp_path, settings, message):
        if "insecure_seed" in settings:
            settings = settings | {"private": tmp_path / "private"}
        with pytest.raises(ParameterError, match=message):
            release(small_candidate(local), tmp_path / "out", **settings)

    def test_the_map_is_for_its_owner_alone(self, local, tmp_path):
        release(small_candidate(local), tmp_path / "out", private=tmp_path / "private")
        for path in [tmp_path / "private", *(tmp_path / "private").rglob("*")]:
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        assert not list((tmp_path / "private").rglob(".*"))

    def test_no_identifier_is_in_any_file_of_the_release(self, local, tmp_path):
        publish(small_candidate(local), tmp_path / "out", private=tmp_path / "private")
        for name in files_below(tmp_path / "out"):
            assert b"meter-0" not in (tmp_path / "out" / name).read_bytes()

    def test_two_equal_names_are_refused(self, local, tmp_path, monkeypatch):
        monkeypatch.setattr("shoal.engines.pseudonyms.keyed_names", lambda key, ids: ["00ff00ff00ff00ff" for _ in ids])
        with pytest.raises(ReleaseError, match="Two series got the same pseudonym"):
            release(small_candidate(local), tmp_path / "out")
        assert not list(tmp_path.iterdir())

    def test_part_numbers_are_the_leading_bits(self):
        names = [f"{n:016x}" for n in np.random.default_rng(1).integers(0, 2**63, 50)]
        for bits in (0, 1, 5, 16):
            assert part_numbers(pa.array(names), bits).tolist() == [int(name, 16) >> (64 - bits) for name in names]


class TestTasks:
    def run(self, folder, borders):
        """Write one part of rows that come in blocks with these borders."""
        for name in ("data.parquet", "aside", "private"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        panel = small_panel(n=7, n_instants=3)
        names = [f"{i:016x}" for i in range(7)]
        rows = pa.record_batch(
            [
                pa.array([0] * 7, pa.int32()),
                pa.array(names),
                pack(panel.rows),
                pa.array(panel.ids.tolist()),
                pa.array(panel.ids.tolist()),
                pa.array(range(7)),
            ],
            names=["part", "name", "published", "id", "subject", "group"],
        )
        layout = Layout("values", panel.times, None, ("value",))
        work = WriteParts(layout, str(folder), str(folder / "aside"), str(folder / "private"))
        blocks = (rows.slice(first, last - first) for first, last in pairwise([0, *borders, 7]))
        (receipt,) = work(blocks)
        return receipt.to_pylist(), {name: (folder / name).read_bytes() for name in files_below(folder)}

    def test_a_task_that_runs_twice_writes_the_same(self, tmp_path, monkeypatch):
        monkeypatch.setattr("shoal.release.parts_layout._ROWS_AT_ONCE", 6)  # two series in a row group
        once = self.run(tmp_path / "one", [])
        assert once == self.run(tmp_path / "one", [])
        assert once == self.run(tmp_path / "two", [1, 2, 5])
        assert sorted(once[1]) == ["data.parquet/part-00000.parquet", "private/part-00000.parquet"]
        assert [part.metadata.num_row_groups for part in [pq.ParquetFile(tmp_path / "one" / sorted(once[1])[0])]] == [4]
        assert (once[0][0]["series"], once[0][0]["missing"], once[0][0]["repeated"]) == (7, 0, 0)

    def test_a_task_that_fails_leaves_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setattr("shoal.release.parts_layout.Layout.table", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            self.run(tmp_path, [3])
        assert not files_below(tmp_path)


class TestGate:
    def test_one_value_beside_its_group_keeps_everything_inside(self, local, tmp_path):
        candidate = Microaggregation(k=K).anonymize(small_panel())
        values = candidate.values.copy()
        values[7, 2] += 1e-9
        with pytest.raises(GuaranteeNotMetError, match="k-anonymity does not hold: measured 1, required 3"):
            release(in_blocks(candidate, local, values), tmp_path / "out", private=tmp_path / "private")
        assert not (tmp_path / "out").exists()
        assert [path.name for path in tmp_path.iterdir()] in ([], ["private"])

    def test_a_further_guarantee_that_does_not_hold_keeps_everything_inside(self, local, tmp_path):
        with pytest.raises(GuaranteeNotMetError, match="k-anonymity does not hold"):
            release(small_candidate(local), tmp_path / "out", require=[KAnonymity(50)])
        assert not list(tmp_path.iterdir())

    def test_other_subjects_than_the_originals_are_refused(self, local, tmp_path):
        candidate = small_candidate(local)
        rows = local.collect(candidate.table)
        forged = rows.set_column(1, "subject", pa.array([f"{i}" for i in range(rows.num_rows)]))
        with pytest.raises(GuaranteeNotMetError, match="subjects are not those of the original panel"):
            release(replace(candidate, table=local.scatter(forged, 3)), tmp_path / "out")
        with pytest.raises(GuaranteeNotMetError, match="has 30 series and says 60"):
            release(replace(candidate, table=local.scatter(rows.slice(0, 30), 3)), tmp_path / "out")

    def test_what_promises_nothing_is_refused_without_risks(self, local, tmp_path):
        candidate = replace(small_candidate(local), guarantee=NoGuarantee())
        with pytest.raises(GuaranteeNotMetError, match="no risk was measured"):
            release(candidate, tmp_path / "out")

    def test_an_address_is_refused_with_the_way_out(self, local, tmp_path):
        with pytest.raises(ParameterError, match="a folder on a file system that this machine and all workers share"):
            release(small_candidate(local), "s3://bucket/out")
        with pytest.raises(ParameterError, match="The private folder is written to a folder"):
            release(small_candidate(local), tmp_path / "out", private="s3://bucket/private")

    def test_a_folder_that_workers_do_not_see_is_told(self, local, tmp_path, monkeypatch):
        real = parts_writing.WriteParts
        monkeypatch.setattr(
            parts_writing,
            "WriteParts",
            lambda layout, folder, *_: real(layout, folder, "/nowhere"),
        )
        with pytest.raises(ReleaseError, match=r"No such file or directory\..*all workers share"):
            release(small_candidate(local), tmp_path / "out")
        assert not list(tmp_path.iterdir())

    def test_what_is_written_is_read_back_and_checked(self, local, tmp_path, monkeypatch):
        def one_changed(self, names, published, real=Layout.table):
            table = real(self, names, published)
            values = table["value"].to_numpy().copy()
            values[0] += 1.0
            return table.set_column(2, "value", pa.array(values))

        monkeypatch.setattr(Layout, "table", one_changed)
        with pytest.raises(
            GuaranteeNotMetError, match="The written release does not verify: k-anonymity does not hold"
        ):
            release(small_candidate(local), tmp_path / "out")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"format": "csv"}, "A release in parts is of Parquet files"),
            ({"ledger": "ledger.jsonl"}, "A ledger compares the groups of all releases in memory"),
            ({"agreement": "x"}, "An agreement marks the copy of one recipient"),
        ],
    )
    def test_publish_refuses_what_is_done_in_memory(self, local, tmp_path, settings, message):
        with pytest.raises(ParameterError, match=message):
            publish(small_candidate(local), tmp_path / "out", **settings)


class TestLint:
    def test_odd_seconds_are_found_and_can_be_accepted(self, local, tmp_path):
        panel = small_panel()
        odd = Panel(panel.values, ids=panel.ids, times=panel.times + np.timedelta64(7, "s"))
        candidate = in_blocks(Microaggregation(k=K).anonymize(odd), local)
        with pytest.raises(GuaranteeNotMetError, match=r"timestamp-phase.*--accept timestamp-phase"):
            release(candidate, tmp_path / "out")
        written = release(candidate, tmp_path / "out", accept=["timestamp-phase"])
        assert written.certificate["accepted"] == ["timestamp-phase"]
        assert verify(tmp_path / "out").holds

    def test_names_that_follow_the_ids_are_found(self, local, tmp_path, monkeypatch):
        ordered = {name: f"{i * 2**56:016x}" for i, name in enumerate(small_panel().ids)}
        monkeypatch.setattr("shoal.engines.pseudonyms.keyed_names", lambda key, ids: [ordered[name] for name in ids])
        with pytest.raises(GuaranteeNotMetError, match="row-order: The 60 rows that were drawn follow their ids"):
            release(small_candidate(local), tmp_path / "out")

    def test_a_note_in_a_file_is_found(self, local, tmp_path, monkeypatch):
        real = Layout.table
        note = {"author": "somebody"}
        monkeypatch.setattr(
            Layout, "table", lambda self, names, rows: real(self, names, rows).replace_schema_metadata(note)
        )
        with pytest.raises(GuaranteeNotMetError, match="file-metadata: The files carry 8 note"):
            release(small_candidate(local), tmp_path / "out")

    def test_a_gap_that_few_share_is_found(self, local, tmp_path):
        panel = small_panel(gaps=1)
        candidate, risks = judged_by_attacks(in_blocks(as_published(panel), local))
        with pytest.raises(GuaranteeNotMetError, match="gap-patterns: Series of 1 subjects have a pattern of gaps"):
            release(candidate, tmp_path / "out", **risks)
        candidate, risks = judged_by_attacks(in_blocks(as_published(small_panel(gaps=2)), local))
        release(candidate, tmp_path / "out", **risks)

    def test_decimals_that_one_logger_writes_are_found(self, local, tmp_path):
        values = np.round(small_panel(n_instants=8).values, 3)
        values[0] = np.round(values[0] * 100)
        panel = Panel(values, ids=[f"m{i:02}" for i in range(60)])
        candidate, risks = judged_by_attacks(in_blocks(as_published(panel), local))
        with pytest.raises(GuaranteeNotMetError, match="decimal-precision: 1 published series have the number"):
            release(candidate, tmp_path / "out", **risks)


PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from parts_examples import repeated_candidate
from shoal.engines import Local
from shoal.release.parts import release_blocks
with Local(memory="64MB") as engine:
    candidate = repeated_candidate(engine, n=3000)
    print("ready", flush=True)
    sys.stdin.readline()
    release_blocks(candidate, {out!r}, summary="Test.", part_bytes=2048)
"""


def test_a_kill_at_any_time_leaves_no_half_release(tmp_path):
    """A real process, killed while it writes, a little later each time."""
    seen = []
    for attempt in range(6):
        out = tmp_path / str(attempt) / "out"
        out.parent.mkdir()
        program = PROGRAM.format(tests=str(Path(__file__).parents[1]), out=str(out))
        with subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ
        ) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.readline() == b"ready\n"
            process.stdin.write(b"\n")
            process.stdin.flush()
            while process.poll() is None and not list(out.parent.glob(".*/data.parquet/part-*")):
                time.sleep(0.001)
            time.sleep(attempt * 0.05)
            process.kill()
        seen.append(out.exists())
        if out.exists():
            assert verify(out).holds
    assert False in seen, "every process had finished before it was killed: the test shows nothing"
