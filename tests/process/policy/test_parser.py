"""A policy is read as it was meant, or refused with its line and the way out."""

import json
from datetime import date

import polars as pl
import pytest

from shoal.errors import ParameterError
from shoal.process.policy import Policy, load_policy, parse_policy, policy_schema, policy_text
from shoal.read import read_panel

DESIGNED = """\
title:     Half-hourly use of 600 homes, March 2009
data:      {path: meters.parquet, id: meter, time: timestamp, value: kwh, missing: {interpolate: 2h}}
roles:     {tariff: quasi-identifier, postcode: identifier, diagnosis: sensitive}
adversary: {knows: {points: 5}, scenario: prosecutor}
require:   {risk: {at_most: 0.09}, utility: {normalized-divergence: {at_most: 0.12}}}
method:    {name: microaggregation, k: {search: [4, 8, 12, 16, 20, 24, 28]}, features: haar}
release:   {model: publish, to: out/}
"""


def test_the_design_s_own_example_is_read():
    policy = parse_policy(DESIGNED)
    assert policy.title == "Half-hourly use of 600 homes, March 2009"
    assert policy.data.id == "meter"
    assert policy.data.missing == {"interpolate": "2h"}
    assert policy.require.utility["normalized-divergence"].at_most == 0.12
    assert policy.method["k"] == {"search": [4, 8, 12, 16, 20, 24, 28]}
    assert policy.release.to == "out/"


def test_an_empty_file_is_a_policy_of_defaults():
    assert parse_policy("") == parse_policy("# nothing\n") == Policy()
    assert Policy().require.risk.at_most == 0.09


def test_identifiers_are_in_no_setting_of_the_reader():
    settings = parse_policy(DESIGNED).settings
    assert settings["quasi"] == ("tariff",)
    assert settings["sensitive"] == ("diagnosis",)
    assert "postcode" not in json.dumps(settings)


def test_a_field_may_be_called_like_a_method_of_its_class():
    assert parse_policy("").settings["register"] == "keep"
    assert parse_policy("data: {register: difference}").settings["register"] == "difference"
    with pytest.raises(ParameterError, match="Is register meant"):
        parse_policy("data: {registr: keep}")


def test_words_mean_what_they_say():
    policy = parse_policy(
        "require: {utility: {interest-loss: {start: 11:00, end: 14:00, at_most: 2}}}\n"
        "roles: {no: other}\nrelease: {model: agreement, recipient: NO, purpose: a, expires: 2027-06-30}"
    )
    assert policy.require.utility["interest-loss"].parameters == {"start": "11:00", "end": "14:00"}
    assert policy.roles == {"no": "other"}
    assert policy.release.recipient == "NO"
    assert policy.release.expires == date(2027, 6, 30)


def test_numbers_are_decimal():
    assert parse_policy("method: {name: m, k: 010}").method["k"] == 10
    assert parse_policy("method: {name: m, k: 08}").method["k"] == 8


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("data:\n  pth: x", r"policy, line 2 \(pth: x\): data.pth is not a field of a policy. Is path meant\?"),
        ("data:\n  zzz: x", r"line 2 \(zzz: x\).*Fields here: path, id, time, value"),
        ("data:\n  layout: tall", r"line 2 \(layout: tall\): data.layout: input should be 'auto', 'long' or 'wide'"),
        ("\n\nroles: {a: person}", r"line 3 .*roles.a: input should be 'identifier', 'quasi-identifier'"),
        ("require: {risk: {at_most: 9}}", "require.risk.at_most: input should be less than or equal to 1"),
        ("require: {utility: {x: {}}}", "require.utility.x: give at_most or at_least"),
        ("require: {utility: {x: {at_most: 1, at_least: 2}}}", "at_most is below at_least, so nothing can meet both"),
        ("a: [", r"line 1 \(a: \[\): this is not valid YAML .*Look for a bracket, a colon or an indent"),
        ('title: "a\\tb"', r"line 1 .*title.*give a line of text, at most 200 characters"),
        ("seed: 1\nseed: 2", r"line 2 \(seed: 2\): 'seed' is given twice. Remove one of them"),
        ("? [a, b]\n: 1", "a field's name must be a word"),
        ("- 1", "policy holds no fields. A policy has the fields: title, publisher, purpose, date, data, roles, keep"),
        ("x: !!python/name:os.system x", r"line 1 .*tags are not allowed in policies"),
        ("data: \x07", "it has a character that YAML does not allow"),
        ("method: &a [*a]", "nested too deeply for a policy"),
        ("a: " + "[" * 3000, "nested too deeply for a policy|this is not valid YAML"),
        ("release: {model: agreement}", "model: agreement needs recipient, purpose and expires"),
        ("release: {pseudonyms: keyed}", "pseudonyms: keyed needs a folder for the key: give private"),
        ("method: {name: kp, keep: peaks}", "method: keep is not a parameter of a method. Write it at the top level"),
        ("method: {search: [{steps: [{name: kp, keep: peaks}]}]}", "Write it at the top level, next to method"),
        ("data:\n  missing: fill", r"line 2 \(missing: fill\): data.missing: give 'fail', 'drop-series', .* or 'keep'"),
        ("search: {sample: 0}", "search.sample: input should be greater than 0"),
        ("data: {align: 1h}", "data.align: give 'exact', 'resample:1h'"),
        ("data: {timezone: Europe/Nowhere}", "data.timezone: 'Europe/Nowhere' is not in the time zone database"),
        ("seed: -1\nadversary: {targets: 1}", r"\(1 more line has a mistake.\)"),
    ],
)
def test_a_mistake_is_quoted_with_the_way_out(text, told):
    with pytest.raises(ParameterError, match=told):
        parse_policy(text)


