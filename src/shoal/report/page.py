"""The page of a release, from its certificate alone: a decision sheet, with details folded below.

One self-contained HTML file: style, script and figures are inside, and a content security policy keeps the browser from
contacting any host. Text of the certificate is cut and escaped, so that the page stays below 5 MB and harmless whatever
the certificate holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from shoal.model.sentence import said
from shoal.release.facts import MOST_ROWS, Facts, is_finite, listed, mapping
from shoal.report import words
from shoal.report.conclusions import BY_GUARANTEE, conclusions
from shoal.report.figure_sentences import AGGREGATES, ALIKE, CLOCK, PROMISE, SUPPRESSION
from shoal.report.lights import questions_of
from shoal.report.plots import channel_plots, checked_axis, group_bars
from shoal.report.search import attack_curves, search_part
from shoal.report.sentences import STEPS, pairs, settings
from shoal.report.sheet import sheet
from shoal.report.units import score_text
from shoal.report.words import clipped, title

MAX_BYTES = 5_000_000


Audience = Literal["public", "publisher"]


def render(certificate: Mapping[str, Any], audience: Audience = "public") -> str:
    """Write the report of a release as one self-contained HTML page of at most 5 MB.

    Parameters
    ----------
    certificate
        The content of `release.json`. `seal`, `figures`, `risk` and `time` may be absent.
    audience
        "public": for recipients of the release. "publisher": also the other points tried to find its parameters.

    Examples
    --------
    >>> page = render({"counts": {"subjects": 500}, "guarantees": []})
    >>> "Shoal release report" in page
    True
    """
    facts = _facts(certificate, audience)
    page = template("page.html.j2").render(facts, script=_plotly())
    if len(page.encode()) > MAX_BYTES:
        # Figures never get this far, but another version of the plotting script might.
        page = template("page.html.j2").render(facts, script="")
    return page


def render_sheet(certificate: Mapping[str, Any]) -> Markup:
    """Render the decision sheet alone, for a page that brings the style; figures of the certificate, nothing else."""
    return Markup(template("sheet.html.j2").render(_facts(certificate, "public"), alone=True))


@cache
def template(name: str) -> Template:
    """Load a template of this package, with text escaped and Shoal's word filters."""
    environment = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        clipped=words.clipped,
        entry=words.entry,
        marked=words.marked,
        number=words.number,
        percent=words.percent,
        plural=words.plural,
    )
    return environment.get_template(name)


@cache
def _plotly() -> str:
    # Late, because `import shoal` must stay quick.
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _facts(certificate: Mapping[str, Any], audience: Audience) -> dict[str, Any]:
    figures = mapping(certificate.get("figures"))
    channels = channel_plots(figures)
    facts = facts_of(certificate)
    guarantees = [_guarantee(facts.about(guarantee)) for guarantee in facts.guarantees]
    holds = bool(guarantees) and all(g["holds"] for g in guarantees)
    groups = group_bars(facts.counts)
    axis = checked_axis(figures)
    search = search_part(figures) if audience == "publisher" else None
    curves = attack_curves(figures)
    data = {
        "search": None if search is None else search["plot"],
        "curves": [{key: curve[key] for key in ("along", "at", "success")} for curve in curves],
        "axis": None if axis is None else {"kind": axis["kind"], "at": axis["at"]},
        "groups": None if groups is None else {"labels": groups["labels"], "bars": groups["bars"]},
        "channels": [{plot["kind"]: plot["data"] for plot in channel["plots"]} for channel in channels],
    }
    return {
        "sheet": sheet(facts, guarantees, channels),
        "guarantees": guarantees,
        "holds": holds,
        "steps": [(name, " ".join(lines)) for name, step in STEPS.items() if (lines := said(step, facts))],
        "may": conclusions("may", facts),
        "may_not": conclusions("may not", facts),
        "groups": groups,
        "alike": " ".join(said(ALIKE, facts)),
        "channels": channels,
        "aggregates": " ".join(said((*AGGREGATES, *CLOCK), facts)),
        "channels_left_out": figures.get("channels_left_out") or 0,
        "search": search,
        "curves": curves,
        "purposes": by_purpose(figures, _scores(facts)),
        "suppression": said(SUPPRESSION, facts),
        "risks": _risks(facts),
        "tables": _tables(certificate),
        "data": htmlsafe_json_dumps(data, separators=(",", ":")),
    }


def facts_of(certificate: Mapping[str, Any]) -> Facts:
    """What the sentences ask about a certificate."""
    return Facts(certificate, shown=_both_sides(channel_plots(mapping(certificate.get("figures")))))


