"""What runs goes on after an update: every version takes up the states of all formats before it, and no later one."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from shoal import verify
from shoal.cli.app import run
from shoal.closed import Closed, Count
from shoal.edge.device import Device
from shoal.edge.fleet import Fleet
from shoal.errors import ReleaseError, ShoalError
from shoal.files.format import check_format
from shoal.labels import LabelTask
from shoal.ledger.file import read_ledger
from shoal.process.edge import open_collector, run_meter
from shoal.studio.project import Project

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "formats"))
import make_states as states

FORMATS = sorted(path for path in states.STATES.iterdir() if path.is_dir())


@pytest.fixture(params=FORMATS, ids=lambda path: path.name)
def kept(request, tmp_path):
    """Unpack a state of each format by its name."""
    return lambda name: states.unpack(request.param / name, tmp_path / name)


def test_a_stream_goes_on(kept, capsys):
    place = kept("stream")
    states.write_events(place / "source", 6, 9)
    assert states.command(place, states.STREAM) == 0
    summary = json.loads((place / "out" / "summary.json").read_text())
    assert summary["finished"]
    assert summary["events"]["arrived"] == 72
    assert summary["snapshots"]["published"] == 9
    assert verify(place / "out").holds


def test_a_growing_panel_goes_on(kept, capsys):
    place = kept("grow")
    states.write_day(place / "source", 1)
    assert states.command(place, states.GROW) == 0
    assert "releases   2" in capsys.readouterr().out
    assert verify(place / "out" / "3").holds  # the report of the first, 5 MB, is not kept


def test_a_ledger_goes_on(kept):
    from publishing_processes import candidate, release

    place = kept("ledger")
    before = read_ledger(place / "ledger.jsonl")
    release(candidate(), place / "again", place / "private", place / "ledger.jsonl")
    assert read_ledger(place / "ledger.jsonl")[: len(before)] == before
    assert len(read_ledger(place / "ledger.jsonl")) == len(before) + 1


def test_a_meter_goes_on_with_what_is_left_of_its_budget(kept):
    place = kept("meter")
    collector = open_collector(place)
    device = Device.open(place / "meters" / "00000")
    assert device.budget.spent == device.budget.most  # by the four readings before the update
    device.close()
    assert len(list(run_meter(place / "meters" / "00000", ["9,1.5"]))) == 1
    assert collector.fleet.digest == Fleet.load(place / "meters" / "00000").digest
    # Meters that were not updated know the fleet by the digest they have always had.
    whole = json.loads((place / "fleet.json").read_text())
    assert Fleet.model_validate(whole | {"format": 1}).digest == collector.fleet.digest


def test_a_closed_service_goes_on_with_its_log(kept):
    service = Closed(kept("closed") / "closed", clock=lambda: 1.7e9)
    assert [line.outcome for line in service.register.entries()] == ["answered"]
    token = service.find(service.register.create("south", 1)[1])
    assert service.ask(token, Count()).value == 60.0


def test_a_studio_project_is_opened(kept):
    place = kept("studio") / "project"
    project = Project(place)
    assert project.tables() == ["days.csv"]
    assert LabelTask.load(place / "tasks" / "lunch").n_pairs == 6


def rewritten(path, change):
    """A file of JSON, or its first line, changed."""
    first, mark, rest = path.read_text().partition("\n") if path.suffix == ".jsonl" else (path.read_text(), "", "")
    path.write_text(json.dumps(change(json.loads(first))) + mark + rest)


def later_checkpoint(path):
    head, _, tables = path.read_bytes().partition(b"\n")[2].partition(b"\n")
    path.write_bytes(states.with_digest(head.replace(b'"version": 1', b'"version": 9') + b"\n" + tables))


def later_line(path):
    from shoal.ledger.entries import _sum

    def change(line):
        content = {name: value for name, value in line.items() if name != "sum"} | {"format": 9}
        return content | {"sum": _sum(content)}

    rewritten(path, change)


def later_database(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma user_version = 9")


def later_json(path):
    rewritten(path, lambda content: {"format": 9} | content | {"format": 9, "added": []})


LATER = {
    "stream": ("private/stream.state", later_checkpoint, lambda at: states.command(at, states.STREAM)),
    "grow": ("private/growing.state", later_checkpoint, lambda at: states.command(at, states.GROW)),
    "ledger": ("ledger.jsonl", later_line, lambda at: run(["ledger", "list", str(at / "ledger.jsonl")])),
    "fleet": ("fleet.json", later_json, open_collector),
    "meter": ("meters/00000/budget.jsonl", later_json, lambda at: list(run_meter(at / "meters/00000", ["9,1"]))),
    "closed": ("closed/closed.json", later_json, lambda at: Closed(at / "closed")),
    "closed log": ("closed/closed.sqlite", later_database, lambda at: Closed(at / "closed")),
    "studio": ("project/studio.sqlite", later_database, lambda at: Project(at / "project")),
}


@pytest.mark.parametrize("name", LATER)
def test_what_a_later_version_wrote_is_refused_in_a_line_that_says_so(name, tmp_path, capsys):
    path, change, use = LATER[name]
    folder = {"fleet": "meter", "closed log": "closed"}.get(name, name)
    place = states.unpack(FORMATS[-1] / folder, tmp_path / "place")
    change(place / path)
    try:
        assert use(place) == 2
        said = capsys.readouterr().err
    except ShoalError as error:
        said = str(error)
    assert "has format 9, and this version of Shoal reads up to" in said
    assert said.strip().endswith("Update Shoal.")


FORGED = {
    "stream": ("stream.state", states.STREAM, [{"settings": 1}, {"operator": {}}, {"totals": {}}, {"arrivals": [1]}]),
    "grow": ("growing.state", states.GROW, [{"settings": []}, {"releases": [7]}, {"operator": {"k": 3}}]),
}


@pytest.mark.parametrize(("name", "change"), [(name, change) for name in FORGED for change in FORGED[name][2]])
def test_a_state_whose_sum_was_made_to_fit_is_taken_for_damaged(name, change, tmp_path, capsys):
    file, words, _ = FORGED[name]
    place = states.unpack(FORMATS[-1] / name, tmp_path / "place")
    path = place / "private" / file
    head, _, tables = path.read_bytes().partition(b"\n")[2].partition(b"\n")
    content = json.loads(head)
    content["facts"] |= change
    path.write_bytes(states.with_digest(json.dumps(content).encode() + b"\n" + tables))
    assert states.command(place, words) == 2
    assert "cannot be read: it is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("found", [0, -1, True, None, "1", 1.0, np.int64(1)])
def test_what_is_no_format_is_damage_and_not_a_later_version(found):
    with pytest.raises(ValueError, match="no format"):
        check_format(found, 2, "It")
    with pytest.raises(ReleaseError, match="It has format 3"):
        check_format(3, 2, "It")
