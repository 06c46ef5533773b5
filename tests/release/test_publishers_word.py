"""Releases that no recipient can check, judged by attack or true by mechanism: what the gate asks and verify says."""

import dataclasses
import json
from functools import cache

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from forgery import edit_certificate, release
from shoal import (
    DifferentialPrivacy,
    KAnonymity,
    Microaggregation,
    NoGuarantee,
    NoiseAddition,
    NoisyAggregates,
    Panel,
    SamplingWithFictives,
    ScopeAggregation,
    Steps,
    TimeAggregation,
    TimeSlicing,
    load_release,
    publish,
    read_panel,
    verify,
)
from shoal.cli.app import run
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.methods.noisy_aggregates import why_not_drawn
from shoal.model import Interval, Risk, Score
from shoal.release.certificate import digest_file
from shoal.release.private import SECRETS

rng = np.random.default_rng(12)
METERS = Panel(
    rng.gamma(2.0, size=(60, 48)),
    ids=[f"meter-{i}" for i in range(60)],
    times=np.datetime64("2024-01-01T00:00") + np.arange(48) * np.timedelta64(1, "h"),
    attributes={"area": np.repeat(["north", "south"], 30)},
)


@cache
def noisy():
    return NoiseAddition(snr=0.5, seed=987654).anonymize(METERS)


@cache
def private_sums():
    return NoisyAggregates(epsilon=1.0, lower=0.0, upper=9.0).anonymize(METERS)


def risk(high=0.0712345, success=0.02):
    return Risk(success, Interval(0.0, high), 0.01, Interval(0.0, 0.05), n_targets=60, worst=(17, 4))


def measured(**risks):
    return {name.replace("_", "-"): (found, "share of targets found") for name, found in risks.items()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "aims at no guarantee .none: judged by attack only., and no risk was measured. Attack it"),
        ({"risk_limit": 0.09}, "and no risk was measured"),
        ({"risks": measured(points=risk(0.01))}, "1 risk.s. were measured, but no limit was given. Give risk_limit"),
        (
            {"risks": measured(points=risk(0.02), totals=risk(0.41, 0.3)), "risk_limit": 0.09},
            "the attack 'totals' may succeed for up to 0.41 of the targets .* more than the limit of 0.09",
        ),
        (
            {"risks": measured(points=risk(0.2), totals=risk(0.41)), "risk_limit": 0.09},
            r"1 other attack.s. are above it too\. Change the readings more, add a step with a guarantee",
        ),
        ({"risks": measured(points=risk(np.nextafter(0.09, 1))), "risk_limit": 0.09}, "more than the limit of 0.09"),
    ],
)
def test_the_gate_refuses_what_promises_nothing_unless_risks_are_below_a_limit(tmp_path, options, message):
    with pytest.raises(GuaranteeNotMetError, match=message) as refused:
        release(noisy(), tmp_path / "out", **options)
    assert "Nothing was written." in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_publish_refuses_it_as_well(tmp_path):
    with pytest.raises(GuaranteeNotMetError, match="no risk was measured"):
        publish(noisy(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", [0.0, 1.5, float("nan"), "low"])
def test_a_limit_that_is_no_share_is_refused(tmp_path, limit):
    with pytest.raises(ParameterError, match="risk_limit is a share"):
        release(noisy(), tmp_path / "out", risks=measured(points=risk(0.0)), risk_limit=limit)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def out(tmp_path):
    release(noisy(), tmp_path / "out", risks=measured(points=risk(), totals=risk(0.03)), risk_limit=0.09)
    return tmp_path / "out"


def test_below_the_limit_it_is_released_and_the_certificate_says_what_it_rests_on(out):
    (part,) = json.loads((out / "release.json").read_text())["guarantees"]
    assert part["name"] == "none"
    assert part["statement"].startswith("none: judged by attack only")
    assert part["checked_by"] == "publisher"
    assert part["verdict"] == {
        "holds": True,
        "measured": 0.0712,
        "required": 0.09,
        "witness": None,
        "note": "upper end of the interval of 'points'",
    }
    certificate = load_release(out).certificate
    assert certificate["risk"]["points"]["interval"] == {"low": 0.0, "high": 0.0712, "level": 0.95}
    assert "worst" not in certificate["risk"]["points"]
    assert_array_equal(np.sort(load_release(out).values, axis=0), np.sort(noisy().values, axis=0))


def test_a_recipient_is_told_that_there_is_nothing_to_check(out):
    outcome = verify(out)
    assert (outcome.outcome, outcome.holds, outcome.findings) == ("not judged", False, ())
    assert outcome.verdicts == ()
    assert outcome.words == "NOT JUDGED: what attacks achieve, as no guarantee is promised; the files are intact"
    (note,) = outcome.notes
    assert note == (
        "none: judged by attack only. There is nothing to check here: the publisher's attacks succeeded for up to "
        "0.0712 of the targets, with a limit of 0.09; others may achieve more"
    )


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda c: c["guarantees"][0]["verdict"].update(measured=0.01), "has no risk figures to match"),
        (lambda c: c.update(risk={}), "has no risk figures to match"),
        (lambda c: c["risk"]["points"]["interval"].update(high=0.5), "has no risk figures to match"),
        (lambda c: c["risk"].update(more="all is well"), "has no risk figures to match"),
        (lambda c: c["guarantees"][0]["verdict"].update(required=0.05), "has a risk figure above its own limit"),
        (lambda c: c["guarantees"][0]["verdict"].update(holds=False), "itself says that none does not hold"),
        (lambda c: c["guarantees"][0].update(statement="k-anonymous."), "does not state what none"),
        (lambda c: c.update(guarantees=[]), "names no guarantee that can be checked"),
    ],
)
def test_a_certificate_that_contradicts_itself_is_found(out, change, finding):
    edit_certificate(out, change)
    outcome = verify(out)
    assert not outcome.holds
    assert any(finding in found for found in outcome.findings), outcome.findings


