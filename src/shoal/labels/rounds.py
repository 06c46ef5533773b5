"""Labelling without the web: questions go out and answers come in as files, in one or several rounds."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, ParameterError
from shoal.features import Learned
from shoal.labels.advice import StopAdvice, advice
from shoal.labels.agreement import LabelAgreement, Share, agreement, consistency
from shoal.labels.files import (
    export_pairs,
    handed_out_to,
    load_asked,
    load_labels,
    read_labels,
    refuse_name,
    store_asked,
    store_labels,
)
from shoal.labels.labels import Labels
from shoal.labels.metric import CurvePoint, Metric, curve, learn
from shoal.labels.shown import MULTIPLE
from shoal.labels.task import LabelTask
from shoal.labels.task_folder import FILE_NAME
from shoal.model.watcher import Watcher, silent, tell
from shoal.read import read_panel
from shoal.release.certificate import FILE_NAME as RELEASE


@dataclass(frozen=True)
class HandedOut:
    """A round of questions for an analyst."""

    task: LabelTask
    folder: Path
    analyst: str
    n_pairs: int
    """In this round."""
    n_left: int
    """Questions to come after it."""


@dataclass(frozen=True)
class TakenIn:
    """The state after an analyst's answers were imported."""

    task: LabelTask
    labels: Labels
    """Of all analysts."""
    n_new: int
    consistency: Share | None
    """Of this analyst."""
    agreement: LabelAgreement | None
    points: tuple[CurvePoint, ...]
    advice: StopAdvice


def is_task(folder: str | Path) -> bool:
    """Whether a folder holds a label task."""
    return (Path(folder) / FILE_NAME).is_file()


def build_task(
    source: Any,
    settings: Mapping[str, Any],
    *,
    k: int | None = None,
    multiple: int | None = None,
    ledger: str | Path | None = None,
    public: str | None = None,
    private: Sequence[str | Path] = (),
    steps: Watcher = silent,
    **asking: Any,
) -> LabelTask:
    """Read series and build a task from them: pre-sanitised with k, public with a statement, or those of a release.

    `settings` are those of `read_panel`, also for the private tables that public or released series are compared with;
    `multiple` and `ledger` those of `LabelTask.presanitised`.
    """
    released = isinstance(source, str | Path) and (Path(source) / RELEASE).is_file()
    if (k is None) + (public is None) != (2 if released else 1):
        raise ParameterError(
            "Give k, the smallest crowd behind a curve that is shown, or public with the reason why the series are "
            "already public; one of the two, and neither for a release."
        )
    if k is None and (multiple is not None or ledger is not None):
        raise ParameterError(
            "multiple and ledger apply to means of groups, with k. Series that are already public or released are not "
            "recorded again."
        )
    if k is not None and private:
        raise ParameterError("Private tables are compared with public series; with k nothing public is shown.")
    steps.start("reading")
    if released:
        hidden = [read_panel(str(table), **settings) for table in private]
        return LabelTask.released(source, private=hidden, **asking)
    panel = read_panel(source, **settings)
    tell(steps, panel)
    if k is not None:
        steps.start("pre-sanitising")
        size = MULTIPLE if multiple is None else multiple
        return LabelTask.presanitised(panel, k=k, multiple=size, ledger=ledger, **asking)
    hidden = [read_panel(str(table), **settings) for table in private]
    return LabelTask.public(panel, statement=public or "", private=hidden, **asking)


def hand_out(folder: str | Path, analyst: str, n: int | None = None) -> HandedOut:
    """Write the next round of questions for an analyst into the folder of a task: `for-<analyst>`, `for-<analyst>.2`, …

    Parameters
    ----------
    folder
        A saved task.
    analyst
        The analyst.
    n
        The largest number of questions; by default all that are fixed before anyone answers.
    """
    refuse_name(analyst)
    if n is not None and n < 1:
        raise ParameterError("The next round must have at least 1 question.")
    with _alone(folder):
        return _hand_out(folder, analyst, n)


