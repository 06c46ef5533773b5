"""What every page needs, and who may see it."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, HTTPException, Path, Request

from shoal.errors import InputError, ParameterError
from shoal.studio.answers import Answers
from shoal.studio.drafts import Draft, Drafts
from shoal.studio.jobs import Jobs
from shoal.studio.names import SLUG
from shoal.studio.passwords import Password
from shoal.studio.project import Project
from shoal.studio.rate_limit import Slowing
from shoal.studio.reached import Reached
from shoal.studio.security import SAFE_METHODS, UPLOAD_BYTES, UPLOAD_PATH, same
from shoal.studio.sessions import Session, Sessions
from shoal.studio.tokens import Clock, ProjectLinks, new_secret

CSRF_HEADER = "X-CSRF-Token"
CSRF_FIELD = "csrf"


@dataclass(frozen=True, kw_only=True)
class Settings(Reached):
    """How a studio was started."""

    password: Password | None = None
    upload_bytes: int = UPLOAD_BYTES

    def __post_init__(self) -> None:
        if not self.loopback and self.password is None:
            raise ParameterError(
                f"--host {self.host} lets other machines in, so the publisher needs a password. Give --password-file "
                "FILE or set SHOAL_STUDIO_PASSWORD, or stay with --host 127.0.0.1."
            )
        self.check_public_url()
        if self.public_url is not None and self.password is None:
            raise ParameterError(
                "--public-url means that others can reach the studio, so the publisher needs a password. Give "
                "--password-file FILE or set SHOAL_STUDIO_PASSWORD."
            )


class Studio:
    """A running studio."""

    def __init__(self, project: Project, settings: Settings, *, clock: Clock = time.time) -> None:
        self.project, self.settings, self.clock = project, settings, clock
        project.remove_half_uploads()
        self.links = ProjectLinks(project.store, clock)
        self.sessions = Sessions(project.store, clock)
        self.sessions.close_publishers()
        self.answers = Answers(project, clock)
        self.slowing = Slowing(clock)
        self.drafts = Drafts(project, clock)
        self.jobs = Jobs(self, project.store, clock)
        self.key = new_secret()
        """The key that opens the publisher's pages on this machine until the studio stops."""

    @property
    def publisher_cookie(self) -> str:
        """Name of the publisher's cookie; the prefix keeps sibling hosts from setting it."""
        return f"{self._prefix}shoal-publisher-{self._tag}"

    @property
    def analyst_cookie(self) -> str:
        """Name of an analyst's cookie."""
        return f"{self._prefix}shoal-analyst"

    @property
    def officer_cookie(self) -> str:
        """Name of an officer's cookie."""
        return f"{self._prefix}shoal-officer"

    @property
    def visitor_cookie(self) -> str:
        """Name of the cookie behind the log-in form."""
        return f"{self._prefix}shoal-visitor"

    @property
    def _tag(self) -> str:
        """Distinguishes studios on one machine: a browser shares cookies between ports."""
        return hashlib.sha256(str(self.project.folder.resolve()).encode()).hexdigest()[:8]

    @property
    def _prefix(self) -> str:
        return "__Host-" if self.settings.secure else ""


def studio_of(request: Request) -> Studio:
    """The studio that received a request."""
    return cast(Studio, request.app.state.studio)


InStudio = Annotated[Studio, Depends(studio_of)]


class LogInNeeded(Exception):  # noqa: N818 - no error, but the way to the log-in page
    """The publisher must log in first."""


async def publisher_session(request: Request, studio: InStudio) -> Session:
    """The publisher's session; for changes, its token is checked too."""
    session = studio.sessions.find_publisher(request.cookies.get(studio.publisher_cookie, ""))
    if session is None:
        raise LogInNeeded
    # The token precedes the table in the same stream, which the upload page reads itself.
    if request.url.path != UPLOAD_PATH:
        await require_csrf(request, session.csrf)
    return session


async def analyst_session(request: Request, studio: InStudio) -> Session:
    """An analyst's session; for changes, its token is checked too."""
    session = studio.sessions.find_analyst(request.cookies.get(studio.analyst_cookie, ""))
    link = None if session is None else session.link
    if session is None or link is None or link.draft or studio.project.closed_by(link.task):
        raise HTTPException(403, "This page opens with the link you were sent. The link may be closed or expired.")
    await require_csrf(request, session.csrf)
    return session


async def officer_session(request: Request, studio: InStudio) -> Session:
    """An officer's session; for changes, its token is checked too."""
    session = studio.sessions.find_analyst(request.cookies.get(studio.officer_cookie, ""))
    if session is None or session.link is None or not session.link.draft:
        raise HTTPException(403, "This page opens with the link you were sent. The link may be closed or expired.")
    await require_csrf(request, session.csrf)
    return session


async def require_csrf(request: Request, expected: str) -> None:
    """Refuse a change without the session's token, in a header or as a field of the form."""
    if request.method in SAFE_METHODS:
        return
    given = request.headers.get(CSRF_HEADER)
    if given is None:
        field_of_form = (await request.form()).get(CSRF_FIELD)
        given = field_of_form if isinstance(field_of_form, str) else None
    if not same(given, expected):
        raise HTTPException(403, "The form was too old or came from elsewhere. Go back, reload the page, try again.")


Publisher = Annotated[Session, Depends(publisher_session)]
Analyst = Annotated[Session, Depends(analyst_session)]
Officer = Annotated[Session, Depends(officer_session)]


def find_draft(draft: Annotated[str, Path(pattern=SLUG)], studio: InStudio, session: Publisher) -> Draft:
    """The draft named in an address, for the publisher only: nobody else learns whether it exists."""
    try:
        return studio.drafts.get(draft)
    except InputError as error:
        raise HTTPException(404, str(error)) from None


OfDraft = Annotated[Draft, Depends(find_draft)]
