"""Topics of brokers, as addresses: mqtt://host/topic and kafka://host/topic."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from shoal.errors import ParameterError

_PORTS = {"mqtt": 1883, "mqtts": 8883, "kafka": 9092}


@dataclass(frozen=True)
class Topic:
    """A topic at a broker."""

    kind: str
    """mqtt, mqtts or kafka."""
    host: str
    port: int
    name: str
    user: str | None = None
    password: str | None = None

    @property
    def secure(self) -> bool:
        """Whether the connection is encrypted."""
        return self.kind == "mqtts"

    @property
    def text(self) -> str:
        """The address without user and password."""
        return f"{self.kind}://{self.host}:{self.port}/{self.name}"

    @staticmethod
    def parse(text: str) -> Topic | None:
        """The topic of an address; None if it is not one."""
        kind, mark, _ = text.partition("://")
        if not mark or kind not in _PORTS:
            return None
        try:
            parts = urlsplit(text)
            port = parts.port or _PORTS[kind]
        except ValueError:
            parts, port = None, 0
        # An MQTT wildcard is not a fragment.
        name = "" if parts is None else unquote(parts.path.removeprefix("/")) + ("#" if text.endswith("#") else "")
        if parts is None or not parts.hostname or not name:
            raise ParameterError(f"{kind}:// needs a host and a topic, such as {kind}://localhost/meters.")
        user = None if parts.username is None else unquote(parts.username)
        password = None if parts.password is None else unquote(parts.password)
        return Topic(kind, parts.hostname, port, name, user, password)


def lacking(extra: str) -> ParameterError:
    """The error for a missing package of an extra."""
    return ParameterError(f"This needs the extra {extra!r}: pip install 'shoal[{extra}]'.")
