"""`shoal label` and `shoal learn`: from a table to a metric, and nothing raw on the way."""

import json
import sys

import numpy as np
import polars as pl
import pytest

from label_samples import telling_panel
from raw_search import leaks_in_folder, leaks_in_text
from shoal import LabelTask, simulate
from shoal.cli.app import run
from shoal.features import Learned
from shoal.labels import load_labels
from shoal.process.simulation import long_table


@pytest.fixture(scope="module")
def days():
    return simulate.occupancy(80, days=4, step="1h", seed=2)


@pytest.fixture
def table(tmp_path, monkeypatch, days):
    """A working folder with days.parquet."""
    monkeypatch.chdir(tmp_path)
    long_table(days).write_parquet("days.parquet")
    return tmp_path


def fill_in(folder, hours=slice(11, 14), within=0.8):
    """Answer as somebody does to whom the hours around noon matter."""
    pairs = pl.read_parquet(f"{folder}/pairs.parquet")
    with open(f"{folder}/labels.csv") as file:  # noqa: PTH123
        word = file.read().splitlines()[1].split(",")[2]
    lines = ["pair,label,for"]
    for (number,), rows in pairs.group_by("pair", maintain_order=True):
        apart = np.linalg.norm(rows["left"].to_numpy()[hours] - rows["right"].to_numpy()[hours])
        lines.append(f"{number},{'similar' if apart <= within else 'dissimilar'},{word}")
    with open(f"{folder}/labels.csv", "w") as file:  # noqa: PTH123
        file.write("\n".join(lines) + "\n")


