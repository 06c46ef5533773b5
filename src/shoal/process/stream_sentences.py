"""What the publisher of a stream learns about suppressed events, each sentence next to its condition."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shoal.model import Recipe, Suppression
from shoal.model.sentence import Sentence
from shoal.release.suppression import loss_by_value, warning_of


@dataclass(frozen=True)
class Streamed:
    """What was lost among the events that have left the window, by which method, and whether more may come."""

    loss: Suppression
    recipe: Recipe
    finished: bool

    @property
    def warning(self) -> str:
        """The sentences about a notable loss. Bounds over all windows hold for a whole stream, not for its
        beginning."""
        if not self.loss.n_originals:
            return ""
        return warning_of(self.loss if self.finished else replace(self.loss, values=()), self.recipe) or ""


LOSS: tuple[Sentence[Streamed], ...] = (
    Sentence(
        "by value",
        lambda s: bool(s.loss.lost and s.loss.kept and s.loss.values),
        lambda s: f"Loss by value{'' if s.finished else ' so far'}: {loss_by_value(s.loss)}.",
    ),
    Sentence("warning", lambda s: bool(s.warning), lambda s: s.warning),
    Sentence(
        "so far",
        lambda s: not s.finished and bool(s.warning),
        lambda s: "This covers the events that have left the window; the stream can continue.",
    ),
)
