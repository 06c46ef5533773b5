"""The collector: what it accepts, refuses, estimates and publishes."""

import math

import numpy as np
import pytest

from edge.fleets import make_field, step
from shoal import DifferentialPrivacy, LocalDifferentialPrivacy
from shoal.edge import SCHEMES
from shoal.edge.messages import COLLECTOR, MessageKind, RefusedError, read_message, unpack_parts, write_message
from shoal.errors import InputError, ParameterError


@pytest.mark.parametrize("way", ["local", "sum"])
def test_a_message_changed_by_one_bit_is_refused_whichever_bit_it_is(way):
    field = make_field(n=4, way=way, scheme="budget-uniform")
    collector = field.collector
    step(collector.begin(8), field)
    (content,) = field.devices[0].measure(8, 1.0)
    for bit in range(8 * len(content)):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        assert not collector.receive(bytes(changed))
    assert sum(collector.refused.values()) == 8 * len(content)
    assert collector.receive(content)


def test_a_question_changed_by_one_bit_is_not_answered():
    field = make_field(n=3, scheme="budget-absorption")
    step(field.collector.begin(0))
    device = field.devices[0]
    device.measure(0, 1.0)
    (outgoing,) = [next(field.collector.conclude(0))]
    content = next(content for receiver, content in outgoing if receiver == 0)
    for bit in range(0, 8 * len(content), 3):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        assert device.hear(bytes(changed)) == []
    assert field.devices[1].hear(content) == []
    assert device.budget.spent == 0
    assert len(device.hear(content)) == 1
    assert device.budget.spent > 0


@pytest.mark.parametrize("way", ["local", "sum"])
def test_replays_and_wrong_rounds_are_refused_and_counted(way):
    field = make_field(n=4, way=way, scheme="budget-uniform")
    collector = field.collector
    step(collector.begin(8), field)
    (content,) = field.devices[0].measure(8, 1.0)
    assert collector.receive(content)
    assert not collector.receive(content)
    assert collector.refused == {"sent twice": 1}
    step(collector.conclude(8), field)
    step(collector.begin(9), field)
    assert not collector.receive(content)
    assert collector.refused["of another round"] == 1


def test_messages_of_others_are_refused():
    field, other = make_field(n=3, scheme="budget-uniform"), make_field(n=3, scheme="budget-uniform")
    collector = field.collector
    step(collector.begin(0))
    (foreign,) = other.devices[0].measure(0, 1.0)
    assert not collector.receive(foreign)
    assert collector.refused == {"of another fleet": 1}
    device = field.devices[0]
    for sender, key, why in (
        (9, device._keys, "from an unknown sender"),
        (1, device._keys, "not signed by its sender"),
    ):
        content = write_message(MessageKind.REPORT, field.collector.fleet.digest, sender, COLLECTOR, 0, b"", key)
        assert not collector.receive(content)
        assert collector.refused[why] == 1
    content = write_message(MessageKind.BEGIN, field.collector.fleet.digest, 0, COLLECTOR, 0, b"", device._keys)
    assert not collector.receive(content)
    assert collector.refused["not for a collector"] == 1
    for content, why in ((b"", "too short"), (b"x" * 200, "no message")):
        assert not collector.receive(content)
        assert collector.refused[why] == 1
    with pytest.raises(RefusedError, match="for another receiver"):
        read_message(device.measure(0, 1.0)[0], field.collector.fleet.digest, 5, field.collector.fleet.senders)
    for cut in (b"123", b"\0\0\0\0\0\0\0\x09abc"):
        with pytest.raises(RefusedError, match="cut off"):
            unpack_parts(cut)


