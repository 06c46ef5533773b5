"""`shoal studio`: start the studio. Loaded by every `shoal --help`, so it imports the web when it runs."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from shoal.errors import ParameterError


def studio(
    project: Annotated[Path, typer.Argument(help="The project folder; created if it does not exist.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on; any other than loopback needs a password.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")] = 8765,
    password_file: Annotated[
        Path | None,
        typer.Option(help="File with the publisher's password; or set SHOAL_STUDIO_PASSWORD."),
    ] = None,
    public_url: Annotated[
        str | None, typer.Option(help="Address by which others reach it, such as https://studio.example.org.")
    ] = None,
) -> None:
    """Open a project folder in the browser: from a raw table to a release that an officer approved, and label tasks.

    Officers see one decision sheet, analysts protected or public curves, each through a link. Stop it with Ctrl-C.
    """
    lacking = [name for name in ("fastapi", "uvicorn", "python_multipart") if find_spec(name) is None]
    if lacking:
        raise ParameterError(f'The studio needs {", ".join(lacking)}. Install it with: pip install "shoal[studio]"')

    from shoal.studio.context import Settings, Studio
    from shoal.studio.passwords import find_password
    from shoal.studio.project import Project
    from shoal.studio.server import serve

    settings = Settings(host=host, password=find_password(password_file), public_url=public_url)
    with listen(host, port) as listener:
        serve(Studio(Project(project), settings), listener)


def listen(host: str, port: int) -> socket.socket:
    """A socket on that address, opened first, so that a port in use gives one clear line."""
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # A browser that opens the address as soon as it is printed waits instead of failing.
        listener.listen(2048)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise ParameterError(
            f"Cannot listen on {host}, port {port}: {error.strerror}. Choose another with --port, or 0 for any."
        ) from None
    return listener
