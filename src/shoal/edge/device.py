"""A meter with its keys, its budget and its fleet: readings and messages in, messages out."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.edge.aggregation import Member
from shoal.edge.budget import Budget, write_budget
from shoal.edge.chance import Chance
from shoal.edge.fleet import FILE_NAME, Fleet
from shoal.edge.keys import Keys
from shoal.edge.messages import (
    ASK,
    COLLECTOR,
    REPORT,
    WORD,
    Message,
    MessageKind,
    RefusedError,
    pack_parts,
    pack_places,
    read_message,
    unpack_parts,
    unpack_places,
    write_message,
)
from shoal.edge.meter import Meter
from shoal.edge.response import units
from shoal.edge.schemes import SCHEMES
from shoal.edge.shamir import SHARE_BYTES
from shoal.errors import InputError, ReleaseError


def make_device(folder: Path, keys: Keys | None = None) -> Keys:
    """Write new keys to a new folder, readable by its owner only; others may know `keys.public`."""
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise ReleaseError(f"{str(folder)!r} exists. An enrolled device keeps its keys and budget.") from None
    except OSError as error:
        raise ReleaseError(f"Cannot write {str(folder)!r}: {error.strerror}.") from None
    keys = keys or Keys.draw()
    keys.save(folder)
    return keys


def join_fleet(folder: Path, fleet: Fleet) -> None:
    """Assign a fleet to a device, once: its budget begins here."""
    if (folder / FILE_NAME).exists():
        raise InputError("The device already has a fleet. A second one would start its budget again.")
    fleet.place_of(Keys.load(folder).public)
    write_budget(folder, units(fleet.plan.epsilon), fleet.plan.w)
    # Last, and whole: without it the device is not enrolled.
    descriptor = os.open(folder / FILE_NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(fleet.model_dump_json())
        file.flush()
        os.fsync(descriptor)


class Device:
    """One meter of a fleet.

    Parameters
    ----------
    fleet
        What it was enrolled with.
    keys
        Its secrets.
    budget
        What it may spend.
    chance
        The source of randomness.
    """

    def __init__(self, fleet: Fleet, keys: Keys, budget: Budget, chance: Chance | None = None) -> None:
        self.fleet, self.budget, self._keys = fleet, budget, keys
        self.place = fleet.place_of(keys.public)
        self._meter: Meter | None = None
        self._member: Member | None = None
        self._neighbours = fleet.groups[fleet.meters[self.place].group]
        self._turn = self._neighbours.index(self.place)
        plan = fleet.plan
        if plan.way == "local":
            self._meter = Meter(plan.grid, budget, chance)
        else:
            self._member = Member(
                self._turn,
                keys,
                [fleet.senders[place] for place in self._neighbours],
                fleet.digest,
                plan.grid,
                plan.rules(len(self._neighbours)),
                budget,
                chance,
            )

    @classmethod
    def open(cls, folder: Path) -> Device:
        """The device of a folder."""
        fleet = Fleet.load(folder)
        budget = Budget(units(fleet.plan.epsilon), fleet.plan.w, folder)
        try:
            return cls(fleet, Keys.load(folder), budget)
        except BaseException:
            budget.close()
            raise

    def measure(self, label: int, reading: float) -> list[bytes]:
        """Take the next reading; returns what to send to the collector unprompted."""
        plan = self.fleet.plan
        if self._member is not None:
            masked = self._member.submit(*divmod(label, plan.w), reading)
            return [] if masked is None else [self._write(MessageKind.MASKED, label, WORD.pack(masked))]
        assert self._meter is not None
        self._meter.measure(label, reading)
        cost = SCHEMES[plan.scheme].due(units(plan.epsilon), plan.w, self._turn, label)
        return self._report(label, cost) if cost else []

    def hear(self, content: bytes) -> list[bytes]:
        """What to send in answer to a message from the collector; nothing if it is refused."""
        try:
            message = read_message(content, self.fleet.digest, self.place, self.fleet.collectors)
            if self._member is not None:
                return self._help(self._member, message)
            if message.kind is MessageKind.ASK and len(message.body) == ASK.size:
                return self._report(message.round, *ASK.unpack(message.body))
        except RefusedError:
            pass
        return []

    def close(self) -> None:
        """Close the budget's files."""
        self.budget.close()

    def _report(self, label: int, cost: int, question: int = 0) -> list[bytes]:
        assert self._meter is not None
        point = self._meter.answer(label, cost)
        return [] if point is None else [self._write(MessageKind.REPORT, label, REPORT.pack(cost, question, point))]

    def _help(self, member: Member, message: Message) -> list[bytes]:
        if message.kind is MessageKind.BEGIN:
            sealed = member.begin(message.round)
            return [] if sealed is None else [self._write(MessageKind.DEAL, message.round, pack_parts(sealed))]
        if message.kind is MessageKind.DEALT:
            for neighbour, part in unpack_parts(message.body).items():
                member.hold(neighbour, part)
        if message.kind is MessageKind.SURVIVORS:
            survivors = unpack_places(message.body)
            answer = member.open(*divmod(message.round, self.fleet.plan.w), survivors)
            if answer is not None:
                body = pack_places(survivors, len(self._neighbours)) + answer.to_bytes(SHARE_BYTES, "big")
                return [self._write(MessageKind.OPEN, message.round, body)]
        return []

    def _write(self, kind: MessageKind, number: int, body: bytes) -> bytes:
        return write_message(kind, self.fleet.digest, self.place, COLLECTOR, number, body, self._keys)
