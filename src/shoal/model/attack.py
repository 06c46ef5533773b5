"""The interface of every attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError
from shoal.model.described import Described
from shoal.model.risk import Risk

QUESTIONS = ("singling out", "linkability", "inference")
"""What Opinion 05/2014 on anonymisation techniques asks about every release: can a person be singled out, can two
records of one person be linked, can something about a person be inferred."""

R_co = TypeVar("R_co", bound=Risk, covariant=True)


class Findings:
    """What an attack found, target by target: arrays with one row per target. Frozen dataclasses derive from it.

    Findings of an attack that is bounded by the shard can be merged. Others cannot: what they find depends on who else
    is in the release, and a figure assembled from shards would belong to no adversary.
    """

    @classmethod
    def merged(cls, several: Sequence[Self]) -> Self:
        """Merge findings of several shards, whose targets and candidates are different people, as those of one
        panel."""
        if len(several) != 1:
            raise ParameterError(
                f"{cls.__name__} of {len(several)} shards do not add up to those of the whole. Attack a sample of the "
                "whole as one panel."
            )
        return several[0]


class Attack(Described, Generic[R_co]):
    """What someone with partial knowledge learns from a release.

    To add one, write a frozen dataclass with the attributes below and the verbs `find`, which examines the release
    target by target, and `risk`, which concludes over all targets.
    """

    meaning: ClassVar[str]
    """What its success means, in one line."""
    against: ClassVar[str]
    """What it works on: "values", "slices", "envelopes", "events", "releases" or "membership"."""
    answers: ClassVar[Mapping[str, str]]
    """Which of the three questions of the European authorities it answers (see `QUESTIONS`), each with the name of the
    figure of its risk that answers it: `{"singling out": "success"}`."""
    called: ClassVar[str] = ""
    """What the adversary has, in a few words; by default its name."""
    control: ClassVar[str] = ""
    """What its control measures, to follow the figure: "of the subjects outside are taken to be in"."""
    draws_targets: ClassVar[bool] = True
    """Whether some targets may stand for all; if not, everyone is attacked, which costs no more."""
    draws_originals: ClassVar[bool] = True
    """Whether `n_targets` counts originals; otherwise slices or people to compare, which the attack itself draws."""
    short: ClassVar[tuple[str, str] | None] = None
    """What an adversary knows in one word, and the parameter it sets: `points: 5` is `known-points: {n: 5}`."""
    usual: ClassVar[Mapping[str, Any]] = {}
    """Default parameters to try it with: those required, and those that keep it short."""
    sees_scenarios: ClassVar[bool] = False
    """Whether it takes the distributions of a release of scenarios, besides the means of its groups."""
    unfit: ClassVar[str] = ""
    """Why a policy cannot run it, if it cannot."""

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        raise NotImplementedError

    @property
    def bounded_by_shard(self) -> bool:
        """Whether knowing the target's shard can only help the adversary.

        If so, searching that shard alone bounds the chance of every target from above, and with it `success` and the
        largest chance. It does not bound other figures, such as `prosecutor`: which links look surest depends on all
        subjects. It holds if candidates are compared with what is known at distances that do not depend on who else is
        in the release. (Up to rounding: gaps in other shards may change the order in which a distance is summed.)
        """
        return False

    def draw(self, positions: ArrayLike) -> NDArray[np.int64]:
        """`n_targets` of these positions, drawn by its seed; all of them if it is not set.

        Call it for the whole at once: `find` attacks all targets that it is given.
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
        """Examine each target.

        `rows` says which original each published row stands for, -1 for none. `targets` are positions of originals, by
        default all that are published, or `n_targets` of them. For a shard, `first` is the number of originals in the
        shards before it: what is drawn for a target depends on its position in the whole. What depends on the whole is
        left open until findings are merged.
        """
        raise NotImplementedError

    def risk(self, findings: Any) -> R_co:
        """The figures over all targets, with a baseline and intervals."""
        raise NotImplementedError

    def attack(self, original: Any, published: Any, **further: Any) -> R_co:
        """Attack one release; `find` documents what else may be given."""
        return self.risk(self.find(original, published, **further))


def draw_targets(positions: NDArray[np.int64], n_targets: int | None, seed: int) -> NDArray[np.int64]:
    """As many of these positions as requested, in order; all if there are no more."""
    if n_targets is None or n_targets >= len(positions):
        return positions
    drawn = np.random.default_rng(np.random.SeedSequence([seed, 0])).permutation(len(positions))[:n_targets]
    return np.sort(positions[drawn])
