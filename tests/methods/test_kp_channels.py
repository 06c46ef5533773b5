"""KP with several channels: against the listings, from the method to the file and its queries."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.kp import naive_shape, naive_similarity
from naive.kp_channels import (
    naive_kapra_channels,
    naive_kp_channels_anonymous,
    naive_linkage_channels,
    naive_naive_channels,
)
from shoal import KP, KPAnonymity, Panel, load_release, publish, verify
from shoal.attacks import Linkage
from shoal.cli.app import run
from shoal.engines import Memory, in_shards
from shoal.errors import InputError, ParameterError
from shoal.features.sax import parse
from shoal.model import Envelopes
from shoal.queries import RangeCount, complete
from shoal.release.certificate import digest_file, read_certificate
from shoal.utility import PatternLoss, ValueLoss

ALGORITHMS = {"kapra": naive_kapra_channels, "naive": naive_naive_channels}
CHANNELS = ("kwh", "degrees")


def readings(n, seed, instants=5, channels=2):
    """Walks, the second channel in far larger units; few enough shapes that some share words."""
    rng = np.random.default_rng(seed)
    shapes = rng.normal(size=(4, instants, channels)).cumsum(axis=1)
    x = shapes[rng.integers(0, 4, n)] * rng.uniform(0.5, 2.0, (n, 1, 1)) + 0.05 * rng.normal(
        size=(n, instants, channels)
    )
    return x * np.array([1.0, 1000.0, 0.01])[:channels]


def panel_of(n=40, seed=0, **options):
    return Panel(readings(n, seed), channels=CHANNELS, **options)


def words_of(published):
    """Per series the word of each channel, as numbers."""
    found = parse(published.patterns).reshape(published.n_series, published.n_channels, -1)
    return [tuple(tuple(word) for word in own) for own in found.tolist()]


def as_listed(candidate):
    found, published = [None] * candidate.private.original.n_series, candidate.published
    own = zip(
        published.low.tolist(), published.high.tolist(), published.levels.tolist(), words_of(published), strict=True
    )
    for row, one in zip(np.flatnonzero(candidate.private.groups >= 0), own, strict=True):
        found[row] = one
    return found


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("n", "k", "p", "channels"), [(9, 4, 2, 2), (26, 6, 3, 2), (31, 5, 2, 3)])
def test_the_candidate_is_that_of_the_listings(algorithm, n, k, p, channels):
    for seed in range(3):
        x = readings(n, seed, channels=channels)
        candidate = KP(words="own", k=k, p=p, algorithm=algorithm, max_level=6).anonymize(Panel(x))
        assert as_listed(candidate) == ALGORITHMS[algorithm](x.tolist(), k, p, 6)
        assert candidate.check().holds


@pytest.mark.parametrize("algorithm", ["kapra", "naive", "auto"])
@pytest.mark.parametrize("subjects", [None, np.arange(40) % 15])
def test_crowds_hold_by_definition_and_ranges_contain_the_originals(algorithm, subjects):
    panel = panel_of(subjects=subjects)
    candidate = KP(k=6, p=3, algorithm=algorithm).anonymize(panel)
    published = candidate.published
    assert published.channels == CHANNELS
    assert candidate.recipe.figures["series_suppressed"] == 0
    assert ((published.low <= panel.values) & (panel.values <= published.high)).all()
    people = list(range(40)) if subjects is None else subjects.tolist()
    ends = published.low.tolist(), published.high.tolist()
    assert naive_kp_channels_anonymous(*ends, published.levels.tolist(), words_of(published), people, 6, 3)
    assert candidate.check().holds


def test_units_do_not_matter():
    panel = panel_of(60, 3)
    other = Panel(panel.values * np.array([1000.0, 0.125]) + np.array([0.0, 7.0]), channels=CHANNELS)
    for algorithm in ("kapra", "naive", "auto"):
        one, two = (KP(k=6, p=3, algorithm=algorithm).anonymize(p) for p in (panel, other))
        assert_array_equal(one.private.groups, two.private.groups)
        assert one.published.patterns == two.published.patterns
        scores = [c.measure(m).value for m in (ValueLoss(), PatternLoss()) for c in (one, two)]
        assert scores[0] == pytest.approx(scores[1])
        assert scores[2] == pytest.approx(scores[3])


@pytest.mark.parametrize("algorithm", ["kapra", "naive", "auto"])
def test_a_channel_given_twice_changes_no_group_and_no_word(algorithm):
    x = readings(50, 8)[:, :, 0]
    one, twice = (KP(k=5, p=2, algorithm=algorithm).anonymize(Panel(v)) for v in (x, np.stack([x, x], axis=2)))
    assert_array_equal(one.private.groups, twice.private.groups)
    assert twice.published.patterns == tuple(word + word for word in one.published.patterns)
    for name in twice.published.channels:
        assert_array_equal(twice.published.channel(name).low, one.published.low)
    assert PatternLoss().measure(twice.private.original, twice.published).value == pytest.approx(
        PatternLoss().measure(one.private.original, one.published).value
    )


def losses(candidate):
    """Value and shape loss of every series, from the definitions."""
    x, published = candidate.originals.values, candidate.published
    width = (published.high - published.low) / x.reshape(-1, x.shape[2]).std(axis=0)
    shape = [
        np.mean([1.0 - naive_similarity(x[i, :, c].tolist(), naive_shape(word, level)) for c, word in enumerate(words)])
        for i, (words, level) in enumerate(zip(words_of(published), published.levels.tolist(), strict=True))
    ]
    return width, np.array(shape)


def test_the_measures_are_their_definitions():
    candidate = KP(k=6, p=3).anonymize(panel_of())
    width, shape = losses(candidate)
    score = candidate.measure(ValueLoss())
    assert score.value == pytest.approx(np.sqrt((width**2).mean(axis=1)).mean())
    assert score.unit == "number"
    assert candidate.measure(PatternLoss()).value == pytest.approx(shape.mean())
    with pytest.raises(ParameterError, match="The release has 2 channels, the original 1"):
        ValueLoss().measure(Panel(np.zeros((40, 5))), candidate.published)


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_auto_publishes_the_algorithm_with_the_lower_weighed_loss(weight):
    panel = panel_of(60, 5)
    both = {name: KP(k=6, p=3, algorithm=name).anonymize(panel) for name in ALGORITHMS}
    scaled = panel.values / panel.values.reshape(-1, 2).std(axis=0)
    widest = np.sqrt((np.ptp(scaled, axis=0) ** 2).mean())

    def weighed(name):
        width, shape = losses(both[name])
        values = np.sqrt((width**2).reshape(len(width), -1).mean(axis=1)).mean() / widest
        return round(weight * shape.mean() + (1.0 - weight) * values, 9)

    auto = KP(k=6, p=3, algorithm="auto", pattern_weight=weight).anonymize(panel)
    assert auto.published.digest() == both[min(ALGORITHMS, key=weighed)].published.digest()


def test_shards_are_scaled_by_the_whole_panel():
    x = readings(120, 6)
    x[:60, :, 1] *= 40.0  # one half spreads far more in the second channel
    sharded = in_shards(Panel(x, channels=CHANNELS), Memory(), size=40)
    method = KP(k=6, p=3)
    assert method.prepare(sharded.split(method.shard_plan))._scales == pytest.approx(x.reshape(-1, 2).std(axis=0))
    candidate = method.anonymize(sharded)
    assert candidate.check().holds
    assert candidate.measure(ValueLoss()).value > 0.0
    assert method.prepare(in_shards(Panel(x[:, :, 0]), Memory(), size=40))._scales == (1.0,)


def test_some_instants_are_published_of_every_channel():
    panel = panel_of()
    whole = KP(k=6, p=3).anonymize(panel).published
    some = KP(k=6, p=3, envelope_instants="1:4", pattern_instants="0:2").anonymize(panel).published
    assert_array_equal(some.low, whole.low[:, 1:4])
    for name in CHANNELS:
        assert some.channel(name).patterns == tuple(word[:2] for word in whole.channel(name).patterns)
    with pytest.raises(ParameterError, match=r"one channel, the release has 2. Take one: envelopes.channel\(name\)"):
        complete(some)
    assert complete(some.channel("kwh")).n_instants == 4


@given(seed=st.integers(0, 10**6), k=st.integers(2, 3), p=st.integers(1, 3))
@settings(max_examples=60)
def test_the_check_is_the_definition(seed, k, p):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    low = rng.integers(0, 2, (n, 2, 2)) * (rng.random((1, 2, 2)) < 0.4) * 1.0
    levels, letters = (
        rng.integers(2, 4, n) if seed % 2 else np.full(n, 2),
        rng.integers(0, 2, (n, 2, 1)).repeat(2, axis=2),
    )
    words = [tuple("".join("ab"[letter] for letter in word) for word in own) for own in letters]
    subjects = rng.integers(0, n, n).tolist()
    published = Envelopes(low, low + 1.0, levels, tuple(map("".join, words)), np.arange(2), subjects=subjects)
    expected = naive_kp_channels_anonymous(low.tolist(), (low + 1.0).tolist(), levels.tolist(), words, subjects, k, p)
    assert KPAnonymity(k, p).check(published).holds == expected


def test_one_end_or_letter_of_one_channel_is_seen():
    published = KP(k=6, p=3).anonymize(panel_of()).published
    for place in range(2):
        low = published.low.copy()
        low[3, 2, place] = np.nextafter(low[3, 2, place], -np.inf)
        words = list(published.patterns)
        at = place * 5 + 2
        words[3] = words[3][:at] + ("a" if words[3][at] != "a" else "b") + words[3][at + 1 :]
        for changes in ({"low": low}, {"patterns": tuple(words)}):
            arguments = {"low": published.low, "patterns": published.patterns} | changes
            forged = Envelopes(**arguments, high=published.high, levels=published.levels, times=published.times)
            assert not KPAnonymity(6, 3).check(forged).holds


def test_the_possible_sets_are_those_of_the_definition():
    panel = panel_of(24, 2)
    candidate = KP(k=4, p=2, words="own", max_level=5).anonymize(panel)
    published = candidate.published
    found = Linkage(word="own").find(panel, published, rows=candidate.private.rows)
    ends = published.low.tolist(), published.high.tolist()
    expected = naive_linkage_channels(panel.values.tolist(), *ends, published.levels.tolist(), words_of(published))
    assert found.sizes.tolist() == expected
    with pytest.raises(ParameterError, match=r"Linkage needs the 2 channel\(s\) of the release"):
        Linkage().find(Panel(np.zeros((24, 5))), published)


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_a_release_reads_back_as_it_was_published(tmp_path, file_format):
    release = publish(KP(k=6, p=3).anonymize(panel_of()), tmp_path / "out", format=file_format)
    read = load_release(tmp_path / "out").published
    assert verify(tmp_path / "out").holds
    assert read.digest() == release.published.digest()
    assert read.channels == CHANNELS
    columns = release.certificate["columns"]
    assert columns["published"][2:6] == ["kwh_low", "kwh_high", "degrees_low", "degrees_high"]
    assert release.certificate["counts"]["channels"] == 2
    asked = {0: (-1.0, 1.0)}
    with pytest.raises(ParameterError, match=r"one channel, and the data has 2 channels\. Name one: kwh, degrees\."):
        RangeCount(asked).count(read)
    assert 0.0 <= RangeCount(asked).shares(read.channel("kwh")).sum() <= 40.0
    with pytest.raises(InputError, match=r"There is no channel 'watts'. Channels: kwh, degrees"):
        read.channel("watts")


def test_a_changed_end_of_the_second_channel_does_not_verify(tmp_path):
    publish(KP(k=6, p=3).anonymize(panel_of()), tmp_path / "out")
    path = tmp_path / "out" / "data.parquet"
    table = pl.read_parquet(path)
    first = pl.int_range(pl.len()) == 7
    table.with_columns(pl.col("degrees_high") + pl.when(first).then(1.0).otherwise(0.0)).write_parquet(path)
    certificate = read_certificate(tmp_path / "out")
    files = certificate.files | {path.name: digest_file(path)}
    forged = certificate.model_copy(update={"files": files}).sealed().as_bytes()
    (tmp_path / "out" / "release.json").write_bytes(forged)
    outcome = verify(tmp_path / "out")
    assert not outcome.holds
    assert dict(outcome.verdicts)["kp-anonymity"].measured == 1
    # Of envelopes, 6 are required; the certificate, which says 3 of patterns, is right.
    assert not any("requires something else" in finding for finding in outcome.findings)


def test_the_command_line_takes_two_values(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = readings(24, 1, instants=4).round(3)
    pl.DataFrame(
        {
            "id": np.repeat(np.arange(24), 4),
            "time": [f"2024-03-01T{hour:02}:00" for hour in range(4)] * 24,
            "a": x[:, :, 0].ravel(),
            "b": x[:, :, 1].ravel(),
        }
    ).write_csv("t.csv")
    values, method = ["--value", "a", "--value", "b"], ["--method", "kp", "--k", "4", "--p", "2"]
    assert run(["anonymize", "t.csv", *values, *method, "--algorithm", "auto", "-o", "out"]) == 0
    assert run(["verify", "out"]) == 0
    assert load_release("out").published.channels == ("a", "b")
    capsys.readouterr()
    assert run(["query", "out", "--range", "2024-03-01T00:00=0..1"]) == 2
    assert "the data has 2 channels" in capsys.readouterr().err
    assert "Series of one group have the same published ranges" in (tmp_path / "out" / "report.html").read_text()
