"""KP that publishes ranges of some instants and letters of others: section 6 of the paper."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from shoal import KP, KAnonymity, KPAnonymity, Panel, load_release, publish, verify
from shoal.attacks import Linkage
from shoal.errors import ParameterError
from shoal.features.sax import letters, text
from shoal.methods.instants import canonical, positions
from shoal.queries import complete, prepare
from shoal.utility import PatternLoss, ValueLoss

TIMES = np.datetime64("2024-01-01T00:00") + np.arange(8) * np.timedelta64(1, "h")


def walks(n, seed=1, length=8):
    return np.random.default_rng(seed).normal(size=(n, length)).cumsum(axis=1)


def spelled(chosen):
    return canonical("envelope_instants", chosen)


class TestChoices:
    @pytest.mark.parametrize(
        ("chosen", "expected"),
        [
            ("0:12", "0:12"),
            (" 0:12 , 18,20:24", "0:12,18,20:24"),
            (":3,2:5", "0:5"),
            ("5,4,3,5", "3:6"),
            ("7", "7"),
            ("3:2,1", "1"),
            ([18, 0, 1, 2], "0:3,18"),
            (range(3), "0:3"),
            (np.array([4, 4]), "4"),
            (slice(2, 5), "2:5"),
            (slice(5), "0:5"),
        ],
    )
    def test_they_have_one_spelling(self, chosen, expected):
        assert spelled(chosen) == expected

    @given(st.sets(st.integers(0, 60), min_size=1))
    def test_they_read_back_as_they_were(self, chosen):
        assert positions("x", spelled(sorted(chosen)), 61).tolist() == sorted(chosen)
        assert spelled(spelled(sorted(chosen))) == spelled(sorted(chosen))

    @pytest.mark.parametrize(
        ("chosen", "message"),
        [
            ("", "envelope_instants chooses no instant.*omit it for all"),
            ([], "chooses no instant"),
            ("4:4", "chooses no instant"),
            ("6:", r"the form of positions counted from 0, such as 0:12,18 \(0 to 11, and 18\)"),
            ("-1", "the form of positions"),
            ("0:6:2", "the form of positions"),
            ("noon", "the form of positions"),
            ("0:99999999999", "beyond position 10000000"),
            ([0.5], "takes positions counted from 0, whole numbers"),
            ([-1], "takes positions counted from 0, whole numbers"),
            ([[1]], "takes positions counted from 0, whole numbers"),
            ([True], "takes positions counted from 0, whole numbers"),
            (slice(3, None), "as a slice needs an end, and takes no step"),
            (slice(0, 9, 2), "as a slice needs an end, and takes no step"),
            (slice(-3, 9), "as a slice needs an end"),
        ],
    )
    def test_mistakes_are_refused(self, chosen, message):
        with pytest.raises(ParameterError, match=message):
            KP(k=4, p=2, envelope_instants=chosen)

    def test_no_instant_in_common_is_refused_with_the_reason(self):
        with pytest.raises(ParameterError, match=r"no instant in common: nothing would tie letters to values.*share"):
            KP(k=4, p=2, envelope_instants="0:4", pattern_instants="4:8")

    def test_beyond_the_panel_is_refused(self):
        with pytest.raises(ParameterError, match=r"pattern_instants=0:9 goes up to position 8; .* 8 instants, 0 to 7"):
            KP(k=4, p=2, pattern_instants="0:9").anonymize(Panel(walks(20)))

    def test_parameters_are_text_and_build_the_same_method(self):
        method = KP(k=4, p=2, envelope_instants=[0, 1, 2, 5], pattern_instants=slice(2, 8))
        assert method.parameters["envelope_instants"] == "0:3,5"
        assert method.parameters["pattern_instants"] == "2:8"
        assert KP(**json.loads(json.dumps(method.parameters))) == method


@pytest.mark.parametrize("algorithm", ["kapra", "naive"])
class TestWhatIsPublished:
    def test_it_is_cut_out_of_the_full_release(self, algorithm):
        panel = Panel(walks(150), times=TIMES)
        whole = KP(k=6, p=3, algorithm=algorithm).anonymize(panel)
        method = KP(k=6, p=3, algorithm=algorithm, envelope_instants="0:4", pattern_instants="2,3,6")
        part = method.anonymize(panel)
        assert_array_equal(part.published.low, whole.published.low[:, :4])
        assert_array_equal(part.published.high, whole.published.high[:, :4])
        assert_array_equal(part.published.levels, whole.published.levels)
        assert list(part.published.patterns) == [word[2:4] + word[6] for word in whole.published.patterns]
        assert_array_equal(part.published.times, TIMES[:4])
        assert_array_equal(part.published.pattern_times, TIMES[[2, 3, 6]])
        assert part.published.word_instants == 8
        assert_array_equal(part.private.groups, whole.private.groups)
        assert_array_equal(part.originals.times, TIMES[:4])
        assert part.originals.values.shape == part.curves.values.shape

    def test_k_and_p_hold_whatever_is_left_out(self, algorithm):
        for seed in range(40):
            rng = np.random.default_rng(seed)
            panel = Panel(walks(60, seed, 5))
            both = int(rng.integers(5))
            some = [sorted({both, *np.flatnonzero(rng.random(5) < 0.4).tolist()}) for _ in range(2)]
            method = KP(k=5, p=2, algorithm=algorithm, envelope_instants=some[0], pattern_instants=some[1])
            assert method.anonymize(panel).check().holds

    def test_estimates_tell_series_no_further_apart(self, algorithm):
        panel = Panel(walks(200, 3))
        method = KP(k=6, p=3, algorithm=algorithm, envelope_instants="0:5", pattern_instants="3:8")
        candidate = method.anonymize(panel)
        # Estimated ranges follow from the word too, so those of one group differ between words, each of p or more.
        found = KPAnonymity(3, 3).check(complete(candidate.published))
        assert found.holds
        assert found.measured == candidate.check().measured


def test_words_of_different_levels_stay_different_when_cut_to_the_same_letters():
    rng = np.random.default_rng(2)
    panel = Panel(rng.normal(size=(300, 5)).cumsum(axis=1))
    candidate = KP(k=30, p=3, pattern_instants="0").anonymize(panel)
    published = candidate.published
    by_word = {(*low, word) for low, word in zip(published.low.tolist(), published.patterns, strict=True)}
    by_level = {
        (*low, word, level)
        for low, word, level in zip(published.low.tolist(), published.patterns, published.levels.tolist(), strict=True)
    }
    assert len(by_level) > len(by_word)  # somewhere the same letter is of words of two levels
    assert candidate.check().holds
    assert candidate.check().measured >= 3


def test_words_are_the_series_own_unless_naive_joins_or_nobody_could_be_suppressed():
    def own(x, candidate):
        rows = np.arange(len(x)) if candidate.private.rows is None else candidate.private.rows
        levels = candidate.published.levels
        words = [text(letters(x[[row]], int(level)))[0] for row, level in zip(rows, levels, strict=True)]
        return np.array(words) == np.array(candidate.published.patterns)

    x = walks(300, 5, 6)
    assert own(x, KP(words="own", k=6, p=3).anonymize(Panel(x))).all()
    assert not own(x, KP(words="own", k=6, p=3, algorithm="naive").anonymize(Panel(x))).all()
    few = np.array([[1.0, 2.0, 3.0]] * 3 + [[3.0, 2.0, 1.0]])
    assert not own(few, KP(words="own", k=4, p=2).anonymize(Panel(few))).all()


@pytest.mark.parametrize("times", [TIMES, np.arange(8)])
@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_a_release_is_written_verified_read_back_and_asked(tmp_path, times, file_format):
    panel = Panel(walks(120), times=times)
    method = KP(k=6, p=3, envelope_instants="0:4", pattern_instants="2:7")  # of the last one nothing
    release = publish(method.anonymize(panel), tmp_path / "out", format=file_format)
    assert verify(tmp_path / "out").holds
    read = load_release(tmp_path / "out").published
    assert read.digest() == release.published.digest()
    assert read.word_instants == 8
    assert release.certificate["columns"]["word_instants"] == 8
    assert release.certificate["counts"]["instants"] == 4
    assert release.certificate["method"]["parameters"]["pattern_instants"] == "2:7"
    assert_array_equal(prepare(read).times, panel.times[:7])


def test_attacks_and_measures_take_it():
    panel = Panel(walks(120))
    candidate = KP(words="own", k=6, p=3, envelope_instants="0:4", pattern_instants="2:8").anonymize(panel)
    whole = KP(words="own", k=6, p=3).anonymize(panel)
    rows = candidate.private.rows
    risks = [Linkage().attack(panel, c.published, rows=rows) for c in (candidate, whole)]
    assert risks[0].highest <= 1 / 3
    assert risks[0].success <= risks[1].success  # who sees less finds less
    assert risks[0].n_missed == 0
    assert ValueLoss().measure(panel, candidate.published).value > 0.0
    assert PatternLoss().measure(panel, candidate.published, rows=rows).value > 0.0
    assert KAnonymity(3).check(candidate.published).holds
