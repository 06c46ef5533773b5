"""`shoal utility`: what a release is still good for, as its publisher would ask."""

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal import KP, NLK, Microaggregation, Panel, publish, read_panel, utility
from shoal.cli.app import run
from shoal.process.usefulness import PURPOSES, Asked, asked_for, usual_measures

METHODS = {
    "values": Microaggregation(k=5),
    "profiles": Microaggregation(k=5, form="profiles"),
    "values by instant": NLK(n=2, l=5, k=4),
    "envelopes": KP(k=6, p=2),
}
EXPORTED = [getattr(utility, name) for name in utility.__all__]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """41 meters over 4 days."""
    path = tmp_path_factory.mktemp("meters") / "x.parquet"
    arguments = ["--n", "41", "--days", "4", "--step", "2h", "--seed", "1"]
    assert run(["simulate", "meters", "-o", str(path), *arguments]) == 0
    return path


@pytest.fixture(scope="module")
def released(table, tmp_path_factory):
    """For each form a candidate and its release, with the private folder."""
    place = tmp_path_factory.mktemp("releases")
    panel = read_panel(table)
    found = {}
    for name, method in METHODS.items():
        candidate = method.anonymize(panel)
        publish(candidate, place / name, private=place / "keep")
        found[name] = (candidate, place / name, place / "keep")
    return found


@pytest.fixture(scope="module")
def out(released):
    return released["values"][1]


@pytest.fixture(scope="module")
def keep(released):
    return released["values"][2]


