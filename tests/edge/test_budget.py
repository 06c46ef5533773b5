"""No sequence of crashes, restarts and clock changes lets a device spend more than its budget in any window."""

import json
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shoal.edge import Budget
from shoal.edge.budget import FILE_NAME, write_budget
from shoal.errors import InputError, ParameterError

MOST = 12


class Device(RuleBasedStateMachine):
    """Readings are numbered as they are measured, whatever the device's clock says. What is sent is kept outside."""

    @initialize(w=st.integers(1, 4))
    def enrol(self, w):
        self.w, self.clock, self.true_tick, self.measured = w, 100, 0, False
        self.sent, self.begun, self.n_long = [], [], 0
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        write_budget(self.folder, MOST, w)
        self.budget = Budget(MOST, w, self.folder)

    @rule(forward=st.integers(0, 3))
    def measure(self, forward):
        self.clock += forward
        self.true_tick += 1
        self.budget.tick()
        self.measured = True

    @rule(cost=st.integers(-1, MOST + 1))
    def send(self, cost):
        if self.measured and self.budget.spend(label=self.clock, cost=cost):
            self.sent.append((self.true_tick, self.clock, cost))

    @rule(period=st.integers(0, 6))
    def begin_a_period(self, period):
        """Masks of a period are used once, whatever happens."""
        if self.budget.begin(period):
            assert period not in self.begun
            self.begun.append(period)

    @rule(by=st.sampled_from([-200, -5, -2, -1, 1, 2, 5, 1000]))
    def set_clock(self, by):
        self.clock += by

    @rule()
    def restart(self):
        self.budget.close()
        self.budget = Budget(MOST, self.w, self.folder)
        self.measured = False

    @rule(cost=st.integers(1, MOST), cut=st.integers(0, 60))
    def crash_while_writing(self, cost, cut):
        """Power fails while a line is written, before anything was sent: some of its bytes are on disk."""
        if not self.measured:
            return
        before = (self.folder / FILE_NAME).stat().st_size
        self.budget.spend(label=self.clock, cost=cost)
        after = (self.folder / FILE_NAME).stat().st_size
        self.budget.close()
        os.truncate(self.folder / FILE_NAME, min(after, before + cut))
        self.budget = Budget(MOST, self.w, self.folder)
        self.measured = False

    @precondition(lambda self: self.n_long < 1)
    @rule()
    def long_run(self):
        """Far more entries than a window has, so that old ones are dropped at the next start."""
        self.n_long += 1
        for _ in range(130):
            self.measure(1)
            self.send(1)
        self.restart()

    @invariant()
    def never_more_than_the_budget_in_any_window(self):
        if not hasattr(self, "sent"):
            return
        for at in (0, 1):
            costs = Counter()
            for entry in self.sent:
                costs[entry[at]] += entry[2]
            assert all(sum(costs[first + i] for i in range(self.w)) <= MOST for first in list(costs))

    def teardown(self):
        if hasattr(self, "budget"):
            self.budget.close()
            shutil.rmtree(self.folder)


TestDevice = Device.TestCase
TestDevice.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def test_what_fits_exactly_is_allowed_and_a_unit_more_is_not():
    budget = Budget(MOST, 3)
    for label in range(9):
        budget.tick()
        assert budget.spend(label=label, cost=4)
        assert not budget.spend(label=label, cost=max(1, 9 - 4 * label))
    assert budget.spent == MOST


def test_nothing_is_spent_before_a_reading():
    assert not Budget(MOST, 3).spend(label=0, cost=1)


def test_a_clock_set_forward_gives_no_new_budget():
    budget = Budget(MOST, 3)
    budget.tick()
    assert budget.spend(label=0, cost=MOST)
    budget.tick()
    assert not budget.spend(label=10_000, cost=1)


