"""From labels to a metric, and how much it helps the publisher's purpose."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Form, HTTPException, Path
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from shoal.errors import ParameterError
from shoal.features import interests
from shoal.labels import Labels, advice, compare, curve, learn, load_asked, store_labels
from shoal.model import Panel
from shoal.report.units import IN_UNIT_OF_DATA, amount, duration, unit_of
from shoal.studio.charts import draw_bars
from shoal.studio.context import InStudio, Publisher, Studio
from shoal.studio.jobs import Progress, job_kind
from shoal.studio.names import SLUG, TableName
from shoal.studio.pages import page

router = APIRouter()

Name = Annotated[str, Path(pattern=SLUG)]
_Time = Annotated[str, Field(max_length=20)]


class Learning(BaseModel):
    """Which metric to learn."""

    metric: Literal["auto", "linear", "deep"] = "auto"


class Comparison(BaseModel):
    """What matters about the series, and the size of groups."""

    table: TableName
    interest: Literal["segment", "window-total", "arrival", "departure", "time-occupied"] = "segment"
    start: _Time = ""
    end: _Time = ""
    above: float = Field(0.0, allow_inf_nan=False)
    k: int = Field(10, ge=2, le=1_000_000)


@router.post("/tasks/{task}/curve")
def measure_curve(task: Name, studio: InStudio, session: Publisher) -> Response:
    """Measure what the labels so far contribute, and whether more are worthwhile."""
    _known(studio, task)
    job = studio.jobs.start(f"Measuring the labels of {task}", "curve", {"task": task}, back=f"/tasks/{task}")
    return RedirectResponse(f"/jobs/{job}", 303)


@job_kind("curve")
def curve_job(studio: Studio, arguments: dict[str, Any], progress: Progress) -> str:
    """Learn from more and more labels."""
    task = arguments["task"]
    progress.start("learning from the first labels, then from more and more of them")
    labels = studio.answers.labels(task)
    points = curve(studio.answers.task(task), labels)
    advised = advice(points, labels)
    content = {
        "points": [asdict(point) for point in points],
        "stop": advised.stop,
        "reason": advised.reason,
        "n_labels": len(labels),
    }
    studio.project.set_result(task, "curve", content, studio.clock())
    return f"/tasks/{task}#curve"


@router.post("/tasks/{task}/learn")
def learn_metric(task: Name, studio: InStudio, session: Publisher, form: Annotated[Learning, Form()]) -> Response:
    """Learn a metric from all labels."""
    _known(studio, task)
    arguments = {"task": task, "metric": form.metric}
    job = studio.jobs.start(f"Learning from the labels of {task}", "learn", arguments, back=f"/tasks/{task}")
    return RedirectResponse(f"/jobs/{job}", 303)


@job_kind("learn")
def learn_job(studio: Studio, arguments: dict[str, Any], progress: Progress) -> str:
    """Learn from all labels there are."""
    task, metric = arguments["task"], arguments["metric"]
    progress.start("learning the metric that does best" if metric == "auto" else f"learning a {metric} metric")
    loaded, labels = studio.answers.task(task), studio.answers.labels(task)
    _write_labels(studio.project.task_folder(task), labels)
    studio.project.save_metric(task, learn(loaded, labels, metric=metric))
    return f"/tasks/{task}#metrics"


@router.get("/tasks/{task}/compare")
def show_comparison(task: Name, studio: InStudio, session: Publisher) -> HTMLResponse:
    """The latest comparison, and the form for another one."""
    _known(studio, task)
    found = studio.project.result(task, "compare")
    drawing = ""
    if found:
        # If the generic metric loses nothing, there is nothing to compare with.
        bars = [(row["name"], row["relative"] or 0.0) for row in found["rows"]]
        drawing = draw_bars(bars, about="Loss on the interest, as a share of the generic metric's loss.")
    return page(
        "compare.html.j2",
        name=task,
        tables=studio.project.tables(),
        table=found["form"]["table"] if found else studio.project.table_of(task),
        metrics=studio.project.metrics(task),
        found=found,
        drawing=drawing,
        step="labels",
        session=session,
    )


@router.post("/tasks/{task}/compare")
def make_comparison(task: Name, studio: InStudio, session: Publisher, form: Annotated[Comparison, Form()]) -> Response:
    """Group the originals by each metric and measure how far the interest moves. For the publisher only."""
    _known(studio, task)
    find_interest(form)
    studio.project.table(form.table)
    arguments = {"task": task} | form.model_dump()
    job = studio.jobs.start(f"Comparing metrics of {task}", "compare", arguments, back=f"/tasks/{task}/compare")
    return RedirectResponse(f"/jobs/{job}", 303)


@job_kind("compare")
def compare_job(studio: Studio, arguments: dict[str, Any], progress: Progress) -> str:
    """Group the originals by each metric."""
    task, form = arguments["task"], Comparison.model_validate(arguments)
    progress.start("reading the table")
    panel = studio.project.panel(form.table)
    progress.start("grouping by each metric and comparing")
    metrics: dict[str, Any] = dict(studio.project.metrics(task))
    compared = compare(panel, find_interest(form), k=form.k, metrics=metrics)
    rows = [asdict(row) | {"said": _said(row.loss, form, panel)} for row in compared]
    content = {"rows": rows, "form": form.model_dump(), "interest": describe(form)}
    studio.project.set_result(task, "compare", content, studio.clock())
    return f"/tasks/{task}/compare"


def _said(loss: float, form: Comparison, panel: Panel) -> str:
    """A loss with its unit: times as times if the table has them, readings in the unit of the table."""
    if form.interest in ("segment", "window-total"):
        return amount(loss, unit_of(panel.channels[0]) or IN_UNIT_OF_DATA)
    if panel.times.dtype.kind == "M" and panel.n_instants > 1:
        return duration(loss * float((panel.times[1] - panel.times[0]) / np.timedelta64(1, "h")))
    return amount(loss, "instants")


def find_interest(form: Comparison) -> interests.Interest:
    """The interest that a form describes.

    Examples
    --------
    >>> find_interest(Comparison(table="a.csv", interest="segment", start="11:00", end="14:00"))
    Segment(start='11:00', end='14:00')
    >>> find_interest(Comparison(table="a.csv", interest="window-total", start="4", end="9"))
    WindowTotal(start=4, end=9)
    """
    if form.interest == "arrival":
        return interests.Arrival(form.above)
    if form.interest == "departure":
        return interests.Departure(form.above)
    if form.interest == "time-occupied":
        return interests.TimeOccupied(form.above)
    kind = interests.Segment if form.interest == "segment" else interests.WindowTotal
    return kind(_instant(form.start), _instant(form.end))


def describe(form: Comparison) -> str:
    """An interest in words.

    Examples
    --------
    >>> describe(Comparison(table="a.csv", interest="segment", start="11:00", end="14:00"))
    'segment from 11:00 to 14:00'
    """
    words = form.interest.replace("-", " ")
    if form.interest in ("segment", "window-total"):
        return f"{words} from {form.start.strip()} to {form.end.strip()}"
    return f"{words}, above {form.above:g}"


def _instant(text: str) -> int | str:
    """A position, or a time of the day."""
    plain = text.strip()
    if not plain:
        raise ParameterError("A window needs a start and an end: times such as 11:00, or positions such as 44.")
    return int(plain) if plain.isascii() and plain.isdecimal() else plain


def _write_labels(folder: FilePath, labels: Labels) -> None:
    """Store labels in the folder of the task, where `shoal learn` finds them.

    Labels imported from an analyst's files are not replaced.
    """
    by_file = {analyst for analyst in labels.analysts if load_asked(folder, analyst)}
    store_labels(folder, Labels(tuple(label for label in labels if label.analyst not in by_file)))


def _known(studio: Studio, task: str) -> None:
    if task not in studio.project.tasks():
        raise HTTPException(404, "There is no such task.")
    studio.answers.task(task)  # refused if its folder holds another task
