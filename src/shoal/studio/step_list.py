"""The list of steps next to every page of the publisher: the state of a draft, in a few words each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fastapi.responses import HTMLResponse

from shoal.errors import ShoalError
from shoal.studio.context import Studio
from shoal.studio.drafts import STEPS, Draft
from shoal.studio.pages import page, percent
from shoal.studio.reviews import standing
from shoal.studio.sessions import Session

State = Literal["done", "open", "later"]


@dataclass(frozen=True)
class Step:
    """One line of the list."""

    name: str
    href: str
    note: str
    state: State


def draft_page(
    template: str, studio: Studio, session: Session, draft: Draft, step: str, status: int = 200, **facts: Any
) -> HTMLResponse:
    """A page of a draft, with its steps next to it."""
    found = steps_of(studio, draft)
    return page(template, status, session=session, draft=draft, steps=found, step=step, **facts)


def steps_of(studio: Studio, draft: Draft) -> list[Step]:
    """The steps of a draft."""
    notes = {
        "table": (True, draft.table),
        "purpose": _purpose(studio, draft),
        "explore": _explore(studio, draft),
        "review": _review(studio, draft),
        "release": _release(studio, draft),
    }
    reached = True
    found = []
    for name in STEPS:
        is_done, note = notes[name]
        state: State = "done" if is_done else "open" if reached else "later"
        reached = reached and is_done
        found.append(Step(name, f"/drafts/{draft.name}/{name}", note, state))
    return found


def _purpose(studio: Studio, draft: Draft) -> tuple[bool, str]:
    if not draft.policy.model_fields_set - {"data", "roles"}:
        return False, "what for, and how safe"
    limit = f"risk at most {percent(draft.policy.require.risk.at_most)}"
    return True, f"{draft.policy.purpose}; {limit}" if draft.policy.purpose else limit


def _explore(studio: Studio, draft: Draft) -> tuple[bool, str]:
    job = studio.jobs.of("explore", draft=draft.name)
    under_way = job is not None and not job.ended
    if not draft.is_explored:
        return False, "waiting" if under_way else ""
    try:
        n = len(draft.exploration.points())
    except ShoalError:
        return False, ""
    points = f"{n} point{'s' * (n != 1)}"
    if draft.chosen is not None:
        return True, f"{points}, one chosen"
    return False, f"{points} so far" if under_way else points


def _review(studio: Studio, draft: Draft) -> tuple[bool, str]:
    found = standing(studio.project.store, draft)
    if found.approved is not None:
        return True, f"approved by {found.approved.name}"
    if found.refused is not None:
        return False, f"refused by {found.refused.name}"
    if draft.policy.release.review == "required":
        return False, "waiting for an officer" if found.is_shown else "an officer must approve"
    return found.is_shown, "the decision sheet"


def _release(studio: Studio, draft: Draft) -> tuple[bool, str]:
    made = draft.is_released
    return made, "made" if made else ""
