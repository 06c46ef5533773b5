"""Any published table against its originals, however it was made: what attacks achieve, and what it is still good for.

If names, a map or the order show which published series belongs to which original, series are linked and compared one
by one. If not, as for synthetic tables, the whole is judged: what it repeats, what can be read off it, whose membership
can be inferred. Some figures mean little without people outside the table to compare with, the control: without them
such figures are absent, and `absent` says how to get them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal import attacks as attack_room
from shoal.attacks.copies import CopiesRisk
from shoal.attacks.ground import Ground, NothingSharedError, find_ground
from shoal.errors import InputError, ParameterError, ShoalError
from shoal.model import Attack, Method, Panel, Release, Risk
from shoal.model.html import html_table
from shoal.model.watcher import Watcher, silent
from shoal.process.comparison import Compared, MatchedRows
from shoal.process.hold_out import behind, gained_by, whole_attacks
from shoal.process.private_map import match as match_release
from shoal.process.release_attack import method_of
from shoal.process.search.task import build_attacks
from shoal.process.usefulness import Asked, Measured, Usefulness, asked_for, find_all, usual_measures
from shoal.read import read_panel
from shoal.read.options import OPTIONS
from shoal.release import load_release
from shoal.report.judgement import render_judgement

Match = Literal["auto", "ids", "order", "none"]
Instants = Literal["time", "position"]

LINKING: Mapping[str, Any] = {"points": 5, "totals": "day", "another-period": True}
"""What an adversary is assumed to know about a target if published series can be matched."""

TABLES = ("original", "published", "control")
"""The tables, in the order in which they are read."""

LEAST_SHARED = 0.5
"""The share of published names that must be names of originals for matching by name."""

NO_CONTROL = (
    "Membership is not judged, and no figure has a control: that takes series of people whose data did not go into "
    "the table. Keep some subjects out before you make it, and give them with --control TABLE."
)
NOT_MATCHED = "Links to single series are not tried: nothing says which published series belongs to which original."
MATCH_TABLE = (
    "If rows are in the order of the originals, give --match order; if there is a list of names, give --map TABLE."
)
MATCH_RELEASE = "The private folder of the release says so: give --private DIR."
NO_COMMON = (
    "Nothing is compared reading by reading: the tables share no instants. If both begin at the same point of a "
    "calendar, --instants position compares them by position, on the clock of the originals."
)


@dataclass(frozen=True, eq=False, repr=False)
class Judgement:
    """The findings about a published table.

    Parameters
    ----------
    matched
        How published series were matched to originals: "ids", "map", "order", "private"; None if they were not.
    n_original, n_published, n_control
        Series of each.
    risks
        Attacks by name, each with what it achieved.
    usefulness
        What every measure found, or why it does not apply.
    absent
        What the data cannot show, and what would make it possible.
    at_most
        The limit on what an attack may gain from the table, if one is stated.
    """

    matched: str | None
    n_original: int
    n_published: int
    n_control: int
    risks: Mapping[str, tuple[Attack[Risk], Risk]]
    usefulness: Usefulness
    absent: tuple[str, ...]
    at_most: float | None = None
    read: tuple[str, ...] = ()
    """What was taken for a subject, and how the tables were read."""

    @property
    def held(self) -> dict[str, float]:
        """What each attack gains from the table, at the upper end of its interval: the figure compared with the limit.

        For a link, its chance. For copies and readings read off, the excess over the control, or over the baseline if
        there is none. For membership, the advantage: 0 if guessing does as well, 1 if everyone is identified.
        """
        return {name: gained_by(attack, risk) for name, (attack, risk) in self.risks.items()}

    @property
    def above(self) -> tuple[str, ...]:
        """Attacks that gain more from the table than the limit allows."""
        if self.at_most is None:
            return ()
        return tuple(name for name, figure in self.held.items() if figure > self.at_most)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Those of `above` whose figure is within the limit: only the upper end of its interval is above it."""
        return tuple(name for name in self.above if _figure(*self.risks[name]) <= (self.at_most or 0.0))

    @property
    def has_copies(self) -> bool:
        """Whether the table repeats originals beyond what the control explains, however few."""
        return any(isinstance(risk, CopiesRisk) and risk.goes_beyond_control for _, risk in self.risks.values())

    @property
    def met(self) -> bool:
        """Whether every stated limit is met; one on risks needs at least one attack."""
        return not self.above and self.usefulness.met and (self.at_most is None or bool(self.risks))

    def to_dict(self) -> dict[str, Any]:
        """Everything, in plain types."""
        return {
            "matched": self.matched,
            "counts": {"original": self.n_original, "published": self.n_published, "control": self.n_control},
            "at_most": self.at_most,
            "met": self.met,
            "undecided": list(self.undecided),
            "copies": self.has_copies,
            "risk": {
                name: _finite(asdict(risk))
                | {"held": self.held[name], "knows": attack.knows, "parameters": attack.parameters}
                | ({"excess": risk.excess} if attack.against == "membership" else {})
                for name, (attack, risk) in self.risks.items()
            },
            "utility": [_measured(finding) for finding in self.usefulness.findings],
            "absent": list(self.absent),
            "read": list(self.read),
        }

    def to_html(self) -> str:
        """A page in the form of the decision sheet."""
        return render_judgement(self.to_dict())

    def _repr_html_(self) -> str:
        rows = [(name, risk.sentence) for name, (_, risk) in self.risks.items()]
        return html_table("Judgement", [*rows, *(("not judged", text) for text in self.absent)])

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {risk.success:.3g}" for name, (_, risk) in self.risks.items())
        return f"Judgement({told or 'no attack applies'}; {'within' if self.met else 'beyond'} what was asked)"


