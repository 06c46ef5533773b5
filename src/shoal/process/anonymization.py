"""From data to a checked result in memory, the usual way in Python; and from a source to a release."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.methods import Microaggregation
from shoal.model import Candidate, CandidateShards, Events, Guarantee, Method, Panel, PanelShards, Release
from shoal.model.watcher import Watcher, silent, tell
from shoal.process.engine import panel_on
from shoal.process.hold_out import (
    as_share,
    control_risks,
    keep_out,
    refuse_beside_mechanism,
    refuse_no_private,
)
from shoal.process.keep import Keep, apply_keep, kept_by, kept_measures, with_comparison
from shoal.process.policy.schema import EnginePart
from shoal.process.progress import steps as progress_steps
from shoal.process.publication import publish
from shoal.process.remembered import remember
from shoal.process.result import Result
from shoal.read import read_events, read_panel
from shoal.read.calendar import CALENDAR
from shoal.read.options import given_options
from shoal.release import ReleaseOptions, check_target
from shoal.release.admission import check_candidate
from shoal.release.publishers_word import refuse_beside_noise
from shoal.release.suppression import LIMIT

if TYPE_CHECKING:
    from shoal.methods import Reposition


def anonymize(
    data: Any,
    k: int | None = None,
    *,
    method: Method | None = None,
    keep: Keep | None = None,
    within: str | None = None,
    require: Sequence[Guarantee] = (),
    suppression_limit: float = LIMIT,
    hold_out: float | str | None = None,
    **reading: Any,
) -> Result:
    """Anonymize a frame, an array or a file, and check the guarantee on the result.

    Raises GuaranteeNotMetError if it does not hold: there is no unchecked result. Series get fresh names and a new
    order. The returned frame has the layout, the column names and the types of the input; see `Result`.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, wide or long; a pandas Series or frame with an index of series and instants;
        a numpy array (series, instants[, channels]); an xarray DataArray; a Panel; or anything else `shoal.read_panel`
        reads.
    k
        Every published series is shared by at least k subjects, by microaggregation. Larger hides better and blurs
        more.
    method
        Another method with its parameters, such as `shoal.KP(k=10, p=3)`, in place of k.
    keep
        What the release must keep, such as "peaks" or "window:17:00-20:00": groups are formed on it. See
        `shoal.features.keep`.
    within
        A column that groups must not cross, such as a tariff.
    require
        Guarantees in addition to those of the method, such as `shoal.AggregateRule()`.
    suppression_limit
        The largest share of the series that the method may leave out.
    hold_out
        The share of the subjects, such as "10%", to keep out of the result as a control: attacks then report what they
        find beyond what they find about these. Their names stay with the result and go to the private folder.
    reading
        How the data is read, as for `shoal.read_panel`: id, time, value, subject, missing, timezone, ...

    Examples
    --------
    >>> import numpy as np
    >>> released = anonymize(np.arange(24.0).reshape(12, 2), k=3)
    >>> released
    Result(k-anonymity holds: measured 3, required 3; 12 series, 2 instants)
    >>> released.to_numpy().shape
    (12, 2)
    """
    check_reading(reading, "anonymize")
    chosen = _method(k, method, keep, within)
    with progress_steps() as watched:
        panel = read_data(data, needed_columns(chosen), reading, "anonymize", watched)
        share = None if hold_out is None else as_share(hold_out)
        refuse_beside_mechanism(share, chosen)
        panel, held_out = keep_out(panel, share, watched)
        options = ReleaseOptions(require=tuple(require), suppression_limit=suppression_limit)
        return replace(make_result(chosen, panel, options, watched), held_out=held_out, reading=reading)


def make_result(
    method: Method, panel: Panel | PanelShards, options: ReleaseOptions, watched: Watcher = silent
) -> Result:
    """Anonymize and check; raises if a guarantee does not hold."""
    watched.start("grouping")
    candidate = method.anonymize(panel, progress=watched.advance)
    watched.start("checking")
    return check_result(candidate, options, method)


def check_result(
    candidate: Candidate | CandidateShards, options: ReleaseOptions, method: Method | None = None
) -> Result:
    """The result of a candidate that keeps its promises."""
    try:
        checked = check_candidate(candidate, options)
    except GuaranteeNotMetError as error:
        error.add_note(
            "There is no unchecked result. method.anonymize(panel) gives what the method proposes; shoal.publish "
            "takes it with risks= and risk_limit= if only attacks can judge it."
        )
        raise
    return Result(candidate, checked.verdicts, options, method, dominance=checked.dominance)


def check_reading(reading: dict[str, Any], verb: str) -> None:
    """Refuse options that neither the verb nor reading has."""
    known = [name for name in inspect.signature(read_panel).parameters if name != "source"]
    for name in reading:
        if name not in known:
            near = difflib.get_close_matches(name.lower(), [*known, "k", "method", "within", "require"], n=1)
            hint = f"Did you mean {near[0]}?" if near else f"To read data it takes: {', '.join(known)}."
            raise ParameterError(f"shoal.{verb} has no option {name!r}. {hint}")


def read_data(
    data: Any, columns: Sequence[str], reading: dict[str, Any], verb: str, watched: Watcher
) -> Panel | PanelShards:
    """The panel of whatever the caller gives in Python."""
    if isinstance(data, Events):
        raise ParameterError(
            f"shoal.{verb} works on series. Anonymize events with shoal.Reposition(...).anonymize(events)."
        )
    if isinstance(data, Panel | PanelShards):
        if reading:
            raise ParameterError(f"{next(iter(reading))}: a panel is already read. Give such settings to read_panel.")
        return data
    named = {setting: reading.get(setting) or () for setting in ("subject", "quasi", "sensitive", "other")}
    listed = {setting: [names] if isinstance(names, str) else list(names) for setting, names in named.items()}
    if further := [name for name in columns if not any(name in names for names in listed.values())]:
        reading = reading | {"other": [*listed["other"], *further]}
    watched.start("reading")
    try:
        read: Panel | PanelShards = read_panel(data, **reading)
        return read
    except InputError as error:
        error.add_note(
            f"Settings of shoal.read_panel, such as id=, time=, value=, layout= and missing=, can be given to "
            f"shoal.{verb} as well; help(shoal.read_panel) explains them."
        )
        raise


def needed_columns(method: Method) -> list[str]:
    """Columns with one entry per series that a method asks for by name."""
    within = getattr(method, "within", None)
    return list(dict.fromkeys([*getattr(method, "apart", ()), *([within] if isinstance(within, str) else [])]))


def _method(k: int | None, method: Any, keep: Keep | None, within: str | None) -> Method:
    if method is None:
        if k is None:
            raise ParameterError("Say how well to hide: k=10, or another method such as method=shoal.KP(k=10, p=3).")
        chosen: Method = apply_keep(Microaggregation(k=k, within=within), keep)
        return chosen
    if isinstance(method, type) or not isinstance(method, Method):
        raise ParameterError("method: give a method with its parameters, such as shoal.KP(k=10, p=3).")
    if k is not None:
        raise ParameterError(
            f"k belongs to microaggregation, but the method is {method.name}. Give k to the method itself."
        )
    chosen = apply_keep(method, keep)
    return chosen if within is None else chosen.set_params(within=within)


def anonymize_source(
    source: Any,
    method: Method | Reposition,
    to: Path,
    settings: Mapping[str, Any],
    *,
    keep: Keep | None = None,
    engine: EnginePart | None = None,
    hold_out: float | None = None,
    steps: Watcher = silent,
    **publishing: Any,
) -> Release:
    """Read, anonymize, check and publish. `settings` are those of `read_panel`, the rest those of `publish`.

    A method for events gets events: only settings of `read_events` may be given. With an engine, the panel is in shards
    and all work runs there. `hold_out` is the share of subjects kept out as a control for attacks. What must be kept
    (see `shoal.features.keep`) is measured, and compared with groups formed on raw values.
    """
    method = apply_keep(method, keep)
    refuse_no_private(hold_out, publishing.get("private"))
    # Checked first: nobody wants to learn after an hour that the folder exists.
    check_target(to, overwrite=publishing.get("overwrite", False))
    refuse_beside_noise((*([method.aims_at] if method.aims_at else []), *publishing.get("require", ())))
    steps.start("reading")
    if not isinstance(method, Method):
        if engine is not None:
            raise ParameterError(
                f"{method.name} reads events, not series. Omit --engine and --shard-size; streams of events run on "
                "Spark with shoal stream --engine spark."
            )
        if hold_out is not None:
            raise ParameterError(f"{method.name} reads events, but --hold-out keeps out subjects with their series.")
        data = _events(source, settings)
        tell(steps, data)
        steps.start("moving")
        moved = method.anonymize(data, progress=steps.advance)
        steps.start("checking and writing")
        release = publish(moved, to, **publishing)
        remember(_private(publishing), release, settings)
        return release
    refuse_beside_mechanism(hold_out, method)
    # What is published must be read.
    derived = CALENDAR.get(str(settings.get("split")), ())
    published = [name for name in getattr(method, "attributes", ()) if name not in derived]
    if published:
        settings = {**settings, "quasi": list(dict.fromkeys([*(settings.get("quasi") or ()), *published]))}
    with panel_on(engine, source, settings) as panel:
        tell(steps, panel)
        panel, held_out = keep_out(panel, hold_out, steps)
        steps.start("grouping")
        candidate = method.anonymize(panel, progress=steps.advance)
        steps.start("checking and writing")
        measures = kept_measures(method, panel)
        process = {"kept": list(measures)} if kept_by(method) is not None else None
        risks = control_risks(candidate, held_out)
        release = publish(candidate, to, measures=measures, process=process, risks=risks, **publishing)
        remember(_private(publishing), release, settings, () if held_out is None else held_out.names)
        return with_comparison(release, method, candidate, panel, steps)


def _private(publishing: Mapping[str, Any]) -> Path | None:
    private = publishing.get("private")
    return None if private is None else Path(private)


def _events(source: Any, settings: Mapping[str, Any]) -> Events:
    """Events, from the settings that make sense for them."""
    ours = ("id", "time", "subject", "quasi", "sensitive", "every", "missing", "timezone", "sql", "sheet")
    for name in given_options(settings):
        if name not in ours:
            raise ParameterError(f"--{name} applies to series; this method reads events, which have none.")
    sensitive: tuple[str, ...] = tuple(settings.get("sensitive") or ())
    if len(sensitive) != 1:
        raise ParameterError(
            f"Events need exactly one sensitive column, but {len(sensitive)} are named. Give --sensitive COLUMN."
        )
    given: dict[str, Any] = {name: settings[name] for name in ours if name != "sensitive" and name in settings}
    return read_events(source, sensitive=sensitive[0], **given)
