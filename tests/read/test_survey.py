"""The survey counts what a plain loop counts, in any order of rows, in memory or written aside."""

import itertools
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shoal.read.clock_changes import find_clock_changes
from shoal.read.column_survey import ColumnSurvey
from shoal.read.durations import DAY, HOUR
from shoal.read.survey import SurveyCounter, mean_day
from shoal.read.zones import Zone


def messy_rows(seed):
    """Readings with gaps, missing values, repeats, conflicts, a meter of zeros, a register and another step."""
    random = np.random.default_rng(seed)
    rows = []
    for series in range(12):
        step = 2 if series == 4 else 1
        values = np.round(random.normal(1.0, 1.0, 60), 1)
        values = np.zeros(60) if series == 3 else np.abs(values).cumsum() if series == 5 else values
        rows += [(series, step * i, v) for i, v in enumerate(values.tolist()) if random.random() > 0.05]
    rows = [(s, t, float("nan") if random.random() < 0.03 else v) for s, t, v in rows]
    rows += [rows[i] for i in random.integers(0, len(rows), 15)]
    rows += [(s, t, v + 1) for s, t, v in (rows[i] for i in random.integers(0, len(rows), 30)) if s > 5]
    return [rows[i] for i in random.permutation(len(rows))]


def surveyed(rows, held=10**6):
    series, times, values = (np.array(column) for column in zip(*rows, strict=True))
    with SurveyCounter(held) as counter:
        for start in range(0, len(rows), 50):
            some = slice(start, start + 50)
            counter.add(series[some], times[some], values[some])
        return counter.finish()


def naive(rows):
    """The same by loops: per series and instant the first reading counts."""
    cells, different = {}, {}
    for s, t, v in rows:
        cells.setdefault((s, t), v)
        different.setdefault((s, t), set()).add(str(v))
    n_conflicting = sum(len(found) - 1 for found in different.values())
    series = sorted({s for s, _ in cells})
    steps = Counter()
    found = {"n_conflicting": n_conflicting, "n_repeated": len(rows) - len(cells) - n_conflicting}
    for name in ("readings", "zeros", "negatives", "steps", "gaps", "longest", "grows", "falls"):
        found[name] = []
    for s in series:
        times = sorted(t for other, t in cells if other == s)
        own = Counter(b - a for a, b in itertools.pairwise(times))
        steps += own
        there = [(t, cells[s, t]) for t in times if cells[s, t] == cells[s, t]]
        step = min(own, key=lambda length: (-own[length], length))
        apart = [b[0] - a[0] for a, b in itertools.pairwise(there)]
        found["readings"].append(len(there))
        found["zeros"].append(sum(v == 0 for _, v in there))
        found["negatives"].append(sum(v < 0 for _, v in there))
        found["steps"].append(step)
        found["gaps"].append(sum(length > step for length in apart))
        found["longest"].append(max(max(apart) - step, 0))
        found["grows"].append(sum(b[1] > a[1] for a, b in itertools.pairwise(there)))
        found["falls"].append(sum(b[1] < a[1] for a, b in itertools.pairwise(there)))
    found["step"] = min(steps, key=lambda length: (-steps[length], length))
    return found


@pytest.mark.parametrize("held", [10**6, 100])
@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_a_plain_loop(seed, held):
    rows = messy_rows(seed)
    survey, expected = surveyed(rows, held), naive(rows)
    for name in ("n_repeated", "n_conflicting", "step"):
        assert getattr(survey, name) == expected.pop(name), name
    for name, figures in expected.items():
        assert getattr(survey.series, name).tolist() == figures, name
    assert survey.n_missing == len(rows) - survey.n_repeated - survey.n_conflicting - sum(expected["readings"])
    assert int(survey.coverage.sum()) == survey.n_readings == int(survey.instants.readings.sum())
    assert np.flatnonzero(survey.zero).tolist() == [3]
    assert np.flatnonzero(survey.registers).tolist() == [5]


def test_rows_written_aside_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with SurveyCounter(10) as counter:
        counter.add(np.arange(20), np.zeros(20, dtype=np.int64), np.ones(20))
        assert [path.name for path in tmp_path.glob("shoal-rows-*/*-values")]
    assert list(Path(tmp_path).iterdir()) == []


