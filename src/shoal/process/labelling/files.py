"""Questions and answers as files: what an analyst is handed, what he hands back, what the publisher keeps.

The analyst gets a folder with the curves of his pairs and nothing else of the task. His answers, and the questions he
was handed, are kept in the folder of the task: `labels/<analyst>.csv` and `asked/<analyst>.csv`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, ParameterError
from shoal.process.labelling.labels import ANSWERS, Answer, Label, Labels
from shoal.process.labelling.questions import Question
from shoal.release.files import time_array, write_blocks
from shoal.streams.durable import sync, write_aside

if TYPE_CHECKING:
    from shoal.process.labelling.task import LabelTask

_SLUG = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WORDS: dict[str, Answer] = {**{answer: answer for answer in ANSWERS}, **{answer[0]: answer for answer in ANSWERS}}
_LABELS = ["position", "left", "right", "answer", "repeat_of"]
_ROWS_AT_ONCE = 1 << 20
_ASKED = ["position", "left", "right", "repeat_of"]

_README = """{question}

pairs.parquet holds {n} pairs of curves: the column pair numbers them, and at each time there is a value of the left
curve and one of the right curve. Draw both curves of a pair into one plot, look, and write your answer into labels.csv,
one line for each pair:

    similar      (or s)  alike for your purpose
    dissimilar   (or d)  not alike for your purpose
    undecided    (or u)  you cannot tell

Leave the label empty for pairs you have not looked at. Some pairs come twice; answer as you see them. Do not change the
numbers. Send labels.csv back.
"""


def export_pairs(
    task: LabelTask, folder: str | Path, analyst: str = "analyst", questions: Sequence[Question] | None = None
) -> Path:
    """Write what an analyst is handed: `pairs.parquet`, `labels.csv` to be filled in, and `README.txt`.

    Parameters
    ----------
    task
        What is asked.
    folder
        A new or empty folder.
    analyst
        Whose questions.
    questions
        Which of them; by default those that are fixed before anybody answers (`LabelTask.plan`).
    """
    refuse_name(analyst)
    asked = task.plan(analyst) if questions is None else questions
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{str(folder)!r} exists. What an analyst is handed goes into a new folder.")
    if not asked:
        raise ParameterError(f"There is no further question for analyst {analyst!r}.")
    template = "pair,label\n" + "".join(f"{question.position},\n" for question in asked)
    try:
        target.mkdir(parents=True, exist_ok=True)
        write_blocks(_pair_blocks(task, asked), target / "pairs.parquet", "parquet")
        (target / "labels.csv").write_text(template, encoding="utf-8")
        (target / "README.txt").write_text(_README.format(question=task.question, n=len(asked)), encoding="utf-8")
    except OSError as error:
        raise InputError(f"Cannot write {str(folder)!r}: {error.strerror}.") from None
    return target


def _pair_blocks(task: LabelTask, questions: Sequence[Question]) -> Iterator[pa.Table]:
    n = len(task.times)
    height = max(1, _ROWS_AT_ONCE // n)
    for first in range(0, len(questions), height):
        some = questions[first : first + height]
        columns = [
            pa.array(np.repeat([question.position for question in some], n), pa.int64()),
            time_array(np.tile(task.times, len(some)), task.timezone),
            pa.array(task.values[[question.left for question in some]].reshape(-1), pa.float64()),
            pa.array(task.values[[question.right for question in some]].reshape(-1), pa.float64()),
        ]
        yield pa.table(columns, names=["pair", "time", "left", "right"])


def read_labels(path: str | Path, task: LabelTask, analyst: str, questions: Sequence[Question] | None = None) -> Labels:
    """Read the answers that an analyst hands back: a CSV file with the columns pair and label.

    A label is similar, dissimilar or undecided, or its first letter, in any case; pairs without one are left out.

    Parameters
    ----------
    path
        The filled in `labels.csv`.
    task
        What was asked.
    analyst
        Who answered.
    questions
        What he was handed; by default `LabelTask.plan`.
    """
    refuse_name(analyst)
    asked = {question.position: question for question in (task.plan(analyst) if questions is None else questions)}
    found: dict[int, Label] = {}
    for line, (number, word) in _filled_in(Path(path)):
        position = int(number) if number.isascii() and number.isdecimal() else -1
        if position not in asked:
            raise InputError(f"{path} line {line}: there is no such pair among those of analyst {analyst!r}.")
        if not word:
            continue
        if word.lower() not in _WORDS:
            raise InputError(f"{path} line {line}: the label is none of {', '.join(ANSWERS)} (or s, d, u).")
        if position in found:
            raise InputError(f"{path} line {line}: pair {position} has a label already. Keep one line for each pair.")
        question = asked[position]
        answer = _WORDS[word.lower()]
        found[position] = Label(analyst, position, question.left, question.right, answer, question.repeat_of)
    return Labels(tuple(found[position] for position in sorted(found)))


def _filled_in(path: Path) -> Iterator[tuple[int, tuple[str, str]]]:
    """Line numbers with pair and label; spreadsheets may have put a mark at the beginning, or semicolons."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text. Give labels.csv, with the columns pair and label.") from None
    header, _, _ = text.partition("\n")
    rows = csv.reader(io.StringIO(text), delimiter=";" if ";" in header else ",")
    names = [name.strip().lower() for name in next(rows, [])]
    if "pair" not in names or "label" not in names:
        raise InputError(f"{path} has no columns pair and label. Fill in the labels.csv that was handed out.")
    pair, label = names.index("pair"), names.index("label")
    for row in rows:
        cells = [cell.strip() for cell in row]
        if any(cells):
            cells += [""] * (len(names) - len(cells))
            yield rows.line_num, (cells[pair], cells[label])