def _both_sides(channels: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the plots that show originals next to the release."""
    drawn = [plot for channel in channels for plot in channel["plots"] if plot["data"]]
    return frozenset(
        plot["kind"]
        for plot in drawn
        if all(any(v is not None for v in _values(plot["data"].get(side))) for side in ("original", "published"))
    )


def _values(curve: Any) -> list[Any]:
    """Return the points of a curve, or of all curves of a band."""
    return [v for part in curve.values() for v in part] if isinstance(curve, Mapping) else listed(curve)


def _guarantee(facts: Facts) -> dict[str, Any]:
    guarantee, verdict = facts.guarantee, mapping(facts.guarantee.get("verdict"))
    return {
        "name": words.clipped(guarantee.get("name", ""), 80),
        "parameters": settings(guarantee.get("parameters")),
        "statement": " ".join(said(PROMISE, facts)),
        "promises": facts.name != "none",
        "check": " ".join(said(BY_GUARANTEE["who can check"], facts)),
        "holds": verdict.get("holds") is True,
        "measured": words.number(verdict.get("measured")),
        "required": words.number(verdict.get("required")),
        "note": words.clipped(verdict.get("note") or "", 400),
    }


def _scores(facts: Facts) -> list[dict[str, Any]]:
    scores = []
    for name, found in list(mapping(facts.certificate.get("utility")).items())[:MOST_ROWS]:
        score = mapping(found)
        value, bounds = score.get("value"), listed(score.get("range"))
        low, high = [*bounds, None, None][:2]
        worst, best = (low, high) if score.get("goal") == "higher" else (high, low)
        bar = None
        if all(is_finite(v) for v in (value, low, high)) and low <= value <= high and low < high:
            bar = round(100 * (value - worst) / (best - worst), 1)
        scores.append(
            {
                "key": name,
                "name": words.measure_name(name),
                "value": score_text(score, facts),
                "goal": words.clipped(score.get("goal", ""), 20),
                "meaning": words.sentence_case(score.get("meaning", "")),
                "worst": score_text({**score, "value": worst}, facts),
                "best": score_text({**score, "value": best}, facts),
                "bar": bar,
            }
        )
    return scores


def _risks(facts: Facts) -> list[dict[str, str]]:
    risks = []
    for name, found in list(mapping(facts.certificate.get("risk")).items())[:MOST_ROWS]:
        figures = mapping(found)
        risks.append(
            {
                "name": words.title(name),
                "answers": words.together(questions_of(name)),
                "success": _share(figures.get("success"), figures.get("interval")),
                "baseline": _share(figures.get("baseline"), figures.get("baseline_interval")),
                "control": _share(figures.get("control"), figures.get("control_interval")),
                "targets": words.number(figures.get("n_targets")),
                "sentence": words.clipped(figures.get("sentence", ""), 600),
            }
        )
    return risks


def _share(share: Any, interval: Any) -> str:
    if not is_finite(share):
        return words.number(share)
    bounds = mapping(interval)
    ends = [words.percent(bounds[end]) for end in ("low", "high") if is_finite(bounds.get(end))]
    spread = len(ends) == 2 and bounds["low"] != bounds["high"]
    return words.percent(share) + (f" ({ends[0]} to {ends[1]})" if spread else "")


def _tables(certificate: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the figures of the certificate, for readers who compare them with `release.json`."""
    method, counts = mapping(certificate.get("method")), mapping(certificate.get("counts"))
    source = mapping(certificate.get("input"))
    names = ("title", "publisher", "purpose", "date", "approval", "shoal", "format", "form", "pseudonyms", "seal")
    head = {key: certificate[key] for key in names if certificate.get(key)}
    files = []
    for name, found in list(mapping(certificate.get("files")).items())[:MOST_ROWS]:
        file = mapping(found)
        size, digest = words.file_size(file.get("bytes")), words.clipped(file.get("sha256", ""), 128)
        files.append((words.clipped(name, 80), f"{size}, SHA-256 {digest}"))
    tables = [
        ("Certificate", pairs(head)),
        ("Method", [("name", words.entry(method.get("name"))), *pairs(method.get("parameters"))]),
        ("Counted by the method", pairs(method.get("figures"))),
        ("Counts", pairs({key: value for key, value in counts.items() if key != "group_sizes"})),
        ("Time", pairs(certificate.get("time"))),
        ("Input", pairs(source)),
        ("Columns", pairs(certificate.get("columns"))),
        ("Files", files),
        ("Versions", pairs(certificate.get("versions"))),
    ]
    return [(heading, rows) for heading, rows in tables if rows]


MOST_PURPOSES = 20
OTHERS = "Other figures"


def by_purpose(figures: Mapping[str, Any], scores: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Any]]]:
    """Return headings with their figures, in the order of the certificate; one without a heading if none is given.

    A figure belongs to the first purpose that lists it; figures that no purpose lists come last.
    """
    process = figures.get("process")
    listed = process.get("purposes") if isinstance(process, Mapping) else None
    if not isinstance(listed, Mapping):
        return [("", list(scores))] if scores else []
    left = {score["key"]: score for score in scores}
    found: list[tuple[str, list[Any]]] = []
    for purpose, names in list(listed.items())[:MOST_PURPOSES]:
        own = [left.pop(name) for name in names if isinstance(name, str) and name in left] if _is_list(names) else []
        if own:
            found.append((title(clipped(purpose, 80)), own))
    if left:
        found.append((OTHERS if found else "", list(left.values())))
    return found


def _is_list(names: Any) -> bool:
    return isinstance(names, list)
