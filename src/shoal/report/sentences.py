"""What the report says about each step of a release, each sentence next to the condition under which it is true.

The sentences of the decision sheet are in `sheet_sentences`, those next to curves and figures in `figure_sentences`,
and those on what a guarantee lets a reader conclude in `conclusions`.
"""

from __future__ import annotations

from typing import Any

from shoal.model import account_of
from shoal.model.keyed_names import JOINABLE, JOINABLE_COPIES
from shoal.model.sentence import Sentence
from shoal.release.facts import MOST_ROWS, Facts, is_finite, listed, mapping
from shoal.release.sentences import LOWER_BOUND, METRIC
from shoal.report import words

Said = Sentence[Facts]


def has_pseudonyms(facts: Facts) -> bool:
    """One row per series, under a pseudonym."""
    return not facts.by_group and facts.form != "events"


def _row_of(facts: Facts) -> str:
    return "distribution" if facts.form == "scenarios" else "profile"


def _figure_of(facts: Facts) -> str:
    """Return what is counted of a row at each instant. A total may be missing where the mean is not."""
    return "mean" if facts.by_group else "reading"


# What is published, in counts.
PUBLISHED = (
    Said(
        "series",
        lambda f: "series" in f.counts and not f.by_group and not f.counted("series_fictive"),
        lambda f: (
            f"{words.plural(f.counts['series'], 'series')} of {words.plural(f.counts.get('subjects'), 'subject')}"
            f"{_instants(f)}."
        ),
    ),
    Said(
        "fictive series",
        lambda f: "series" in f.counts and f.counted("series_fictive") > 0,
        lambda f: (
            f"{words.plural(f.counts['series'], 'series')}; {words.number(f.counted('series_fictive'))} of them are "
            f"fictive, with nobody behind them{_instants(f)}."
        ),
    ),
    Said(
        "profiles",
        lambda f: f.by_group and "groups" in f.counts,
        lambda f: (
            f"{words.plural(f.counts['groups'], f'group {_row_of(f)}')} of "
            f"{words.plural(f.counts.get('subjects'), 'subject')}{_instants(f)}."
        ),
    ),
    Said(
        "events",
        lambda f: "events" in f.counts,
        lambda f: (
            f"{words.plural(f.counts['events'], 'event')} in {words.plural(f.counts.get('snapshots'), 'snapshot')}."
        ),
    ),
    Said(
        "period",
        lambda f: f.time.get("first") is not None and f.time.get("last") is not None,
        lambda f: (
            f"From {words.moment(f.time['first'])} to {words.moment(f.time['last'])}"
            + (f", time zone {zone_of(f)}." if f.time.get("timezone") else ".")
        ),
    ),
    Said(
        "channels",
        lambda f: f.counts.get("channels") not in (None, 1),
        lambda f: f"{words.plural(f.counts['channels'], 'channel')}.",
    ),
    Said(
        # With noise, nothing exact is stated about the input: gaps may have been filled, and nobody may learn how many.
        "nothing missing",
        lambda f: f.counts.get("missing") == 0 and not f.has_noise,
        lambda f: f"No published {_figure_of(f)} is missing.",
    ),
    Said(
        "missing",
        lambda f: is_finite(f.counts.get("missing")) and f.counts["missing"] > 0 and not f.has_noise,
        lambda f: f"Missing {_figure_of(f)}s: {words.number(f.counts['missing'])}.",
    ),
)


def zone_of(facts: Facts) -> str:
    """Return the time zone of the first and the last instant."""
    # Earlier releases gave the first and the last instant in UTC, without an offset.
    return words.clipped(facts.time["timezone"], 60) if words.has_offset(facts.time["first"]) else "UTC"


def _instants(facts: Facts) -> str:
    step = f", one {words.every(facts.time['step'])}" if facts.time.get("step") else ""
    return f", {words.plural(facts.counts.get('instants'), 'instant')} each{step}"


