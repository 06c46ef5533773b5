"""What learning gives: features like any other, saved, loaded and put on record."""

import json
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shoal import Microaggregation, Panel
from shoal.errors import InputError, ParameterError
from shoal.features import DeepMetric, Learned, LinearMetric, find_features
from shoal.features.inputs import time_inputs
from shoal.features.interests import Arrival, Segment, distances, label_pairs


def random_network(shape=(12,), seed=0, used=True):
    """A deep metric without learning, so that nothing here needs torch."""
    rng = np.random.default_rng(seed)
    n = 8 * int(np.prod(shape))
    layers = ((rng.normal(size=(5, n)), rng.normal(size=5)), (rng.normal(size=(3, 5)), rng.normal(size=3)))
    return Learned("deep", "time", shape, rng.normal(size=n), 2.5, layers, {"used": used, "seed": 0})


@pytest.fixture(scope="module")
def days():
    return np.random.default_rng(4).normal(size=(60, 12))


@pytest.fixture(scope="module")
def linear(days):
    return LinearMetric().learn(*label_pairs(days, Segment(3, 5)))


@pytest.fixture(params=["linear", "deep", "not used"])
def learned(request, linear):
    return {"linear": linear, "deep": random_network(), "not used": random_network(used=False)}[request.param]


def test_features_go_with_their_rows_to_the_last_bit(learned, rng):
    x = rng.lognormal(size=(700, 12))
    order = rng.permutation(700)
    found = learned(Panel(x))
    assert found.dtype == np.float64
    assert_array_equal(learned(Panel(x[order])), found[order])
    assert_array_equal(learned(Panel(x[:1])), found[:1])
    assert_array_equal(learned.transform(x), found)


def test_long_panels_are_mapped_in_blocks_with_the_same_bits(monkeypatch, learned, days):
    whole = learned.transform(days)
    monkeypatch.setattr("shoal.features.learned._CELLS", 1000)
    assert_array_equal(learned.transform(days), whole)


def test_the_network_is_the_formula(days):
    learned = random_network()
    (w1, b1), (w2, b2) = learned.layers
    h = (time_inputs(days) - learned.centre) / learned.scale
    np.testing.assert_allclose(learned.transform(days), np.maximum(h @ w1.T + b1, 0) @ w2.T + b2, rtol=1e-12)


def test_time_inputs_are_what_a_loop_finds(rng):
    x = rng.integers(0, 4, size=(5, 7)).astype(float)
    found = time_inputs(x).reshape(5, 8, 7)
    for row, parts in zip(x, found, strict=True):
        rise = [0.0, *(max(0.0, b - a) for a, b in pairwise(row))]
        fall = [0.0, *(max(0.0, a - b) for a, b in pairwise(row))]
        for t in range(7):
            assert parts[0, t] == row[t]
            assert parts[1, t] == pytest.approx(row[: t + 1].sum() / 7)
            wanted = [end for y in (row, rise, fall) for end in (max(y[: t + 1]), max(y[t:]))]
            assert parts[2:, t].tolist() == wanted


def test_arrival_is_a_sum_of_the_inputs(rng):
    x = (rng.random((20, 9)) < 0.3).astype(float)
    so_far = time_inputs(x).reshape(20, 8, 9)[:, 2]
    assert_array_equal(9 - so_far.sum(axis=1), Arrival().of(x)[:, 0])


def test_it_is_accepted_as_features_and_groups_form_in_its_space(days, linear):
    assert find_features(linear) is linear
    generic = Microaggregation(k=4).anonymize(Panel(days))
    candidate = Microaggregation(k=4, features=linear).anonymize(Panel(days))
    assert candidate.check().holds
    groups = candidate.private.groups
    for group in np.unique(groups):
        members = days[groups == group]
        np.testing.assert_allclose(candidate.values[groups == group], np.tile(members.mean(axis=0), (len(members), 1)))
    loss = [distances(Segment(3, 5), days, found.values).mean() for found in (candidate, generic)]
    assert loss[0] < 0.6 * loss[1]


def test_the_recipe_names_its_digest(days, linear):
    recipe = Microaggregation(k=4, features=linear).anonymize(Panel(days)).recipe
    entry = recipe.parameters["features"]
    assert json.loads(json.dumps(recipe.parameters))["features"] == entry
    assert entry["learned"] == "linear"
    assert entry["used"] is True
    assert entry["sha256"] == linear.digest()
    assert entry["held_out_learned"] > entry["held_out_euclidean"]


