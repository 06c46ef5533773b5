"""All forms of release, by type and by name."""

from __future__ import annotations

from shoal.model import Envelopes, EventTables, Panel, Profiles, Published, Scenarios
from shoal.release.envelopes import EnvelopesForm
from shoal.release.events import EventsForm
from shoal.release.form import Form
from shoal.release.profiles import ProfilesForm
from shoal.release.scenarios import ScenariosForm
from shoal.release.values import ValuesForm

_BY_TYPE: dict[type, Form] = {
    Panel: ValuesForm(),
    Profiles: ProfilesForm(),
    Scenarios: ScenariosForm(),
    Envelopes: EnvelopesForm(),
    EventTables: EventsForm(),
}


def form_of(published: Published | EventTables) -> Form:
    """How something of this type is released."""
    return _BY_TYPE[type(published)]


def form_named(name: str) -> Form:
    """How a certificate says it was released."""
    return next(form for form in _BY_TYPE.values() if form.name == name)
