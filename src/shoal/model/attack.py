"""What every attack can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError
from shoal.model.described import Described
from shoal.model.risk import Risk

QUESTIONS = ("singling out", "linkability", "inference")
"""What Opinion 05/2014 on anonymisation techniques asks of every release: can a person be singled out, can two records
of one person be linked, can something about a person be inferred."""

R_co = TypeVar("R_co", bound=Risk, covariant=True)


class Findings:
    """What an attack found, target by target: arrays with a row for each. Frozen dataclasses derive from it.

    Those of an attack that is bounded by the shard merge. Others do not: what they find depends on who else is in the
    release, and a figure put together from shards would be that of no adversary.
    """

    @classmethod
    def merged(cls, several: Sequence[Self]) -> Self:
        """Those of several shards, whose targets and candidates are different people, as those of one panel."""
        if len(several) != 1:
            raise ParameterError(
                f"{cls.__name__} of {len(several)} shards do not add up to those of the whole. Attack a sample of the "
                "whole as one panel."
            )
        return several[0]


class Attack(Described, Generic[R_co]):
    """What somebody who knows something gets out of a release.

    To add one: a frozen dataclass with the attributes below and the verbs `find`, which looks at the release target by
    target, and `risk`, which concludes over all targets.
    """

    meaning: ClassVar[str]
    """What its success is, in one line."""
    against: ClassVar[str]
    """What it works on: "values", "slices", "envelopes", "events", "releases" or "membership"."""
    answers: ClassVar[Mapping[str, str]]
    """Which of the three questions of the European authorities it answers (see `QUESTIONS`), each with the figure of
    its risk that does: `{"singling out": "success"}`."""
    called: ClassVar[str] = ""
    """What the adversary has, in a few words; its name does where there are none."""
    control: ClassVar[str] = ""
    """What the control of its risk says, to follow the figure: "of the subjects outside are taken to be in"."""
    draws_targets: ClassVar[bool] = True
    """Whether some targets may stand for all; else everybody is attacked, which costs no more."""
    draws_originals: ClassVar[bool] = True
    """Whether `n_targets` counts originals; else slices, or people to compare, which the attack itself draws."""
    short: ClassVar[tuple[str, str] | None] = None
    """What an adversary knows in one word, and the parameter that is meant: `points: 5` is `known-points: {n: 5}`."""
    usual: ClassVar[Mapping[str, Any]] = {}
    """Parameters it is tried with where nobody gives any: those required, and those that keep it short."""
    unfit: ClassVar[str] = ""
    """Why a policy cannot carry it out, where it cannot."""

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        raise NotImplementedError

    @property
    def bounded_by_shard(self) -> bool:
        """Whether being told the target's shard can only help the adversary.

        Then searching that shard alone bounds the chance of every target from above, and so `success` and the largest
        chance. Other figures it does not bound, such as `prosecutor`: which links look surest depends on everybody's.
        It is so where candidates are compared with what is known at distances that do not depend on who else is in the
        release. (Up to rounding: gaps in other shards may change the order in which a distance is summed.)
        """
        return False

    def draw(self, positions: ArrayLike) -> NDArray[np.int64]:
        """Of these positions as many as `n_targets` says, by its seed; all of them where it says nothing.

        For the whole at once: `find` attacks all targets that it is given.
        """
        n_targets: int | None = getattr(self, "n_targets", None) if self.draws_originals else None
        return draw_targets(np.asarray(positions), n_targets, getattr(self, "seed", 0))

    def find(
        self,
        original: Any,
        published: Any,
        *,
        rows: Any = None,
        targets: ArrayLike | None = None,
        first: int | None = None,
    ) -> Any:
        """What is found of each target.

        `rows` says which original each published row stands for, -1 for none. `targets` are positions of originals, by
        default all that are published, or `n_targets` of them. `first` is given for a shard, the number of originals in
        the shards before: what is drawn for a target depends on its position in the whole, and what only the whole can
        tell is left open until findings are merged.
        """
        raise NotImplementedError

    def risk(self, findings: Any) -> R_co:
        """What that amounts to, over all targets, beside a baseline and with intervals."""
        raise NotImplementedError

    def attack(self, original: Any, published: Any, **further: Any) -> R_co:
        """Attack one release; what further may be given is said by `find`."""
        return self.risk(self.find(original, published, **further))


def draw_targets(positions: NDArray[np.int64], n_targets: int | None, seed: int) -> NDArray[np.int64]:
    """As many of these positions as asked for, in order; all where there are no more."""
    if n_targets is None or n_targets >= len(positions):
        return positions
    drawn = np.random.default_rng(np.random.SeedSequence([seed, 0])).permutation(len(positions))[:n_targets]
    return np.sort(positions[drawn])
