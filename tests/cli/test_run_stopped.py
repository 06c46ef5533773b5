"""On a real terminal: a key stops the search, which concludes, says so everywhere, and is drawn."""

import os
import pty
import re
import sys

import pytest

from shoal import load_release, verify
from shoal.cli.app import run
from shoal.cli.frontier_plot import frontier_plot

POLICY = """
data: {path: meters.parquet}
adversary: {knows: {points: 3}}
require: {risk: {at_most: 0.9}, utility: {information-loss: {at_most: 0.99}}}
method:
  search:
    - {name: microaggregation, k: {search: {from: 3, to: 42, step: 1}}}
    - {name: noise-addition, snr: {search: {from: 1, to: 40, step: 1}}}
search: {points: 100}
release: {to: out}
"""


def on_terminal(arguments, *seen):
    """The exit code and everything a terminal shows; Ctrl-C is pressed as soon as each of these is seen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["COLUMNS"] = "90"
        os.execv(sys.executable, [sys.executable, "-m", "shoal", *arguments])
    shown = b""
    while True:
        try:
            more = os.read(terminal, 4096)
        except OSError:  # it has ended
            break
        if not more:
            break
        shown += more
        if seen and seen[0] in shown:
            os.write(terminal, b"\x03")
            seen = seen[1:]
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode()


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", "meters", "-o", "meters.parquet", "--n", "120", "--days", "2"]) == 0
    (tmp_path / "policy.yaml").write_text(POLICY)
    capsys.readouterr()
    return tmp_path


def test_a_key_stops_the_search_and_certificate_and_report_say_so(folder):
    code, shown = on_terminal(["run", "policy.yaml"], b"searching")
    assert code == 0, shown
    assert "stopping after this point. Press Ctrl-C again to abort." in shown
    certificate = load_release("out").certificate
    # So few subjects that no figure is told, and yet this is.
    assert certificate["figures"]["left_out"]
    stopped = certificate["figures"]["process"]["stopped"]
    assert stopped["of"] == 80
    assert 1 <= stopped["after"] < 80
    said = f"A person stopped the search after {stopped['after']} of 80 planned points."
    assert stopped["sentence"] == said
    assert said in (folder / "out" / "report.html").read_text()
    assert said in " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).split())
    assert verify("out").holds


def test_pressed_twice_or_before_the_search_it_gives_up(folder):
    code, shown = on_terminal(["run", "policy.yaml"], b"reading")
    assert code == 130, shown
    assert "Interrupted; nothing was written." in shown
    code, shown = on_terminal(["run", "policy.yaml"], b"searching", b"again to abort")
    assert code == 130, shown
    assert not (folder / "out").exists()


def test_the_frontier_is_drawn_on_a_terminal_and_not_in_a_pipe(folder, capsys):
    small = POLICY.replace("{from: 3, to: 42, step: 1}", "[4, 8, 16]").replace("{from: 1, to: 40, step: 1}", "[4]")
    (folder / "policy.yaml").write_text(small)
    code, shown = on_terminal(["run", "policy.yaml"])
    assert code == 0
    assert "| risk at most 0.9" in shown
    assert "a microaggregation" in shown
    assert all(len(line) <= 90 for line in shown.splitlines() if "|" in line)
    assert run(["run", "policy.yaml", "--overwrite"]) == 0
    assert "| risk at most 0.9" not in capsys.readouterr().out


def point(risk, loss, meets=True, **parameters):
    return {"parameters": parameters, "risk": risk, "risks": {}, "utility": {"loss": loss}, "meets": meets}


def test_points_limits_and_legend_are_where_they_belong():
    process = {
        "measure": "loss",
        "limits": {"risk": 0.5, "utility": {"loss": {"at_most": 0.5}}},
        "points": [point(0.0, 1.0, meets=False, k=9), point(0.25, 0.25, k=3), point(1.0, 0.0, meets=False, k=2)],
        "chosen": {"k": 3},
    }
    lines = frontier_plot(process, 60)
    rows = [line[11:] for line in lines[1:15]]
    columns = 60 - 11
    assert rows[0][0] == "."
    assert rows[-1][columns - 1] == "."
    middle = round(0.5 * (columns - 1))
    assert all(row[middle] in "|+" for row in rows)
    (across,) = [row for row in rows if "+" in row]
    assert set(across) == {"-", "+"}
    (chosen,) = [row for row in rows if "*" in row]
    assert chosen.index("*") == round(0.25 * (columns - 1))
    assert all(len(line) <= 60 for line in lines)
    assert "* chosen   o within both limits   . beyond a limit" in lines[-2]
    assert lines[-1].strip() == "| risk at most 0.5   - at most 0.5"
    several = process | {
        "points": [point(0.0, 1.0, meets=False, method="kp", k=9), point(0.25, 0.25, method="noise", snr=3)],
        "chosen": None,
    }
    drawn = "\n".join(frontier_plot(several, 200)[1:15])
    assert "a" in drawn
    assert "B" in drawn
    assert frontier_plot(process | {"points": process["points"][:1]}, 60) == []
