"""Messages through an MQTT broker: one topic for each meter, one for the collector."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

from shoal.edge.messages import COLLECTOR
from shoal.errors import InputError, ParameterError

_SECONDS = 10.0


class MqttLink:
    """Boxes behind a broker.

    The broker is not trusted: messages are signed, shares are sealed, readings are masked or randomised. It sees who
    sends how much, and when, and it can lose messages.

    Parameters
    ----------
    address
        "host:port" of the broker.
    fleet
        The fleet's digest; the first part of every topic.
    receivers
        Whose boxes are fetched here.
    """

    def __init__(self, address: str, fleet: bytes, receivers: Iterable[int]) -> None:
        try:
            from paho.mqtt import client as mqtt
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError:
            raise ParameterError("MQTT needs the extra 'mqtt': pip install 'shoal[mqtt]'.") from None
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise ParameterError("A broker is given as host:port, such as localhost:1883.")
        self._root = f"shoal/{fleet[:8].hex()}/"
        self._boxes: dict[int, deque[bytes]] = defaultdict(deque)
        self._topics = {self._topic(receiver): receiver for receiver in receivers}
        self._ready = threading.Event()
        self._left = set(self._topics)
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2)
        self._client.max_inflight_messages_set(1000)
        self._client.on_connect = self._subscribe
        self._client.on_subscribe = self._subscribed
        self._client.on_message = self._put
        self._pending = 0
        try:
            self._client.connect(host, int(port))
        except OSError as error:
            raise InputError(f"The broker cannot be reached: {error.strerror or 'no answer'}.") from None
        self._client.loop_start()
        if not self._ready.wait(_SECONDS):
            self.close()
            raise InputError("The broker did not accept the subscriptions in time.")

    def send(self, receiver: int, content: bytes) -> None:
        """Publish to a topic, at least once; the receiver refuses duplicates."""
        self._client.publish(self._topic(receiver), content, qos=1)

    def fetch(self, receiver: int) -> list[bytes]:
        """Take what has arrived."""
        box, messages = self._boxes[receiver], []
        while box:
            messages.append(box.popleft())
        return messages

    def close(self) -> None:
        """Leave the broker."""
        self._client.disconnect()
        self._client.loop_stop()

    def _topic(self, receiver: int) -> str:
        return self._root + ("collector" if receiver == COLLECTOR else f"meter/{receiver}")

    def _subscribe(self, client: Any, *_: Any) -> None:
        topics = [(topic, 1) for topic in self._topics]
        self._pending = 0
        for first in range(0, len(topics), 100):
            self._pending += 1
            client.subscribe(topics[first : first + 100])

    def _subscribed(self, *_: Any) -> None:
        self._pending -= 1
        if self._pending == 0:
            self._ready.set()

    def _put(self, client: Any, data: Any, message: Any) -> None:
        if message.topic in self._topics:
            self._boxes[self._topics[message.topic]].append(bytes(message.payload))
