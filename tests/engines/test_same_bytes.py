"""Whatever runs the work, the same folder comes out, byte for byte, its certificate and its report included."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from engines.sessions import OPEN, skip_without_java
from shard_examples import many_parts
from shoal import KP, NLK, Microaggregation, NoiseAddition, Steps, TimeAggregation, publish, read_panel, simulate
from shoal.attacks import KnownPoints, Linkage
from shoal.engines import Local, Memory, in_shards
from shoal.model import panel_shards
from shoal.release import verify

METHODS = {
    "microaggregation": Microaggregation(k=5, features="standardized", within="area"),
    "nlk": NLK(n=2, l=6, k=4),
    "kp": KP(k=5, p=2),
    "pipeline": Steps((TimeAggregation(step="2h"), Microaggregation(k=5), NoiseAddition(snr=20.0))),
}


# Two seconds of work, but Spark starts programs that start Python: twelve minutes where others use the cores as well.
CLUSTER = (pytest.mark.soak, pytest.mark.timeout(3000))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Three hundred meters in two areas, their rows in no order, in several files."""
    panel = simulate.meters(300, days=1, step="1h", seed=8)
    ids = [f"meter-{i:03}" for i in range(300)]
    frame = pl.DataFrame(
        {
            "id": np.repeat(ids, panel.n_instants),
            "time": np.tile(panel.times, 300),
            "value": panel.values.ravel(),
            "area": np.repeat([f"area {i % 7 // 4}" for i in range(300)], panel.n_instants),
        }
    ).sample(fraction=1.0, shuffle=True, seed=1)
    folder = tmp_path_factory.mktemp("tables")
    for number in range(3):
        frame[2400 * number : 2400 * (number + 1)].write_parquet(folder / f"{number}.parquet", row_group_size=700)
    return folder


@pytest.fixture(autouse=True, scope="module")
def _merged_in_runs_of_three():
    """So that results are merged on the way, and merged ones once more."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(panel_shards, "RUN", 3)
        yield


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def released(engine, table, method, to):
    panel = engine.read_panel(table, quasi="area", shard_size=40)
    candidate = method.anonymize(panel)
    assert candidate.n_shards > 3
    attack = Linkage() if candidate.has_envelopes else KnownPoints(2)
    risks = {attack.name: (candidate.attack(attack, n_targets=60), attack.meaning)}
    publish(candidate, to, risks=risks, insecure_seed=3)
    return contents(to)


@pytest.fixture(scope="module")
def expected(table, tmp_path_factory):
    """What comes out in memory, made once for each method that is asked for: compiling all of them takes minutes."""

    @cache
    def of(name):
        with pytest.MonkeyPatch.context() as patched:
            many_parts(patched, 8192)
            return released(Memory(), table, METHODS[name], tmp_path_factory.mktemp("memory") / name)

    return of


@pytest.mark.parametrize(
    ("method", "engine"),
    [
        *((method, "local") for method in METHODS),
        # Envelopes with their patterns, and all that values need: the others take the same way through Spark.
        *(pytest.param(m, "spark", marks=() if m in ("kp", "pipeline") else pytest.mark.soak) for m in METHODS),
        # test_worker_killed compares releases of two processes and of a cluster with memory in every run.
        pytest.param("pipeline", "processes", marks=pytest.mark.soak),
        *(pytest.param(method, "cluster", marks=CLUSTER) for method in METHODS),
    ],
)
def test_every_engine_writes_the_same_bytes(method, engine, table, expected, tmp_path, monkeypatch):
    many_parts(monkeypatch, 8192)
    if engine in ("local", "processes"):
        with Local(memory="32MB", processes=1 + (engine == "processes")) as opened:
            found = released(opened, table, METHODS[method], tmp_path / "out")
    else:
        skip_without_java()
        found = released(OPEN.named(engine), table, METHODS[method], tmp_path / "out")
    assert list(found) == list(expected(method))
    assert [name for name in found if found[name] != expected(method)[name]] == []
    assert sum(name.startswith("data-") for name in found) > 1
    assert not verify(tmp_path / "out").findings


def test_a_table_stored_by_series_gives_the_same_bytes(table, expected, tmp_path, monkeypatch):
    many_parts(monkeypatch, 8192)
    (tmp_path / "sorted").mkdir()
    rows = pl.read_parquet(table / "*.parquet").sort("id", maintain_order=True)
    for number, (first, last) in enumerate(((0, 2000), (2000, 5000), (5000, 7200))):
        rows[first:last].write_parquet(tmp_path / "sorted" / f"{number}.parquet")
    with Local(memory="32MB") as local:
        found = released(local, tmp_path / "sorted", METHODS["microaggregation"], tmp_path / "out")
    assert found == expected("microaggregation")


def test_a_panel_in_memory_gives_what_its_table_gives(table, tmp_path):
    method, panel = METHODS["microaggregation"], read_panel(table, quasi="area")
    for name, shards in (
        ("panel", in_shards(panel, Memory(), size=40)),
        ("table", Memory().read_panel(table, quasi="area", shard_size=40)),
    ):
        publish(method.anonymize(shards), tmp_path / name, insecure_seed=3)
    assert (tmp_path / "panel" / "data.parquet").read_bytes() == (tmp_path / "table" / "data.parquet").read_bytes()
