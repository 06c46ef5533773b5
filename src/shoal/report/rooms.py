"""Methods, attacks and measures, looked up by their name in a certificate."""

from __future__ import annotations

from functools import cache
from typing import Any


def attack_named(name: Any) -> Any | None:
    """Return the class of an attack, or None if there is none of this name."""
    return _named("attacks").get(str(name).partition(":")[0])


def measure_named(name: Any) -> Any | None:
    """Return the class of a measure, whatever its parameters, or None if there is none of this name."""
    return _named("utility").get(str(name).partition(":")[0])


def method_named(name: Any) -> Any | None:
    """Return the class of a method, or None if there is none of this name."""
    return _named("methods").get(str(name))


@cache
def _named(room: str) -> dict[str, Any]:
    # Late, because they load kernels.
    from shoal import attacks, methods, utility

    found = {"attacks": attacks, "methods": methods, "utility": utility}[room]
    return {cls.name: cls for cls in (getattr(found, name) for name in found.__all__) if hasattr(cls, "name")}
