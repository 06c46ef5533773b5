"""Limits on the size of requests. Pure ASGI, so nothing is held in memory before it is counted."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
