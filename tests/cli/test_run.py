"""`shoal run` and `shoal policy`: from a policy file to a release, or to a clear no."""

import json

import polars as pl
import pytest
import yaml

from shoal import load_release, verify
from shoal.cli.app import run


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", "meters", "-o", "meters.parquet", "--n", "120", "--days", "4"]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.fixture
def many(folder, capsys):
    """So many meters that their figures may be told."""
    (folder / "meters.parquet").unlink()
    assert run(["simulate", "meters", "-o", "meters.parquet", "--n", "900", "--days", "4"]) == 0
    capsys.readouterr()
    return folder


def write(folder, text, name="policy.yaml"):
    (folder / name).write_text("data: {path: meters.parquet}\n" + text)
    return name


def told(capsys):
    return " ".join(capsys.readouterr().err.split())


def test_messages_name_fields_of_the_policy(folder, capsys):
    table = pl.read_parquet("meters.parquet")
    table[1:].write_parquet("meters.parquet")
    assert run(["run", write(folder, "release: {to: out}")]) == 2
    assert "1 of 120 series has gaps: 1 of 11,520 cells is missing. Set data.missing to 'drop-series'" in told(capsys)
    table.write_parquet("meters.parquet")
    assert run(["run", write(folder, "keep: [{window: 0-400}]\nrelease: {to: out}")]) == 2
    assert told(capsys).startswith("shoal: keep: window:0-400 ends at position 400")
    table.with_columns(pl.lit(1).alias("time")).write_parquet("meters.parquet")
    assert run(["run", write(folder, "release: {to: out}")]) == 2
    assert "--" not in told(capsys)


GOOD = """
adversary: {knows: {points: 5, totals: day}}
require: {risk: {at_most: 0.2}, utility: {information-loss: {at_most: 0.9}}}
method: {name: microaggregation, k: {search: [3, 6, 9]}}
release: {to: out, private: private}
"""


def test_a_policy_becomes_a_release_that_verifies_and_says_how_it_was_found(many, capsys):
    assert run(["run", write(many, GOOD)]) == 0
    said = capsys.readouterr().out
    for words in ("k = 3", "meets both", "Chosen: k = ", "known-points", "known-totals", "out/report.html"):
        assert words in said
    assert verify("out").holds
    certificate = load_release("out").certificate
    assert set(certificate["risk"]) == {"known-points", "known-totals"}
    process = certificate["figures"]["process"]
    assert [point["parameters"]["k"] for point in process["points"]] == [3, 6, 9]
    assert process["chosen"] == {"k": certificate["method"]["parameters"]["k"]}
    page = (many / "out" / "report.html").read_text()
    assert "What was tried" not in page
    assert "Someone who knows the total of every day" in page
    assert run(["report", "out", "--for", "publisher", "-o", "own.html"]) == 0
    assert "What was tried" in (many / "own.html").read_text()
    assert run(["report", "out", "-o", "public.html"]) == 0
    assert "What was tried" not in (many / "public.html").read_text()


def test_the_certificate_and_the_report_have_utility_by_purpose(many, capsys):
    assert run(["run", write(many, GOOD)]) == 0
    certificate = load_release("out").certificate
    purposes = certificate["figures"]["process"]["purposes"]
    assert len(purposes) > 2
    assert {name for names in purposes.values() for name in names} <= set(certificate["utility"])
    page = (many / "out" / "report.html").read_text()
    for purpose in purposes:
        assert f"<h3>{purpose[0].upper()}{purpose[1:]}</h3>" in page


def test_of_few_subjects_the_figures_are_on_the_screen_and_not_in_the_release(folder, capsys):
    assert run(["run", write(folder, GOOD)]) == 0
    said = capsys.readouterr().out
    for words in ("meets both", "known-points", "information-loss", "not released"):
        assert words in said
    certificate = load_release("out").certificate
    assert (certificate["utility"], certificate["risk"], "process" in certificate["figures"]) == ({}, {}, False)
    page = (folder / "out" / "report.html").read_text()
    assert "What was tried" not in page
    assert "Figures of risk and utility and curves of the originals are left out" in page
    assert "Not stated" in page
    own = ["report", "out", "--for", "publisher", "-o", "own.html"]
    assert run([*own, "--private", "private"]) == 0
    page = (folder / "own.html").read_text()
    assert "Someone who knows the total of every day" in page
    assert "Not stated" not in page
    assert run(own) == 0  # from the folder alone there is no more than it holds
    assert "Someone who knows" not in (folder / "own.html").read_text()
    capsys.readouterr()
    assert run(["report", "out", "--private", "private"]) == 2
    assert "give --for publisher" in capsys.readouterr().err


