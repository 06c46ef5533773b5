"""What the studio says about each kind of release, and what it must not say about it."""

import html
import shutil

import pytest

from shoal.release.facts import Facts
from shoal.studio.sentences import FOLDER, GROUPED, VERDICT

OF_THE_RELEASE = {"grouped": GROUPED, "folder": FOLDER}
EVERY = {f"{section}: {s.name}" for section, some in OF_THE_RELEASE.items() for s in some}
EVERY |= {f"verdict: {s.name}" for s in VERDICT}
PLAIN = {"verdict: checked now", "folder: whole", "folder: series", "folder: report"}
UNSEEN = PLAIN - {"verdict: checked now"} | {"verdict: by the certificate"}
PROFILES = UNSEEN - {"folder: series"} | {"folder: profiles"}
NOTHING = PLAIN - {"verdict: checked now"} | {"verdict: nothing promised"}
NOISY = PROFILES - {"verdict: by the certificate"} | {"verdict: mechanism"}
EVENTS = PLAIN - {"folder: series"} | {"folder: events"}
NOT_PLAIN = {
    "keyed": PLAIN | {"folder: joined by key"},
    "insecure": PLAIN - {"folder: whole"} | {"folder: insecure"},
    "copy": PLAIN - {"folder: whole"} | {"folder: one recipient"},
    "keyed copy": PLAIN - {"folder: whole"} | {"folder: one recipient", "folder: joined by key"},
    "several series": UNSEEN,
    "crowd of series": PLAIN | UNSEEN,
    "profiles": PROFILES,
    "scenarios": PROFILES,
    "aggregates": PROFILES,
    "aggregates at instants": PROFILES,
    "aggregates withheld": PROFILES,
    "labels of others": PLAIN | {"grouped: learned", "grouped: labels of others"},
    "noise": NOTHING,
    "fictives": NOTHING,
    "private subjects": NOISY,
    "private readings": NOISY,
    "meters": NOISY,
    "sums": NOISY,
    "events": EVENTS,
    "suppressed events": EVENTS,
    "coarser events": EVENTS,
    "sequence": PLAIN | UNSEEN | {"folder: joined by key"},
    "nlk sequence": PLAIN | UNSEEN | {"folder: joined by key"},
}


def names_said(certificate):
    facts = Facts(certificate)
    found = {f"{section}: {s.name}" for section, some in OF_THE_RELEASE.items() for s in some if s.when(facts)}
    return found | {f"verdict: {s.name}" for g in facts.guarantees for s in VERDICT if s.when(facts.about(g))}


def test_of_each_kind_of_release_only_what_is_true_is_said(kinds):
    said = {kind: names_said(certificate) for kind, certificate in kinds[1].items()}
    assert said == {kind: NOT_PLAIN.get(kind, PLAIN) for kind in said}
    not_used = names_said({"method": {"parameters": {"features": {"learned": "linear", "used": False}}}})
    assert set.union(*said.values()) | not_used == EVERY
    assert set.intersection(*said.values()) == {"folder: report"}
    assert "folder: report" not in not_used


def test_every_guarantee_has_one_verdict(kinds):
    for certificate in kinds[1].values():
        facts = Facts(certificate)
        for guarantee in facts.guarantees:
            assert sum(s.when(facts.about(guarantee)) for s in VERDICT) == 1


@pytest.mark.parametrize(
    "kind", ["keyed", "insecure", "keyed copy", "several series", "profiles", "noise", "private subjects", "events"]
)
def test_the_page_says_these_sentences_and_none_of_the_others(publisher, project, kinds, kind):
    folder, certificates = kinds
    name = kind.replace(" ", "-")
    shutil.copytree(folder / kind, project.release(name))
    page, facts = html.unescape(publisher.get(f"/releases/{name}").text), Facts(certificates[kind])
    for sentence in (*FOLDER, *GROUPED):
        assert (sentence.says(facts) in page) == sentence.when(facts), sentence.name
    for sentence in VERDICT:
        about = [facts.about(guarantee) for guarantee in facts.guarantees]
        assert (sentence.says(about[0]) in page) == sentence.when(about[0]), sentence.name
