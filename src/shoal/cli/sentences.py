"""What the terminal says about a release, each row next to the condition under which it is true."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.model.sentence import Sentence
from shoal.model.words import names_apart, plural
from shoal.release.facts import Facts
from shoal.release.sentences import LOWER_BOUND, METRIC

if TYPE_CHECKING:  # loaded where a command needs it
    from shoal.model import Release, Suppression


class Told(Facts):
    """A release as seen by its publisher, or by anyone who has its folder.

    Parameters
    ----------
    path
        The folder.
    certificate
        Its content; for the publisher, also what was measured and left out of it.
    suppression
        What the method left out; known to the publisher only.
    """

    def __init__(self, path: Path, certificate: Mapping[str, Any], suppression: Suppression | None = None) -> None:
        super().__init__(certificate)
        self.path, self.suppression = path, suppression

    @staticmethod
    def of(release: Release) -> Told:
        """Describe a release that was just made."""
        return Told(release.path, release.certificate | dict(release.measured), release.suppression)


Row = Sentence[Told]


def _series(told: Told) -> bool:
    return told.form != "events"


def _events(told: Told) -> bool:
    return told.form == "events"


def _has_groups(told: Told) -> bool:
    """Return whether groups were formed and their sizes may be shown."""
    return _series(told) and not told.promises("none") and not told.has_noise


ROWS: tuple[Row, ...] = (
    Row("dropped", lambda t: bool(_account(t, "dropped")), lambda t: _account(t, "dropped")),
    Row("changed", lambda t: bool(_account(t, "changed")), lambda t: _account(t, "changed")),
    Row(
        "pseudonyms",
        lambda t: bool(t.certificate.get("pseudonyms_note")),
        lambda t: f"{t.certificate['pseudonyms']}. {t.certificate['pseudonyms_note']}",
    ),
    Row(
        "pseudonyms",
        lambda t: _series(t) and t.certificate["pseudonyms"] == "insecure",
        lambda t: "insecure: from a fixed seed that anyone may guess. For tests; do not pass this release on.",
    ),
    Row("accepted", lambda t: bool(t.certificate.get("accepted")), lambda t: ", ".join(t.certificate["accepted"])),
    Row(
        "published",
        lambda t: t.form in ("values", "envelopes") and not t.counted("series_fictive"),
        lambda t: f"{t.counts['series']:,} series of {t.counts['subjects']:,} subjects, {_instants(t)}",
    ),
    Row(
        "published",
        lambda t: t.counted("series_fictive") > 0,
        lambda t: f"{t.counts['series']:,} series, {t.counted('series_fictive'):,} of them fictive, {_instants(t)}",
    ),
    Row(
        "published",
        lambda t: t.form == "profiles",
        lambda t: f"{plural(t.counts['groups'], 'group profile')} of {t.counts['subjects']:,} subjects, {_instants(t)}",
    ),
    Row(
        "published",
        lambda t: t.form == "scenarios",
        lambda t: (
            f"{plural(t.counts['groups'], 'group distribution')} of {t.counts['subjects']:,} subjects, {_instants(t)}"
        ),
    ),
    Row("published", _events, lambda t: f"{t.counts['events']:,} events in {t.counts['snapshots']:,} snapshots"),
    Row("moved", _events, lambda t: _moved(t)),
    Row(
        "withheld",
        lambda t: t.counted("cells_withheld") > 0,
        lambda t: f"{plural(t.counted('cells_withheld'), 'value')}, because too few subjects have a reading there",
    ),
    Row("suppressed", lambda t: _events(t) or t.counted("series_suppressed") > 0, lambda t: _suppressed(t)),
    Row(
        "loss by value",
        lambda t: t.suppression is not None and bool(t.suppression.lost and t.suppression.values),
        lambda t: _loss_by_value(t),
    ),
    Row("algorithm", lambda t: _BY_VALUES in t.method["figures"], lambda t: _algorithm(t)),
    Row(
        "groups",
        _has_groups,
        lambda t: f"{t.counts['groups']:,}{' over all instants' if t.counts['grouped'] == 'instants' else ''}",
    ),
    Row(
        "smallest group",
        _has_groups,
        lambda t: plural(t.counts["smallest_group"], "subject"),
    ),
    Row("warning", lambda t: bool(_dominated(t)), lambda t: _dominated(t)),
    Row(
        "groups",
        _events,
        lambda t: f"{t.counts['groups']:,} over all snapshots, the smallest of {t.counts['smallest_group']} events",
    ),
    *(Row("metric", sentence.when, sentence.says) for sentence in METRIC),
    Row("sensitive", lambda t: _series(t) and bool(t.certificate["columns"].get("sensitive")), lambda t: _sensitive(t)),
    Row(
        "attributes",
        lambda t: bool(t.certificate["columns"].get("attributes")),
        lambda t: f"{', '.join(t.certificate['columns']['attributes'])} (the same for everyone in a group)",
    ),
    Row("held back", lambda t: bool(t.certificate.get("held_back")), lambda t: names_line(t.certificate["held_back"])),
    # Other measures are in the certificate and the report.
    Row("information-loss", lambda t: "information-loss" in t.certificate["utility"], lambda t: _score(t)),
    *(Row("lower bound", sentence.when, sentence.says) for sentence in LOWER_BOUND),
    Row("window-error", lambda t: "window-error" in t.certificate["utility"], lambda t: _score(t, "window-error")),
    Row(
        "homogeneity",
        lambda t: "homogeneity" in t.certificate["risk"],
        lambda t: str(t.certificate["risk"]["homogeneity"]["sentence"]),
    ),
    Row(
        "republication",
        lambda t: "republication" in t.certificate["risk"],
        lambda t: str(t.certificate["risk"]["republication"]["sentence"]),
    ),
    Row(
        "not released",
        lambda t: bool(t.certificate["figures"].get("left_out")),
        lambda t: str(t.certificate["figures"]["left_out"]),
    ),
    Row("ledger", lambda t: bool(t.certificate.get("ledger")), lambda t: ledger_line(**t.certificate["ledger"])),
    Row("report", lambda t: "report.html" in t.certificate["files"], lambda t: str(t.path / "report.html")),
)


def release_rows(told: Told) -> list[tuple[str, str]]:
    """Return the short table of a release."""
    guarantees = told.certificate["guarantees"]
    names = names_apart([(guarantee["name"], guarantee["parameters"]) for guarantee in guarantees])
    verdicts = [(name, _verdict(part["verdict"])) for name, part in zip(names, guarantees, strict=True)]
    said = [(row.name, row.says(told)) for row in ROWS if row.when(told)]
    before = [row for row in said if row[0] in _OF_INPUT]
    *gained, cost = [figure["sentence"] for figure in told.certificate.get("kept", ())] or [""]
    kept = [*(("kept", text) for text in gained), *([("cost", cost)] if cost else [])]
    return [*before, ("release", str(told.path)), *verdicts, *said[len(before) :], *kept]


_OF_INPUT = ("dropped", "changed")
"""What was done to the input; printed next to what was read."""


def release_figures(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a certificate that commands report as JSON."""
    names = (
        *("method", "input", "guarantees", "counts", "pseudonyms", "pseudonyms_note"),
        *("utility", "risk", "files", "kept", "held_back", "ledger", "dominance", "loss_above_bound"),
    )
    return {name: certificate[name] for name in names if name in certificate}


