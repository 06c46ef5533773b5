"""The only way out. A candidate that fails a check on the published values does not pass, and nothing is left
half-written.

The path is the same for a candidate in memory and for one in ten thousand shards: visit every shard, check, write, read
back, lint, certify, verify what was written, rename.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.files.whole_folder import folder_beside, whole_folder
from shoal.model import (
    Candidate,
    CandidateShards,
    Events,
    EventsCandidate,
    Guarantee,
    Panel,
    Recipe,
    Release,
    Risk,
    Role,
    Roles,
    Score,
    Suppression,
)
from shoal.model.keyed_names import JOINABLE_COPIES
from shoal.model.reduction import Answer, Reduction
from shoal.release import certificate as cert
from shoal.release.admission import Proposed, add_members, conclude, each, visit
from shoal.release.agreement import new_salt, recipient_key, write_agreement
from shoal.release.certification import certified_figures, certify, input_part, withheld, write_certificate
from shoal.release.copies import keep_copy
from shoal.release.folder import check_target
from shoal.release.forms import form_of
from shoal.release.lint import settle
from shoal.release.lint.file_metadata import judge_files, odd_dates
from shoal.release.opened import ShardedRelease
from shoal.release.openness import EVENTS, affordable, count_figures, counts_alone, tell_what_may_be_told
from shoal.release.options import ReleaseOptions
from shoal.release.private import (
    data_digest,
    finish_map,
    input_key,
    keep_measured,
    kept_with,
    load_or_make_key,
    map_aside,
    open_private,
    who_is_who,
    write_map,
    write_privately,
)
from shoal.release.pseudonyms import name_key, names_of
from shoal.release.publishers_word import (
    refuse_beside_noise,
    tells_exact_figures,
)
from shoal.release.shapes import Shape, shape_like
from shoal.release.suppression import readers_figures, table_by_value
from shoal.release.verification import examine
from shoal.release.written_parts import WritePart, WrittenPart, deal, merge_counts


def release_candidate(
    candidate: Proposed,
    to: str | Path,
    *,
    summary: str,
    scores: Mapping[str, tuple[Score, str]] | None = None,
    risks: Mapping[str, tuple[Risk, str]] | None = None,
    figures: Mapping[str, Any] | None = None,
    measured: Callable[[list[Answer]], Figures] | None = None,
    reductions: Sequence[Reduction] = (),
    page: Callable[[Mapping[str, Any]], str] | None = None,
    options: ReleaseOptions | None = None,
    **given: Any,
) -> Release:
    """Check a candidate and write it as a release folder.

    The folder is written elsewhere, read back and verified as a recipient would, and only then renamed into place.

    Parameters
    ----------
    candidate
        What a method proposes, in memory or in shards.
    to
        The folder to write. For a candidate in shards, it must be on a file system that all workers share.
    summary
        The method in one sentence, for the certificate.
    scores
        Utility figures for the certificate, each with its meaning in words.
    risks
        What attacks achieved, each with its meaning.
    figures
        Aggregates for the report.
    measured
        Computes all three from the answers to `reductions`, once everything is checked; replaces them.
    reductions
        What to compute in each shard during the visit that checks it, after the check has passed.
    page
        Makes the report from the certificate.
    options, given
        `ReleaseOptions`, or its fields by name.
    """
    options = options or ReleaseOptions(**given)
    target = local_path(to, "The release")
    private = None if options.private is None else local_path(options.private, "The private folder")
    _refuse_options(candidate, options)
    guarantees = (*candidate.guarantees, *options.require)
    refuse_beside_noise(guarantees)
    check_target(target, overwrite=options.overwrite)
    looked, find_answers = visit(candidate, guarantees, reductions)
    checked = conclude(candidate, looked, options, {name: risk for name, (risk, _) in (risks or {}).items()})
    verdicts, suppression = checked.verdicts, checked.suppression
    # Nothing is measured before it is checked.
    wanted = Figures(scores or {}, risks or {}, figures or {}) if measured is None else measured(find_answers())
    del find_answers
    told = _told(candidate, guarantees, wanted, suppression, checked.open_bits)
    if checked.dominance is not None and checked.dominance.n_dominated:
        told = replace(told, measured={**told.measured, "dominance": checked.dominance.as_dict()})
    key = _name_key(candidate, target, private, options)
    digest_key = None
    if private is not None:
        keyed = load_or_make_key(private) if options.pseudonyms == "keyed" else None
        digest_key = input_key(options.insecure_seed, keyed)
    parts = deal(candidate, key) if isinstance(candidate, CandidateShards) else [[0]]
    in_parts = len(parts) > 1
    check_target(target, overwrite=options.overwrite)  # again: the folder may have changed meanwhile
    began = time.time()
    with (
        map_aside(private, in_parts=in_parts) as map_place,
        folder_beside(target) as aside,
        whole_folder(target, overwrite=options.overwrite) as folder,
    ):
        work = WritePart(
            folder=str(folder),
            aside=str(aside),
            map_folder=str(map_place) if map_place is not None and in_parts else None,
            key=key,
            file_format=options.format,
            guarantees=guarantees,
            began=began,
            in_parts=in_parts,
            shape=_shape(candidate, options),
        )
        written = _gather(candidate, parts, work)
        if isinstance(candidate, CandidateShards) and work.map_folder is not None and checked.members:
            candidate.map(partial(_keep_names, work, len(parts)))
        files = {name: part for one in written for name, part in one.files.items()}
        draft = certify(
            recipe=told.recipe,
            summary=summary,
            guarantees=tuple(zip(guarantees, verdicts, strict=True)),
            scores=told.scores,
            risks=told.risks,
            figures=told.figures,
            form=written[0].form,
            counts=add_members(merge_counts([one.counts for one in written]), checked.members),
            time=written[0].time,
            input=_input(candidate, guarantees, digest_key),
            columns=written[0].columns.model_copy(update={"withheld": _n_withheld(candidate, written[0])}),
            pseudonyms="insecure" if options.insecure_seed is not None else options.pseudonyms,
            files=dict(sorted(files.items())),
        )
        if options.agreement is not None:
            part = cert.AgreementPart(expires=options.agreement.expires)
            text = write_agreement(options.agreement, draft, folder)
            note = JOINABLE_COPIES if draft.pseudonyms == "keyed" else ""
            more = {"files": draft.files | {text.name: cert.digest_file(text)}, "pseudonyms_note": note}
            draft = draft.model_copy(update={"agreement": part, **more})
        called = {name: getattr(options, name) for name in (*cert.PUBLISHERS_WORDS, "approval")}
        draft = draft.model_copy(update={name: word for name, word in called.items() if word is not None})
        final = write_certificate(draft, folder, page, options.sign)
        # What was meant to be written was checked above; this checks what was written.
        engine = getattr(candidate.store, "engine", None) if isinstance(candidate, CandidateShards) else None
        outcome, _ = examine(folder, engine=engine, lint_follows=True)
        if outcome.findings:
            raise GuaranteeNotMetError(
                f"The written release does not verify: {outcome.findings[-1]}. Nothing was published."
            )
        findings = {finding.name: finding for one in reversed(written) for finding in one.findings}
        if dates := judge_files(0, odd_dates(folder, list(folder.iterdir()), began)):
            findings.setdefault(dates.name, dates)
        if accepted := settle(list(findings.values()), options.accept):
            # Again, so that the report names them too.
            final = write_certificate(draft.model_copy(update={"accepted": accepted}), folder, page, options.sign)
        data_sha256 = data_digest(final.as_dict()["files"])
        if options.agreement is not None and private is not None:
            # Before it is in place: a copy that could not be recognised must not be published.
            keep_copy(private, folder, options.agreement, data_sha256)
        if map_place is not None:
            # Written before the release is in place and moved into place after it: after a kill in between, both can be
            # found.
            kept = kept_with(target, data_sha256, digest_key)
            _keep_map(map_place, candidate, key, kept, in_parts=in_parts)
    if suppression.values and private is not None:
        write_privately(private / f"suppression-{data_sha256[:16]}.csv", table_by_value(suppression))
    if any(told.measured.values()) and private is not None:
        keep_measured(private, data_sha256, told.measured)
    return _release(Path(to), final, candidate, key, suppression, told.measured)


@dataclass(frozen=True)
class Figures:
    """Scores and risks, each with its meaning in words, and aggregates for the report."""

    scores: Mapping[str, tuple[Score, str]]
    risks: Mapping[str, tuple[Risk, str]]
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class _Told(Figures):
    """Figures for the certificate, and those that are for the publisher alone."""

    measured: Mapping[str, Any]
    recipe: Recipe


def _told(
    candidate: Proposed, guarantees: Sequence[Guarantee], wanted: Figures, suppression: Suppression, bits: float
) -> _Told:
    """What may be stated without revealing the originals."""
    scores, risks, figures = wanted.scores, wanted.risks, wanted.figures
    if not tells_exact_figures(guarantees):
        return _Told({}, {}, {}, {}, candidate.recipe)
    everything = certified_figures(scores, risks)
    if isinstance(candidate, EventsCandidate):
        missing = readers_figures(candidate.published, suppression)
        shown = {**figures, **({"suppression": missing} if missing else {}), "left_out": EVENTS}
        return _Told({}, {}, shown, everything, candidate.recipe)
    most, recipe = affordable(lambda: bits, guarantees), candidate.recipe
    counts = counts_alone(recipe.figures)
    n_further = count_figures(recipe.figures) - count_figures(counts)
    told = tell_what_may_be_told(most - n_further, everything["utility"], everything["risk"], figures)
    if n_further and (n_further > most or "left_out" in told[2]):
        # They go first.
        recipe = replace(recipe, figures=counts)
        told = tell_what_may_be_told(most, everything["utility"], everything["risk"], figures)
    return _Told(
        {name: pair for name, pair in scores.items() if name in told[0]},
        {name: pair for name, pair in risks.items() if name in told[1]},
        told[2],
        everything if "left_out" in told[2] else {},
        recipe,
    )


def _gather(candidate: Proposed, parts: Sequence[Sequence[int]], work: WritePart) -> list[WrittenPart]:
    if not isinstance(candidate, CandidateShards):
        return [work(0, [(0, candidate)])]
    if any(len(part) > 1 for part in parts):
        return candidate.store.gather(parts, work)
    # Parts of one shard are written where the shard is: nothing travels.
    part_of = {shard: number for number, (shard,) in enumerate(parts)}
    written = candidate.map(_Alone(part_of, work))
    return [part for (shard,) in parts if (part := written[shard]) is not None]


@dataclass(frozen=True)
class _Alone:
    """A part that is one shard."""

    part_of: Mapping[int, int]
    write: WritePart

    def __call__(self, number: int, candidate: Candidate) -> WrittenPart | None:
        if number not in self.part_of:
            return None  # another shard writes it
        return self.write(self.part_of[number], [(number, candidate)])


def _keep_names(work: WritePart, n_parts: int, number: int, candidate: Candidate) -> None:
    """The map of a shard that writes nothing itself, numbered after the parts."""
    if candidate.private.spread is not None and not candidate.private.spread.is_first:
        work.keep_names(n_parts + number, [who_is_who(work.key, number, candidate)])


def _keep_map(place: Path, candidate: Proposed, key: bytes, kept: Mapping[str, Any], *, in_parts: bool) -> None:
    if in_parts:
        finish_map(place, {**_secrets(candidate), **kept})
    elif isinstance(candidate, CandidateShards):
        tables = candidate.map(partial(who_is_who, key))
        write_map(place, tables, {**_secrets(candidate), **kept})
    else:
        write_map(place, [who_is_who(key, 0, candidate)], {**_secrets(candidate), **kept})


def _release(
    path: Path,
    final: cert.Certificate,
    candidate: Proposed,
    key: bytes,
    suppression: Suppression,
    measured: Mapping[str, Any],
) -> Release:
    if isinstance(candidate, CandidateShards):
        return ShardedRelease(path, final.as_dict(), suppression, measured)
    form = form_of(candidate.published)
    published = form.renamed(candidate.published, names_of(key, 0, candidate))
    return Release(path, final.as_dict(), published, suppression, measured)


def local_path(to: str | Path, what: str) -> Path:
    """The path, absolute; an address of a store is refused."""
    if "://" in str(to):
        raise ParameterError(
            f"{what} is written to a folder, not to an address. Name a folder on a file system that this machine and "
            "all workers share (local, NFS, or a store that is mounted), and copy it from there."
        )
    return Path(os.path.abspath(to))  # noqa: PTH100 - "." must get a name, links must stay links


def _refuse_options(candidate: Proposed, options: ReleaseOptions) -> None:
    if options.agreement is not None and isinstance(candidate, EventsCandidate):
        raise ParameterError(
            "An agreement marks the copy by names and row order, and events have neither. Publish them without one."
        )
    if options.agreement is not None and isinstance(candidate, CandidateShards):
        raise ParameterError(
            "An agreement marks the copy of one recipient, which is made in memory. Leave out the agreement, or the "
            "shards."
        )
    if options.shape not in ("same", "long") and each(candidate, _form_and_slices)[0][0] != "values":
        raise ParameterError(f"--as {options.shape} applies to releases of values of series. Omit it.")
    if options.pseudonyms != "keyed":
        return
    if options.insecure_seed is not None:
        raise ParameterError("Keyed pseudonyms take no seed: they are repeatable by their key.")
    form, sliced = each(candidate, _form_and_slices)[0]
    if form != "values":
        raise ParameterError(f"Keyed pseudonyms apply to releases of values, this one holds {form}. Use random ones.")
    if sliced:
        raise ParameterError(
            "Keyed pseudonyms are for releases with one row for each series; over two releases they would distinguish "
            "slices of one series, or fictive series. Use random ones."
        )


def _shape(candidate: Proposed, options: ReleaseOptions) -> Shape:
    """The shape to write values in as well."""
    if options.shape != "same":
        return options.shape
    whole = candidate.panel if isinstance(candidate, CandidateShards) else candidate.private.original
    return shape_like(whole.origin)


def _form_and_slices(number: int, candidate: Candidate | EventsCandidate) -> tuple[str, bool]:
    sliced = isinstance(candidate, Candidate) and candidate.private.stands_for is not None
    return form_of(candidate.published).name, sliced


def _name_key(candidate: Proposed, target: Path, private: Path | None, options: ReleaseOptions) -> bytes:
    """The secret key of the pseudonyms: the stored one, or one that is used once."""
    if private is not None:
        open_private(private, target)
    if options.agreement is not None and private is not None:
        salt = b"" if options.pseudonyms == "keyed" else new_salt(options.insecure_seed)
        return recipient_key(load_or_make_key(private), options.agreement.recipient, salt)
    if options.pseudonyms == "keyed" and private is not None:
        return load_or_make_key(private)
    return name_key(options.insecure_seed)


def _secrets(candidate: Proposed) -> dict[str, Any]:
    if isinstance(candidate, EventsCandidate):
        return {}
    return candidate.secrets if isinstance(candidate, CandidateShards) else dict(candidate.private.secrets)


def _input(candidate: Proposed, guarantees: Sequence[Guarantee], key: bytes | None) -> cert.InputPart:
    """The input, with its digests under a key if there is one."""
    exact = tells_exact_figures(guarantees)
    key = key if exact else None
    if isinstance(candidate, CandidateShards):
        return input_part(candidate.panel.origin, key=key, exact=exact)
    original = candidate.private.original
    panel_sha256 = original.digest() if key and isinstance(original, Panel) else None
    return input_part(original.origin, key=key, panel_sha256=panel_sha256, exact=exact)


def _n_withheld(candidate: Proposed, written: WrittenPart) -> int:
    """Number of withheld columns: all except times, values and those that are published."""
    if isinstance(candidate, CandidateShards):
        whole = candidate.panel.whole
        further = (not whole.one_series_per_subject) + len(whole.attributes) + len(whole.sensitive)
        return withheld(whole.roles, further) + written.columns.withheld + _n_derived(candidate, whole.roles)
    original = candidate.private.original
    return _withheld(original) + written.columns.withheld + _n_derived(candidate, original.roles)


def _n_derived(candidate: Proposed, roles: Roles) -> int:
    """Published attributes that are not columns of the input, such as the weekday, so they cannot be withheld."""
    published = candidate.recipe.parameters.get("attributes", ())
    return sum(name not in roles for name in published) if roles else 0


def _withheld(original: Panel | Events) -> int:
    """Number of withheld columns: all except times and values."""
    if isinstance(original, Events):
        return len(original.roles.columns(Role.IDENTIFIER))
    further = (original.subjects is not None) + len(original.attributes) + len(original.sensitive)
    return withheld(original.roles, further)