def store_labels(folder: str | Path, labels: Labels) -> None:
    """Keep the labels of each analyst in the folder of the task; those that analyst had there before are replaced."""
    for analyst in labels.analysts:
        rows = [
            (label.position, label.left, label.right, label.answer, "" if label.repeat_of is None else label.repeat_of)
            for label in sorted(labels.of(analyst), key=lambda label: label.position)
        ]
        _write(_place(folder, "labels", analyst), _LABELS, rows)


def load_labels(folder: str | Path) -> Labels:
    """All labels kept in the folder of a task, by position and analyst."""
    found = [
        Label(path.stem, *_three(path, row), _answer(path, row[3]), _repeat(path, row[4]))
        for path in sorted((Path(folder) / "labels").glob("*.csv"))
        for row in _read(path, _LABELS)
    ]
    return Labels(tuple(sorted(found, key=lambda label: (label.position, label.analyst))))


def store_asked(folder: str | Path, analyst: str, questions: Iterable[Question]) -> None:
    """Keep which questions an analyst was handed: with choice="active" nothing else tells."""
    rows = [(q.position, q.left, q.right, "" if q.repeat_of is None else q.repeat_of) for q in questions]
    _write(_place(folder, "asked", analyst), _ASKED, rows)


def load_asked(folder: str | Path, analyst: str) -> tuple[Question, ...]:
    """The questions an analyst was handed so far."""
    path = _place(folder, "asked", analyst)
    if not path.is_file():
        return ()
    return tuple(Question(*_three(path, row), _repeat(path, row[3])) for row in _read(path, _ASKED))


def refuse_name(analyst: str) -> None:
    """Names of analysts become names of files."""
    if not isinstance(analyst, str) or not _SLUG.fullmatch(analyst):
        raise ParameterError("The name of an analyst has 1 to 64 letters of A-Z, a-z, 0-9, _ and -.")


def _place(folder: str | Path, what: str, analyst: str) -> Path:
    refuse_name(analyst)
    return Path(folder) / what / f"{analyst}.csv"


def _write(path: Path, header: list[str], rows: Sequence[Sequence[object]]) -> None:
    text = "".join(",".join(map(str, row)) + "\n" for row in [header, *rows])
    try:
        path.parent.mkdir(exist_ok=True)
        aside = write_aside(path, text.encode())
        aside.sync()
        aside.put_in_place()
        sync(path.parent)
    except OSError as error:
        raise InputError(f"Cannot write {str(path)!r}: {error.strerror}.") from None


def _read(path: Path, header: list[str]) -> list[list[str]]:
    try:
        rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        raise _broken(path) from None
    if rows[:1] != [header] or any(len(row) != len(header) for row in rows):
        raise _broken(path)
    return rows[1:]


def _three(path: Path, row: Sequence[str]) -> tuple[int, int, int]:
    return _whole(path, row[0]), _whole(path, row[1]), _whole(path, row[2])


def _whole(path: Path, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise _broken(path)
    return int(text)


def _repeat(path: Path, text: str) -> int | None:
    return _whole(path, text) if text else None


def _answer(path: Path, text: str) -> Answer:
    found = _WORDS.get(text)
    if found is None:
        raise _broken(path)
    return found


def _broken(path: Path) -> InputError:
    return InputError(f"{str(path)!r} is not as it was written. Import the labels of this analyst again.")
