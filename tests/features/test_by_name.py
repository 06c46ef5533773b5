"""A learned metric by the name of its file."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shoal import Microaggregation, Panel
from shoal.errors import InputError, ParameterError
from shoal.features import LinearMetric, find_features
from shoal.features.interests import Segment, label_pairs


@pytest.fixture(scope="module")
def days():
    return np.random.default_rng(4).normal(size=(60, 12))


@pytest.fixture(scope="module")
def learned(days):
    return LinearMetric().learn(*label_pairs(days, Segment(3, 5)))


@pytest.fixture
def saved(tmp_path, learned):
    return str(learned.save(tmp_path / "metric.npz"))


def test_the_file_stands_for_the_metric_in_it(saved, learned, days):
    assert find_features(saved).digest() == learned.digest()
    by_name = Microaggregation(k=4, features=saved).anonymize(Panel(days))
    by_value = Microaggregation(k=4, features=learned).anonymize(Panel(days))
    assert_array_equal(by_name.private.groups, by_value.private.groups)
    assert by_name.recipe == by_value.recipe
    assert by_name.recipe.parameters["features"]["sha256"] == learned.digest()


def test_the_file_is_read_once_so_that_the_recipe_names_what_was_used(saved, learned, days):
    method = Microaggregation(k=4, features=saved)
    LinearMetric(seed=9).learn(*label_pairs(days, Segment(0, 2))).save(saved)
    assert method.anonymize(Panel(days)).recipe.parameters["features"]["sha256"] == learned.digest()


def test_a_missing_foreign_or_changed_file_is_refused(saved, learned, tmp_path, days):
    with pytest.raises(InputError, match=r"nothing\.npz cannot be read: No such file or directory"):
        find_features(str(tmp_path / "nothing.npz"))
    np.savez(tmp_path / "other.npz", days=days)
    with pytest.raises(InputError, match=r"other\.npz is not a learned metric"):
        Microaggregation(k=4, features=str(tmp_path / "other.npz"))
    content = bytearray((tmp_path / "metric.npz").read_bytes())
    weight = learned.layers[0][0].tobytes()[:8]
    at = content.find(learned.centre.tobytes()[:8])
    assert at > 0
    content[at : at + 8] = weight
    (tmp_path / "metric.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"metric\.npz (was changed after it was saved|is not a learned metric)"):
        find_features(saved)


def test_series_of_another_length_are_refused(saved, days):
    with pytest.raises(ParameterError, match=r"was learned from series of shape \(12,\), these have shape \(8,\)"):
        Microaggregation(k=4, features=saved).anonymize(Panel(days[:, :8]))


def test_other_names_get_all_ways_in():
    with pytest.raises(ParameterError, match=r"Unknown features 'metric'\. .*or a learned metric in a file \*\.npz"):
        find_features("metric")
