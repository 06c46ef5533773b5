"""What travels between meters and the collector: signed, bound to one fleet, one sender, one receiver and one round."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from shoal.edge.keys import SIGNATURE_BYTES, Keys, PublicKeys

COLLECTOR = 2**32 - 1
"""The collector's place, as sender or receiver."""

_HEAD = struct.Struct(">2sB16sIIq")
_MARK = b"sE"


class MessageKind(IntEnum):
    """What a message is about."""

    REPORT = 1
    """A randomised answer: its cost and the point."""
    DEAL = 2
    """Sealed shares, for every neighbour."""
    MASKED = 3
    """A masked reading."""
    OPEN = 4
    """Shares that help to open a sum, and for which survivors."""
    ASK = 5
    """A question, and what an answer may cost."""
    BEGIN = 6
    """A period begins."""
    DEALT = 7
    """Sealed shares, of every neighbour."""
    SURVIVORS = 8
    """The meters whose readings the sum covers."""


class RefusedError(Exception):
    """An invalid message; its text says why."""


@dataclass(frozen=True)
class Message:
    """A message whose signature was checked."""

    kind: MessageKind
    sender: int
    receiver: int
    round: int
    body: bytes


def write_message(
    kind: MessageKind, fleet: bytes, sender: int, receiver: int, number: int, body: bytes, keys: Keys
) -> bytes:
    """The bytes of a message; everything in it is signed."""
    content = _HEAD.pack(_MARK, kind, fleet[:16], sender, receiver, number) + body
    return content + keys.sign(content)


def read_message(content: bytes, fleet: bytes, receiver: int, senders: dict[int, PublicKeys]) -> Message:
    """The message, if it is complete, of this fleet, for this receiver and signed by its sender; else RefusedError."""
    if len(content) < _HEAD.size + SIGNATURE_BYTES:
        raise RefusedError("too short")
    signed, signature = content[:-SIGNATURE_BYTES], content[-SIGNATURE_BYTES:]
    mark, kind, named, sender, addressed, number = _HEAD.unpack_from(signed)
    if mark != _MARK or kind not in MessageKind._value2member_map_:
        raise RefusedError("no message")
    if named != fleet[:16]:
        raise RefusedError("of another fleet")
    if addressed != receiver:
        raise RefusedError("for another receiver")
    if sender not in senders:
        raise RefusedError("from an unknown sender")
    if not senders[sender].verifies(signature, signed):
        raise RefusedError("not signed by its sender")
    return Message(MessageKind(kind), sender, addressed, number, signed[_HEAD.size :])


REPORT = struct.Struct(">QBI")
"""Cost, which question of the instant, and the point."""
ASK = struct.Struct(">QB")
WORD = struct.Struct(">Q")


def pack_places(places: Iterable[int], n: int) -> bytes:
    """A set of places as bits."""
    bits = 0
    for place in places:
        bits |= 1 << place
    return bits.to_bytes((n + 7) // 8, "big")


def unpack_places(body: bytes) -> frozenset[int]:
    """The places whose bit is set."""
    bits = int.from_bytes(body, "big")
    return frozenset(place for place in range(8 * len(body)) if bits >> place & 1)


def pack_parts(parts: dict[int, bytes]) -> bytes:
    """Bytes by place."""
    return b"".join(struct.pack(">II", place, len(part)) + part for place, part in sorted(parts.items()))


def unpack_parts(body: bytes) -> dict[int, bytes]:
    """Bytes by place; RefusedError if lengths do not match."""
    parts, at = {}, 0
    while at < len(body):
        if at + 8 > len(body):
            raise RefusedError("cut off")
        place, size = struct.unpack_from(">II", body, at)
        part = body[at + 8 : at + 8 + size]
        if len(part) != size:
            raise RefusedError("cut off")
        parts[place] = part
        at += 8 + size
    return parts
