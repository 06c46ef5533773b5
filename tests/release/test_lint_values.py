"""Findings of the lint about values, instants, gaps and groups."""

import dataclasses

import numpy as np
import pytest

from lint_examples import JUDGED, as_measured, meters, refused, release
from shoal import Microaggregation, Panel, SamplingWithFictives, TimeSlicing, Transformation
from shoal.errors import GuaranteeNotMetError
from shoal.guarantees import KAnonymity, NoGuarantee
from shoal.model import Candidate, Private, Recipe
from shoal.release import values
from small_release import K, small_panel


class TestPrecision:
    def test_a_logger_with_decimals_of_its_own(self, tmp_path):
        panel = meters()
        odd = panel.values.copy()
        odd[7] = odd[7].round(1) + 0.00001
        message = refused(
            as_measured(Panel(odd, times=panel.times)), tmp_path, "decimal-precision: 1 published series", **JUDGED
        )
        assert "fewer than 2 subjects" in message

    def test_the_same_decimals_in_groups_pass(self, tmp_path):
        odd = meters().values.copy()
        odd[7] = odd[7].round(1) + 0.00001
        release(Microaggregation(k=2).anonymize(small_panel(values=odd, ids=None)), tmp_path / "out")
        odd[8] = odd[8].round(1) + 0.00001
        release(as_measured(Panel(odd)), tmp_path / "two", **JUDGED)

    def test_decimals_that_the_method_made_pass(self, tmp_path):
        panel = meters()
        values = panel.values.copy()
        values[7] = values[7].round(0)
        candidate = dataclasses.replace(as_measured(panel), published=Panel(values, times=panel.times))
        release(candidate, tmp_path / "out", **JUDGED)

    @pytest.mark.parametrize(
        "method",
        [
            SamplingWithFictives(share=1.0, fictives=0.2),
            TimeSlicing(length="1d"),
            Transformation(kind="coarsen", resolution=0.01),
            Transformation(kind="smooth", window=3),
        ],
        ids=["sampling", "slices", "coarsen", "smooth"],
    )
    def test_an_empty_flat_among_loggers_with_decimals_passes(self, tmp_path, method):
        values = np.random.default_rng(4).gamma(2.0, size=(20, 48)).round(3)
        values[7] = 0.0
        times = np.datetime64("2024-01-01T00:00") + np.arange(48) * np.timedelta64(1, "h")
        release(method.anonymize(Panel(values, times=times)), tmp_path / "out", **JUDGED)

    def test_a_coarse_logger_among_fine_ones_is_found_and_the_advice_helps(self, tmp_path):
        values = np.random.default_rng(4).gamma(2.0, size=(20, 48)).round(3)
        values[7] = (values[7] * 5).round()
        message = refused(as_measured(Panel(values)), tmp_path, "decimal-precision: 1 published series", **JUDGED)
        assert "as few decimals as the coarsest logger writes" in message
        release(as_measured(Panel(values.round())), tmp_path / "out", **JUDGED)


class TestPhase:
    def at(self, first, step, n=6, **changes):
        times = np.datetime64(first) + np.arange(n) * np.timedelta64(*step)
        return Microaggregation(k=K).anonymize(small_panel(times=times, **changes))

    @pytest.mark.parametrize(
        ("first", "step", "odd"),
        [
            ("2024-01-01T00:00:07", (15, "m"), 6),
            ("2024-01-01T00:07", (15, "m"), 6),
            ("2024-01-01T00:30", (1, "h"), 6),
            ("2024-01-01T06:00:01", (1, "D"), 6),
            ("2024-01-01T00:00:00.5", (1, "s"), 6),
        ],
    )
    def test_odd_seconds(self, tmp_path, first, step, odd):
        refused(self.at(first, step), tmp_path, f"timestamp-phase: {odd} of 6 instants, the first at position 0")

    @pytest.mark.parametrize(
        ("first", "step", "zone"),
        [
            ("2024-01-01T06:00", (1, "D"), None),
            ("2024-01-01T00:15", (15, "m"), None),
            ("2024-01-01T00:30", (1, "h"), "Asia/Kolkata"),
            ("2024-01-01T00:01", (7, "m"), None),
            ("2024-01-01T00:00:30", (10, "s"), None),
        ],
    )
    def test_steps_from_midnight_pass(self, tmp_path, first, step, zone):
        release(self.at(first, step, timezone=zone), tmp_path / "out")

    def test_one_instant_beside_the_others(self, tmp_path):
        times = np.datetime64("2024-01-01T00:00") + np.arange(6) * np.timedelta64(900, "s")
        times[3] += np.timedelta64(4, "s")
        candidate = Microaggregation(k=K).anonymize(small_panel(times=times))
        refused(candidate, tmp_path, "timestamp-phase: 1 of 6 instants, the first at position 3, .* grid of 900 s")

    def test_instants_without_a_step_must_be_full_minutes(self, tmp_path):
        seconds = np.array([7, 905, 1811, 2702, 3609, 4501])
        candidate = Microaggregation(k=K).anonymize(
            small_panel(times=np.datetime64("2024-01-01T00:00:00") + seconds.astype("timedelta64[s]"))
        )
        refused(candidate, tmp_path, "timestamp-phase: 6 of 6 instants.* grid of 60 s")

    def test_a_single_instant_must_be_a_full_minute(self, tmp_path):
        for first, holds in (("2024-01-01T12:31", True), ("2024-01-01T12:31:05", False)):
            panel = small_panel(values=np.random.default_rng(3).normal(size=(14, 1)), times=[np.datetime64(first)])
            candidate = Microaggregation(k=K).anonymize(panel)
            if holds:
                release(candidate, tmp_path / "out")
            else:
                with pytest.raises(GuaranteeNotMetError, match="timestamp-phase: 1 of 1"):
                    release(candidate, tmp_path / "odd")


