"""From meters to a release: enrolment, simulation, collection, the gate."""

import json
import shutil
import threading

import numpy as np
import polars as pl
import pytest

from shoal import Panel, verify
from shoal.edge.device import Device
from shoal.edge.fleet import FILE_NAME, Fleet
from shoal.errors import GuaranteeNotMetError, InputError, ParameterError, ReleaseError
from shoal.process import edge

HALF_HOUR = np.timedelta64(30, "m")
TIMES = np.datetime64("2026-01-05T00:00") + np.arange(4) * HALF_HOUR


def panel(n=8):
    return Panel(np.random.default_rng(0).uniform(0, 4, (n, 4)), times=TIMES)


def plan(**given):
    return edge.make_plan(**{"lower": 0.0, "upper": 4.0, "w": 4, "scheme": "budget-uniform"} | given)


@pytest.mark.parametrize("way", ["local", "sum"])
def test_what_a_fleet_gives_is_released_and_verifies(way, tmp_path):
    field = edge.simulate_fleet(panel(), plan(way=way), groups=2)
    release = edge.publish_collected(field.collector, tmp_path / "out", smoothed=True)
    (guarantee,) = release.certificate["guarantees"]
    assert guarantee["name"] == ("local-differential-privacy" if way == "local" else "differential-privacy")
    assert guarantee["verdict"]["holds"]
    assert release.certificate["method"]["name"] == ("local-reports" if way == "local" else "secure-sums")
    assert release.certificate["counts"]["groups"] == 2
    assert not verify(tmp_path / "out").findings
    page = (tmp_path / "out" / "report.html").read_text()
    assert "No reading left its meter unprotected" in page
    table = pl.read_parquet(tmp_path / "out" / "data.parquet")
    assert table.columns == ["group", "count", "time", "mean", "total", "low", "high", "reporting", "smoothed"]
    assert table["time"].n_unique() == 4


def test_a_changed_accounting_or_figure_does_not_verify(tmp_path):
    field = edge.simulate_fleet(panel(), plan(way="sum"))
    edge.publish_collected(field.collector, tmp_path / "sum")
    from shoal.edge.published import why_not_collected
    from shoal.guarantees import DifferentialPrivacy

    published, promised = field.collector.profiles(), field.collector.guarantee
    assert why_not_collected(published, promised) is None

    def changed(band, row):
        from dataclasses import replace

        values = published.values.copy()
        values[0, row, 0, band] += 0.001
        return replace(published, values=values)

    assert "totals are not the means" in why_not_collected(changed(1, 0), promised)
    assert "more meters reported" in why_not_collected(changed(4, 0), promised)
    values = published.values.copy()
    values[0, 1, 0, 0] += 0.001
    values[0, 1, 0, 1] = values[0, 1, 0, 0] * 8
    from dataclasses import replace

    assert "not a whole number of steps" in why_not_collected(replace(published, values=values), promised)
    (spent,) = promised.parameters["accounting"]
    fewer = DifferentialPrivacy(promised.epsilon, "subject", [spent | {"sensitivity": 100}])
    assert "fewer instants" in why_not_collected(published, fewer)
    assert why_not_collected(panel(), promised) == "meters are published as groups only"


def test_a_collector_without_reports_has_nothing_that_the_gate_lets_out(tmp_path):
    field = edge.simulate_fleet(panel(), plan(), absent=1.0)
    with pytest.raises(GuaranteeNotMetError, match="no account"):
        edge.publish_collected(field.collector, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_devices_on_disk_keep_their_budget_over_two_runs(tmp_path):
    edge.enroll_together(tmp_path / "fleet", plan(), 3, 1)
    first = edge.simulate_fleet(panel(3), plan(), fleet_folder=tmp_path / "fleet")
    assert first.collector.counts["reports"] == 12
    again = edge.simulate_fleet(panel(3), plan(), fleet_folder=tmp_path / "fleet")
    assert again.collector.counts["reports"] == 0
    with pytest.raises(ParameterError, match="The fleet has 3 meters"):
        edge.simulate_fleet(panel(4), plan(), fleet_folder=tmp_path / "fleet")


def test_enrolment_in_three_steps_and_what_it_refuses(tmp_path):
    lines = [edge.as_line(edge.enroll_device(tmp_path / f"meter-{n}")) for n in range(3)]
    fleet = edge.enroll_fleet(tmp_path / "fleet", plan(), lines)
    assert len(fleet.meters) == 3
    for n in range(3):
        edge.join(tmp_path / f"meter-{n}", tmp_path / "fleet")
    device = Device.open(tmp_path / "meter-1")
    assert device.fleet == fleet
    device.close()
    assert (tmp_path / "meter-1").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "meter-1" / "keys").stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="already has a fleet"):
        edge.join(tmp_path / "meter-1", tmp_path / "fleet")
    with pytest.raises(ReleaseError, match="exists"):
        edge.enroll_device(tmp_path / "meter-1")
    edge.enroll_device(tmp_path / "stranger")
    with pytest.raises(InputError, match="not in the fleet"):
        edge.join(tmp_path / "stranger", tmp_path / "fleet")
    with pytest.raises(InputError, match="A line does not match"):
        edge.enroll_fleet(tmp_path / "other", plan(), ["x"])
    with pytest.raises(ParameterError, match="enrolled twice"):
        edge.enroll_fleet(tmp_path / "other", plan(), [lines[0], lines[0]])
    with pytest.raises(InputError, match="do not form a fleet"):
        edge.enroll_fleet(tmp_path / "other", plan(), [])
    assert not (tmp_path / "other").exists()
    (tmp_path / "meter-2" / "keys").write_bytes(b"short")
    with pytest.raises(InputError, match="keys of the device are damaged"):
        Device.open(tmp_path / "meter-2")
    shutil.rmtree(tmp_path / "meter-2")
    with pytest.raises(InputError, match="cannot be read"):
        Device.open(tmp_path / "meter-2")
    (tmp_path / "fleet" / FILE_NAME).write_text(json.dumps({"plan": {}}))
    with pytest.raises(InputError, match="The fleet's file is invalid"):
        Fleet.load(tmp_path / "fleet")


