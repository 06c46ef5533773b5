"""Neither digests nor figures in a certificate let anybody find the originals by trying."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_examples import repeated_candidate, small_candidate
from shoal import NLK, Microaggregation, Panel, load_release, publish, read_panel
from shoal.methods import NoiseAddition, Steps, Transformation
from shoal.process.comparison import compare
from shoal.release import openness
from shoal.release.certification import keyed_digest
from shoal.release.openness import BITS_OF_A_FIGURE, ENOUGH_BITS, count_figures, most_open, open_bits
from shoal.release.private import read_input_key

HOUSES = [3.0, 4.0, 8.0, 20.0, 21.0, 25.0]


def possible(group, highest=30):
    """Every group of as many whole readings with the same mean."""
    n, total = len(group), sum(group)
    return [found for found in itertools.product(range(highest), repeat=n) if sum(found) == total]


@pytest.fixture(scope="module")
def constant_houses():
    """Six houses with constant whole readings over 48 hours, and everything that leads to the same release."""
    tries = itertools.product(possible(HOUSES[:3]), possible(HOUSES[3:]))
    return [np.repeat(np.array([*one, *other], dtype=float)[:, None], 48, axis=1) for one, other in tries]


class TestDigests:
    def test_constant_houses_cannot_be_found_by_trying(self, tmp_path, constant_houses):
        panel = Panel(np.repeat(np.array(HOUSES)[:, None], 48, axis=1))
        for options in ({}, {"private": tmp_path / "private"}):
            to = tmp_path / f"out-{len(options)}"
            publish(Microaggregation(k=3).anonymize(panel), to, **options)
            told = json.loads((to / "release.json").read_text())["input"]["panel_sha256"]
            tried = {Panel(values).digest() for values in constant_houses}
            assert panel.digest() in tried  # the truth is among them, and they do not tell it
            assert len(tried) > 10_000
            assert told not in tried
        assert told is not None

    def test_without_a_private_folder_there_are_none(self, tmp_path, rng):
        (tmp_path / "t.csv").write_text("id,time,value\n" + "".join(f"m{i},0,{rng.random()}\n" for i in range(400)))
        release = publish(Microaggregation(k=5).anonymize(read_panel(tmp_path / "t.csv")), tmp_path / "out")
        assert (release.certificate["input"]["sha256"], release.certificate["input"]["panel_sha256"]) == ([], None)

    def test_the_publisher_can_tell_the_input_by_the_key_that_is_kept(self, tmp_path):
        text = "id,time,value\n" + "".join(f"m{i},0,{v}\n" for i, v in enumerate(HOUSES))
        (tmp_path / "t.csv").write_text(text)
        (tmp_path / "other.csv").write_text(text.replace("25.0", "24.0"))
        panel = read_panel(tmp_path / "t.csv")
        publish(Microaggregation(k=3).anonymize(panel), tmp_path / "out", private=tmp_path / "private")
        release = load_release(tmp_path / "out")
        (kept,) = (tmp_path / "private").glob("pseudonyms-*.parquet")
        key = read_input_key(kept)
        assert release.certificate["input"]["panel_sha256"] == keyed_digest(key, panel.digest())
        assert release.certificate["input"]["sha256"] == [keyed_digest(key, digest) for digest in panel.origin.sha256]
        assert compare(tmp_path / "t.csv", {}, release, tmp_path / "private").notes == ()
        (note,) = compare(tmp_path / "other.csv", {}, release, tmp_path / "private").notes
        assert "is not the one the release was made from" in note

    def test_each_release_has_a_key_of_its_own_and_a_seeded_one_always_the_same(self, tmp_path):
        candidate = Microaggregation(k=3).anonymize(Panel(np.array(HOUSES)[:, None]))
        told = [
            publish(candidate, tmp_path / name, private=tmp_path / "private", insecure_seed=seed).certificate["input"]
            for name, seed in (("a", None), ("b", None), ("c", 1), ("d", 1))
        ]
        assert told[0] != told[1]
        assert told[2] == told[3]

    def test_of_shards_they_have_a_key_too(self, tmp_path):
        candidate = small_candidate()
        with_key = publish(candidate, tmp_path / "a", private=tmp_path / "private")
        without = publish(candidate, tmp_path / "b")
        (kept,) = (tmp_path / "private").glob("pseudonyms-*.parquet")
        assert len(read_input_key(kept)) == 32
        assert without.certificate["input"]["sha256"] == []
        assert with_key.path.is_dir()


class TestFigures:
    def test_of_six_houses_at_one_instant_the_certificate_is_the_same_for_all_possibilities(self, tmp_path):
        tries = [[*one, *other] for one in possible(HOUSES[:3], 16)[::7] for other in possible(HOUSES[3:])[::40]]
        tries = [t for t in tries if max(t[:3]) < min(t[3:])][:20]
        assert len(tries) == 20
        told = set()
        for number, houses in enumerate([HOUSES, *tries]):
            candidate = Microaggregation(k=3).anonymize(Panel(np.array(houses, dtype=float)[:, None]))
            publish(candidate, tmp_path / str(number), insecure_seed=1)
            told.add((tmp_path / str(number) / "release.json").read_bytes())
        assert len(told) == 1
        certificate = json.loads(told.pop())
        assert (certificate["utility"], certificate["risk"]) == ({}, {})
        assert "left out" in certificate["figures"]["left_out"]

    def test_the_publisher_still_has_them_and_the_report_says_why_they_are_absent(self, tmp_path):
        release = publish(Microaggregation(k=3).anonymize(Panel(np.array(HOUSES)[:, None])), tmp_path / "out")
        assert release.measured["utility"]["information-loss"]["value"] > 0
        assert "find readings by trying" in (tmp_path / "out" / "report.html").read_text()

    def test_a_large_panel_has_its_figures_until_there_are_too_many(self, tmp_path, rng):
        candidate = Microaggregation(k=5).anonymize(Panel(rng.gamma(2.0, size=(100, 24)).round(3)))
        certificate = publish(candidate, tmp_path / "few").certificate
        assert set(certificate["utility"]) == {"information-loss", "normalized-divergence"}
        assert "left_out" not in certificate["figures"]
        score = next(iter(certificate["utility"].values()))
        n_too_many = int(open_bits(candidate)) // BITS_OF_A_FIGURE
        from shoal.model import Score

        many = {f"m{i}": (Score(score["value"], "lower", (0.0, 1.0)), "a figure") for i in range(n_too_many)}
        told = publish(candidate, tmp_path / "many", scores=many).certificate
        assert 0 < len(told["utility"]) < n_too_many
        assert len(told["utility"]) * BITS_OF_A_FIGURE + ENOUGH_BITS <= open_bits(candidate)
        assert told["figures"]["left_out"] == openness.FEWER

    def test_of_a_release_without_a_guarantee_they_are_all_there_is_to_judge_it_by(self, tmp_path, rng):
        from shoal.attacks import KnownPoints

        panel = Panel(rng.random((6, 4)))
        candidate = NoiseAddition(snr=3, seed=1).anonymize(panel)
        risk = KnownPoints(1).attack(panel, candidate.published)
        risks = {"known-points": (risk, "m")}
        certificate = publish(candidate, tmp_path / "out", risks=risks, risk_limit=1.0).certificate
        assert certificate["risk"]
        assert certificate["utility"]

    def test_of_shards_the_same_rule_decides(self, tmp_path):
        release = publish(repeated_candidate(), tmp_path / "out")
        assert release.certificate["utility"] == {}
        assert "left out" in release.certificate["figures"]["left_out"]
        assert release.measured["utility"]


class TestBits:
    """What is counted as open is never more than there is."""

    @given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=5), min_size=1, max_size=3))
    def test_they_are_at_most_all_groups_with_these_means(self, groups):
        ways = [len({tuple(sorted(p)) for p in possible(g, 7)}) for g in groups]
        assert bits_of(groups) <= np.log2(np.prod(ways)) + 1e-9

    @given(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    def test_or_with_these_means_of_thirds(self, group):
        def thirds(values):
            ordered, m = sorted(values), len(values)
            return [sum(ordered[third * m // 3 : (third + 1) * m // 3]) for third in range(3)]

        ways = {tuple(sorted(p)) for p in possible(group, 7) if thirds(p) == thirds(group)}
        assert bits_of([group], thirds=True) <= np.log2(len(ways)) + 1e-9

    @given(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    def test_or_with_these_ends(self, group):
        ends = min(group), max(group)
        ways = {tuple(sorted(p)) for p in itertools.product(range(7), repeat=len(group)) if (min(p), max(p)) == ends}
        assert bits_of([group], ends_are_told=True) <= np.log2(len(ways)) + 1e-9

    @pytest.mark.parametrize("method", [Microaggregation(k=3), NLK(n=1, l=2, k=3)])
    def test_instants_do_not_add_up(self, method, rng):
        one = rng.gamma(2.0, size=(30, 1)).round(1)
        constant, short = (method.anonymize(Panel(np.repeat(one, n, axis=1))) for n in (48, 2))
        assert open_bits(constant) == pytest.approx(open_bits(short))
        assert open_bits(constant) > 0

    def test_series_of_a_subject_do_not_add_up(self, rng):
        """As rows or as instants, the days of six houses are the same readings."""
        days = rng.permutation(30).astype(float) + np.array(HOUSES)[:, None]
        as_rows = Microaggregation(k=3).anonymize(Panel(days.reshape(-1, 1), subjects=np.repeat(np.arange(6), 30)))
        assert open_bits(as_rows) <= 3 * 10  # three pairs of houses
        assert openness.affordable(lambda: open_bits(as_rows), as_rows.guarantees) < 0

    @given(st.lists(st.integers(0, 6), min_size=2, max_size=5), st.integers(2, 4), st.booleans())
    def test_or_where_only_some_readings_are_of_different_subjects(self, group, n_subjects, ends_are_told):
        """The first reading of each subject may differ; the others are known."""
        subjects = np.arange(len(group)) % n_subjects
        first = np.flatnonzero(np.arange(len(group)) < n_subjects)
        ways = set()
        for p in itertools.product(range(7), repeat=len(group)):
            known = all(p[i] == group[i] for i in range(len(group)) if i not in first)
            same = (min(p), max(p)) == (min(group), max(group)) if ends_are_told else sum(p) == sum(group)
            if known and same:
                ways.add(p)
        bits = most_open(
            np.array(group, dtype=float)[:, None],
            np.ones((len(group), 1)),
            np.zeros(len(group), dtype=np.int64),
            subjects=subjects,
            ends_are_told=ends_are_told,
        )
        assert bits <= np.log2(len(ways)) + 1e-9

    def test_many_cells_of_few_values_leave_little_open(self, rng):
        occupied = np.repeat(rng.integers(0, 2, size=(30, 200)), 2, axis=0).astype(float)
        assert open_bits(Microaggregation(k=2).anonymize(Panel(occupied))) < ENOUGH_BITS

    def test_gaps_count_for_nothing(self):
        gap = np.full((300, 4), np.nan)
        assert most_open(gap, gap, np.zeros(300, dtype=np.int64)) == 0.0

    def test_every_number_counts_that_does_not_follow_from_others(self):
        counted = {"a": 1, "b": [0.5, True, "x", None], "c": {"d": (2.0,)}, "interval": {"low": 0.1, "high": 0.2}}
        assert count_figures(counted) == 3


def bits_of(groups, **told):
    before = np.array([v for group in groups for v in group], dtype=float)[:, None]
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return most_open(before, np.ones_like(before), labels, **told)


def test_of_a_small_release_what_was_tried_goes_first_then_the_last_scores_then_everything():
    scores = {name: {"value": 0.5} for name in ("first", "second", "third")}
    risks = {"linkage": {"success": 0.1, "interval": {"low": 0.0, "high": 0.2}, "baseline": 0.01}}
    figures = {"process": {"points": [{"risk": 0.1}] * 4, "limits": {}}, "channels": []}

    def told(most):
        some, known, shown = openness.tell_what_may_be_told(most, scores, risks, figures)
        return list(some), list(known), list(shown.get("process", {})), shown.get("left_out")

    everything = ["first", "second", "third"]
    assert told(9) == (everything, ["linkage"], ["points", "limits"], None)
    assert told(8) == (everything, ["linkage"], ["limits"], None)
    assert told(5) == (everything, ["linkage"], ["limits"], None)
    assert told(4) == (["first", "second"], ["linkage"], ["limits"], openness.FEWER)
    assert told(3) == (["first"], ["linkage"], ["limits"], openness.FEWER)
    for most in (2, 0, -7):
        assert told(most) == ([], [], [], openness.LEFT_OUT)


@pytest.mark.parametrize(
    "method",
    [
        Microaggregation(k=3, bound=True),
        Microaggregation(k=6, aggregate="median"),
        NLK(n=1, l=2, k=3),
        NLK(n=1, l=2, k=6, representative="median"),
        Steps((Transformation(kind="coarsen", resolution=0.001), Microaggregation(k=6, aggregate="median"))),
    ],
    ids=lambda method: method.name,
)
def test_figures_of_a_method_that_follow_from_readings_are_counted_and_left_out_of_small_releases(
    tmp_path, rng, method
):
    def told(n):
        candidate = method.anonymize(Panel(rng.gamma(2.0, size=(n, 8)).round(3)))
        return candidate.recipe.figures, publish(candidate, tmp_path / str(n)).certificate["method"]["figures"]

    (made, small), (_, large) = told(12), told(600)
    assert small == openness.counts_alone(made) != made
    assert openness.counts_alone(large) != large


def test_counts_of_a_method_stay_whatever_their_names():
    figures = {"steps": 24, "loss_above_bound": 0.1, "cells_alone": 3}
    assert openness.counts_alone(figures) == {"steps": 24, "cells_alone": 3}
    several = {"steps": [figures, {"steps": 2}], "not_claimed": []}
    assert openness.counts_alone(several) == {
        "steps": [{"steps": 24, "cells_alone": 3}, {"steps": 2}],
        "not_claimed": [],
    }


def test_categories_give_way_after_the_last_scores_and_before_the_first():
    scores = {name: {"value": 0.5} for name in "abcdefgh"}
    figures = {"categories": {"column": "tariff", "rows": [{"series": 10, "scores": {"a": {"value": 0.5}}}] * 2}}

    def told(most):
        some, _, shown = openness.tell_what_may_be_told(most, scores, {}, figures)
        return len(some), "categories" in shown, shown.get("left_out")

    assert told(12) == (8, True, None)
    assert told(11) == (7, True, openness.FEWER)
    assert told(8) == (4, True, openness.FEWER)
    assert told(7) == (7, False, openness.FEWER)
    assert told(0) == (0, False, openness.LEFT_OUT)


def test_an_instant_of_fine_readings_does_not_stand_for_the_others(rng):
    coarse = rng.integers(0, 3, (100, 1)).astype(float)
    fine = rng.random((100, 1)).round(12) / 1000.0
    groups = np.argsort(np.argsort(coarse[:, 0], kind="stable")) // 3
    alone, beside, wide = (
        most_open(x, np.zeros_like(x), groups)
        for x in (coarse, np.hstack([coarse, fine]), np.hstack([coarse, fine * 1e3]))
    )
    assert beside <= alone + 1
    assert wide > alone + 100
