"""A task is built from protected or public curves or not at all."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import shoal
from label_samples import telling_panel
from shoal import Microaggregation, Panel, publish, simulate
from shoal.errors import GuaranteeNotMetError, ParameterError, ReleaseError
from shoal.labels import LabelTask, shown


def naive_crowds(values, subjects):
    """How many different subjects are behind each different row."""
    crowds = {}
    for row, subject in zip(values, subjects, strict=True):
        crowds.setdefault(tuple(row.tolist()), set()).add(subject)
    return {row: len(found) for row, found in crowds.items()}


class TestPresanitised:
    @pytest.mark.parametrize(("k", "days"), [(2, 1), (5, 2), (24, 2)])
    def test_every_curve_is_a_published_one_of_at_least_k_subjects(self, k, days):
        panel = telling_panel(days=days)
        task = LabelTask.presanitised(panel, k=k, multiple=1)
        wanted = naive_crowds(Microaggregation(k=k).anonymize(panel).values, panel.subjects)
        found = dict(zip(map(tuple, task.values.tolist()), task.crowds.tolist(), strict=True))
        assert found == wanted
        assert min(wanted.values()) >= k
        assert task.guarantee["name"] == "k-anonymity"
        assert task.guarantee["holds"] is True
        assert task.guarantee["measured"] == min(wanted.values())
        assert task.guarantee["required"] == k

    def test_a_subject_with_many_days_is_one_of_the_crowd(self):
        rng = np.random.default_rng(0)
        days = np.concatenate([rng.normal(size=(20, 6)), 50 + 0.01 * rng.normal(size=(10, 6))])
        # The last ten days, far from all others, are one person's.
        panel = Panel(days, subjects=[*range(20), *[99] * 10])
        # They fill more than half of a mean, which would be almost that person's own.
        with pytest.raises(
            GuaranteeNotMetError,
            match=r"In 1 of 4 curves to be shown, one subject has more than 2/5 of the series behind it, up to 53%: .* "
            r"Read fewer series of the subjects that have many: one day of each, for example\.",
        ):
            LabelTask.presanitised(panel, k=5, multiple=1)
        task = LabelTask.presanitised(Panel(days[:22], subjects=panel.subjects[:22]), k=5, multiple=1)
        assert task.crowds.min() >= 5
        assert task.crowds.sum() <= 22

    def test_the_largest_share_of_one_subject_is_what_a_loop_finds(self):
        panel = telling_panel(n_subjects=12, days=4)
        task = LabelTask.presanitised(panel, k=3, multiple=1)
        behind = {}
        for row, subject in zip(Microaggregation(k=3).anonymize(panel).values, panel.subjects, strict=True):
            behind.setdefault(row.tobytes(), []).append(subject)
        wanted = max(max(map(rows.count, rows)) / len(rows) for rows in behind.values())
        assert task.guarantee["largest_share"] == task.certificate["guarantee"]["largest_share"] == wanted

    def test_a_share_of_exactly_two_in_k_is_let_in(self, monkeypatch):
        rng = np.random.default_rng(0)
        # Two groups of eight rows; one subject has four rows of the first: 2/4. One row more is too much.
        for subjects, holds in (([0, 0, 0, 0, 1, 2, 3, 4], True), ([0, 0, 0, 0, 0, 1, 2, 3], False)):
            days = np.concatenate([rng.normal(size=(8, 6)), 50 + rng.normal(size=(8, 6))])
            panel = Panel(days, subjects=[*subjects, *range(10, 18)])
            means = np.repeat([days[:8].mean(axis=0), days[8:].mean(axis=0)], 8, axis=0)
            monkeypatch.setattr(Microaggregation, "anonymize", lambda self, _, means=means: Panel(means))
            if holds:
                assert LabelTask.presanitised(panel, k=4, multiple=1).guarantee["largest_share"] == 0.5
            else:
                with pytest.raises(GuaranteeNotMetError, match="more than 2/4 of the series behind it, up to 62%"):
                    LabelTask.presanitised(panel, k=4, multiple=1)

    def test_of_subjects_is_spoken_only_where_they_are_named(self):
        named = LabelTask.presanitised(telling_panel(days=1), k=4, multiple=1).guarantee
        assert named["counts"] == "subjects"
        assert "other subjects" in named["statement"]
        unnamed = LabelTask.presanitised(Panel(telling_panel(days=1).values), k=4, multiple=1).guarantee
        assert unnamed["counts"] == "series"
        assert unnamed["parameters"] == {"k": 4, "per": "series"}
        assert "subjects" not in unnamed["statement"]
        assert unnamed["largest_share"] == 0.25

    def test_one_named_channel_is_a_curve_as_well(self):
        panel = telling_panel()
        named = Panel(panel.values[:, :, None], times=panel.times, subjects=panel.subjects)
        for build in (
            lambda some: LabelTask.presanitised(some, k=4, multiple=1),
            lambda some: LabelTask.public(some, statement="simulated"),
        ):
            assert build(named).digest == build(panel).digest

    def test_where_all_series_become_one_there_is_no_pair(self):
        with pytest.raises(ParameterError, match=r"A pair needs two different curves, but there is only 1\. Lower k"):
            LabelTask.presanitised(telling_panel(days=1), k=24, multiple=1)

    def test_k_of_one_is_refused(self):
        with pytest.raises(ParameterError, match="a crowd of one hides nobody"):
            LabelTask.presanitised(telling_panel(), k=1, multiple=1)

    def test_more_than_there_are_subjects_is_refused(self):
        with pytest.raises(ParameterError, match="k=30 needs at least 30 subjects, the panel has 24"):
            LabelTask.presanitised(telling_panel(), k=30, multiple=1)

    def test_a_method_that_gives_the_originals_back_is_caught(self, monkeypatch):
        @dataclasses.dataclass(frozen=True)
        class Honestly:
            k: int

            def anonymize(self, panel):
                return panel  # it has values, as a candidate has

        monkeypatch.setattr(shown, "Microaggregation", Honestly)
        with pytest.raises(
            GuaranteeNotMetError,
            match=r"k-anonymity does not hold on the curves to be shown: measured 1, required 4, first at series "
            r"position 0\. Nothing is shown\.",
        ):
            LabelTask.presanitised(telling_panel(), k=4, multiple=1)

    def test_a_method_that_makes_a_persons_days_their_own_crowd_is_caught(self, monkeypatch):
        @dataclasses.dataclass(frozen=True)
        class ByPerson:
            k: int

            def anonymize(self, panel):
                means = np.array([panel.values[panel.subject_codes == s].mean(axis=0) for s in panel.subject_codes])
                return Panel(means)  # without subjects: every row a subject of its own

        monkeypatch.setattr(shown, "Microaggregation", ByPerson)
        with pytest.raises(GuaranteeNotMetError, match="measured 1, required 2"):
            LabelTask.presanitised(telling_panel(), k=2, multiple=1)

    def test_a_method_that_gives_other_rows_is_caught(self, monkeypatch):
        @dataclasses.dataclass(frozen=True)
        class Fewer:
            k: int

            def anonymize(self, panel):
                return Panel(np.ones((4, 12)))

        monkeypatch.setattr(shown, "Microaggregation", Fewer)
        with pytest.raises(GuaranteeNotMetError, match="do not match the panel, row by row"):
            LabelTask.presanitised(telling_panel(), k=2, multiple=1)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (np.ones((8, 3, 2)), "shows one curve for each series, but the panel has 2 channels"),
            (np.where(np.eye(8, 3) > 0, np.nan, 1.0), "the panel has 3 missing values. Read it with `missing`"),
        ],
    )
    def test_what_cannot_be_one_complete_curve_is_refused(self, values, message):
        with pytest.raises(ParameterError, match=message):
            LabelTask.presanitised(Panel(values), k=2, multiple=1)
        with pytest.raises(ParameterError, match=message):
            LabelTask.public(Panel(values), statement="simulated")


class TestPublic:
    def test_the_statement_is_recorded(self):
        task = LabelTask.public(telling_panel(), statement=" Simulated, nobody's. ")
        assert task.source == "public"
        assert task.guarantee == {
            "name": "public",
            "parameters": {"compared_with_series": 0},
            "statement": "Simulated, nobody's.",
        }

    @pytest.mark.parametrize("statement", ["", "  ", None])
    def test_without_a_reason_nothing_is_public(self, statement):
        with pytest.raises(ParameterError, match="statement must say why these series are public"):
            LabelTask.public(telling_panel(), statement=statement)

    def test_a_series_of_a_private_panel_is_refused_by_position(self):
        private = telling_panel(1)
        values = telling_panel(2).values.copy()
        values[[7, 30]] = private.values[[3, 4]]
        with pytest.raises(
            GuaranteeNotMetError,
            match=r"2 of 48 series are the same as a series of a private panel, at all instants up to rounding, "
            r"first at series position 7\.",
        ):
            LabelTask.public(Panel(values), statement="simulated", private=[telling_panel(3), private])
        values[[7, 30], 5] += 1e-4
        task = LabelTask.public(Panel(values), statement="simulated", private=[private])
        assert task.guarantee["parameters"] == {"compared_with_series": 48}

    @pytest.mark.parametrize("changed", ["single precision", "text", "almost"])
    @pytest.mark.parametrize("unit", [1.0, 1e-130, 1e130])
    def test_rounding_does_not_hide_a_private_series(self, changed, unit):
        private, values = telling_panel(1).values.copy(), telling_panel(2).values.copy()
        private[3] *= np.linspace(-1.0, 1.0, 12)
        twin = {
            "single precision": private[3].astype(np.float32),
            "text": np.array([float(f"{value:.7g}") for value in private[3]]),
            "almost": private[3] + 0.9e-6 * np.abs(private[3]).max() * np.array([1.0, -1.0] * 6),
        }[changed]
        values[7] = twin
        with pytest.raises(GuaranteeNotMetError, match=r"1 of 48 series are the same as .* position 7\."):
            LabelTask.public(Panel(values * unit), statement="simulated", private=[Panel(private * unit)])
        values[7, 0] += 3e-6 * np.abs(private[3]).max()
        LabelTask.public(Panel(values * unit), statement="simulated", private=[Panel(private * unit)])

    def test_copies_are_those_a_loop_finds(self):
        rng = np.random.default_rng(0)
        hidden = rng.integers(0, 3, size=(200, 4)).astype(float)
        rows = np.concatenate([hidden[rng.integers(200, size=150)], rng.random((50, 4)), np.zeros((1, 4))])
        rows *= 1 + rng.choice([0.0, 1e-7, 0.9e-6, 1.1e-6, 1e-3], size=rows.shape)
        wanted = {
            at: {
                place
                for place, other in enumerate(hidden)
                if len(set(other)) > 1 and np.abs(row - other).max() <= 1e-6 * np.abs(other).max()
            }
            for at, row in enumerate(rows)
        }
        assert 20 < sum(map(bool, wanted.values())) < 150
        found = {at: set(alike.tolist()) for at, alike in shown.copies(rows, hidden)}
        assert found == {at: alike for at, alike in wanted.items() if alike}

    def test_private_series_with_gaps_are_not_compared(self):
        private = telling_panel(1).values.copy()
        values = private.copy()
        private[:, 0] = np.nan
        assert LabelTask.public(Panel(values), statement="simulated", private=[Panel(private)]).n_curves == 48

    def test_an_empty_day_gives_nobody_away(self):
        some = np.concatenate([np.zeros((2, 12)), telling_panel(2).values])
        others = np.concatenate([np.zeros((1, 12)), telling_panel(1).values])
        assert LabelTask.public(Panel(some), statement="simulated", private=[Panel(others)]).n_curves == 49

    def test_minus_zero_does_not_hide_a_private_series(self):
        private = Panel([[0.0, 1.0], [2.0, 3.0]])
        with pytest.raises(GuaranteeNotMetError, match="1 of 2 series"):
            LabelTask.public(Panel([[-0.0, 1.0], [5.0, 4.0]]), statement="simulated", private=[private])

    def test_series_of_another_length_are_not_compared(self):
        assert LabelTask.public(telling_panel(), statement="simulated", private=[Panel([[1.0, 2.0]])]).n_curves == 48


class TestReleased:
    def test_the_curves_are_those_of_the_release(self, tmp_path):
        candidate = Microaggregation(k=4).anonymize(telling_panel(days=1))
        publish(candidate, tmp_path / "out")
        task = LabelTask.released(tmp_path / "out")
        assert_array_equal(task.values, np.unique(candidate.values, axis=0))
        assert task.source == "released"
        assert task.guarantee["name"] == "k-anonymity"
        assert "note" not in task.guarantee
        assert task.guarantee["counts"] == "series"
        assert "largest_share" not in task.guarantee

    def test_where_subjects_cannot_be_told_apart_that_is_noted(self, tmp_path):
        publish(Microaggregation(k=4).anonymize(telling_panel()), tmp_path / "out")
        task = LabelTask.released(tmp_path / "out")
        assert task.guarantee["note"] == "counted in series, of which a subject may have several"

    def test_a_changed_release_is_refused(self, tmp_path):
        publish(Microaggregation(k=4).anonymize(telling_panel()), tmp_path / "out", format="csv")
        table = tmp_path / "out" / "data.csv"
        lines = table.read_text().splitlines()
        lines[5] = lines[5].rsplit(",", 1)[0] + ",3.5"
        table.write_text("\n".join(lines) + "\n")
        with pytest.raises(GuaranteeNotMetError, match=r"No label task from a release that does not verify: data\.csv"):
            LabelTask.released(tmp_path / "out")

    def test_what_is_no_release_of_curves_is_refused(self, tmp_path):
        with pytest.raises(ReleaseError, match="is not a release"):
            LabelTask.released(tmp_path)
        publish(Microaggregation(k=4, form="profiles").anonymize(telling_panel()), tmp_path / "out")
        with pytest.raises(ParameterError, match="The release holds profiles, but a label task shows curves"):
            LabelTask.released(tmp_path / "out")

    def test_private_panels_are_compared_as_well(self, tmp_path):
        candidate = Microaggregation(k=4).anonymize(telling_panel())
        publish(candidate, tmp_path / "out")
        with pytest.raises(GuaranteeNotMetError, match="the same as a series of a private panel"):
            LabelTask.released(tmp_path / "out", private=[Panel(candidate.values)])


def test_the_order_of_the_rows_leaves_no_trace():
    panel = telling_panel()
    order = np.random.default_rng(1).permutation(48)
    one, other = (LabelTask.public(Panel(x), statement="simulated") for x in (panel.values, panel.values[order]))
    assert_array_equal(one.values, other.values)
    assert one.plan("anna") == other.plan("anna")
    groups = LabelTask.presanitised(panel, k=4, multiple=1).values
    assert_array_equal(groups, groups[np.lexsort(groups.T[::-1])])


class TestTheType:
    @pytest.mark.parametrize("arguments", [{}, {"values": np.ones((2, 3))}])
    def test_it_cannot_be_built_from_values(self, arguments):
        with pytest.raises(ParameterError, match=r"LabelTask\.presanitised.*LabelTask\.public.*LabelTask\.released"):
            LabelTask(**arguments)
        with pytest.raises(ParameterError, match="A LabelTask is not built from values"):
            LabelTask(np.ones((2, 3)))

    def test_it_cannot_be_changed(self):
        task = LabelTask.presanitised(telling_panel(), k=4, multiple=1)
        with pytest.raises(AttributeError, match="immutable"):
            task.question = "What is it?"
        with pytest.raises(AttributeError, match="immutable"):
            task._shown = None
        with pytest.raises(AttributeError, match="immutable"):
            del task._asking
        for array in (task.values, task.crowds, task.times):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.setflags(write=True)
        task.guarantee["parameters"]["k"] = 2
        task.certificate["guarantee"]["parameters"]["k"] = 2
        assert task.guarantee["parameters"]["k"] == 4

    def test_a_copy_is_the_same_task(self):
        task = LabelTask.presanitised(telling_panel(), k=4, multiple=1)
        for again in (pickle.loads(pickle.dumps(task)), copy.deepcopy(task)):
            assert again.digest == task.digest
            assert again.plan("anna") == task.plan("anna")

    def test_it_can_be_had_from_shoal(self):
        assert shoal.LabelTask is LabelTask

    def test_its_text_has_counts_alone(self):
        text = repr(LabelTask.presanitised(telling_panel(), k=4, multiple=1, n_pairs=20))
        assert text == "LabelTask(presanitised, 12 curves, 20 questions, uniform)"


class TestSettings:
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"n_pairs": 0}, "n_pairs must be a whole number of at least 1"),
            ({"n_pairs": 2.5}, "n_pairs must be a whole number of at least 1"),
            ({"seed": -1}, "seed must be a whole number of at least 0"),
            ({"choice": "best"}, "choice must be one of: uniform, active"),
            ({"repeats": 0.6}, "repeats is the share of questions that are asked again: 0 to 0.5"),
            ({"common": -0.1}, "common is the share of questions that all analysts are asked: 0 to 1"),
            ({"question": " "}, "question must be a text of 1 to 500 letters"),
            ({"question": "x" * 501}, "question must be a text of 1 to 500 letters"),
        ],
    )
    def test_impossible_ones_are_refused(self, wrong, message):
        with pytest.raises(ParameterError, match=message):
            LabelTask.presanitised(telling_panel(), k=4, multiple=1, **wrong)
        with pytest.raises(ParameterError, match=message):
            LabelTask.public(telling_panel(), statement="simulated", **wrong)

    def test_the_digest_is_of_the_curves_the_instants_and_the_guarantee(self):
        panel = simulate.occupancy(30, days=1, step="1h")
        first = LabelTask.presanitised(panel, k=3, multiple=1)
        assert LabelTask.presanitised(panel, k=3, multiple=1, seed=4, n_pairs=9).digest == first.digest
        later = Panel(panel.values, times=panel.times + np.timedelta64(1, "D"), subjects=panel.subjects)
        assert LabelTask.presanitised(later, k=3, multiple=1).digest != first.digest
        assert LabelTask.presanitised(panel, k=4, multiple=1).digest != first.digest
        assert LabelTask.public(panel, statement="a").digest != LabelTask.public(panel, statement="b").digest