def test_reports_through_a_pipe_are_collected(tmp_path):
    edge.enroll_together(tmp_path / "fleet", plan(), 3, 1)
    readings = ["time,value", *(f"{time},1.5" for time in TIMES), f"{TIMES[-1] + HALF_HOUR},", ""]
    lines = [
        line for one in sorted((tmp_path / "fleet" / "meters").iterdir()) for line in edge.run_meter(one, readings)
    ]
    assert len(lines) == 12
    collector = edge.open_collector(tmp_path / "fleet")
    edge.collect_reports(collector, [*lines, lines[0], "not base64!"])
    assert collector.counts["reports"] == 12
    assert collector.refused == {"sent twice": 1, "no message": 1}
    with pytest.raises(InputError, match="Line 1 of the readings"):
        list(edge.run_meter(next((tmp_path / "fleet" / "meters").iterdir()), ["2026-01-01T00:00,x"]))


def test_what_needs_questions_is_not_run_through_a_pipe(tmp_path):
    edge.enroll_together(tmp_path / "fleet", plan(scheme="budget-absorption"), 3, 1)
    with pytest.raises(ParameterError, match="Through a pipe a meter only sends"):
        list(edge.run_meter(next((tmp_path / "fleet" / "meters").iterdir()), []))
    with pytest.raises(ParameterError, match="schemes without questions"):
        edge.collect_reports(edge.open_collector(tmp_path / "fleet"), [])


def test_sums_are_collected_live_through_a_folder(tmp_path):
    """Meters wait for the period to begin before the first reading, as a clock makes them."""
    edge.enroll_together(tmp_path / "fleet", plan(way="sum"), 3, 1)
    at, dealt = str(tmp_path / "boxes"), threading.Event()

    def readings():
        dealt.wait(30)
        yield f"{TIMES[0]},1.0"

    folders = sorted((tmp_path / "fleet" / "meters").iterdir())
    meters = [
        threading.Thread(target=edge.serve_meter, args=(folder, readings(), at), kwargs={"linger": 8.0})
        for folder in folders
    ]
    for meter in meters:
        meter.start()
    collector = edge.open_collector(tmp_path / "fleet")
    begin = collector.begin

    def begun(label):
        yield from begin(label)
        threading.Timer(1.0, dealt.set).start()

    collector.begin = begun
    edge.collect_live(collector, at, begin=str(TIMES[0]), instants=1, wait=2.5)
    for meter in meters:
        meter.join()
    (figure,) = collector.figures[plan().label(TIMES[0])].values()
    assert (figure.reporting, figure.withheld) == (3, "")
    with pytest.raises(ParameterError, match="begin must be a time"):
        edge.collect_live(collector, at, begin="soon")


def test_impossible_plans_are_told_in_one_line():
    with pytest.raises(ParameterError, match="scheme must be one of"):
        plan(scheme="other")
    with pytest.raises(ParameterError, match="minutes: Input should be"):
        plan(minutes=0)
    with pytest.raises(ParameterError, match="epsilon is too small"):
        plan(epsilon=1e-9, w=48)
    two = Panel(np.zeros((3, 2, 2)))
    with pytest.raises(ParameterError, match="Only meters with one channel"):
        edge.simulate_fleet(two, plan())
    with pytest.raises(ParameterError, match="at least one group"):
        edge.enroll_together(None, plan(), 1, 2)