def test_a_metric_that_is_not_used_groups_by_the_values(days):
    learned = random_network(used=False)
    one, other = (Microaggregation(k=4, features=f).anonymize(Panel(days)) for f in (learned, "raw"))
    assert_array_equal(one.private.groups, other.private.groups)
    assert one.recipe.parameters["features"]["used"] is False


def test_saved_and_loaded_it_is_the_same(tmp_path, learned, days):
    loaded = Learned.load(learned.save(tmp_path / "metric.npz"))
    assert loaded.digest() == learned.digest()
    assert loaded.figures == learned.figures
    assert_array_equal(loaded.transform(days), learned.transform(days))
    assert loaded.save(tmp_path / "again.npz").read_bytes() == (tmp_path / "metric.npz").read_bytes()


def test_the_file_holds_no_pickle(tmp_path, linear):
    with np.load(linear.save(tmp_path / "metric.npz"), allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "uf" for name in file.files)


def rewritten(path, **changed):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez(path, **(arrays | changed))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b"nothing"), "is not a learned metric"),
        (lambda path: path.write_bytes(b""), "is not a learned metric"),
        (lambda path: path.write_bytes(path.read_bytes()[:200]), "is not a learned metric"),
        (lambda path: np.savez(path, x=np.ones(3)), "is not a learned metric"),
        (lambda path: np.savez(path, header=np.array([{"a": 1}], dtype=object)), "is not a learned metric"),
        (lambda path: rewritten(path, bias_0=np.ones(2)), "is not a learned metric"),
        (lambda path: rewritten(path, centre=np.ones(4)), "is not a learned metric"),
        (lambda path: rewritten(path, header=np.frombuffer(b"[]", dtype=np.uint8)), "is not a learned metric"),
        (lambda path: rewritten(path, centre=np.zeros(96)), "was changed after it was saved"),
        (lambda path: path.unlink(), "cannot be read: No such file"),
    ],
)
def test_what_is_no_learned_metric_is_refused(tmp_path, spoil, message):
    path = random_network().save(tmp_path / "metric.npz")
    spoil(path)
    with pytest.raises(InputError, match=message):
        Learned.load(path)


def test_the_arrays_cannot_be_changed(linear):
    with pytest.raises(ValueError, match="read-only"):
        linear.layers[0][0][0, 0] = 1.0


def test_figures_are_counts_and_scores(linear):
    figures = linear.figures
    assert figures["used"] is True
    assert figures["n_pairs"] == 60 * 59 // 2
    assert 0 < figures["n_similar"] < figures["n_pairs"]
    assert 0.5 < figures["held_out_euclidean"] < figures["held_out_learned"] <= 1.0
    assert linear.statement.startswith("The learned metric is used: on ")
    assert repr(linear) == "Learned(linear, used, 12 features)"
    assert linear.name == "learned-linear"


def test_series_of_another_length_are_refused(linear):
    with pytest.raises(ParameterError, match=r"series of shape \(12,\), these have shape \(7,\)"):
        linear(Panel(np.ones((3, 7))))


def test_gaps_are_refused(linear, days):
    x = days.copy()
    x[5, 2] = np.nan
    with pytest.raises(InputError, match=r"need complete series; 1 of 60.*position 5"):
        Microaggregation(k=4, features=linear).anonymize(Panel(x))


def test_one_channel_is_none(linear, days):
    assert_array_equal(linear(Panel(days[:, :, None])), linear.transform(days))


@pytest.mark.parametrize("metric", [LinearMetric(), DeepMetric()])
def test_a_metric_that_has_learned_nothing_is_no_features(metric):
    with pytest.raises(ParameterError, match="has learned nothing yet; give what its learn"):
        Microaggregation(k=3, features=metric)


def test_a_saved_network_maps_series_without_torch(tmp_path, days):
    learned = random_network()
    path = learned.save(tmp_path / "metric.npz")
    script = (
        "import sys, numpy as np; from shoal.features import Learned, DeepMetric, LinearMetric\n"
        f"found = Learned.load({str(path)!r}).transform(np.ones((2, 12)))\n"
        "assert 'torch' not in sys.modules and 'sklearn' not in sys.modules; print(found.shape)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(2, 3)"
