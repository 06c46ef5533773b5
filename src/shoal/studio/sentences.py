"""Every sentence the studio says about a release that verifies, next to the condition under which it is true."""

from __future__ import annotations

from shoal.model.keyed_names import JOINABLE, JOINABLE_COPIES
from shoal.model.sentence import Sentence
from shoal.release.facts import Facts, mapping
from shoal.release.sentences import METRIC

Said = Sentence[Facts]


def _seen(facts: Facts) -> bool:
    """Whether the folder shows all that the guarantee is about: no counts, no other releases, no hidden subjects."""
    hidden = facts.has_several_series and facts.counts_subjects
    return facts.anyone and not hidden and not facts.by_group and not facts.of_sequence


def _insecure(facts: Facts) -> bool:
    """Whether its pseudonyms come from a fixed seed; events have none."""
    return facts.pseudonyms == "insecure" and facts.form != "events"


# Of one guarantee.
VERDICT = (
    Said("checked now", _seen, lambda f: f"Holds, checked on the published data just now: {_figures(f)}"),
    Said(
        "by the certificate",
        lambda f: not _seen(f) and f.name not in ("none", "differential-privacy", "local-differential-privacy"),
        lambda f: f"Holds according to the certificate, which the folder alone cannot prove: {_figures(f)}",
    ),
    Said(
        "mechanism",
        lambda f: f.name in ("differential-privacy", "local-differential-privacy"),
        lambda f: f"Follows from how the noise was drawn; the accounting was added up just now: {_figures(f)}",
    ),
    Said("nothing promised", lambda f: f.name == "none", lambda f: f"Promises nothing: {_figures(f)}"),
)


def _figures(facts: Facts) -> str:
    verdict = mapping(facts.guarantee.get("verdict"))
    return f"{facts.guarantee.get('name')}, measured {verdict.get('measured')}, required {verdict.get('required')}"


# How it was grouped, where a metric was learned.
GROUPED = (
    Said(
        "learned",
        lambda f: bool(_metric(f)) and bool(_metric(f).get("used")),
        lambda f: f"Grouped by a learned {_metric(f).get('learned')} metric.",
    ),
    Said(
        "not used",
        lambda f: bool(_metric(f)) and not _metric(f).get("used"),
        lambda f: (
            f"The learned {_metric(f).get('learned')} metric is not used, so series are grouped by Euclidean distance."
        ),
    ),
    *METRIC,
)


def _metric(facts: Facts) -> dict[str, object]:
    return dict(mapping(mapping(facts.method.get("parameters")).get("features")))


# What the folder contains, and who may receive it.
FOLDER = (
    Said("whole", lambda f: not _insecure(f) and not f.is_copy, lambda f: "Hand over the whole folder."),
    Said(
        "one recipient",
        lambda f: not _insecure(f) and f.is_copy,
        lambda f: "Hand over the whole folder, and only to the recipient it was made for.",
    ),
    Said(
        "insecure",
        _insecure,
        lambda f: "Do not hand it over: its pseudonyms come from a fixed seed that anyone may guess.",
    ),
    Said(
        "joined by key",
        lambda f: f.pseudonyms == "keyed",
        lambda f: JOINABLE_COPIES if f.is_copy else JOINABLE,
    ),
    Said(
        "series",
        lambda f: f.form in ("values", "envelopes"),
        lambda f: "It contains the published series and the certificate (release.json).",
    ),
    Said(
        "profiles",
        lambda f: f.by_group,
        lambda f: (
            f"It contains the {'profiles' if f.form == 'profiles' else 'distributions'} of the groups and the "
            "certificate (release.json)."
        ),
    ),
    Said(
        "events",
        lambda f: f.form == "events",
        lambda f: "It contains the published events and the certificate (release.json).",
    ),
    Said(
        "report",
        lambda f: "report.html" in mapping(f.certificate.get("files")),
        lambda f: "The report, report.html, is for people.",
    ),
)
