"""Run a server until it is stopped, and limit what its connections may take.

A request that never ends costs its sender nothing but occupies a connection here. So a request must arrive completely
within `WHOLE_SECONDS`; for an upload, each piece must. One address may have at most `MOST_OF_ONE` connections, except
loopback: behind a proxy all requests come from there, and the proxy must count. Beyond `MOST` connections the answer is
503.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import suppress

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from shoal.studio.app import build
from shoal.studio.context import Studio
from shoal.studio.reached import Reached
from shoal.studio.security import UPLOAD_PATH, SecureHeaders

WHOLE_SECONDS = 15.0
MOST = 1000
MOST_OF_ONE = 100

_BUSY = SecureHeaders(
    PlainTextResponse("Too many visitors at once. Try again.", 503, {"Retry-After": "15", "Connection": "close"})
)


class HastyProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, with these limits."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, unless its address has too many."""
        super().connection_made(transport)
        if self._too_many_of_one():
            transport.abort()
            return
        if len(self.connections) > MOST:
            self.app = _BUSY
        self._arm()

    def data_received(self, data: bytes) -> None:
        """Receive a piece of a request; the clock runs from its first piece to its last."""
        super().data_received(data)
        if self.conn.their_state.__name__ not in ("IDLE", "SEND_BODY"):  # states of h11 are classes
            self._disarm()
        elif self._deadline is None or self._uploading():
            self._disarm()
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._disarm()
        super().connection_lost(exc)

    def _uploading(self) -> bool:
        # Clients that may not upload have been answered by now.
        return bool(self.cycle) and not self.cycle.response_complete and self.scope["path"] == UPLOAD_PATH

    def _too_many_of_one(self) -> bool:
        if self.client is None or _is_loopback(self.client[0]):
            return False
        others = (one.client for one in self.connections if isinstance(one, HastyProtocol))
        return sum(other is not None and other[0] == self.client[0] for other in others) > MOST_OF_ONE

    def _arm(self) -> None:
        self._deadline = self.loop.call_later(WHOLE_SECONDS, self._give_up)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        self.transport.abort()


def _is_loopback(host: str) -> bool:
    address = ipaddress.ip_address(host.partition("%")[0])
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def serve(studio: Studio, listener: socket.socket) -> None:
    """Answer requests on a socket; print the address for the publisher."""
    way_in = "/login" if studio.settings.password is not None else f"/enter/{studio.key}"
    base = address_of(studio.settings, listener)
    print(f"project  {studio.project.folder}", f"studio   {base}{way_in}", sep="\n", flush=True)
    answer(build(studio), studio.settings, listener)


def address_of(reached: Reached, listener: socket.socket) -> str:
    """The address by which others reach it, without a trailing slash."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return (reached.public_url or f"http://{shown}:{port}").rstrip("/")


def answer(app: ASGIApp, reached: Reached, listener: socket.socket) -> None:
    """Answer requests on a socket until Ctrl-C."""
    with suppress(KeyboardInterrupt):
        uvicorn.Server(configure(app, reached)).run(sockets=[listener])


def configure(app: ASGIApp, reached: Reached) -> uvicorn.Config:
    """The configuration of the server."""
    return uvicorn.Config(
        app,
        http=HastyProtocol,
        ws="none",
        access_log=False,  # paths hold tokens
        log_level="warning",
        server_header=False,
        # Only a proxy that was announced is trusted to name the client.
        proxy_headers=reached.public_url is not None,
        forwarded_allow_ips="127.0.0.1",
        timeout_graceful_shutdown=5,
    )
