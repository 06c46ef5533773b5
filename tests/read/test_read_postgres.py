"""A real PostgreSQL server, started for the occasion."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from read.support import SECRETS, refused
from shoal.errors import InputError
from shoal.read import read_events, read_panel

PASSWORD, ILLNESS = SECRETS[2], SECRETS[3]


def find_initdb():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1] if found else Path(on_path) if on_path else None


@pytest.fixture(scope="module")
def server():
    """URI of a server with its data in a temporary directory."""
    initdb = find_initdb()
    if initdb is None:
        pytest.skip("initdb of PostgreSQL is not installed")
    # The server refuses to run as root.
    user = "postgres" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        secret = Path(folder) / "secret"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        data = str(Path(folder) / "data")
        run = {"user": user, "cwd": folder, "stdin": subprocess.DEVNULL, "check": True, "capture_output": True}
        options = ["--auth=scram-sha-256", "--username=shoal", f"--pwfile={secret}", "--encoding=UTF8", "--no-sync"]
        subprocess.run([initdb, "--pgdata", data, *options], **run)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [initdb.with_name("postgres"), "-D", data, "-k", folder, "-p", str(port), "-h", "127.0.0.1", "-F"]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(command, user=user, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            uri = f"postgresql://shoal:{PASSWORD}@127.0.0.1:{port}/postgres"
            wait_for(initdb.with_name("pg_isready"), port, process)
            fill(uri)
            yield uri
        finally:
            process.terminate()
            process.wait(timeout=60)


def wait_for(pg_isready, port, process):
    command = [pg_isready, "-h", "127.0.0.1", "-p", str(port), "-t", "30"]
    for _ in range(300):
        if subprocess.run(command, check=False, capture_output=True).returncode == 0:
            return
        if process.poll() is not None:
            pytest.fail("PostgreSQL did not start")
    pytest.fail("PostgreSQL did not answer")


def fill(uri):
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(
            "create table readings (meter int, at timestamptz, local timestamp, kwh numeric(10, 3), f float8,"
            " home uuid, tariff text)"
        )
        cursor.execute(
            "insert into readings select m, timestamptz '2024-03-30 23:00+00' + t * interval '15 min',"
            " timestamp '2024-01-01' + t * interval '15 min', m + t / 1000.0, case when t = 5 then null else t end,"
            " ('00000000-0000-0000-0000-00000000000' || (m % 2))::uuid, 't' || m"
            " from generate_series(8, 11) m, generate_series(0, 91) t order by random()"
        )
        # As TimescaleDB stores a hypertable: chunks by time, which the planner leaves out where it can.
        cursor.execute("create table hyper (meter int, at timestamptz not null, kwh float8) partition by range (at)")
        for day in (1, 2, 3):
            ends = f"from ('2024-01-0{day} 00:00+00') to ('2024-01-0{day + 1} 00:00+00')"
            cursor.execute(f"create table chunk_{day} partition of hyper for values {ends}")
        cursor.execute(
            "insert into hyper select m, timestamptz '2024-01-01 00:00+00' + t * interval '1 h', m * 100 + t"
            " from generate_series(1, 3) m, generate_series(0, 71) t"
        )
        cursor.execute("create table cases (day date, age int, result text)")
        cursor.execute(f"insert into cases values ('2024-01-02', 30, '{ILLNESS}'), ('2024-01-01', null, 'no')")


def test_numeric_and_timestamptz(server):
    panel = read_panel(server, sql="select meter, at, kwh from readings;", id="meter", time="at", value="kwh")
    assert panel.ids.tolist() == ["8", "9", "10", "11"]
    assert panel.n_instants == 92
    assert panel.timezone == "UTC"
    np.testing.assert_array_equal(panel.values, np.round(np.arange(8, 12)[:, None] + np.arange(92) / 1000, 3))
    assert panel.origin.kind == "database"
    assert panel.origin.n_rows == 4 * 92
    assert panel.origin.sha256 == ()


def test_nulls_and_local_timestamps(server):
    sql = "select meter as id, local as time, f as value from readings -- a comment"
    with refused("^4 of 4 series have gaps: 4 of 368 cells"):
        read_panel(server, sql=sql)
    panel = read_panel(server, sql=sql, missing="interpolate:15min")
    assert panel.values[0].tolist() == list(range(92))
    assert panel.timezone is None


def test_zone_static_columns_and_the_other_scheme(server):
    uri = server.replace("postgresql://", "postgres://")
    sql = "select meter as id, at as time, kwh as value, home, tariff from readings"
    panel = read_panel(uri, sql=sql, timezone="Europe/Bratislava", subject="home", quasi="tariff")
    assert panel.timezone == "Europe/Bratislava"
    assert panel.n_subjects == 2
    assert panel.attributes["tariff"].tolist() == ["t8", "t9", "t10", "t11"]


def test_events(server):
    events = read_events(server, sql="select * from cases", time="day", sensitive="result", quasi="age")
    assert events.frame["age"].to_list() == [None, 30]


def test_a_table_in_chunks_of_time(server):
    sql = "select meter as id, at as time, kwh as value from hyper"
    panel = read_panel(server, sql=sql)
    np.testing.assert_array_equal(panel.values, np.arange(1, 4)[:, None] * 100 + np.arange(72))
    one_day = read_panel(server, sql=f"{sql} where at >= '2024-01-02 00:00+00' and at < '2024-01-03 00:00+00'")
    np.testing.assert_array_equal(one_day.values, panel.values[:, 24:48])


def test_empty_result(server):
    with refused("^The table is empty"):
        read_panel(server, sql="select meter as id, at as time, f as value from readings where false")


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("select * from nowhere", " .SQLSTATE 42P01."),
        ("with a as (insert into cases values (null, null, null) returning *) select * from a", ""),
        ("select result::int as id, 0 as time, 1 as value from cases", ""),
        ("select meter as id, local as time, 1 / (meter - 9) as value from readings", ""),
    ],
)
def test_failing_queries_do_not_leak(server, sql, code):
    with refused(f"^The database cannot run the SQL{code}.*Details are withheld because they may quote data"):
        read_panel(server, sql=sql)


def test_a_wrong_password_is_not_echoed(server):
    wrong = server.replace(PASSWORD, PASSWORD + "-wrong")
    with refused("^Cannot connect to the database. Check host, port, user, password"):
        read_panel(wrong, sql="select 1")


def test_without_the_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(InputError, match=r"pip install 'shoal\[postgres\]'"):
        read_panel(f"postgresql://me:{PASSWORD}@host/db", sql="select 1")


@pytest.mark.parametrize(
    "sql",
    [
        f"selec '{ILLNESS}'",
        "insert into cases values (null, null, null) returning *",
        "select 1 as id, 0 as time, 1.0 as value; drop table cases",
        "select 1) to stdout; drop table cases; copy (select 1",
    ],
)
def test_only_one_select_is_sent(server, sql):
    with refused("^sql: give one SELECT that only reads"):
        read_panel(server, sql=sql)
