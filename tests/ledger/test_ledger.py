"""The ledger: what releases tell together is refused."""

import dataclasses
import shutil
import unicodedata
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger_examples import FEBRUARY, JANUARY, RNG, N, grouped, publish
from naive.ledger import fine_together, smallest_crowd, smallest_set_with
from shoal import KP, NLK, Events, KAnonymity, Microaggregation, Panel, Reposition, SequenceAnonymity
from shoal import publish as publish_whole
from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.guarantees import AggregateRule, NoGuarantee
from shoal.ledger import intersection
from shoal.ledger.conflicts import judge_entries, refuse_together
from shoal.ledger.file import read_ledger, unfinished
from shoal.ledger.groups import GroupMembership
from shoal.ledger.intersection import Layer, TooManyTrailsError, cells_of, made_small
from shoal.model import Candidate, Interval, Private, Recipe, Risk
from shoal.model.names import text_of


@st.composite
def several_series(draw):
    """Whether each release is keyed, and the threads of each subject; in few groups, so that there are crowds."""
    n, n_groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    thread = st.tuples(*[st.sampled_from([None, *range(n_groups)])] * n).filter(lambda told: set(told) != {None})
    people = draw(st.lists(st.lists(thread, min_size=1, max_size=3), min_size=2, max_size=5))
    return draw(st.tuples(*[st.booleans()] * n)), dict(enumerate(people))


class TestCells:
    @given(
        st.lists(
            st.tuples(st.lists(st.one_of(st.none(), st.integers(0, 2)), min_size=5, max_size=5), st.integers(2, 4)),
            min_size=1,
            max_size=3,
        )
    )
    def test_no_cell_is_small_exactly_when_no_set_that_can_be_made_is(self, drawn):
        releases, layers = [], []
        for groups, k in drawn:
            present = [s for s, group in enumerate(groups) if group is not None]
            if not present:
                continue
            sets = [{s for s in present if groups[s] == g} for g in {groups[s] for s in present}]
            releases.append((sets, k))
            layers.append(Layer(np.array(present, dtype=np.uint64), np.array([groups[s] for s in present]), k))
        cells = cells_of(layers)
        assert (not cells.small.any()) == (not releases or fine_together(releases))
        for subject, size in zip(cells.subjects.tolist(), cells.sizes.tolist(), strict=True):
            assert size == smallest_set_with(releases, subject)

    @given(several_series())
    def test_crowds_of_several_series_are_those_of_the_definition(self, drawn):
        keyed, people = drawn
        series = [(who, 100 * who + n, thread) for who, own in people.items() for n, thread in enumerate(own)]
        layers = []
        for release, is_keyed in enumerate(keyed):
            there = [(who, name, thread[release]) for who, name, thread in series if thread[release] is not None]
            if not there:
                continue
            subjects, names, groups = (np.array(column) for column in zip(*there, strict=True))
            order = np.random.default_rng(release).permutation(len(there))
            subjects, names = (column[order].astype(np.uint64) for column in (subjects, names))
            layers.append(Layer(subjects, groups[order], 2, names, is_keyed))
        cells = cells_of(layers)
        expected = [smallest_crowd(people, keyed, who) for who in people]
        assert dict(zip(cells.subjects.tolist(), cells.sizes.tolist(), strict=True)) == dict(
            zip(people, expected, strict=True)
        )

    def test_too_many_trails_are_not_guessed_at(self, monkeypatch):
        # Two subjects with three days in each of four months, all in groups of their own.
        subjects, groups = np.repeat(np.arange(2), 3).astype(np.uint64), np.arange(6)
        months = [Layer(subjects, groups, 2, np.arange(6, dtype=np.uint64) + 10 * m) for m in range(4)]
        assert cells_of(months).sizes.tolist() == [1, 1]
        monkeypatch.setattr(intersection, "MOST_TRAILS", 2 * 3**4 - 1)
        with pytest.raises(TooManyTrailsError):
            cells_of(months)

    def test_a_release_is_not_blamed_for_what_was_small_before(self):
        people = np.arange(6, dtype=np.uint64)
        broken = [Layer(people, np.array([0, 0, 1, 1, 1, 1]), 3)]
        same = Layer(people, np.zeros(6, dtype=np.int64), 3)
        cells, small = made_small(broken, same)
        assert cells.small.sum() == 2
        assert not small.any()
        _, small = made_small(broken, Layer(people, np.array([0, 1, 0, 0, 0, 0]), 3))
        assert small.tolist() == [True, True, False, False, False, False]

    def test_who_is_in_no_other_release_changes_nothing(self):
        first = Layer(np.arange(6, dtype=np.uint64), np.zeros(6, dtype=np.int64), 3)
        others = Layer(np.arange(6, 9, dtype=np.uint64), np.zeros(3, dtype=np.int64), 2)
        assert cells_of([first, others]).sizes.tolist() == [6] * 6 + [3] * 3
        assert cells_of([first, others]).promised.tolist() == [3] * 6 + [2] * 3


