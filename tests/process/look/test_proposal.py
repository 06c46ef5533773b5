"""A proposed policy reads its table, hides what it should, and shows no entry of it."""

import polars as pl
import pytest

from shoal import read_panel
from shoal.cli.output import write_new
from shoal.errors import InputError, ReleaseError
from shoal.process.look import look
from shoal.process.look.proposal import column_roles
from shoal.process.policy import parse_policy

N = 40


def propose_policy(path, **settings):
    found = look(str(path), **settings)
    found.require_subjects()
    return found.policy


@pytest.fixture
def table(tmp_path):
    rows = [
        {
            "meter": f"meter-{i:03}",
            "stamp": f"2026-01-0{day} 00:00:00",
            "kwh": i + day / 10,
            "contract_no": f"secret-contract-{i % 3}",
            "postcode": f"secret-code-{i}",
            "tariff": f"secret-tariff-{i % 4}",
            "diagnosis": f"secret-diagnosis-{i % 5}",
            "comment": f"secret-comment-{i}-{day}",
            "grid": "secret-grid",
        }
        for i in range(N)
        for day in range(1, 4)
    ]
    path = tmp_path / "meters.parquet"
    pl.DataFrame(rows).with_columns(pl.col("stamp").str.to_datetime()).write_parquet(path)
    return path


def test_it_reads_the_table_it_was_made_for(table):
    policy = parse_policy(propose_policy(table))
    assert (policy.data.id, policy.data.time, policy.data.value) == ("meter", "stamp", "kwh")
    panel = read_panel(policy.data.path, **policy.settings)
    assert (panel.n_series, panel.n_instants) == (N, 3)
    assert set(panel.attributes) == {"tariff"}
    assert set(panel.sensitive) == {"diagnosis"}


def test_roles_follow_names_and_counts(table):
    policy = parse_policy(propose_policy(table))
    assert policy.roles == {
        "contract_no": "identifier",
        "postcode": "identifier",
        "tariff": "quasi-identifier",
        "diagnosis": "sensitive",
    }


def test_a_column_with_one_entry_in_all_rows_has_no_role(table):
    assert "grid" not in propose_policy(table)
    assert ("grid", None, "one entry in all rows") in column_roles(look(str(table)).found)


def test_what_changes_within_a_series_is_withheld_and_said(table):
    text = propose_policy(table)
    assert "Withheld, as they change within a series: comment." in text


def test_no_entry_of_the_table_is_shown(table):
    text = propose_policy(table)
    assert "secret" not in text
    assert "meter-0" not in text
    assert "2026-01" not in text


def test_gaps_are_told_with_the_ways_out(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("id,time,value\na,2026-01-01,1.5\na,2026-01-02,\nb,2026-01-01,2.5\nb,2026-01-02,3.5\n")
    assert "missing: keep  # 1 reading is missing: drop-series, drop-instants, " in propose_policy(path)


def test_wide_tables_are_read_by_their_layout_and_columns_are_not_listed(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("time,household-1,household-2\n2026-01-01,1.5,2.5\n2026-01-02,2.5,3.5\n")
    text = propose_policy(path)
    assert "household" not in text
    assert "layout: wide  # 2 columns read as 2 subjects" in text
    policy = parse_policy(text)
    assert read_panel(policy.data.path, **policy.settings).n_series == 2


def test_sensors_of_a_room_are_not_proposed_as_subjects(tmp_path):
    path = tmp_path / "room.csv"
    path.write_text("time,co2_1,temp_1,temp_2\n2026-01-01,600.5,20.5,21.5\n2026-01-02,610.5,20.7,21.1\n")
    with pytest.raises(InputError, match=r"3 columns have readings, and some are named like sensors.*layout='wide'"):
        propose_policy(path)
    assert "layout: wide  # 3 columns read as 3 subjects" in propose_policy(path, layout="wide")
    path.write_text("time,m1,m2,m3\n2026-01-01,600.5,20.5,21.5\n2026-01-02,610.5,20.7,21.1\n")
    with pytest.raises(InputError, match="the readings of 1 are more than 10 times larger or smaller"):
        propose_policy(path)


def test_names_that_yaml_would_misread_are_quoted(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text('no,time,"a: b#c"\nx,2026-01-01,1.5\nx,2026-01-02,2.5\ny,2026-01-01,2.5\n')
    policy = parse_policy(propose_policy(path, id="no"))
    assert (policy.data.id, policy.data.value) == ("no", "a: b#c")


def test_what_cannot_be_profiled_is_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        propose_policy(tmp_path / "x.csv")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1secret")
    with pytest.raises(InputError, match="cannot be read as Parquet") as caught:
        propose_policy(tmp_path / "bad.parquet")
    assert "secret" not in str(caught.value)
    (tmp_path / "t.csv").write_text("id,time,value\na,2026-01-01,1.5\n")
    with pytest.raises(InputError, match="There is no column 'meter' among the 3 columns"):
        propose_policy(tmp_path / "t.csv", id="meter")


def test_a_policy_is_written_over_nothing(tmp_path):
    write_new(tmp_path / "p.yaml", "seed: 1\n")
    with pytest.raises(ReleaseError, match=r"exists. Choose another name"):
        write_new(tmp_path / "p.yaml", "seed: 2\n")
    assert (tmp_path / "p.yaml").read_text() == "seed: 1\n"
    with pytest.raises(ReleaseError, match="Cannot write"):
        write_new(tmp_path / "none" / "p.yaml", "")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_brackets_in_a_name_are_no_pattern(tmp_path, kind):
    for name, n in (("m[1]", 4), ("m1", 2)):
        table = pl.DataFrame({"id": [f"x{i}" for i in range(n)], "time": [0] * n, "value": [1.5] * n})
        getattr(table, f"write_{kind}")(tmp_path / f"{name}.{kind}")
    assert "4 rows, 4 series" in propose_policy(tmp_path / f"m[1].{kind}")
