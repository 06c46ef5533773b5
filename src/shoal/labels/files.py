"""Questions and answers as files: what an analyst receives, what they return, what the publisher keeps.

The analyst gets a folder with the curves of their pairs and nothing else of the task. Their answers, and the questions
they received, are kept in the folder of the task: `labels/<analyst>.csv` and `asked/<analyst>.csv`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, ParameterError
from shoal.files.durable import sync, write_aside
from shoal.labels.labels import ANSWERS, Answer, Label, Labels
from shoal.labels.questions import Question
from shoal.release.files import time_array, write_blocks

if TYPE_CHECKING:
    from shoal.labels.task import LabelTask

_SLUG = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WORDS: dict[str, Answer] = {**{answer: answer for answer in ANSWERS}, **{answer[0]: answer for answer in ANSWERS}}
_LABELS = ["position", "left", "right", "answer", "repeat_of"]
_ROWS_AT_ONCE = 1 << 20
_ASKED = ["position", "left", "right", "repeat_of"]
_LONGEST_NUMBER = 18
"""Largest number of digits of a position: those of a 64-bit number."""

_WORD_LETTERS = 10

_README = """{question}

pairs.parquet holds {n} pairs of curves: the column pair numbers them, and at each time there is a value of the left
curve and one of the right curve. Draw both curves of a pair into one plot, look, and write your answer into labels.csv,
one line for each pair:

    similar      (or s)  alike for your purpose
    dissimilar   (or d)  not alike for your purpose
    undecided    (or u)  you cannot tell

Leave the label empty for pairs you have not looked at. Some pairs come twice; answer as you see them. Do not change the
numbers, nor the word in the column for, which says whose answers these are. Send labels.csv back.
"""


def export_pairs(
    task: LabelTask,
    folder: str | Path,
    analyst: str = "analyst",
    questions: Sequence[Question] | None = None,
    *,
    before: Sequence[Question] = (),
) -> Path:
    """Write what an analyst receives: `pairs.parquet`, `labels.csv` to fill in, and `README.txt`.

    Every line of `labels.csv` carries a word that identifies the task, the analyst and the questions, so that answers
    are not mistaken for someone else's or for other questions.

    Parameters
    ----------
    task
        What is asked.
    folder
        A new or empty folder.
    analyst
        Whose questions.
    questions
        Which of them; by default those fixed before anyone answers (`LabelTask.plan`).
    before
        Questions from earlier rounds, if `read_labels` will get those of all rounds.
    """
    refuse_name(analyst)
    asked = task.plan(analyst) if questions is None else questions
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{str(folder)!r} exists. What an analyst is handed goes into a new folder.")
    if not asked:
        raise ParameterError(f"There is no further question for analyst {analyst!r}.")
    *_, word = _words(task, analyst, [*before, *asked])
    template = "pair,label,for\n" + "".join(f"{question.position},,{word}\n" for question in asked)
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
    """Read the answers that an analyst returns: a CSV file with the columns pair, label and for.

    A label is similar, dissimilar or undecided, or its first letter, in upper or lower case; pairs without one are left
    out. The word in the column for must be the one that `export_pairs` wrote for this task, analyst and questions.

    Parameters
    ----------
    path
        The completed `labels.csv`.
    task
        What was asked.
    analyst
        Who answered.
    questions
        The questions handed out, in that order, earlier rounds first; by default `LabelTask.plan`.
    """
    refuse_name(analyst)
    handed = task.plan(analyst) if questions is None else questions
    asked = {question.position: (at, question) for at, question in enumerate(handed)}
    # The word of a round covers all questions up to its last one; its file has no answers to later ones.
    last = {word: at for at, word in enumerate(_words(task, analyst, handed))}
    by_position: dict[int, Label] = {}
    only = None
    for line, (number, word, check) in _filled_in(Path(path)):
        if not word and not check:
            continue
        only = only or check
        if check not in last or check != only:
            raise InputError(
                f"{path} line {line}: these questions were not handed out to analyst {analyst!r} from this task. Give "
                "the task and the analyst whose folder held it (--analyst), with the column for unchanged."
            )
        position = _number(number)
        at, question = asked.get(position, (len(handed), None))
        if question is None or at > last[check]:
            raise InputError(f"{path} line {line}: analyst {analyst!r} has no such pair.")
        if not word:
            continue
        if word.lower() not in _WORDS:
            raise InputError(f"{path} line {line}: the label must be one of {', '.join(ANSWERS)} (or s, d, u).")
        if position in by_position:
            raise InputError(f"{path} line {line}: pair {position} already has a label. Keep one line for each pair.")
        answer = _WORDS[word.lower()]
        by_position[position] = Label(analyst, position, question.left, question.right, answer, question.repeat_of)
    return Labels(tuple(by_position[position] for position in sorted(by_position)))


def _words(task: LabelTask, analyst: str, questions: Sequence[Question]) -> Iterator[str]:
    """For each question, a word that identifies the task, the analyst and the questions up to this one.

    Letters only: a spreadsheet would turn digits into a number.
    """
    state = hashlib.sha256("\n".join((task.digest, task.question, analyst)).encode())
    for question in questions:
        state.update(repr((question.position, question.left, question.right, question.repeat_of)).encode())
        number = int.from_bytes(state.digest()[:8], "big")
        yield "".join(chr(ord("a") + number // 26**at % 26) for at in range(_WORD_LETTERS))


def _filled_in(path: Path) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Line numbers with pair, label and word; spreadsheets may have added a byte-order mark or semicolons."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file. Give labels.csv, with the columns pair, label and for.") from None
    header, _, _ = text.partition("\n")
    rows = csv.reader(io.StringIO(text), delimiter=";" if ";" in header else ",")
    try:
        names = [name.strip().lower() for name in next(rows, [])]
        if "pair" not in names or "label" not in names:
            raise InputError(f"{path} has no columns pair and label. Fill in the labels.csv that was handed out.")
        if "for" not in names:
            raise InputError(
                f"{path} has no column for, which says whom the questions were handed to. Copy it from the labels.csv "
                "that was handed out, or write the labels into that file."
            )
        places = [names.index(name) for name in ("pair", "label", "for")]
        for row in rows:
            cells = [cell.strip() for cell in row]
            if any(cells):
                cells += [""] * (len(names) - len(cells))
                pair, label, check = (cells[place] for place in places)
                yield rows.line_num, (pair, label, check.lower())
    except csv.Error:  # it may quote what it found; ours must not
        raise InputError(
            f"{path} line {rows.line_num}: this is not a line of a table. Write the labels into the labels.csv that "
            "was handed out."
        ) from None


def _number(text: str) -> int:
    """A whole number, or -1 if it is not one."""
    short = len(text) <= _LONGEST_NUMBER and text.isascii() and text.isdecimal()
    return int(text) if short else -1


def store_labels(folder: str | Path, labels: Labels) -> None:
    """Save the labels of each analyst in the folder of the task, replacing that analyst's earlier ones."""
    for analyst in labels.analysts:
        rows = [
            (label.position, label.left, label.right, label.answer, "" if label.repeat_of is None else label.repeat_of)
            for label in sorted(labels.of(analyst), key=lambda label: label.position)
        ]
        _write(_place(folder, "labels", analyst), _LABELS, rows)


