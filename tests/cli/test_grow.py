"""`shoal grow`: release folders that hold together, and what is refused."""

import json
import re
import shutil
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from growing_processes import contents, write_days
from shoal import KAnonymity, Microaggregation, Panel, load_release, publish, verify
from shoal.cli.app import run
from shoal.errors import ReleaseError
from shoal.release.sequence import verify_sequence
from shoal.streams import IncrementalMicroaggregation, IncrementalNLK
from shoal.streams.checkpoint import Checkpoint

GROW = ["--k", "3", "--format", "csv"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def grow(*options, source="days", out="out", private="keep", method=GROW):
    return run(["grow", source, *method, "--private", private, "-o", out, *map(str, options)])


def figures(capsys, *options, **more):
    capsys.readouterr()
    assert grow("--json", *options, **more) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys, words, code, expected=2):
    error = capsys.readouterr().err
    assert code == expected
    assert error.startswith("shoal: ")
    assert error.count("\n") == 1
    assert re.search(words, error), error
    assert "Internal error" not in error
    assert "meter-" not in error


def add_day(number, ids, folder="days", value=None):
    rows = [
        (name, 3 * number + t, float(i + t if value is None else value)) for i, name in enumerate(ids) for t in range(3)
    ]
    pl.DataFrame(rows, schema=["id", "time", "value"], orient="row").write_csv(Path(folder) / f"{number}.csv")


def meters(first, last):
    return [f"meter-{i:02d}" for i in range(first, last)]


def test_a_folder_of_days_becomes_a_folder_of_releases_that_hold_together(capsys):
    write_days(Path("days"))
    found = figures(capsys)
    assert [new["folder"] for new in found.pop("new")] == ["0", "3", "6"]
    assert found.pop("held_back") == []
    assert found == {
        "out": "out", "written": 3, "releases": 3, "without": 0, "last": "6", "series": 14, "groups": 4, "waiting": 0,
    }  # fmt: skip
    assert sorted(path.name for path in Path("out").iterdir()) == ["0", "3", "6"]
    for path in Path("out").iterdir():
        assert {p.name for p in path.iterdir()} == {"data.csv", "datapackage.json", "release.json", "report.html"}
        assert verify(path).holds
        assert [part["name"] for part in load_release(path).certificate["guarantees"]] == [
            "k-anonymity",
            "sequence-anonymity",
        ]
    outcome = verify("out")
    assert outcome.holds
    assert [(name, verdict.measured) for name, verdict in outcome.verdicts] == [
        ("sequence-anonymity", 3),
        ("k-anonymity", 3),
    ]
    # Who was there on the first day is there on every day, under the same name.
    names = [set(load_release(f"out/{day}").published.ids) for day in (0, 3, 6)]
    assert [len(n) for n in names] == [10, 14, 14]
    assert names[0] < names[1] == names[2]


