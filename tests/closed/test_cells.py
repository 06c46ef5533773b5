"""The closed service never answers about fewer than its minimum, alone or by what several answers tell together."""

import dataclasses
import itertools

import numpy as np
import pytest

from closed.places import (
    INSTANTS,
    MINIMUM,
    candidate_of,
    closed,
    random_question,
    raw_panel,
    recipient,
    selected,
)
from shoal import KAnonymity, Microaggregation, Panel, publish
from shoal.closed import Closed, Count, Mean, Quantile, Range, Window
from shoal.closed.cells import (
    answer_from_cells,
    cells_of_candidate,
    cells_of_panel,
    cells_of_profiles,
    cells_of_release,
)
from shoal.closed.questions import Refused
from shoal.closed.table import ClosedTable
from shoal.errors import InputError, ParameterError
from shoal.methods import KP, NLK, NoiseAddition, SamplingWithFictives, ScopeAggregation, TimeSlicing
from shoal.model import Candidate, Profiles

N_QUESTIONS = 10_000


def subjects_of(question, published, codes):
    """The subjects a question selects, from the published rows."""
    return frozenset(codes[selected(published, question)].tolist())


def asked(cells, question):
    try:
        return answer_from_cells(cells, question)
    except Refused:
        return None


@pytest.fixture(scope="module")
def place():
    """Sixty households in groups of at least five, and ten thousand random questions that were asked."""
    candidate = candidate_of(raw_panel())
    cells = cells_of_candidate(candidate, MINIMUM)
    published = candidate.values
    codes = np.arange(len(published))
    rng = np.random.default_rng(2)
    answered = []
    for _ in range(N_QUESTIONS):
        question = random_question(rng, published if rng.random() < 0.5 else raw_panel().values)
        value = asked(cells, question)
        answered.append((question, value, subjects_of(question, published, codes)))
    return answered


class TestRandomQuestions:
    def test_no_answer_is_about_fewer_than_the_minimum(self, place):
        sizes = [len(who) for _, value, who in place if value is not None]
        assert min(sizes) >= MINIMUM
        assert 1000 < len(sizes) < N_QUESTIONS

    def test_what_is_refused_is_about_nobody(self, place):
        """So a refusal tells no more of anybody than an answer would: that no cell is there."""
        assert {len(who) for _, value, who in place if value is None} == {0}

    def test_a_count_is_what_counting_by_hand_gives(self, place):
        counts = [(value, len(who)) for question, value, who in place if isinstance(question, Count) and value]
        assert len(counts) > 500
        assert all(value == size for value, size in counts)

    def test_no_pair_of_answers_isolates_fewer(self, place):
        different = sorted({who for _, value, who in place if value is not None}, key=sorted)
        assert len(different) > 100
        for a, b in itertools.combinations(different, 2):
            for rest in (a - b, b - a, a & b):
                assert not 0 < len(rest) < MINIMUM

    def test_nor_does_any_triple_nor_any_combination_at_all(self, place):
        different = sorted({who for _, value, who in place if value is not None}, key=sorted)
        chosen = np.random.default_rng(0).choice(len(different), size=min(40, len(different)), replace=False)
        for a, b, c in itertools.combinations([different[i] for i in chosen], 3):
            for rest in (a - b - c, (a & b) - c, a & b & c, (a | b) - c, (a ^ b) ^ c):
                assert not 0 < len(rest) < MINIMUM
        # The finest that "and", "or" and "not" can make of all the answers together.
        patterns = np.array([[subject in who for who in different] for subject in range(60)])
        _, sizes = np.unique(patterns, axis=0, return_counts=True)
        assert sizes.min() >= MINIMUM

    def test_the_test_would_notice_a_service_without_cells(self):
        """The same questions against the readings themselves."""
        values = raw_panel().values
        ones = np.ones(len(values), dtype=np.int64)
        naked = ClosedTable(
            values[:, :, None], ones, ones, np.ones((*values.shape, 1), dtype=int), np.arange(INSTANTS), ("value",)
        )
        rng = np.random.default_rng(2)
        sizes = []
        for _ in range(500):
            question = random_question(rng, values)
            if asked(naked, question) is not None:
                sizes.append(int(selected(values, question).sum()))
        assert min(sizes) < MINIMUM