def test_an_answer_that_was_not_asked_for_is_refused():
    """A meter that claims another cost, to weigh more or less, is not heard."""
    from shoal.edge.messages import REPORT

    field = make_field(n=3, scheme="budget-uniform")
    collector = field.collector
    step(collector.begin(0))
    keys = field.devices[0]._keys
    for body in (REPORT.pack(1, 0, 0), REPORT.pack(2**38, 1, 0), REPORT.pack(2**38, 0, 7)):
        content = write_message(MessageKind.REPORT, collector.fleet.digest, 0, COLLECTOR, 0, body, keys)
        assert not collector.receive(content)
    assert collector.refused == {"no answer to the question": 3}
    assert collector.receive(
        write_message(MessageKind.REPORT, collector.fleet.digest, 0, COLLECTOR, 0, REPORT.pack(2**38, 0, 1), keys)
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_estimates_through_messages(scheme):
    field = make_field(n=40, groups=2, scheme=scheme, epsilon=60.0, w=2)
    for label in range(10, 14):
        field.run(label, dict.fromkeys(range(40), 4.0))
    profiles = field.collector.profiles(smoothed=True)
    assert profiles.values.shape == (2, 4, 1, 6)
    mean, total, low, high, reporting, smoothed = profiles.values[:, :, 0].T.swapaxes(1, 2)
    # A budget of 60 hides nothing: answers are true but for a chance of e^-15.
    assert mean[np.isfinite(mean)] == pytest.approx(4.0, abs=0.01)
    assert np.allclose(total, 20 * mean, equal_nan=True)
    seen = np.isfinite(low)
    assert ((low <= mean) & (mean <= high))[seen].all()
    assert (reporting[seen] > 0).all()
    assert np.isfinite(smoothed[seen.any(axis=1)]).all()
    assert not field.collector.refused
    promised = field.collector.guarantee
    assert isinstance(promised, LocalDifferentialPrivacy)
    assert promised.audit().holds


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    field = make_field(n=60, scheme="budget-uniform", epsilon=4.0, w=2)
    readings = dict(enumerate(np.random.default_rng(1).uniform(0, 4, 60)))
    for label in range(40):
        field.run(label, readings)
    low, high = (field.collector.profiles().values[0, :, 0, band] for band in (2, 3))
    truth = np.mean(list(readings.values()))
    assert np.mean((low <= truth) & (truth <= high)) > 0.8


def test_shares_of_points_are_published_where_there_are_more_than_two():
    field = make_field(n=30, scheme="budget-uniform", epsilon=60.0, w=1, points=5)
    field.run(0, dict.fromkeys(range(30), 2.0))
    profiles = field.collector.profiles()
    assert profiles.bands[5:] == tuple(f"share_{point}" for point in range(5))
    assert profiles.values[0, 0, 0, 5:] == pytest.approx([0, 0, 1, 0, 0], abs=1e-6)


def test_sums_are_estimated_through_messages_with_some_missing():
    field = make_field(n=20, groups=2, way="sum", epsilon=45.0, w=2, fewest=0.6, upper=100.0)
    for label in range(4):
        field.run(label, {place: 40.0 for place in range(20) if place % 7 != label})
    mean, _, low, high, reporting = field.collector.profiles().values[:, :, 0].T.swapaxes(1, 2)
    assert mean == pytest.approx(40.0, abs=12.0)
    assert (reporting < 10).any()
    assert ((low < 40.5) & (high > 39.5)).mean() > 0.5
    promised = field.collector.guarantee
    assert isinstance(promised, DifferentialPrivacy)
    assert promised.audit().holds
    assert promised.total == pytest.approx(90.0)
    for label in range(4, 6):
        field.run(label, dict.fromkeys(range(20), 40.0))
    with pytest.raises(ParameterError, match="Publish fewer at a time"):
        _ = field.collector.guarantee


def test_an_instant_with_too_few_meters_is_withheld_and_costs_all_the_same():
    field = make_field(n=6, way="sum", epsilon=1.0)
    field.run(0, dict.fromkeys(range(6), 1.0))
    field.run(1, dict.fromkeys(range(3), 1.0))
    assert field.collector.figures[1]["group-0"].withheld == "too few meters sent something"
    assert math.isnan(field.collector.profiles().values[0, 1, 0, 0])
    assert field.collector.guarantee.accounting[0].query.startswith("sums of 1 neighbourhood(s) at 2 instants")


def test_a_group_that_was_not_there_when_the_period_began_is_withheld_until_the_next():
    field = make_field(n=4, way="sum", w=2)
    step(field.collector.begin(0))
    for place in range(4):
        for content in field.devices[place].measure(0, 1.0):
            field.collector.receive(content)
    step(field.collector.conclude(0), field)
    assert field.collector.figures[0]["group-0"].withheld
    field.run(2, dict.fromkeys(range(4), 1.0))
    assert not field.collector.figures[2]["group-0"].withheld


def test_a_late_reading_is_refused():
    field = make_field(n=6, way="sum")
    collector = field.collector
    step(collector.begin(0), field)
    contents = {place: field.devices[place].measure(0, 1.0)[0] for place in range(6)}
    for place in range(5):
        assert collector.receive(contents[place])
    asked = next(collector.conclude(0))
    assert not collector.receive(contents[5])
    assert collector.refused == {"late": 1}
    (reply,) = field.devices[0].hear(dict(asked)[0])
    assert collector.receive(reply)


def test_a_collector_with_other_keys_or_without_instants_is_refused():
    from shoal.edge.collector import Collector
    from shoal.edge.keys import Keys

    field = make_field(n=3)
    with pytest.raises(InputError, match="not the keys of the fleet's collector"):
        Collector(field.collector.fleet, Keys.draw())
    with pytest.raises(InputError, match="No instant was concluded"):
        field.collector.profiles()
    with pytest.raises(ParameterError, match="concluded after it began"):
        step(field.collector.conclude(3))
