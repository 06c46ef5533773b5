"""A copy for one recipient: its text, its expiry, and how it is known again when it leaks."""

import itertools
import json
import math
from datetime import date

import numpy as np
import polars as pl
import pytest

from shoal import Microaggregation, Panel, load_release
from shoal.cli.app import run
from shoal.errors import InputError, ParameterError, ReleaseError
from shoal.process.trace import FALSE_ALARM, longest_common, nearest_curves, order_odds, trace
from shoal.release import release_candidate, verify
from shoal.release.agreement import Agreement, agreement_text, recipient_key
from shoal.release.copies import load_copies, read_rows
from shoal.report import render
from small_release import small_panel

LAST_DAY = date(2027, 6, 30)
WHO = "Institute of *Loads*"


def agreement(recipient=WHO, **changes):
    return Agreement(**({"recipient": recipient, "purpose": "load forecasts", "expires": LAST_DAY} | changes))


def hand_over(folder, recipient, *, panel=None, k=3, **options):
    candidate = Microaggregation(k=k).anonymize(small_panel() if panel is None else panel)
    to = folder / f"copy for {len(list(folder.iterdir()))}"
    release_candidate(
        candidate, to, summary="Test.", private=folder / "private", agreement=agreement(recipient), **options
    )
    return to


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """Three recipients' copies of 60 series in groups of 4."""
    folder = tmp_path_factory.mktemp("copies")
    panel = Panel(np.random.default_rng(8).normal(10.0, 3.0, size=(60, 12)), ids=[f"meter-{i}" for i in range(60)])
    made = {who: hand_over(folder, who, panel=panel, k=4) for who in ("north", "south", "west")}
    return folder, made


class TestText:
    def test_it_names_what_was_agreed_and_what_is_promised(self, tmp_path):
        out = hand_over(tmp_path, WHO)
        text = (out / "AGREEMENT.md").read_text()
        for words in (
            r"| recipient | Institute of \*Loads\* |",
            "| purpose | load forecasts |",
            "2027-06-30 (that day included)",
            "Every published series is exactly the same as series of at least 2 other subjects",
            "Not to try to identify the person behind a row",
            "Not to link the data",
            "To delete the data and all copies",
            "What may not be concluded",
            load_release(out).certificate["files"]["data.parquet"]["sha256"],
        ):
            assert words in text

    def test_the_contact_is_the_publishers_if_given(self, tmp_path):
        out = hand_over(tmp_path, WHO)
        from shoal.release.certificate import read_certificate

        text = agreement_text(agreement(contact="dpo@example.org"), read_certificate(out))
        assert "| contact | dpo@example.org |" in text

    def test_the_recipients_name_is_in_the_text_and_nowhere_else_in_the_folder(self, tmp_path):
        out = hand_over(tmp_path, "Borealis")
        holding = [path.name for path in out.iterdir() if b"Borealis" in path.read_bytes()]
        assert holding == ["AGREEMENT.md"]

    @pytest.mark.parametrize("wrong", ["", "  ", "two\nlines", "x" * 501, 7])
    def test_what_is_no_line_of_text_is_refused(self, wrong):
        with pytest.raises(ParameterError, match="recipient of an agreement must be one line of text, at most 500"):
            agreement(wrong)

    def test_a_date_is_needed(self):
        with pytest.raises(ParameterError, match="expires of an agreement must be a date, such as 2027-06-30"):
            agreement(expires="2027-06-30")

    def test_without_a_private_folder_nothing_is_written(self, tmp_path):
        candidate = Microaggregation(k=3).anonymize(small_panel())
        with pytest.raises(ParameterError, match="needs a private folder to recognise it later: give --private DIR"):
            release_candidate(candidate, tmp_path / "out", summary="Test.", agreement=agreement())
        assert not (tmp_path / "out").exists()


