"""What is said about readings, and when it must not be said."""

import pytest

from shoal.model import account_of

GATHERED = {"align": "resample:1h:sum", "quantity": "energy", "quantity_from": "name", "complete": "0.75"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "lines_skipped",
            "Lines not read as rows, such as headings, footers or incomplete rows: 1,200.",
        ),
        ("not_readings", "Entries left out because they have neither a reading nor a valid time: 1,200."),
        ("filled_down", "Empty cells given the entry above them, which the table states once per block: 1,200."),
        ("repeated", "Exact repeats taken once: 1,200."),
        ("merged", "Readings merged with a different one of the same series and instant: 1,200 (the last counts)."),
        ("incomplete", "Steps taken as missing for lack of readings: 1,200."),
        ("scaled", "Sums scaled up for lack of readings: 1,200 (each had at least 0.75 of them)."),
        ("partial", "Steps taken as they are that lack readings: 1,200 (each has at least 0.75 of them)."),
        ("interpolated", "Readings interpolated inside short gaps: 1,200."),
        ("dropped_series", "Series dropped because of gaps: 1,200."),
        ("dropped_instants", "Instants dropped because of gaps: 1,200."),
        ("parts_cut_off", "Days left out for lack of the usual instants: 1,200."),
    ],
)
def test_each_count_is_said_where_there_is_one(name, words):
    reading = {"duplicates": "last", **GATHERED}
    assert words in account_of(reading | {name: 1200})
    for nothing in ({}, {name: 0}, {name: True}, {name: "1200"}, {name: 10**5000}):
        assert words.partition(":")[0] not in " ".join(account_of(reading | nothing))


def test_nothing_is_said_about_a_table_taken_as_it_is():
    assert account_of({"align": "exact", "duplicates": "fail", "missing": "fail", "sql": False}) == []
    assert account_of({}) == []


def test_the_quantity_is_said_with_where_it_is_from():
    assert account_of(GATHERED) == ["Readings resampled to steps of 1h by sum (energy, by the name of the column)."]
    assert "(energy, as the publisher says)" in account_of(GATHERED | {"quantity_from": "setting"})[0]
    assert "(their quantity is unknown)" in account_of(GATHERED | {"quantity_from": "nothing"})[0]
    assert "gaps inside it were not looked for" in account_of(GATHERED | {"complete": "any"})[1]


def test_what_was_dropped_is_told_apart_from_what_was_changed():
    reading = {"repeated": 2, "interpolated": 3, "dropped_series": 4, "parts_cut_off": 5}
    dropped, changed = account_of(reading, "dropped"), account_of(reading, "changed")
    assert [line.split()[0] for line in dropped] == ["Days", "Series"]
    assert sorted([*dropped, *changed]) == sorted(account_of(reading))
