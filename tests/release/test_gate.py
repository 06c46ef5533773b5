import dataclasses
import fcntl
import json
import os
import stat

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from forgery import release
from shoal import AggregateRule, KAnonymity, Microaggregation, Panel, load_release, verify
from shoal.errors import GuaranteeNotMetError, ParameterError, ReleaseError
from shoal.model import Candidate, Private, Recipe, Score
from shoal.release import values
from small_release import K, small_panel


def sabotage(candidate, row=4, instant=2):
    """The same candidate with one published value moved by the smallest step."""
    values = candidate.values.copy()
    values[row, instant] = np.nextafter(values[row, instant], np.inf)
    return dataclasses.replace(candidate, published=Panel(values, times=candidate.published.times))


def failing(*arguments):
    raise OSError(28, "No space left on device")


def test_a_release_has_its_files_and_verifies(out):
    assert sorted(p.name for p in out.iterdir()) == ["data.parquet", "datapackage.json", "release.json", "report.html"]
    assert verify(out).holds


def test_the_gate_refuses_one_changed_value_and_leaves_nothing(tmp_path, candidate):
    with pytest.raises(GuaranteeNotMetError, match=r"k-anonymity does not hold: measured 1, required 3, .* position 4"):
        release(sabotage(candidate), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_gate_does_not_believe_group_labels(tmp_path, candidate):
    lying = dataclasses.replace(sabotage(candidate), private=candidate.private)
    with pytest.raises(GuaranteeNotMetError):
        release(lying, tmp_path / "out")


def test_a_further_guarantee_can_be_required(tmp_path, candidate):
    with pytest.raises(GuaranteeNotMetError, match="aggregate-rule does not hold: measured 3, required 15"):
        release(candidate, tmp_path / "out", require=[AggregateRule()])
    assert not (tmp_path / "out").exists()
    release(candidate, tmp_path / "out", require=[AggregateRule(size=3, share=1.0)])
    certificate = load_release(tmp_path / "out").certificate
    assert [g["checked_by"] for g in certificate["guarantees"]] == ["anyone", "publisher"]


def test_what_was_written_is_checked_again_before_it_appears(tmp_path, candidate, monkeypatch):
    def spoil(panel, names, path, file_format):
        write(sabotage(candidate).published, names, path, file_format)

    write = values.write_values
    monkeypatch.setattr(values, "write_values", spoil)
    with pytest.raises(GuaranteeNotMetError, match="The written release does not verify: k-anonymity does not hold"):
        release(candidate, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_writing_leaves_nothing(tmp_path, candidate):
    def broken(certificate):
        raise RuntimeError("no page")

    with pytest.raises(RuntimeError, match="no page"):
        release(candidate, tmp_path / "out", page=broken)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_in_one_line(tmp_path, candidate, monkeypatch):
    monkeypatch.setattr(values, "write_values", failing)
    with pytest.raises(ReleaseError, match="No space left on device"):
        release(candidate, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_identifiers_row_order_and_labels_do_not_leave(out, candidate):
    for path in out.iterdir():
        assert b"meter-" not in path.read_bytes()
    published = load_release(out).published
    # The pseudonyms are random, so the odds that 14 rows keep their order are 1 in 87 thousand million.
    assert not np.array_equal(published.values, candidate.values)
    assert sorted(map(tuple, published.values)) == sorted(map(tuple, candidate.values))
    metadata = pq.read_metadata(out / "data.parquet").metadata
    assert set(metadata) == {b"ARROW:schema"}


def test_two_releases_of_the_same_candidate_share_no_pseudonym(tmp_path, candidate):
    names = [set(release(candidate, tmp_path / str(i)).published.ids) for i in range(2)]
    assert not names[0] & names[1]


def test_the_table_is_sorted_by_pseudonym_and_time(out):
    table = pl.read_parquet(out / "data.parquet")
    assert table.columns == ["id", "time", "value"]
    assert table.select("id", "time").equals(table.select("id", "time").sort("id", "time"))


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize(
    "panel",
    [
        small_panel(),
        small_panel(times=None),
        small_panel(timezone="Europe/Bratislava"),
        small_panel(timezone="+01:00"),
        small_panel(values=np.random.default_rng(1).normal(size=(14, 6, 2)), channels=["kwh", "time"]),
        small_panel(values=np.random.default_rng(1).normal(size=(14, 6, 3)), channels=["id", "value_id", 'a "b", c']),
        small_panel(values=np.where(np.random.default_rng(2).random((14, 6)) < 0.3, np.nan, 1 / 3)),
        small_panel(values=np.random.default_rng(3).normal(size=(14, 1)), times=None),
        small_panel(values=np.random.default_rng(3).normal(size=(14, 6)) * 1e-300),
    ],
    ids=["plain", "no times", "zone", "offset", "channels", "odd names", "gaps", "one instant", "tiny"],
)
def test_what_is_loaded_is_what_was_published_bit_for_bit(tmp_path, panel, file_format):
    published = release(Microaggregation(k=K).anonymize(panel), tmp_path / "out", format=file_format).published
    loaded = load_release(tmp_path / "out").published
    assert_array_equal(loaded.values.view(np.uint64), published.values.view(np.uint64))
    assert loaded.ids.tolist() == published.ids.tolist()
    assert_array_equal(loaded.times, panel.times)
    assert (loaded.timezone, loaded.channels) == (panel.timezone, panel.channels)
    assert verify(tmp_path / "out").holds


def test_keyed_pseudonyms_are_stable_and_the_key_stays_private(tmp_path, candidate):
    private = tmp_path / "private"
    first = release(candidate, tmp_path / "a", pseudonyms="keyed", private=private)
    second = release(candidate, tmp_path / "b", pseudonyms="keyed", private=private)
    assert first.published.ids.tolist() == second.published.ids.tolist()
    for name in ("data.parquet", "release.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    key = (private / "pseudonym.key").read_bytes()
    assert len(key) == 64
    assert not any(key in path.read_bytes() for path in (tmp_path / "a").iterdir())
    other = release(candidate, tmp_path / "c", pseudonyms="keyed", private=tmp_path / "other")
    assert not set(other.published.ids) & set(first.published.ids)


def test_the_private_folder_says_who_is_who_to_its_owner_alone(tmp_path, candidate):
    private = tmp_path / "private"
    published = release(candidate, tmp_path / "out", private=private).published
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in private.iterdir()} == {0o600}
    sha256 = load_release(tmp_path / "out").certificate["files"]["data.parquet"]["sha256"]
    table = pl.read_parquet(private / f"pseudonyms-{sha256[:16]}.parquet")
    rows = {name: row for row, name in enumerate(published.ids)}
    for position, (name, group) in enumerate(zip(table["pseudonym"], table["group"], strict=True)):
        assert_array_equal(published.values[rows[name]], candidate.values[position])
        assert group == candidate.private.groups[position]


def test_maps_of_earlier_releases_are_kept_also_when_a_later_one_fails(tmp_path, candidate, monkeypatch):
    private = tmp_path / "private"
    release(candidate, tmp_path / "a", private=private)
    release(candidate, tmp_path / "b", private=private)
    kept = sorted(p.name for p in private.glob("pseudonyms-*.parquet"))
    assert len(kept) == 2
    monkeypatch.setattr(values, "write_values", failing)
    with pytest.raises(ReleaseError):
        release(candidate, tmp_path / "c", private=private)
    assert sorted(p.name for p in private.glob("pseudonyms-*.parquet")) == kept


def test_a_candidate_that_lost_its_subjects_is_refused(tmp_path):
    values = np.repeat([[1.0, 2.0], [3.0, 4.0]], 3, axis=0)
    original = Panel(values, subjects=["a"] * 3 + ["b"] * 3)
    forgetful = Candidate(Panel(values), KAnonymity(3), Recipe("test", {}), Private(original, np.repeat([0, 1], 3)))
    with pytest.raises(GuaranteeNotMetError, match="subjects do not match the original panel"):
        release(forgetful, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_certificate_of_a_tiny_panel_cannot_be_undone(tmp_path, candidate):
    scores = {"information-loss": (Score(0.123456789, "lower", (0.0, 1.0)), "loss")}
    found = release(candidate, tmp_path / "out", scores=scores)
    assert found.certificate["input"]["panel_sha256"] is None
    assert found.certificate["utility"] == {}
    assert found.measured["utility"]["information-loss"]["value"] == 0.123


def test_a_seeded_release_is_repeatable_and_says_it_is_insecure(tmp_path, candidate):
    for name in "ab":
        release(candidate, tmp_path / name, insecure_seed=7)
    assert (tmp_path / "a" / "data.parquet").read_bytes() == (tmp_path / "b" / "data.parquet").read_bytes()
    assert json.loads((tmp_path / "a" / "release.json").read_text())["pseudonyms"] == "insecure"


def test_the_certificate_names_counts_and_digests(out, candidate):
    certificate = load_release(out).certificate
    assert certificate["counts"] | {"group_sizes": {}} == {
        "series": 14,
        "subjects": 14,
        "instants": 6,
        "channels": 1,
        "missing": 0,
        "grouped": "series",
        "groups": 4,
        "smallest_group": 3,
        "largest_group": 4,
        "group_sizes": {},
    }
    assert certificate["counts"]["group_sizes"] == {"3": 2, "4": 2}
    assert certificate["method"]["parameters"] == candidate.recipe.parameters
    assert certificate["method"]["parameters"]["k"] == 3
    assert certificate["time"] == {
        "first": "2024-01-01T00:00:00.000000",
        "last": "2024-01-01T05:00:00.000000",
        "step": "1h",
        "timezone": None,
    }


@pytest.mark.parametrize(
    ("length", "unit", "written"),
    [(15, "m", "15min"), (2, "h", "2h"), (7, "D", "7d"), (90, "s", "90s"), (250, "ms", "250000us")],
)
def test_the_certificate_writes_the_step_as_people_do(tmp_path, length, unit, written):
    times = np.datetime64("2024-01-01T00:00") + np.arange(6) * np.timedelta64(length, unit)
    candidate = Microaggregation(k=K).anonymize(small_panel(times=times))
    assert release(candidate, tmp_path / "out").certificate["time"]["step"] == written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xlsx"}, "format must be 'parquet' or 'csv'"),
        ({"pseudonyms": "stars", "private": "p"}, "pseudonyms must be 'random' or 'keyed'"),
        ({"pseudonyms": "keyed"}, "Keyed pseudonyms need a private folder"),
        ({"pseudonyms": "keyed", "private": "p", "insecure_seed": 1}, "Keyed pseudonyms take no seed"),
    ],
)
def test_impossible_options_are_refused(tmp_path, candidate, options, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=message):
        release(candidate, "out", **options)
    assert not (tmp_path / "out").exists()


class TestTarget:
    def test_an_existing_release_is_kept_unless_told_otherwise(self, out, candidate):
        before = (out / "data.parquet").read_bytes()
        with pytest.raises(ReleaseError, match=r"exists\. Choose another folder, or replace it with --overwrite"):
            release(candidate, out)
        assert (out / "data.parquet").read_bytes() == before
        release(candidate, out, overwrite=True)
        assert (out / "data.parquet").read_bytes() != before
        assert [p.name for p in out.parent.iterdir()] == ["out"]

    def test_a_refused_candidate_leaves_the_earlier_release_alone(self, out, candidate):
        before = (out / "data.parquet").read_bytes()
        with pytest.raises(GuaranteeNotMetError):
            release(sabotage(candidate), out, overwrite=True)
        assert (out / "data.parquet").read_bytes() == before

    def test_a_folder_that_is_no_release_is_never_replaced(self, tmp_path, candidate):
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "chapter").write_text("years of work")
        with pytest.raises(ReleaseError, match="holds something other than a release"):
            release(candidate, tmp_path / "thesis", overwrite=True)
        assert (tmp_path / "thesis" / "chapter").exists()

    def test_a_release_with_something_else_in_it_is_never_replaced(self, out, candidate):
        (out / "thesis.txt").write_text("years of work")
        with pytest.raises(ReleaseError, match="holds something other than a release"):
            release(candidate, out, overwrite=True)
        (out / "thesis.txt").unlink()
        (out / "release.json").write_text("{}")
        with pytest.raises(ReleaseError, match="holds something other than a release"):
            release(candidate, out, overwrite=True)

    def test_of_two_writers_the_later_one_is_refused(self, tmp_path, candidate):
        def meanwhile(certificate):
            release(candidate, tmp_path / "out")
            return "page"

        with pytest.raises(ReleaseError, match="Another release was written there in the meantime"):
            release(candidate, tmp_path / "out", page=meanwhile)
        assert verify(tmp_path / "out").holds
        assert [p.name for p in tmp_path.iterdir()] == ["out"]

    def test_an_empty_folder_is_used_also_when_it_is_here(self, tmp_path, candidate, monkeypatch):
        (tmp_path / "out").mkdir()
        monkeypatch.chdir(tmp_path / "out")
        release(candidate, ".")
        assert verify(tmp_path / "out").holds

    def test_what_a_killed_run_left_behind_is_swept_but_a_living_one_is_not(self, tmp_path, candidate):
        dead, alive = (tmp_path / f".out.partial-{name}" for name in ("dead", "alive"))
        for folder in (dead, alive):
            folder.mkdir()
        descriptor = os.open(alive, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            release(candidate, tmp_path / "out")
        finally:
            os.close(descriptor)
        assert sorted(p.name for p in tmp_path.iterdir()) == [alive.name, "out"]

    def test_a_file_in_the_way_is_told(self, tmp_path, candidate):
        (tmp_path / "out").write_text("")
        with pytest.raises(ReleaseError, match="exists and is not a folder"):
            release(candidate, tmp_path / "out")

    def test_a_place_that_cannot_be_written_is_told(self, tmp_path, candidate):
        (tmp_path / "file").write_text("")
        with pytest.raises(ReleaseError, match="Cannot write beside"):
            release(candidate, tmp_path / "file" / "out")

    def test_the_private_folder_may_not_lie_in_the_release(self, tmp_path, candidate):
        with pytest.raises(ReleaseError, match="must not be inside the release"):
            release(candidate, tmp_path / "out", private=tmp_path / "out" / "private")

    def test_a_private_folder_others_can_read_is_refused(self, tmp_path, candidate):
        (tmp_path / "private").mkdir(mode=0o755)
        with pytest.raises(ReleaseError, match="can be read by others"):
            release(candidate, tmp_path / "out", private=tmp_path / "private")

    def test_a_private_folder_that_cannot_be_made_is_told(self, tmp_path, candidate):
        (tmp_path / "file").write_text("")
        with pytest.raises(ReleaseError, match="Cannot make the private folder"):
            release(candidate, tmp_path / "out", private=tmp_path / "file" / "private")


def test_the_weaker_form_is_asked_for_by_name(tmp_path):
    panel = small_panel(subjects=np.repeat(np.arange(7), 2))
    candidate = Microaggregation(k=K).anonymize(panel)
    by_series = dataclasses.replace(candidate, guarantee=KAnonymity(K, per="series"))
    release(by_series, tmp_path / "out")
    outcome = verify(tmp_path / "out")
    assert outcome.holds
    assert outcome.words == "holds"
    assert outcome.notes == ("the promise counts series, and subjects have several: a crowd may belong to one subject",)


def test_what_the_folder_does_not_show_is_not_said_to_hold(tmp_path):
    candidate = Microaggregation(k=K).anonymize(small_panel(subjects=np.repeat(np.arange(7), 2)))
    release(candidate, tmp_path / "out")
    outcome = verify(tmp_path / "out")
    assert (outcome.outcome, outcome.holds) == ("not judged", False)
    assert outcome.not_judged == ("k-anonymity in subjects",)
    assert outcome.words == "NOT JUDGED: k-anonymity in subjects; the files are intact"
    ((name, verdict),) = outcome.verdicts
    assert (name, verdict.outcome, verdict.holds) == ("k-anonymity", "not judged", False)
    assert verdict.note.startswith("subjects cannot be distinguished here; counted in series it holds: measured ")
    assert outcome.notes == (
        "14 series belong to 7 subjects, and the folder does not say which belong together: that crowds are as large "
        "in subjects is the publisher's word",
    )


def test_profiles_carry_the_number_of_their_subjects(tmp_path):
    panel = small_panel(subjects=np.repeat(np.arange(7), 2))
    release(Microaggregation(k=K, form="profiles").anonymize(panel), tmp_path / "out")
    outcome = verify(tmp_path / "out")
    assert outcome.words == "holds"
    assert not outcome.notes
