"""Releases in parts of envelopes and of groups at each instant: the same as in memory, and sabotage is found."""

import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parts_examples import in_blocks, small_panel
from shoal import KP, NLK, TimeSlicing, load_release, publish, verify
from shoal.engines import Local
from shoal.engines.blocks import GROUP, LEVEL, PUBLISHED, WORD, BlockCandidate, BlockPanel, Clock
from shoal.engines.methods import anonymize
from shoal.engines.rows import ID, ROW, SUBJECT, pack
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.model import Interval, Risk
from shoal.release.certificate import Certificate, digest_file
from shoal.release.parts import release_blocks
from shoal.release.parts_counts import sizes_of

SETTINGS = {"summary": "Test.", "part_bytes": 2048, "insecure_seed": 2}
METHODS = {
    "all instants": KP(k=6, p=3),
    "some instants": KP(k=6, p=3, envelope_instants="0:4", pattern_instants="2:6"),
}


@pytest.fixture(scope="module")
def local():
    with Local(memory="64MB") as engine:
        yield engine


def envelopes_in_blocks(candidate, engine):
    """A candidate of envelopes, as one in blocks."""
    original, published, rows = candidate.private.original, candidate.published, candidate.stands_for
    ends = np.stack([published.low, published.high], axis=-1)
    table = pa.table(
        {
            ID: pa.array([str(original.ids[row]) for row in rows]),
            SUBJECT: pa.array([str(original.ids[row]) for row in rows]),
            ROW: pack(original.rows[rows]),
            PUBLISHED: pack(ends.reshape(len(ends), -1)),
            GROUP: pa.array(candidate.private.groups[rows], pa.int64()),
            LEVEL: pa.array(published.levels, pa.int64()),
            WORD: pa.array(published.patterns, pa.string()),
        }
    )
    return BlockCandidate(
        panel=BlockPanel.of(original, engine, parts=4),
        table=engine.keep(engine.scatter(table, 4)),
        clock=Clock(published.times, ("low", "high"), published.timezone),
        guarantee=candidate.guarantee,
        recipe=candidate.recipe,
        form="envelopes",
        n_published=len(rows),
    )


@pytest.fixture(scope="module")
def made(local, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "out"
    candidate = METHODS["all instants"].anonymize(small_panel(n=120))
    release_blocks(envelopes_in_blocks(candidate, local), out, **SETTINGS)
    return out


@pytest.fixture
def out(made, tmp_path):
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize("name", METHODS)
def test_envelopes_in_parts_are_those_in_memory(local, tmp_path, name):
    candidate = METHODS[name].anonymize(small_panel(n=120))
    publish(candidate, tmp_path / "memory")
    publish(envelopes_in_blocks(candidate, local), tmp_path / "parts")
    memory, parts = (load_release(tmp_path / name) for name in ("memory", "parts"))
    for field in ("form", "guarantees", "counts", "time", "columns"):
        assert memory.certificate[field] == parts.certificate[field]
    found = []
    for release in (memory, parts):
        published = release.published
        rows = zip(published.low.tolist(), published.high.tolist(), published.levels, published.patterns, strict=True)
        found.append(sorted(rows))
    assert found[0] == found[1]
    assert verify(tmp_path / "parts").holds


def test_patterns_lie_in_parts_of_the_same_names(made):
    names = [sorted(path.name for path in (made / f"{table}.parquet").iterdir()) for table in ("data", "patterns")]
    assert names[0] == names[1]
    assert len(names[0]) == 8
    words = pl.read_parquet(made / "patterns.parquet")
    assert words.columns == ["id", "level", "pattern"]
    assert words["id"].to_list() == pl.read_parquet(made / "data.parquet")["id"].unique(maintain_order=True).to_list()


def reseal(out):
    content = json.loads((out / "release.json").read_text())
    content["files"] = {
        f"{table}.parquet/{path.name}": digest_file(path).model_dump()
        for table in ("data", "patterns")
        for path in sorted((out / f"{table}.parquet").iterdir())
    }
    (out / "release.json").write_bytes(Certificate.model_validate(content).sealed().as_bytes())


def change_word(out):
    path = out / "patterns.parquet" / "part-00001.parquet"
    table = pq.read_table(path)
    other = "".join("b" if letter == "a" else "a" for letter in table["pattern"][0].as_py())
    pq.write_table(table.set_column(2, "pattern", pa.array([other, *table["pattern"].to_pylist()[1:]])), path)


def drop_word(out):
    path = out / "patterns.parquet" / "part-00001.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)


def turn_envelope(out):
    path = out / "data.parquet" / "part-00001.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(2, "low", pa.array(table["high"].to_numpy() + 1.0)), path)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (change_word, "kp-anonymity does not hold"),
        (drop_word, "do not name the same series in the same order"),
        (lambda out: (out / "patterns.parquet" / "part-00001.parquet").unlink(), "does not have the parts of"),
        (turn_envelope, "series 0 has an envelope without ends, or upside down"),
    ],
)
@pytest.mark.parametrize("forged", [False, True])
def test_changes_of_words_and_envelopes_are_found(out, local, change, finding, forged):
    change(out)
    if forged:
        reseal(out)
    findings = verify(out, engine=local).findings
    wanted = finding if forged else ("missing, or no plain file" if finding.startswith("does not have") else "SHA-256")
    assert any(wanted in found for found in findings), findings