class TestDifferencing:
    """Pairs of questions built so that the second leaves out, or adds, one subject."""

    @staticmethod
    def pairs(values, subject):
        """Thresholds just below and at a reading of the subject, at every instant and over windows."""
        for instant in range(INSTANTS):
            at = float(values[subject, instant])
            under = float(np.nextafter(at, -np.inf))
            yield (Range(at=instant, high=at),), (Range(at=instant, high=under),)
            yield (Range(at=instant, low=under),), (Range(at=instant, low=float(np.nextafter(at, np.inf))),)
        for end in range(1, INSTANTS):
            mean = float(values[subject, : end + 1].mean())
            yield (
                (Window(start=0, end=end, high=mean),),
                (Window(start=0, end=end, high=float(np.nextafter(mean, -np.inf))),),
            )

    @pytest.mark.parametrize("known", ["published", "raw"])
    def test_no_pair_isolates_anybody(self, known):
        panel = raw_panel()
        candidate = candidate_of(panel)
        cells = cells_of_candidate(candidate, MINIMUM)
        values = candidate.values if known == "published" else panel.values
        moved = 0
        for subject in range(panel.n_series):
            for with_it, without in self.pairs(values, subject):
                counts = [asked(cells, Count(where=where)) or 0 for where in (with_it, without)]
                assert counts[0] == counts[1] or abs(counts[0] - counts[1]) >= MINIMUM
                moved += counts[0] != counts[1]
        # Otherwise nothing was tried.
        assert moved > 0 if known == "published" else True

    def test_means_and_counts_of_a_pair_give_the_mean_of_a_whole_cell_at_best(self):
        panel = raw_panel()
        candidate = candidate_of(panel)
        cells = cells_of_candidate(candidate, MINIMUM)
        for subject in range(0, panel.n_series, 7):
            for with_it, without in self.pairs(candidate.values, subject):
                totals, counts = [], []
                for where in (with_it, without):
                    count = asked(cells, Count(where=where)) or 0.0
                    counts.append(count)
                    totals.append(count * (asked(cells, Mean(start=3, end=3, where=where)) or 0.0))
                if counts[0] != counts[1]:
                    isolated = (totals[0] - totals[1]) / (counts[0] - counts[1])
                    assert np.abs(panel.values[:, 3] - isolated).min() > 1e-9

    def test_the_attack_works_where_there_are_no_cells(self):
        values = raw_panel().values
        ones = np.ones(len(values), dtype=np.int64)
        naked = ClosedTable(
            values[:, :, None], ones, ones, np.ones((*values.shape, 1), dtype=int), np.arange(INSTANTS), ("value",)
        )
        with_it, without = next(self.pairs(values, 17))
        totals = [
            asked(naked, Count(where=where)) * asked(naked, Mean(start=3, end=3, where=where))
            for where in (with_it, without)
        ]
        assert totals[0] - totals[1] == pytest.approx(values[17, 3])