def _hand_out(folder: str | Path, analyst: str, n: int | None) -> HandedOut:
    task, labels, asked = LabelTask.load(folder), load_labels(folder), load_asked(folder, analyst)
    answered = {label.position for label in labels.of(analyst)}
    open_ = [question for question in asked if question.position not in answered]
    if open_:
        raise InputError(
            f"Analyst {analyst!r} has not answered {len(open_)} of {len(asked)} questions handed out. Import the "
            "labels first, undecided if nothing else can be said."
        )
    questions = task.questions(labels, analyst, len(task.plan(analyst)) if n is None else n)
    if n is None:
        questions = [question for question in questions if question.position < len(task.plan(analyst))]
        if not questions and task.choice == "active":
            raise ParameterError(
                "With choice='active' further questions depend on the labels. Say how many to hand out: n, or --next "
                "on the command line."
            )
    rounds = 1 + sum(path.name.startswith(f"for-{analyst}.") for path in Path(folder).iterdir())
    first = Path(folder) / f"for-{analyst}"
    place = first if not first.exists() else Path(folder) / f"for-{analyst}.{rounds + 1}"
    export_pairs(task, place, analyst, questions, before=asked)
    store_asked(folder, analyst, [*asked, *questions])
    n_left = task.n_pairs - len(answered) - len(questions)
    return HandedOut(task, place, analyst, len(questions), n_left)


def take_in(folder: str | Path, path: str | Path, analyst: str, *, replace: bool = False) -> TakenIn:
    """Check an analyst's answers, store them in the folder of the task, and report the state.

    The same answers may be imported again; different ones are refused unless `replace` is set.
    """
    refuse_name(analyst)
    with _alone(folder):
        task, before = LabelTask.load(folder), load_labels(folder)
        asked = load_asked(folder, analyst)
        if not asked:
            raise InputError(_nothing_handed_out(folder, analyst))
        given = read_labels(path, task, analyst, asked)
        if not len(given):
            raise InputError(f"{path} has no labels. Fill in the column label.")
        kept = {label.position: label for label in before.of(analyst)}
        changed = sum(kept.get(label.position, label) != label for label in given)
        if changed and not replace:
            raise InputError(
                f"{changed} of {len(given)} labels differ from those that analyst {analyst!r} gave before. Import with "
                "`replace` set if the new ones are right."
            )
        merged = kept | {label.position: label for label in given}
        store_labels(folder, Labels(tuple(merged.values())))
        labels = load_labels(folder)
    points = curve(task, labels)
    return TakenIn(
        task=task,
        labels=labels,
        n_new=len(merged) - len(kept),
        consistency=consistency(labels.of(analyst)),
        agreement=agreement(labels),
        points=tuple(points),
        advice=advice(points, labels),
    )


@contextmanager
def _alone(folder: str | Path) -> Iterator[None]:
    """Lock the task: what was read must still be current when it is written."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"{str(folder)!r} is not a label task: {error.strerror}.") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _nothing_handed_out(folder: str | Path, analyst: str) -> str:
    others = ", ".join(handed_out_to(folder))
    return f"Nothing was handed out to analyst {analyst!r} from this task, so there is nothing to answer. " + (
        f"Name the analyst whose folder held the file (--analyst): {others}." if others else "Export pairs first."
    )


def learn_from(folder: str | Path, out: Path, *, metric: Metric = "auto", seed: int = 0) -> Learned:
    """Learn from all labels in the folder of a task, and save the metric for `Microaggregation(features=...)`."""
    if out.suffix != ".npz":
        raise ParameterError("The metric's file name must end in .npz.")
    if out.exists():
        raise InputError(f"{str(out)!r} exists. Choose another name or remove it.")
    learned = learn(LabelTask.load(folder), load_labels(folder), metric, seed)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        learned.save(out)
    except OSError as error:
        raise InputError(f"Cannot write {str(out)!r}: {error.strerror}.") from None
    return learned
