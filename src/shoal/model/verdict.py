"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from shoal.model.html import html_table
from shoal.model.words import number

# Positions only, counted from 0: a row, or a mapping such as {"series": 4, "instants": [7]}.
Witness = int | dict[str, Any] | None
Outcome = Literal["holds", "does not hold", "not judged"]


@dataclass(frozen=True)
class Verdict:
    """Whether a guarantee holds on published data, how nearly, and where it fails first.

    Parameters
    ----------
    outcome
        "holds", "does not hold", or "not judged" if the input does not allow an answer; the note then says why.
    measured
        What the data reaches in the guarantee's own unit; None if nothing could be measured.
    required
        What the guarantee asks for.
    witness
        The position of the weakest spot, never a value or an identity.
    note
        The reason for the answer, if the figures do not show it.

    Examples
    --------
    >>> Verdict.of(3 >= 5, measured=3, required=5)
    Verdict(outcome='does not hold', measured=3, required=5, witness=None, note='')
    >>> Verdict("not judged", None, 5, note="the originals are needed").holds
    False
    """

    outcome: Outcome
    measured: float | int | None
    required: float | int
    witness: Witness = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.outcome not in get_args(Outcome):
            raise ValueError(f"outcome must be one of {', '.join(get_args(Outcome))}.")

    @staticmethod
    def of(
        holds: bool, measured: float | int | None, required: float | int, witness: Witness = None, note: str = ""
    ) -> Verdict:
        """The verdict of a check that found an answer."""
        return Verdict("holds" if holds else "does not hold", measured, required, witness, note)

    @property
    def holds(self) -> bool:
        """Whether it was judged and holds; only then is a verdict true in an `if`."""
        return self.outcome == "holds"

    @property
    def words(self) -> str:
        """The finding, to follow the name of the guarantee: `does not hold: measured 1, required 2`."""
        figures = f"measured {self.measured}, required {self.required}"
        return f"{self.outcome}: {self.note if self.outcome == 'not judged' else figures}"

    def __bool__(self) -> bool:
        return self.holds

    def _repr_html_(self) -> str:
        rows = [("outcome", self.outcome), ("measured", number(self.measured)), ("required", number(self.required))]
        return html_table("Verdict", rows + ([("note", self.note)] if self.note else []))
