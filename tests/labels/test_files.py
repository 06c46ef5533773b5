"""Questions and answers as files."""

import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from label_samples import TIMES, telling_panel
from shoal.errors import InputError, ParameterError
from shoal.labels import (
    Label,
    Labels,
    LabelTask,
    Question,
    export_pairs,
    load_asked,
    load_labels,
    read_labels,
    store_asked,
    store_labels,
)


@pytest.fixture
def task():
    return LabelTask.presanitised(telling_panel(), k=4, multiple=1, n_pairs=30)


@pytest.fixture
def handed(task, tmp_path):
    return export_pairs(task, tmp_path / "handed", "anna")


def word_in(folder):
    return (folder / "labels.csv").read_text().splitlines()[1].split(",")[2]


def fill_in(folder, *lines, header="pair,label,for", word=None):
    word = word_in(folder) if word is None else word
    path = folder / "labels.csv"
    path.write_text("\n".join([header, *(line and f"{line},{word}" for line in lines)]) + "\n")
    return path


class TestExport:
    def test_the_pairs_are_those_of_the_plan(self, task, handed):
        table = pq.read_table(handed / "pairs.parquet")
        assert table.column_names == ["pair", "time", "left", "right"]
        pairs, times = table["pair"].to_numpy().reshape(30, 12), table["time"].to_numpy().reshape(30, 12)
        left, right = (table[side].to_numpy().reshape(30, 12) for side in ("left", "right"))
        for at, question in enumerate(task.plan("anna")):
            assert (pairs[at] == question.position).all()
            assert (times[at] == TIMES).all()
            assert left[at].tolist() == task.values[question.left].tolist()
            assert right[at].tolist() == task.values[question.right].tolist()

    def test_the_template_is_to_be_filled_in_and_the_text_says_how(self, task, handed):
        word = word_in(handed)
        assert re.fullmatch("[a-z]{10}", word)
        lines = (handed / "labels.csv").read_text().splitlines()
        assert lines == ["pair,label,for", *(f"{at},,{word}" for at in range(30))]
        text = (handed / "README.txt").read_text()
        assert text.startswith("Are these two curves alike for your purpose?\n")
        assert "holds 30 pairs" in text
        assert sorted(path.name for path in handed.iterdir()) == ["README.txt", "labels.csv", "pairs.parquet"]

    def test_other_questions_can_be_handed_out(self, task, tmp_path):
        export_pairs(task, tmp_path / "x", "anna", [Question(7, 0, 2)])
        assert set(pq.read_table(tmp_path / "x" / "pairs.parquet")["pair"].to_pylist()) == {7}

    def test_many_rows_are_written_in_blocks(self, task, handed, tmp_path, monkeypatch):
        monkeypatch.setattr("shoal.labels.files._ROWS_AT_ONCE", 30)
        export_pairs(task, tmp_path / "blocks", "anna")
        one, other = (pq.read_table(folder / "pairs.parquet") for folder in (handed, tmp_path / "blocks"))
        assert one.equals(other)

    def test_a_folder_that_holds_something_is_left_alone(self, task, handed):
        with pytest.raises(InputError, match=r"exists\. What an analyst is handed goes into a new folder"):
            export_pairs(task, handed, "anna")

    def test_nothing_to_ask_is_no_folder(self, task, tmp_path):
        with pytest.raises(ParameterError, match="There is no further question for analyst 'anna'"):
            export_pairs(task, tmp_path / "x", "anna", [])
        assert not (tmp_path / "x").exists()

    def test_a_place_that_cannot_be_written_is_named(self, task, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(InputError, match=r"Cannot write '.*': "):
            export_pairs(task, tmp_path / "file" / "x", "anna")

    @pytest.mark.parametrize("name", ["", "../anna", "anna smith", "a" * 65, "ä", "a.b", None])
    def test_names_that_are_no_names_of_files_are_refused(self, task, tmp_path, name):
        for act in (
            lambda: export_pairs(task, tmp_path / "x", name),
            lambda: read_labels(tmp_path / "x", task, name),
            lambda: load_asked(tmp_path, name),
            lambda: store_asked(tmp_path, name, []),
        ):
            with pytest.raises(ParameterError, match="The name of an analyst has 1 to 64 letters"):
                act()


class TestAnswers:
    def test_words_and_letters_in_any_case(self, task, handed):
        plan = task.plan("anna")
        path = fill_in(handed, "3,similar", "0,D", "1, u ", "2,", "5,Dissimilar", "", "4,S")
        labels = read_labels(path, task, "anna")
        assert [(label.position, label.answer) for label in labels] == [
            (0, "dissimilar"),
            (1, "undecided"),
            (3, "similar"),
            (4, "similar"),
            (5, "dissimilar"),
        ]
        for label in labels:
            question = plan[label.position]
            assert (label.left, label.right, label.repeat_of) == (question.left, question.right, question.repeat_of)

    @pytest.mark.parametrize(
        "content",
        [
            b"\xef\xbb\xbfpair,label,for\r\n0,similar,WORD\r\n1,,WORD\r\n",
            b"pair;label;for\n0;similar;WORD\n",
            b"for,label,pair\nWORD,similar,0\n",
            b" Pair , Label ,note,For\n0,similar,see mail, WORD\n1,,\n",
            b'"pair","label","for"\n"0","similar","WORD"\n1\n',
        ],
    )
    def test_what_spreadsheets_write_is_read(self, task, handed, content):
        (handed / "labels.csv").write_bytes(content.replace(b"WORD", word_in(handed).encode()))
        (label,) = read_labels(handed / "labels.csv", task, "anna")
        assert (label.position, label.answer) == (0, "similar")

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            (["0,similar", "30,similar"], r"labels\.csv line 3: analyst 'anna' has no such pair"),
            (["0,similar", "-1,similar"], "line 3: analyst '.*' has no such pair"),
            (["x,similar"], "line 2: analyst '.*' has no such pair"),
            (["1.0,similar"], "line 2: analyst '.*' has no such pair"),
            (["٣,similar"], "line 2: analyst '.*' has no such pair"),
            (["9" * 5000 + ",similar"], "line 2: analyst '.*' has no such pair"),
            (["0,similar", "1," + "x" * 200_000], "line 3: this is not a line of a table"),
            (["0,similar", "1,perhaps"], "line 3: the label must be one of similar, dissimilar, undecided"),
            (["0,similar", "1,d", "0,similar"], "line 4: pair 0 already has a label"),
        ],
    )
    def test_mistakes_are_named_by_their_line(self, task, handed, lines, message):
        with pytest.raises(InputError, match=message):
            read_labels(fill_in(handed, *lines), task, "anna")

    def test_other_files_are_refused(self, task, handed, tmp_path):
        with pytest.raises(InputError, match="has no columns pair and label"):
            read_labels(fill_in(handed, "0,similar", header="id,label,for"), task, "anna")
        with pytest.raises(InputError, match="has no columns pair and label"):
            read_labels(fill_in(handed, header="", word=""), task, "anna")
        (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InputError, match=r"is not a text file\. Give labels\.csv"):
            read_labels(tmp_path / "x", task, "anna")
        with pytest.raises(InputError, match="cannot be read: No such file"):
            read_labels(tmp_path / "nothing.csv", task, "anna")


