"""SQL that fails says so without quoting data."""

import polars as pl
import pytest

from read.support import SECRETS, refused
from shoal.errors import ParameterError
from shoal.read import read_panel

ID, VALUE, _, ILLNESS = SECRETS


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (f"selec '{ILLNESS}'", "it has a syntax error"),
        (f"select '{ILLNESS}'::int as id, 0 as time, 1 as value", "a conversion inside it fails on the data"),
        ("select nothing from input", "it names an unknown column or function"),
        ("select * from nothing", "it names an unknown table or function"),
        ("select * from 'nothing.parquet'", "a file it names is not there or cannot be read"),
        ("select id, time, value::int as value from input", "a conversion inside it fails on the data"),
        ("select id, time, error(id) as value from input", "it fails while running"),
    ],
)
def test_reasons_are_in_plain_words(sql, reason):
    table = pl.DataFrame({"id": [ID], "time": [0], "value": [ILLNESS]})
    with refused(f"^DuckDB cannot run the SQL: {reason}.*Details are withheld"):
        read_panel(table, sql=sql)


def test_statements_that_give_no_table():
    with refused("^The SQL gives no table"):
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
