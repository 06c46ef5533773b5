"""Membership inference: whether a person is in a release at all.

Signs of membership, for a target x and the distinct published series y:

    near        min over y of  rms(x - y) / rms(x)
    trace       the highest correlation of x and y, both without what everyone has: the mean of the release at every
                instant and, by dates, the own mean day; then as changes from instant to instant
    lead        how far that correlation is ahead of the next
    fit         for a release of scenarios, the least misfit of x with a group (see `distributions`)

A mean of k keeps a k-th of every member, and over hundreds of readings that is enough to show: `near` detects copies,
`trace` and `lead` detect means. How much likelier each combination is for people inside than for people outside is
learned from people whose membership the adversary knows (a logistic model of their ranks), or, with `shadows`, from
releases that the adversary makes: they know nobody's membership, but they know the method, and learn about each target
separately.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.distributions import misfits, widths_of
from shoal.attacks.ground import Floats, Rows, SeriesAttack, Truth, find_classes, find_ground, need_targets
from shoal.attacks.links import N_SURE, N_WORST
from shoal.attacks.shadows import FEWEST_SHADOWS, likelihood_ratios, pool_people, rehearse
from shoal.attacks.totals import Step, check_step, find_steps, step_words, sum_steps
from shoal.attacks.words import against_guessing, between, check_targets, percent
from shoal.errors import ParameterError
from shoal.features.labelled import one_thread
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Findings, Interval, Method, Panel, Risk, Scenarios

FEWEST = 2  # subjects on each side, one to learn from and one to judge by
BLOCK = 512  # targets compared at once
EVEN = 1.0  # odds at which being in is as likely as being out


@dataclass(frozen=True)
class MembershipRisk(Risk):
    """What can be inferred about who is in a release.

    `success` is the share of right answers among as many subjects inside as outside, none of whom the adversary learned
    its limit from; guessing gives a half. The control is the share of subjects outside who are taken to be in.
    `confidence` is how often the answer "in" is right, `prosecutor` the same where they look surest.

    Parameters
    ----------
    found
        The share of subjects inside who are taken to be in; `found` minus `control` is the advantage of the attack.
    ranking
        The chance that, of two subjects, one inside and one outside, the one inside looks more like a member: a half if
        nothing can be inferred.
    """

    found: float = 0.0
    ranking: float = 0.5

    @property
    def membership_advantage(self) -> float:
        """Right answers "in" minus wrong ones: 0 if nothing can be inferred, 1 if everything can."""
        return self.found - (self.control or 0.0)

    @property
    def excess(self) -> tuple[float, float, float] | None:
        """The advantage with its 95 % interval: twice the excess of right answers over a half."""
        return self.membership_advantage, 2.0 * self.interval.low - 1.0, 2.0 * self.interval.high - 1.0


@dataclass(frozen=True)
class Membership(SeriesAttack[MembershipRisk]):
    """The chance of inferring whether a subject is in the release.

    The adversary holds all readings of its targets, or their totals per step, and those of further subjects whose
    membership it knows. From these signs (see the module) it computes how much likelier each is to be in than out; the
    limit is the one that best separates the subjects it knows. Half of the subjects inside and outside serve for
    learning, the other half for judging.

    The subjects outside are the originals that were not published, and those in `outside`. Without any, nothing can be
    judged, and the attack is refused: keep some subjects out of the release, or give series of comparable ones. Of
    several series of a subject, each sign is that of the one that looks most like a member.

    Parameters
    ----------
    step
        What totals are of: "hour", "day", "week", "month", "all" or a number of instants; 1, the readings themselves.
    n_targets
        Judge this many subjects, half of them inside; by default as many as there are. Candidates are never sampled.
    shadows
        Learn from this many shadow releases instead, at least 4; start with 16. The adversary then knows nobody's
        membership, but knows the method: give it to `attack` as `method`. Each shadow costs as much as a release.
    seed
        Draws subjects, those who serve for learning, and shadow releases.

    Examples
    --------
    >>> original = Panel(np.arange(40.0).reshape(8, 5) ** 2)
    >>> found = Membership(step=1).attack(original, Panel(original.values[::2]), rows=[0, 2, 4, 6])
    >>> found.success, found.membership_advantage
    (1.0, 1.0)

    References
    ----------
    "Data-driven anonymization process applied to time series", section 3 (distinguish studies with and without one
    individual).
    """

    name: ClassVar[str] = "membership"
    meaning: ClassVar[str] = "chance of inferring whether a subject is in the release"
    against: ClassVar[str] = "membership"
    answers: ClassVar[Mapping[str, str]] = {"inference": "success"}
    control: ClassVar[str] = "of the subjects outside are taken to be in"
    draws_originals: ClassVar[bool] = False
    sees_scenarios: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = False
    unfit: ClassVar[str] = "it needs people who are not in the release; attack in Python with outside="

    step: Step = 1
    n_targets: int | None = None
    shadows: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_step(self.step)
        if self.shadows and self.shadows < FEWEST_SHADOWS:
            raise ParameterError(f"shadows must be 0, for none, or at least {FEWEST_SHADOWS} releases to learn from.")
        check_targets(self.n_targets, self.seed)

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        words = _held(self.step)
        if self.shadows:
            return f"{words[0].upper()}{words[1:]} and of others like it, and the method with its parameters."
        return f"{words[0].upper()}{words[1:]}, of the target and of others of whom it knows whether they are in."

    def look(
        self,
        original: Panel,
        published: Panel,
        truth: Truth,
        outside: Panel | None = None,
        method: Method | None = None,
        scenarios: Scenarios | None = None,
    ) -> MembershipFindings:
        """The signs of everyone inside and outside.

        `outside` has series of subjects who are not in the release, at the same instants. `method` is what made the
        release; shadow releases need it, and are learned from by their means. `scenarios` has the distribution that
        belongs to each published series, if the release is one of scenarios; it is read where `step` is 1.
        """
        there = np.isin(truth.subjects, truth.owners)
        inside, absent = need_targets(truth.targets), np.flatnonzero(~there)
        if self.shadows or self.step != 1:
            scenarios = None
        looks = self._looks(original, published, scenarios)
        near, first = _by_subject(looks[inside], truth.subjects[inside])
        far, _ = _by_subject(looks[absent], truth.subjects[absent])
        if outside is not None:
            others, _ = _by_subject(self._looks(outside, published, scenarios), outside.subject_codes)
            far = np.concatenate([far, others])
        if min(len(near), len(far)) < FEWEST:
            raise ParameterError(
                f"Membership needs at least {FEWEST} subjects inside the release and {FEWEST} outside, it has "
                f"{len(near)} and {len(far)}. Hold some subjects back from the release, or give comparable series as "
                "`outside`."
            )
        if not self.shadows:
            return MembershipFindings(inside[first], near, far)
        if truth.is_shard:
            raise ParameterError("Shadow releases are made from all subjects: Membership with shadows takes no shards.")
        people = pool_people(original, outside)
        n_inside = len(np.unique(truth.subjects[inside]))
        signs, drawn = rehearse(people, method, n_inside, self._looks, self.shadows, self.seed)
        seen = self._looks(people, published)
        odds = np.where(seen[:, 0] == 0.0, 0.0, np.exp(-np.clip(likelihood_ratios(signs, drawn, seen), -700, 700)))
        strange = np.concatenate([absent, np.arange(original.n_series, people.n_series)])
        near, far = (_by_subject(odds[rows, None], people.subject_codes[rows])[0] for rows in (inside, strange))
        return MembershipFindings(inside[first], near, far)

    def _looks(self, panel: Panel, published: Panel, scenarios: Scenarios | None = None) -> Floats:
        """The signs of each series, (series, signs), the smaller the more it looks like being in."""
        ground = find_ground("Membership", panel, published)
        starts = find_steps(ground.times, self.step)
        known = sum_steps(ground.original, starts)
        shown, classes = find_classes(sum_steps(ground.published, starts))
        nearest = np.sqrt(nearest_rows(known, shown)[0][:, 0])
        whole = ~np.isnan(known)
        size = np.sqrt((np.where(whole, known, 0.0) ** 2).sum(axis=1) / np.maximum(whole.sum(axis=1), 1))
        # For someone who used nothing at all, any other curve is infinitely far away.
        near = np.divide(nearest, size, out=np.where(nearest > 0.0, np.inf, 0.0), where=size > 0.0)
        slots = _slots(ground.times[starts], known.shape[1] // len(starts))
        signs = [near, *_traces(known, shown, np.bincount(classes), slots)]
        if scenarios is not None:
            widths = find_ground("Membership", panel, widths_of(scenarios)).published
            groups = find_classes(np.concatenate([ground.published, widths], axis=1)[:, :, 0])[0]
            signs.append(misfits(known, *np.split(groups, 2, axis=1)).min(axis=1))
        return np.column_stack(signs)

    def risk(self, findings: MembershipFindings) -> MembershipRisk:
        """How well a limit learned from half of the subjects separates the other half."""
        near_signs, far_signs = findings.near, findings.far
        dice = np.random.default_rng(np.random.SeedSequence([self.seed, 0]))
        n = min(len(near_signs), len(far_signs))
        if self.n_targets is not None:
            n = min(n, max(FEWEST, int(self.n_targets)))
        near_order, far_order = dice.permutation(len(near_signs))[:n], dice.permutation(len(far_signs))[:n]
        if self.shadows:
            half, near, far, limit = 0, near_signs[:, 0], far_signs[:, 0], EVEN
        else:
            half = n // 2
            odds = _odds(near_signs[near_order[:half]], far_signs[far_order[:half]])
            near, far = odds(near_signs), odds(far_signs)
            limit = _limit(near[near_order[:half]], far[far_order[:half]])
        judged, others = near[near_order[half:]], far[far_order[half:]]
        hits, false = judged <= limit, others <= limit
        found, wrong = float(hits.mean()), float(false.mean())
        success, n_judged = (found + 1.0 - wrong) / 2.0, 2 * len(judged)
        interval = Interval.wilson(success, n_judged)
        said = int(hits.sum() + false.sum())
        order = near_order[half:][np.argsort(judged, kind="stable")][:N_WORST]
        sentence = (
            f"Someone who knows {_held(self.step)}{self._rehearsal} infers whether a subject is in the release with a "
            f"chance of {percent(success)} ({between(interval)}; {n_judged} subjects), "
            f"{against_guessing(success, interval, 0.5)}; {percent(wrong)} of those outside are taken to be in."
        )
        return MembershipRisk(
            success=success,
            interval=interval,
            baseline=0.5,
            baseline_interval=Interval.exactly(0.5),
            n_targets=n_judged,
            worst=tuple(int(row) for row in findings.inside[order]),
            prosecutor=_surest(judged, others),
            control=wrong,
            control_interval=Interval.wilson(wrong, len(others)),
            confidence=float(hits.sum() / said) if said else 0.0,
            sentence=sentence,
            found=found,
            ranking=_ranking(judged, others),
        )

    @property
    def _rehearsal(self) -> str:
        return f", knows the method and tried it {self.shadows} times on other selections of people" * bool(
            self.shadows
        )


@dataclass(frozen=True, eq=False, repr=False)
class MembershipFindings(Findings):
    """The signs of subjects inside, at these positions, and outside. Any published series may be near.

    With shadow releases, how much likelier each is to be out than in, instead of signs.
    """

    inside: Rows
    near: Floats
    far: Floats


def _by_subject(signs: Floats, subjects: Rows) -> tuple[Floats, Rows]:
    """The least of each sign over the series of each subject, and the first of these series."""
    _, first, place = np.unique(subjects, return_index=True, return_inverse=True)
    least = np.full((len(first), signs.shape[1]), np.inf)
    np.minimum.at(least, place.reshape(-1), signs)
    return least, first


def _held(step: Step) -> str:
    return "every reading of the target" if step == 1 else step_words(step)


def _slots(times: NDArray[Any], n_channels: int) -> Rows:
    """For every column, the number of its time of day and channel; without days, of its channel."""
    day = np.zeros(len(times), dtype=np.int64)
    if times.dtype.kind == "M":
        number = times.astype("datetime64[D]")
        if len(np.unique(number)) < len(times):  # several readings a day
            day = np.unique(times - number, return_inverse=True)[1]
    return (day[:, None] * n_channels + np.arange(n_channels)).reshape(-1)


def _traces(known: Floats, shown: Floats, sizes: Rows, slots: Rows) -> tuple[Floats, Floats]:
    """For each known series, 1 minus its highest correlation with a published one, and 1 minus the lead over the
    next."""
    weights = sizes[:, None] * ~np.isnan(shown)
    level = np.nansum(shown * weights, axis=0) / np.maximum(weights.sum(axis=0), 1)
    y = _changes(shown - level, slots)
    spread = y.std(axis=0)
    scale = np.where(spread > 0.0, spread, 1.0)
    y = _unit(y / scale)
    best = np.empty((len(known), 2))
    with one_thread():
        for first in range(0, len(known), BLOCK):
            x = _unit(_changes(known[first : first + BLOCK] - level, slots) / scale)
            alike = np.clip(x @ y.T, -1.0, 1.0)
            if len(y) < 2:
                best[first : first + BLOCK] = alike
            else:
                best[first : first + BLOCK] = np.partition(alike, -2, axis=1)[:, :-3:-1]
    return 1.0 - best[:, 0], 1.0 - (best[:, 0] - best[:, 1])


def _changes(x: Floats, slots: Rows) -> Floats:
    """Changes from instant to instant, without the own mean at each time of day; 0 if a reading is missing."""
    known = ~np.isnan(x)
    filled = np.where(known, x, 0.0)
    for slot in range(int(slots.max()) + 1):
        here = slots == slot
        own = filled[:, here].sum(axis=1) / np.maximum(known[:, here].sum(axis=1), 1)
        filled[:, here] = np.where(known[:, here], filled[:, here] - own[:, None], 0.0)
    return filled if filled.shape[1] < 2 else np.diff(filled, axis=1)


def _unit(x: Floats) -> Floats:
    lengths = np.sqrt((x**2).sum(axis=1, keepdims=True))
    unit: Floats = np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0.0)
    return unit


def _odds(near: Floats, far: Floats) -> Callable[[Floats], Floats]:
    """How much likelier a subject is out than in, as a function of its signs. 0 if one is matched exactly."""
    from sklearn.linear_model import LogisticRegression

    learned = np.sort(np.concatenate([near, far]), axis=0)

    def ranks(signs: Floats) -> Floats:
        places = [
            (np.searchsorted(own, sign, side="left") + np.searchsorted(own, sign, side="right")) / (2.0 * len(own))
            for own, sign in zip(learned.T, signs.T, strict=True)
        ]
        return np.stack(places, axis=1)

    outside = np.repeat([0, 1], [len(near), len(far)])
    model = LogisticRegression().fit(ranks(np.concatenate([near, far])), outside)

    def odds(signs: Floats) -> Floats:
        ratios: Floats = np.exp(model.decision_function(ranks(signs)))
        return np.where(signs[:, 0] == 0.0, 0.0, ratios)

    return odds


def _limit(near: Floats, far: Floats) -> float:
    """The distance that best separates the two: most of `near` up to it, most of `far` beyond."""
    tried = np.unique(np.concatenate([near, far]))
    right = np.searchsorted(np.sort(near), tried, side="right") / len(near)
    wrong = np.searchsorted(np.sort(far), tried, side="right") / len(far)
    best = int(np.argmax(right - wrong))
    following = tried[best + 1] if best + 1 < len(tried) else tried[best]
    # Halfway to the next: a limit at the last value would be too tight for subjects it was not learned from.
    return float((tried[best] + following) / 2.0) if tried[best] > 0.0 else 0.0


def _ranking(near: Floats, far: Floats) -> float:
    """The chance that one inside is nearer than one outside; ties count a half."""
    ordered = np.sort(far)
    below = np.searchsorted(ordered, near, side="left")
    upto = np.searchsorted(ordered, near, side="right")
    return float((len(far) - (below + upto) / 2.0).mean() / len(far))


def _surest(near: Floats, far: Floats) -> float:
    """The share of right answers "in" where they look surest: at least 20 of them, or all that match exactly."""
    tried = np.unique(near)
    right = np.searchsorted(np.sort(near), tried, side="right")
    said = right + np.searchsorted(np.sort(far), tried, side="right")
    enough = (said >= min(N_SURE, int(said.max()))) | (tried == 0.0)
    return float((right / said)[enough].max())
