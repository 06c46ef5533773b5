"""The page of a release, from its certificate alone.

One HTML file that needs nobody: style, script and figures are inside, and a content security policy keeps the browser
from asking any host for anything. Text of the certificate is cut and escaped, so that the page stays below 5 MB and
harmless whatever the certificate holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from jinja2.utils import htmlsafe_json_dumps

from shoal.report import words
from shoal.report.plots import channel_plots, checked_axis, group_bars
from shoal.report.purposes import by_purpose
from shoal.report.search import attack_curves, search_part

MAX_BYTES = 5_000_000
_MOST_ROWS = 60
_MOST_CARDS = 12


def render(certificate: Mapping[str, Any]) -> str:
    """Write the report of a release as one self-contained HTML page of at most 5 MB.

    Parameters
    ----------
    certificate
        The content of `release.json`. `seal`, `figures`, `risk` and `time` may be absent.

    Examples
    --------
    >>> page = render({"counts": {"subjects": 500}, "guarantees": []})
    >>> "Shoal release report" in page
    True
    """
    facts = _facts(certificate)
    page = _template().render(facts, script=_plotly())
    if len(page.encode()) > MAX_BYTES:
        # Figures never get this far, but another version of the plotting script might.
        page = _template().render(facts, script="")
    return page


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        clipped=words.clipped, entry=words.entry, number=words.number, plural=words.plural, title_of=words.title
    )
    return environment.get_template("page.html.j2")


@cache
def _plotly() -> str:
    # Late, because `import shoal` must stay quick.
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _facts(certificate: Mapping[str, Any]) -> dict[str, Any]:
    counts, method, figures = (_mapping(certificate.get(name)) for name in ("counts", "method", "figures"))
    guarantees = [_guarantee(g) for g in _listed(certificate.get("guarantees"))[:_MOST_CARDS] if isinstance(g, Mapping)]
    holds = bool(guarantees) and all(g["holds"] for g in guarantees)
    groups = group_bars(counts)
    channels = channel_plots(figures)
    axis = checked_axis(figures)
    search, curves = search_part(figures), attack_curves(figures)
    data = {
        "search": None if search is None else search["plot"],
        "curves": [{key: curve[key] for key in ("along", "at", "success")} for curve in curves],
        "axis": None if axis is None else {"kind": axis["kind"], "at": axis["at"]},
        "groups": None if groups is None else {"labels": groups["labels"], "bars": groups["bars"]},
        "channels": [{plot["kind"]: plot["data"] for plot in channel["plots"]} for channel in channels],
    }
    return {
        "lead": _lead(counts, method),
        "guarantees": guarantees,
        "holds": holds,
        "steps": _steps(certificate, counts, method),
        "may": _unique(line for g in guarantees for line in g["may"]),
        "may_not": _unique(line for g in guarantees for line in g["may_not"]),
        "groups": groups,
        "alike": _alike(certificate, counts),
        "channels": channels,
        "axis_note": _axis_note(axis),
        "channels_left_out": figures.get("channels_left_out") or 0,
        "crowd": figures.get("crowd"),
        "largest_share": _share(figures["largest_share"], None) if "largest_share" in figures else "",
        "search": search,
        "curves": curves,
        "purposes": by_purpose(figures, _scores(certificate.get("utility"))),
        "risks": _risks(certificate.get("risk")),
        "tables": _tables(certificate),
        "data": htmlsafe_json_dumps(data, separators=(",", ":")),
    }


def _alike(certificate: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    """What it means to be in a group."""
    if certificate.get("form") == "profiles":
        return "A group is published as one row."
    if certificate.get("form") == "events":
        return "Groups are formed in each snapshot, and counted over all of them."
    if counts.get("grouped") == "instants":
        return "Groups are formed at each instant, and counted over all of them: members are published alike there."
    return "Series of one group are published alike."


def _lead(counts: Mapping[str, Any], method: Mapping[str, Any]) -> str:
    what = [words.plural(counts[key], key.removesuffix("s")) for key in ("subjects",) if key in counts]
    if "series" in counts:
        what.append(words.plural(counts["series"], "series"))
    what += [
        words.plural(counts[key], key.removesuffix("s")) for key in ("instants", "events", "snapshots") if key in counts
    ]
    name = words.clipped(method.get("name", ""), 80)
    return " · ".join([*what, *([name] if name else [])])


def _guarantee(guarantee: Mapping[str, Any]) -> dict[str, Any]:
    verdict = _mapping(guarantee.get("verdict"))
    return {
        "name": words.clipped(guarantee.get("name", ""), 80),
        "parameters": _settings(guarantee.get("parameters")),
        "statement": words.clipped(guarantee.get("statement", ""), 400),
        "anyone": guarantee.get("checked_by") == "anyone",
        "holds": verdict.get("holds") is True,
        "measured": words.number(verdict.get("measured")),
        "required": words.number(verdict.get("required")),
        "note": words.clipped(verdict.get("note") or "", 400),
        "may": words.may_conclude(guarantee),
        "may_not": words.may_not_conclude(guarantee),
    }


def _steps(
    certificate: Mapping[str, Any], counts: Mapping[str, Any], method: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """What was done, in the order it was done."""
    steps = [("Input", _reading(certificate, counts))]
    columns = _mapping(certificate.get("columns"))
    if columns:
        published = ", ".join(words.clipped(c, 40) for c in _listed(columns.get("published"))[:20])
        withheld = columns.get("withheld") or 0
        steps.append(
            (
                "Columns",
                ("No column" if not withheld else words.plural(withheld, "column"))
                + f" of the input {'was' if withheld in (0, 1) else 'were'} held back. Published: {published}.",
            )
        )
    pseudonyms = {
        "random": "They were replaced by fresh random pseudonyms, and the rows were shuffled.",
        "keyed": "They were replaced by pseudonyms made with a secret key. Whoever holds the key can recognise a "
        "subject in several releases; nobody else can.",
    }.get(str(certificate.get("pseudonyms")))
    if certificate.get("form") == "profiles":
        pseudonyms = "They were left out: a row stands for a whole group, under a fresh random name, in random order."
    if certificate.get("form") == "events":
        pseudonyms = "They were left out, and the rows were sorted by what they hold: their order tells nothing."
    if pseudonyms:
        steps.append(("Identifiers", pseudonyms))
    steps.append(("Method", _changing(counts, method)))
    if accepted := [words.clipped(name, 60) for name in _listed(certificate.get("accepted"))[:20]]:
        steps.append(("Side channels", f"The publisher let these findings pass: {', '.join(accepted)}."))
    steps.append(("Check", "The guarantee was checked on what is published, not on what the method says about itself."))
    return [step for step in steps if step[1]]


def _reading(certificate: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    time = _mapping(certificate.get("time"))
    text = ""
    if "series" in counts:
        text = f"{words.plural(counts['series'], 'series')} of {words.plural(counts.get('subjects'), 'subject')}"
        text += f", {words.plural(counts.get('instants'), 'instant')} each"
        if time.get("step"):
            text += f", one {words.every(time['step'])}"
        text += "."
    if "events" in counts:
        snapshots = words.plural(counts.get("snapshots"), "snapshot")
        text = f"Events, of which {words.number(counts['events'])} in {snapshots} were published."
    if time.get("first") is not None and time.get("last") is not None:
        text += f" From {words.moment(time['first'])} to {words.moment(time['last'])}"
        text += f", time zone {words.clipped(time['timezone'], 60)}." if time.get("timezone") else "."
    text += _changes(_mapping(_mapping(certificate.get("input")).get("reading")))
    if counts.get("channels") not in (None, 1):
        text += f" {words.plural(counts['channels'], 'channel')}."
    if "missing" in counts:
        missing = counts["missing"]
        text += " No reading was missing." if not missing else f" Missing readings: {words.number(missing)}."
    return text.strip()


def _changes(reading: Mapping[str, Any]) -> str:
    """What reading left out or filled in."""
    words_of = {"series_dropped": "series", "instants_dropped": "instant", "readings_interpolated": "reading"}
    counted = {name: reading.get(name) for name in words_of}
    dropped = [words.plural(n, words_of[name]) for name, n in counted.items() if n and name.endswith("dropped")]
    text = f" Before that, gaps made the publisher drop {' and '.join(dropped)}." if dropped else ""
    if filled := counted["readings_interpolated"]:
        text += f" {words.plural(filled, 'reading')} inside short gaps {'was' if filled == 1 else 'were'} interpolated."
    return text


def _changing(counts: Mapping[str, Any], method: Mapping[str, Any]) -> str:
    text = words.clipped(method.get("summary", ""), 400)
    # What was not asked for is not worth a sentence; the table at the end has it all.
    used = {name: value for name, value in _mapping(method.get("parameters")).items() if value not in (None, False)}
    if settings := _settings(used):
        text += f" Here {settings}."
    if counts.get("groups") is not None:
        whole = "snapshots" if "snapshots" in counts else "instants"
        over = f" over all {whole}" if counts.get("grouped") == "instants" else ""
        text += f" This made {words.plural(counts['groups'], 'group')}{over}"
        if counts.get("smallest_group") is not None:
            text += f" of {words.number(counts['smallest_group'])}"
            if counts.get("largest_group") != counts["smallest_group"]:
                text += f" to {words.number(counts.get('largest_group'))}"
            text += " members"
        text += "."
    figures = _mapping(method.get("figures"))
    text += _diversity(figures) + _repositioned(figures)
    gap = figures.get("at_most_above_best")
    if _is_finite(gap):
        text += (
            f" The loss is at most {words.percent(float(gap or 0.0))} above the least that groups of k to 2k − 1 "
            "neighbouring values with as many series left alone can have."
        )
    if alone := figures.get("cells_alone"):
        text += (
            f" {words.plural(alone, 'reading')} {'is' if alone == 1 else 'are'} alone in a group, and so published as "
        )
        text += "measured."
    return text


def _diversity(figures: Mapping[str, Any]) -> str:
    """What was done to sensitive columns so that no group has too many of one value."""
    text = ""
    if perturbed := figures.get("sensitive_perturbed"):
        text += f" {_entries(perturbed)} to a number near the true one."
    if exchanged := figures.get("sensitive_exchanged"):
        text += (
            f" {_entries(exchanged)} by exchange between subjects: each value occurs as often as before, but not with "
            "the same subjects."
        )
    return text


def _repositioned(figures: Mapping[str, Any]) -> str:
    """How many events were published late, and how many not at all."""
    moved = {d: n for d, n in _mapping(figures.get("moved")).items() if d != "0" and _is_finite(n)}
    text = ""
    if moved:
        farthest = max((int(d) for d in moved if str(d).isdigit()), default=0)
        text += (
            f" {words.plural(sum(moved.values()), 'event')} moved to a later snapshot, at most {farthest} further on."
        )
    if lost := figures.get("suppressed"):
        text += f" {words.plural(lost, 'event')} found no place and {'was' if lost == 1 else 'were'} suppressed."
    return text


def _entries(count: Any) -> str:
    return "1 sensitive entry was changed" if count == 1 else f"{words.number(count)} sensitive entries were changed"


def _axis_note(axis: Mapping[str, Any] | None) -> str:
    if axis is None or not axis["timezone"] or axis["kind"] == "index":
        return ""
    zone = words.clipped(axis["timezone"], 60)
    return f"Clock times in {zone}." if axis["kind"] == "clock" else "Times in UTC."


def _scores(utility: Any) -> list[dict[str, Any]]:
    scores = []
    for name, score in list(_mapping(utility).items())[:_MOST_ROWS]:
        figures = _mapping(score)
        value, bounds = figures.get("value"), _listed(figures.get("range"))
        low, high = [*bounds, None, None][:2]
        bar = None
        if all(_is_finite(v) for v in (value, low, high)) and low <= value <= high and low < high:
            bar = round(100 * (value - low) / (high - low), 1)
        scores.append(
            {
                "key": name,
                "name": _with_settings(name),
                "value": words.number(float(f"{value:.3g}") if _is_finite(value) else value),
                "goal": words.clipped(figures.get("goal", ""), 20),
                "meaning": words.clipped(figures.get("meaning", "")),
                "low": words.number(low),
                "high": words.number(high),
                "bar": bar,
            }
        )
    return scores


def _with_settings(name: Any) -> str:
    """A measure's name, and how it was taken where not in the usual way: `ramp-error:of=all` is Ramp error, of all."""
    plain, _, settings = words.clipped(name, 120).partition(":")
    return ", ".join([words.title(plain), *filter(None, settings.replace("=", " ").split(","))])


