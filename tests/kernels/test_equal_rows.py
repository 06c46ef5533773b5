import numpy as np
from hypothesis import given
from numpy.testing import assert_array_equal

from naive.crowds import naive_classes
from shoal.kernels import equal_rows
from shoal.kernels.equal_rows import row_classes
from shoal.model import Panel
from strategies import small_panels


def bits(x):
    return Panel(x).rows.view(np.uint64)


@given(x=small_panels())
def test_row_classes_equal_naive(x):
    assert_array_equal(row_classes(bits(x)), naive_classes(Panel(x).rows))


def test_rows_with_the_same_hash_but_other_bits_stay_apart():
    x = bits(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, 6.0], [3.0, 4.0]]))
    collision = np.zeros(5, dtype=np.uint64)
    classes = equal_rows._classes_from_hashes(x, collision, np.arange(5))
    assert classes.tolist() == [0, 1, 0, 3, 1]


def test_zero_and_minus_zero_are_different():
    assert row_classes(bits(np.array([[0.0], [-0.0]]))).tolist() == [0, 1]
