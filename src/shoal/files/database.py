"""One SQLite file, readable by its owner only, and its transactions.

Every change is one transaction that holds the write lock from its first statement (BEGIN IMMEDIATE), so what it read is
still true when it writes. What was committed survives a kill and a power cut.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from shoal.errors import InputError
from shoal.files.format import check_format

BUSY_SECONDS = 30
"""How long a writer waits for the others before it gives up."""


class Database:
    """A database file with a schema.

    A connection is opened for each transaction: they are short, and a connection belongs to the thread that opened it.

    Parameters
    ----------
    path
        The file; created if it does not exist.
    schema
        Statements that create what does not exist yet.
    version
        Version of the schema; a file with a later one is refused.
    what
        Whose database it is, in words, for messages.
    """

    def __init__(self, path: Path, *, schema: str, version: int, what: str) -> None:
        self._path = path
        try:
            # Created with its mode, not changed afterwards; the files SQLite puts next to it get the same mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            path.chmod(0o600)
            with closing(self._connect()) as connection:
                connection.execute("pragma journal_mode = wal")
                (stored_version,) = connection.execute("pragma user_version").fetchone()
                check_format(stored_version or version, version, path.name)
                connection.executescript(schema)
                connection.execute(f"pragma user_version = {version}")
        except OSError as error:
            raise InputError(_unusable(path, error.strerror)) from None
        except sqlite3.OperationalError as error:
            raise InputError(_unusable(path, str(error))) from None
        except (sqlite3.DatabaseError, ValueError):
            raise InputError(f"{path.name} is not a database of {what}. Remove it or choose another folder.") from None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
        connection.execute(f"pragma busy_timeout = {1000 * BUSY_SECONDS}")
        # What was confirmed survives a power cut, too.
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        return connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the database."""
        with self._refusing_damage(), closing(self._connect()) as connection:
            connection.execute("begin")
            yield connection
            connection.execute("rollback")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction, rolled back if the block raises."""
        with self._refusing_damage(), closing(self._connect()) as connection:
            connection.execute("begin immediate")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:  # a damaged file or a full disk has ended it
                    connection.execute("rollback")
                raise
            connection.execute("commit")

    @contextmanager
    def _refusing_damage(self) -> Iterator[None]:
        """Say in one line that the file is damaged, or cannot be used now; nothing of a message of SQLite."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise InputError(_unusable(self._path, str(error))) from None
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:
                raise  # what was written breaks a rule of the schema: no fault of the file
            raise InputError(f"{self._path.name} is damaged. Put back a copy of it.") from None


def _unusable(path: Path, why: str | None) -> str:
    return f"{path.name} cannot be opened for writing: {why}. Make it writable or choose another folder."
