"""From a policy to the fields of the step *Purpose*, and back.

Anything else in a policy, such as further parameters of a method, is kept as it is and shown as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from shoal import attacks, utility
from shoal.features.kept import KeptInterest
from shoal.process.catalogue import find_method, named_in, summary_of
from shoal.process.policy import Policy
from shoal.report.words import sentence_case
from shoal.studio.form_fields import Given, one
from shoal.studio.project import LEDGER

INTERESTS: Mapping[str, tuple[str, str]] = {
    "peaks": ("Peaks", "The height of each day's peak, and the time of the mean day's peak."),
    "total": ("Total", "The sum of all readings of a series."),
    "daily-totals": ("Daily totals", "The sum of each day."),
    "window": ("Part of the day", "The readings between two times of the day."),
    "arrival": ("Arrival", "On each day, the first instant above a reading."),
    "departure": ("Departure", "On each day, the instant after the last one above a reading."),
    "shape": ("Shape", "The readings minus their own mean."),
}
PRESETS: Mapping[str, Mapping[str, str]] = {
    "microaggregation": {"k": "4, 8, 12, 16, 20, 24, 28"},
    "kp": {"k": "6, 10, 20", "p": "3"},
    "nlk": {"n": "5", "l": "15", "k": "5, 10"},
    "scope-aggregation": {"size": "15"},
    "noise-addition": {"snr": "1, 4"},
    "permutation": {"length": "6h", "share": "0.5, 1"},
    "sampling-with-fictives": {"share": "0.5", "fictives": "0.2"},
}
"""Methods that can be ticked, with the parameters that matter."""
GROUPING = ("microaggregation",)
"""Methods that group by what must be kept, or by a learned metric."""
GIVEN = "given"


METHODS: Mapping[str, str] = {
    "microaggregation": "Means of groups (microaggregation)",
    "kp": "Ranges and shapes (kp)",
    "nlk": "New groups at each instant (nlk)",
    "scope-aggregation": "Means of scopes (aggregate rule)",
    "noise-addition": "Noise on every reading",
    "permutation": "Stretches exchanged",
    "sampling-with-fictives": "A sample, with fictive series added",
}


@dataclass(frozen=True)
class Preset:
    """A method that may be tried."""

    name: str
    label: str
    about: str
    is_on: bool
    parameters: dict[str, str]


def facts_of(policy: Policy) -> dict[str, Any]:
    """Everything the form shows."""
    kept, beyond = _kept(policy)
    alternatives = method_entries(policy)
    simple = {entry["name"]: entry for entry in alternatives if is_simple(entry)}
    return {
        "interests": [
            {
                "word": word,
                "label": label,
                "about": about,
                "is_on": word in kept,
                "weight": f"{kept[word].weight:g}" if word in kept else "1",
                "detail": kept[word].detail if word in kept else _DETAILS.get(word, ""),
            }
            for word, (label, about) in INTERESTS.items()
        ],
        "also_kept": ", ".join(beyond),
        "presets": [
            Preset(
                name,
                METHODS[name],
                summary_of(find_method(name)),
                name in simple,
                {key: _listed(simple.get(name, {}).get(key), usual) for key, usual in usuals.items()},
            )
            for name, usuals in PRESETS.items()
        ],
        "metric": str(simple.get(GROUPING[0], {}).get("features", "")),
        "others": [
            yaml.safe_dump(entry, sort_keys=False, default_flow_style=True, width=200).strip()
            for entry in alternatives
            if not is_simple(entry)
        ],
        "attacks": _attacks(policy),
        "limits": [
            {"measure": name, "at_most": _figure(limit.at_most), "at_least": _figure(limit.at_least)}
            for name, limit in policy.require.utility.items()
        ],
        "measures": [(cls.name, f"{cls.name}: {cls.meaning}") for cls in named_in(utility) if cls.judges != "events"],
        "risk": f"{100 * policy.require.risk.at_most:g}",
        "suppression": f"{100 * policy.require.suppression.at_most:g}",
    }


def policy_fields(
    given: Given, before: Mapping[str, Any], policy: Policy, wrong: dict[str, str], shown: str = ""
) -> dict[str, Any]:
    """The fields of a policy after a form was sent; fields that the form lacks stay as they are.

    A number that cannot be read keeps its earlier value, and `wrong` gets the message for its field. `shown` are files
    of groups that analysts were shown; groups of a release must lie within them.
    """
    fields = dict(before)
    for name in ("title", "publisher", "purpose", "date"):
        fields[name] = one(given, name) or None
    fields["keep"] = _keep(given, policy)
    fields["adversary"] = dict(before.get("adversary", {})) | {
        "knows": _knows(given, policy),
        "scenario": one(given, "scenario", "prosecutor"),
    }
    fields["require"] = dict(before.get("require", {})) | {
        "risk": {"at_most": _share(given, "risk", policy.require.risk.at_most, wrong)},
        "suppression": {"at_most": _share(given, "suppression", policy.require.suppression.at_most, wrong)},
        "utility": _limits(given, policy, wrong),
    }
    fields["method"] = _method(given, policy, shown)
    fields["release"] = _release(given, dict(before.get("release", {})))
    return {name: value for name, value in fields.items() if value not in (None, [])}


def method_entries(policy: Policy) -> list[dict[str, Any]]:
    """The alternatives of a policy's search, one if there is only one."""
    method = policy.method
    if isinstance(method, list):
        return [{"steps": method}]
    if set(method) == {"search"} and isinstance(method["search"], list):
        return [dict(entry) for entry in method["search"]]
    return [dict(method)]


