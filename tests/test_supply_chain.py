"""What is handed out, and what it stands on: the wheel, its licences, its known vulnerabilities. Part of make soak."""

import hashlib
import json
import subprocess
import sys
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.soak

# By their own words in METADATA: licences that ask for no more than that they are named.
FREE = (
    "apache",
    "bsd",
    "mit",
    "mpl",
    "psf",
    "python software foundation",
    "isc",
    "unlicense",
    "hpnd",
    "zlib",
    "0bsd",
    "cc0",
)


def build_wheel(folder):
    """The wheel, built where nothing of an earlier build lies."""
    pytest.importorskip("build", reason="pip install '.[audit]'")
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory):
    """An environment with the wheel and what it needs, nothing else."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", str(wheel)], check=True)
    return folder / "bin"


def test_the_same_source_gives_the_same_wheel(wheel, tmp_path):
    again = build_wheel(tmp_path)
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()


def test_the_wheel_holds_the_package_and_its_licence_alone(wheel):
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        assert HeaderParser().parsestr(opened.read(metadata).decode())["Name"] == "shoal"
    assert all(name.startswith(("shoal/", "shoal-")) for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith(".html.j2") for name in names)


def test_the_installed_wheel_publishes_and_verifies(fresh, tmp_path):
    def shoal(*words):
        return subprocess.run(
            [fresh / "shoal", *words], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    assert shoal("--version").strip().startswith("shoal ")
    shoal("simulate", "meters", "-o", "meters.csv", "--n", "60", "--days", "1")
    shoal("anonymize", "meters.csv", "--k", "5", "-o", "out")
    assert json.loads(shoal("verify", "out", "--json"))["outcome"] == "holds"


def test_what_the_wheel_needs_has_a_licence_that_allows_it(fresh):
    code = (
        "import importlib.metadata as m, json\n"
        "print(json.dumps({d.name: ' '.join([d.metadata.get('License-Expression') or d.metadata.get('License') or '']"
        " + [c for c in d.metadata.get_all('Classifier') or [] if c.startswith('License')])[:400]"
        " for d in m.distributions()}))"
    )
    found = json.loads(
        subprocess.run([fresh / "python", "-c", code], capture_output=True, text=True, check=True).stdout
    )
    assert "numpy" in found
    assert not {name: text for name, text in found.items() if not any(word in text.lower() for word in FREE)}


def test_nothing_that_the_wheel_needs_has_a_known_vulnerability(fresh):
    pytest.importorskip("pip_audit", reason="pip install '.[audit]'")
    packages = next((fresh.parent / "lib").glob("python*/site-packages"))
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--path",
        str(packages),
        "--format",
        "json",
        "--progress-spinner",
        "off",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout or "{}").get("dependencies", [])
    audited = [one for one in found if "skip_reason" not in one and one["name"] != "shoal"]
    if not audited:
        pytest.skip("no service of vulnerabilities can be reached from here")
    assert not {one["name"]: [v["id"] for v in one["vulns"]] for one in audited if one["vulns"]}
