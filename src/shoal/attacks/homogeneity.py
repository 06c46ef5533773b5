"""Looking up a person's event by quasi-identifiers and time, and reading off the sensitive value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.attacks.coarser import published_counts, read_coarser
from shoal.attacks.links import N_WORST
from shoal.attacks.words import percent
from shoal.errors import ParameterError
from shoal.model import Attack, Events, EventTables, Findings, Interval, Risk
from shoal.model.event_kinds import as_text
from shoal.model.event_tables import COUNT, GROUP, TIME
from shoal.model.parameters import is_whole

R = TypeVar("R", bound=Risk)

_CLASS, _HITS, _ROW = "__class", "__hits", "__row"


@dataclass(frozen=True)
class EventAttack(Attack[R]):
    """An attack by someone who knows quasi-identifiers and times of events, on events that may have been moved."""

    against: ClassVar[str] = "events"
    answers: ClassVar[Mapping[str, str]] = {"inference": "success"}
    draws_targets: ClassVar[bool] = False
    unfit: ClassVar[str] = "it attacks events, and a policy is about series"

    window: int = 1
    tree: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if not is_whole(self.window, 1):
            raise ParameterError("window must be a whole number of snapshots, at least 1.")


@dataclass(frozen=True)
class HomogeneityRisk(Risk):
    """A risk computed exactly, before and after.

    Parameters
    ----------
    highest
        The chance for the target most at risk among those that some published event could be; `success` is the mean
        over all targets.
    before, before_highest
        The same two for events published as they are, without any protection.
    n_unmatched, unmatched
        Targets that no published event in reach could be, and the mean chance for them. They were suppressed, which is
        itself informative: only values that are too frequent are suppressed.
    """

    highest: float = 0.0
    before: float = 0.0
    before_highest: float = 0.0
    n_unmatched: int = 0
    unmatched: float = 0.0


@dataclass(frozen=True)
class Homogeneity(EventAttack[HomogeneityRisk]):
    """The chance of learning the sensitive value of an event from its quasi-identifiers and its time.

    The adversary collects the published events that the target could be: those of the target's snapshot and of the
    `window` - 1 snapshots after it, as an event may have been moved, whose quasi-identifiers are the target's or cover
    them. Each is equally likely to be the target, and within a group each sensitive value is as likely as its share.
    The probability of the target's true value is the chance of success. If no published event matches, the target was
    suppressed, and the adversary guesses the value that is most often the most frequent one of a snapshot in reach: a
    method that publishes as much as possible suppresses no other. Computed for every event, so the interval is a point.
    The baseline knows only the frequency of each value among all events.

    Parameters
    ----------
    window
        The window of the method: events are published at most window - 1 snapshots after their own. 1 for an adversary
        who trusts timestamps, or a release that keeps them.
    tree
        The coarser value of each value, where a remedy published frequent values as coarser ones. The adversary knows
        it, and counts a coarser value as the values below it, by how often each is published.

    Examples
    --------
    >>> table = pl.DataFrame({"time": [0, 0, 1, 1], "age": [30, 30, 52, 52], "result": ["a", "a", "a", "b"]})
    >>> events = Events(table, sensitive="result", quasi=["age"])
    >>> counts = pl.DataFrame({"time": [1, 1], "group": [0, 0], "result": ["a", "b"], "count": [2, 2]})
    >>> records = pl.DataFrame({"time": [1] * 4, "group": [0] * 4, "age": [30, 30, 52, 52]})
    >>> found = Homogeneity(window=2).attack(events, EventTables(records, counts, ("age",), "result"))
    >>> found.before_highest, found.highest
    (1.0, 0.5)

    References
    ----------
    K. Wang, Y. Xu, R. C.-W. Wong, A. W.-C. Fu, "Anonymizing temporal data", 2010, section I.
    """

    name: ClassVar[str] = "homogeneity"
    meaning: ClassVar[str] = "chance of learning the sensitive value of an event from its quasi-identifiers and time"
    knows: ClassVar[str] = "The quasi-identifiers and the time of every target's event."

    def find(self, original: Events, published: EventTables) -> HomogeneityFindings:  # type: ignore[override]
        """The chances of every original event, and of the same events published as they are."""
        frame = original.frame
        instants = frame[original.time].unique().sort()
        values = frame[original.sensitive]
        frequent = values.value_counts()
        guess = dict(zip(frequent[original.sensitive].to_list(), frequent["count"] / len(frame), strict=True))
        baseline = np.array([guess[value] for value in values.to_list()])
        after, matched = self._chances(original, published, int(self.window), instants, self.tree)
        before, _ = self._chances(original, _as_they_are(original), 1, instants, None)
        suppressed = self._chances_of_suppressed(original, published, baseline, instants)
        return HomogeneityFindings(after, np.where(matched, after, suppressed), matched, before, baseline)

    def risk(self, findings: HomogeneityFindings) -> HomogeneityRisk:
        """The chance of learning a sensitive value, on average and at most."""
        chances, matched, before = findings.chances, findings.matched, findings.before
        mean, chance = float(chances.mean()), float(findings.baseline.mean())
        return HomogeneityRisk(
            success=mean,
            interval=Interval.exactly(mean),
            baseline=chance,
            baseline_interval=Interval.exactly(chance),
            n_targets=len(chances),
            worst=tuple(int(row) for row in np.argsort(-chances, kind="stable")[:N_WORST]),
            prosecutor=float(chances.max()),
            sentence=(
                "Someone who knows the quasi-identifiers and the time of an event learns its sensitive value with a "
                f"chance of {percent(mean)} ({len(chances)} events); "
                f"published as they are {percent(float(before.mean()))}, by guessing {percent(chance)}. "
                f"{_at_worst(chances, matched)}"
            ),
            highest=float(findings.after.max()),
            before=float(before.mean()),
            before_highest=float(before.max()),
            n_unmatched=int(np.count_nonzero(~matched)),
            unmatched=0.0 if matched.all() else float(chances[~matched].mean()),
        )

    def _chances(
        self,
        original: Events,
        published: EventTables,
        window: int,
        instants: pl.Series,
        tree: Mapping[str, str] | None,
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """For each original event, the chance of its value, and whether any published event matches it."""
        total, right = np.zeros(len(original)), np.zeros(len(original))
        reach = _reach(original, published, tree)
        hits = reach.group_by(TIME, _CLASS).agg(pl.col(_HITS).sum())
        for there in _targets(original, window, instants):
            matches = there.join(hits, on=[TIME, _CLASS], how="inner")
            np.add.at(total, matches[_ROW].to_numpy(), matches[_HITS].to_numpy())
            same = there.join(reach, on=[TIME, _CLASS, original.sensitive], how="inner")
            np.add.at(right, same[_ROW].to_numpy(), same[_HITS].to_numpy())
        matched = total > 0
        return np.divide(right, total, out=np.zeros(len(original)), where=matched), matched

    def _chances_of_suppressed(
        self, original: Events, published: EventTables, baseline: NDArray[np.float64], instants: pl.Series
    ) -> NDArray[np.float64]:
        """For each original event, the chance that guessing the most frequent value around it is right."""
        sensitive = published.sensitive
        counts = read_coarser(published_counts(published), COUNT, published, self.tree)
        totals = counts.group_by(TIME, sensitive).agg(pl.col(COUNT).sum())
        top = totals.filter(pl.col(COUNT) == pl.col(COUNT).max().over(TIME)).select(TIME, sensitive)
        top = top.filter(pl.col(TIME).is_in(instants.implode()))
        place = instants.search_sorted(top[TIME]).cast(pl.Int64)
        around = pl.concat(
            top.with_columns((place - shift).alias("__home")).filter(pl.col("__home") >= 0)
            for shift in range(self.window)
        )
        often = around.group_by("__home", sensitive).agg(pl.len().alias("__often"))
        best = often.filter(pl.col("__often") == pl.col("__often").max().over("__home"))
        best = best.select("__home", sensitive, __chance=1.0 / pl.len().over("__home"))
        homes = instants.search_sorted(original.frame[original.time]).cast(pl.Int64)
        targets = original.frame.select(sensitive, __home=homes)
        joined = targets.join(best, on=["__home", sensitive], how="left", maintain_order="left")
        told = homes.is_in(best["__home"].implode()).to_numpy()
        return np.where(told, joined["__chance"].fill_null(0.0).to_numpy(), baseline)


def match_events(
    original: Events, published: EventTables, window: int, tree: Mapping[str, str] | None
) -> Iterator[pl.DataFrame]:
    """For each original event, by `__row`, the values of the published events that it could be.

    One frame per distance, with the sensitive value and in `__hits` the expected number of events with it.
    """
    reach = _reach(original, published, tree)
    instants = original.frame[original.time].unique().sort()
    for there in _targets(original, window, instants):
        yield there.drop(original.sensitive).join(reach, on=[TIME, _CLASS], how="inner")


def _reach(original: Events, published: EventTables, tree: Mapping[str, str] | None) -> pl.DataFrame:
    """How many published events each kind of person could be at each instant, by sensitive value."""
    names = list(original.quasi)
    keyed = original.frame.with_columns(_keys(original.frame, names).alias(_CLASS))
    matches = _matches(published, keyed.unique(_CLASS, keep="first").select(_CLASS, *names), names)
    return read_coarser(matches, _HITS, published, tree)


def _targets(original: Events, window: int, instants: pl.Series) -> Iterator[pl.DataFrame]:
    """All original events with the instants at which each may be published, one frame per distance."""
    frame = original.frame
    targets = frame.select(
        _keys(frame, list(original.quasi)).alias(_CLASS),
        pl.col(original.sensitive),
        pl.col(original.time).alias(TIME),
    ).with_row_index(_ROW)
    place = instants.search_sorted(targets[TIME])
    for shift in range(window):
        there = targets.with_columns((place + shift).alias("__place")).filter(pl.col("__place") < len(instants))
        yield there.with_columns(instants.gather(there["__place"]).alias(TIME))


@dataclass(frozen=True, eq=False, repr=False)
class HomogeneityFindings(Findings):
    """For every event, the chance of learning its value. Events are not sharded."""

    after: NDArray[np.float64]
    """From published events that it could be; 0 if there is none."""
    chances: NDArray[np.float64]
    """From everything the adversary sees, including that an event is missing."""
    matched: NDArray[np.bool_]
    """Whether it could be any published event."""
    before: NDArray[np.float64]
    """If published as they are."""
    baseline: NDArray[np.float64]


def _at_worst(chances: NDArray[np.float64], matched: NDArray[np.bool_]) -> str:
    """The highest chance, for those that a published event could be and for those seen to be missing."""
    if matched.all():
        return f"For the event most at risk it is {percent(float(chances.max()))}."
    n_missing = int(np.count_nonzero(~matched))
    missing = (
        f"{percent(float(chances[~matched].mean()))} on average and {percent(float(chances[~matched].max()))} at "
        f"most for the {n_missing} that can be seen to be missing"
    )
    if not matched.any():
        return f"It is {missing}."
    highest = percent(float(chances[matched].max()))
    return f"It is {highest} at most for events that some published one could be, {missing}."


def _matches(published: EventTables, kinds: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Columns time, kind of person, sensitive value, and the expected number of that kind's events with that value."""
    records, counts, sensitive = published.records, published.counts, published.sensitive
    if counts is not None:
        keyed = records.with_columns(_keys(records, names).alias(_CLASS))
        sizes = records.group_by(TIME, GROUP).agg(pl.len().alias("__size"))
        like = keyed.group_by(TIME, GROUP, _CLASS).agg(pl.len().alias("__like"))
        shares = counts.join(sizes, on=[TIME, GROUP])
        both = like.join(shares, on=[TIME, GROUP])
        expected = both["__like"].cast(pl.Float64) * both[COUNT] / both["__size"]
        return both.with_columns(expected.alias(_HITS)).group_by(TIME, _CLASS, sensitive).agg(pl.col(_HITS).sum())
    # Each distinct coarse record against each kind of person, at all instants at once: far fewer than events.
    coarse = records.columns[1:-1]
    marked = records.with_columns(_keys(records, coarse).alias("__coarse"))
    different = marked.unique("__coarse", keep="first").select("__coarse", *coarse)
    covered = pl.concat(
        kinds.filter(_covers(row, kinds, names)).select(_CLASS, __coarse=pl.lit(row["__coarse"]))
        for row in different.iter_rows(named=True)
    )
    counted = marked.group_by(TIME, "__coarse", sensitive).agg(pl.len().cast(pl.Float64).alias(_HITS))
    return counted.join(covered, on="__coarse").group_by(TIME, _CLASS, sensitive).agg(pl.col(_HITS).sum())


