"""The gate with a candidate in shards: the same door, and nothing half-written."""

import json
import stat
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest

from forgery import release
from shard_examples import (
    K,
    all_of,
    fail_with_data,
    limited,
    many_parts,
    replace_values,
    shift_one_value,
    small_candidate,
    small_panel,
    small_shards,
    spoilt,
)
from shoal import (
    KP,
    AggregateRule,
    Microaggregation,
    NoiseAddition,
    Panel,
    SamplingWithFictives,
    TimeSlicing,
    load_release,
    publish,
    verify,
)
from shoal.attacks import KnownPoints
from shoal.engines import Local, Memory, in_shards
from shoal.engines.work_errors import WorkFailedError
from shoal.errors import GuaranteeNotMetError, ParameterError, ReleaseError
from shoal.guarantees import KAnonymity
from shoal.model.joined import join_candidates
from shoal.process.private_map import match, read_map
from shoal.release import ReleaseOptions, written_parts
from shoal.release.agreement import Agreement
from shoal.utility import InformationLoss


@pytest.fixture(autouse=True)
def _many_parts(monkeypatch):
    many_parts(monkeypatch)


@pytest.fixture
def candidate():
    return small_candidate()


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class Visits:
    """Who goes to the shards of a store, and how often."""

    def __init__(self, monkeypatch, store):
        self.reduce = self.map = self.gather = 0
        for name in ("reduce", "map", "gather"):
            monkeypatch.setattr(type(store), name, self.counted(name, getattr(type(store), name)))

    def counted(self, name, plain):
        def call(*given):
            setattr(self, name, getattr(self, name) + 1)
            return plain(*given)

        return call


class TestVisits:
    """Shards are read from disks, so each is visited once to check and measure it, and once to write it."""

    def test_check_and_measures_share_a_visit_and_parts_of_one_shard_do_not_travel(
        self, candidate, tmp_path, monkeypatch
    ):
        visits = Visits(monkeypatch, candidate.store)
        made = publish(candidate, tmp_path / "out", measures={"loss again": InformationLoss()})
        assert (visits.reduce, visits.map, visits.gather) == (1, 1, 0)
        told = made.measured["utility"]  # few series: figures are for the publisher alone
        assert told["loss again"] == told["information-loss"]
        assert len(list((tmp_path / "out").glob("data-*.parquet"))) == candidate.n_shards

    def test_where_it_is_too_much_together_the_check_still_comes_first(self, candidate, tmp_path, monkeypatch):
        expected = publish(candidate, tmp_path / "expected", insecure_seed=1)
        with monkeypatch.context() as patched:
            limited(patched, candidate.store, 1)
            publish(candidate, tmp_path / "out", insecure_seed=1)
            with pytest.raises(GuaranteeNotMetError):
                publish(spoilt(candidate, shift_one_value), tmp_path / "spoilt")
        assert contents(tmp_path / "out") == contents(expected.path)
        assert not (tmp_path / "spoilt").exists()

    def test_parts_of_several_shards_are_brought_together(self, candidate, tmp_path, monkeypatch):
        many_parts(monkeypatch, 2048)
        visits = Visits(monkeypatch, candidate.store)
        publish(candidate, tmp_path / "out")
        assert (visits.reduce, visits.map, visits.gather) == (1, 0, 1)
        assert 1 < len(list((tmp_path / "out").glob("data-*.parquet"))) < candidate.n_shards

    def test_a_shard_that_does_not_check_is_not_measured(self, candidate, tmp_path, monkeypatch):
        measured = []
        plain = InformationLoss.tally
        monkeypatch.setattr(InformationLoss, "tally", lambda *given: measured.append(1) or plain(*given))
        with pytest.raises(GuaranteeNotMetError):
            publish(spoilt(candidate, shift_one_value), tmp_path / "out")
        assert len(measured) == candidate.n_shards - 1
        assert not list(tmp_path.iterdir())


