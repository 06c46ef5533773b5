"""The only door out. What does not check on the published values does not pass, and nothing is left half-written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.guarantees import NoGuarantee
from shoal.guarantees.crowds import crowd_sizes, published_classes
from shoal.model import (
    Candidate,
    Events,
    EventsCandidate,
    EventTables,
    Guarantee,
    Panel,
    Published,
    Release,
    Risk,
    Role,
    Score,
    Verdict,
)
from shoal.model.keyed_names import JOINABLE_COPIES
from shoal.release import certificate as cert
from shoal.release.agreement import Agreement, new_salt, recipient_key, write_agreement
from shoal.release.certifying import certified_figures, certify, input_part, time_part, withheld, write_certificate
from shoal.release.copies import keep_copy
from shoal.release.event_originals import refuse_late
from shoal.release.files import FileFormat
from shoal.release.folder import check_target, whole_folder
from shoal.release.form import Form
from shoal.release.forms import form_of
from shoal.release.lint import Written, check_accepted, lint, settle
from shoal.release.openness import EVENTS, affordable, open_bits, tell_what_may_be_told
from shoal.release.private import (
    input_key,
    kept_with,
    load_or_make_key,
    map_aside,
    open_private,
    write_map,
    write_privately,
)
from shoal.release.pseudonyms import Pseudonyms
from shoal.release.publishers_word import (
    is_by_mechanism,
    judge,
    refuse_beside_noise,
    refuse_unjudged,
    tells_exact_figures,
)
from shoal.release.suppression import (
    LIMIT,
    readers_figures,
    refuse_suppression,
    suppression_of,
    table_by_value,
)
from shoal.release.verification import examine, positions


def release_candidate(
    candidate: Candidate | EventsCandidate,
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
    file_format: FileFormat = "parquet",
    pseudonyms: Literal["random", "keyed"] = "random",
    private: str | Path | None = None,
    overwrite: bool = False,
    insecure_seed: int | None = None,
    accept: Sequence[str] = (),
    agreement: Agreement | None = None,
) -> Release:
    """Check a candidate and write it as a release folder.

    The folder is written aside, read back and verified as a recipient would, and only then renamed into place.

    Parameters
    ----------
    candidate
        What a method proposes.
    to
        The folder to write.
    summary
        The method in one sentence, for the certificate.
    require
        Guarantees asked for beyond those the method aims at.
    scores
        Utility figures for the certificate, each with its meaning in words.
    risks
        What attacks achieved, likewise.
    risk_limit
        What the upper end of no attack's interval may exceed. A candidate that aims at no guarantee is refused without
        risks, without a limit, and above it; for others what they aim at decides.
    suppression_limit
        The largest share of the originals that the method may have left out.
    figures
        Aggregates for the report.
    page
        Makes the report from the certificate.
    file_format
        "parquet", or "csv" for readers without a Parquet library.
    pseudonyms
        "random", or "keyed" with the key in `private`: anyone can join releases made with one key.
    private
        Where the map of pseudonyms, the group labels and the key go. Without it they are forgotten.
    overwrite
        Replace an earlier release there.
    insecure_seed
        Repeatable pseudonyms, for tests only; the certificate says so.
    accept
        Names of findings of the side-channel lint that do not stop the release; the certificate says which there were.
    agreement
        For whom the release is: adds the text of the agreement, and names and an order of rows of this recipient's own.
    """
    target = Path(os.path.abspath(to))  # noqa: PTH100 - "." must get a name, links must stay links
    if file_format not in ("parquet", "csv"):
        raise ParameterError("format must be 'parquet' or 'csv'.")
    if pseudonyms == "keyed" and private is None:
        raise ParameterError("Keyed pseudonyms need a private folder for their key: give --private DIR.")
    if agreement is not None and private is None:
        raise ParameterError("A copy for one recipient needs a private folder to know it again: give --private DIR.")
    if agreement is not None and isinstance(candidate, EventsCandidate):
        raise ParameterError(
            "An agreement marks the copy by names and order of rows, and events have neither. Publish them without."
        )
    check_accepted(accept)
    guarantees = (*candidate.guarantees, *require)
    refuse_beside_noise(guarantees)
    check_target(target, overwrite=overwrite)
    form = form_of(candidate.published)
    # What a mechanism publishes may have noisy counts.
    why = None if is_by_mechanism(guarantees) else form.refuse(candidate.published, candidate.private)
    why = why or _refuse_fictive(candidate, guarantees) or _refuse_crossing(candidate)
    if isinstance(candidate, EventsCandidate):
        why = why or refuse_late(candidate.private, int(candidate.recipe.parameters.get("window", 1)))
    if why:
        raise GuaranteeNotMetError(f"{why} Nothing was written.")
    achieved = {name: risk for name, (risk, _) in (risks or {}).items()}
    if unjudged := refuse_unjudged(guarantees, achieved, risk_limit):
        raise GuaranteeNotMetError(unjudged)
    verdicts = [judge(guarantee, lambda g: g.check(candidate), achieved, risk_limit) for guarantee in guarantees]
    for guarantee, verdict in zip(guarantees, verdicts, strict=True):
        if not verdict.holds:
            raise GuaranteeNotMetError(refusal(guarantee, verdict, of_events=isinstance(candidate, EventsCandidate)))
    suppression = suppression_of(candidate)
    if too_much := refuse_suppression(suppression, suppression_limit, candidate.recipe):
        raise GuaranteeNotMetError(f"{too_much} Nothing was written.")
    measured: dict[str, Any] = {}
    if not tells_exact_figures(guarantees):
        scores = risks = figures = None
    elif isinstance(candidate, EventsCandidate):
        missing = readers_figures(candidate.published, suppression)
        measured, scores, risks = certified_figures(scores or {}, risks or {}), None, None
        figures = {**(figures or {}), **({"suppression": missing} if missing else {}), "left_out": EVENTS}
    else:
        all_of_them = certified_figures(scores or {}, risks or {})
        most = affordable(lambda: open_bits(candidate), guarantees)
        told = tell_what_may_be_told(most, all_of_them["utility"], all_of_them["risk"], figures or {})
        if "left_out" in told[2]:
            measured = all_of_them
        scores = {name: pair for name, pair in (scores or {}).items() if name in told[0]}
        risks = {name: pair for name, pair in (risks or {}).items() if name in told[1]}
        figures = told[2]
    names = _names(form, candidate, target, pseudonyms, private, insecure_seed, agreement)
    key = None
    if private is not None:
        key = input_key(insecure_seed, load_or_make_key(Path(private)) if pseudonyms == "keyed" else None)
    began = time.time()
    with (
        map_aside(None if private is None else Path(private)) as aside,
        whole_folder(target, overwrite=overwrite) as partial,
    ):
        tables = form.write(candidate.published, names, partial, file_format)
        published = candidate.published
        draft = certify(
            recipe=candidate.recipe,
            summary=summary,
            guarantees=tuple(zip(guarantees, verdicts, strict=True)),
            scores=scores or {},
            risks=risks or {},
            figures=figures or {},
            form=form.name,
            counts=form.counts(published, candidate.private),
            time=time_part(published.times, published.timezone),
            input=_input(candidate, guarantees, key),
            columns=form.columns(published, _withheld(candidate.private.original)),
            pseudonyms="insecure" if insecure_seed is not None else pseudonyms,
            files={table.name: cert.digest_file(table) for table in tables},
        )
        if agreement is not None:
            part = cert.AgreementPart(expires=agreement.expires)
            text = write_agreement(agreement, draft, partial)
            files = draft.files | {text.name: cert.digest_file(text)}
            note = JOINABLE_COPIES if draft.pseudonyms == "keyed" else ""
            draft = draft.model_copy(update={"agreement": part, "files": files, "pseudonyms_note": note})
        final = write_certificate(draft, partial, page)
        # What was meant to be written was checked above; this checks what was written.
        outcome, found = examine(partial, lint_follows=True)
        if outcome.findings or not isinstance(found, Published | EventTables):
            raise GuaranteeNotMetError(
                f"The written release does not verify: {outcome.findings[-1]}. Nothing was published."
            )
        findings = lint(Written(partial, candidate, found, guarantees, names, began))
        if accepted := settle(findings, accept):
            # Once more, so that the report names them too.
            final = write_certificate(draft.model_copy(update={"accepted": accepted}), partial, page)
        if agreement is not None and private is not None:
            # Before it is in place: a copy that cannot be known again must not leave.
            keep_copy(Path(private), partial, agreement, final.files[tables[0].name].sha256)
        if aside is not None:
            # Before the release is in place, and put in its own place after it: a kill between leaves both to be found.
            kept = kept_with(target, final.files[tables[0].name].sha256, key)
            write_map(aside, candidate, form.name_of_each_series(candidate.private, names), kept)
    if suppression.values and private is not None:
        name = f"suppression-{final.files[tables[0].name].sha256[:16]}.csv"
        write_privately(Path(private) / name, table_by_value(suppression))
    return Release(Path(to), final.as_dict(), form.renamed(candidate.published, names), suppression, measured)


def _refuse_fictive(candidate: Candidate | EventsCandidate, guarantees: Sequence[Guarantee]) -> str | None:
    """Fictive series hide nobody: where there are some, no crowd may be promised."""
    if isinstance(candidate, EventsCandidate) or not (candidate.stands_for < 0).any():
        return None
    promised = [guarantee.name for guarantee in guarantees if not isinstance(guarantee, NoGuarantee)]
    return f"Fictive series would be counted in the crowd of {promised[0]}." if promised else None


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


def _names(
    form: Form,
    candidate: Candidate | EventsCandidate,
    target: Path,
    kind: Literal["random", "keyed"],
    private: str | Path | None,
    insecure_seed: int | None,
    agreement: Agreement | None,
) -> list[str]:
    ids = form.names_needed(candidate.published, candidate.private)
    if kind == "keyed" and form.name != "values":
        raise ParameterError(
            f"Keyed pseudonyms are for releases of values, this one is of {form.name}. Use random ones."
        )
    if kind == "keyed" and isinstance(candidate, Candidate) and candidate.private.stands_for is not None:
        raise ParameterError(
            "Keyed pseudonyms are for releases with one row for each series; over two releases they would tell slices "
            "of one series, or fictive series, apart. Use random ones."
        )
    if private is None:
        return Pseudonyms(kind, insecure_seed=insecure_seed).of(ids)
    folder = Path(private)
    open_private(folder, target)
    if agreement is not None:
        salt = b"" if kind == "keyed" else new_salt(insecure_seed)
        return Pseudonyms("keyed", key=recipient_key(load_or_make_key(folder), agreement.recipient, salt)).of(ids)
    key = load_or_make_key(folder) if kind == "keyed" else None
    return Pseudonyms(kind, key=key, insecure_seed=insecure_seed).of(ids)


def _input(
    candidate: Candidate | EventsCandidate, guarantees: Sequence[Guarantee], key: bytes | None
) -> cert.InputPart:
    """What went in, and its digests under a key, if there is one."""
    original = candidate.private.original
    exact = tells_exact_figures(guarantees)
    key = key if exact else None
    panel_sha256 = original.digest() if key and isinstance(original, Panel) else None
    return input_part(original.origin, key=key, panel_sha256=panel_sha256, exact=exact)


def _withheld(original: Panel | Events) -> int:
    """How many columns stay behind: every one that is not a time or a value."""
    if isinstance(original, Events):
        return len(original.roles.columns(Role.IDENTIFIER))
    further = (original.subjects is not None) + len(original.attributes) + len(original.sensitive)
    return withheld(original.roles, further)
