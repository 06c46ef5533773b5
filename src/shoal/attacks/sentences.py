"""What attacks that link targets or search for sums say about a release, with the condition under which it is true.

Other attacks have one sentence each, true for anything they can attack, next to their figures.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.attacks.words import against_guessing, between, percent
from shoal.model import Interval
from shoal.model.sentence import Sentence
from shoal.model.words import plural

OWN, OF_SUBJECT = "a target's own published series", "a published series of a target's subject"
OTHERS_FIT = "of the targets have someone else's series that fits them just as well"
OF_PROFILES = "a target among as many curves as the profiles count"


@dataclass(frozen=True, kw_only=True)
class Linked:
    """What was achieved by linking.

    Parameters
    ----------
    holds
        Completes "Someone who knows ...".
    n, success, interval, prosecutor, guess
        How many targets, the chance of linking one with its interval, where they look surest, and by guessing.
    several
        Whether a subject has several published rows: any of them counts as found.
    slices
        Whether targets are slices, so that another slice of the same subject is sought.
    """

    holds: str
    n: int
    success: float
    interval: Interval
    prosecutor: float
    guess: float
    several: bool = False
    slices: bool = False


LINKED: tuple[Sentence[Linked], ...] = (
    Sentence("own series", lambda a: not a.several and not a.slices, lambda a: _linked(a, OWN, "targets")),
    Sentence(
        "series of the subject",
        lambda a: a.several and not a.slices,
        lambda a: _linked(a, OF_SUBJECT, "targets"),
    ),
    Sentence("slices", lambda a: a.slices, lambda a: _linked(a, "another slice of a slice's subject", "slices")),
)


def _linked(found: Linked, what: str, targets: str) -> str:
    return (
        f"Someone who knows {found.holds} finds {what} with a chance of {percent(found.success)} "
        f"({between(found.interval)}; {found.n} {targets}), {percent(found.prosecutor)} where they look surest; "
        f"{against_guessing(found.success, found.interval, found.guess)}."
    )


def about_profiles(sentence: str) -> str:
    """The same for profiles: no row is a target's own; each stands for as many as it counts."""
    return sentence.replace(OWN, OF_PROFILES).replace(OF_SUBJECT, OF_PROFILES)


@dataclass(frozen=True, kw_only=True)
class Summed:
    """What was achieved by looking for the members of published means: see `SubsetRisk`."""

    holds: str
    n: int
    success: float
    interval: Interval
    recovered: float
    guess: float
    n_open: int
    gaps: bool
    n_withheld: int


SUMMED: tuple[Sentence[Summed], ...] = (
    Sentence(
        "members",
        lambda a: True,
        lambda a: (
            f"Someone who knows {a.holds} of everyone identifies a member of a published mean with a chance of "
            f"{percent(a.success)} ({between(a.interval)}; {a.n} means), and all members of {percent(a.recovered)} of "
            f"the means; {against_guessing(a.success, a.interval, a.guess)}."
        ),
    ),
    Sentence(
        "not proven",
        lambda a: a.n_open > 0,
        lambda a: (
            f"For {a.n_open} of the means the search does not prove that no other members fit, so these chances may be "
            "too high or too low."
        ),
    ),
    Sentence(
        "gaps",
        lambda a: a.gaps,
        lambda a: (
            "Where values are missing, these totals cover the instants at which the mean is published, and it is also "
            "known which readings are missing."
        ),
    ),
    Sentence(
        "withheld",
        lambda a: a.n_withheld > 0,
        lambda a: f"Not judged: {plural(a.n_withheld, 'mean')} of which no value is published.",
    ),
)
