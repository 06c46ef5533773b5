"""The nouns that every package shares. Frozen, without files and without algorithms."""

from shoal.model.account import account_of
from shoal.model.attack import Attack, Findings
from shoal.model.candidate import Candidate, Private, Published, Recipe, Spread
from shoal.model.candidate_shards import CandidateShards
from shoal.model.described import Described
from shoal.model.envelopes import Envelopes
from shoal.model.event_tables import EventTables
from shoal.model.events import Events
from shoal.model.events_candidate import EventsCandidate, Judged, PrivateEvents
from shoal.model.guarantee import Guarantee
from shoal.model.measure import Measure
from shoal.model.method import Method, Progress
from shoal.model.panel import Origin, Panel
from shoal.model.panel_shards import PanelReader, PanelShards, SeriesLabels, ShardPlan, Shards, Store, Strata, Whole
from shoal.model.profiles import Profiles
from shoal.model.release import Release
from shoal.model.risk import Interval, Risk
from shoal.model.roles import Role, Roles
from shoal.model.scenarios import Scenarios
from shoal.model.score import Score
from shoal.model.suppression import Suppression, ValueSuppression
from shoal.model.tally import Moments, Tally
from shoal.model.verdict import Verdict, Witness

__all__ = [
    "Attack",
    "Candidate",
    "CandidateShards",
    "Described",
    "Envelopes",
    "EventTables",
    "Events",
    "EventsCandidate",
    "Findings",
    "Guarantee",
    "Interval",
    "Judged",
    "Measure",
    "Method",
    "Moments",
    "Origin",
    "Panel",
    "PanelReader",
    "PanelShards",
    "Private",
    "PrivateEvents",
    "Profiles",
    "Progress",
    "Published",
    "Recipe",
    "Release",
    "Risk",
    "Role",
    "Roles",
    "Scenarios",
    "Score",
    "SeriesLabels",
    "ShardPlan",
    "Shards",
    "Spread",
    "Store",
    "Strata",
    "Suppression",
    "Tally",
    "ValueSuppression",
    "Verdict",
    "Whole",
    "Witness",
    "account_of",
]
