"""Sensitive columns in a release: written, read back, verified, forged."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forgery import forge, release
from shoal import KPAnonymity, LDiversity, Panel, load_release, verify
from shoal.errors import GuaranteeNotMetError, InputError, ReleaseError
from shoal.model import Candidate, Envelopes, Private, Recipe
from shoal.release.certificate import read_certificate

GROUPS = np.repeat([0, 1], 6)
WORDS = ("aabb",) * 3 + ("bbaa",) * 3 + ("abab",) * 3 + ("baba",) * 3
ODD = ["flu", 'say "ah", twice', "a\nb", " x ", "NA", "", "1", "é\u2028", "true", "1.0", "null", "'"]
SENSITIVE = {
    "illness": np.array(ODD),
    "cost": np.array([0.1, 0.1 + 0.2, 1e-7, 1e300, -0.0, 3.0, 0.5, 1 / 3, 2.0**53, -1.5, 4.0, 5.0]),
    "age": np.array([2**63 - 1, -(2**63), *range(10)]),
    "smoker": np.array([True, False] * 6),
}


DIVERSE = (LDiversity(3),)
ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


def make_candidate(sensitive=SENSITIVE, known=None, further=DIVERSE, **changes):
    values = np.random.default_rng(4).random((12, 4)) + 10.0 * GROUPS[:, None]
    known = sensitive if known is None else known
    original = Panel(values, ids=[f"meter-{i}" for i in range(12)], sensitive=known)
    low = np.array([values[group == GROUPS].min(axis=0) for group in GROUPS])
    high = np.array([values[group == GROUPS].max(axis=0) for group in GROUPS])
    options = {"levels": np.full(12, 2), "patterns": WORDS, "times": np.arange(4), "sensitive": sensitive}
    published = Envelopes(low, high, **(options | changes))
    recipe = Recipe("kp", {"k": 6, "p": 3})
    return Candidate(published, KPAnonymity(k=6, p=3), recipe, Private(original, GROUPS), further)


def without(name):
    return {other: column for other, column in SENSITIVE.items() if other != name}


@pytest.fixture
def out(tmp_path):
    release(make_candidate(without("smoker")), tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_columns_read_back_as_they_were_published(tmp_path, file_format):
    candidate = make_candidate(further=(LDiversity(2),), sensitive=SENSITIVE | {"smoker": [True, False, "maybe"] * 4})
    published = release(candidate, tmp_path / "out", format=file_format).published
    outcome = verify(tmp_path / "out")
    assert outcome.holds
    assert [name for name, _ in outcome.verdicts] == ["kp-anonymity", "l-diversity"]
    read = load_release(tmp_path / "out").published
    assert read.digest() == published.digest()
    assert {name: column.dtype.kind for name, column in read.sensitive.items()} == {
        "illness": "O",
        "cost": "f",
        "age": "i",
        "smoker": "O",
    }
    assert sorted(read.sensitive["illness"].tolist()) == sorted(ODD)
    assert sorted(read.sensitive["cost"].view(np.uint64)) == sorted(SENSITIVE["cost"].view(np.uint64))


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_truth_values_stay_truth_values(tmp_path, file_format):
    words = ("ab",) * 6 + ("ba",) * 6
    candidate = make_candidate(
        {"smoker": SENSITIVE["smoker"]}, further=(LDiversity(2),), patterns=words, pattern_times=[0, 1]
    )
    release(candidate, tmp_path / "out", format=file_format)
    read = load_release(tmp_path / "out").published.sensitive["smoker"]
    assert read.dtype == np.bool_
    assert read.sum() == 6


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(ANY_TEXT, min_size=12, max_size=12, unique=True),
    name=ANY_TEXT,
    file_format=st.sampled_from(["parquet", "csv"]),
)
def test_any_text_under_any_name_reads_back(tmp_path, texts, name, file_format):
    candidate = make_candidate({name: texts, "id": texts})
    published = release(candidate, tmp_path / "out", format=file_format, overwrite=True).published
    assert load_release(tmp_path / "out").published.digest() == published.digest()


def test_a_row_belongs_to_the_series_of_its_pseudonym(tmp_path):
    column = np.arange(12)
    release(make_candidate({"c": column}), tmp_path / "out", private=tmp_path / "keep")
    (table,) = (pl.read_parquet(p) for p in (tmp_path / "keep").glob("pseudonyms-*.parquet"))
    names = dict(zip(table["pseudonym"], table["id"], strict=True))
    attributes = pl.read_parquet(tmp_path / "out/attributes.parquet")
    assert [f"meter-{c}" for c in attributes["c"]] == [names[i] for i in attributes["id"]]
    assert attributes["id"].to_list() == sorted(attributes["id"])
    assert attributes["c"].to_list() != sorted(attributes["c"])


def test_the_certificate_names_the_columns_and_counts_what_stays(tmp_path, out):
    columns = read_certificate(out).columns
    assert columns.published == ("id", "time", "low", "high", "level", "pattern", "illness", "cost", "age")
    assert columns.sensitive == {"illness": "text", "cost": "number", "age": "integer"}
    assert columns.withheld == 1
    assert sorted(p.name for p in out.iterdir()) == [
        "attributes.parquet",
        "data.parquet",
        "datapackage.json",
        "patterns.parquet",
        "release.json",
    ]
    hidden = make_candidate({}, known=SENSITIVE, further=())
    release(hidden, tmp_path / "hidden")
    columns = read_certificate(tmp_path / "hidden").columns
    assert (columns.sensitive, columns.withheld) == ({}, 5)
    assert not (tmp_path / "hidden/attributes.parquet").exists()


def test_every_guarantee_must_hold_at_the_gate(tmp_path):
    column = ["flu", "flu", *range(10)]
    with pytest.raises(GuaranteeNotMetError, match=r"l-diversity does not hold: measured 1\.5, required 3, first at"):
        release(make_candidate({"c": column}), tmp_path / "out")
    with pytest.raises(GuaranteeNotMetError, match=r"l-diversity l=4 does not hold: measured 3\.0, required 4"):
        release(make_candidate(without("smoker")), tmp_path / "out", require=[LDiversity(4)])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("sensitive", "known", "message"),
    [
        ({"c": range(12)}, {"d": range(12)}, r"1 column\(s\) would be published that are not sensitive columns of the"),
        ({"c": [1.0] * 11 + [np.nan]}, None, "Column 'c' would be published with 1 of 12 entries missing"),
        ({"c": np.array(["x"] * 11 + [None], dtype=object)}, None, "1 of 12 entries missing"),
        ({"c": [1.0] * 10 + [np.inf] * 2}, None, "Column 'c' would be published with 2 infinite numbers"),
    ],
)
def test_what_is_no_column_of_the_original_does_not_pass_the_gate(tmp_path, sensitive, known, message):
    with pytest.raises(GuaranteeNotMetError, match=message):
        release(make_candidate(sensitive, known=known, further=()), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def scatter(name, row, value):
    return lambda t: t.with_columns(t[name].scatter(row, value))


def test_one_changed_entry_is_found_even_under_a_new_seal(out):
    # Rows of one word lie anywhere: the entry is changed to that of another row of its group.
    published = load_release(out).published
    row, other = [i for i, word in enumerate(published.patterns) if word == published.patterns[0]][:2]
    forge(out, "attributes.parquet", scatter("illness", other, published.sensitive["illness"][row]))
    outcome = verify(out)
    assert not outcome.holds
    (finding,) = outcome.findings
    assert finding == (
        f"l-diversity does not hold: measured 1.5, required 3; series {row} (data.parquet row {4 * row}, "
        f"patterns row {row}, attributes row {row}; all counted from 0)"
    )
    assert dict(outcome.verdicts)["l-diversity"].witness == row


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda t: t.reverse(), "attributes.parquet does not name the series of the data in their order"),
        (lambda t: t.head(11), "does not name the series"),
        (scatter("cost", 3, float("inf")), "column 'cost' holds something that is not a finite number"),
        (scatter("cost", 3, float("nan")), "attributes.parquet row 3 (counted from 0) holds NaN where nothing may"),
        (lambda t: t.with_columns(pl.col("age").cast(pl.Float64)), "another type in column 'age' than Shoal writes"),
        (lambda t: t.with_columns(age=pl.col("age").cast(pl.String)), "another type in column 'age' than Shoal wri"),
    ],
)
def test_what_was_changed_is_found(out, change, finding):
    forge(out, "attributes.parquet", change)
    outcome = verify(out)
    assert not outcome.holds
    assert any(finding in found for found in outcome.findings), outcome.findings


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.drop("cost"),
        scatter("illness", 3, None),
        lambda t: t.select("id", "cost", "illness", "age"),
    ],
)
def test_other_columns_are_no_release(out, change):
    forge(out, "attributes.parquet", change)
    with pytest.raises(ReleaseError, match=r"attributes\.parquet cannot be read"):
        verify(out)


def test_a_certificate_without_its_columns_promises_nothing_about_them(out):
    columns = read_certificate(out).columns
    forge(out, "attributes.parquet", lambda t: t, columns=columns.model_copy(update={"sensitive": {}}))
    outcome = verify(out)
    assert not outcome.holds
    assert "l-diversity not judged: no sensitive column is published, so there is none to judge" in outcome.findings
    (out / "attributes.parquet").unlink()
    with pytest.raises(ReleaseError, match=r"attributes\.parquet is missing"):
        verify(out)


def test_names_that_are_taken_or_odd_are_changed(tmp_path):
    candidate = make_candidate({name: range(12) for name in ("id", "sensitive_id", "low", "blood (type)", 'a"b\n', "")})
    release(candidate, tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out/attributes.parquet").columns == [
        "id",
        "sensitive_id",
        "sensitive_sensitive_id",
        "sensitive_low",
        "blood (type)",
        "a_b_",
        "sensitive",
    ]
    assert verify(tmp_path / "out").holds


def test_envelopes_keep_their_columns_locked_and_digested():
    published = make_candidate().published
    with pytest.raises(ValueError, match="read-only"):
        published.sensitive["cost"][0] = 1.0
    with pytest.raises(TypeError):
        published.sensitive["cost"] = None
    other = dataclasses.replace(published, sensitive=SENSITIVE | {"cost": SENSITIVE["cost"] + 0.5})
    assert other.digest() != published.digest()
    text = dataclasses.replace(published, sensitive={"age": [str(a) for a in SENSITIVE["age"]]})
    number = dataclasses.replace(published, sensitive={"age": SENSITIVE["age"]})
    assert text.digest() != number.digest()
    with pytest.raises(InputError, match="Column 'c' has 2 entries for 12 series"):
        dataclasses.replace(published, sensitive={"c": [1, 2]})


def test_the_certificate_holds_no_value_of_the_columns(out):
    assert "twice" not in json.dumps(read_certificate(out).as_dict())
