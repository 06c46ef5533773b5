"""`shoal.search`: the search of a policy, for data in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Literal

from pydantic import ValidationError

from shoal.errors import ParameterError
from shoal.features import keep as kept_features
from shoal.methods import Microaggregation
from shoal.model import Guarantee, Method
from shoal.process.anonymization import check_reading, check_result, make_result, needed_columns, read_data
from shoal.process.keep import Keep
from shoal.process.policy import Policy
from shoal.process.progress import steps
from shoal.process.result import Result
from shoal.process.search.frontier import Frontier
from shoal.process.search.points import Alternative, Choices, choices_of, joined
from shoal.process.search.task import task_of
from shoal.process.search.trials import search as search_points
from shoal.release import ReleaseOptions
from shoal.release.suppression import LIMIT


def search(
    data: Any,
    k: Sequence[int] | None = None,
    *,
    method: Method | Sequence[Method | Mapping[str, Any]] | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    keep: Keep | None = None,
    risk: float = 0.09,
    utility: Mapping[str, Mapping[str, Any]] | None = None,
    knows: Mapping[str, Any] | None = None,
    scenario: Literal["prosecutor", "journalist"] = "prosecutor",
    require: Sequence[Guarantee] = (),
    suppression_limit: float = LIMIT,
    points: int | None = None,
    sample: float | None = None,
    seed: int = 0,
    **reading: Any,
) -> Frontier:
    """Try parameters, attack and measure the results, and choose the most useful point within both limits.

    With many subjects, points are tried on a sample; the chosen one is confirmed on all subjects, against targets that
    were not attacked before. `shoal run` does the same from a policy file.

    Parameters
    ----------
    data
        As for `shoal.anonymize`.
    k
        Values of k to try. Default: 4, 8, 12, 16, 20, 24 and 28.
    method
        What is varied. Default: microaggregation. A list of methods, or of their form in a policy, is searched:
        `[{"name": "microaggregation", "k": {"search": [8, 12]}}, shoal.KP(k=10, p=3)]`.
    over
        Values to try by parameter, such as `{"features": ["raw", "haar"]}`; every combination is tried.
    keep
        What the release must keep, as for `shoal.anonymize`.
    risk
        What no attack may exceed.
    utility
        Limits by measure, such as `{"normalized-divergence": {"at_most": 0.12}}`.
    knows
        What an adversary is assumed to know, such as `{"points": 5}`; by default five readings and the total of each
        day.
    scenario
        Which chance counts: "prosecutor", that for the target the adversary may be surest of; "journalist", that of all
        targets.
    require, suppression_limit
        As for `shoal.anonymize`.
    points
        How many points are tried on the whole sample, 60 by default; if there are more, all are tried on a small part
        of it first, and the better half goes on to a larger one.
    sample
        Share of the subjects that points are tried on. Default: all below 2,000 subjects, else 2,000 of them.
    seed
        For everything drawn at random.
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
    policy = _policy(keep, risk, utility, knows, scenario, suppression_limit, points, sample, seed)
    task = task_of(policy, choices=_choices(k, method, over), require=require)
    if task.by_mechanism:
        raise ParameterError(
            "method: differential privacy allows no search: nothing may be attacked or measured to choose it. Use "
            "shoal.anonymize with every parameter at a value known without the data."
        )
    methods = [task.method_at(setting) for setting in task.choices.settings()]
    options = ReleaseOptions(require=tuple(require), suppression_limit=suppression_limit)
    columns = dict.fromkeys(column for one in methods for column in needed_columns(one))
    with steps() as watched:
        panel = read_data(data, tuple(columns), reading, "search", watched)
        found = search_points(task, panel, steps=watched)

    def made(position: int | None) -> Result:
        if position is None:
            assert found.candidate is not None  # a point was chosen
            return check_result(found.candidate, options, found.method)
        return make_result(task.method_at(found.settings[position]), panel, options)

    return replace(found.frontier, made=made)


def _choices(k: Any, method: Any, over: Any) -> Choices:
    """What is tried: values by parameter of one method, or several methods."""
    if over is not None and not isinstance(over, Mapping):
        raise ParameterError(
            "over: give values by parameter, such as over={'k': [5, 10], 'features': ['raw', 'haar']}."
        )
    given = ({} if k is None else {"k": k}) | dict(over or {})
    if isinstance(method, Sequence) and not isinstance(method, str):
        if given:
            raise ParameterError(
                "method: with several methods, each has its own values to try: "
                "method=[{'name': 'microaggregation', 'k': {'search': [8, 12]}}, shoal.KP(k=10, p=3)]."
            )
        return joined([_alternative(one) for one in method])
    if not given and method is None:
        given = {"k": [4, 8, 12, 16, 20, 24, 28]}
    opened: dict[str, Any] = {}
    for name, values in given.items():
        if isinstance(values, str) or not isinstance(values, Sequence | range) or not len(values):
            raise ParameterError(f"{name}: give the values to try as a list, such as {name}=[5, 10, 20].")
        opened[name] = {"search": list(values)}
    template = Microaggregation(k=int(given.get("k", [4])[0])) if method is None else method
    if isinstance(template, type) or not isinstance(template, Method):
        raise ParameterError("method: give a method with its parameters, such as shoal.KP(k=10, p=3).")
    (alternative,) = choices_of({"name": template.name, **opened}).alternatives
    return Choices((replace(alternative, template=template),))


def _alternative(given: Any) -> Alternative:
    if not isinstance(given, Method):
        return choices_of({"search": [given]}).alternatives[0]
    usual = {field.name: field.default for field in fields(given)}
    told = {name: value for name, value in given.get_params().items() if value != usual.get(name)}
    return Alternative(((given.name, told),), {}, {}, given)


def _policy(
    keep: Any,
    risk: float,
    utility: Any,
    knows: Any,
    scenario: Any,
    suppression_limit: float,
    points: int | None,
    sample: float | None,
    seed: int,
) -> Policy:
    """The same in the form of a policy."""
    given: dict[str, Any] = {
        "keep": [] if keep in (None, (), []) else kept_features(keep).name,
        "adversary": {"scenario": scenario} | ({} if knows is None else {"knows": knows}),
        "require": {
            "risk": {"at_most": risk},
            "utility": utility or {},
            "suppression": {"at_most": suppression_limit},
        },
        "search": {"sample": sample} | ({} if points is None else {"points": points}),
        "seed": seed,
    }
    try:
        return Policy.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = first["loc"]
        name = _ARGUMENTS.get(place[:2], str(place[1] if place[0] in ("adversary", "search") else place[0]))
        message = first["msg"].removeprefix("Value error, ")
        raise ParameterError(f"{name}: {message[:1].lower()}{message[1:]}.") from None


_ARGUMENTS: dict[tuple[int | str, ...], str] = {
    ("require", "risk"): "risk",
    ("require", "utility"): "utility",
    ("require", "suppression"): "suppression_limit",
}
"""The arguments that are not called as the policy's fields are."""