class TestCells:
    @pytest.mark.parametrize(
        "method",
        [
            NLK(n=2, l=4, k=3),
            KP(k=3, p=2),
            NoiseAddition(snr=10.0),
            SamplingWithFictives(),
        ],
        ids=lambda method: method.name,
    )
    def test_whatever_was_published_a_cell_has_the_minimum(self, method):
        cells = cells_of_candidate(method.anonymize(raw_panel()), 7)
        assert cells.subjects.min() >= 7
        assert (cells.weights >= cells.subjects).all()

    def test_fictive_series_are_nobody(self):
        candidate = SamplingWithFictives().anonymize(raw_panel())
        real = int((candidate.stands_for >= 0).sum())
        assert real < len(candidate.stands_for)
        assert cells_of_candidate(candidate, 4).weights.sum() == real

    def test_several_series_of_a_subject_are_one_in_the_crowd(self):
        panel = raw_panel(60, subjects=[i // 6 for i in range(60)])
        cells = cells_of_panel(panel, 5)
        assert cells.subjects.min() >= 5
        assert cells.weights.sum() == 60

    def test_where_the_release_has_groups_large_enough_they_are_the_cells(self):
        candidate = candidate_of(raw_panel(), k=6)
        cells = cells_of_candidate(candidate, 4)
        assert {row.tobytes() for row in cells.values[..., 0]} == {row.tobytes() for row in candidate.values}

    def test_a_gap_of_a_cell_is_a_gap_of_at_least_the_minimum(self):
        values = np.array(raw_panel(40).values)
        values[:3, 2] = np.nan
        cells = cells_of_panel(Panel(values), 5)
        assert cells.subjects.min() >= 5

    def test_small_profiles_are_merged_and_their_gaps_kept(self):
        values = np.array([[[1.0], [2.0]], [[1.5], [np.nan]], [[9.0], [9.0]]])[..., None]
        profiles = Profiles(values, np.array([6, 2, 7]), ("mean",), np.arange(2), ("value",))
        cells = cells_of_profiles(profiles, 5)
        assert cells.subjects.tolist() == [8, 7]
        assert cells.values[0, 0, 0] == pytest.approx((6 * 1.0 + 2 * 1.5) / 8)
        assert np.isnan(cells.values[0, 1, 0])

    def test_too_few_subjects_are_told(self):
        profiles = Profiles(np.ones((1, 1, 1, 1)), np.array([3]), ("mean",), np.arange(1), ("value",))
        with pytest.raises(ParameterError, match="minimum_group=5 needs at least 5 subjects, the profiles have 3"):
            cells_of_profiles(profiles, 5)
        with pytest.raises(ParameterError, match="k=5 needs at least 5 subjects"):
            cells_of_panel(Panel([[1.0], [2.0]]), 5)

    def test_answers_are_those_of_the_published_series(self):
        candidate = candidate_of(raw_panel())
        assert isinstance(candidate, Candidate)
        cells, values = cells_of_candidate(candidate, MINIMUM), candidate.values
        assert answer_from_cells(cells, Count()) == 60
        assert answer_from_cells(cells, Mean()) == pytest.approx(values.mean())
        means = values.mean(axis=1)
        for q in (0.0, 0.25, 0.5, 1.0):
            found = answer_from_cells(cells, Quantile(q=q))
            assert found == pytest.approx(np.quantile(means, q, method="inverted_cdf"))


class TestGaps:
    """Who was not observed at an instant is not behind what is told of it."""

    def test_six_observed_of_eleven_are_not_ten(self, tmp_path):
        values = np.array(raw_panel(11).values)
        values[:5, 2] = np.nan
        candidate = Microaggregation(k=6).anonymize(Panel(values))
        assert not np.isnan(candidate.values).any()
        service = closed(tmp_path / "closed", candidate, minimum_group=10)
        token = recipient(service)
        assert service.ask(token, Mean(start=2, end=2)).reason == "below-minimum"
        assert service.ask(token, Mean(start=1, end=3)).reason == "below-minimum"
        assert service.ask(token, Count(where=(Range(at=2, low=0.0),))).reason == "below-minimum"
        assert service.ask(token, Mean(start=3, end=4)).value == pytest.approx(values[:, 3:5].mean())

    @staticmethod
    def by_hand(candidate, minimum):
        """The rows that questions are answered from: withheld where too few of those alike were observed."""
        rows = candidate.published
        if not KAnonymity(minimum).check(rows).holds:
            rows = Microaggregation(k=minimum).anonymize(rows).published
        # A reading of which nothing was published before is not behind what is published of several groups.
        seen = ~np.isnan(candidate.private.original.values) & ~np.isnan(candidate.published.values)
        told = np.array(rows.values)
        for row in rows.values:
            alike = np.array([other.tobytes() == row.tobytes() for other in rows.values])
            for instant in range(INSTANTS):
                if len(set(rows.subject_codes[alike & seen[:, instant]].tolist())) < minimum:
                    told[alike, instant] = np.nan
        return told, seen

    @staticmethod
    def behind(told, question):
        """Which rows an answer is about."""
        kept = np.ones(len(told), dtype=bool)
        for condition in question.where:
            at = condition.at if isinstance(condition, Range) else slice(condition.start, condition.end + 1)
            kept &= ~np.isnan(told[:, at]).reshape(len(told), -1).any(axis=1)
        kept &= selected(np.nan_to_num(told, nan=-9e9), question)
        if not isinstance(question, Count):
            kept &= ~np.isnan(told[:, question.start : question.end + 1]).any(axis=1)
        return kept

    @pytest.mark.parametrize("seed", range(8))
    def test_no_answer_and_no_pair_of_answers_rests_on_fewer_observed(self, seed):
        rng = np.random.default_rng(seed)
        values = np.array(raw_panel(60, seed=seed).values)
        values[rng.random(values.shape) < rng.choice([0.02, 0.06, 0.12])] = np.nan
        subjects = None if seed % 2 else np.arange(60) // 2
        k, minimum = int(rng.integers(2, 6)), int(rng.integers(3, 8))
        candidate = Microaggregation(k=k).anonymize(Panel(values, subjects=subjects))
        codes = candidate.published.subject_codes
        cells = cells_of_candidate(candidate, minimum)
        told, seen = self.by_hand(candidate, minimum)
        sets: dict[int, set[frozenset[int]]] = {instant: set() for instant in range(INSTANTS)}
        n_answers = 0
        for _ in range(600):
            question = random_question(rng, np.nan_to_num(values))
            rows = self.behind(told, question)
            assert (asked(cells, question) is not None) == rows.any()
            if not rows.any() or isinstance(question, Count):
                continue
            n_answers += 1
            for instant in range(question.start, question.end + 1):
                observed = frozenset(np.flatnonzero(rows & seen[:, instant]).tolist())
                assert len(set(codes[list(observed)])) >= minimum
                if question.start == question.end:
                    sets[instant].add(observed)
        assert n_answers > 20
        for found in sets.values():
            for a, b in itertools.combinations(found, 2):
                for rest in (a - b, b - a, a & b):
                    assert not rest or len(set(codes[list(rest)])) >= minimum

    def test_profiles_count_who_was_observed(self):
        values = np.array(raw_panel(40).values)
        values[:14, 2] = np.nan
        candidate = ScopeAggregation(size=5, share=1.0).anonymize(Panel(values))
        cells = cells_of_candidate(candidate, 9)
        seen = ~np.isnan(values)
        assert (cells.observed[..., 0].sum(axis=0) == seen.sum(axis=0)).all()
        assert (cells.observed[~np.isnan(cells.values)] >= 9).all()
        assert np.isnan(cells.values[:, 2]).any()

    def test_gaps_beside_other_instants_are_refused(self):
        values = np.array(raw_panel(40).values)
        values[0, 2] = np.nan
        candidate = candidate_of(Panel(values))
        moved = Panel(candidate.values, times=np.arange(INSTANTS) + 100)
        with pytest.raises(ParameterError, match="1 values are missing, and the published instants differ"):
            cells_of_candidate(dataclasses.replace(candidate, published=moved), MINIMUM)

    def test_gaps_beside_slices_without_dates_are_refused(self):
        values = np.array(raw_panel(40).values)
        values[0, 2] = np.nan
        candidate = TimeSlicing(length=4, dates="dropped").anonymize(Panel(values))
        with pytest.raises(ParameterError, match="1 values are missing, and the published instants differ"):
            cells_of_candidate(candidate, MINIMUM)

    def test_a_folder_that_does_not_count_them_is_refused(self, tmp_path):
        closed(tmp_path / "closed", candidate_of(raw_panel()))
        table = tmp_path / "closed" / "table.npz"
        with np.load(table) as kept:
            older = {name: kept[name] for name in kept.files if name != "observed"}
        np.savez_compressed(table, **older)
        with pytest.raises(InputError, match="does not show how many subjects were observed at an instant"):
            Closed(tmp_path / "closed")

    @pytest.mark.parametrize(("k", "minimum", "fine"), [(6, 10, False), (10, 10, True)])
    def test_a_release_that_covers_gaps_must_promise_enough(self, tmp_path, k, minimum, fine):
        values = np.array(raw_panel(40).values)
        values[:9, 2] = np.nan
        release = publish(Microaggregation(k=k).anonymize(Panel(values)), tmp_path / "out")
        if fine:
            assert cells_of_release(release, minimum).observed.max() >= minimum
            return
        with pytest.raises(ParameterError, match="The series behind this release may have gaps"):
            cells_of_release(release, minimum)


def test_the_whole_service_keeps_the_minimum_for_recipients_who_collude(tmp_path):
    candidate = candidate_of(raw_panel())
    service = closed(tmp_path / "closed", candidate, budget=400, budget_in_all=1000)
    tokens = [recipient(service, name) for name in ("north", "south")]
    rng = np.random.default_rng(5)
    told = []
    for i in range(300):
        question = random_question(rng, candidate.values)
        answer = service.ask(tokens[i % 2], question)
        if answer.outcome == "answered":
            told.append(subjects_of(question, candidate.values, np.arange(60)))
    assert len(told) > 100
    assert all(not 0 < len(rest) < MINIMUM for a, b in itertools.combinations(set(told), 2) for rest in (a - b, a & b))