def test_a_clock_set_back_finds_its_labels_spent_however_long_ago(tmp_path):
    write_budget(tmp_path, MOST, 2)
    with Budget(MOST, 2, tmp_path) as budget:
        for label in range(500):
            budget.tick()
            assert budget.spend(label=label, cost=6)
    with Budget(MOST, 2, tmp_path) as budget:
        assert len((tmp_path / FILE_NAME).read_text().splitlines()) < 20
        for _ in range(5):
            budget.tick()
            assert not budget.spend(label=3, cost=1)
        assert budget.spend(label=501, cost=6)


def test_labels_near_those_that_were_dropped_are_refused_too(tmp_path):
    write_budget(tmp_path, MOST, 10)
    with Budget(MOST, 10, tmp_path) as budget:
        for label in range(150):
            budget.tick()
            assert budget.spend(label=label, cost=1)
        for _ in range(10):
            budget.tick()
        assert budget.spend(label=10_000, cost=1)
    with Budget(MOST, 10, tmp_path) as budget:
        assert len((tmp_path / FILE_NAME).read_text().splitlines()) < 20
        for _ in range(10):
            budget.tick()
        # Labels 141 to 149 have spent 9 already.
        assert not any(budget.spend(label=label, cost=4) for label in range(140, 159))
        assert budget.spend(label=159, cost=4)


def test_a_clock_far_ahead_that_is_put_right_does_not_silence_the_meter(tmp_path):
    write_budget(tmp_path, MOST, 2)
    with Budget(MOST, 2, tmp_path) as budget:
        budget.tick()
        assert budget.spend(label=1_000_000, cost=6)
        for label in range(300):
            budget.tick()
            assert budget.spend(label=label, cost=6)
    with Budget(MOST, 2, tmp_path) as budget:
        budget.tick()
        assert budget.spend(label=300, cost=6)


def test_the_entry_is_on_disk_before_it_counts_as_spent(tmp_path, monkeypatch):
    write_budget(tmp_path, MOST, 2)
    with Budget(MOST, 2, tmp_path) as budget:
        budget.tick()
        synced = []
        real = os.fsync
        monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.fstat(fd).st_size), real(fd))[1])
        assert budget.spend(label=0, cost=5)
        assert synced
        assert synced[-1] == (tmp_path / FILE_NAME).stat().st_size
        assert json.loads((tmp_path / FILE_NAME).read_text().splitlines()[-1]) == {"tick": 1, "label": 0, "cost": 5}


def test_a_disk_that_fails_costs_budget_and_gives_none(tmp_path, monkeypatch):
    write_budget(tmp_path, MOST, 2)
    with Budget(MOST, 2, tmp_path) as budget:
        budget.tick()
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "full")))
            assert not budget.spend(label=0, cost=MOST)
        assert not budget.spend(label=1, cost=1)


def test_two_processes_cannot_run_one_meter(tmp_path):
    write_budget(tmp_path, MOST, 2)
    with Budget(MOST, 2, tmp_path), pytest.raises(InputError, match="Another process runs this meter"):
        Budget(MOST, 2, tmp_path)


def test_a_lost_or_damaged_state_sends_nothing(tmp_path):
    with pytest.raises(InputError, match="what was spent is unknown"):
        Budget(MOST, 2, tmp_path)
    write_budget(tmp_path, MOST, 2)
    for damage in (
        "{}\n",
        "[]\n",
        "[" * 100_000 + "\n",
        "not json\n",
        '{"most": 12, "w": 2, "floor": "0", "period": null}\n',
        '{"most": 12, "w": 2, "floor": null, "period": null}\n{"tick": "1", "label": 1, "cost": 1}\n',
        "",
    ):
        (tmp_path / FILE_NAME).write_text(damage)
        with pytest.raises(InputError, match="is damaged"):
            Budget(MOST, 2, tmp_path)
    write_budget(tmp_path, MOST, 2)
    with pytest.raises(ParameterError, match="another epsilon or w"):
        Budget(MOST, 3, tmp_path)
    with pytest.raises(InputError, match="cannot be used"):
        Budget(MOST, 2, tmp_path / "absent")
