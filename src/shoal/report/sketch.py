"""The mean curve of the originals and of the release as a small drawing that needs no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.report.words import number

WIDTH, HEIGHT = 340.0, 110.0


def sketch(channels: Sequence[Mapping[str, Any]], unit: str) -> dict[str, Any] | None:
    """Return lines, ticks and words of the first channel's mean curve, or None if nothing of the originals is drawn."""
    plot = channels[0]["plots"][0] if channels else {}
    data = plot.get("data")
    if not data or not plot.get("compared"):
        return None
    seen = [v for side in ("original", "published") for v in data[side] if v is not None]
    low, high = min(0.0, *seen), max(seen)
    if not high > low or len(data["original"]) < 2:
        return None
    lines = {side: _points(data[side], low, high) for side in ("original", "published")}
    heights = [(share, number(_two(low + share * (high - low)))) for share in (0, 0.5, 1)]
    ticks = [{"y": round(HEIGHT * (1 - share), 1), "text": text} for share, text in heights]
    words = {name: plot[name] for name in ("ends", "title", "sentence")}
    return {"lines": lines, "ticks": ticks, "unit": unit, **words}


def _points(curve: Sequence[float | None], low: float, high: float) -> list[str]:
    """Return one line for each unbroken stretch."""
    stretches: list[list[str]] = [[]]
    for place, value in enumerate(curve):
        if value is None:
            stretches.append([])
            continue
        x, y = WIDTH * place / (len(curve) - 1), HEIGHT * (1 - (value - low) / (high - low))
        stretches[-1].append(f"{x:.1f},{y:.1f}")
    return [" ".join(stretch) for stretch in stretches if len(stretch) > 1]


def _two(value: float) -> float:
    return float(f"{value:.2g}")
