"""Linking known values and shapes to envelopes and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.attacks.ground import Rows, need_targets, read_positions
from shoal.attacks.links import N_WORST
from shoal.attacks.possible_sets import Knowledge, PossibleSets, possible_sets
from shoal.attacks.words import percent
from shoal.errors import ParameterError
from shoal.model import Attack, Envelopes, Findings, Interval, Panel, Risk
from shoal.model.columns import plain_column
from shoal.model.rows import published_rows


@dataclass(frozen=True)
class LinkageRisk(Risk):
    """A risk computed exactly, with its worst case.

    Parameters
    ----------
    highest
        The breach probability of the target most at risk; `success` is the mean over all targets.
    n_missed
        Targets that were published but are not in their own possible set, because their word does not match their own
        shape (a method may move series to a neighbouring pattern). The adversary is certainly wrong about these.
    n_suppressed
        Targets that were not published.
    """

    highest: float = 0.0
    n_missed: int = 0
    n_suppressed: int = 0


@dataclass(frozen=True)
class Linkage(Attack[LinkageRisk]):
    """The probability of breach of every series, for an adversary who knows its values, its shape, or both.

    The possible set PS(Q) of a target Q holds the published series

        with low[t] <= Q[t] <= high[t] at every published instant         (knowledge of values)
        whose word is that of Q at the level of the published series      (knowledge of the pattern)

    and the probability of breach is the share of PS(Q) that carries the sensitive value of Q; 0 if PS(Q) is empty.
    Without `sensitive`, every subject is assumed to have its own value: with one series per subject, the probability is
    1 / |PS(Q)|. It is computed, not sampled, so the interval is a point. The baseline picks an original series at
    random: 1 / N for N subjects with one series each.

    Parameters
    ----------
    values
        Whether the adversary knows the values at all published instants.
    pattern
        Whether it knows the shape, and so the word at every level. For words over a few instants only, letters are
        those of the whole series.
    word
        "published" gives the adversary the word and level under which the target was published: the cautious figure,
        and the paper's. "own" uses the words that follow from the shape: all that can be derived from it. A method may
        have moved a series to a neighbouring word, and then this adversary looks in the wrong place (`n_missed`); words
        of means, KP's default, are nobody's own, so that nearly all are missed.
    sensitive
        A column of the original's `sensitive`, if what is at stake is a value that several may share. If the release
        publishes that column, its values count as published; else every series is assumed to show its own.

    Examples
    --------
    >>> original = Panel([[1.0, 2.0], [2.0, 3.0], [4.0, 1.0], [5.0, 2.0]])
    >>> low, high = [[1.0, 1.0]] * 4, [[5.0, 3.0]] * 4
    >>> published = Envelopes(low, high, levels=[2] * 4, patterns=["ab", "ab", "ba", "ba"], times=[0, 1])
    >>> Linkage(pattern=False).attack(original, published).highest
    0.25
    >>> Linkage().attack(original, published).highest
    0.5

    References
    ----------
    The paper on (k, P)-anonymity, sections 3.3 (attacks) and 4.2.1 (breach probabilities); 5.4 for shared values.
    """

    name: ClassVar[str] = "linkage"
    meaning: ClassVar[str] = (
        "chance of learning a target's sensitive value by linking what is known to envelopes and words"
    )
    called: ClassVar[str] = "readings to link with ranges and shapes"
    against: ClassVar[str] = "envelopes"
    answers: ClassVar[Mapping[str, str]] = {"inference": "success"}
    draws_targets: ClassVar[bool] = False

    values: bool = True
    pattern: bool = True
    word: Literal["published", "own"] = "published"
    sensitive: str | None = None

    def __post_init__(self) -> None:
        if not (self.values or self.pattern):
            raise ParameterError("Linkage needs an adversary who knows something: values=True, pattern=True or both.")
        if self.word not in ("own", "published"):
            raise ParameterError("word must be 'own' or 'published'.")

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        return f"Of every target {self._held}."

    @property
    def _held(self) -> str:
        shape = "the published word" if self.word == "published" else "the shape"
        return " and ".join(["the values at all published instants"] * self.values + [shape] * self.pattern)

    @property
    def bounded_by_shard(self) -> bool:
        """Others in a shard may share a sensitive value less often than all subjects do."""
        return self.sensitive is None

    def find(
        self,
        original: Panel,
        published: Envelopes,
        *,
        rows: NDArray[np.int64] | None = None,
        targets: ArrayLike | None = None,
        first: int | None = None,
        sensitive: ArrayLike | None = None,
    ) -> LinkageFindings:
        """The possible set of every series of the original, or of those at `targets`.

        `rows` says which original each published series is, if some were suppressed or moved; `sensitive` gives the
        sensitive value published with each, if it is neither the one in the release nor the original one.
        """
        known, stakes = self._prepare(original, published, rows, sensitive)
        n = original.n_series
        positions = np.arange(n) if targets is None else np.unique(read_positions("targets", targets, n))
        missed = ~known.contains(stakes.rows, np.arange(published.n_series)) & np.isin(stakes.rows, positions)
        found = possible_sets(known.of_some(positions), stakes.shown, stakes.true[positions])
        return LinkageFindings(
            sizes=found.sizes,
            own=found.own,
            targets=positions,
            alike=np.bincount(stakes.true)[stakes.true[positions]],
            n_series=n,
            n_missed=int(np.count_nonzero(missed)),
            n_suppressed=n - published.n_series,
            is_shared=self.sensitive is not None,
        )

    def risk(self, findings: LinkageFindings) -> LinkageRisk:
        """The probability of breach, on average and at most."""
        n = len(need_targets(findings.targets))
        breach = findings.probabilities
        mean, highest = float(breach.mean()), float(breach.max())
        chance = float(findings.alike.mean()) / findings.n_series
        # For all series, the figure is exact; a random sample stands for the others.
        interval = Interval.exactly(mean) if n == findings.n_series else Interval.wilson(mean, n)
        worst = np.argsort(-breach, kind="stable")[:N_WORST]
        return LinkageRisk(
            success=mean,
            interval=interval,
            baseline=chance,
            baseline_interval=Interval.exactly(chance),
            n_targets=n,
            worst=tuple(int(row) for row in findings.targets[worst]),
            prosecutor=highest,
            confidence=float((1.0 / np.maximum(findings.sizes, 1)).mean()),
            sentence=(
                f"Someone who knows {self._held} of a target learns what is at stake with a chance of {percent(mean)} "
                f"({n} targets), {percent(highest)} for the one most at risk; by guessing {percent(chance)}."
                f"{_looked_elsewhere(findings.n_missed)}"
            ),
            highest=highest,
            n_missed=findings.n_missed,
            n_suppressed=findings.n_suppressed,
        )

    def _prepare(
        self,
        original: Panel,
        published: Envelopes,
        rows: NDArray[np.int64] | None,
        sensitive: ArrayLike | None,
    ) -> tuple[Knowledge, _Stakes]:
        if not isinstance(published, Envelopes):
            raise ParameterError("Linkage attacks envelopes with words; other forms of release have no possible sets.")
        if original.n_channels != published.n_channels or original.n_missing:
            raise ParameterError(
                f"Linkage needs the {published.n_channels} channel(s) of the release without gaps; the original has "
                f"{original.n_channels} channels and {original.n_missing} gaps."
            )
        kept = published_rows(original.n_series, published.n_series, rows)
        known = Knowledge.of(original, published, values=self.values, pattern=self.pattern)
        if self.pattern and self.word == "published":
            known = known.told(kept)
        if sensitive is None and self.sensitive is not None:
            sensitive = published.sensitive.get(self.sensitive)
        return known, self._stakes(original, kept, sensitive)

    def _stakes(self, original: Panel, kept: NDArray[np.int64], sensitive: ArrayLike | None) -> _Stakes:
        if self.sensitive is None:
            if sensitive is not None:
                raise ParameterError(
                    "Published sensitive values need the column they belong to: Linkage(sensitive=...)."
                )
            own = original.subject_codes
            return _Stakes(kept, own, own[kept])
        if self.sensitive not in original.sensitive:
            raise ParameterError(
                f"The original has no sensitive column {self.sensitive!r}; it has {len(original.sensitive)} of them."
            )
        true = plain_column(original.sensitive[self.sensitive])
        shown = true[kept] if sensitive is None else plain_column(np.asarray(sensitive))
        if shown.shape != kept.shape:
            raise ParameterError(f"{len(kept)} series were published; give a sensitive value for each.")
        numbers: dict[Any, int] = {}
        codes = [np.array([numbers.setdefault(v, len(numbers)) for v in part.tolist()]) for part in (true, shown)]
        return _Stakes(kept, *codes)


def _looked_elsewhere(n_missed: int) -> str:
    """What the figure leaves out if targets are published under words that are not their own."""
    if not n_missed:
        return ""
    where = "1 target is" if n_missed == 1 else f"{n_missed} targets are"
    return f" {where} published under another word than their own and not looked for there; word=published does."


@dataclass(frozen=True, eq=False)
class LinkageFindings(PossibleSets, Findings):
    """Possible sets of targets at these positions."""

    targets: Rows
    alike: Rows
    """How many originals have what is at stake for each."""
    n_series: int
    n_missed: int
    n_suppressed: int
    is_shared: bool
    """Whether subjects may share what is at stake, even across shards."""

    @classmethod
    def merged(cls, several: Sequence[Self]) -> Self:
        """Targets come in the order of the shards. What is shared cannot be known shard by shard."""
        if any(one.is_shared for one in several):
            return super().merged(several)
        before = np.cumsum([0, *(one.n_series for one in several[:-1])])
        return cls(
            sizes=np.concatenate([one.sizes for one in several]),
            own=np.concatenate([one.own for one in several]),
            targets=np.concatenate([one.targets + n for one, n in zip(several, before, strict=True)]),
            alike=np.concatenate([one.alike for one in several]),
            n_series=sum(one.n_series for one in several),
            n_missed=sum(one.n_missed for one in several),
            n_suppressed=sum(one.n_suppressed for one in several),
            is_shared=False,
        )


@dataclass(frozen=True, eq=False)
class _Stakes:
    """Sensitive values as numbers: those of the originals, and those published."""

    rows: NDArray[np.int64]
    true: NDArray[np.int64]
    shown: NDArray[np.int64]
