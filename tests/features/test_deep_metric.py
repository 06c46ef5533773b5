"""A nonlinear metric learned from pairs."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shoal import Microaggregation, Panel
from shoal.errors import ParameterError
from shoal.features import DeepMetric
from shoal.features.interests import Arrival, Departure, WindowTotal, distances, label_pairs

torch = pytest.importorskip("torch", reason="the extra 'deep' (torch) is not installed")


def occupied(n, seed, n_instants=24):
    """Days with an arrival, a departure and gaps between them."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, n_instants + 1, size=(n, 2)), axis=1)
    t = np.arange(n_instants)
    return ((t >= ends[:, :1]) & (t < ends[:, 1:]) & (rng.random((n, n_instants)) < 0.8)).astype(float)


def correlation(found, interest, days):
    i, j = np.triu_indices(len(days), 1)
    apart = np.sqrt(((found[i] - found[j]) ** 2).sum(axis=1))
    return np.corrcoef(apart, distances(interest, days[i], days[j]))[0, 1]


@pytest.fixture(scope="module")
def pairs():
    return label_pairs(occupied(70, 1), Arrival(), n_pairs=1200)


@pytest.fixture(scope="module")
def learned(pairs):
    return DeepMetric().learn(*pairs)


@pytest.mark.parametrize("interest", [Arrival(), Departure()])
def test_times_are_learned_and_hold_for_days_not_seen(interest):
    unseen = occupied(60, 2)
    learned = DeepMetric().learn(*label_pairs(occupied(70, 1), interest, n_pairs=1200))
    assert learned.used
    assert correlation(learned.transform(unseen), interest, unseen) > 0.9
    assert correlation(unseen, interest, unseen) < 0.7


def test_the_interest_survives_in_what_is_published(learned):
    panel = Panel(occupied(60, 2))
    loss = [
        distances(Arrival(), panel.rows, Microaggregation(k=4, features=f, round_to="binary").anonymize(panel).values)
        for f in (learned, "raw")
    ]
    assert loss[0].mean() < 0.6 * loss[1].mean()


def test_the_distance_is_a_pseudometric(learned):
    a, b, c = (occupied(30, seed) for seed in (3, 4, 5))
    assert (learned.distances(a, a) == 0).all()
    assert_array_equal(learned.distances(a, b), learned.distances(b, a))
    assert (learned.distances(a, c) <= learned.distances(a, b) + learned.distances(b, c) + 1e-9).all()


def test_the_same_seed_gives_the_same_bytes_whatever_torch_drew_before(pairs, tmp_path):
    metric, paths = DeepMetric(passes=4, patience=2, seed=7), []
    for name, before in (("a", 1), ("b", 2)):
        torch.manual_seed(before)
        paths.append(metric.learn(*pairs).save(tmp_path / name))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert DeepMetric(passes=4, patience=2, seed=8).learn(*pairs).digest() != metric.learn(*pairs).digest()


def test_torch_is_left_as_it_was(pairs):
    threads = torch.get_num_threads()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    torch.set_num_threads(2)
    try:
        DeepMetric(passes=1).learn(*pairs)
        assert torch.get_num_threads() == 2
        assert not torch.are_deterministic_algorithms_enabled()
        assert torch.equal(torch.rand(3), expected)
    finally:
        torch.set_num_threads(threads)


def test_learning_stops_early(learned):
    assert 1 <= learned.figures["passes"] < DeepMetric().passes
    assert DeepMetric(passes=2).learn(*label_pairs(occupied(40, 1), Arrival())).figures["passes"] <= 2


def test_the_network_in_numpy_is_torchs(learned):
    x = occupied(20, 9)
    from shoal.features.inputs import time_inputs

    h = torch.tensor((time_inputs(x) - learned.centre) / learned.scale)
    for at, (weights, bias) in enumerate(learned.layers):
        h = torch.nn.functional.linear(torch.relu(h) if at else h, torch.tensor(weights), torch.tensor(bias))
    np.testing.assert_allclose(learned.transform(x), h.numpy(), rtol=1e-9, atol=1e-12)


def test_a_useless_labelling_is_used_only_if_it_gains_on_held_out_pairs_and_that_is_said(pairs, rng):
    found = DeepMetric(passes=10, patience=5).learn(pairs.left, pairs.right, rng.random(len(pairs.left)) < 0.5)
    assert found.used == (found.figures["held_out_learned"] > found.figures["held_out_euclidean"])
    assert ("not used" in found.statement) != found.used
    if not found.used:
        assert_array_equal(found.transform(pairs.left), pairs.left)


def test_it_takes_the_values_alone_as_well(pairs):
    found = DeepMetric(inputs="values", passes=2, patience=1).learn(*pairs)
    assert (found.inputs, len(found.centre)) == ("values", pairs.left.shape[1])
    with pytest.raises(ParameterError, match="inputs must be one of: values, time"):
        DeepMetric(inputs="auto")


def test_channels_are_seen_apart(rng):
    x = np.stack([occupied(60, 1), rng.random((60, 24))], axis=2)
    learned = DeepMetric().learn(*label_pairs(x, lambda x: Arrival().of(x[:, :, 0]), n_pairs=1000))
    assert learned.used
    assert learned.shape == (24, 2)
    assert learned(Panel(x)).shape == (60, 8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden": 8}, "hidden must list the widths of the layers"),
        ({"margin": "1"}, "margin must be a finite number above 0"),
        ({"device": 1}, "device must be 'cpu' or 'cuda'"),
        ({"hidden": (8, 0)}, "hidden must be a whole number, at least 1"),
        ({"n_features": 0}, "n_features must be a whole number"),
        ({"passes": 1.5}, "passes must be a whole number"),
        ({"patience": True}, "patience must be a whole number"),
        ({"margin": 0.0}, "margin must be a finite number above 0"),
        ({"device": "abacus"}, "device must be 'cpu' or 'cuda'"),
        ({"seed": -3}, "seed must be a whole number"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        DeepMetric(**parameters)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_refused(pairs):
    with pytest.raises(ParameterError, match=r"device='cuda' was requested.*Use device='cpu'"):
        DeepMetric(device="cuda").learn(*pairs)


def test_without_torch_the_way_out_is_named(monkeypatch, pairs):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ParameterError, match=r"pip install 'shoal\[deep\]'; or use LinearMetric"):
        DeepMetric().learn(*pairs)


def test_what_cannot_be_learned_from_is_refused():
    with pytest.raises(ParameterError, match="at least 5 similar and 5 dissimilar"):
        DeepMetric().learn(np.ones((9, 2)), np.ones((9, 2)), [True] * 9)


def test_a_linear_interest_is_learned_too(rng):
    walks = rng.normal(size=(120, 24)).cumsum(axis=1)
    learned = DeepMetric().learn(*label_pairs(walks[:70], WindowTotal(0, 6), n_pairs=1500))
    assert learned.used
    unseen, wanted = walks[70:], WindowTotal(0, 6)
    assert correlation(learned.transform(unseen), wanted, unseen) > correlation(unseen, wanted, unseen) + 0.1