# What reading did to the input before anything else; `account_of` has the condition of each part.
INPUT = (Said("account", lambda f: bool(account_of(f.reading)), lambda f: " ".join(account_of(f.reading))),)


def _held_back(facts: Facts) -> str:
    """Return how many columns of the input are not published; meters have no table that could have any."""
    if facts.from_meters:
        return ""
    n = facts.columns.get("withheld") or 0
    return f" Read but not published: {words.plural(n, 'column')}, identifiers included."


COLUMNS = (
    Said(
        "columns",
        lambda f: bool(f.columns),
        lambda f: (
            "Published columns: "
            + ", ".join(words.clipped(name, 40) for name in listed(f.columns.get("published"))[:20])
            + "."
            + _held_back(f)
        ),
    ),
)

# How the figures of a distribution are read.
DISTRIBUTIONS = (
    Said(
        "levels",
        lambda f: f.form == "scenarios",
        lambda f: (
            "The readings of a group lie around mean + spread × level. A level z is the mean deviation in one of "
            "several equal parts of the readings, in units of the spread; the number in its name is the per cent of "
            "the readings below the middle of that part. Row by row, lagged is the correlation of ranks 0, 1, 2, … "
            "instants apart. `shoal simulate --from-release FOLDER` draws curves from all this."
        ),
    ),
)

# What became of the identifiers of the input.
IDENTIFIERS = (
    Said(
        "random",
        lambda f: has_pseudonyms(f) and f.pseudonyms == "random" and not f.is_copy,
        lambda f: "They were replaced by fresh random pseudonyms, and the rows were shuffled.",
    ),
    Said(
        "recipient's own",
        lambda f: has_pseudonyms(f) and f.pseudonyms in ("random", "keyed") and f.is_copy,
        lambda f: "They were replaced by pseudonyms that no other recipient's copy has.",
    ),
    Said(
        "keyed",
        lambda f: has_pseudonyms(f) and f.pseudonyms == "keyed" and not f.is_copy,
        lambda f: (
            "They were replaced by pseudonyms made with a secret key. Anyone who has the key and a list of "
            "identifiers can work out whose series is whose."
        ),
    ),
    Said(
        "joined by key",
        lambda f: has_pseudonyms(f) and f.pseudonyms == "keyed",
        lambda f: JOINABLE_COPIES if f.is_copy else JOINABLE,
    ),
    Said(
        "insecure",
        lambda f: f.form != "events" and f.pseudonyms == "insecure",
        lambda f: (
            "They were replaced by pseudonyms from a fixed seed, as in tests. Anyone who guesses the seed can undo "
            "the shuffling."
        ),
    ),
    Said(
        "profiles",
        lambda f: f.by_group and f.pseudonyms == "random",
        lambda f: "They were left out: a row represents a whole group, under a fresh random name, in random order.",
    ),
    Said(
        "events",
        lambda f: f.form == "events",
        lambda f: "They were left out, and the rows were sorted by content: their order reveals nothing.",
    ),
)

