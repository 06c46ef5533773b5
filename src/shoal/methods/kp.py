"""Publish a range for every value and, separately, a word for the shape of every series."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.sax import MOST_LETTERS, Sax, text
from shoal.features.shapes import channel_distances, unit_channels
from shoal.guarantees import KPAnonymity, LDiversity
from shoal.guarantees.kp_anonymity import envelope_classes, pattern_classes
from shoal.kernels.arrays import renumber
from shoal.kernels.kp_clusters import split_sets
from shoal.kernels.kp_groups import boxes_of, form_groups
from shoal.kernels.kp_leftovers import join_bad_leaves
from shoal.kernels.kp_tree import WordLeaves, create_tree, recycle
from shoal.methods.diversity import diversify, plain_sensitive
from shoal.methods.instants import Instants, are_disjoint, canonical, positions
from shoal.methods.kernel_runs import watched
from shoal.methods.layers import Layers, layers_of
from shoal.methods.mean_words import Words, with_mean_words, with_near_shapes
from shoal.model import Candidate, Envelopes, Method, Moments, Panel, PanelShards, Private, Progress, Recipe, ShardPlan
from shoal.model.parameters import check_choice, check_whole, is_number
from shoal.model.tally import channel_deviations, channel_moments

Algorithm = Literal["kapra", "naive", "auto"]
WordsOf = Literal["mean", "own"]


class _Partition(NamedTuple):
    """The group of each row, -1 for a suppressed one, and its leaf; of each leaf its word; the others' subgroups."""

    groups: NDArray[np.int64]
    leaf: NDArray[np.int64]
    letters: NDArray[np.uint8]
    levels: NDArray[np.int64]
    subgroups: NDArray[np.int64]


class _Formed(NamedTuple):
    """The rows to publish, the group of each, numbered from 0, and their words."""

    algorithm: Algorithm
    kept: NDArray[np.int64]
    groups: NDArray[np.int64]
    words: Words

    def of_all(self, n: int) -> NDArray[np.int64]:
        """The group of each row, -1 for a suppressed one."""
        groups_of_all = np.full(n, -1)
        groups_of_all[self.kept] = self.groups
        return groups_of_all


