"""The only way out. What does not check on the published values does not pass, and nothing is left half-written.

There is one way, for a candidate in memory and for one in ten thousand shards: look at every shard, check, write, read
back, lint, certify, verify what was written, rename.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.files.whole_folder import folder_beside, whole_folder
from shoal.guarantees import KAnonymity, NoGuarantee
from shoal.guarantees.crowds import crowd_sizes, published_classes
from shoal.methods.remedies import reach_of
from shoal.model import (
    Candidate,
    CandidateShards,
    Events,
    EventsCandidate,
    Guarantee,
    Panel,
    Release,
    Risk,
    Role,
    Roles,
    Score,
    Suppression,
    Verdict,
)
from shoal.model.keyed_names import JOINABLE_COPIES
from shoal.model.reduction import Answer, Reduction, Reductions, Together
from shoal.release import certificate as cert
from shoal.release.agreement import new_salt, recipient_key, write_agreement
from shoal.release.certification import certified_figures, certify, input_part, time_part, withheld, write_certificate
from shoal.release.copies import keep_copy
from shoal.release.event_originals import refuse_late
from shoal.release.folder import check_target
from shoal.release.forms import form_of
from shoal.release.lint import settle
from shoal.release.lint.file_metadata import judge_files, odd_dates
from shoal.release.opened import ShardedRelease
from shoal.release.openness import EVENTS, affordable, sampled_bits, tell_what_may_be_told
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
    is_by_mechanism,
    judge,
    refuse_beside_noise,
    refuse_unjudged,
    tells_exact_figures,
)
from shoal.release.shapes import Shape, shape_like
from shoal.release.suppression import readers_figures, refuse_suppression, suppression_of, table_by_value
from shoal.release.verification import examine, positions
from shoal.release.written_parts import WritePart, WrittenPart, deal, merge_counts

Proposed = Candidate | EventsCandidate | CandidateShards
R = TypeVar("R")


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
        The folder to write. Of a candidate in shards it must lie on a file system that all workers share.
    summary
        The method in one sentence, for the certificate.
    scores
        Utility figures for the certificate, each with its meaning in words.
    risks
        What attacks achieved, likewise.
    figures
        Aggregates for the report.
    measured
        Takes all three once everything is checked, in their place; from the answers to `reductions`.
    reductions
        What is to be found in shards, each in the visit that checks it: after the check, and not where that fails.
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
    looked, find_answers = _visit(candidate, guarantees, reductions)
    checked = _concluded(candidate, looked, options, {name: risk for name, (risk, _) in (risks or {}).items()})
    verdicts, suppression = checked.verdicts, checked.suppression
    # Nothing is measured before it is checked.
    wanted = Figures(scores or {}, risks or {}, figures or {}) if measured is None else measured(find_answers())
    del find_answers
    told = _told(candidate, guarantees, wanted, suppression, checked.open_bits)
    key = _name_key(candidate, target, private, options)
    digest_key = None
    if private is not None:
        keyed = load_or_make_key(private) if options.pseudonyms == "keyed" else None
        digest_key = input_key(options.insecure_seed, keyed)
    parts = deal(candidate, key) if isinstance(candidate, CandidateShards) else [[0]]
    in_parts = len(parts) > 1
    check_target(target, overwrite=options.overwrite)  # once more: what was there first may be another by now
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
        files = {name: part for one in written for name, part in one.files.items()}
        draft = certify(
            recipe=candidate.recipe,
            summary=summary,
            guarantees=tuple(zip(guarantees, verdicts, strict=True)),
            scores=told.scores,
            risks=told.risks,
            figures=told.figures,
            form=written[0].form,
            counts=merge_counts([one.counts for one in written]),
            time=time_part(written[0].times, written[0].timezone),
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
            # Once more, so that the report names them too.
            final = write_certificate(draft.model_copy(update={"accepted": accepted}), folder, page, options.sign)
        data_sha256 = data_digest(final.as_dict()["files"])
        if options.agreement is not None and private is not None:
            # Before it is in place: a copy that cannot be known again must not leave.
            keep_copy(private, folder, options.agreement, data_sha256)
        if map_place is not None:
            # Before the release is in place, and put in its own place after it: a kill between leaves both to be found.
            kept = kept_with(target, data_sha256, digest_key)
            _keep_map(map_place, candidate, key, kept, in_parts=in_parts)
    if suppression.values and private is not None:
        write_privately(private / f"suppression-{data_sha256[:16]}.csv", table_by_value(suppression))
    if any(told.measured.values()) and private is not None:
        keep_measured(private, data_sha256, told.measured)
    return _release(Path(to), final, candidate, key, suppression, told.measured)


@dataclass(frozen=True)
class Checked:
    """What a candidate that may leave was found to keep."""

    verdicts: tuple[Verdict, ...]
    """One for each guarantee: those of the candidate, then those required beyond them."""
    suppression: Suppression
    open_bits: float


def check_candidate(
    candidate: Proposed, options: ReleaseOptions | None = None, risks: Mapping[str, Risk] | None = None
) -> Checked:
    """Whether a candidate may leave; raises GuaranteeNotMetError where it may not."""
    options = options or ReleaseOptions()
    looked = _each(candidate, partial(_look_at, (*candidate.guarantees, *options.require)))
    return _concluded(candidate, looked, options, risks or {})


def _concluded(
    candidate: Proposed, looked: Sequence[_Looked], options: ReleaseOptions, risks: Mapping[str, Risk]
) -> Checked:
    guarantees = (*candidate.guarantees, *options.require)
    if why := next((one.why for one in looked if one.why), None):
        raise GuaranteeNotMetError(f"{why} Nothing was written.")
    if unjudged := refuse_unjudged(guarantees, risks, options.risk_limit):
        raise GuaranteeNotMetError(unjudged)
    found = {g: g.merge([one.verdicts[at] for one in looked]) for at, g in enumerate(guarantees)}
    verdicts = tuple(judge(guarantee, found.__getitem__, risks, options.risk_limit) for guarantee in guarantees)
    for guarantee, verdict in zip(guarantees, verdicts, strict=True):
        if not verdict.holds:
            raise GuaranteeNotMetError(refusal(guarantee, verdict, of_events=isinstance(candidate, EventsCandidate)))
    suppression = reduce(Suppression.__add__, [one.suppression for one in looked])
    if too_much := refuse_suppression(suppression, options.suppression_limit, candidate.recipe):
        raise GuaranteeNotMetError(f"{too_much} Nothing was written.")
    return Checked(verdicts, suppression, looked[0].open_bits)


@dataclass(frozen=True)
class _Looked:
    """What there is to know of one shard before anything is written."""

    why: str | None
    verdicts: tuple[Verdict, ...]
    suppression: Suppression
    open_bits: float


def _look_at(guarantees: Sequence[Guarantee], number: int, candidate: Candidate | EventsCandidate) -> _Looked:
    form = form_of(candidate.published)
    # What a mechanism publishes may have noisy counts.
    why = None if is_by_mechanism(guarantees) else form.refuse(candidate.published, candidate.private)
    why = why or _refuse_fictive(candidate, guarantees) or _refuse_crossing(candidate)
    why = why or _refuse_attributes(candidate, guarantees)
    if isinstance(candidate, EventsCandidate):
        why = why or refuse_late(candidate.private, reach_of(candidate.recipe.parameters))
    verdicts = tuple(g.check(candidate) for g in guarantees) if why is None else ()
    bits = sampled_bits(candidate) if number == 0 and isinstance(candidate, Candidate) and why is None else 0.0
    return _Looked(why, verdicts, suppression_of(candidate), bits)


@dataclass(frozen=True)
class _Visited:
    """What was found in one shard; of one that does not check nothing else."""

    looked: _Looked
    found: tuple[Any, ...] = ()


@dataclass(frozen=True)
class _Visit:
    """Check a shard and find everything else that is asked for while it is there."""

    guarantees: Sequence[Guarantee]
    further: Together

    def __call__(self, number: int, candidate: Candidate | EventsCandidate) -> _Visited:
        looked = _look_at(self.guarantees, number, candidate)
        if looked.why or any(verdict.outcome == "does not hold" for verdict in looked.verdicts):
            return _Visited(looked)
        return _Visited(looked, self.further(number, candidate) if isinstance(candidate, Candidate) else ())


def _visit(
    candidate: Proposed, guarantees: Sequence[Guarantee], reductions: Sequence[Reduction]
) -> tuple[list[_Looked], Callable[[], list[Answer]]]:
    """What every shard keeps, and what gives the answers once that is enough."""
    several = Reductions(reductions)
    try:
        visited = _each(candidate, _Visit(guarantees, several.together))
    except ParameterError:
        if not isinstance(candidate, CandidateShards) or not reductions:
            raise
        # Together more than may come to one place: checked first, then the others, fewer at a time.
        return _each(candidate, partial(_look_at, guarantees)), lambda: candidate.reduce(*reductions)
    return [one.looked for one in visited], lambda: several.answers([one.found for one in visited])


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


def _told(
    candidate: Proposed, guarantees: Sequence[Guarantee], wanted: Figures, suppression: Suppression, bits: float
) -> _Told:
    """What may be told without telling about the originals."""
    scores, risks, figures = wanted.scores, wanted.risks, wanted.figures
    if not tells_exact_figures(guarantees):
        return _Told({}, {}, {}, {})
    everything = certified_figures(scores, risks)
    if isinstance(candidate, EventsCandidate):
        missing = readers_figures(candidate.published, suppression)
        shown = {**figures, **({"suppression": missing} if missing else {}), "left_out": EVENTS}
        return _Told({}, {}, shown, everything)
    most = affordable(lambda: bits, guarantees)
    told = tell_what_may_be_told(most, everything["utility"], everything["risk"], figures)
    return _Told(
        {name: pair for name, pair in scores.items() if name in told[0]},
        {name: pair for name, pair in risks.items() if name in told[1]},
        told[2],
        everything if "left_out" in told[2] else {},
    )


def _each(candidate: Proposed, work: Callable[[int, Any], R]) -> list[R]:
    return candidate.map(work) if isinstance(candidate, CandidateShards) else [work(0, candidate)]


def _gather(candidate: Proposed, parts: Sequence[Sequence[int]], work: WritePart) -> list[WrittenPart]:
    if not isinstance(candidate, CandidateShards):
        return [work(0, [(0, candidate)])]
    if any(len(part) > 1 for part in parts):
        return candidate.store.gather(parts, work)
    # Parts of one shard are written where the shard is: nothing travels.
    part_of = {shard: number for number, (shard,) in enumerate(parts)}
    written = candidate.map(_Alone(part_of, work))
    return [written[shard] for (shard,) in parts]


@dataclass(frozen=True)
class _Alone:
    """A part that is one shard."""

    part_of: Mapping[int, int]
    write: WritePart

    def __call__(self, number: int, candidate: Candidate) -> WrittenPart:
        return self.write(self.part_of[number], [(number, candidate)])


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
    if options.shape not in ("same", "long") and _each(candidate, _form_and_slices)[0][0] != "values":
        raise ParameterError(f"--as {options.shape} applies to releases of values of series. Omit it.")
    if options.pseudonyms != "keyed":
        return
    if options.insecure_seed is not None:
        raise ParameterError("Keyed pseudonyms take no seed: they are repeatable by their key.")
    form, sliced = _each(candidate, _form_and_slices)[0]
    if form != "values":
        raise ParameterError(f"Keyed pseudonyms apply to releases of values, this one holds {form}. Use random ones.")
    if sliced:
        raise ParameterError(
            "Keyed pseudonyms are for releases with one row for each series; over two releases they would tell slices "
            "of one series, or fictive series, apart. Use random ones."
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


def _refuse_fictive(candidate: Candidate | EventsCandidate, guarantees: Sequence[Guarantee]) -> str | None:
    """Fictive series hide nobody: where there are some, no crowd may be promised."""
    if isinstance(candidate, EventsCandidate) or not (candidate.stands_for < 0).any():
        return None
    promised = [guarantee.name for guarantee in guarantees if not isinstance(guarantee, NoGuarantee)]
    return f"Fictive series would count towards the crowd of {promised[0]}." if promised else None


def _refuse_crossing(candidate: Candidate | EventsCandidate) -> str | None:
    """Why what would be published and what analysts were shown before leave too small a crowd together, if they do."""
    if isinstance(candidate, EventsCandidate) or candidate.private.shown is None:
        return None
    required = int(candidate.guarantee.parameters.get("k", 1))
    originals = candidate.stands_for
    classes, shown = published_classes(candidate.curves), candidate.private.shown[originals]
    subjects = candidate.private.original.subject_codes[originals]
    both = np.unique(np.stack([classes, shown]), axis=1, return_inverse=True)[1].reshape(-1)
    crowds = crowd_sizes(both, subjects)
    if (smallest := int(crowds.min())) >= required:
        return None
    return (
        f"Together with what analysts were shown, this leaves {int((crowds < required).sum())} series in crowds that "
        f"are too small: the smallest has {smallest}, {required} are promised. Form the groups within those shown: "
        "microaggregation does so by a metric learned from them, or by its parameter within."
    )


def _refuse_attributes(candidate: Candidate | EventsCandidate, guarantees: Sequence[Guarantee]) -> str | None:
    """Attributes leave only where the recipe names them and every guarantee that anyone can check counts them."""
    if isinstance(candidate, EventsCandidate) or not isinstance(candidate.published, Panel):
        return None
    attributes = candidate.published.attributes
    if set(attributes) != set(candidate.recipe.parameters.get("attributes", ())):
        return f"{len(attributes)} attribute(s) would be published, and the recipe names others."
    blind = [g.name for g in guarantees if not isinstance(g, KAnonymity) and not g.needs_originals]
    return f"Attributes would be published that {blind[0]} does not look at." if attributes and blind else None


def refusal(guarantee: Guarantee, verdict: Verdict, *, of_events: bool = False) -> str:
    """Why the gate stays shut, in one line."""
    where = ""
    if isinstance(verdict.witness, int):
        what = "event row" if of_events else "series position"
        where = f", first at {what} {verdict.witness}"
    elif verdict.witness:
        where = f", first at {positions(verdict.witness)}"
    why = f" ({verdict.note})" if verdict.note and verdict.outcome != "not judged" else ""
    return f"{guarantee.name} {verdict.words}{where}{why}. Nothing was written."


def _name_key(candidate: Proposed, target: Path, private: Path | None, options: ReleaseOptions) -> bytes:
    """The secret of the names: the one that is kept, or one that is used once."""
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
    """What went in, and its digests under a key, if there is one."""
    exact = tells_exact_figures(guarantees)
    key = key if exact else None
    if isinstance(candidate, CandidateShards):
        return input_part(candidate.panel.origin, key=key, exact=exact)
    original = candidate.private.original
    panel_sha256 = original.digest() if key and isinstance(original, Panel) else None
    return input_part(original.origin, key=key, panel_sha256=panel_sha256, exact=exact)


def _n_withheld(candidate: Proposed, written: WrittenPart) -> int:
    """How many columns stay behind: every one that is not a time or a value, without those that are published."""
    if isinstance(candidate, CandidateShards):
        whole = candidate.panel.whole
        further = (not whole.one_series_per_subject) + len(whole.attributes) + len(whole.sensitive)
        return withheld(whole.roles, further) + written.columns.withheld + _n_derived(candidate, whole.roles)
    original = candidate.private.original
    return _withheld(original) + written.columns.withheld + _n_derived(candidate, original.roles)


def _n_derived(candidate: Proposed, roles: Roles) -> int:
    """Published attributes that are no columns of the input, such as the weekday: they are not there to be withheld."""
    published = candidate.recipe.parameters.get("attributes", ())
    return sum(name not in roles for name in published) if roles else 0


def _withheld(original: Panel | Events) -> int:
    """How many columns stay behind: every one that is not a time or a value."""
    if isinstance(original, Events):
        return len(original.roles.columns(Role.IDENTIFIER))
    further = (original.subjects is not None) + len(original.attributes) + len(original.sensitive)
    return withheld(original.roles, further)
