"""Any published table against its originals."""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import Microaggregation, Panel, publish, simulate
from shoal.attacks import KnownPoints, KnownTotals, Membership
from shoal.cli.app import run
from shoal.errors import InputError, ParameterError
from shoal.process.release_attack import attack_release
from shoal.process.usefulness import measure_release

HOMES = simulate.meters(160, days=14, step="2h", families={"household": 1.0}, seed=3)
KNOWS = {"points": 5, "totals": "day"}


def some(first, last, source=HOMES):
    return Panel(source.values[first:last], times=source.times, ids=[f"home {i}" for i in range(first, last)])


BEHIND, OUTSIDE = some(0, 120), some(120, 160)


def unnamed(values, times=HOMES.times):
    """A table whose names say nothing."""
    return Panel(values, times=times, ids=[f"row {i}" for i in range(len(values))])


def test_everything_is_found_in_the_raw_table():
    found = shoal.judge(BEHIND, BEHIND, OUTSIDE, at_most=0.1)
    risks = {name: risk for name, (_, risk) in found.risks.items()}
    assert found.matched == "ids"
    assert {"known-points", "known-totals", "relink", "copies", "completion", "membership"} == set(risks)
    for name in ("known-points", "known-totals", "copies", "completion", "membership"):
        assert risks[name].success == 1.0, name
    assert risks["copies"].exact == 1.0
    assert risks["copies"].control == 0.0
    assert not found.met
    losses = [f.score.value for f in found.usefulness.findings if f.asked.label == "information-loss"]
    assert losses == [0.0]


def test_nothing_is_found_in_shuffled_noise_beyond_the_control():
    noise = np.random.default_rng(0).permuted(BEHIND.values, axis=1)
    found = shoal.judge(BEHIND, unnamed(noise), OUTSIDE, at_most=0.3)
    risks = {name: risk for name, (_, risk) in found.risks.items()}
    assert found.matched is None
    assert found.met
    assert risks["copies"].success == 0.0
    assert risks["membership"].interval.low < 0.5
    assert abs(risks["completion"].success - risks["completion"].control) < 0.05


def test_a_synthetic_table_that_repeats_a_twentieth_of_its_training_rows_is_found_out():
    made = simulate.meters(120, days=14, step="2h", families={"household": 1.0}, seed=99).values.copy()
    repeated = np.random.default_rng(1).permutation(120)[:6]
    made[:6] = BEHIND.values[repeated]
    risk = shoal.judge(BEHIND, unnamed(made[::-1]), OUTSIDE).risks["copies"][1]
    assert risk.success == risk.exact == 6 / 120
    assert set(risk.worst[:6]) == set(repeated.tolist())
    assert risk.control == 0.0


def test_copies_get_no_tick_and_an_interval_alone_decides_nothing():
    made = simulate.meters(120, days=14, step="2h", families={"household": 1.0}, seed=99).values.copy()
    clean = shoal.judge(BEHIND, unnamed(made.copy()), OUTSIDE, at_most=0.9)
    assert not clean.has_copies
    assert ">Within the limits<" in clean.to_html()
    made[:6] = BEHIND.values[50:56]
    copied = shoal.judge(BEHIND, unnamed(made), OUTSIDE, at_most=0.9)
    assert copied.risks["copies"][1].excess[1] < 0.0  # the interval alone would not tell
    assert copied.has_copies
    page = copied.to_html()
    assert "The table repeats 6 of 120 originals; of 40 subjects outside, none." in page
    assert "Within the limits, but with copies" in page
    assert page.count("A copy exposes the readings") == 1
    assert 'light open">\n    <h2>Singling out' in page
    strict = shoal.judge(BEHIND, unnamed(made), OUTSIDE, at_most=0.06)
    assert "copies" in strict.above
    assert "copies" in strict.undecided
    assert not strict.met
    page = strict.to_html()
    assert "within the limit, but its interval is not: the targets, or a control of 40, are too few to decide" in page
    worse = shoal.judge(BEHIND, unnamed(made), OUTSIDE, at_most=0.04)
    assert "copies" in worse.above
    assert "copies" not in worse.undecided


def test_our_own_release_is_judged_as_attack_and_utility_judge_it(tmp_path):
    table = BEHIND.to_polars()
    candidate = Microaggregation(k=5).anonymize(shoal.read_panel(table))
    publish(candidate, tmp_path / "out", private=tmp_path / "keep")
    found = shoal.judge(table, tmp_path / "out", private=tmp_path / "keep", knows=KNOWS)
    attacked = attack_release(table, {}, tmp_path / "out", tmp_path / "keep", KNOWS)
    assert {name: risk for name, (_, risk) in attacked.items()}.items() <= {
        name: risk for name, (_, risk) in found.risks.items()
    }.items()
    measured = measure_release(table, tmp_path / "out", {}, private=tmp_path / "keep")
    here, there = (
        {f.asked.label: f.score.value for f in one.findings if f.score is not None}
        for one in (found.usefulness, measured)
    )
    assert here == pytest.approx(there)


