"""Everything a policy names, found and built before any data is read: a typo must not cost an hour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

from shoal import attacks as attack_room
from shoal import utility as utility_room
from shoal.errors import ParameterError
from shoal.features import keep as kept_features
from shoal.guarantees import DifferentialPrivacy, KPAnonymity, NoGuarantee
from shoal.model import Attack, Guarantee, Method, Risk
from shoal.process.catalogue import build, find_guarantee, find_in, find_method, named_in
from shoal.process.keep import apply_keep, publish_columns
from shoal.process.policy import Policy
from shoal.process.search.frontier import Limits
from shoal.process.search.points import Choices, Setting, choices_of
from shoal.process.search.trials import SearchTask


def task_of(policy: Policy, *, choices: Choices | None = None, require: Sequence[Guarantee] = ()) -> SearchTask:
    """What a policy asks for; an unknown name or parameter is reported here.

    `choices` replace the policy's method, and `require` adds to its guarantees, if they are given as objects.
    """
    choices = choices or choices_of(policy.method)

    def method_at(setting: Setting) -> Method:
        alternative = choices.alternatives[setting.alternative]
        if alternative.template is None:
            method = build_method(choices.parameters(setting), policy.seed)
        else:
            names = [name for _, name in alternative.places]
            method = alternative.template.set_params(**dict(zip(names, setting.values, strict=True)))
        # Among several methods, one that does not group, or defines similarity itself, is tried as it is.
        with suppress(ParameterError) if choices.over_methods else nullcontext():
            method = apply_keep(method, policy.keep)
        return publish_columns(method, policy.published)

    if policy.keep:
        kept_features(policy.keep)  # reports a wrong word

    for name, _ in (step for alternative in choices.alternatives for step in alternative.steps):
        if getattr(find_method(name), "reads", "series") == "events":
            raise ParameterError(f"method: {name} is for events. Use shoal anonymize --method {name}, or shoal stream.")
    methods = [method_at(setting) for setting in choices.settings()]
    utility, named = policy.require.utility, build_attacks(policy.adversary.knows)
    # An attack that was named for a single method is tried, or refused, as it is.
    by_form = choices.over_methods or "knows" not in policy.adversary.model_fields_set
    _refuse_choosing_by_data(policy, methods)
    return SearchTask(
        policy=policy,
        choices=choices,
        limits=Limits(policy.require.risk.at_most, utility),
        method_at=method_at,
        attacks=_attacks_on(named, methods) if by_form else named,
        by_form=by_form,
        measures=build_measures({name: limit.parameters for name, limit in utility.items()}),
        require=(*require, *(build_guarantee(given) for given in policy.require.guarantees)),
        by_mechanism=any(is_by_mechanism(method) for method in methods),
        unpromised=any(isinstance(method.each_step[-1].aims_at, NoGuarantee) for method in methods),
    )


def _attacks_on(attacks: dict[str, Attack[Risk]], methods: Sequence[Method]) -> dict[str, Attack[Risk]]:
    """The policy's attacks, and linkage if a method publishes ranges and no attack on these is named."""
    ranges = any(isinstance(method.aims_at, KPAnonymity) for method in methods)
    if not ranges or any(attack.against == "envelopes" for attack in attacks.values()):
        return attacks
    return attacks | {attack_room.Linkage.name: attack_room.Linkage()}


def _refuse_choosing_by_data(policy: Policy, methods: Sequence[Method]) -> None:
    """Every look at the data spends differential privacy: no choice may depend on exact figures."""
    if not any(is_by_mechanism(method) for method in methods):
        return
    if len(methods) > 1:
        raise ParameterError(
            "method: differential privacy allows no search. Choosing by results would itself reveal something about "
            "the data, and no budget was spent on it. Give one method, with every parameter at a value known without "
            "the data."
        )
    if policy.require.utility:
        raise ParameterError(
            "require.utility: differential privacy allows no limit on exact figures; whether they were met would "
            "itself reveal something about the data. Remove it."
        )
    if policy.require.guarantees:
        raise ParameterError(
            "require.guarantees: differential privacy allows no further guarantee; publishing only what passes a "
            "check on exact figures would reveal these figures. Remove it."
        )


def is_by_mechanism(method: Method) -> bool:
    """Whether a method, or the last of its steps, keeps differential privacy."""
    return isinstance(method.each_step[-1].aims_at, DifferentialPrivacy)


def build_method(steps: list[tuple[str, dict[str, Any]]], seed: int) -> Method:
    """A method, or several in a row, with the run's seed if one takes it and the policy gives none."""
    built: list[Method] = []
    for name, parameters in steps:
        cls = find_method(name)
        if "seed" in getattr(cls, "__dataclass_fields__", {}):
            parameters = {"seed": seed, **parameters}
        built.append(build(cls, parameters))
    if len(built) == 1:
        return built[0]
    from shoal.methods import Steps

    return Steps(steps=tuple(built))


def build_attacks(knows: Mapping[str, Any]) -> dict[str, Attack[Risk]]:
    """The attacks of an adversary: `points: 5`, or `known-points: {n: 5, choose: peaks}`."""
    attacks: dict[str, Attack[Risk]] = {}
    short = {cls.short[0]: (cls.name, cls.short[1]) for cls in named_in(attack_room) if cls.short}
    for word, given in knows.items():
        name, first = short.get(word, (word, ""))
        cls = find_in("attack", attack_room, name)
        if given is None or given is True:
            parameters: dict[str, Any] = {}
        elif isinstance(given, Mapping):
            parameters = dict(given)
        elif first:
            parameters = {first: given}
        else:
            raise ParameterError(f"adversary.knows.{word}: give its parameters as fields, such as {{n: 5}}.")
        if name in attacks:
            raise ParameterError(f"adversary.knows names {name} twice. Give the one that knows more, or run twice.")
        if cls.unfit:
            raise ParameterError(f"adversary.knows.{word}: {cls.unfit}.")
        attacks[name] = build(cls, parameters)
    if not attacks:
        raise ParameterError(
            "adversary.knows is empty: an adversary who knows nothing is not a test. Give {points: 5}."
        )
    return attacks


def build_measures(wanted: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The limited measures, and information-loss, which every release reports."""
    named = {name: build(find_in("measure", utility_room, name), parameters) for name, parameters in wanted.items()}
    for name, measure in named.items():
        if measure.judges == "events":
            raise ParameterError(f"require.utility.{name}: it applies to events, and a policy is about series.")
    return {"information-loss": utility_room.InformationLoss(), **named}


def build_guarantee(given: str | Mapping[str, Any]) -> Guarantee:
    """A guarantee from `aggregate-rule`, `{aggregate-rule: {size: 20}}` or `{aggregate-rule: 15/15}`."""
    name, parameters = (given, {}) if isinstance(given, str) else next(iter(given.items()), ("", {}))
    if not isinstance(given, str) and len(given) != 1:
        raise ParameterError("require.guarantees: each is a name, or one name with its parameters.")
    kind = find_guarantee(name)
    if str(parameters) in getattr(kind, "rules", ()):
        named: Guarantee = kind.named(str(parameters))
        return named
    guarantee: Guarantee = build(kind, parameters or {})
    return guarantee
