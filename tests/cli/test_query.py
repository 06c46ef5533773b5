"""`shoal query`: the same count as in memory, one line per mistake."""

import json

import numpy as np
import pytest

from shoal import KP, Microaggregation, Panel, load_release, publish
from shoal.cli.app import run
from shoal.queries import Combined, Difference, PatternRange, PatternSimilarity, RangeCount

TIMES = np.datetime64("2024-01-01T00:00") + np.arange(6) * np.timedelta64(1, "h")
EIGHT, NINE = "2024-01-01T02:00", "2024-01-01T03:00"


@pytest.fixture
def released(tmp_path, rng):
    panel = Panel(rng.gamma(2.0, size=(40, 6)), times=TIMES)
    candidate = Microaggregation(k=4).anonymize(panel)
    publish(candidate, tmp_path / "out")
    return tmp_path / "out", candidate.published


def ask(capsys, *arguments):
    code = run(["query", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_ranges_are_counted_as_in_memory(capsys, released):
    folder, published = released
    code, out, _ = ask(capsys, folder, "--range", f"{EIGHT}=1..2.5", "--range", f"{NINE}=..3", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["by"] == "duckdb"
    assert answer["count"] == RangeCount({EIGHT: (1.0, 2.5), NINE: (-np.inf, 3.0)}).count(published)
    assert answer["share"] == answer["count"] / 40


def test_shapes_and_both_together_are_counted_as_in_memory(capsys, released):
    folder, published = released
    shape = PatternRange([Difference(EIGHT, NINE, 0.0, np.inf)])
    _, out, _ = ask(capsys, folder, "--difference", f"{EIGHT},{NINE}=0..", "--json")
    assert json.loads(out)["count"] == shape.count(published)
    _, out, _ = ask(capsys, folder, "--difference", f"{EIGHT},{NINE}=0..", "--range", f"{EIGHT}=1..", "--json")
    assert json.loads(out)["count"] == Combined(RangeCount({EIGHT: (1.0, np.inf)}), shape).count(published)
    _, out, _ = ask(capsys, folder, "--like", "1,2,3,4,5,6", "--within", "0.5", "--json")
    assert json.loads(out)["count"] == PatternSimilarity([1, 2, 3, 4, 5, 6], within=0.5).count(published)


def test_of_several_channels_each_condition_names_one(capsys, tmp_path, rng):
    panel = Panel(rng.gamma(2.0, size=(60, 6, 2)), times=TIMES, channels=("kwh", "degrees"))
    candidate = KP(k=6, p=3).anonymize(panel)
    publish(candidate, tmp_path / "out")
    shape = [1.0, 2.0, 3.0, 3.0, 2.0, 1.0]
    asked = {
        RangeCount([(EIGHT, 1.0, 2.5, "kwh"), (EIGHT, 0.0, 2.0, "degrees")]): [
            *("--range", f"{EIGHT}@kwh=1..2.5", "--range", f"{EIGHT}@degrees=0..2")
        ],
        Combined(RangeCount([(NINE, 1.0, np.inf, "kwh")]), PatternSimilarity(shape, 0.9, "degrees")): [
            *("--range", f"{NINE}@kwh=1..", "--like", "1,2,3,3,2,1@degrees", "--within", "0.9")
        ],
        PatternRange([Difference(EIGHT, NINE, 0.0, np.inf, "kwh")]): ["--difference", f"{EIGHT},{NINE}@kwh=0.."],
    }
    for query, options in asked.items():
        code, out, _ = ask(capsys, tmp_path / "out", *options, "--json")
        assert code == 0
        assert json.loads(out)["count"] == pytest.approx(query.count(candidate.published))
    for options, words in {
        f"{EIGHT}=1..": "the data has 2 channels. Name one: kwh, degrees",
        f"{EIGHT}@heat=1..": "no channel 'heat'",
    }.items():
        code, _, err = ask(capsys, tmp_path / "out", "--range", options)
        assert code == 2
        assert words in err


def test_the_only_channel_may_be_named_and_another_is_refused(capsys, released):
    folder, published = released
    code, out, _ = ask(capsys, folder, "--range", f"{EIGHT}@value=1..2.5", "--json")
    assert json.loads(out)["count"] == RangeCount({EIGHT: (1.0, 2.5)}).count(published)
    code, _, err = ask(capsys, folder, "--range", f"{EIGHT}@heat=1..2.5")
    assert (code, "no channel 'heat'. Channels: value" in err) == (2, True)


def test_a_person_gets_a_table(capsys, released):
    code, out, _ = ask(capsys, released[0], "--range", f"{EIGHT}=0..")
    assert code == 0
    assert "count    40 (number among 40 published)" in out
    assert "share    100 %" in out


class TestWhatIsNotPublished:
    @pytest.fixture
    def customised(self, tmp_path, rng):
        panel = Panel(rng.gamma(2.0, size=(80, 6)), times=TIMES)
        method = KP(k=6, p=3, envelope_instants="0:3", pattern_instants="2:5")
        publish(method.anonymize(panel), tmp_path / "kp")
        return tmp_path / "kp"

    def test_published_ranges_are_counted_in_the_table(self, capsys, customised):
        _, out, _ = ask(capsys, customised, "--range", f"{EIGHT}=1..2.5", "--json")
        answer = json.loads(out)
        assert (answer["by"], answer["estimated"]) == ("duckdb", False)
        assert answer["count"] == pytest.approx(
            RangeCount({EIGHT: (1.0, 2.5)}).count(load_release(customised).published), rel=1e-9
        )

    @pytest.mark.parametrize(
        "options",
        [
            ["--range", f"{NINE}=1..2.5"],
            ["--difference", f"2024-01-01T00:00,{NINE}=0.."],
            ["--like", "1,2,3,4,5", "--within", "0.5"],
            ["--range", f"{NINE}=1..2.5", "--difference", f"{EIGHT},{NINE}=0.."],
        ],
    )
    def test_others_are_estimated_and_the_answer_says_so(self, capsys, customised, options):
        code, out, _ = ask(capsys, customised, *options)
        assert code == 0
        assert "estimated  some of the ranges or letters you asked for are not published" in out
        _, out, _ = ask(capsys, customised, *options, "--json")
        answer = json.loads(out)
        assert (answer["by"], answer["estimated"]) == ("memory", True)

    def test_published_letters_are_not(self, capsys, customised):
        _, out, _ = ask(capsys, customised, "--difference", f"{EIGHT},{NINE}=0..", "--json")
        assert json.loads(out)["estimated"] is False

    def test_an_instant_of_which_nothing_is_published_is_refused(self, capsys, customised):
        code, _, error = ask(capsys, customised, "--range", "2024-01-01T05:00=1..2.5")
        assert code == 2
        assert "Ask for published instants" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "The query is empty"),
        (["--range", "foo"], "A condition must have the form TIME=LOW..HIGH"),
        (["--difference", f"{EIGHT}=1..2"], "A condition must have the form TIME,TIME=LOW..HIGH"),
        (["--range", f"{EIGHT}=a..b"], "text where a number is needed"),
        (["--range", f"{EIGHT}=2..1"], "the lower one first"),
        (["--range", "2024-01-01T02:30=1..2"], "instants that the data does not have"),
        (["--range", "yesterday=1..2"], "a whole number, a datetime or its ISO text"),
        (["--within", "0.1"], "--like, which is not given"),
        (["--like", "1,2,3,4,5,6"], "--like and --within"),
        (["--like", "1,2", "--within", "0.1"], "The sequence has 2 values"),
    ],
)
def test_mistakes_are_told_in_one_line(capsys, released, options, message):
    code, out, error = ask(capsys, released[0], *options)
    assert (code, out) == (2, "")
    assert message in error
    assert error.count("\n") == 1