def test_without_a_control_what_needs_one_is_absent_and_said_to_be():
    found = shoal.judge(BEHIND, BEHIND, knows=KNOWS)
    assert "membership" not in found.risks
    assert "--control TABLE" in " ".join(found.absent)
    assert found.risks["copies"][1].control is None
    assert "Membership is not judged" in found.to_html()


def test_rows_are_matched_by_a_map_or_by_order_where_that_is_said(tmp_path):
    order = np.random.default_rng(2).permutation(120)
    other = unnamed(BEHIND.values[order])
    pairs = {"original": BEHIND.ids[order], "published": other.ids}
    by_map = shoal.judge(BEHIND, other, names=pairs, knows=KNOWS)
    assert (by_map.matched, by_map.risks["known-points"][1].success) == ("map", 1.0)
    by_order = shoal.judge(BEHIND, unnamed(BEHIND.values), match="order", knows=KNOWS)
    assert by_order.risks["known-points"][1] == KnownPoints(5).attack(BEHIND, BEHIND)
    with pytest.raises(ParameterError, match="needs as many published series as originals; there are 40 and 120"):
        shoal.judge(BEHIND, OUTSIDE, match="order")
    with pytest.raises(InputError, match=r"The list of names cannot be read\. Give a CSV"):
        shoal.judge(BEHIND, other, names=tmp_path / "absent.csv")
    with pytest.raises(ParameterError, match="it takes two: original and published name"):
        shoal.judge(BEHIND, other, names={"one": ["a"]})
    with pytest.raises(ParameterError, match="no name in common"):
        shoal.judge(BEHIND, other, match="ids")


def test_tables_of_another_step_are_compared_in_the_coarser_one():
    daily = Panel(BEHIND.values.reshape(120, 14, 12).sum(axis=2), times=BEHIND.times[::12], ids=BEHIND.ids)
    found = shoal.judge(BEHIND, daily, knows=KNOWS)
    assert found.risks["known-totals"][1] == KnownTotals("day").attack(BEHIND, daily)
    assert found.risks["copies"][1].success == 1.0
    coarser = Panel(BEHIND.values.reshape(120, -1, 3).sum(axis=2), times=BEHIND.times[::3], ids=BEHIND.ids)
    relinked = shoal.judge(BEHIND, coarser, knows={"another-period": True}).risks["relink"][1]
    assert relinked.interval.low > 10 * relinked.baseline


def test_tables_of_another_period_are_linked_by_habits_and_compared_by_position_on_demand():
    later = Panel(BEHIND.values, times=BEHIND.times + np.timedelta64(28, "D"), ids=BEHIND.ids)
    found = shoal.judge(BEHIND, later)
    assert list(found.risks) == ["relink"]
    (said,) = [text for text in found.absent if "share no instants" in text]
    assert said.endswith("Not tried: known-points, known-totals, copies, completion.")
    by_position = shoal.judge(BEHIND, later, instants="position", knows=KNOWS)
    assert by_position.risks["copies"][1].success == by_position.risks["known-totals"][1].success == 1.0


def test_tables_of_other_channels_have_nothing_to_compare():
    two = Panel(np.stack([BEHIND.values, BEHIND.values], axis=2), times=BEHIND.times, ids=BEHIND.ids)
    found = shoal.judge(BEHIND, two)
    assert not found.risks
    assert any("needs the same channels on both sides" in text for text in found.absent)
    assert not any("share no instants" in text for text in found.absent)
    assert not shoal.judge(BEHIND, two, at_most=0.5).met


def test_how_to_say_who_is_who_depends_on_what_is_judged(tmp_path):
    publish(Microaggregation(k=5).anonymize(BEHIND), tmp_path / "out", private=tmp_path / "keep")
    table, release = (shoal.judge(BEHIND, one, knows=KNOWS) for one in (unnamed(BEHIND.values), tmp_path / "out"))
    for found, advice, other in ((table, "--match order", "--private"), (release, "--private DIR", "--match")):
        reasons = {f.reason for f in found.usefulness.findings if "compares each series" in f.reason}
        said = [*reasons, *(text for text in found.absent if "Links to single series" in text)]
        assert len(said) == 2
        assert all(advice in text and other not in text for text in said)


