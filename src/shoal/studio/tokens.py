"""Links: a random token opens one task for one analyst, or one draft for one officer, until it expires or is revoked.

The token is in the link and nowhere else; the database has its SHA-256. That is enough without salt or slow hashing,
because nobody can search through 256 random bits.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from shoal.closed.tokens import DAY, Clock, fingerprint, new_secret
from shoal.studio.store import ProjectStore

__all__ = ["REVIEW", "Clock", "Link", "ProjectLinks", "fingerprint", "new_secret", "select_link"]

REVIEW = "review/"
"""Marks a link that opens a draft: no task has such a name, because names contain no slash."""


@dataclass(frozen=True)
class Link:
    """What a token opens; not the token."""

    link: int
    task: str
    analyst: str
    created: float
    expires: float
    revoked: float | None

    @property
    def draft(self) -> str:
        """The draft it opens for review; empty if it opens a task."""
        return self.task.removeprefix(REVIEW) if self.task.startswith(REVIEW) else ""

    def opens(self, now: float) -> bool:
        """Whether it is still valid."""
        return self.revoked is None and now < self.expires


class ProjectLinks:
    """The links of a project."""

    def __init__(self, store: ProjectStore, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def create(self, task: str, analyst: str, days: float) -> str:
        """Create a link; returns its token, which cannot be retrieved later."""
        token, now = new_secret(), self._clock()
        with self._store.writing() as connection:
            connection.execute(
                "insert into links (task, analyst, token_sha256, created, expires) values (?, ?, ?, ?, ?)",
                (task, analyst, fingerprint(token), now, now + days * DAY),
            )
        return token

    def find(self, token: str) -> Link | None:
        """The valid link of a token; else None, whatever the reason."""
        with self._store.reading() as connection:
            rows = _select(connection, "where token_sha256 = ?", fingerprint(token))
        return rows[0] if rows and rows[0].opens(self._clock()) else None

    def of_task(self, task: str) -> list[Link]:
        """Every link of a task, newest first."""
        with self._store.reading() as connection:
            return _select(connection, "where task = ? order by link desc", task)

    def revoke(self, task: str, link: int) -> bool:
        """Revoke a link and the sessions it opened; False if the task has no such link."""
        with self._store.writing() as connection:
            known = _select(connection, "where task = ? and link = ?", task, link)
            connection.execute(
                "update links set revoked = ? where task = ? and link = ? and revoked is null",
                (self._clock(), task, link),
            )
            if known:
                connection.execute("delete from sessions where link = ?", (link,))
        return bool(known)


def _select(connection: sqlite3.Connection, where: str, *values: object) -> list[Link]:
    rows = connection.execute(f"select link, task, analyst, created, expires, revoked from links {where}", values)
    return [Link(*row) for row in rows]


def select_link(connection: sqlite3.Connection, link: int) -> Link | None:
    """A link by its number."""
    rows = _select(connection, "where link = ?", link)
    return rows[0] if rows else None
