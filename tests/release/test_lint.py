"""Every finding of the lint on a release that really has it, and ordinary releases without any."""

import dataclasses
import os

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from lint_examples import JUDGED, as_measured, meters, refused, release
from shoal import KP, NLK, Events, Microaggregation, Panel, Reposition, load_release, simulate, verify
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.model import Role, Roles
from shoal.release import events, files, pseudonyms, values
from shoal.release.lint import RULES, Finding
from small_release import K, small_panel
from test_contracts import example, methods_of

ORDINARY = {
    "values": lambda: Microaggregation(k=K).anonymize(small_panel()),
    "subjects": lambda: Microaggregation(k=K).anonymize(small_panel(subjects=np.repeat(np.arange(7), 2))),
    "profiles": lambda: Microaggregation(k=K, form="profiles").anonymize(meters(60)),
    "nlk": lambda: NLK(n=1, l=3, k=4).anonymize(meters(30)),
    "kp": lambda: KP(k=6, p=3).anonymize(meters(40)),
    "sensitive": lambda: KP(k=6, p=3, l=2).anonymize(
        small_panel(sensitive={"age": np.arange(14), "ill": list("abcdefg" * 2)})
    ),
    "buckets": lambda: repositioned(10),
    "coarse": lambda: repositioned(5, publish="generalised"),
    "whole numbers": lambda: Microaggregation(k=K).anonymize(
        Panel(np.random.default_rng(0).integers(0, 9, (40, 8)).astype(float))
    ),
}


def repositioned(days, **more):
    return Reposition(l=3, window=3, seed=1, **more).anonymize(simulate.events(days=days, per_day=30, seed=3))


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("kind", ORDINARY)
def test_an_ordinary_release_has_no_finding(tmp_path, kind, file_format):
    candidate = ORDINARY[kind]()
    certificate = release(candidate, tmp_path / "out", format=file_format).certificate
    assert "accepted" not in certificate
    assert not verify(tmp_path / "out").findings


@pytest.mark.parametrize("cls", methods_of("series"), ids=lambda cls: cls.name)
def test_whatever_a_method_makes_of_whole_meters_has_no_finding(tmp_path, cls):
    candidate = example(cls).anonymize(simulate.meters(40, days=3, seed=1))
    assert "accepted" not in release(candidate, tmp_path / "out", **JUDGED).certificate


def test_series_as_they_were_measured_pass_where_nothing_singles_out(tmp_path):
    release(as_measured(meters()), tmp_path / "out", **JUDGED)


class TestIdentifiers:
    @pytest.mark.parametrize("numbered", [False, True])
    def test_identifiers_in_the_place_of_pseudonyms(self, tmp_path, monkeypatch, numbered):
        panel = small_panel(ids=None) if numbered else small_panel()
        monkeypatch.setattr(pseudonyms, "keyed_names", lambda key, ids: [str(i) for i in ids])
        refused(Microaggregation(k=K).anonymize(panel), tmp_path, "surviving-identifiers: .* 14 of 14 names are ident")

    def test_names_that_were_not_drawn_for_the_release(self, tmp_path, candidate, monkeypatch):
        write = values.write_values

        def renamed(panel, names, path, file_format):
            write(panel, [f"{i:016x}" for i in np.random.default_rng(1).permutation(len(names))], path, file_format)

        monkeypatch.setattr(values, "write_values", renamed)
        refused(candidate, tmp_path, "14 of 14 names are not the pseudonyms drawn for it")

    @pytest.mark.parametrize("column", [[f"house {i}" for i in range(14)], list(range(14))], ids=["words", "numbers"])
    def test_a_sensitive_column_that_repeats_the_subjects(self, tmp_path, column):
        panel = small_panel(subjects=column, sensitive={"account": np.array(column)})
        candidate = KP(k=6, p=3, l=2).anonymize(panel)
        if candidate.published.sensitive["account"].tolist() != column:
            published = dataclasses.replace(candidate.published, sensitive={"account": np.array(column)})
            candidate = dataclasses.replace(candidate, published=published)
        message = refused(candidate, tmp_path, "surviving-identifiers: .*column 0 holds 14 identifier")
        assert "house 3" not in message

    def test_a_column_tagged_identifier_is_sought_too(self, tmp_path):
        cities = np.array([f"Post {i}" for i in range(14)])
        roles = Roles({"post": Role.IDENTIFIER})
        panel = small_panel(attributes={"post": cities}, sensitive={"place": cities}, roles=roles)
        candidate = KP(k=6, p=3, l=2).anonymize(panel)
        refused(candidate, tmp_path, "surviving-identifiers: .*column 0 holds 14")

    def test_an_identifier_among_the_quasi_identifiers_of_events(self, tmp_path):
        frame = pl.DataFrame(
            {
                "time": np.repeat([0, 1], 6),
                "name": [f"person {i}" for i in range(12)],
                "same": [f"person {i}" for i in range(12)],
                "result": list("abc") * 4,
            }
        )
        events = Events(frame, sensitive="result", quasi=["same"], id="name")
        for publish in ("bucketised", "generalised"):
            candidate = Reposition(l=2, window=1, seed=1, publish=publish).anonymize(events)
            refused(candidate, tmp_path, "surviving-identifiers: .*column 0 holds 12 identifier")

    def test_ages_that_are_also_numbers_of_households_pass(self, tmp_path):
        rng = np.random.default_rng(0)
        panel = small_panel(ids=range(20, 34), sensitive={"age": rng.permutation(np.arange(20, 34))})
        assert release(KP(k=6, p=3, l=2).anonymize(panel), tmp_path / "out")

    def test_an_identifier_as_the_name_of_a_column(self, tmp_path):
        panel = small_panel(
            values=np.ones((14, 6, 2)), channels=["meter-3", "other"], ids=[f"meter_{i}" for i in range(14)]
        )
        refused(Microaggregation(k=K).anonymize(panel), tmp_path, r"1 column\(s\) are named like one", format="csv")

    def test_an_identifier_in_the_metadata_of_a_file(self, tmp_path, candidate, monkeypatch):
        spoil_parquet(monkeypatch, {"owner": "of meter-3, indeed"})
        message = refused(candidate, tmp_path, "1 are in the metadata of files", accept=["file-metadata"])
        assert "meter-3" not in message


