"""Publish time series without giving away the people behind them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import attacks, engines, features, guarantees, methods, queries, simulate, streams, utility
    from shoal.guarantees import (
        AggregateRule,
        DifferentialPrivacy,
        KAnonymity,
        KPAnonymity,
        LDiversity,
        NLKAnonymity,
        NoGuarantee,
        SequenceAnonymity,
    )
    from shoal.labels import LabelTask
    from shoal.methods import (
        KP,
        NLK,
        Microaggregation,
        NoiseAddition,
        NoisyAggregates,
        Permutation,
        Reposition,
        SamplingWithFictives,
        ScopeAggregation,
        Steps,
        TimeAggregation,
        TimeSlicing,
        Transformation,
    )
    from shoal.model import Candidate, Events, Panel, Profiles, Release, Risk, Role, Roles, Score, Shards, Verdict
    from shoal.process import publish
    from shoal.process.look import look
    from shoal.read import read_events, read_panel
    from shoal.release import load_release, verify

# Each name is loaded when it is first used, so that `import shoal` and `shoal --help` cost nothing.
_HOMES = {
    "AggregateRule": "shoal.guarantees",
    "NoGuarantee": "shoal.guarantees",
    "Candidate": "shoal.model",
    "DifferentialPrivacy": "shoal.guarantees",
    "Events": "shoal.model",
    "KAnonymity": "shoal.guarantees",
    "KP": "shoal.methods",
    "KPAnonymity": "shoal.guarantees",
    "LDiversity": "shoal.guarantees",
    "LabelTask": "shoal.labels",
    "Microaggregation": "shoal.methods",
    "NLK": "shoal.methods",
    "NLKAnonymity": "shoal.guarantees",
    "NoiseAddition": "shoal.methods",
    "NoisyAggregates": "shoal.methods",
    "Panel": "shoal.model",
    "Permutation": "shoal.methods",
    "Profiles": "shoal.model",
    "Release": "shoal.model",
    "Reposition": "shoal.methods",
    "Risk": "shoal.model",
    "Role": "shoal.model",
    "Roles": "shoal.model",
    "SamplingWithFictives": "shoal.methods",
    "ScopeAggregation": "shoal.methods",
    "Score": "shoal.model",
    "SequenceAnonymity": "shoal.guarantees",
    "Shards": "shoal.model",
    "Steps": "shoal.methods",
    "TimeAggregation": "shoal.methods",
    "TimeSlicing": "shoal.methods",
    "Transformation": "shoal.methods",
    "Verdict": "shoal.model",
    "load_release": "shoal.release",
    "look": "shoal.process.look",
    "publish": "shoal.process",
    "read_events": "shoal.read",
    "read_panel": "shoal.read",
    "verify": "shoal.release",
}
_ROOMS = ("attacks", "engines", "features", "guarantees", "methods", "queries", "simulate", "streams", "utility")

__all__ = [
    "KP",
    "NLK",
    "AggregateRule",
    "Candidate",
    "DifferentialPrivacy",
    "Events",
    "KAnonymity",
    "KPAnonymity",
    "LDiversity",
    "LabelTask",
    "Microaggregation",
    "NLKAnonymity",
    "NoGuarantee",
    "NoiseAddition",
    "NoisyAggregates",
    "Panel",
    "Permutation",
    "Profiles",
    "Release",
    "Reposition",
    "Risk",
    "Role",
    "Roles",
    "SamplingWithFictives",
    "ScopeAggregation",
    "Score",
    "SequenceAnonymity",
    "Shards",
    "Steps",
    "TimeAggregation",
    "TimeSlicing",
    "Transformation",
    "Verdict",
    "attacks",
    "engines",
    "features",
    "guarantees",
    "load_release",
    "look",
    "methods",
    "publish",
    "queries",
    "read_events",
    "read_panel",
    "simulate",
    "streams",
    "utility",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = import_module(f"shoal.{name}")
    else:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