def _risks(risk: Any) -> list[dict[str, str]]:
    risks = []
    for name, found in list(_mapping(risk).items())[:_MOST_ROWS]:
        figures = _mapping(found)
        risks.append(
            {
                "name": words.title(name),
                "success": _share(figures.get("success"), figures.get("interval")),
                "baseline": _share(figures.get("baseline"), figures.get("baseline_interval")),
                "targets": words.number(figures.get("n_targets")),
                "meaning": words.clipped(figures.get("meaning", "")),
                "sentence": words.clipped(figures.get("sentence", ""), 400),
                "remarks": _remarks(figures),
            }
        )
    return risks


def _remarks(risk: Mapping[str, Any]) -> str:
    """What an attack found beyond its mean, as far as it says so."""
    remarks = []
    if _is_finite(risk.get("highest")):
        before: Any = risk.get("before_highest")
        without = f"; without protection it would be {words.percent(before)}" if _is_finite(before) else ""
        remarks.append(f"for the target most at risk {words.percent(risk['highest'])}{without}.")
    if (missing := risk.get("n_unmatched")) and _is_finite(risk.get("unmatched")):
        remarks.append(
            f"{words.plural(missing, 'target')} can be seen to be missing, which tells something, as only frequent "
            f"values are suppressed: a guess is right with {words.percent(risk['unmatched'])}."
        )
    return " ".join(remarks)