def test_rounding_does_not_lift_a_figure_over_the_limit(tmp_path):
    found = 0.08996  # 0.09 in three digits
    with pytest.raises(GuaranteeNotMetError, match=r"none does not hold: measured 0\.09, required 0\.08998"):
        release(noisy(), tmp_path / "out", risks=measured(points=risk(found)), risk_limit=0.08998)
    release(noisy(), tmp_path / "out", risks=measured(points=risk(found)), risk_limit=0.09)
    assert not verify(tmp_path / "out").findings


def test_seeds_stay_with_the_publisher(tmp_path):
    release(noisy(), tmp_path / "out", private=tmp_path / "keep", risks=measured(points=risk()), risk_limit=0.5)
    for path in (tmp_path / "out").iterdir():
        assert b"987654" not in path.read_bytes()
    (kept,) = (tmp_path / "keep").glob("pseudonyms-*.parquet")
    assert json.loads(pq.read_metadata(kept).metadata[SECRETS.encode()])["seed"] == 987654
    assert pl.read_parquet(kept)["id"].to_list() == METERS.ids.tolist()


def test_what_holds_by_itself_is_not_held_against_the_limit(tmp_path):
    candidate = Microaggregation(k=5).anonymize(METERS)
    release(candidate, tmp_path / "out", risks=measured(points=risk(0.4)), risk_limit=0.09)
    assert verify(tmp_path / "out").verdicts[0][0] == "k-anonymity"


