"""What the benchmark of scale sees of memory and disk, and a limit of memory that the kernel enforces."""

from __future__ import annotations

import os
import resource
import threading
import time
from contextlib import suppress
from pathlib import Path


class Watch:
    """The largest memory of this process, of Java and of any one Python worker, seen every half second; and the
    processor time of all of them, which does not depend on what else the machine does."""

    def __init__(self) -> None:
        self.java = self.worker = 0
        self.load = os.getloadavg()[0]
        self.processor = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self.processor = -processor_seconds()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.processor += processor_seconds()

    @property
    def driver(self) -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def _look(self) -> None:
        while not self._stop.wait(0.5):
            for name, size in descendants(os.getpid()):
                if name == "java":
                    self.java = max(self.java, size)
                else:
                    self.worker = max(self.worker, size)


def processes(root: int) -> list[tuple[str, list[str]]]:
    """Name and figures, as Linux has them in /proc/PID/stat from the third on, of a process and of all below it."""
    children: dict[int, list[int]] = {}
    facts: dict[int, tuple[str, list[str]]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
        facts[int(folder.name)] = name, rest
        children.setdefault(int(rest[1]), []).append(int(folder.name))
    found, waiting = [], [root]
    while waiting:
        own = waiting.pop()
        found.append(facts[own])
        waiting += children.get(own, [])
    return found


def descendants(root: int) -> list[tuple[str, int]]:
    """Name and bytes in memory of all processes below one."""
    return [(name, int(rest[21]) * resource.getpagesize()) for name, rest in processes(root)[1:]]


def processor_seconds() -> float:
    """That this process and all below it have worked, and those they waited for."""
    ticks = sum(int(one) for _, rest in processes(os.getpid()) for one in rest[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_group(limit: int) -> Path | None:
    """A new control group with a limit, of either version of the interface."""
    root = Path("/sys/fs/cgroup")
    old = root / "memory"
    place = (old if old.is_dir() else root) / f"shoal-scale-{os.getpid()}"
    try:
        place.mkdir()
        (place / ("memory.limit_in_bytes" if old.is_dir() else "memory.max")).write_text(str(limit))
    except OSError:
        return None
    return place


def group_figures(group: Path) -> tuple[int, int]:
    """The most memory that was in use, pages of files included, and how often more was asked for than can be taken
    back."""
    old = group / "memory.max_usage_in_bytes"
    peak = old if old.exists() else group / "memory.peak"
    control = group / ("memory.oom_control" if old.exists() else "memory.events")
    lines = [line.split() for line in control.read_text().splitlines()]
    return int(peak.read_text()), sum(int(line[1]) for line in lines if line[0] == "oom_kill")


def remove_group(group: Path) -> None:
    for _ in range(50):
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.1)
        else:
            return


class Disk:
    """The most that lay in a folder, seen every second."""

    def __init__(self, folder: Path) -> None:
        self.most = 0
        self._folder = folder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Disk:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(1.0):
            total = 0
            for folder, _, files in os.walk(self._folder):
                for name in files:
                    with suppress(OSError):  # gone meanwhile
                        total += Path(folder, name).stat().st_size
            self.most = max(self.most, total)