def test_series_that_filling_would_not_complete_are_counted():
    times = np.arange(24, dtype=np.int64)
    whole, short, long, late = np.ones(24, bool), np.ones(24, bool), np.ones(24, bool), times > 0
    short[5:7] = False
    long[5:9] = False
    rows = [(s, t, 1.0) for s, kept in enumerate((whole, short, long, late)) for t in times[kept].tolist()]
    survey = surveyed(rows)
    assert survey.gappy.tolist() == [False, True, True, True]
    assert survey.unfilled(2).tolist() == [False, False, True, True]


def test_quantiles_are_within_one_per_cent():
    values = np.random.default_rng(0).gamma(2.0, 0.3, 20_000)
    survey = surveyed([(i % 10, i, v) for i, v in enumerate(values.tolist())])
    for share in (0.05, 0.5, 0.95):
        assert survey.quantile(share) == pytest.approx(np.quantile(values, share), rel=0.012)


def test_the_mean_day_is_of_a_crowd():
    times = np.arange(96, dtype=np.int64) * (DAY // 48)
    rows = [(s, t, float(t % DAY // HOUR)) for s in range(3) for t in times.tolist()]
    survey = surveyed([*rows, (0, 5 * HOUR + 1, 1000.0)])
    assert mean_day(survey, survey.instants.times, 24, 3) == list(range(24))
    assert mean_day(survey, survey.instants.times, 24, 4) == [None] * 24


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("Europe/London", "Europe/London"),
        ("Europe/Bratislava", "Europe/Berlin"),
        ("America/Chicago", "America/New_York"),
    ],
)
def test_a_clock_that_changes_shows_its_zone(zone, told):
    utc = np.arange(np.datetime64("2023-03-01", "us"), np.datetime64("2023-11-20", "us"), np.timedelta64(1800, "s"))
    times = Zone(zone).to_local(utc.astype(np.int64))
    survey = surveyed([(s, t, float(s)) for s in range(2) for t in times.tolist()])
    found = find_clock_changes(survey.instants, survey.step)
    assert (found.zone, found.n_skipped, found.n_twice, found.n_once) == (told, 1, 1, 0)


def test_a_clock_that_never_changes_shows_no_zone():
    utc = np.arange(np.datetime64("2023-03-01", "us"), np.datetime64("2023-11-20", "us"), np.timedelta64(1, "h"))
    survey = surveyed([(s, t, 1.0) for s in range(2) for t in utc.astype(np.int64).tolist()])
    assert find_clock_changes(survey.instants, survey.step) is None


def counted(entries, series=None):
    column = ColumnSurvey("x")
    series = np.arange(len(entries)) if series is None else np.array(series)
    for start in range(0, len(entries), 3):
        column.add(series[start : start + 3], pa.array(entries[start : start + 3]))
    return column.finish()


def test_columns_are_counted_by_series():
    found = counted(["a", "a", "b", None, "c", "c", "", "c"], [0, 0, 1, 1, 2, 3, 4, 4])
    assert (found.n_series, found.n_varying, found.n_entries) == (5, 0, 3)
    assert (found.n_own, found.n_shared, found.largest) == (2, 1, 3)
    assert found.static
    assert not counted(["a", "b"], [0, 0]).static


def test_columns_are_counted_by_the_owner_of_several_series():
    def owned(entries):
        column = ColumnSurvey("x")
        column.add(np.arange(4), pa.array(entries))
        return column.finish(np.array([0, 0, 1, 1]))

    assert (owned(["a", "a", "b", None]).n_series, owned(["a", "a", "b", None]).n_entries) == (2, 2)
    assert owned(["a", "a", "b", None]).static
    assert owned(["a", "c", "b", "b"]).n_varying == 1


@pytest.mark.parametrize(
    ("entries", "shape"),
    [
        (["a@b.org", "c.d@e.com", "x@y.co.uk"], "e-mail addresses"),
        (["+44 20 7946 0000", "0033 1 23 45 67 89", "+421 2 1234 5678"], "telephone numbers"),
        (["SW1A 1AA", "M1 1AE", "EH99 1SP"], "postcodes"),
        (["10115", "80331", "20095"], None),
        (["A", "B", "Std"], None),
    ],
)
def test_the_shape_of_entries_tells_about_people(entries, shape):
    assert counted(entries).shape == shape
