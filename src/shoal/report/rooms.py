"""Methods, attacks and measures by the name that a certificate gives them."""

from __future__ import annotations

from functools import cache
from typing import Any


def attack_named(name: Any) -> Any | None:
    """The class of an attack; None where there is none of this name."""
    return _named("attacks").get(str(name).partition(":")[0])


def measure_named(name: Any) -> Any | None:
    """The class of a measure, whatever its parameters; None where there is none of this name."""
    return _named("utility").get(str(name).partition(":")[0])


def method_named(name: Any) -> Any | None:
    """The class of a method; None where there is none of this name."""
    return _named("methods").get(str(name))


@cache
def _named(room: str) -> dict[str, Any]:
    # Late, because they load kernels.
    from shoal import attacks, methods, utility

    found = {"attacks": attacks, "methods": methods, "utility": utility}[room]
    return {cls.name: cls for cls in (getattr(found, name) for name in found.__all__) if hasattr(cls, "name")}
