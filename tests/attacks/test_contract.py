"""What every exported attack must do. A new one is tested by being exported."""

import dataclasses
import inspect

import numpy as np
import pytest

from attacks.test_shards import cut, equal, joined, rows_of
from event_examples import any_buckets, small_events
from shoal import Panel, attacks
from shoal.errors import ParameterError
from shoal.model import Attack, Envelopes, Findings, Risk
from test_contracts import example, exported

ATTACKS = exported(attacks)
ON_SERIES = [param for param in ATTACKS if param.values[0].against not in ("events", "releases")]
PANEL = Panel(np.random.default_rng(3).normal(size=(24, 6)))


def release_of(cls, panel):
    """A release of the form the attack is against, and what more `find` needs: with rows in another order."""
    order = np.random.default_rng(panel.n_series).permutation(panel.n_series)
    shown = Panel(panel.values[order], times=panel.times)
    if cls.against == "envelopes":
        x, n = shown.values, panel.n_series
        words = ["".join("ab"[int(v > 0)] for v in row) for row in x]
        return Envelopes(x - 1.0, x + 1.0, levels=[2] * n, patterns=words, times=panel.times), {"rows": order}
    if cls.against == "releases":
        return [shown, shown], {"rows": [order, order]}
    if cls.against == "slices":
        return Panel(np.repeat(shown.values, 2, axis=0), times=panel.times), {"rows": np.repeat(order, 2)}
    if cls.against == "membership":
        return shown, {"rows": order, "outside": Panel(panel.values + 1.0, times=panel.times)}
    return shown, {"rows": order}


def found(cls, panel=PANEL, **more):
    attack = example(cls)
    if cls.against == "events":
        events = small_events(1)
        return attack, attack.find(events, any_buckets(events, 2))
    published, further = release_of(cls, panel)
    return attack, attack.find(panel, published, **further, **more)


@pytest.mark.parametrize("cls", ATTACKS)
class TestEveryAttack:
    def test_it_finds_and_then_concludes(self, cls):
        attack, findings = found(cls)
        assert isinstance(attack, Attack)
        assert isinstance(findings, Findings)
        assert dataclasses.is_dataclass(findings)
        assert "attack" not in vars(cls), "attack() is risk(find()) for all"
        risk = attack.risk(findings)
        assert isinstance(risk, Risk)
        if cls.against != "events":
            published, further = release_of(cls, PANEL)
            assert attack.attack(PANEL, published, **further) == risk

    def test_findings_of_one_shard_are_those_of_the_whole(self, cls):
        attack, findings = found(cls)
        merged = type(findings).merged([findings])
        assert equal(merged, findings)
        assert attack.risk(merged) == attack.risk(findings)

    def test_findings_of_several_shards_merge_or_say_that_they_cannot(self, cls):
        if cls.against in ("events", "releases"):
            findings = [found(cls)[1]] * 2
        else:
            shards = cut(PANEL, [10, 14])
            findings = [found(cls, shard, first=first)[1] for shard, first in zip(shards, (0, 10), strict=True)]
        attack = example(cls)
        if not attack.bounded_by_shard:
            with pytest.raises(ParameterError, match=r"of 2 shards do not add up to those of the whole\. Attack a"):
                type(findings[0]).merged(findings)
            return
        published, further = zip(*(release_of(cls, shard) for shard in shards), strict=True)
        rows = rows_of(shards, [more["rows"] for more in further])
        if cls.against == "values":
            whole = attack.attack(PANEL, joined(published), rows=rows)
            told = attack.risk(type(findings[0]).merged(findings))
            assert (told.baseline, told.baseline_interval) == (whole.baseline, whole.baseline_interval)
            assert told.n_targets == whole.n_targets == PANEL.n_series
            assert told.success >= whole.success

    def test_another_with_other_parameters(self, cls):
        attack = example(cls)
        assert attack.set_params() == attack
        if "seed" in attack.get_params():
            assert attack.set_params(seed=np.int64(7)).parameters["seed"] == 7
            assert type(attack.set_params(seed=np.int64(7)).parameters["seed"]) is int
            assert attack.seed == 0
        with pytest.raises(ParameterError, match=f"{cls.name} has no parameter 'nothing'. It takes: "):
            attack.set_params(nothing=1)

    def test_what_others_must_know_are_attributes_of_the_class(self, cls):
        assert isinstance(cls.draws_targets, bool)
        assert isinstance(example(cls).bounded_by_shard, bool)
        assert cls.short is None or cls.short[1] in example(cls).get_params()
        assert not cls.unfit.endswith(".")


@pytest.mark.parametrize("cls", ON_SERIES)
def test_targets_that_are_given_are_attacked_and_no_others(cls):
    attack, findings = found(cls, targets=[1, 5, 17])
    assert set(attack.risk(findings).worst) <= {1, 5, 17}
    takes = inspect.signature(cls.find).parameters
    assert {"rows", "targets", "first"} <= set(takes)
    with pytest.raises(ParameterError, match="targets has positions that the original does not have; it has 24"):
        found(cls, targets=[24])


def test_every_bounded_attack_is_of_a_kind_that_is_tested_for_it():
    """Who claims to be bounded must stand in the property test."""
    from attacks.test_shards import BOUNDED, ENVELOPES

    tested = {type(attack) for attack in (*BOUNDED, *ENVELOPES)}
    claiming = {param.values[0] for param in ATTACKS if example(param.values[0]).bounded_by_shard}
    assert claiming <= tested
