"""Fleets of meters: enrolment, collection, simulation, and their figures through the gate."""

from __future__ import annotations

import base64
import binascii
import json
import queue
import random
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from shoal.edge.budget import Budget
from shoal.edge.collector import Collector, Outgoing
from shoal.edge.device import Device, join_fleet, make_device
from shoal.edge.fleet import FILE_NAME, Enrolled, Fleet, Plan, enrolled
from shoal.edge.keys import Keys
from shoal.edge.links import DeviceLink, FolderLink, MemoryLink
from shoal.edge.messages import COLLECTOR
from shoal.edge.response import units
from shoal.edge.rounds import Field
from shoal.edge.schemes import SCHEMES
from shoal.errors import InputError, ParameterError, ReleaseError
from shoal.model import Candidate, Panel, Private, Recipe, Release
from shoal.model.watcher import Watcher, silent
from shoal.release import release_candidate
from shoal.report import render

SUMMARIES = {
    "local-reports": "Every meter randomised its own readings; groups are estimated from what the meters sent.",
    "secure-sums": "Meters masked their readings and added shares of noise; only noisy sums of groups were opened.",
}
"""A sentence about each of the two ways, by its name in a certificate."""

_PATIENCE = 2.0
_POLL = 0.02


def make_plan(**given: Any) -> Plan:
    """A plan, or one line that says what is wrong with it."""
    try:
        return Plan(**given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ParameterError(f"{'.'.join(str(part) for part in first['loc']) or 'The plan'}: {first['msg']}.") from None


def enroll_device(folder: Path, group: str = "all") -> Enrolled:
    """On the meter: generate its keys; the result goes to the utility."""
    return enrolled(make_device(folder).public, group)


def enroll_fleet(folder: Path, plan: Plan, lines: Iterable[str]) -> Fleet:
    """At the utility: create the collector's keys and the fleet's file from the lines that meters sent."""
    try:
        meters = [Enrolled.model_validate_json(line) for line in lines if line.strip()]
    except ValidationError:
        raise InputError("A line does not match the output of `shoal edge enroll --device`.") from None
    # At random: a position reveals nothing about when a meter was enrolled.
    random.SystemRandom().shuffle(meters)
    keys = Keys.draw()
    try:
        fleet = Fleet(plan=plan, collector=enrolled(keys.public), meters=tuple(meters))
    except ValidationError as error:
        raise InputError(f"These meters do not form a fleet: {error.errors()[0]['msg']}.") from None
    make_device(folder / "collector", keys)
    try:
        (folder / FILE_NAME).write_text(fleet.model_dump_json(), encoding="utf-8")
    except OSError as error:
        raise ReleaseError(f"Cannot write the fleet's file: {error.strerror}.") from None
    return fleet


def join(folder: Path, fleet: Path) -> None:
    """On the meter: import the fleet's file; its budget starts now."""
    join_fleet(folder, Fleet.load(fleet))


def enroll_together(folder: Path, plan: Plan, n_meters: int, n_groups: int) -> Fleet:
    """A whole fleet on one machine, for trials: the devices are in `meters`."""
    if n_groups < 1 or n_meters < n_groups:
        raise ParameterError("A fleet needs at least one group, and at least one meter per group.")
    folders = [folder / "meters" / f"{number:05d}" for number in range(n_meters)]
    lines = [enroll_device(one, f"group-{n % n_groups + 1}").model_dump_json() for n, one in enumerate(folders)]
    fleet = enroll_fleet(folder, plan, lines)
    for one in folders:
        join_fleet(one, fleet)
    return fleet


def open_collector(folder: Path) -> Collector:
    """The collector of a fleet's folder."""
    return Collector(Fleet.load(folder), Keys.load(folder / "collector"))


def open_link(at: str | None, fleet: Fleet, receivers: Iterable[int]) -> DeviceLink:
    """What `--link` names: `mqtt://host:port`, a folder, or nothing for memory."""
    if at is None:
        return MemoryLink()
    if at.startswith("mqtt://"):
        from shoal.edge.mqtt import MqttLink

        return MqttLink(at.removeprefix("mqtt://"), fleet.digest, receivers)
    return FolderLink(Path(at))


def run_meter(folder: Path, lines: Iterable[str]) -> Iterable[str]:
    """Read `time,value` lines and write reports, one per line: one way only, for schemes without questions."""
    device = Device.open(folder)
    plan = device.fleet.plan
    try:
        if plan.way != "local" or not SCHEMES[plan.scheme].unasked:
            raise ParameterError(
                "Through a pipe a meter only sends, but this fleet also needs questions. Use a --link, or enrol a "
                "fleet with the scheme budget-uniform or population-uniform."
            )
        for label, reading in parse_readings(plan, lines):
            for content in device.measure(label, reading):
                yield base64.b64encode(content).decode()
    finally:
        device.close()


def serve_meter(folder: Path, lines: Iterable[str], at: str, linger: float = 0.0) -> int:
    """Read readings and exchange messages through a link until the readings end. Returns how many were sent.

    Parameters
    ----------
    linger
        For how many seconds to answer questions after the last reading.
    """
    device, sent = Device.open(folder), 0
    link = open_link(at, device.fleet, [device.place])
    arrived: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        for line in lines:
            arrived.put(line)
        arrived.put(None)

    threading.Thread(target=read, daemon=True).start()
    readings = parse_readings(device.fleet.plan, iter(lambda: waiting(), None))
    end: float | None = None

    def waiting() -> str | None:
        """The next line; messages are answered meanwhile."""
        nonlocal sent
        while True:
            sent += _answer(device, link)
            try:
                return arrived.get(timeout=_POLL)
            except queue.Empty:
                continue

    try:
        for label, reading in readings:
            for content in device.measure(label, reading):
                link.send(COLLECTOR, content)
                sent += 1
        end = time.monotonic() + linger
        while time.monotonic() < end:
            sent += _answer(device, link)
            time.sleep(_POLL)
        return sent
    finally:
        link.close()
        device.close()


def _answer(device: Device, link: DeviceLink) -> int:
    replies = [reply for content in link.fetch(device.place) for reply in device.hear(content)]
    for reply in replies:
        link.send(COLLECTOR, reply)
    return len(replies)


def collect_live(
    collector: Collector, at: str, *, begin: str | None = None, instants: int = 48, wait: float = 30.0
) -> None:
    """Collect instant by instant through a link.

    Parameters
    ----------
    begin
        The first instant; by default the next one. Instants that are already over are concluded at once, with `wait`
        seconds for each step.
    wait
        How long to wait for messages each time something was sent.
    """
    plan = collector.fleet.plan
    try:
        first = plan.label(np.datetime64(begin, "s") if begin else np.datetime64("now", "s")) + (begin is None)
    except ValueError:
        raise ParameterError("begin must be a time, such as 2026-01-01T00:00.") from None
    link = open_link(at, collector.fleet, [COLLECTOR])

    def listen(seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            for content in link.fetch(COLLECTOR):
                collector.receive(content)
            if time.monotonic() >= end:
                return
            time.sleep(_POLL)

    def say(outgoing: Outgoing) -> None:
        for receiver, content in outgoing:
            link.send(receiver, content)

    try:
        for label in range(first, first + instants):
            for outgoing in collector.begin(label):
                say(outgoing)
                if len(outgoing) > 1:  # what is dealt to one meter needs no answer
                    listen(wait)
            over = (plan.time(label + 1) - np.datetime64("now", "s")).astype(float)
            listen(max(wait, over))
            for outgoing in collector.conclude(label):
                say(outgoing)
                listen(wait)
    finally:
        link.close()


def parse_readings(plan: Plan, lines: Iterable[str]) -> Iterable[tuple[int, float]]:
    """Instants and readings; a header and empty lines are skipped, an empty value is a missing reading."""
    for number, line in enumerate(lines):
        at, _, value = line.strip().partition(",")
        if not at or (number == 0 and not at[0].isdecimal()):
            continue
        try:
            yield plan.label(np.datetime64(at)), float(value) if value.strip() else float("nan")
        except ValueError:
            raise InputError(
                f"Line {number + 1} of the readings is not time,value, such as 2026-01-01T00:30,0.42."
            ) from None


def collect_reports(collector: Collector, lines: Iterable[str]) -> None:
    """Gathered reports, one per line, in any order: instants are concluded one after the other."""
    by_label: dict[int, list[bytes]] = {}
    for line in lines:
        try:
            content = base64.b64decode(line.strip(), validate=True)
        except binascii.Error:
            collector.refused["no message"] += 1
            continue
        if len(content) >= 35:
            by_label.setdefault(int.from_bytes(content[27:35], "big", signed=True), []).append(content)
    if collector.fleet.plan.way != "local" or not SCHEMES[collector.fleet.plan.scheme].unasked:
        raise ParameterError(
            "Reports in files work only for schemes without questions; run this fleet through a --link."
        )
    for label in sorted(by_label):
        for _ in collector.begin(label):
            pass
        for content in by_label[label]:
            collector.receive(content)
        for _ in collector.conclude(label):
            pass


def simulate_fleet(
    panel: Panel,
    plan: Plan,
    *,
    groups: int = 1,
    absent: float = 0.0,
    at: str | None = None,
    seed: int = 0,
    fleet_folder: Path | None = None,
    steps: Watcher = silent,
) -> Field:
    """Run meters on the readings of a panel, one per series, and return the result.

    Parameters
    ----------
    panel
        Readings; one channel. A missing one is not sent.
    plan
        What is measured, and how it is protected. Bounds must not come from the panel.
    groups
        Number of groups that meters are assigned to.
    absent
        Share of meters that are offline, drawn at each instant.
    at
        As in `open_link`.
    seed
        Decides who is offline; noise has no seed.
    fleet_folder
        A fleet of `enroll_together` whose devices are used, with their budgets on disk; otherwise they are in memory.
    """
    if panel.n_channels != 1:
        raise ParameterError("Only meters with one channel can be simulated; choose one with --value.")
    devices: dict[int, Device]
    if fleet_folder is None:
        keys = [Keys.draw() for _ in range(panel.n_series)]
        own = Keys.draw()
        meters = [enrolled(one.public, f"group-{n % groups + 1}") for n, one in enumerate(keys)]
        fleet = Fleet(plan=plan, collector=enrolled(own.public), meters=tuple(meters))
        collector = Collector(fleet, own)
        devices = {n: Device(fleet, one, Budget(units(plan.epsilon), plan.w)) for n, one in enumerate(keys)}
    else:
        collector = open_collector(fleet_folder)
        opened = [Device.open(one) for one in sorted((fleet_folder / "meters").iterdir())]
        devices = {device.place: device for device in opened}
        if len(devices) < panel.n_series:
            raise ParameterError(f"The fleet has {len(devices)} meters, the panel {panel.n_series} series.")
    link = open_link(at, collector.fleet, [*devices, COLLECTOR])
    field = Field(collector, devices, link, _PATIENCE if at else 0.0)
    chance = np.random.default_rng(seed)
    values = panel.values.reshape(panel.n_series, -1)
    steps.start("metering")
    try:
        for column, moment in enumerate(panel.times):
            there = chance.random(panel.n_series) >= absent
            readings = {
                place: float(values[place, column])
                for place in range(panel.n_series)
                if there[place] and np.isfinite(values[place, column])
            }
            label = plan.label(moment) if panel.times.dtype.kind == "M" else int(moment)
            field.run(label, readings)
    finally:
        link.close()
        for device in devices.values():
            device.close()
    return field


def candidate_of(collector: Collector, *, smoothed: bool = False) -> Candidate:
    """What a collector proposes to publish. There are no originals: their stand-in holds no reading."""
    fleet = collector.fleet
    published = collector.profiles(smoothed=smoothed)
    way = "local-reports" if fleet.plan.way == "local" else "secure-sums"
    group_of = {place: number for number, members in enumerate(fleet.groups.values()) for place in members}
    groups = np.array([group_of[place] for place in range(len(fleet.meters))], dtype=np.int64)
    unknown = Panel(np.full((len(fleet.meters), published.n_instants), np.nan), times=published.times)
    names: tuple[str, ...] = ("lower", "upper", "epsilon", "w", "minutes")
    names += ("scheme", "points") if fleet.plan.way == "local" else ("fewest", "colluding", "levels")
    return Candidate(
        published,
        collector.guarantee,
        Recipe(way, {name: getattr(fleet.plan, name) for name in names}, collector.counts),
        Private(original=unknown, groups=groups, curves=unknown),
    )


def publish_collected(collector: Collector, to: str | Path, *, smoothed: bool = False, **given: Any) -> Release:
    """Write what a collector estimated as a release folder, if its accounting supports the guarantee."""
    candidate = candidate_of(collector, smoothed=smoothed)
    summary = SUMMARIES[candidate.recipe.method]
    return release_candidate(candidate, to, summary=summary, page=render, **given)


def fleet_figures(field: Field) -> dict[str, Any]:
    """Counts of a run, for the terminal."""
    counts: Mapping[str, Any] = field.collector.counts
    per = field.bytes_sent / max(1, counts["meters"] * counts["instants"])
    return {**counts, "bytes_sent_per_meter_and_instant": round(per, 1), "why_refused": dict(field.collector.refused)}


def read_lines(path: Path) -> list[str]:
    """The lines of a text file."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"Cannot read {str(path)!r} as text.") from None


def as_line(meter: Enrolled) -> str:
    """What a meter sends to be enrolled."""
    return json.dumps(meter.model_dump())
