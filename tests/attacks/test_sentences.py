"""What attacks say about each kind of release, and what they must not say."""

import numpy as np
import pytest

from attacks.releases import households, sliced
from shoal import Microaggregation, Panel, SamplingWithFictives
from shoal.attacks import KnownPoints, KnownTotals, Reordering, SubsetSum
from shoal.attacks.sentences import LINKED, OF_PROFILES, OF_SUBJECT, OWN
from shoal.attacks.words import against_guessing
from shoal.model import Interval
from shoal.process.assessment import attack_all

SLICES = "another slice of a slice's subject"


def means(panel, **more):
    return Microaggregation(k=4, **more).anonymize(panel)


def attack_one(attack, candidate):
    return attack_all({"it": attack}, candidate, candidate.private.original.subject_codes)["it"]


def grouped(panel):
    return Panel(panel.values, ids=panel.ids, times=panel.times, subjects=np.arange(panel.n_series) // 2)


def told_of_slices():
    panel = households(60, 4)
    published, rows = sliced(panel, 24, dates=False)
    return Reordering().attack(panel, published, rows=rows).sentence


TOLD = {
    "own series": (OWN, lambda: attack_one(KnownTotals("day"), means(households(60, 2))).sentence),
    "fictive series": (
        OWN,
        lambda: attack_one(KnownPoints(2), SamplingWithFictives(share=0.8).anonymize(households(60, 2))).sentence,
    ),
    "several series": (OF_SUBJECT, lambda: attack_one(KnownPoints(2), means(grouped(households(60, 2)))).sentence),
    "profiles": (OF_PROFILES, lambda: attack_one(KnownPoints(2), means(households(60, 2), form="profiles")).sentence),
    "profiles of several series": (
        OF_PROFILES,
        lambda: attack_one(KnownTotals("day"), means(grouped(households(60, 2)), form="profiles")).sentence,
    ),
    "slices": (SLICES, told_of_slices),
}


@pytest.mark.parametrize("kind", TOLD)
def test_what_is_found_is_called_what_it_is(kind):
    what, told = TOLD[kind]
    sentence = told()
    assert [some for some in (OWN, OF_SUBJECT, OF_PROFILES, SLICES) if some in sentence] == [what]
    assert ("slices)" in sentence) == (kind == "slices")
    assert {s.name for s in LINKED} == {"own series", "series of the subject", "slices"}


def test_nobody_is_said_to_hold_more_readings_than_there_are():
    panel = households(20, 1)
    few = Panel(panel.values[:, :3], times=panel.times[:3])
    assert "knows exact readings at 3 instants" in KnownPoints(5).attack(few, few).sentence
    assert "knows exact readings at 2 instants" in KnownPoints(2).attack(few, few).sentence


def test_a_search_that_proves_nothing_is_said_to_prove_nothing():
    panel = households(40, 2)
    published = means(panel).published
    for risk in (
        SubsetSum(n_means=4).attack(panel, published),
        SubsetSum("all", exact=False, largest=0, n_means=4).attack(panel, published),
    ):
        assert ("does not prove that no other members fit" in risk.sentence) == (risk.n_open > 0)
    assert risk.n_open


@pytest.mark.parametrize(
    ("success", "interval", "told"),
    [
        (0.3, Interval(0.2, 0.4), "by guessing 10 %"),
        (0.3, Interval(0.1, 0.5), "not reliably better than guessing (10 %)"),
        (0.1, Interval(0.05, 0.2), "no better than guessing (10 %)"),
        (0.0, Interval.exactly(0.0), "no better than guessing (10 %)"),
        (0.2, Interval.exactly(0.2), "by guessing 10 %"),
    ],
)
def test_an_attack_is_better_than_guessing_only_if_its_whole_interval_is(success, interval, told):
    assert against_guessing(success, interval, 0.1) == told
