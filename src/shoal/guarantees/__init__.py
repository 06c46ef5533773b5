"""Definitions with their checks. A check reads published data only and errs towards "does not hold".

To add one, write a frozen dataclass on `shoal.model.Guarantee` with `name`, `statement` and `check`, exported here. Its
docstring says why a disjoint union of subjects keeps it; if a larger figure is worse, `_weakness` says so.
"""

from collections.abc import Callable
from typing import Any

from shoal.errors import ParameterError
from shoal.guarantees.aggregate_rule import AggregateRule
from shoal.guarantees.differential_privacy import DifferentialPrivacy
from shoal.guarantees.k_anonymity import KAnonymity
from shoal.guarantees.kp_anonymity import KPAnonymity
from shoal.guarantees.l_diversity import LDiversity
from shoal.guarantees.local_differential_privacy import LocalDifferentialPrivacy
from shoal.guarantees.m_invariance import MInvariance
from shoal.guarantees.nlk_anonymity import NLKAnonymity
from shoal.guarantees.no_guarantee import NoGuarantee
from shoal.guarantees.sequence_anonymity import SequenceAnonymity
from shoal.guarantees.sequence_nlk_anonymity import SequenceNLKAnonymity
from shoal.model import Guarantee

__all__ = [
    "AggregateRule",
    "DifferentialPrivacy",
    "KAnonymity",
    "KPAnonymity",
    "LDiversity",
    "LocalDifferentialPrivacy",
    "MInvariance",
    "NLKAnonymity",
    "NoGuarantee",
    "SequenceAnonymity",
    "SequenceNLKAnonymity",
]


def build_guarantee(name: str, parameters: dict[str, Any]) -> Guarantee:
    """The guarantee a certificate or a command names."""
    known: dict[str, Callable[..., Guarantee]] = {globals()[cls].name: globals()[cls] for cls in __all__}
    if name not in known:
        raise ParameterError(f"Unknown guarantee {name!r}. Known: {', '.join(sorted(known))}.")
    try:
        return known[name](**parameters)
    except TypeError:
        raise ParameterError(f"Guarantee {name!r} does not take these parameters: {', '.join(parameters)}.") from None


def __dir__() -> list[str]:
    return sorted(__all__)
