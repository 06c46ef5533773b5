"""What an analyst is asked, as a type that contains no raw series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features import ShownGroups
from shoal.labels.next_pair import choose_next
from shoal.labels.questions import (
    Asking,
    AskingOptions,
    Choice,
    Question,
    draw_further,
    plan_common,
    plan_uniform,
)
from shoal.labels.shown import MULTIPLE, Shown, Source, admit_public, admit_release, presanitise
from shoal.model import Panel

if TYPE_CHECKING:
    from shoal.labels.labels import Labels


class LabelTask:
    """Pairs of curves for analysts to call similar or dissimilar, none of them from unprotected data.

    Built by `LabelTask.presanitised`, `LabelTask.public`, `LabelTask.released`, or `LabelTask.load` for a saved one;
    never from values alone. Immutable. It contains the distinct published curves and the number of rows published as
    each, but neither identifiers nor the order of the rows; the panel it was built from is not kept. For a
    pre-sanitised panel, it also keeps, under keyed hashes, who is behind which curve (`shown_groups`): what is shown is
    a release, and groups by a metric learned from it are formed within those shown.

    Parameters
    ----------
    n_pairs
        Number of questions for an analyst, including repetitions; fewer if there are fewer pairs.
    choice
        "uniform": all pairs are equally likely, and the list is fixed before anyone answers. "active": after the common
        part, each next pair is the one that labels so far leave most uncertain.
    repeats
        Share of the questions that are asked a second time, sides exchanged, to see how consistent an analyst is.
    common
        Share of the different pairs that every analyst is asked about, to see whether analysts agree. With
        choice="active", they are also the basis for the first choices.
    question
        The text above the two curves.
    seed
        Seeds the draw. The same curves, seed, analyst and labels give the same questions.

    Examples
    --------
    >>> from shoal import simulate
    >>> task = LabelTask.presanitised(simulate.occupancy(160, days=1, step="1h"), k=3, n_pairs=40)
    >>> task.source, task.guarantee["measured"], task.n_pairs
    ('presanitised', 12, 40)
    >>> first = task.plan("anna")[0]
    >>> [curve.shape for curve in task.curves(first)]
    [(24,), (24,)]

    References
    ----------
    "PAD: learned metric", section 4, steps 1 and 2.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        raise ParameterError(
            "A LabelTask is not built from values: what an analyst sees must be protected or public. Use "
            "LabelTask.presanitised(panel, k=...), LabelTask.public(panel, statement=...) or "
            "LabelTask.released(folder)."
        )

    _shown: Shown
    _asking: Asking
    _groups: ShownGroups | None

    @classmethod
    def presanitised(
        cls,
        panel: Panel,
        *,
        k: int,
        multiple: int = MULTIPLE,
        ledger: str | Path | None = None,
        **asking: Unpack[AskingOptions],
    ) -> LabelTask:
        """Replace every series by the mean of at least multiple·k similar subjects, check that, and show those means.

        A release of the same subjects by a metric learned from this task is formed within the groups shown here, so
        that anyone who holds both is left with at least k subjects. Raises GuaranteeNotMetError if a curve would stand
        for fewer than multiple·k different subjects, or if one subject would have more than 2/k of the series behind
        it. If the panel names no subjects, series are counted, and `guarantee["counts"]` says which.

        Parameters
        ----------
        panel
            The series.
        k
            The smallest crowd that task and release together leave: the k of the release. Larger hides better.
        multiple
            Groups shown have this many times k subjects. Larger leaves labels more to decide within a group, but fewer
            and smoother curves to learn from; with 1, the release has the groups shown, whatever was learned.
        ledger
            The file of earlier releases: a task that breaks a promise together with them is refused, others are
            recorded, and later releases are judged together with them.
        n_pairs, choice, repeats, common, question, seed
            As in the class.
        """
        asked = Asking(**asking)
        shown, groups = presanitise(panel, k, multiple, ledger)
        return cls._of(shown, asked, groups)

    @classmethod
    def public(
        cls,
        panel: Panel,
        *,
        statement: str,
        private: Sequence[Panel] = (),
        **asking: Unpack[AskingOptions],
    ) -> LabelTask:
        """Show series that are already public.

        `statement` says why they are, and is recorded. `private` are panels whose series must not be among them: a
        series that equals one of theirs at all instants, up to a millionth of its largest value, is refused with
        GuaranteeNotMetError, unless that one is constant. Series of another length are not compared, nor are parts of
        series or private series with missing values.
        """
        asked = Asking(**asking)
        return cls._of(admit_public(panel, statement, private), asked)

    @classmethod
    def released(
        cls,
        folder: str | Path,
        *,
        private: Sequence[Panel] = (),
        **asking: Unpack[AskingOptions],
    ) -> LabelTask:
        """Show the series of a release of values, if it verifies; `private` as in `LabelTask.public`."""
        asked = Asking(**asking)
        return cls._of(admit_release(folder, private), asked)

    @classmethod
    def load(cls, folder: str | Path) -> LabelTask:
        """Open a saved task, if its files are unchanged and its guarantee holds on the curves in them."""
        from shoal.labels.task_folder import read_task

        return cls._of(*read_task(Path(folder)))

    def save(self, folder: str | Path) -> Path:
        """Write `task.json`, the certificate, and `series.parquet`, the sanitised rows, into a new folder.

        For a pre-sanitised task also `shown.json`, readable by its owner only: who is behind which curve, hashed.
        """
        from shoal.labels.task_folder import write_task

        return write_task(self._shown, self._asking, self._groups, Path(folder))

    @classmethod
    def _of(cls, shown: Shown, asking: Asking, groups: ShownGroups | None = None) -> LabelTask:
        shown.refuse_unless_it_holds()
        if groups is not None:
            shown.refuse_other_groups(groups)
        task = object.__new__(cls)
        object.__setattr__(task, "_shown", shown)
        object.__setattr__(task, "_asking", asking)
        object.__setattr__(task, "_groups", groups)
        return task

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("A LabelTask is immutable; build a new one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("A LabelTask is immutable; build a new one.")

    @property
    def values(self) -> NDArray[np.float64]:
        """The different published curves (curves, instants), read-only, in the order of their values."""
        return self._shown.values

    @property
    def crowds(self) -> NDArray[np.int64]:
        """How many rows are published as each curve: one for each subject if pre-sanitised."""
        return self._shown.crowds

    @property
    def times(self) -> NDArray[Any]:
        """The instants: datetimes or whole numbers."""
        return self._shown.times

    @property
    def timezone(self) -> str | None:
        """The zone in which the instants should be read."""
        return self._shown.timezone

    @property
    def source(self) -> Source:
        """ "presanitised", "public" or "released"."""
        return self._shown.source

    @property
    def guarantee(self) -> dict[str, Any]:
        """What is promised about the curves, and what was measured."""
        return {name: dict(part) if isinstance(part, dict) else part for name, part in self._shown.guarantee.items()}

    @property
    def shown_groups(self) -> ShownGroups | None:
        """Who is behind which curve, under keyed hashes: for the publisher. None if public or released."""
        return self._groups

    @property
    def digest(self) -> str:
        """SHA-256 of the published values, the instants and the guarantee."""
        return self._shown.digest()

    @property
    def question(self) -> str:
        """The text above the two curves."""
        return self._asking.question

    @property
    def n_pairs(self) -> int:
        """Number of questions for an analyst, including repetitions."""
        n_fresh, _, n_repeats = self._asking.counts(self.n_curves)
        return n_fresh + n_repeats

    @property
    def n_different(self) -> int:
        """How many different pairs an analyst is asked about."""
        return self._asking.counts(self.n_curves)[0]

    @property
    def n_pairs_wanted(self) -> int:
        """Number of questions requested; there may be fewer."""
        return int(self._asking.n_pairs)

    @property
    def choice(self) -> Choice:
        """How pairs are chosen."""
        return self._asking.choice

    @property
    def repeats(self) -> float:
        """Share of the questions that are asked a second time."""
        return self._asking.repeats

    @property
    def common(self) -> float:
        """Share of the different pairs that every analyst is asked about."""
        return self._asking.common

    @property
    def seed(self) -> int:
        """Seed of the draw."""
        return int(self._asking.seed)

    @property
    def n_curves(self) -> int:
        """How many different curves there are."""
        return len(self.values)

    @property
    def certificate(self) -> dict[str, Any]:
        """What `task.json` says."""
        from shoal.labels.task_folder import certify

        return certify(self._shown, self._asking)

    def plan(self, analyst: str) -> tuple[Question, ...]:
        """The questions that are fixed before anyone answers: all, or with choice="active" the common part."""
        planned = plan_uniform if self.choice == "uniform" else plan_common
        return planned(self._asking, self.n_curves, analyst)

    def questions(self, labels: Labels, analyst: str, n: int) -> list[Question]:
        """The next questions for an analyst, at most n, given all labels so far.

        With choice="active", they depend on the labels: request one at a time, or as many as are handed out together.
        """
        answered = {label.position for label in labels if label.analyst == analyst}
        plan = self.plan(analyst)
        fresh = [question for question in plan if question.position not in answered][:n]
        if self.choice == "uniform" or len(fresh) == n:
            return fresh
        open_positions = [at for at in range(len(plan), self.n_pairs) if at not in answered]
        return fresh + choose_next(self, self._asking, labels, analyst, open_positions[: n - len(fresh)], fresh)

    def further(self, analyst: str, asked: Iterable[Question], position: int) -> Question | None:
        """One further question, about a pair the analyst was not asked about; None if there is none left."""
        return draw_further(self._asking, self.n_curves, analyst, position, asked)

    def curves(self, question: Question) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The values of the left and of the right curve."""
        return self.values[question.left], self.values[question.right]

    def __repr__(self) -> str:
        return f"LabelTask({self.source}, {self.n_curves} curves, {self.n_pairs} questions, {self.choice})"
