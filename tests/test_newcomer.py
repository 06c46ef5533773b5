"""A newcomer's hour: what somebody types by guess in a notebook, and what it answers."""

import pickle

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.errors import InputError, ParameterError, ShoalError


@pytest.fixture(scope="module")
def df():
    panel = shoal.simulate.meters(40, days=1, seed=1)
    times = pd.date_range("2024-01-01", periods=24, freq="h")
    return pd.DataFrame(panel.values.T, index=times, columns=[f"meter_{i}" for i in range(40)])


@pytest.fixture(scope="module")
def panel(df):
    return shoal.read_panel(df)


@pytest.fixture(scope="module")
def released(df):
    return shoal.anonymize(df, k=5)


GUESSES = {
    "shoal.anonymize(df)": (ParameterError, "Say how well to hide: k=10, or another method such as method="),
    "shoal.anonymize(df, 'ten')": (ParameterError, "k must be a whole number"),
    "shoal.anonymize(df, k=1000)": (ParameterError, "k=1000 needs at least 1000 subjects, the panel has 40"),
    "shoal.anonymize(df, K=5)": (ParameterError, "shoal.anonymize has no option 'K'. Did you mean k?"),
    "shoal.anonymize(df, k=5, tmie='x')": (ParameterError, "has no option 'tmie'. Did you mean time?"),
    "shoal.anonymize(df, k=5, colour='red')": (ParameterError, "has no option 'colour'. To read data it takes: id, "),
    "shoal.anonymize(df, method='kp')": (ParameterError, "method: give a method with its parameters, such as shoal.KP"),
    "shoal.anonymize(df, method=shoal.KP)": (ParameterError, "method: give a method with its parameters"),
    "shoal.anonymize(df, k=5, method=shoal.KP(k=5, p=2))": (ParameterError, "Give k to the method itself"),
    "shoal.anonymize({'a': 1}, k=5)": (InputError, "Cannot read an object of the type dict"),
    "shoal.anonymize([[1, 2], [3, 4]], k=2)": (InputError, "Cannot read an object of the type list"),
    "shoal.anonymize('meters.xlsx', k=5)": (InputError, None),
    "shoal.anonymize(panel, k=5, missing='keep')": (ParameterError, "missing: a panel is already read"),
    "shoal.Microaggregation(k=5, algo='mdav')": (TypeError, "unexpected keyword argument 'algo'"),
    "shoal.Microaggregation(k=5).set_params(kk=3)": (ParameterError, "microaggregation has no parameter 'kk'"),
    "shoal.Microaggregation(k=5).anonymize(df).to_pandas()": (
        AttributeError,
        "A Candidate has no to_pandas",
    ),
    "shoal.anonymise": (AttributeError, "has no attribute 'anonymise'"),
    "panel[99]": (InputError, "The panel has 40 series; positions run from 0 to 39"),
    "panel.values[0, 0] = 1": (ValueError, "read-only"),
    "panel.values = 1": (AttributeError, "A Panel is immutable; build a new one."),
    "list(panel)": (TypeError, "not iterable"),
    "released.measure('peak')": (ParameterError, "Did you mean 'peaks'?"),
    "released.attack('points')": (ParameterError, "Unknown attack 'points'. Did you mean 'known-points'? Known: "),
    "released.attack('another_period')": (ParameterError, "Did you mean 'relink'?"),
    "shoal.search(df, k=[4, 8], knows={'known_totals': 'day'})": (ParameterError, "Did you mean 'known-totals'?"),
    "shoal.read_panel(df.reset_index(drop=True))": (InputError, "is an id or a time"),
    "shoal.KAnonymity()": (TypeError, "missing 1 required positional argument: 'k'"),
}


@pytest.mark.parametrize("typed", GUESSES)
def test_a_wrong_guess_is_told_the_way_out(typed, df, panel, released):
    error, says = GUESSES[typed]
    with pytest.raises(error) as caught:
        exec(typed, {"shoal": shoal, "df": df, "panel": panel, "released": released})
    assert says is None or says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "meter_" not in str(caught.value)


