"""SQL that fails says so without quoting data."""

import polars as pl
import pytest

from read.support import SECRETS, refused
from shoal.errors import ParameterError
from shoal.read import read_panel
from shoal.read.queries import _one_query

ID, VALUE, _, ILLNESS = SECRETS


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (f"selec '{ILLNESS}'", "it has a syntax error"),
        (f"select '{ILLNESS}'::int as id, 0 as time, 1 as value", "a conversion inside it fails on the data"),
        ("select nothing from input", "it names an unknown column or function"),
        ("select * from nothing", "it names an unknown table or function"),
        ("select * from 'nothing.parquet'", "a file it names is missing or cannot be read"),
        ("select id, time, value::int as value from input", "a conversion inside it fails on the data"),
        ("select id, time, error(id) as value from input", "it fails while running"),
    ],
)
def test_reasons_are_in_plain_words(sql, reason):
    table = pl.DataFrame({"id": [ID], "time": [0], "value": [ILLNESS]})
    with refused(f"^DuckDB cannot run the SQL: {reason}.*Details are withheld"):
        read_panel(table, sql=sql)


def test_statements_that_give_no_table():
    with refused("^The SQL returns no table"):
        read_panel(sql="-- nothing")
    for sql in ("", "  ", 3):
        with refused("^sql: give a query", ParameterError):
            read_panel(sql=sql)


def test_instants_do_not_take_the_zone_of_this_machine():
    sql = "select 'a' as id, timestamptz '2024-07-01 12:00+02' as time, 1.0 as value"
    panel = read_panel(sql=sql)
    assert panel.timezone == "UTC"
    assert str(panel.times[0]) == "2024-07-01T10:00:00.000000"


def test_variables_of_the_program_are_no_tables():
    with refused("unknown table"):
        read_panel(pl.DataFrame({"id": [1], "time": [0], "value": [1.0]}), sql="select * from source")


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("copy (select 1) to '{}'", "of the kind COPY"),
        ("select 'a' as id, 0 as time, 1.0 as value; copy (select 1) to '{}'", "this has 2 statements"),
        (
            "with a as (copy (select 1) to '{}') select 'a' as id, 0 as time, 1.0 as value from a",
            "a WITH clause of this",
        ),
        (
            "select * from (with a as (copy (select 1) to '{}') select 'a' as id, 0 as time, 1.0 as value)",
            "WITH clause",
        ),
        ("explain analyze copy (select 1) to '{}'", "of the kind EXPLAIN"),
        ("attach '{}' as other", "of the kind ATTACH"),
        ("export database '{}'", "of the kind EXPORT"),
        ("set threads = 1", "of the kind SET"),
        ("pragma version", "of the kind PRAGMA"),
        ("install httpfs", "of the kind LOAD"),
        ("create table a as select 1", "of the kind CREATE"),
        ("from query('copy (select 1) to ''{}''')", "DuckDB cannot run the SQL"),
    ],
)
def test_sql_is_one_select_and_writes_nothing(tmp_path, sql, why):
    place = tmp_path / "written"
    with refused(why):
        read_panel(sql=sql.format(place))
    assert not place.exists()


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_brackets_in_a_name_are_no_pattern(tmp_path, kind):
    folder = tmp_path / "a=1"
    folder.mkdir()
    for name, value in (("m[1]", 5.0), ("m1", 7.0)):
        table = pl.DataFrame({"id": ["x"], "time": [0], "value": [value]})
        getattr(table, f"write_{kind}")(folder / f"{name}.{kind}")
    for sql in (None, "select * from input"):
        assert read_panel(folder / f"m[1].{kind}", sql=sql).values.tolist() == [[5.0]]


@pytest.mark.parametrize(
    "sql",
    [
        "select 1; drop table readings",
        "select 1) to stdout; drop table readings; copy (select 1",
        "drop table readings",
        "copy (select 1) to program 'true'",
        r"select e'\'; drop table readings; --'",
        "select 'open",
        "",
    ],
)
def test_a_database_is_asked_for_one_select(sql):
    with refused("sql: give one SELECT"):
        _one_query(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "select ';' as \"a;b\", $x$ ; ) $x$, 1 -- ; )\n",
        "with a as (select 1) select * from a;",
        "(select 1) union (select 2)",
        "values (1)",
        "/* ; */ select '((' as a",
    ],
)
def test_semicolons_in_quotes_and_comments_end_nothing(sql):
    assert _one_query(sql) == sql.strip().rstrip(";").rstrip() + "\n"