class TestWhoseAnswers:
    """A file says whom and what it was handed out for: positions alone would fit any other task."""

    REFUSED = "these questions were not handed out to analyst"

    def test_another_analyst_or_another_task_is_refused(self, task, handed):
        path = fill_in(handed, "0,similar")
        assert len(read_labels(path, task, "anna")) == 1
        others = [
            (task, "bob"),
            (LabelTask.presanitised(telling_panel(seed=1), k=4, multiple=1, n_pairs=30), "anna"),
            (LabelTask.presanitised(telling_panel(), k=4, multiple=1, n_pairs=30, seed=1), "anna"),
            (LabelTask.presanitised(telling_panel(), k=4, multiple=1, n_pairs=30, question="Lunch alike?"), "anna"),
        ]
        for other, analyst in others:
            with pytest.raises(InputError, match=rf"labels\.csv line 2: {self.REFUSED} '{analyst}' from this task"):
                read_labels(path, other, analyst)

    def test_other_questions_are_refused(self, task, tmp_path):
        folder = export_pairs(task, tmp_path / "x", "anna", [Question(0, 0, 2), Question(1, 3, 4)])
        path = fill_in(folder, "1,similar")
        with pytest.raises(InputError, match=self.REFUSED):
            read_labels(path, task, "anna", [Question(0, 0, 2), Question(1, 3, 5)])
        with pytest.raises(InputError, match=self.REFUSED):
            read_labels(path, task, "anna")

    def test_without_the_word_nothing_is_read(self, task, handed):
        word = word_in(handed)
        path = fill_in(handed, "0,similar", header="pair,label", word="")
        with pytest.raises(InputError, match=r"has no column for, .* Copy it from the labels\.csv that was handed out"):
            read_labels(path, task, "anna")
        path = fill_in(handed, "0,similar", word="")
        with pytest.raises(InputError, match=f"line 2: {self.REFUSED}"):
            read_labels(path, task, "anna")
        path.write_text(f"pair,label,for\n0,similar,{word}\n1,similar,\n")
        with pytest.raises(InputError, match=f"line 3: {self.REFUSED}"):
            read_labels(path, task, "anna")

    def test_a_later_round_has_a_word_of_its_own(self, task, tmp_path):
        plan = task.plan("anna")
        first = export_pairs(task, tmp_path / "1", "anna", plan[:10])
        second = export_pairs(task, tmp_path / "2", "anna", plan[10:20], before=plan[:10])
        assert word_in(first) != word_in(second)
        (label,) = read_labels(fill_in(first, "3,similar"), task, "anna", plan[:20])
        assert label.position == 3
        (label,) = read_labels(fill_in(second, "13,similar"), task, "anna", plan[:20])
        assert label.position == 13
        with pytest.raises(InputError, match="line 2: analyst 'anna' has no such pair"):
            read_labels(fill_in(first, "13,similar"), task, "anna", plan[:20])
        path = first / "labels.csv"
        path.write_text(f"pair,label,for\n3,s,{word_in(first)}\n13,s,{word_in(second)}\n")
        with pytest.raises(InputError, match=f"line 3: {self.REFUSED}"):
            read_labels(path, task, "anna", plan[:20])


