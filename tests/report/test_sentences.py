"""What the report says about each kind of release, and what it must not say about it."""

import pytest

from report.said import SAID_OF_PLAIN, THE_OTHERS
from shoal.release.facts import Facts
from shoal.report import render, words
from shoal.report.conclusions import BY_GUARANTEE, BY_RELEASE
from shoal.report.figure_sentences import AGGREGATES, ALIKE, CLOCK, LEFT_OUT, PROMISE, SUPPRESSION
from shoal.report.lights import INFERRED, NO_FIGURE, PROVEN
from shoal.report.page import facts_of
from shoal.report.sentences import CHANGED, STEPS
from shoal.report.sheet_sentences import DONE, HEAD, NO_LOSS, READ, TELL

OF_THE_RELEASE = {
    **STEPS,
    "groups": ALIKE,
    "clock": CLOCK,
    "aggregates": AGGREGATES,
    "suppression": SUPPRESSION,
    "figures": LEFT_OUT,
    "head": HEAD,
    "read": READ,
    "done": [sentence for sentence in DONE if sentence not in CHANGED],
    "tell": TELL,
    "no loss": NO_LOSS,
    "no figure": NO_FIGURE,
    "inferred": INFERRED,
    **{f"reader {section}": sentences for section, sentences in BY_RELEASE.items()},
}
OF_A_GUARANTEE = {**BY_GUARANTEE, "promise": PROMISE, "proven": PROVEN}
EVERY = {
    f"{section}: {sentence.name}": sentence
    for section, sentences in (*OF_THE_RELEASE.items(), *OF_A_GUARANTEE.items())
    for sentence in sentences
}


@pytest.fixture(scope="module")
def certificates(kinds):
    return kinds[1]


def names_said(certificate):
    facts = facts_of(certificate)
    found = {
        f"{section}: {s.name}" for section, sentences in OF_THE_RELEASE.items() for s in sentences if s.when(facts)
    }
    for guarantee in facts.guarantees:
        about = facts.about(guarantee)
        found |= {f"{section}: {s.name}" for section, some in OF_A_GUARANTEE.items() for s in some if s.when(about)}
    return found


def test_nothing_else_is_said_about_any_kind_of_release(certificates):
    assert names_said(certificates["plain"]) == SAID_OF_PLAIN
    assert set(certificates) == {"plain", *THE_OTHERS}
    for kind, (more, less) in THE_OTHERS.items():
        said = names_said(certificates[kind])
        assert (said - SAID_OF_PLAIN, SAID_OF_PLAIN - said) == (more, less), kind


def test_every_sentence_has_a_release_of_which_it_is_said_and_one_of_which_it_is_not(certificates):
    said = {kind: names_said(certificate) for kind, certificate in certificates.items()}
    ever, always = set.union(*said.values()), set.intersection(*said.values())
    unknown = names_said({"guarantees": [{"name": "another"}]})
    invariant = names_said({"guarantees": [{"name": "m-invariance", "parameters": {"m": 3}}]})
    former = {"time": {"first": "2024-07-01T00:00:00"}, "figures": {"axis": {"kind": "time", "timezone": "Asia/Tokyo"}}}
    stopped = {"figures": {"process": {"stopped": {"sentence": "A person stopped the search."}}}}
    streamed = {"form": "events"}
    gaps = {
        "guarantees": [{"name": "sequence-anonymity", "parameters": {"k": 3}}],
        "method": {"figures": {"release_of_sequence": 2}},
        "counts": {"missing": 9},
        "input": {"rows": None, "reading": {"missing": "interpolate:2h,keep"}},
    }
    elsewhere = unknown.union(
        invariant, *(names_said(certificate) for certificate in (former, stopped, streamed, gaps))
    )
    said_elsewhere = elsewhere & (set(EVERY) - ever)
    assert (
        set(EVERY) - ever
        == said_elsewhere
        == {
            "may: values over time",
            "may not: change over time",
            *("may: word for word", "may not: anything else", "clock: universal", "no loss: not measured"),
            *("Method: by a person", "no figure: events", "done: groups left empty", "tell: perhaps filled in"),
        }
    )
    # These quote the certificate, and are absent where it has nothing to quote.
    quotes = {"Method: parameters", "Method: summary", "Columns: columns", "Published: period"}
    assert always == quotes | {"head: period"}
    assert not always & unknown


@pytest.mark.parametrize(
    "kind", ["keyed", "several series", "gaps", "suppressed events", "noise", "profiles", "events", "parts"]
)
def test_the_page_says_these_sentences_and_none_of_the_others(certificates, kind):
    certificate = certificates[kind]
    page, facts = render(certificate), facts_of(certificate)
    for name, sentence in EVERY.items():
        about = [facts.about(g) for g in facts.guarantees] if name.split(":")[0] in OF_A_GUARANTEE else [facts]
        texts = {str(words.marked(sentence.says(f))) for f in about if sentence.when(f)}
        # Without curves there is nothing drawn to speak of.
        drawn = name != "aggregates: nothing of the originals" or certificate["figures"].get("channels")
        if texts and drawn:
            assert any(text in page for text in texts), name
        elif not texts and (fixed := fixed_words(sentence)):
            assert fixed not in page, name


def fixed_words(sentence):
    """The sentence, where its words do not depend on the release."""
    try:
        return str(words.marked(sentence.says(Facts({}))))
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def test_what_is_withheld_of_groups_is_counted_in_means_not_in_readings(certificates):
    certificate = certificates["aggregates withheld"]
    facts = facts_of(certificate)
    said = [sentence.says(facts) for sentence in CHANGED if sentence.when(facts)]
    n = certificate["counts"]["missing"]
    assert said == [
        "1 series was withheld: no group with it keeps the rule.",
        f"{n} means were withheld: too few subjects have a reading there.",
    ]
    assert f"Missing means: {n}." in render(certificate)
