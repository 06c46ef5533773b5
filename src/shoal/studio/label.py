"""The analyst's page: two curves, one question, three answers; and the same as JSON for its script.

An analyst gets the task's curves, which are protected or public, and counts; not which curves they are, nor which
questions are repeated, nor anything about other analysts.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from shoal.labels import CURVES
from shoal.model.sentence import said
from shoal.studio.answers import LabelProgress
from shoal.studio.charts import axis_of, draw_pair
from shoal.studio.context import Analyst, InStudio, Studio
from shoal.studio.pages import page
from shoal.studio.sessions import Session

router = APIRouter()

Position = Annotated[int, Field(ge=0, le=10**9)]


class Pair(BaseModel):
    """Two curves to compare."""

    position: int
    left: list[float | None]
    right: list[float | None]


class LabelState(BaseModel):
    """The analyst's progress."""

    pair: Pair | None
    """None if all questions are answered."""
    done: int
    total: int
    last: int | None
    """Position of the latest answer, which can be undone."""


class Given(BaseModel):
    """An answer."""

    position: Position
    answer: Literal["similar", "dissimilar", "undecided"]


class Undone(BaseModel):
    """The answer to undo: the latest."""

    position: Position


@router.get("/label")
def show_label(studio: InStudio, session: Analyst) -> HTMLResponse:
    """The page."""
    task_name, analyst = _who(session)
    task = studio.answers.task(task_name)
    standing = studio.answers.standing(task_name, analyst)
    state = _state(studio, task_name, standing)
    axis = axis_of(task.times, task.timezone, task.values)
    return page(
        "label.html.j2",
        question=task.question,
        state=state,
        drawing=draw_pair(state.pair.left, state.pair.right, axis) if state.pair else "",
        start={"state": state.model_dump(), "axis": axis},
        about=" ".join(said(CURVES, task)),
        csrf=session.csrf,
        until=session.link.expires if session.link else None,
    )


@router.post("/label/answer")
def answer_form(studio: InStudio, session: Analyst, form: Annotated[Given, Form()]) -> Response:
    """An answer from a browser without script."""
    _give(studio, session, form)
    return RedirectResponse("/label", 303)


@router.post("/label/undo")
def undo_form(studio: InStudio, session: Analyst, form: Annotated[Undone, Form()]) -> Response:
    """Undo from a browser without script."""
    _undo(studio, session, form)
    return RedirectResponse("/label", 303)


@router.get("/label/api/state")
def state(studio: InStudio, session: Analyst) -> LabelState:
    """The analyst's progress, and the next pair."""
    task, analyst = _who(session)
    return _state(studio, task, studio.answers.standing(task, analyst))


@router.post("/label/api/answer")
def answer(studio: InStudio, session: Analyst, given: Given) -> LabelState:
    """Store an answer; returns the next pair."""
    _give(studio, session, given)
    return state(studio, session)


@router.post("/label/api/undo")
def undo(studio: InStudio, session: Analyst, undone: Undone) -> LabelState:
    """Undo the latest answer; returns its pair."""
    _undo(studio, session, undone)
    return state(studio, session)


def _give(studio: Studio, session: Session, given: Given) -> None:
    outcome = studio.answers.give(*_who(session), given.position, given.answer)
    if outcome == "unknown":
        raise HTTPException(404, "There is no such question.")
    if outcome == "other":
        raise HTTPException(409, "This pair already has another answer. Undo that one first.")


def _undo(studio: Studio, session: Session, undone: Undone) -> None:
    if not studio.answers.undo(*_who(session), undone.position):
        raise HTTPException(409, "Only the latest answer can be undone.")


def _who(session: Session) -> tuple[str, str]:
    if session.link is None:
        raise HTTPException(403, "This page is for analysts.")
    return session.link.task, session.link.analyst


def _state(studio: Studio, task: str, standing: LabelProgress) -> LabelState:
    pair = None
    if (question := standing.question) is not None:
        left, right = studio.answers.task(task).curves(question)
        pair = Pair(position=question.position, left=_plain(left), right=_plain(right))
    return LabelState(pair=pair, done=standing.done, total=standing.total, last=standing.last)


def _plain(values: NDArray[Any]) -> list[float | None]:
    return [float(v) if math.isfinite(v) else None for v in values]