def names_line(names: Sequence[str]) -> str:
    """List names of columns; of many, the first ones."""
    few = names if len(names) <= _MOST_NAMES else names[: _MOST_NAMES - 1]
    return ", ".join(few) + (f" and {len(names) - len(few)} more" if len(few) < len(names) else "")


_MOST_NAMES = 12


def ledger_line(file: str, earlier: int, recorded: int = 1) -> str:
    """Say whether a ledger was new, and how many releases it has gained."""
    if not earlier:
        these = "this is the first release in it" if recorded == 1 else f"it now has {recorded} releases"
        return f"{file}: new, {these}. It knows nothing of releases made without it"
    return f"{file}: checked together with {plural(earlier, 'earlier release')}, {recorded} added"


def warn_of_suppression(release: Release) -> None:
    """Tell the publisher, next to the figures, if much was left out."""
    from shoal.model import Recipe
    from shoal.release.suppression import warning_of

    if release.suppression is None:
        return
    method = release.certificate["method"]
    if warning := warning_of(release.suppression, Recipe(method["name"], method["parameters"])):
        print(f"shoal: {warning}", file=sys.stderr)


def _account(told: Told, part: str) -> str:
    from shoal.model import account_of

    return " ".join(account_of(told.certificate["input"]["reading"], part))


