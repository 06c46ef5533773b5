"""`shoal run`: from a policy file to a release within its limits."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import engines, options
from shoal.cli.output import print_json, print_table, steps

if TYPE_CHECKING:
    from shoal.process.progress import ProgressBar

SEARCHING = "searching"
"""The step in which points are tried."""


def run_policy_file(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file; `shoal policy init` proposes one.")],
    data: Annotated[str | None, typer.Option(help="The table to use instead of the policy's data.path.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder to use instead of the policy's release.to.")
    ] = None,
    overwrite: options.Overwrite = False,
    insecure_seed: options.InsecureSeed = None,
    engine: engines.Engine = None,
    master: engines.Master = None,
    conf: engines.Conf = None,
    memory: engines.Memory = None,
    processes: engines.Processes = None,
    shard_size: engines.ShardSize = None,
    as_json: options.Json = False,
) -> None:
    """Search the policy's methods and parameters until risk and utility are within its limits, then write the release.

    Paths in a policy are relative to its folder. Exit 1 when nothing meets both limits: nothing is written, and the
    nearest points are named. On a terminal, Ctrl-C ends the search after the current point and chooses among the points
    tried so far; the certificate and the report say so.
    """
    from shoal.cli.sentences import warn_of_suppression
    from shoal.process.policy import load_policy
    from shoal.process.policy_run import NothingMeetsBothError, run_policy

    policy = load_policy(path)
    changed: dict[str, Any] = {}
    if data is not None:
        given = data if "://" in data else str(Path(data).absolute())
        changed["data"] = policy.data.model_copy(update={"path": given})
    settings: dict[str, Any] = {} if out is None else {"to": str(out.absolute())}
    if overwrite:
        settings["overwrite"] = True
    changed["release"] = policy.release.model_copy(update=settings)
    if (where := engines.engine_of(ctx)) is not None:
        changed["engine"] = where
    try:
        with steps() as progress, _stopped_by_key(progress) as stop:
            outcome = run_policy(
                policy.model_copy(update=changed),
                base=path.parent,
                steps=progress,
                insecure_seed=insecure_seed,
                stop=stop,
            )
    except NothingMeetsBothError as error:
        if as_json:
            print_json({"release": None, "read": progress.said, "process": error.process})
        else:
            print_table([*progress.rows, *_points(error.process)])
            _print_plot(error.process)
        raise
    if as_json:
        print_json({"read": progress.said, **outcome_figures(outcome)})
    else:
        print_outcome(outcome, progress.rows)
    warn_of_suppression(outcome.release)


@contextmanager
def _stopped_by_key(progress: ProgressBar) -> Iterator[Callable[[], bool]]:
    """Handle Ctrl-C. Once, while points are tried: the search ends after this point and concludes. Twice, or at any
    other time: interrupt. Only on a terminal: a script that interrupts means it."""
    if not sys.stderr.isatty() or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = threading.Event()

    def press(number: int, frame: FrameType | None) -> None:
        if progress.name != SEARCHING or pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()
        print("shoal: stopping after this point. Press Ctrl-C again to abort.", file=sys.stderr)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _print_plot(process: dict[str, Any]) -> None:
    """Plot risk against utility on a terminal; in a pipe, the lines above suffice."""
    if sys.stdout.isatty():
        from shoal.cli.frontier_plot import frontier_plot

        for line in frontier_plot(process, shutil.get_terminal_size().columns):
            print(line)


def outcome_figures(outcome: Any) -> dict[str, Any]:
    """Return the result of a policy, for machines."""
    from shoal.cli.sentences import Told, release_figures

    figures = release_figures(Told.of(outcome.release).certificate)
    return {"release": str(outcome.release.path), **figures, "process": outcome.process}


def print_outcome(outcome: Any, said: list[tuple[str, str]]) -> None:
    """Print what was tried and chosen, what was read and published, and what attacks achieved."""
    from shoal.cli.sentences import Told, release_rows

    print_table([*_points(outcome.process), ("chosen", outcome.frontier.sentence)])
    _print_plot(outcome.process)
    print()
    attacks = [(name, risk.sentence) for name, risk in outcome.frontier.chosen.risks.items() if risk.sentence]
    print_table([*said, *release_rows(Told.of(outcome.release)), *attacks])


def _points(process: dict[str, Any]) -> list[tuple[str, str]]:
    """Describe the points tried, one per line."""
    from shoal.model.words import setting

    rows = []
    for point in process["points"]:
        name = setting(point["parameters"]) or "as given"
        if "refused" in point:
            rows.append((name, f"refused: {point['refused']}"))
            continue
        if not point["risks"]:
            rows.append((name, "drawn once, as differential privacy requires"))
            continue
        utility = ", ".join(f"{key} {value:.3g}" for key, value in point["utility"].items())
        rows.append((name, f"{'meets both' if point['meets'] else '-':<10}  risk {point['risk']:.3g}, {utility}"))
    return rows
