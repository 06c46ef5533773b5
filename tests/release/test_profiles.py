"""A release of group profiles: written, read back, verified, forged."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from forgery import forge
from shoal import Microaggregation, Panel, load_release, publish, verify
from shoal.errors import GuaranteeNotMetError, ParameterError, ReleaseError
from shoal.release.certificate import read_certificate
from small_release import small_panel

rng = np.random.default_rng(9)
METERS = Panel(
    rng.gamma(2.0, size=(30, 6)),
    ids=[f"meter-{i}" for i in range(30)],
    times=np.datetime64("2024-01-01T00:00") + np.arange(6) * np.timedelta64(1, "h"),
    timezone="Europe/Bratislava",
)


def profiles(panel=METERS, k=9, **parameters):
    return Microaggregation(k=k, form="profiles", **({"aggregate": "quantiles"} | parameters)).anonymize(panel)


@pytest.fixture
def out(tmp_path):
    publish(profiles(), tmp_path / "out", insecure_seed=1)
    return tmp_path / "out"


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("panel", [METERS, Panel(rng.gamma(2.0, size=(20, 4, 2)), channels=["kw", "time"])])
def test_profiles_read_back_as_they_were_published(tmp_path, panel, file_format):
    candidate = profiles(panel)
    release = publish(candidate, tmp_path / "out", format=file_format)
    assert verify(tmp_path / "out").holds
    read = load_release(tmp_path / "out").published
    assert read.digest() == release.published.digest()
    assert sorted(read.counts) == sorted(candidate.published.counts)
    assert_array_equal(np.sort(read.values.ravel()), np.sort(candidate.values.ravel()))
    assert read.channels == panel.channels
    assert_array_equal(read.times, panel.times)
    assert not (set(read.names) & {str(i) for i in panel.ids})


def test_the_table_has_the_columns_of_the_design(out):
    assert pl.read_parquet(out / "data.parquet").columns == ["group", "count", "time", "mean", "q17", "q50", "q83"]


def test_the_certificate_says_the_form_and_counts_who_stands_behind_it(out):
    certificate = json.loads((out / "release.json").read_text())
    assert certificate["form"] == "profiles"
    assert certificate["columns"]["bands"] == ["mean", "q17", "q50", "q83"]
    counts = certificate["counts"]
    assert (counts["series"], counts["subjects"], counts["groups"]) == (30, 30, 3)
    assert counts["smallest_group"] >= 9
    assert "meter-" not in (out / "release.json").read_text() + (out / "report.html").read_text()
    assert "A group is published as one row" in (out / "report.html").read_text()


def test_group_names_and_order_are_random(tmp_path):
    names = [publish(profiles(), tmp_path / f"out{i}").published.names for i in range(2)]
    assert not set(names[0]) & set(names[1])


def test_the_private_map_names_the_group_of_each_series(tmp_path):
    candidate = profiles()
    release = publish(candidate, tmp_path / "out", private=tmp_path / "keep")
    (kept,) = (pl.read_parquet(p) for p in (tmp_path / "keep").glob("pseudonyms-*.parquet"))
    assert set(kept["pseudonym"]) == set(release.published.names)
    assert kept["id"].to_list() == METERS.ids.tolist()
    counts = dict(zip(release.published.names, release.published.counts.tolist(), strict=True))
    assert dict(kept["pseudonym"].value_counts().iter_rows()) == counts


def test_a_profile_that_counts_more_than_it_has_does_not_pass_the_gate(tmp_path):
    candidate = profiles()
    counts = candidate.published.counts.copy()
    counts[1] += 1
    lying = dataclasses.replace(candidate, published=dataclasses.replace(candidate.published, counts=counts))
    assert lying.check().holds  # the published table alone cannot tell
    with pytest.raises(GuaranteeNotMetError, match="Profile 1 does not count the subjects of its group"):
        publish(lying, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_labels_of_other_profiles_do_not_pass_the_gate(tmp_path):
    candidate = profiles()
    private = dataclasses.replace(candidate.private, groups=candidate.private.groups + 1)
    with pytest.raises((GuaranteeNotMetError, IndexError)):
        publish(dataclasses.replace(candidate, private=private), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_profile_below_k_is_found_by_a_recipient(out):
    forge(
        out,
        "data.parquet",
        lambda table: table.with_columns(pl.when(pl.int_range(pl.len()) < 6).then(2).otherwise("count").alias("count")),
    )
    outcome = verify(out)
    assert not outcome.holds
    assert any("k-anonymity does not hold: measured 2, required 9; profile 0" in f for f in outcome.findings)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda t: t.head(len(t) - 6), "the data has 2 profiles of 6 instants, release.json says 3 of 6"),
        (lambda t: t.head(len(t) - 1), "rows are missing, added or out of order"),
        (lambda t: t.with_columns(count=pl.col("count") + pl.int_range(pl.len()) % 2), "has two different counts"),
        (lambda t: t.with_columns(count=pl.col("count") + 30), "the profiles count 120 subjects"),
        (lambda t: t.with_columns(mean=pl.when(pl.int_range(pl.len()) == 4).then(None).otherwise("mean")), "1 missing"),
    ],
)
def test_what_was_changed_is_found_even_under_a_new_seal(out, change, finding):
    forge(out, "data.parquet", change)
    outcome = verify(out)
    assert not outcome.holds
    assert any(finding in f for f in outcome.findings), outcome.findings


def test_a_forged_count_does_not_fill_the_memory(out):
    forge(out, "data.parquet", lambda table: table.with_columns(count=pl.lit(10**10)))
    certificate = read_certificate(out)
    part = certificate.guarantees[0].model_copy(
        update={"name": "nlk-anonymity", "parameters": {"n": 1, "l": 2, "k": 9}}
    )
    forged = certificate.model_copy(update={"guarantees": (*certificate.guarantees, part)}).sealed()
    (out / "release.json").write_bytes(forged.as_bytes())
    assert not verify(out).holds


def test_another_table_is_no_release(out):
    forge(out, "data.parquet", lambda table: table.drop("q17"))
    with pytest.raises(ReleaseError, match="has other columns"):
        verify(out)


def test_keyed_pseudonyms_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="this one holds profiles"):
        publish(profiles(), tmp_path / "out", pseudonyms="keyed", private=tmp_path / "keep")
    assert not (tmp_path / "out").exists()


def test_profiles_without_bands_and_without_a_zone(tmp_path):
    release = publish(profiles(small_panel(), k=3, aggregate="mean"), tmp_path / "out", format="csv")
    assert load_release(tmp_path / "out").published.digest() == release.published.digest()
