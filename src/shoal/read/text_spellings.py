"""Text that is a table behind one more layer: lines quoted as a whole, or cells that name themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WHOLE = re.compile(r'"(?:[^"]|"")*[,;\t|](?:[^"]|"")*"')
_PAIR = re.compile(r'([A-Za-z_][\w.-]*)=("[^"]*"|[^\s,;]*)')
_ENOUGH = 0.9


def respelt(text: str) -> str:
    """The text with one line per row and separators between its cells; unchanged if nothing is in the way."""
    if "\n" not in text and "\r" in text:
        return respelt(text.replace("\r", "\n"))
    some = [line.strip() for line in text[: 1 << 16].splitlines() if line.strip()][:400]
    if len(some) > 2 and _share(_WHOLE.fullmatch(line) is not None for line in some) >= _ENOUGH:
        return "\n".join(_without_quotes(line.strip()) for line in text.splitlines())
    if len(some) > 2 and _share(len(_PAIR.findall(line)) > 1 for line in some) >= _ENOUGH:
        return _as_cells([line for line in text.splitlines() if line.strip()])
    return text


def _share(found: Iterable[bool]) -> float:
    marks = list(found)
    return sum(marks) / len(marks)


def _without_quotes(line: str) -> str:
    return line[1:-1].replace('""', '"') if _WHOLE.fullmatch(line) else line


def _as_cells(lines: list[str]) -> str:
    """Lines such as energy,meter=m1 kwh=0.5 1717200000, or time=... kwh=...: a column for each name, then the rest."""
    pairs = [dict(_PAIR.findall(line)) for line in lines]
    rest = [[part for part in re.split(r"[\s,;]+", _PAIR.sub(" ", line)) if part] for line in lines]
    names = list(dict.fromkeys(name for row in pairs for name in row))
    n_rest = max(map(len, rest))
    header = [*names, *("" for _ in range(n_rest))]
    rows = [
        [*(own.get(name, "").strip('"') for name in names), *more, *([""] * (n_rest - len(more)))]
        for own, more in zip(pairs, rest, strict=True)
    ]
    return "\n".join("\t".join(row) for row in [header, *rows])
