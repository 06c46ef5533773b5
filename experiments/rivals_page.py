"""The page of `experiments/rivals.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

LIMITS = (0.1, 0.25)
"""Measured risks at which tables are compared."""

NEAR = 0.1
"""Figures within this share of the best are as good: another seed would turn them round."""


@dataclass(frozen=True)
class Row:
    """What was found of one table."""

    set: str
    family: str
    setting: str
    failed: str = ""
    compared: bool = True
    epochs: int | None = None
    seconds: float = 0.0
    linked: float | None = None
    copied: float = 0.0
    inferred: float = 0.0
    member: float = 0.0
    member_range: Sequence[float] = (0.0, 0.0)
    rehearsed: Sequence[float] | None = None
    utility: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def found(self) -> float:
        """The most that is found of a household: its series, a copy of it, or readings beyond the control."""
        return max(self.linked or 0.0, self.copied, self.inferred)

    def risk(self, with_membership: bool) -> float:
        """The figure that a limit is held against."""
        return max(self.found, self.member) if with_membership else self.found


def page(rows: Sequence[Row], seed: int, purposes: Mapping[str, str], seconds: float, shadows: int) -> str:
    """All of it, as Markdown; networks had so many seconds each."""
    sets = list(dict.fromkeys(row.set for row in rows))
    parts = [
        "# Shoal and what people use instead",
        "Compare Shoal with generators, aggregation and noise at equal measured risk, to see what suits your purpose.",
        f"Made by `python experiments/rivals.py --seed {seed} --seconds {seconds:g}` with an environment for each "
        "generator; do not edit. Every table is judged by `shoal.judge` with a control of as many households as are "
        "behind it: 100 of the Slovak meters, 44 of the Australian households; two weeks of hours.",
        "**The same budget for all:** three settings each, except pseudonyms alone, which have none, and for each "
        f"setting at most {seconds:g} seconds of one core to train. Networks train for as many epochs as fit; nothing "
        "else needs that long. The column *made in* is the total time for a table; for networks it includes timing an "
        "epoch beforehand and drawing from the model, which the budget does not count. PAR is slow at drawing, so it "
        'makes 16 households at most. Of the rules of aggregation the fourth, "10", is listed but left out where '
        "methods are compared.",
        undertrained(rows),
        "**linked** is the highest chance of finding a household's own series by five readings, daily totals or "
        "another period. For kp it also covers an adversary who knows every reading and the published word "
        "(`linkage`): a stricter test than other methods get, in which (k, P)-anonymity allows up to 1 / P. Synthetic "
        "series are nobody's, so nothing is linked. **copied** and **inferred** are what "
        "`copies` and `completion` find beyond the control. **member** is the advantage in inferring who is behind the "
        "table, from every reading: 0 if guessing does as well, 1 if everyone is identified; in brackets the 95 % "
        "interval. *found* is the highest of the first three. **shadows** is the same advantage for an adversary who "
        f"knows nobody's membership, but knows the method and runs it on {shadows} other selections of people; it is "
        "measured for methods of Shoal that publish values. Training a generator so often takes too long here, so "
        "tables are compared by *member*, which all of them have.",
        "Measures: "
        + "; ".join(f"{purpose} `{measure}`" for purpose, measure in purposes.items())
        + ". Lower is better for all; `forecast-error` is 1 if a model learned from the table forecasts real "
        "households as well as one learned from the originals. Those that begin with *own* follow a household.",
        INSTALLING,
        *failures(rows),
    ]
    for name in sets:
        here = [row for row in rows if row.set == name and not row.failed]
        parts += [f"## {name}: every table", table(here, purposes)]
        for with_membership in (False, True):
            what = (
                "found of a household, or inferred about its membership" if with_membership else "found of a household"
            )
            for limit in LIMITS:
                parts += [
                    f"### {name}: at most {limit:.0%} {what}".replace("%", " %"),
                    frontier(here, limit, with_membership, purposes),
                    verdict(here, limit, with_membership, purposes),
                ]
    return "\n\n".join(part for part in parts if part) + "\n"


USUAL = {"SDV PAR": 128, "DoppelGANger": 400, "Faraday": None}
"""Epochs that a network trains for by default; Faraday has no default."""


def undertrained(rows: Sequence[Row]) -> str:
    """How many epochs networks were trained for, and how many are usual."""
    said = []
    for family, usual in USUAL.items():
        reached = [row.epochs for row in rows if row.family == family and row.epochs is not None]
        if reached:
            default = "no default" if usual is None else f"default {usual}"
            said.append(f"{family} {min(reached):,} to {max(reached):,} epochs ({default})")
    if not said:
        return ""
    return (
        f"Epochs reached: {'; '.join(said)}. A network that was trained for less than its default may do better with "
        "more time, and may remember more. How many epochs fit depends on the machine, and a network's figures can "
        "rise or fall by more than a tenth with them. The Gaussian copula has no epochs."
    )


INSTALLING = """Generators were installed with `pip install torch==2.13.0` first, and then:

