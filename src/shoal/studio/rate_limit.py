"""Rate limit on log-ins: every failure delays the next attempt, for that client and, later, for everyone.

    wait after f failures of a client = min(2^(f - 3), 300) s, none for f < 3
    wait after f failures of anyone  = min(2^(f - 20), 10) s, none for f < 20

The second stops guessing from many addresses. Someone could use it to delay the publisher, so it stays short, and open
sessions are not affected. Failures are forgotten after an hour without any.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from shoal.studio.tokens import Clock

FORGET_SECONDS = 3600.0
CLIENT_FREE, CLIENT_LONGEST = 3, 300.0
ALL_FREE, ALL_LONGEST = 20, 10.0
MOST_CLIENTS = 10_000
"""Maximum number of addresses remembered; without a limit, someone could fill the memory."""


@dataclass
class _Failures:
    count: int = 0
    last: float = 0.0


class Slowing:
    """Counts failed attempts and says how long the next one must wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._clients: OrderedDict[str, _Failures] = OrderedDict()
        self._all = _Failures()

    def attempt(self, client: str) -> float:
        """Ask for an attempt: 0 if it may be made, else the seconds to wait.

        It counts as failed until `succeeded` is called: guesses sent all at once must not pass before the first has
        failed.
        """
        with self._lock:
            now = self._clock()
            mine = self._fresh(self._clients.get(client, _Failures()), now)
            self._all = self._fresh(self._all, now)
            wait = max(
                mine.last + _delay(mine.count, CLIENT_FREE, CLIENT_LONGEST) - now,
                self._all.last + _delay(self._all.count, ALL_FREE, ALL_LONGEST) - now,
            )
            if wait > 0.0:
                return wait
            for failures in (mine, self._all):
                failures.count += 1
                failures.last = now
            self._clients[client] = mine
            self._clients.move_to_end(client)
            if len(self._clients) > MOST_CLIENTS:
                self._clients.popitem(last=False)
            return 0.0

    def succeeded(self, client: str) -> None:
        """The attempt was right: forget the client's failures, and this one for everyone."""
        with self._lock:
            self._clients.pop(client, None)
            self._all.count = max(0, self._all.count - 1)

    @staticmethod
    def _fresh(failures: _Failures, now: float) -> _Failures:
        return _Failures() if now - failures.last > FORGET_SECONDS else failures


def _delay(count: int, free: int, longest: float) -> float:
    return 0.0 if count < free else min(2.0 ** min(count - free, 60), longest)
