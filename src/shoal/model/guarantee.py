"""What every guarantee can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from shoal.model.judged import Judged
    from shoal.model.verdict import Verdict


class Guarantee(Protocol):
    """A definition with its checker. The check reads published data and errs towards "does not hold".

    `name` is the word the command line and the certificate use.
    """

    name: ClassVar[str]

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to build the same guarantee again."""

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""

    @property
    def needs_originals(self) -> bool:
        """Whether only the publisher can check it."""

    def check(self, published: Judged) -> Verdict:
        """Judge published values, never group labels."""
