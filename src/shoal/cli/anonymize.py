"""`shoal anonymize`: from a table to a checked release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import engines, reading
from shoal.cli.options import build, method_options
from shoal.cli.output import print_json, print_table, steps

if TYPE_CHECKING:  # the model is loaded where a command needs it
    from shoal.model import Release


def anonymize(
    ctx: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(help="CSV or Parquet file, folder or glob, or a postgresql:// address together with --sql."),
    ] = None,
    method: Annotated[str, typer.Option(help="What to do; `shoal methods` lists them.")] = "microaggregation",
    out: Annotated[Path, typer.Option("--out", "-o", help="The release folder to write.")] = Path("out"),
    id: reading.Id = None,
    time: reading.Time = None,
    value: reading.Value = None,
    subject: reading.Subject = None,
    quasi: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Static quasi-identifier; repeatable.")
    ] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Static sensitive column; repeatable.")
    ] = None,
    layout: reading.Layout = "auto",
    missing: reading.Missing = "fail",
    align: reading.Align = "exact",
    duplicates: reading.Duplicates = "fail",
    complete: reading.Complete = "1",
    quantity: reading.Quantity = None,
    timezone: reading.Timezone = None,
    sql: reading.Sql = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GUARANTEE",
            help="A further guarantee, such as aggregate-rule or aggregate-rule:size=15,share=0.15.",
        ),
    ] = None,
    suppression_limit: Annotated[
        float, typer.Option(help="Share of the events, or series, that may be left out; above it nothing is written.")
    ] = 0.25,
    format: Annotated[str, typer.Option("--format", help="parquet or csv.")] = "parquet",
    pseudonyms: Annotated[
        str, typer.Option(help="random, or keyed (needs --private): anyone can join releases made with one key.")
    ] = "random",
    private: Annotated[
        Path | None, typer.Option(help="Folder for what stays with you: pseudonym map, group labels, key.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier release.")] = False,
    insecure_seed: Annotated[
        int | None, typer.Option(help="Repeatable pseudonyms, for tests; anyone who guesses it undoes the shuffling.")
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of earlier releases: refuse what breaks a promise with them."),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A finding of the side-channel lint that shall not stop it; repeatable."),
    ] = None,
    engine: engines.Engine = None,
    master: engines.Master = None,
    conf: engines.Conf = None,
    memory: engines.Memory = None,
    processes: engines.Processes = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Anonymize a table of series, check the guarantee, write a release folder.

    Parameters of the method are options of the same name, for example --k 10. `shoal methods` lists them.
    """
    from shoal.process import anonymize_source, find_method

    chosen = build(find_method(method), method_options(ctx))
    settings = reading.settings_of(ctx)
    where = engines.engine_of(ctx)
    with steps() as progress:
        release = anonymize_source(
            source,
            chosen,
            out,
            settings,
            engine=where,
            steps=progress,
            require=[_guarantee(text) for text in require or ()],
            suppression_limit=suppression_limit,
            format=format,
            pseudonyms=pseudonyms,
            private=private,
            overwrite=overwrite,
            insecure_seed=insecure_seed,
            ledger=ledger,
            accept=tuple(accept or ()),
        )
    if as_json:
        lost = {"suppression": release.suppression.as_dict()} if release.suppression else {}
        figures = release_figures(whole(release))
        print_json({"release": str(release.path), "read": progress.said, **figures, **lost})
    else:
        print_table([*progress.rows, *release_rows(release.path, whole(release), release.suppression)])
    warn_of_suppression(release)


def whole(release: Release) -> dict[str, Any]:
    """The certificate, and beside it what was measured and left out of it: for the publisher's screen."""
    return release.certificate | dict(release.measured)


def release_figures(certificate: dict[str, Any]) -> dict[str, Any]:
    """The part of a certificate that commands report."""
    names = (
        *("method", "input", "guarantees", "counts", "pseudonyms", "pseudonyms_note"),
        *("utility", "risk", "with_suppressed", "files"),
    )
    return {name: certificate[name] for name in names if name in certificate}


def warn_of_suppression(release: Any) -> None:
    """Tell the publisher, beside the figures, where much was left out."""
    from shoal.model import Recipe
    from shoal.release.suppression import warning_of

    if release.suppression is None:
        return
    method = release.certificate["method"]
    if told := warning_of(release.suppression, Recipe(method["name"], method["parameters"])):
        print(f"shoal: {told}", file=sys.stderr)


