import pickle

import numpy as np
import pytest

from shoal import Events, Panel, Role, Roles
from shoal.errors import InputError, ParameterError, ShoalError
from shoal.model import Interval, Risk, Score


def test_an_array_alone_is_enough_and_every_row_is_its_own_subject():
    panel = Panel([[1.0, 2.0], [3.0, 4.0], [5.0, np.nan]])
    assert (panel.n_series, panel.n_instants, panel.n_channels, panel.n_subjects) == (3, 2, 1, 3)
    assert panel.times.tolist() == [0, 1]
    assert panel.n_missing == 1
    assert panel.one_series_per_subject


def test_channels_make_a_third_dimension():
    panel = Panel(np.zeros((4, 3, 2)), channels=["kwh", "volt"])
    assert (panel.n_instants, panel.n_channels, panel.rows.shape) == (3, 2, (4, 6))


def test_a_panel_cannot_be_changed():
    source = np.ones((2, 2))
    panel = Panel(source)
    source[0, 0] = 7.0
    assert panel.values[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        panel.values[0, 0] = 2.0
    with pytest.raises(AttributeError, match="immutable"):
        panel.values = source
    with pytest.raises(AttributeError, match="immutable"):
        del panel.values


def test_an_array_is_copied_unless_it_is_handed_over():
    array = np.ones((2, 2))
    view = array[:]
    array.setflags(write=False)
    panel = Panel(array)
    view[0, 0] = 9.0
    assert panel.values[0, 0] == 1.0
    assert np.shares_memory(Panel(array, copy=False).values, array)


def test_nobody_who_gets_the_parts_of_a_panel_can_change_it():
    panel = Panel(np.ones((2, 2)), attributes={"tariff": ["x", "y"]})
    with pytest.raises(ValueError, match="WRITEABLE"):
        panel.values.setflags(write=True)
    with pytest.raises(TypeError, match="does not support item assignment"):
        panel.attributes["zip"] = 1
    events = Events({"day": [1], "ill": ["x"], "age": [3]}, time="day", sensitive="ill", quasi=["age"])
    events.frame.drop_in_place("age")
    assert events.frame.columns == ["day", "ill", "age"]


def test_the_bits_of_a_missing_value_carry_nothing():
    odd = np.array([[1.0, 2.0]])
    odd.view(np.uint64)[0, 1] = 0x7FF8_0000_DEAD_BEEF
    odd.setflags(write=False)
    assert Panel(odd).values.view(np.uint64)[0, 1] == np.array(np.nan).view(np.uint64)


def test_subjects_are_numbered_by_first_appearance():
    panel = Panel(np.ones((4, 1)), subjects=["b", "a", "b", "c"])
    assert panel.subject_codes.tolist() == [0, 1, 0, 2]
    assert panel.n_subjects == 3


def test_repr_and_errors_show_no_values():
    assert repr(Panel([[42.5, np.nan]], ids=["alice"])) == "Panel(1 series, 2 instants, 1 subjects, 1 missing)"


def test_a_panel_survives_pickling():
    panel = Panel([[1.0, np.nan]], ids=["a"], subjects=["s"], attributes={"tariff": ["x"]}, channels=["kwh"])
    again = pickle.loads(pickle.dumps(panel))
    assert again.digest() == panel.digest()
    assert again.attributes["tariff"].tolist() == ["x"]


@pytest.mark.parametrize(
    "change",
    [
        {"values": [[1.0, 2.0], [3.0, 5.0]]},
        {"ids": ["a", "c"]},
        {"times": [0, 2]},
        {"subjects": ["s", "s"]},
        {"attributes": {"tariff": ["x", "z"]}},
    ],
)
def test_the_digest_covers_everything(change):
    base = {"values": [[1.0, 2.0], [3.0, 4.0]], "ids": ["a", "b"], "attributes": {"tariff": ["x", "y"]}}
    assert Panel(**base).digest() == Panel(**base).digest()
    assert Panel(**(base | change)).digest() != Panel(**base).digest()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [1.0, 2.0]}, "2 dimensions"),
        ({"values": [["secret"]]}, "must be numbers in rows of equal length"),
        ({"values": [[1.0], [1.0, 2.0]]}, "must be numbers in rows of equal length"),
        ({"values": np.ones((0, 3))}, "panel is empty"),
        ({"values": [[1.0, np.inf]]}, "1 of 2 values are infinite"),
        ({"values": [[1.0, -1e200, np.nan]]}, "1 of 3 values are larger than 1e.140 in size"),
        ({"ids": ["a"]}, "2 series but 1 ids"),
        ({"ids": ["secret", "secret"]}, "only 1 different ids"),
        ({"times": [1]}, "2 instants but 1 times"),
        ({"times": [2, 1]}, "increase strictly"),
        ({"times": [1, 1]}, "increase strictly"),
        ({"times": [1.5, 2.5]}, "datetimes or integers, found the type float64"),
        ({"times": np.array(["2024-01-01", "NaT"], dtype="datetime64[us]")}, "1 times are missing"),
        ({"times": [object(), object()]}, "datetimes or integers; other objects"),
        ({"subjects": ["a"]}, "2 series but 1 subjects"),
        ({"subjects": ["a", None]}, "Some series have no subject"),
        ({"attributes": {"tariff": ["x"]}}, "Column 'tariff' of `attributes` has 1 entries for 2 series"),
        ({"sensitive": ["x"]}, "Column 'sensitive' of `sensitive` has 1 entries"),
        ({"channels": ["a", "b"]}, "1 channels"),
    ],
)
def test_impossible_panels_are_refused_without_quoting_data(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        Panel(**({"values": np.ones((2, 2))} | arguments))
    assert "secret" not in str(caught.value)


def test_roles_list_columns_by_role():
    roles = Roles({"meter": "identifier", "zip": "quasi-identifier", "tariff": Role.QUASI_IDENTIFIER})
    assert roles.columns("quasi-identifier") == ("zip", "tariff")
    assert dict(roles)["meter"] is Role.IDENTIFIER
    with pytest.raises(ParameterError, match="Column 'zip' has an unknown role"):
        Roles({"zip": "address"})


EVENTS = {"day": [3, 1, 1], "age": [40, 50, 60], "illness": ["x", "y", "x"], "name": ["p", "q", "r"]}


class TestEvents:
    def test_events_are_sorted_and_unlisted_columns_dropped(self):
        events = Events(EVENTS, time="day", sensitive="illness", quasi=["age"])
        assert events.frame.columns == ["day", "illness", "age"]
        assert events.frame["age"].to_list() == [50, 60, 40]
        assert [len(s) for s in events.snapshots()] == [2, 1]
        assert repr(events) == "Events(3 events, 2 snapshots, 1 quasi-identifiers)"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"sensitive": "illnes"}, "Events need the column 'illnes'"),
            ({"sensitive": "illness", "quasi": ["illness"]}, "two roles"),
            ({"sensitive": "illness", "frame": {"day": [], "illness": []}}, "empty"),
            (
                {"sensitive": "illness", "frame": {"day": [1, None], "illness": ["x", "y"]}},
                "1 of 2 events have no 'day'",
            ),
            ({"sensitive": "illness", "frame": {"day": ["a"], "illness": ["x"]}}, "must hold dates"),
        ],
    )
    def test_impossible_events_are_refused(self, arguments, message):
        with pytest.raises(InputError, match=message):
            Events(**({"frame": EVENTS, "time": "day"} | arguments))


def test_a_score_knows_which_way_is_better():
    assert Score(0.1, "lower", (0.0, 1.0)).better_than(Score(0.2, "lower", (0.0, 1.0)))
    assert Score(0.2, "higher", (0.0, 1.0)).better_than(Score(0.1, "higher", (0.0, 1.0)))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Score(0.1, "up", (0.0, 1.0)), "goal must be"),
        (lambda: Score(0.1, "lower", (1.0, 0.0)), "range must be"),
        (lambda: Interval(0.5, 0.2), "0 <= low <= high <= 1"),
        (lambda: Risk(1.5, Interval(0, 1), 0.1, Interval(0, 1), 3), "success is a share"),
        (lambda: Risk(0.5, Interval(0, 1), 0.1, Interval(0, 1), 0), "at least 1 target"),
    ],
)
def test_impossible_results_are_refused(build, message):
    with pytest.raises(ShoalError, match=message):
        build()


def test_a_risk_is_measured_against_guessing():
    assert Risk(0.5, Interval(0.4, 0.6), 0.1, Interval(0.0, 0.2), 100).advantage == pytest.approx(0.4)
