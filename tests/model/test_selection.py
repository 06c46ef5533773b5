"""What stands between the brackets of a panel."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Panel
from shoal.errors import InputError

HOURS = np.datetime64("2024-03-30T00:00", "us") + np.arange(72) * np.timedelta64(1, "h")


def hourly(timezone=None):
    values = np.arange(4 * 72.0).reshape(4, 72)
    return Panel(values, ids=list("abcd"), times=HOURS, attributes={"tariff": [1, 2, 1, 2]}, timezone=timezone)


KEYS = st.one_of(
    st.slices(4),
    st.lists(st.integers(-4, 3), min_size=1),
    st.lists(st.booleans(), min_size=4, max_size=4).map(np.array),
    st.integers(-4, 3),
)


@given(rows=KEYS, columns=KEYS)
def test_positions_slices_and_masks_choose_as_numpy_does(rows, columns):
    values = np.arange(16.0).reshape(4, 4)
    panel = Panel(values, attributes={"at": np.arange(4)})
    wanted = np.atleast_1d(np.arange(4)[rows])
    instants = np.atleast_1d(np.arange(4)[columns])
    unusable = len(set(wanted.tolist())) < len(wanted) or (np.diff(instants) <= 0).any()  # names twice, times backwards
    if not len(wanted) or not len(instants) or unusable:
        with pytest.raises(InputError):
            panel[rows, columns]
        return
    chosen = panel[rows, columns]
    np.testing.assert_array_equal(chosen.values, values[wanted][:, instants])
    np.testing.assert_array_equal(chosen.attributes["at"], wanted)
    np.testing.assert_array_equal(chosen.times, instants)


def test_series_by_identifier():
    panel = hourly()
    assert panel["c"].ids.tolist() == ["c"]
    assert panel[["d", "a"]].ids.tolist() == ["d", "a"]
    assert panel[["d", "a"]].attributes["tariff"].tolist() == [2, 1]
    with pytest.raises(InputError, match=r"^1 of 2 names are not ids of this panel"):
        panel[["d", "mr-novak"]]


@pytest.mark.parametrize(
    ("key", "n"),
    [
        ("2024-03-31", 24),
        ("2024-03", 48),
        (slice("2024-03-31", None), 48),
        (slice(None, "2024-03-30"), 24),
        (slice("2024-03-30", "2024-03-31"), 48),
        (slice("2024-03-30T22", "2024-03-31T01"), 4),
        (datetime(2024, 4, 1, 5), 1),
        (slice(np.datetime64("2024-04-01"), datetime(2024, 4, 1, 5)), 6),
    ],
)
def test_instants_by_time_the_end_of_a_slice_is_part_of_it(key, n):
    assert hourly()[:, key].n_instants == n


def test_times_are_those_of_the_clock_of_the_panel():
    panel = hourly("Europe/Bratislava")
    # The local day of 31 March has 23 hours and begins at 23:00 in UTC.
    day = panel[:, "2024-03-31"]
    assert (day.n_instants, str(day.times[0])) == (23, "2024-03-30T23:00:00.000000")
    noon = datetime(2024, 3, 31, 12, tzinfo=timezone(timedelta(hours=2)))
    assert str(panel[:, noon].times[0]) == "2024-03-31T10:00:00.000000"
    assert str(hourly("+05:30")[:, "2024-03-31T12:30"].times[0]) == "2024-03-31T07:00:00.000000"
    with pytest.raises(InputError, match="The panel has no time zone"):
        hourly()[:, noon]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (9, "The panel has 4 series; positions run from 0 to 3"),
        ([True, False], "A mask of 2 does not fit 4 series"),
        (slice(3, 3), "Nothing is left"),
        (1.5, "by position, slice or mask"),
        ((slice(None), "yesterday"), "That is not a time"),
        ((slice(None), "2030"), "No instant of this panel lies in that span"),
        ((slice(None), slice("2024-03-31", None, 2)), "A slice of times cannot have a step"),
    ],
)
def test_what_cannot_be_chosen_is_refused(key, says):
    with pytest.raises(InputError, match=says):
        hourly()[key]


def test_numbered_instants_have_no_dates():
    with pytest.raises(InputError, match="The instants of this panel are numbers"):
        Panel([[1.0, 2.0]])[:, "2024"]


def test_a_panel_is_no_sequence_of_panels_and_an_array_for_numpy():
    with pytest.raises(TypeError, match="not iterable"):
        iter(hourly())
    np.testing.assert_array_equal(np.asarray(hourly()), hourly().values)
    assert np.array(hourly(), dtype=np.float32).dtype == np.float32
