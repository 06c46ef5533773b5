"""KP: what it publishes, suppresses and refuses. The phases have tests of their own in tests/kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kp_samples import INCOMES, walks
from naive.kp import naive_kapra, naive_kp_anonymous, naive_naive, naive_shape, naive_similarity
from shoal import KPAnonymity, Panel, publish
from shoal.errors import ParameterError
from shoal.features.sax import letters, parse, text
from shoal.methods.kp import KP
from shoal.process.release_attack import attack_release
from strategies import panels_with_k

ALGORITHMS = {"kapra": naive_kapra, "naive": naive_naive}
BOTH = pytest.mark.parametrize("algorithm", list(ALGORITHMS))


def skewed(n, seed, length=10):
    return np.random.default_rng(seed).lognormal(0.0, 2.0, size=(n, length))


def uniform(n, seed, length=10):
    return np.random.default_rng(seed).uniform(size=(n, length))


def few_values(n, seed, length=4):
    return np.random.default_rng(seed).integers(0, 3, size=(n, length)).astype(float)


def constants(n, seed, length=5):
    return np.repeat(skewed(n, seed, 1), length, axis=1)


KINDS = [walks, skewed, uniform, few_values, constants]


def as_listed(candidate):
    """Per original series None or (low, high, level, word), as the oracle has it."""
    found = [None] * candidate.private.original.n_series
    kept = np.flatnonzero(candidate.private.groups >= 0)
    published = candidate.published
    for at, row in enumerate(kept):
        word = tuple(parse([published.patterns[at]])[0])
        low, high = tuple(published.low[at]), tuple(published.high[at])
        found[row] = low, high, int(published.levels[at]), word
    return found


def assert_sound(x, candidate, k, p, algorithm):
    """Everything that must be true of any candidate."""
    groups, published = candidate.private.groups, candidate.published
    kept = np.flatnonzero(groups >= 0)
    n_suppressed = len(x) - len(kept)
    assert candidate.recipe.figures["series_suppressed"] == n_suppressed
    own = candidate.recipe.parameters["words"] == "own"
    assert n_suppressed < (p if algorithm == "kapra" and own else 1)
    assert len(published) + n_suppressed == len(x)
    assert (candidate.private.rows is None) == (n_suppressed == 0)
    if n_suppressed:
        assert_array_equal(candidate.private.rows, kept)
    assert (published.low <= x[kept]).all()
    assert (x[kept] <= published.high).all()
    # Bounds are reached: the envelope is no wider than its group.
    for number in np.unique(groups[kept]):
        rows = groups[kept] == number
        assert_array_equal(published.low[rows][0], x[kept][rows].min(axis=0))
        assert_array_equal(published.high[rows][0], x[kept][rows].max(axis=0))
    assert candidate.check().holds


@st.composite
def panels_with_k_and_p(draw):
    x, k = draw(panels_with_k(gaps=False, channels=False, largest_k=5))
    return x, k, draw(st.integers(2, k))


@BOTH
@given(case=panels_with_k_and_p(), max_level=st.sampled_from([1, 2, 3, 7, 20]))
def test_the_candidate_is_that_of_the_listings(algorithm, case, max_level):
    x, k, p = case
    candidate = KP(words="own", k=k, p=p, algorithm=algorithm, max_level=max_level).anonymize(Panel(x))
    expected = ALGORITHMS[algorithm](x.tolist(), k, p, max_level)
    assert as_listed(candidate) == [None if e is None else e[:4] for e in expected]
    assert_sound(x, candidate, k, p, algorithm)


@BOTH
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k", "p"), [(60, 5, 2), (75, 10, 3), (41, 4, 4)])
def test_candidates_of_larger_panels_are_those_of_the_listings(algorithm, kind, n, k, p):
    for seed in range(2):
        x = kind(n, seed)
        candidate = KP(words="own", k=k, p=p, algorithm=algorithm).anonymize(Panel(x))
        expected = ALGORITHMS[algorithm](x.tolist(), k, p)
        assert as_listed(candidate) == [None if e is None else e[:4] for e in expected]


@BOTH
@pytest.mark.parametrize("kind", KINDS)
def test_k_and_p_hold_and_nobody_is_lost_over_hundreds_of_seeds(algorithm, kind):
    for seed in range(120):
        rng = np.random.default_rng(seed)
        p = int(rng.integers(2, 7))
        k = p if seed % 3 == 0 else int(rng.integers(p, 3 * p + 1))
        n = [k, k + 1, 2 * k - 1, 2 * k, k + p, int(rng.integers(k, 150))][seed % 6]
        x = kind(n, seed)
        candidate = KP(k=k, p=p, algorithm=algorithm).anonymize(Panel(x))
        assert_sound(x, candidate, k, p, algorithm)
        published = candidate.published
        if n <= 40:
            bounds = published.low.tolist(), published.high.tolist()
            assert naive_kp_anonymous(*bounds, published.levels.tolist(), published.patterns, k, p)


def test_kapra_suppresses_where_enough_are_left():
    up, down = [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]
    candidate = KP(words="own", k=4, p=2).anonymize(Panel([up, up, up, down, up]))
    assert candidate.private.groups.tolist() == [0, 0, 0, -1, 0]
    assert candidate.private.rows.tolist() == [0, 1, 2, 4]
    assert candidate.recipe.figures == {"groups": 1, "series_suppressed": 1}
    assert candidate.check().holds


def test_kapra_suppresses_nobody_where_fewer_than_k_would_be_left():
    up, down = [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]
    candidate = KP(k=4, p=2).anonymize(Panel([up, up, up, down]))
    assert candidate.recipe.figures["series_suppressed"] == 0
    assert len(set(candidate.published.patterns)) == 1
    assert candidate.check().holds


@BOTH
def test_constant_series_are_published_at_the_highest_level(algorithm):
    x = np.repeat(np.arange(12.0)[:, None], 5, axis=1)
    published = KP(k=4, p=2, algorithm=algorithm).anonymize(Panel(x)).published
    assert set(published.levels.tolist()) == {20}
    assert set(published.patterns) == {"kkkkk"}


@BOTH
def test_equal_series_keep_their_values(algorithm):
    x = np.tile(walks(1, 3), (30, 1))
    published = KP(k=5, p=3, algorithm=algorithm).anonymize(Panel(x)).published
    assert_array_equal(published.low, x)
    assert_array_equal(published.high, x)


def pattern_loss(candidate):
    """Formula 3 with the cosine distance, mean over the series published."""
    originals, published = candidate.originals.values.tolist(), candidate.published
    words = zip(parse(published.patterns).tolist(), published.levels.tolist(), strict=True)
    shapes = [naive_shape(word, level) for word, level in words]
    return float(np.mean([1.0 - naive_similarity(a, b) for a, b in zip(originals, shapes, strict=True)]))


def value_loss(candidate):
    """Formula 2, mean over the series published."""
    return float(np.sqrt(((candidate.published.high - candidate.published.low) ** 2).mean(axis=1)).mean())


@pytest.mark.parametrize("kind", [walks, uniform, skewed])
@pytest.mark.parametrize(("k", "p"), [(10, 3), (10, 5), (6, 6)])
def test_kapra_keeps_patterns_and_naive_keeps_values(kind, k, p):
    panel = Panel(kind(1000, 11))
    kapra, naive = (KP(words="own", k=k, p=p, algorithm=algorithm).anonymize(panel) for algorithm in ALGORITHMS)
    assert pattern_loss(kapra) < pattern_loss(naive)
    if p < k:
        assert value_loss(naive) < value_loss(kapra)


@BOTH
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("k", "p"), [(10, 3), (6, 6), (4, 2)])
def test_words_of_means_lose_less_under_the_same_envelopes(algorithm, kind, k, p):
    """Only words change, none for the worse: over each subgroup the distance to the shapes is never larger."""
    panel = Panel(kind(300, 5))
    own, mean = (KP(k=k, p=p, algorithm=algorithm, words=w).anonymize(panel) for w in ("own", "mean"))
    assert mean.check().holds
    assert mean.recipe.figures["series_suppressed"] == 0
    if own.private.rows is not None:  # suppressed series join others, whose groups may change
        return
    assert_array_equal(own.values, mean.values)
    assert_array_equal(own.private.groups, mean.private.groups)
    assert pattern_loss(mean) <= pattern_loss(own) + 1e-12
    changed = np.array([a != b for a, b in zip(own.published.patterns, mean.published.patterns, strict=True)])
    assert (mean.published.levels[changed] == 20).all()
    if kind is walks:
        assert pattern_loss(mean) < 0.8 * pattern_loss(own)


def test_the_word_of_a_mean_is_the_word_of_the_mean_of_the_shapes():
    """Four series, no two with the same word at any level above 1, in one subgroup."""
    x = np.array([[0.0, 1.0, 5.0, 2.0], [0.0, 2.0, 9.0, 5.0], [1.0, 0.5, 4.0, 3.9], [3.0, 3.1, 9.0, 4.0]])
    published = KP(k=4, p=4).anonymize(Panel(x)).published
    shapes = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    expected = text(letters(shapes.mean(axis=0, keepdims=True), 20))[0]
    assert set(published.patterns) == {expected}
    assert published.levels.tolist() == [20] * 4


def test_the_eight_incomes():
    kapra = KP(words="own", k=4, p=2).anonymize(Panel(INCOMES))
    assert kapra.check().holds
    # The words of figure 3 and table 3 are drawn, not computed: Lily's third year is below her mean, so her word at
    # level 2 is aaaabb, which she has alone.
    assert np.flatnonzero(kapra.private.groups < 0).tolist() == [5]
    assert kapra.published.patterns == ("aaabbb", "aaabbb", "bbbaaa", "aaabbb", "ffdcaa", "ffdcaa", "bbbaaa")
    naive = KP(words="own", k=4, p=2, algorithm="naive").anonymize(Panel(INCOMES))
    assert naive.check().holds
    assert naive.private.groups.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]  # table 2
    assert naive.published.low[0].tolist() == [98, 120, 125, 132, 125, 112]
    assert naive.published.high[7].tolist() == [117, 107, 87, 74, 96, 101]


@pytest.mark.parametrize(
    ("options", "groups", "loss"),
    [
        ({"algorithm": "kapra"}, [0, 0, 1, 0, 1, 0, 1, 1], 115),  # who rises, and who falls
        ({"algorithm": "auto"}, [0, 0, 1, 0, 1, 0, 1, 1], 115),
        ({"algorithm": "auto", "pattern_weight": 1.0}, [0, 0, 1, 0, 1, 0, 1, 1], 115),
        # By values, who earns much and who earns little: table 2, whatever the words.
        ({"algorithm": "naive"}, [0, 0, 0, 0, 1, 1, 1, 1], 72),
        ({"algorithm": "auto", "pattern_weight": 0.1}, [0, 0, 0, 0, 1, 1, 1, 1], 72),
    ],
)
def test_with_words_of_means_nobody_of_the_eight_is_missing(options, groups, loss):
    candidate = KP(k=4, p=2, **options).anonymize(Panel(INCOMES))
    assert candidate.check().holds
    assert candidate.recipe.figures["series_suppressed"] == 0
    assert candidate.private.groups.tolist() == groups
    assert value_loss(candidate) == pytest.approx(loss, abs=1)


@pytest.mark.parametrize("kind", KINDS)
def test_auto_publishes_the_algorithm_with_the_lower_weighed_loss(kind):
    panel = Panel(kind(90, 4))
    widest = float(np.sqrt(((panel.values.max(axis=0) - panel.values.min(axis=0)) ** 2).mean()))
    both = {name: KP(k=6, p=3, algorithm=name).anonymize(panel) for name in ALGORITHMS}
    for weight in (0.0, 0.3, 1.0):
        auto = KP(k=6, p=3, algorithm="auto", pattern_weight=weight).anonymize(panel)
        losses = {
            name: weight * pattern_loss(candidate) + (1.0 - weight) * value_loss(candidate) / widest
            for name, candidate in both.items()
        }
        chosen = min(losses, key=lambda name: round(losses[name], 9))
        assert auto.published.digest() == both[chosen].published.digest()
        assert auto.recipe.figures["series_grouped_by_values"] == (90 if chosen == "naive" else 0)


@pytest.mark.parametrize("algorithm", ["kapra", "naive", "auto"])
@pytest.mark.parametrize("kind", KINDS)
def test_with_p_of_1_envelopes_hide_and_every_series_has_its_own_shape(algorithm, kind):
    panel = Panel(kind(40, 2))
    candidate = KP(k=5, p=1, algorithm=algorithm).anonymize(panel)
    assert candidate.check().holds
    assert candidate.recipe.figures["series_suppressed"] == 0
    assert pattern_loss(candidate) < 0.02
    assert KPAnonymity(5, 1).statement.endswith("a pattern inside it may be one subject's own.")


def naive_smallest_crowds(candidate, subjects):
    """Distinct subjects by envelope, and by envelope and word, of the smallest."""
    published, envelopes, words = candidate.published, {}, {}
    for row, subject in enumerate(subjects):
        envelope = tuple(published.low[row]), tuple(published.high[row])
        envelopes.setdefault(envelope, set()).add(subject)
        words.setdefault((*envelope, published.levels[row], published.patterns[row]), set()).add(subject)
    return min(map(len, envelopes.values())), min(map(len, words.values()))


@pytest.mark.parametrize("algorithm", ["kapra", "naive", "auto"])
@pytest.mark.parametrize("seed", range(8))
def test_crowds_are_of_subjects_where_these_have_several_series(algorithm, seed):
    rng = np.random.default_rng(seed)
    subjects = np.concatenate([np.arange(12), rng.integers(0, 12, size=30)])
    rng.shuffle(subjects)
    x = KINDS[seed % len(KINDS)](42, seed)
    candidate = KP(k=6, p=3, algorithm=algorithm).anonymize(Panel(x, subjects=subjects))
    by_envelope, by_word = naive_smallest_crowds(candidate, subjects.tolist())
    assert by_envelope >= 6
    assert by_word >= 3
    assert candidate.check().holds
    assert candidate.recipe.figures["series_suppressed"] == 0
    assert (candidate.published.low <= x).all()
    assert (x <= candidate.published.high).all()


def test_own_words_need_one_series_per_subject():
    panel = Panel(walks(20, 1), subjects=np.repeat(range(10), 2))
    with pytest.raises(ParameterError, match="words='own' needs one series per subject; here are 20 series of 10"):
        KP(k=4, p=2, words="own").anonymize(panel)


def test_times_and_time_zone_are_published():
    times = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="datetime64[us]")
    panel = Panel(walks(20, 6, 3), times=times, timezone="Europe/Paris")
    published = KP(k=4, p=2).anonymize(panel).published
    assert_array_equal(published.times, panel.times)
    assert published.timezone == "Europe/Paris"


@settings(max_examples=30)
@given(case=panels_with_k_and_p())
def test_one_channel_in_three_dimensions_is_the_same(case):
    x, k, p = case
    flat, deep = (KP(k=k, p=p).anonymize(Panel(values)) for values in (x, x[:, :, None]))
    assert flat.published.digest() == deep.published.digest()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 3, "p": 4}, "p=4 is above k=3.*Raise k or lower p"),
        ({"k": 1, "p": 1}, "at least 2"),
        ({"k": 4, "p": 2, "algorithm": "best"}, "algorithm must be one of: kapra, naive, auto"),
        ({"k": 4, "p": 0}, "p must be a whole number of at least 1"),
        ({"k": 4, "p": 2, "pattern_weight": 1.5}, "pattern_weight must be a number from 0 to 1"),
        ({"k": 4, "p": 2, "pattern_weight": "0.5"}, "pattern_weight must be a number from 0 to 1"),
        ({"k": 4, "p": 2, "epsilon": None}, "epsilon must be a number of at least 0"),
        ({"k": 4, "p": 2, "max_level": 0}, "from 1 to 20, got 0"),
        ({"k": 4, "p": 2, "max_level": 21}, "from 1 to 20, got 21"),
        ({"k": 4, "p": 2, "max_level": 2.5}, "max_level must be a whole number"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        KP(**options)


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        (Panel(np.zeros((3, 2))), "k=4 needs at least 4 subjects, the panel has 3.*Lower k"),
        (Panel([[1.0, np.nan]] * 8), "without gaps; 8 values are missing.*drop-series"),
    ],
)
def test_panels_it_cannot_handle_are_refused(panel, message):
    with pytest.raises(ParameterError, match=message):
        KP(k=4, p=2).anonymize(panel)


def test_attack_of_written_envelopes_is_refused_for_what_they_are(tmp_path):
    panel = Panel(walks(20, 1))
    publish(KP(k=4, p=2).anonymize(panel), tmp_path / "out", private=tmp_path / "keep")
    with pytest.raises(ParameterError, match="holds envelopes: ranges that several series share, and words, but no"):
        attack_release(panel.to_polars(), {}, tmp_path / "out", tmp_path / "keep")
