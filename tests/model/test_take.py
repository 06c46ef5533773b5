"""Some series of a panel keep everything that belongs to them."""

import numpy as np

from shoal import Panel


def test_taken_series_keep_what_belongs_to_them():
    panel = Panel(
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        ids=["a", "b", "c"],
        subjects=["x", "x", "y"],
        attributes={"tariff": ["p", "q", "r"]},
        sensitive={"income": [1, 2, 3]},
        times=[10, 20],
        channels=["kwh"],
    )
    some = panel.take(np.array([2, 0]))
    assert some.values.tolist() == [[5.0, 6.0], [1.0, 2.0]]
    assert some.ids.tolist() == ["c", "a"]
    assert some.n_subjects == 2
    assert some.attributes["tariff"].tolist() == ["r", "p"]
    assert some.sensitive["income"].tolist() == [3, 1]
    assert some.times.tolist() == [10, 20]
    assert some.channels == ("kwh",)


def test_taking_series_leaves_the_panel_as_it_was():
    panel = Panel([[1.0], [2.0]])
    assert panel.n_series == 2
    assert not panel.take(np.array([1])).values.flags.writeable
