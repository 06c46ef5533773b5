"""Table 1's pattern on real days a metric has not seen: learned from pairs of one half, judged on all of the other."""

import numpy as np
import polars as pl
import pytest

from shoal import Microaggregation, Panel
from shoal.features import DeepMetric, LinearMetric
from shoal.features.interests import Arrival, Departure, Segment, WindowTotal, distances, label_pairs

pytestmark = pytest.mark.soak

N_SPLITS = 2
"""Five in the docs; two here, for the time they take."""


@pytest.fixture(scope="module")
def days(request):
    folder = request.config.rootpath.parent / "shared" / "data" / "pad_building"
    if not folder.is_dir():
        pytest.skip("the folder shared/data with real data is not beside the repository")

    def matrix(name, n):
        return pl.read_parquet(folder / name)["value"].to_numpy().reshape(n, -1).astype(float)

    # Occupancy at every 15th minute, as the authors' program takes it.
    return {
        "occupancy": matrix("pad_occupancy_binary_1min.parquet", 192)[:, ::15],
        "energy": matrix("pad_energy_15min.parquet", 450),
    }


@pytest.mark.parametrize(
    ("data", "interest", "metric", "correlation", "loss"),
    [
        ("occupancy", Segment("11:00", "14:00"), LinearMetric(), 0.90, 0.6),
        ("energy", WindowTotal("17:00", "20:00"), LinearMetric(), 0.95, 0.6),
        ("occupancy", Arrival(), DeepMetric(), 0.75, 1.0),
        ("occupancy", Departure(), DeepMetric(), 0.80, 1.0),
        ("occupancy", Arrival(), LinearMetric(), 0.95, 0.15),
        ("occupancy", Departure(), LinearMetric(), 0.90, 0.25),
    ],
    ids=["lunchtime", "peak hours", "arrival", "departure", "arrival, linear", "departure, linear"],
)
def test_the_pattern_of_table_1(days, data, interest, metric, correlation, loss):
    if isinstance(metric, DeepMetric):
        pytest.importorskip("torch", reason="the extra 'deep' (torch) is not installed")
    found, generic, ratios = [], [], []
    for split in range(N_SPLITS):
        order = np.random.default_rng(split).permutation(len(days[data]))
        seen, unseen = (days[data][half] for half in np.array_split(order, 2))
        learned = metric.learn(*label_pairs(seen, interest, seed=split))
        assert learned.used
        i, j = np.triu_indices(len(unseen), 1)
        truth = distances(interest, unseen[i], unseen[j])
        for figures, x in ((found, learned.transform(unseen)), (generic, unseen)):
            figures.append(np.corrcoef(np.sqrt(((x[i] - x[j]) ** 2).sum(axis=1)), truth)[0, 1])
        rounding = "binary" if data == "occupancy" else None
        lost = [
            distances(
                interest,
                unseen,
                Microaggregation(k=4, features=f, round_to=rounding).anonymize(Panel(unseen)).values,
            ).mean()
            for f in (learned, "raw")
        ]
        ratios.append(lost[0] / lost[1])
    assert np.mean(found) >= correlation
    assert all(a > b for a, b in zip(found, generic, strict=True))
    assert np.mean(ratios) < loss
