"""What all features must do, and how they are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from shoal import Panel
from shoal.errors import ParameterError
from shoal.features import Centred, Custom, Haar, Raw, Standardized, find_features
from strategies import small_panels

KNOWN = {"raw": Raw(), "standardized": Standardized(), "centred": Centred(), "haar": Haar()}


def peaks(panel):
    return np.fmax.reduce(panel.rows, axis=1, keepdims=True)


@pytest.mark.parametrize("spec", [*KNOWN, peaks])
@given(data=st.data())
def test_features_go_with_their_rows_and_leave_the_panel_untouched(spec, data):
    x = data.draw(small_panels(gaps=spec != "haar").filter(lambda x: spec != "haar" or x.shape[1] > 1))
    panel, order = Panel(x), np.array(data.draw(st.permutations(range(len(x)))))
    before = panel.digest()
    features = find_features(spec)
    found = features(panel)
    assert found.dtype == np.float64
    assert found.ndim == 2
    assert len(found) == len(x)
    assert not np.isinf(found).any()
    assert_array_equal(features(panel), found)
    assert_array_equal(features(Panel(x[order])), found[order])
    assert panel.digest() == before


@pytest.mark.parametrize("name", ["raw", "standardized", "centred", "haar"])
def test_row_order_does_not_matter_to_the_last_bit_in_a_larger_panel(rng, name):
    x = rng.lognormal(size=(3000, 9)) * 10.0 ** rng.integers(-8, 8, size=9)
    order = rng.permutation(len(x))
    assert_array_equal(find_features(name)(Panel(x[order])), find_features(name)(Panel(x))[order])


@pytest.mark.parametrize("name", KNOWN)
def test_a_name_finds_its_features(name):
    assert find_features(name) == KNOWN[name]
    assert find_features(name).name == name
    assert find_features(KNOWN[name]) is KNOWN[name]


def test_a_function_is_called_with_the_panel_and_its_answer_taken():
    found = find_features(peaks)
    assert found == Custom(peaks)
    assert found.name == "peaks"
    assert_array_equal(found(Panel([[1, 2], [4, 3]])), [[2.0], [4.0]])
    assert find_features(found) is found


def test_a_function_without_a_name_is_called_custom():
    class Learned:
        name = "learned"

        def __call__(self, panel):
            return panel.rows

    class Bare:
        def __call__(self, panel):
            return panel.rows

    assert find_features(lambda panel: panel.rows).name == "custom"
    assert find_features(Bare()).name == "custom"
    assert find_features(Learned()).name == "learned"


@pytest.mark.parametrize("answer", [[[1, 2], [3, 4]], np.array([[True], [False]]), np.ones((2, 3), dtype=np.float32)])
def test_any_numbers_will_do(answer):
    found = find_features(lambda panel: answer)(Panel([[1.0], [2.0]]))
    assert found.dtype == np.float64
    assert_array_equal(found, np.array(answer, dtype=float))


def test_missing_features_are_allowed():
    assert np.isnan(find_features(lambda panel: [[np.nan], [1.0]])(Panel([[1.0], [2.0]]))[0, 0])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.ones(2), r"Features 'custom' gave an array of shape \(2,\) for 2 series.*shape \(2, features\)"),
        (np.ones((3, 2)), r"shape \(3, 2\) for 2 series"),
        (np.ones((2, 0)), r"shape \(2, 0\) for 2 series"),
        (np.ones((2, 2, 2)), r"shape \(2, 2, 2\) for 2 series"),
        (None, "gave entries of type object"),
        ([["secret"], ["b"]], "gave entries of type str"),
        (np.ones((2, 1), dtype=complex), "gave entries of type complex128"),
        (np.zeros((2, 1), dtype="datetime64[s]"), "gave entries of type datetime64"),
        ([[1.0], [1.0, 2.0]], "gave rows of different length.*one row per series"),
        ([[1.0], [np.inf]], "gave infinite numbers for 1 of 2 series, the first at position 1.*or NaN"),
        (np.array([[1.0], [2.0]], dtype=np.longdouble) * np.longdouble("1e400"), "infinite numbers for 2 of 2"),
    ],
)
def test_what_is_no_array_of_features_is_refused(answer, message):
    with pytest.raises(ParameterError, match=message) as refusal:
        find_features(lambda panel: answer)(Panel([[1.0], [2.0]]))
    assert "secret" not in str(refusal.value)


def test_the_functions_own_trouble_goes_through():
    def broken(panel):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        find_features(broken)(Panel([[1.0]]))


def test_unknown_features_are_refused():
    with pytest.raises(
        ParameterError, match=r"Unknown features 'fourier'\. Known: raw, standardized, centred, haar; or"
    ):
        find_features("fourier")
    with pytest.raises(ParameterError, match=r"a name or a function of a panel, found int\. Known names: raw"):
        find_features(3)
    with pytest.raises(ParameterError, match=r"got the class Haar; give an instance of it: Haar\(\)"):
        find_features(Haar)