@dataclass(frozen=True, kw_only=True)
class KP(Method):
    """Publish envelopes shared by at least `k` series, and patterns shared by at least `p` of those.

    Two things are published about every series: at each instant the lowest and the highest value of its group, and a
    SAX word for its shape, which at least `p` series of the group share. Each word has the highest level (number of
    letters) that was found for it. Aims at KPAnonymity(k, p): knowing values and shape, nobody finds a series with a
    chance above 1/p.

    "kapra" first forms subgroups of equal words over all series, then combines close subgroups into groups; "naive"
    first forms groups of close values, then words inside each. With the words that series share, "kapra" keeps shapes
    better and "naive" usually keeps values better; words of "naive" are then coarse and may be those of a similar
    series. With words of means, it depends on the data which keeps shapes better: measure both with PatternLoss and
    ValueLoss.

    With words of means, nobody is suppressed: a series that shares its word with too few joins the subgroup of the most
    similar shape. With their own words, "kapra" may suppress up to p - 1 series, and the recipe says how many; if fewer
    than k would be left, they get the word of the most similar subgroup instead. "naive" suppresses none.

    A subject may have several series, with words of means: the first ones of all subjects are grouped, then the second
    ones, and so on while k subjects have one; what is left over joins the group of the nearest series. So every group
    has k subjects and every word p of them.

    Choices that the paper leaves open: ties are decided by row position; a node whose series all agree on the next
    level goes there without a split; rows of bad leaves are recycled one by one, because they need not share a word at
    a lower level. Groups are formed by an index: they are those of the paper's greedy order over all pairs, ties
    included, except for panels with more than 50 000 subgroups (150 000 series or more, with p = 3): there, the
    subgroup that joins may be up to 5 % worse than the best, which adds less than 1 % to the value loss.

    With `l`, sensitive columns are published as well, changed if a value has a share above 1/l among the series with
    the same envelope and word, and it also aims at LDiversity(l). Numbers that are too frequent are moved to nearby
    ones; words and truth values are exchanged between series, so that each occurs as often as before. The recipe counts
    both. Without `l`, these columns are withheld.

    With several channels a group shares the ranges of all of them, and a pattern is the words of all of them, one after
    another and all at one level. Values are compared in standard deviations of their channel (over the whole panel), so
    that units do not matter; loss of values is the root of the mean square over instants and channels, loss of shapes
    the mean over channels.

    Gaps are refused, with `l` in sensitive columns too.

    Parameters
    ----------
    k
        Smallest group of one envelope. Larger hides better and widens the envelopes.
    p
        Smallest subgroup of one pattern, at most k. Larger hides better and coarsens the patterns. With 1, every series
        may have its own word, and only envelopes hide it.
    algorithm
        "kapra" or "naive"; "auto" forms both and publishes the one that loses less, weighted by `pattern_weight`.
    pattern_weight
        Only "auto": the weight of the loss of shapes, from 0 to 1; the loss of values, as a share of the width of one
        envelope around all series, gets the rest.
    max_level
        The most letters a word may use, up to 20. Fewer make coarser words.
    words
        "mean" gives a subgroup the word of its mean shape at the highest level, if that is closer to its series than
        the word they share. "own" publishes the shared word, as the paper does: coarser, but true of every series, so
        that ranges estimated from words (`shoal.queries.complete`) are certain.
    envelope_instants
        The instants whose ranges are published, by position from 0: "0:12,18" are the first twelve and the nineteenth;
        in Python also a sequence of positions or a slice. Default: all. Groups are always formed on all instants. Fewer
        reveal less; `shoal.queries.complete` estimates the others if there are letters.
    pattern_instants
        The instants whose letters are published, in the same form. At least one must have both.
    l
        Publish the sensitive columns, no value with a share above 1/l in any subgroup; 2 to p. Larger hides better and
        changes more entries.
    epsilon
        How far a sensitive number may be moved, as a share of the standard deviation of its column; further if there is
        no room. Smaller is closer to the truth, and reveals more about the rough amount.
    seed
        Decides which of the entries that are too frequent are changed, and to what.

    Examples
    --------
    >>> from shoal import Panel
    >>> up, down = [1.0, 2.0, 4.0], [4.0, 2.0, 1.0]
    >>> candidate = KP(k=4, p=2).anonymize(Panel([up, down, [3.0, 4.0, 6.0], [5.0, 3.0, 2.0]]))
    >>> candidate.published.low[0].tolist(), candidate.published.high[0].tolist()
    ([1.0, 2.0, 1.0], [5.0, 4.0, 6.0])
    >>> candidate.published.patterns[0] == candidate.published.patterns[2] != candidate.published.patterns[1]
    True
    >>> candidate.check().holds
    True

    References
    ----------
    L. Shou, X. Shang, K. Chen, G. Chen, C. Zhang, "Supporting pattern-preserving anonymization for time-series data",
    2013, section 5.
    """

    name: ClassVar[str] = "kp"
    why_alone: ClassVar[str] = "its envelopes must contain the readings as they were measured"

    k: int
    p: int
    algorithm: Algorithm = "kapra"
    pattern_weight: float = 0.5
    max_level: int = MOST_LETTERS
    words: WordsOf = "mean"
    envelope_instants: Instants | None = None
    pattern_instants: Instants | None = None
    l: int | None = None
    epsilon: float = 0.01
    seed: int = 0

    _scales: ClassVar[tuple[float, ...]] = (1.0,)
    """A unit for each channel of a panel."""

    def __post_init__(self) -> None:
        KPAnonymity(self.k, self.p)  # refuses the impossible with its own message
        if self.p > self.k:
            raise ParameterError(
                f"p={self.p} is above k={self.k}: every pattern inside a group needs p series, so groups would have "
                "at least p anyway. Raise k or lower p."
            )
        check_choice("algorithm", self.algorithm, Algorithm)
        if not is_number(self.pattern_weight) or not 0.0 <= self.pattern_weight <= 1.0:
            raise ParameterError("pattern_weight must be a number from 0 to 1.")
        if isinstance(self.max_level, bool) or not isinstance(self.max_level, int | np.integer):
            raise ParameterError("max_level must be a whole number.")
        Sax(int(self.max_level))
        check_choice("words", self.words, WordsOf)
        for name in ("envelope_instants", "pattern_instants"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, canonical(name, getattr(self, name)))
        if are_disjoint(self.envelope_instants, self.pattern_instants):
            raise ParameterError(
                "envelope_instants and pattern_instants have no instant in common: nothing would tie letters to "
                "values, and neither could be estimated from the other. Let them share some, or omit one of them for "
                "all instants."
            )
        if self.l is not None:
            LDiversity(self.l)
            if self.l > self.p:
                raise ParameterError(
                    f"l={self.l} is above p={self.p}: a subgroup of p series cannot have l different values. "
                    "Raise p or lower l."
                )
        if not is_number(self.epsilon) or not 0.0 <= self.epsilon < float("inf"):
            raise ParameterError("epsilon must be a number of at least 0.")
        check_whole("seed", self.seed, 0)

    @property
    def aims_at(self) -> KPAnonymity:
        """The guarantee a candidate of this method is checked against."""
        return KPAnonymity(int(self.k), int(self.p))

    @property
    def representation(self) -> Sax:
        """What patterns are written in."""
        return Sax(int(self.max_level), len(self._scales))

    @property
    def shard_plan(self) -> ShardPlan:
        """At least 3k subjects."""
        return ShardPlan(least=3 * int(self.k))

    def prepare(self, panel: PanelShards) -> Self:
        """Channels are compared in the standard deviations of the whole panel."""
        if panel.whole.n_channels == 1:
            return self
        return self._knowing_scales(panel.add_up(_shard_moments))

    def _knowing_scales(self, moments: Moments) -> Self:
        """The same for several channels with these readings."""
        deviations = channel_deviations(moments).tolist()
        return self.knowing(_scales=tuple(deviations))

    def _near(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values as groups compare them; with several channels, in units of each."""
        if len(self._scales) == 1:
            return x
        scaled: NDArray[np.float64] = x / np.repeat(self._scales, x.shape[1] // len(self._scales))
        return scaled

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Form groups and words; publish envelopes and patterns of all series but the suppressed ones, in row order."""
        self._refuse(panel)
        if panel.n_channels != len(self._scales):
            return self._knowing_scales(channel_moments(panel))._anonymize(panel, progress)
        ranges = positions("envelope_instants", self.envelope_instants, panel.n_instants)
        spelled = positions("pattern_instants", self.pattern_instants, panel.n_instants)
        # A copy, because numba compiles everything again for a read-only array.
        by_channel = panel.cube.transpose(0, 2, 1)
        x = np.array(by_channel, order="C").reshape(panel.n_series, -1)
        subjects = None if panel.one_series_per_subject else panel.subject_codes
        formed: _Formed = watched(lambda done: self._form(x, subjects, done), panel.n_series, progress)
        kept, groups, words = formed.kept, formed.groups, formed.words
        everyone = len(kept) == panel.n_series
        low, high, sizes = boxes_of(x if everyone else x[kept], groups)
        letters = words.letters.reshape(len(words.letters), panel.n_channels, -1)[:, :, spelled]
        texts = text(letters.reshape(len(letters), -1))
        # Back from one channel after another to (series, instants, channels).
        low, high = (
            end.reshape(len(end), panel.n_channels, -1)[:, :, ranges].transpose(0, 2, 1) for end in (low, high)
        )
        published = Envelopes(
            low=low[groups],
            high=high[groups],
            levels=words.levels[words.of_row],
            patterns=tuple(map(texts.__getitem__, words.of_row.tolist())),
            times=panel.times[ranges],
            pattern_times=panel.times[spelled],
            word_instants=panel.n_instants,
            subjects=None if subjects is None else subjects[kept].tolist(),
            timezone=panel.timezone,
            channels=panel.channels if panel.n_channels > 1 else None,
        )
        figures = {"groups": len(sizes), "series_suppressed": panel.n_series - len(kept)}
        if self.algorithm == "auto":
            figures["series_grouped_by_values"] = len(kept) if formed.algorithm == "naive" else 0
        if self.l is not None:
            published, changes = self._with_sensitive(panel, kept, published)
            figures |= changes
        return Candidate(
            published=published,
            guarantee=self.aims_at,
            recipe=Recipe(self.name, self.parameters, figures),
            private=Private(original=panel, groups=formed.of_all(panel.n_series), rows=None if everyone else kept),
            further=() if self.l is None else (LDiversity(int(self.l)),),
        )

    def _with_sensitive(
        self, panel: Panel, kept: NDArray[np.int64], published: Envelopes
    ) -> tuple[Envelopes, dict[str, int]]:
        """Section 5.4, on the groups of what is published: cut words and ranges may have joined some.

        It counts series. If a subject has two in one subgroup, its subjects are fewer, and a larger l may be needed to
        keep this one among them.
        """
        assert self.l is not None
        envelopes = envelope_classes(published)
        classes = pattern_classes(published, envelopes)
        asked, one_each = LDiversity(int(self.l)), published.subjects is None
        for l in [asked.l] if one_each else range(asked.l, int(self.p) + 1):
            try:
                columns, figures = diversify(
                    panel, kept, classes, envelopes, l=l, epsilon=float(self.epsilon), seed=int(self.seed)
                )
            except ParameterError:
                if l == asked.l:
                    raise
                break
            diverse = replace(published, sensitive=columns)
            if one_each or asked.check(diverse).holds:
                return diverse, figures
        raise ParameterError(
            f"The sensitive columns cannot be made {asked.l}-diverse in subjects: some have several series in one "
            "subgroup. Lower l, raise p, publish as many series of each subject, or omit l."
        )

    def _form(self, x: NDArray[np.float64], subjects: NDArray[np.int64] | None, done: NDArray[np.int64]) -> _Formed:
        """Groups and words by the requested algorithm, or by the better of both; kapra in a tie."""
        if self.algorithm != "auto":
            return self._formed(x, subjects, self.algorithm, done)
        nobody = np.zeros(1, dtype=np.int64)
        found = [self._formed(x, subjects, "kapra", done), self._formed(x, subjects, "naive", nobody)]
        return min(found, key=lambda formed: self._loss(x, formed))

    def _loss(self, x: NDArray[np.float64], formed: _Formed) -> float:
        """The loss of shapes and of values, weighted."""
        kept, near = x[formed.kept], self._near(x)
        low, high, _ = boxes_of(near[formed.kept], formed.groups)
        width = np.sqrt(np.square(high - low).mean(axis=1))[formed.groups].mean()
        widest = np.sqrt(np.square(near.max(axis=0) - near.min(axis=0)).mean())
        words, n_channels = formed.words, len(self._scales)
        shapes = unit_channels(self.representation.reconstruct(words.letters, words.levels), n_channels)[words.of_row]
        lost = channel_distances(unit_channels(kept, n_channels), shapes, n_channels).mean()
        weight = float(self.pattern_weight)
        return float(weight * lost + (1.0 - weight) * (width / widest if widest > 0.0 else 0.0))

    def _formed(
        self,
        x: NDArray[np.float64],
        subjects: NDArray[np.int64] | None,
        algorithm: Algorithm,
        done: NDArray[np.int64],
    ) -> _Formed:
        form = self._kapra if algorithm == "kapra" else self._naive
        parts = (
            form(x, done)
            if subjects is None
            else _in_layers(x, layers_of(self._near(x), subjects, int(self.k)), form, done)
        )
        kept = np.flatnonzero(parts.groups >= 0)
        groups = parts.groups[kept]
        words = Words(parts.letters, parts.levels, parts.leaf[kept])
        if self.words == "mean":
            words = with_mean_words(x[kept], parts.subgroups, words, self.representation)
            if algorithm == "naive" and subjects is None:  # parts of near shapes count series
                words = with_near_shapes(x[kept], groups, int(self.p), words, self.representation)
        return _Formed(algorithm, kept, groups, words)

    def _naive(self, x: NDArray[np.float64], done: NDArray[np.int64]) -> _Partition:
        """Section 5.2: groups of near values, then a tree for each."""
        pr = self.representation
        groups = split_sets(self._near(x), np.zeros(len(x), dtype=np.int64), int(self.k))
        leaves = create_tree(lambda level: pr.words(x, level), groups, int(self.p), pr.max_level)
        joins = join_bad_leaves(leaves, groups, self._shapes(x, leaves), pr.similarity)
        done[0] += len(x)
        leaf = joins[leaves.leaf]
        subgroups = np.unique(groups * (int(leaf.max()) + 1) + leaf, return_inverse=True)[1].reshape(-1)
        return _Partition(groups, leaf, self._words(x, leaves), leaves.level, subgroups)

    def _kapra(self, x: NDArray[np.float64], done: NDArray[np.int64]) -> _Partition:
        """Section 5.3: one tree, bad leaves recycled, subgroups put together to groups."""
        leaves = self._leaves(x)
        kept = np.flatnonzero(leaves.good[leaves.leaf])
        # Leaves of 2p rows or more are cut in parts of near values, each a subgroup.
        near = self._near(x[kept])
        subgroups = split_sets(near, leaves.leaf[kept], int(self.p))
        groups = np.full(len(x), -1, dtype=np.int64)
        groups[kept] = form_groups(*boxes_of(near, subgroups), int(self.k), done)[subgroups]
        return _Partition(groups, leaves.leaf, self._words(x, leaves), leaves.level, subgroups)

    def _leaves(self, x: NDArray[np.float64]) -> WordLeaves:
        """Leaves of equal words; bad ones are to be suppressed and have fewer than p rows in all."""
        pr, p = self.representation, int(self.p)
        roots = np.zeros(len(x), dtype=np.int64)
        leaves = create_tree(lambda level: pr.words(x, level), roots, p, pr.max_level)
        bad = np.flatnonzero(~leaves.good[leaves.leaf])
        if not len(bad):
            return leaves
        found, levels = recycle(lambda level: pr.words(x[bad], level), leaves.level[leaves.leaf[bad]], p)
        # Recycled rows leave their leaves for new ones; what is left over is a bad leaf a row.
        left = bad[found < 0]
        leaf = leaves.leaf.copy()
        leaf[bad] = len(leaves.level) + found
        leaf[left] = len(leaves.level) + len(levels) + np.arange(len(left))
        level = np.concatenate([leaves.level, levels, leaves.level[leaves.leaf[left]]])
        leaves = _numbered(leaf, level, left)
        if len(x) - len(left) >= self.k and self.words == "own":
            return leaves
        # The paper suppresses them, even where no group is left. Their own level would be theirs alone.
        joins = join_bad_leaves(leaves, roots, self._shapes(x, leaves), pr.similarity)
        return WordLeaves(joins[leaves.leaf], leaves.level, leaves.first, np.ones(len(joins), dtype=np.bool_))

    def _words(self, x: NDArray[np.float64], leaves: WordLeaves) -> NDArray[np.uint8]:
        words = np.zeros((len(leaves.level), x.shape[1]), dtype=np.uint8)
        for level in np.unique(leaves.level).tolist():
            of_level = leaves.level == level
            words[of_level] = self.representation.words(x[leaves.first[of_level]], level)
        return words

    def _shapes(self, x: NDArray[np.float64], leaves: WordLeaves) -> NDArray[np.float64]:
        return self.representation.reconstruct(self._words(x, leaves), leaves.level)

    def _refuse(self, panel: Panel) -> None:
        if panel.n_subjects < self.k:
            raise ParameterError(
                f"k={self.k} needs at least {self.k} subjects, the panel has {panel.n_subjects}. "
                "Lower k or read more series."
            )
        if not panel.one_series_per_subject and self.words == "own":
            raise ParameterError(
                f"words='own' needs one series per subject; here are {panel.n_series} series of {panel.n_subjects} "
                "subjects. Use words='mean', or publish one series of each."
            )
        if panel.n_missing:
            raise ParameterError(
                f"kp needs a panel without gaps; {panel.n_missing} values are missing. "
                "Read it with missing='drop-series' or 'interpolate:2h'."
            )
        if self.l is not None:
            plain_sensitive(panel)


def _shard_moments(number: int, panel: Panel) -> Moments:
    return channel_moments(panel)


def _numbered(leaf: NDArray[np.int64], level: NDArray[np.int64], bad_rows: NDArray[np.int64]) -> WordLeaves:
    """Leaves without the empty ones, numbered by first row."""
    numbered = renumber(leaf)
    first = np.unique(numbered, return_index=True)[1]
    good = np.ones(len(first), dtype=np.bool_)
    good[numbered[bad_rows]] = False
    return WordLeaves(numbered, level[leaf[first]], first, good)


def _in_layers(
    x: NDArray[np.float64],
    layers: Layers,
    form: Callable[[NDArray[np.float64], NDArray[np.int64]], _Partition],
    done: NDArray[np.int64],
) -> _Partition:
    """The partition of all rows, each layer by itself; `form` suppresses none."""
    groups, leaf, subgroups = (np.full(len(x), -1) for _ in range(3))
    letters, levels = [], []
    n_leaves = 0
    for rows in layers.rows:
        part = form(np.ascontiguousarray(x[rows]), done)
        groups[rows] = part.groups + groups.max() + 1
        leaf[rows] = part.leaf + n_leaves
        subgroups[rows] = part.subgroups + subgroups.max() + 1
        letters.append(part.letters)
        levels.append(part.levels)
        n_leaves += len(part.levels)
    for column in (groups, leaf, subgroups):
        column[layers.left] = column[layers.nearest]
    return _Partition(groups, leaf, np.concatenate(letters), np.concatenate(levels), subgroups)
