"""A release of events: written, read back, compared with the originals, spoiled."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from event_samples import QUASI, snapshot, times
from forgery import forge
from shoal import LDiversity, load_release, verify
from shoal.errors import ReleaseError
from shoal.methods.bucketise import bucketise
from shoal.methods.event_parts import concat
from shoal.methods.generalise import generalise
from shoal.model import Events, EventTables, PrivateEvents, Suppression
from shoal.release.certificate import (
    Certificate,
    ColumnsPart,
    CountsPart,
    GuaranteePart,
    InputPart,
    MethodPart,
    VerdictPart,
    digest_file,
)
from shoal.release.certification import time_part
from shoal.release.event_originals import refuse_late
from shoal.release.events import EventsForm
from shoal.release.files import NotAPanelError
from shoal.release.forms import form_named, form_of
from shoal.release.suppression import readers_figures

FORM = EventsForm()
WAYS = ["bucketised", "generalised"]


def publish(frame, way, quasi, sensitive="result", l=2, seed=0):
    """Every snapshot of a frame with the column `time`."""
    rng = np.random.default_rng(seed)
    parts = frame.partition_by("time", maintain_order=True)
    if way == "bucketised":
        return concat([bucketise(p, quasi=quasi, sensitive=sensitive, l=l, rng=rng) for p in parts])
    return concat([generalise(p, quasi=quasi, sensitive=sensitive, l=l) for p in parts])


def small(way="bucketised", **options):
    """Published tables and what is private of them: the last two events of snapshot 0 go to snapshot 1, one nowhere."""
    rng = np.random.default_rng(3)
    n = 24
    frame = pl.DataFrame(
        {
            "day": np.repeat([10, 11, 12], 8),
            "age": pl.Series(rng.integers(20, 60, n)),
            "sex": [None if i % 7 == 3 else "fm"[i % 2] for i in range(n)],
            "result": np.resize(list("abcd"), n),
            "id": [f"event-{i}" for i in range(n)],
        }
    )
    original = Events(frame, time="day", sensitive="result", quasi=["age", "sex"], id="id")
    went = np.repeat([0, 1, 2], 8)
    went[6:8] = 1
    went[15] = -1
    moved = frame.with_columns(time=pl.Series(went + 10)).filter(pl.Series(went >= 0))
    return publish(moved, way, ["age", "sex"], **options), PrivateEvents(original, went)


def promise(l=2):
    verdict = VerdictPart(holds=True, measured=2.0, required=l)
    statement = LDiversity(l).statement
    return GuaranteePart(
        name="l-diversity", parameters={"l": l}, statement=statement, checked_by="anyone", verdict=verdict
    )


def write(tables, folder, file_format, private=None):
    """Write as the gate does, and the certificate that goes with it."""
    paths = FORM.write(tables, [], folder, file_format)
    went = np.zeros(tables.n_events, dtype=np.int64)
    counts = FORM.counts(tables, private or PrivateEvents(None, went))
    missing = readers_figures(tables, Suppression(tables.n_events, counts.suppressed))
    return Certificate(
        shoal="0",
        form="events",
        method=MethodPart(name="test", summary="", parameters={}, figures={}),
        guarantees=(promise(),),
        counts=counts,
        time=time_part(tables.times, tables.timezone),
        input=InputPart(kind="array", sha256=(), rows=None, reading={}, panel_sha256=None),
        columns=FORM.columns(tables, 1),
        pseudonyms="random",
        files={path.name: digest_file(path) for path in paths},
        utility={},
        risk={},
        figures={"suppression": missing} if missing else {},
        versions={},
    ).sealed()


def same(a, b):
    return (
        a.records.schema == b.records.schema
        and a.records.equals(b.records)
        and (
            (a.counts is None and b.counts is None)
            or (a.counts.schema == b.counts.schema and a.counts.equals(b.counts))
        )
        and (a.quasi, a.sensitive) == (b.quasi, b.sensitive)
    )


def test_the_form_is_found_by_type_and_by_name():
    assert form_of(small()[0]).name == form_named("events").name == "events"


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["dates", "whole numbers", "clock", "zone"])
def test_events_read_back_as_they_were_published(tmp_path, file_format, way, kind):
    at = times(kind)
    frame = pl.concat([snapshot(at[:1], seed=1), snapshot(at[1:], seed=2)])
    tables = publish(frame, way, QUASI, l=3)
    certificate = write(tables, tmp_path, file_format)
    # Through the bytes of release.json, as a recipient has it.
    certificate = Certificate.model_validate_json(certificate.as_bytes())
    assert certificate.is_sealed()
    read = FORM.read(tmp_path, certificate)
    assert same(read, tables)
    assert np.signbit(read.records.select(pl.col(pl.Float64)).to_numpy()).tolist() == (
        np.signbit(tables.records.select(pl.col(pl.Float64)).to_numpy()).tolist()
    )
    assert not FORM.findings(read, certificate)
    assert FORM.sizes(read, certificate) == certificate.counts.group_sizes


TEXT = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=4)


@given(words=st.lists(st.tuples(TEXT, TEXT.filter(lambda t: t is not None)), min_size=1, max_size=6))
def test_any_text_survives_csv(tmp_path_factory, words):
    folder = tmp_path_factory.mktemp("csv")
    frame = pl.DataFrame(
        {"time": 0, "word": [w for w, _ in words], "result": [f"{i}{v}" for i, (_, v) in enumerate(words)]},
        schema={"time": pl.Int64, "word": pl.String, "result": pl.String},
    )
    tables = publish(frame, "bucketised", ["word"], l=len(words)) if len(words) > 1 else None
    if tables is not None:
        assert same(FORM.read(folder, write(tables, folder, "csv")), tables)


def test_the_files_have_the_columns_of_the_design(tmp_path):
    write(small()[0], tmp_path, "parquet")
    assert pl.read_parquet(tmp_path / "data.parquet").columns == ["time", "group", "age", "sex"]
    assert pl.read_parquet(tmp_path / "sensitive.parquet").columns == ["time", "group", "result", "count"]
    (tmp_path / "coarse").mkdir()
    write(small("generalised")[0], tmp_path / "coarse", "csv")
    assert [p.name for p in (tmp_path / "coarse").iterdir()] == ["data.csv"]
    assert (tmp_path / "coarse" / "data.csv").read_text().startswith("time,age_low,age_high,sex,result\n")


def test_the_writer_sorts_rows_whatever_their_order_was(tmp_path):
    tables = small()[0]
    (tmp_path / "shuffled").mkdir()
    shuffled = dataclasses.replace(
        tables,
        records=tables.records.sample(fraction=1.0, shuffle=True, seed=4),
        counts=tables.counts.sample(fraction=1.0, shuffle=True, seed=5),
    )
    assert write(tables, tmp_path, "csv").files == write(shuffled, tmp_path / "shuffled", "csv").files
    assert FORM.findings(shuffled, write(tables, tmp_path, "csv")) == [
        "rows are not sorted by all their columns: their order might reveal when events arrived"
    ]


def test_the_certificate_counts_events_and_nothing_of_series(tmp_path):
    tables, private = small()
    certificate = write(tables, tmp_path, "parquet", private)
    counts = certificate.as_dict()["counts"]
    assert {name: counts[name] for name in ("events", "snapshots", "suppressed")} == {
        "events": 23,
        "snapshots": 3,
        "suppressed": 1,
    }
    assert "series" not in counts
    assert "missing" not in counts
    assert counts["grouped"] == "instants"
    assert sum(int(size) * n for size, n in counts["group_sizes"].items()) == 23
    columns = certificate.as_dict()["columns"]
    assert columns["published"] == ["time", "group", "age", "sex", "result", "count"]
    assert columns["events"] == {
        "publish": "bucketised",
        "quasi": ["age", "sex"],
        "sensitive": "result",
        "types": {
            "time": "int64",
            "group": "int64",
            "age": "int64",
            "sex": "string",
            "result": "string",
            "count": "int64",
        },
    }
    assert FORM.names_needed(tables, private) == []
    assert "event-" not in certificate.as_bytes().decode()


def test_certificates_of_series_say_nothing_of_events():
    counts = CountsPart(
        series=3,
        subjects=3,
        instants=2,
        channels=1,
        missing=0,
        groups=1,
        smallest_group=3,
        largest_group=3,
        group_sizes={"3": 1},
    )
    assert list(counts.model_dump()) == [
        "series",
        "subjects",
        "instants",
        "channels",
        "missing",
        "grouped",
        "groups",
        "smallest_group",
        "largest_group",
        "group_sizes",
    ]
    columns = ColumnsPart(published=("id", "time", "value"), channels=("value",), withheld=0)
    assert "events" not in columns.model_dump()


def test_what_was_not_published_in_that_way_cannot_be_read(tmp_path):
    certificate = write(small()[0], tmp_path, "csv")
    lines = (tmp_path / "data.csv").read_text().splitlines()

    def spoil(*changed):
        (tmp_path / "data.csv").write_text("\n".join(changed) + "\n")
        return FORM.read(tmp_path, certificate)

    with pytest.raises(NotAPanelError, match=r"data\.csv row 1 \(counted from 0\) holds something of another type"):
        spoil(*lines[:2], "10,0,abc,f", *lines[3:])
    with pytest.raises(NotAPanelError, match=r"data\.csv row 0 \(counted from 0\) holds nothing where a value is"):
        spoil(lines[0], "10,,30,f", *lines[2:])
    with pytest.raises(ReleaseError, match="has other columns"):
        spoil(lines[0].replace("age", "years"), *lines[1:])
    spoil(*lines)
    (tmp_path / "sensitive.csv").write_bytes(b"")
    with pytest.raises(ReleaseError, match=r"sensitive\.csv cannot be read"):
        FORM.read(tmp_path, certificate)
    without = certificate.model_copy(update={"columns": certificate.columns.model_copy(update={"events": None})})
    with pytest.raises(ReleaseError, match="does not say how events were published"):
        FORM.read(tmp_path, without)


def test_other_types_than_the_certificate_names_are_not_read(tmp_path):
    certificate = write(small()[0], tmp_path, "parquet")
    table = pl.read_parquet(tmp_path / "data.parquet")
    table.with_columns(pl.col("age").cast(pl.Float64)).write_parquet(tmp_path / "data.parquet")
    with pytest.raises(ReleaseError, match="has another type in column 'age' than Shoal writes"):
        FORM.read(tmp_path, certificate)
    said = certificate.columns.events
    for types in ({**said.types, "age": "secret"}, {"time": "int64"}):
        forged = said.model_copy(update={"types": types})
        columns = certificate.columns.model_copy(update={"events": forged})
        with pytest.raises(ReleaseError):
            FORM.read(tmp_path, certificate.model_copy(update={"columns": columns}))


def test_missing_rows_are_found(tmp_path):
    tables = small()[0]
    certificate = write(tables, tmp_path, "parquet")
    fewer = dataclasses.replace(tables, records=tables.records.head(22))
    assert FORM.findings(fewer, certificate) == ["the data has 22 events in 3 snapshots, release.json says 23 in 3"]


@pytest.mark.parametrize("way", WAYS)
def test_originals_where_they_went_pass(way):
    assert FORM.refuse(*small(way)) is None
    assert refuse_late(small(way)[1], 2) is None
    assert refuse_late(small(way)[1], 1) == "Event position 6 would be published later than a window of 1 allows."


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["dates", "zone"])
def test_originals_of_all_types_pass(way, kind):
    at = times(kind)
    frame = pl.concat([snapshot(at[:1], seed=1), snapshot(at[1:], seed=2)])
    frame = frame.with_columns(pl.col("word").cast(pl.Categorical))
    original = Events(frame, sensitive="result", quasi=QUASI, id="id")
    tables = publish(frame, way, QUASI, l=3)
    assert FORM.refuse(tables, PrivateEvents(original, np.repeat([0, 1], 24))) is None
    assert FORM.refuse(tables, PrivateEvents(original, np.repeat([1, 1], 24))) is not None


def spoiled(frame, row, **changes):
    at = pl.int_range(pl.len()) == row
    return frame.with_columns(pl.when(at).then(pl.lit(v)).otherwise(pl.col(c)).alias(c) for c, v in changes.items())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda t: {"records": spoiled(t.records, 0, age=99)}, "quasi-identifiers of the published snapshot 0"),
        (lambda t: {"records": spoiled(t.records, 22, sex=None)}, "quasi-identifiers of the published snapshot 2"),
        (lambda t: {"counts": spoiled(t.counts, 0, result="z")}, "sensitive values of the published snapshot 0"),
        (lambda t: {"counts": spoiled(t.counts, 0, count=2)}, "two tables disagree"),
        (lambda t: {"records": spoiled(t.records, 0, group=1)}, "two tables disagree"),
        (lambda t: {"records": t.records.head(22)}, "two tables disagree"),
        (
            lambda t: {
                name: getattr(t, name).with_columns(time=pl.lit(99, pl.Int64)) for name in ("records", "counts")
            },
            "quasi-identifiers of a snapshot without originals",
        ),
        (lambda t: {"records": t.records.with_columns(pl.col("age").cast(pl.Float64))}, "have other types"),
        (lambda t: {"records": t.records.with_columns(pl.col("time").cast(pl.Int32))}, "times have another type"),
    ],
)
def test_buckets_of_other_events_are_refused(change, why):
    tables, private = small()
    found = FORM.refuse(dataclasses.replace(tables, **change(tables)), private)
    assert found is not None
    assert any(text in found for text in why.split("|")), found


def test_values_of_another_group_are_refused():
    """The sensitive values of two groups are exchanged: each snapshot still has the right ones."""
    tables, private = small()
    groups = tables.counts.filter(pl.col("time") == 10).group_by("group", maintain_order=True).agg("result").rows()
    a, b = next((g, h) for g, x in groups for h, y in groups if set(x) != set(y) and len(x) == len(y))
    swap = pl.col("group").replace({a: b, b: a})
    counts = tables.counts.with_columns(pl.when(pl.col("time") == 10).then(swap).otherwise(pl.col("group")))
    found = FORM.refuse(dataclasses.replace(tables, counts=counts), private)
    assert found == "The sensitive values of 2 group(s) do not match their records."


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda r: spoiled(r, 0, result="z"), "sensitive values of a coarse record"),
        (lambda r: r.head(22), "sensitive values of a coarse record|no coarse record"),
        (lambda r: r.with_columns(pl.col("age_high") - 1), "no coarse record"),
        (lambda r: r.with_columns(age_low=pl.col("age_low").min(), age_high=pl.col("age_high").max()), "more than one"),
        (lambda r: r.with_columns(sex=pl.lit('["f"]')), "no coarse record"),
        (lambda r: r.with_columns(sex=pl.lit("f")), "not a list"),
        (lambda r: r.with_columns(sex=pl.lit("{}")), "not a list"),
        (lambda r: r.with_columns(sex=pl.lit("[[1]]")), "not a list"),
        (lambda r: r.with_columns(time=pl.lit(99, pl.Int64)), "no coarse record"),
        (lambda r: r.drop("age_low"), "coarse columns"),
    ],
)
def test_coarse_records_of_other_events_are_refused(change, why):
    tables, private = small("generalised")
    found = FORM.refuse(EventTables(change(tables.records), None, tables.quasi, tables.sensitive), private)
    assert found is not None
    assert any(text in found for text in why.split("|")), found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("went", "why"),
    [
        (lambda w: w[:-1], "does not say in which snapshot"),
        (lambda w: w.astype(float), "does not say in which snapshot"),
        (lambda w: np.where(w == 2, 3, w), "does not say in which snapshot"),
        (lambda w: np.where(np.arange(24) == 9, 0, w), "Event position 9 would be published before it happened"),
        (lambda w: np.full(24, -1), "suppresses all events"),
        (lambda w: np.where(np.arange(24) == 15, 1, w), "originals|coarse record"),
        (lambda w: np.where(np.arange(24) == 6, 2, w), "originals|coarse record"),
    ],
)
def test_other_places_than_published_are_refused(way, went, why):
    tables, private = small(way)
    found = FORM.refuse(tables, PrivateEvents(private.original, went(private.snapshots)))
    assert found is not None
    assert any(text in found for text in why.split("|")), found


def test_other_columns_are_refused():
    tables, private = small()
    other = Events(private.original.frame, time="day", sensitive="result", quasi=["age"])
    assert "columns are not those" in FORM.refuse(tables, PrivateEvents(other, private.snapshots))


def test_reasons_hold_no_values():
    tables, private = small()
    spoils = [
        dataclasses.replace(tables, records=spoiled(tables.records, 0, age=987654)),
        dataclasses.replace(tables, counts=spoiled(tables.counts, 0, result="secret")),
    ]
    for one in spoils:
        why = FORM.refuse(one, private)
        assert "987654" not in why
        assert "secret" not in why
        assert "\n" not in why


def test_the_instants_of_a_release_are_told():
    at = times("zone")
    tables = publish(pl.concat([snapshot(at[:1]), snapshot(at[1:])]), "bucketised", QUASI)
    assert tables.timezone == "Europe/Berlin"
    assert [str(t) for t in tables.times] == ["2024-10-27T00:30:00.000000", "2024-10-27T01:30:00.000000"]
    assert small()[0].times.tolist() == [10, 11, 12]
    assert json.dumps(small()[0].times.tolist())


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("way", WAYS)
def test_a_release_verifies_from_its_folder_alone(tmp_path, way, file_format):
    tables, private = small(way)
    (tmp_path / "release.json").write_bytes(write(tables, tmp_path, file_format, private).as_bytes())
    assert verify(tmp_path).findings == ()
    assert same(load_release(tmp_path).published, tables)
    assert LDiversity(2).check(load_release(tmp_path).published).holds


@pytest.mark.parametrize(
    ("name", "change", "finding"),
    [
        ("sensitive", lambda t: spoiled(t, 1, count=2), "the group of the event in data.parquet row"),
        ("sensitive", lambda t: spoiled(t, 0, group=1), "measured 0.0, required 2"),
        ("sensitive", lambda t: spoiled(t, 0, result=t["result"][1]), "the group of the event in data.parquet row 0"),
        ("data", lambda t: spoiled(t, 22, group=0), "measured 0.0, required 2"),
        ("data", lambda t: spoiled(t, 0, time=12), "measured 0.0, required 2"),
        ("data", lambda t: t.head(22), "the data has 22 events"),
        ("data", lambda t: t.reverse(), "rows are not sorted"),
    ],
)
def test_what_was_changed_is_found_even_under_a_new_seal(tmp_path, name, change, finding):
    tables, private = small()
    (tmp_path / "release.json").write_bytes(write(tables, tmp_path, "parquet", private).as_bytes())
    forge(tmp_path, f"{name}.parquet", change)
    outcome = verify(tmp_path)
    assert not outcome.holds
    assert any(finding in found for found in outcome.findings), outcome.findings


def test_a_coarse_record_moved_to_another_group_is_found(tmp_path):
    tables, private = small("generalised")
    (tmp_path / "release.json").write_bytes(write(tables, tmp_path, "parquet", private).as_bytes())
    forge(tmp_path, "data.parquet", lambda t: spoiled(t, 0, age_high=1000))
    outcome = verify(tmp_path)
    assert any("l-diversity does not hold: measured 1.0, required 2" in found for found in outcome.findings)
