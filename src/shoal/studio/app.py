"""The studio as an ASGI application: the pages, and the rules that apply to all of them."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from shoal.errors import GuaranteeNotMetError, ShoalError
from shoal.studio import (
    assets,
    explore,
    home,
    job_list,
    label,
    login,
    metrics,
    purpose_step,
    release_step,
    review_step,
    table_step,
    tables,
    tasks,
)
from shoal.studio.context import LogInNeeded, Studio
from shoal.studio.pages import plain_page
from shoal.studio.security import BodyLimit, HostCheck, OriginCheck, Quiet, SecureHeaders

ROOMS = (
    *(assets, login, label, home, job_list),
    *(tables, table_step, purpose_step, explore, review_step, release_step),
    *(tasks, metrics),
)
API = "/label/api/"
NOT_SHOWN = "This task cannot be shown at the moment. Ask the person who sent you the link."
FAILED = "Everything saved before is still there. The log has only the location of the error."
_TITLES = {
    400: "That did not work",
    403: "No access",
    404: "Not here",
    405: "Not possible here",
    409: "Not now",
    413: "Too much",
    422: "That is not possible",
    500: "Something went wrong",
}


def build(studio: Studio) -> ASGIApp:
    """The application of a studio."""
    app = pages(studio)
    settings = studio.settings
    guarded: ASGIApp = app
    guarded = OriginCheck(
        guarded,
        public_url=settings.public_url,
        refuse=_answer(403, "This came from another site and was not carried out."),
    )
    guarded = BodyLimit(
        guarded,
        upload_bytes=settings.upload_bytes,
        refuse=_answer(413, "The request is larger than the studio accepts."),
    )
    guarded = HostCheck(
        guarded,
        names=settings.names,
        loopback=settings.loopback,
        refuse=_answer(421, "This server does not answer to that name. Start it with --public-url if it should."),
    )
    guarded = Quiet(guarded, page=_answer(500, FAILED))
    return SecureHeaders(guarded, secure=settings.secure)


def pages(studio: Studio) -> FastAPI:
    """The pages alone."""

    @asynccontextmanager
    async def until_the_end(_: FastAPI) -> AsyncIterator[None]:
        yield
        studio.jobs.close()

    app = FastAPI(
        title="Shoal studio", version="1", openapi_url=None, docs_url=None, redoc_url=None, lifespan=until_the_end
    )
    app.state.studio = studio
    for room in ROOMS:
        app.include_router(room.router)
    app.add_exception_handler(LogInNeeded, _log_in)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(ShoalError, _shoal_error)
    app.add_exception_handler(Exception, _failed)
    studio.jobs.resume()
    return app


def _answer(status: int, text: str) -> Any:
    return functools.partial(plain_page, _TITLES.get(status, "Not here"), text, status)


async def _log_in(request: Request, _: Exception) -> Response:
    """Redirect reads to the log-in page; answer everything else with an error."""
    if request.method in ("GET", "HEAD"):
        return RedirectResponse("/login", 303)
    return plain_page("Log in first", "The session has ended. Log in and try again.", 401)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    # The framework's message about an unreadable body may quote it.
    ours = error.status_code in (403, 404, 409) or (error.status_code == 400 and not _is_api(request))
    text = str(error.detail) if ours else "The request could not be understood."
    if error.status_code == 404 and error.detail == "Not Found":
        text = "There is no such page."
    return _said(request, error.status_code, text, dict(error.headers or {}))


async def _invalid(request: Request, error: Exception) -> Response:
    """The names of wrong fields, without their content."""
    assert isinstance(error, RequestValidationError)
    problems = error.errors()
    if any(problem["loc"][:1] == ("path",) for problem in problems):
        return _said(request, 404, "There is no such page.")
    told = [f"{_field(problem['loc'])}: {_reason(problem)}" for problem in problems[:5]]
    return _said(request, 422, "Please check: " + "; ".join(told) + ".")


async def _shoal_error(request: Request, error: Exception) -> Response:
    """Shoal's messages contain no values, but they name tasks and folders, which analysts must not see."""
    if _of_analysts(request):
        return _said(request, 409, NOT_SHOWN)
    return _said(request, 409 if isinstance(error, GuaranteeNotMetError) else 400, str(error))


async def _failed(request: Request, _: Exception) -> Response:
    """The page for a failure. The error is raised again so that it is logged."""
    return _said(request, 500, FAILED)


def _said(request: Request, status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    if _is_api(request):
        return JSONResponse({"detail": text}, status, headers)
    answer = plain_page(_TITLES.get(status, "That did not work"), text, status, back=_back(request))
    answer.headers.update(headers or {})
    return answer


def _is_api(request: Request) -> bool:
    return request.url.path.startswith(API)


def _back(request: Request) -> str:
    """Where to continue after an error: people with a link on their page, the publisher on the start page."""
    return "/review" if request.url.path == "/review" else "/label" if _of_analysts(request) else "/"


def _of_analysts(request: Request) -> bool:
    return request.url.path.startswith(("/label", "/open"))


def _field(location: tuple[Any, ...]) -> str:
    named = [str(part) for part in location if isinstance(part, str) and part not in ("body", "query")]
    # One of our own names; anything else would come from the sender.
    return named[0] if named and named[0].isidentifier() and len(named[0]) <= 20 else "the form"


def _reason(problem: dict[str, Any]) -> str:
    limits = problem.get("ctx") or {}
    words = {
        "missing": "is needed",
        "string_pattern_mismatch": "letters, digits, _ and - only, at most 64",
        "greater_than_equal": f"at least {limits.get('ge')}",
        "less_than_equal": f"at most {limits.get('le')}",
        "string_too_long": f"at most {limits.get('max_length')} letters",
        "string_too_short": "is needed",
        "int_parsing": "a whole number",
        "int_from_float": "a whole number",
        "float_parsing": "a number",
        "literal_error": "one of the choices offered",
    }
    return words.get(str(problem.get("type")), "cannot be used")
