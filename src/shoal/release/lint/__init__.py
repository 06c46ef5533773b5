"""The side-channel lint: what a release would reveal beyond what it is meant to. One file per rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.release.lint import file_metadata, gaps, group_sizes, identifiers, phase, precision, row_order
from shoal.release.lint.written import Crowd, Finding, Written

__all__ = ["RULES", "Crowd", "Finding", "Written", "check_accepted", "lint", "settle"]

RULES: Mapping[str, Callable[[Written], Finding | None]] = {
    identifiers.NAME: identifiers.surviving_identifiers,
    row_order.NAME: row_order.row_order,
    file_metadata.NAME: file_metadata.file_metadata,
    precision.NAME: precision.decimal_precision,
    phase.NAME: phase.timestamp_phase,
    gaps.NAME: gaps.gap_patterns,
    group_sizes.NAME: group_sizes.group_sizes,
}


def lint(written: Written) -> tuple[Finding, ...]:
    """What a release reveals beyond what it is meant to, in the order of the rules."""
    return tuple(finding for rule in RULES.values() if (finding := rule(written)) is not None)


def check_accepted(accept: Sequence[str]) -> None:
    """Refuse unknown names of findings: a misspelt one would accept nothing."""
    if unknown := sorted(set(accept) - set(RULES)):
        raise ParameterError(f"There is no finding {unknown[0]!r} to accept. Findings are: {', '.join(RULES)}.")


def settle(findings: Sequence[Finding], accept: Sequence[str]) -> tuple[str, ...]:
    """Refuse a release with findings, unless all are accepted; returns their names, for the record."""
    open_ones = [finding for finding in findings if finding.name not in accept]
    if open_ones:
        others = f" ({len(open_ones) - 1} more: {', '.join(f.name for f in open_ones[1:])})" if open_ones[1:] else ""
        raise GuaranteeNotMetError(
            f"The lint found {open_ones[0]} Or accept it by name: --accept {open_ones[0].name}.{others} "
            "Nothing was written."
        )
    return tuple(finding.name for finding in findings)
