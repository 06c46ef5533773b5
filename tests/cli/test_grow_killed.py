"""A growing panel that is killed at any step goes on as if nothing had happened: nothing lost, twice, or otherwise."""

import shutil
import signal

import numpy as np
import pytest

from growing_processes import N_DAYS, NLK_OPTIONS, OPTIONS, contents, ended, start, write_days
from shoal import verify
from stream_processes import KILL_EVERY, soaked

by_method = pytest.mark.parametrize("options", [OPTIONS, NLK_OPTIONS], ids=["microaggregation", "nlk"])


def publish_here(folder, source, name, options):
    """The same command in this process."""
    from shoal.cli.app import run as command

    places = ["--private", folder / f"private-{name}", "-o", folder / f"out-{name}"]
    return command([str(word) for word in ("grow", source, *options, *places)])


def with_key(folder, name):
    """A private folder with the same key for all, so that all releases have the same bytes."""
    private = folder / f"private-{name}"
    private.mkdir(mode=0o700)
    (private / "pseudonym.key").write_bytes(b"ab" * 32)
    (private / "pseudonym.key").chmod(0o600)


def state_of(folder, name):
    from shoal.streams.checkpoint import Checkpoint

    kept = Checkpoint.from_bytes((folder / f"private-{name}" / "growing.state").read_bytes())
    return kept.tables["series"].to_dicts(), kept.facts["releases"], kept.facts["operator"]


@pytest.mark.timeout(400)
@by_method
def test_a_kill_at_any_step_of_a_release_loses_nothing_and_publishes_nothing_twice(tmp_path, capsys, options):
    days = tmp_path / "days"
    write_days(days)
    last = days / f"{N_DAYS - 1}.csv"
    aside = last.rename(tmp_path / "last.csv")
    with_key(tmp_path, "x")
    assert publish_here(tmp_path, days, "x", options) == 0
    places = [tmp_path / "private-x", tmp_path / "out-x"]
    copies = [shutil.copytree(place, tmp_path / f"{place.name}-before") for place in places]
    shutil.copy(aside, last)
    assert publish_here(tmp_path, days, "x", options) == 0
    expected, state = contents(tmp_path / "out-x"), state_of(tmp_path, "x")
    assert len(state[1]) == N_DAYS

    kill_at, found = 1, []
    while True:
        for place, copy in zip(places, copies, strict=True):
            shutil.rmtree(place)
            shutil.copytree(copy, place)
        code = ended(start(tmp_path, days, "x", kill_at, options))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        found.append(len(state_of(tmp_path, "x")[1]))
        assert publish_here(tmp_path, days, "x", options) == 0
        assert contents(tmp_path / "out-x") == expected
        assert state_of(tmp_path, "x") == state
        kill_at += KILL_EVERY
    # Some were killed before the release was announced, some after, or the test has shown nothing.
    assert {N_DAYS - 1, N_DAYS} == set(found)
    assert kill_at > 12
    assert verify(tmp_path / "out-x").holds


@pytest.mark.timeout(300)
@by_method
def test_kills_at_random_moments_from_the_beginning_on_lead_to_the_same_releases(tmp_path, capsys, options):
    days = tmp_path / "days"
    write_days(days)
    for name in ("undisturbed", "killed"):
        with_key(tmp_path, name)
    assert publish_here(tmp_path, days, "undisturbed", options) == 0
    chance, kills = np.random.default_rng(5), 0
    for kill_at in chance.integers(1, 60, 6):
        if ended(start(tmp_path, days, "killed", int(kill_at), options)) == 0:
            break
        kills += 1
    assert kills
    assert publish_here(tmp_path, days, "killed", options) == 0
    assert contents(tmp_path / "out-killed") == contents(tmp_path / "out-undisturbed")
    assert state_of(tmp_path, "killed") == state_of(tmp_path, "undisturbed")


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_many_kills_of_one_sequence_under_nlk_lead_to_the_same_releases(tmp_path, capsys):
    days = tmp_path / "days"
    write_days(days, n_days=6)
    with_key(tmp_path, "undisturbed")
    assert publish_here(tmp_path, days, "undisturbed", NLK_OPTIONS) == 0
    expected, state = contents(tmp_path / "out-undisturbed"), state_of(tmp_path, "undisturbed")
    chance, kills = np.random.default_rng(11), 0
    for number in range(soaked(30, 3)):
        name = f"killed-{number}"
        with_key(tmp_path, name)
        while ended(start(tmp_path, days, name, int(chance.integers(1, 120)), NLK_OPTIONS)) != 0:
            kills += 1
        assert contents(tmp_path / f"out-{name}") == expected
        assert state_of(tmp_path, name) == state
    assert kills > number
    assert verify(tmp_path / "out-undisturbed").holds
