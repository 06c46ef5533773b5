"""The step *Purpose*: what the release is for, what it must keep, what adversaries know, and which methods to try."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, get_args

from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import UploadFile

from shoal.errors import ParameterError, ShoalError
from shoal.process.policy import Policy, policy_text
from shoal.process.search.task import task_of
from shoal.release.shapes import AsShape
from shoal.studio.context import InStudio, OfDraft, Publisher, Studio
from shoal.studio.drafts import USUAL, Draft
from shoal.studio.form_fields import Given, read_form
from shoal.studio.purpose_form import facts_of, policy_fields
from shoal.studio.sessions import Session
from shoal.studio.step_list import draft_page

router = APIRouter()

_FIELDS = {
    ("require", "risk"): "risk",
    ("require", "suppression"): "suppression",
    ("require", "utility"): "utility",
    ("adversary",): "knows",
    ("keep",): "keep",
    ("method",): "method",
    ("release", "recipient"): "recipient",
    ("release", "expires"): "expires",
    ("release", "contact"): "contact",
    ("release", "accept"): "accept",
    ("release",): "model",
    ("title",): "title",
    ("publisher",): "publisher",
    ("purpose",): "purpose",
    ("date",): "date",
}
"""Where the page shows errors in a field of a policy."""


@router.get("/drafts/{draft}/purpose")
def show_purpose(draft: OfDraft, studio: InStudio, session: Publisher) -> Response:
    """The form, filled in with the current policy."""
    return _purpose_page(studio, session, draft, _proposed(studio, draft), {})


@router.post("/drafts/{draft}/purpose")
async def save_purpose(draft: OfDraft, request: Request, studio: InStudio, session: Publisher) -> Response:
    """Save it, and with `explore` start the search."""
    return await run_in_threadpool(_save, await read_form(request), studio, session, draft)


@router.get("/drafts/{draft}/policy.yaml")
def download_policy(draft: OfDraft, session: Publisher) -> Response:
    """The policy of a draft as a file: that of the chosen point, if one was chosen."""
    policy = draft.policy if draft.chosen is None else draft.chosen_policy
    return Response(
        policy_text(policy),
        media_type="application/yaml",
        headers={"Content-Disposition": f'attachment; filename="{draft.name}.yaml"'},
    )


@router.post("/drafts/open")
async def open_policy(request: Request, studio: InStudio, session: Publisher) -> Response:
    """Create a draft from a policy file."""
    async with request.form() as form:
        sent = form.get("policy")
        if not isinstance(sent, UploadFile) or not sent.filename:
            raise HTTPException(400, "No file was chosen. Go back and choose a policy file.")
        try:
            text = (await sent.read()).decode()
        except UnicodeDecodeError:
            raise ParameterError("The file is not a text file. A policy is a YAML file.") from None
    name = await run_in_threadpool(studio.drafts.open_policy, text, "The policy")
    return RedirectResponse(f"/drafts/{name}/purpose", 303)


def _save(given: Given, studio: Studio, session: Session, draft: Draft) -> Response:
    errors: dict[str, str] = {}
    before = _proposed(studio, draft)
    policy = before
    try:
        shown = ",".join(str(path.resolve()) for path in studio.project.shown_files(draft.table))
        fields = policy_fields(given, studio.drafts.fields(draft.name), before, errors, shown)
        if not fields.get("method"):
            errors["method"] = "Tick a method to try."
        else:
            policy = Policy.model_validate({**fields, "data": before.data.model_dump(by_alias=True)})
            task_of(policy)
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
        errors |= {_field(one["loc"]): _sentence(one["msg"]) for one in reversed(mistakes)}
    except ShoalError as error:
        errors |= {_named_field(str(error)): str(error)}
    if errors:
        return _purpose_page(studio, session, draft, policy, errors)
    studio.drafts.save(draft.name, fields)
    if "stay" in given:
        return RedirectResponse(f"/drafts/{draft.name}/purpose", 303)
    here = f"/drafts/{draft.name}/explore"
    title = studio.drafts.get(draft.name).title
    studio.jobs.start(f"Exploring {title}", "explore", {"draft": draft.name}, back=here)
    return RedirectResponse(here, 303)


def _proposed(studio: Studio, draft: Draft) -> Policy:
    """The draft's policy; a new draft starts with today's date, a limit on the loss, and the ledger."""
    if draft.policy.model_fields_set - {"data", "roles"}:
        return draft.policy
    usual = USUAL | {
        "date": dt.datetime.fromtimestamp(studio.clock(), dt.UTC).date().isoformat(),
        "roles": draft.policy.roles,
    }
    return Policy.model_validate({**usual, "data": draft.policy.data.model_dump(by_alias=True)})


def _purpose_page(
    studio: Studio, session: Session, draft: Draft, policy: Policy, errors: Mapping[str, str]
) -> Response:
    facts: dict[str, Any] = facts_of(policy)
    told = defaultdict(str, errors)
    return draft_page(
        "purpose.html.j2",
        studio,
        session,
        draft,
        "purpose",
        400 if errors else 200,
        policy=policy,
        text=policy_text(draft.policy),
        metrics=[
            (str(studio.project.metric_path(*name.rsplit(".", 1)).resolve()), name)
            for name in studio.project.all_metrics()
        ],
        shapes=[(word, word) for word in get_args(AsShape)],
        errors=told,
        **facts,
    )


def _field(location: tuple[Any, ...]) -> str:
    for length in range(len(location), 0, -1):
        if (found := _FIELDS.get(tuple(location[:length]))) is not None:
            return found
    return ""


def _named_field(message: str) -> str:
    """The field at the beginning of an error message, such as `require.utility.x:`."""
    word = message.partition(":")[0].partition(" ")[0]
    return _field(tuple(word.split(".")))


def _sentence(message: str) -> str:
    text = message.removeprefix("Value error, ")
    return f"{text[:1].upper()}{text[1:]}."
