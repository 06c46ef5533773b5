"""Publish time series without giving away the people behind them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import attacks, edge, engines, errors, features, guarantees, methods, queries, simulate, streams, utility
    from shoal.errors import ShoalError
    from shoal.guarantees import (
        AggregateRule,
        DifferentialPrivacy,
        KAnonymity,
        KPAnonymity,
        LDiversity,
        LocalDifferentialPrivacy,
        MInvariance,
        NLKAnonymity,
        NoGuarantee,
        SequenceAnonymity,
        SequenceNLKAnonymity,
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
    from shoal.model import (
        Candidate,
        Events,
        Panel,
        Profiles,
        Release,
        Risk,
        Role,
        Roles,
        Scenarios,
        Score,
        Shards,
        Verdict,
    )
    from shoal.process import Frontier, Result, anonymize, load_policy, publish, run_policy
    from shoal.process.judgement import judge
    from shoal.process.look import look
    from shoal.process.search.data import search
    from shoal.read import read_events, read_panel
    from shoal.release import load_release, verify

    __version__: str

# Each name is loaded when it is first used, so that `import shoal` and `shoal --help` cost nothing.
_HOMES = {
    "AggregateRule": "shoal.guarantees",
    "NoGuarantee": "shoal.guarantees",
    "Candidate": "shoal.model",
    "DifferentialPrivacy": "shoal.guarantees",
    "Events": "shoal.model",
    "Frontier": "shoal.process",
    "KAnonymity": "shoal.guarantees",
    "KP": "shoal.methods",
    "KPAnonymity": "shoal.guarantees",
    "LDiversity": "shoal.guarantees",
    "MInvariance": "shoal.guarantees",
    "LabelTask": "shoal.labels",
    "LocalDifferentialPrivacy": "shoal.guarantees",
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
    "Result": "shoal.process",
    "Risk": "shoal.model",
    "Role": "shoal.model",
    "Roles": "shoal.model",
    "SamplingWithFictives": "shoal.methods",
    "ScopeAggregation": "shoal.methods",
    "Scenarios": "shoal.model",
    "Score": "shoal.model",
    "SequenceAnonymity": "shoal.guarantees",
    "SequenceNLKAnonymity": "shoal.guarantees",
    "Shards": "shoal.model",
    "ShoalError": "shoal.errors",
    "Steps": "shoal.methods",
    "TimeAggregation": "shoal.methods",
    "TimeSlicing": "shoal.methods",
    "Transformation": "shoal.methods",
    "Verdict": "shoal.model",
    "anonymize": "shoal.process",
    "judge": "shoal.process.judgement",
    "load_policy": "shoal.process",
    "load_release": "shoal.release",
    "look": "shoal.process.look",
    "publish": "shoal.process",
    "read_events": "shoal.read",
    "read_panel": "shoal.read",
    "run_policy": "shoal.process",
    "search": "shoal.process.search.data",
    "verify": "shoal.release",
}
_ROOMS = (
    "attacks",
    "edge",
    "engines",
    "errors",
    "features",
    "guarantees",
    "methods",
    "queries",
    "simulate",
    "streams",
    "utility",
)

__all__ = [
    "KP",
    "NLK",
    "AggregateRule",
    "Candidate",
    "DifferentialPrivacy",
    "Events",
    "Frontier",
    "KAnonymity",
    "KPAnonymity",
    "LDiversity",
    "LabelTask",
    "LocalDifferentialPrivacy",
    "MInvariance",
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
    "Result",
    "Risk",
    "Role",
    "Roles",
    "SamplingWithFictives",
    "Scenarios",
    "ScopeAggregation",
    "Score",
    "SequenceAnonymity",
    "SequenceNLKAnonymity",
    "Shards",
    "ShoalError",
    "Steps",
    "TimeAggregation",
    "TimeSlicing",
    "Transformation",
    "Verdict",
    "__version__",
    "anonymize",
    "attacks",
    "edge",
    "engines",
    "errors",
    "features",
    "guarantees",
    "judge",
    "load_policy",
    "load_release",
    "look",
    "methods",
    "publish",
    "queries",
    "read_events",
    "read_panel",
    "run_policy",
    "search",
    "simulate",
    "streams",
    "utility",
    "verify",
]


if not TYPE_CHECKING:  # else every name would pass for one of ours

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        elif name in _ROOMS:
            value = import_module(f"shoal.{name}")
        elif name == "__version__":
            value = import_module("importlib.metadata").version("shoal")
        else:
            raise AttributeError(f"module 'shoal' has no attribute {name!r}", name=name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
