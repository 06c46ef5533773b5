"""A meter killed at any moment, and started with a clock that is wrong, never overspends nor uses a mask twice."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from shoal.edge.fleet import Plan
from shoal.edge.keys import Keys
from shoal.edge.messages import COLLECTOR, MessageKind, read_message, write_message
from shoal.edge.response import units
from shoal.process.edge import enroll_together

W = 6


@pytest.fixture
def launcher():
    command = [sys.executable, str(Path(__file__).with_name("meter_process.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.stdin.close()


def run_until_killed(launcher, folder, orders, out, seconds):
    """What the meter sent before it was killed, or until it had obeyed all orders."""
    (folder.parent / "orders").write_text("\n".join(orders))
    out.unlink(missing_ok=True)
    launcher.stdin.write(f"{folder} {folder.parent / 'orders'} {out}\n")
    launcher.stdin.flush()
    child = int(launcher.stdout.readline())
    if seconds is not None:
        until = time.monotonic() + 30
        while not out.exists() and time.monotonic() < until and Path(f"/proc/{child}").exists():
            time.sleep(0.001)
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    assert launcher.stdout.readline() == "ended\n"
    content = out.read_text() if out.exists() else ""
    return [bytes.fromhex(line) for line in content[: content.rfind("\n") + 1].splitlines()]


@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=pytest.mark.soak)])
@pytest.mark.parametrize("way", ["local", "sum"])
def test_kills_cost_readings_and_never_budget(kills, way, tmp_path, launcher):
    plan = Plan(lower=0.0, upper=4.0, w=W, scheme="budget-uniform", way=way)
    fleet = enroll_together(tmp_path / "fleet", plan, 3, 1)
    folder = tmp_path / "fleet" / "meters" / "00000"
    place, collector = fleet.place_of(Keys.load(folder).public), Keys.load(tmp_path / "fleet" / "collector")
    dice, tick, label, sent, dealt = random.Random(kills), 0, 1000 * W, [], []
    for kill in range(kills + 1):
        label += dice.choice([-50, -W, -1, 0, 0, 0, 1, W, 300])
        orders, of_label = [], {}
        for _ in range(dice.randint(1, 3 * W)):
            tick, label = tick + 1, label + 1
            of_label[label] = tick
            if way == "sum" and (label % W == 0 or not orders):
                begin = write_message(MessageKind.BEGIN, fleet.digest, COLLECTOR, place, label // W, b"", collector)
                orders.append(f"hear {begin.hex()}")
            orders.append(f"measure {label} 1.0")
        seconds = dice.random() * 0.03 if kill < kills else None
        for content in run_until_killed(launcher, folder, orders, tmp_path / "out", seconds):
            message = read_message(content, fleet.digest, COLLECTOR, fleet.senders)
            if message.kind is MessageKind.DEAL:
                dealt.append(message.round)
            else:
                sent.append((of_label[message.round], message.round))
    assert sent
    cost = units(1.0) // W
    for part in (0, 1):
        costs = Counter(entry[part] for entry in sent)
        assert max(sum(costs[first + i] for i in range(W)) for first in list(costs)) * cost <= units(1.0)
    assert dealt == sorted(set(dealt))
    if way == "sum":  # masks are those of a period and an instant
        assert len({label for _, label in sent}) == len(sent)
