"""A closed service: recipients never get the data, only answers."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from shoal.closed.cells import answer_from_cells
from shoal.closed.folder import DATABASE, load_settings, load_table
from shoal.closed.noisy import NoisyAnswers
from shoal.closed.questions import QUESTION, Answer, Count, Mean, Quantile, Reason, Refused
from shoal.closed.register import Register, Token, Used, note, still_opens, used_by
from shoal.closed.sentences import ANSWERS, Answering
from shoal.closed.tokens import Clock
from shoal.errors import InputError
from shoal.model.sentence import said
from shoal.read.zones import time_texts

MOST_REFUSED_FOR_BUDGET = 100
"""Largest number of logged refusals for a recipient without budget; without a limit, the disk could be filled."""


class Closed:
    """A closed folder that answers questions.

    Every question is one transaction: token, budget, answer and log line. An answer is on disk before anyone sees it,
    so a killed service forgets nothing it has revealed.

    Parameters
    ----------
    folder
        The closed folder.
    clock
        Returns the current time.
    insecure_seed
        Noise that can be drawn again, for tests only.
    """

    def __init__(self, folder: Path, *, clock: Clock = time.time, insecure_seed: int | None = None) -> None:
        self.folder, self.clock = folder, clock
        self.settings, self._table = load_settings(folder), load_table(folder)
        self.register = Register(folder / DATABASE, clock)
        self._noisy: NoisyAnswers | None = None
        if self.settings.epsilon is not None:
            self._noisy = NoisyAnswers(self._table, self.settings, insecure_seed=insecure_seed)
        elif (least := self._table.least) < self.settings.minimum_group:
            raise InputError(
                f"The smallest cell of this folder has {least} observed subjects, but its settings require "
                f"{self.settings.minimum_group}. Make the folder again with that minimum."
            )

    def find(self, secret: str) -> Token | None:
        """The owner of a token, if it is still valid."""
        return self.register.find(secret)

    def ask(self, token: Token, question: Count | Mean | Quantile) -> Answer | None:
        """Answer or refuse a question, and log it. None if the token is no longer valid."""
        with self.register.database.writing() as connection:
            now = self.clock()
            known = still_opens(connection, token.token, now)
            if known is None:
                return None
            used = used_by(connection, known.recipient)
            value, reason = self._within(used, question)
            cost = 0 if reason == "budget" else 1
            epsilon = 0.0 if reason in ("budget", "not-understood") else self.settings.epsilon or 0.0
            if cost or self._is_worth_a_line(connection, known):
                note(
                    connection,
                    at=now,
                    token=known.token,
                    question=QUESTION.dump_json(question, exclude_none=True).decode(),
                    outcome="refused" if reason else "answered",
                    reason=reason,
                    cost=cost,
                    epsilon=epsilon,
                )
        return Answer(
            outcome="refused" if reason else "answered",
            value=value,
            reason=reason,
            questions_left=self._left(used, cost, epsilon),
        )

    def _within(self, used: Used, question: Count | Mean | Quantile) -> tuple[float | None, Reason]:
        settings = self.settings
        if used.mine >= settings.budget or used.all >= settings.budget_in_all:
            return None, "budget"
        try:
            if self._noisy is None:
                return answer_from_cells(self._table, question), ""
            price = Fraction(settings.epsilon or 0.0)
            if used.my_epsilon + price > Fraction(settings.epsilon_recipient) or used.all_epsilon + price > Fraction(
                settings.epsilon_in_all
            ):
                return None, "budget"
            return self._noisy.answer(question), ""
        except Refused as refused:
            return None, refused.reason

    @staticmethod
    def _is_worth_a_line(connection: Any, token: Token) -> bool:
        (lines,) = connection.execute(
            "select count(*) from log where token = ? and reason = 'budget'", (token.token,)
        ).fetchone()
        return bool(lines < MOST_REFUSED_FOR_BUDGET)

    def left(self, token: Token) -> int:
        """How many questions a recipient has left."""
        with self.register.database.reading() as connection:
            return self._left(used_by(connection, token.recipient), 0, Fraction(0))

    def _left(self, used: Used, cost: int, epsilon: Any) -> int:
        """How many more questions every budget allows, after one of this cost."""
        settings = self.settings
        left = [settings.budget - used.mine - cost, settings.budget_in_all - used.all - cost]
        if self._noisy is not None:
            price, spent = Fraction(settings.epsilon or 0.0), Fraction(epsilon)
            limits = ((settings.epsilon_recipient, used.my_epsilon), (settings.epsilon_in_all, used.all_epsilon))
            left += [int((Fraction(limit) - before - spent) // price) for limit, before in limits]
        return max(0, min(left))

    def about(self) -> dict[str, Any]:
        """What a recipient may know: what can be asked and what answers consist of, without their content."""
        times, zone = self._table.times, self._table.timezone
        ends = times[[0, -1]]
        first, last = ends.tolist() if ends.dtype.kind == "i" else time_texts(ends, zone)
        return {
            "instants": len(times),
            "first": first,
            "last": last,
            "timezone": zone,
            "channels": list(self._table.channels),
            "minimum_group": self.settings.minimum_group,
            "budget": self.settings.budget,
            "epsilon": self.settings.epsilon,
            "answers": said(ANSWERS, Answering(self.settings, self._table)),
        }
