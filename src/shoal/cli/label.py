"""`shoal label`: send pairs of protected or public curves to an analyst as files, and import the labels."""

from __future__ import annotations

from dataclasses import asdict
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import options, read_options
from shoal.cli.output import print_json, print_table, steps
from shoal.errors import ParameterError

label = typer.Typer(
    name="label",
    help="Ask an analyst which series are alike, without showing any raw series.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_OF_A_ROUND = {"source", "analyst", "next_", "as_json"}


@label.command("export")
@read_options.reads(without=("quasi", "sensitive", "other"))
def export_(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A table, as for `shoal anonymize`; a release; or an existing task folder, for another analyst or "
            "round."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The task folder to write.")] = Path("task"),
    k: Annotated[
        int | None,
        typer.Option(
            help="Show means of groups; task and release together leave crowds of at least this many subjects."
        ),
    ] = None,
    multiple: Annotated[
        int | None, typer.Option(help="With --k: groups shown have this many times k subjects. [default: 4]")
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="With --k: the file of earlier releases in which the task is recorded. [default: OUT.ledger]"
        ),
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(metavar="WHY", help="Show the series as they are because they are public; give the reason."),
    ] = None,
    private_table: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="TABLE", help="With --public or a release: no series of this table may be shown; repeatable."
        ),
    ] = None,
    pairs: Annotated[int, typer.Option(help="Number of pairs to ask about, repetitions included.")] = 200,
    choice: Annotated[
        str, typer.Option(help="uniform, or active: later pairs depend on the labels, in rounds with --next.")
    ] = "uniform",
    repeats: Annotated[
        float, typer.Option(help="Share of pairs asked twice, to see how consistent answers are.")
    ] = 0.1,
    common: Annotated[float, typer.Option(help="Share of pairs that all analysts are asked about.")] = 0.5,
    question: Annotated[str | None, typer.Option(help="The question to ask about two curves.")] = None,
    seed: Annotated[int, typer.Option(help="The same curves and seed give the same pairs.")] = 0,
    analyst: Annotated[str, typer.Option(help="Who it is for: letters, digits, _ and -.")] = "analyst",
    next_: Annotated[
        int | None,
        typer.Option("--next", help="Hand out this many further pairs. Default: all that are already fixed."),
    ] = None,
    policy: read_options.Policy = None,
    as_json: options.Json = False,
) -> None:
    """Write a task folder that contains for-ANALYST, the only part to hand over.

    With --k, the table is grouped first and only means of groups are shown. That is a release: the guarantee is
    checked, the groups are recorded in a ledger, and releases made with a metric learned from the task stay within
    them. With --public, the series are shown as they are. Give one of the two, unless SOURCE is a release.
    """
    from shoal.labels import (
        DEFAULT_QUESTION,
        PAIRS,
        build_task,
        hand_out,
        is_task,
        refuse_folder,
        refuse_name,
    )
    from shoal.model.sentence import said

    refuse_name(analyst)
    if is_task(source):
        _refuse_options_of_a_new_task(ctx)
        folder, rows = Path(source), []
    else:
        folder = out
        refuse_folder(out)  # before anything is recorded
        settings = read_options.settings_of(ctx)
        if k is not None and ledger is None:
            # What is shown is a release, and always on record.
            out.parent.mkdir(parents=True, exist_ok=True)
            ledger = out.with_name(f"{out.name}.ledger")
        with steps() as progress:
            build_task(
                source,
                settings,
                k=k,
                multiple=multiple,
                ledger=ledger,
                public=public,
                private=private_table or (),
                steps=progress,
                n_pairs=pairs,
                choice=choice,
                repeats=repeats,
                common=common,
                question=DEFAULT_QUESTION if question is None else question,
                seed=seed,
            ).save(out)
        rows = progress.rows
    handed = hand_out(folder, analyst, next_)
    task, guarantee = handed.task, handed.task.guarantee
    if as_json:
        print_json(
            {
                "task": str(folder),
                "source": task.source,
                "guarantee": guarantee,
                "digest": task.digest,
                "curves": task.n_curves,
                "analyst": analyst,
                "pairs": handed.n_pairs,
                "left": handed.n_left,
                "hand_over": str(handed.folder),
                "said": said(PAIRS, task),
                "mind": _mind(task, ledger),
            }
        )
        return
    print_table(
        [
            *rows,
            ("task", str(folder)),
            ("shown", f"{task.n_curves} curves of {len(task.times)} instants"),
            (guarantee["name"], _promise(guarantee)),
            ("pairs", ". ".join([f"{handed.n_pairs} for {analyst}, {handed.n_left} to come", *said(PAIRS, task)])),
            ("hand over", f"{handed.folder} and nothing else"),
            *([] if (mind := _mind(task, ledger)) is None else [("mind", mind)]),
        ]
    )


