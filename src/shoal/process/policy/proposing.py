"""A first policy for a table: what its columns look like, said beside each, for the publisher to correct.

    static      one entry for every series
    identifier  static, and more than a twentieth of the series have an entry of their own; or called like one
    sensitive   static, and called like one
    quasi       static, and neither

Nothing of this is a promise: it is read off names, types and counts. A column that is not static has no role and is
withheld, and so is every column the publisher takes out of the list. No entry of the table is written or shown.
"""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from shoal.errors import InputError, ParameterError, ReleaseError
from shoal.read.columns import Layout, find_column, find_default, parse_layout
from shoal.read.subjects import refuse_unlike

OWN_ENTRY = 0.05
"""Share of series with an entry nobody else has, from which on a static column is taken for an identifier."""

_CALLED_IDENTIFIER = re.compile(
    r"(^|_)(name|surname|firstname|lastname|address|street|house|mail|email|phone|tel|mobile|iban|account|contract|"
    r"customer|person|user|login|ssn|passport|mac|imei|ip|plate|serial|uuid|guid)(_|$|number|no|nr|id)"
)
_CALLED_SENSITIVE = re.compile(
    r"(^|_)(diagnosis|disease|illness|health|medical|income|salary|wage|debt|religion|belief|party|union|ethnicity|"
    r"race|nationality|orientation|offence|conviction|disability|benefit)(_|$|s$)"
)


@dataclass(frozen=True)
class Profile:
    """What can be said of a column without showing it."""

    name: str
    type: str
    n_missing: int
    n_different: int
    static: bool | None
    """Whether every series has one entry; None where the series are not known."""
    n_own: int
    """Series whose entry no other series has."""


def propose_policy(source: str | Path, *, id: str | None = None, time: str | None = None, layout: str = "auto") -> str:
    """YAML text of a policy that reads a table, with a role for every static column and the reason beside it.

    As in `read_panel`, the columns of a table with a time and no id are subjects if `layout` is "wide", or if they look
    like one quantity of many subjects; others are refused.
    """
    path, asked = Path(source), parse_layout(layout)
    if path.suffix not in (".csv", ".parquet"):
        raise ParameterError(f"A policy is proposed for a .csv or .parquet file; {path.name!r} is neither.")
    if not path.is_file():
        raise InputError(f"There is no file {str(source)!r}.")
    with duckdb.connect() as database:
        try:
            # A name is a name: DuckDB would take one with brackets for a pattern, and columns from a folder a=1.
            reader = "read_csv" if path.suffix == ".csv" else "read_parquet"
            name = _quoted(glob.escape(str(path)))
            database.execute(f"CREATE VIEW input AS SELECT * FROM {reader}('{name}', hive_partitioning = false)")
            types = {name: kind for name, kind, *_ in database.execute("DESCRIBE input").fetchall()}
        except duckdb.Error:
            # Its message may quote the data.
            raise InputError(f"{path.name!r} cannot be read as a table.") from None
        names = list(types)
        chosen_id = _choose(names, id, "id")
        chosen_time = _choose(names, time, "time") or next((n for n in names if _is_time(types[n])), None)
        chosen_id = chosen_id or _repeating_text(database, types, chosen_time)
        profiles = [_profile(database, name, types[name], chosen_id) for name in names]
        n_rows = _number(database, "SELECT count(*) FROM input")
        n_series = _number(database, f"SELECT count(DISTINCT {_column(chosen_id)}) FROM input") if chosen_id else 0
        if chosen_id is None and chosen_time is not None and asked is not Layout.WIDE:
            _refuse_unlike(database, [n for n in names if n != chosen_time and _is_figure(types[n])], chosen_time)
    return _text(path, profiles, chosen_id, chosen_time, n_rows, n_series)


