"""`shoal ledger` and the options of `shoal anonymize` that go with it."""

import json

import numpy as np
import polars as pl
import pytest

from shoal import NLK, Microaggregation, Panel
from shoal.cli.app import run
from shoal.ledger import file as ledger
from shoal.ledger.file import recording
from shoal.release import release_candidate


def write_table(path, seed, n=24):
    values = np.random.default_rng(seed).gamma(2.0, size=(n, 6)).round(3)
    hours = pl.datetime_range(pl.datetime(2024, seed, 1), pl.datetime(2024, seed, 1, 5), "1h", eager=True)
    frame = pl.DataFrame({"id": np.repeat([f"house {i}" for i in range(n)], 6), "value": values.ravel()})
    frame.with_columns(time=pl.concat([hours] * n)).write_csv(path)
    return str(path)


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return [write_table(tmp_path / f"{seed}.csv", seed) for seed in (1, 2)]


def anonymize(table, out, *options):
    return run(["anonymize", table, "--k", "4", "-o", out, "--ledger", "book.jsonl", *options])


def test_list_shows_each_release(tables, capsys):
    assert anonymize(tables[0], "january") == 0
    assert anonymize(tables[0], "again") == 0
    capsys.readouterr()
    assert run(["ledger", "list", "book.jsonl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("1  microaggregation; k-anonymity k=4 per=subject; 24 subjects in ")
    assert "2024-01-01T00:00:00.000000 to 2024-01-01T05:00:00.000000; certificate " in lines[1]
    assert run(["ledger", "list", "book.jsonl", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [entry["method"] for entry in printed["releases"]] == ["microaggregation"] * 2
    assert printed["releases"][0]["judged"]
    assert "members" not in printed["releases"][0]


def test_the_release_says_whether_its_ledger_was_new(tables, capsys):
    assert anonymize(tables[0], "january") == 0
    assert "ledger            book.jsonl: new, this is the first release in it. It knows nothing of releases made " in (
        capsys.readouterr().out
    )
    assert anonymize(tables[0], "again") == 0
    assert "ledger            book.jsonl: checked together with 1 earlier release, 1 added\n" in capsys.readouterr().out
    assert anonymize(tables[0], "third", "--json") == 0
    assert json.loads(capsys.readouterr().out)["ledger"] == {"file": "book.jsonl", "earlier": 2}


def test_list_says_what_cannot_be_judged(tables, capsys, monkeypatch):
    monkeypatch.setattr("shoal.ledger.groups.MOST_CELLS", 0)  # too large to keep the groups at each instant
    program = ["anonymize", tables[0], "--method", "nlk", "--n", "1", "--l", "3", "--k", "4", "-o", "out"]
    assert run([*program, "--ledger", "book.jsonl"]) == 0
    capsys.readouterr()
    assert run(["ledger", "list", "book.jsonl"]) == 0
    assert "not judged: nlk-anonymity promises no crowd for whole series" in capsys.readouterr().out
    assert run(["ledger", "check", "book.jsonl"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "releases    1",
        "verdict     not judged",
        "not judged  release 1: nlk-anonymity promises no crowd for whole series. No other release of its subjects is "
        "on record, and none will pass; what it promises by itself is in its certificate",
    ]
    assert run(["ledger", "check", "book.jsonl", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert (printed["outcome"], printed["holds"], len(printed["not_judged"])) == ("not judged", False, 1)


def forge(tmp_path, *panels, methods=None):
    """A ledger of releases never judged beside each other."""
    book = tmp_path / "book.jsonl"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ledger, "refuse_together", lambda earlier, added: None)
        for number, panel in enumerate(panels):
            candidate = (methods[number] if methods else Microaggregation(k=4)).anonymize(panel)
            with recording(book, candidate, tmp_path / str(number)) as record:
                record(release_candidate(candidate, tmp_path / str(number), summary="Test."))
    return str(book)


def test_check_finds_releases_that_break_together(tmp_path, capsys):
    same, other = (Panel(np.random.default_rng(s).random((24, 4))) for s in (1, 2))
    book = forge(tmp_path, same, same, other)
    assert run(["ledger", "check", book]) == 1
    printed = capsys.readouterr().out
    assert "DOES NOT HOLD" in printed
    assert "together they leave " in printed
    assert "4 were promised; since release 3" in printed
    assert run(["ledger", "check", book, "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert not printed["holds"]
    assert printed["smallest"] < printed["promised"] == 4
    assert printed["releases"] == 3


def test_check_finds_releases_that_cannot_be_judged_beside_each_other(tmp_path, capsys):
    panel = Panel(np.random.default_rng(1).random((12, 4)))
    book = forge(tmp_path, panel, panel, methods=[Microaggregation(k=4), NLK(n=1, l=3, k=4)])
    assert run(["ledger", "check", book]) == 1
    told = capsys.readouterr().out
    assert "verdict         not judged\n" in told
    assert (
        "release 2: nlk-anonymity promises no crowd for whole series, and some of its subjects are in release 1 too. "
        "Withdraw it if you still can" in told
    )


def test_check_tells_of_a_release_that_was_not_recorded(tmp_path, capsys):
    candidate = Microaggregation(k=4).anonymize(Panel(np.random.default_rng(1).random((12, 4))))
    program = ["ledger", "check", str(tmp_path / "book.jsonl")]
    with recording(program[2], candidate, tmp_path / "out"):
        assert run(program) == 0
        assert "another process is publishing with this ledger right now" in capsys.readouterr().out
    # Nothing was recorded: as after a kill, which the tests of the ledger do in earnest.
    assert run(program) == 0
    assert "a process ended before its release was in place; there is nothing to record" in capsys.readouterr().out
    release_candidate(candidate, tmp_path / "out", summary="Test.")
    assert run(program) == 1
    assert f"a release is in place in '{tmp_path / 'out'}' but not recorded" in capsys.readouterr().out


@pytest.mark.parametrize("place", [".", "/"])
def test_a_folder_is_no_ledger(place, capsys):
    for command in ("list", "check"):
        assert run(["ledger", command, place]) == 2
        assert f"Cannot read the ledger '{place}': Is a directory." in capsys.readouterr().err


def test_an_empty_or_missing_ledger(tmp_path, capsys):
    book = tmp_path / "book.jsonl"
    assert run(["ledger", "check", str(book)]) == 2
    assert "Cannot read the ledger" in capsys.readouterr().err
    book.touch()
    assert run(["ledger", "list", str(book)]) == 0
    assert capsys.readouterr().out == "releases  none\n"
    assert run(["ledger", "check", str(book)]) == 0


def test_a_ledger_emptied_beside_its_key_is_refused(tables, tmp_path, capsys):
    assert anonymize(tables[0], "january") == 0
    (tmp_path / "book.jsonl").write_bytes(b"")
    capsys.readouterr()
    for program in (["ledger", "check", "book.jsonl"], ["ledger", "list", "book.jsonl"]):
        assert run(program) == 2
        assert "The ledger 'book.jsonl' records nothing, but its key exists" in capsys.readouterr().err
    assert anonymize(tables[1], "february") == 2
    assert not (tmp_path / "february").exists()


def test_a_damaged_note_is_told_in_one_line(tables, tmp_path, capsys):
    assert anonymize(tables[0], "january") == 0
    (tmp_path / "book.jsonl.pending").write_text('{"folder": ')
    capsys.readouterr()
    assert run(["ledger", "check", "book.jsonl"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("shoal: 'book.jsonl.pending', the note about a release")
    assert "Traceback" not in told
    assert anonymize(tables[0], "again") == 2
    assert "is damaged" in capsys.readouterr().err
    assert not (tmp_path / "again").exists()
    assert run(["ledger", "list", "book.jsonl"]) == 0
