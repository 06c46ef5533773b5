"""Pseudonyms given where the series lie: those of releases in memory, on every engine."""

from __future__ import annotations

import hashlib
import hmac

import pyarrow as pa
import pytest

from shoal.engines.pseudonyms import NAME, Rename, fresh_key, refuse_repeated, rename
from shoal.errors import ParameterError, ReleaseError
from shoal.release.pseudonyms import Pseudonyms

KEY = b"a key of 16 bytes or more"


def some_ids(n=500):
    return [f"meter {i * 7919 % n:04}" for i in range(n - 2)] + ["", "zähler"]


def renamed(engine, ids, key=KEY, parts=7):
    table = engine.scatter(pa.table({"id": ids, "n": range(len(ids))}), parts)
    return engine.collect(rename(engine, table, key)).sort_by("n")


def test_names_are_those_of_a_release_in_memory_on_every_engine(engine):
    ids = some_ids()
    found = renamed(engine, ids)
    assert found.column_names == ["id", "n", NAME]
    assert found["id"].to_pylist() == ids
    assert found[NAME].to_pylist() == Pseudonyms("keyed", KEY).of(ids)


def test_names_are_the_leading_bits_of_an_hmac():
    ids = some_ids(50)
    expected = [hmac.new(KEY, i.encode(), hashlib.sha256).hexdigest()[:16] for i in ids]
    assert Pseudonyms("keyed", KEY).of(ids) == expected


def test_names_do_not_depend_on_parts(local):
    assert renamed(local, some_ids(), parts=1).equals(renamed(local, some_ids(), parts=11))


def test_another_key_gives_other_names(local):
    ids = some_ids()
    assert not set(renamed(local, ids)[NAME].to_pylist()) & set(renamed(local, ids, fresh_key())[NAME].to_pylist())


def test_two_series_of_one_name_are_refused(engine):
    names = [f"{i:016x}" for i in range(1000)]
    table = engine.scatter(pa.table({"id": names, NAME: names}), 5)
    refuse_repeated(engine, table)
    names[3] = names[977]
    with pytest.raises(ReleaseError, match=r"Two series got the same pseudonym. Run again, or use another key"):
        refuse_repeated(engine, engine.scatter(pa.table({NAME: names}), 5))


def test_a_short_key_is_refused(local):
    with pytest.raises(ParameterError, match="need a key of at least 16 bytes"):
        renamed(local, ["a"], b"short")


def test_a_table_without_ids_or_with_names_is_refused(local):
    for table in (pa.table({"n": [1]}), pa.table({"id": ["a"], NAME: ["b"]})):
        with pytest.raises(ParameterError, match="has a column 'id' and no column 'name' yet"):
            rename(local, local.scatter(table), KEY)


def test_the_key_is_not_shown():
    assert "key of" not in repr(Rename(KEY))
