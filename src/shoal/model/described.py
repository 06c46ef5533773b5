"""What methods, guarantees, attacks and measures have in common: a name, and parameters that are their fields."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from shoal.errors import ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class Described:
    """Base of frozen dataclasses that are requested by name.

    Examples
    --------
    >>> from shoal import KAnonymity
    >>> KAnonymity(3).parameters
    {'k': 3, 'per': 'subject'}
    >>> KAnonymity(3).set_params(k=5)
    KAnonymity(k=5, per='subject')
    """

    name: ClassVar[str]
    """Its word on the command line, in a policy and in a certificate."""

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to build the same again, in plain types."""
        return {field.name: _plain(getattr(self, field.name), str(field.type)) for field in fields(self)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The fields by name, as scikit-learn tools expect."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **parameters: Any) -> Self:
        """A copy with these fields changed: this one is frozen."""
        known = self.get_params()
        if unknown := sorted(set(parameters) - set(known)):
            takes = ", ".join(known) or "none"
            raise ParameterError(f"{self.name} has no parameter {unknown[0]!r}. It takes: {takes}.")
        return replace(self, **parameters)

    def __sklearn_clone__(self) -> Self:
        """For `sklearn.base.clone`: a copy with the same fields."""
        return replace(self)


def _plain(value: Any, kind: str) -> Any:
    """numpy numbers as Python numbers, whole ones as floats if the field is a float; everything else unchanged."""
    plain = value.item() if isinstance(value, np.generic) else value
    whole = isinstance(plain, int) and not isinstance(plain, bool)
    return float(plain) if whole and kind in ("float", "float | None") else plain