def ask(capsys, *arguments):
    capsys.readouterr()
    code = run(["utility", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture(scope="module")
def usual(table, released):
    """For each form what is found without asking for anything, with the private folder and without."""

    def measured(*arguments):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert run(["utility", str(table), *map(str, arguments), "--json"]) == 0
        return by_measure(json.loads(printed.getvalue()))

    return {
        form: (measured(folder, "--private", private), measured(folder))
        for form, (_, folder, private) in released.items()
    }


def by_measure(found):
    return {(m["name"], json.dumps(m["parameters"])): m for m in found["measures"]}, found


def figures(capsys, *arguments):
    code, out, error = ask(capsys, *arguments, "--json")
    assert (code, error) in ((0, ""), (1, ""))
    found = json.loads(out)
    return by_measure(found)


class TestWhatIsCompared:
    @pytest.mark.parametrize("form", METHODS)
    def test_figures_are_those_of_the_candidate_before_names_and_order_were_lost(self, released, usual, form):
        candidate = released[form][0]
        found, whole = usual[form][0]
        assert whole["paired"] == candidate.originals.n_series
        assert whole["notes"] == []
        n_compared = 0
        for asked in usual_measures():
            figure = found[asked.measure.name, json.dumps(asked.measure.parameters)]
            if not figure["applies"]:
                continue
            if asked.measure.judges == "envelopes" and form == "profiles":
                continue  # the process hands over profiles themselves, which these measures refuse
            expected = candidate.measure(asked.measure).value
            assert figure["value"] == pytest.approx(expected, rel=6e-3, abs=1e-9), asked.label
            n_compared += 1
        assert n_compared > 20

    @pytest.mark.parametrize("form", METHODS)
    def test_the_whole_is_compared_without_knowing_who_is_who(self, usual, form):
        (with_map, _), (without, whole) = usual[form]
        assert whole["paired"] is None
        n_compared = 0
        for asked in usual_measures():
            key = asked.measure.name, json.dumps(asked.measure.parameters)
            if asked.measure.judges == "events":
                continue
            if asked.measure.matched:
                assert not without[key]["applies"]
                assert "--private DIR" in without[key]["reason"]
            elif with_map[key]["applies"]:
                assert without[key] == with_map[key]
                n_compared += 1
        assert n_compared >= 8

    def test_series_that_were_suppressed_are_left_out(self, capsys, tmp_path):
        values = np.array([[1.0, 2.0, 3.0, 4.0]] * 4 + [[4.0, 1.0, 3.5, 0.0]]) + np.arange(5)[:, None] / 8
        path = tmp_path / "x.parquet"
        pl.DataFrame({"id": list("abcde")} | {str(t): values[:, t] for t in range(4)}).write_parquet(path)
        candidate = KP(words="own", k=4, p=2).anonymize(read_panel(path))
        assert candidate.published.n_series == 4
        publish(candidate, tmp_path / "out", private=tmp_path / "keep")
        asked = ["--measure", "normalized-divergence", "--measure", "pattern-loss"]
        found, whole = figures(capsys, path, tmp_path / "out", "--private", tmp_path / "keep", *asked)
        assert whole["paired"] == 4
        expected = [candidate.measure(m).value for m in (utility.NormalizedDivergence(), utility.PatternLoss())]
        assert [figure["value"] for figure in found.values()] == pytest.approx(expected, rel=6e-3)

    def test_several_values_per_instant_and_csv(self, capsys, tmp_path):
        values = np.random.default_rng(1).normal(size=(12, 6, 2))
        frame = pl.DataFrame(
            {
                "id": np.repeat([f"m{i}" for i in range(12)], 6),
                "time": np.tile(np.datetime64("2024-01-01", "us") + np.arange(6) * np.timedelta64(6, "h"), 12),
                "heat": values[:, :, 0].ravel(),
                "power": values[:, :, 1].ravel(),
            }
        )
        frame.write_parquet(tmp_path / "x.parquet")
        columns = ["--value", "heat", "--value", "power"]
        place = ["-o", str(tmp_path / "out"), "--private", str(tmp_path / "keep"), "--format", "csv"]
        assert run(["anonymize", str(tmp_path / "x.parquet"), *columns, "--k", "3", *place]) == 0
        asked = ["--private", tmp_path / "keep", "--measure", "signal-to-noise", "--measure", "mean-day-error"]
        found, _ = figures(capsys, tmp_path / "x.parquet", tmp_path / "out", *columns, *asked)
        assert all(figure["applies"] for figure in found.values())
        code, _, error = ask(capsys, tmp_path / "x.parquet", tmp_path / "out", "--value", "heat", *asked)
        assert code == 2
        assert "The release has 2 value(s) per instant, the table as read 1. Name the same columns" in error

    def test_a_coarser_release_is_compared_in_its_own_steps(self, capsys, table, tmp_path):
        panel = read_panel(table)
        candidate = Microaggregation(k=5).anonymize(read_panel(table, align="resample:4h"))
        publish(candidate, tmp_path / "out", private=tmp_path / "keep")
        code, _, error = ask(capsys, table, tmp_path / "out")
        assert code == 2
        n = panel.n_instants
        assert f"The release has {n // 2} instants, the table as read {n}; {n // 2} are the same." in error
        assert (
            "Read the table as for the release, or in the steps of the release with --align resample:4h:mean." in error
        )
        code, out, _ = ask(capsys, table, tmp_path / "out", "--align", "resample:4h", "--private", tmp_path / "keep")
        assert code == 0
        assert "note" not in out

    def test_a_table_read_without_its_time_zone_has_no_instant_in_common(self, capsys, table, tmp_path):
        publish(Microaggregation(k=5).anonymize(read_panel(table, timezone="Europe/Bratislava")), tmp_path / "out")
        code, _, error = ask(capsys, table, tmp_path / "out")
        assert code == 2
        assert "; 0 are the same. Read the table as for the release" in error
        asked = ["--measure", "peak-time-error:of=all", "--timezone", "Europe/Bratislava"]
        assert ask(capsys, table, tmp_path / "out", *asked)[0] == 0

    def test_events(self, capsys, tmp_path):
        register = tmp_path / "x.parquet"
        assert run(["simulate", "events", "-o", str(register), "--n", "40", "--days", "6", "--seed", "1"]) == 0
        columns = ["--sensitive", "diagnosis", "--quasi", "age", "--quasi", "sex", "--quasi", "region", "--id", "id"]
        method = ["--method", "reposition", "--l", "2", "--window", "3"]
        capsys.readouterr()
        assert run(["anonymize", str(register), *method, *columns, "-o", str(tmp_path / "out"), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        found, _ = figures(capsys, register, tmp_path / "out", *columns)
        (window,) = [figure for figure in found.values() if figure["applies"]]
        assert window["value"] == told["utility"]["window-error"]["value"]
        reasons = {figure["reason"] for figure in found.values() if not figure["applies"]}
        assert reasons == {"it applies to series, but events are published."}
        code, _, error = ask(capsys, register, tmp_path / "out")
        assert code == 2
        assert "one sensitive column, but 0 are named. Give --sensitive COLUMN" in error

    def test_another_table_is_noted(self, capsys, out, keep, table, tmp_path):
        other = pl.read_parquet(table).with_columns(pl.col("value") * 2.0)
        other.write_parquet(tmp_path / "y.parquet")
        code, shown, _ = ask(
            capsys, tmp_path / "y.parquet", out, "--private", keep, "--measure", "mean-day-error:of=all"
        )
        assert code == 0
        assert "note      the table is not the one the release was made from, or was read with other settings" in shown


class TestLimits:
    def test_a_limit_that_is_not_met_exits_1_and_says_which(self, capsys, table, out, keep):
        asked = ["--measure", "peak-time-error:at_most=0.1", "--measure", "signal-to-noise:at_least=2"]
        code, shown, error = ask(capsys, table, out, "--private", keep, *asked)
        assert (code, error) == (1, "")
        assert "at most 0.1 was asked: NOT MET" in shown
        assert "at least 2 was asked: met" in shown
        found, whole = figures(capsys, table, out, "--private", keep, *asked)
        assert not whole["met"]
        assert [figure["met"] for figure in found.values()] == [True, False]

    def test_both_ends_of_a_range(self, capsys, table, out):
        code, shown, _ = ask(capsys, table, out, "--measure", "forecast-error:at_most=1.5,at_least=0.5")
        assert code == 0
        assert "at most 1.5 and at least 0.5 was asked: met" in shown

    def test_limits_are_held_against_the_exact_figure(self):
        moved = np.sqrt(0.27104) / 2
        score = utility.InformationLoss().measure(Panel([[0.0], [1.0]]), Panel([[moved], [1.0 - moved]]))
        assert f"{score.value:.3g}" == "0.271"
        assert not Asked(utility.InformationLoss(), at_most=0.271).met_by(score)
        assert Asked(utility.InformationLoss(), at_least=0.271).met_by(score)

    def test_a_figure_that_is_infinite_meets_no_upper_limit_and_is_null_in_json(self, capsys, tmp_path):
        panel = Panel(np.arange(6.0)[:, None] + np.zeros((6, 3)), ids=[f"m{i}" for i in range(6)])
        pl.DataFrame({"id": panel.ids.tolist(), "0": panel.values[:, 0], "1": panel.values[:, 1]}).write_parquet(
            tmp_path / "x.parquet"
        )
        candidate = Microaggregation(k=6).anonymize(read_panel(tmp_path / "x.parquet"))
        publish(candidate, tmp_path / "out", private=tmp_path / "keep")
        asked = ["--private", tmp_path / "keep", "--measure", "davies-bouldin:at_most=100"]
        found, whole = figures(capsys, tmp_path / "x.parquet", tmp_path / "out", *asked)
        (figure,) = found.values()
        assert figure["value"] is None
        assert not figure["met"]
        assert not whole["met"]


class TestMistakes:
    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ("magic", "Unknown measure 'magic'. Known: correlation-loss,"),
            ("mean-day-error:of=both", "Option of of mean-day-error: Input should be 'series' or 'all'."),
            ("mean-day-error:size=3", "Unknown option size for mean-day-error. It takes: of, per_day."),
            ("mean-day-error:of", "--measure takes NAME or NAME:parameter=value,parameter=value."),
            ("mean-day-error:at_most=low", "at_most must be a number, such as at_most=0.1."),
            ("mean-day-error:at_least=nan", "at_least must be a number"),
            ("mean-day-error:at_most=0,at_least=1", "at_most is below at_least, so nothing can meet both."),
            ("mean-day-error", "it compares each series with its original. Give --private DIR to match them."),
            (
                "value-loss",
                "value-loss does not apply here: it applies to envelopes, but values are published.",
            ),
            (
                "window-error",
                "window-error does not apply here: it applies to events, but values are published.",
            ),
            ("seasonality-shift:period=week,of=all", "needs at least 14 whole days; the panel spans 4."),
        ],
    )
    def test_are_told_in_one_line(self, capsys, table, out, asked, message):
        code, shown, error = ask(capsys, table, out, "--measure", asked)
        assert (code, shown) == (2, "")
        assert message in error
        assert error.count("\n") == 1

    def test_a_folder_that_is_no_release(self, capsys, table, tmp_path):
        code, _, error = ask(capsys, table, tmp_path)
        assert code == 2
        assert "is not a release" in error

    def test_a_private_folder_of_another_release(self, capsys, table, out, tmp_path):
        code, _, error = ask(capsys, table, out, "--private", tmp_path)
        assert code == 2
        assert "has no map of this release. It is kept when a release is written with --private DIR." in error

    def test_a_map_that_cannot_be_read(self, capsys, table, out, keep, tmp_path):
        digest = json.loads((out / "release.json").read_text())["files"]["data.parquet"]["sha256"]
        (tmp_path / f"pseudonyms-{digest[:16]}.parquet").write_bytes(b"no table")
        code, _, error = ask(capsys, table, out, "--private", tmp_path)
        assert code == 2
        assert "cannot be read" in error

    def test_a_map_of_others(self, capsys, table, out, keep, tmp_path):
        digest = json.loads((out / "release.json").read_text())["files"]["data.parquet"]["sha256"]
        name = f"pseudonyms-{digest[:16]}.parquet"
        kept = pl.read_parquet(keep / name)
        for pseudonyms, ids, message in (
            (["x"] * len(kept), kept["id"], "names no series of this release"),
            (kept["pseudonym"], ["somebody", *kept["id"][1:]], "1 series of the map in the private folder are not in"),
            (kept["pseudonym"], [kept["id"][1], *kept["id"][1:]], "published under several pseudonyms, in slices"),
        ):
            kept.with_columns(pseudonym=pl.Series(pseudonyms), id=pl.Series(ids)).write_parquet(tmp_path / name)
            code, _, error = ask(capsys, table, out, "--private", tmp_path)
            assert code == 2
            assert message in error
            assert "somebody" not in error


class TestPurposes:
    def test_every_measure_has_one_purpose(self):
        listed = [name for measures in PURPOSES.values() for name in measures]
        assert sorted(listed) == sorted(measure.name for measure in EXPORTED)
        assert "peak-time-error" in PURPOSES["peaks"]

    def test_what_is_measured_by_itself_can_be_asked_for_by_its_label(self):
        for asked in usual_measures():
            assert asked_for(asked.label) == asked

    def test_measures_of_presence_are_taken_when_asked_for(self, capsys, tmp_path):
        rooms = tmp_path / "x.parquet"
        assert run(["simulate", "occupancy", "-o", str(rooms), "--n", "40", "--days", "1", "--seed", "2"]) == 0
        place = ["-o", str(tmp_path / "out"), "--private", str(tmp_path / "keep")]
        assert run(["anonymize", str(rooms), "--k", "4", *place]) == 0
        asked = ["interest-loss:interest=arrival", "occupancy-error:statistic=occupied", "prediction:window=4"]
        options = [word for name in asked for word in ("--measure", name)]
        code, shown, _ = ask(capsys, rooms, tmp_path / "out", "--private", tmp_path / "keep", *options)
        assert code == 0
        assert "PRESENCE AND SPECIAL INTERESTS" in shown
        assert all(name in shown for name in asked)


def test_the_table_says_what_each_figure_means_and_names_nobody(capsys, table, out, keep, usual):
    _, shown, _ = ask(capsys, table, out, "--private", keep)
    assert "compared  41 series, each with its original" in shown
    titles = [line for line in shown.splitlines() if line.isupper()]
    measured = [p.upper() for p in PURPOSES if p not in ("presence and special interests", "events")]
    assert titles == [*measured, "NOT MEASURED"]
    assert "of the mean of all series; lower is better)" in shown
    assert "seasonality-shift:period=week: seasonality-shift needs at least 14 whole days" in shown
    names = [*pl.read_parquet(table)["id"].unique(), *pl.read_parquet(out / "data.parquet")["id"].unique()]
    for printed in (shown, json.dumps(usual["values"][0][1])):
        assert not [name for name in names if name in printed]


class TestThePage:
    """docs/measures.md against the measures themselves."""

    @pytest.fixture
    def rows(self):
        page = Path(__file__).resolve().parents[2] / "docs" / "measures.md"
        text = page.read_text(encoding="utf-8").partition("## All of them")[2].partition("\n## ")[0]
        cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if "`" in line]
        return [row for row in cells if len(row) == 7]

    def test_every_measure_stands_under_its_purpose(self, rows):
        listed, purpose = {}, ""
        for row in rows:
            purpose = row[0].strip("| ") or purpose
            listed.setdefault(purpose, []).append(row[1].strip("`"))
        assert listed == {purpose: list(names) for purpose, names in PURPOSES.items()}

    def test_goal_range_and_pairs_are_those_of_the_measure(self, rows):
        for _, name, _, goal, ends, pairs, _ in rows:
            cls = next(measure for measure in EXPORTED if measure.name == name.strip("`"))
            assert pairs == {"True": "yes", "False": "no", "property": "`of=series`"}[self.pairs_of(cls)]
            low, high = ("∞" if end == float("inf") else f"{end:g}" for end in cls().range)
            assert (goal, ends) == (cls().goal, f"{low} to {high}"), name

    @staticmethod
    def pairs_of(cls):
        ways = {cls().matched} | ({cls(of="all").matched} if hasattr(cls, "of") else set())
        return "property" if len(ways) > 1 else str(cls().matched)
