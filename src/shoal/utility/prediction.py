"""Whether a model learned from published days predicts real ones."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.labelled import as_series
from shoal.model import Measure, Panel, Score
from shoal.model.measure import Goal
from shoal.model.parameters import check_choice, check_whole
from shoal.model.score import Unit
from shoal.utility.groups import published_labels
from shoal.utility.interest_loss import complete_pair, refuse_above

Learner = Literal["knn", "svm"]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Positions = NDArray[np.int64]


class Accuracies(NamedTuple):
    """Share of right predictions of real days for each source of learning, with the same splits."""

    published: float
    original: float


@dataclass(frozen=True)
class Prediction(Measure):
    """Accuracy on real days of a model of presence that learned from published ones.

    The model predicts whether someone is there at an instant t, x[t] > `above`, for every t of the day, from the
    `window` values before it, x[t - window], …, x[t - 1]; at the beginning from fewer, at the first instant from none.
    A model for each t learns from the published series and is tested on the original values of series it did not learn
    from; the score is the share of right answers over all series, instants and channels.

    Series are split into `folds` parts; each part is tested after learning from the others. Series that are published
    alike stay in one part, so that no day contributes to the mean from which it is predicted. That is harder than a
    random split, especially with large groups, because the most similar days are held out together: compare with
    `accuracies`, which learns from the originals under the same split, not with the score of another release. If groups
    change from instant to instant (NLK), the split cannot keep them together, and a day contributes a little to what it
    is predicted from.

    Learning from published days may do better than learning from real ones, because a mean has less noise; so this
    judges "models", and publishing the originals is not the optimum. Missing values are refused.

    Parameters
    ----------
    learner
        "knn": the majority of the `neighbours` nearest days, by Euclidean distance in the window; ties with the last of
        them vote too, and half of the votes is not enough. "svm": a support vector machine, RBF kernel, C = 1, gamma
        from the variance of the window; if all days agree at t, their answer.
    window
        Instants before t that the model sees, at least 1: 8 are two hours of quarter hours.
    neighbours
        Only "knn": how many days vote, at least 1. An even number can end in a tie.
    above
        The value above which someone is present. 0.5 suits presence (0 or 1), and also published means: someone is
        there if half of the group is.
    folds
        Number of parts, at least 2; fewer if fewer different series are published.
    sample
        The largest number of series used, in whole groups drawn at random. Time grows with its square.
    seed
        Decides which groups are drawn, and which part each is in. Does not depend on the order of the series.

    Examples
    --------
    >>> from shoal import Microaggregation, simulate
    >>> days = simulate.occupancy(40, days=1, step="30min", start="2024-01-09", seed=1)
    >>> published = Microaggregation(k=3, round_to="binary").anonymize(days).published
    >>> 0.8 < Prediction().measure(days, published).value < 1.0
    True

    References
    ----------
    "PAD: learned metric", section 7.2.1, figure 5. The paper names neither window, neighbours nor kernel, and splits
    days after they were anonymised together.
    """

    name: ClassVar[str] = "prediction"
    meaning: ClassVar[str] = "accuracy on real days of a model of presence learned from published ones"
    judges: ClassVar[Literal["models"]] = "models"
    purpose: ClassVar[str] = "presence and special interests"
    unit: ClassVar[Unit] = "share"
    goal: ClassVar[Goal] = "higher"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    why_whole: ClassVar[str] = "learns from some series and asks about others"
    # The threshold for presence must be stated.
    usual = ()

    learner: Learner = "knn"
    window: int = 8
    neighbours: int = 5
    above: float = 0.5
    folds: int = 5
    sample: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("learner", self.learner, Learner)
        for name, least in (("window", 1), ("neighbours", 1), ("folds", 2), ("sample", 2), ("seed", 0)):
            check_whole(name, getattr(self, name), least)
        refuse_above(self.above)

    @property
    def sampled(self) -> int | None:
        """The number of series used from any panel."""
        return int(self.sample)

    def measure(self, original: Panel, published: Panel) -> Score:
        """Learn from published series, test on original ones; rows are in the same order."""
        before, after = complete_pair(original, published)
        return self.as_score(self._over_folds(after, before, self.split(original, published)))

    def accuracies(self, original: Panel, published: Panel) -> Accuracies:
        """The score, and that of learning from the originals under the same split."""
        before, after = complete_pair(original, published)
        split = self.split(original, published)
        return Accuracies(*(self._over_folds(learned, before, split) for learned in (after, before)))

    def accuracy(self, learned_from: Any, asked_about: Any) -> float:
        """Share of right answers about some series, from a model that learned from others: arrays, no splitting."""
        train, test = (_with_channels(as_series(x)) for x in (learned_from, asked_about))
        if train.shape[1:] != test.shape[1:]:
            raise ParameterError(
                f"The model learned from series of shape {train.shape[1:]}, but the test series have shape "
                f"{test.shape[1:]}. Give series over the same instants and channels."
            )
        return float(np.mean(self._right(train, test)))

    def split(self, original: Panel, published: Panel) -> list[Positions]:
        """The positions of the series in each part; series published alike are in one."""
        group = published_labels(published)
        first = np.unique(group, return_index=True)[1]
        if len(first) < 2:
            raise ParameterError(
                "prediction needs series published in at least 2 ways, found 1: with its group held out nothing is "
                "left to learn from. Lower k."
            )
        # By digest, not by position: the score does not depend on the order of the rows.
        order = sorted(range(len(first)), key=lambda g: self._digest(published.rows[first[g]]))
        together = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
        members = [together[g] for g in order]
        parts: list[list[int]] = [[] for _ in range(min(int(self.folds), len(members)))]
        n_used = 0
        for at, rows in enumerate(members):
            n_used += len(rows)
            if at >= 2 and n_used > self.sample:
                break
            smallest = min(parts, key=len)
            smallest += sorted(rows.tolist(), key=lambda row: self._digest(original.rows[row]))
        return [np.array(part, dtype=np.int64) for part in parts if part]

    def note(self, published: Panel) -> str:
        """What a report must say about sampling; empty if every series was used."""
        if published.n_series <= self.sample:
            return ""
        return f"estimated from about {self.sample} of {published.n_series} series, drawn with seed {self.seed}"

    def _digest(self, row: Floats) -> bytes:
        key = int(self.seed).to_bytes(16, "little")
        return hashlib.blake2b(row.tobytes(), digest_size=16, key=key).digest()

    def _over_folds(self, learned: Floats, real: Floats, split: list[Positions]) -> float:
        learned, real = _with_channels(learned), _with_channels(real)
        right = []
        for at, asked in enumerate(split):
            others = np.concatenate(split[:at] + split[at + 1 :])
            right.append(self._right(learned[others], real[asked]))
        return float(np.mean(np.concatenate(right)))

    def _right(self, train: Floats, test: Floats) -> Booleans:
        """Which answers are right (series, instants, channels)."""
        there, truth = train > self.above, test > self.above
        found = np.empty(truth.shape, dtype=np.bool_)
        for t in range(train.shape[1]):
            window = slice(max(0, t - int(self.window)), t)
            seen, asked = (x[:, window].reshape(len(x), -1) for x in (train, test))
            if self.learner == "knn" or t == 0:
                found[:, t] = _by_neighbours(seen, there[:, t], asked, int(self.neighbours))
            else:
                for channel in range(train.shape[2]):
                    found[:, t, channel] = _by_svm(seen, there[:, t, channel], asked)
        right: Booleans = found == truth
        return right


def _with_channels(x: Floats) -> Floats:
    return x if x.ndim == 3 else x[:, :, None]


def _by_neighbours(seen: Floats, there: Booleans, asked: Floats, n_neighbours: int) -> Booleans:
    """The answer of most of the nearest (series, channels)."""
    from scipy.spatial.distance import cdist

    if seen.shape[1] == 0:  # the first instant: all are equally near
        return np.broadcast_to(there.mean(axis=0) > 0.5, (len(asked), there.shape[1]))
    apart = cdist(asked, seen, "sqeuclidean")
    at = min(n_neighbours, len(seen)) - 1
    votes = (apart <= np.partition(apart, at, axis=1)[:, at : at + 1]).astype(np.float64)
    shares: Booleans = 2.0 * (votes @ there) > votes.sum(axis=1, keepdims=True)
    return shares


def _by_svm(seen: Floats, there: Booleans, asked: Floats) -> Booleans:
    from sklearn.svm import SVC

    if there.all() or not there.any():
        return np.full(len(asked), there[0])
    return np.asarray(SVC().fit(seen, there).predict(asked), dtype=np.bool_)
