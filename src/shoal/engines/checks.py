"""Which guarantees are checked on an engine, and where that is written."""

from __future__ import annotations

from importlib import import_module

from shoal.engines.blocks import BlockCandidate, BlockPublished
from shoal.errors import ParameterError
from shoal.model import Guarantee, Verdict

_MODULES = {
    "k-anonymity": "guarantees.k_anonymity",
    "nlk-anonymity": "nlk.check",
    "kp-anonymity": "kp.check",
    "l-diversity": "guarantees.l_diversity",
    "aggregate-rule": "guarantees.aggregate_rule",
}


def check(guarantee: Guarantee, judged: BlockPublished | BlockCandidate) -> Verdict:
    """The same verdict as in memory, from the published bytes. Guarantees about originals need the candidate."""
    if guarantee.name not in _MODULES:
        able = ", ".join(sorted(_MODULES))
        raise ParameterError(
            f"{guarantee.name} is not checked on an engine. Those that are: {able}. In memory, without --engine, it is."
        )
    module = import_module(f"shoal.engines.{_MODULES[guarantee.name]}")
    if guarantee.needs_originals and not isinstance(judged, BlockCandidate):
        raise ParameterError(f"{guarantee.name} is about the originals: only the publisher can check it.")
    if not guarantee.needs_originals and isinstance(judged, BlockCandidate):
        judged = judged.published
    found: Verdict = module.check(guarantee, judged)
    return found
