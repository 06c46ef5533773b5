"""The metric that does best on held-out labels."""

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.features import AutoMetric, LinearMetric, auto_metric
from shoal.features.interests import Arrival, label_pairs


@pytest.fixture(scope="module")
def pairs():
    days = (np.random.default_rng(3).random((40, 12)) < 0.2).astype(float)
    return label_pairs(days, Arrival(), n_pairs=80)


def test_few_labels_get_a_linear_metric(pairs):
    assert AutoMetric(seed=2).learn(*pairs).digest() == LinearMetric(seed=2).learn(*pairs).digest()


@pytest.mark.parametrize(("score", "kind"), [(1.1, "deep"), (0.1, "linear")])
def test_a_network_is_taken_where_it_scores_better(monkeypatch, pairs, score, kind):
    linear = LinearMetric().learn(*pairs)

    class Deep:
        def __init__(self, seed):
            pass

        def learn(self, *_):
            return type("Network", (), {"kind": "deep", "figures": linear.figures | {"held_out_learned": score}})

    monkeypatch.setattr(auto_metric, "DeepMetric", Deep)
    monkeypatch.setattr(auto_metric, "DEEP_FROM", 80)
    monkeypatch.setattr(auto_metric, "find_spec", lambda _: True)
    assert AutoMetric().learn(*pairs).kind == kind
    monkeypatch.setattr(auto_metric, "find_spec", lambda _: None)
    assert AutoMetric().learn(*pairs).kind == "linear"


def test_an_impossible_seed_is_refused():
    with pytest.raises(ParameterError, match="seed must be a whole number"):
        AutoMetric(seed=-1)