def test_membership_is_learned_from_shadow_releases_where_that_is_asked_for(tmp_path):
    method, some_outside = Microaggregation(k=5), {"knows": KNOWS, "measures": ["information-loss"], "shadows": 4}
    candidate = method.anonymize(BEHIND)
    expected = Membership(shadows=4).attack(BEHIND, candidate.published, outside=OUTSIDE, method=method)
    for given in (method, "microaggregation:k=5"):
        found = shoal.judge(BEHIND, candidate.published, OUTSIDE, match="order", method=given, **some_outside)
        assert found.risks["membership"][1] == expected
    publish(candidate, tmp_path / "out", private=tmp_path / "keep")
    released = shoal.judge(BEHIND, tmp_path / "out", OUTSIDE, private=tmp_path / "keep", **some_outside)
    assert released.risks["membership"][1].success == pytest.approx(expected.success)
    with pytest.raises(ParameterError, match="say what made the table, such as method="):
        shoal.judge(BEHIND, candidate.published, OUTSIDE, shadows=4)
    with pytest.raises(ParameterError, match=r"people who are not behind the table\. Give a control"):
        shoal.judge(BEHIND, candidate.published, shadows=4, method=method)
    with pytest.raises(ParameterError, match=r"Shadow releases need the method: .*microaggregation"):
        shoal.judge(BEHIND, candidate.published, OUTSIDE, shadows=4, method="microagregation:k=5")
    with pytest.raises(ParameterError, match="given as NAME:parameter=value"):
        shoal.judge(BEHIND, candidate.published, OUTSIDE, shadows=4, method="microaggregation:k")
    with pytest.raises(ParameterError, match="nobody was kept out of this one"):
        attack_release(BEHIND.to_polars(), {}, tmp_path / "out", tmp_path / "keep", KNOWS, shadows=4)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    for name, panel in (("original", BEHIND), ("outside", OUTSIDE)):
        panel.to_polars().write_csv(place / f"{name}.csv")
    renamed = BEHIND.to_polars().rename({"id": "home", "time": "when", "value": "kwh"})
    renamed.with_columns(pl.col("kwh") * 1.5).write_parquet(place / "made.parquet")
    return place


def test_the_command_reads_tables_with_other_columns_and_holds_a_limit(files, capsys):
    arguments = [
        "judge",
        str(files / "original.csv"),
        str(files / "made.parquet"),
        "--control",
        str(files / "outside.csv"),
    ]
    page = files / "page.html"
    assert run([*arguments, "--knows", "points=5", "--at-most", "0.5", "--json", "--html", str(page)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["matched"] == "ids"
    assert sorted({line.partition(":")[0] for line in found["read"]}) == ["control", "original", "published"]
    assert found["risk"]["known-points"]["success"] == 1.0  # up to the unit
    assert found["risk"]["known-points"]["held"] > 0.5
    assert "Above a limit" in page.read_text()
    assert "home 17" not in page.read_text() + json.dumps(found)
    # Another unit hides copies, and not who is behind the table: the shape tells.
    assert run([*arguments, "--match", "none", "--at-most", "0.5", "--json"]) == 1
    whole = json.loads(capsys.readouterr().out)["risk"]
    assert whole["copies"]["success"] == 0.0
    assert whole["membership"]["excess"][0] > 0.9
    assert run([*arguments, "--match", "none"]) == 0
    told = capsys.readouterr().out
    assert "cannot be shown" in told
    assert "read             published: 2" in told
    assert "NOT MEASURED" in told
    assert "they compare each series with its original. If rows are in the order" in told
    assert "value-loss: it applies to envelopes, but values are published." in told


def test_it_shows_in_a_notebook():
    found = shoal.judge(BEHIND, BEHIND, knows={"points": 5})
    assert "known-points" in found._repr_html_()
    assert repr(found).startswith("Judgement(known-points 1, copies 1")


def test_a_layout_that_one_table_needs_leaves_a_long_one_alone(files, tmp_path):
    long = pl.read_csv(files / "original.csv")
    names = ["id", "time", "value"]
    wide = long.select(names).pivot(on="id", index="time", values="value")
    wide.with_columns(pl.col(wide.columns[1]) * 1000).write_csv(tmp_path / "wide.csv")
    with pytest.raises(InputError, match=r"^The original table has a time column 'time' and"):
        shoal.judge(tmp_path / "wide.csv", files / "original.csv")
    found = shoal.judge(tmp_path / "wide.csv", files / "original.csv", layout="wide")
    assert found.matched == "ids"
    # A wide table keeps its problem.
    wide[1:-2].vstack(wide[-1:]).write_csv(tmp_path / "gap.csv")
    with pytest.raises(InputError, match=r"^The published table: The instants are not evenly spaced"):
        shoal.judge(tmp_path / "wide.csv", tmp_path / "gap.csv", layout="wide")


def test_a_table_that_cannot_be_read_is_named(files):
    (files / "no-table.csv").write_text("a\n1\n2\n")
    with pytest.raises(InputError, match=r"^The published table: None of the 1 columns"):
        shoal.judge(str(files / "original.csv"), str(files / "no-table.csv"))
    with pytest.raises(InputError, match=r"^The control table: No such file"):
        shoal.judge(str(files / "original.csv"), BEHIND, str(files / "absent.csv"))
