"""`shoal`: one line per mistake, no traceback, exit codes a script can trust."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import traceback
import warnings
from functools import cache
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shoal.cli.anonymize import anonymize
from shoal.cli.attack import attack
from shoal.cli.demo import demo
from shoal.cli.edge import edge
from shoal.cli.grow import grow
from shoal.cli.judge import judge
from shoal.cli.label import label
from shoal.cli.learn import learn
from shoal.cli.ledger import ledger
from shoal.cli.look import look
from shoal.cli.methods import methods
from shoal.cli.options import MethodCommand
from shoal.cli.policy import policy
from shoal.cli.query import query
from shoal.cli.report import report
from shoal.cli.run import run_policy_file
from shoal.cli.simulate import simulate
from shoal.cli.stream import stream
from shoal.cli.trace import trace
from shoal.cli.utility import utility
from shoal.cli.verify import verify
from shoal.errors import GuaranteeNotMetError, ShoalError
from shoal.read.options import OPTIONS

DOES_NOT_HOLD = 1
BAD_INPUT = 2
INTERRUPTED = 130


class _Commands(TyperGroup):
    """A list of commands with whole summaries, on as many lines as they need."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the name and the first sentence of each command."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit=1000)) for name, one in found if one is not None])


app = typer.Typer(
    name="shoal",
    cls=_Commands,
    help="Publish time series without giving away the people behind them.",
    epilog="Exit 0: done and it holds. 1: a guarantee or threshold does not hold, nothing was written. 2: bad input.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"shoal {version('shoal')}")
        raise typer.Exit(0)


@app.callback()
def common(
    show_version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Publish time series without giving away the people behind them."""


app.command()(look)
app.command()(demo)
app.command()(simulate)
app.command(cls=MethodCommand)(anonymize)
app.command()(verify)
app.command()(attack)
app.add_typer(ledger)
app.command()(trace)
app.command("run")(run_policy_file)
app.add_typer(policy)
app.command()(report)
app.command()(utility)
app.command()(judge)
app.command()(query)
app.command(cls=MethodCommand)(stream)
app.command(cls=MethodCommand)(grow)
app.add_typer(edge)
app.add_typer(label)
app.command()(learn)
app.command()(methods)
# Commands of rooms this one does not import, such as the studio.
for found in sorted(entry_points(group="shoal.commands")):
    loaded = found.load()
    app.add_typer(loaded) if isinstance(loaded, typer.Typer) else app.command(found.name)(loaded)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    # Libraries warn with lines of source; what a user must know is in our own messages.
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGTERM, _interrupt)
    # Imports make so many objects that looking for cycles among them takes a seventh of a short command.
    gc.set_threshold(100_000, 20, 100)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def _interrupt(*_: object) -> None:
    """Act as if Ctrl-C had been pressed: temporary files, which may hold raw data, are removed on the way out."""
    raise KeyboardInterrupt


@cache
def _commands() -> TyperGroup:
    """Build all commands; this takes as long as a small release."""
    return typer.main.get_group(app)


def run(arguments: list[str]) -> int:
    """Run the command line; return its exit code."""
    command = arguments[0] if arguments else ""
    try:
        code = _commands().main(args=arguments or ["--help"], prog_name="shoal", standalone_mode=False)
        if code == INTERRUPTED:  # typer has caught the key itself
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except GuaranteeNotMetError as error:
        return _say(str(error), DOES_NOT_HOLD, command)
    except ShoalError as error:
        return _say(str(error), BAD_INPUT, command)
    except (KeyboardInterrupt, typer.Abort):
        return _say("Interrupted; nothing was written.", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone; Python must not try to flush into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # Its message may name a file after a person.
        return _say(f"The system refused a file or folder: {error.strerror}. Check the paths you gave.", BAD_INPUT)
    except Exception as error:
        if hasattr(error, "format_message"):  # wrong usage, reported by typer
            problem = error.format_message().rstrip(".")
            return _say(f"{problem}{'' if problem.endswith('?') else '.'} Try: shoal --help", BAD_INPUT)
        return _say(_internal(error), BAD_INPUT)


def _say(message: str, code: int, command: str = "") -> int:
    said = " ".join(message.split())
    print(f"shoal: {_as_fields(said) if command == 'run' else _as_options(said)}", file=sys.stderr)
    return code


_CHOSEN = r"\b([a-z_]+)=('[^']*'(?:, '[^']*')*(?: or '[^']*')?)"
"""A setting with its choices: `align='resample:1h'`."""
_NAMES = "|".join(OPTIONS)
_ALONE = rf"\b({_NAMES})=(?=[\s.,;:)]|$)"
_FIRST = rf"^({_NAMES}|keep|hold_out|shadows)(?=: )"


def _as_options(message: str) -> str:
    """Write settings the way this user does: `align='resample:1h'` becomes `--align resample:1h`, `time=` becomes
    `--time`, and so does the setting that a message begins with."""
    message = re.sub(_CHOSEN, lambda m: f"{_option(m[1])} {m[2].replace(chr(39), '')}", message)
    message = re.sub(r"\b([a-z_]+)=(True|False)\b", lambda m: f"{_option(m[1])} {m[2].lower()}", message)
    return re.sub(rf"{_ALONE}|{_FIRST}", lambda m: _option(m[1] or m[2]), message)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _as_fields(message: str) -> str:
    """Write settings as fields of the policy that is run: `align='resample:1h'` becomes `data.align: resample:1h`."""
    message = re.sub(_CHOSEN, lambda m: f"{_field(m[1])}: {m[2].replace(chr(39), '')}", message)
    return re.sub(rf"{_ALONE}|{_FIRST}", lambda m: _field(m[1] or m[2]), message)


def _field(name: str) -> str:
    option = OPTIONS.get(name)
    return name if option is None else "roles" if option.is_role else f"data.{name}"


def _internal(error: Exception) -> str:
    """Name the place, not the message: a library's message may quote data."""
    if os.environ.get("SHOAL_DEBUG"):
        traceback.print_exc()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return (
        f"Internal error {type(error).__name__} at {place}. Nothing was published. Set SHOAL_DEBUG=1 for the "
        "traceback (it may quote data) and report it."
    )