def write_policy(path: Path, text: str) -> None:
    """Write a proposed policy, over nothing."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ReleaseError(f"{str(path)!r} exists. Choose another name or remove it.") from None
    except OSError as error:
        raise ReleaseError(f"Cannot write {str(path)!r}: {error.strerror}.") from None


def _choose(names: list[str], given: str | None, part: str) -> str | None:
    if given is not None:
        return find_column(names, given).name
    found = find_default(names, part, ())
    return None if found is None else found.name


def _is_time(kind: str) -> bool:
    return kind.startswith(("TIMESTAMP", "DATE"))


def _is_number(kind: str) -> bool:
    return kind in ("DOUBLE", "FLOAT", "REAL") or kind.startswith("DECIMAL")


def _is_figure(kind: str) -> bool:
    return _is_number(kind) or "INT" in kind


def _refuse_unlike(database: Any, columns: list[str], time: str) -> None:
    """Refuse columns that are several and do not look like one quantity, as reading would."""
    if len(columns) < 2:
        return
    means = ", ".join(f"avg(nullif(abs({_column(c)}::DOUBLE), 0))" for c in columns)
    found = database.execute(f"SELECT {means} FROM input").fetchone()
    refuse_unlike(columns, np.array([np.nan if mean is None else mean for mean in found]), time)


def _repeating_text(database: Any, types: dict[str, str], time: str | None) -> str | None:
    """The first column that names series as far as counts can tell: with the time it tells every row apart."""
    if time is None:
        return None
    n_rows = _number(database, "SELECT count(*) FROM input")
    for name, kind in types.items():
        if name == time or _is_time(kind) or _is_number(kind):
            continue
        together = f"SELECT count(*) FROM (SELECT DISTINCT {_column(name)}, {_column(time)} FROM input)"
        several = _number(database, f"SELECT count(DISTINCT {_column(name)}) FROM input") > 1
        if several and _number(database, together) == n_rows:
            return name
    return None


def _profile(database: Any, name: str, kind: str, id: str | None) -> Profile:
    column = _column(name)
    n_missing, n_different = database.execute(
        f"SELECT count(*) - count({column}), count(DISTINCT {column}) FROM input"
    ).fetchone()
    static, n_own = None, 0
    if id is not None and name != id:
        varying = f"SELECT 1 FROM input GROUP BY {_column(id)} HAVING count(DISTINCT {column}) > 1 LIMIT 1"
        static = database.execute(varying).fetchone() is None
        if static:
            own = (
                f"SELECT count(*) FROM (SELECT {column} FROM input WHERE {column} IS NOT NULL GROUP BY {column} "
                f"HAVING count(DISTINCT {_column(id)}) = 1)"
            )
            n_own = _number(database, own)
    return Profile(name, kind, int(n_missing), int(n_different), static, n_own)


def _text(path: Path, profiles: list[Profile], id: str | None, time: str | None, n_rows: int, n_series: int) -> str:
    values = [p.name for p in profiles if p.name not in (id, time) and _is_number(p.type) and p.static is not True]
    gaps = sum(profile.n_missing for profile in profiles if profile.name in values)
    lines = [
        f"# A first policy for {path.name}: {n_rows} rows, {n_series} series. Read every line before you use it.",
        "data:",
        f"  path: {_word(str(path))}",
        f"  id: {_word(id)}" if id else "  id: null  # not found: name the column that names the series",
        f"  time: {_word(time)}" if time else "  time: null  # not found: name the column with the timestamp",
    ]
    wide = (id is None) != (time is None) and len(values) > 1
    if wide:
        # Names of columns are times or identifiers here, and not fields to list.
        what = "a row per series" if id else f"{len(values)} columns read as {len(values)} subjects"
        lines.append(f"  layout: wide  # {what}")
        values = [p.name for p in profiles]
    elif not values:
        lines.append("  value: null  # not found: name the column with the value")
    elif len(values) == 1:
        lines.append(f"  value: {_word(values[0])}")
    else:
        lines.append(f"  value: [{', '.join(_word(name) for name in values)}]  # channels; keep those you need")
    lines.append(
        f"  missing: fail  # {gaps} values are missing: drop-series, drop-instants, {{interpolate: 2h}} or keep"
        if gaps
        else "  missing: fail"
    )
    steady = [p for p in profiles if p.static and p.name not in (id, time, *values)]
    lines.append("roles:" if steady else "roles: {}")
    lines += [f"  {_word(p.name)}: {role}  # {why}" for p in steady for role, why in [_role(p, n_series)]]
    withheld = [p.name for p in profiles if p.static is not True and p.name not in (id, time, *values)]
    if withheld:
        lines.append(f"# Withheld, as they change within a series: {', '.join(_comment(name) for name in withheld)}.")
    lines += [
        "# Columns that are not listed are withheld.",
        "adversary:",
        "  knows: {points: 5, totals: day}",
        "  scenario: prosecutor",
        "require:",
        "  risk: {at_most: 0.09}",
        "  utility: {information-loss: {at_most: 0.3}}  # share of the variance; set what your use can bear",
        "method:",
        "  name: microaggregation",
        "  k: {search: [4, 8, 12, 16, 20, 24, 28]}",
        "release:",
        "  model: publish",
        "  to: out",
        "  private: private  # who is who stays there; give it to nobody",
    ]
    return "\n".join(lines) + "\n"


def _role(profile: Profile, n_series: int) -> tuple[str, str]:
    called = profile.name.lower().replace(" ", "_").replace("-", "_")
    if _CALLED_IDENTIFIER.search(called):
        return "identifier", "called like one; never read"
    if n_series and profile.n_own > OWN_ENTRY * n_series:
        return "identifier", f"{profile.n_own} of {n_series} series have an entry of their own; never read"
    if _CALLED_SENSITIVE.search(called):
        return "sensitive", f"called like one; {profile.n_different} different entries"
    return "quasi-identifier", f"{profile.n_different} different entries; may help to recognise somebody"


def _word(name: str | None) -> str:
    """A name as YAML reads it back; quoted where it is more than a plain word."""
    text = str(name)
    if re.fullmatch(r"[A-Za-z_][\w./-]*", text) and text.lower() not in (
        "null",
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
    ):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _comment(name: str) -> str:
    return " ".join(name.split())


def _number(database: Any, sql: str) -> int:
    return int(database.execute(sql).fetchone()[0])


def _column(name: str | None) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return text.replace("'", "''")
