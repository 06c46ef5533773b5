"""`shoal utility`: the publisher measures what a release is still good for."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options, read_options
from shoal.cli.output import print_json, print_table, steps

if TYPE_CHECKING:
    from shoal.process.usefulness import Measured, Usefulness


@read_options.reads()
def utility(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="ORIGINAL",
            help="The table that the release was made from: a file, folder, glob or postgresql:// address.",
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="RELEASE", help="The release folder.")],
    measure: options.Measures = None,
    private: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The private folder kept with the release: it maps pseudonyms to subjects."),
    ] = None,
    policy: read_options.Policy = None,
    as_json: options.Json = False,
) -> None:
    """Measure what a release is still good for, against the originals.

    With --private, the originals are read as they were for the release; options given here override what it remembers.

    Exit 1 when a limit of a measure (at_most or at_least) is not met. Figures have three digits; limits apply to the
    exact figures.
    """
    from shoal.process.usefulness import asked_for, measure_release

    settings = read_options.settings_of(ctx)
    wanted = [asked_for(text) for text in measure or ()]
    with steps() as progress:
        found = measure_release(source, folder, settings, wanted, private=private, steps=progress)
    if as_json:
        print_json({"release": str(folder), "read": progress.said, **_figures(found)})
    else:
        _print(folder, found, progress.rows)
    raise typer.Exit(0 if found.met else 1)


def _figures(found: Usefulness) -> dict[str, Any]:
    return {
        "form": found.form,
        "paired": found.paired,
        "met": found.met,
        "notes": list(found.notes),
        "measures": [_figure(finding) for finding in found.findings],
    }


def _figure(finding: Measured) -> dict[str, Any]:
    """Describe one measure; an infinite figure or end of a range is null."""
    asked, score = finding.asked, finding.score
    plain = {
        "purpose": finding.purpose,
        "name": asked.measure.name,
        "parameters": asked.measure.parameters,
        "meaning": asked.measure.meaning,
    }
    if score is None:
        return plain | {"applies": False, "reason": finding.reason}
    return plain | {
        "applies": True,
        "value": float(_digits(score.value)) if math.isfinite(score.value) else None,
        "goal": score.goal,
        "range": [end if math.isfinite(end) else None for end in score.range],
        "at_most": asked.at_most,
        "at_least": asked.at_least,
        "met": finding.met,
        "note": finding.note,
    }


def _print(folder: Path, found: Usefulness, said: list[tuple[str, str]]) -> None:
    """Print what was read and compared, and the results."""
    rows = [*said, ("release", str(folder))]
    if found.paired is not None:
        rows.append(("compared", f"{found.paired} series, each with its original"))
    elif found.form != "events":
        rows.append(("compared", "the whole with the whole; --private DIR would match each series to its original"))
    print_table(rows + [("note", note) for note in found.notes])
    print_findings(found)


def print_findings(found: Usefulness) -> None:
    """Print a block per purpose, then what does not apply, by reason."""
    blocks: dict[str, list[tuple[str, str]]] = {}
    without: dict[str, list[str]] = {}
    for finding in found.findings:
        if finding.score is None:
            without.setdefault(finding.reason, []).append(finding.asked.label)
        else:
            blocks.setdefault(finding.purpose.upper(), []).append((finding.asked.label, _words(finding)))
    for title, block in blocks.items():
        print(f"\n{title}")
        print_table(block)
    if without:
        print("\nNOT MEASURED")
    for reason, names in without.items():
        if len(names) > 1:
            reason = re.sub("^it compares ", "they compare ", re.sub("^it applies ", "they apply ", reason))
        print(f"{', '.join(names)}: {reason}")


def _words(finding: Measured) -> str:
    """Return the figure, its limits and its meaning."""
    from shoal.report.words import HOW_TAKEN

    asked, score = finding.asked, finding.score
    assert score is not None
    limits = [("at most", asked.at_most), ("at least", asked.at_least)]
    given = " and ".join(f"{word} {limit:g}" for word, limit in limits if limit is not None)
    held = f", {given} was asked: {'met' if finding.met else 'NOT MET'}" if given else ""
    said = [
        asked.measure.meaning,
        HOW_TAKEN.get(f"of={getattr(asked.measure, 'of', '')}", ""),
        f"{score.goal} is better",
        finding.note,
    ]
    return f"{_digits(score.value)}{held} ({'; '.join(filter(None, said))})"


def _digits(value: float) -> str:
    """Format with three digits; a zero left by rounding is 0."""
    return f"{value:.3g}" if abs(value) > 1e-12 else "0"
