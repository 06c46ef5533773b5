"""What the lint says about a release that is about to appear."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A side channel: something that a release reveals beyond what it is meant to.

    Parameters
    ----------
    name
        The word by which a publisher accepts it.
    what
        What was found: counts and positions, never a value or an identifier.
    fix
        The way out.
    """

    name: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what} {self.fix}"
