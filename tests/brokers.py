"""Brokers on this machine: a real mosquitto, and the mock cluster of librdkafka, as no Kafka broker installs here."""

import json
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
PATIENCE = 60


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def mosquitto(folder):
    """The port of a broker that keeps its sessions on disk."""
    pytest.importorskip("paho.mqtt.client")
    if MOSQUITTO is None:
        pytest.skip("mosquitto is not installed; tests/install_system_packages.sh does it")
    port = free_port()
    folder.mkdir()
    folder.chmod(0o777)
    settings = folder / "mosquitto.conf"
    settings.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {folder}/\n"
        "max_queued_messages 0\nmax_inflight_messages 0\nmax_packet_size 20000000\n"
    )
    broker = subprocess.Popen([MOSQUITTO, "-c", settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert time.monotonic() < until, "the broker does not start"
                time.sleep(0.05)
        yield port
    finally:
        broker.terminate()
        broker.wait()


def publish(port, topic, lines):
    """Send each line as a message that arrives once."""
    import paho.mqtt.client as mqtt

    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="publisher")
    client.max_inflight_messages_set(1000)
    client.connect("127.0.0.1", port)
    client.loop_start()
    sent = [client.publish(topic, line, qos=2) for line in lines]
    for message in sent:
        message.wait_for_publish(PATIENCE)
    client.disconnect()
    client.loop_stop()


@contextmanager
def subscribed(port, topic):
    """Every message of a topic, in a list that grows."""
    import paho.mqtt.client as mqtt

    ready, found = [], []
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="subscriber")
    client.on_message = lambda client, data, message: found.append(json.loads(message.payload))
    client.on_subscribe = lambda *_: ready.append(True)
    client.connect("127.0.0.1", port)
    client.loop_start()
    client.subscribe(topic, qos=2)
    wait_for(lambda: ready)
    yield found
    client.disconnect()
    client.loop_stop()


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "nothing comes"
        time.sleep(0.02)


_CLUSTER = """
import sys, time
from confluent_kafka import Producer
holder = Producer({"test.mock.num.brokers": 1})
broker = next(iter(holder.list_topics(timeout=30).brokers.values()))
print(broker.host, broker.port, flush=True)
sys.stdin.read()
"""


@contextmanager
def kafka_cluster():
    """Host and port of a mock cluster: it speaks Kafka's protocol, and keeps topics in memory while the block runs."""
    pytest.importorskip("confluent_kafka")
    process = subprocess.Popen([sys.executable, "-c", _CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        host, port = process.stdout.readline().split()
        yield host.decode(), int(port)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def produce(host, port, topic, lines):
    """Send each line as a message, in turn to the partitions."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": f"{host}:{port}"})
    for line in lines:
        producer.produce(topic, line, partition=0)
    assert producer.flush(PATIENCE) == 0


def consumed(host, port, topic):
    """Every message of partition 0 of a topic."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    consumer = Consumer({"bootstrap.servers": f"{host}:{port}", "group.id": "test", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    while (message := consumer.poll(PATIENCE)) is not None:
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF
            break
        found.append(json.loads(message.value()))
    consumer.close()
    return found
