"""(n, l, k)-anonymity of published series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees.crowds import attribute_codes, published_panel, what_is_published
from shoal.guarantees.kp_anonymity import pattern_classes
from shoal.guarantees.numbers import refuse_unless_whole
from shoal.kernels.equal_rows import row_classes
from shoal.kernels.nlk_check import fill_up, find_breach, inferred_by
from shoal.kernels.nlk_labels import instant_labels, make_groups, small_instants
from shoal.kernels.nlk_search import FOUND, NOTHING, make_work, search
from shoal.kernels.nlk_within import find_breach_within
from shoal.model import Envelopes, Guarantee, Judged, Panel, Verdict
from shoal.model.parameters import is_number

# No published value is larger; and a whole number from a forged certificate must not be too large to be written.
_MOST_WITHIN = 1e300
_MORE_INFERRED = "so many instants can be inferred; required is the most that may be"

# Sets of known instants the check looks at before it gives up.
WORK_LIMIT = 200_000
# The same for the greedy knowledge of one series in a sample.
_GREEDY_LIMIT = 50


@dataclass(frozen=True)
class InferenceSample:
    """What a sampled adversary inferred: a lower bound on what can be inferred, never a proof that it is little.

    Parameters
    ----------
    inferred
        The largest number of instants that some sampled knowledge let infer.
    allowed
        The largest number the guarantee allows.
    witness
        Series, known and inferred instants, by position, of that largest number; None if nothing was inferred.
    """

    inferred: int
    allowed: int
    witness: dict[str, Any] | None

    @property
    def breached(self) -> bool:
        """True: the guarantee does not hold. False proves nothing."""
        return self.inferred > self.allowed


@dataclass(frozen=True)
class NLKAnonymity(Guarantee):
    """Someone who knows n values of a series infers fewer than l - n others.

    For a series f and a set K of n instants, the candidates are all series equal to f at every instant of K. An instant
    outside K is inferred when the series that share a value there with some candidate belong to fewer than k subjects.
    It holds when no f and no K let l - n or more instants be inferred. Values are equal when they are so bit for bit in
    all channels; missing equals only missing. Where attributes are published, the adversary knows those of f too: only
    series with the same attributes count, as candidates and as sharing a value.

    In the worst case, n = T - 1 and l = T of T instants, it holds if every series has a crowd of k at every instant
    (paper, lemma 1). The converse, which section 3.5.1 suggests, is not true: the values of the other candidates count
    too, so groups below k can remain where the known instants leave candidates in several of them.

    A disjoint union of subjects keeps it: candidates stay candidates, and the series that share a value with one can
    only become more, so nothing is inferred that was not inferred in a part. Parts that hold decide for their union,
    even where a search of the whole would run out of its limit.

    Parameters
    ----------
    n
        Instants that are known about a series. Larger is a stronger adversary.
    l
        Total number of instants that must not become known, including known ones; above n. Smaller hides more.
    k
        Smallest number of subjects a value can be narrowed down to. Larger hides better.
    per
        "subject" counts different subjects. "series" is the weaker form: it counts rows, so one subject's many days may
        be each other's crowd. Without known subjects the two are the same.
    within
        How far what is known may be from the published value, either way, in the unit of the data: the adversary has an
        estimate at most that far from f at every instant of K, and candidates are then all series at most that far from
        the estimates, wherever these lie. Published attributes and pattern words have no unit: they are known exactly.
        0 is exact knowledge. Larger is a weaker adversary, so less is promised; what holds for one error holds for any
        larger one.

    Examples
    --------
    >>> panel = Panel([[1.0, 5.0], [1.0, 6.0], [2.0, 5.0], [2.0, 6.0]])
    >>> NLKAnonymity(n=1, l=2, k=3).check(panel).holds
    True
    >>> NLKAnonymity(n=1, l=2, k=3).check(Panel([[1.0, 5.0], [1.0, 5.0], [2.0, 6.0], [2.0, 6.0]])).witness
    {'series': 0, 'known': [0], 'inferred': [1]}

    References
    ----------
    S. Kessler, E. Buchmann, T. Burghardt, K. Böhm, "Pattern-sensitive time-series anonymization and its application to
    energy-consumption data", 2014, section 3.
    """

    name: ClassVar[str] = "nlk-anonymity"
    allows_small_groups: ClassVar[bool] = True

    n: int
    l: int
    k: int
    per: Literal["subject", "series"] = "subject"
    within: float = 0.0

    def __post_init__(self) -> None:
        for name, least, why in (
            ("n", 1, "an adversary must know something."),
            ("l", 2, "it counts the known instants and at least one more."),
            ("k", 2, "a crowd of one hides nobody."),
        ):
            refuse_unless_whole(name, getattr(self, name), least, why)
        if self.n >= self.l:
            raise ParameterError(
                f"n={self.n} known instants are not fewer than l={self.l} in all, so nothing would be left to protect. "
                "Raise l or lower n."
            )
        if self.per not in ("subject", "series"):
            raise ParameterError("per must be 'subject' or 'series'.")
        if not is_number(self.within) or not 0.0 <= self.within <= _MOST_WITHIN:
            raise ParameterError(f"within must be a number, at least 0 and at most {_MOST_WITHIN:g}.")

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        known, others = known_and_others(self.n, self.l)
        crowd = "subjects" if self.per == "subject" else "series"
        if self.within:
            known += f", each to within {self.within:g},"
        return (
            f"Whoever knows {known} of a published series can narrow down {others} to fewer than {self.k} {crowd} each."
        )

    def check(self, published: Judged, limit: int = WORK_LIMIT) -> Verdict:
        """Search all series and all sets of n instants, exactly; at most `limit` sets are examined one by one.

        `measured` is the number of inferred instants of the witness if there is a breach; otherwise a number proven
        never to be exceeded: if it holds, at most l - n - 1, and if the limit ran out, more than that.
        """
        panel = published_panel(published)
        labels, subjects = self._labels(panel)
        n, l, k = int(self.n), int(self.l), int(self.k)
        breach = find_breach(labels, subjects, n, l, k, limit)
        if self.within and breach.status != NOTHING:  # inexact knowledge reveals no more
            kinds = _kinds(published, panel)
            breach = find_breach_within(panel.cube, labels, kinds, subjects, n, l, k, float(self.within), limit)
        required = int(self.l - self.n) - 1
        if breach.status == NOTHING:
            return Verdict("holds", breach.at_most, required, note="no more instants than this can be inferred")
        if breach.status == FOUND:
            witness = _witness(breach.series, breach.known, breach.inferred)
            return Verdict("does not hold", len(breach.inferred), required, witness, _MORE_INFERRED)
        return Verdict(
            "does not hold",
            breach.at_most,
            required,
            note=f"undecided: the search used up its limit of {limit} steps and found no breach; "
            "no more instants than this can be inferred",
        )

    def _weakness(self, verdict: Verdict) -> tuple[float, ...]:
        """A breach that was found comes before a search that ran out; then more inferred instants are worse."""
        return () if verdict.measured is None else (verdict.witness is None, -float(verdict.measured))

    def sample(self, published: Judged, draws: int = 20, seed: int = 0) -> InferenceSample:
        """What an adversary infers from n instants known at random (`draws` times per series) or chosen greedily.

        For panels on which the check does not finish. It is a lower bound on what can be inferred and not a proof:
        knowledge that was not drawn may infer more.
        """
        if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 0:
            raise ParameterError("draws must be a whole number, at least 0.")
        if self.within:
            raise ParameterError("A sample is drawn for exact knowledge. Omit within, or use check.")
        labels, subjects = self._labels(published_panel(published))
        n, k = int(self.n), int(self.k)
        rng = np.random.default_rng(seed)
        groups = make_groups(labels, subjects)
        small = small_instants(groups, k)
        work = make_work(labels.shape[0], labels.shape[1], n)
        best = 0
        witness = None
        for f in range(labels.shape[0]):
            row = small[f]
            tries = [np.sort(rng.permutation(labels.shape[1])[:n]) for _ in range(draws)]
            # The first way down of a search for more than the best so far is the greedy choice.
            more = best + 1
            if n + more <= labels.shape[1]:
                status, size, _ = search(groups, row, f, n, more, k, -1, -1, _GREEDY_LIMIT, work)
                greedy = work.known[:size].astype(np.int64)
                if status == FOUND:
                    tries.append(fill_up(groups, row, f, greedy, n, more, k, work)[0])
            for known in tries:
                inferred = np.flatnonzero(inferred_by(groups, row, f, known, k, work))
                if len(inferred) > best:
                    best, witness = len(inferred), _witness(f, known, inferred)
        return InferenceSample(best, int(self.l - self.n) - 1, witness)

    def _labels(self, panel: Panel) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        if self.l > panel.n_instants:
            raise ParameterError(
                f"l={self.l} needs at least {self.l} instants, the panel has {panel.n_instants}. "
                "Lower l or publish more instants."
            )
        subjects = panel.subject_codes if self.per == "subject" else np.arange(panel.n_series)
        return published_labels(panel), subjects


def published_labels(panel: Panel) -> NDArray[np.int32]:
    """At each instant a number for each series, equal where values and attributes are published bit for bit alike."""
    bits, codes = np.ascontiguousarray(panel.cube).view(np.uint64), attribute_codes(panel)
    if not codes.shape[1]:
        return instant_labels(bits)
    everywhere = np.broadcast_to(codes[:, None, :], (*bits.shape[:2], codes.shape[1]))
    return instant_labels(np.ascontiguousarray(np.concatenate([bits, everywhere], axis=2)))


def _kinds(published: Judged, panel: Panel) -> NDArray[np.int64]:
    """Series that differ in what has no unit, and is therefore known exactly: published attributes and words."""
    codes, found = attribute_codes(panel), what_is_published(published)
    if isinstance(found, Envelopes):
        words = pattern_classes(found, np.zeros(found.n_series, dtype=np.int64))
        codes = np.column_stack([codes, words.astype(np.uint64)])
    return row_classes(codes)


def known_and_others(n: int, l: int) -> tuple[str, str]:
    """How many values are known, and how many others may be inferred, in words."""
    left = l - n
    return f"{n} value{'s' if n > 1 else ''}", "no other" if left == 1 else f"fewer than {left} others"


def _witness(series: int, known: NDArray[np.int64], inferred: NDArray[np.int64]) -> dict[str, Any]:
    return {"series": series, "known": known.tolist(), "inferred": inferred.tolist()}