class TestRowOrder:
    def test_names_that_count_upwards(self, tmp_path, candidate, monkeypatch):
        monkeypatch.setattr(pseudonyms, "keyed_names", lambda key, ids: [f"{i:016x}" for i in range(len(list(ids)))])
        refused(candidate, tmp_path, "row-order: The 14 rows follow the order of the originals")

    @pytest.mark.parametrize("order", [np.arange(60)[::-1], np.roll(np.arange(60), 30)], ids=["reversed", "rotated"])
    def test_old_neighbours_stay_neighbours(self, tmp_path, monkeypatch, order):
        monkeypatch.setattr(pseudonyms, "keyed_names", lambda key, ids: [f"{i:016x}" for i in order])
        refused(as_measured(meters(60)), tmp_path, "row-order", **JUDGED)

    def test_profiles_in_the_order_of_the_groups_or_of_their_first_series(self, tmp_path, monkeypatch):
        candidate = Microaggregation(k=K, form="profiles").anonymize(meters(60))
        n = candidate.published.n_groups
        first = [int((candidate.private.groups == g).argmax()) for g in range(n)]
        for order in (np.arange(n), np.argsort(np.argsort(first))):
            monkeypatch.setattr(pseudonyms, "keyed_names", lambda key, ids, order=order: [f"{i:016x}" for i in order])
            refused(candidate, tmp_path, f"row-order: The {n} rows")

    def test_groups_of_events_numbered_as_they_arrived(self, tmp_path):
        rng = np.random.default_rng(0)
        n, days = 300, 10
        frame = pl.DataFrame(
            {"time": np.repeat(np.arange(days), 30), "age": rng.permutation(n), "result": np.resize(list("abcde"), n)}
        )
        candidate = Reposition(l=3, window=1, seed=1).anonymize(Events(frame, sensitive="result", quasi=["age"]))
        release(candidate, tmp_path / "honest")
        arrival = {age: place for place, age in enumerate(frame["age"])}
        came = candidate.published.records.with_columns(came=pl.col("age").replace_strict(arrival))
        number = (
            came.group_by("time", "group")
            .agg(pl.col("came").min())
            .with_columns(pl.col("came").rank("ordinal").over("time").cast(pl.Int64).alias("number") - 1)
        )

        def renumbered(table):
            joined = table.join(number, on=["time", "group"]).with_columns(group=pl.col("number"))
            return joined.select(table.columns).sort(pl.all())

        tables = candidate.published
        published = dataclasses.replace(tables, records=renumbered(tables.records), counts=renumbered(tables.counts))
        with pytest.raises(GuaranteeNotMetError, match="row-order: The numbers of groups follow the order in which ev"):
            release(dataclasses.replace(candidate, published=published), tmp_path / "out")


