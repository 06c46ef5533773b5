"""A meter killed at any moment, and started again with a clock that is wrong, never overspends."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from shoal.edge.fleet import Plan
from shoal.edge.response import units
from shoal.process.edge import enroll_together

W = 6


@pytest.mark.parametrize("kills", [3, pytest.param(200, marks=pytest.mark.soak)])
def test_kills_never_let_a_meter_spend_more_than_its_budget(kills, tmp_path):
    plan = Plan(lower=0.0, upper=4.0, w=W, scheme="budget-uniform")
    enroll_together(tmp_path / "fleet", plan, 1, 1)
    folder = tmp_path / "fleet" / "meters" / "00000"
    dice, sent, tick, label = random.Random(kills), [], 0, 1000
    for kill in range(kills + 1):
        command = [sys.executable, str(Path(__file__).with_name("meter_process.py")), str(folder)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ}
        ) as meter:
            assert meter.stdout.readline() == "ready\n"
            label += dice.choice([-50, -W, -1, 0, 0, 0, 1, W, 300])
            of_label = {}
            for _ in range(dice.randint(1, 2 * W)):
                tick, label = tick + 1, label + 1
                of_label[label] = tick
                meter.stdin.write(f"{label} 1.0\n")
            meter.stdin.flush()
            # Some answers are read, then it is killed in the midst of others.
            lines = [meter.stdout.readline() for _ in range(dice.randint(0, min(2, len(of_label))))] if kill % 2 else []
            if kill < kills:
                meter.kill()
            lines += meter.communicate()[0].splitlines()
        for line in lines:
            if len(line.split()) == 2:
                at, cost = map(int, line.split())
                sent.append((of_label[at], at, cost))
    assert len(sent) > 0
    for part in (0, 1):
        costs = Counter()
        for entry in sent:
            costs[entry[part]] += entry[2]
        assert max(sum(costs[first + i] for i in range(W)) for first in list(costs)) <= units(1.0)
