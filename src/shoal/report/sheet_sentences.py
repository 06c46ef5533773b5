"""What the decision sheet says about a release, each sentence next to the condition under which it is true."""

from __future__ import annotations

import re

from shoal.model import account_of
from shoal.model.sentence import Sentence
from shoal.release.facts import SEQUENCES, Facts, is_finite, mapping
from shoal.report import words
from shoal.report.sentences import CHANGED, has_pseudonyms, settings, zone_of
from shoal.report.words import method_named

Said = Sentence[Facts]

MOST_ROWS_READ = 10**15
"""A certificate may come from anywhere; a longer number is not a count."""

# The head of the sheet: how much, when, and since when it is public.
HEAD = (
    Said(
        "subjects",
        lambda f: is_finite(f.counts.get("subjects")) and f.form != "events" and not f.counted("series_fictive"),
        lambda f: (
            f"{words.plural(f.counts['subjects'], 'subject')}, "
            + (f"{words.number(f.counts.get('series'))} series" if f.has_several_series else "one series each")
        ),
    ),
    Said(
        "fictive series",
        lambda f: f.counted("series_fictive") > 0 and "series" in f.counts,
        lambda f: f"{words.plural(f.counts['series'], 'series')}, some of them fictive",
    ),
    Said("events", lambda f: "events" in f.counts, lambda f: words.plural(f.counts["events"], "event")),
    Said(
        "period",
        lambda f: f.time.get("first") is not None and f.time.get("last") is not None,
        lambda f: (
            f"{'instants ' * _is_counted(f)}{_days(f)}"
            + (f", time zone {zone_of(f)}" if f.time.get("timezone") else "")
        ),
    ),
    Said(
        "step",
        lambda f: bool(f.time.get("step")) and f.form != "events" and not str(f.time["step"]).isdecimal(),
        lambda f: f"a reading {words.every(f.time['step'])}",
    ),
    Said("dated", lambda f: bool(f.certificate.get("date")), lambda f: f"published {words.day(f.certificate['date'])}"),
    Said("not dated", lambda f: not f.certificate.get("date"), lambda f: "date of publication not stated"),
)

# Why nothing is said of what is lost.
NO_LOSS = (
    Said(
        "noise",
        lambda f: f.promises("differential-privacy") and not f.from_meters,
        lambda f: "The size of the error is not stated: an exact figure would undo the noise.",
    ),
    Said(
        "meters",
        lambda f: f.from_meters,
        lambda f: (
            "The size of the error cannot be measured: nobody has the originals. The figures come with intervals."
        ),
    ),
    Said(
        "not measured",
        lambda f: not f.certificate.get("utility") and not f.figures.get("left_out") and not f.has_noise,
        lambda f: "Not measured. The publisher, who has the originals, can measure it with `shoal utility`.",
    ),
)


def _days(facts: Facts) -> str:
    """Return the first and the last day, or the only one."""
    first, last = (words.day(facts.time[end]) for end in ("first", "last"))
    return first if first == last else f"{first} to {last}"


def _is_counted(facts: Facts) -> bool:
    """Return whether instants are numbers, not times."""
    return str(facts.time["first"]).lstrip("-").isdecimal()


# What was read.
READ = (
    Said(
        "rows",
        lambda f: is_finite(mapping(f.certificate.get("input")).get("rows")),
        lambda f: f"Rows read from the input: {words.number(f.certificate['input']['rows'])}.",
    ),
)

# What was done to the data, beyond what reading says it did.
DONE = (
    Said(
        "nothing",
        lambda f: bool(f.reading) and not account_of(f.reading) and not f.has_noise and _is_counted_reading(f),
        lambda f: "Nothing was dropped, filled in or merged when the table was read.",
    ),
    Said(
        "growing",
        lambda f: not _is_counted_reading(f),
        lambda f: (
            "How many readings were dropped, filled in or merged is not stated: the counts would show how many "
            "subjects were away. The private folder of shoal grow has them, for the publisher's report."
        ),
    ),
    Said(
        "groups left empty",
        lambda f: f.of_growing_panel and f.promises("sequence-anonymity") and f.counts.get("missing", 0) > 0,
        lambda f: (
            "Where too few subjects of a group have a reading, the whole group is left empty: "
            f"{words.plural(f.counts['missing'], 'published value')}."
        ),
    ),
    Said(
        "given",
        lambda f: not f.reading and f.form != "events" and not f.has_noise and not f.promises(*SEQUENCES),
        lambda f: "The readings were given as they are; what was done to them before is unknown here.",
    ),
    Said(
        "not told",
        lambda f: f.promises("differential-privacy") and not f.from_meters,
        lambda f: "The number of readings dropped or filled in is not stated: exact counts would undo the noise.",
    ),
    Said(
        "meters",
        lambda f: f.from_meters,
        lambda f: (
            "No reading left its meter unprotected. The number of meters that reported is published with every figure."
        ),
    ),
    Said("method in words", lambda f: bool(_method_in_words(f)), lambda f: _method_in_words(f)),
    Said(
        "method",
        lambda f: bool(f.method.get("summary")) and not _method_in_words(f),
        lambda f: f"Method: {words.lower_case(words.clipped(f.method['summary'], 200))}{_named_in_summary(f)}",
    ),
    Said(
        # Attributes are part of what is counted as alike.
        "categories",
        lambda f: f.promises("k-anonymity") and bool(mapping(f.columns.get("attributes"))),
        lambda f: (
            "Groups never mix different values of "
            + words.together([words.clipped(name, 40) for name in list(mapping(f.columns["attributes"]))[:5]])
            + "."
        ),
    ),
    *CHANGED,
)


