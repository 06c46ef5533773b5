"""The certificate of what is about to be released, wherever its rows are."""

from __future__ import annotations

import hashlib
import hmac
import importlib.metadata
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.guarantees import AggregateRule
from shoal.model import Guarantee, Recipe, Risk, Role, Score, Verdict
from shoal.model.keyed_names import JOINABLE
from shoal.model.panel import Origin
from shoal.model.roles import Roles
from shoal.read.options import OPTIONS
from shoal.read.zones import time_texts
from shoal.release import certificate as cert
from shoal.release.datapackage import PACKAGE_FILE, package_bytes
from shoal.release.publishers_word import rough
from shoal.release.signature import signed

# Libraries whose version can change a published value.
_VERSIONS = ("numpy", "numba", "polars", "pyarrow")

# Settings of reading, independent of the data; everything else in `Origin.reading` is counted or found in the data.
_SETTINGS = (*OPTIONS, "quantity_from", "shape")


def certify(
    *,
    recipe: Recipe,
    summary: str,
    guarantees: Sequence[tuple[Guarantee, Verdict]],
    scores: Mapping[str, tuple[Score, str]],
    risks: Mapping[str, tuple[Risk, str]],
    figures: Mapping[str, Any],
    form: cert.FormName,
    counts: cert.CountsPart,
    time: cert.TimePart,
    input: cert.InputPart,
    columns: cert.ColumnsPart,
    pseudonyms: Literal["random", "keyed", "insecure"],
    files: Mapping[str, cert.FilePart],
) -> cert.Certificate:
    """A certificate that is not sealed yet."""
    told = certified_figures(scores, risks)
    return cert.Certificate(
        shoal=importlib.metadata.version("shoal"),
        form=form,
        method=cert.MethodPart(
            name=recipe.method, summary=summary, parameters=recipe.parameters, figures=recipe.figures
        ),
        guarantees=tuple(
            cert.GuaranteePart(
                name=g.name,
                parameters=g.parameters,
                statement=g.statement,
                checked_by="publisher" if g.needs_originals else "anyone",
                verdict=cert.VerdictPart(
                    holds=v.holds, measured=_certified(g, v), required=v.required, witness=v.witness, note=v.note
                ),
            )
            for g, v in guarantees
        ),
        counts=counts,
        time=time,
        input=input,
        columns=columns,
        pseudonyms=pseudonyms,
        pseudonyms_note=JOINABLE if pseudonyms == "keyed" else "",
        files=dict(files),
        utility=told["utility"],
        risk=told["risk"],
        figures=dict(figures),
        versions=dict(_versions()),
    )


@cache
def _versions() -> Mapping[str, str]:
    """The versions that the release was made with; each is looked up in the files of its package."""
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in _VERSIONS}


def _certified(guarantee: Guarantee, verdict: Verdict) -> float | int | None:
    """What was measured; for a share of the originals, only that it is within its limit.

    The largest share of an aggregate times its published total is one subject's own amount.
    """
    of_originals = isinstance(guarantee, AggregateRule) and isinstance(verdict.measured, float) and verdict.holds
    return verdict.required if of_originals else verdict.measured


def certified_figures(
    scores: Mapping[str, tuple[Score, str]], risks: Mapping[str, tuple[Risk, str]]
) -> dict[str, dict[str, Any]]:
    """Scores and risks as a certificate has them, `utility` and `risk`: in three digits."""
    return {
        "utility": {
            name: cert.ScorePart(
                value=rough(s.value),
                goal=s.goal,
                range=(_finite(s.range[0]), _finite(s.range[1])),
                meaning=text,
                unit=s.unit,
            ).model_dump(mode="json")
            for name, (s, text) in scores.items()
        },
        "risk": {name: _risk(risk, meaning) for name, (risk, meaning) in risks.items()},
    }


def write_certificate(
    draft: cert.Certificate,
    folder: Path,
    page: Callable[[Mapping[str, Any]], str] | None,
    sign: str | Path | None = None,
) -> cert.Certificate:
    """Write the description of the tables, the report, if there is one, and then the certificate with its seal.

    If there is a key to `sign` with, the certificate is signed first.
    """
    package = folder / PACKAGE_FILE
    package.write_bytes(package_bytes(draft))
    draft = draft.model_copy(update={"files": draft.files | {package.name: cert.digest_file(package)}})
    if page is not None:
        report = folder / "report.html"
        report.write_text(page(draft.as_dict()), encoding="utf-8")
        draft = draft.model_copy(update={"files": draft.files | {report.name: cert.digest_file(report)}})
    final = (draft if sign is None else signed(draft, Path(sign))).sealed()
    (folder / cert.FILE_NAME).write_bytes(final.as_bytes())
    return final


def input_part(
    origin: Origin | None, *, key: bytes | None, panel_sha256: str | None = None, exact: bool = True
) -> cert.InputPart:
    """The input, with digests under a key that stays with the publisher; without a key there are none.

    A plain digest of readings that someone can guess would confirm the guess. Alongside noise (not `exact`), only the
    settings are stated: rows, and what reading dropped or filled, are exact counts of the data.
    """
    reading = dict(origin.reading) if origin else {}
    return cert.InputPart(
        kind=origin.kind if origin else "array",
        sha256=tuple(keyed_digest(key, digest) for digest in origin.sha256) if origin and key else (),
        rows=origin.n_rows if origin and exact else None,
        reading=reading if exact else {name: reading[name] for name in _SETTINGS if name in reading},
        panel_sha256=keyed_digest(key, panel_sha256) if key and panel_sha256 else None,
    )


def keyed_digest(key: bytes, digest: str) -> str:
    """HMAC-SHA256 of a digest: only the holder of the key can say what it belongs to."""
    return hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()


def withheld(roles: Roles, n_further: int) -> int:
    """How many columns of series are withheld: every one that is not a time or a value; without roles, one more."""
    if roles:
        return sum(role not in (Role.VALUE, Role.TIME) for role in roles.values())
    return 1 + n_further


def time_part(times: NDArray[Any], timezone: str | None) -> cert.TimePart:
    """Which instants are covered: with a zone, as its clock shows them, with the offset; a pure function of both."""
    steps = np.unique(np.diff(times))
    step = _duration(steps[0]) if len(steps) == 1 else None
    first, last = (str(times[at]) if timezone is None else time_texts(times[[at]], timezone)[0] for at in (0, -1))
    return cert.TimePart(first=first, last=last, step=step, timezone=timezone)


def _duration(step: Any) -> str:
    """A step in the largest unit that divides it; a bare number if times are integers."""
    length = int(step.astype(np.int64))
    if step.dtype.kind == "i":
        return str(length)
    units = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("us", 1))
    return next(f"{length // size}{unit}" for unit, size in units if length % size == 0)


def _finite(bound: float) -> float | None:
    return bound if np.isfinite(bound) else None


def _risk(risk: Risk, meaning: str) -> dict[str, Any]:
    """What an attack achieved, in three digits and without the targets."""
    plain = {name: figure for name, figure in asdict(risk).items() if name != "worst" and figure not in (None, "")}
    return {name: _roughly(figure) for name, figure in plain.items()} | {"meaning": meaning}


def _roughly(figure: Any) -> Any:
    if isinstance(figure, dict):
        return {name: _roughly(part) for name, part in figure.items()}
    return rough(figure) if isinstance(figure, float) else figure
