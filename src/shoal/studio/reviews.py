"""Decisions of officers about a draft. A decision applies to exactly what was shown: the chosen point and the table.

Another choice, another table or any change of the policy has another digest and needs a new decision.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from shoal.process.policy import Policy
from shoal.studio.drafts import Draft
from shoal.studio.store import ProjectStore


@dataclass(frozen=True)
class Decision:
    """One decision of one officer."""

    decision: str
    name: str
    reason: str
    at: float

    @property
    def approval(self) -> dict[str, str]:
        """The same for the certificate."""
        day = dt.datetime.fromtimestamp(self.at, dt.UTC).date().isoformat()
        return {"by": self.name, "on": day} | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True)
class Standing:
    """The state of a draft's review."""

    is_shown: bool
    """Whether the current draft has a decision sheet."""
    digest: str
    approved: Decision | None = None
    refused: Decision | None = None
    """The latest refusal, which outweighs every approval."""


def digest_of(policy: Policy, sha256: str) -> str:
    """Digest of what a decision is about: the policy of the chosen point, and the bytes of the table."""
    text = json.dumps([policy.model_dump(mode="json", by_alias=True), sha256], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sheet_key(draft: Draft) -> dict[str, Any] | None:
    """What a decision sheet of the current draft is made from; None if no point is chosen."""
    if draft.chosen is None:
        return None
    words = draft.policy.model_dump(mode="json", by_alias=True)
    text = json.dumps([words, draft.chosen_at], sort_keys=True)
    return {"policy": hashlib.sha256(text.encode()).hexdigest()}


def standing(store: ProjectStore, draft: Draft) -> Standing:
    """What was decided about the current draft."""
    key = sheet_key(draft)
    if key is None or draft.sheet is None or draft.sheet["policy"] != key["policy"]:
        return Standing(False, "")
    digest = str(draft.sheet["digest"])
    with store.reading() as connection:
        rows = connection.execute(
            "select decision, name, reason, at from reviews where draft = ? and digest = ? order by at desc",
            (draft.name, digest),
        ).fetchall()
    found = [Decision(*row) for row in rows]
    refused = next((one for one in found if one.decision == "refused"), None)
    approved = next((one for one in found if one.decision == "approved"), None)
    return Standing(True, digest, None if refused else approved, refused)


def decide(store: ProjectStore, draft: str, link: int, digest: str, decision: Decision) -> None:
    """Record an officer's decision about what they were shown; the latest one of a link counts."""
    with store.writing() as connection:
        connection.execute(
            "insert or replace into reviews values (?, ?, ?, ?, ?, ?, ?)",
            (draft, link, digest, decision.decision, decision.name, decision.reason, decision.at),
        )
