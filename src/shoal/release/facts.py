"""A certificate in the form that sentences query: anything absent, or of another type, is empty."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from shoal.release.certificate import GROUP_FORMS

MOST_CARDS = 12
SEQUENCES = ("sequence-anonymity", "sequence-nlk-anonymity")
"""Guarantees about all releases of a growing panel together."""
MOST_ROWS = 60


class Facts:
    """What a certificate says, and one of its guarantees if a sentence is about it.

    Parameters
    ----------
    certificate
        The content of `release.json`.
    guarantee
        One of its guarantees.
    shown
        The plots that have both an original and a published side.
    """

    def __init__(
        self,
        certificate: Mapping[str, Any],
        guarantee: Mapping[str, Any] | None = None,
        shown: frozenset[str] = frozenset(),
    ) -> None:
        self.certificate = certificate
        self.guarantee = guarantee or {}
        self.shown = shown
        self.counts, self.method, self.time, self.columns = (
            mapping(certificate.get(name)) for name in ("counts", "method", "time", "columns")
        )
        self.reading = mapping(mapping(certificate.get("input")).get("reading"))
        self.figures = mapping(certificate.get("figures"))

    def about(self, guarantee: Mapping[str, Any]) -> Facts:
        """The same, about one guarantee."""
        return Facts(self.certificate, guarantee, self.shown)

    @property
    def guarantees(self) -> list[Mapping[str, Any]]:
        """The guarantees that the page shows."""
        cards = listed(self.certificate.get("guarantees"))[:MOST_CARDS]
        return [guarantee for guarantee in cards if isinstance(guarantee, Mapping)]

    @property
    def name(self) -> str:
        """The guarantee in one spelling: `(n, l, k)-anonymity` is `nlk-anonymity`."""
        name = str(self.guarantee.get("name", ""))
        return {"15/15": "aggregate-rule"}.get(name, re.sub(r"[(), ]", "", name.lower()))

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameters of the guarantee."""
        return mapping(self.guarantee.get("parameters"))

    @property
    def form(self) -> str:
        """Values, profiles, scenarios, envelopes or events."""
        return str(self.certificate.get("form"))

    @property
    def by_group(self) -> bool:
        """Whether a row is a group's, which counts its subjects."""
        return self.form in GROUP_FORMS

    @property
    def pseudonyms(self) -> str:
        """Random, keyed or insecure."""
        return str(self.certificate.get("pseudonyms"))

    @property
    def is_copy(self) -> bool:
        """Whether it was made for one recipient."""
        return bool(mapping(self.certificate.get("agreement")))

    @property
    def has_several_series(self) -> bool:
        """Whether a subject has more than one row, so that a crowd of rows is not a crowd of subjects."""
        series, subjects = (self.counts.get(name) for name in ("series", "subjects"))
        return is_finite(series) and is_finite(subjects) and subjects < series

    @property
    def counts_subjects(self) -> bool:
        """Whether the guarantee asks for a crowd of subjects, not of rows."""
        return self.settings.get("per") != "series"

    @property
    def anyone(self) -> bool:
        """Whether the guarantee can be checked without the originals."""
        return self.guarantee.get("checked_by") == "anyone"

    @property
    def of_sequence(self) -> bool:
        """Whether the guarantee is about all releases of a growing panel together."""
        return self.name in SEQUENCES

    @property
    def of_growing_panel(self) -> bool:
        """Whether an operator on a growing panel made it, and so judged it together with all releases before."""
        return self.counted("release_of_sequence") > 0

    def promises(self, *names: str) -> bool:
        """Whether one of these guarantees is among those of the release."""
        return any(self.about(guarantee).name in names for guarantee in self.guarantees)

    @property
    def has_noise(self) -> bool:
        """Whether the promise rests on noise, the publisher's or the meters'."""
        return self.promises("differential-privacy", "local-differential-privacy")

    @property
    def from_meters(self) -> bool:
        """Whether it was collected from meters that sent no reading."""
        return self.method.get("name") in ("local-reports", "secure-sums")

    def counted(self, name: str) -> int:
        """A figure that the method counted; for several steps, their sum."""
        figures = mapping(self.method.get("figures"))
        parts = [figures, *(mapping(part) for part in listed(figures.get("steps")))]
        return sum(int(part[name]) for part in parts if is_finite(part.get(name)))


def mapping(found: Any) -> Mapping[str, Any]:
    """The mapping, or an empty one."""
    return found if isinstance(found, Mapping) else {}


def listed(found: Any) -> list[Any]:
    """The list, or an empty one."""
    return list(found) if isinstance(found, list | tuple) else []


def is_finite(value: Any) -> TypeGuard[int | float]:
    """Whether it is a number that can be shown."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
