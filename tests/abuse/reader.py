"""A reader of files, one try of it, and what no outcome may be."""

import contextlib
import io
import random
import signal
import traceback
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import ShoalError

TESTS = Path(__file__).resolve().parents[1]
SECONDS = 600
"""After which a reader hangs. They take milliseconds; the machine may be busy."""
MARKS = ("QZX", "73917.")
"""In every identifier and in every value of the tables that are searched for: no message may quote one."""


class Hang(BaseException):
    """A reader took too long."""


@dataclass
class Reader:
    """A kind of file: where it lies in a folder of its own, what it looks like, and who reads it."""

    name: str
    place: Path
    seeds: list
    mutate: object
    use: object
    is_table: bool = False

    def run(self, number, others):
        """One try; gives what is wrong with its outcome, if anything is."""
        rng = random.Random(f"{self.name}:{number}")
        seed = rng.choice(self.seeds)
        content = self.mutate(rng, seed, rng.choice(others))
        self.place.write_bytes(content)
        said = io.StringIO()
        try:
            signal.alarm(SECONDS)
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                self.use(self.place, rng)
        except Hang:
            return f"takes more than {SECONDS} s"
        except BaseException as error:  # a panic of Rust is no Exception
            return self._wrong(error, content)
        finally:
            signal.alarm(0)
            self.place.write_bytes(seed)
        if "internal error" in said.getvalue().lower():
            return said.getvalue().strip()
        return None

    def _wrong(self, error, content):
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise error
        if not isinstance(error, ShoalError):
            frames = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)]
            return f"{type(error).__name__} at {' < '.join(frames[-3:][::-1])}"
        if not self.is_table:
            return None
        message = str(error)
        if "\n" in message:
            return f"more than a line: {frame_of(error)}"
        header = content.partition(b"\n")[0].decode(errors="replace")
        if any(mark in message and mark not in header for mark in MARKS):
            return f"quotes the data: {frame_of(error)}"
        if error.__cause__ is not None or (error.__context__ is not None and not error.__suppress_context__):
            return f"shows the error behind it: {frame_of(error)}"
        return None


def frame_of(error):
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"
