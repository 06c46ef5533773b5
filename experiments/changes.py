"""What has changed since the page that is replaced: the figures of its tables against those of the new one."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

NUMBER = re.compile(r"[-+−]?\d[\d,]*\.?\d*")
ANSWER = re.compile(r"- (.*?\?) (\*\*.*)")
LONGEST_LEAD = 60  # characters of a line that names the table below it
SAME = "The figures below are compared as they are printed."


class Watched(NamedTuple):
    """Figures of a page's tables of which it is known what is better."""

    what: str
    header: str
    """How the header lines of these tables begin."""
    labels: int
    """So many columns say what the figures of a row are about."""
    lower: bool = True
    """Whether lower is better."""
    column: str = ""
    """Only columns whose name has this in it."""
    rows: tuple[str, ...] = ()
    """Only rows with one of these labels; all if empty."""
    part: int = 0
    """Which of the figures of a cell, where it has several."""
    under: str = ""
    """Only tables under headings that begin with this."""


def changes(old: Path, new: str, watched: Sequence[Watched]) -> str:
    """A section on what got better and what got worse, cell by cell."""
    if not old.exists():
        return "There was no earlier page to compare with."
    before = old.read_text(encoding="utf-8")
    lines = ["| figures | compared | better | worse | largest gain | largest loss |", "|---|---:|---:|---:|---|---|"]
    lines += [_line(one, _figures(before, one), _figures(new, one)) for one in watched]
    told, now = _answers(before), _answers(new)
    changed = [question for question in now if told.get(question, now[question]) != now[question]]
    answers = [f"- {question} Before: {told[question]} Now: {now[question]}" for question in changed]
    if answers:
        lines += ["", "Answers that changed:", "", *answers]
    return f"{_command(before)} {SAME}\n\n" + "\n".join(lines)


def _answers(page: str) -> dict[str, str]:
    """What a page says to each question that it lists."""
    found = (ANSWER.match(line) for line in page.splitlines())
    return {match[1]: match[2] for match in found if match}


def _command(page: str) -> str:
    found = re.search(r"Written by `([^`]+)`", page)
    return f"Against the page that this one replaced, written by `{found[1]}`." if found else "Against the page before."


def _line(watched: Watched, old: dict[str, float], new: dict[str, float]) -> str:
    gains = {name: (old[name] - new[name]) * (1 if watched.lower else -1) for name in new if name in old}
    better, worse = (sum(sign * gain > 0 for gain in gains.values()) for sign in (1, -1))
    told = []
    for extreme, any_of in ((max, better), (min, worse)):
        name = extreme(gains, key=lambda place: gains[place]) if any_of else ""
        told.append(f"{name}: {old[name]:g} to {new[name]:g}" if any_of else "none")
    return f"| {watched.what} | {len(gains)} | {better} | {worse} | {told[0]} | {told[1]} |"


def _figures(page: str, watched: Watched) -> dict[str, float]:
    """Every figure by what stands above its table, its row and its column."""
    found: dict[str, float] = {}
    heading, above, columns = "", "", None
    for line in page.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if not line.startswith("|"):
            above, columns = line or above, None
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if columns is None:
            is_watched = line.startswith(watched.header) and heading.startswith(watched.under)
            columns = cells if is_watched else []
            continue
        labels = cells[: watched.labels]
        if not columns or cells[0].startswith("--") or (watched.rows and not set(labels) & set(watched.rows)):
            continue
        place = above.rstrip(":") if above.endswith(":") and len(above) < LONGEST_LEAD else heading.partition(" (")[0]
        for number, (name, cell) in enumerate(zip(columns, cells, strict=True)):
            figures = NUMBER.findall(cell)
            if number >= watched.labels and watched.column in name and len(figures) > watched.part:
                figure = figures[watched.part].replace(",", "").replace("−", "-")
                of = columns[number - 1 : number] if name in columns[:number] else []  # a name that comes again
                found[", ".join([place, *labels, *of, name])] = float(figure)
    return found
