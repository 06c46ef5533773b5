"""`shoal ledger`: the earlier releases, and what they reveal together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.output import print_json, print_table

ledger = typer.Typer(
    name="ledger",
    help="List the releases a ledger records, or check what they reveal together.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Path = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger, as given to shoal anonymize --ledger.")]


@ledger.command("list")
def list_releases(path: _Path, as_json: options.Json = False) -> None:
    """List the releases a ledger records, in order."""
    from shoal.ledger.file import read_ledger

    entries = [_facts(entry) for entry in read_ledger(path)]
    if as_json:
        print_json({"ledger": str(path), "releases": entries})
    elif entries:
        print_table([(str(number), _line(facts)) for number, facts in enumerate(entries, start=1)])
    else:
        print_table([("releases", "none")])


@ledger.command()
def check(path: _Path, as_json: options.Json = False) -> None:
    """Intersect the groups of all releases again; exit 1 if a crowd is too small or something cannot be judged."""
    from shoal.ledger.conflicts import judge_entries
    from shoal.ledger.file import read_ledger, unfinished

    entries = read_ledger(path)
    verdict = judge_entries(entries)
    left, is_busy = unfinished(path)
    not_judged, notes = list(verdict.not_judged), []
    if n_unchained := sum(entry.chain is None for entry in entries):
        lines = "line does" if n_unchained == 1 else f"{n_unchained} lines do"
        notes.append(
            f"the first {lines} not name the line before, as lines written today do: whether lines were removed or "
            "moved there cannot be seen"
        )
    if is_busy:
        notes.append("another process is publishing with this ledger right now")
    if left is not None and left.is_in_place:
        not_judged.append(
            f"a release is in place in {str(left.folder)!r} but not recorded: its process ended too early; the next "
            "release with this ledger records it first"
        )
    elif left is not None:
        notes.append("a process ended before its release was in place; there is nothing to record")
    outcome = "not judged" if verdict.holds and not_judged else verdict.outcome
    if as_json:
        print_json(
            {
                "ledger": str(path),
                "outcome": outcome,
                "holds": outcome == "holds",
                "releases": len(entries),
                "smallest": verdict.smallest,
                "promised": verdict.promised,
                "findings": list(verdict.findings),
                "not_judged": not_judged,
                "notes": notes,
            }
        )
    else:
        rows = [
            ("ledger", str(path)),
            ("releases", str(len(entries))),
            ("verdict", "DOES NOT HOLD" if outcome == "does not hold" else outcome),
        ]
        if verdict.smallest is not None:
            rows.append(("smallest crowd", f"{verdict.smallest}, promised {verdict.promised}"))
        rows += [("finding", finding) for finding in verdict.findings]
        rows += [("not judged", text) for text in not_judged]
        rows += [("note", note) for note in notes]
        print_table(rows)
    raise typer.Exit(0 if outcome == "holds" else 1)


def _facts(entry: Any) -> dict[str, Any]:
    """Return an entry without the hashes of subjects."""
    facts: dict[str, Any] = entry.model_dump(mode="json", exclude={"members", "key", "format", "chain"})
    why_not = "" if entry.members.instants is not None else entry.members.why_not
    return facts | {"judged": not why_not, "why_not": why_not}


def _line(facts: dict[str, Any]) -> str:
    """A release in one line."""
    counts, time = facts["counts"], facts["time"]
    promises = ", ".join(
        " ".join([g["name"], *(f"{name}={value}" for name, value in g["parameters"].items())])
        for g in facts["guarantees"]
    )
    who = f"{counts['events']} events" if "events" in counts else f"{counts['subjects']} subjects"
    parts = [
        facts["method"],
        promises,
        f"{who} in {counts['groups']} groups",
        f"{time['first']} to {time['last']}",
        f"certificate {facts['certificate'][:16]}",
    ]
    return "; ".join(parts if facts["judged"] else [*parts, f"not judged: {facts['why_not']}"])
