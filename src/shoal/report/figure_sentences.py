"""What the report says next to its curves and figures, each sentence with the condition under which it is true."""

from __future__ import annotations

from typing import Any

from shoal.model.sentence import Sentence
from shoal.release.facts import Facts, is_finite, listed, mapping
from shoal.release.suppression import NOTABLE
from shoal.report import words

Said = Sentence[Facts]

# What being in a group means.
ALIKE = (
    Said("profiles", lambda f: f.by_group, lambda f: "A group is published as one row."),
    Said(
        "events",
        lambda f: f.form == "events",
        lambda f: "Groups are formed in each snapshot, and counted over all of them.",
    ),
    Said(
        "instants",
        lambda f: f.form == "values" and f.counts.get("grouped") == "instants",
        lambda f: "Groups are formed at each instant, and counted over all of them: members are published alike there.",
    ),
    Said(
        "series",
        lambda f: f.form == "values" and f.counts.get("grouped") != "instants",
        lambda f: "Series of one group are published alike.",
    ),
    Said(
        "envelopes",
        lambda f: f.form == "envelopes",
        lambda f: "Series of one group have the same published ranges; their patterns may differ.",
    ),
)

CLOCK = (
    Said(
        "zone",
        lambda f: bool(_axis(f).get("timezone")) and (_axis(f).get("kind") == "clock" or _has_local_times(f)),
        lambda f: f"Clock times in {words.clipped(_axis(f)['timezone'], 60)}.",
    ),
    Said(
        "put back",
        lambda f: _has_local_times(f) and len(set(listed(_axis(f).get("at")))) < len(listed(_axis(f).get("at"))),
        lambda f: "Where the clock was set back, the same times appear twice.",
    ),
    Said(
        "universal",
        lambda f: bool(_axis(f).get("timezone")) and _axis(f).get("kind") == "time" and not _has_local_times(f),
        lambda f: "Times in UTC.",
    ),
)


def _has_local_times(facts: Facts) -> bool:
    return _axis(facts).get("kind") == "time" and words.has_offset(facts.time.get("first"))


def _axis(facts: Facts) -> Any:
    return mapping(facts.figures.get("axis"))


# What readers must know about suppressed events before they compare frequencies of values.
SUPPRESSION = (
    Said(
        "notable",
        lambda f: bool(_values(f)) and _suppression(f)["share"] > NOTABLE,
        lambda f: "Do not compare how frequent values are: too many events are missing for that.",
    ),
    Said(
        "share",
        lambda f: bool(_values(f)),
        lambda f: (
            f"{words.percent(_suppression(f)['share'])} of the events were suppressed, so the shares of sensitive "
            "values in this release may differ from those of the originals. Counts of suppressed events per value "
            "stay with the publisher, because they would reveal the values of people seen to be missing. What follows "
            "from the release alone:"
        ),
    ),
    Said(
        "by value",
        lambda f: bool(_values(f)),
        lambda f: " ".join(
            f"Number {place} by frequency has {words.percent(value['published'])} of the published events, and had "
            f"between {words.percent(value['least'])} and {words.percent(value['most'])} of the originals."
            for place, value in enumerate(_values(f), 1)
        ),
    ),
    Said(
        "order",
        lambda f: bool(_values(f)) and _suppression(f).get("order_open") is True,
        lambda f: "This release does not show which value was the most frequent among the originals.",
    ),
)


def _suppression(facts: Facts) -> Any:
    return mapping(facts.figures.get("suppression"))


def _values(facts: Facts) -> list[Any]:
    told = _suppression(facts)
    found = [mapping(value) for value in listed(told.get("values"))[:10]]
    shares = ("published", "least", "most")
    known = [value for value in found if all(is_finite(value.get(name)) for name in shares)]
    return known if is_finite(told.get("share")) else []


AGGREGATES = (
    Said(
        "crowd",
        lambda f: bool(f.shown) and is_finite(f.figures.get("crowd")) and is_finite(f.figures.get("largest_share")),
        lambda f: (
            "Aggregates only: every point drawn from the originals covers at least "
            f"{words.number(f.figures['crowd'])} subjects, none of whom makes up more than "
            f"{words.percent(f.figures['largest_share'])} of it. Other points are left out."
        ),
    ),
    Said("nothing of the originals", lambda f: not f.shown, lambda f: "Nothing from the originals is drawn here."),
)

# Instead of figures from which someone could infer the originals of a small release.
LEFT_OUT = (
    Said(
        "left out",
        lambda f: bool(f.figures.get("left_out")),
        lambda f: words.clipped(f.figures["left_out"], 400),
    ),
)

# A guarantee in one sentence.
PROMISE = (
    Said(
        "statement",
        lambda f: f.name != "none",
        lambda f: words.clipped(f.guarantee.get("statement", ""), 400),
    ),
    Said(
        "rows of groups",
        lambda f: f.by_group and f.name == "k-anonymity",
        lambda f: "A row of a group counts as the series of all its members.",
    ),
    Said(
        "nothing",
        lambda f: f.name == "none",
        lambda f: "No guarantee is given: this release is judged by attacks alone.",
    ),
)
