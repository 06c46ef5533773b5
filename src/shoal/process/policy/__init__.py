"""The policy file: what the data are, who may want to know, what must hold, and what to try."""

from shoal.process.policy.parser import load_policy, parse_policy, policy_text
from shoal.process.policy.schema import (
    Adversary,
    Data,
    EnginePart,
    Limit,
    Policy,
    ReleasePart,
    Require,
    Search,
    policy_schema,
)

__all__ = [
    "Adversary",
    "Data",
    "EnginePart",
    "Limit",
    "Policy",
    "ReleasePart",
    "Require",
    "Search",
    "load_policy",
    "parse_policy",
    "policy_schema",
    "policy_text",
]
