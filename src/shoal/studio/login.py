"""Logging in with the publisher's key or password, or with the link of an analyst or officer; and logging out."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from shoal.studio.context import InStudio, Publisher, Studio, require_csrf
from shoal.studio.pages import page, plain_page
from shoal.studio.security import is_foreign, same
from shoal.studio.sessions import csrf_token
from shoal.studio.tokens import fingerprint, new_secret

router = APIRouter()

CLOSED = ("This link does not open anything", "Ask the person who sent it to you for a new one.")


class LogIn(BaseModel):
    """The log-in form."""

    password: str = Field("", max_length=1000)


@router.get("/enter/{key}")
def enter(key: str, request: Request, studio: InStudio) -> Response:
    """Log the publisher in with the key that was printed at the start."""
    if studio.settings.password is not None:
        return plain_page(*CLOSED, 403)
    # Nobody guesses 256 bits, so the right key is never delayed by wrong ones.
    if same(fingerprint(key), fingerprint(studio.key)):
        return _logged_in(studio)
    # An image in any page can request this address; that is not an attempt by the person viewing the page.
    if is_foreign(request.headers):
        return plain_page(*CLOSED, 403)
    if wait := studio.slowing.attempt(_client(request)):
        return _slow(wait)
    return plain_page(*CLOSED, 403)


@router.get("/login")
def show_log_in(request: Request, studio: InStudio) -> HTMLResponse:
    """The log-in page."""
    return _log_in_page(request, studio, 200)


@router.post("/login")
async def log_in(request: Request, studio: InStudio, form: Annotated[LogIn, Form()]) -> Response:
    """Log the publisher in with a password."""
    visitor = request.cookies.get(studio.visitor_cookie)
    if visitor is None:
        raise HTTPException(403, "The form was too old or came from elsewhere. Go back, reload the page, try again.")
    await require_csrf(request, csrf_token(visitor))
    # Hashing takes a while and must not block others.
    return await run_in_threadpool(_check_password, request, studio, form.password)


def _check_password(request: Request, studio: Studio, password: str) -> Response:
    if studio.settings.password is None:
        return _log_in_page(request, studio, 403)
    client = _client(request)
    if wait := studio.slowing.attempt(client):
        return _slow(wait)
    if not studio.settings.password.matches(password):
        return _log_in_page(request, studio, 403, wrong=True)
    studio.slowing.succeeded(client)
    return _logged_in(studio)


@router.post("/logout")
def log_out(request: Request, studio: InStudio, session: Publisher) -> Response:
    """End the publisher's session."""
    studio.sessions.close(request.cookies.get(studio.publisher_cookie, ""))
    answer = plain_page("Logged out", "You can close this page.", 200)
    answer.delete_cookie(studio.publisher_cookie, path="/", secure=studio.settings.secure, httponly=True)
    return answer


@router.get("/open/{token}")
def open_link(token: str, studio: InStudio) -> Response:
    """Open the link of an analyst or an officer. The answer is the same whatever is wrong with a link."""
    link = studio.links.find(token)
    if link is None or (not link.draft and studio.project.closed_by(link.task)):
        return plain_page(*CLOSED, 403)
    answer = RedirectResponse("/review" if link.draft else "/label", 303)
    age = max(1, int(link.expires - studio.clock()))
    cookie = studio.officer_cookie if link.draft else studio.analyst_cookie
    _set_cookie(answer, studio, cookie, studio.sessions.open_analyst(link), age)
    return answer


def _log_in_page(request: Request, studio: Studio, status: int, *, wrong: bool = False) -> HTMLResponse:
    visitor = request.cookies.get(studio.visitor_cookie) or new_secret()
    answer = page(
        "login.html.j2",
        status,
        by_password=studio.settings.password is not None,
        wrong=wrong,
        csrf=csrf_token(visitor),
    )
    _set_cookie(answer, studio, studio.visitor_cookie, visitor, 3600)
    return answer


def _logged_in(studio: Studio) -> Response:
    answer = RedirectResponse("/", 303)
    _set_cookie(answer, studio, studio.publisher_cookie, studio.sessions.open_publisher(), None)
    return answer


def _set_cookie(answer: Response, studio: Studio, name: str, value: str, age: int | None) -> None:
    answer.set_cookie(name, value, max_age=age, path="/", secure=studio.settings.secure, httponly=True, samesite="lax")


def _slow(wait: float) -> Response:
    seconds = max(1, math.ceil(wait))
    answer = plain_page("Too many attempts", f"Wait {seconds} seconds, then try again.", 429)
    answer.headers["Retry-After"] = str(seconds)
    return answer


def _client(request: Request) -> str:
    return request.client.host if request.client is not None else ""
