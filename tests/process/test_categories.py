"""What is lost in each category of a published column, and where it may not be told."""

import numpy as np
import pytest

from shoal import Microaggregation, Panel, simulate
from shoal.process.categories import loss_by_category
from shoal.release.openness import BITS_OF_A_FIGURE, ENOUGH_BITS, open_bits
from shoal.utility import NormalizedDivergence, PeakHeightError


def metered(tariffs, n=240, **more):
    """Meters of a day, each with an entry of these, drawn by chance; as a candidate that publishes it."""
    panel = simulate.meters(n, days=1, seed=4)
    drawn = np.random.default_rng(2).choice(np.array(tariffs, dtype=object), n)
    panel = Panel(panel.values, times=panel.times, attributes={"tariff": drawn} | more.pop("further", {}))
    attributes = tuple(panel.attributes)
    return Microaggregation(k=5, attributes=attributes, **more).anonymize(panel)


def test_each_category_is_measured_by_itself():
    candidate = metered(["day", "night"])
    told = loss_by_category(candidate)
    assert told["column"] == "tariff"
    entries = candidate.published.attributes["tariff"]
    for row in told["rows"]:
        inside = np.flatnonzero(entries == row["category"])
        before, after = candidate.originals.values[inside], candidate.curves.values[inside]
        assert row["series"] == len(inside)
        assert row["scores"]["normalized-divergence"]["value"] == pytest.approx(
            np.abs(after - before).sum() / np.abs(before).sum(), rel=0.005
        )
    assert sum(row["series"] for row in told["rows"]) == 240
    assert [row["series"] for row in told["rows"]] == sorted((row["series"] for row in told["rows"]), reverse=True)


def test_what_was_to_be_kept_is_told_first():
    told = loss_by_category(metered(["day", "night"], features="keep:peaks,window:17:00-20:00,total"))
    assert list(told["rows"][0]["scores"]) == [PeakHeightError.name, "peak-time-error"]
    assert told["rows"][0]["scores"]["peak-time-error"]["unit"] == "hours"


def test_the_smallest_of_many_are_told_together():
    told = loss_by_category(metered(list("abcdefgh"), n=900))
    assert len(told["rows"]) == 6
    assert told["rows"][-1]["category"] == "all others"
    assert sum(row["series"] for row in told["rows"]) == 900


def test_where_one_category_leaves_too_little_open_none_is_told():
    """The whole less the others is that category."""
    tariffs = ["day"] * 60 + ["night"]
    assert loss_by_category(metered(["day", "night"])) is not None
    assert loss_by_category(metered(tariffs, n=500)) is None


def test_every_category_that_is_told_leaves_enough_open():
    candidate = metered(["day", "night", "noon"], n=300)
    told, entries = loss_by_category(candidate), candidate.published.attributes["tariff"]
    for row in told["rows"]:
        inside = np.flatnonzero(entries == row["category"])
        part = Microaggregation(k=5).anonymize(candidate.private.original.take(inside))
        assert open_bits(part) > ENOUGH_BITS + BITS_OF_A_FIGURE


def test_of_two_columns_one_is_told():
    """Of two that nearly agree, the difference of two figures would be that of a few subjects."""
    region = np.array(["north"] * 120 + ["south"] * 120, dtype=object)
    told = loss_by_category(metered(["day", "night"], further={"region": region}))
    assert told is None or told["column"] == "tariff"


@pytest.mark.parametrize("tariffs", [["day"], []])
def test_without_several_categories_there_is_nothing_to_tell(tariffs):
    if tariffs:
        assert loss_by_category(metered(tariffs)) is None
    else:
        assert loss_by_category(Microaggregation(k=5).anonymize(simulate.meters(60, days=1, seed=1))) is None


def test_the_usual_measure_is_how_far_readings_are_off():
    told = loss_by_category(metered(["day", "night"]))
    assert all(list(row["scores"]) == [NormalizedDivergence.name] for row in told["rows"])