def _covers(row: dict[str, Any], kinds: pl.DataFrame, names: list[str]) -> pl.Series:
    """Which kinds of person a coarse record can belong to."""
    fits = pl.Series([True] * len(kinds))
    for name in names:
        entries = kinds[name]
        if name in row:
            listed = json.loads(row[name])
            fit = pl.Series([entry in listed for entry in as_text(entries).to_list()], dtype=pl.Boolean)
        elif row[f"{name}_high"] is None:
            fit = entries.is_null()
        elif row[f"{name}_low"] is None:
            # Without a lower end, some of the group have no value at all.
            fit = (entries <= row[f"{name}_high"]).fill_null(True)
        else:
            fit = entries.is_between(row[f"{name}_low"], row[f"{name}_high"]).fill_null(False)
        fits = fits & fit
    return fits


def _keys(frame: pl.DataFrame, names: list[str]) -> pl.Series:
    """One text per row, equal if all these columns are."""
    if not names:
        return pl.Series([""] * len(frame), dtype=pl.String)
    parts = pl.concat_list([pl.col(name).cast(pl.String) for name in names])
    return frame.select(keys=parts.list.eval(pl.element().fill_null("\x00")).list.join("\x1f"))["keys"]


def _as_they_are(original: Events) -> EventTables:
    """The original events, each in its own bucket."""
    frame = original.frame.with_columns(pl.int_range(pl.len()).alias(GROUP))
    records = frame.select(pl.col(original.time).alias(TIME), GROUP, *original.quasi)
    counts = frame.select(pl.col(original.time).alias(TIME), GROUP, original.sensitive, pl.lit(1).alias(COUNT))
    return EventTables(records, counts, original.quasi, original.sensitive)
