"""Snapshots to a topic: each once, in order, after whatever the topic has."""

import json

import polars as pl
import pytest

from shoal.errors import ParameterError, ReleaseError
from shoal.streams.delivery import Delivery
from shoal.streams.topics import Topic


class Kept:
    """A topic in memory; with `breaks_at` it fails once at that message, before or after it has taken it."""

    def __init__(self, messages=(), breaks_at=None, takes=False):
        self.messages, self.breaks_at, self.takes = list(messages), breaks_at, takes

    def last(self):
        return self.messages[-1] if self.messages else None

    def send(self, content):
        if len(self.messages) == self.breaks_at:
            self.breaks_at = None
            if self.takes:
                self.messages.append(content)
            raise ReleaseError("the broker is gone")
        self.messages.append(content)

    def close(self):
        pass


@pytest.fixture
def folder(tmp_path):
    for number in range(1, 7):
        pl.DataFrame({"time": [number], "group": [0]}).write_parquet(tmp_path / f"data-{number:08d}.parquet")
    return tmp_path


def deliver(topic, folder, n=6, stream="me", first=1):
    delivery = Delivery(topic, folder, stream, first)
    delivery.advance(n)
    delivery.finish()


def numbers(topic):
    return [json.loads(message)["number"] for message in topic.messages]


@pytest.mark.parametrize("takes", [False, True])
def test_a_delivery_that_was_broken_off_goes_on_after_what_arrived(folder, takes):
    topic = Kept(breaks_at=3, takes=takes)
    with pytest.raises(ReleaseError, match="the broker is gone"):
        deliver(topic, folder)
    deliver(topic, folder)
    assert numbers(topic) == [1, 2, 3, 4, 5, 6]
    assert json.loads(topic.messages[1])["data"] == [{"time": 2, "group": 0}]


@pytest.mark.parametrize("message", [b"hello", b"{}", b'{"stream": "you", "number": 3}'])
def test_a_topic_of_others_is_refused(folder, message):
    with pytest.raises(ReleaseError, match="from elsewhere"):
        deliver(Kept([message]), folder)


def test_snapshots_that_are_gone_before_they_were_sent_are_told(folder):
    with pytest.raises(ReleaseError, match="Snapshots 1 to 3 were not sent"):
        deliver(Kept(), folder, first=4)
    (folder / "data-00000002.parquet").unlink()
    with pytest.raises(ReleaseError, match="cannot be read to be sent"):
        deliver(Kept(), folder)


def test_addresses():
    topic = Topic.parse("mqtts://me:se%20cret@broker/site/+/meters")
    assert (topic.kind, topic.host, topic.port, topic.name) == ("mqtts", "broker", 8883, "site/+/meters")
    assert (topic.user, topic.password, topic.secure) == ("me", "se cret", True)
    assert "cret" not in topic.text
    assert Topic.parse("mqtt://broker/site/#").name == "site/#"
    assert Topic.parse("kafka://broker:1/x").port == 1
    assert Topic.parse("days") is None
    assert Topic.parse("s3://bucket/x") is None
    with pytest.raises(ParameterError, match="needs a host and a topic"):
        Topic.parse("kafka://broker")