class TestRowsThatAreNotSeries:
    def test_slices_have_names_of_their_own_and_the_map_knows_whose_they_are(self, tmp_path):
        candidate = TimeSlicing(length="1d").anonymize(METERS)
        options = {"risks": measured(points=risk()), "risk_limit": 0.5}
        published = release(candidate, tmp_path / "out", private=tmp_path / "keep", **options).published
        assert published.n_series == len(set(published.ids)) == 120
        (kept,) = (pl.read_parquet(p) for p in (tmp_path / "keep").glob("pseudonyms-*.parquet"))
        assert kept["id"].value_counts()["count"].to_list() == [2] * 60
        rows = {name: row for row, name in enumerate(published.ids)}
        places = {str(name): at for at, name in enumerate(METERS.ids)}
        for name, pseudonym in kept.select("id", "pseudonym").iter_rows():
            slices = METERS.values[places[name]].reshape(2, 24)
            assert (published.values[rows[pseudonym]] == slices).all(axis=1).any()
        assert not verify(tmp_path / "out").findings
        with pytest.raises(ParameterError, match="Keyed pseudonyms are for releases with one row for each series"):
            release(candidate, tmp_path / "b", private=tmp_path / "keep", pseudonyms="keyed", **options)

    def test_fictive_series_cannot_be_told_by_name_and_are_in_no_map(self, tmp_path):
        candidate = SamplingWithFictives(share=0.5, fictives=0.25).anonymize(METERS)
        options = {"risks": measured(points=risk()), "risk_limit": 0.5}
        published = release(candidate, tmp_path / "out", private=tmp_path / "keep", **options).published
        (kept,) = (pl.read_parquet(p) for p in (tmp_path / "keep").glob("pseudonyms-*.parquet"))
        named = set(kept["pseudonym"]) - {""}
        assert len(named) == 30
        assert len(set(published.ids) - named) == 10
        assert kept.filter(pl.col("pseudonym") == "")["group"].unique().to_list() == [-1]

    def test_fictive_series_do_not_make_a_crowd(self, tmp_path):
        values = np.repeat([[1.0, 2.0]], 6, axis=0)
        candidate = SamplingWithFictives(share=1.0, fictives=0.5).anonymize(Panel(values[:3]))
        assert KAnonymity(5).check(candidate.published).holds  # three series of people, three of nobody
        claiming = dataclasses.replace(candidate, guarantee=KAnonymity(5))
        with pytest.raises(GuaranteeNotMetError, match="Fictive series would be counted in the crowd of k-anonymity"):
            release(claiming, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("spoil", ["subjects", "length", "unknown"])
    def test_a_candidate_that_does_not_say_whose_its_rows_are_is_refused(self, tmp_path, spoil):
        panel = Panel(METERS.values, subjects=np.repeat(np.arange(30), 2), times=METERS.times)
        candidate = Steps((Microaggregation(k=5), TimeSlicing(length="1d"))).anonymize(panel)
        assert candidate.guarantee == KAnonymity(5)
        rows = candidate.stands_for
        wrong = {"subjects": np.roll(rows, 1), "length": rows[:-1], "unknown": rows + 1}[spoil]
        private = dataclasses.replace(candidate.private, stands_for=wrong)
        with pytest.raises(GuaranteeNotMetError, match="the crowd cannot be counted"):
            release(dataclasses.replace(candidate, private=private), tmp_path / "out")
        release(candidate, tmp_path / "out")
        assert not verify(tmp_path / "out").findings

    def test_a_crowd_of_those_who_were_drawn_is_released(self, tmp_path):
        candidate = Steps((SamplingWithFictives(share=0.5, fictives=0.0), Microaggregation(k=5))).anonymize(METERS)
        certificate = publish(candidate, tmp_path / "out", private=tmp_path / "keep").certificate
        assert (certificate["counts"]["series"], certificate["guarantees"][0]["name"]) == (30, "k-anonymity")
        assert verify(tmp_path / "out").verdicts[0][1].holds
        (kept,) = (pl.read_parquet(p) for p in (tmp_path / "keep").glob("pseudonyms-*.parquet"))
        assert (kept["pseudonym"] == "").sum() == 30

    def test_a_coarser_clock_is_released_and_measured_at_the_first_instants(self, tmp_path):
        candidate = Steps((TimeAggregation(step="6h"), Microaggregation(k=5))).anonymize(METERS)
        certificate = publish(candidate, tmp_path / "out").certificate
        assert certificate["counts"]["instants"] == 8
        assert 0.0 < certificate["utility"]["information-loss"]["value"] <= 1.5
        assert verify(tmp_path / "out").holds


class TestScopes:
    def test_withheld_series_are_not_counted_and_anyone_can_check_the_size(self, tmp_path):
        panel = Panel(METERS.values, times=METERS.times, attributes={"area": np.repeat(["a", "b", "c"], [30, 26, 4])})
        candidate = ScopeAggregation(within="area", otherwise="withhold", figure="total").anonymize(panel)
        certificate = publish(candidate, tmp_path / "out", private=tmp_path / "keep").certificate
        assert (certificate["counts"]["series"], certificate["counts"]["subjects"]) == (56, 56)
        outcome = verify(tmp_path / "out")
        assert [(name, verdict.holds) for name, verdict in outcome.verdicts] == [("k-anonymity", True)]
        assert (outcome.outcome, outcome.words) == ("not judged", "NOT JUDGED: aggregate-rule; the rest holds")
        (kept,) = (pl.read_parquet(p) for p in (tmp_path / "keep").glob("pseudonyms-*.parquet"))
        assert kept["pseudonym"].to_list()[-4:] == [""] * 4
        assert pl.read_parquet(tmp_path / "out" / "data.parquet").columns == ["group", "count", "time", "mean", "total"]

    def test_groups_of_those_who_were_drawn_are_released(self, tmp_path):
        candidate = Steps((SamplingWithFictives(share=0.8, fictives=0.0), ScopeAggregation(size=20))).anonymize(METERS)
        assert len(candidate.stands_for) == len(candidate.curves) == 60
        certificate = publish(candidate, tmp_path / "out").certificate
        assert certificate["counts"]["subjects"] == sum(candidate.published.counts) == 48
        assert [part["name"] for part in certificate["guarantees"]] == ["aggregate-rule", "k-anonymity"]
        assert not verify(tmp_path / "out").findings

    def test_a_count_that_is_too_high_does_not_pass(self, tmp_path):
        candidate = ScopeAggregation(within="area").anonymize(METERS)
        lying = dataclasses.replace(candidate.published, counts=candidate.published.counts + 1)
        with pytest.raises(GuaranteeNotMetError, match="Profile 0 does not count the subjects of its group"):
            publish(dataclasses.replace(candidate, published=lying), tmp_path / "out")

    def test_a_dominant_member_does_not_pass(self, tmp_path):
        values = METERS.values.copy()
        values[3] *= 1000.0
        candidate = ScopeAggregation(within="area").anonymize(METERS)
        spoiled = Panel(values, times=METERS.times, attributes=METERS.attributes)
        private = dataclasses.replace(candidate.private, original=spoiled)
        with pytest.raises(GuaranteeNotMetError, match=r"aggregate-rule not judged: .*not the means"):
            publish(dataclasses.replace(candidate, private=private), tmp_path / "out")


class TestDifferentialPrivacy:
    def test_the_certificate_carries_the_accounting_and_no_exact_figure(self, tmp_path):
        scores = {"information-loss": (Score(0.5, "lower", (0.0, 1.0)), "loss")}
        certificate = release(
            private_sums(), tmp_path / "out", scores=scores, risks=measured(points=risk(0.9)), figures={"mean": 1.2345}
        ).certificate
        assert certificate["utility"] == certificate["risk"] == certificate["figures"] == {}
        assert certificate["input"]["panel_sha256"] is None
        assert certificate["input"]["sha256"] == []
        (part,) = certificate["guarantees"]
        (spent,) = part["parameters"]["accounting"]
        assert (spent["lower"], spent["upper"], spent["epsilon"], spent["fresh"]) == (0.0, 9.0, 1.0, True)
        assert part["verdict"]["measured"] == 1.0
        outcome = verify(tmp_path / "out")
        assert (outcome.words, outcome.holds) == ("NOT JUDGED: differential-privacy; the files are intact", False)
        assert outcome.notes == (
            "differential-privacy: true by the mechanism the publisher ran, which values cannot show; its accounting "
            "spends 1 of 1",
        )

    def test_it_is_published_with_a_report(self, tmp_path):
        publish(private_sums(), tmp_path / "out")
        assert "odds of every published result" in (tmp_path / "out" / "report.html").read_text()
        assert not verify(tmp_path / "out").findings

    def test_noisy_counts_pass_although_they_are_not_the_true_ones(self, tmp_path):
        method = NoisyAggregates(epsilon=0.2, lower=0.0, upper=9.0, within="area", entries="north,south")
        candidate = method.anonymize(METERS)
        publish(candidate, tmp_path / "out")
        assert load_release(tmp_path / "out").published.counts.sum() == 60
        assert not verify(tmp_path / "out").findings

    def test_no_further_guarantee_stands_beside_noise(self, tmp_path):
        # Else counts would leave only when the noise happened to be nought.
        method = NoisyAggregates(epsilon=1.0, lower=0.0, upper=9.0, within="area", entries="north,south")
        candidate = method.anonymize(METERS)
        for further in (KAnonymity(5), DifferentialPrivacy(1.0)):
            with pytest.raises(
                ParameterError, match=f"{further.name} cannot be required together with differential privacy"
            ):
                publish(candidate, tmp_path / "out", require=[further])
        assert list(tmp_path.iterdir()) == []

    def test_neither_certificate_nor_report_counts_the_input(self, tmp_path):
        values = METERS.values.copy()
        values[7, 20:22] = np.nan
        panel = read_panel(values, missing="interpolate:2")
        assert panel.origin.reading["interpolated"] == 2
        candidate = NoisyAggregates(epsilon=1.0, lower=0.0, upper=9.0).anonymize(panel)
        certificate = publish(candidate, tmp_path / "out").certificate
        settings = {"missing": "interpolate:2", "align": "exact", "duplicates": "fail", "timezone": None, "sql": False}
        assert certificate["input"] == {
            "kind": "array",
            "sha256": [],
            "rows": None,
            "reading": settings,
            "panel_sha256": None,
        }
        page = (tmp_path / "out" / "report.html").read_text()
        assert "interpolated inside" not in page
        assert "reading is missing" not in page
        plain = publish(Microaggregation(k=5).anonymize(panel), tmp_path / "plain").certificate["input"]
        assert (plain["rows"], plain["reading"]["interpolated"]) == (60, 2)

    def test_a_seeded_one_does_not_pass(self, tmp_path):
        method = NoisyAggregates(epsilon=1.0, lower=0.0, upper=9.0, insecure_seed=1)
        with pytest.raises(GuaranteeNotMetError, match="noise from a fixed seed can be drawn again"):
            publish(method.anonymize(METERS), tmp_path / "out")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "change",
        [
            lambda p: p["accounting"][0].update(epsilon=1.5),
            lambda p: p["accounting"][0].update(scale=1.0),
            lambda p: p["accounting"].append(dict(p["accounting"][0])),
            lambda p: p["accounting"].clear(),
        ],
    )
    def test_an_accounting_that_does_not_add_up_is_found_by_a_recipient(self, tmp_path, change):
        release(private_sums(), tmp_path / "out")
        edit_certificate(tmp_path / "out", lambda c: change(c["guarantees"][0]["parameters"]))
        assert any("does not add up" in finding for finding in verify(tmp_path / "out").findings)

    def test_no_script_takes_it_for_verified(self, tmp_path, capsys):
        release(private_sums(), tmp_path / "out")
        assert run(["verify", str(tmp_path / "out")]) == 1
        assert "NOT JUDGED: differential-privacy; the files are intact" in capsys.readouterr().out
        assert run(["verify", str(tmp_path / "out"), "--accept-unjudged", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["outcome"], said["holds"], said["not_judged"]) == ("not judged", False, ["differential-privacy"])
        edit_certificate(tmp_path / "out", lambda c: c["guarantees"][0]["parameters"]["accounting"].clear())
        assert run(["verify", str(tmp_path / "out"), "--accept-unjudged"]) == 1

    def test_a_certificate_over_means_without_noise_is_found(self, tmp_path):
        release(private_sums(), tmp_path / "out")
        path = tmp_path / "out" / "data.parquet"
        table = pq.read_table(path)
        means = METERS.values.mean(axis=0)
        pq.write_table(table.set_column(3, "mean", [means]), path, compression="zstd")
        edit_certificate(tmp_path / "out", lambda c: c["files"].update({path.name: digest_file(path).model_dump()}))
        (finding,) = verify(tmp_path / "out").findings
        assert finding == (
            "the data is not what the mechanism of differential-privacy gives: 48 of 48 means are not a whole number "
            "of steps between the bounds"
        )

    @pytest.mark.parametrize(
        "change",
        [
            lambda spent: spent.update(sensitivity=1, scale=1.0),
            lambda spent: spent.update(lower=None),
            lambda spent: spent.update(lower=9.0),
        ],
    )
    def test_an_accounting_that_the_mechanism_does_not_give_is_found(self, tmp_path, change):
        release(private_sums(), tmp_path / "out")
        edit_certificate(tmp_path / "out", lambda c: change(c["guarantees"][0]["parameters"]["accounting"][0]))
        assert any("the accounting is not that of one query" in found for found in verify(tmp_path / "out").findings)

    @given(
        lower=st.floats(-1e6, 1e6),
        width=st.floats(1e-3, 1e6),
        n_subjects=st.integers(2, 40),
        within=st.booleans(),
        figure=st.sampled_from(["mean", "total"]),
    )
    @settings(max_examples=30, deadline=None)
    def test_what_the_mechanism_draws_is_never_taken_for_a_forgery(self, lower, width, n_subjects, within, figure):
        areas = np.where(np.arange(n_subjects) % 2 == 0, "north", "south")
        panel = Panel(np.full((n_subjects, 3), lower + width / 3), attributes={"area": areas})
        grouped = {"within": "area", "entries": "north"} if within else {}
        method = NoisyAggregates(epsilon=1.0, lower=lower, upper=lower + width, figure=figure, **grouped)
        candidate = method.anonymize(panel)
        assert why_not_drawn(candidate.published, candidate.guarantee) is None


def test_the_report_says_what_is_not_promised(tmp_path):
    publish(noisy(), tmp_path / "out", risks=measured(points=risk()), risk_limit=0.09)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "No guarantee is given: this release is judged by attacks alone." in page
    assert "That anything is promised" in page


def test_no_guarantee_can_be_asked_for_beside_a_guarantee(tmp_path):
    candidate = Microaggregation(k=5).anonymize(METERS)
    with pytest.raises(GuaranteeNotMetError, match=r"may succeed for up to 0\.4"):
        release(candidate, tmp_path / "out", require=[NoGuarantee()], risks=measured(points=risk(0.4)), risk_limit=0.09)
