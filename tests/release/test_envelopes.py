"""A release of envelopes and patterns: written, read back, verified, forged."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from forgery import forge, release
from shoal import KPAnonymity, Panel, load_release, verify
from shoal.errors import GuaranteeNotMetError, ReleaseError
from shoal.model import Candidate, Envelopes, Private, Recipe
from shoal.release.certificate import read_certificate

TIMES = np.datetime64("2024-01-01T00:00") + np.arange(4) * np.timedelta64(1, "h")
GROUPS = np.repeat([0, 1], 6)
WORDS = ("aabb",) * 3 + ("bbaa",) * 3 + ("abab",) * 3 + ("baba",) * 3


def make_candidate(rows=None, **changes):
    """Two envelopes of six series, each with two words of three."""
    rng = np.random.default_rng(4)
    values = rng.random((12, 4)) + 10.0 * GROUPS[:, None]
    original = Panel(values, ids=[f"meter-{i}" for i in range(12)], times=TIMES)
    low = np.array([values[group == GROUPS].min(axis=0) for group in GROUPS])
    high = np.array([values[group == GROUPS].max(axis=0) for group in GROUPS])
    published = Envelopes(
        **({"low": low, "high": high, "levels": np.full(12, 2), "patterns": WORDS, "times": TIMES} | changes)
    )
    private = Private(original, GROUPS, rows=rows)
    return Candidate(published, KPAnonymity(k=6, p=3), Recipe("kp", {"k": 6, "p": 3}), private)


@pytest.fixture
def out(tmp_path):
    release(make_candidate(), tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_envelopes_read_back_as_they_were_published(tmp_path, file_format):
    published = release(make_candidate(), tmp_path / "out", format=file_format).published
    assert verify(tmp_path / "out").holds
    read = load_release(tmp_path / "out").published
    assert isinstance(read, Envelopes)
    assert read.digest() == published.digest()
    assert list(read.ids) == list(published.ids)
    assert "meter-" not in "".join(read.ids)


def test_the_tables_have_the_columns_of_the_design(out):
    assert pl.read_parquet(out / "data.parquet").columns == ["id", "time", "low", "high"]
    assert pl.read_parquet(out / "patterns.parquet").columns == ["id", "level", "pattern"]
    assert read_certificate(out).counts.group_sizes == {"6": 2}


def test_patterns_may_be_of_other_instants(tmp_path):
    words = tuple(word[:2] for word in WORDS)
    candidate = make_candidate(patterns=words, pattern_times=TIMES[1:3])
    published = release(candidate, tmp_path / "out").published
    read = load_release(tmp_path / "out").published
    assert read.digest() == published.digest()
    assert list(read.pattern_times) == list(TIMES[1:3])


def test_suppressed_series_have_no_row_and_no_pseudonym(tmp_path):
    whole = make_candidate()
    kept = np.arange(12)[GROUPS == 1]
    cut = {name: getattr(whole.published, name)[kept] for name in ("low", "high", "levels")}
    published = Envelopes(**cut, patterns=WORDS[6:], times=TIMES)
    private = Private(whole.private.original, np.where(GROUPS == 1, 0, -1), rows=kept)
    candidate = dataclasses.replace(whole, published=published, private=private)
    release(candidate, tmp_path / "out", private=tmp_path / "keep")
    assert load_release(tmp_path / "out").published.n_series == 6
    (table,) = (pl.read_parquet(p) for p in (tmp_path / "keep").glob("pseudonyms-*.parquet"))
    assert table.filter(pl.col("pseudonym") == "")["id"].to_list() == [f"meter-{i}" for i in range(6)]


def test_an_original_outside_its_envelope_does_not_pass_the_gate(tmp_path):
    candidate = make_candidate()
    high = candidate.published.high.copy()
    high[:6, 2] -= 0.5
    spoiled = dataclasses.replace(candidate, published=dataclasses.replace(candidate.published, high=high))
    with pytest.raises(GuaranteeNotMetError, match=r"The series at position \d+ does not lie in its envelope"):
        release(spoiled, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_other_subjects_do_not_pass_the_gate(tmp_path):
    original = Panel(make_candidate().private.original.values, times=TIMES, subjects=np.arange(12) // 2)
    candidate = make_candidate()
    lying = dataclasses.replace(candidate, private=Private(original, GROUPS))
    with pytest.raises(GuaranteeNotMetError, match="subjects do not match the original panel"):
        release(lying, tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "change", "finding"),
    [
        (
            "patterns.parquet",
            lambda t: t.with_columns(
                pattern=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit("aaaa")).otherwise("pattern")
            ),
            "kp-anonymity does not hold: measured 1, required 3; series 5",
        ),
        (
            "data.parquet",
            lambda t: t.with_columns(low=pl.when(pl.int_range(pl.len()) == 9).then(pl.col("low") - 1).otherwise("low")),
            "kp-anonymity does not hold: measured 1, required 6; series 2 (data.parquet row 8, patterns row 2",
        ),
        ("patterns.parquet", lambda t: t.reverse(), "does not name the series of data.parquet in their order"),
        ("patterns.parquet", lambda t: t.head(11), "does not name the series"),
        ("data.parquet", lambda t: t.head(47), "rows are missing"),
        ("data.parquet", lambda t: t.with_columns(low=pl.col("high") + 1), "the lower one first"),
    ],
)
def test_what_was_changed_is_found_even_under_a_new_seal(out, name, change, finding):
    forge(out, name, change)
    outcome = verify(out)
    assert not outcome.holds
    assert any(finding in f for f in outcome.findings), outcome.findings


def test_without_its_patterns_it_is_no_release(out):
    forge(out, "patterns.parquet", lambda table: table.drop("level"))
    with pytest.raises(ReleaseError, match="has other columns"):
        verify(out)
    (out / "patterns.parquet").unlink()
    with pytest.raises(ReleaseError, match=r"patterns\.parquet is missing"):
        verify(out)
