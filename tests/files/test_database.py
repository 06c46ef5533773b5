"""A database that is damaged while it is used is refused in a line; a broken rule of its schema is no damage."""

import sqlite3

import pytest

from shoal.errors import InputError
from shoal.files.database import Database

SCHEMA = "create table if not exists numbers (number integer primary key, text text not null);"


@pytest.fixture
def database(tmp_path):
    made = Database(tmp_path / "some.sqlite", schema=SCHEMA, version=1, what="a test")
    with made.writing() as connection:
        connection.executemany("insert into numbers values (?, ?)", [(i, "x" * 500) for i in range(100)])
    return made


def test_damage_is_told_without_a_word_of_sqlite(database, tmp_path):
    path = tmp_path / "some.sqlite"
    content = bytearray(path.read_bytes())
    content[4096 : 4096 + 2000] = b"\xff" * 2000
    path.write_bytes(content)
    for use in (database.reading, database.writing):
        with (
            pytest.raises(InputError, match=r"some\.sqlite is damaged\. Put back a copy of it"),
            use() as connection,
        ):
            connection.execute("select sum(length(text)) from numbers").fetchall()


def test_a_rule_that_is_broken_is_no_damage(database):
    with pytest.raises(sqlite3.IntegrityError), database.writing() as connection:
        connection.execute("insert into numbers values (1, 'again')")


@pytest.mark.parametrize("version", [-1, 2**31 - 1])
def test_odd_versions_are_refused(database, tmp_path, version):
    with database.writing() as connection:
        connection.execute(f"pragma user_version = {version}")
    with pytest.raises(Exception, match=r"is not a database of a test|has format \d+, and this version") as caught:
        Database(tmp_path / "some.sqlite", schema=SCHEMA, version=1, what="a test")
    assert type(caught.value).__module__ == "shoal.errors"
