"""Run a server until it is stopped."""

from __future__ import annotations

import socket
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from shoal.studio.app import build
from shoal.studio.connections import HastyProtocol
from shoal.studio.context import Studio
from shoal.studio.reached import Reached


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
