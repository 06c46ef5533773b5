"""The fields of a policy. Each has a default, and unknown fields are refused, not ignored.

A policy is written by the publisher and holds no data. Parameters of methods, attacks and measures are not listed here:
they are read from the classes when the policy is used, so that a new one needs no change here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from shoal.closed.settings import ClosedPart
from shoal.errors import ParameterError
from shoal.read.align import parse_align
from shoal.read.calendar import CALENDAR
from shoal.read.missing import parse_missing
from shoal.read.options import OPTIONS, ReadOption
from shoal.read.zones import find_zone
from shoal.release.options import LONGEST_LINE, is_line
from shoal.release.shapes import AsShape

RoleName = Literal["identifier", "quasi-identifier", "sensitive", "other", "publish"]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


def _line(text: str) -> str:
    if is_line(text):
        return text
    raise ValueError(f"give a line of text, at most {LONGEST_LINE} characters")


Line = Annotated[str, Field(max_length=LONGEST_LINE), AfterValidator(_line)]


_PARSERS: dict[str, Callable[[Any], object]] = {
    "missing": parse_missing,
    "align": parse_align,
    "timezone": find_zone,
}


class PolicyPart(BaseModel):
    """A part of a policy: frozen, and closed to unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Table(PolicyPart):
    path: str | None = Field(
        default=None, description="A CSV or Parquet file, folder or pattern, or postgresql:// with sql."
    )


def _kind_of(option: ReadOption) -> Any:
    if option.between is None:
        return option.kind
    above, at_most = option.between
    return Annotated[float, Field(gt=above, le=at_most)] | option.kind


def _reading() -> type[_Table]:
    """A table with the reading options, except the roles."""
    told: dict[str, Any] = {}
    for name, one in OPTIONS.items():
        if not one.is_role:
            # `register` is a method of every class of this kind: such a field goes by its alias.
            taken = hasattr(_Table, name)
            field = Field(default=one.default, description=one.in_policy or one.meaning, alias=name if taken else None)
            told[f"{name}_" if taken else name] = (_kind_of(one), field)
    return create_model("Reading", __base__=_Table, **told)


class Data(_reading()):  # type: ignore[misc]
    """Which table, and how it is read: the settings of `read_panel`."""

    @field_validator("missing", "align", "timezone")
    @classmethod
    def _can_be_read(cls, given: Any, field: ValidationInfo) -> Any:
        name = str(field.field_name)
        try:
            if given is not None:
                _PARSERS[name](given)
        except ParameterError as error:
            raise ValueError(str(error).removeprefix(f"{name}: ").rstrip(".")) from None
        return given


class Adversary(PolicyPart):
    """Who may want to know, and what they hold already."""

    knows: dict[str, Any] = Field(
        default_factory=lambda: {"points": 5, "totals": "day"},
        description="Attacks by name, each with its parameters; points: 5 and totals: day are short forms.",
    )
    scenario: Literal["prosecutor", "journalist"] = Field(
        default="prosecutor",
        description="prosecutor: the chance for the target the adversary may be surest of counts. journalist: the "
        "share of all targets.",
    )
    targets: int | None = Field(
        default=None, ge=2, description="How many subjects are attacked, drawn at random; all if unset."
    )


