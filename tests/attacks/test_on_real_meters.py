"""The same attacks on real meters: what is shown on simulated ones must not be a trait of the simulator."""

import pytest

from attacks.releases import noisy, pseudonymised
from shoal import Microaggregation, read_panel
from shoal.attacks import Denoising, KnownPoints, KnownTotals, NearestNeighbour


@pytest.fixture
def meters(shared_data):
    """990 Slovak meters over four hourly weeks."""
    return read_panel(shared_data / "energyhack_sk_meters" / "energyhack_hourly_4weeks.parquet")


def test_pseudonyms_hide_nobody_and_means_of_ten_keep_their_promise(meters):
    published, rows = pseudonymised(meters)
    means = Microaggregation(k=10).anonymize(meters).published
    for attack in (KnownPoints(5), KnownTotals()):
        assert attack.attack(meters, published, rows=rows).interval.low > 0.9
        blurred = attack.attack(meters, means)
        assert blurred.baseline < blurred.success <= blurred.prosecutor <= 0.1


def test_another_period_and_filtering_work_on_real_habits(meters):
    published, rows = pseudonymised(meters)
    assert NearestNeighbour().attack(meters, published, rows=rows).success > 0.3
    risk = Denoising(20).attack(meters, noisy(meters, 1.0))
    assert risk.interval.low > risk.plain_interval.high