def judge(
    original: Any,
    published: Any,
    control: Any = None,
    *,
    match: Match = "auto",
    names: Any = None,
    private: str | Path | None = None,
    instants: Instants = "time",
    knows: Mapping[str, Any] | None = None,
    measures: Sequence[str] = (),
    at_most: float | None = None,
    n_targets: int | None = None,
    shadows: int = 0,
    method: Method | str | None = None,
    seed: int = 0,
    steps: Watcher = silent,
    **reading: Any,
) -> Judgement:
    """Judge any published table against its originals, however it was made.

    Parameters
    ----------
    original
        The series it was made from: anything `read_panel` takes, or a Panel.
    published
        The table to judge, or the folder of a release.
    control
        Series of similar people whose data did not go into the table.
    match
        How to match published series to originals: "ids", by equal names; "order", row by row; "none". "auto" uses
        names if the tables share most of them.
    names
        A table with two columns: the name of each original and the published name that stands for it.
    private
        The private folder of a Shoal release: it maps pseudonyms to subjects.
    instants
        "time": readings of the same time are compared. "position": the first with the first, whatever the clock says.
    knows
        What the adversary holds, as in a policy: `{"points": 5}`. Default: five readings, daily totals, and another
        period.
    measures
        Measures by name, such as "mean-day-error:at_most=0.1". Default: all that apply.
    at_most
        The limit on what any attack gains from the table (see `Judgement.held`).
    n_targets, seed
        Attack this many originals, drawn at random.
    shadows
        Learn membership from this many shadow releases (see `Membership`), made by `method`. Needs a control.
    method
        What made the table, such as `Microaggregation(k=10)` or "microaggregation:k=10". A Shoal release says so
        itself.
    reading
        Settings of `read_panel` for all tables. Columns that a table lacks are detected in it, and `layout="wide"` is
        for those that are wide.

    Examples
    --------
    >>> import shoal
    >>> homes = shoal.simulate.meters(80, days=14, seed=1)
    >>> found = shoal.judge(homes, homes)
    >>> found.matched, found.risks["known-points"][1].success
    ('ids', 1.0)
    """
    for name, value, kind in (("match", match, Match), ("instants", instants, Instants)):
        if value not in get_args(kind):
            raise ParameterError(f"{name} must be one of: {', '.join(get_args(kind))}.")
    if at_most is not None and not 0.0 < at_most <= 1.0:
        raise ParameterError("at_most is a share of the targets, above 0 and at most 1.")
    wanted = [asked_for(text) for text in measures]
    linking = build_attacks(knows or LINKING)
    steps.start("reading")
    release = _release(published)
    maker = _maker(method, release, control is not None or private is not None) if shadows else None
    tables = [_read("original", original, reading, steps), _published(published, release, reading, steps)]
    if control is not None:
        tables.append(_read("control", control, reading, steps))
    if instants == "position":
        tables = _by_position(tables)
    before, after, *others = tables
    outside = others[0] if others else None
    if release is not None and private is not None:
        before, held_out = behind(before, release, Path(private))
        outside = held_out if outside is None else outside
    matched, rows = _who_is_who(before, after, release, match, names, private)
    absent = [] if outside is not None else [NO_CONTROL]
    risks: dict[str, tuple[Attack[Risk], Risk]] = {}
    advice = MATCH_TABLE if release is None else MATCH_RELEASE
    skipped: list[str] = []
    if rows is None:
        absent.append(f"{NOT_MATCHED} {advice}")
    todo: list[tuple[Attack[Any], dict[str, Any]]] = []
    if rows is not None:
        todo += [(attack, {"rows": rows}) for attack in linking.values()]
    for attack, further in whole_attacks(seed, shadows, maker):
        if outside is not None or not isinstance(attack, attack_room.Membership):
            todo.append((attack, further | {"outside": outside}))
    for attack, further in todo:
        steps.start(attack.name)
        limited: Attack[Any] = attack if n_targets is None else attack.set_params(n_targets=n_targets)
        try:
            risks[attack.name] = (limited, limited.attack(before, after, **further))
        except NothingSharedError:
            skipped.append(attack.name)
        except (ParameterError, InputError) as error:
            absent.append(f"{attack.name} is not tried: {error}")
    steps.start("measuring")
    usefulness = Usefulness("values", None, (), ())
    try:
        ground = find_ground("Judging", before, after)
    except NothingSharedError:
        absent.append(f"{NO_COMMON} Not tried: {', '.join(skipped)}.")
    except ParameterError as error:
        absent.append(f"Nothing is measured: {error}")
    else:
        usefulness = _usefulness(before, after, ground, rows, wanted, advice)
    told = tuple(text for which, table in zip(TABLES, tables, strict=False) for text in _told(which, table))
    n_control = 0 if outside is None else outside.n_series
    counts = before.n_series, after.n_series, n_control
    return Judgement(matched, *counts, risks, usefulness, tuple(absent), at_most, told)