class TestWhatIsWritten:
    @pytest.mark.parametrize("form", ["parquet", "csv"])
    def test_every_series_is_in_one_part_under_a_fresh_name(self, candidate, tmp_path, form):
        made = release(candidate, tmp_path / "out", format=form)
        parts = sorted((tmp_path / "out").glob(f"data-*.{form}"))
        assert len(parts) > 3
        assert [path.name for path in parts] == [f"data-{n:05}.{form}" for n in range(len(parts))]
        read = pl.read_parquet if form == "parquet" else pl.read_csv
        names = [read(path)["id"].unique(maintain_order=True).to_list() for path in parts]
        assert all(own == sorted(own) for own in names)
        everybody = [name for own in names for name in own]
        assert len(set(everybody)) == len(everybody) == 120
        assert not set(everybody) & {*small_panel().ids}
        expected = join_candidates(all_of(candidate)).values
        assert sorted(map(tuple, made.values.tolist())) == sorted(map(tuple, expected.tolist()))
        assert verify(tmp_path / "out").outcome == "holds"

    def test_a_part_holds_whole_shards_dealt_by_chance(self, candidate, tmp_path):
        shard_of = {name: at for at, one in enumerate(all_of(candidate)) for name in one.private.original.ids}
        in_order = 0
        for number in range(6):  # one in 24 is in order by chance
            out, keep = tmp_path / f"out {number}", tmp_path / f"keep {number}"
            release(candidate, out, private=keep)
            (kept,) = keep.glob("pseudonyms-*.parquet")
            names = dict(pl.read_parquet(kept / "part-*.parquet").select("pseudonym", "id").iter_rows())
            parts = [pl.read_parquet(path)["id"].unique() for path in sorted(out.glob("data-*"))]
            found = [{shard_of[names[name]] for name in part} for part in parts]
            assert sum(map(len, found)) == candidate.n_shards
            in_order += all(sorted(one) == [at] for at, one in enumerate(found))
        assert in_order < 6

    def test_no_part_is_of_one_value_that_is_not_published(self, tmp_path):
        area = ["north"] * 80 + ["south"] * 40
        panel = small_panel(attributes={"area": area})
        candidate = Microaggregation(k=K, within="area").anonymize(in_shards(panel, Memory(), size=15))
        assert set(candidate.panel.values) == {0, 1}
        release(candidate, tmp_path / "out", private=tmp_path / "keep")
        (kept,) = (tmp_path / "keep").glob("pseudonyms-*.parquet")
        names = dict(pl.read_parquet(kept / "part-*.parquet").select("pseudonym", "id").iter_rows())
        value = dict(zip(panel.ids.tolist(), area, strict=True))
        parts = sorted((tmp_path / "out").glob("data-*"))
        assert len(parts) > 1
        for path in parts:
            assert {value[names[name]] for name in pl.read_parquet(path)["id"].unique()} == {"north", "south"}

    def test_few_readings_are_one_file(self, candidate, tmp_path, monkeypatch):
        monkeypatch.setattr(written_parts, "PART_BYTES", 64 * 2**20)
        made = release(candidate, tmp_path / "out", private=tmp_path / "keep")
        assert [path.name for path in sorted((tmp_path / "out").glob("data.*"))] == ["data.parquet"]
        assert len(read_map(made, tmp_path / "keep")) == 120

    def test_the_certificate_is_of_all_shards(self, candidate, tmp_path):
        counts = release(candidate, tmp_path / "out").certificate["counts"]
        whole = join_candidates(all_of(candidate))
        sizes = np.unique(whole.values, axis=0, return_counts=True)[1]
        assert (counts["series"], counts["subjects"], counts["groups"]) == (120, 120, len(sizes))
        assert (counts["smallest_group"], counts["largest_group"]) == (sizes.min(), sizes.max())
        assert sum(int(size) * n for size, n in counts["group_sizes"].items()) == 120

    def test_the_same_seed_gives_the_same_bytes_and_no_seed_others(self, candidate, tmp_path):
        for name, seed in (("a", 1), ("b", 1), ("c", None)):
            release(candidate, tmp_path / name, insecure_seed=seed)
        assert contents(tmp_path / "a") == contents(tmp_path / "b")
        assert contents(tmp_path / "a") != contents(tmp_path / "c")

    def test_a_sharded_release_reads_what_it_published_when_asked(self, candidate, tmp_path):
        made = publish(candidate, tmp_path / "out")
        n_parts = len(list((tmp_path / "out").glob("data-*")))
        assert repr(made) == f"Release({str(tmp_path / 'out')!r}, 120 series in {n_parts} part(s))"
        assert made.published.values.tobytes() == load_release(tmp_path / "out").values.tobytes()
        assert (tmp_path / "out" / "report.html").is_file()