def release_rows(path: Path, certificate: dict[str, Any], lost: Any = None) -> list[tuple[str, str]]:
    """The short table of a release; `lost` is what its publisher may see of suppression."""
    from shoal.model import account_of

    counts = certificate["counts"]
    rows = [("release", str(path))]
    if said := account_of(certificate["input"]["reading"]):
        rows.append(("input", " ".join(said)))
    for guarantee in certificate["guarantees"]:
        verdict = guarantee["verdict"]
        state = "holds" if verdict["holds"] else "DOES NOT HOLD"
        figures = f"{_figure(verdict['measured'])}, required {_figure(verdict['required'])}"
        note = f" ({verdict['note']})" if verdict["note"] else ""
        rows.append((guarantee["name"], f"{state}: {figures}{note}"))
    if certificate.get("pseudonyms_note"):
        rows.append(("pseudonyms", f"{certificate['pseudonyms']}. {certificate['pseudonyms_note']}"))
    if certificate.get("accepted"):
        rows.append(("accepted", ", ".join(certificate["accepted"])))
    if certificate["form"] == "events":
        return [*rows, *_event_rows(certificate, lost), *_report_row(path, certificate)]
    what = f"{counts['series']} series of {counts['subjects']} subjects"
    if certificate["form"] == "profiles":
        what = f"{counts['groups']} group profiles of {counts['subjects']} subjects"
    rows += [
        ("published", f"{what}, {_instants(certificate)}"),
        ("groups", f"{counts['groups']}{' over all instants' if counts['grouped'] == 'instants' else ''}"),
        ("smallest group", f"{counts['smallest_group']} subject{'s' * (counts['smallest_group'] != 1)}"),
    ]
    if certificate["columns"].get("sensitive"):
        rows.append(("sensitive", _sensitive(certificate)))
    # The other measures are in the certificate and the report; beside differential privacy there are none.
    if loss := certificate["utility"].get("information-loss"):
        rows.append(("information-loss", f"{loss['value']:.3g} ({loss['meaning']})"))
    if left_out := certificate["figures"].get("left_out"):
        rows.append(("not released", left_out))
    return rows + _report_row(path, certificate)


def _report_row(path: Path, certificate: dict[str, Any]) -> list[tuple[str, str]]:
    return [("report", str(path / "report.html"))] if "report.html" in certificate["files"] else []


def _event_rows(certificate: dict[str, Any], lost: Any) -> list[tuple[str, str]]:
    """What was done to events, and what became of it."""
    from shoal.release.suppression import loss_by_value, percent

    counts, figures = certificate["counts"], certificate["method"]["figures"]
    moved = {int(distance): n for distance, n in figures.get("moved", {}).items() if distance != "0"}
    late = f"{sum(moved.values())}, at most {max(moved)} snapshots late" if moved else "0"
    error, risk = certificate["utility"]["window-error"], certificate["risk"]["homogeneity"]
    n_originals = counts["events"] + counts["suppressed"]
    share = percent(counts["suppressed"] / n_originals)
    return [
        ("published", f"{counts['events']} events in {counts['snapshots']} snapshots"),
        ("moved", late),
        ("suppressed", f"{counts['suppressed']} of {n_originals} events ({share})"),
        *([("loss by value", loss_by_value(lost))] if lost and lost.lost else []),
        ("groups", f"{counts['groups']} over all snapshots, the smallest of {counts['smallest_group']} events"),
        ("window-error", f"{error['value']:.3g} ({error['meaning']})"),
        ("homogeneity", risk["sentence"]),
        *_with_suppressed(certificate),
    ]


def _with_suppressed(certificate: dict[str, Any]) -> list[tuple[str, str]]:
    """What the figures would be with the suppressed events; not in the release."""
    found = certificate.get("with_suppressed")
    if not found:
        return []
    figures = ", ".join(f"{name} {found[name]:.3g}" for name in ("window-error", "homogeneity"))
    guess = (
        f"a guess about an event that is seen to be missing is right with a chance of {100 * found['missing']:.3g} %"
    )
    return [("for you alone", f"with the suppressed events {figures}; {guess}")]


def _instants(certificate: dict[str, Any]) -> str:
    n_instants, n_letters = certificate["counts"]["instants"], len(certificate["columns"]["pattern_times"])
    return f"ranges of {n_instants} instants, letters of {n_letters}" if n_letters else f"{n_instants} instants"


def _sensitive(certificate: dict[str, Any]) -> str:
    """Which sensitive columns are published, and how much of them was changed."""
    names = ", ".join(certificate["columns"]["sensitive"])
    figures = certificate["method"]["figures"]
    changes = [
        f"{figures[key]} {what}"
        for key, what in (
            ("sensitive_perturbed", "entries perturbed"),
            ("sensitive_beyond_epsilon", "of them by more than epsilon"),
            ("sensitive_exchanged", "entries exchanged"),
        )
        if figures.get(key)
    ]
    return f"{names} ({', '.join(changes) or 'nothing had to be changed'})"


def _figure(number: float | int | None) -> str:
    return f"{number:.4g}" if isinstance(number, float) else str(number)


def _guarantee(text: str) -> Any:
    """A guarantee from `name` or `name:parameter=value,…`."""
    from shoal.errors import ParameterError
    from shoal.process import find_guarantee

    name, _, listed = text.partition(":")
    options: dict[str, str] = {}
    for pair in filter(None, listed.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError("--require takes NAME or NAME:parameter=value,parameter=value.")
        options[key.strip().replace("-", "_")] = value.strip()
    return build(find_guarantee(name), options)