class TestCertificate:
    def test_it_has_the_expiry_and_the_hash_of_the_text(self, tmp_path):
        certificate = load_release(hand_over(tmp_path, WHO)).certificate
        assert certificate["agreement"] == {"file": "AGREEMENT.md", "expires": "2027-06-30"}
        assert set(certificate["files"]) == {"data.parquet", "datapackage.json", "AGREEMENT.md"}

    def test_without_an_agreement_nothing_is_said_of_one(self, out):
        assert "agreement" not in json.loads((out / "release.json").read_text())

    def test_the_last_day_is_the_last_one(self, tmp_path):
        out = hand_over(tmp_path, WHO)
        on_time, late = verify(out, today=LAST_DAY), verify(out, today=date(2027, 7, 1))
        assert on_time.notes == ("for one recipient, under the agreement in AGREEMENT.md, until 2027-06-30",)
        assert late.notes[0].startswith("the agreement in AGREEMENT.md EXPIRED on 2027-06-30")
        assert on_time.holds
        assert late.holds

    def test_a_changed_text_is_found_out(self, tmp_path):
        out = hand_over(tmp_path, WHO)
        text = (out / "AGREEMENT.md").read_text()
        (out / "AGREEMENT.md").write_text(text.replace("2027-06-30", "2037-06-30"))
        assert "AGREEMENT.md was changed after the release" in verify(out).findings[0]

    @pytest.mark.parametrize("kept", ["part", "file"])
    def test_text_and_expiry_go_together(self, tmp_path, kept):
        from shoal.release.certificate import read_certificate

        out = hand_over(tmp_path, WHO)
        found = read_certificate(out)
        if kept == "part":
            changed = {"files": {n: part for n, part in found.files.items() if n != "AGREEMENT.md"}}
            (out / "AGREEMENT.md").unlink()
        else:
            changed = {"agreement": None}
        (out / "release.json").write_bytes(found.model_copy(update=changed).sealed().as_bytes())
        assert "do not agree on whether there is an agreement" in verify(out).findings[0]


class TestMark:
    def test_two_recipients_share_no_name_and_no_order(self, copies):
        _, made = copies
        names = [load_release(out).published.ids.tolist() for out in made.values()]
        assert len(set(itertools.chain(*names))) == 180
        values = [load_release(out).published.values for out in made.values()]
        for a, b in itertools.combinations(values, 2):
            assert not np.array_equal(a, b)
            assert np.array_equal(np.sort(a, axis=0), np.sort(b, axis=0))

    def test_two_copies_of_one_recipient_cannot_be_joined_unless_keyed(self, tmp_path):
        made = [hand_over(tmp_path, WHO), hand_over(tmp_path, WHO)]
        keyed = [hand_over(tmp_path, WHO, pseudonyms="keyed"), hand_over(tmp_path, WHO, pseudonyms="keyed")]
        names = [set(load_release(out).published.ids) for out in (*made, *keyed)]
        assert not names[0] & names[1]
        assert names[2] == names[3]
        assert (keyed[0] / "data.parquet").read_bytes() == (keyed[1] / "data.parquet").read_bytes()
        told = "Copies made for the same recipient with the same key give a series the same name: anyone who holds two"
        notes = [load_release(out).certificate.get("pseudonyms_note", "") for out in (*made, *keyed)]
        assert [note.startswith(told) for note in notes] == [False, False, True, True]
        assert [told in render(load_release(out).certificate) for out in (made[0], keyed[0])] == [False, True]

    def test_the_key_of_a_recipient_tells_neither_the_others_nor_the_first(self):
        key = b"k" * 32
        derived = {recipient_key(key, name, salt) for name in ("a", "b", "ab") for salt in (b"", b"s")}
        assert len(derived | {key}) == 7

    def test_events_have_nothing_to_mark(self, tmp_path):
        from shoal import Events
        from shoal.methods import Reposition

        table = pl.DataFrame({"time": [0] * 4 + [1] * 4, "age": list(range(8)), "result": ["a", "b"] * 4})
        candidate = Reposition(l=2, window=1).anonymize(Events(table, sensitive="result", quasi=["age"]))
        with pytest.raises(ParameterError, match="marks the copy by names and row order, and events have neither"):
            release_candidate(
                candidate, tmp_path / "out", summary="Test.", private=tmp_path / "p", agreement=agreement()
            )