class TestGaps:
    def test_a_silence_of_one_meter(self, tmp_path):
        values = meters().values.copy()
        values[3, 2] = np.nan
        refused(as_measured(Panel(values)), tmp_path, "gap-patterns: 1 published series.* fewer than 2", **JUDGED)

    def test_the_only_meter_without_a_silence(self, tmp_path):
        values = meters().values.copy()
        values[1:, 2] = np.nan
        refused(as_measured(Panel(values)), tmp_path, "gap-patterns: 1 published series", **JUDGED)

    def test_a_silence_of_many_passes(self, tmp_path):
        values = meters().values.copy()
        values[:10, 2] = np.nan
        release(as_measured(Panel(values)), tmp_path / "out", **JUDGED)

    def test_two_series_of_one_subject_are_no_crowd(self, tmp_path):
        values = meters().values.copy()
        values[:2, 2] = np.nan
        panel = Panel(values, subjects=np.repeat(np.arange(10), 2))
        refused(as_measured(panel), tmp_path, "gap-patterns: 2 published series", **JUDGED)

    def test_gaps_of_groups_pass(self, tmp_path):
        values = np.where(np.random.default_rng(2).random((14, 6)) < 0.3, np.nan, 1 / 3)
        release(Microaggregation(k=K).anonymize(small_panel(values=values)), tmp_path / "out")


class TestGroupSizes:
    def test_one_that_differs_from_all_others_stands_out(self, tmp_path):
        values = np.ones((20, 4))
        values[5] = 2.0
        refused(as_measured(Panel(values)), tmp_path, r"group-sizes: 1 subject\(s\) stand out", **JUDGED)

    def test_two_kinds_of_series_pass(self, tmp_path):
        values = np.ones((20, 4))
        values[5:9] = 2.0
        release(as_measured(Panel(values)), tmp_path / "out", **JUDGED)

    def test_a_profile_of_one_subject(self, tmp_path):
        panel = meters(9)
        candidate = Microaggregation(k=K, form="profiles").anonymize(panel)
        groups = np.array([0, 1, 1, 1, 1, 1, 1, 1, 1])
        means = np.stack([panel.values[groups == g].mean(axis=0) for g in (0, 1)])[..., None, None]
        published = dataclasses.replace(candidate.published, values=means, counts=np.array([1, 8]), names=("a", "b"))
        spoiled = Candidate(published, NoGuarantee(), candidate.recipe, Private(panel, groups))
        refused(spoiled, tmp_path, "group-sizes: 1 of 2 published groups have fewer than 2", **JUDGED)

    def test_series_under_the_names_of_others_are_counted_by_subject(self, tmp_path, monkeypatch):
        values_ = np.repeat(np.arange(6.0), 2)[:, None] * np.ones(3)
        panel = Panel(values_, subjects=np.tile(np.arange(6), 2))
        candidate = Candidate(
            Panel(values_, subjects=np.tile(np.arange(6), 2)),
            KAnonymity(2),
            Recipe("test", {}),
            Private(panel, np.repeat(np.arange(6), 2)),
        )
        release(candidate, tmp_path / "honest")
        write = values.write_values

        def exchanged(published, names, path, file_format):
            # Rows of one subject come to be published alike; from the folder alone that cannot be seen.
            order = np.argsort(np.tile(np.arange(6), 2), kind="stable")
            mixed = np.empty_like(published.values)
            mixed[order] = published.values
            write(Panel(mixed), names, path, file_format)

        monkeypatch.setattr(values, "write_values", exchanged)
        with pytest.raises(GuaranteeNotMetError, match="group-sizes: 6 of 6 published groups have fewer than 2"):
            release(candidate, tmp_path / "out")
