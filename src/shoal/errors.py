"""What can go wrong, and whose fault it is.

Every message says what was asked, what was found and the way out. It may name columns, counts and positions, never a
value or an identifier of the data: messages end up in logs, and logs travel.
"""

__all__ = ["GuaranteeNotMetError", "InputError", "ParameterError", "ReleaseError", "ShoalError"]


class ShoalError(Exception):
    """Bad input of any kind. The command line prints the one line and exits with 2."""


class ParameterError(ShoalError):
    """A parameter is impossible, alone or for this data."""


class InputError(ShoalError):
    """The data cannot be read as a panel or as events."""


class ReleaseError(ShoalError):
    """A release folder cannot be written or read."""


class GuaranteeNotMetError(ShoalError):
    """A guarantee does not hold on what would be published. Nothing was written; the command line exits with 1."""


def __dir__() -> list[str]:
    return sorted(__all__)
