"""What `shoal.anonymize` and `shoal.search` return: checked or not at all, and never who is who."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal import (
    KP,
    NLK,
    AggregateRule,
    Microaggregation,
    NoiseAddition,
    NoisyAggregates,
    Panel,
    ScopeAggregation,
    simulate,
)
from shoal.engines import Memory
from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.model import Private
from shoal.process.anonymization import check_result
from shoal.release import ReleaseOptions, verify


@pytest.fixture(scope="module")
def panel():
    found = simulate.meters(90, days=2, seed=3)
    size = found.values.mean(axis=1)
    usual = (size < 5 * np.median(size)) & (5 * size > np.median(size))  # so that columns look like one quantity
    return Panel(found.values[usual][:60], times=found.times)


@pytest.fixture(scope="module")
def frame(panel):
    return pd.DataFrame(
        panel.values.T,
        index=pd.date_range("2024-01-01", periods=panel.n_instants, freq="h", name="when"),
        columns=[f"home_{i:02d}" for i in range(panel.n_series)],
    )


@pytest.fixture(scope="module")
def released(frame):
    return shoal.anonymize(frame, k=5)


def test_every_published_column_is_that_of_k_homes_in_another_order(frame, released):
    published = released.to_pandas()
    pd.testing.assert_index_equal(published.index, frame.index)
    assert published.T.duplicated(keep=False).all()
    assert published.T.value_counts().min() >= 5
    values = released.candidate.values.T
    np.testing.assert_array_equal(np.sort(published.to_numpy(), axis=1), np.sort(values, axis=1))
    assert not np.array_equal(published.to_numpy(), values)


def test_names_and_order_are_drawn_for_each_result_and_kept_in_it(frame, released):
    assert released.to_pandas().columns.equals(released.to_pandas().columns)
    other = shoal.anonymize(frame, k=5).to_pandas()
    assert not set(other.columns) & set(released.to_pandas().columns)
    assert list(other.columns) == sorted(other.columns)


def test_there_is_no_result_of_what_does_not_check(panel):
    values = np.array(Microaggregation(k=5).anonymize(panel).values)
    values[7, 3] += 1.0
    honest = Microaggregation(k=5).anonymize(panel)
    published = Panel(values, times=panel.times, subjects=panel.subject_codes)
    forged = shoal.Candidate(published, honest.guarantee, honest.recipe, Private(panel, honest.private.groups))
    with pytest.raises(GuaranteeNotMetError, match="k-anonymity does not hold: measured 1, required 5") as caught:
        check_result(forged, ReleaseOptions())
    assert "There is no unchecked result" in caught.value.__notes__[0]


def test_noise_alone_promises_nothing_and_gives_no_result(frame):
    with pytest.raises(GuaranteeNotMetError, match="aims at no guarantee"):
        shoal.anonymize(frame, method=NoiseAddition(snr=10.0))


def test_a_further_guarantee_is_checked_too(frame):
    with pytest.raises(GuaranteeNotMetError, match="aggregate-rule does not hold"):
        shoal.anonymize(frame, k=5, require=[AggregateRule(size=15)])
    assert len(shoal.anonymize(frame, k=15, require=[AggregateRule(size=15, share=0.9)]).verdicts) == 2


def test_what_is_left_out_beyond_the_limit_gives_no_result():
    values = np.random.default_rng(8).normal(size=(11, 4))
    found = shoal.anonymize(values, method=KP(words="own", k=3, p=2))
    assert len(found.candidate.published) == 10
    assert found.to_numpy().shape == (10, 4, 2)
    with pytest.raises(GuaranteeNotMetError, match="suppress"):
        shoal.anonymize(values, method=KP(words="own", k=3, p=2), suppression_limit=0.05)


def test_groups_do_not_cross_the_column_within(panel):
    rows = pl.DataFrame(panel.values, schema=[str(t) for t in range(48)])
    table = rows.with_columns(id=pl.int_range(60).cast(pl.String), tariff=pl.Series(["day", "night"] * 30))
    candidate = shoal.anonymize(table, k=5, within="tariff").candidate
    tariff = candidate.private.original.attributes["tariff"]
    for group in np.unique(candidate.private.groups):
        assert len(set(tariff[candidate.private.groups == group])) == 1
    assert "tariff" not in shoal.anonymize(table, k=5, within="tariff").to_polars().columns
    with pytest.raises(ParameterError, match="kp has no parameter 'within'"):
        shoal.anonymize(table, method=KP(k=5, p=2), within="tariff")


def test_what_is_to_be_kept_is_grouped_by_and_measured(frame, tmp_path):
    kept = shoal.anonymize(frame, k=5, keep="peaks")
    assert kept.candidate.recipe.parameters["features"] == "keep:peaks"
    plain = shoal.anonymize(frame, k=5)
    assert kept.measure("peak-time-error").value < plain.measure("peak-time-error").value
    assert kept.publish(tmp_path / "out").measured is not None
    with pytest.raises(ParameterError, match="keep applies to methods that group similar series; nlk does not"):
        shoal.anonymize(frame, method=NLK(n=2, l=10, k=3), keep="peaks")


def test_methods_take_frames(frame, panel):
    candidate = Microaggregation(k=5).anonymize(frame)
    assert isinstance(candidate, shoal.Candidate)
    np.testing.assert_array_equal(candidate.values, Microaggregation(k=5).anonymize(panel).values)
    assert Microaggregation(k=5).anonymize(panel.values).check()


def test_envelopes_come_with_their_patterns_and_groups_as_profiles(frame):
    envelopes = shoal.anonymize(frame, method=KP(k=5, p=2), suppression_limit=1.0).to_polars()
    assert envelopes.columns == ["id", "when", "low", "high", "level", "pattern"]
    assert (envelopes["low"] <= envelopes["high"]).all()
    array = shoal.anonymize(frame, method=KP(k=5, p=2), suppression_limit=1.0).to_xarray()
    assert (array.dims, array.coords["channel"].values.tolist()) == (("id", "when", "channel"), ["low", "high"])
    groups = shoal.anonymize(frame, method=ScopeAggregation(size=5, share=1.0)).to_polars()
    assert groups.columns[:4] == ["group", "when", "mean", "count"] or set(groups.columns) >= {"group", "count", "mean"}
    assert groups["count"].min() >= 5


def test_attacks_and_measures_all_that_apply_one_or_by_name(released):
    risks = released.attack()
    assert {"known-points", "known-totals", "nearest-neighbour"} <= set(risks)
    assert all(risk.n_targets <= 60 for risk in risks.values())
    assert "linkage" not in risks
    one = released.attack(shoal.attacks.KnownPoints(n=5))
    assert one == released.attack("known-points") == risks["known-points"]
    assert released.attack("known-points", n_targets=10).n_targets == 10
    scores = released.measure()
    loss = released.measure("information-loss")
    assert loss == scores["information-loss"] == released.measure(shoal.utility.InformationLoss())
    assert 0 < loss.value < 1
    peaks = released.measure("peaks")
    assert peaks
    assert set(peaks) < set(scores)
    assert {scores.meanings[name][0] for name in peaks} == {"peaks"}
    with pytest.raises(ParameterError, match="Did you mean 'peaks'"):
        released.measure("peak")
    with pytest.raises(ParameterError, match="Unknown attack"):
        released.attack("guessing")


def test_publish_writes_what_was_checked(released, tmp_path):
    release = released.publish(tmp_path / "out")
    assert verify(tmp_path / "out").holds
    assert release.certificate["input"]["kind"] == "frame"
    # Columns of the frame that came name homes: nothing of it may be in the folder.
    assert not any(b"home_" in path.read_bytes() for path in (tmp_path / "out").iterdir())


def test_a_result_in_shards_is_checked_and_published_but_is_no_frame(panel, tmp_path):
    table = panel.to_polars()
    released = shoal.anonymize(table, k=4, engine=Memory(), shard_size=12)
    assert released.check().holds
    assert "shards" in repr(released)
    released.publish(tmp_path / "out")
    assert verify(tmp_path / "out").holds
    with pytest.raises(ParameterError, match="no frame can hold it"):
        released.to_pandas()


def test_a_plot_never_shows_fewer_subjects_than_the_guarantee_asks_for(released, frame):
    figure = released.plot()
    traces = {(trace.xaxis, trace.name): np.array(trace.y, dtype=float) for trace in figure.data}
    mean_day = frame.groupby(frame.index.hour).mean().mean(axis=1)
    np.testing.assert_allclose(traces["x", "before"], mean_day, rtol=1e-3)
    np.testing.assert_allclose(traces["x", "after"], mean_day, rtol=1e-3)
    totals = np.sort(frame.sum(axis=1))[::-1]
    np.testing.assert_allclose(traces["x2", "before"], totals, rtol=1e-3)
    groups = [trace for trace in figure.data if trace.xaxis == "x3"]
    assert 1 < len(groups) <= 5
    assert all(int(trace.name.split()[0]) >= 5 for trace in groups)
    days = {tuple(np.round(column.groupby(frame.index.hour).mean(), 9)) for _, column in frame.items()}
    drawn = [tuple(np.round(np.array(trace.y, dtype=float), 9)) for trace in figure.data]
    assert not set(drawn) & days


def test_beside_noise_nothing_exact_is_drawn():
    noisy = NoisyAggregates(epsilon=1.0, lower=0.0, upper=500.0)
    figure = shoal.anonymize(simulate.meters(40, days=1, seed=1), method=noisy).plot()
    assert {trace.name for trace in figure.data} == {"after", "40 subjects"}


def test_where_no_curve_is_shared_the_plot_says_so(panel):
    figure = shoal.anonymize(panel, method=NLK(n=2, l=10, k=3)).plot()
    assert not [trace for trace in figure.data if trace.xaxis == "x3"]
    assert "No curve is shared by" in figure.to_json()


def test_a_search_is_a_table_a_plot_and_an_index(frame):
    frontier = shoal.search(frame, k=[3, 12], risk=0.2, knows={"points": 3})
    assert repr(frontier) == "Frontier(2 points, chosen k = 12)"
    table = frontier.to_polars()
    assert table.columns == ["k", "risk", "information-loss", "verdict"]
    assert table["verdict"].to_list() == ["beyond a limit", "chosen"]
    assert frontier.to_pandas().shape == table.shape
    assert [point.parameters["k"] for point in frontier] == [3, 12]
    assert frontier.result.verdicts[0].measured >= 12
    assert frontier[0].verdicts[0].required == 3
    assert frontier[-1].to_pandas().shape == frame.shape
    figure = frontier.plot()
    assert [(trace.name, *trace.text) for trace in figure.data] == [("chosen", "k = 12"), ("beyond a limit", "k = 3")]
    with pytest.raises(ParameterError, match="0 to 1"):
        frontier[2]


def test_a_search_over_methods_is_a_table_a_plot_and_an_index_as_well(frame):
    several = [{"name": "microaggregation", "k": {"search": [3, 12]}}, shoal.KP(k=6, p=2)]
    frontier = shoal.search(frame, method=several, risk=0.6, knows={"points": 3})
    table = frontier.to_polars()
    assert table.columns == ["method", "k", "p", "risk", "information-loss", "verdict"]
    assert table["method"].to_list() == ["microaggregation", "microaggregation", "kp"]
    assert table["p"].to_list() == [None, None, 2]
    assert frontier.to_pandas().shape == table.shape
    assert repr(frontier[2]).startswith("Result(kp-anonymity holds")
    assert frontier.result.verdicts[0].required == frontier.chosen.parameters["k"]
    assert "kp" in frontier._repr_html_()
    names = {trace.name for trace in frontier.plot().data}
    assert {name.split(", ")[0] for name in names} == {"microaggregation", "kp"}
    halved = shoal.search(frame, k=[3, 4, 5, 6], points=2, risk=0.9, knows={"points": 3})
    assert len(halved) == 4
    with pytest.raises(ParameterError, match="each has its own values"):
        shoal.search(frame, k=[3], method=several)


def test_a_search_that_finds_nothing_says_what_would_have_to_give(frame):
    frontier = shoal.search(frame, k=[3], risk=0.001, knows={"points": 3})
    assert repr(frontier) == "Frontier(1 point, none chosen)"
    with pytest.raises(GuaranteeNotMetError, match="The only point does not meet both limits"):
        frontier.result  # noqa: B018
    assert frontier.plot().data
    refused = shoal.search(frame, k=[100], knows={"points": 3})
    assert "refused" in refused.to_polars()["verdict"][0]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"k": 5}, "k: give the values to try as a list, such as k=\\[5, 10, 20\\]"),
        ({"over": {"kk": [1, 2]}}, "microaggregation has no parameter 'kk'"),
        ({"over": [1]}, "over: give values by parameter"),
        ({"over": {"seed": [1, 2]}}, "a seed cannot be searched"),
        ({"utility": {"information-loss": {}}}, "give at_most or at_least"),
        ({"risk": 2}, "^risk: input should be less than"),
        ({"k": list(range(2, 600))}, "598 combinations to try"),
        ({"method": Microaggregation}, "give a method with its parameters"),
        ({"method": NoisyAggregates(epsilon=1.0, lower=0.0, upper=1.0)}, "differential privacy allows no search"),
    ],
)
def test_a_search_that_cannot_be_is_refused_before_anything_is_read(given, says):
    with pytest.raises(ParameterError, match=says):
        shoal.search(None, **given)


def test_an_error_of_reading_has_a_note_for_notebooks_and_one_line_for_the_rest(frame):
    with pytest.raises(InputError) as caught:
        shoal.anonymize(frame.reset_index(drop=True), k=5)
    assert "\n" not in str(caught.value)
    assert "can be given to shoal.anonymize as well" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"risk": 9}, "risk: input should be less than or equal to 1"),
        ({"suppression_limit": 2}, "suppression_limit: input should be less than"),
        ({"utility": {"information-loss": {}}}, "utility: give at_most or at_least"),
        ({"scenario": "x"}, "scenario: input should be 'prosecutor' or 'journalist'"),
        ({"points": 0}, "points: input should be greater than"),
        ({"seed": -1}, "seed: input should be greater than"),
    ],
)
def test_a_wrong_argument_of_a_search_is_named_as_it_was_given(frame, given, says):
    with pytest.raises(ParameterError, match=f"^{says}"):
        shoal.search(frame, k=[3], **{"risk": 0.2, **given})
