"""Every sentence about what a label task shows and asks, next to the condition under which it is true."""

from __future__ import annotations

from shoal.labels.task import LabelTask
from shoal.model.sentence import Sentence

Said = Sentence[LabelTask]


def _counts(task: LabelTask) -> str | None:
    """What is counted behind a curve that is a mean."""
    return str(task.guarantee["counts"]) if task.source == "presanitised" else None


# What the curves are, for the analyst.
CURVES = (
    Said(
        "means over subjects",
        lambda t: _counts(t) == "subjects",
        lambda t: f"Each curve is the mean of the series of at least {t.guarantee['measured']} subjects.",
    ),
    Said(
        # Without named subjects, several series may belong to one person.
        "means over series",
        lambda t: _counts(t) == "series",
        lambda t: f"Each curve is the mean of at least {t.guarantee['measured']} series.",
    ),
    Said("public", lambda t: t.source == "public", lambda t: "The publisher states that these series are public."),
    Said("released", lambda t: t.source == "released", lambda t: "The curves are the series of a release."),
)

# The number of questions, if there are fewer than requested.
PAIRS = (
    Said(
        "fewer",
        lambda t: t.n_pairs < t.n_pairs_wanted,
        lambda t: (
            (
                f"{t.n_pairs_wanted} pairs were requested, but {t.n_curves} curves make only "
                f"{t.n_curves * (t.n_curves - 1) // 2} different ones"
            )
            + (f"; some are asked about twice: {t.n_pairs} in all." if t.repeats else ".")
        ),
    ),
)

# What to watch for in the next release of the same subjects.
NEXT_RELEASE = (
    Said(
        "within those shown",
        lambda t: t.source == "presanitised",
        lambda t: (
            "these curves are a release: later ones of the same subjects must stay within the groups shown, as those "
            "made with a metric learned from this task do"
        ),
    ),
    Said(
        "two releases",
        lambda t: t.source == "released",
        lambda t: (
            "a later release of the same subjects is a second one next to the one shown here; with --ledger at both, "
            "one that breaks the promise is refused"
        ),
    ),
)