class TestTrace:
    def leak(self, copies, who, change, name="leaked.csv"):
        folder, made = copies
        frame = change(pl.read_parquet(made[who] / "data.parquet"))
        path = folder / "private" / name
        frame.write_csv(path) if name.endswith("csv") else frame.write_parquet(path)
        return trace(path, folder / "private")

    @pytest.mark.parametrize("who", ["north", "south", "west"])
    @pytest.mark.parametrize("name", ["leaked.csv", "leaked.parquet"])
    def test_names_that_survived_tell_whose_it_is(self, copies, who, name):
        found = self.leak(copies, who, lambda f: f.sample(fraction=0.1, seed=1, shuffle=True), name)
        assert (found[0].recipient, found[0].by) == (who, "pseudonyms")
        assert found[0].matched == found[0].of
        assert found[0].is_certain
        assert [s.matched for s in found[1:]] == [0, 0]

    @pytest.mark.parametrize("who", ["north", "south", "west"])
    @pytest.mark.parametrize("names", ["replaced", "dropped"])
    def test_the_order_tells_where_names_were_replaced_values_rounded_and_rows_removed(self, copies, who, names):
        def change(frame):
            order = frame["id"].unique(maintain_order=True).to_list()
            kept = [name for i, name in enumerate(order) if i % 5]  # every fifth series is missing
            frame = frame.filter(pl.col("id").is_in(kept)).with_columns(pl.col("value").round(1))
            if names == "dropped":
                return frame.drop("id")
            numbers = {name: str(place) for place, name in enumerate(kept)}
            return frame.with_columns(pl.col("id").replace_strict(numbers))

        found = self.leak(copies, who, change)
        assert (found[0].recipient, found[0].by) == (who, "order")
        assert found[0].matched >= 47
        assert found[0].is_certain
        assert not any(s.is_certain for s in found[1:])

    def test_readings_may_be_missing_too(self, copies):
        def change(frame):
            numbers = {name: str(i) for i, name in enumerate(frame["id"].unique(maintain_order=True))}
            return frame.with_columns(pl.col("id").replace_strict(numbers)).filter(pl.col("time") % 3 != 1)

        assert self.leak(copies, "south", change)[0].recipient == "south"

    @pytest.mark.parametrize("file_format", ["csv", "parquet"])
    def test_clocks_and_zones_are_the_same_in_csv_and_parquet(self, tmp_path, file_format):
        times = np.datetime64("2024-03-30T22:00") + np.arange(6) * np.timedelta64(1, "h")
        panel = Panel(np.random.default_rng(1).normal(size=(40, 6)), times=times, timezone="Europe/Bratislava")
        out = hand_over(tmp_path, "north", panel=panel, k=2, format=file_format)
        hand_over(tmp_path, "south", panel=panel, k=2, format=file_format)
        leaked = load_release(out).published
        stamps = leaked.times.astype("datetime64[s]").astype(str)
        frame = pl.DataFrame({"time": np.tile(stamps, 40), "value": leaked.values.reshape(-1).round(3)})
        frame.with_columns(pl.col("time") + "Z").write_csv(tmp_path / "leaked.csv")
        found = trace(tmp_path / "leaked.csv", tmp_path / "private")
        assert (found[0].recipient, found[0].by, found[0].matched) == ("north", "order", 40)
        assert found[0].is_certain
        assert not found[1].is_certain
        whole = trace(out / f"data.{file_format}", tmp_path / "private")
        assert (whole[0].recipient, whole[0].matched) == ("north", 40)

    @pytest.mark.parametrize("form", ["profiles", "envelopes"])
    def test_other_forms_are_marked_too(self, tmp_path, form):
        from shoal import KP

        panel = Panel(np.random.default_rng(1).normal(size=(48, 5)))
        method = Microaggregation(k=3, form="profiles") if form == "profiles" else KP(k=4, p=2)
        for who in ("north", "south"):
            release_candidate(
                method.anonymize(panel),
                tmp_path / who,
                summary="Test.",
                private=tmp_path / "private",
                agreement=agreement(who),
            )
        assert verify(tmp_path / "south").holds
        frame = pl.read_parquet(tmp_path / "south" / "data.parquet")
        frame.write_csv(tmp_path / "named.csv")
        frame.drop("group" if form == "profiles" else "id").write_csv(tmp_path / "nameless.csv")
        for name, by in (("named.csv", "pseudonyms"), ("nameless.csv", "order")):
            found = trace(tmp_path / name, tmp_path / "private")
            assert (found[0].recipient, found[0].by) == ("south", by)
            assert found[0].matched == found[0].of

    def test_sorted_rows_tell_nothing_and_nobody_is_named(self, copies):
        found = self.leak(copies, "north", lambda f: f.drop("id").sort("time", "value").select("time", "value"))
        assert not any(s.is_certain for s in found)

    def test_a_copy_that_was_never_recorded_is_laid_to_nobody(self, copies, tmp_path):
        """One hundred tables with the same rows in random order; the rate of false alarms is far below that."""
        folder, made = copies
        rows = load_release(made["north"]).published.values
        rng = np.random.default_rng(3)
        for i in range(100):
            order = rng.permutation(len(rows))
            frame = pl.DataFrame(
                {"time": np.tile(np.arange(12), len(rows)), "value": rows[order].reshape(-1)},
            )
            frame.write_csv(tmp_path / f"{i}.csv")
            assert not any(s.is_certain for s in trace(tmp_path / f"{i}.csv", folder / "private"))

    def test_the_odds_bound_the_chance_found_by_trying_every_order(self):
        for copy, leaked in (([0, 1, 2, 3, 4], [3, 1, 4, 0]), ([0, 0, 1, 1, 2], [0, 1, 2, 1]), ([0, 0, 0, 1], [0, 1])):
            orders = set(itertools.permutations(range(len(copy))))
            lengths = [longest_common(np.array(leaked), np.array(copy)[list(order)]) for order in orders]
            for length in range(1, len(leaked) + 1):
                chance = sum(found >= length for found in lengths) / len(orders)
                assert chance <= order_odds(np.array(leaked), np.array(copy), length) + 1e-12

    def test_the_longest_common_sequence_equals_the_one_by_the_book(self):
        rng = np.random.default_rng(0)
        for _ in range(50):
            a, b = rng.integers(0, 4, size=rng.integers(0, 12)), rng.integers(0, 4, size=rng.integers(0, 12))
            table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
            for i, j in itertools.product(range(len(a)), range(len(b))):
                same = table[i, j] + 1 if a[i] == b[j] else 0
                table[i + 1, j + 1] = max(same, table[i, j + 1], table[i + 1, j])
            assert longest_common(a, b) == table[-1, -1]

    def test_other_columns_or_instants_fit_nothing(self, copies):
        folder, _ = copies
        copy = load_copies(folder / "private")[0]
        odd = (["a"], (99,), ("value",), np.ones((1, 1)))
        assert nearest_curves(odd, copy).tolist() == [-1]
        assert order_odds(np.array([], dtype=int), copy.classes, 0) == 1.0
        assert math.isclose(FALSE_ALARM, 1e-6)

    def test_what_cannot_be_traced_is_told(self, tmp_path, copies):
        folder, _ = copies
        (tmp_path / "empty").mkdir()
        (tmp_path / "no.csv").write_text("a,b\n1,2\n")
        (tmp_path / "bad.parquet").write_text("nothing")
        with pytest.raises(ReleaseError, match="knows no copy"):
            trace(tmp_path / "no.csv", tmp_path / "empty")
        with pytest.raises(ReleaseError, match="There is no private folder"):
            trace(tmp_path / "no.csv", tmp_path / "nowhere")
        with pytest.raises(InputError, match=r"There is no file"):
            trace(tmp_path / "none.csv", folder / "private")
        with pytest.raises(InputError, match="needs a time column and a column of figures"):
            trace(tmp_path / "no.csv", folder / "private")
        with pytest.raises(ReleaseError, match=r"bad\.parquet cannot be read as a parquet table"):
            read_rows(tmp_path / "bad.parquet")
        (tmp_path / "empty" / "copy-0.parquet").write_text("nothing")
        with pytest.raises(ReleaseError, match=r"copy-0\.parquet in the private folder cannot be read"):
            load_copies(tmp_path / "empty")

    def test_the_private_record_is_for_its_owner_alone(self, copies):
        folder, _ = copies
        kept = list((folder / "private").glob("copy-*.parquet"))
        assert len(kept) == 3
        assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


