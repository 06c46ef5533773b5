"""What every attack can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from shoal.model.described import Described
from shoal.model.risk import Risk


class Findings:
    """What an attack found, target by target: arrays with a row for each. Frozen dataclasses derive from it."""

    @classmethod
    def merged(cls, several: Sequence[Any]) -> Any:
        """Those of several shards, whose targets and candidates are different people, as those of one panel."""
        raise NotImplementedError


class Attack(Described):
    """What somebody who knows something gets out of a release.

    To add one: a frozen dataclass with the attributes below and the verbs `find`, which looks at the release target by
    target, and `risk`, which concludes over all targets.
    """

    meaning: ClassVar[str]
    """What its success is, in one line."""
    against: ClassVar[str]
    """What it works on: "values", "slices", "envelopes", "events", "releases" or "membership"."""

    takes_targets: ClassVar[bool] = True
    """Whether it can be asked about some of the originals."""

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        raise NotImplementedError

    @property
    def bounded_by_shard(self) -> bool:
        """Whether being told the target's shard can only help the adversary.

        Then searching that shard alone bounds the success from above. It is so where candidates are compared with what
        is known at distances that do not depend on who else is in the release.
        """
        return False

    def find(
        self, original: Any, published: Any, *, rows: ArrayLike | None = None, targets: Any = None, first: int = 0
    ) -> Any:
        """What is found of each target.

        `rows` says which original each published row stands for, -1 for none; `targets` are positions of originals;
        `first` is how many originals there are in the shards before.
        """
        raise NotImplementedError

    def risk(self, findings: Any) -> Risk:
        """What that amounts to, over all targets, beside a baseline and with intervals."""
        raise NotImplementedError

    def attack(self, original: Any, published: Any, **further: Any) -> Risk:
        """Attack one release."""
        return self.risk(self.find(original, published, **further))
