"""The gate for what lies in blocks on an engine: a release in parts, checked, written and read back where the rows are.

The order is that of the gate in memory. Nothing appears under the target unless everything checks; tasks write their
parts to a hidden folder beside it, the driver gets digests and counts, and the certificate comes last.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoal.engines.blocks import BlockCandidate
from shoal.engines.checks import check
from shoal.engines.pseudonyms import fresh_key
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.methods.instants import positions
from shoal.model import EventTables, Guarantee, Published, Release, Risk, Score, Suppression
from shoal.release import certificate as cert
from shoal.release.certifying import certified_figures, certify, input_part, time_part, withheld, write_certificate
from shoal.release.folder import check_target, folder_beside, whole_folder
from shoal.release.gate import refusal
from shoal.release.lint import check_accepted, settle
from shoal.release.loading import load_release
from shoal.release.openness import affordable, tell_what_may_be_told
from shoal.release.parts_counts import count_subjects, sizes_of
from shoal.release.parts_lint import WrittenRelease, lint_parts
from shoal.release.parts_openness import open_bits_of
from shoal.release.parts_private import finish_map
from shoal.release.parts_refusing import refuse_blocks
from shoal.release.parts_writing import PART_BYTES, bits_for, write_parts
from shoal.release.private import data_digest, input_key, kept_with, load_or_make_key, map_aside, open_private
from shoal.release.publishers_word import judge, refuse_unjudged
from shoal.release.suppression import LIMIT, refuse_suppression, suppression_of
from shoal.release.values import Grouped, count_groups, value_columns
from shoal.release.verification import examine


class PartsRelease(Release):
    """A release in parts. What is published is read from the folder when it is asked for, where it fits into memory.

    Parameters
    ----------
    path
        The folder.
    certificate
        The content of `release.json`.
    suppression
        As in `Release`.
    """

    def __init__(
        self,
        path: Path,
        certificate: dict[str, Any],
        suppression: Suppression | None = None,
        measured: Mapping[str, Any] | None = None,
    ) -> None:
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "certificate", certificate)
        object.__setattr__(self, "suppression", suppression)
        object.__setattr__(self, "measured", measured or {})

    @cached_property
    def published(self) -> Published:
        """All of it in memory, as `load_release` does."""
        found = load_release(self.path).published
        assert not isinstance(found, EventTables)
        return found

    def __repr__(self) -> str:
        counts = self.certificate["counts"]
        n_parts = sum("/" in name for name in self.certificate["files"])
        return f"PartsRelease({str(self.path)!r}, {counts['series']} series in {n_parts} file(s))"


def release_blocks(
    candidate: BlockCandidate,
    to: str | Path,
    *,
    summary: str,
    require: Sequence[Guarantee] = (),
    scores: Mapping[str, tuple[Score, str]] | None = None,
    risks: Mapping[str, tuple[Risk, str]] | None = None,
    risk_limit: float | None = None,
    suppression_limit: float = LIMIT,
    figures: Mapping[str, Any] | None = None,
    page: Callable[[Mapping[str, Any]], str] | None = None,
    pseudonyms: Literal["random", "keyed"] = "random",
    private: str | Path | None = None,
    overwrite: bool = False,
    insecure_seed: int | None = None,
    accept: Sequence[str] = (),
    part_bytes: int = PART_BYTES,
) -> PartsRelease:
    """Check a candidate on its engine and write it as a release folder with tables in parts.

    Parameters are those of `release_candidate`. The folder must lie on a file system that this machine and all workers
    share; so must `private`. `part_bytes` is about how many bytes of values a part holds.
    """
    target = local_path(to, "The release")
    if pseudonyms not in ("random", "keyed"):
        raise ParameterError("pseudonyms must be 'random' or 'keyed'.")
    if pseudonyms == "keyed" and private is None:
        raise ParameterError("Keyed pseudonyms need a private folder for their key: give --private DIR.")
    kept = None if private is None else local_path(private, "The private folder")
    check_accepted(accept)
    check_target(target, overwrite=overwrite)
    guarantees = (*candidate.guarantees, *require)
    if why := refuse_blocks(candidate):
        raise GuaranteeNotMetError(f"{why} Nothing was written.")
    achieved = {name: risk for name, (risk, _) in (risks or {}).items()}
    if unjudged := refuse_unjudged(guarantees, achieved, risk_limit):
        raise GuaranteeNotMetError(unjudged)
    verdicts = [judge(guarantee, lambda g: check(g, candidate), achieved, risk_limit) for guarantee in guarantees]
    for guarantee, verdict in zip(guarantees, verdicts, strict=True):
        if not verdict.holds:
            raise GuaranteeNotMetError(refusal(guarantee, verdict))
    suppression = suppression_of(candidate)
    if too_much := refuse_suppression(suppression, suppression_limit, candidate.recipe):
        raise GuaranteeNotMetError(f"{too_much} Nothing was written.")
    measured: dict[str, Any] = {}
    all_of_them = certified_figures(scores or {}, risks or {})
    most = affordable(lambda: open_bits_of(candidate), guarantees)
    told = tell_what_may_be_told(most, all_of_them["utility"], all_of_them["risk"], figures or {})
    if "left_out" in told[2]:
        measured = all_of_them
    scores = {name: pair for name, pair in (scores or {}).items() if name in told[0]}
    risks = {name: pair for name, pair in (risks or {}).items() if name in told[1]}
    figures = told[2]
    key = _key(candidate, target, pseudonyms, kept, insecure_seed)
    of_input = None if kept is None else input_key(insecure_seed, key if pseudonyms == "keyed" else None)
    engine = candidate.panel.engine
    began = time.time()
    # Files are written in a third folder: what a task left there that was given up is not in the release.
    with (
        map_aside(kept, in_parts=True) as map_folder,
        folder_beside(target) as aside,
        whole_folder(target, overwrite=overwrite) as partial,
    ):
        written = write_parts(candidate, key, partial, aside, map_folder, bits=bits_for(candidate, part_bytes))
        if written.n_series != candidate.n_series:
            raise GuaranteeNotMetError(
                f"The engine wrote {written.n_series} series, the candidate has {candidate.n_series}. "
                "Nothing was written."
            )
        counts = _counts(candidate, written.n_missing)
        draft = certify(
            recipe=candidate.recipe,
            summary=summary,
            guarantees=tuple(zip(guarantees, verdicts, strict=True)),
            scores=scores or {},
            risks=risks or {},
            figures=figures or {},
            form=candidate.form,
            counts=counts,
            time=time_part(candidate.clock.times, candidate.clock.timezone),
            input=input_part(candidate.panel.origin, key=of_input),
            columns=_columns(candidate),
            pseudonyms="insecure" if insecure_seed is not None else pseudonyms,
            files=written.files,
        )
        final = write_certificate(draft, partial, page)
        # What was meant to be written was checked above; this checks what was written.
        outcome, _ = examine(partial, engine=engine, lint_follows=True)
        if not outcome.holds:
            raise GuaranteeNotMetError(
                f"The written release does not verify: {outcome.findings[-1]}. Nothing was published."
            )
        found = lint_parts(
            WrittenRelease(
                folder=partial,
                candidate=candidate,
                guarantees=guarantees,
                key=key,
                began=began,
                parts=tuple(written.files),
                counts=counts,
            )
        )
        if accepted := settle(found, accept):
            # Once more, so that the report names them too.
            final = write_certificate(draft.model_copy(update={"accepted": accepted}), partial, page)
        if map_folder is not None:
            data_sha256 = data_digest(final.as_dict()["files"])
            finish_map(map_folder, {**candidate.secrets, **kept_with(target, data_sha256, of_input)})
    return PartsRelease(Path(to), final.as_dict(), suppression, measured)


def local_path(to: str | Path, what: str) -> Path:
    """The path, absolute; an address of a store is refused."""
    if "://" in str(to):
        raise ParameterError(
            f"{what} is written to a folder, not to an address. Name a folder on a file system that this machine and "
            "all workers share (local, NFS, or a store that is mounted), and copy it from there."
        )
    return Path(os.path.abspath(to))  # noqa: PTH100 - "." must get a name, links must stay links


def _key(
    candidate: BlockCandidate, target: Path, kind: Literal["random", "keyed"], private: Path | None, seed: int | None
) -> bytes:
    """The secret of the names: the one that is kept, or one that is used once."""
    if kind == "keyed" and seed is not None:
        raise ParameterError("Keyed pseudonyms take no seed: they are repeatable by their key.")
    if kind == "keyed" and candidate.form != "values":
        raise ParameterError(
            f"Keyed pseudonyms are for releases of values, this one is of {candidate.form}. Use random ones."
        )
    if kind == "keyed" and candidate.n_published is not None:
        raise ParameterError(
            "Keyed pseudonyms are for releases with one row for each series; over two releases they would tell slices "
            "of one series, or fictive series, apart. Use random ones."
        )
    if private is not None:
        open_private(private, target)
        if kind == "keyed":
            return load_or_make_key(private)
    if seed is not None:
        return hashlib.sha256(f"shoal insecure seed {seed}".encode()).digest()
    return fresh_key()


def _counts(candidate: BlockCandidate, n_missing: int) -> cert.CountsPart:
    engine, panel = candidate.panel.engine, candidate.panel
    grouped: Grouped = "instants" if candidate.recipe.method == "nlk" else "series"
    whole = candidate.n_published is None
    return count_groups(
        sizes_of(candidate.published, grouped),
        grouped,
        series=candidate.n_series,
        subjects=panel.n_subjects if whole else count_subjects(engine, candidate.published.table),
        instants=candidate.clock.n_instants,
        channels=1 if candidate.form == "envelopes" else candidate.clock.n_channels,
        missing=n_missing,
    )


def _columns(candidate: BlockCandidate) -> cert.ColumnsPart:
    panel, channels = candidate.panel, candidate.clock.channels
    n_withheld = withheld(
        panel.roles, (not panel.one_series_per_subject) + len(panel.attributes) + len(panel.sensitive)
    )
    if candidate.form == "envelopes":
        times = candidate.clock.times
        spelled = panel.clock.times[
            positions("pattern_instants", candidate.recipe.parameters.get("pattern_instants"), panel.clock.n_instants)
        ]
        more = panel.clock.n_instants != len(np.union1d(spelled, times))
        return cert.ColumnsPart(
            published=("id", "time", "low", "high", "level", "pattern"),
            channels=("value",),
            pattern_times=() if np.array_equal(spelled, times) else tuple(str(t) for t in spelled),
            word_instants=panel.clock.n_instants if more else None,
            withheld=n_withheld,
        )
    return cert.ColumnsPart(published=("id", "time", *value_columns(channels)), channels=channels, withheld=n_withheld)
