"""Answers of an experiment to what its paper says; shared by the experiments."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """A question, one word and the figures it follows from."""

    question: str
    word: str
    figures: str
    paper: bool = True  # the paper says yes; otherwise the question is ours

    def __str__(self) -> str:
        return f"{self.question} **{self.word.capitalize()}.** {self.figures}"


UNTRIED = "not tried"


def share_word(made: int, of: int) -> str:
    """Yes everywhere, mostly at more than half, partly at fewer, no nowhere; not tried where there was no place to."""
    if not of:
        return UNTRIED
    return "yes" if made == of else "mostly" if made > of / 2 else "partly" if made else "no"


def yes_no(yes: bool) -> str:
    """Where there is nothing between."""
    return "yes" if yes else "no"


def statements(answers: Sequence[Answer]) -> str:
    """Each statement of the paper and one word."""
    lines = ["| asked | answer |", "|---|---|"]
    return "\n".join(lines + [f"| {answer.question} | {answer.word} |" for answer in answers])


def bullets(answers: Sequence[Answer]) -> str:
    """A list."""
    return "\n".join(f"- {answer}" for answer in answers)
