"""What is said of each kind of label task, and what must not be said of it."""

import numpy as np
import pytest

from label_samples import telling_panel
from shoal import NLK, LabelTask, Microaggregation, Panel, publish
from shoal.cli.app import run
from shoal.labels import CURVES, NEXT_RELEASE, PAIRS

SECTIONS = {"curves": CURVES, "pairs": PAIRS, "next": NEXT_RELEASE}
SAID = {
    "people": {"curves: means over subjects", "next: within those shown"},
    "series": {"curves: means over series", "next: within those shown"},
    "few": {"curves: means over subjects", "next: within those shown", "pairs: fewer"},
    "public": {"curves: public"},
    "released": {"curves: released", "next: two releases"},
    "released by medians": {"curves: released", "next: two releases"},
    "released by instants": {"curves: released", "next: two releases"},
}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    panel = telling_panel(1)
    named = Panel(panel.values, ids=panel.ids, subjects=[f"person-{i // 2}" for i in range(panel.n_series)])
    methods = {
        "released": Microaggregation(k=4),
        "released by medians": Microaggregation(k=5, aggregate="trimmed-mean"),
        "released by instants": NLK(n=2, l=6, k=4),
    }
    for name, method in methods.items():
        publish(method.anonymize(Panel(panel.values)), folder / name)
    return {
        "people": LabelTask.presanitised(named, k=2, multiple=2, n_pairs=10),
        "series": LabelTask.presanitised(Panel(panel.values), k=2, multiple=2, n_pairs=10),
        "few": LabelTask.presanitised(named, k=2, multiple=2, n_pairs=900),
        "public": LabelTask.public(panel, statement="simulated", n_pairs=10),
        **{name: LabelTask.released(folder / name, n_pairs=10) for name in methods},
    }


def test_of_each_kind_of_task_only_what_is_true_is_said(tasks):
    found = {
        kind: {f"{section}: {s.name}" for section, some in SECTIONS.items() for s in some if s.when(task)}
        for kind, task in tasks.items()
    }
    assert found == SAID
    assert set.union(*found.values()) == {f"{section}: {s.name}" for section, some in SECTIONS.items() for s in some}
    assert not set.intersection(*found.values())


def test_several_series_of_one_person_are_not_called_people():
    # Where no subjects are named, all of them may be days of one person.
    days = np.random.default_rng(0).random((40, 6))
    task = LabelTask.presanitised(Panel(days), k=2, n_pairs=5)
    assert [s.says(task) for s in CURVES if s.when(task)] == ["Each curve is the mean of at least 8 series."]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--pairs", "60"],
            "21 for analyst, 0 to come. 60 pairs were requested, but 6 curves make only 15 different ones"
            "; some are asked about twice: 21 in all.",
        ),
        (
            ["--pairs", "60", "--repeats", "0"],
            "15 for analyst, 0 to come. 60 pairs were requested, but 6 curves make only 15 different ones.",
        ),
        (["--pairs", "10"], "10 for analyst, 0 to come"),
    ],
)
def test_fewer_pairs_than_asked_for_are_told(tmp_path, monkeypatch, capsys, options, told):
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(1).random((24, 4))
    rows = [f"{i},{t},{v!r}\n" for i, row in enumerate(values.tolist()) for t, v in enumerate(row)]
    (tmp_path / "days.csv").write_text("id,time,value\n" + "".join(rows))
    assert run(["label", "export", "days.csv", "--k", "2", "--multiple", "2", *options]) == 0
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown["pairs"] == told