class TestPrivate:
    def test_the_map_is_in_parts_for_its_owner_alone_and_leads_back(self, candidate, tmp_path):
        made = release(candidate, tmp_path / "out", private=tmp_path / "keep")
        (kept,) = (tmp_path / "keep").glob("pseudonyms-*.parquet")
        assert kept.is_dir()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o700
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in kept.iterdir())
        assert len(list(kept.glob("part-*.parquet"))) == len(list((tmp_path / "out").glob("data-*")))
        rows = match(small_panel(), made, tmp_path / "keep")
        assert sorted(rows) == list(range(120))
        whole = {i: v for one in all_of(candidate) for i, v in zip(one.private.original.ids, one.values, strict=True)}
        expected = np.array([whole[name] for name in small_panel().ids[rows]])
        np.testing.assert_array_equal(made.values, expected)

    def test_keyed_names_are_the_same_in_two_releases_and_in_memory(self, tmp_path):
        kept = {"pseudonyms": "keyed", "private": tmp_path / "keep"}
        names = []
        for number, made in enumerate(
            (small_candidate(), small_candidate(size=40), Microaggregation(k=K).anonymize(small_panel()))
        ):
            found = release(made, tmp_path / str(number), **kept)
            map_ = read_map(found, tmp_path / "keep")
            names.append(dict(zip(map_["id"], map_["pseudonym"], strict=True)))
        assert names[0] == names[1] == names[2]
        assert len(set(names[0].values())) == 120

    def test_what_a_killed_process_left_is_settled(self, candidate, tmp_path):
        made = release(candidate, tmp_path / "out", private=tmp_path / "keep")
        (kept,) = (tmp_path / "keep").glob("pseudonyms-*.parquet")
        kept.rename(tmp_path / "keep" / ".pseudonyms-left.partial")  # killed before the map was in its place
        other = tmp_path / "keep" / ".pseudonyms-other.partial"
        other.mkdir()
        (other / "_secrets.json").write_text(json.dumps({"release": str(tmp_path / "gone"), "data_sha256": "0"}))
        assert len(read_map(made, tmp_path / "keep")) == 120
        assert [path.name for path in (tmp_path / "keep").iterdir()] == [kept.name]

    def test_an_open_folder_is_refused(self, candidate, tmp_path):
        (tmp_path / "keep").mkdir()
        (tmp_path / "keep").chmod(0o755)
        with pytest.raises(ReleaseError, match="can be read by others"):
            release(candidate, tmp_path / "out", private=tmp_path / "keep")
        assert not (tmp_path / "out").exists()


