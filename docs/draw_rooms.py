"""Draw the two pictures of docs/architecture.md from the import contracts in pyproject.toml and the rooms' docstrings.

A room that is added, moved or described in other words changes the picture; a test compares it with the one in the
repository. Run: make docs
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "shoal"
IMAGES = ROOT / "docs" / "images"

WIDTH, EDGE, GAP = 920, 20, 10
LINE, LETTER = 15, 6.7  # of the small text, in pixels

STYLE = """\
text { font: 12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #334155 }
.page { fill: #ffffff; stroke: #cbd5e1 }
.box { fill: #eff6ff; stroke: #3b82f6 }
.main { fill: #dbeafe; stroke: #1d4ed8; stroke-width: 2 }
.frame { fill: none; stroke: #94a3b8; stroke-dasharray: 5 4 }
.name { font-weight: 600; font-size: 14px; fill: #0f172a }
.only { fill: #b45309 }
.room { fill: #1d4ed8; font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 11px }
.way { stroke: #64748b; stroke-width: 1.5; fill: none }
.tip { fill: #64748b }
@media (prefers-color-scheme: dark) {
  text { fill: #cbd5e1 }
  .page { fill: #0f172a; stroke: #334155 }
  .box { fill: #172554; stroke: #3b82f6 }
  .main { fill: #1e3a8a; stroke: #93c5fd }
  .frame { stroke: #64748b }
  .name { fill: #f8fafc }
  .only { fill: #fbbf24 }
  .room { fill: #93c5fd }
  .way { stroke: #94a3b8 }
  .tip { fill: #94a3b8 }
}"""


def pictures() -> dict[str, str]:
    """Both pictures by the names of their files."""
    return {"path.svg": draw_path(), "rooms.svg": draw_rooms()}


def write_pictures() -> None:
    """Put them where the page expects them."""
    for name, text in pictures().items():
        (IMAGES / name).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Contracts:
    """What import-linter is told: layers from the top, and the packages that only one room may import."""

    layers: tuple[tuple[str, ...], ...]
    packages: dict[str, tuple[str, ...]]

    @property
    def rooms(self) -> tuple[str, ...]:
        """All rooms, from the top."""
        return tuple(room for layer in self.layers for room in layer)


def read_contracts(path: Path = ROOT / "pyproject.toml") -> Contracts:
    """The contracts of a pyproject.toml."""
    listed = tomllib.loads(path.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (order,) = (contract for contract in listed if contract["type"] == "layers")
    layers = (tuple(name.strip(" ()") for name in layer.split("|")) for layer in order["layers"])
    # `__main__` is no room: it starts the one on top.
    found = tuple(tuple(room for room in layer if not room.startswith("__")) for layer in layers)
    layered = tuple(layer for layer in found if layer)
    packages: dict[str, tuple[str, ...]] = {}
    for contract in (one for one in listed if one["type"] == "forbidden"):
        for room in (room for layer in layered for room in layer):
            if f"shoal.{room}" not in contract["source_modules"]:
                packages[room] = (*packages.get(room, ()), *contract["forbidden_modules"])
    return Contracts(layered, packages)


def purpose_of(room: str) -> str:
    """What a room is for: the first sentence of its docstring."""
    module = SOURCE / f"{room}.py"
    text = (module if module.is_file() else SOURCE / room / "__init__.py").read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
    return " ".join(first.split()).partition(". ")[0].rstrip(".").replace("`", "") + "."


def draw_rooms() -> str:
    """A row for each layer of the contract; imports go down."""
    contracts = read_contracts()
    left = EDGE + 46
    drawn: list[str] = []
    top = EDGE
    for layer in contracts.layers:
        width = (WIDTH - EDGE - left - GAP * (len(layer) - 1)) / len(layer)
        texts = [_wrapped(purpose_of(room), width - 24) for room in layer]
        only = [
            f"alone imports {', '.join(names)}" if (names := contracts.packages.get(room)) else "" for room in layer
        ]
        notes = [_wrapped(note, width - 24) if note else [] for note in only]
        height = 34 + LINE * max(len(text) + len(note) for text, note in zip(texts, notes, strict=True))
        for place, (room, text, note) in enumerate(zip(layer, texts, notes, strict=True)):
            x = left + place * (width + GAP)
            drawn += [_box(x, top, width, height), _text(x + 12, top + 20, [room], "name")]
            drawn += [_text(x + 12, top + 38, text), _text(x + 12, top + 38 + LINE * len(text), note, "only")]
        top += height + GAP
    middle = (top - GAP + EDGE) / 2
    drawn += [_way([(EDGE + 24, EDGE), (EDGE + 24, top - GAP - 8)])]
    drawn += [
        f'<text transform="rotate(-90 {EDGE + 12} {middle:g})" x="{EDGE + 12}" y="{middle:g}" text-anchor="middle">'
        "imports go down only; rooms side by side do not import each other</text>"
    ]
    said = "The rooms of Shoal from top to bottom: " + "; ".join(", ".join(layer) for layer in contracts.layers) + "."
    return _svg(top + EDGE - GAP, "Rooms", said, drawn)


@dataclass(frozen=True)
class Step:
    """A step on the path of the data, and the room that does it."""

    name: str
    room: str
    text: str


PATH = (
    Step("read", "read", "a table becomes series over common instants"),
    Step("method", "methods", "proposes what to publish"),
    Step("check", "guarantees", "judges the published values"),
    Step("attack", "attacks", "tries what an adversary would"),
    Step("measure", "utility", "says what was lost"),
    Step("gate", "release", "writes, reads back, verifies, renames"),
    Step("report", "report", "for people, from results only"),
)
ON_A_SHARD = {"read": "panel", "method": "candidate", "check": "verdict", "attack": "findings", "measure": "tally"}
MERGED = {"check": "one verdict", "attack": "one risk", "measure": "one score", "gate": "one certificate"}
N_SHARDS = 3


def draw_path() -> str:
    """The steps in a row; below, what each gives on every shard, and what that is merged into."""
    known = read_contracts().rooms
    if strange := [step.room for step in PATH if step.room not in known]:
        raise ValueError(f"The path leads through rooms that no contract names: {', '.join(strange)}")
    gap, high, small = 16, 114, 30
    wide = (WIDTH - 2 * EDGE - gap * (len(PATH) - 1)) / len(PATH)
    frame, last = EDGE + high + 40, len(ON_A_SHARD) - 1
    below = frame + 12 + N_SHARDS * (small + 10) + 30
    drawn = [_text(EDGE, frame - 8, ["on every shard, wherever an engine has it"])]
    width = (last + 1) * wide + last * gap + 16
    height = N_SHARDS * (small + 10) + 14
    drawn += [f'<rect class="frame" x="{EDGE - 8}" y="{frame}" width="{width:.1f}" height="{height}" rx="9"/>']
    for place, step in enumerate(PATH):
        x = EDGE + place * (wide + gap)
        drawn += _step(x, EDGE, wide, high, step, "main" if step.name == "gate" else "box")
        if place:
            drawn += [_way([(x - gap, EDGE + high / 2), (x - 2, EDGE + high / 2)])]
        for shard in range(N_SHARDS if step.name in ON_A_SHARD else 0):
            y = frame + 12 + shard * (small + 10)
            drawn += [_box(x, y, wide, small), _text(x + 10, y + 20, [ON_A_SHARD[step.name]])]
        if step.name in MERGED:
            from_y = frame + height if step.name in ON_A_SHARD else EDGE + high
            drawn += [_way([(x + wide / 2, from_y), (x + wide / 2, below - 2)])]
            drawn += [_box(x, below, wide, small, "main"), _text(x + 10, below + 20, [MERGED[step.name]])]
    drawn += [_text(EDGE, below + 12, ["merged in the order of the shards;", "the gate opens where all verdicts hold"])]
    x = EDGE + (len(PATH) - 1) * (wide + gap)
    files = ["data-00000.parquet", "data-00001.parquet", "data-\u2026", "release.json", "report.html"]
    drawn += [_text(x, frame + 22, files, "room")]
    drawn += [_way([(x - gap - wide / 3, EDGE + high), (x - gap - wide / 3, frame + 44), (x - 6, frame + 44)])]
    said = "The path of the data: " + ", ".join(f"{step.name} ({step.room})" for step in PATH) + "."
    return _svg(below + small + EDGE, "The path of the data", said, drawn)


def _step(x: float, y: float, width: float, height: float, step: Step, kind: str = "box") -> list[str]:
    return [
        _box(x, y, width, height, kind),
        _text(x + 10, y + 20, [step.name], "name"),
        _text(x + 10, y + 36, [f"{step.room}/"], "room"),
        _text(x + 10, y + 53, _wrapped(step.text, width - 18)),
    ]


def _wrapped(text: str, width: float) -> list[str]:
    return textwrap.wrap(text, int(width / LETTER))


def _box(x: float, y: float, width: float, height: float, kind: str = "box") -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" rx="7"/>'


def _text(x: float, y: float, lines: Sequence[str], kind: str = "") -> str:
    styled = f' class="{kind}"' if kind else ""
    rows = (f'<text{styled} x="{x:g}" y="{y + i * LINE:g}">{escape(line)}</text>' for i, line in enumerate(lines))
    return "\n".join(rows)


def _way(points: Sequence[tuple[float, float]]) -> str:
    places = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline class="way" points="{places}" marker-end="url(#tip)"/>'


def _svg(height: float, title: str, said: str, drawn: Iterable[Any]) -> str:
    body = "\n".join(line for line in drawn if line)
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"'
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title said">
<title id="title">{escape(title)}</title>
<desc id="said">{escape(said)}</desc>
<style>
{STYLE}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path class="tip" d="M0,0 L8,4 L0,8 z"/></marker></defs>
<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:g}" rx="10"/>
{body}
</svg>
"""


if __name__ == "__main__":
    write_pictures()
