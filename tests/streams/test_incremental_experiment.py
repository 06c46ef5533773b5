"""The experiment on growing panels runs, and its page has every figure; on real meters where they are at hand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shoal import Microaggregation, Panel, SequenceAnonymity, read_panel
from shoal.streams import IncrementalMicroaggregation

EXPERIMENT = Path(__file__).resolve().parents[2] / "experiments" / "growing_panel.py"


@pytest.mark.soak
@pytest.mark.parametrize("days", [3, 9])
def test_the_experiment_writes_its_page(tmp_path, days):
    options = ["--data", str(tmp_path / "absent"), "--series", "60", "--days", str(days), "--k", "3"]
    command = [sys.executable, str(EXPERIMENT), *options, "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ, timeout=300)
    page = (tmp_path / "growing.md").read_text(encoding="utf-8")
    for heading in ("Loss", "What fresh groups reveal", "Days on which some are away", "Why cells do not split"):
        assert f"\n## {heading}\n" in page
    assert "nan" not in page
    assert "simulated meters" in page
    assert "The growing panel keeps its guarantee: yes." in page
    assert ("first release of seven days" in page) == (days > 7)
    assert re.search(r"two days of fresh groups leave a smallest crowd of [12]\.", page)


def test_two_weeks_of_real_meters_keep_k_and_fresh_groups_do_not(shared_data):
    path = shared_data / "energyhack_sk_meters" / "energyhack_hourly_4weeks.parquet"
    if not path.is_file():
        pytest.skip("the Slovak meters are not in the folder with real data")
    meters = read_panel(path)
    days = [
        Panel(meters.values[:, 24 * d : 24 * d + 24], ids=meters.ids, times=meters.times[24 * d : 24 * d + 24])
        for d in range(14)
    ]
    growing = IncrementalMicroaggregation(Microaggregation(k=10), join=True)
    chance, released = np.random.default_rng(3), []
    for number, day in enumerate(days):
        # A tenth comes in the second week, some are away on any day, some leave.
        first = day.n_series if number >= 7 else 9 * day.n_series // 10
        there = [i for i in range(first) if chance.random() > 0.02 and (i % 50 or number < 10)]
        released.append(growing.push(day.take(np.array(there))))
        assert released[-1].check().holds
    assert SequenceAnonymity(10).check(released).holds
    fresh = [Microaggregation(k=10).anonymize(day) for day in days[:2]]
    assert SequenceAnonymity(10).check(fresh).measured == 1
