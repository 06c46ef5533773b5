"""Events from MQTT topics, and published snapshots to one.

In: a persistent session at QoS 1. A message is acknowledged once it is in the log on disk, so the broker keeps and
resends anything that is not. After a kill between log and acknowledgement, the broker resends what the log already has:
such a message is marked as a duplicate and has the original packet identifier, by which, together with the digest of
its content, it is recognised and skipped. Out: see `MqttDelivery`.
"""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from shoal.errors import InputError, ReleaseError
from shoal.streams.blocks import Block, Position, Source, parse_lines
from shoal.streams.stop_request import Stop
from shoal.streams.topics import Topic, lacking

IN_FLIGHT = 256
"""Messages that the broker may send before the first is acknowledged, and which may therefore be resent."""
QUIET_SECONDS = 3.0
"""Without `follow`, a topic that is silent for this long counts as ended."""
_PATIENCE = 30.0
_WAIT = 0.05


class MqttSource(Source):
    """Lines of JSON in messages of a topic; a topic may have wildcards.

    Parameters
    ----------
    topic
        Broker and topic.
    client_id
        The name of the session at the broker: always the same, and unique.
    columns
        The columns to read.
    position
        What is consumed already.
    follow
        Whether to wait for further messages until a stop is requested.
    """

    def __init__(
        self, topic: Topic, client_id: str, columns: Sequence[str], position: Position, *, follow: bool = False
    ) -> None:
        self._topic, self._columns, self._follow = topic, list(columns), follow
        self._position = position
        self._recent: deque[tuple[int, str]] = deque(
            ((int(mid), digest) for mid, digest in (position.marks or {}).get("recent", [])), maxlen=IN_FLIGHT
        )
        self._messages: queue.Queue[Any] = queue.Queue()
        self._unacknowledged: dict[int, list[int]] = {}
        """Packet identifiers of each block that is not on disk yet."""
        self._client = connect(topic, client_id)
        self._client.on_message = lambda client, data, message: self._messages.put(message)
        self._client.on_connect = lambda client, data, flags, reason, properties: client.subscribe(topic.name, qos=1)
        start(self._client, topic)

    def blocks(self, stop: Stop) -> Iterator[Block]:
        """What has arrived, until the topic is silent or a stop is requested."""
        quiet_since = time.monotonic()
        while not stop.asked:
            messages = self._next()
            if messages:
                quiet_since = time.monotonic()
                if (block := self._block(messages)) is not None:
                    yield block
            elif not self._follow and time.monotonic() - quiet_since > QUIET_SECONDS:
                return

    def _next(self) -> list[Any]:
        messages: list[Any] = []
        try:
            messages.append(self._messages.get(timeout=_WAIT))
            while len(messages) < IN_FLIGHT:
                messages.append(self._messages.get_nowait())
        except queue.Empty:
            pass
        return messages

    def _block(self, messages: Sequence[Any]) -> Block | None:
        fresh, identifiers = [], []
        for message in messages:
            mark = (message.mid, hashlib.sha256(message.topic.encode() + b"\0" + message.payload).hexdigest()[:32])
            if message.dup and mark in self._recent:
                self._client.ack(message.mid, message.qos)  # the log has it
                continue
            if message.qos:
                self._recent.append(mark)
                identifiers.append(message.mid)
            if not message.retain:  # a retained message from before the stream is a copy of an event, not an event
                fresh.append(message.payload.strip())
        if not fresh and not identifiers:
            return None
        block = parse_lines(b"".join(payload + b"\n" for payload in fresh), self._columns, self._position)
        after = replace(block.after, marks={"recent": [list(mark) for mark in self._recent]})
        block = replace(block, after=after)
        self._position = after
        self._unacknowledged[id(block)] = identifiers
        return block

    def acknowledge(self, block: Block) -> None:
        """Tell the broker that these messages are on disk."""
        for identifier in self._unacknowledged.pop(id(block), ()):
            self._client.ack(identifier, 1)

    def close(self) -> None:
        """Leave the broker, which keeps the session."""
        stop_client(self._client)


class MqttDelivery:
    """Sends each published snapshot once, as a message of JSON, in order.

    Messages are retained, so the broker itself holds the last one: a resumed stream asks which that was and continues
    after it. The broker stores and forwards a message in one step, and connecting under the same name ends an earlier
    connection, so nothing from that one can arrive later.

    Parameters
    ----------
    topic
        Broker and topic.
    client_id
        The name of the sender at the broker.
    """

    def __init__(self, topic: Topic, client_id: str) -> None:
        self._topic = topic
        self._client = connect(topic, client_id)
        self._last: queue.Queue[bytes] = queue.Queue()
        self._subscribed = threading.Event()
        self._client.on_message = self._take
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        start(self._client, topic, afresh=True)
        self._client.subscribe(topic.name, qos=1)

    def _take(self, client: Any, data: Any, message: Any) -> None:
        self._last.put(message.payload)
        client.ack(message.mid, message.qos)

    def last(self) -> bytes | None:
        """The last message sent, if any."""
        if not self._subscribed.wait(_PATIENCE):
            raise unreachable(self._topic)
        try:
            return self._last.get(timeout=1.0)
        except queue.Empty:
            return None
        finally:
            self._client.unsubscribe(self._topic.name)

    def send(self, content: bytes) -> None:
        """Send a message and wait until the broker has it."""
        sent = self._client.publish(self._topic.name, content, qos=2, retain=True)
        sent.wait_for_publish(_PATIENCE)
        if not sent.is_published():
            raise ReleaseError(f"{self._topic.text} does not accept a snapshot. Is the broker up?")

    def close(self) -> None:
        """Leave the broker."""
        stop_client(self._client)


def connect(topic: Topic, client_id: str) -> Any:
    """A client of MQTT 5 with a session that the broker keeps; not connected yet."""
    try:
        import paho.mqtt.client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError:
        raise lacking("mqtt") from None
    client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=client_id, protocol=mqtt.MQTTv5, manual_ack=True)
    if topic.user is not None:
        client.username_pw_set(topic.user, topic.password)
    if topic.secure:
        client.tls_set()
    client.max_queued_messages_set(0)
    return client


def start(client: Any, topic: Topic, *, afresh: bool = False) -> None:
    """Connect, in the client's own thread, which reconnects if the broker goes away.

    `afresh`: the broker forgets unfinished exchanges of an earlier process. Packet identifiers restart with each
    process, and a message whose handshake was interrupted by a kill could be mistaken for another one with the same
    identifier.
    """
    from paho.mqtt.client import MQTT_CLEAN_START_FIRST_ONLY
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.SessionExpiryInterval = 0xFFFFFFFF
    properties.ReceiveMaximum = IN_FLIGHT
    try:
        clean = MQTT_CLEAN_START_FIRST_ONLY if afresh else False
        client.connect(topic.host, topic.port, clean_start=clean, properties=properties)
    except OSError:
        raise unreachable(topic) from None
    client.loop_start()
    until = time.monotonic() + _PATIENCE
    while not client.is_connected():
        if time.monotonic() > until:
            raise unreachable(topic)
        time.sleep(0.01)


def stop_client(client: Any) -> None:
    """Send what is on its way, and leave."""
    client.disconnect()
    client.loop_stop()


def unreachable(topic: Topic) -> InputError:
    """The error for a broker that does not answer."""
    return InputError(f"No broker answers at {topic.host}:{topic.port}. Check the address, the user and the password.")
