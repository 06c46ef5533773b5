"""Drafts: work on one table, from how it is read to its release. A table may have several.

A draft is an unfinished policy. How its table is read is stored with the table, so that tasks and drafts agree; the
draft has everything else. Points that were tried are kept in the private folder drafts/ under a digest of their
settings, so that returning to earlier settings brings their points back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from shoal.errors import InputError, ParameterError
from shoal.process.policy import Policy
from shoal.process.policy.parser import parse_policy
from shoal.read.options import OPTIONS
from shoal.studio.names import is_slug
from shoal.studio.project import LEDGER, Project
from shoal.studio.tokens import Clock

if TYPE_CHECKING:
    from shoal.process.exploration import Exploration

TRIED = ("data", "roles", "keep", "adversary", "require", "method", "search", "engine", "seed")
"""Fields of a policy that its points depend on."""
USUAL = {"require": {"utility": {"information-loss": {"at_most": 0.3}}}, "release": {"ledger": LEDGER}}
"""The defaults of a policy."""
STEPS = ("table", "purpose", "explore", "review", "release")


@dataclass(frozen=True)
class Draft:
    """A draft in its current state; read it again to see later changes."""

    name: str
    table: str
    policy: Policy
    made: float
    chosen_at: dict[str, Any] | None
    """Number and limits of the chosen point, and its exploration."""
    sheet: dict[str, Any] | None
    """What the last decision sheet was made from: `digest` and the number of the point."""
    _drafts: Drafts

    @property
    def title(self) -> str:
        """Its title."""
        return self.policy.title or self.name

    @property
    def folder(self) -> Path:
        """Its private folder."""
        return self._drafts.folder(self.name)

    @property
    def base(self) -> Path:
        """The folder that paths of its policy start from."""
        return self._drafts.project.folder

    @property
    def target(self) -> Path:
        """Where its release is written. A closed one stays in its own folder, which only answers questions."""
        if self.policy.release.model == "closed":
            return self.base / "closed" / self.name
        return self._drafts.project.release(self.name)

    @property
    def is_released(self) -> bool:
        """Whether its release has been made."""
        return any((self.target / part / "release.json").is_file() for part in ("", "release"))

    @property
    def tried_for(self) -> str:
        """A short digest of what the points of its exploration depend on: settings and table."""
        status = self._drafts.project.table(self.table).stat()
        settings = self.policy.model_dump(mode="json", by_alias=True, include=set(TRIED))
        text = json.dumps([settings, status.st_size, status.st_mtime_ns], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def is_explored(self) -> bool:
        """Whether anything was tried with its current settings."""
        return self._exploration_folder.is_dir()

    @property
    def exploration(self) -> Exploration:
        """Its exploration, created if necessary."""
        from shoal.process.exploration import Exploration

        folder = self._exploration_folder
        if folder.is_dir():
            return Exploration.open(folder, base=self.base)
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Exploration(folder, self.policy, base=self.base)

    @property
    def _exploration_folder(self) -> Path:
        return self.folder / f"exploration-{self.tried_for}"

    @property
    def chosen(self) -> int | None:
        """Number of the point that was chosen; None if the settings have changed since."""
        if self.chosen_at is None or self.chosen_at["tried_for"] != self.tried_for:
            return None
        return int(self.chosen_at["number"])

    def choose(self, number: int, risk: float | None = None, utility: Mapping[str, float] | None = None) -> None:
        """Choose a point, with the limits on screen."""
        self._drafts.set_chosen(
            self.name,
            {"number": number, "risk": risk, "utility": dict(utility or {}), "tried_for": self.tried_for},
        )

    @property
    def chosen_policy(self) -> Policy:
        """The policy that produces the chosen point: that of the exploration, with the texts of the draft."""
        if self.chosen is None or self.chosen_at is None:
            raise ParameterError("No point is chosen. Choose one under Explore.")
        found = self.exploration.policy_at(
            self.chosen, risk=self.chosen_at["risk"], utility=self.chosen_at["utility"] or None
        )
        return found.model_copy(
            update={name: getattr(self.policy, name) for name in Policy.model_fields if name not in TRIED}
        )


class Drafts:
    """The drafts of a project."""

    def __init__(self, project: Project, clock: Clock) -> None:
        self.project, self._clock = project, clock

    def folder(self, name: str) -> Path:
        """The private folder of a draft, existing or not."""
        if not is_slug(name):
            raise ParameterError("The name of a draft has letters, digits, _ and -, at most 64.")
        return self.project.folder / "drafts" / name

    def names(self) -> list[str]:
        """All of them, the newest first."""
        with self.project.store.reading() as connection:
            return [name for (name,) in connection.execute("select draft from drafts order by rowid desc")]

    def all(self) -> list[Draft]:
        """All drafts whose table still exists, newest first."""
        tables = set(self.project.tables())
        return [draft for draft in map(self.get, self.names()) if draft.table in tables]

    def get(self, name: str) -> Draft:
        """A draft that exists."""
        with self.project.store.reading() as connection:
            row = connection.execute(
                "select source_table, policy, made, chosen, sheet from drafts where draft = ?", (name,)
            ).fetchone()
        if row is None:
            raise InputError("There is no such draft.")
        table, policy, made, chosen, sheet = row
        return Draft(
            name,
            table,
            self._policy(table, json.loads(policy)),
            made,
            json.loads(chosen) if chosen else None,
            json.loads(sheet) if sheet else None,
            self,
        )

    def _policy(self, table: str, fields: dict[str, Any]) -> Policy:
        """The draft's policy, with its table read as the project says."""
        reading = self.project.reading(table)
        return Policy.model_validate(
            {**fields, "data": {**fields.get("data", {}), **_data(reading), "path": f"data/{table}"}}
        )

    def add(self, table: str, fields: Mapping[str, Any] | None = None) -> str:
        """Create a draft for a table; returns its name."""
        self.project.table(table)
        stem = table.rpartition(".")[0][:60]
        with self.project.store.writing() as connection:
            taken = {name for (name,) in connection.execute("select draft from drafts")} | set(self.project.releases())
            name = next(n for n in _numbered(stem) if n not in taken)
            connection.execute(
                "insert into drafts (draft, source_table, policy, made) values (?, ?, ?, ?)",
                (name, table, json.dumps(dict(fields or {})), self._clock()),
            )
        return name

    def open_policy(self, text: str, file_name: str) -> str:
        """Create a draft from a policy file; returns its name. The table must be in the project."""
        policy = parse_policy(text, name=file_name)
        table = Path(policy.data.path or "").name
        if table not in self.project.tables():
            raise ParameterError(
                f"The policy names the table {table or 'of no name'}, which is not in the project. Upload it first."
            )
        settings = {name: policy.settings[name] for name, one in OPTIONS.items() if not one.is_role}
        self.project.set_reading(table, settings)
        fields = policy.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"data"})
        release = fields.get("release", {})
        # The project decides where anything is written: a file may come from anyone.
        for name in ("to", "private", "overwrite", "sign"):
            release.pop(name, None)
        if release.get("ledger"):
            release["ledger"] = LEDGER
        return self.add(table, fields)

    def save(self, name: str, fields: Mapping[str, Any]) -> None:
        """Save the fields of a draft's policy, except those for reading; refused if they are not valid."""
        draft = self.get(name)
        try:
            self._policy(draft.table, dict(fields))
        except ValidationError as error:
            raise ParameterError(str(error.errors(include_url=False)[0]["msg"])) from None
        with self.project.store.writing() as connection:
            connection.execute("update drafts set policy = ? where draft = ?", (json.dumps(dict(fields)), name))

    def fields(self, name: str) -> dict[str, Any]:
        """The saved fields of a draft's policy."""
        with self.project.store.reading() as connection:
            row = connection.execute("select policy from drafts where draft = ?", (name,)).fetchone()
        if row is None:
            raise InputError("There is no such draft.")
        return dict(json.loads(row[0]))

    def set_chosen(self, name: str, chosen: Mapping[str, Any]) -> None:
        """Save the chosen point."""
        with self.project.store.writing() as connection:
            connection.execute("update drafts set chosen = ? where draft = ?", (json.dumps(dict(chosen)), name))

    def set_sheet(self, name: str, sheet: Mapping[str, Any]) -> None:
        """Save what a decision sheet was made from."""
        with self.project.store.writing() as connection:
            connection.execute("update drafts set sheet = ? where draft = ?", (json.dumps(dict(sheet)), name))


def _data(reading: Mapping[str, Any]) -> dict[str, Any]:
    """How a table is read, as the fields of a policy."""
    found = dict(reading)
    if found.get("complete", "any") != "any":
        found["complete"] = float(found["complete"])
    return found


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1
