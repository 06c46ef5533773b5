"""Promises that published values cannot show: what the gate requires instead, and what a recipient learns.

`NoGuarantee` promises nothing, and the gate asks for measured risks below a limit. `DifferentialPrivacy` is true by the
mechanism that drew the noise, `LocalDifferentialPrivacy` by what ran on the meters, and the gate asks for the
accounting. From the folder, a recipient can then check only that the certificate's own figures agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.edge.published import why_not_collected
from shoal.errors import ParameterError
from shoal.guarantees import DifferentialPrivacy, LocalDifferentialPrivacy, NoGuarantee
from shoal.guarantees.no_guarantee import check_limit
from shoal.methods.noisy_aggregates import why_not_drawn
from shoal.model import Guarantee, Risk, Verdict
from shoal.release.certificate import FILE_NAME, Certificate, GuaranteePart


def judge(
    guarantee: Guarantee, check: Callable[[Guarantee], Verdict], risks: Mapping[str, Risk], limit: float | None
) -> Verdict:
    """The verdict on a guarantee: by its check, or by the risks if there is none."""
    if not isinstance(guarantee, NoGuarantee):
        return check(guarantee)
    verdict = guarantee.judge(risks, limit)
    if verdict.measured is None:
        return verdict
    # What is certified is rounded; neither figure may be above the limit.
    measured = rough(float(verdict.measured))
    return Verdict.of(verdict.holds and measured <= verdict.required, measured, verdict.required, note=verdict.note)


def refuse_unjudged(guarantees: Sequence[Guarantee], risks: Mapping[str, Risk], limit: float | None) -> str | None:
    """Why a candidate that promises nothing is refused, with the way out; None if it may leave."""
    promise_nothing = [guarantee for guarantee in guarantees if isinstance(guarantee, NoGuarantee)]
    if not promise_nothing:
        return None
    lead = f"The method aims at no guarantee ({promise_nothing[0].statement.rstrip('.')})"
    if not risks:
        return (
            f"{lead}, and no risk was measured. Attack it and give the risks with a limit (shoal run does both), or "
            "use a method with a guarantee, such as microaggregation. Nothing was written."
        )
    if limit is None:
        return (
            f"{lead}: {len(risks)} risk(s) were measured, but no limit was given. Give risk_limit, in a policy "
            "require: {risk: {at_most: 0.09}}. Nothing was written."
        )
    check_limit(limit)
    above = {name: risk.interval.high for name, risk in risks.items() if risk.interval.high > limit}
    if not above:
        return None
    worst = max(above, key=lambda name: above[name])
    others = f" {len(above) - 1} other attack(s) are above it too." if len(above) > 1 else ""
    return (
        f"{lead}, and the attack {worst!r} may succeed for up to {above[worst]:.3g} of the targets (upper end of its "
        f"interval), more than the limit of {limit:.3g}.{others} Change the readings more, add a step with a guarantee "
        "such as microaggregation, or allow that risk. Nothing was written."
    )


def tells_exact_figures(guarantees: Sequence[Guarantee]) -> bool:
    """Whether exact figures about the originals may appear in the certificate: not next to noise that hides them."""
    return not any(guarantee.by_mechanism for guarantee in guarantees)


def refuse_beside_noise(guarantees: Sequence[Any]) -> None:
    """Differential privacy must be the only promise: a check that decides whether noisy figures leave would undo the
    noise."""
    if tells_exact_figures(guarantees):
        return
    others = [guarantee.name for guarantee in guarantees if not guarantee.by_mechanism]
    if others or len(guarantees) > 1:
        raise ParameterError(
            f"{', '.join(others) or DifferentialPrivacy.name} cannot be required together with differential privacy: "
            "publishing only what passes a check on exact figures would reveal these figures, and no budget was spent "
            "on it. Omit the additional guarantee."
        )


def is_by_mechanism(guarantees: Sequence[Guarantee]) -> bool:
    """Whether a mechanism makes the only promise, so that there is no crowd to count."""
    return all(guarantee.by_mechanism for guarantee in guarantees)


def word_of(part: GuaranteePart, guarantee: Guarantee, name: str) -> str:
    """What a recipient learns about a promise that cannot be checked from the folder."""
    verdict = part.verdict
    if isinstance(guarantee, NoGuarantee):
        return (
            f"{guarantee.statement} There is nothing to check here: the publisher's attacks succeeded for up to "
            f"{verdict.measured} of the targets, with a limit of {verdict.required}; others may achieve more"
        )
    if isinstance(guarantee, DifferentialPrivacy):
        return (
            f"{name}: true by the mechanism the publisher ran, which values cannot show; its accounting spends "
            f"{guarantee.total:g} of {guarantee.epsilon:g}"
        )
    if isinstance(guarantee, LocalDifferentialPrivacy):
        return (
            f"{name}: true by what ran on the meters, which values cannot show; of the reports used, no meter "
            f"spent more than {guarantee.total:g} of {guarantee.epsilon:g} in any {guarantee.w} successive instants"
        )
    return f"{name}: checked by the publisher, who has the originals; it cannot be checked from here"


def stands_without_check(guarantee: Guarantee) -> bool:
    """Whether a release may rest on this alone, although nobody can check it from the folder."""
    return isinstance(guarantee, NoGuarantee) or guarantee.by_mechanism


def contradictions(part: GuaranteePart, guarantee: Guarantee, certificate: Certificate, published: Any) -> list[str]:
    """Reasons why the certificate's own figures, or the published form, do not support such a promise."""
    verdict = part.verdict
    if isinstance(guarantee, NoGuarantee):
        highest = [_upper_end(entry) for entry in certificate.risk.values()]
        known = [high for high in highest if high is not None]
        if len(known) < len(highest) or not known or verdict.measured != max(known):
            return [f"{FILE_NAME} says that attacks were run, but has no risk figures to match"]
        if not 0 < verdict.required <= 1 or max(known) > verdict.required:
            return [f"{FILE_NAME} has a risk figure above its own limit"]
    if isinstance(guarantee, DifferentialPrivacy | LocalDifferentialPrivacy):
        found = guarantee.audit()
        if not found.holds or found.measured != verdict.measured:
            return [f"{FILE_NAME}: the accounting of {part.name} does not add up ({found.note})"]
        if why_not := _why_not(published, guarantee, certificate.method.name):
            return [f"the data is not what the mechanism of {part.name} gives: {why_not}"]
    return []


def _why_not(published: Any, guarantee: DifferentialPrivacy | LocalDifferentialPrivacy, method: str) -> str | None:
    """Why the named mechanism cannot have produced what is published; None if it can."""
    if isinstance(guarantee, LocalDifferentialPrivacy) or method == "secure-sums":
        return why_not_collected(published, guarantee)
    return why_not_drawn(published, guarantee)


def _upper_end(entry: object) -> float | None:
    interval = entry.get("interval") if isinstance(entry, Mapping) else None
    high = interval.get("high") if isinstance(interval, Mapping) else None
    return float(high) if isinstance(high, int | float) and not isinstance(high, bool) else None


def rough(value: float) -> float:
    """Three digits: a release of a few cells could be undone with the exact figure."""
    return float(f"{value:.3g}")
