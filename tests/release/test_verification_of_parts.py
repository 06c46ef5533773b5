"""Whatever is done to a release in parts is found, by its digests and without them."""

import json
import shutil
from contextlib import nullcontext
from datetime import timedelta

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from release.test_canonical import reseal
from shard_examples import repeated_candidate, small_shards
from shoal import KP, Microaggregation, load_release, verify
from shoal.cli.app import run
from shoal.engines import Local
from shoal.errors import ReleaseError
from shoal.model import Envelopes
from shoal.release import opened, release_candidate, verification, written_parts

T = 6


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Sixty series of six instants in three parts, each series there three times."""
    out = tmp_path_factory.mktemp("made") / "out"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(written_parts, "PART_BYTES", 1024)
        release_candidate(repeated_candidate(), out, summary="Test.", insecure_seed=2, page=lambda _: "<p>x</p>")
    assert len(list(out.glob("data-*.parquet"))) == 3
    return out


@pytest.fixture
def out(made, tmp_path):
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def part(out, number):
    return out / f"data-{number:05}.parquet"


def edit(path, change):
    """Write a part again, in the very way it was written."""
    table = pq.read_table(path)
    changed = change(pl.DataFrame(table)).to_arrow().cast(table.schema)
    pq.write_table(changed, path, compression="zstd")


def n_series(out, number):
    return pq.read_metadata(part(out, number)).num_rows // T


def add_to_value(row):
    return lambda t: t.with_columns(value=t["value"].scatter(row, t["value"][row] + 1e-9))


def moved_in_time(table):
    return table.with_columns(pl.col("time") + timedelta(hours=1))


def truncate(out):
    content = part(out, 1).read_bytes()
    part(out, 1).write_bytes(content[: len(content) // 2])


def double(out):
    shutil.copy(part(out, 1), part(out, 9))


def same_people_at_other_instants(out):
    """The second part becomes the next six hours of the first one's people."""
    edit(part(out, 1), lambda _: moved_in_time(pl.read_parquet(part(out, 0))))


SABOTAGE = {
    "a value changed": (lambda out: edit(part(out, 2), add_to_value(3)), "k-anonymity does not hold: measured 1"),
    "a part removed": (lambda out: part(out, 1).unlink(), "the data has"),
    "a part doubled": (double, "name(s) occur in more than one part: parts must hold different people"),
    "the same people at other instants": (
        same_people_at_other_instants,
        "name(s) occur in more than one part: parts must hold different people",
    ),
    "other instants in one part": (
        lambda out: edit(part(out, 1), moved_in_time),
        "the parts do not have the same instants and columns",
    ),
    "a series there twice": (
        lambda out: edit(part(out, 1), lambda t: pl.concat([t, t.tail(T)])),
        "data-00001.parquet",
    ),
    "a row removed": (lambda out: edit(part(out, 1), lambda t: t.head(-1)), "no longer a whole panel"),
    "a group removed": (lambda out: remove_group(out), "the data has 57 series of 6 instants"),
    "an infinite value": (
        lambda out: edit(part(out, 0), lambda t: t.with_columns(value=t["value"].scatter(7, np.inf))),
        "data-00000.parquet",
    ),
    "a gap": (
        lambda out: edit(part(out, 0), lambda t: t.with_columns(value=t["value"].scatter(7, None))),
        "k-anonymity does not hold",
    ),
    "an empty part": (lambda out: edit(part(out, 1), lambda t: t.head(0)), "data-00001.parquet"),
    "numbers of another kind": (
        lambda out: pl.read_parquet(part(out, 1)).cast({"value": pl.Float32}).write_parquet(part(out, 1)),
        "data-00001.parquet",
    ),
}


def remove_group(out):
    first = pl.read_parquet(part(out, 1))
    alike = first.group_by("id", maintain_order=True).agg("value").group_by("value").agg("id")["id"][0]
    edit(part(out, 1), lambda t: t.filter(~pl.col("id").is_in(alike.to_list())))


