"""Attacks and measures by the name that a certificate gives them."""

from __future__ import annotations

from functools import cache
from typing import Any


def attack_named(name: Any) -> Any | None:
    """The class of an attack; None where there is none of this name."""
    return _named("attacks").get(str(name).partition(":")[0])


def measure_named(name: Any) -> Any | None:
    """The class of a measure, whatever its parameters; None where there is none of this name."""
    return _named("utility").get(str(name).partition(":")[0])


@cache
def _named(room: str) -> dict[str, Any]:
    # Late, because both load kernels.
    from shoal import attacks, utility

    found = {"attacks": attacks, "utility": utility}[room]
    return {cls.name: cls for cls in (getattr(found, name) for name in found.__all__) if hasattr(cls, "name")}
