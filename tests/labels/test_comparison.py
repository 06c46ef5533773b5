"""What is lost of the interest by each metric."""

import numpy as np
import pytest

from label_samples import fully_answered
from shoal import Microaggregation, Panel
from shoal.errors import ParameterError
from shoal.features.interests import Segment
from shoal.labels import LabelTask, compare, learn


@pytest.fixture(scope="module")
def panel():
    return Panel(np.random.default_rng(2).gamma(2.0, size=(100, 12)))


def test_the_loss_is_what_a_loop_finds(panel):
    found = {row.name: row for row in compare(panel, Segment(3, 5), k=4, metrics={"haar": "haar"})}
    assert list(found) == ["generic", "haar", "wanted"]
    for name, features in (("generic", "raw"), ("haar", "haar"), ("wanted", lambda some: some.values[:, 3:5])):
        published = Microaggregation(k=4, features=features).anonymize(panel).values
        wanted = np.mean([np.linalg.norm(a[3:5] - b[3:5]) for a, b in zip(panel.values, published, strict=True)])
        assert found[name].loss == pytest.approx(wanted)
        assert found[name].relative == pytest.approx(found[name].loss / found["generic"].loss)
    assert found["wanted"].relative < 0.5


def test_a_learned_metric_keeps_more_of_what_matters(panel):
    days = np.random.default_rng(3).gamma(2.0, size=(120, 12))
    task = LabelTask.public(Panel(days), statement="simulated", private=[panel], n_pairs=330)
    learned = learn(task, fully_answered(task, window=slice(3, 4)))
    generic, linear, wanted = compare(panel, Segment(3, 4), k=4, metrics={"linear": learned})
    assert wanted.loss < linear.loss < 0.6 * generic.loss


def test_a_function_is_an_interest_as_well(panel):
    assert [row.name for row in compare(panel, lambda x: x.max(axis=1), k=4, metrics={})] == ["generic", "wanted"]


def test_where_nothing_is_lost_there_is_no_ratio():
    days = Panel(np.repeat([[1.0, 2.0], [3.0, 4.0]], 5, axis=0))
    assert [(row.loss, row.relative) for row in compare(days, Segment(0, 1), k=5, metrics={})] == [(0.0, None)] * 2


@pytest.mark.parametrize("name", ["generic", "wanted"])
def test_names_of_yardsticks_are_taken(panel, name):
    with pytest.raises(ParameterError, match=f"A metric cannot be called '{name}'"):
        compare(panel, Segment(3, 5), k=4, metrics={name: "haar"})
