"""Who may ask a closed service, and the log of what was asked.

Only the SHA-256 of a token is stored. The log records the number of the token, the question, and whether it was
answered or why not; no answer. Rows are only appended: the database refuses to change or remove one, and each row
carries a digest over itself and the one before, so that tampering from outside is detected.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from shoal.closed.tokens import DAY, Clock, fingerprint, new_secret
from shoal.errors import ParameterError
from shoal.files.database import Database

FORMAT = 1
LONGEST_NAME = 200

_SCHEMA = """
create table if not exists tokens (
  token integer primary key,
  recipient text not null,
  token_sha256 text not null unique,
  created real not null,
  expires real not null,
  revoked real
);
create table if not exists log (
  number integer primary key,
  at real not null,
  token integer not null references tokens (token),
  question text not null,
  outcome text not null check (outcome in ('answered', 'refused')),
  reason text not null,
  cost integer not null,
  epsilon real not null,
  digest text not null
);
create index if not exists log_by_token on log (token);
create trigger if not exists log_is_never_changed before update on log
  begin select raise(abort, 'the log is only added to'); end;
create trigger if not exists log_is_never_shortened before delete on log
  begin select raise(abort, 'the log is only added to'); end;
"""


@dataclass(frozen=True)
class Token:
    """What a token is for, without the token itself."""

    token: int
    recipient: str
    created: float
    expires: float
    revoked: float | None

    def opens(self, now: float) -> bool:
        """Whether it is still valid."""
        return self.revoked is None and now < self.expires


@dataclass(frozen=True)
class LogLine:
    """A line of the log."""

    number: int
    at: float
    token: int
    question: str
    outcome: str
    reason: str
    cost: int
    epsilon: float

    def digest(self, before: str) -> str:
        """SHA-256 of this line and the digest of the one before."""
        return hashlib.sha256(f"{before}{json.dumps(asdict(self))}".encode()).hexdigest()


@dataclass(frozen=True)
class Used:
    """How much was asked, by a recipient and by all."""

    mine: int
    all: int
    my_epsilon: Fraction
    all_epsilon: Fraction


class Register:
    """Tokens and log of a closed folder."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.database = Database(path, schema=_SCHEMA, version=FORMAT, what="a closed service")
        self._clock = clock

    def create(self, recipient: str, days: float) -> tuple[int, str]:
        """Create a token; returns its number, and the token, which cannot be retrieved later."""
        name = recipient.strip()
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise ParameterError(f"A recipient must be one line of text, at most {LONGEST_NAME} characters.")
        if not 0 < days <= 3660:
            raise ParameterError("A token must be valid for more than 0 and at most 3660 days.")
        secret, now = new_secret(), self._clock()
        with self.database.writing() as connection:
            made = connection.execute(
                "insert into tokens (recipient, token_sha256, created, expires) values (?, ?, ?, ?)",
                (name, fingerprint(secret), now, now + days * DAY),
            )
            return int(made.lastrowid or 0), secret

    def find(self, secret: str) -> Token | None:
        """The valid token of a secret; else None, whatever the reason."""
        with self.database.reading() as connection:
            matching = _tokens(connection, "where token_sha256 = ?", fingerprint(secret))
        return matching[0] if matching and matching[0].opens(self._clock()) else None

    def tokens(self) -> list[Token]:
        """Every token ever created."""
        with self.database.reading() as connection:
            return _tokens(connection, "order by token")

    def revoke(self, token: int) -> None:
        """Revoke a token at once."""
        with self.database.writing() as connection:
            if not _tokens(connection, "where token = ?", token):
                raise ParameterError(f"There is no token {token}. See: shoal serve token list")
            connection.execute(
                "update tokens set revoked = ? where token = ? and revoked is null", (self._clock(), token)
            )

    def entries(self) -> list[LogLine]:
        """The log, the oldest first."""
        with self.database.reading() as connection:
            return [LogLine(*row[:-1]) for row in _rows(connection)]

    def first_odd(self) -> int | None:
        """The first line of the log that was changed or follows a gap; None if the log is intact."""
        before = ""
        with self.database.reading() as connection:
            for expected, (*parts, digest) in enumerate(_rows(connection), start=1):
                entry = LogLine(*parts)
                if entry.number != expected or entry.digest(before) != digest:
                    return expected
                before = digest
        return None


def _tokens(connection: sqlite3.Connection, rest: str, *values: object) -> list[Token]:
    rows = connection.execute(f"select token, recipient, created, expires, revoked from tokens {rest}", values)
    return [Token(*row) for row in rows]


def _rows(connection: sqlite3.Connection) -> list[Any]:
    columns = "number, at, token, question, outcome, reason, cost, epsilon, digest"
    return connection.execute(f"select {columns} from log order by number").fetchall()


def still_opens(connection: sqlite3.Connection, token: int, now: float) -> Token | None:
    """A token by its number, inside a transaction."""
    matching = _tokens(connection, "where token = ?", token)
    return matching[0] if matching and matching[0].opens(now) else None


def used_by(connection: sqlite3.Connection, recipient: str) -> Used:
    """What a recipient has spent, over all tokens of that name, and what all recipients have."""
    rows = connection.execute(
        "select t.recipient = ?, l.epsilon, count(*), sum(l.cost) from log l join tokens t using (token) group by 1, 2",
        (recipient,),
    ).fetchall()
    mine = [row for row in rows if row[0]]
    return Used(
        mine=sum(row[3] for row in mine),
        all=sum(row[3] for row in rows),
        my_epsilon=sum((Fraction(row[1]) * row[2] for row in mine), Fraction(0)),
        all_epsilon=sum((Fraction(row[1]) * row[2] for row in rows), Fraction(0)),
    )


def note(connection: sqlite3.Connection, **facts: Any) -> None:
    """Add a line to the log, inside a transaction."""
    last = connection.execute("select number, digest from log order by number desc limit 1").fetchone()
    number, before = (1, "") if last is None else (last[0] + 1, last[1])
    entry = LogLine(number=number, **facts)
    connection.execute(
        "insert into log values (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*asdict(entry).values(), entry.digest(before))
    )