class TestRefusals:
    def test_one_shard_that_does_not_hold_keeps_everything_inside(self, candidate, tmp_path):
        with pytest.raises(GuaranteeNotMetError, match=r"k-anonymity does not hold: measured 1.* shard 1.*Nothing was"):
            release(spoilt(candidate, shift_one_value), tmp_path / "out", private=tmp_path / "keep")
        assert list(tmp_path.iterdir()) == []

    def test_what_goes_wrong_while_it_is_written_leaves_nothing(self, candidate, tmp_path, monkeypatch):
        real = written_parts.form_of

        def spoiling(published):
            form = real(published)
            spoilt = replace_values(published, published.values + np.eye(*published.values.shape))
            return _Spoiling(form, spoilt)

        monkeypatch.setattr(written_parts, "form_of", spoiling)
        with pytest.raises(GuaranteeNotMetError, match=r"The written release does not verify: .*Nothing was published"):
            release(candidate, tmp_path / "out", private=tmp_path / "keep")
        assert [path.name for path in tmp_path.iterdir()] == ["keep"]
        assert not list((tmp_path / "keep").iterdir())

    def test_what_is_required_beyond_is_asked_of_every_shard(self, candidate, tmp_path):
        with pytest.raises(GuaranteeNotMetError, match="k-anonymity k=50 does not hold: measured 3, required 50"):
            release(candidate, tmp_path / "out", require=[KAnonymity(50)])
        with pytest.raises(GuaranteeNotMetError, match="aggregate-rule does not hold"):
            release(candidate, tmp_path / "out", require=[AggregateRule(size=15, share=0.15)])
        assert release(candidate, tmp_path / "out", require=[AggregateRule(size=2, share=1.0)])

    def test_what_promises_nothing_needs_risks_and_a_limit(self, tmp_path):
        noisy = NoiseAddition(snr=1.0).anonymize(small_shards())
        with pytest.raises(GuaranteeNotMetError, match="risk"):
            release(noisy, tmp_path / "out")
        attack = KnownPoints(2)
        risks = {attack.name: (noisy.attack(attack), attack.meaning)}
        assert release(noisy, tmp_path / "out", risks=risks, risk_limit=1.0)

    def test_fictive_series_are_no_crowd(self, tmp_path):
        fictive = replace(SamplingWithFictives(share=0.8).anonymize(small_shards()), guarantee=KAnonymity(2))
        with pytest.raises(GuaranteeNotMetError, match=r"Fictive series would be counted in the crowd of k-anonymity"):
            release(fictive, tmp_path / "out")

    def test_the_limit_of_suppression_is_for_all_shards_together(self, tmp_path):
        values = np.tile([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], (120, 1)) + np.arange(120)[:, None] / 8
        values[119] = [6.0, 1.0, 5.0, 0.0, 9.0, 2.0]
        candidate = KP(words="own", k=4, p=2).anonymize(in_shards(Panel(values), Memory(), size=20))
        suppressed = [120 - len(one.published) for one in [join_candidates(all_of(candidate))]]
        assert 0 < suppressed[0] <= 6
        of_shard = max((f.n_original - f.n_published) / f.n_original for f in candidate.facts)
        share = suppressed[0] / 120
        assert share < of_shard
        made = release(candidate, tmp_path / "out", suppression_limit=(share + of_shard) / 2)
        assert (made.suppression.lost, made.suppression.n_originals) == (suppressed[0], 120)
        with pytest.raises(GuaranteeNotMetError, match=rf"{suppressed[0]} of 120 series .* would be suppressed"):
            release(candidate, tmp_path / "again", suppression_limit=share / 2)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"agreement": Agreement(recipient="A", purpose="B", expires=date(2030, 1, 1))}, "Leave out the agreement"),
            ({"pseudonyms": "keyed", "insecure_seed": 1}, "Keyed pseudonyms take no seed"),
        ],
    )
    def test_options_that_shards_cannot_have(self, candidate, tmp_path, options, words):
        with pytest.raises(ParameterError, match=words):
            release(candidate, tmp_path / "out", private=tmp_path / "keep", **options)
        assert list(tmp_path.iterdir()) == []

    def test_a_ledger_is_refused_with_the_way_on(self, candidate, tmp_path):
        with pytest.raises(ParameterError, match=r"A ledger compares the groups.*shoal grow"):
            publish(candidate, tmp_path / "out", ledger=tmp_path / "ledger")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("method", "words"),
        [
            (Microaggregation(k=K, form="profiles"), "this one holds profiles"),
            (KP(k=4, p=2), "this one holds envelopes"),
            (TimeSlicing(length=3), "would distinguish slices of one series, or fictive series"),
        ],
        ids=["profiles", "envelopes", "slices"],
    )
    def test_keyed_names_are_for_one_row_of_each_series(self, tmp_path, method, words):
        candidate = method.anonymize(small_shards())
        with pytest.raises(ParameterError, match=words):
            release(candidate, tmp_path / "out", pseudonyms="keyed", private=tmp_path / "keep", risk_limit=1.0)

    def test_an_address_is_refused(self, candidate):
        with pytest.raises(ParameterError, match="The release is written to a folder, not to an address"):
            release(candidate, "s3://bucket/out")
        with pytest.raises(ParameterError, match="The private folder is written to a folder"):
            release(candidate, "out", options=ReleaseOptions(private="s3://bucket/keep"))

    @pytest.mark.parametrize("processes", [1, 2])
    def test_failing_work_says_where_and_quotes_no_data(self, tmp_path, processes):
        with Local(memory="64MB", processes=processes) as engine, pytest.raises(WorkFailedError) as caught:
            release(spoilt(small_candidate(engine), fail_with_data), tmp_path / "out")
        assert "failed with ValueError at" in str(caught.value)
        assert "meter-" not in str(caught.value)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert not (tmp_path / "out").exists()

    def test_a_place_that_workers_cannot_write_to_is_said_to_be_one(self, candidate, tmp_path, monkeypatch):
        def full(*given):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(written_parts, "sync", full)
        with pytest.raises(ReleaseError, match=r"cannot be written: No space left on device\. The folder must be on"):
            release(candidate, tmp_path / "out")
        assert list(tmp_path.iterdir()) == []


class _Spoiling:
    """A form that writes other values than were checked."""

    def __init__(self, form, spoilt):
        self._form, self._spoilt = form, spoilt

    def __getattr__(self, name):
        return getattr(self._form, name)

    def write(self, published, names, place, file_format):
        return self._form.write(self._spoilt, names, place, file_format)
