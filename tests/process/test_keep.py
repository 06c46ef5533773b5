"""From what a release shall keep to its method, its scores and what the publisher is told."""

import json

import numpy as np
import pytest

from shoal import KP, Microaggregation, Panel, simulate
from shoal.errors import ParameterError
from shoal.features import keep
from shoal.methods import NoiseAddition, Steps
from shoal.process.anonymization import anonymize_source
from shoal.process.keep import KeptFigure, apply_keep, compare_with_raw, measures_of
from shoal.process.policy import parse_policy
from shoal.process.policy_run import run_policy
from shoal.process.simulation import simulate_table
from shoal.utility import InformationLoss, InterestLoss, PeakHeightError, PeakTimeError


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    panel, path = simulate.meters(60, days=1, seed=2), tmp_path_factory.mktemp("keep") / "meters.csv"
    rows = [
        f"{i},{t},{v}"
        for i, row in zip(panel.ids, panel.values, strict=True)
        for t, v in zip(panel.times, row, strict=True)
    ]
    path.write_text("\n".join(["id,time,value", *rows]) + "\n")
    return path


def test_a_release_has_the_scores_of_what_it_keeps_and_its_publisher_the_comparison(table, tmp_path):
    release = anonymize_source(
        str(table), Microaggregation(k=3), tmp_path / "out", {}, keep=["peaks", "window:17:00-20:00=2"]
    )
    certificate = json.loads((tmp_path / "out" / "release.json").read_text())
    labels = ["peak-height-error", "peak-time-error", "interest-loss:interest=window:17:00-20:00"]
    assert certificate["method"]["parameters"]["features"] == "keep:peaks,window:17:00-20:00=2"
    assert set(labels) <= set(certificate["utility"]) | set(release.measured.get("utility", {}))
    figures = {figure["label"]: figure for figure in release.measured["kept"]}
    assert list(figures) == [*labels, "information-loss"]
    assert figures[labels[1]]["kept"] < figures[labels[1]]["raw"]
    assert figures["information-loss"]["kept"] > figures["information-loss"]["raw"]
    assert "kept" not in certificate


def test_a_certificate_names_the_measures_of_what_was_to_be_kept(tmp_path):
    simulate_table("meters", tmp_path / "many.parquet", {"n": 150, "days": 1})
    anonymize_source(str(tmp_path / "many.parquet"), Microaggregation(k=3), tmp_path / "out", {}, keep="total")
    certificate = json.loads((tmp_path / "out" / "release.json").read_text())
    assert certificate["figures"]["process"] == {"kept": ["interest-loss:interest=total"]}
    assert certificate["utility"]["interest-loss:interest=total"]["unit"] == "data"
    assert (
        "Typical error of a series&#39; total over the whole period" in (tmp_path / "out" / "report.html").read_text()
    )


def test_the_comparison_is_with_the_same_method_on_raw_values():
    panel = simulate.meters(40, days=1, seed=3)
    method = apply_keep(Microaggregation(k=4), "total")
    candidate, raw = method.anonymize(panel), Microaggregation(k=4).anonymize(panel)
    kept, cost = compare_with_raw(method, candidate, panel)
    loss = InterestLoss("total")
    assert (kept.kept, kept.raw) == (candidate.measure(loss).value, raw.measure(loss).value)
    assert (cost.label, cost.raw) == ("information-loss", raw.measure(InformationLoss()).value)
    assert kept.sentence.endswith(f"{100 * (1 - kept.kept / kept.raw):.0f} % better")
    assert compare_with_raw(Microaggregation(k=4), raw, panel) == ()


def test_a_comparison_names_hours_and_a_small_change():
    figure = KeptFigure("peak-time-error", 5.0, 5.02, "hours")
    assert figure.sentence == (
        "peak-time-error 5 hours, with groups formed on raw values 5.02 hours: less than 1 % better"
    )


def test_a_policy_keeps_in_every_point_it_tries(table, tmp_path):
    policy = parse_policy(
        "keep: [total, {window: 17:00-20:00, weight: 2}]\n"
        f"data: {{path: {table}}}\n"
        "require: {risk: {at_most: 1.0}}\n"
        "method: {name: microaggregation, k: {search: [3, 6]}}\n"
    )
    outcome = run_policy(policy, base=tmp_path)
    method = outcome.release.certificate["method"]
    assert method["parameters"]["features"] == "keep:total,window:17:00-20:00=2"
    assert outcome.process["kept"] == ["interest-loss:interest=total", "interest-loss:interest=window:17:00-20:00"]
    assert [figure["label"] for figure in outcome.release.measured["kept"]] == [
        "interest-loss:interest=total",
        "interest-loss:interest=window:17:00-20:00",
        "information-loss",
    ]


def test_peaks_of_numbered_instants_are_those_of_one_day():
    found = measures_of(keep("peaks"), Panel(np.eye(4)))
    assert list(found.values()) == [PeakHeightError(per_day=4), PeakTimeError(per_day=4)]


def test_of_several_steps_the_one_that_groups_keeps():
    method = apply_keep(Steps((Microaggregation(k=2), NoiseAddition(snr=50.0))), "total")
    assert method.steps[0].features == "keep:total"


def test_methods_that_do_not_group_by_features_keep_nothing():
    with pytest.raises(ParameterError, match="kp does not"):
        apply_keep(KP(k=4, p=2), "peaks")
    with pytest.raises(ParameterError, match="keep and features both define"):
        apply_keep(Microaggregation(k=4, features="haar"), "peaks")
    assert apply_keep(KP(k=4, p=2), None) == KP(k=4, p=2)