@pytest.mark.parametrize("name", SABOTAGE)
def test_every_change_is_found_with_a_certificate_to_match(out, name):
    change, finding = SABOTAGE[name]
    change(out)
    reseal(out)
    outcome = verify(out)
    assert outcome.outcome == "does not hold"
    assert any(finding in found for found in outcome.findings), outcome.findings
    assert not any("SHA-256" in found for found in outcome.findings)


@pytest.mark.parametrize("name", [name for name in SABOTAGE if name != "a part removed"])
def test_every_change_is_found_by_the_digests(out, name):
    SABOTAGE[name][0](out)
    findings = verify(out).findings
    assert any("SHA-256" in found or "does not name" in found for found in findings), findings


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda out: part(out, 1).unlink(), "incomplete: data-00001.parquet is missing or not a plain file"),
        (
            lambda out: part(out, 1).rename(part(out, 7)),
            "incomplete: data-00001.parquet is missing or not a plain file",
        ),
        (lambda out: link(out), "incomplete: data-00001.parquet is missing or not a plain file"),
        (truncate, "data-00001.parquet cannot be read: it is truncated"),
        (
            lambda out: pl.read_parquet(part(out, 1)).with_columns(x=pl.lit("a")).write_parquet(part(out, 1)),
            "data-00001.parquet cannot be read: it is truncated, has other columns",
        ),
    ],
    ids=["removed", "renamed", "a link", "truncated", "a further column"],
)
def test_what_cannot_be_read_is_no_release(out, change, words):
    change(out)
    with pytest.raises(ReleaseError, match=words):
        verify(out)


def link(out):
    part(out, 1).rename(out.parent / "elsewhere")
    part(out, 1).symlink_to(out.parent / "elsewhere")


def test_two_parts_that_hold_each_break_it_together(out):
    """Of the same people at other instants each part is k-anonymous, and whoever joins them sees more."""
    same_people_at_other_instants(out)
    edit(part(out, 1), lambda t: t.with_columns(value=np.roll(t["value"].to_numpy(), T)))
    reseal(out)
    found = verify(out)
    assert all(verdict.holds for _, verdict in found.verdicts)
    assert any("occur in more than one part" in finding for finding in found.findings)


def test_the_same_is_found_in_processes_and_on_an_engine(out, monkeypatch):
    whole = verify(out)
    with Local(memory="64MB") as engine, Local(memory="64MB", processes=2) as processes:
        asked = []
        # As `verify` opens it; but processes are started once for all that is asked here.
        monkeypatch.setattr(verification, "Local", lambda **given: asked.append(given) or nullcontext(processes))
        ways = ({"processes": 2}, {"engine": engine})
        assert [verify(out, **given) for given in ways] == [whole, whole]
        assert asked == [{"processes": 2}]
        double(out)
        reseal(out)
        found = [verify(out, **given) for given in ways]
        assert found[0] == found[1] != whole
        assert not found[0].holds
        truncate(out)
        with pytest.raises(ReleaseError, match=r"data-00001.parquet cannot be read: it is truncated"):
            verify(out, processes=2)


def test_one_changed_pattern_instant_among_thousands_is_seen():
    """numpy shortens the text of more than 1,000 entries: instants are compared as values."""
    clock = 2 * np.arange(2000)
    moved = clock + (np.arange(2000) == 1000)
    given = {"levels": [1], "patterns": ["a" * 2000], "times": [0]}
    parts = [Envelopes([[0.0]], [[1.0]], **given, pattern_times=times) for times in (clock, clock.copy(), moved)]
    first, same, other = map(verification._frame_of, parts)
    assert str(clock) == str(moved)
    assert first == same != other


def test_of_many_wrong_parts_some_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(written_parts, "PART_BYTES", 256)
    out = tmp_path / "out"
    release_candidate(repeated_candidate(n=120), out, summary="Test.")
    parts = sorted(out.glob("data-*.parquet"))
    assert len(parts) > 4
    for path in parts:
        edit(path, add_to_value(0))
    reseal(out)
    findings = verify(out).findings
    assert sum("k-anonymity does not hold" in found for found in findings) == 3
    assert f"{len(parts) - 3} more part(s) are wrong" in findings


