"""Messages through memory, a folder and a real broker."""

import shutil
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from edge.fleets import make_field
from shoal.edge.links import FolderLink, MemoryLink
from shoal.edge.messages import COLLECTOR
from shoal.edge.mqtt import MqttLink
from shoal.errors import InputError, ParameterError

MOSQUITTO = shutil.which("mosquitto") or ("/usr/sbin/mosquitto" if Path("/usr/sbin/mosquitto").exists() else None)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    """The address of a real mosquitto."""
    pytest.importorskip("paho.mqtt", reason="the extra 'mqtt' is not installed")
    if MOSQUITTO is None:
        pytest.skip("mosquitto is not installed (make system)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = tmp_path_factory.mktemp("broker") / "mosquitto.conf"
    settings.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nmax_queued_messages 0\n"
        "max_inflight_messages 0\n"
    )
    with subprocess.Popen(
        [MOSQUITTO, "-c", str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield f"127.0.0.1:{port}"
        run.terminate()


@pytest.mark.parametrize("make", [lambda folder: MemoryLink(), FolderLink], ids=["memory", "folder"])
def test_a_box_gives_each_message_once_and_whole(make, tmp_path):
    link = make(tmp_path / "boxes")
    link.send(3, b"one")
    link.send(3, b"two")
    link.send(COLLECTOR, b"three")
    assert link.fetch(4) == []
    assert sorted(link.fetch(3)) == [b"one", b"two"]
    assert link.fetch(3) == []
    assert link.fetch(COLLECTOR) == [b"three"]
    link.close()


def test_a_folder_that_cannot_be_used_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used"):
        FolderLink(tmp_path / "file" / "boxes")


def test_sums_travel_through_a_folder(tmp_path):
    field = make_field(n=5, way="sum", w=2, link=lambda fleet: FolderLink(tmp_path))
    for label in range(3):
        field.run(label, dict.fromkeys(range(5), 1.0))
    assert not any(figures["group-0"].withheld for figures in field.collector.figures.values())
    assert not field.collector.refused


@pytest.mark.parametrize("way", ["local", "sum"])
def test_five_hundred_meters_report_through_a_real_broker(broker, way):
    """A few instants here; a week of them is in the soak."""
    field = run_fleet(broker, way, instants=3, w=4)
    counts = field.collector.counts
    assert (counts["refused"], counts["withheld"]) == (0, 0)
    assert counts["reports"] == 3 * 500


@pytest.mark.soak
@pytest.mark.parametrize("way", ["local", "sum"])
def test_five_hundred_meters_for_a_week_of_half_hours_through_a_real_broker(broker, way):
    field = run_fleet(broker, way, instants=336, w=48)
    counts = field.collector.counts
    assert (counts["refused"], counts["withheld"], counts["reports"]) == (0, 0, 336 * 500)


def run_fleet(broker, way, instants, w):
    n, rng = 500, np.random.default_rng(0)
    field = make_field(
        n=n,
        groups=50 if way == "sum" else 5,
        way=way,
        w=w,
        scheme="budget-uniform",
        levels=1,
        link=lambda fleet: MqttLink(broker, fleet.digest, [*range(n), COLLECTOR]),
        patience=20.0,
    )
    try:
        for label in range(instants):
            field.run(label, dict(enumerate(rng.uniform(0, 4, n))))
    finally:
        field.link.close()
    return field


def test_addresses_that_are_none_are_refused(broker):
    for address in ("localhost", ":1883", "localhost:x"):
        with pytest.raises(ParameterError, match="host:port"):
            MqttLink(address, b"f" * 32, [0])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(InputError, match="The broker cannot be reached"):
        MqttLink(address, b"f" * 32, [0])


def test_a_broker_that_loses_messages_costs_readings_only(broker):
    """Every third message of meters is lost: what arrives is used, and sums without enough meters are withheld."""

    class Lossy(MqttLink):
        sent = 0

        def send(self, receiver, content):
            self.sent += 1
            if receiver != COLLECTOR or self.sent % 3:
                super().send(receiver, content)

    field = make_field(
        n=12,
        scheme="budget-uniform",
        link=lambda fleet: Lossy(broker, fleet.digest, [*range(12), COLLECTOR]),
        patience=0.5,
    )
    try:
        for label in range(2):
            field.run(label, dict.fromkeys(range(12), 1.0))
    finally:
        field.link.close()
    assert 0 < field.collector.counts["reports"] < 24
    assert field.collector.guarantee.audit().holds