def is_simple(entry: Mapping[str, Any]) -> bool:
    """Whether the fields of the form can hold a method and its parameters."""
    known = PRESETS.get(str(entry.get("name")), {})
    more = {"name"} | ({"features", "within"} if entry.get("name") in GROUPING else set())
    values = [value for key, value in entry.items() if key not in more]
    return bool(known) and set(entry) - more <= set(known) and all(_is_plain(value) for value in values)


_DETAILS = {"window": "17:00-20:00", "arrival": "0.5", "departure": "0.5"}


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return set(value) == {"search"} and isinstance(value["search"], list)
    return not isinstance(value, list)


def _listed(value: Any, usual: str) -> str:
    if value is None:
        return usual
    several = value["search"] if isinstance(value, Mapping) else [value]
    return ", ".join(str(entry) for entry in several)


def _kept(policy: Policy) -> tuple[dict[str, KeptInterest], list[str]]:
    """What must be kept, by word; and what the form has no field for, such as a second window."""
    given = policy.keep.split(",") if isinstance(policy.keep, str) else policy.keep
    found: dict[str, KeptInterest] = {}
    beyond = []
    for entry in given:
        one_kept = KeptInterest.parse(entry) if isinstance(entry, str) else KeptInterest.of_mapping(entry)
        if one_kept.word in INTERESTS and one_kept.word not in found:
            found[one_kept.word] = one_kept
        else:
            beyond.append(_written(one_kept.text, f"{one_kept.weight:g}"))
    return found, beyond


def _keep(given: Given, policy: Policy) -> list[str]:
    """The ticked interests, with detail and weight, and those the form has no field for."""
    entries = [
        _written(f"{word}:{_detail(given, word)}" if word in _DETAILS else word, one(given, f"weight:{word}", "1"))
        for word in given.get("keep", [])
        if word in INTERESTS
    ]
    return [*entries, *(_kept(policy)[1] if "also-kept" in given else [])]


def _written(text: str, weight: str) -> str:
    return text if weight in ("1", "1.0") else f"{text}={weight}"


def _detail(given: Given, word: str) -> str:
    if word != "window":
        return one(given, f"above:{word}", "0.5")
    return f"{one(given, 'window:from', '17:00')}-{one(given, 'window:to', '20:00')}"