def test_json_has_the_frontier(folder, capsys):
    assert run(["run", write(folder, GOOD), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["process"]["limits"] == {"risk": 0.2, "utility": {"information-loss": {"at_most": 0.9}}}
    assert found["guarantees"][0]["verdict"]["holds"]


def test_where_nothing_meets_both_limits_nothing_is_written_and_the_nearest_is_named(folder, capsys):
    impossible = GOOD.replace("at_most: 0.9", "at_most: 0.001")
    assert run(["run", write(folder, impossible)]) == 1
    captured = capsys.readouterr()
    assert "k = 9" in captured.out
    assert "None of 3 points meets both limits." in captured.err
    assert "but information-loss is" in captured.err
    assert "Nothing was written." in captured.err
    assert not (folder / "out").exists()
    assert run(["run", "policy.yaml", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["release"] is None


def test_a_risk_limit_that_nothing_keeps_is_told_with_what_would_have_to_give(folder, capsys):
    assert run(["run", write(folder, GOOD.replace("at_most: 0.2}", "at_most: 0.0001}"))]) == 1
    assert "is useful enough but has risk" in told(capsys)
    assert not (folder / "out").exists()


def test_the_same_policy_data_and_seed_give_the_same_bytes(folder, capsys):
    keyed = GOOD.replace("private: private", "private: private, pseudonyms: keyed")
    for out in ("one", "two"):
        assert run(["run", write(folder, keyed), "-o", out]) == 0
    first, second = (
        {path.name: path.read_bytes() for path in sorted((folder / out).iterdir())} for out in ("one", "two")
    )
    assert set(first) == {"data.parquet", "datapackage.json", "release.json", "report.html"}
    assert first == second


def test_without_a_key_only_the_pseudonyms_differ(folder, capsys):
    for out in ("one", "two"):
        assert run(["run", write(folder, GOOD), "-o", out]) == 0
    first, second = (sorted(map(tuple, load_release(out).published.values.tolist())) for out in ("one", "two"))
    assert first == second
    assert set(load_release("one").published.ids) != set(load_release("two").published.ids)


def test_paths_start_from_the_folder_of_the_policy(folder, capsys):
    (folder / "deep").mkdir()
    (folder / "deep" / "policy.yaml").write_text("data: {path: ../meters.parquet}" + GOOD)
    assert run(["run", "deep/policy.yaml"]) == 0
    assert verify(folder / "deep" / "out").holds


def test_data_and_folder_can_be_given_on_the_command_line(folder, capsys):
    (folder / "p.yaml").write_text(GOOD)
    assert run(["run", "p.yaml"]) == 2
    assert "The policy names no data: give data.path" in told(capsys)
    assert run(["run", "p.yaml", "--data", "meters.parquet", "-o", "else"]) == 0
    assert verify("else").holds
    assert run(["run", "p.yaml", "--data", "meters.parquet", "-o", "else"]) == 2
    assert run(["run", "p.yaml", "--data", "meters.parquet", "-o", "else", "--overwrite"]) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("name: microaggregation", "name: magic"), "Unknown method 'magic'"),
        (("points: 5", "rumours: 5"), "Unknown attack 'rumours'"),
        (("points: 5", "points: none"), "n of known-points must be a whole number"),
        (("knows: {points: 5, totals: day}", "knows: {}"), "an adversary who knows nothing is not a test"),
        (("information-loss", "beauty"), "Unknown measure 'beauty'"),
        (("k: {search: [3, 6, 9]}", "q: 3"), "Unknown option q for microaggregation"),
        (("k: {search: [3, 6, 9]}", "k: {search: [1]}"), "k must be a whole number of at least 2"),
        (("risk: {at_most: 0.2}", "guarantees: [magic]"), "Unknown guarantee 'magic'"),
        (("risk: {at_most: 0.2}", "guarantees: [{aggregate-rule: 5}]"), "takes its parameters by name"),
        (("points: 5", "points: 5, known-points: {n: 1}"), "names known-points twice"),
        (("points: 5", "homogeneity: {}"), "it attacks events"),
        (("points: 5", "membership: {}"), "it needs people who are not in the release"),
        (("points: 5", "intersection: {}"), "it needs several releases"),
        (("information-loss", "window-error"), "it applies to events"),
        (("microaggregation, k: {search: [3, 6, 9]}", "reposition, l: 2"), "reposition is for events"),
        (
            (
                "microaggregation, k: {search: [3, 6, 9]}",
                "noisy-aggregates, epsilon: 1, lower: 0, upper: {search: [1, 2]}",
            ),
            "differential privacy allows no search",
        ),
        (
            ("microaggregation, k: {search: [3, 6, 9]}", "noisy-aggregates, epsilon: 1, lower: 0, upper: 9"),
            "differential privacy allows no limit on exact figures",
        ),
        (
            (
                GOOD[GOOD.index("require:") :],
                "require: {guarantees: [{k-anonymity: {k: 5}}]}\n"
                "method: {name: noisy-aggregates, epsilon: 1, lower: 0, upper: 9}",
            ),
            "differential privacy allows no further guarantee",
        ),
    ],
)
def test_a_word_that_means_nothing_is_told_before_any_data_is_read(folder, capsys, change, words):
    text = GOOD.replace(*change)
    assert text != GOOD
    write(folder, text)
    (folder / "meters.parquet").unlink()
    assert run(["run", "policy.yaml"]) == 2
    assert words in told(capsys)
    assert run(["policy", "check", "policy.yaml"]) == 2


def test_noise_is_published_only_below_the_limit(folder, capsys):
    text = """
adversary: {knows: {totals: day}, scenario: journalist}
require: {risk: {at_most: %s}}
method: {name: noise-addition, snr: %s}
"""
    assert run(["run", write(folder, text % (0.2, 1000))]) == 1
    assert "has risk" in told(capsys)
    assert not (folder / "out").exists()
    assert run(["run", write(folder, text % (0.9, 0.01))]) == 0
    assert "none: judged by attack only" in json.dumps(load_release("out").certificate)


def test_steps_are_carried_out_in_order(folder, capsys):
    text = """
adversary: {knows: {totals: day}}
require: {risk: {at_most: 0.5}}
method: [{name: time-aggregation, step: 1d}, {name: microaggregation, k: {search: [4, 8]}}]
"""
    assert run(["run", write(folder, text)]) == 0
    certificate = load_release("out").certificate
    assert certificate["counts"]["instants"] == 4
    assert certificate["guarantees"][0]["name"] == "k-anonymity"


def test_a_proposed_policy_runs_as_it_is(folder, capsys):
    assert run(["policy", "init", "meters.parquet", "-o", "p.yaml"]) == 0
    assert run(["policy", "check", "p.yaml"]) == 0
    assert "7 points to try" in capsys.readouterr().out
    assert run(["policy", "init", "meters.parquet", "-o", "p.yaml"]) == 2
    proposed = yaml.safe_load((folder / "p.yaml").read_text())
    assert proposed["roles"] == {"family": "quasi-identifier"}
    code = run(["run", "p.yaml"])
    assert code in (0, 1)  # whether its limits can be met depends on the data
    assert (folder / "out").exists() == (code == 0)


def test_the_schema_is_json(folder, capsys):
    assert run(["policy", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Policy"


def test_an_attack_on_a_release_is_scored_with_the_private_map(folder, capsys):
    assert run(["run", write(folder, GOOD)]) == 0
    capsys.readouterr()
    assert run(["attack", "out", "meters.parquet", "--private", "private", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["attacks"]
    assert set(found) == {"known-points", "known-totals"}
    assert found["known-totals"]["n_targets"] == 120
    assert found["known-totals"]["success"] <= 1 / 3
    call = ["attack", "out", "meters.parquet", "--private", "private", "--targets", "20"]
    assert run([*call, "--knows", "known-points:n=3,choose=peaks", "--at-most", "0.9"]) == 0
    assert "20 targets" in capsys.readouterr().out
    assert run([*call, "--knows", "totals=day", "--at-most", "0"]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--private", "nowhere"], "has no map of this release"),
        (["--private", "private", "--knows", "magic"], "Unknown attack 'magic'"),
        (["--private", "private", "--knows", "known-points:n"], "--knows takes ATTACK:parameter=value"),
        (["--private", "private", "--at-most", "7"], "--at-most is a share of the targets"),
        (["--private", "private", "--targets", "1"], "targets must be at least 2"),
    ],
)
def test_an_attack_that_cannot_be_is_told(folder, capsys, arguments, words):
    assert run(["run", write(folder, GOOD)]) == 0
    capsys.readouterr()
    assert run(["attack", "out", "meters.parquet", *arguments]) == 2
    assert words in told(capsys)


def test_an_attack_with_other_originals_is_told(folder, capsys):
    assert run(["run", write(folder, GOOD)]) == 0
    assert run(["simulate", "meters", "-o", "few.parquet", "--n", "50", "--days", "4"]) == 0
    capsys.readouterr()
    assert run(["attack", "out", "few.parquet", "--private", "private"]) == 2
    assert "70 of 120 series in the map are not in the originals given" in told(capsys)


def test_a_differentially_private_release_keeps_the_search_to_the_publisher(folder, capsys):
    text = """
adversary: {knows: {totals: day}, scenario: journalist}
require: {risk: {at_most: 0.9}}
method: {name: noisy-aggregates, epsilon: 5.0, lower: 0, upper: 5000}
"""
    assert run(["run", write(folder, text)]) == 0
    assert "as given" in capsys.readouterr().out
    assert "process" not in load_release("out").certificate["figures"]
    assert verify("out").outcome == "not judged"


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ("{value: identifier}", "'value' is an identifier and is also read as value"),
        ("{time: identifier}", "'time' is an identifier and is also read as time"),
        ("{nosuch: identifier}", "There is no column 'nosuch'"),
    ],
)
def test_an_identifier_is_a_column_that_is_not_published(folder, capsys, roles, words):
    assert run(["run", write(folder, f"roles: {roles}\n{GOOD}")]) == 2
    assert words in told(capsys)
    assert not (folder / "out").exists()


def test_identifiers_that_are_columns_are_simply_not_read(folder, capsys):
    assert run(["run", write(folder, "roles: {id: identifier, family: identifier}\n" + GOOD)]) == 0


def test_what_the_data_cannot_bear_at_all_is_bad_input(folder, capsys):
    assert run(["run", write(folder, GOOD.replace("[3, 6, 9]", "[300, 400]"))]) == 2
    assert "k=300 needs at least 300 subjects" in told(capsys)
