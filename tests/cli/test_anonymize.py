"""`shoal anonymize` and what follows it, as a user would call them."""

import json

import numpy as np
import polars as pl
import pytest

from shoal import load_release
from shoal.cli.app import run


@pytest.fixture
def meters(tmp_path, monkeypatch):
    """A working folder with x.parquet: 40 meters, two days."""
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", "meters", "-o", "x.parquet", "--n", "40", "--days", "3", "--seed", "1"]) == 0
    return tmp_path


def anonymize(*arguments):
    return run(["anonymize", "x.parquet", "--method", "microaggregation", "--k", "10", *arguments])


def test_anonymize_then_verify(meters, capsys):
    assert anonymize("-o", "out") == 0
    shown = capsys.readouterr().out
    assert "k-anonymity" in shown
    assert "holds: 10, required 10" in shown
    assert "out/report.html" in shown
    assert run(["verify", "out"]) == 0
    assert sorted(p.name for p in (meters / "out").iterdir()) == [
        "data.parquet",
        "datapackage.json",
        "release.json",
        "report.html",
    ]


def test_columns_that_are_not_published_are_named_to_the_publisher_alone(meters, capsys):
    table = pl.read_parquet("x.parquet")
    both = table.with_columns(tariff=pl.lit("day"), postcode=pl.lit("81101"))
    both.write_parquet("x.parquet")
    capsys.readouterr()
    assert anonymize("-o", "out", "--quasi", "tariff") == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("held back"))
    others = [name for name in both.columns if name not in ("id", "time", "value", "tariff")]
    assert row.split(maxsplit=2)[2] == ", ".join(["tariff", *others])
    for name in ("release.json", "report.html"):
        assert "postcode" not in (meters / "out" / name).read_text()


