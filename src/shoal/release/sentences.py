"""Every sentence that a release says about itself outside the report, next to the condition under which it is true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.model.sentence import Sentence
from shoal.model.words import percent
from shoal.release.facts import Facts, is_finite, mapping

Said = Sentence[Facts]

# Who can check a guarantee.
WHO_CAN_CHECK = (
    Said(
        "anyone",
        lambda f: f.anyone and not f.by_group and not _hidden_subjects(f) and not f.of_sequence,
        lambda f: (
            "**Anyone can check this** without seeing an original: `shoal verify FOLDER` measures it again on the "
            "published values."
        ),
    ),
    Said(
        "sequence",
        lambda f: f.anyone and f.of_sequence and not _hidden_subjects(f),
        lambda f: (
            "**Anyone who has all releases of the sequence can check this**: `shoal verify FOLDER`, on the folder "
            "that contains them."
        ),
    ),
    Said(
        "counts of profiles",
        lambda f: f.anyone and f.by_group,
        lambda f: (
            "**Anyone can check this, taking the counts of the profiles as stated**: `shoal verify FOLDER`. The "
            "publisher, who has the originals, checked that these counts are true."
        ),
    ),
    Said(
        "crowd of series",
        lambda f: f.anyone and not f.by_group and _hidden_subjects(f),
        lambda f: (
            "**Anyone can check this in series, but not in subjects.** Some subjects have several series, and the "
            "release does not say which: `shoal verify FOLDER` counts series. The publisher counted subjects."
        ),
    ),
    Said(
        "mechanism",
        lambda f: f.name == "differential-privacy",
        lambda f: (
            "**Nobody can check this on published values.** It follows from how the noise was drawn. `shoal verify "
            "FOLDER` adds up the stated accounting."
        ),
    ),
    Said(
        "meters",
        lambda f: f.name == "local-differential-privacy",
        lambda f: (
            "**Nobody can check this on published values.** It follows from what ran on the meters, before anything "
            "was sent. `shoal verify FOLDER` compares the stated account with the budget."
        ),
    ),
    Said(
        "attacks",
        lambda f: f.name == "none",
        lambda f: (
            "**There is nothing to check**: no promise is made. The publisher ran the attacks below with the "
            "originals at hand."
        ),
    ),
    Said(
        "publisher",
        lambda f: not f.anyone and f.name not in ("differential-privacy", "local-differential-privacy", "none"),
        lambda f: (
            "**Only the publisher can check this**, because it needs the originals. `shoal verify FOLDER` checks that "
            "the files are those of this certificate, not whether this guarantee holds."
        ),
    ),
)


def _hidden_subjects(facts: Facts) -> bool:
    """Whether a crowd of subjects is promised that only the publisher can count."""
    return facts.has_several_series and facts.counts_subjects


# What the text of an agreement says beyond what is agreed.
MAY_CONCLUDE = (
    Said(
        "figures",
        lambda f: bool(f.certificate.get("utility")),
        lambda f: (
            "Statements about groups and about all of the subjects together, as far as the utility figures in "
            "`release.json` support them."
        ),
    ),
    Said(
        "no figures",
        lambda f: not f.certificate.get("utility"),
        lambda f: (
            "Statements about groups and about all of the subjects together. `release.json` has no figures that say "
            "how reliable these are."
        ),
    ),
    Said(
        "guarantees",
        lambda f: not f.promises("none"),
        lambda f: "That the guarantees above held for these files when they were written.",
    ),
    Said(
        "attacks",
        lambda f: f.promises("none"),
        lambda f: "That the attacks named in `release.json` succeeded no more often than it says.",
    ),
)

MAY_NOT_CONCLUDE = (
    Said(
        "group",
        lambda f: f.promises("k-anonymity") or f.by_group,
        lambda f: "That a published row is the reading of a certain person or household. It represents a group.",
    ),
    Said(
        "row",
        lambda f: not f.promises("k-anonymity") and not f.by_group,
        lambda f: "That a published row is the reading of a certain person or household.",
    ),
    Said(
        "nothing learned",
        lambda f: not f.promises("none"),
        lambda f: (
            "That nothing at all can be learned about anyone: the guarantees say what is protected, and nothing else "
            "is promised."
        ),
    ),
    Said(
        "no promise",
        lambda f: f.promises("none"),
        lambda f: "That anything is promised about what can be learned about anyone.",
    ),
)

# What the publisher must know about a metric learned from labels.
METRIC = (
    Said(
        "labels of others",
        lambda f: f.counted("shown_elsewhere") > 0,
        lambda f: (
            f"The metric was learned from means of {f.counted('shown_elsewhere')} subjects, none of whom is in this "
            "release by the same id or subject. If they are the same people under other names, its groups may cross "
            "those that analysts were shown, and both together may leave smaller crowds than promised."
        ),
    ),
)

# How far the groups of microaggregation can be from the best ones, where that was computed.
LOWER_BOUND = (
    Said(
        "lower bound",
        lambda f: is_finite(_above_bound(f)),
        lambda f: (
            f"The squared distances from the group means are at most {percent(float(_above_bound(f)))} above the "
            f"least that groups of at least k{_same_strata(f)} can have{_measured_on(f)}."
        ),
    ),
)


def _above_bound(facts: Facts) -> Any:
    """The figure of the method; if the certificate leaves it out, only its publisher has it."""
    return mapping(facts.method.get("figures")).get("loss_above_bound", facts.certificate.get("loss_above_bound"))


def _same_strata(facts: Facts) -> str:
    given = mapping(facts.method.get("parameters"))
    learned = isinstance(given.get("features"), Mapping)  # may come with groups that were shown
    return " within the same strata" if given.get("within") or given.get("attributes") or learned else ""


def _measured_on(facts: Facts) -> str:
    raw = mapping(facts.method.get("parameters")).get("features") == "raw"
    return "" if raw else ", measured on the features that groups were formed on"
