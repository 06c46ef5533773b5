"""Requests that never end, to a real server: they are cut off, and what they held is free again."""

import asyncio
import contextlib
import socket
import threading
import time

import pytest
import uvicorn

from shoal.studio import server as studio_server
from shoal.studio.command import listen
from shoal.studio.context import Settings
from shoal.studio.security import CONTENT_POLICY
from shoal.studio.server import configure


async def answers(scope, receive, send):
    """Reads a request whole, then says so; refuses an upload to /tables by a stranger at once."""
    if scope["type"] != "http":
        return
    stranger = (b"x-stranger", b"1") in scope["headers"]
    more = not stranger
    while more:
        message = await receive()
        more = message.get("more_body", False)
        if message["type"] == "http.disconnect":
            return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"whole"})


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(studio_server, "WHOLE_SECONDS", 0.5)
    config = configure(answers, Settings())
    config.lifespan = "off"
    server = uvicorn.Server(config)
    with listen("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listener.getsockname()
        server.should_exit = True
        thread.join(20)


@contextlib.contextmanager
def connected(address):
    with socket.create_connection(address, timeout=30) as one:
        yield one


def heard(one):
    """All that comes until the other side ends it."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := one.recv(65536):
            found += piece
    return found


HALF = [
    b"",
    b"GET / HT",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ",
    b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nabc",
    b"POST /tables HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nabc",
]


@pytest.mark.parametrize("sent", HALF)
def test_half_a_request_is_cut_off(address, sent):
    with connected(address) as one:
        one.sendall(sent)
        assert heard(one) == b""


def test_half_a_request_after_a_whole_one_is_cut_off(address):
    with connected(address) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        found = b""
        while not found.endswith(b"whole"):
            found += one.recv(65536)
        one.sendall(b"GET / HT")
        assert heard(one) == b""


@pytest.mark.parametrize(("path", "stranger", "whole"), [("/login", "", 0), ("/tables", "", 1), ("/tables", "1", 0)])
def test_a_table_may_take_long_while_it_comes_and_nothing_else_may(address, path, stranger, whole):
    """A piece each 0.1 s for 2 s; whoever has been answered already is not uploading."""
    with connected(address) as one:
        one.sendall(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Stranger: {stranger}\r\nContent-Length: 20\r\n\r\n".encode()
        )
        sent = 0
        with contextlib.suppress(OSError):
            for _ in range(20):
                time.sleep(0.1)
                one.sendall(b"x")
                sent += 1
        assert (sent == 20 and heard(one).endswith(b"whole")) == bool(whole)


def test_beyond_so_many_connections_the_answer_is_503_with_our_headers_until_others_end(address, monkeypatch):
    monkeypatch.setattr(studio_server, "MOST", 3)
    ask = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connected(address)) for _ in range(3)]
        with connected(address) as one:
            one.sendall(ask)
            answer = heard(one)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert CONTENT_POLICY.encode() in answer
        for one in held:
            assert heard(one) == b""  # cut off
    with connected(address) as one:
        one.sendall(ask)
        assert one.recv(65536).startswith(b"HTTP/1.1 200 ")


class Transport:
    """As much of a connection as the protocol looks at."""

    def __init__(self, host):
        self._host, self.aborted = host, False

    def get_extra_info(self, name):
        return {"peername": (self._host, 1), "sockname": ("0.0.0.0", 80)}.get(name)

    def abort(self):
        self.aborted = True


@pytest.mark.parametrize(
    ("host", "limited"), [("203.0.113.7", True), ("127.0.0.1", False), ("::1", False), ("::ffff:127.0.0.1", False)]
)
def test_one_address_has_so_many_connections_and_a_proxy_here_any_number(host, limited):
    async def connect():
        config = configure(answers, Settings())
        state = uvicorn.server.ServerState()
        made = []
        for at in range(studio_server.MOST_OF_ONE + 2):
            protocol = studio_server.HastyProtocol(config, state, {}, asyncio.get_running_loop())
            made.append(Transport(host if at != 5 else "203.0.113.8"))
            protocol.connection_made(made[-1])
        return [transport.aborted for transport in made]

    aborted = asyncio.run(connect())
    assert aborted[:-1] == [False] * (studio_server.MOST_OF_ONE + 1)
    assert aborted[-1] == limited
