"""Meters as processes that can be killed at any moment, started quickly.

Standard input has lines "FOLDER ORDERS OUT". For each a child is forked that runs the meter of FOLDER, obeys the lines
of the file ORDERS ("measure LABEL READING" or "hear HEX") and appends what it sends to OUT, a line of hex each. The
child's number is printed, and "ended" when it is gone.
"""

import os
import sys
from pathlib import Path

from shoal.edge.device import Device


def obey(folder: str, orders: str, out: str) -> None:
    device = Device.open(Path(folder))
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for line in Path(orders).read_text().splitlines():
        what, *words = line.split()
        sent = (
            device.hear(bytes.fromhex(words[0])) if what == "hear" else device.measure(int(words[0]), float(words[1]))
        )
        for content in sent:
            os.write(descriptor, content.hex().encode() + b"\n")


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            obey(*line.split())
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