def _share(share: Any, interval: Any) -> str:
    if not _is_finite(share):
        return words.number(share)
    bounds = _mapping(interval)
    ends = [words.percent(bounds[end]) for end in ("low", "high") if _is_finite(bounds.get(end))]
    spread = len(ends) == 2 and bounds["low"] != bounds["high"]
    return words.percent(share) + (f" ({ends[0]} to {ends[1]})" if spread else "")


def _tables(certificate: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The figures of the certificate, for whoever compares them with `release.json`."""
    method, counts = _mapping(certificate.get("method")), _mapping(certificate.get("counts"))
    source = _mapping(certificate.get("input"))
    head = {key: certificate[key] for key in ("shoal", "format", "form", "pseudonyms", "seal") if key in certificate}
    files = []
    for name, found in list(_mapping(certificate.get("files")).items())[:_MOST_ROWS]:
        file = _mapping(found)
        size, digest = words.file_size(file.get("bytes")), words.clipped(file.get("sha256", ""), 128)
        files.append((words.clipped(name, 80), f"{size}, SHA-256 {digest}"))
    tables = [
        ("Certificate", _pairs(head)),
        ("Method", [("name", words.entry(method.get("name"))), *_pairs(method.get("parameters"))]),
        ("Counted by the method", _pairs(method.get("figures"))),
        ("Counts", _pairs({key: value for key, value in counts.items() if key != "group_sizes"})),
        ("Time", _pairs(certificate.get("time"))),
        ("Input", _pairs(source)),
        ("Columns", _pairs(certificate.get("columns"))),
        ("Files", files),
        ("Versions", _pairs(certificate.get("versions"))),
    ]
    return [(heading, rows) for heading, rows in tables if rows]


def _pairs(settings: Any) -> list[tuple[str, str]]:
    listed = list(_mapping(settings).items())
    rows = [(words.clipped(key, 80).replace("_", " "), words.entry(value)) for key, value in listed[:_MOST_ROWS]]
    if len(listed) > _MOST_ROWS:
        rows.append(("…", f"{words.number(len(listed) - _MOST_ROWS)} more in release.json"))
    return rows


def _settings(parameters: Any) -> str:
    return ", ".join(f"per {value}" if key == "per" else f"{key} = {value}" for key, value in _pairs(parameters)[:8])


def _unique(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(lines))


def _mapping(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else []


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
