"""A closed service as an ASGI application: three addresses, a token for each request, and the studio's rules around it.

`GET /about` says what can be asked, `GET /budget` what is left, and `POST /ask` answers or refuses. Answered and
refused questions alike get status 200 and the same shape; any other status only says that the request was not a
question.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from shoal.closed import Answer, Closed, Question, Token
from shoal.closed.tokens import Clock
from shoal.errors import ParameterError
from shoal.studio.rate_limit import Slowing
from shoal.studio.reached import Reached
from shoal.studio.security import FORM_BYTES, BodyLimit, HostCheck, OriginCheck, Quiet, SecureHeaders

COMMAND = "shoal serve"
FAILED = "Something went wrong. Nothing was answered."


@dataclass(frozen=True, kw_only=True)
class ClosedSettings(Reached):
    """How a closed service was started."""

    others: bool = False
    """Whether other machines may reach it."""

    def __post_init__(self) -> None:
        self.check_public_url()
        if not self.others and (not self.loopback or self.public_url is not None):
            raise ParameterError(
                f"{'--public-url' if self.loopback else f'--host {self.host}'} lets other machines in. Confirm it "
                "with --let-others-in, or stay with --host 127.0.0.1. Tokens travel with every request: put https in "
                "front."
            )


class About(BaseModel):
    """What can be asked, and what answers consist of."""

    instants: int
    first: int | str
    last: int | str
    timezone: str | None
    channels: list[str]
    minimum_group: int
    budget: int
    epsilon: float | None
    answers: list[str]


class BudgetLeft(BaseModel):
    """What is left."""

    questions_left: int


class Detail(BaseModel):
    """Why a request was not a question."""

    detail: str


_bearer = HTTPBearer(auto_error=False, description="The token of the recipient.")


def _service(request: Request) -> Closed:
    return cast(Closed, request.app.state.closed)


def _token(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None) -> Token:
    """Whose request it is. A wrong token delays the next wrong one; a right token is never delayed."""
    found = _service(request).find(given.credentials) if given is not None else None
    if found is not None:
        return found
    client = request.client.host if request.client is not None else ""
    if wait := cast(Slowing, request.app.state.slowing).attempt(client):
        raise HTTPException(429, "Too many attempts.", {"Retry-After": str(max(1, math.ceil(wait)))})
    raise HTTPException(401, _NO_TOKEN, {"WWW-Authenticate": "Bearer"})


_NO_TOKEN = "A token that opens this service is needed: Authorization: Bearer TOKEN."
Known = Annotated[Token, Depends(_token)]
Service = Annotated[Closed, Depends(_service)]
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Detail} for status in (400, 401, 403, 413, 421, 422, 429)
}


def pages(closed: Closed, *, clock: Clock | None = None) -> FastAPI:
    """The addresses alone."""
    app = FastAPI(
        title="Shoal closed service",
        version="1",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        responses=_REFUSALS,
    )
    app.state.closed = closed
    app.state.slowing = Slowing(clock or closed.clock)

    @app.get("/about")
    def about(closed: Service, token: Known) -> About:
        """What can be asked."""
        return About(**closed.about())

    @app.get("/budget")
    def budget(closed: Service, token: Known) -> BudgetLeft:
        """How many questions are left."""
        return BudgetLeft(questions_left=closed.left(token))

    @app.post("/ask")
    def ask(closed: Service, token: Known, question: Question) -> Answer:
        """Answer or refuse a question; both cost one of the budget."""
        found = closed.ask(token, question)
        if found is None:
            raise HTTPException(401, _NO_TOKEN, {"WWW-Authenticate": "Bearer"})
        return found

    @app.get("/openapi.json", include_in_schema=False)
    def description(token: Known) -> JSONResponse:
        """The description of the service, for programs."""
        return JSONResponse(app.openapi())

    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _failed)
    return app


def build_closed(closed: Closed, settings: ClosedSettings, *, clock: Clock | None = None) -> ASGIApp:
    """The application of a closed service."""
    guarded: ASGIApp = pages(closed, clock=clock)
    guarded = OriginCheck(guarded, public_url=settings.public_url, refuse=_says(403, "This came from another site."))
    guarded = BodyLimit(guarded, upload_bytes=FORM_BYTES, refuse=_says(413, "The request is too large."))
    guarded = HostCheck(
        guarded,
        names=settings.names,
        loopback=settings.loopback,
        refuse=_says(421, "This server does not answer to that name."),
    )
    guarded = Quiet(guarded, page=_says(500, FAILED), command=COMMAND)
    return SecureHeaders(guarded, secure=settings.secure)


def _says(status: int, text: str) -> Any:
    return functools.partial(JSONResponse, {"detail": text}, status)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    ours = error.status_code in (401, 429)
    # The framework's message about an unreadable body may quote it.
    words = {404: "There is no such address.", 405: "This method is not allowed here."}
    text = str(error.detail) if ours else words.get(error.status_code, "The request could not be understood.")
    return JSONResponse({"detail": text}, error.status_code, dict(error.headers or {}))


async def _invalid(request: Request, error: Exception) -> Response:
    """Says that it is not a question, without quoting it."""
    return JSONResponse({"detail": "This is not a question for this service. See /openapi.json."}, 422)


async def _failed(request: Request, error: Exception) -> Response:
    """The answer to a failure. The error is raised again so that its place is logged."""
    return JSONResponse({"detail": FAILED}, 500)
