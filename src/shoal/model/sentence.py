"""Something that may be said about a release, with the condition under which it is true."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

Facts = TypeVar("Facts")


@dataclass(frozen=True)
class Sentence(Generic[Facts]):
    """A sentence and when it may be said.

    Every package that speaks about releases keeps its sentences in one file, `sentences.py`. For each of them a test
    holds a release about which it must not be said.

    Parameters
    ----------
    name
        What the sentence is about; its name in tests, and its heading if it has one.
    when
        Whether it is true of a release.
    says
        Its words.
    """

    name: str
    when: Callable[[Facts], bool]
    says: Callable[[Facts], str]


def said(sentences: Iterable[Sentence[Facts]], facts: Facts) -> list[str]:
    """Those of these that may be said, in order."""
    return [sentence.says(facts) for sentence in sentences if sentence.when(facts)]
