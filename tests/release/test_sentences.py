"""What a release says about itself outside the report, of each kind of release."""

from shoal.release.facts import Facts
from shoal.release.sentences import LOWER_BOUND, MAY_CONCLUDE, MAY_NOT_CONCLUDE, METRIC, WHO_CAN_CHECK

OF_AGREEMENTS = {"may": MAY_CONCLUDE, "may not": MAY_NOT_CONCLUDE}
OF_THE_RELEASE = OF_AGREEMENTS | {"metric": METRIC, "method": LOWER_BOUND}
EVERY = {f"{section}: {s.name}" for section, some in OF_THE_RELEASE.items() for s in some}
EVERY |= {f"check: {s.name}" for s in WHO_CAN_CHECK}
PLAIN = {"check: anyone", "may not: group", "may not: nothing learned", "may: figures", "may: guarantees"}
NOTHING_PROMISED = {"check: attacks", "may not: no promise", "may not: row", "may: attacks", "may: figures"}
NOISY = {"check: mechanism", "may not: group", "may not: nothing learned", "may: guarantees", "may: no figures"}
NOT_PLAIN = {
    "small": PLAIN - {"may: figures"} | {"may: no figures"},
    "several series": PLAIN - {"check: anyone"} | {"check: crowd of series"},
    "crowd of series": PLAIN | {"check: crowd of series"},
    "profiles": PLAIN - {"check: anyone"} | {"check: counts of profiles"},
    "scenarios": PLAIN - {"check: anyone", "may: figures"} | {"check: counts of profiles", "may: no figures"},
    "aggregates": PLAIN - {"check: anyone"} | {"check: counts of profiles", "check: publisher"},
    "aggregates withheld": PLAIN - {"check: anyone"} | {"check: counts of profiles", "check: publisher"},
    "aggregates at instants": PLAIN - {"check: anyone"} | {"check: counts of profiles", "check: publisher"},
    "sequence": PLAIN | {"check: sequence"},
    "labels of others": PLAIN | {"metric: labels of others"},
    "bound": PLAIN | {"method: lower bound"},
    "nlk": PLAIN - {"may not: group"} | {"may not: row"},
    "nlk sequence": PLAIN - {"may not: group"} | {"may not: row", "check: sequence"},
    "noise": NOTHING_PROMISED,
    "fictives": NOTHING_PROMISED,
    "private subjects": NOISY,
    "private readings": NOISY,
    "sums": NOISY,
    "meters": NOISY - {"check: mechanism"} | {"check: meters"},
    **dict.fromkeys(
        ("kp", "suppressed series", "sensitive", "exchanged", "events", "suppressed events", "coarser events"),
        PLAIN - {"may not: group", "may: figures"} | {"may not: row", "may: no figures"},
    ),
}


def names_said(certificate):
    facts = Facts(certificate)
    found = {f"{section}: {s.name}" for section, some in OF_THE_RELEASE.items() for s in some if s.when(facts)}
    return found | {f"check: {s.name}" for g in facts.guarantees for s in WHO_CAN_CHECK if s.when(facts.about(g))}


def test_of_each_kind_of_release_only_what_is_true_is_said(kinds):
    said = {kind: names_said(certificate) for kind, certificate in kinds[1].items()}
    assert said == {kind: NOT_PLAIN.get(kind, PLAIN) for kind in said}
    assert set.union(*said.values()) == EVERY
    assert not set.intersection(*said.values())


def test_every_guarantee_is_told_by_whom_it_can_be_checked_exactly_once(kinds):
    for certificate in kinds[1].values():
        facts = Facts(certificate)
        for guarantee in facts.guarantees:
            assert sum(s.when(facts.about(guarantee)) for s in WHO_CAN_CHECK) == 1


def test_the_agreement_says_these_sentences(kinds):
    folder, certificates = kinds
    lines = [line.strip(" -") for line in (folder / "copy" / "AGREEMENT.md").read_text().splitlines()]
    facts = Facts(certificates["copy"])
    for some in (*OF_AGREEMENTS.values(), WHO_CAN_CHECK):
        for sentence in some:
            for about in (facts.about(g) for g in facts.guarantees):
                assert (sentence.says(about) in lines) == sentence.when(about), sentence.name
