"""No guarantee: what attacks achieved is all there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.errors import ParameterError
from shoal.model import Guarantee, Judged, Risk, Verdict
from shoal.model.parameters import is_number


@dataclass(frozen=True)
class NoGuarantee(Guarantee):
    """Nothing is promised: the release is judged by what attacks on it achieved.

    Methods such as noise, permutation or slicing make an attack harder, but no definition says by how much. They aim at
    this. Its check never holds, because published values cannot show it; `judge` holds when at least one attack was
    run, a limit was given, and the upper end of the confidence interval of no attack's success is above it. What was
    not tried is not covered: another attack, or the same with more knowledge, may achieve more.

    A disjoint union of subjects keeps nothing, as nothing is promised: risks below a limit in every shard do not bound
    the risk in all of them, so attacks are concluded once, over all subjects, and verdicts of shards never hold
    together.

    Examples
    --------
    >>> from shoal.model import Interval, Risk
    >>> found = Risk(0.04, Interval(0.02, 0.08), 0.01, Interval(0.0, 0.03), n_targets=200)
    >>> NoGuarantee().judge({"known-points": found}, 0.09).words
    'holds: measured 0.08, required 0.09'
    >>> NoGuarantee().judge({}, 0.09).words
    'not judged: no risk was measured'

    References
    ----------
    "Data-driven anonymization process applied to time series", section 3: a threshold of re-identification is chosen,
    and what remains is compared with it.
    """

    name: ClassVar[str] = "none"
    statement: ClassVar[str] = "none: judged by attack only."
    needs_originals: ClassVar[bool] = True  # attacks are scored against them

    def check(self, published: Judged) -> Verdict:
        """Never holds: values alone do not show what an attack would achieve."""
        return _unknown(0.0, "nothing is promised; attack it and give the risks with a limit")

    def merge(self, verdicts: Sequence[Verdict]) -> Verdict:
        """Never holds: what attacks achieve in the union is not known from its parts."""
        merged = super().merge(verdicts)
        return _unknown(float(merged.required), "risks are judged once, over all shards") if merged.holds else merged

    def judge(self, risks: Mapping[str, Risk], limit: float | None) -> Verdict:
        """Compare the upper end of each measured interval with the limit."""
        if limit is None:
            return _unknown(0.0, "no limit on the risk was given")
        check_limit(limit)
        if not risks:
            return _unknown(float(limit), "no risk was measured")
        worst = max(risks, key=lambda name: risks[name].interval.high)
        measured = float(risks[worst].interval.high)
        return Verdict.of(
            measured <= limit,
            measured=measured,
            required=float(limit),
            note=f"upper end of the interval of {worst!r}",
        )


def check_limit(limit: Any) -> None:
    """Refuse a limit that is not a share."""
    if not is_number(limit) or not 0.0 < limit <= 1.0:
        raise ParameterError("risk_limit is a share of the targets: give a number above 0 and at most 1.")


def _unknown(required: float, why: str) -> Verdict:
    return Verdict("not judged", measured=None, required=required, note=why)
