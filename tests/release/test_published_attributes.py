"""Static columns that leave with the values, because groups do not cross them."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from shoal import KAnonymity, Microaggregation, NLKAnonymity, Panel, load_release, publish, verify
from shoal.cli.app import run
from shoal.engines import Memory, in_shards
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.release.certificate import Certificate, digest_file
from test_contracts import methods_of, repeatable


@pytest.fixture
def panel(rng):
    tariff = np.array(["day", "night", "day"] * 8)
    return Panel(
        rng.lognormal(size=(24, 6)),
        ids=[f"meter-{i:02d}" for i in range(24)],
        attributes={"tariff": tariff, "rooms": np.arange(24) // 12},
    )


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_column_is_published_where_groups_do_not_cross_it(panel, tmp_path, kind):
    candidate = Microaggregation(k=3, attributes="tariff").anonymize(panel)
    for group in np.unique(candidate.private.groups):
        assert len(set(panel.attributes["tariff"][candidate.private.groups == group])) == 1
    release = publish(candidate, tmp_path / "out", format=kind, private=tmp_path / "keep")
    certificate = json.loads((tmp_path / "out" / "release.json").read_text())
    assert certificate["columns"]["attributes"] == {"tariff": "text"}
    assert certificate["columns"]["published"] == ["id", "time", "value", "tariff"]
    assert certificate["columns"]["withheld"] == 2  # id and rooms
    assert verify(tmp_path / "out").holds
    loaded = load_release(tmp_path / "out").published
    assert loaded.attributes["tariff"].tolist() == release.published.attributes["tariff"].tolist()
    own = dict(zip(panel.ids, panel.attributes["tariff"], strict=True))
    (kept,) = (tmp_path / "keep").glob("pseudonyms-*")
    behind = dict(pl.read_parquet(kept).select("pseudonym", "id").iter_rows())
    told = zip(loaded.ids, loaded.attributes["tariff"], strict=True)
    assert all(own[behind[name]] == tariff for name, tariff in told)


def test_several_columns_and_shards(panel, tmp_path):
    method = Microaggregation(k=3, attributes=("tariff", "rooms"), within="tariff")
    assert method.apart == ("tariff", "rooms")
    publish(method.anonymize(panel), tmp_path / "both")
    assert verify(tmp_path / "both").holds
    candidate = replace(method, k=2).anonymize(in_shards(panel, Memory(), size=6))
    assert candidate.n_shards > 1
    publish(candidate, tmp_path / "shards")
    assert verify(tmp_path / "shards").holds
    assert set(load_release(tmp_path / "shards").published.attributes) == {"tariff", "rooms"}


def test_a_changed_entry_is_found(panel, tmp_path):
    """Sealed anew, so that only the check on the published data itself can find it."""
    publish(Microaggregation(k=3, attributes="tariff").anonymize(panel), tmp_path / "out")
    path = tmp_path / "out" / "attributes.parquet"
    table = pl.read_parquet(path)
    other = {"day": "night", "night": "day"}[table["tariff"][0]]
    rows = [other, *table["tariff"][1:]]
    pq.write_table(table.with_columns(pl.Series("tariff", rows)).to_arrow(), path)
    sealed = Certificate.model_validate_json((tmp_path / "out" / "release.json").read_bytes())
    files = sealed.files | {path.name: digest_file(path)}
    (tmp_path / "out" / "release.json").write_bytes(sealed.model_copy(update={"files": files}).sealed().as_bytes())
    outcome = verify(tmp_path / "out")
    assert any(
        "k-anonymity DOES NOT HOLD" in finding or "k-anonymity does not" in finding for finding in outcome.findings
    )


def test_equal_values_with_other_attributes_are_no_crowd():
    values = np.ones((4, 2))
    assert KAnonymity(4).check(Panel(values)).holds
    verdict = KAnonymity(3).check(Panel(values, attributes={"tariff": ["a", "a", "b", "b"]}))
    assert (verdict.holds, verdict.measured) == (False, 2)


def test_the_gate_lets_no_other_attribute_out(panel, tmp_path):
    candidate = Microaggregation(k=3, attributes="tariff").anonymize(panel)
    unnamed = replace(candidate, recipe=replace(candidate.recipe, parameters={"k": 3}))
    with pytest.raises(GuaranteeNotMetError, match="the recipe names others"):
        publish(unnamed, tmp_path / "out")
    with pytest.raises(GuaranteeNotMetError, match="which nlk-anonymity does not look at"):
        publish(candidate, tmp_path / "out", require=[NLKAnonymity(1, 3, 3)])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("cls", methods_of("series"), ids=lambda cls: cls.name)
def test_no_method_publishes_attributes_by_itself(panel, cls):
    assert not getattr(repeatable(cls).anonymize(panel).published, "attributes", None)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"merge_small": True}, "merge_small joins groups across them"),
        ({"form": "profiles"}, "profiles have no table of attributes"),
    ],
)
def test_what_would_cross_it_is_refused(options, why):
    with pytest.raises(ParameterError, match=why):
        Microaggregation(k=2, attributes="tariff", **options)


def test_small_strata_gaps_and_unknown_columns_are_refused(panel):
    with pytest.raises(ParameterError, match="'tariff' and 'rooms' have fewer than k=5 subjects"):
        Microaggregation(k=5, attributes=("tariff", "rooms")).anonymize(panel)
    with pytest.raises(ParameterError, match="within='postcode' is not among the 2 attributes"):
        Microaggregation(k=2, attributes="postcode").anonymize(panel)
    gaps = Panel(np.ones((4, 1)), attributes={"tariff": np.array(["a", "a", None, None], dtype=object)})
    with pytest.raises(ParameterError, match="2 of 4 series have no entry in it"):
        Microaggregation(k=2, attributes="tariff").anonymize(gaps)


def test_an_identifier_is_not_published_as_an_attribute(tmp_path):
    panel = Panel(np.ones((4, 1)), ids=["ann-smith", "b", "c", "d"], attributes={"by": ["ann-smith"] * 4})
    with pytest.raises(GuaranteeNotMetError, match="Identifiers are in the release"):
        publish(Microaggregation(k=4, attributes="by").anonymize(panel), tmp_path / "out")


def test_on_the_command_line_and_in_a_policy(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"m{i},{t},{i % 5 + t / 10},{'ab'[i % 2]}" for i in range(20) for t in range(4)]
    (tmp_path / "t.csv").write_text("\n".join(["id,time,value,tariff", *rows]) + "\n")
    assert run(["anonymize", "t.csv", "--k", "3", "--attributes", "tariff", "-o", "one"]) == 0
    assert "attributes        tariff (the same for everyone in a group)" in capsys.readouterr().out
    (tmp_path / "p.yaml").write_text(
        "data: {path: t.csv}\nroles: {tariff: publish}\nrequire: {risk: {at_most: 1.0}}\n"
        "adversary: {knows: {points: 2}}\nmethod: {name: microaggregation, k: 3}\nrelease: {to: two}\n"
    )
    assert run(["run", "p.yaml"]) == 0
    for folder in ("one", "two"):
        assert set(load_release(folder).published.attributes["tariff"]) == {"a", "b"}
    assert (
        run(["anonymize", "t.csv", "--method", "kp", "--k", "4", "--p", "2", "--attributes", "tariff", "-o", "x"]) == 2
    )
    assert "Unknown option --attributes for kp" in capsys.readouterr().err