class TestKept:
    def test_labels_come_back_as_they_were_given(self, tmp_path):
        labels = Labels(
            (
                Label("anna", 0, 4, 5, "similar"),
                Label("bob", 0, 5, 4, "undecided"),
                Label("anna", 1, 7, 6, "dissimilar"),
                Label("anna", 12, 5, 4, "dissimilar", repeat_of=0),
            )
        )
        assert load_labels(tmp_path) == Labels()
        store_labels(tmp_path, labels)
        assert load_labels(tmp_path) == labels
        store_labels(tmp_path, Labels((Label("bob", 3, 1, 2, "similar"),)))
        assert load_labels(tmp_path).of("bob") == Labels((Label("bob", 3, 1, 2, "similar"),))
        assert len(load_labels(tmp_path).of("anna")) == 3
        assert sorted(path.name for path in (tmp_path / "labels").iterdir()) == ["anna.csv", "bob.csv"]

    def test_questions_come_back_as_they_were_asked(self, tmp_path):
        asked = (Question(0, 4, 5), Question(1, 7, 6), Question(12, 5, 4, 0))
        assert load_asked(tmp_path, "anna") == ()
        store_asked(tmp_path, "anna", asked)
        assert load_asked(tmp_path, "anna") == asked

    @pytest.mark.parametrize(
        "content",
        [
            "",
            "position,left,right,answer\n",
            "position,left,right,answer,repeat_of\n0,1,2,similar\n",
            "position,left,right,answer,repeat_of\n0,1,x,similar,\n",
            "position,left,right,answer,repeat_of\n0,1,2,perhaps,\n",
            "position,left,right,answer,repeat_of\n0,1,2,similar,x\n",
            f"position,left,right,answer,repeat_of\n0,1,{'9' * 5000},similar,\n",
            f"position,left,right,answer,repeat_of\n0,1,{2**64},similar,\n",
        ],
    )
    def test_what_was_not_written_so_is_refused(self, tmp_path, content):
        store_labels(tmp_path, Labels((Label("anna", 0, 1, 2, "similar"),)))
        (tmp_path / "labels" / "anna.csv").write_text(content)
        with pytest.raises(
            InputError, match=r"anna\.csv' has changed since it was written\. Import the labels of this"
        ):
            load_labels(tmp_path)

    def test_a_place_that_cannot_be_written_is_named(self, tmp_path):
        (tmp_path / "labels").write_text("")
        with pytest.raises(InputError, match=r"Cannot write '.*anna\.csv': "):
            store_labels(tmp_path, Labels((Label("anna", 0, 1, 2, "similar"),)))


def test_values_are_not_rounded_on_the_way(task, handed):
    table = pq.read_table(handed / "pairs.parquet")
    rows = {row.tobytes() for row in task.values}
    assert {row.tobytes() for row in table["left"].to_numpy().reshape(30, 12)} <= rows
    assert np.isfinite(table["right"].to_numpy()).all()
