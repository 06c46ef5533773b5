"""One instant from beginning to end: messages out, readings, messages back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from shoal.edge.collector import Collector, Outgoing
from shoal.edge.device import Device
from shoal.edge.links import DeviceLink
from shoal.edge.messages import COLLECTOR

_PAUSE = 0.001


class Field:
    """Meters and a collector at the two ends of a link, driven from one place.

    Parameters
    ----------
    collector
        The one that asks.
    devices
        Meters by place.
    link
        What carries their messages.
    patience
        Seconds of silence after which to stop waiting for messages that may be lost.
    """

    def __init__(
        self, collector: Collector, devices: Mapping[int, Device], link: DeviceLink, patience: float = 0.0
    ) -> None:
        self.collector, self.devices, self.link, self.patience = collector, devices, link, patience
        self.bytes_sent = 0
        """By all meters."""

    def run(self, label: int, readings: Mapping[int, float]) -> None:
        """Run one instant; meters without a reading are absent."""
        self._exchange(self.collector.begin(label))
        sent = 0
        for place, reading in readings.items():
            sent += self._up(self.devices[place].measure(label, reading))
        self._collect(sent)
        self._exchange(self.collector.conclude(label))

    def _exchange(self, phases: Iterator[Outgoing]) -> None:
        for outgoing in phases:
            for receiver, content in outgoing:
                self.link.send(receiver, content)
            sent, expected = 0, sum(receiver in self.devices for receiver, _ in outgoing)
            receivers = {receiver for receiver, _ in outgoing}
            for _ in self._until(expected):
                found = 0
                for place in receivers & self.devices.keys():
                    for content in self.link.fetch(place):
                        found += 1
                        sent += self._up(self.devices[place].hear(content))
                expected -= found
                self._moved = (found, expected)
            self._collect(sent)

    def _collect(self, expected: int) -> None:
        for _ in self._until(expected):
            found = self.link.fetch(COLLECTOR)
            for content in found:
                self.collector.receive(content)
            expected -= len(found)
            self._moved = (len(found), expected)

    def _up(self, messages: list[bytes]) -> int:
        for content in messages:
            self.bytes_sent += len(content)
            self.link.send(COLLECTOR, content)
        return len(messages)

    def _until(self, expected: int) -> Iterator[None]:
        """Poll until everything sent has arrived, or nothing more arrives."""
        last = time.monotonic()
        while expected > 0:
            yield
            found, expected = self._moved
            if found:
                last = time.monotonic()
            elif time.monotonic() - last >= self.patience:
                return
            else:
                time.sleep(_PAUSE)
