"""A meter as a process of its own: readings by number on standard input, what it sent on standard output.

Each line that comes in is "LABEL READING". What is sent is printed as "LABEL COST", flushed at once; it is killed from
outside, at any moment.
"""

import sys
from pathlib import Path

from shoal.edge.device import Device
from shoal.edge.messages import REPORT, Kind, read_message


def main() -> None:
    device = Device.open(Path(sys.argv[1]))
    print("ready", flush=True)
    for line in sys.stdin:
        label, reading = line.split()
        for content in device.measure(int(label), float(reading)):
            message = read_message(content, device.fleet.digest, 2**32 - 1, device.fleet.senders)
            assert message.kind is Kind.REPORT
            print(message.round, REPORT.unpack(message.body)[0], flush=True)


if __name__ == "__main__":
    main()
