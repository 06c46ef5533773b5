"""Releases that were published stay readable: every version verifies the folders of all formats before it."""

import json
import shutil
from pathlib import Path

import pytest

from shoal import load_release, verify
from shoal.errors import ReleaseError
from shoal.release.certificate import Certificate

FORMATS = Path(__file__).resolve().parents[1] / "formats"
FOLDERS = sorted(path.parent for path in FORMATS.glob("*/*/release.json"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: "/".join(folder.parts[-2:]))
def test_a_folder_of_an_earlier_version_verifies_and_loads(folder):
    outcome = verify(folder)
    assert outcome.findings == ()
    assert outcome.outcome == ("not judged" if folder.name == "noise" else "holds")
    assert load_release(folder).certificate["format"] == int(folder.parent.name)


def test_there_are_folders_of_the_present_format_and_every_form():
    present = Certificate.model_fields["format"].default
    forms = {json.loads((folder / "release.json").read_text())["form"] for folder in FORMATS.glob(f"{present}/*/")}
    assert forms == {"values", "profiles", "scenarios", "envelopes", "events"}


def test_a_signature_of_an_earlier_version_is_still_checked():
    key = FORMATS / "1" / "publisher.pem"
    assert verify(FORMATS / "1" / "signed", key=key).holds
    assert verify(FORMATS / "1" / "values", key=key).findings == ("release.json is not signed",)


def test_a_later_format_is_refused_and_not_misread(tmp_path):
    shutil.copytree(FORMATS / "1" / "values", tmp_path / "later")
    path = tmp_path / "later" / "release.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 99'))
    for use in (verify, load_release):
        with pytest.raises(ReleaseError, match=r"release\.json has format 99, and this version of Shoal reads up to 1"):
            use(tmp_path / "later")
