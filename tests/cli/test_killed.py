"""A killed `shoal anonymize` leaves a whole release or none."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from shoal import verify
from shoal.cli.app import run
from stream_processes import SOAK, finish, soaked, start

TRIES = soaked(300, 8)
FILES = ["data.parquet", "datapackage.json", "release.json", "report.html"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("killed") / "x.parquet"
    assert run(["simulate", "meters", "-o", str(path), "--n", "60", "--days", "7"]) == 0
    return path


def anonymize(table, out):
    return start(["anonymize", table, "--k", 5, "-o", out])


def kill_at(table, folder, chance, usual):
    """Kill one process: half of the tries anywhere in its life, half soon after it begins to write."""
    out = folder / "out"
    process = anonymize(table, out)
    if chance < 0.5:
        time.sleep(2 * chance * usual * 1.1)
    else:
        while process.is_alive() and not any(folder.iterdir()):
            time.sleep(0.0005)
        time.sleep((2 * chance - 1) * 0.15 * usual)
    finished = not process.is_alive()
    process.kill()
    process.join()
    return finished, out


@pytest.mark.timeout(7200 if SOAK else 600)
def test_kills_never_leave_half_a_release(table, tmp_path):
    for name in ("first", "undisturbed"):  # the first waits for the imports that all share
        begin = time.perf_counter()
        assert finish(anonymize(table, tmp_path / name)) == 0
        usual = time.perf_counter() - begin
    folders = [tmp_path / f"try{i}" for i in range(TRIES)]
    for folder in folders:
        folder.mkdir()
    chances = [random.Random(i).random() for i in range(TRIES)]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda f, c: kill_at(table, f, c, usual), folders, chances))
    outcomes = set()
    for finished, out in results:
        outcomes.add((finished, out.exists()))
        if out.exists():
            assert sorted(p.name for p in out.iterdir()) == FILES
            assert verify(out).holds
    # Some were killed before anything appeared, or the test has shown nothing.
    assert (False, False) in outcomes