# What became of single readings, values and series.
CHANGED = (
    Said(
        "perturbed",
        lambda f: f.counted("sensitive_perturbed") > 0,
        lambda f: f"{_entries(f.counted('sensitive_perturbed'))} to a number near the true one.",
    ),
    Said(
        "exchanged",
        lambda f: f.counted("sensitive_exchanged") > 0,
        lambda f: (
            f"{_entries(f.counted('sensitive_exchanged'))} by exchange between subjects: each value occurs as often as "
            "before, but not with the same subjects."
        ),
    ),
    Said(
        "moved",
        lambda f: bool(_moved(f)),
        lambda f: (
            f"{words.plural(sum(_moved(f).values()), 'event')} moved to a later snapshot, by at most "
            f"{max((int(d) for d in _moved(f) if str(d).isdigit()), default=0)}."
        ),
    ),
    Said(
        "suppressed",
        lambda f: f.counted("suppressed") > 0 and f.counted("events") > 0,
        lambda f: (
            f"{words.number(f.counted('suppressed'))} of {words.plural(f.counted('events'), 'event')} "
            f"({words.percent(f.counted('suppressed') / f.counted('events'))}) found no place and "
            f"{'was' if f.counted('suppressed') == 1 else 'were'} suppressed."
        ),
    ),
    Said(
        "series suppressed",
        lambda f: f.counted("series_suppressed") > 0,
        lambda f: (
            f"{words.plural(f.counted('series_suppressed'), 'series')} found no group and "
            f"{'was' if f.counted('series_suppressed') == 1 else 'were'} suppressed."
        ),
    ),
    Said(
        "series withheld",
        lambda f: f.counted("series_withheld") > 0,
        lambda f: (
            f"{words.plural(f.counted('series_withheld'), 'series')} "
            f"{'was' if f.counted('series_withheld') == 1 else 'were'} withheld: no group with "
            f"{'it' if f.counted('series_withheld') == 1 else 'them'} keeps the rule."
        ),
    ),
    Said(
        "alone",
        lambda f: f.counted("cells_alone") > 0,
        lambda f: (
            f"{words.plural(f.counted('cells_alone'), 'reading')} {'is' if f.counted('cells_alone') == 1 else 'are'} "
            "alone in a group, and therefore published as measured."
        ),
    ),
    Said(
        "withheld",
        lambda f: f.counted("cells_withheld") > 0 and not f.by_group,
        lambda f: (
            f"{words.plural(f.counted('cells_withheld'), 'reading')} "
            f"{'was' if f.counted('cells_withheld') == 1 else 'were'} withheld: too few subjects have one there."
        ),
    ),
    Said(
        # Methods count readings or means here; the counts of a release always have means.
        "means withheld",
        lambda f: f.counted("cells_withheld") > 0 and f.by_group and f.counts.get("missing", 0) > 0,
        lambda f: (
            f"{words.plural(f.counts['missing'], 'mean')} {'was' if f.counts['missing'] == 1 else 'were'} withheld: "
            "too few subjects have a reading there."
        ),
    ),
)


def _by_person(facts: Facts) -> str:
    """Say that a person ended the search for the method early, or chose the point; empty if nobody did."""
    process = mapping(facts.figures.get("process"))
    return " ".join(str(mapping(process[name]).get("sentence")) for name in ("stopped", "explored") if name in process)


# What the method did.
METHOD = (
    Said(
        "summary",
        lambda f: bool(f.method.get("summary")),
        lambda f: words.clipped(f.method["summary"], 400),
    ),
    Said(
        "parameters",
        lambda f: bool(_used(f)),
        lambda f: f"Here {_used(f)}.",
    ),
    Said(
        "by a person",
        lambda f: bool(_by_person(f)),
        lambda f: words.clipped(_by_person(f), 300),
    ),
    Said(
        "groups",
        # Where nothing is promised, rows that happen to be equal are no groups of the method.
        lambda f: f.counts.get("groups") is not None and not f.promises("none"),
        lambda f: f"This made {words.plural(f.counts['groups'], 'group')}{_over(f)}{_members(f)}.",
    ),
    *CHANGED,
    Said(
        "bound",
        lambda f: is_finite(_bound(f)),
        lambda f: (
            f"The loss is at most {words.percent(float(_bound(f)))} above the minimum for groups of k to 2k − 1 "
            "neighbouring values with as many series left alone."
        ),
    ),
    *LOWER_BOUND,
    *METRIC,
)


def _used(facts: Facts) -> str:
    """Return the parameters that were asked for; the table at the end has all of them."""
    fields = getattr(words.method_named(facts.method.get("name")), "__dataclass_fields__", {})
    usual = {name: list(f.default) if isinstance(f.default, tuple) else f.default for name, f in fields.items()}
    given = mapping(facts.method.get("parameters")).items()
    return settings({name: value for name, value in given if value is not None and value != usual.get(name, False)})


