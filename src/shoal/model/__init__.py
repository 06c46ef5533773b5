"""The nouns every room shares. Frozen, without files and without algorithms."""

from shoal.model.candidate import Candidate, Private, Published, Recipe
from shoal.model.envelopes import Envelopes
from shoal.model.events import Events
from shoal.model.guarantee import Guarantee
from shoal.model.panel import Origin, Panel
from shoal.model.profiles import Profiles
from shoal.model.release import Release
from shoal.model.risk import Interval, Risk
from shoal.model.roles import Role, Roles
from shoal.model.score import Score
from shoal.model.verdict import Verdict, Witness

__all__ = [
    "Candidate",
    "Envelopes",
    "Events",
    "Guarantee",
    "Interval",
    "Origin",
    "Panel",
    "Private",
    "Profiles",
    "Published",
    "Recipe",
    "Release",
    "Risk",
    "Role",
    "Roles",
    "Score",
    "Verdict",
    "Witness",
]
