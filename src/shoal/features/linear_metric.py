"""Weights and directions that separate similar from dissimilar: a Mahalanobis distance learned from pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from shoal.errors import ParameterError
from shoal.features.inputs import Inputs, inputs_of
from shoal.features.labelled import Floats, Fold, HeldOut, Pairs, as_pairs, conclude, one_thread, refuse_seed, score
from shoal.features.learned import Learned
from shoal.features.linear_objectives import SOLVERS
from shoal.model.parameters import check_choice, is_number

Form = Literal["auto", "diagonal", "full"]
LinearInputs = Literal["auto", "values", "time", "haar", "sums"]
LinearObjective = Literal["logistic", "contrastive", "xing"]

PENALTIES = (0.1, 0.01, 0.001)
"""Penalties to try on the held-out pairs if none is given, strongest first."""

SHARES = (0.0, 0.25, 0.5)
"""Shares of Euclidean distance to try on the held-out pairs if none is given."""

TRIED: tuple[tuple[Inputs, str], ...] = (
    ("values", "diagonal"),
    ("values", "full"),
    ("time", "diagonal"),
    ("haar", "diagonal"),
    ("sums", "diagonal"),
    ("sums", "full"),
)
"""Default inputs and forms. Full forms of Haar coefficients are rotated full forms of the values; for time inputs, they
have too many weights to learn from some thousand pairs."""


class MetricSetting(NamedTuple):
    """The inputs of a linear metric, its form, its penalty and its share of Euclidean distance."""

    inputs: Inputs
    form: str
    penalty: float
    share: float


@dataclass(frozen=True, kw_only=True)
class LinearMetric:
    """Learn a linear metric from pairs labelled similar or dissimilar.

    d(x, y) = √((u - v)ᵀ A (u - v)) = ‖L u - L v‖₂ with A = LᵀL positive semidefinite, where u and v are the inputs of x
    and y: the values themselves, or transforms of them (`shoal.features.inputs`). A share s of Euclidean distance can
    be mixed in: (1 - s) d² + s ‖x - y‖², each in units of its mean over the labelled pairs.

    The pairs of a third of the series are held out, three times; with fewer than 600 pairs, this is repeated up to four
    times. Inputs, form, penalty and share are chosen by the score on them, and the metric is learned again from all
    pairs. It is used if there are at least ten different series and its expected gain is positive: the mean over the
    parts of its score on the held-out pairs, minus that of Euclidean distance, each part scored by a metric whose
    weights come from the other two, and whose settings do best on all other parts. Otherwise the result says so and
    returns the values themselves (`Learned.used`). The score is the chance that a dissimilar pair is farther apart than
    a similar one. Missing values are refused.

    Parameters
    ----------
    inputs
        "values": for sums over the series, such as a stretch of the day or use in a window. "time": next to the values,
        their running total and the highest value, rise and fall so far and still to come, whose sums give times of
        arrival and departure. "sums": these sums, so that times are learned from few pairs. "haar": Haar coefficients,
        totals of stretches and differences between them. "auto": whichever scores best on the held-out pairs; with
        "time" and "haar" as diagonal forms alone.
    form
        "diagonal": one weight per input, few parameters, learned from few pairs. "full": directions, such
        as the total of a window. "auto": whichever scores better on the held-out pairs.
    objective
        "logistic": the chance that a pair is similar is 1 / (1 + exp(d² - b)); the labels say on which side of b a pair
        lies, so distances beyond it stay in proportion. "contrastive": similar pairs at 0, dissimilar ones beyond a
        margin, the linear network of the paper. "xing": largest distances of dissimilar pairs while those of similar
        ones are bounded.
    penalty
        The penalty on large weights, tr A in units of the data's spread. Larger is smoother and needs fewer pairs.
        Default: the best of 0.1, 0.01 and 0.001 on the held-out pairs.
    euclidean_share
        The share of Euclidean distance mixed in, from 0 to below 1: more helps if labels are few. Default: the best of
        0, 0.25 and 0.5 on the held-out pairs.
    seed
        Decides which series are held out. The same pairs and seed give the same bytes.

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
    euclidean_share: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, kind in (("inputs", LinearInputs), ("form", Form), ("objective", LinearObjective)):
            check_choice(name, getattr(self, name), kind)
        if self.penalty is not None and not (is_number(self.penalty) and 0.0 <= self.penalty < float("inf")):
            raise ParameterError("penalty must be a number of at least 0.")
        share = self.euclidean_share
        if share is not None and not (is_number(share) and 0.0 <= share < 1.0):
            raise ParameterError("euclidean_share must be a number from 0 to below 1.")
        refuse_seed(self.seed)

    def learn(self, left: Any, right: Any, similar: Any) -> Learned:
        """Learn from two arrays of series and a boolean for each pair of rows."""
        pairs = as_pairs(left, right, similar)
        settings = self._settings()
        scaled = {kind: scale_inputs(pairs, kind) for kind in dict.fromkeys(setting.inputs for setting in settings)}
        with one_thread():
            chosen, judged = self._choose(
                settings, {kind: x for kind, (x, _, _) in scaled.items()}, pairs.drawn_folds(int(self.seed))
            )
            x, centre, scale = scaled[chosen.inputs]
            map_ = np.ascontiguousarray(SOLVERS[self.objective, chosen.form](x, pairs, chosen.penalty))
            own, values_weight = mixture(pairs, pairs.distances(x @ map_.T), chosen.share)
        return Learned(
            kind="linear",
            inputs=chosen.inputs,
            shape=pairs.shape,
            centre=centre,
            scale=scale,
            layers=((own * map_, np.zeros(len(map_))),),
            figures=conclude(pairs, judged)
            | {
                "form": chosen.form,
                "objective": self.objective,
                "penalty": chosen.penalty,
                "euclidean_share": chosen.share,
                "n_tried": len(settings),
                "seed": int(self.seed),
            },
            values_weight=values_weight,
        )

    def _settings(self) -> list[MetricSetting]:
        """The settings to try; in a tie, the first is used."""
        forms = ("diagonal", "full") if self.form == "auto" else (self.form,)
        tried = TRIED if self.inputs == "auto" else tuple((self.inputs, form) for form in forms)
        return [
            MetricSetting(inputs, form, penalty, share)
            for inputs, form in tried
            if form in forms
            for penalty in (PENALTIES if self.penalty is None else (float(self.penalty),))
            for share in (SHARES if self.euclidean_share is None else (float(self.euclidean_share),))
        ]

    def _choose(
        self, settings: list[MetricSetting], inputs: dict[Inputs, Floats], drawn: tuple[tuple[Fold, ...], ...]
    ) -> tuple[MetricSetting, list[HeldOut]]:
        """The setting that does best on the held-out pairs, the first in a tie, and distances to judge by.

        A fold is judged with the setting that does best on all others, of every draw: the best of many on the same
        pairs would be biased, and the others of one draw are too few to choose by. Other draws hold out some of the
        same pairs, so if labels are few, the judgement is a little too kind.
        """
        solved: dict[MetricSetting, list[list[tuple[Floats, Floats]]]] = {}
        judged: list[list[list[HeldOut]]] = []
        for setting in settings:
            x, solve = inputs[setting.inputs], SOLVERS[self.objective, setting.form]
            alone = setting._replace(share=0.0)
            if alone not in solved:
                maps = [[solve(x, fold.train, setting.penalty) for fold in folds] for folds in drawn]
                solved[alone] = [
                    [
                        (fold.train.distances(x @ m.T), fold.held.distances(x @ m.T))
                        for fold, m in zip(f, ms, strict=True)
                    ]
                    for f, ms in zip(drawn, maps, strict=True)
                ]
            judged.append(
                [
                    [_mixed(fold, *apart, setting.share) for fold, apart in zip(folds, aparts, strict=True)]
                    for folds, aparts in zip(drawn, solved[alone], strict=True)
                ]
            )
        scores = np.array(
            [[[score(fold.learned, fold.held.similar) for fold in row] for row in rows] for rows in judged]
        )
        totals = scores.sum(axis=(1, 2))
        honest = [
            judged[int((totals - scores[:, draw, at]).argmax())][draw][at]
            for draw, folds in enumerate(drawn)
            for at in range(len(folds))
        ]
        return settings[int(scores.mean(axis=(1, 2)).argmax())], honest


