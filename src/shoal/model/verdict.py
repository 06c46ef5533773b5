"""What a check found."""

from dataclasses import dataclass
from typing import Any

# Positions only, counted from 0: a row, or a mapping such as {"series": 4, "instants": [7]}.
Witness = int | dict[str, Any] | None


@dataclass(frozen=True)
class Verdict:
    """Whether a guarantee holds on published data, how nearly, and where it fails first.

    Parameters
    ----------
    holds
        The answer. A verdict is true in an `if` exactly when it holds.
    measured
        What the data reaches in the guarantee's own unit; None where nothing could be measured.
    required
        What the guarantee asks for.
    witness
        The position of the weakest spot, never a value or an identity.
    note
        Why the answer is what it is, where the figures do not say it.
    """

    holds: bool
    measured: float | int | None
    required: float | int
    witness: Witness = None
    note: str = ""

    def __bool__(self) -> bool:
        return self.holds
