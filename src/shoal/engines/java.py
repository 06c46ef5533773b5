"""The Java installation that Spark runs on, or a message that says what to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import ParameterError

OLDEST, NEWEST = 17, 23
"""PySpark 4 supports 17 and 21. Java 24 removed the security manager, which early versions of it still need."""

USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*",
)
_PATIENCE = 20


@dataclass(frozen=True)
class Java:
    """A Java on this machine.

    Parameters
    ----------
    home
        Its folder, as JAVA_HOME names it.
    version
        Its major version: 17, or 8 for 1.8.
    place
        Where it was found, in words.
    """

    home: Path
    version: int
    place: str

    @property
    def program(self) -> Path:
        """The executable."""
        return self.home / "bin" / "java"


def find_java(environment: Mapping[str, str] | None = None, *, usual: Sequence[str] = USUAL_PLACES) -> Java:
    """Find a Java that Spark can run on: in JAVA_HOME, on the PATH or in one of the usual places, in this order.

    A version newer than those Spark was made for is used only if there is no other.

    Parameters
    ----------
    environment
        Where JAVA_HOME and PATH are looked up; by default, the environment of this process.
    usual
        Patterns of folders to look at last.
    """
    candidates = list(_candidates(os.environ if environment is None else environment, usual))
    fit = [java for java in candidates if OLDEST <= java.version <= NEWEST]
    newer = [java for java in candidates if java.version > NEWEST]
    if fit or newer:
        return (fit or newer)[0]
    old = ", ".join(f"Java {java.version} ({java.place})" for java in candidates)
    what = f"only {old}" if candidates else "none in JAVA_HOME, on the PATH or in the usual places"
    raise ParameterError(
        f"Spark needs Java {OLDEST} or 21, but there is {what}. Install one, on Debian and Ubuntu with: apt-get "
        f"install openjdk-{OLDEST}-jre-headless (or openjdk-21-jre-headless); or set JAVA_HOME to the folder of one."
    )


def _candidates(environment: Mapping[str, str], usual: Sequence[str]) -> Iterator[Java]:
    """Every Java found, each once, in the order of the search."""
    seen: set[Path] = set()
    for place, home in _homes(environment, usual):
        program = home / "bin" / "java"
        if home in seen or not os.access(program, os.X_OK) or program.is_dir():
            continue
        seen.add(home)
        if (version := _version(home)) is not None:
            yield Java(home, version, place)


def _homes(environment: Mapping[str, str], usual: Sequence[str]) -> Iterator[tuple[str, Path]]:
    if named := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(named).resolve()
    if program := shutil.which("java", path=environment.get("PATH", os.defpath)):
        yield "on the PATH", Path(program).resolve().parent.parent
    for pattern in usual:
        folder = Path(pattern)
        # Only the names have patterns, never the root.
        for home in sorted(Path(folder.anchor).glob(str(folder.relative_to(folder.anchor)))):
            yield str(home), home.resolve()


def _version(home: Path) -> int | None:
    """Its major version, from its release file, which costs nothing, else by running it; None if neither says."""
    try:
        match = re.search(r'^JAVA_VERSION="([^"]+)"', (home / "release").read_text(errors="replace"), re.M)
    except OSError:
        match = None
    if match is None:
        try:
            asked = subprocess.run(
                [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=_PATIENCE, check=False
            )
        except (OSError, subprocess.SubprocessError):
            return None
        match = re.search(r'version "([^"]+)"', asked.stderr + asked.stdout)
    numbers = re.match(r"(?:1\.)?(\d+)", match[1]) if match else None
    return int(numbers[1]) if numbers else None
