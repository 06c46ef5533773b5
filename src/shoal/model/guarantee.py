"""The interface of every guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.model.described import Described
from shoal.model.verdict import Verdict

if TYPE_CHECKING:
    from shoal.model.events_candidate import Judged


class Guarantee(Described):
    """A definition with its checker. The check reads published data and errs towards "does not hold".

    Every guarantee that is checked on published data is closed under disjoint union of subjects: if it holds for the
    published series of some subjects, and for those of others, it holds for both together. Each says why in its
    docstring, so a large panel is checked shard by shard.
    """

    needs_originals: ClassVar[bool] = False
    """Whether only the publisher can check it; otherwise anyone who has the release can."""

    by_mechanism: ClassVar[bool] = False
    """Whether it is true by how noise was drawn, which published values cannot show; `audit` checks the accounting."""

    allows_small_groups: ClassVar[bool] = False
    """Whether it states itself how often a series may be in a group that is too small to hide it."""

    of_sequence: ClassVar[bool] = False
    """Whether it is about all releases of a growing panel together; alone, a release is a sequence of one."""

    @property
    def crowds(self) -> tuple[int, int] | None:
        """The smallest number of subjects that it promises for each group of whole series, and for what is alike inside
        one."""
        return None

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        raise NotImplementedError

    def check(self, published: Judged) -> Verdict:
        """Judge published values, never group labels."""
        raise NotImplementedError

    def merge(self, verdicts: Sequence[Verdict]) -> Verdict:
        """The verdict on the union of shards, from the verdicts on each, in their order.

        One that does not hold comes first, then one that was not judged; within each kind, the weakest. A witness then
        names its shard. If no series of two shards are alike, this is what the check of the union finds. Otherwise the
        union may be better than its parts, and is never worse.
        """
        at = self.weakest(verdicts)
        weakest = verdicts[at]
        if len(verdicts) == 1 or weakest.witness is None:
            return weakest
        inside: dict[str, Any] = weakest.witness if isinstance(weakest.witness, dict) else {"series": weakest.witness}
        return Verdict(weakest.outcome, weakest.measured, weakest.required, {"shard": at, **inside}, weakest.note)

    def weakest(self, verdicts: Sequence[Verdict]) -> int:
        """Which of several verdicts represents all of them; the first in a tie."""
        return min(range(len(verdicts)), key=lambda i: (_ORDER[verdicts[i].outcome], *self._weakness(verdicts[i])))

    def _weakness(self, verdict: Verdict) -> tuple[float, ...]:
        """The weakest is the smallest: by default what was measured. If larger is worse, a class reverses it."""
        return () if verdict.measured is None else (float(verdict.measured),)


_ORDER = {"does not hold": 0, "not judged": 1, "holds": 2}