| generator | command | what came of it |
|---|---|---|
| SDV's Gaussian copula and PAR | `pip install sdv` | version 2.0.0 runs |
| OpenSynth's Faraday | `pip install opensynth-energy` | version 1.0.0 runs |
| DoppelGANger | `pip install "gretel-synthetics[torch]"` | fails: "Could not build wheels for sentencepiece"; \
`pip install --no-deps gretel-synthetics` and `pip install category-encoders smart-open` run |
| DoppelGANger | `pip install dgan` | no such package |"""


def failures(rows: Sequence[Row]) -> list[str]:
    """Tables that could not be made, with the error."""
    failed = [f"{row.family}, {row.setting}, on {row.set}: {row.failed}" for row in rows if row.failed]
    return ["Not made:\n\n" + "\n".join(f"- {line}" for line in failed)] if failed else []


def table(rows: Sequence[Row], purposes: Mapping[str, str]) -> str:
    """Every table with its figures."""
    head = ["method", "setting", "made in", "linked", "copied", "inferred", "member", "shadows", *purposes]
    cells = [
        [
            row.family,
            row.setting,
            f"{row.seconds:.1f} s" + ("" if row.epochs is None else f", {row.epochs:,} epochs"),
            percent(row.linked),
            percent(row.copied),
            percent(row.inferred),
            with_range(row.member, *row.member_range),
            "–" if row.rehearsed is None else with_range(*row.rehearsed),
            *(figure(row.utility.get(purpose)) for purpose in purposes),
        ]
        for row in rows
    ]
    return markdown(head, cells)


def frontier(rows: Sequence[Row], limit: float, with_membership: bool, purposes: Mapping[str, str]) -> str:
    """The best figure of every method by purpose among its tables within a limit; the best of all in bold."""
    best = best_of(rows, limit, with_membership, purposes)
    head = ["method", *purposes]
    cells = []
    for family in dict.fromkeys(row.family for row in rows):
        line = [family]
        for purpose in purposes:
            found = best[purpose].get(family)
            lowest = min(best[purpose].values(), default=None)
            bold = found is not None and lowest is not None and found <= lowest + 1e-12
            line.append(f"**{figure(found)}**" if bold else figure(found))
        cells.append(line)
    return markdown(head, cells)


def verdict(rows: Sequence[Row], limit: float, with_membership: bool, purposes: Mapping[str, str]) -> str:
    """Winners and losers by purpose, in a sentence each."""
    best = best_of(rows, limit, with_membership, purposes)
    said = []
    for purpose in purposes:
        found = best[purpose]
        if not found:
            said.append(f"{purpose}: nothing within the limit")
            continue
        lowest = min(found.values())
        good = [family for family, value in found.items() if value <= lowest * (1 + NEAR) + 1e-3]
        worst = max(found, key=lambda family: found[family])
        last = f"; last {worst} ({figure(found[worst])})" if worst not in good else ""
        said.append(f"{purpose}: {', '.join(good)} ({figure(lowest)}){last}")
    return "\n".join(["Best, within a tenth of the best figure:", "", *(f"- {line}" for line in said)])


def best_of(
    rows: Sequence[Row], limit: float, with_membership: bool, purposes: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """By purpose and method, the lowest figure among the tables within a limit."""
    best: dict[str, dict[str, float]] = {purpose: {} for purpose in purposes}
    for row in rows:
        if not row.compared or row.risk(with_membership) > limit:
            continue
        for purpose in purposes:
            value = row.utility.get(purpose)
            if value is not None:
                best[purpose][row.family] = min(value, best[purpose].get(row.family, value))
    return best


def with_range(share: float, low: float, high: float) -> str:
    """A share with the ends of its interval."""
    return f"{percent(share)} ({100 * low:.0f} to {100 * high:.0f})"


def percent(share: float | None) -> str:
    """A share for people."""
    return "–" if share is None else f"{100 * share:.1f} %"


def figure(value: float | None) -> str:
    """A measure's figure."""
    return "–" if value is None else f"{value:.3f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))
