"""Streams from and to brokers: nothing is lost or published twice, whenever the stream is killed."""

import json
import random
import time
from pathlib import Path

import pytest

from brokers import consumed, kafka_cluster, mosquitto, produce, publish, subscribed, wait_for
from shoal import verify
from shoal.cli.app import run
from stream_processes import SOAK, contents, events, finish, soaked, start

KILLS = soaked(200, 8)
OPTIONS = ["--l", 3, "--window", 4, "--seed", 5, "--sensitive", "diagnosis", "--quasi", "age", "--quasi", "region"]
ARRIVALS = ["--lateness", 2]


def stream_command(*arguments):
    return ["stream", *map(str, (*arguments, *OPTIONS, *ARRIVALS))]


def lines_of(n_snapshots):
    return [line for line in events(n_snapshots, 12).splitlines() if line]


def undisturbed(folder, lines):
    """What the same events give from a pipe."""
    (folder / "lines").write_text("\n".join(lines) + "\n")
    out = folder / "undisturbed"
    arguments = [*stream_command("-"), "--private", folder / "keep0", "-o", out]
    assert finish(start(arguments, folder / "lines")) == 0
    return snapshots(out)


def snapshots(out):
    return {name: content for name, content in contents(out).items() if name.startswith(("data-", "sensitive-"))}


def kill_until_enough(arguments, kills, out):
    """Start the stream again and again, and kill it at a random moment each time."""
    chance = random.Random(1)
    moments = []
    for _ in range(kills):
        process = start([*arguments, "--follow"])
        before = len(list(out.glob("data-*")))
        until = time.monotonic() + chance.choice([0.2, 0.5, 1.0, 2.0])
        while time.monotonic() < until and process.is_alive() and len(list(out.glob("data-*"))) == before:
            time.sleep(0.002)
        time.sleep(chance.random() * 0.05)
        process.kill()
        process.join()
        moments.append(len(list(out.glob("data-*"))))
    return moments


@pytest.mark.timeout(7200 if SOAK else 300)
def test_kills_lose_nothing_from_mqtt_and_send_nothing_twice(tmp_path):
    lines = lines_of(40 if not SOAK else 400)
    expected = undisturbed(tmp_path, lines)
    out = tmp_path / "out"
    with mosquitto(tmp_path / "broker") as port, subscribed(port, "diverse") as received:
        addresses = [f"mqtt://127.0.0.1:{port}/meters", "--send", f"mqtt://127.0.0.1:{port}/diverse"]
        arguments = [*stream_command(*addresses), "--private", tmp_path / "keep", "-o", out]
        assert finish(start([*arguments, "--no-flush"])) == 0  # from now on the broker keeps messages for it
        step = -(-len(lines) // KILLS)
        for number in range(KILLS):
            publish(port, "meters", lines[number * step : (number + 1) * step])
            kill_until_enough(arguments, 1, out)
        assert finish(start(arguments)) == 0
        wait_for(lambda: len(received) >= len(expected) // 2)
    assert snapshots(out) == expected
    assert json.loads((out / "summary.json").read_text())["events"]["arrived"] == len(lines)
    assert [message["number"] for message in received] == list(range(1, len(expected) // 2 + 1))
    assert verify(out).holds


@pytest.mark.timeout(7200 if SOAK else 300)
def test_kills_lose_nothing_from_kafka_and_send_nothing_twice(tmp_path):
    lines = lines_of(40 if not SOAK else 400)
    expected = undisturbed(tmp_path, lines)
    out = tmp_path / "out"
    with kafka_cluster() as (host, port):
        produce(host, port, "meters", lines[:1])
        addresses = [f"kafka://{host}:{port}/meters", "--send", f"kafka://{host}:{port}/diverse"]
        arguments = [*stream_command(*addresses), "--private", tmp_path / "keep", "-o", out]
        step = -(-len(lines[1:]) // KILLS)
        for number in range(KILLS):
            produce(host, port, "meters", lines[1:][number * step : (number + 1) * step])
            kill_until_enough(arguments, 1, out)
        assert finish(start(arguments)) == 0
        received = consumed(host, port, "diverse")
    assert snapshots(out) == expected
    assert json.loads((out / "summary.json").read_text())["events"]["arrived"] == len(lines)
    assert [message["number"] for message in received] == list(range(1, len(expected) // 2 + 1))
    assert verify(out).holds


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mqtt://127.0.0.1:1/x"], ["--private"]),
        (["mqtt://127.0.0.1:1/x", "--private", "keep"], ["No broker answers at 127.0.0.1:1"]),
        (["mqtt://127.0.0.1", "--private", "keep"], ["needs a host and a topic"]),
        (["mqtt://127.0.0.1/x", "--private", "keep", "--continue"], ["--continue is for standard input"]),
        (["-", "--private", "keep", "--send", "http://x/y"], ["--send must be mqtt://"]),
        (["-", "--private", "keep", "--send", "mqtt://x/y", "--format", "csv"], ["--format parquet"]),
    ],
)
def test_a_bad_address_is_refused_in_one_line(tmp_path, monkeypatch, capsys, arguments, words):
    pytest.importorskip("paho.mqtt.client")
    monkeypatch.chdir(tmp_path)
    with Path("/dev/null").open() as nothing, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", nothing)
        assert run([*stream_command(*arguments), "-o", "out"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert all(word in error for word in words)