def _dominated(told: Told) -> str:
    from shoal.guarantees.dominance import Dominance

    dominance = Dominance.from_dict(told.certificate.get("dominance"))
    return "" if dominance is None else dominance.warning


def _verdict(verdict: dict[str, Any]) -> str:
    measured, required = (f"{n:.4g}" if isinstance(n, float) else str(n) for n in map(verdict.get, _FIGURES))
    note = f" ({verdict['note']})" if verdict["note"] else ""
    return f"{'holds' if verdict['holds'] else 'DOES NOT HOLD'}: {measured}, required {required}{note}"


_FIGURES = ("measured", "required")


def _instants(told: Told) -> str:
    n_instants, n_letters = told.counts["instants"], len(told.certificate["columns"]["pattern_times"])
    instants = plural(n_instants, "instant")
    return f"ranges of {instants}, letters of {n_letters}" if n_letters else instants


def _moved(told: Told) -> str:
    moved = {int(distance): n for distance, n in told.method["figures"].get("moved", {}).items() if distance != "0"}
    return f"{sum(moved.values()):,}, at most {max(moved)} snapshots late" if moved else "0"


_BY_VALUES = "series_grouped_by_values"


def _algorithm(told: Told) -> str:
    n_by_values, n_series = told.counted(_BY_VALUES), told.counts["series"]
    if n_by_values in (0, n_series):
        return "naive, which loses less than kapra" if n_by_values else "kapra, which loses no more than naive"
    return f"naive for {n_by_values:,} of {n_series:,} series, in shards where it loses less; kapra for the others"


def _suppressed(told: Told) -> str:
    from shoal.release.suppression import percent

    what = "events" if _events(told) else "series"
    lost = told.counts["suppressed"] if _events(told) else told.counted("series_suppressed")
    return f"{lost:,} of {told.counts[what] + lost:,} {what} ({percent(lost / (told.counts[what] + lost))})"


def _loss_by_value(told: Told) -> str:
    from shoal.release.suppression import loss_by_value

    assert told.suppression is not None
    return loss_by_value(told.suppression)


def _sensitive(told: Told) -> str:
    """Say which sensitive columns are published, and how much of them was changed."""
    names = ", ".join(told.certificate["columns"]["sensitive"])
    changes = [
        f"{told.counted(key)} {what}"
        for key, what in (
            ("sensitive_perturbed", "entries perturbed"),
            ("sensitive_beyond_epsilon", "of them by more than epsilon"),
            ("sensitive_exchanged", "entries exchanged"),
        )
        if told.counted(key)
    ]
    return f"{names} ({', '.join(changes) or 'nothing had to be changed'})"


def _score(told: Told, name: str = "information-loss") -> str:
    score = told.certificate["utility"][name]
    value = score["value"]  # none if it is not finite
    return f"{'no figure' if value is None else f'{value:.3g}'} ({score['meaning']})"