ANSWERS = {
    "len(panel)": "40",
    "panel": "Panel(40 series, 24 instants, 40 subjects)",
    "panel[:10]": "Panel(10 series, 24 instants, 10 subjects)",
    "panel[:, '2024-01-01T08':'2024-01-01T11']": "Panel(40 series, 4 instants, 40 subjects)",
    "panel['meter_3']": "Panel(1 series, 24 instants, 1 subjects)",
    "np.asarray(panel).shape": "(40, 24)",
    "released": "Result(k-anonymity holds: measured 5, required 5; 40 series, 24 instants)",
    "released.check().holds": "True",
    "released.to_pandas().shape == df.shape": "True",
    "shoal.Microaggregation(k=5) == shoal.Microaggregation(k=5)": "True",
    "shoal.Microaggregation(k=5).get_params()['k']": "5",
    "len({shoal.KAnonymity(3), shoal.KAnonymity(3)})": "1",
    "bool(shoal.Microaggregation(k=5).anonymize(df).check())": "True",
    "pickle.loads(pickle.dumps(shoal.KP(k=5, p=2)))": "KP(k=5, p=2",
    "shoal.__version__.count('.') > 0": "True",
    "issubclass(shoal.errors.InputError, shoal.ShoalError)": "True",
    "'anonymize' in dir(shoal)": "True",
    "'import_module' in dir(shoal)": "False",
    "released.attack('known-points')": "KnownPointsRisk(success ",
    "released.measure('information-loss')": "Score(value=",
}


@pytest.mark.parametrize("typed", ANSWERS)
def test_a_right_guess_answers_in_one_line(typed, df, panel, released):
    known = {"shoal": shoal, "df": df, "panel": panel, "released": released, "np": np, "pickle": pickle}
    answer = repr(eval(typed, known))
    assert answer.startswith(ANSWERS[typed])
    assert "\n" not in answer
    assert len(answer) <= 200


def test_help_and_tab_lead_somewhere(df, panel, released):
    for name in shoal.__all__:
        assert getattr(shoal, name).__doc__ or name == "__version__", name
    for room in shoal._ROOMS:
        found = getattr(shoal, room)
        listed = [name for name in dir(found) if not name.startswith("_")]
        assert sorted(listed) == sorted(name for name in found.__all__ if not name.startswith("_")), room
    for thing in (panel, released, released.candidate, released.plot):
        for name in dir(thing):
            if not name.startswith("_") and callable(getattr(type(thing), name, None)):
                assert getattr(thing, name).__doc__, name


def test_notebooks_show_small_tables_without_a_name_or_a_value_of_the_data(df, panel, released, tmp_path):
    frontier = shoal.search(df, k=[4, 8], risk=0.9, knows={"points": 2})
    shown = [
        panel,
        released,
        released.candidate,
        released.check(),
        released.attack("known-points"),
        released.attack(),
        released.measure("information-loss"),
        released.measure(),
        frontier,
        released.publish(tmp_path / "out"),
    ]
    for thing in shown:
        page = thing._repr_html_()
        assert page.startswith("<table>")
        assert page.count("<tr>") <= 40
        assert "meter_" not in page
        assert "\n" not in repr(thing) or isinstance(thing, dict)
    assert "holds" in released._repr_html_()
    assert "40 columns read as 40 subjects" in released._repr_html_()
    assert "chosen" in frontier._repr_html_()


def test_what_is_shown_is_escaped():
    panel = shoal.Panel([[1.0]], channels=["<b>kWh</b>"], attributes={"<script>": [1]})
    assert "<script>" not in panel._repr_html_()
    assert "&lt;b&gt;" in panel._repr_html_()


def test_every_error_of_ours_is_a_shoal_error():
    for name in shoal.errors.__all__:
        assert issubclass(getattr(shoal.errors, name), ShoalError)
