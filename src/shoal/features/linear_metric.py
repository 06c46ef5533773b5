"""Weights and directions that tell alike from unlike: a Mahalanobis distance learned from pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, get_args

import numpy as np

from shoal.errors import ParameterError
from shoal.features.gain import conclude, refuse_seed
from shoal.features.labelled import Floats, Fold, HeldOut, Pairs, as_pairs, one_thread, score
from shoal.features.learned import Inputs, Learned, inputs_of
from shoal.features.linear_objectives import SOLVERS

Form = Literal["auto", "diagonal", "full"]
LinearInputs = Literal["auto", "values", "time"]
LinearObjective = Literal["logistic", "contrastive", "xing"]

PENALTIES = (0.1, 0.01, 0.001)
"""Tried on the held-out pairs where no `penalty` is given, strongest first."""


@dataclass(frozen=True, kw_only=True)
class LinearMetric:
    """Learn a linear metric from pairs labelled similar or dissimilar.

    d(x, y) = √((u - v)ᵀ A (u - v)) = ‖L u - L v‖₂ with A = LᵀL positive semidefinite, where u and v are the inputs of
    x and y: the values themselves, or what time adds to them (`shoal.features.learned.time_inputs`).

    Three times the pairs of a third of the series are held out. Inputs, form and penalty are chosen by the score on
    them, and the metric is learned again from all pairs. It is used if there are ten different series or more and its
    expected gain is positive: the mean over the three parts of its score on the held-out pairs, minus that of Euclidean
    distance, each part scored by a metric whose weights and settings come from the other two. Otherwise the result
    says so and gives the values themselves (`Learned.used`). The score is the chance that a dissimilar pair is farther
    apart than a similar one. Missing values are refused.

    Parameters
    ----------
    inputs
        "values": for sums over the series, such as a stretch of the day or use in a window. "time": next to the values
        their running total and the highest value, rise and fall so far and still to come, from which times of arrival
        and departure follow by adding up. "auto": whichever scores better on the held-out pairs.
    form
        "diagonal": one weight per input, few parameters, learned from few pairs. "full": directions, such
        as the total of a window. "auto": whichever scores better on the held-out pairs.
    objective
        "logistic": the chance that a pair is similar is 1 / (1 + exp(d² - b)); the labels say on which side of b a pair
        lies, so distances beyond it stay in proportion. "contrastive": similar pairs at 0, dissimilar ones beyond a
        margin, the linear network of the paper. "xing": largest distances of dissimilar pairs while those of similar
        ones are bounded.
    penalty
        Of large weights, tr A in units of the data's spread. Larger is smoother and needs fewer pairs; left out, the
        best of 0.1, 0.01 and 0.001 on the held-out pairs.
    seed
        Which series are held out. The same pairs and seed give the same bytes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(size=(400, 6)), rng.normal(size=(400, 6))
    >>> learned = LinearMetric(form="diagonal").learn(left, right, abs(left[:, 2] - right[:, 2]) < 0.6)
    >>> learned.used, int(np.abs(learned.layers[0][0]).sum(axis=0).argmax())
    (True, 2)

    References
    ----------
    "PAD: learned metric", sections 5.1 and 5.2, loss (5). E. P. Xing, A. Y. Ng, M. I. Jordan and S. Russell, "Distance
    metric learning with application to clustering with side-information", 2003. M. Guillaumin, J. Verbeek and
    C. Schmid, "Is that you? Metric learning approaches for face identification", 2009, for the logistic objective.
    """

    inputs: LinearInputs = "auto"
    form: Form = "auto"
    objective: LinearObjective = "logistic"
    penalty: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, kind in (("inputs", LinearInputs), ("form", Form), ("objective", LinearObjective)):
            if getattr(self, name) not in get_args(kind):
                raise ParameterError(f"{name} must be one of: {', '.join(get_args(kind))}.")
        if self.penalty is not None and not 0.0 <= self.penalty < float("inf"):
            raise ParameterError("penalty must be a number of at least 0.")
        refuse_seed(self.seed)

    def learn(self, left: Any, right: Any, similar: Any) -> Learned:
        """Learn from two arrays of series and a boolean for each pair of rows."""
        pairs = as_pairs(left, right, similar)
        kinds: tuple[Inputs, ...] = ("values", "time") if self.inputs == "auto" else (self.inputs,)
        scaled = {kind: scale_inputs(pairs, kind) for kind in kinds}
        with one_thread():
            kind, form, penalty, judged = self._choose(
                {kind: x for kind, (x, _, _) in scaled.items()}, pairs.folds(int(self.seed))
            )
            x, centre, scale = scaled[kind]
            map_ = np.ascontiguousarray(SOLVERS[self.objective, form](x, pairs, penalty))
        settings = {"form": form, "objective": self.objective, "penalty": penalty, "seed": int(self.seed)}
        return Learned(
            kind="linear",
            inputs=kind,
            shape=pairs.shape,
            centre=centre,
            scale=scale,
            layers=((map_, np.zeros(len(map_))),),
            figures=conclude(pairs, judged) | settings,
        )

    def _choose(
        self, inputs: dict[Inputs, Floats], folds: tuple[Fold, ...]
    ) -> tuple[Inputs, str, float, list[HeldOut]]:
        """The settings that do best on the held-out pairs, the first of equals, and distances to judge by.

        A fold is judged with what does best on the others: the best of many on the same pairs would flatter itself.
        """
        forms = ("diagonal", "full") if self.form == "auto" else (self.form,)
        penalties = PENALTIES if self.penalty is None else (float(self.penalty),)
        candidates = list(product(inputs, forms, penalties))
        judged = []
        for kind, form, penalty in candidates:
            x, solve = inputs[kind], SOLVERS[self.objective, form]
            maps = [solve(x, fold.train, penalty) for fold in folds]
            judged.append(
                [HeldOut(fold.held, fold.held.distances(x @ map_.T)) for fold, map_ in zip(folds, maps, strict=True)]
            )
        scores = np.array([[score(fold.learned, fold.held.similar) for fold in row] for row in judged])
        honest = [judged[int(np.delete(scores, at, axis=1).mean(axis=1).argmax())][at] for at in range(len(folds))]
        return (*candidates[int(scores.mean(axis=1).argmax())], honest)


def scale_inputs(pairs: Pairs, kind: Inputs) -> tuple[Floats, Floats, float]:
    """The inputs of each series, centred and scaled as solvers expect them, with the centre and the scale."""
    inputs = inputs_of(pairs.series.reshape(-1, *pairs.shape), kind)
    centre, scale = inputs.mean(axis=0), pairs.scale_of(inputs)
    return (inputs - centre) / scale, centre, scale