def _is_counted_reading(facts: Facts) -> bool:
    """Return whether counts of what reading did would be here; for a growing panel only its publisher has them."""
    return not facts.promises(*SEQUENCES) or is_finite(mapping(facts.certificate.get("input")).get("rows"))


def _method_in_words(facts: Facts) -> str:
    method = method_named(facts.method.get("name"))
    # Methods of events have none.
    account = getattr(method, "account", None)
    return "" if account is None else str(account(mapping(facts.method.get("parameters"))))


def reading_account(facts: Facts) -> list[str]:
    """Say what reading did; give the filled-in amount also as a share, if a row of the input is one reading."""
    reading, rows = facts.reading, mapping(facts.certificate.get("input")).get("rows")
    counts = [reading.get(name, 0) for name in ("interpolated", "repeated", "merged")]
    one_each = reading.get("layout") == "long" and reading.get("align") == "exact" and facts.counts.get("channels") == 1
    if not one_each or not all(type(count) is int and 0 <= count < MOST_ROWS_READ for count in (rows, *counts)):
        return account_of(reading)
    interpolated, repeated, merged = counts
    return account_of(reading, n_readings=max(interpolated, rows - repeated - merged + interpolated))


def _named_in_summary(facts: Facts) -> str:
    """Return the values of the parameters that the summary names."""
    given, held = mapping(facts.method.get("parameters")), set(re.findall(r"\w+", str(facts.method["summary"])))
    named = {name: value for name, value in given.items() if name in held}
    return f" Here {settings(named)}." if named else ""


# Who must be told what before this is passed on.
TELL = (
    Said(
        "tests only",
        lambda f: f.pseudonyms == "insecure",
        lambda f: "Do not pass it on to anyone: its names come from a fixed seed that can be guessed, as in tests.",
    ),
    Said(
        "recipient",
        lambda f: f.is_copy,
        lambda f: (
            "The recipient: this copy is theirs alone, until "
            f"{words.day(mapping(f.certificate['agreement']).get('expires'))}; then it must be deleted."
        ),
    ),
    Said(
        "joined",
        lambda f: has_pseudonyms(f) and f.pseudonyms == "keyed" and not f.is_copy,
        lambda f: "Everyone who gets it: releases made with the same key can be joined, series by series.",
    ),
    Said(
        "filled in",
        lambda f: f.reading.get("interpolated", 0) not in (0, None),
        lambda f: "Analysts: some readings were interpolated and are estimates; nothing marks them.",
    ),
    Said(
        "perhaps filled in",
        lambda f: not _is_counted_reading(f) and "interpolate" in str(f.reading.get("missing")),
        lambda f: "Analysts: readings inside short gaps were interpolated, if there were any; nothing marks them.",
    ),
    Said(
        "missing people",
        lambda f: f.counted("series_suppressed") + f.counted("series_withheld") > 0,
        lambda f: "Analysts: some subjects are missing, so totals and extremes are not those of the whole population.",
    ),
    Said(
        "missing events",
        lambda f: f.counted("suppressed") > 0 and f.counted("events") > 0,
        lambda f: "Analysts: suppressed events change how frequent values are.",
    ),
    Said(
        "fictive series",
        lambda f: f.counted("series_fictive") > 0,
        lambda f: "Analysts: some series are fictive, and the release does not say which.",
    ),
    Said(
        "noise",
        lambda f: f.has_noise,
        lambda f: "Analysts: every figure carries noise; figures for small groups may be far off.",
    ),
    Said(
        "groups",
        lambda f: f.promises("k-anonymity", "sequence-anonymity") and f.form == "values",
        lambda f: (
            "Analysts: a published series represents its group; do not read peaks or habits of one subject from it."
        ),
    ),
    Said(
        "verify",
        lambda f: any(f.about(g).anyone for g in f.guarantees),
        lambda f: "Recipients: `shoal verify FOLDER` checks that files and guarantee are those of this page.",
    ),
    Said(
        "private folder",
        lambda f: has_pseudonyms(f) and f.pseudonyms in ("random", "keyed"),
        lambda f: "Anyone who keeps a private folder: it undoes the pseudonyms, and must not travel with the release.",
    ),
)