def load_labels(folder: str | Path) -> Labels:
    """All labels in the folder of a task, by position and analyst."""
    stored = [
        Label(path.stem, *_three(path, row), _answer(path, row[3]), _repeat(path, row[4]))
        for path in sorted((Path(folder) / "labels").glob("*.csv"))
        for row in _read(path, _LABELS)
    ]
    return Labels(tuple(sorted(stored, key=lambda label: (label.position, label.analyst))))


def store_asked(folder: str | Path, analyst: str, questions: Iterable[Question]) -> None:
    """Keep which questions an analyst was handed: with choice="active" nothing else records it."""
    rows = [(q.position, q.left, q.right, "" if q.repeat_of is None else q.repeat_of) for q in questions]
    _write(_place(folder, "asked", analyst), _ASKED, rows)


def load_asked(folder: str | Path, analyst: str) -> tuple[Question, ...]:
    """The questions an analyst was handed so far."""
    path = _place(folder, "asked", analyst)
    if not path.is_file():
        return ()
    return tuple(Question(*_three(path, row), _repeat(path, row[3])) for row in _read(path, _ASKED))


def handed_out_to(folder: str | Path) -> tuple[str, ...]:
    """Analysts who were handed questions, by name."""
    return tuple(sorted(path.stem for path in (Path(folder) / "asked").glob("*.csv") if _SLUG.fullmatch(path.stem)))


def refuse_name(analyst: str) -> None:
    """Names of analysts become names of files."""
    if not isinstance(analyst, str) or not _SLUG.fullmatch(analyst):
        raise ParameterError("The name of an analyst has 1 to 64 letters of A-Z, a-z, 0-9, _ and -.")


def _place(folder: str | Path, what: str, analyst: str) -> Path:
    refuse_name(analyst)
    return Path(folder) / what / f"{analyst}.csv"


def _write(path: Path, header: list[str], rows: Sequence[Sequence[object]]) -> None:
    text = "".join(",".join(map(str, row)) + "\n" for row in [header, *rows])
    mark = f".{os.getpid()}-{secrets.token_hex(4)}"  # two at once must not write one file
    aside = None
    try:
        path.parent.mkdir(exist_ok=True)
        aside = write_aside(path, text.encode(), mark=mark)
        aside.sync()
        aside.put_in_place()
        sync(path.parent)
    except OSError as error:
        raise InputError(f"Cannot write {str(path)!r}: {error.strerror}.") from None
    finally:
        if aside is not None:
            aside.path.unlink(missing_ok=True)


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
    number = _number(text)
    if number < 0:
        raise _broken(path)
    return number


def _repeat(path: Path, text: str) -> int | None:
    return _whole(path, text) if text else None


def _answer(path: Path, text: str) -> Answer:
    answer = _WORDS.get(text)
    if answer is None:
        raise _broken(path)
    return answer


def _broken(path: Path) -> InputError:
    return InputError(f"{str(path)!r} has changed since it was written. Import the labels of this analyst again.")