def settings(parameters: Any) -> str:
    """Return parameters in words, at most eight of them."""
    return ", ".join(f"per {value}" if key == "per" else f"{key} = {value}" for key, value in pairs(parameters)[:8])


def pairs(found: Any) -> list[tuple[str, str]]:
    """Return names and entries of a part of the certificate, as text."""
    entries = list(mapping(found).items())
    rows = [(words.clipped(key, 80).replace("_", " "), words.entry(value)) for key, value in entries[:MOST_ROWS]]
    if len(entries) > MOST_ROWS:
        rows.append(("…", f"{words.number(len(entries) - MOST_ROWS)} more in release.json"))
    return rows


def _over(facts: Facts) -> str:
    whole = "snapshots" if "snapshots" in facts.counts else "instants"
    return f" over all {whole}" if facts.counts.get("grouped") == "instants" else ""


def _members(facts: Facts) -> str:
    smallest, largest = facts.counts.get("smallest_group"), facts.counts.get("largest_group")
    if smallest is None:
        return ""
    to = f" to {words.number(largest)}" if largest != smallest else ""
    return f" of {words.number(smallest)}{to} member{'s' * (largest != 1)}"


def _entries(count: int) -> str:
    return "1 sensitive entry was changed" if count == 1 else f"{words.number(count)} sensitive entries were changed"


def _moved(facts: Facts) -> dict[str, Any]:
    moved = mapping(mapping(facts.method.get("figures")).get("moved"))
    return {distance: n for distance, n in moved.items() if distance != "0" and is_finite(n)}


def _bound(facts: Facts) -> Any:
    return mapping(facts.method.get("figures")).get("at_most_above_best")


SIDE_CHANNELS = (
    Said(
        "accepted",
        lambda f: bool(listed(f.certificate.get("accepted"))),
        lambda f: (
            "The publisher accepted these findings: "
            + ", ".join(words.clipped(name, 60) for name in listed(f.certificate.get("accepted"))[:20])
            + "."
        ),
    ),
)

# Who checked what, and how.
CHECK = (
    Said(
        "published values",
        lambda f: bool(_named(f, "anyone")),
        lambda f: (
            f"{words.together(_named(f, 'anyone'))} {'was' if len(_named(f, 'anyone')) == 1 else 'were'} checked on "
            "the published values, not on what the method says about itself."
        ),
    ),
    Said(
        "originals",
        lambda f: f.promises("aggregate-rule"),
        lambda f: "aggregate-rule was checked with the originals, which only the publisher has.",
    ),
    Said(
        "mechanism",
        lambda f: f.promises("differential-privacy"),
        lambda f: (
            "differential-privacy cannot be seen in published values: it follows from how the noise was drawn. Its "
            "accounting was added up."
        ),
    ),
    Said(
        "meters",
        lambda f: f.promises("local-differential-privacy"),
        lambda f: (
            "local-differential-privacy cannot be seen in published values: it follows from what ran on the meters. "
            "The most that any meter spent within a window was compared with the budget."
        ),
    ),
    Said(
        "attacks only",
        lambda f: f.promises("none"),
        lambda f: "Nothing is promised, so nothing could be checked. Attacks were run and compared with a limit.",
    ),
)


def _named(facts: Facts, who: str) -> list[str]:
    names = [words.clipped(g.get("name", ""), 80) for g in facts.guarantees if g.get("checked_by") == who]
    return list(dict.fromkeys(names))


STEPS = {
    "Published": PUBLISHED,
    "Input": INPUT,
    "Columns": (*COLUMNS, *DISTRIBUTIONS),
    "Identifiers": IDENTIFIERS,
    "Method": METHOD,
    "Side channels": SIDE_CHANNELS,
    "Check": CHECK,
}
"""What was done, in the order in which the report says it."""
