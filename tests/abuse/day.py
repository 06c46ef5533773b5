"""A day of a stream at full speed: its memory does not grow, and its books balance.

A day is 8,640 snapshots, one every ten seconds, of 2,000 events each. A process reads their lines from a pipe as fast
as it can take them, and keeps its state; its resident memory is read from the system four times a second. Of the
samples after the first 500 snapshots, the median of the last third may exceed that of the middle third by a tenth and
32 MiB.
"""

import json
import random
import statistics
import subprocess
import sys
import threading
from datetime import datetime, timedelta
from pathlib import Path

EACH = 2000
"""Events of a snapshot."""
STEP = timedelta(seconds=10)
SETTLED = 500
"""Snapshots after which memory is compared: until then buffers and caches fill."""
PAUSE = 0.25
SPARE = 32 << 10  # KiB


def block(rng):
    """The lines of a snapshot; @ stands for its time."""
    lines = []
    for number in range(EACH):
        event = {"id": f"@-{number}", "time": "@", "age": rng.randrange(20, 80), "diagnosis": rng.choice("abcdefgh")}
        lines.append(json.dumps(event))
    return ("\n".join(lines) + "\n").encode()


def resident(pid):
    """KiB of a process in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def run(numbers, size, folder, outcome):
    """So many snapshots as there are numbers."""
    rng = random.Random(0)
    command = [sys.executable, "-c", "from shoal.cli.app import main; main()", "stream", "-", "--json"]
    command += ["--id", "id", "--sensitive", "diagnosis", "--quasi", "age", "--l", "3", "--window", "4", "--seed", "1"]
    command += ["--private", str(folder / "private"), "-o", str(folder / "out")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    samples, over = [], threading.Event()

    def sample():
        while not over.wait(PAUSE):
            samples.append(resident(process.pid))

    watcher = threading.Thread(target=sample)
    watcher.start()
    blocks = [block(rng) for _ in range(20)]
    try:
        for number in numbers:
            if number == SETTLED:
                samples.clear()
            time = datetime(2024, 3, 1) + number * STEP
            process.stdin.write(blocks[number % len(blocks)].replace(b"@", str(time).encode()))
        over.set()  # what is left is the end, which takes memory of its own
        watcher.join()
        out, told = process.communicate()
    finally:
        over.set()
        process.kill()
    if process.returncode != 0:
        outcome.find(f"the stream ends with {process.returncode}: {told.decode()[-200:]}")
        return
    summary = json.loads(out)
    counts = summary["events"]
    outcome.tries["events"] = counts["arrived"]
    outcome.tries["snapshots"] = summary["snapshots"]["published"]
    outcome.tries["samples of memory"] = len(samples)
    if counts["arrived"] != len(numbers) * EACH or counts["published"] + counts["suppressed"] != counts["arrived"]:
        outcome.find("the books of the stream do not balance")
    third = len(samples) // 3
    if len(numbers) > SETTLED and third >= 4:
        middle, last = (statistics.median(samples[third * i : third * (i + 1)]) for i in (1, 2))
        outcome.tries["MiB in the middle"], outcome.tries["MiB at the end"] = int(middle) >> 10, int(last) >> 10
        if last > 1.1 * middle + SPARE:
            outcome.find(f"the stream has {int(middle) >> 10} MiB in the middle and {int(last) >> 10} MiB at the end")
