"""Checks before every page: the host names the server answers to, the origin and size of a request, what a browser may
do.

All of it is pure ASGI around the application, so it also applies to missing pages and errors, and nothing is held in
memory before it is counted.
"""

from __future__ import annotations

import hmac
import ipaddress
import string
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

# No inline script, no inline style, no other host. Plotly keeps to it when its style sheet is given as a file.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class SecureHeaders:
    """Adds security headers to every response. Responses are not cached unless they say so."""

    def __init__(self, app: ASGIApp, *, secure: bool = False) -> None:
        self._app = app
        self._headers = HEADERS | ({"Strict-Transport-Security": "max-age=31536000"} if secure else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add headers to the response."""

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(_with_escaped_query(scope), receive, dressed)


def _with_escaped_query(scope: Scope) -> Scope:
    """The same request with every non-ASCII byte of its query escaped, as browsers do: it may not be valid text."""
    query: bytes = scope.get("query_string", b"")
    return scope if query.isascii() else {**scope, "query_string": quote(query, safe=string.printable).encode()}


class Quiet:
    """Turns any failure into a page without details, and a line on standard error that names only the place.

    A traceback may quote data, and logs are passed on.
    """

    def __init__(self, app: ASGIApp, *, page: Callable[[], ASGIApp], command: str = "shoal studio") -> None:
        self._app, self._page, self._command = app, page, command

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and catch failures."""
        started = False

        async def noticed(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noticed)
        except Exception as error:
            tell_place(error, self._command)
            if not started and scope["type"] == "http":
                await self._page()(scope, receive, send)


def tell_place(error: BaseException, command: str = "shoal studio") -> None:
    """Print one line on standard error: the kind of failure and its place in the program, no data."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown place"
    print(f"{command}: internal error {type(error).__name__} at {place}", file=sys.stderr, flush=True)


class HostCheck:
    """Answers only to its own host names.

    An attacker can point a host name at this machine and make a browser send requests to it (DNS rebinding); such
    requests carry the attacker's host name. Bare IP addresses cannot be redirected, so those of the interface are
    accepted.
    """

    def __init__(self, app: ASGIApp, *, names: Iterable[str], loopback: bool, refuse: Callable[[], ASGIApp]) -> None:
        self._app, self._refuse = app, refuse
        self._names = frozenset(name.lower() for name in names)
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if it is for this server."""
        if scope["type"] == "http" and not self._knows(Headers(scope=scope).getlist("host")):
            await self._refuse()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _knows(self, hosts: list[str]) -> bool:
        name = host_name(hosts[0]) if len(hosts) == 1 else None
        if name is None:
            return False
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self._loopback


def host_name(netloc: str) -> str | None:
    """The name or address in a Host header, without its port.

    Examples
    --------
    >>> host_name("Studio.example:8765"), host_name("[::1]:80"), host_name("a@b"), host_name("")
    ('studio.example', '::1', None, None)
    """
    if not netloc or any(letter in netloc for letter in "@/\\?#, \t"):
        return None
    try:
        parts = urlsplit(f"//{netloc}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname


class OriginCheck:
    """Refuses cross-site requests: changes must come from a page of this server.

    Browsers say so in `Sec-Fetch-Site`, older ones in `Origin`. If neither is present (plain http that is not loopback,
    or a program), the token in the form decides, which is required in any case.
    """

    def __init__(self, app: ASGIApp, *, public_url: str | None, refuse: Callable[[], ASGIApp]) -> None:
        self._app, self._refuse = app, refuse
        self._public = None if public_url is None else urlsplit(public_url).netloc.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if it is harmless or comes from our own page."""
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS and not self._ours(Headers(scope=scope)):
            await self._refuse()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _ours(self, headers: Headers) -> bool:
        if is_foreign(headers):
            return False
        # Forms of pages without a referrer send "null"; so do sandboxed frames, which have no token.
        origin = headers.get("origin", "null")
        if origin == "null":
            return True
        try:
            netloc = urlsplit(origin).netloc.lower()
        except ValueError:
            return False
        return bool(netloc) and netloc in (headers.get("host", "").lower(), self._public)


def is_foreign(headers: Headers) -> bool:
    """Whether the browser says that a page of another site made it send the request."""
    return headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


def same(given: str | None, expected: str) -> bool:
    """Whether two secrets are equal, compared in constant time."""
    return given is not None and hmac.compare_digest(given.encode(), expected.encode())


FORM_BYTES = 64 * 1024
UPLOAD_BYTES = 1024**3
UPLOAD_PATH = "/tables"


class BodyLimit:
    """Answers 413 as soon as a body exceeds its limit, whatever it announced.

    A body that announces too much is refused before it is read; one that announces less, or nothing, is counted as it
    arrives.
    """

    def __init__(self, app: ASGIApp, *, refuse: Callable[[], ASGIApp], upload_bytes: int = UPLOAD_BYTES) -> None:
        self._app, self._refuse, self._upload_bytes = app, refuse, upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._upload_bytes if scope["path"] == UPLOAD_PATH else FORM_BYTES
        if _announced(scope) > limit:
            await self._refuse()(scope, receive, send)
            return
        received, started, refused = 0, False, False

        async def counted() -> Message:
            nonlocal received, refused
            if refused:
                return {"type": "http.disconnect"}
            message = await receive()
            received += len(message.get("body", b""))
            if received <= limit:
                return message
            refused = True
            if not started:
                await self._refuse()(scope, receive, send)
            # To the rest of the application, the client has disconnected.
            return {"type": "http.disconnect"}

        async def unless_refused(message: Message) -> None:
            nonlocal started
            if not refused:
                started = True
                await send(message)

        await self._app(scope, counted, unless_refused)


def _announced(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0
