"""All forms of release, by type and by name."""

from __future__ import annotations

from typing import Any

from shoal.model import Envelopes, EventTables, Panel, Private, PrivateEvents, Profiles, Published, Scenarios
from shoal.release.envelopes import EnvelopesForm
from shoal.release.events import EventsForm
from shoal.release.form import Form
from shoal.release.profiles import ProfilesForm, ScenariosForm
from shoal.release.values import ValuesForm

_VALUES: Form[Panel, Private] = ValuesForm()
_PROFILES: Form[Profiles, Private] = ProfilesForm()
_ENVELOPES: Form[Envelopes, Private] = EnvelopesForm()
_EVENTS: Form[EventTables, PrivateEvents] = EventsForm()
_BY_TYPE: dict[type, Form[Any, Any]] = {
    Panel: _VALUES,
    Profiles: _PROFILES,
    Scenarios: ScenariosForm(),
    Envelopes: _ENVELOPES,
    EventTables: _EVENTS,
}


def form_of(published: Published | EventTables) -> Form[Any, Any]:
    """How something of this type is released."""
    return _BY_TYPE[type(published)]


def form_named(name: str) -> Form[Any, Any]:
    """The form of a release that a certificate names."""
    return next(form for form in _BY_TYPE.values() if form.name == name)
