"""Sessions: a random cookie for the publisher, another for an analyst and one task.

The database stores the SHA-256 of a cookie and its expiry. An analyst's cookie is valid only while the link that
created it is. The token in forms is derived from the cookie, so it is not stored and ends with the session.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from shoal.studio.store import ProjectStore
from shoal.studio.tokens import Clock, Link, fingerprint, new_secret, select_link

PUBLISHER_SECONDS = 12 * 3600.0
MOST_OF_A_LINK = 10
"""Maximum number of sessions per link; older ones are dropped, so that opening a link repeatedly cannot fill the
database."""


@dataclass(frozen=True)
class Session:
    """A session and the token that its forms must carry."""

    csrf: str
    link: Link | None = None
    """An analyst's link; None for the publisher."""


def csrf_token(cookie: str) -> str:
    """The form token of a cookie: nobody without the cookie can produce it.

    Examples
    --------
    >>> csrf_token("a") == csrf_token("a"), csrf_token("a") == csrf_token("b"), len(csrf_token("a"))
    (True, False, 64)
    """
    return hmac.new(cookie.encode(), b"csrf", hashlib.sha256).hexdigest()


class Sessions:
    """The open sessions of a project."""

    def __init__(self, store: ProjectStore, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def open_publisher(self) -> str:
        """Open a session for the publisher; returns its cookie."""
        return self._open(None, self._clock() + PUBLISHER_SECONDS)

    def open_analyst(self, link: Link) -> str:
        """Open a session for the task of a link, valid as long as the link; returns its cookie."""
        return self._open(link.link, link.expires)

    def _open(self, link: int | None, expires: float) -> str:
        cookie = new_secret()
        with self._store.writing() as connection:
            connection.execute("delete from sessions where expires <= ?", (self._clock(),))
            connection.execute("insert into sessions values (?, ?, ?)", (fingerprint(cookie), link, expires))
            connection.execute(
                "delete from sessions where link = ?1 and rowid not in "
                "(select rowid from sessions where link = ?1 order by rowid desc limit ?2)",
                (link, MOST_OF_A_LINK),
            )
        return cookie

    def find_publisher(self, cookie: str) -> Session | None:
        """The publisher's session of a cookie."""
        found = self._find(cookie)
        return found if found is not None and found.link is None else None

    def find_analyst(self, cookie: str) -> Session | None:
        """The analyst's session of a cookie."""
        found = self._find(cookie)
        return found if found is not None and found.link is not None else None

    def _find(self, cookie: str) -> Session | None:
        now = self._clock()
        with self._store.reading() as connection:
            row = connection.execute(
                "select link from sessions where cookie_sha256 = ? and expires > ?", (fingerprint(cookie), now)
            ).fetchone()
            if row is None:
                return None
            link = None if row[0] is None else select_link(connection, row[0])
        if row[0] is not None and (link is None or not link.opens(now)):
            return None
        return Session(csrf_token(cookie), link)

    def close(self, cookie: str) -> None:
        """End a session."""
        with self._store.writing() as connection:
            connection.execute("delete from sessions where cookie_sha256 = ?", (fingerprint(cookie),))

    def close_publishers(self) -> None:
        """End every session of the publisher: a restarted studio has a new key or perhaps another password."""
        with self._store.writing() as connection:
            connection.execute("delete from sessions where link is null")
