"""What a guarantee that holds does and does not let a reader conclude, each sentence next to its condition."""

from __future__ import annotations

from collections.abc import Callable

from shoal.guarantees.dominance import Dominance
from shoal.model.sentence import Sentence, said
from shoal.release.facts import SEQUENCES, Facts, is_finite, mapping
from shoal.release.sentences import WHO_CAN_CHECK
from shoal.report import words

Said = Sentence[Facts]

KNOWN = (
    "k-anonymity",
    *SEQUENCES,
    "nlk-anonymity",
    "kp-anonymity",
    "l-diversity",
    "m-invariance",
    "aggregate-rule",
    "differential-privacy",
    "local-differential-privacy",
    "none",
)
"""The guarantees that need more explanation than their statement."""


def _is(*names: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.name in names


def _vaguely(f: Facts) -> str:
    """Say how precisely readings are known, if the guarantee does not assume exact knowledge."""
    within = f.settings.get("within")
    return f", to within {words.number(within)}," if within else ""


def _number(facts: Facts, name: str) -> str:
    return words.number(facts.settings.get(name, name))


def _crowd(facts: Facts) -> str:
    """Return the unit that a crowd is counted in."""
    return "series" if facts.settings.get("per") == "series" else "subjects"


def _has_attributes(facts: Facts) -> bool:
    return bool(facts.columns.get("sensitive"))


MAY = (
    Said(
        "crowd of subjects",
        lambda f: f.name == "k-anonymity" and f.counts_subjects and not f.by_group,
        lambda f: (
            f"Every published series is shared by at least {_number(f, 'k')} subjects whose published readings are "
            "exactly alike."
        ),
    ),
    Said(
        "profile",
        lambda f: f.name == "k-anonymity" and f.by_group,
        lambda f: f"Every published profile represents at least {_number(f, 'k')} subjects.",
    ),
    Said(
        "levels",
        lambda f: f.name == "k-anonymity" and f.form == "scenarios",
        lambda f: (
            f"Every level of a published distribution is based on at least {_number(f, 'k')} subjects too. No level is "
            "one subject's reading."
        ),
    ),
    Said(
        "who is who",
        lambda f: (
            f.name == "k-anonymity"
            and f.counts_subjects
            and f.form == "values"
            and not _has_attributes(f)
            and f.pseudonyms == "random"
        ),
        lambda f: (
            "Someone who has this release and knows all original readings of one subject still cannot tell which of "
            f"at least {_number(f, 'k')} published series is that subject's."
        ),
    ),
    Said(
        "crowd of series",
        lambda f: f.name == "k-anonymity" and not f.counts_subjects,
        lambda f: (
            f"Every published series looks exactly like at least {_number(f, 'k')} series, itself included. Several "
            "of them may belong to one subject."
        ),
    ),
    Said(
        "sequence",
        _is("sequence-anonymity"),
        lambda f: (
            "Someone who compares it with all other releases of its sequence still finds nobody in a crowd below "
            f"{_number(f, 'k')}."
        ),
    ),
    Said(
        "known readings in a sequence",
        _is("sequence-nlk-anonymity"),
        lambda f: (
            f"Someone who compares all releases of its sequence, and knows "
            f"{words.plural(f.settings.get('n', 'n'), 'reading')} of a series in any of them, cannot pin down "
            f"{_number(f, 'l')} of them or more in a crowd below {_number(f, 'k')} subjects."
        ),
    ),
    Said(
        "known readings",
        _is("nlk-anonymity"),
        lambda f: (
            f"Someone who knows {words.plural(f.settings.get('n', 'n'), 'reading')} of a series"
            f"{_vaguely(f)} cannot pin down "
            f"{_number(f, 'l')} of them or more in a crowd below {_number(f, 'k')} {_crowd(f)}."
        ),
    ),
    Said(
        "ranges",
        _is("kp-anonymity"),
        lambda f: (
            f"Every published range is shared by series of at least {_number(f, 'k')} subjects"
            + (
                "; a pattern inside it may be one subject's own."
                if f.settings.get("p") == 1
                else f", and every pattern inside it by at least {_number(f, 'p')}."
            )
        ),
    ),
    Said(
        "sensitive values",
        _is("l-diversity"),
        lambda f: f"In no published group does one sensitive value make up more than 1 in {_number(f, 'l')}.",
    ),
    Said(
        "values over time",
        _is("m-invariance"),
        lambda f: (
            "Someone who intersects the groups of a subject over all snapshots is left with at least "
            f"{_number(f, 'm')} sensitive values."
        ),
    ),
    Said(
        "aggregates",
        _is("aggregate-rule"),
        lambda f: f"Every published figure is a mean or a sum over at least {_number(f, 'size')} subjects.",
    ),
    Said(
        "share at every instant",
        lambda f: f.name == "aggregate-rule" and f.settings.get("per") == "instant",
        lambda f: f"None of them has more than {_share(f)} of it.",
    ),
    Said(
        "share over the period",
        lambda f: f.name == "aggregate-rule" and f.settings.get("per") != "instant",
        lambda f: f"Over the whole period none of them has more than {_share(f)} of it; at a single instant one may.",
    ),
    Said(
        "noise for subjects",
        lambda f: f.name == "differential-privacy" and f.settings.get("unit") != "reading",
        lambda f: (
            "The readings of any one subject change the odds of every published result by no more than the stated "
            "factor, whatever else anyone knows."
        ),
    ),
    Said(
        "noise for readings",
        lambda f: f.name == "differential-privacy" and f.settings.get("unit") == "reading",
        lambda f: (
            "Any single reading changes the odds of every published result by no more than the stated factor, "
            "whatever else anyone knows."
        ),
    ),
    Said(
        "noise at the meter",
        _is("local-differential-privacy"),
        lambda f: (
            "What a meter sent about the readings of a window reveals to nobody, not even the publisher, more than "
            "the stated factor allows."
        ),
    ),
    Said(
        "attacks",
        _is("none"),
        lambda f: "That the attacks named here, run by the publisher, succeeded no more often than the figures say.",
    ),
    Said(
        "word for word",
        lambda f: f.name not in KNOWN,
        lambda f: "The statement of the guarantee above, word for word.",
    ),
)


def _share(facts: Facts) -> str:
    share = facts.settings.get("share")
    return words.percent(float(share)) if share is not None and is_finite(share) else "the stated share"


def _coarser(facts: Facts) -> str:
    """Say what l-diversity does not hide if a remedy published frequent values as coarser ones."""
    if mapping(facts.method.get("parameters")).get("remedy") != "generalise":
        return ""
    return " A coarser value replaces a frequent one: someone who knows the tree can usually tell which."


MAY_NOT = (
    Said(
        "one subject's reading",
        _is("k-anonymity"),
        lambda f: (
            f"That a published {'row' if f.by_group else 'series'} shows any one subject's readings: a whole group "
            "shares it. Nor that no member dominates it: if one is far larger than the others, a mean is mostly theirs."
        ),
    ),
    Said(
        "nothing learned",
        _is("k-anonymity"),
        lambda f: (
            "That nothing can be learned about a subject. k-anonymity hides who is who in a group, not what all its "
            "members have in common."
        ),
    ),
    Said(
        "insiders",
        _is("k-anonymity"),
        lambda f: (
            "That it withstands someone who already knows nearly all members of a group, or hides whether a person is "
            "in it at all. It is not differential privacy."
        ),
    ),
    Said(
        "everyone was there",
        _is("sequence-anonymity"),
        lambda f: (
            "That every series belongs to someone who was present: subjects without readings, or who have left, are "
            "published as their group is."
        ),
    ),
    Said(
        "absent",
        _is("sequence-nlk-anonymity"),
        lambda f: (
            "That a series absent from this release had no readings: some members are left out so that those without "
            "readings are not alone."
        ),
    ),
    Said(
        "outside the sequence",
        _is(*SEQUENCES),
        lambda f: "That nothing can be learned from other releases of the same people, outside the sequence.",
    ),
    Said(
        "as measured",
        _is("nlk-anonymity"),
        lambda f: (
            "That no reading is published as it was measured: a reading alone in its group is, and if a group had "
            "equal readings, so are they."
        ),
    ),
    Said(
        "series found",
        _is("nlk-anonymity"),
        lambda f: "That nobody can find a subject's series: a few known readings may be enough.",
    ),
    Said(
        "more known readings",
        _is("nlk-anonymity"),
        lambda f: "That it withstands someone who knows more readings of a subject than the guarantee assumes.",
    ),
    Said(
        "inside a range",
        _is("kp-anonymity"),
        lambda f: "That a reading lay anywhere particular inside a published range.",
    ),
    Said(
        "ends of a range",
        lambda f: f.name == "kp-anonymity" and f.form == "envelopes",
        lambda f: "That no reading is published as it was measured: both ends of a range are readings of its members.",
    ),
    Said(
        "common range",
        _is("kp-anonymity"),
        lambda f: (
            "That nothing can be learned about a subject: what all series of a range have in common is published."
        ),
    ),
    Said(
        "whose value",
        _is("l-diversity"),
        lambda f: "That a sensitive value belongs to any one record of its group.",
    ),
    Said(
        "similar values",
        _is("l-diversity"),
        lambda f: (
            (
                "That the members of a group differ much: values count as different however close they are, so a "
                "number's rough size, or what its values have in common, may be the same for all of them."
            )
            + _coarser(f)
        ),
    ),
    Said(
        "values ruled out",
        _is("l-diversity"),
        lambda f: "That it withstands someone who can rule out sensitive values from knowledge of their own.",
    ),
    Said(
        "change over time",
        _is("m-invariance"),
        lambda f: (
            "That it withstands someone who knows how a sensitive value develops over time, or which events are not "
            "published."
        ),
    ),
    Said(
        "one in an aggregate",
        _is("aggregate-rule"),
        lambda f: "Anything about one subject inside an aggregate.",
    ),
    Said(
        "differences",
        _is("aggregate-rule"),
        lambda f: "That two aggregates may safely be subtracted from each other where their members overlap.",
    ),
    Said(
        "no promise",
        _is("none"),
        lambda f: "That anything is promised. Someone who knows more, or tries something else, may achieve more.",
    ),
    Said(
        "publisher's figures",
        _is("none"),
        lambda f: "That the figures can be checked from the release: they come from the publisher.",
    ),
    Said(
        "noisy figures",
        _is("differential-privacy", "local-differential-privacy"),
        lambda f: "That a published figure is exact: noise was added on purpose.",
    ),
    Said(
        "people in general",
        lambda f: f.name == "differential-privacy" and f.settings.get("unit") != "reading",
        lambda f: (
            "That nothing can be learned about people in general. It limits what is learned from one subject's data."
        ),
    ),
    Said(
        "habits",
        lambda f: f.name == "differential-privacy" and f.settings.get("unit") == "reading",
        lambda f: (
            "That a subject's habits are hidden: one reading is protected, but what all readings of a subject have in "
            "common is not."
        ),
    ),
    Said(
        "longer than a window",
        _is("local-differential-privacy"),
        lambda f: "That habits which last longer than a window are hidden: each window has a budget of its own.",
    ),
    Said(
        "anything else",
        lambda f: f.name not in KNOWN,
        lambda f: "Anything the statement of the guarantee does not say.",
    ),
)

MAY_OF_THE_RELEASE = (
    Said(
        "figures",
        lambda f: bool(_shown(f)),
        lambda f: f"You can use {words.together(_shown(f))}, as closely as the figures below show.",
    ),
)


def _shown(facts: Facts) -> list[str]:
    nouns = {"duration": "totals", "profile": "typical curves", "bands": "the spread between subjects"}
    return [noun for kind, noun in nouns.items() if kind in facts.shown]


MAY_NOT_OF_THE_RELEASE = (
    Said(
        "other releases",
        lambda f: (
            bool(f.guarantees) and f.pseudonyms != "keyed" and not f.promises(*SEQUENCES, "none") and not f.has_noise
        ),
        lambda f: (
            "That it may be joined with another release of the same subjects, such as last month's: the promise "
            "covers this release alone. Ask the publisher first."
        ),
    ),
    Said(
        "more knowledge",
        lambda f: bool(f.certificate.get("risk")) and not f.promises("none"),
        lambda f: "That someone who knows more, or tries something else, achieves no more than these attacks.",
    ),
    Said(
        "further budgets",
        lambda f: f.promises("differential-privacy"),
        lambda f: "That another release of the same subjects costs nothing: the budgets of both add up.",
    ),
    Said(
        "keyed releases together",
        lambda f: f.pseudonyms == "keyed" and not f.promises(*SEQUENCES),
        lambda f: (
            "That it protects as well alongside another release made with the same key. The two can be joined series "
            "by series, and crowds shrink to subjects who are alike in both."
        ),
    ),
    Said(
        "fixed seed",
        lambda f: f.pseudonyms == "insecure",
        lambda f: "That the order of rows and their names hide anything: they follow from a seed that can be guessed.",
    ),
    Said(
        "published attributes",
        lambda f: f.form != "events" and _has_attributes(f),
        lambda f: "That rows with the same readings also look alike in the other published columns.",
    ),
    Said(
        "suppressed series",
        lambda f: f.counted("series_suppressed") + f.counted("series_withheld") > 0,
        lambda f: "That everyone in the input is in the release: some series were left out.",
    ),
    Said(
        "true series",
        lambda f: f.counted("series_fictive") > 0,
        lambda f: (
            "That a published series belongs to a real subject: some are fictive, and the release does not say which."
        ),
    ),
)

# For the publisher and their officer: the public certificate does not have it.
DOMINATED = (
    Said(
        "dominated",
        lambda f: bool(_dominated(f)),
        lambda f: f"That everyone is hidden in their group. {_dominated(f)}",
    ),
)


def _dominated(facts: Facts) -> str:
    dominance = Dominance.from_dict(facts.certificate.get("dominance"))
    return "" if dominance is None else dominance.warning


BY_GUARANTEE = {"who can check": WHO_CAN_CHECK, "may": MAY, "may not": MAY_NOT}
BY_RELEASE = {"may": MAY_OF_THE_RELEASE, "may not": MAY_NOT_OF_THE_RELEASE}


def conclusions(section: str, facts: Facts) -> list[str]:
    """Return what may ("may") or may not ("may not") be concluded: from the guarantees, each line once, and from the
    release."""
    lines = [line for g in facts.guarantees for line in said(BY_GUARANTEE[section], facts.about(g))]
    if section == "may not":
        lines[:0] = said(DOMINATED, facts)
    return list(dict.fromkeys([*lines, *said(BY_RELEASE[section], facts)]))
