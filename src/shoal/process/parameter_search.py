"""The search of a policy, for data at hand: parameters that keep risk and utility within limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import ValidationError

from shoal.errors import ParameterError
from shoal.methods import Microaggregation
from shoal.methods.altered import SECRET
from shoal.model import Guarantee, Method
from shoal.process.keep import Keep, apply_keep
from shoal.process.policy.schema import Adversary, Policy, Require, Search
from shoal.process.policy_plan import build_attacks, build_measures, is_by_mechanism
from shoal.process.progress import steps
from shoal.process.result import Result, check_reading, check_result, make_result, needed_columns, read_data
from shoal.process.search import Frontier, Point
from shoal.process.search import search as search_points
from shoal.process.search.frontier import Limits
from shoal.process.search.points import MOST_POINTS, Choices
from shoal.process.search.trials import Plan
from shoal.release import ReleaseOptions
from shoal.release.suppression import LIMIT


def search(
    data: Any,
    k: Sequence[int] | None = None,
    *,
    method: Method | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    keep: Keep | None = None,
    risk: float = 0.09,
    utility: Mapping[str, Mapping[str, Any]] | None = None,
    knows: Mapping[str, Any] | None = None,
    scenario: Literal["prosecutor", "journalist"] = "prosecutor",
    require: Sequence[Guarantee] = (),
    suppression_limit: float = LIMIT,
    sample: float | None = None,
    seed: int = 0,
    **reading: Any,
) -> Frontier:
    """Try parameters, attack and measure what comes out, and choose the most useful point within both limits.

    Points are tried on a sample where there are many subjects; the chosen one is confirmed on all of them, against
    targets that were not attacked before. `shoal run` does the same from a policy file.

    Parameters
    ----------
    data
        As for `shoal.anonymize`.
    k
        Values of k to try. Default: 4, 8, 12, 16, 20, 24 and 28.
    method
        What is varied. Default: microaggregation.
    over
        Values to try by parameter, such as `{"features": ["raw", "haar"]}`; every combination is tried.
    keep
        What the release shall keep, as for `shoal.anonymize`.
    risk
        What no attack may exceed.
    utility
        Limits by measure, such as `{"normalized-divergence": {"at_most": 0.12}}`.
    knows
        What somebody is assumed to know, such as `{"points": 5}`; by default five readings and the total of each day.
    scenario
        Whose chance counts: "prosecutor" where the adversary may be surest, "journalist" that of all targets.
    require, suppression_limit
        As for `shoal.anonymize`.
    sample
        Share of the subjects that points are tried on. Default: all below 2,000 subjects, else 2,000 of them.
    seed
        Of everything that is drawn.
    reading
        How the data is read, as for `shoal.read_panel`.

    Examples
    --------
    >>> from shoal import simulate
    >>> frontier = search(simulate.meters(60, days=2, seed=1), k=[3, 12], risk=0.2)
    >>> frontier
    Frontier(2 points, chosen k = 12)
    >>> frontier.result
    Result(k-anonymity holds: measured 12, required 12; 60 series, 48 instants)
    """
    check_reading(reading, "search")
    tried = _tried(k, over)
    template = method if method is not None else Microaggregation(k=int(tried.get("k", [4])[0]))
    if isinstance(template, type) or not isinstance(template, Method):
        raise ParameterError("method: give a method with its parameters, such as shoal.KP(k=10, p=3).")
    template = apply_keep(template, keep)
    plan = _plan(template, tried, risk, utility, knows, scenario, require, suppression_limit, sample, seed)
    options = ReleaseOptions(require=tuple(require), suppression_limit=suppression_limit)
    with steps() as watched:
        panel = read_data(data, needed_columns(template), reading, "search", watched)
        found = search_points(plan, panel, steps=watched)

    def made(point: Point | None) -> Result:
        if point is None:
            assert found.candidate is not None  # a point was chosen
            return check_result(found.candidate, options, found.method)
        return make_result(template.set_params(**point.parameters), panel, options)

    return replace(found.frontier, made=made)


def _tried(k: Any, over: Any) -> dict[str, list[Any]]:
    """The values to try, by parameter."""
    if over is not None and not isinstance(over, Mapping):
        raise ParameterError(
            "over: give values by parameter, such as over={'k': [5, 10], 'features': ['raw', 'haar']}."
        )
    given = {} if k is None else {"k": k}
    given |= over or {}
    if not given:
        given = {"k": [4, 8, 12, 16, 20, 24, 28]}
    for name, values in given.items():
        if name in SECRET:
            raise ParameterError(f"{name}: a seed is not searched for; that would pick the luckiest draw.")
        if isinstance(values, str) or not isinstance(values, Sequence | range) or not len(values):
            raise ParameterError(f"{name}: give the values to try as a list, such as {name}=[5, 10, 20].")
    tried = {name: list(values) for name, values in given.items()}
    n_points = 1
    for values in tried.values():
        n_points *= len(values)
    if n_points > MOST_POINTS:
        raise ParameterError(f"{n_points} combinations to try, at most {MOST_POINTS} are. Search fewer values.")
    return tried


def _plan(
    template: Method,
    tried: Mapping[str, Sequence[Any]],
    risk: float,
    utility: Any,
    knows: Any,
    scenario: Any,
    require: Sequence[Guarantee],
    suppression_limit: float,
    sample: float | None,
    seed: int,
) -> Plan:
    if is_by_mechanism(template):
        raise ParameterError(
            "method: differential privacy allows no search. Choosing by what came out would itself tell something "
            "about the data, and no budget was spent on it. Give every parameter a value known without the data."
        )
    try:
        policy = Policy(
            adversary=Adversary(**({} if knows is None else {"knows": knows}), scenario=scenario),
            require=Require.model_validate(
                {"risk": {"at_most": risk}, "utility": utility or {}, "suppression": {"at_most": suppression_limit}}
            ),
            search=Search(sample=sample),
            seed=seed,
        )
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ParameterError(f"{place}: {first['msg'].removeprefix('Value error, ')}.") from None
    template.set_params(**{name: values[0] for name, values in tried.items()})  # names are told before data is read
    limits = policy.require.utility
    return Plan(
        policy=policy,
        choices=Choices(((template.name, {}),), {(0, name): values for name, values in tried.items()}, {}),
        limits=Limits(policy.require.risk.at_most, limits),
        method_at=lambda values: template.set_params(**dict(zip(tried, values, strict=True))),
        attacks=build_attacks(policy.adversary.knows),
        measures=build_measures({name: limit.parameters for name, limit in limits.items()}),
        require=tuple(require),
    )