def test_columns_of_a_messy_file_that_are_not_published_are_named_too(meters, capsys):
    """Decimal commas, dates by day and month: its columns are recognised, not found by name."""
    table = pl.read_parquet("x.parquet")
    day = table["time"].dt.strftime("%d.%m.%Y %H:%M").alias("Zeit")
    reading = table["value"].cast(pl.String).str.replace(".", ",", literal=True).alias("Verbrauch kWh")
    flags = [pl.lit("A").alias(f"Flag {n}") for n in range(20)]
    messy = table.select(pl.col("id").alias("Zaehler"), day, reading, pl.lit("nachts").alias("Tarif"), *flags)
    messy.write_csv("x.csv", separator=";")
    capsys.readouterr()
    arguments = ["x.csv", "--method", "microaggregation", "--k", "10"]
    assert run(["anonymize", *arguments, "-o", "out"]) == 0
    shown = capsys.readouterr().out
    row = next(line for line in shown.splitlines() if line.startswith("held back"))
    assert row.split(maxsplit=2)[2] == f"Tarif, {', '.join(f'Flag {n}' for n in range(10))} and 10 more"
    assert "nachts" not in shown
    assert run(["anonymize", *arguments, "-o", "again", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["held_back"] == ["Tarif", *(f"Flag {n}" for n in range(20))]
    for name in ("release.json", "report.html"):
        assert "Tarif" not in (meters / "out" / name).read_text()


def test_an_edited_value_exits_1_and_names_the_position(meters, capsys):
    anonymize("-o", "out")
    table = pl.read_parquet("out/data.parquet")
    table.with_columns(value=table["value"].scatter(100, table["value"][100] + 1.0)).write_parquet("out/data.parquet")
    assert run(["verify", "out"]) == 1
    assert "data.parquet row 100" in capsys.readouterr().out


def test_an_edited_certificate_exits_1(meters):
    anonymize("-o", "out")
    path = meters / "out" / "release.json"
    path.write_text(path.read_text().replace('"k": 10', '"k": 5'))
    assert run(["verify", "out"]) == 1


def test_a_truncated_table_exits_2(meters, capsys):
    anonymize("-o", "out")
    path = meters / "out" / "data.parquet"
    path.write_bytes(path.read_bytes()[:-200])
    assert run(["verify", "out"]) == 2
    assert "data.parquet cannot be read" in capsys.readouterr().err


def test_json_is_one_document_with_the_figures(meters, capsys):
    capsys.readouterr()
    assert anonymize("-o", "out", "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["release"] == "out"
    assert figures["guarantees"][0]["verdict"]["holds"] is True
    assert figures["counts"]["smallest_group"] == 10
    assert figures["utility"]["information-loss"]["goal"] == "lower"
    assert run(["verify", "out", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["holds"] is True
    assert [(g["name"], g["measured"]) for g in found["guarantees"]] == [("k-anonymity", 10)]


def test_nothing_but_the_table_is_printed_in_a_pipe(meters, capsys):
    capsys.readouterr()
    anonymize("-o", "out")
    assert capsys.readouterr().err == ""


def test_a_further_guarantee_that_fails_exits_1_and_writes_nothing(meters, capsys):
    assert anonymize("-o", "out", "--require", "aggregate-rule") == 1
    assert "aggregate-rule does not hold: measured 10, required 15" in capsys.readouterr().err
    assert not (meters / "out").exists()
    assert anonymize("-o", "out", "--require", "aggregate-rule:size=10,share=0.9") == 0
    assert run(["verify", "out"]) == 1
    assert "NOT JUDGED: aggregate-rule; the rest holds" in capsys.readouterr().out
    assert run(["verify", "out", "--accept-unjudged"]) == 0
    assert "checked by the publisher" in capsys.readouterr().out


def test_a_further_guarantee_beside_noise_exits_2_before_anything_is_read(meters, capsys):
    noisy = ["--method", "noisy-aggregates", "--epsilon", "1", "--lower", "0", "--upper", "9"]
    assert run(["anonymize", "nowhere.parquet", *noisy, "--require", "k-anonymity:k=5", "-o", "out"]) == 2
    assert "k-anonymity cannot be required together with differential privacy" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not (meters / "out").exists()


def test_options_may_stand_before_the_source_and_with_an_equals_sign(meters):
    assert run(["anonymize", "--k=5", "--algorithm", "mdav", "--out", "out", "x.parquet"]) == 0


def test_parameters_of_the_method_are_options(meters, capsys):
    options = [
        "--features",
        "haar",
        "--refine",
        "true",
        "--within",
        "family",
        "--merge-small",
        "yes",
        "--round-to",
        "0.5",
    ]
    assert anonymize("-o", "out", "--quasi", "family", *options) == 0
    certificate = json.loads((meters / "out" / "release.json").read_text())
    expected = {"features": "haar", "refine": True, "within": "family", "merge_small": True, "round_to": 0.5}
    assert certificate["method"]["parameters"].items() >= expected.items()
    assert set(np.mod(pl.read_parquet("out/data.parquet")["value"].to_numpy(), 0.5)) == {0.0}
    assert run(["verify", "out"]) == 0


def test_sql_reads_a_part(meters, capsys):
    capsys.readouterr()
    assert (
        run(["anonymize", "--sql", "select * from 'x.parquet' where family = 'household'", "--k", "5", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["counts"]["series"] == 28


def test_csv_private_and_keyed(meters):
    options = ["--format", "csv", "--private", "mine", "--pseudonyms", "keyed"]
    assert anonymize("-o", "a", *options) == 0
    assert anonymize("-o", "b", *options) == 0
    assert (meters / "a/data.csv").read_bytes() == (meters / "b/data.csv").read_bytes()
    kept = sorted(p.name for p in (meters / "mine").iterdir())
    # The same bytes, so the same map, the same figures left out, and how the table was read.
    assert [name.partition("-")[0] for name in kept] == ["measured", "pseudonym.key", "pseudonyms", "reading"]
    assert run(["verify", "a"]) == 0


def test_who_can_join_keyed_releases_is_said_wherever_they_are_described(meters, capsys):
    capsys.readouterr()
    assert anonymize("-o", "a", "--private", "mine", "--pseudonyms", "keyed") == 0
    assert anonymize("-o", "b", "--private", "mine", "--pseudonyms", "keyed", "--features", "standardized") == 0
    names = [set(pl.read_parquet(f"{out}/data.parquet")["id"]) for out in "ab"]
    assert names[0] == names[1]  # so the sentence is true, and needs no key
    told = "anyone who holds two of them can join them, series by series"
    assert capsys.readouterr().out.count("pseudonyms        keyed. Releases made with the same key give ") == 2
    certificate = load_release("a").certificate
    assert told in certificate["pseudonyms_note"]
    report = (meters / "a/report.html").read_text()
    assert told in report
    assert "nobody else can" not in report

    assert anonymize("-o", "c", "--private", "mine") == 0
    assert not set(pl.read_parquet("c/data.parquet")["id"]) & names[0]
    assert told not in capsys.readouterr().out
    assert "pseudonyms_note" not in load_release("c").certificate
    assert told not in (meters / "c/report.html").read_text()


def test_missing_settings_reach_the_reader(meters):
    table = pl.read_parquet("x.parquet").with_columns(
        value=pl.when(pl.int_range(pl.len()) == 30).then(None).otherwise("value")
    )
    table.write_parquet("x.parquet")
    assert anonymize("-o", "a") == 2
    assert anonymize("-o", "b", "--missing", "interpolate:1h") == 0
    assert anonymize("-o", "c", "--missing", "keep") == 0


def test_the_report_can_be_made_again_from_the_folder(meters, capsys):
    anonymize("-o", "out")
    assert run(["report", "out"]) == 0
    page = (meters / "out-report.html").read_text()
    assert "k-anonymity" in page
    assert run(["report", "out", "-o", "out/page.html"]) == 2
    assert "never changes after it is written" in capsys.readouterr().err
    assert run(["report", "out", "-o", "nowhere/page.html"]) == 2
    assert run(["report", "nowhere"]) == 2
    assert run(["report", "out", "--json", "-o", "p.html"]) == 0


def test_a_release_is_called_what_its_publisher_calls_it(meters, capsys):
    called = {"title": "Use of 60 homes", "publisher": "Example Grid", "purpose": "research", "date": "2026-11-16"}
    assert anonymize("-o", "out", *(part for name, text in called.items() for part in (f"--{name}", text))) == 0
    certificate = json.loads((meters / "out" / "release.json").read_text())
    assert {name: certificate[name] for name in called} == called
    assert run(["verify", "out"]) == 0
    assert "unchecked    title, publisher, purpose, date, method" in capsys.readouterr().out
    assert anonymize("-o", "other", "--title", "a\nb") == 2
    assert "title must be one line of text" in capsys.readouterr().err


def test_two_runs_of_the_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert run(["demo"]) == 0
    shown = capsys.readouterr().out
    for word in ("k-anonymity", "smallest group", "information-loss", "shoal-demo/report.html", "Chosen: k = "):
        assert word in shown
    assert run(["verify", "shoal-demo"]) == 0
    # The policy beside it is the one that was run, and can be run again.
    assert run(["run", "shoal-demo-policy.yaml"]) == 0
    assert run(["demo", "--k", "2"]) == 1  # too small a crowd for the policy's limit
    assert run(["demo", "--json", "--out", "other", "--k", "25"]) == 0
    assert run(["demo", "--out", "other"]) == 2  # only its own folder is replaced without asking


class TestSimulate:
    def test_kinds_and_formats(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        assert run(["simulate", "occupancy", "-o", "o.csv", "--n", "5", "--days", "2", "--step", "15min"]) == 0
        assert pl.read_csv("o.csv").columns == ["id", "subject", "time", "value", "weekday"]
        assert run(["simulate", "events", "-o", "e.parquet", "--n", "20", "--days", "3"]) == 0
        assert "diagnosis" in pl.read_parquet("e.parquet").columns
        capsys.readouterr()
        options = ["--families", "household=1,second-home=1", "--missing", "0.05", "--start", "2023-06-01", "--json"]
        assert run(["simulate", "meters", "-o", "m.parquet", "--n", "10", "--days", "2", *options]) == 0
        assert json.loads(capsys.readouterr().out) == {
            "table": "m.parquet",
            "series": 10,
            "subjects": 10,
            "instants": 48,
        }
        table = pl.read_parquet("m.parquet")
        assert table["value"].null_count() > 0
        assert set(table["family"]) == {"household", "second-home"}

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["whales", "-o", "w.parquet"], "whales"),
            (["meters"], "Missing option"),
            (["meters", "-o", "m.xlsx"], "name must end in .parquet or .csv"),
            (["meters", "-o", "here.parquet"], "exists"),
            (["events", "-o", "e.parquet", "--step", "1h"], "events takes no --step"),
            (["meters", "-o", "m.parquet", "--families", "household"], "--families takes NAME=SHARE"),
            (["meters", "-o", "m.parquet", "--families", "castle=1"], "castle"),
            (["meters", "-o", "m.parquet", "--n", "0"], "n_series"),
            (["meters", "-o", "here.parquet/m.parquet"], "Cannot write"),
        ],
    )
    def test_bad_arguments_exit_2(self, tmp_path, monkeypatch, capsys, arguments, message):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "here.parquet").write_text("")
        assert run(["simulate", *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


def test_methods_lists_everything_with_parameters(capsys):
    assert run(["methods"]) == 0
    shown = capsys.readouterr().out
    for line in (
        "microaggregation:",
        "aims at k-anonymity",
        "--k int (required)",
        "aggregate-rule:",
        "information-loss:",
    ):
        assert line in shown
    assert run(["methods", "--json"]) == 0
    names = {entry["name"] for entry in json.loads(capsys.readouterr().out)}
    assert names >= {"microaggregation", "k-anonymity", "aggregate-rule", "information-loss"}


def test_two_guarantees_of_one_name_are_both_verified(meters, capsys):
    assert anonymize("-o", "out", "--require", "k-anonymity:k=5,per=series") == 0
    capsys.readouterr()
    assert run(["verify", "out", "--json"]) == 0
    assert [g["required"] for g in json.loads(capsys.readouterr().out)["guarantees"]] == [10, 5]


def test_the_certificate_says_how_the_table_was_read(meters):
    gappy = pl.read_parquet("x.parquet").with_row_index().filter(~pl.col("index").is_in([30, 31, 100, 101, 102, 103]))
    gappy.drop("index").write_parquet("y.parquet")
    options = ["--missing", "interpolate:2h,drop-series", "--quasi", "family", "--k", "10"]
    assert run(["anonymize", "y.parquet", *options]) == 0
    certificate = json.loads((meters / "out" / "release.json").read_text())
    assert certificate["input"]["reading"] == {
        "missing": "interpolate:2h,drop-series",
        "align": "exact",
        "duplicates": "fail",
        "timezone": None,
        "sql": False,
        "layout": "long",
        "dropped_series": 1,
        "interpolated": 2,
    }
    assert certificate["columns"]["withheld"] == 2
    page = (meters / "out" / "report.html").read_text()
    assert "Series dropped because of gaps: 1." in page
    assert "Readings interpolated inside short gaps: 2." in page


def test_terminal_certificate_and_report_count_what_was_done_to_readings(meters, capsys):
    table = pl.read_parquet("x.parquet").rename({"value": "kwh"}).sort("id", "time")
    again = pl.concat([table[:3], table[5:7].with_columns(pl.col("kwh") + 1)])
    # Each meter has a reading every two hours: of one a reading goes, of another three of four.
    odd = pl.concat([table.with_row_index().filter(~pl.col("index").is_in([9, 61, 62, 63])).drop("index"), again])
    odd.write_parquet("y.parquet")
    program = ["anonymize", "y.parquet", "--value", "kwh", "--quasi", "family", "--k", "10", "--missing", "drop-series"]
    program += ["--align", "resample:8h", "--complete", "0.75", "--duplicates", "mean"]
    assert run(program) == 0
    said = (
        "Exact repeats taken once: 3. "
        "Readings merged with a different one of the same series and instant: 2 (their mean counts). "
        "Readings resampled to steps of 8h by sum (energy, by the name of the column). "
        "Steps taken as missing for lack of readings: 1. "
        "Sums scaled up for lack of readings: 1 (each had at least 0.75 of them). "
        "Series dropped because of gaps: 1."
    )
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert [name for name, _ in lines[:4]] == ["read", "dropped", "changed", "release"]
    dropped = "Steps taken as missing for lack of readings: 1. Series dropped because of gaps: 1."
    assert lines[1][1] == dropped
    assert lines[2][1] == said.replace("Steps taken as missing for lack of readings: 1. ", "").removesuffix(
        " Series dropped because of gaps: 1."
    )
    reading = json.loads((meters / "out" / "release.json").read_text())["input"]["reading"]
    assert {name: n for name, n in reading.items() if type(n) is int} == {
        "repeated": 3,
        "merged": 2,
        "incomplete": 1,
        "scaled": 1,
        "dropped_series": 1,
    }
    assert reading["align"] == "resample:8h:sum"
    assert said in " ".join((meters / "out" / "report.html").read_text().split())
    assert run([*program, "--json", "--overwrite"]) == 0
    assert json.loads(capsys.readouterr().out)["input"]["reading"]["merged"] == 2


@pytest.mark.parametrize("engine", [[], ["--engine", "local"]], ids=["memory", "local"])
def test_terminal_certificate_and_report_count_lines_that_are_not_rows(meters, capsys, engine):
    table = pl.read_parquet("x.parquet").select("id", "time", "value")
    (meters / "files").mkdir()
    for n, (_, part) in enumerate(table.group_by(pl.col("time").dt.date(), maintain_order=True)):
        lines = part.write_csv(separator=";", datetime_format="%d.%m.%Y %H:%M").splitlines()
        text = "\n".join([*lines[:20], *["Mustermann 4711"] * n, *lines[20:], "Schluss"])
        (meters / "files" / f"{n}.csv").write_text(text + "\n")
    capsys.readouterr()
    assert run(["anonymize", "files/*.csv", "--k", "10", "-o", "out", *engine]) == 0
    said = "Lines not read as rows, such as headings, footers or incomplete rows: 6."
    shown = capsys.readouterr()
    assert ["dropped", said] in [line.split(maxsplit=1) for line in shown.out.splitlines()]
    page, certificate = ((meters / "out" / name).read_text() for name in ("report.html", "release.json"))
    assert json.loads(certificate)["input"]["reading"]["lines_skipped"] == 6
    assert said in " ".join(page.split())
    assert "Mustermann" not in "".join([*shown, page, certificate])


def test_nothing_is_said_where_nothing_was_done(meters, capsys):
    assert anonymize("-o", "out") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[:2]] == ["read", "release"]
    page = (meters / "out" / "report.html").read_text()
    for words in (
        "Exact repeats",
        "merged with",
        "gathered into",
        "scaled up",
        "dropped because",
        "interpolated inside",
    ):
        assert words not in page


def test_means_are_said_where_the_quantity_is_unknown_or_given(meters, capsys):
    assert anonymize("-o", "out", "--align", "resample:8h") == 0
    assert "resampled to steps of 8h by mean (their quantity is unknown)." in capsys.readouterr().out
    assert anonymize("-o", "out", "--overwrite", "--align", "resample:8h", "--quantity", "energy") == 0
    assert "resampled to steps of 8h by sum (energy, as the publisher says)." in capsys.readouterr().out
    assert anonymize("-o", "out", "--overwrite", "--align", "resample:8h", "--complete", "any") == 0
    assert "Each step with a reading was taken as it is; gaps inside it were not looked" in capsys.readouterr().out


def test_no_report_of_a_release_that_does_not_verify(meters, capsys):
    anonymize("-o", "out", "--format", "csv")
    path = meters / "out" / "data.csv"
    path.write_text(path.read_text().replace("1", "2", 1))
    assert run(["report", "out"]) == 1
    assert "No report for a release that does not verify" in capsys.readouterr().err


def test_shoal_alone_shows_the_help(capsys):
    assert run([]) == 0
    assert "anonymize" in capsys.readouterr().out


def test_messages_name_settings_as_options(meters, capsys):
    table = pl.read_parquet("x.parquet")
    pl.concat([table, table.with_columns(pl.col("value") + 1)]).write_parquet("x.parquet")
    assert anonymize("-o", "out") == 2
    assert "choose one with --duplicates first, last or mean. They" in capsys.readouterr().err
    assert anonymize("-o", "out", "--time", "clock") == 2
    pl.read_parquet("x.parquet").drop("time").write_parquet("x.parquet")
    capsys.readouterr()
    assert anonymize("-o", "out", "--layout", "long") == 2
    assert "Name the time column with --time." in capsys.readouterr().err


def test_a_subject_column_is_found_by_its_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(["simulate", "occupancy", "-o", "o.parquet", "--n", "12", "--days", "4", "--step", "1h"])
    capsys.readouterr()
    assert run(["anonymize", "o.parquet", "--k", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["subjects"] == 12


def test_several_days_of_a_person_are_hidden_among_persons(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(["simulate", "occupancy", "-o", "o.parquet", "--n", "12", "--days", "4", "--step", "1h"])
    capsys.readouterr()
    assert run(["anonymize", "o.parquet", "--subject", "subject", "--k", "4", "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert (counts["series"], counts["subjects"]) == (48, 12)
    assert counts["smallest_group"] >= 4
    assert run(["verify", "out"]) == 1
    told = capsys.readouterr().out
    assert "verdict      NOT JUDGED: k-anonymity in subjects; the files are intact\n" in told
    assert (
        "k-anonymity  not judged: subjects cannot be distinguished here; counted in series it holds: measured " in told
    )


def test_channels_are_published_as_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "meter": np.repeat(np.arange(8), 5),
            "at": np.tile(np.arange(5), 8),
            "kwh": rng.random(40),
            "volt": rng.random(40),
        }
    )
    frame.write_csv("x.csv")
    options = ["--id", "meter", "--time", "at", "--value", "kwh", "--value", "volt"]
    assert run(["anonymize", "x.csv", *options, "--k", "4"]) == 0
    assert pl.read_parquet("out/data.parquet").columns == ["id", "time", "kwh", "volt"]
    assert run(["verify", "out"]) == 0


class TestWhatASubjectIs:
    """The terminal says it, whatever comes of the run."""

    @pytest.fixture
    def room(self, tmp_path, monkeypatch):
        """27 sensor columns of one room."""
        monkeypatch.chdir(tmp_path)
        rng, sizes = np.random.default_rng(0), {"co2": 600.0, "temp": 21.0, "humidity": 40.0}
        columns = {f"{name}_{i}": size * rng.uniform(0.9, 1.1, 48) for name, size in sizes.items() for i in range(9)}
        times = np.datetime64("2024-03-01T00:00", "us") + np.arange(48) * np.timedelta64(30, "m")
        pl.DataFrame({"time": times, **columns}).write_csv("room1.csv")
        return tmp_path

    def test_sensors_of_one_room_are_no_crowd(self, room, capsys):
        assert run(["anonymize", "room1.csv", "--k", "3", "-o", "out"]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert "27 columns with readings" in said.err
        assert "(co2, humidity, temp)" in said.err
        assert "--layout wide" in said.err
        assert "name --id and every channel as --value" in said.err
        assert not (room / "out").exists()
        assert run(["anonymize", "room1.csv", "--k", "3", "-o", "out", "--layout", "wide"]) == 0
        assert "read              27 columns read as 27 subjects\n" in capsys.readouterr().out

    def test_long_tables_name_the_column(self, meters, capsys):
        assert anonymize("-o", "out", "--private", "private") == 0
        rows = len(pl.read_parquet("x.parquet"))
        said = f"{rows:,} rows read as 40 series of 40 subjects (column 'id')"
        assert f"read              {said}\n" in capsys.readouterr().out
        assert anonymize("-o", "again", "--json") == 0
        assert json.loads(capsys.readouterr().out)["read"] == [said]
        for command in (["utility"], ["attack", "--targets", "5", "--knows", "points=2"]):
            places = ["x.parquet", "out"] if command[0] == "utility" else ["out", "x.parquet"]
            assert run([command[0], *places, "--private", "private", *command[1:]]) == 0
            assert said in capsys.readouterr().out

    def test_merged_spellings_are_told(self, meters, capsys):
        table = pl.read_parquet("x.parquet")
        first = table["id"][0]
        odd = pl.when((pl.col("id") == first) & (pl.col("time") == table["time"].max())).then(pl.col("id") + " ")
        table.with_columns(id=odd.otherwise(pl.col("id"))).write_parquet("x.parquet")
        assert anonymize("-o", "out") == 0
        assert "1 spelling in column 'id' changed on reading" in (said := capsys.readouterr().out)
        assert "of them names what another spelling names as well" in said
        assert first not in said