@label.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(metavar="TASK", help="The task folder.")],
    path: Annotated[Path, typer.Argument(metavar="LABELS", help="The labels.csv that the analyst filled in.")],
    analyst: Annotated[str, typer.Option(help="Who filled it in: the ANALYST in for-ANALYST.")] = "analyst",
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace labels already imported for the same analyst.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Check an analyst's labels, store them in the task folder, and say whether more are worth the effort."""
    from shoal.labels import take_in

    found = take_in(folder, path, analyst, replace=replace)
    mine = found.labels.of(analyst).counts()
    if as_json:
        print_json(
            {
                "task": str(folder),
                "analyst": analyst,
                "new": found.n_new,
                "labels": {name: found.labels.of(name).counts() for name in found.labels.analysts},
                "consistency": None if found.consistency is None else asdict(found.consistency),
                "agreement": _agreement(found.agreement),
                "curve": [asdict(point) for point in found.points],
                "advice": asdict(found.advice),
            }
        )
        return
    print_table(
        [
            ("task", str(folder)),
            (analyst, f"{found.n_new} new labels; {', '.join(f'{n} {answer}' for answer, n in mine.items())}"),
            ("all", f"{len(found.labels)} labels by {', '.join(found.labels.analysts)}"),
            ("consistency", _consistency(found.consistency)),
            *([] if found.agreement is None else [("agreement", _alpha(found.agreement))]),
            *([] if not found.points else [("held out", _held_out(found.points[-1]))]),
            ("advice", f"{'stop' if found.advice.stop else 'go on'}: {found.advice.reason}"),
        ]
    )


def _refuse_options_of_a_new_task(ctx: typer.Context) -> None:
    for name in ctx.params:
        given: Any = ctx.get_parameter_source(name)
        if name not in _OF_A_ROUND and given is not None and given.name == "COMMANDLINE":
            raise ParameterError(
                f"--{name.replace('_', '-')} is for a new task, but SOURCE is an existing one. Give --analyst and "
                "--next."
            )


def _mind(task: Any, ledger: Path | None) -> str | None:
    """Say what to watch for in the next release."""
    from shoal.labels import NEXT_RELEASE
    from shoal.model.sentence import said

    sentences = said(NEXT_RELEASE, task)
    if ledger is not None:
        sentences.append(f"for others, give --ledger {ledger}")
    return "; ".join(sentences) or None


def _promise(guarantee: dict[str, Any]) -> str:
    if "measured" not in guarantee:
        return str(guarantee["statement"])
    share = f", none with more than {ceil(100 * guarantee['largest_share'])}%" if "largest_share" in guarantee else ""
    # Other guarantees do not measure a crowd.
    counted = f" ({guarantee['counts']}{share})" if guarantee["name"] == "k-anonymity" else ""
    return f"holds: {guarantee['measured']}, required {guarantee['required']}{counted}"


def _consistency(share: Any) -> str:
    if share is None:
        return "no question has been answered twice yet"
    return f"{share.value:.0%} of {share.n} repeated questions answered alike ({share.low:.0%} to {share.high:.0%})"


def _alpha(found: Any) -> str:
    return f"alpha {found.alpha:.2f} over {found.n_pairs} pairs"


def _agreement(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    pairwise = [{"analysts": list(names), "alike": alike, "pairs": n} for names, (alike, n) in found.pairwise.items()]
    return {"alpha": found.alpha, "pairs": found.n_pairs, "pairwise": pairwise}


def _held_out(point: Any) -> str:
    return f"{point.learned:.3f} by the learned distance, {point.euclidean:.3f} by the Euclidean one"