class Limit(BaseModel):
    """A bound on a figure; further fields are parameters of the measure."""

    model_config = ConfigDict(extra="allow", frozen=True)

    at_most: float | None = Field(default=None, description="The figure must not be above this.")
    at_least: float | None = Field(default=None, description="The figure must not be below this.")

    @model_validator(mode="after")
    def _one_at_least(self) -> Limit:
        if self.at_most is None and self.at_least is None:
            raise ValueError("give at_most or at_least")
        if self.at_most is not None and self.at_least is not None and self.at_most < self.at_least:
            raise ValueError("at_most is below at_least, so nothing can meet both")
        return self

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the measure."""
        return dict(self.model_extra or {})


class RiskLimit(PolicyPart):
    """How much an attack may achieve."""

    at_most: Share = Field(default=0.09, description="No attack of the adversary may succeed more often than this.")


class SuppressionLimit(PolicyPart):
    """How much a method may leave out."""

    at_most: Share = Field(default=0.25, description="No more than this share of the series may be suppressed.")


class Require(PolicyPart):
    """What must hold before anything is written."""

    risk: RiskLimit = Field(default=RiskLimit(), description="The limit for every attack.")
    utility: dict[str, Limit] = Field(
        default_factory=dict, description="Limits by measure: {normalized-divergence: {at_most: 0.12}}."
    )
    suppression: SuppressionLimit = Field(
        default=SuppressionLimit(), description="The limit on what a method leaves out, such as kp."
    )
    guarantees: list[str | dict[str, Any]] = Field(
        default_factory=list, description="Guarantees in addition to those of the method: [aggregate-rule]."
    )


class Explored(PolicyPart):
    """What had been tried when a person chose this point in an exploration."""

    points: int = Field(ge=1, description="How many points had been tried.")
    after: int | None = Field(default=None, ge=1, description="If it had not ended: after how many trials.")
    of: int | None = Field(default=None, ge=1, description="Of how many trials planned by then.")

    @model_validator(mode="after")
    def _both(self) -> Explored:
        if (self.after is None) != (self.of is None):
            raise ValueError("after and of belong together")
        return self

    @property
    def sentence(self) -> str:
        """The same in words, for certificate and report."""
        early = "" if self.after is None else f", and ended the search after {self.after} of {self.of} planned trials"
        return f"A person chose this point among {self.points} that had been tried{early}."


class Search(PolicyPart):
    """How methods and parameters are searched."""

    points: int = Field(
        default=60,
        ge=1,
        description="How many points are tried on the whole sample. If there are more, all are tried on a small part "
        "of it first, and the better half goes on to a larger one.",
    )
    sample: Share | None = Field(
        default=None,
        gt=0.0,
        description="Share of the subjects tried first. Unset: all below 2 000 subjects, else 2 000 of them.",
    )
    explored: Explored | None = Field(
        default=None,
        description="Written if a point of an exploration is exported: how much had been tried when a person chose "
        "it. The certificate repeats it.",
    )


class EnginePart(PolicyPart):
    """Where the work runs, for sharded panels; the name alone is enough."""

    name: Literal["memory", "local", "spark"] = Field(
        description="memory: in this process. local: this machine, with scratch files. spark: Apache Spark."
    )
    shard_size: int | None = Field(
        default=None,
        ge=1,
        description="About how many subjects a shard has, up to twice as many. Unset: a size that follows from the "
        "data.",
    )
    master: str | None = Field(
        default=None, description="spark: its master, such as local[4] or spark://host:7077. Unset: all cores here."
    )
    conf: dict[str, str | int | float | bool] = Field(default_factory=dict, description="spark: its settings by name.")
    memory: str | int | None = Field(
        default=None,
        description="local: memory for blocks of rows, such as 2GB; shards being processed need more on top.",
    )
    processes: int | None = Field(default=None, ge=1, description="local: number of processes.")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, given: Any) -> Any:
        return {"name": given} if isinstance(given, str) else given

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"enum": ["memory", "local", "spark"]}, handler(core_schema)]}

    @model_validator(mode="after")
    def _of_one_engine(self) -> EnginePart:
        if self.name != "spark" and (self.master is not None or self.conf):
            raise ValueError("master and conf belong to spark; local takes memory and processes")
        if self.name != "local" and (self.memory is not None or self.processes is not None):
            raise ValueError("memory and processes belong to local; spark takes master and conf")
        return self

    @property
    def settings(self) -> dict[str, str]:
        """The settings of Spark as it expects them: texts."""
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in self.conf.items()
        }


class ReleasePart(PolicyPart):
    """What happens to a point that met both limits."""

    model: Literal["publish", "agreement", "closed"] = Field(
        default="publish",
        description="publish: a folder. agreement: the folder with a data-use agreement for one recipient. closed: a "
        "folder that stays with you and only answers queries, with shoal serve.",
    )
    to: str = Field(default="out", description="The folder to write.")
    format: Literal["parquet", "csv"] = Field(default="parquet", description="Of the tables.")
    shape: AsShape = Field(
        default="long",
        description="An additional shape in which values are written: wide, row-per-series, day-rows, or same.",
    )
    pseudonyms: Literal["random", "keyed"] = Field(
        default="random", description="keyed needs private; anyone can join such releases."
    )
    private: str | None = Field(default=None, description="Folder for what you keep.")
    overwrite: bool = Field(default=False, description="Replace an earlier release there.")
    hold_out: float | str | None = Field(
        default=None,
        description="The share of subjects to keep out, such as 10%: the control for attacks. Needs private.",
    )
    ledger: str | None = Field(default=None, description="File of earlier releases, against which this one is checked.")
    accept: list[str] = Field(default_factory=list, description="Findings of the side-channel lint to ignore.")
    recipient: str | None = Field(default=None, description="agreement: who receives the data.")
    purpose: str | None = Field(default=None, description="agreement: what for.")
    expires: dt.date | None = Field(default=None, description="agreement: expiry date, such as 2027-06-30.")
    contact: str | None = Field(default=None, description="agreement: whom the recipient informs if something fails.")
    closed: ClosedPart = Field(default=ClosedPart(), description="closed: what may be asked, and how often.")
    review: Literal["none", "required"] = Field(
        default="none", description="required: an officer must approve the decision sheet in the studio first."
    )
    sign: str | None = Field(default=None, description="Your private Ed25519 key in PEM, used to sign the certificate.")

    @model_validator(mode="after")
    def _belongs_together(self) -> ReleasePart:
        if self.pseudonyms == "keyed" and self.private is None:
            raise ValueError("pseudonyms: keyed needs a folder for the key: give private")
        if self.hold_out is not None and self.private is None:
            raise ValueError("hold_out: the names of those kept out are written to the private folder: give private")
        if self.model == "agreement" and not (self.recipient and self.purpose and self.expires):
            raise ValueError("model: agreement needs recipient, purpose and expires")
        return self


class Policy(PolicyPart):
    """A whole policy. An empty file is one: it reads a table given on the command line and searches for a k."""

    title: Line | None = Field(default=None, description="Title of the release, shown at the top of its report.")
    publisher: Line | None = Field(default=None, description="Who publishes it.")
    purpose: Line | None = Field(default=None, description="Purpose of the publication.")
    date: dt.date | None = Field(default=None, description="Publication date, such as 2026-11-16.")
    data: Data = Field(default=Data(), description="The table and how it is read.")
    roles: dict[str, RoleName] = Field(
        default_factory=dict,
        description="Roles of further columns. A column not listed is withheld; publish: groups do not cross it.",
    )
    keep: str | list[str | dict[str, Any]] = Field(
        default_factory=list,
        description="What a release must keep: [peaks, {window: 17:00-20:00}, total=2]. Groups are formed on it.",
    )
    adversary: Adversary = Field(default=Adversary(), description="What an adversary is assumed to know.")
    require: Require = Field(default=Require(), description="What must hold.")
    method: dict[str, Any] | list[dict[str, Any]] = Field(
        default_factory=lambda: {"name": "microaggregation", "k": {"search": [4, 8, 12, 16, 20, 24, 28]}},
        description="A method by name with its parameters, each a value or {search: [...]}; a list of steps, or "
        "{steps: [...]}; or {search: [...]} with alternatives of both kinds.",
    )
    search: Search = Field(default=Search(), description="How much is tried.")
    engine: EnginePart | None = Field(
        default=None,
        description="Where a sharded panel is processed: memory, local or spark. Unset: in memory, as one panel.",
    )
    release: ReleasePart = Field(default=ReleasePart(), description="What is written.")
    seed: int = Field(default=0, ge=0, description="For everything drawn at random, except pseudonyms.")

    @field_validator("method")
    @classmethod
    def _has_no_keep(cls, method: Any) -> Any:
        if _names_keep(method):
            raise ValueError(
                "keep is not a parameter of a method. Write it at the top level, next to method: keep: [...]"
            )
        return method

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `read_panel`, roles included."""
        given: dict[str, Any] = self.data.model_dump(exclude={"path"}, by_alias=True)
        derived = CALENDAR.get(str(given["split"]), ())
        columns = {
            setting: tuple(
                name for name, role in self.roles.items() if ROLE_SETTINGS.get(role) == setting and name not in derived
            )
            for setting in ROLE_SETTINGS.values()
        }
        return given | columns

    @property
    def published(self) -> tuple[str, ...]:
        """Columns that are published alongside the values."""
        return tuple(name for name, role in self.roles.items() if role == "publish")


def _names_keep(method: Any) -> bool:
    """Whether a method, one of its steps, or an alternative of a search has a field `keep`."""
    if isinstance(method, dict):
        inner = [method[name] for name in ("steps", "search") if name in method]
        return "keep" in method or any(map(_names_keep, inner))
    return isinstance(method, list) and any(map(_names_keep, method))


ROLE_SETTINGS = {"quasi-identifier": "quasi", "publish": "quasi", "sensitive": "sensitive", "other": "other"}
"""Roles whose columns are read at all, by their setting; identifiers never are."""


def policy_schema() -> dict[str, Any]:
    """The JSON schema of a policy, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Policy.model_json_schema()}