def test_a_long_line_is_quoted_in_part():
    with pytest.raises(ParameterError) as caught:
        parse_policy("seed: " + "x" * 500)
    assert len(str(caught.value)) < 250


def test_files_that_are_no_policies_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="cannot be read: No such file"):
        load_policy(tmp_path / "none.yaml")
    (tmp_path / "data.parquet").write_bytes(b"PAR1\xff\xfe")
    with pytest.raises(ParameterError, match=r"is not a text file. A policy is a YAML file"):
        load_policy(tmp_path / "data.parquet")
    (tmp_path / "data.csv").write_text("1,2\n" * 400_000)
    with pytest.raises(ParameterError, match="Is it the data"):
        load_policy(tmp_path / "data.csv")
    (tmp_path / "p.yaml").write_text("seed: 3")
    assert load_policy(tmp_path / "p.yaml").seed == 3


def test_the_schema_names_every_field_with_its_meaning():
    schema = policy_schema()
    assert set(schema["properties"]) == set(Policy.model_fields)
    parts = [schema, *schema["$defs"].values()]
    fields = [field for part in parts for field in part.get("properties", {}).values()]
    assert all("description" in field or "$ref" in field for field in fields)


def test_data_is_read_with_the_settings_of_the_policy():
    text = "data: {value: kwh, align: {resample: 2}, duplicates: mean, complete: 0.5, quantity: power, missing: keep}"
    table = pl.DataFrame({"id": "a", "time": [0, 1, 1, 2, 4, 5], "kwh": [1.0, 1.0, 3.0, 1.0, 1.0, 1.0]})
    panel = read_panel(table, **parse_policy(text).settings)
    assert panel.values.tolist() == [[1.5, 1.0, 1.0]]
    told = panel.origin.reading
    assert (told["merged"], told["partial"], told["complete"], told["align"]) == (1, 1, "0.5", "resample:2:mean")
    assert parse_policy("data: {complete: any}").data.complete == "any"
    assert parse_policy("").data.complete == 1.0


@pytest.mark.parametrize("wrong", ["duplicates: sum", "complete: 0", "complete: 2", "complete: most", "quantity: heat"])
def test_settings_of_the_data_that_make_no_sense(wrong):
    with pytest.raises(ParameterError, match=f"line 1.*data.{wrong.partition(':')[0]}"):
        parse_policy(f"data: {{{wrong}}}")


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "more than 10000 fields and entries, too many for a policy. Are there aliases of aliases"),
        ("method: {k: " + "9" * 5000 + "}", "a number of 5000 characters; no policy needs that"),
        ("method: {k: 1." + "9" * 5000 + "}", "a number of 5002 characters; no policy needs that"),
        ("method: {k: !!int abc}", "tags are not allowed in policies"),
        ("method: {k: !!timestamp abc}", "tags are not allowed in policies"),
        ("method: {k: !!bool abc}", "tags are not allowed in policies"),
        ("a: &a {b: *a}", "nested too deeply for a policy"),
        ("{" * 400, "not valid YAML|nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ("base: &b {k: 3}\nmethod:\n  <<: *b", "not a field of a policy"),
    ],
)
def test_text_that_is_made_to_hang_or_to_break_is_refused_in_a_line(text, message):
    with pytest.raises(ParameterError, match=message) as told:
        parse_policy(text)
    assert len(str(told.value)) < 400


def test_a_policy_as_text_parses_to_the_same_policy():
    policy = parse_policy("""
title: "Half-hourly use: 600 homes"
date: 2026-11-16
data: {path: meters.parquet, id: meter, missing: {interpolate: 2h}, time_format: "%d.%m.%Y", null: ["no", "1e3"]}
roles: {tariff: publish, postcode: identifier}
keep: [peaks, {window: 17:00-20:00, weight: 2}]
adversary: {knows: {points: 5, linkage: {word: published}}, targets: 40}
require: {risk: {at_most: 0.00001}, utility: {window-error: {at_least: 0.5, size: 7}}, guarantees: [aggregate-rule]}
method: {search: [{name: kp, k: {search: {from: 4, to: 8}}, p: 2}, {steps: [{name: m, step: 11:00}]}]}
search: {points: 7, sample: 0.5, explored: {points: 3, after: 4, of: 9}}
engine: local
release: {model: agreement, recipient: x, purpose: "yes", expires: 2027-06-30, to: out}
seed: 3
""")
    assert parse_policy(policy_text(policy)) == policy
    assert policy_text(parse_policy("")).count("\n") < 20
    with pytest.raises(ParameterError, match="after and of belong together"):
        parse_policy("search: {explored: {points: 3, after: 4}}")