@pytest.mark.parametrize("place", ["more.txt", "data-00000.csv", "data.parquet", "empty/"])
def test_whatever_else_lies_there_is_found(out, place):
    path = out / place
    path.mkdir() if place.endswith("/") else path.write_text("x")
    assert "the folder holds 1 file(s) that release.json does not name" in verify(out).findings


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"guarantees": []}, "names no guarantee that can be checked"),
        ({"guarantees__0__verdict__holds": False}, "itself says that k-anonymity does not hold"),
        ({"guarantees__0__parameters__k": 5}, "k-anonymity does not hold"),
        ({"counts__group_sizes": {"999": 1}}, "do not match the counts in release.json"),
        ({"counts__groups": 21}, "does not sum up its own group sizes correctly"),
        ({"counts__missing": 5}, "the data has 0 missing values, release.json says 5"),
        ({"counts__series": 61}, "the data has 60 series of 6 instants, release.json says 61"),
        ({"counts__instants": 7}, "the data has 60 series of 6 instants, release.json says 60 of 7"),
    ],
)
def test_claims_that_the_data_contradicts_are_found(out, changes, finding):
    reseal(out, **changes)
    findings = verify(out).findings
    assert any(finding in found for found in findings), findings


def test_an_edited_certificate_is_found(out):
    text = (out / "release.json").read_text()
    (out / "release.json").write_text(text.replace('"series": 60', '"series": 61'))
    assert "its content and its seal do not agree" in verify(out).findings[0]


def test_the_command_says_it_too(out, capsys):
    assert run(["verify", str(out)]) == 0
    edit(part(out, 2), add_to_value(3))
    assert run(["verify", str(out)]) == 1
    assert "data-00002.parquet was changed after the release" in capsys.readouterr().out.replace("\n", " ")


class TestOtherForms:
    @pytest.mark.parametrize("form", ["csv", "parquet"])
    @pytest.mark.parametrize(
        "method",
        [Microaggregation(k=3, form="profiles"), KP(k=4, p=2), KP(k=6, p=3, l=2)],
        ids=["profiles", "envelopes", "sensitive"],
    )
    def test_they_are_verified_and_doubles_found(self, tmp_path, monkeypatch, method, form):
        monkeypatch.setattr(written_parts, "PART_BYTES", 1024)
        panel = (
            small_shards(sensitive={"ill": list("abcdefghij") * 12}) if method.parameters.get("l") else small_shards()
        )
        candidate, out = method.anonymize(panel), tmp_path / "out"
        release_candidate(candidate, out, summary="Test.", format=form)
        assert verify(out).outcome == "holds"
        assert len(load_release(out).published) == candidate.n_series
        tables = {path.name.partition("-")[0] for path in out.glob(f"*.{form}")}
        expected = {"data"} | ({"patterns"} if candidate.has_envelopes else set())
        assert tables == expected | ({"attributes"} if method.parameters.get("l") else set())
        for name in tables:
            shutil.copy(out / f"{name}-00001.{form}", out / f"{name}-00009.{form}")
        reseal(out)
        assert any("occur in more than one part" in found for found in verify(out).findings)


def test_a_release_in_parts_is_loaded_where_it_fits(made, monkeypatch):
    release = load_release(made)
    assert release.values.shape == (60, T)
    names = np.concatenate([pl.read_parquet(part(made, n))["id"].unique(maintain_order=True) for n in range(3)])
    assert release.published.ids.tolist() == names.tolist()
    monkeypatch.setattr(opened, "MOST_BYTES", 1000)
    with pytest.raises(
        ReleaseError, match=r"GiB of values in parts.*Read data-\*\.parquet with Spark, DuckDB or Polars"
    ):
        load_release(made)
    assert verify(made).holds


def test_parts_are_listed_in_the_certificate(made):
    names = list(json.loads((made / "release.json").read_text())["files"])
    assert names == [
        "data-00000.parquet",
        "data-00001.parquet",
        "data-00002.parquet",
        "datapackage.json",
        "report.html",
    ]
