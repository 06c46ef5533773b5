"""How a server is reached: the address it listens on, and its public address."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from shoal.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Reached:
    """An address to listen on, and perhaps a public one in front of it."""

    host: str = "127.0.0.1"
    public_url: str | None = None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def secure(self) -> bool:
        """Whether browsers use https."""
        return self.public_url is not None and urlsplit(self.public_url).scheme == "https"

    @property
    def names(self) -> list[str]:
        """Host names the server answers to, apart from IP addresses."""
        public = urlsplit(self.public_url).hostname if self.public_url else None
        return [name for name in ("localhost", self.host, public) if name]

    def check_public_url(self) -> None:
        """Refuse an invalid public address."""
        if self.public_url is None:
            return
        parts = urlsplit(self.public_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise ParameterError("--public-url must be an address without a path, such as https://studio.example.org.")
