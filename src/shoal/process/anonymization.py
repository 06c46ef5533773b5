"""From a source to a release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError
from shoal.model import Events, Method, Release
from shoal.model.watcher import Watcher, silent, tell
from shoal.process.engine import panel_on
from shoal.process.hold_out import control_risks, keep_out, refuse_no_private
from shoal.process.keep import Keep, apply_keep, kept_by, kept_measures, with_comparison
from shoal.process.policy.schema import EnginePart
from shoal.process.publication import publish
from shoal.process.remembered import remember
from shoal.read import read_events
from shoal.read.calendar import CALENDAR
from shoal.read.options import given_options
from shoal.release import check_target
from shoal.release.publishers_word import refuse_beside_noise

if TYPE_CHECKING:
    from shoal.methods import Reposition


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