class TestRefusing:
    def test_two_releases_that_are_fine_alone_and_break_together(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        for name, groups in (("a", JANUARY), ("b", FEBRUARY)):
            publish_whole(grouped(groups, k=4), tmp_path / name)
        publish_whole(grouped(JANUARY, k=4), tmp_path / "january", ledger=book)
        with pytest.raises(
            GuaranteeNotMetError,
            match=r"Together with 1 earlier release\(s\) of the same subjects this one leaves 12 subject\(s\) in "
            r"crowds that are too small: the smallest has 3, 4 were promised; series positions 0, 1, 2, 3, 4, \.\.\.\.",
        ):
            publish_whole(grouped(FEBRUARY, k=4, month=2), tmp_path / "february", ledger=book)
        assert not (tmp_path / "february").exists()
        assert len(read_ledger(book)) == 1
        assert unfinished(book) == (None, False)
        # With crowds of three it is fine, and both are on record.
        publish(grouped(FEBRUARY, k=3, month=2), tmp_path / "february", ledger=book)
        assert judge_entries(read_ledger(book)).holds

    def test_one_who_leaves_must_not_leave_alone(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(grouped(JANUARY), tmp_path / "january", ledger=book)
        gone = grouped(JANUARY[1:], ids=[f"house {i}" for i in range(1, N)], month=2)
        with pytest.raises(
            GuaranteeNotMetError, match=r"smallest has 1, 3 were promised; 1 of them are in earlier rel"
        ):
            publish(gone, tmp_path / "february", ledger=book)
        three = grouped(JANUARY[3:], ids=[f"house {i}" for i in range(3, N)], month=2)
        publish(three, tmp_path / "february", ledger=book)

    def test_one_who_comes_must_not_come_alone(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(grouped(JANUARY), tmp_path / "january", ledger=book)
        with pytest.raises(GuaranteeNotMetError, match="smallest has 1, 3 were promised; series positions 12"):
            publish(grouped([*JANUARY, 1], month=2), tmp_path / "february", ledger=book)
        publish(grouped([*JANUARY, 2, 2, 2], month=2), tmp_path / "february", ledger=book)

    def test_other_subjects_and_the_same_groups_pass(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(grouped(JANUARY), tmp_path / "a", ledger=book)
        publish(grouped(FEBRUARY, ids=range(N)), tmp_path / "b", ledger=book)
        publish(grouped(1 - JANUARY, month=3), tmp_path / "c", ledger=book)
        assert len(read_ledger(book)) == 3

    def test_the_kind_of_release_does_not_matter(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        panel = Panel(RNG.gamma(2.0, size=(30, 6)), ids=[f"house {i}" for i in range(30)])
        publish(Microaggregation(k=5).anonymize(panel), tmp_path / "a", ledger=book)
        publish(Microaggregation(k=5, form="profiles").anonymize(panel), tmp_path / "b", ledger=book)
        other = Panel(RNG.gamma(2.0, size=(30, 6)), ids=panel.ids)
        with pytest.raises(GuaranteeNotMetError, match="Together with 2 earlier"):
            publish(Microaggregation(k=5, form="profiles").anonymize(other), tmp_path / "c", ledger=book)

    def test_the_order_of_series_does_not_matter(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        order = RNG.permutation(N)
        publish(grouped(JANUARY, k=6), tmp_path / "a", ledger=book)
        publish(grouped(JANUARY[order], [f"house {i}" for i in order], k=6), tmp_path / "b", ledger=book)

    def test_groups_kept_by_a_column_pass(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        panel = Panel(RNG.gamma(2.0, size=(30, 6)))
        first = Microaggregation(k=5).anonymize(panel)
        publish(first, tmp_path / "a", ledger=book)
        again = Panel(RNG.gamma(2.0, size=(30, 6)), attributes={"kept": first.private.groups})
        publish(Microaggregation(k=5, within="kept").anonymize(again), tmp_path / "b", ledger=book)

    def test_subjects_are_known_by_their_own_text_or_that_of_their_series(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(grouped(JANUARY, k=4), tmp_path / "a", ledger=book)
        candidate = grouped(FEBRUARY, ids=range(N), k=4)
        original = candidate.private.original
        subjects = [f"house {i}" for i in range(N)]
        named = Panel(original.values, ids=original.ids, times=original.times, subjects=subjects)
        private = dataclasses.replace(candidate.private, original=named)
        named = dataclasses.replace(candidate, private=private)
        with pytest.raises(GuaranteeNotMetError, match="smallest has 3, 4 were promised"):
            publish(named, tmp_path / "b", ledger=book)
        assert not (tmp_path / "b").exists()

    def test_series_that_come_back_without_their_subjects_are_not_judged(self, tmp_path):
        book, rng = tmp_path / "ledger.jsonl", np.random.default_rng(5)
        ids = [f"meter {i}" for i in range(12)]
        houses = Panel(rng.gamma(2.0, size=(12, 6)), ids=ids, subjects=[f"house {i}" for i in range(12)])
        meters = Panel(rng.gamma(2.0, size=(12, 6)), ids=ids)
        for first, second in ((houses, meters), (meters, houses)):
            publish(Microaggregation(k=3).anonymize(first), tmp_path / "a", ledger=book)
            with pytest.raises(GuaranteeNotMetError, match="a series that is in both has another subject in each"):
                publish(Microaggregation(k=3).anonymize(second), tmp_path / "b", ledger=book)
            shutil.rmtree(tmp_path / "a")
            book.unlink()
            book.with_name(f"{book.name}.key").unlink(missing_ok=True)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (range(1, N + 1), [float(i) for i in range(1, N + 1)]),
            (range(1, N + 1), [f"{i}.0" for i in range(1, N + 1)]),
            ([f"house {i}" for i in range(N)], [f" house {i}\t" for i in range(N)]),
            ([f"h\u00f4tel {i}" for i in range(N)], [f"ho\u0302tel {i}" for i in range(N)]),
        ],
        ids=["floating", "floating as text", "spaces", "accents"],
    )
    def test_another_spelling_of_the_same_subjects_does_not_pass(self, tmp_path, first, second):
        book = tmp_path / "ledger.jsonl"
        publish(grouped(JANUARY, ids=first, k=4), tmp_path / "a", ledger=book)
        with pytest.raises(GuaranteeNotMetError, match="smallest has 3, 4 were promised"):
            publish(grouped(FEBRUARY, ids=second, k=4), tmp_path / "b", ledger=book)
        assert not (tmp_path / "b").exists()

    def test_what_is_no_spelling_stays_apart(self):
        different = ["a7", "A7", "07", "7", "7.5", 7.25, "7.00", "7,0", "a 7", True, None, float("inf"), Decimal("nan")]
        assert len({text_of(subject) for subject in different}) == len(different)
        alike = [7, 7.0, np.float32(7), np.int64(7), Decimal("7.00"), "7", "7.0", " 7\n", "7\u00a0"]
        assert {text_of(subject) for subject in alike} == {"7"}
        assert text_of(-0.0) == text_of("-0.0") == text_of(0) == "0"
        assert text_of(unicodedata.normalize("NFD", "\u00c5sa")) == "\u00c5sa"

    def test_the_aggregate_rule_promises_a_crowd_too(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        rule = [AggregateRule(size=6, share=1.0)]
        publish(grouped(JANUARY), tmp_path / "a", ledger=book, require=rule)
        with pytest.raises(GuaranteeNotMetError, match="smallest has 3, 6 were promised"):
            publish(grouped(FEBRUARY), tmp_path / "b", ledger=book, require=rule)

    def test_patterns_are_intersected_as_well_as_envelopes(self):
        people = np.arange(12, dtype=np.uint64)
        one = np.zeros(12, dtype=np.int64)

        def with_words(words):
            return GroupMembership(people, one, np.asarray(words), k=6, p=3, positions=np.arange(12))

        refuse_together([with_words(JANUARY)], with_words(JANUARY))
        refuse_together([with_words(JANUARY)], with_words(FEBRUARY))
        thirds = np.repeat([0, 1, 2], 4)
        with pytest.raises(
            GuaranteeNotMetError, match=r"in subgroups of one pattern that are too small: .* has 2, 3 were"
        ):
            refuse_together([with_words(JANUARY)], with_words(thirds))

    def test_envelopes_of_two_months(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        panels = [Panel(np.random.default_rng(s).random((24, 5)), ids=[f"h{i}" for i in range(24)]) for s in (1, 2)]
        first, second = (KP(k=6, p=3, algorithm="naive").anonymize(panel) for panel in panels)
        publish(first, tmp_path / "a", ledger=book)
        publish(first, tmp_path / "again", ledger=book)
        with pytest.raises(GuaranteeNotMetError, match="Together with 2 earlier"):
            publish(second, tmp_path / "b", ledger=book)


class TestSeveralSeries:
    """Two meters of each of twelve households: the first in one group of households, the second in another."""

    def meters(self, first, second, month, k=3, ids=None, subjects=None):
        groups = np.concatenate([first, np.asarray(second) + 10])
        ids = [f"meter {i}" for i in range(2 * N)] if ids is None else ids
        made = grouped(groups, ids, k=k, month=month)
        subjects = [f"house {i % N}" for i in range(2 * N)] if subjects is None else subjects
        original = made.private.original
        named = Panel(original.values, ids=ids, times=original.times, subjects=subjects)
        published = Panel(made.published.values, times=original.times, subjects=named.subject_codes)
        return dataclasses.replace(made, published=published, private=dataclasses.replace(made.private, original=named))

    def test_the_same_groups_again_pass_though_no_two_subjects_are_in_all_the_same(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        shifted = np.roll(np.repeat(np.arange(4), 3), 1)
        for month in (1, 2, 3):
            publish(self.meters(np.repeat(np.arange(4), 3), shifted, month), tmp_path / str(month), ledger=book)
        found = judge_entries(read_ledger(book))
        assert (found.outcome, found.smallest, found.promised) == ("holds", 3, 3)

    def test_other_groups_are_refused_and_subjects_are_counted(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(self.meters(JANUARY, JANUARY, 1, k=4), tmp_path / "a", ledger=book)
        with pytest.raises(GuaranteeNotMetError, match=r"leaves 12 subject\(s\) in crowds .* has 3, 4 were promised"):
            publish(self.meters(FEBRUARY, JANUARY, 2, k=4), tmp_path / "b", ledger=book)
        publish(self.meters(FEBRUARY, JANUARY, 2, k=3), tmp_path / "b", ledger=book)
        assert judge_entries(read_ledger(book)).smallest == 3

    def test_series_that_are_not_published_again_are_known_by_their_subject(self, tmp_path):
        # Days under names of their own: whoever knows one of January and one of February intersects their groups.
        book = tmp_path / "ledger.jsonl"
        days = [f"day {i}" for i in range(2 * N)]
        publish(self.meters(JANUARY, JANUARY, 1, k=4), tmp_path / "a", ledger=book)
        with pytest.raises(GuaranteeNotMetError, match="has 3, 4 were promised"):
            publish(self.meters(JANUARY, FEBRUARY, 2, k=4, ids=days), tmp_path / "b", ledger=book)
        publish(self.meters(JANUARY, JANUARY, 2, k=4, ids=days), tmp_path / "b", ledger=book)

    def test_one_release_with_several_series_is_as_it_is_alone(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(self.meters(JANUARY, FEBRUARY, 1), tmp_path / "a", ledger=book)
        assert judge_entries(read_ledger(book)).smallest == 6


class TestKeyed:
    """A meter of one household is exchanged, and its group stays: only names tell."""

    def months(self):
        ids = [f"meter {i}" for i in range(N)]
        subjects = [f"house {i}" for i in range(N)]
        for month, names in ((1, ids), (2, [*ids[:-1], "meter 99"])):
            made = grouped(JANUARY, names, month=month)
            original = made.private.original
            named = Panel(original.values, ids=names, times=original.times, subjects=subjects)
            yield dataclasses.replace(made, private=dataclasses.replace(made.private, original=named))

    def test_keyed_releases_are_judged_as_joined(self, tmp_path):
        january, february = self.months()
        for kind in ("random", "keyed"):
            book, options = tmp_path / f"{kind}.jsonl", {"pseudonyms": kind, "private": tmp_path / kind}
            first = publish_whole(january, tmp_path / f"{kind} 1", ledger=book, **options)
            if kind == "random":
                second = publish_whole(february, tmp_path / f"{kind} 2", ledger=book, **options)
                assert not set(first.published.ids) & set(second.published.ids)
                assert judge_entries(read_ledger(book)).holds
                continue
            with pytest.raises(GuaranteeNotMetError, match="has 1, 3 were promised"):
                publish_whole(february, tmp_path / f"{kind} 2", ledger=book, **options)
            # What it would have told, by names alone: of one group a single series ends.
            second = publish_whole(february, tmp_path / f"{kind} 2", **options)
            gone = [name not in set(second.published.ids) for name in first.published.ids.tolist()]
            assert sum(gone) == 1
            assert not SequenceAnonymity(3).check([first.published, second.published]).holds

    def test_a_name_that_changes_hands_is_not_judged(self, tmp_path):
        book, ids = tmp_path / "ledger.jsonl", [f"meter {i}" for i in range(N)]
        options = {"pseudonyms": "keyed", "private": tmp_path / "keep", "ledger": book}
        january = grouped(JANUARY, ids)
        publish(january, tmp_path / "a", **options)
        february = grouped(FEBRUARY, ids, month=2)
        original = february.private.original
        tenants = Panel(original.values, ids=ids, times=original.times, subjects=[f"tenant {i}" for i in range(N)])
        february = dataclasses.replace(february, private=dataclasses.replace(february.private, original=tenants))
        with pytest.raises(
            GuaranteeNotMetError,
            match=r"this one and release 1: a series that is in both has another subject in each",
        ):
            publish(february, tmp_path / "b", **options)
        with pytest.raises(GuaranteeNotMetError, match="has another subject in each"):
            publish(february, tmp_path / "b", ledger=book)  # with random names they may be the same people all the same


class TestWhatCannotBeJudged:
    def nlk(self, ids=None):
        return NLK(n=1, l=3, k=4).anonymize(Panel(RNG.random((20, 5)), ids=ids))

    def test_nlk_is_refused_beside_others_of_its_period_and_of_another_kind(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(self.nlk(), tmp_path / "a", ledger=book)
        with pytest.raises(
            GuaranteeNotMetError,
            match=r"1 earlier release\(s\) of the same subjects, the first is release 1, and cannot judge what they "
            r"reveal together \(releases under \(n, l, k\)-anonymity are judged where their periods do not overlap\)",
        ):
            publish(self.nlk(), tmp_path / "b", ledger=book)
        with pytest.raises(GuaranteeNotMetError, match=r"\(release 1: nlk-anonymity promises no crowd"):
            publish(Microaggregation(k=5).anonymize(Panel(RNG.random((20, 5)))), tmp_path / "c", ledger=book)
        publish(self.nlk(ids=[f"other {i}" for i in range(20)]), tmp_path / "d", ledger=book)

    def test_crowds_of_series(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        values = np.repeat([[1.0], [2.0]], 4, axis=0)
        panel = Panel(values, subjects=np.repeat(np.arange(4), 2))
        published = Panel(values, subjects=np.repeat(np.arange(4), 2))
        rows = KAnonymity(4, per="series")
        candidate = Candidate(published, rows, Recipe("microaggregation", {}), Private(panel, np.repeat([0, 1], 4)))
        publish(candidate, tmp_path / "a", ledger=book)
        assert read_ledger(book)[0].members.why_not == "its crowds count series, not subjects"

    def test_noise_promises_no_crowd(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        panel = Panel(RNG.random((20, 5)))
        noisy = Candidate(panel, NoGuarantee(), Recipe("noise", {}), Private(panel, np.arange(20)))
        risk = Risk(0.0, Interval.exactly(0.0), 0.0, Interval.exactly(0.0), n_targets=1)
        judged = {"risks": {"test": (risk, "test")}, "risk_limit": 1.0}
        publish(noisy, tmp_path / "a", ledger=book, **judged)
        with pytest.raises(GuaranteeNotMetError, match="this one: none promises no crowd"):
            publish(noisy, tmp_path / "b", ledger=book, **judged)

    def events(self, **columns):
        frame = pl.DataFrame({"time": [0] * 6, "age": range(6), "result": list("abcabc")} | columns)
        named = {"id": "who"} if "who" in columns else {}
        return Reposition(l=2, window=1, seed=1).anonymize(Events(frame, sensitive="result", quasi=["age"], **named))

    def test_events_need_to_say_whose_they_are(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        with pytest.raises(ParameterError, match="The ledger cannot tell whose events these are"):
            publish(self.events(), tmp_path / "a", ledger=book)
        assert not (tmp_path / "a").exists()
        publish(self.events(who=[f"person {i}" for i in range(6)]), tmp_path / "a", ledger=book)
        publish(self.events(who=[f"person {i}" for i in range(6, 12)]), tmp_path / "b", ledger=book)
        with pytest.raises(GuaranteeNotMetError, match="this one: events are grouped separately in each snapshot"):
            publish(self.events(who=[f"person {i}" for i in range(5, 11)]), tmp_path / "c", ledger=book)

    def test_subjects_of_one_text(self):
        with pytest.raises(InputError, match="12 series have only 11 different ids"):
            grouped(JANUARY, ids=["1", 1, *range(2, 12)])
