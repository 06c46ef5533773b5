"""Events from a Kafka topic, and published snapshots to one.

In: offsets are kept only with the state of the stream; partitions are read from where the log ends, by `assign`, so
that no consumer group moves them. Out: see `KafkaDelivery`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from shoal.errors import InputError, ReleaseError
from shoal.streams.blocks import Block, Position, Source, parse_lines
from shoal.streams.stop_request import Stop
from shoal.streams.topics import Topic, lacking

_MESSAGES = 10_000
_PATIENCE = 30.0
_WAIT = 0.05


class KafkaSource(Source):
    """Lines of JSON in messages of a topic: in the order of offsets in each partition, partitions as they come.

    Parameters
    ----------
    topic
        Broker and topic.
    columns
        The columns to read.
    position
        What is consumed already.
    follow
        Whether to wait for further messages until a stop is requested; otherwise what exists now is read.
    """

    def __init__(self, topic: Topic, columns: Sequence[str], position: Position, *, follow: bool = False) -> None:
        kafka = _library()
        self._topic, self._columns, self._follow = topic, list(columns), follow
        self._position = position
        self._offsets: dict[str, int] = dict((position.marks or {}).get("offsets", {}))
        self._consumer = _consumer(topic)
        self._end_code = kafka.KafkaError._PARTITION_EOF
        self._partitions, self._ended = set(list_partitions(self._consumer, topic)), set[int]()
        if not self._partitions:
            raise InputError(f"The broker has no topic {topic.name!r}.")
        wanted = []
        for number in sorted(self._partitions):
            place = kafka.TopicPartition(topic.name, number)
            first, _ = self._consumer.get_watermark_offsets(place, timeout=_PATIENCE)
            place.offset = self._offsets.get(str(number), first)
            if place.offset < first:
                raise InputError(
                    f"{topic.text} has lost unread messages: partition {number} begins at offset {first}, the stream "
                    f"is at {place.offset}. Keep messages longer, and start a new stream in new folders."
                )
            wanted.append(place)
        self._consumer.assign(wanted)

    def blocks(self, stop: Stop) -> Iterator[Block]:
        """What has arrived, until the end or until a stop is requested."""
        while not stop.asked:
            messages = self._consumer.consume(_MESSAGES, timeout=_WAIT)
            if messages and (block := self._block(messages)) is not None:
                yield block
            elif not messages and not self._follow and self._ended >= self._partitions:
                return

    def _block(self, messages: Sequence[Any]) -> Block | None:
        payloads = []
        for message in messages:
            if message.error() is not None and message.error().code() == self._end_code:
                self._ended.add(message.partition())
                continue
            if message.error() is not None:
                raise InputError(f"{self._topic.text} cannot be read: {message.error().name()}.")
            payloads.append((message.value() or b"").strip())
            self._offsets[str(message.partition())] = message.offset() + 1
            self._ended.discard(message.partition())
        if not payloads:
            return None
        block = parse_lines(b"".join(payload + b"\n" for payload in payloads), self._columns, self._position)
        block = replace(block, after=replace(block.after, marks={"offsets": dict(self._offsets)}))
        self._position = block.after
        return block

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()


class KafkaDelivery:
    """Sends each published snapshot once, as a message of JSON, in order, to partition 0 of a topic.

    The topic itself records what was sent last. Each message is a transaction under one name, so connecting fences off
    an earlier sender before the end of the topic is read.

    Parameters
    ----------
    topic
        Broker and topic.
    client_id
        The name of the sender.
    """

    def __init__(self, topic: Topic, client_id: str) -> None:
        kafka = _library()
        self._kafka, self._topic = kafka, topic
        servers = f"{topic.host}:{topic.port}"
        self._producer = kafka.Producer(
            {"bootstrap.servers": servers, "transactional.id": client_id, "enable.idempotence": True}
        )
        try:
            self._producer.init_transactions(_PATIENCE)
        except kafka.KafkaException:
            raise InputError(f"No broker answers at {servers}, or it has no transactions.") from None

    def last(self) -> bytes | None:
        """The last message sent, if any."""
        kafka, topic = self._kafka, self._topic
        consumer = _consumer(topic)
        try:
            place = kafka.TopicPartition(topic.name, 0)
            if 0 not in list_partitions(consumer, topic):
                return None
            first, end = consumer.get_watermark_offsets(place, timeout=_PATIENCE)
            # The end of a transaction takes its own offset, and an aborted one may take several.
            for back in (2, 16, 256, end - first):
                place.offset = max(first, end - back)
                if (found := self._read_on(consumer, place)) is not None or place.offset == first:
                    return found
            return None
        finally:
            consumer.close()

    def _read_on(self, consumer: Any, place: Any) -> bytes | None:
        """The last message after an offset."""
        consumer.assign([place])
        content: bytes | None = None
        while (message := consumer.poll(_PATIENCE)) is not None:
            if message.error() is None:
                content = message.value()
            elif message.error().code() == self._kafka.KafkaError._PARTITION_EOF:
                return content
        raise InputError(f"{self._topic.text} does not answer.")

    def send(self, content: bytes) -> None:
        """Send a message and wait until the broker has it."""
        try:
            self._producer.begin_transaction()
            self._producer.produce(self._topic.name, content, partition=0)
            self._producer.commit_transaction(_PATIENCE)
        except self._kafka.KafkaException as error:
            raise ReleaseError(f"{self._topic.text} does not accept a snapshot: {error.args[0].name()}.") from None

    def close(self) -> None:
        """Leave the broker."""
        self._producer.flush(_PATIENCE)


def _consumer(topic: Topic) -> Any:
    """A reader of committed messages that moves no offset at the broker."""
    return _library().Consumer(
        {
            "bootstrap.servers": f"{topic.host}:{topic.port}",
            "group.id": "shoal",  # the library wants one; nothing is stored under it
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",  # a missing offset is a lost event and must be reported
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )


def list_partitions(client: Any, topic: Topic) -> list[int]:
    """The partitions of a topic; none if there is no such topic."""
    kafka = _library()
    try:
        found = client.list_topics(topic.name, timeout=_PATIENCE).topics[topic.name]
    except kafka.KafkaException:
        raise InputError(f"No broker answers at {topic.host}:{topic.port}.") from None
    return sorted(found.partitions)


def _library() -> Any:
    try:
        import confluent_kafka
    except ImportError:
        raise lacking("kafka") from None
    return confluent_kafka