def spoil_parquet(monkeypatch, notes, **options):
    """Written by the same library, with something beside the rows."""
    write = files.write_blocks

    def spoiled(blocks, path, file_format):
        write(blocks, path, file_format)
        table = pq.read_table(path)
        fields = options.get("fields")
        schema = table.schema if fields is None else table.schema.set(2, table.schema.field(2).with_metadata(fields))
        pq.write_table(table.cast(schema).replace_schema_metadata(notes), path)

    monkeypatch.setattr(values, "write_blocks", spoiled)


class TestFileMetadata:
    def test_a_note_in_a_parquet_file(self, tmp_path, candidate, monkeypatch):
        spoil_parquet(monkeypatch, {"made on": "the laptop"})
        message = refused(candidate, tmp_path, r"file-metadata: The files carry 1 note\(s\) in Parquet metadata")
        assert "laptop" not in message

    def test_a_note_in_a_field(self, tmp_path, candidate, monkeypatch):
        spoil_parquet(monkeypatch, None, fields={"unit": "kWh"})
        refused(candidate, tmp_path, r"file-metadata: The files carry 1 note\(s\)")

    def test_a_file_of_another_writer(self, tmp_path, candidate, monkeypatch):
        write = values.write_values

        def other(panel, names, path, file_format):
            write(panel, names, path, file_format)
            duckdb.from_arrow(pq.read_table(path)).write_parquet(str(path))

        monkeypatch.setattr(values, "write_values", other)
        with pytest.raises(GuaranteeNotMetError, match=r"not verify: data\.parquet has statistics of column 'id' that"):
            release(candidate, tmp_path / "out")

    def test_a_byte_order_mark_before_events(self, tmp_path, monkeypatch):
        write = events.write_table

        def marked(frame, path, file_format):
            write(frame, path, file_format)
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

        monkeypatch.setattr(events, "write_table", marked)
        candidate = Reposition(l=3, window=3, seed=1).anonymize(simulate.events(days=3, per_day=30, seed=3))
        with pytest.raises(GuaranteeNotMetError, match=r"not verify: data\.csv row 0 .* is not written as Shoal wri"):
            release(candidate, tmp_path / "out", format="csv")

    def test_a_date_of_another_file(self, tmp_path, candidate, monkeypatch):
        write = values.write_values

        def dated(panel, names, path, file_format):
            write(panel, names, path, file_format)
            os.utime(path, (1_700_000_000, 1_700_000_000))

        monkeypatch.setattr(values, "write_values", dated)
        refused(candidate, tmp_path, r"file-metadata: The files carry 1 file\(s\) with a modification date")


class TestAccepting:
    def spoiled(self):
        odd = meters().values.copy()
        odd[3, 2] = np.nan
        odd[7] = odd[7].round(1) + 0.00001
        return as_measured(Panel(odd))

    def test_accepted_findings_are_on_record_and_the_release_verifies(self, tmp_path):
        names = ["gap-patterns", "decimal-precision", "row-order"]
        published = release(self.spoiled(), tmp_path / "out", accept=names, **JUDGED)
        # Only what was found, in the order of the rules.
        assert published.certificate["accepted"] == ["decimal-precision", "gap-patterns"]
        assert load_release(tmp_path / "out").certificate == published.certificate
        outcome = verify(tmp_path / "out")
        assert not outcome.findings
        assert "the publisher accepted what the lint found: decimal-precision, gap-patterns" in outcome.notes

    def test_what_is_not_accepted_still_refuses(self, tmp_path):
        message = refused(self.spoiled(), tmp_path, "gap-patterns", accept=["decimal-precision"], **JUDGED)
        assert "Or accept it by name: --accept gap-patterns. Nothing was written." in message

    def test_all_findings_are_named_at_once(self, tmp_path):
        refused(self.spoiled(), tmp_path, r"decimal-precision: .* \(1 more: gap-patterns\) Nothing was", **JUDGED)

    def test_a_misspelt_name_is_refused(self, tmp_path, candidate):
        with pytest.raises(
            ParameterError, match=r"There is no finding 'gaps' to accept\. Findings are: surviving-ident"
        ):
            release(candidate, tmp_path / "out", accept=["gaps"])

    def test_a_certificate_edited_to_hide_what_was_accepted_is_found_out(self, tmp_path):
        release(self.spoiled(), tmp_path / "out", accept=list(RULES), **JUDGED)
        path = tmp_path / "out" / "release.json"
        path.write_text(path.read_text().replace('"gap-patterns"', '"decimal-precision"'))
        assert not verify(tmp_path / "out").holds


def test_a_finding_says_what_and_the_way_out():
    assert str(Finding("name", "Found.", "Do.")) == "name: Found. Do."
