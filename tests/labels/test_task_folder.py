"""A saved task is the same task, and a changed one is none."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from label_samples import telling_panel
from shoal import NLK, Microaggregation, Panel, publish, simulate
from shoal.errors import GuaranteeNotMetError, InputError, ReleaseError
from shoal.labels import LabelTask
from shoal.labels.shown import Shown

CHANGED = "was changed after the task was saved: its SHA-256 differs. Nothing is shown; build the task again."


@pytest.fixture
def task():
    return LabelTask.presanitised(
        telling_panel(), k=4, multiple=1, n_pairs=30, repeats=0.2, choice="active", question="Alike?"
    )


@pytest.fixture
def folder(task, tmp_path):
    return task.save(tmp_path / "task")


def edit(folder, **changes):
    """Change the certificate and seal it again, as somebody would who knows how."""
    path = folder / "task.json"
    content = json.loads(path.read_text()) | changes | {"seal": ""}
    unsealed = (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
    content["seal"] = hashlib.sha256(unsealed).hexdigest()
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def forge(folder, values, guarantee):
    """Write other rows with a certificate that fits them in every respect but the truth."""
    n, n_instants = values.shape
    table = pq.read_table(folder / "series.parquet")
    times = table["time"].slice(0, n_instants)
    columns = [
        pa.array(np.repeat(np.arange(n), n_instants)),
        pa.chunked_array(times.chunks * n),
        pa.array(values.ravel()),
    ]
    pq.write_table(pa.table(columns, names=["series", "time", "value"]), folder / "series.parquet")
    curves, crowds = np.unique(values, axis=0, return_counts=True)
    clock = times.to_numpy().astype("datetime64[us]")
    shown = Shown(curves, crowds, clock, None, "presanitised", guarantee)
    edit(folder, digest=shown.digest(), guarantee=guarantee, curves=len(curves))


@pytest.mark.parametrize("times", ["datetimes", "zone", "integers"])
def test_saved_and_loaded_it_is_the_same(tmp_path, times):
    days = simulate.occupancy(30, days=2, step="1h")
    clock = np.arange(24) * 5 if times == "integers" else days.times
    zone = "Europe/Bratislava" if times == "zone" else None
    panel = Panel(days.values, times=clock, subjects=days.subjects, timezone=zone)
    task = LabelTask.presanitised(panel, k=3, multiple=1, n_pairs=50, seed=7)
    again = LabelTask.load(task.save(tmp_path / "a" / "task"))
    assert_array_equal(again.values, task.values)
    assert_array_equal(again.crowds, task.crowds)
    assert_array_equal(again.times, task.times)
    assert again.times.dtype == task.times.dtype
    assert again.certificate == task.certificate
    assert again.plan("anna") == task.plan("anna")
    assert again.timezone == zone
    assert_array_equal(LabelTask.load(again.save(tmp_path / "b")).values, task.values)
    assert (tmp_path / "b" / "task.json").read_bytes() == (tmp_path / "a" / "task" / "task.json").read_bytes()


def test_public_and_released_tasks_are_loaded_as_well(tmp_path):
    public = LabelTask.public(telling_panel(), statement="simulated")
    publish(Microaggregation(k=4).anonymize(telling_panel()), tmp_path / "out")
    publish(NLK(n=2, l=4, k=3).anonymize(telling_panel(days=1)), tmp_path / "nlk")
    for at, task in enumerate((public, LabelTask.released(tmp_path / "out"), LabelTask.released(tmp_path / "nlk"))):
        again = LabelTask.load(task.save(tmp_path / str(at)))
        assert again.digest == task.digest
        assert again.guarantee == task.guarantee


def test_the_certificate_says_what_is_promised_and_asked(task, folder):
    assert json.loads((folder / "task.json").read_text()) == task.certificate
    wanted = {
        "source": "presanitised",
        "digest": task.digest,
        "curves": task.n_curves,
        "instants": 12,
        "questions": 30,
        "choice": "active",
        "repeats": 0.2,
        "common": 0.5,
        "question": "Alike?",
        "seed": 0,
    }
    assert {name: task.certificate[name] for name in wanted} == wanted
    assert task.certificate["guarantee"] == task.guarantee


def test_a_folder_that_holds_something_is_left_alone(task, folder, tmp_path):
    before = (folder / "task.json").read_bytes()
    with pytest.raises(InputError, match=r"exists\. Choose another folder for the label task"):
        task.save(folder)
    assert (folder / "task.json").read_bytes() == before
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"Cannot write the label task .*: (Not a directory|File exists)\."):
        task.save(tmp_path / "file" / "task")


def test_nothing_is_left_of_a_task_that_could_not_be_written(task, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shoal.labels.task_folder.write_blocks", fail)
    with pytest.raises(InputError, match="No space left on device"):
        task.save(tmp_path / "task")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_task_is_refused(tmp_path, folder):
    with pytest.raises(InputError, match=r"is not a label task: it has no task\.json or no series\.parquet"):
        LabelTask.load(tmp_path)
    (folder / "series.parquet").write_bytes(b"PAR1")
    with pytest.raises(ReleaseError, match=r"series\.parquet cannot be read"):
        LabelTask.load(folder)


class TestSabotage:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ('"k": 4', '"k": 5'),
            ('"k": 4', '"k": 2'),
            ('"measured": 4', '"measured": 400'),
            ('"source": "presanitised"', '"source": "public"'),
            ('"question": "Alike?"', '"question": "Who is it?"'),
            ('"n_pairs": 30', '"n_pairs": 31'),
            ('"n_pairs": 30', '"n_pairs": "30"'),
            ('"format": 1', '"format": 2'),
            ("{", "{ "),
            ("{", ""),
        ],
    )
    def test_an_edited_certificate_is_refused(self, folder, before, after):
        path = folder / "task.json"
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after, 1))
        with pytest.raises(GuaranteeNotMetError, match=f"task.json {CHANGED}"):
            LabelTask.load(folder)

    def test_a_raised_k_is_refused_even_where_all_hashes_are_made_to_fit(self, task, folder):
        raised = task.guarantee | {"parameters": {"k": 6, "per": "subject"}, "required": 6, "measured": 6}
        edit(folder, guarantee=raised)
        with pytest.raises(GuaranteeNotMetError, match=f"series.parquet {CHANGED}"):
            LabelTask.load(folder)
        forge(folder, np.repeat(task.values, task.crowds, axis=0), raised)
        with pytest.raises(GuaranteeNotMetError, match="measured 4, required 6"):
            LabelTask.load(folder)

    def test_an_edited_value_is_refused(self, task, folder):
        rows = np.repeat(task.values, task.crowds, axis=0)
        rows[5, 3] += 1.0
        table = pq.read_table(folder / "series.parquet")
        edited = table.set_column(2, "value", pa.array(rows.ravel()))
        pq.write_table(edited, folder / "series.parquet")
        with pytest.raises(GuaranteeNotMetError, match=f"series.parquet {CHANGED}"):
            LabelTask.load(folder)
        forge(folder, rows, task.guarantee)
        with pytest.raises(GuaranteeNotMetError, match=r"measured 1, required 4, first at series position \d+"):
            LabelTask.load(folder)

    def test_a_group_below_k_is_refused(self, task, folder):
        rows = np.repeat(task.values, task.crowds, axis=0)[1:]
        table = pq.read_table(folder / "series.parquet")
        pq.write_table(table.slice(12), folder / "series.parquet")
        with pytest.raises(GuaranteeNotMetError, match=f"series.parquet {CHANGED}"):
            LabelTask.load(folder)
        forge(folder, rows, task.guarantee)
        with pytest.raises(GuaranteeNotMetError, match="measured 3, required 4"):
            LabelTask.load(folder)

    def test_raw_series_in_the_place_of_the_curves_are_refused(self, task, folder):
        forge(folder, telling_panel().values, task.guarantee)
        with pytest.raises(GuaranteeNotMetError, match="measured 1, required 4"):
            LabelTask.load(folder)

    def test_figures_that_are_not_those_of_the_curves_are_refused(self, task, folder):
        rows = np.repeat(task.values, task.crowds, axis=0)
        forge(folder, rows, task.guarantee | {"measured": 9})
        with pytest.raises(GuaranteeNotMetError, match="does not state what k-anonymity promises or what is measured"):
            LabelTask.load(folder)

    @pytest.mark.parametrize("wrong", [{"largest_share": 0.9}, {"largest_share": "4"}, {"counts": "people"}])
    def test_a_share_or_count_that_would_not_have_been_let_in_is_refused(self, task, folder, wrong):
        forge(folder, np.repeat(task.values, task.crowds, axis=0), task.guarantee | wrong)
        with pytest.raises(GuaranteeNotMetError, match="does not state what k-anonymity promises or what is measured"):
            LabelTask.load(folder)

    @pytest.mark.parametrize("content", ['"k": 1e999', '"k": ' + "[" * 5000, '"k": ' + "9" * 5000])
    def test_numbers_and_depths_that_no_certificate_has_are_refused(self, folder, content):
        path = folder / "task.json"
        path.write_text(path.read_text().replace('"k": 4', content, 1))
        with pytest.raises(GuaranteeNotMetError, match=f"task.json {CHANGED}"):
            LabelTask.load(folder)

    def test_missing_values_are_refused(self, task, folder):
        rows = np.repeat(task.values, task.crowds, axis=0)
        rows[:, 2] = np.nan
        table = pq.read_table(folder / "series.parquet")
        pq.write_table(table.set_column(2, "value", pa.array(rows.ravel())), folder / "series.parquet")
        with pytest.raises(GuaranteeNotMetError, match=f"series.parquet {CHANGED}"):
            LabelTask.load(folder)

    def test_this_forger_can_forge(self, task, folder):
        """Else the refusals above would be about his mistakes."""
        forge(folder, np.repeat(task.values, task.crowds, axis=0), task.guarantee)
        assert LabelTask.load(folder).digest == task.digest