def test_a_series_outside_of_its_envelope_is_refused(local, tmp_path):
    candidate = envelopes_in_blocks(METHODS["all instants"].anonymize(small_panel(n=120)), local)
    rows = local.collect(candidate.table)
    moved = rows.set_column(2, ROW, pack(np.full((120, 6), 1e6)))
    with pytest.raises(GuaranteeNotMetError, match="120 series do not lie in their envelopes"):
        release_blocks(replace(candidate, table=local.scatter(moved, 4)), tmp_path / "out", **SETTINGS)


def test_other_subjects_than_those_of_the_originals_are_refused(local, tmp_path):
    candidate = envelopes_in_blocks(METHODS["all instants"].anonymize(small_panel(n=120)), local)
    rows = local.collect(candidate.table)
    for column, n_odd in ((ID, 2), (SUBJECT, 2)):
        names = rows[column].to_pylist()
        names[5], names[90] = ("stranger", "nobody") if column == ID else (names[90], names[5])
        place = rows.schema.get_field_index(column)
        forged = replace(candidate, table=local.scatter(rows.set_column(place, column, pa.array(names)), 4))
        with pytest.raises(GuaranteeNotMetError, match=f"{n_odd} series have subjects that are not those of their"):
            release_blocks(forged, tmp_path / "out", **SETTINGS)


def test_envelopes_have_no_keyed_names(local, tmp_path):
    candidate = envelopes_in_blocks(METHODS["all instants"].anonymize(small_panel(n=120)), local)
    settings = {"summary": "Test.", "pseudonyms": "keyed", "private": tmp_path / "private"}
    with pytest.raises(ParameterError, match="for releases of values, this one is of envelopes"):
        release_blocks(candidate, tmp_path / "out", **settings)


def test_slices_have_names_of_their_own_and_the_map_says_whose_they_are(local, tmp_path):
    panel = small_panel(n=40)
    candidate = anonymize(TimeSlicing(length="3h"), BlockPanel.of(panel, local))
    risk = Risk(0.0, Interval(0.0, 0.05), 0.0, Interval(0.0, 0.05), n_targets=9)
    settings = {"summary": "Test.", "risks": {"test": (risk, "Test.")}, "risk_limit": 0.1}
    with pytest.raises(ParameterError, match="one row for each series"):
        release_blocks(candidate, tmp_path / "out", pseudonyms="keyed", private=tmp_path / "private", **settings)
    written = release_blocks(candidate, tmp_path / "out", private=tmp_path / "private", **settings)
    counts = written.certificate["counts"]
    assert (counts["series"], counts["subjects"], counts["instants"]) == (80, 40, 3)
    who = pl.read_parquet(next((tmp_path / "private").glob("pseudonyms-*")) / "*.parquet")
    assert sorted(who["id"]) == sorted([*panel.ids, *panel.ids])
    assert who["pseudonym"].n_unique() == 80
    assert not verify(tmp_path / "out").findings


@pytest.mark.parametrize("channels", [("value",), ("kwh", "kvarh")])
def test_groups_at_each_instant_are_counted_as_in_memory(local, tmp_path, channels):
    candidate = NLK(n=1, l=3, k=3).anonymize(small_panel(n=80, channels=channels))
    publish(candidate, tmp_path / "memory")
    blocks = in_blocks(candidate, local)
    found = sizes_of(blocks.published, "instants")
    assert found == load_release(tmp_path / "memory").certificate["counts"]["group_sizes"]
    written = publish(blocks, tmp_path / "parts")
    assert written.certificate["counts"] == load_release(tmp_path / "memory").certificate["counts"]
    assert verify(tmp_path / "parts").holds