def _figure(attack: Attack[Risk], risk: Risk) -> float:
    """What an attack gains, without its interval."""
    if attack.against == "values":
        return risk.success
    return risk.advantage if risk.excess is None else risk.excess[0]


def _maker(method: Method | str | None, release: Release | None, has_control: bool) -> Method:
    """What made the table, to make shadow releases with."""
    if not has_control:
        raise ParameterError("shadows: membership is judged with people who are not behind the table. Give a control.")
    if method is not None:
        return method_of(method) if isinstance(method, str) else method
    if release is None:
        raise ParameterError("shadows: say what made the table, such as method='microaggregation:k=10'.")
    return method_of(release)


def _release(published: Any) -> Release | None:
    if isinstance(published, str | Path) and (Path(published) / "release.json").is_file():
        return load_release(published)
    return None


def _read(which: str, source: Any, reading: Mapping[str, Any], steps: Watcher) -> Panel:
    """A table as a panel; what was named for another table and does not fit this one is detected."""
    if isinstance(source, Panel):
        return source
    panel, problem = _tried(source, reading)
    fewer = {name: value for name, value in reading.items() if name not in _COLUMNS}
    if panel is None and fewer != reading:
        panel, problem = _tried(source, fewer)
    if panel is None and reading.get("layout") == "wide":
        # A table with a row per reading has no layout to force; one that is wide keeps its problem.
        panel, _ = _tried(source, {name: value for name, value in fewer.items() if name != "layout"})
        panel = panel if panel is not None and _is_long(panel) else None
    if panel is None:
        about = str(problem)
        named = about.replace("The table", f"The {which} table", 1) if about.startswith("The table ") else None
        raise type(problem)(named or f"The {which} table: {about}") from None
    for text in _told(which, panel):
        steps.say(text)
    return panel


_COLUMNS = {name for name, option in OPTIONS.items() if option.is_role} | {"id", "time", "value", "subject"}


def _tried(source: Any, reading: Mapping[str, Any]) -> tuple[Panel | None, ShoalError]:
    """The panel of a table, or what is wrong with it."""
    try:
        return read_panel(source, **reading), ShoalError()
    except (InputError, ParameterError) as error:
        return None, error


def _is_long(panel: Panel) -> bool:
    return panel.origin is not None and panel.origin.reading.get("layout") == "long"


def _told(which: str, table: Panel) -> tuple[str, ...]:
    """Notes on how a table was read, each with which table it is about."""
    return () if table.origin is None else tuple(f"{which}: {text}" for text in table.origin.notes)


