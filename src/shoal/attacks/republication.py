"""Combining what several snapshots say about one person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.attacks.homogeneity import EventAttack, match_events
from shoal.attacks.links import N_WORST
from shoal.attacks.words import percent
from shoal.model import Events, EventTables, Findings, Interval, Risk


@dataclass(frozen=True)
class RepublicationRisk(Risk):
    """A risk computed exactly, for subjects with several events.

    Parameters
    ----------
    alone
        The mean chance with each snapshot separately; `success` is that with all of them together.
    highest
        The chance for the subject most at risk.
    n_certain
        Subjects whose value is certain from all snapshots together, but not from any single one.
    """

    alone: float = 0.0
    highest: float = 0.0
    n_certain: int = 0


@dataclass(frozen=True)
class Republication(EventAttack[RepublicationRisk]):
    """The chance of learning the sensitive value of someone with events in several snapshots, by intersecting them.

    The adversary knows quasi-identifiers and times of all events of a target, and assumes that its value stays the
    same. For each event it collects the published events that it could be, as `Homogeneity` does, with the share p_t(v)
    of each value v among them; an event without a match contributes nothing. Together they give

        p(v)  proportional to  p_1(v) · p_2(v) · …

    so a value that one snapshot rules out is ruled out. The chance of success is the mean of p over the target's own
    values. If no value is left, because the target's value did change, it is the mean over single snapshots. Targets
    are the subjects with events in two snapshots or more, or all if there are none. The baseline knows the frequency of
    each value among all events; the control uses every snapshot separately.

    Parameters
    ----------
    window
        As in `Homogeneity`.
    tree
        As in `Homogeneity`.

    Examples
    --------
    >>> table = pl.DataFrame(
    ...     {"time": [0, 0, 1, 1], "age": [30, 50, 30, 51], "who": ["p", "q", "p", "r"], "result": ["a", "b", "a", "c"]}
    ... )
    >>> events = Events(table, sensitive="result", quasi=["age"], subject="who")
    >>> records = table.select("time", pl.lit(0).alias("group"), "age")
    >>> counts = table.select("time", pl.lit(0).alias("group"), "result", pl.lit(1).alias("count"))
    >>> found = Republication().attack(events, EventTables(records, counts, ("age",), "result"))
    >>> found.alone, found.success
    (0.5, 1.0)

    References
    ----------
    X. Xiao, Y. Tao, "m-invariance: towards privacy preserving re-publication of dynamic datasets", 2007, section 1.
    """

    name: ClassVar[str] = "republication"
    meaning: ClassVar[str] = "chance of learning the sensitive value of a subject by intersecting its snapshots"
    knows: ClassVar[str] = "Of every target the quasi-identifiers and the times of all its events."

    def find(self, original: Events, published: EventTables) -> RepublicationFindings:  # type: ignore[override]
        """The chances of every subject with several events."""
        frame, sensitive = original.frame, original.sensitive
        values = frame[sensitive].unique().sort().to_list()
        code = {value: at for at, value in enumerate(values)}
        own = np.array([code[value] for value in frame[sensitive].to_list()], dtype=np.int64)
        subjects = _subjects(original)
        shares = self._shares(original, published, code)
        often = np.bincount(own, minlength=len(values)) / len(own)
        rows_of: dict[int, list[int]] = {}
        for row, subject in enumerate(subjects.tolist()):
            rows_of.setdefault(subject, []).append(row)
        times = frame[original.time].to_list()
        several = [rows for rows in rows_of.values() if len({times[row] for row in rows}) > 1]
        targets = several or list(rows_of.values())
        together, alone, baseline = (np.zeros(len(targets)) for _ in range(3))
        for at, rows in enumerate(targets):
            # A snapshot without a match contributes nothing: all values are as likely as in general.
            known = np.array([shares[row] if shares[row].any() else often for row in rows])
            apart = known[np.arange(len(rows)), own[rows]]
            with np.errstate(divide="ignore"):
                logs = np.log(known).sum(axis=0)
            alone[at], baseline[at] = apart.mean(), often[own[rows]].mean()
            if np.isneginf(logs).all():
                together[at] = alone[at]
            else:
                joint = np.exp(logs - logs.max())
                together[at] = (joint / joint.sum())[own[rows]].mean()
        first = np.array([rows[0] for rows in targets], dtype=np.int64)
        return RepublicationFindings(together, alone, baseline, first, bool(several))

    def risk(self, findings: RepublicationFindings) -> RepublicationRisk:
        """The chance of learning a sensitive value, on average and at most."""
        n = len(findings.together)
        mean, alone, chance = (float(part.mean()) for part in (findings.together, findings.alone, findings.baseline))
        told = int(((findings.together > 1.0 - 1e-9) & (findings.alone < 1.0 - 1e-9)).sum())
        order = np.argsort(-findings.together, kind="stable")[:N_WORST]
        return RepublicationRisk(
            success=mean,
            interval=Interval.exactly(mean),
            baseline=chance,
            baseline_interval=Interval.exactly(chance),
            control=alone,
            control_interval=Interval.exactly(alone),
            n_targets=n,
            worst=tuple(int(row) for row in findings.first[order]),
            prosecutor=float(findings.together.max()),
            sentence=_sentence(findings, mean, alone, chance, told),
            alone=alone,
            highest=float(findings.together.max()),
            n_certain=told,
        )

    def _shares(self, original: Events, published: EventTables, code: Mapping[object, int]) -> NDArray[np.float64]:
        """For each original event, the share of each value among the published events that it could be."""
        found = np.zeros((len(original), len(code)))
        sensitive = published.sensitive
        for part in match_events(original, published, int(self.window), self.tree):
            at = part[sensitive].replace_strict(list(code), list(code.values()), default=-1, return_dtype=pl.Int64)
            there = at.to_numpy() >= 0
            places = part["__row"].to_numpy()[there], at.to_numpy()[there]
            np.add.at(found, places, part["__hits"].to_numpy()[there])
        shares: NDArray[np.float64] = found / np.maximum(found.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return shares


@dataclass(frozen=True, eq=False, repr=False)
class RepublicationFindings(Findings):
    """For every subject with several events, the chance of learning its value. Events are not sharded."""

    together: NDArray[np.float64]
    alone: NDArray[np.float64]
    baseline: NDArray[np.float64]
    first: NDArray[np.int64]
    """Position of the first event of each target."""
    several: bool
    """Whether targets have events in several snapshots; if nobody has, there is nothing to intersect."""


def _sentence(findings: RepublicationFindings, mean: float, alone: float, chance: float, told: int) -> str:
    n = len(findings.together)
    if not findings.several:
        return (
            "No subject has events in two snapshots, so there is nothing to intersect; a single snapshot reveals a "
            f"sensitive value with a chance of {percent(mean)} ({n} subjects), guessing {percent(chance)}."
        )
    return (
        f"Combining all snapshots of a subject reveals its sensitive value with a chance of {percent(mean)} ({n} "
        f"subjects with events in several snapshots); each snapshot by itself {percent(alone)}, guessing "
        f"{percent(chance)}. For {told} of them it is certain only together."
    )


def _subjects(original: Events) -> NDArray[np.int64]:
    """A number for each event, the same for events of one subject; an event without a subject has its own."""
    n = len(original)
    if original.subject is None:
        return np.arange(n)
    column = original.frame[original.subject]
    codes = column.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    return np.where(codes > 0, codes, int(codes.max(initial=0)) + 1 + np.arange(n))