def shoal(capsys, *arguments):
    capsys.readouterr()
    code = run([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_from_a_table_to_a_release_by_a_learned_metric(table, capsys):
    code, out, err = shoal(
        capsys, "label", "export", "days.parquet", "--k", 3, "--multiple", 2, "--pairs", 400, "--analyst", "anna"
    )
    assert (code, err) == (0, "")
    assert "k-anonymity  holds: 6, required 3 (subjects, none with more than " in out
    assert "pairs        400 for anna, 0 to come" in out
    assert "hand over    task/for-anna and nothing else" in out
    fill_in("task/for-anna")
    code, out, err = shoal(capsys, "label", "import", "task", "task/for-anna/labels.csv", "--analyst", "anna")
    assert (code, err) == (0, "")
    assert "400 new labels" in out
    assert "consistency  100% of 40 repeated questions answered alike (91% to 100%)" in out
    assert "by the learned distance" in out
    assert "advice       " in out
    code, out, err = shoal(capsys, "learn", "task", "--out", "metric.npz")
    assert (code, err) == (0, "")
    assert "used    The learned metric is used: on " in out
    learned = Learned.load("metric.npz")
    assert learned.digest() in out
    code, _, err = shoal(capsys, "anonymize", "days.parquet", "--k", 4, "--features", "metric.npz", "-o", "out")
    assert (code, err) == (0, "")
    recorded = json.loads((table / "out" / "release.json").read_text())["method"]["parameters"]["features"]
    assert recorded["learned"] == "linear"
    assert recorded["used"] is True
    assert recorded["sha256"] == learned.digest()
    assert run(["verify", "out", "--accept-unjudged"]) == 0  # persons have several days


def test_json_is_one_document_with_the_figures(table, capsys):
    _, out, _ = shoal(capsys, "label", "export", "days.parquet", "--k", 3, "--multiple", 1, "--pairs", 400, "--json")
    found = json.loads(out)
    task = LabelTask.load("task")
    assert found["guarantee"] == task.guarantee
    assert found["digest"] == task.digest
    assert (found["pairs"], found["left"], found["hand_over"]) == (400, 0, "task/for-analyst")
    fill_in("task/for-analyst")
    _, out, _ = shoal(capsys, "label", "import", "task", "task/for-analyst/labels.csv", "--json")
    found = json.loads(out)
    assert found["new"] == 400
    assert sum(found["labels"]["analyst"].values()) == 400
    assert found["consistency"]["n"] == 40
    assert found["agreement"] is None
    assert found["curve"][-1]["n_labels"] == 400
    assert set(found["advice"]) == {"stop", "reason"}
    _, out, _ = shoal(capsys, "learn", "task", "--json")
    found = json.loads(out)
    assert found["metric"] == "metric.npz"
    assert found["sha256"] == Learned.load("metric.npz").digest()
    assert found["figures"]["n_pairs"] == 360


def test_a_second_analyst_and_further_rounds(table, capsys):
    shoal(
        capsys,
        "label",
        "export",
        "days.parquet",
        "--k",
        3,
        "--multiple",
        1,
        "--choice",
        "active",
        "--pairs",
        100,
        "--analyst",
        "anna",
    )
    code, out, _ = shoal(capsys, "label", "export", "task", "--analyst", "bob")
    assert code == 0
    assert "45 for bob, 55 to come" in out
    for analyst in ("anna", "bob"):
        fill_in(f"task/for-{analyst}")
        _, out, _ = shoal(capsys, "label", "import", "task", f"task/for-{analyst}/labels.csv", "--analyst", analyst)
    assert "agreement    alpha 1.00 over 45 pairs" in out
    assert "all          90 labels by anna, bob" in out
    code, out, _ = shoal(capsys, "label", "export", "task", "--next", 20, "--analyst", "bob")
    assert code == 0
    assert "hand over    task/for-bob.2 and nothing else" in out
    fill_in("task/for-bob.2")
    _, out, _ = shoal(capsys, "label", "import", "task", "task/for-bob.2/labels.csv", "--analyst", "bob", "--json")
    assert json.loads(out)["agreement"]["pairwise"] == [{"analysts": ["anna", "bob"], "alike": 1.0, "pairs": 45}]
    assert len(load_labels("task").of("bob")) == 65


def test_public_series_are_compared_with_private_tables(table, capsys):
    long_table(simulate.occupancy(30, days=2, step="1h", seed=50)).write_parquet("public.parquet")
    code, out, _ = shoal(capsys, "label", "export", "public.parquet", "--public", "simulated", "-o", "one")
    assert code == 0
    assert "public     simulated" in out
    code, _, err = shoal(
        capsys, "label", "export", "public.parquet", "--public", "mine", "--private-table", "public.parquet", "-o", "x"
    )
    assert code == 1
    assert "series are the same as a series of a private panel" in err
    assert not (table / "x").exists()


def test_nothing_raw_is_printed_or_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    panel = telling_panel()
    long_table(panel).write_parquet("raw.parquet")
    long_table(telling_panel(seed=9)).write_csv("public.csv")
    said = ""
    for source, how in (
        ("raw.parquet", ("--k", 2, "--multiple", 1)),
        ("public.csv", ("--public", "simulated", "--private-table", "raw.parquet")),
        ("raw.parquet", ("--public", "no", "--private-table", "raw.parquet")),
        ("raw.parquet", ("--k", 1)),
        ("raw.parquet", ("--k", 40)),
        ("raw.parquet", ("--k", 4, "--value", "subject")),
    ):
        for as_json in ((), ("--json",)):
            task = f"work/{len(said)}"
            code, out, err = shoal(capsys, "label", "export", source, *how, "-o", task, *as_json)
            said += out + err
            if code:
                continue
            fill_in(f"{task}/for-analyst", hours=slice(3, 6), within=2.0)
            path = f"{task}/for-analyst/labels.csv"
            for command in (
                ("label", "import", task, path),
                ("label", "import", task, "nothing.csv"),
                ("label", "export", task, "--analyst", "bob", "--next", 3),
                ("learn", task, "-o", f"{task}/metric.npz"),
            ):
                _, out, err = shoal(capsys, *command, *as_json)
                said += out + err
    assert len(said) > 1000
    assert leaks_in_text(said, panel) == []
    assert leaks_in_folder(tmp_path / "work", panel) == []
    assert sum(path.is_dir() for path in (tmp_path / "work").iterdir()) == 4


class TestMistakes:
    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (("export", "days.parquet"), 2, "Give k, the smallest crowd behind a curve that is shown, or public"),
            (("export", "days.parquet", "--k", 1), 2, "a crowd of one hides nobody"),
            (
                ("export", "days.parquet", "--k", 3, "--choice", "best"),
                2,
                "choice must be one of: uniform, active",
            ),
            (
                ("export", "days.parquet", "--k", 3, "--analyst", "a/b"),
                2,
                "The name of an analyst has 1 to 64",
            ),
            (
                ("export", "days.parquet", "--k", 3, "-o", "full"),
                2,
                "'full' exists. Choose another folder",
            ),
            (("export", "nothing.csv", "--k", 3), 2, "nothing.csv"),
            (("import", "full", "labels.csv"), 2, "'full' is not a label task"),
        ],
    )
    def test_one_line_and_the_right_code(self, table, capsys, arguments, code, message):
        (table / "full").mkdir()
        (table / "full" / "x").write_text("")
        found, out, err = shoal(capsys, "label", *arguments)
        assert (found, out) == (code, "")
        assert message in err
        assert err.count("\n") == 1
        assert not (table / "task").exists()

    @pytest.fixture
    def task(self, table):
        assert (
            run(
                ["label", "export", "days.parquet", "--k", "3", "--multiple", "1", "--pairs", "40", "--analyst", "anna"]
            )
            == 0
        )
        return table / "task"

    def test_an_existing_task_takes_no_other_settings(self, task, capsys):
        code, _, err = shoal(capsys, "label", "export", "task", "--pairs", 50, "--analyst", "bob")
        assert code == 2
        assert "--pairs is for a new task, but SOURCE is an existing one. Give --analyst and --next." in err
        code, _, err = shoal(capsys, "label", "export", "task", "--private-table", "x", "--analyst", "bob")
        assert "--private-table is for a new task" in err

    def test_labels_are_checked(self, task, capsys):
        path = task / "for-anna" / "labels.csv"
        code, _, err = shoal(capsys, "label", "import", "task", path, "--analyst", "anna")
        assert (code, "has no labels" in err) == (2, True)
        word = path.read_text().splitlines()[1].split(",")[2]
        path.write_text(f"pair,label,for\n0,s,{word}\n1,maybe,{word}\n")
        code, _, err = shoal(capsys, "label", "import", "task", path, "--analyst", "anna")
        assert (code, "line 3: the label must be one of" in err) == (2, True)
        path.write_text(f"pair,label,for\n0,s,{word}\n")
        assert shoal(capsys, "label", "import", "task", path, "--analyst", "anna")[0] == 0
        path.write_text(f"pair,label,for\n0,d,{word}\n")
        code, _, err = shoal(capsys, "label", "import", "task", path, "--analyst", "anna")
        assert (code, "1 of 1 labels differ" in err) == (2, True)
        assert shoal(capsys, "label", "import", "task", path, "--analyst", "anna", "--replace")[0] == 0

    def test_labels_of_a_forgotten_analyst_are_refused(self, task, capsys):
        fill_in("task/for-anna")
        code, out, err = shoal(capsys, "label", "import", "task", "task/for-anna/labels.csv")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "Nothing was handed out to analyst 'analyst' from this task" in err
        assert "(--analyst): anna." in err
        run(["label", "export", "task", "--analyst", "analyst"])
        code, _, err = shoal(capsys, "label", "import", "task", "task/for-anna/labels.csv")
        assert (code, "labels.csv line 2: these questions were not handed out to" in err) == (2, True)
        assert len(load_labels("task")) == 0

    @pytest.mark.parametrize("lines", ["9" * 5000 + ",s,", "0," + "x" * 200_000 + ","])
    def test_what_no_table_holds_is_one_line(self, task, capsys, lines):
        path = task / "for-anna" / "labels.csv"
        word = path.read_text().splitlines()[1].split(",")[2]
        path.write_text(f"pair,label,for\n{lines}{word}\n")
        code, out, err = shoal(capsys, "label", "import", "task", path, "--analyst", "anna")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "labels.csv line 2: " in err

    def test_learning_needs_labels_and_a_new_file(self, task, capsys):
        code, _, err = shoal(capsys, "learn", "task")
        assert (code, "none is decided. Label pairs first." in err) == (2, True)
        code, _, err = shoal(capsys, "learn", "task", "--metric", "cubic")
        assert (code, "metric must be one of: auto, linear, deep" in err) == (2, True)
        (task.parent / "metric.npz").write_text("")
        code, _, err = shoal(capsys, "learn", "task")
        assert (code, "'metric.npz' exists" in err) == (2, True)

    def test_without_torch_the_way_out_is_named(self, task, capsys, monkeypatch):
        fill_in("task/for-anna")
        run(["label", "import", "task", "task/for-anna/labels.csv", "--analyst", "anna"])
        monkeypatch.setitem(sys.modules, "torch", None)
        code, _, err = shoal(capsys, "learn", "task", "--metric", "deep")
        assert (code, "pip install 'shoal[deep]'" in err) == (2, True)

    def test_a_changed_task_exits_with_1(self, task, capsys):
        text = (task / "task.json").read_text()
        (task / "task.json").write_text(text.replace('"k": 3', '"k": 4'))
        for command in (("label", "export", "task", "--analyst", "bob"), ("learn", "task")):
            code, _, err = shoal(capsys, *command)
            assert (code, "task.json was changed after the task was saved" in err) == (1, True)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("nothing.npz", "nothing.npz cannot be read: No such file or directory"),
            ("days.npz", "days.npz is not a learned metric. Give a file written by Learned.save."),
            ("colour", "Unknown features 'colour'"),
        ],
    )
    def test_a_metric_that_is_none_is_refused(self, table, capsys, name, message):
        (table / "days.npz").write_text("no metric")
        code, _, err = shoal(capsys, "anonymize", "days.parquet", "--k", 4, "--features", name)
        assert code == 2
        assert message in err


def test_a_task_of_means_is_on_record_whether_or_not_a_ledger_is_named(table, capsys):
    code, out, _ = shoal(capsys, "label", "export", "days.parquet", "--k", 3, "--multiple", 1, "-o", "shown")
    assert code == 0
    assert "for others, give --ledger shown.ledger" in out
    code, out, _ = shoal(capsys, "ledger", "list", "shown.ledger", "--json")
    assert [entry["form"] for entry in json.loads(out)["releases"]] == ["label task"]
    code, _, err = shoal(
        capsys, "anonymize", "days.parquet", "--k", 4, "--features", "centred", "-o", "free", "--ledger", "shown.ledger"
    )
    assert code == 1
    assert "earlier" in err
    assert not (table / "free").exists()
