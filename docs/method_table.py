"""Fill the measured tables of the page "Which method?" from the page of rivals.

    python docs/method_table.py

Utility is compared at equal risk: among settings whose measured risk is at most 10 %. Everything between the two marks
of the page is written by this script; a test compares the page with the results.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "choose.md"
RESULTS = DOCS / "results" / "rivals.md"
BEGIN, END = "<!-- measured: made by docs/method_table.py -->", "<!-- measured: end -->"
LIMIT = "10 %"
AS_GOOD = 1.1  # within a tenth of the best figure, as on the page of rivals: another seed could swap them
NOTHING = "–"

PURPOSES = {
    "forecasting": "forecasting",
    "loads": "distribution of loads",
    "ramps": "ramps",
    "peaks of all": "peaks of the total",
    "day of all": "mean day of the total",
    "own day": "a household's mean day",
    "own peaks": "a household's peaks",
    "own readings": "a household's readings",
}
LINKS = {
    "Shoal: microaggregation": "[microaggregation](methods/microaggregation.md)",
    "Shoal: profiles": "[profiles](methods/microaggregation.md#one-row-per-group)",
    "Shoal: kp": "[KP](methods/kp.md)",
    "Shoal: nlk": "[NLK](methods/nlk.md)",
    "aggregation by a rule": "[aggregation by a rule](methods/techniques.md#scope-aggregation)",
    "noise": "[noise](methods/techniques.md#noise-addition)",
    "differential privacy": "[differential privacy](methods/techniques.md#noisy-aggregates)",
}
"""Methods as the results call them, and their pages; any other keeps its name."""


@dataclass(frozen=True)
class Comparison:
    """The best figure of each method for each purpose, on one data set, among settings within the limit."""

    data: str
    with_membership: bool
    figures: dict[str, dict[str, float | None]]

    def best(self, purpose: str) -> list[str]:
        found = {method: row[purpose] for method, row in self.figures.items()}
        known = {method: figure for method, figure in found.items() if figure is not None}
        return [method for method, figure in known.items() if figure <= AS_GOOD * min(known.values())]


def read_comparisons(text: str) -> list[Comparison]:
    sections = re.finditer(rf"^### ([^\n]+?): at most {LIMIT}([^\n]*)\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    return [Comparison(found[1], "member" in found[2], _read_table(found[3])) for found in sections]


def _read_table(section: str) -> dict[str, dict[str, float | None]]:
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    rows = [[cell.strip(" *") for cell in line] for line in lines]
    head, _, *body = rows
    figures = {row[0]: dict(zip(head[1:], map(_read_figure, row[1:]), strict=True)) for row in body}
    return {method: row for method, row in figures.items() if method != "pseudonyms only"}


def _read_figure(cell: str) -> float | None:
    return None if cell == NOTHING else float(cell)


def tables(comparisons: list[Comparison]) -> str:
    """Which method is best for each purpose, on each data set, and the figures behind it on the first."""
    head = ["purpose", *(_title(comparison) for comparison in comparisons)]
    best = [[name, *(_names(comparison.best(key)) for comparison in comparisons)] for key, name in PURPOSES.items()]
    first = comparisons[0]
    figures = [
        [LINKS.get(method, method), *(_cell(method, key, first) for key in PURPOSES)] for method in first.figures
    ]
    return "\n\n".join(
        [
            _markdown(head, best),
            f"The figures for the first column, {first.data}. Lower is better; bold is within a tenth of the best. "
            "A dash means that no setting stays within the limit, or that the method has no "
            "series for a household.",
            _markdown(["method", *PURPOSES.values()], figures),
        ]
    )


def _title(comparison: Comparison) -> str:
    return f"{comparison.data}, membership limited too" if comparison.with_membership else comparison.data


def _names(methods: list[str]) -> str:
    return ", ".join(re.sub(r"^\[(.+)\].*", r"\1", LINKS.get(method, method)) for method in methods) or NOTHING


def _cell(method: str, purpose: str, comparison: Comparison) -> str:
    figure = comparison.figures[method][purpose]
    if figure is None:
        return NOTHING
    return f"**{figure:.3f}**" if method in comparison.best(purpose) else f"{figure:.3f}"


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fill(page: str, results: str) -> str:
    """The page with the tables of these results between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{PAGE.name} needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{tables(read_comparisons(results))}\n\n{END}{after}"


def write_tables() -> None:
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), RESULTS.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write_tables()
