"""Error messages for failed work: the kind and the place, never the data.

A library's message may quote a value, and a worker's message travels through logs. So only messages of Shoal's own
errors are passed on; for all others, the kind and the place.
"""

from __future__ import annotations

import json
import re
import traceback
from pathlib import Path
from typing import NoReturn

from shoal import errors
from shoal.engines.contract import Blocks
from shoal.errors import ShoalError

_MARK = "shoal-failure"
_PLACES = 3


class WorkFailedError(ShoalError):
    """A piece of work ended with an error that is not Shoal's own."""


def told(error: Exception) -> ShoalError:
    """The error in a form that may be passed on."""
    return error if isinstance(error, ShoalError) else WorkFailedError(_place(error))


def guard(blocks: Blocks) -> Blocks:
    """Pass blocks on; an error on the way is reported without data."""
    try:
        yield from blocks
    except Exception as error:
        raise told(error) from None


def carried(error: Exception) -> RuntimeError:
    """An error as text that passes through another program unharmed; `raise_carried` reads it."""
    safe = told(error)
    return RuntimeError(f"<{_MARK}>{json.dumps([type(safe).__name__, str(safe)])}</{_MARK}>")


def raise_carried(text: str) -> NoReturn:
    """Raise the error that another program reported."""
    match = re.search(rf"<{_MARK}>(.*?)</{_MARK}>", text, re.S)
    if match is None:
        kinds = re.findall(r"^(?:Caused by: )?((?:[a-z]\w*\.)+[A-Z]\w+)", text, re.M)
        raise WorkFailedError(f"The work failed on the engine: {kinds[0] if kinds else 'no reason was given'}.")
    name, message = json.loads(match[1])
    kind = getattr(errors, name, WorkFailedError)
    raise kind(message)


def _place(error: Exception) -> str:
    """The kind of an error and the last places in the code it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames if frame.filename != __file__]
    where = f" at {' > '.join(places[-_PLACES:])}" if places else ""
    return f"The work failed with {type(error).__name__}{where}. Its message is withheld because it may quote data."