POLICY = """
data: {path: meters.parquet}
adversary: {knows: {points: 5}}
require: {risk: {at_most: 0.5}}
method: {name: microaggregation, k: 5}
release: {to: out, model: agreement, recipient: Borealis, purpose: load forecasts, expires: 2027-06-30, private: keep}
"""


class TestCommands:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        assert run(["simulate", "meters", "-o", "meters.parquet", "--n", "60", "--days", "2"]) == 0
        capsys.readouterr()
        return tmp_path

    def test_from_policy_to_copy_to_leak(self, folder, capsys):
        (folder / "policy.yaml").write_text(POLICY)
        assert run(["run", "policy.yaml"]) == 0
        assert "Borealis" not in capsys.readouterr().out
        assert run(["verify", "out"]) == 0
        assert "until 2027-06-30" in capsys.readouterr().out
        assert run(["trace", "out/data.parquet", "--private", "keep"]) == 0
        said = capsys.readouterr().out
        assert "60 of 60 pseudonyms are in it" in said
        assert "a copy of: Borealis" in said
        assert run(["trace", "out/data.parquet", "--private", "keep", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["copies"][0]["certain"]
        (folder / "odd.csv").write_text("id,time,value\na,2024-01-01T00:00:00Z,1.5\n")
        assert run(["trace", "odd.csv", "--private", "keep"]) == 1
        assert "cannot be determined" in capsys.readouterr().out

    def test_a_policy_without_a_private_folder_reads_nothing(self, folder, capsys):
        (folder / "policy.yaml").write_text(POLICY.replace(", private: keep", ""))
        assert run(["run", "policy.yaml"]) == 2
        assert "model: agreement needs release.private" in capsys.readouterr().err