def mixture(pairs: Pairs, learned: Floats, share: float) -> tuple[float, float]:
    """The factors for learned features and values that give Euclidean distance its share of the mean square."""
    if not share:
        return 1.0, 0.0
    apart = pairs.distances(pairs.series)
    own, plain = float(np.mean(learned * learned)), float(np.mean(apart * apart))
    return float(np.sqrt((1.0 - share) / (own or 1.0))), float(np.sqrt(share / (plain or 1.0)))


def _mixed(fold: Fold, trained: Floats, held: Floats, share: float) -> HeldOut:
    """Held-out pairs with their distances by a metric with its share of Euclidean distance."""
    own, plain = mixture(fold.train, trained, share)
    apart = plain * fold.held.distances(fold.held.series) if share else 0.0
    return HeldOut(fold.held, np.sqrt((own * held) ** 2 + apart**2) if share else held)


def scale_inputs(pairs: Pairs, kind: Inputs) -> tuple[Floats, Floats, float]:
    """The inputs of each series, centred and scaled for the solvers, with the centre and the scale."""
    inputs = inputs_of(pairs.series.reshape(-1, *pairs.shape), kind)
    centre, scale = inputs.mean(axis=0), pairs.scale_of(inputs)
    return (inputs - centre) / scale, centre, scale
