"""Error of the mean and of the histogram of arrival, departure and time occupied."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from shoal import Panel
from shoal.cli.options import build
from shoal.errors import InputError, ParameterError
from shoal.utility import OccupancyError

STATISTICS = ["arrival", "departure", "occupied"]
BEFORE = [[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
AFTER = [[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]


def error(before, after, *given, **options):
    return OccupancyError(*given, **options).measure(Panel(before), Panel(after)).value


@pytest.mark.parametrize(
    ("statistic", "true", "found"),
    [
        ("arrival", 1 + 3 + 4, 0 + 1 + 1),
        ("departure", 3 + 4 + 0, 3 + 3 + 3),
        ("occupied", 2 + 1 + 0, 3 + 2 + 2),
    ],
)
def test_means_by_hand(statistic, true, found):
    assert error(BEFORE, AFTER, statistic) == pytest.approx(abs(found - true) / true)


def test_histograms_by_hand():
    measure = OccupancyError("arrival", "histogram", bins=2)
    assert_allclose(measure.histogram(Panel(BEFORE)), [1 / 3, 2 / 3])  # 1; 3 and never, which is 4
    assert_allclose(measure.histogram(Panel(AFTER)), [1.0, 0.0])
    score = measure.measure(Panel(BEFORE), Panel(AFTER))
    assert score.value == pytest.approx(2 / 3)
    assert (score.goal, score.range) == ("lower", (0.0, 1.0))


def test_a_mean_may_be_right_where_the_histogram_is_not():
    before, after = np.eye(5)[[0, 4]], np.eye(5)[[2, 2]]
    assert error(before, after, "arrival") == 0.0
    assert error(before, after, "arrival", "histogram", bins=5) == 1.0


days = hnp.arrays(np.float64, (5, 8), elements=st.sampled_from([0.0, 0.4, 0.6, 1.0]))


def naive_statistic(row, statistic):
    there = [t for t, value in enumerate(row) if value > 0.5]
    if statistic == "occupied":
        return len(there)
    if statistic == "arrival":
        return there[0] if there else len(row)
    return there[-1] + 1 if there else 0


@given(before=days, after=days, statistic=st.sampled_from(STATISTICS), bins=st.integers(2, 9))
def test_errors_are_those_a_loop_finds(before, after, statistic, bins):
    true, found = ([naive_statistic(row, statistic) for row in x] for x in (before, after))
    expected = abs(sum(found) - sum(true)) / sum(true) if sum(true) else float(sum(found) > 0)
    assert error(before, after, statistic) == pytest.approx(expected)

    def share(values, at):
        # The last bin has its upper end, and so whoever never arrives.
        low, high = 8 * at / bins, 8 * (at + 1) / bins
        return sum(low <= v < high or (at == bins - 1 and v == 8) for v in values) / 5

    apart = sum(abs(share(true, at) - share(found, at)) for at in range(bins)) / 2
    assert error(before, after, statistic, "histogram", bins) == pytest.approx(apart)


@given(before=days, after=days, statistic=st.sampled_from(STATISTICS), compare=st.sampled_from(["mean", "histogram"]))
def test_the_originals_have_no_error_and_series_may_change_places(before, after, statistic, compare):
    assert error(before, before, statistic, compare) == 0.0
    assert error(before, before[::-1], statistic, compare) == 0.0
    assert error(before, after[[2, 0, 1, 4, 3]], statistic, compare) == error(before, after, statistic, compare)


def test_where_nobody_was_ever_there_any_change_is_total():
    empty = np.zeros((3, 4))
    assert error(empty, empty, "occupied") == 0.0
    assert error(empty, AFTER, "occupied") == error(empty, AFTER, "departure") == 1.0


def test_channels_are_judged_apart_and_averaged():
    before, after = (np.stack([x, x[::-1]], axis=2) for x in (np.array(BEFORE), np.array(AFTER)))
    both = error(before, after, "arrival")
    assert both == pytest.approx(error(BEFORE, AFTER, "arrival"))
    after[:, :, 1] = before[:, :, 1]
    assert error(before, after, "arrival") == pytest.approx(both / 2)
    assert OccupancyError("arrival", bins=3).histogram(Panel(before)).shape == (2, 3)


def test_options_can_be_typed():
    typed = build(OccupancyError, {"statistic": "occupied", "compare": "histogram", "bins": "12"})
    assert typed == OccupancyError("occupied", "histogram", 12)


def test_impossible_parameters_and_gaps_are_refused():
    with pytest.raises(ParameterError, match="statistic must be one of: arrival, departure, occupied"):
        OccupancyError("lunch")
    with pytest.raises(ParameterError, match="compare must be one of: mean, histogram"):
        OccupancyError(compare="median")
    for bins in (1, 2.5, True):
        with pytest.raises(ParameterError, match="bins must be a whole number of at least 2"):
            OccupancyError(bins=bins)
    with pytest.raises(ParameterError, match="above must be a finite number"):
        OccupancyError(above=float("nan"))
    gappy = np.array(BEFORE)
    gappy[0, 0] = np.nan
    with pytest.raises(InputError, match="1 of 3 series of the published panel have missing"):
        error(BEFORE, gappy)