def test_verify_shows_a_sequence_in_a_few_lines(capsys):
    write_days(Path("days"))
    grow()
    capsys.readouterr()
    assert run(["verify", "out"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "releases            3 in out",
        "verdict             holds",
        "sequence-anonymity  holds: measured 3, required 3",
        "k-anonymity         holds: measured 3, required 3",
        "unchecked           method, input, versions, figures, report.html: the publisher's own words",
    ]
    assert run(["verify", "out", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["releases"] == ["0", "3", "6"]
    assert found["guarantees"][0]["name"] == "sequence-anonymity"


def test_days_that_come_one_by_one_give_the_same_as_all_at_once(capsys):
    write_days(Path("days"))
    grow()
    for private in ("keep", "keep2"):
        Path(private).mkdir(mode=0o700, exist_ok=True)
    shutil.copy("keep/pseudonym.key", "keep2/pseudonym.key")
    Path("slow").mkdir()
    for number in range(3):
        shutil.copy(f"days/{number}.csv", f"slow/{number}.csv")
        assert figures(capsys, source="slow", out="out2", private="keep2")["written"] == 1
    assert contents(Path("out2")) == contents(Path("out"))


def test_what_a_killed_run_on_an_engine_left_in_the_private_folder_is_no_hindrance(capsys):
    write_days(Path("days"))
    Path("keep").mkdir(mode=0o700)
    Path("keep/.pseudonyms-0a.partial").mkdir()
    Path("keep/.pseudonyms-0b.partial").touch()
    assert figures(capsys)["releases"] == 3
    assert list(Path("keep").glob(".pseudonyms-*")) == []


def test_the_same_command_again_writes_nothing(capsys):
    write_days(Path("days"))
    grow()
    before = contents(Path("out")), Path("keep/growing.state").read_bytes()
    assert figures(capsys)["written"] == 0
    Path("days/0.csv").unlink()  # what is published need not stay
    shutil.rmtree("out/0")
    assert figures(capsys)["releases"] == 3
    assert not Path("out/0").exists()
    assert Path("keep/growing.state").read_bytes() == before[1]
    # A day that is written otherwise, with the same readings, is the same day.
    pl.read_csv("days/1.csv").sample(fraction=1.0, shuffle=True, seed=1).write_csv("days/1.csv")
    assert figures(capsys)["written"] == 0


def table(n_hours, n_series=8, newcomers=0):
    times = np.datetime64("2024-03-30T00:00", "us") + np.arange(n_hours) * np.timedelta64(1, "h")
    rows = [
        (f"meter-{i:02d}", t.item(), float(i * n + n))
        for i in range(n_series + newcomers)
        for n, t in enumerate(times)
        if i < n_series or n >= 24
    ]
    return pl.DataFrame(rows, schema=["id", "time", "value"], orient="row")


def test_one_table_that_is_appended_to_is_cut_into_whole_days(capsys):
    table(30).write_parquet("all.parquet")
    assert figures(capsys, source="all.parquet")["written"] == 1
    capsys.readouterr()
    grow(source="all.parquet")
    assert capsys.readouterr().err == "shoal: The last 6 instant(s) wait until their stretch is complete.\n"
    table(72, newcomers=3).write_parquet("all.parquet")
    found = figures(capsys, source="all.parquet")
    assert (found["written"], found["series"], found["last"]) == (2, 11, "2024-04-01")
    assert sorted(path.name for path in Path("out").iterdir()) == ["2024-03-30", "2024-03-31", "2024-04-01"]
    assert verify("out").holds


def test_days_are_those_of_the_local_clock_also_when_it_is_put_forward(capsys):
    # 2024-03-31 has 23 hours in Bratislava, and begins at 23:00 UTC of the day before.
    hours = table(72).with_columns(pl.col("time").dt.replace_time_zone("UTC") - pl.duration(hours=1))
    hours.write_parquet("all.parquet")
    zone = ["--timezone", "Europe/Bratislava"]
    figures(capsys, *zone, source="all.parquet")
    lengths = {p.name: load_release(p).published.n_instants for p in Path("out").iterdir()}
    assert lengths == {"2024-03-30": 24, "2024-03-31": 23, "2024-04-01": 24}
    found = figures(capsys, "--every", "12h", *zone, source="all.parquet", out="halves", private="keep2")
    assert found["written"] == 6
    assert sorted(p.name for p in Path("halves").iterdir())[:3] == [
        "2024-03-30",
        "2024-03-30T120000+0100",
        "2024-03-31",
    ]


def test_whole_numbers_need_a_length(capsys):
    pl.DataFrame(
        {"id": [f"meter-{i}" for i in range(4)] * 4, "time": [t // 4 for t in range(16)], "value": 1.5}
    ).write_csv("all.csv")
    refusal(capsys, "times are whole numbers: give --every", grow(source="all.csv"))
    assert figures(capsys, "--every", "2", source="all.csv", private="keep2")["written"] == 2


def test_too_few_for_a_group_are_told_and_wait(capsys):
    Path("days").mkdir()
    add_day(0, meters(0, 2))
    grow()
    assert capsys.readouterr().out.splitlines()[1:] == [
        "out              out",
        "written          0 releases",
        "releases         0",
        "published        0 series in 0 groups",
        "waiting          2 series",
        "without release  1 stretch could not be published at all",
    ]
    add_day(1, meters(0, 3))
    assert figures(capsys)["written"] == 1
    assert verify("out").holds


def test_a_group_of_which_too_few_were_there_passes_the_gate_as_missing(capsys):
    Path("days").mkdir()
    add_day(0, meters(0, 6))
    add_day(1, meters(1, 6))
    assert figures(capsys)["written"] == 2
    assert load_release("out/3").certificate["counts"]["missing"] == 9
    assert verify("out").holds
    assert figures(capsys, "--join", out="joined", private="keep2")["written"] == 2
    assert load_release("joined/3").certificate["counts"]["missing"] == 0
    assert verify("joined").holds


def test_the_publisher_reads_what_is_empty_dominated_and_was_done_by_reading_and_recipients_do_not(capsys):
    Path("days").mkdir()
    add_day(0, meters(0, 6))
    add_day(1, meters(1, 6))
    for number in (0, 1):
        path = Path(f"days/{number}.csv")
        first, *rows = path.read_text().splitlines()
        rows = [row.replace(".0", "000.0") if row.startswith("meter-05") else row for row in rows]
        path.write_text("\n".join([first, *rows, rows[0]]) + "\n")
    capsys.readouterr()
    assert grow("--title", "Meters of a town") == 0
    told = capsys.readouterr()
    assert "0.csv: Exact repeats taken once: 1." in told.err
    assert (
        "empty      9 of 18 values in 3: fewer than k subjects of their group have a reading there. With --join"
        in told.out
    )
    assert "warning    0" in told.out
    assert "mostly one subject's" in told.out
    certificate = load_release("out/3").certificate
    assert certificate["title"] == "Meters of a town"
    assert certificate["input"]["rows"] is None
    assert "repeated" not in certificate["input"]["reading"]
    page = Path("out/3/report.html").read_text()
    assert "Exact repeats" not in page
    assert "is left empty: 9 published values." in page
    run(["report", "out/3", "--for", "publisher", "--private", "keep", "-o", "mine.html"])
    assert "Exact repeats taken once: 1." in Path("mine.html").read_text()


def test_the_state_is_for_its_owner_alone_and_holds_no_readings(capsys):
    Path("days").mkdir()
    add_day(0, meters(0, 6), value=8125.0625)
    grow()
    assert stat.S_IMODE(Path("keep").stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in Path("keep").iterdir()} == {0o600}
    assert b"8125" not in Path("keep/growing.state").read_bytes()
    assert not any(b"meter-" in content for content in contents(Path("out")).values())


def test_a_day_that_came_with_other_readings_before_is_refused(capsys):
    write_days(Path("days"))
    grow()
    before = contents(Path("out"))
    add_day(1, meters(0, 14))
    refusal(capsys, "those of stretch 2, which came with other readings", grow())
    assert contents(Path("out")) == before


def test_a_part_of_a_published_day_is_refused_for_being_late(capsys):
    write_days(Path("days"))
    grow()
    table = Path("days/2.csv").read_text().splitlines()
    Path("days/3.csv").write_text("\n".join(line for line in table if not line.split(",")[1].startswith("8")) + "\n")
    refusal(capsys, "only moves forward in time: leave out what comes late", grow())


def test_a_day_that_comes_late_is_refused(capsys):
    Path("days").mkdir()
    for number in (0, 2):
        add_day(number, meters(0, 6))
    grow()
    add_day(1, meters(0, 6))
    refusal(capsys, "only moves forward in time: leave out what comes late", grow())
    assert sorted(p.name for p in Path("out").iterdir()) == ["0", "6"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--spare", "1"], "other settings: spare"),
        (["--join"], "other settings: join"),
        (["--subject", "id"], "other settings: reading"),
        (["--features", "haar"], "other settings: method"),
        (["--format", "parquet"], "other settings: format"),
        (["--out", "elsewhere"], "other settings: out"),
    ],
)
def test_other_settings_than_it_was_begun_with_are_refused(capsys, options, words):
    write_days(Path("days"), n_days=1)
    grow()
    refusal(capsys, words, grow(*options))
    assert sorted(p.name for p in Path("out").iterdir()) == ["0"]


def test_another_k_is_refused(capsys):
    write_days(Path("days"), n_days=1)
    grow()
    refusal(
        capsys, "The growing panel was started with k=3, not k=4. Use the same", grow(method=[GROW[0], "4", *GROW[2:]])
    )


def test_a_lost_or_exchanged_key_is_refused(capsys):
    write_days(Path("days"))
    grow()
    key = Path("keep/pseudonym.key")
    key.write_bytes(b"cd" * 32)
    refusal(capsys, "is not the key of the earlier releases", grow())
    key.unlink()
    refusal(capsys, "is not the key of the earlier releases", grow())
    assert not key.exists()


def test_a_key_that_a_killed_process_left_empty_is_made_anew(capsys):
    write_days(Path("days"), n_days=1)
    Path("keep").mkdir(mode=0o700)
    Path("keep/pseudonym.key").touch(mode=0o600)
    assert grow() == 0
    assert len(Path("keep/pseudonym.key").read_bytes()) == 64


def test_a_damaged_state_is_refused(capsys):
    write_days(Path("days"))
    grow()
    state = Path("keep/growing.state")
    content = state.read_bytes()
    state.write_bytes(content.replace(b'"cell"', b'"cello"') if b'"cell"' in content else content[:-1] + b"x")
    refusal(capsys, "cannot be read: it is damaged. Restore a copy of growing.state", grow())


def test_a_state_edited_with_care_is_refused_as_well(capsys):
    write_days(Path("days"))
    grow()
    edit_state(lambda rows: rows.with_columns(pl.Series("cell", np.roll(rows["cell"].to_numpy(), 1))))
    refusal(capsys, "its groups are not those that were published", grow())


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((("settings", "reading"), []), (("settings", "method"), "x"), (("settings", "key"), None)),
        *((("releases", 0, "source"), 1), (("releases", 0), {}), (("releases", 0, "folder"), [])),
        *((("operator", "columns"), {}), (("operator", "columns"), []), (("operator", "columns", "subjects"), None)),
        *((("operator", "stretches", 0, "last"), "x"), (("operator", "stretches", 0, "published"), "x")),
        *((("operator", "waiting"), [None]), (("operator", "spare"), None)),
    ],
)
def test_facts_of_another_type_are_refused_when_the_state_is_read(capsys, place, value):
    write_days(Path("days"))
    grow()

    def edit(facts):
        for step in place[:-1]:
            facts = facts[step]
        facts[place[-1]] = value

    edit_state(lambda rows: rows, edit)
    refusal(capsys, "", grow())


def test_a_series_without_a_cell_is_refused(capsys):
    write_days(Path("days"))
    grow()
    edit_state(lambda rows: rows.with_columns(before=pl.lit(None, dtype=pl.Int64)))
    refusal(capsys, "cannot be read: it is damaged", grow())


def edit_state(change, edit=lambda facts: None):
    """Edit the table and the facts of the state so that its own digest fits."""
    path = Path("keep/growing.state")
    kept = Checkpoint.from_bytes(path.read_bytes())
    edit(kept.facts)
    path.write_bytes(Checkpoint(kept.number, kept.facts, {"series": change(kept.tables["series"])}).to_bytes())


def test_a_day_published_under_other_groups_is_found_by_whoever_has_the_releases(capsys):
    """The publisher's state is forged throughout, so that the operator cannot know; the releases tell."""
    write_days(Path("days"))
    days = [Path(f"days/{number}.csv") for number in range(3)]
    aside = days[2].rename("last.csv")
    grow()

    def exchanged(rows):
        cells = rows["cell"].to_numpy().copy()
        one, other = (np.flatnonzero(cells == cell)[0] for cell in (0, 1))
        cells[[one, other]] = cells[[other, one]]
        return rows.with_columns(cell=pl.Series(cells), alike=pl.Series(cells), before=pl.Series(cells))

    edit_state(exchanged)
    aside.rename(days[2])
    grow()
    assert all(verify(f"out/{day}").holds for day in (0, 3, 6))
    outcome = verify("out")
    assert not outcome.holds
    assert outcome.verdicts[0][1].measured == 1
    assert re.fullmatch(
        r"together the releases do not hold: measured 1, required 3; series \d+ of 0 is in too small a crowd .*",
        outcome.findings[-1],
    )
    capsys.readouterr()
    assert run(["verify", "out"]) == 1
    assert "together the releases do not hold" in capsys.readouterr().out


def test_a_day_published_again_under_other_groups_is_found(capsys):
    write_days(Path("days"))
    grow()
    # The same day as the beginning of another sequence, under the same key.
    rows = pl.read_csv("days/0.csv").pivot("time", index="id", values="value")
    panel = Panel(rows.drop("id").to_numpy(), ids=rows["id"].to_list(), times=[0, 1, 2])
    other = IncrementalMicroaggregation(Microaggregation(k=3, algorithm="by-variance")).push(panel)
    publish(other, "out/0-again", pseudonyms="keyed", private="keep", format="csv")
    outcome = verify("out")
    assert any("0 and 0-again cover the same instants; what is published is never corr" in f for f in outcome.findings)
    assert any("together the releases do not hold" in f for f in outcome.findings)


def test_a_release_without_the_promise_or_under_names_of_its_own_is_no_part_of_a_sequence(capsys):
    write_days(Path("days"))
    grow()
    panel = Panel(np.arange(12.0).reshape(6, 2), times=[100, 101])
    publish(Microaggregation(k=3).anonymize(panel), "out/stray", pseudonyms="keyed", private="keep")
    publish(IncrementalMicroaggregation(Microaggregation(k=3)).push(panel), "out/unnamed")
    publish(Microaggregation(k=3, form="profiles").anonymize(panel), "out/profiles")
    Path("out/notes.txt").write_text("x")
    Path("out/.hidden").mkdir()
    findings = verify("out").findings
    assert "stray: it promises nothing about a sequence: release.json has no sequence-anonymity" in findings
    assert "unnamed: its series have names of their own, so it cannot be compared with the others" in findings
    assert "profiles: it cannot be read as values of series, so it is not judged with the others" in findings
    assert "the folder holds 2 other file(s) or folder(s) besides the releases, including hidden ones" in findings


def test_promises_of_one_name_are_told_apart_over_all_releases():
    for day, requires in enumerate(([KAnonymity(2), KAnonymity(3)], [KAnonymity(2)])):
        panel = Panel(np.arange(24.0).reshape(6, 4), times=np.arange(4) + 4 * day)
        publish(Microaggregation(k=4).anonymize(panel), f"out/{day}", require=requires)
    assert [name for name, _ in verify("out").verdicts] == [f"k-anonymity k={k}" for k in (4, 2, 3)]
    assert [name for name, _ in verify("out/1").verdicts] == [f"k-anonymity k={k}" for k in (4, 2)]


def test_a_changed_file_of_any_release_is_found(capsys):
    write_days(Path("days"))
    grow()
    data = Path("out/3/data.csv")
    data.write_text(data.read_text().replace(".", "1.", 1))
    outcome = verify("out")
    assert not outcome.holds
    assert outcome.findings[0].startswith("3: data.csv was changed after the release")


def test_a_folder_without_releases_is_no_sequence():
    Path("empty").mkdir()
    with pytest.raises(ReleaseError, match=r"holds no release: no folder in it has a release.json"):
        verify_sequence("empty")
    with pytest.raises(ReleaseError, match=r"is not a release: it has no release.json"):
        verify("empty")


def test_a_refusal_of_the_gate_leaves_the_state_as_it_was(capsys):
    write_days(Path("days"), n_days=1)
    grow()
    state = read_state()
    add_day(1, meters(0, 14))
    code = grow("--ledger", "no/such/folder/ledger")
    refusal(capsys, "Cannot open the ledger", code)
    assert read_state() == state
    assert not Path("out/3").exists()
    add_day(1, meters(0, 13))  # nobody has seen the day, so it may come otherwise
    assert figures(capsys)["written"] == 1
    assert verify("out").holds


def read_state():
    kept = Checkpoint.from_bytes(Path("keep/growing.state").read_bytes())
    operator = {name: fact for name, fact in kept.facts["operator"].items() if name != "waiting"}
    return kept.tables["series"].drop("before").to_dicts(), kept.facts["releases"], operator


def test_a_place_that_is_taken_is_refused_before_anything_is_announced(capsys):
    write_days(Path("days"), n_days=1)
    Path("out/0").mkdir(parents=True)
    Path("out/0/something").write_text("x")
    refusal(capsys, "exists, and is not a release of this growing panel. Move it away, or choose", grow())
    assert Path("out/0/something").exists()


def test_an_announced_release_that_was_changed_is_refused(capsys):
    write_days(Path("days"), n_days=1)
    grow()
    path = Path("keep/growing.state")
    kept = Checkpoint.from_bytes(path.read_bytes())
    kept.facts["releases"][-1]["certificate"] = None
    path.write_bytes(kept.to_bytes())
    certificate = Path("out/0/release.json")
    certificate.write_text(certificate.read_text().replace("0.1.0", "0.1.1"))
    refusal(capsys, "was changed after it was written. Restore it", grow())


def test_the_ledger_records_every_release_and_lets_them_pass(capsys):
    write_days(Path("days"))
    assert grow("--ledger", "ledger.jsonl") == 0
    told = "ledger.jsonl: new, it now has 3 releases. It knows nothing of releases made without it"
    assert told in capsys.readouterr().out
    assert run(["ledger", "check", "ledger.jsonl"]) == 0
    found = capsys.readouterr().out
    assert "releases        3" in found
    assert "smallest crowd  3, promised 3" in found


def test_groups_are_formed_on_what_is_to_be_kept_and_each_release_measures_it(capsys):
    assert run(["simulate", "meters", "-o", "days.parquet", "--n", "120", "--days", "2", "--seed", "3"]) == 0
    table, on = pl.read_parquet("days.parquet"), pl.col("time").dt.date()
    Path("days").mkdir()
    for day, part in table.with_columns(day=on).partition_by("day", as_dict=True).items():
        part.drop("day").write_parquet(f"days/{day[0]}.parquet")
    assert grow("--keep", "peaks") == 0
    releases = [json.loads(path.read_text()) for path in sorted(Path("out").glob("*/release.json"))]
    assert len(releases) == 2
    for certificate in releases:
        assert certificate["method"]["parameters"]["features"] == "keep:peaks"
        assert certificate["figures"]["process"]["kept"] == ["peak-height-error", "peak-time-error"]
        assert {"peak-height-error", "peak-time-error"} <= set(certificate["utility"])
    capsys.readouterr()
    refusal(capsys, "was started with other settings: method", grow())
    refusal(capsys, "was started with other settings: method", grow("--keep", "total"))


def test_several_series_of_a_subject_are_judged_by_the_ledger(capsys):
    Path("days").mkdir()
    chance = np.random.default_rng(3)
    for day in range(4):
        # Two meters of each house, in groups of other houses; on the second day a third one of four houses begins.
        names = [(f"meter-{i}", f"house-{i % 9}") for i in range(18 if day < 1 else 22)]
        rows = [(*name, 3 * day + t, float(chance.integers(0, 99))) for name in names for t in range(3)]
        pl.DataFrame(rows, schema=["id", "house", "time", "value"], orient="row").write_csv(f"days/{day}.csv")
    assert grow("--ledger", "ledger.jsonl", "--subject", "house") == 0
    capsys.readouterr()
    assert run(["ledger", "check", "ledger.jsonl"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "releases        4",
        "verdict         holds",
        "smallest crowd  3, promised 3",
    ]
    assert run(["verify", "out"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[1] == (
        "verdict             NOT JUDGED: k-anonymity in subjects, sequence-anonymity in subjects; the files are intact"
    )
    assert told[2].startswith(
        "sequence-anonymity  not judged: subjects cannot be distinguished here; counted in series"
    )


def test_a_growing_panel_is_refused_by_the_ledger_beside_other_groups_of_the_same_people(capsys):
    write_days(Path("days"))
    days = [pl.read_csv(path) for path in sorted(Path("days").iterdir())]
    days[0].with_columns(pl.col("time") - 100).write_csv("before.csv")
    options = ["--k", "3", "--algorithm", "by-variance", "--out", "before", "--ledger", "ledger.jsonl"]
    assert run(["anonymize", "before.csv", *options]) == 0
    refusal(capsys, "Together with 1 earlier release", grow("--ledger", "ledger.jsonl"), expected=1)
    assert not Path("out/0").exists()


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("Unknown option --sensitive for microaggregation", ["--sensitive", "x"]),
        ("Unknown option --engine for microaggregation", ["--engine", "spark"]),
        ("--every cuts one table. In a folder, each table is a stretch", ["--every", "1d"]),
        ("--window", ["--window", "3"]),
    ],
)
def test_options_that_make_no_sense_are_refused(capsys, words, options):
    write_days(Path("days"), n_days=1)
    refusal(capsys, words, grow(*options))
    assert not Path("out").exists()


def test_sources_that_are_none_are_refused(capsys):
    refusal(capsys, "No such file or folder: nothing", grow(source="nothing"))
    Path("empty").mkdir()
    refusal(capsys, "No CSV or Parquet file in empty", grow(source="empty"))


def test_a_growing_panel_needs_a_private_folder_outside_the_releases(capsys):
    write_days(Path("days"), n_days=1)
    refusal(capsys, "A growing panel needs --private DIR", run(["grow", "days", *GROW, "-o", "out"]))
    refusal(capsys, "must not be inside the release", grow(private="out/keep"))


def test_options_of_series_are_refused_where_events_are_published(capsys):
    code = run(["stream", "-", "--l", "2", "--window", "3", "--value", "kwh"])
    refusal(capsys, "Unknown option --value for reposition", code)


NLK_OPTIONS = ["--method", "nlk", "--n", "1", "--l", "3", "--k", "3", "--format", "csv"]


def test_a_growing_panel_under_nlk_anonymity_keeps_it_over_all_releases_and_the_ledger_agrees(capsys):
    write_days(Path("days"))  # four newcomers on the second day, and one is away on the third
    found = figures(capsys, "--alone", "1", "--ledger", "ledger.jsonl", method=NLK_OPTIONS)
    assert (found["written"], found["series"], found["groups"], found["waiting"]) == (3, 14, None, 0)
    assert [load_release(f"out/{day}").certificate["counts"]["series"] for day in (0, 3, 6)] == [10, 14, 11]
    names = [part["name"] for part in load_release("out/6").certificate["guarantees"]]
    assert names == ["nlk-anonymity", "sequence-nlk-anonymity"]
    outcome = verify("out")
    assert outcome.holds
    assert [name for name, _ in outcome.verdicts] == ["sequence-nlk-anonymity", "nlk-anonymity"]
    assert run(["ledger", "check", "ledger.jsonl"]) == 0
    capsys.readouterr()
    assert figures(capsys, "--alone", "1", "--ledger", "ledger.jsonl", method=NLK_OPTIONS)["written"] == 0


def test_releases_under_nlk_anonymity_that_are_fine_alone_are_found_together(capsys):
    write_days(Path("days"))
    grow(method=NLK_OPTIONS)
    Path("other").mkdir()
    for number in range(3):  # each day as the first of a sequence of its own, under the same names
        shutil.copytree("keep", f"keep-{number}")
        Path(f"keep-{number}/growing.state").unlink()
        Path(f"day-{number}").mkdir()
        shutil.copy(f"days/{number}.csv", f"day-{number}/{number}.csv")
        grow("--alone", "1", source=f"day-{number}", out=f"out-{number}", private=f"keep-{number}", method=NLK_OPTIONS)
        shutil.copytree(f"out-{number}/{3 * number}", f"other/{3 * number}")
        assert verify(f"other/{3 * number}").holds
    outcome = verify("other")
    assert not outcome.holds
    assert any("1 values of series" in finding for finding in outcome.findings)


def leave_out_who_begins(monkeypatch):
    """Leave members out as earlier versions did, those who begin as well, and write a state that does not say."""

    def formerly(verb, since):
        def called(self, *given):
            kept, self._since = self._since, since(self, *given)
            try:
                return verb(self, *given)
            finally:
                self._since = kept

        return called

    earlier = {
        "_candidate": formerly(IncrementalNLK._candidate, lambda self, _, number: np.minimum(self._since, number - 1)),
        "_judge": formerly(IncrementalNLK._judge, lambda self, _: self._since - 1),
        "state": super(IncrementalNLK, IncrementalNLK).state,
    }
    for name, verb in earlier.items():
        monkeypatch.setattr(IncrementalNLK, name, verb)


def test_who_an_earlier_version_left_out_at_the_beginning_is_published_next(capsys, monkeypatch):
    Path("days").mkdir()
    add_day(0, meters(0, 4))
    add_day(1, meters(1, 12))  # one is away, and of the eleven others two are left out
    with monkeypatch.context() as earlier:
        leave_out_who_begins(earlier)
        assert grow(method=NLK_OPTIONS) == 0
    assert not verify("out").holds
    add_day(2, meters(0, 5))
    refusal(capsys, r"left 2 member\(s\) out .* in this stretch 2 of them lack readings", grow(method=NLK_OPTIONS))
    shutil.move("out/0", "aside")
    refusal(
        capsys, "1 of 2 releases of this growing panel are not in 'out'. .* Put them back", grow(method=NLK_OPTIONS)
    )
    shutil.move("aside", "out/0")
    add_day(2, meters(1, 12))
    assert grow(method=NLK_OPTIONS) == 0
    assert verify("out").holds
    add_day(3, meters(0, 12))
    assert grow(method=NLK_OPTIONS) == 0
    assert verify("out").holds
    shutil.move("out/0", "aside")  # once all are known to be published, no release is needed
    add_day(4, meters(0, 12))
    assert grow(method=NLK_OPTIONS) == 0


def test_the_method_of_a_growing_panel_stays_the_same(capsys):
    write_days(Path("days"), n_days=1)
    grow()
    refusal(capsys, "was started with --method microaggregation. Use the same", grow(method=NLK_OPTIONS))
    refusal(
        capsys, "--spare is not an option of a growing panel with --method nlk", grow("--spare", 1, method=NLK_OPTIONS)
    )
    refusal(capsys, "--alone is not an option of a growing panel with --method microagg", grow("--alone", 1))
    kp = ["--method", "kp", "--k", "3", "--p", "2"]
    refusal(capsys, "is published by one of: microaggregation, nlk; not by kp", grow(method=kp))


def test_releases_of_two_kinds_are_no_sequence(capsys):
    write_days(Path("days"), n_days=2)
    grow()
    grow(out="nlk", private="keep2", method=NLK_OPTIONS)
    shutil.rmtree("out/3")
    shutil.copytree("nlk/3", "out/3")
    outcome = verify("out")
    assert not outcome.holds
    assert any("a sequence has one promise" in finding for finding in outcome.findings)