def _attacks(policy: Policy) -> list[dict[str, Any]]:
    """What an adversary may know, each with the one parameter of its short form."""
    knows = policy.adversary.knows
    found = []
    for cls in named_in(attacks):
        if cls.unfit:
            continue
        word = cls.short[0] if cls.short else cls.name
        key = word if word in knows else cls.name
        value = knows.get(key)
        found.append(
            {
                "name": cls.name,
                "label": sentence_case(cls.called or cls.name.replace("-", " ")),
                "about": cls.meaning,
                "is_on": key in knows,
                "key": word,
                "word": word if word in _HELD else "",
                "value": str(value)
                if value is not None and not isinstance(value, Mapping | bool)
                else _HELD.get(word, ""),
                "kept": yaml.safe_dump(dict(value), default_flow_style=True).strip()
                if isinstance(value, Mapping)
                else "",
            }
        )
    return found


_HELD = {"points": "5", "totals": "day"}


def _knows(given: Given, policy: Policy) -> dict[str, Any]:
    found: dict[str, Any] = {}
    before = policy.adversary.knows
    for attack in _attacks(policy):
        name, word = attack["name"], attack["word"]
        key = attack["key"] if attack["key"] in before else name
        if name not in given.get("knows", []):
            continue
        if attack["kept"]:
            found[key] = before[key]
        elif word:
            text = one(given, f"held:{name}", _HELD[word])
            found[word] = int(text) if text.isdecimal() else text
        else:
            found[attack["key"]] = before.get(key, True)
    return found


def _limits(given: Given, policy: Policy, wrong: dict[str, str]) -> dict[str, Any]:
    """A limit for each selected measure; its other parameters in the policy stay."""
    found: dict[str, Any] = {}
    for row in range(20):
        measure = one(given, f"measure:{row}")
        bounds = {}
        for name in ("at_most", "at_least"):
            if text := one(given, f"{name}:{row}"):
                try:
                    bounds[name] = float(text.replace(",", "."))
                except ValueError:
                    wrong["utility"] = "Write limits as numbers, such as 0.3 for 30 %."
        if measure and bounds:
            before = policy.require.utility.get(measure)
            found[measure] = (before.parameters if before is not None else {}) | bounds
    return found


def _method(given: Given, policy: Policy, shown: str) -> dict[str, Any]:
    """The ticked methods; those the form has no fields for are kept if theirs is ticked."""
    others = [entry for entry in method_entries(policy) if not is_simple(entry)]
    entries: list[dict[str, Any]] = []
    for name in given.get("method", []):
        if name in PRESETS:
            parameters = {key: _values(one(given, f"{name}:{key}", usual)) for key, usual in PRESETS[name].items()}
            more = {"features": one(given, "metric"), "within": shown} if name in GROUPING else {}
            entries.append({"name": name, **parameters, **{key: text for key, text in more.items() if text}})
        elif name.startswith(GIVEN) and name[len(GIVEN) :].isdecimal() and int(name[len(GIVEN) :]) < len(others):
            entries.append(others[int(name[len(GIVEN) :])])
    if not entries:
        return {}
    return entries[0] if len(entries) == 1 else {"search": entries}


def _values(text: str) -> Any:
    """A value, or several to search."""
    values = [_plain(part.strip()) for part in text.split(",") if part.strip()]
    return values[0] if len(values) == 1 else {"search": values}


def _plain(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _release(given: Given, before: dict[str, Any]) -> dict[str, Any]:
    names = ("recipient", "expires", "contact")
    texts = {name: one(given, name) or None for name in names} | {"purpose": one(given, "recipient-purpose") or None}
    chosen = {
        "model": one(given, "model", "publish"),
        "format": one(given, "format", "parquet"),
        "shape": one(given, "shape", "long"),
        "review": "required" if "review" in given else "none",
        "ledger": LEDGER if "ledger" in given else None,
        "accept": one(given, "accept").replace(",", " ").split(),
    }
    return {name: value for name, value in (before | chosen | texts).items() if value not in (None, [])}


def _share(given: Given, name: str, usual: float, wrong: dict[str, str]) -> float:
    text = one(given, name)
    try:
        return round(float(text.replace(",", ".").removesuffix("%")) / 100, 10) if text else usual
    except ValueError:
        wrong[name] = "Write a percentage, such as 9."
        return usual


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