def _published(source: Any, release: Release | None, reading: Mapping[str, Any], steps: Watcher) -> Panel:
    if release is None:
        return _read("published", source, reading, steps)
    if not isinstance(release.published, Panel):
        raise InputError(
            f"This release holds {release.certificate['form']}, but judging compares series of values. Use shoal "
            "attack and shoal utility."
        )
    return release.published


def _by_position(tables: Sequence[Panel]) -> list[Panel]:
    """The first n instants of each, on the clock of the first table."""
    n = min(table.n_instants for table in tables)
    clock: dict[str, Any] = {"times": tables[0].times[:n], "timezone": tables[0].timezone}
    return [Panel(t.values[:, :n], ids=t.ids, subjects=t.subjects, channels=t.channels, **clock) for t in tables]


def _who_is_who(
    original: Panel, published: Panel, release: Release | None, match: Match, names: Any, private: Any
) -> tuple[str | None, NDArray[np.int64] | None]:
    """How series are matched, and the position of the original of every published series, -1 for none."""
    if private is not None:
        if release is None:
            raise ParameterError("private belongs to the folder of a release; this is a table. Give names, or match.")
        return "private", match_release(original, release, private)
    if names is not None:
        return "map", _by_map(original, published, names)
    if match == "order":
        if original.n_series != published.n_series:
            raise ParameterError(
                f"match='order' needs as many published series as originals; there are {published.n_series} and "
                f"{original.n_series}. Give names, or match='none'."
            )
        return "order", np.arange(original.n_series)
    if match == "none" or (match == "auto" and release is not None):
        return None, None
    place = {str(name): at for at, name in enumerate(original.ids)}
    rows = np.array([place.get(str(name), -1) for name in published.ids], dtype=np.int64)
    shared = float((rows >= 0).mean())
    if match == "ids" and not (rows >= 0).any():
        raise ParameterError("match='ids': the tables have no name in common. Give names, or match='order'.")
    if match == "ids" or shared >= LEAST_SHARED:
        return "ids", rows
    return None, None


def _by_map(original: Panel, published: Panel, names: Any) -> NDArray[np.int64]:
    import polars as pl

    try:
        table = pl.read_csv(names, infer_schema=False) if isinstance(names, str | Path) else pl.DataFrame(names)
    except (OSError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise InputError(
            "The list of names cannot be read. Give a CSV with two columns: original and published name."
        ) from None
    if table.width != 2:
        raise ParameterError(f"names has {table.width} column(s); it takes two: original and published name.")
    place = {str(name): at for at, name in enumerate(original.ids)}
    stands_for = {str(there): place.get(str(here), -1) for here, there in table.iter_rows()}
    rows = np.array([stands_for.get(str(name), -1) for name in published.ids], dtype=np.int64)
    if not (rows >= 0).any():
        raise ParameterError("names fits neither table: no published series is matched. Original names come first.")
    return rows


def _usefulness(
    original: Panel,
    published: Panel,
    ground: Ground,
    rows: NDArray[np.int64] | None,
    wanted: Sequence[Asked],
    advice: str,
) -> Usefulness:
    """What measures find at the instants that both tables share."""
    before, after = (
        Panel(values if values.shape[2] > 1 else values[:, :, 0], times=ground.times, channels=original.channels)
        for values in (ground.original, ground.published)
    )
    pairs = None
    if rows is not None:
        there = np.argsort(rows, kind="stable")[np.count_nonzero(rows < 0) :]  # in the order of the originals
        pairs = MatchedRows(before.take(rows[there]), after.take(there), rows, there)
    compared = Compared(published, "values", original, after, before, pairs, advice=advice)
    findings = find_all(compared, list(wanted) or usual_measures(), strict=bool(wanted), steps=silent)
    return Usefulness("values", None if pairs is None else pairs.originals.n_series, findings, ())


def _measured(finding: Measured) -> dict[str, Any]:
    measure, score = finding.asked.measure, finding.score
    plain = {"purpose": finding.purpose, "name": finding.asked.label, "meaning": measure.meaning}
    if score is None:
        return plain | {"value": None, "reason": finding.reason}
    return plain | _finite({"value": score.value, "goal": score.goal, "unit": measure.unit, "met": finding.met})


def _finite(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in plain.items()
    }
