"""Which rows the terminal shows of each kind of release."""

import json

import numpy as np
import pytest

from shoal import Panel
from shoal.cli.app import run
from shoal.cli.sentences import ROWS, Told, release_rows

NUMBERED = {f"{row.name} {place}": row for place, row in enumerate(ROWS)}
SERIES = {"published", "groups", "smallest group", "information-loss", "report"}
NO_GROUPS = SERIES - {"groups", "smallest group"}
EVENTS = {"published", "moved", "suppressed", "groups", "not released", "report"}
SHOWN = {
    "small": SERIES | {"not released"},
    "scenarios": SERIES | {"not released"},
    "keyed": SERIES | {"pseudonyms"},
    "keyed copy": SERIES | {"pseudonyms"},
    "sequence": SERIES | {"pseudonyms"},
    "insecure": SERIES | {"pseudonyms"},
    "accepted": SERIES | {"accepted"},
    "filled": SERIES | {"dropped", "changed"},
    "labels of others": SERIES | {"metric"},
    "gaps": SERIES | {"withheld"},
    "bound": SERIES | {"lower bound"},
    "aggregates withheld": SERIES | {"withheld"},
    "nlk": SERIES | {"not released"},
    "nlk sequence": SERIES | {"pseudonyms"},
    "kp": SERIES | {"not released"},
    "suppressed series": SERIES | {"suppressed", "not released"},
    "sensitive": SERIES | {"sensitive", "not released"},
    "exchanged": SERIES | {"sensitive", "not released"},
    "attributes": SERIES | {"attributes"},
    "noise": NO_GROUPS,
    "fictives": NO_GROUPS,
    "private subjects": NO_GROUPS - {"information-loss"},
    "private readings": NO_GROUPS - {"information-loss"},
    "meters": NO_GROUPS - {"information-loss"},
    "sums": NO_GROUPS - {"information-loss"},
    "events": EVENTS,
    "suppressed events": EVENTS,
    "coarser events": EVENTS,
}


@pytest.fixture(scope="module")
def told(kinds):
    folder, certificates = kinds
    return {kind: Told(folder / kind, certificate) for kind, certificate in certificates.items()}


def test_each_kind_of_release_has_its_rows_and_no_others(told):
    for kind, release in told.items():
        shown = {row.name for row in ROWS if row.when(release)}
        if kind in ("small", "scenarios", "nlk", "kp", "suppressed series", "sensitive", "exchanged"):
            shown.add("information-loss")  # of a small release only the publisher has it
        assert shown == SHOWN.get(kind, SERIES), kind


def test_every_row_has_a_release_of_which_it_is_not_shown(told):
    shown = {kind: {name for name, row in NUMBERED.items() if row.when(release)} for kind, release in told.items()}
    of_publishers = {"loss by value", "window-error", "homogeneity", "republication", "held back", "ledger", "warning"}
    elsewhere = of_publishers | {"algorithm"}
    assert {NUMBERED[name].name for name in set(NUMBERED) - set.union(*shown.values())} == elsewhere
    assert {NUMBERED[name].name for name in set.intersection(*shown.values())} == {"report"}


def test_no_row_is_shown_twice(told):
    for kind, release in told.items():
        names = [name for name, _ in release_rows(release)]
        guarantees = [guarantee["name"] for guarantee in release.certificate["guarantees"]]
        assert sorted(set(names)) == sorted(names) or len(set(guarantees)) < len(guarantees), kind


def test_fictive_series_are_not_called_subjects(told):
    assert dict(release_rows(told["fictives"]))["published"] == "180 series, 36 of them fictive, 48 instants"
    assert dict(release_rows(told["noise"]))["published"] == "160 series of 160 subjects, 48 instants"


def test_one_of_a_kind_is_not_many(told):
    profiles = told["profiles"]
    counts = {**profiles.certificate["counts"], "groups": 1, "instants": 1}
    one = Told(profiles.path, {**profiles.certificate, "counts": counts})
    assert dict(release_rows(one))["published"] == "1 group profile of 160 subjects, 1 instant"


def test_values_that_are_withheld_are_counted(told):
    assert dict(release_rows(told["gaps"]))["withheld"] == ("24 values, because too few subjects have a reading there")


def test_a_fixed_seed_is_said_loudly(told):
    assert "do not pass this release on" in dict(release_rows(told["insecure"]))["pseudonyms"]
    assert "pseudonyms" not in dict(release_rows(told["plain"]))


def test_a_mean_that_is_mostly_one_subject_s_is_warned_of(told):
    plain = told["plain"]
    found = {"groups": 20, "dominated": 1, "largest_share": 0.99}
    row = dict(release_rows(Told(plain.path, {**plain.certificate, "dominance": found})))["warning"]
    assert row.startswith("In 1 of 20 groups the mean is mostly one subject's")
    assert "warning" not in dict(release_rows(plain))


def test_a_measure_without_a_figure_is_printed_as_such(told):
    plain = told["plain"]
    score = {"information-loss": {**plain.certificate["utility"]["information-loss"], "value": None}}
    row = dict(release_rows(Told(plain.path, {**plain.certificate, "utility": score})))["information-loss"]
    assert row.startswith("no figure (")


def test_guarantees_of_one_name_are_told_apart_by_what_they_differ_in(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", "meters", "-o", "x.parquet", "--n", "30", "--days", "1", "--step", "2h"]) == 0
    capsys.readouterr()
    program = ["anonymize", "x.parquet", "--method", "nlk", "--n", "2", "--l", "6", "--k", "4", "-o", "out"]
    assert run([*program, "--require", "nlk-anonymity:n=2,l=6,k=4,within=5"]) == 0
    names = [line.partition("  ")[0] for line in capsys.readouterr().out.splitlines()]
    both = ["nlk-anonymity within=0.0", "nlk-anonymity within=5.0"]
    assert [name for name in names if "nlk" in name] == both
    assert run(["verify", "out"]) == 0
    names = [line.partition("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert [name for name in names if "nlk" in name] == both
    assert run(["verify", "out", "--json"]) == 0
    assert [part["name"] for part in json.loads(capsys.readouterr().out)["guarantees"]] == both


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--algorithm", "auto", "--pattern-weight", "0"], "naive, which loses less than kapra"),
        (["--algorithm", "auto", "--pattern-weight", "1"], "kapra, which loses no more than naive"),
        (["--algorithm", "kapra"], None),
    ],
)
def test_the_chosen_algorithm_is_said(tmp_path, monkeypatch, capsys, options, said):
    monkeypatch.chdir(tmp_path)
    # Two levels, and at each as many rise as fall: groups of near values mix shapes.
    levels, slopes = np.repeat([0.0, 100.0], 20), np.tile([1.0, -1.0], 20)
    readings = np.random.default_rng(1).random((40, 8)) + levels[:, None] + slopes[:, None] * np.arange(8.0)
    Panel(readings).to_polars().write_parquet("x.parquet")
    assert run(["anonymize", "x.parquet", "--method", "kp", "--k", "6", "--p", "6", *options, "-o", "out"]) == 0
    rows = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines() if "  " in line)
    assert rows.get("algorithm", "").strip() == (said or "")


def test_different_shards_may_have_different_algorithms(told):
    kp = told["kp"]
    figures = {**kp.method["figures"], "series_grouped_by_values": 12}
    rows = dict(release_rows(Told(kp.path, {**kp.certificate, "method": {**kp.method, "figures": figures}})))
    assert rows["algorithm"].startswith("naive for 12 of ")
