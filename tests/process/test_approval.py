"""A policy that wants an officer's approval is not carried out without it; with it, certificate and report name who."""

import datetime as dt
import json

import pytest

from shoal import simulate, verify
from shoal.cli.app import main
from shoal.errors import GuaranteeNotMetError
from shoal.process.policy import parse_policy
from shoal.process.policy_run import run_policy
from shoal.process.simulation import long_table
from shoal.release.certificate import ApprovalPart

POLICY = """
data: {path: days.csv}
method: {name: microaggregation, k: 4}
adversary: {knows: {points: 2}}
require: {risk: {at_most: 1}}
release: {to: out, review: required}
"""


@pytest.fixture
def base(tmp_path):
    long_table(simulate.occupancy(40, days=1, step="2h", seed=3)).write_csv(tmp_path / "days.csv")
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def test_without_approval_nothing_is_read_or_written(base, capsys):
    with pytest.raises(GuaranteeNotMetError, match="requires an officer to approve the decision sheet first"):
        run_policy(parse_policy(POLICY), base=base)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(base / "policy.yaml")])
    assert ended.value.code == 1
    assert "Open it in the studio" in capsys.readouterr().err
    assert not (base / "out").exists()


def test_an_approval_is_in_the_certificate_and_on_the_sheet_and_is_the_publishers_word(base):
    approval = ApprovalPart(by="D. Officer", on=dt.date(2026, 11, 16), reason="as agreed")
    run_policy(parse_policy(POLICY), base=base, approval=approval)
    certificate = json.loads((base / "out/release.json").read_text())
    assert certificate["approval"] == {"by": "D. Officer", "on": "2026-11-16", "reason": "as agreed"}
    assert "D. Officer, 2026-11-16" in (base / "out/report.html").read_text()
    outcome = verify(base / "out")
    assert not outcome.findings
    assert "approval" in outcome.unchecked
    certificate["approval"]["by"] = "Somebody Else"
    (base / "out/release.json").write_text(json.dumps(certificate, indent=2, ensure_ascii=False) + "\n")
    assert verify(base / "out").findings
