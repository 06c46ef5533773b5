"""Subjects and static columns, their roles, and that nothing else is read."""

import polars as pl

from shoal.model import Role
from shoal.read import read_panel


def table():
    return pl.DataFrame(
        {
            "id": ["m2", "m1", "m2", "m1", "m3", "m3"],
            "time": [0, 0, 1, 1, 0, 1],
            "value": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            "home": [20, 10, 20, 10, 10, 10],
            "tariff": ["x", "y", None, "y", None, None],
            "zip": ["81101", "01001", "81101", "01001", "81101", "81101"],
            "rooms": [3, 2, 3, 2, None, None],
            "ill": [True, False, True, False, True, True],
            "unlisted": ["secret"] * 6,
        }
    )


def test_static_columns_follow_their_series(tmp_path):
    table().write_parquet(tmp_path / "x.parquet")
    for source in (table(), tmp_path / "x.parquet"):
        panel = read_panel(source, subject="home", quasi=["tariff", "zip"], other="rooms", sensitive="ill")
        assert panel.subjects.tolist() == ["10", "20", "10"]
        assert panel.n_subjects == 2
        assert panel.attributes["tariff"].tolist() == ["y", "x", None]
        assert panel.attributes["zip"].tolist() == ["01001", "81101", "81101"]
        assert panel.attributes["rooms"].tolist()[:2] == [2.0, 3.0]
        assert panel.sensitive["ill"].tolist() == [False, True, True]


def test_roles_name_every_column_that_was_read_and_no_other():
    panel = read_panel(table(), subject="home", quasi=["tariff", "zip"], other="rooms", sensitive="ill")
    assert dict(panel.roles) == {
        "id": Role.IDENTIFIER,
        "home": Role.IDENTIFIER,
        "time": Role.TIME,
        "value": Role.VALUE,
        "tariff": Role.QUASI_IDENTIFIER,
        "zip": Role.QUASI_IDENTIFIER,
        "ill": Role.SENSITIVE,
        "rooms": Role.OTHER,
    }


def test_plain_numbers_in_csv_become_numbers_and_the_rest_stays_text(tmp_path):
    table().write_csv(tmp_path / "x.csv")
    panel = read_panel(tmp_path / "x.csv", subject="home", quasi=["tariff", "zip"], other="rooms", sensitive="ill")
    assert panel.subjects.tolist() == ["10", "20", "10"]
    assert panel.attributes["zip"].tolist() == ["01001", "81101", "81101"]
    assert panel.attributes["rooms"].tolist()[:2] == [2.0, 3.0]
    assert panel.attributes["tariff"].tolist() == ["y", "x", None]
    assert panel.sensitive["ill"].tolist() == ["false", "true", "true"]


def test_wide_table_with_static_columns():
    wide = pl.DataFrame({"id": ["b", "a"], "age": [40, 30], "2024-01-01": [1.0, 2.0], "2024-01-02": [3.0, 4.0]})
    panel = read_panel(wide, quasi="age")
    assert panel.attributes["age"].tolist() == [30, 40]
    assert panel.values.tolist() == [[2.0, 4.0], [1.0, 3.0]]
    assert dict(panel.roles) == {"id": Role.IDENTIFIER, "age": Role.QUASI_IDENTIFIER}


def test_the_name_of_another_part_is_not_taken_for_the_id():
    frame = pl.DataFrame({"id": ["p", "p"], "series_id": ["a", "b"], "time": [0, 0], "value": [1.0, 2.0]})
    panel = read_panel(frame, subject="id")
    assert panel.ids.tolist() == ["a", "b"]
    assert panel.subjects.tolist() == ["p", "p"]
