"""Singling out, linkability, inference: the highest figure for each, with its limit and the guessing baseline.

A figure is *measured*, by an attack that answers the question, or *proven*, by a guarantee that was checked. A light is
"within" only where such a figure, at the upper end of its interval, is at most a stated limit: the policy's for
attacks, the promise itself for a guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

from shoal.model import Attack, Interval
from shoal.model.attack import QUESTIONS
from shoal.model.sentence import Sentence, said
from shoal.release.facts import MOST_ROWS, Facts, is_finite, listed, mapping
from shoal.release.openness import SOME_FIGURES
from shoal.report import words
from shoal.report.words import attack_named

Said = Sentence[Facts]


@dataclass(frozen=True)
class Bound(Sentence[Facts]):
    """What a guarantee proves about a question, next to the condition under which it does."""

    answers: str
    share: Callable[[Facts], float]
    limit: Callable[[Facts], float | None]
    guess: Callable[[Facts], float | None] = lambda f: None


def _hides_rows(facts: Facts, *, pseudonyms: str = "random") -> bool:
    """Return whether rows that look alike cannot be distinguished by names, other columns, or several rows of one
    subject. By keyed names, rows can be found again in other releases."""
    # Published attributes are part of what is counted as alike.
    n_channels = len(listed(facts.columns.get("channels")))
    by_value = n_channels + len(mapping(facts.columns.get("attributes")))
    expected = {"values": 2 + by_value, "envelopes": 4 + 2 * n_channels}.get(facts.form)
    only_these = len(listed(facts.columns.get("published"))) == expected and not facts.columns.get("sensitive")
    return facts.pseudonyms == pseudonyms and not facts.has_several_series and only_these


def _crowd(facts: Facts) -> int:
    measured = mapping(facts.guarantee.get("verdict")).get("measured")
    return int(measured) if is_finite(measured) else 0


def _one_in(facts: Facts, setting: str) -> float:
    return 1.0 / float(facts.settings[setting])


def _holds(facts: Facts, name: str, setting: str) -> bool:
    given = facts.settings.get(setting)
    return (
        facts.name == name
        and mapping(facts.guarantee.get("verdict")).get("holds") is True
        and is_finite(given)
        and given > 1
    )


def _has_coarser_values(facts: Facts) -> bool:
    return mapping(facts.method.get("parameters")).get("remedy") == "generalise"


def _guess_subject(facts: Facts) -> float | None:
    n = facts.counts.get("subjects")
    return 1.0 / n if is_finite(n) and n >= 1 else None


def _odds(facts: Facts) -> float:
    return 1.0 / (1.0 + math.exp(-min(float(facts.settings["epsilon"]), 700.0)))


PROVEN = (
    Bound(
        "equal series",
        lambda f: (
            _holds(f, "k-anonymity", "k")
            and f.counts_subjects
            and f.form == "values"
            and _hides_rows(f)
            and _crowd(f) >= f.settings["k"]
        ),
        lambda f: (
            f"Proven: every published series equals those of at least {words.number(_crowd(f) - 1)} other subjects, "
            f"so nothing published shows which of the {words.number(_crowd(f))} belongs to a given person."
        ),
        "singling out",
        lambda f: 1.0 / _crowd(f),
        lambda f: _one_in(f, "k"),
        _guess_subject,
    ),
    Bound(
        # The certificate's own check sees one release. That all releases keep it together is the operator's doing, so a
        # release that merely requires sequence-anonymity proves nothing here.
        "sequence",
        lambda f: (
            _holds(f, "sequence-anonymity", "k")
            and f.of_growing_panel
            and f.form == "values"
            and _hides_rows(f, pseudonyms="keyed")
            and _crowd(f) >= f.settings["k"]
        ),
        lambda f: (
            f"Proven: in all releases of this sequence, every series equals those of at least "
            f"{words.number(f.settings['k'] - 1)} other subjects, and is absent where they are. So nothing in them "
            "shows which of these series belongs to a given person. `shoal verify` on the folder of all releases "
            "checks it."
        ),
        "singling out",
        lambda f: _one_in(f, "k"),
        lambda f: _one_in(f, "k"),
        _guess_subject,
    ),
    Bound(
        "profiles",
        lambda f: _holds(f, "k-anonymity", "k") and f.by_group and _crowd(f) >= f.settings["k"],
        lambda f: (
            f"Proven: no published row belongs to one subject. Each represents at least {words.number(_crowd(f))} "
            "subjects, and nothing published distinguishes them."
        ),
        "singling out",
        lambda f: 1.0 / _crowd(f),
        lambda f: _one_in(f, "k"),
        _guess_subject,
    ),
    Bound(
        "ranges",
        lambda f: _holds(f, "kp-anonymity", "p") and f.settings["p"] > 1 and f.form == "envelopes" and _hides_rows(f),
        lambda f: (
            f"Proven: every published range with its pattern is shared by at least {words.number(f.settings['p'])} "
            "subjects, and nothing published distinguishes them."
        ),
        "singling out",
        lambda f: _one_in(f, "p"),
        lambda f: _one_in(f, "p"),
        _guess_subject,
    ),
    Bound(
        # Coarser values count as others, but someone who knows the tree counts them towards those below.
        "sensitive values",
        lambda f: _holds(f, "l-diversity", "l") and not _has_coarser_values(f),
        lambda f: (
            "Proven: someone who finds the published group of a record, and cannot rule out values otherwise, is right "
            f"about its sensitive value at most 1 time in {words.number(f.settings['l'])}."
        ),
        "inference",
        lambda f: _one_in(f, "l"),
        lambda f: _one_in(f, "l"),
    ),
    Bound(
        "noise",
        lambda f: (
            f.name == "differential-privacy"
            and mapping(f.guarantee.get("verdict")).get("holds") is True
            and is_finite(f.settings.get("epsilon"))
            and f.settings["epsilon"] > 0
        ),
        lambda f: (
            "Proven by how the noise was drawn: of two equally likely versions of "
            + ("any one reading" if f.settings.get("unit") == "reading" else "one subject's readings")
            + f", nobody picks the true one more often than {words.percent(_odds(f))} of the time, whatever they know."
        ),
        "inference",
        _odds,
        lambda f: None,
        lambda f: 0.5,
    ),
    Bound(
        "noise at the meter",
        lambda f: (
            f.name == "local-differential-privacy"
            and mapping(f.guarantee.get("verdict")).get("holds") is True
            and is_finite(f.settings.get("epsilon"))
            and f.settings["epsilon"] > 0
        ),
        lambda f: (
            "Proven by what ran on the meters: of two equally likely versions of a window of one meter's readings, "
            f"nobody picks the true one more often than {words.percent(_odds(f))} of the time, whatever they know."
        ),
        "inference",
        _odds,
        lambda f: None,
        lambda f: 0.5,
    ),
)

# Why there is no figure.
NO_FIGURE = (
    Said(
        "noise",
        lambda f: f.promises("differential-privacy") and not f.from_meters,
        lambda f: (
            "What attacks achieve is an exact figure about the originals, and publishing it would undo the noise."
        ),
    ),
    Said(
        "meters",
        lambda f: f.from_meters,
        lambda f: "There is nothing to attack and compare with: the publisher has no readings.",
    ),
    Said(
        "left out",
        lambda f: _left_out(f) and not f.has_noise,
        lambda f: (
            "This release carries no risk figures, because they would reveal something about the originals. If attacks "
            "were run, the publisher sees what they achieved with `shoal report --for publisher --private DIR`; if "
            "not, the publisher can run `shoal attack`."
        ),
    ),
    Said(
        "events",
        lambda f: not _left_out(f) and f.form == "events",
        lambda f: "Shoal has no such attack on events.",
    ),
    Said(
        "not asked",
        lambda f: not _left_out(f) and not f.has_noise and f.form != "events",
        lambda f: (
            "No such attack was run. State in a policy what an adversary knows (`adversary:`) and use `shoal run`; "
            "for a finished release, the publisher can run `shoal attack`."
        ),
    ),
)

# The adversary behind a figure whose attack has a sentence about another one.
INFERRED = (
    Said(
        "readings",
        lambda f: any(is_finite(mapping(r).get("inferred")) for r in mapping(f.certificate.get("risk")).values()),
        lambda f: (
            "Someone with the knowledge named under singling out infers this share of a target's other readings, on "
            "average. Guessing means taking the median of the readings they know."
        ),
    ),
)


LIMITS = {"proven": "promised: at most", "measured": "publisher's limit", "inferred": "publisher's limit"}
"""Who set the limit."""

NOT_HELD = "The limit is for finding a series; this figure has no limit of its own."
"""Shown next to a figure above a limit that was not meant for it."""


def _left_out(facts: Facts) -> bool:
    """Return whether risk figures were left out; if only some utility figures were, risk figures would be present."""
    told = str(facts.figures.get("left_out") or "")
    return bool(told) and not told.startswith(SOME_FIGURES) and not mapping(facts.certificate.get("risk"))


def lights(facts: Facts) -> list[dict[str, Any]]:
    """Return the three questions, each with its answer in words and figures."""
    return [_light(question, facts) for question in QUESTIONS]


def _light(question: str, facts: Facts) -> dict[str, Any]:
    proven = _proven(question, facts)
    # By proof no link to a series succeeds more often, whatever chance added to a figure.
    crowd = None if question == "inference" or facts.has_several_series else _proven("singling out", facts)
    cap = None if crowd is None else crowd["share"]
    found = [_measured(entry, facts, cap) for entry in _entries(question, facts)]
    if found:
        found.sort(key=lambda one: (one["upper"], one["share"]), reverse=True)
        light = found[0] | {"others": "; ".join(f"{one['name']}, {_percent(one['share'])}" for one in found[1:])}
    elif proven is not None:
        light = proven | {"others": ""}
    else:
        lines = said(NO_FIGURE, facts)
        why = "Not stated" if _left_out(facts) else "Not measured"
        none = {"state": "open", "figure": "", "others": "", "none": why}
        return {"name": words.title(question), "sentence": " ".join(lines), **none}
    limit = light["limit"]
    state = "open" if limit is None else "within" if light["upper"] <= limit else "above"
    if state == "above" and light["kind"] == "inferred":
        light["sentence"] += f" {NOT_HELD}"
    return light | {
        "name": words.title(question),
        "state": state,
        "figure": f"at most {_at_most(light['share'])}" if light["kind"] == "proven" else _percent(light["share"]),
        "interval_text": _between(light["interval"]),
        "guess_text": _guessing(light),
        "limit_text": "no limit was stated" if limit is None else _limit_text(light["kind"], limit),
        "scale": _scale(light),
    }


def _guessing(light: Mapping[str, Any]) -> str:
    """Return what guessing achieves, and say so if the attack does no better."""
    if light["guess"] is None:
        return ""
    guess = _percent(light["guess"])
    return f"no better than guessing, {guess}" if light["share"] <= light["guess"] else f"guessing {guess}"


def _proven(question: str, facts: Facts) -> dict[str, Any] | None:
    """Return the strongest statement that the guarantees prove about a question."""
    bounds = [
        (bound.share(about), bound, about)
        for guarantee in facts.guarantees
        for about in [facts.about(guarantee)]
        for bound in PROVEN
        if bound.answers == question and bound.when(about)
    ]
    if not bounds:
        return None
    share, bound, about = min(bounds, key=lambda found: found[0])
    return {
        "kind": "proven",
        "share": share,
        "upper": share,
        "interval": None,
        "limit": bound.limit(about),
        "guess": bound.guess(about),
        "control": "",
        "sentence": bound.says(about),
    }


@dataclass(frozen=True)
class _Entry:
    """A risk of the certificate, and its figure that answers a question."""

    risk: Mapping[str, Any]
    figure: str
    attack: type[Attack[Any]]
    """Its class."""


def questions_of(name: Any) -> list[str]:
    """Return which of the three questions an attack answers, by its name in a certificate."""
    attack = attack_named(name)
    return [] if attack is None else list(attack.answers)


def _entries(question: str, facts: Facts) -> list[_Entry]:
    found = []
    for name, risk in list(mapping(facts.certificate.get("risk")).items())[:MOST_ROWS]:
        attack = attack_named(name)
        figure = None if attack is None else attack.answers.get(question)
        share = mapping(risk).get(figure) if figure else None
        if attack is not None and figure and is_finite(share) and 0 <= share <= 1:
            found.append(_Entry(mapping(risk), figure, attack))
    return found


def _measured(entry: _Entry, facts: Facts, cap: float | None) -> dict[str, Any]:
    risk, own = entry.risk, entry.figure == "success"
    share = float(risk[entry.figure])
    interval = _interval(risk.get("interval")) if own else None
    n, people = risk.get("n_targets"), facts.counts.get("subjects")
    if interval is None and is_finite(n) and n >= 1:
        # What is inferred about the series of one subject is alike.
        interval = Interval.wilson(share, int(min(n, people) if is_finite(people) and people >= 1 else n))
    upper = share if interval is None else interval.high
    limit, scenario = limit_of(facts)
    if own and scenario == "prosecutor" and is_finite(risk.get("prosecutor")):
        upper = max(upper, float(risk["prosecutor"]))
    if cap is not None and entry.attack.against == "values":
        upper = min(upper, max(cap, share))
    return {
        "name": f"knowing {entry.attack.called}" if entry.attack.called else entry.attack.name.replace("-", " "),
        "kind": "measured" if own else "inferred",
        "share": share,
        "upper": upper,
        "interval": interval,
        "limit": limit,
        "guess": _share(risk.get("baseline" if own else f"{entry.figure}_baseline")),
        "control": _control(entry) if own else "",
        "sentence": _achieved(risk) if own else " ".join(said(INFERRED, facts)),
    }


def _achieved(risk: Mapping[str, Any]) -> str:
    """Say who achieves the figure above; the intervals and the guessing baseline are already shown there."""
    who, chance, _ = str(risk.get("sentence", "")).partition(" with a chance of ")
    n, surest = risk.get("n_targets"), risk.get("prosecutor")
    if not chance or not is_finite(n):
        return words.clipped(risk.get("sentence", ""), 320)
    more = f"; where they look surest, in {_percent(surest)}" if is_finite(surest) and 0 <= surest <= 1 else ""
    tried = words.plural(int(n), "attempt")
    # Earlier certificates say "Somebody who holds" or "Someone who holds".
    who = who.replace("Somebody who", "Someone who", 1).replace("Someone who holds", "Someone who knows", 1)
    return f"{words.clipped(who, 320)} in this share of {tried}{more}."


def _between(interval: Interval | None) -> str:
    """A computed share has no interval."""
    if interval is None or interval.low == interval.high:
        return ""
    return f"{_percent(interval.low)} to {_percent(interval.high)}"


def _control(entry: _Entry) -> str:
    # Late, because attacks load kernels.
    from shoal.attacks.sentences import OTHERS_FIT

    share, about = _share(entry.risk.get("control")), entry.attack.control
    if share is None or not about:
        return ""
    return f"{_percent(share)} {about}{', so a match says little' if about == OTHERS_FIT and share >= 0.5 else ''}"


def _percent(share: float) -> str:
    """Two digits are enough for a sheet; the details have those of the certificate."""
    return words.percent(float(f"{share:.2g}"))


def _at_most(share: float) -> str:
    """Two digits, rounded up: 1 in 8 is not at most 12 %."""
    return words.percent(float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(repr(float(share)))))


def _limit_text(kind: str, limit: float) -> str:
    """The limit, and who set it."""
    return f"{LIMITS[kind]} {_at_most(limit) if kind == 'proven' else _percent(limit)}"


def limit_of(facts: Facts) -> tuple[float | None, str]:
    """Return the limit that attacks were compared with, and its scenario."""
    process = mapping(facts.figures.get("process"))
    limit = mapping(process.get("limits")).get("risk")
    if not is_finite(limit):
        unjudged = [g for g in facts.guarantees if facts.about(g).name == "none"]
        limit = mapping(unjudged[0].get("verdict")).get("required") if unjudged else None
    scenario = str(process.get("scenario", ""))
    # What may always succeed has no limit.
    return (float(limit) if is_finite(limit) and 0 <= limit < 1 else None), scenario


def _interval(found: Any) -> Interval | None:
    low, high = (mapping(found).get(end) for end in ("low", "high"))
    if not (is_finite(low) and is_finite(high)) or not 0 <= low <= high <= 1:
        return None
    return Interval(float(low), float(high))


def _share(found: Any) -> float | None:
    return float(found) if is_finite(found) and 0 <= found <= 1 else None


def _scale(light: Mapping[str, Any]) -> dict[str, Any]:
    """Place figure, interval, limit and guessing on a line as long as the largest of them."""
    interval = light["interval"]
    shares = [light["share"], light["limit"], light["guess"], None if interval is None else interval.high]
    end = max([0.01, *(1.15 * s for s in shares if s is not None)])
    at = {
        name: None if s is None else round(100 * min(s / end, 1.0), 1)
        for name, s in zip(("share", "limit", "guess"), (light["share"], light["limit"], light["guess"]), strict=True)
    }
    if interval is not None:
        at["low"], at["high"] = (round(100 * min(s / end, 1.0), 1) for s in (interval.low, interval.high))
    return at
