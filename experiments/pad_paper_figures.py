"""The figures of experiments/pad_paper.py."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from drawing import panels
from pad_paper_data import ARRIVAL, DEPARTURE, LUNCH, OFFICE, PEAK
from pad_paper_learning import (
    DEEP,
    DEFAULT,
    GENERIC,
    LEARNED,
    LINEAR,
    METRICS,
    PUBLIC,
    TIME,
    TRAININGS,
    TRUTH,
    VALUES,
    Task,
    named,
    shares,
)
from pad_paper_measures import ALGORITHMS, LEARNERS, STATISTICS
from pad_paper_results import Results

# Okabe and Ito's palette, told apart with any colour vision; line style and marker say it again.
LOOKS: dict[str, tuple[str, str, str]] = {
    GENERIC: ("#888888", "dash", "square"),
    named(LINEAR, VALUES): ("#0072B2", "solid", "circle"),
    named(DEEP, VALUES): ("#D55E00", "solid", "diamond"),
    named(LINEAR, TIME): ("#56B4E9", "dash", "circle-open"),
    named(DEEP, TIME): ("#E69F00", "dash", "diamond-open"),
    DEFAULT: ("#000000", "dot", "cross"),
    TRUTH: ("#009E73", "dot", "x"),
    "original": ("#888888", "dash", "square"),
    "published": ("#0072B2", "solid", "circle"),
    "together": ("#D55E00", "dot", "diamond"),
    "k-ward": ("#D55E00", "dash", "square"),
    "auto": ("#0072B2", "solid", "circle"),
}
WIDTHS = ("#56B4E9", "#0072B2", "#009E73", "#D55E00")
DASHES, SYMBOLS = ("dot", "dash", "dashdot", "solid"), ("circle", "square", "diamond", "x")
LABELS = {
    "original": "learned from originals",
    "published": "from published days",
    "together": "all published, then split (the paper's way)",
    "k-ward": "k-ward, the paper's",
    "auto": "auto, the default",
}
UNITS = {
    LUNCH: "loss, lunchtime",
    PEAK: "loss, peak hours",
    ARRIVAL: "loss, arrival (instants)",
    DEPARTURE: "loss, departure (instants)",
}
TITLES = {"arrival": "arrival", "departure": "departure", "occupied": "time occupied"}


def all_figures(results: Results) -> dict[str, go.Figure]:
    """Every figure under its file name."""
    figures = {"prediction": prediction_figure(results)}
    main = results.sets.main("presence")
    if main != OFFICE:
        figures["statistics"] = statistics_figure(results, main)
    figures["statistics-simulated"] = statistics_figure(results, OFFICE)
    figures |= {
        "lunchtime": loss_figure(results, LUNCH),
        "peak": loss_figure(results, PEAK),
        "labels": labels_figure(results),
        "arrival": loss_figure(results, ARRIVAL),
        "departure": loss_figure(results, DEPARTURE),
        "grouping-time": grouping_figure(results),
        "learning-time": learning_figure(results),
    }
    return {f"pad-{name}.png": figure.update_layout(legend_traceorder="normal") for name, figure in figures.items()}


def prediction_figure(results: Results) -> go.Figure:
    """The paper's figure 5: a row for each learner, a column for each set."""
    sets, ks = list(results.predicted), results.plan.ks
    figure = panels([*sets, *[""] * len(sets)], height=620, rows=2)
    for row, (learner, name) in enumerate(LEARNERS.items(), start=1):
        for column, found in enumerate(results.predicted.values(), start=1):
            lines = {
                "original": [found.original[learner]] * len(ks),
                "published": [found.published[learner, k] for k in ks],
                "together": [found.together[learner, k] for k in ks],
            }
            for what, values in lines.items():
                first = row == column == 1
                figure.add_trace(_line(ks, values, what, first=first, label=LABELS[what]), row=row, col=column)
        figure.update_yaxes(title_text=f"accuracy, {name}", row=row, col=1)
    figure.update_xaxes(tickvals=ks)
    figure.update_xaxes(title_text="k", row=2)
    return figure


def statistics_figure(results: Results, name: str) -> go.Figure:
    """The paper's figures 6 and 7: histograms, a row for each k."""
    found, shown = results.described[name], results.plan.shown
    figure = panels([*TITLES.values(), *[""] * len(TITLES)], height=560, rows=2)
    for row, k in enumerate(shown, start=1):
        for column, statistic in enumerate(STATISTICS, start=1):
            original, published = found.original[statistic], found.published[statistic, k]
            hours = (np.arange(len(original)) + 0.5) * 24.0 / len(original)
            first = row == column == 1
            bars = {"color": "#BBBBBB", "line": {"width": 0}}
            figure.add_trace(
                go.Bar(x=hours, y=original, name="original", marker=bars, showlegend=first), row=row, col=column
            )
            line = {"color": "#0072B2", "shape": "hvh", "width": 2}
            ends = [0.0, *hours, 24.0], [published[0], *published, published[-1]]
            figure.add_trace(
                go.Scatter(x=ends[0], y=ends[1], name="published", mode="lines", line=line, showlegend=first),
                row=row,
                col=column,
            )
        figure.update_yaxes(title_text=f"share of days, k = {k}", row=row, col=1)
    figure.update_xaxes(range=[0, 24], tickvals=[0, 6, 12, 18, 24])
    figure.update_xaxes(title_text="hours", row=2)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(bargap=0.0)
    return figure


def loss_figure(results: Results, interest: str) -> go.Figure:
    """The paper's figures 8, 9 and 11: a row for each set, public training on the left, pre-sanitised on the right."""
    tasks, ks = results.on(interest), results.plan.ks
    titles = [f"{task.name}, {training}" for task in tasks for training in TRAININGS]
    figure = panels(titles, height=150 + 180 * len(tasks), rows=len(tasks))
    for row, task in enumerate(tasks, start=1):
        for column, training in enumerate(TRAININGS, start=1):
            for place, metric in enumerate(METRICS):
                # Beside each other, so that error bars can be told apart.
                x = [k + 0.06 * (place - 3) for k in ks]
                known = [metric in (GENERIC, TRUTH) or task.learned(training, k) for k in ks]
                values = [task.mean(training, metric, k) if there else None for k, there in zip(ks, known, strict=True)]
                bars = {"type": "data", "array": [task.spread(training, metric, k) for k in ks], "thickness": 1}
                trace = _line(x, values, metric, first=row == column == 1)
                figure.add_trace(trace.update(error_y=bars), row=row, col=column)
        figure.update_yaxes(title_text=UNITS[interest], row=row, col=1)
        highest = max(
            task.mean(training, metric, k) + task.spread(training, metric, k)
            for training in TRAININGS
            for metric in METRICS
            for k in ks
        )
        figure.update_yaxes(range=[0.0, 1.05 * highest], row=row)
    figure.update_xaxes(tickvals=ks)
    figure.update_xaxes(title_text="k", row=len(tasks))
    return figure


def labels_figure(results: Results) -> go.Figure:
    """The paper's figure 10: loss by the number of labelled pairs, relative to the generic metric."""
    tasks, k = results.counted, results.plan.middle
    figure = panels([f"{task.interest}<br>({task.name})" for task in tasks], height=420, shared=True)
    for column, task in enumerate(tasks, start=1):
        for metric in (*LEARNED, DEFAULT):
            counts, curves = label_curve(results, task, metric)
            values = [float(np.mean(curve)) for curve in curves]
            bars = {"type": "data", "array": [float(np.std(curve)) for curve in curves], "thickness": 1}
            trace = _line(counts, values, metric, first=column == 1)
            figure.add_trace(trace.update(error_y=bars), row=1, col=column)
        for metric in (GENERIC, TRUTH):
            level = task.ratio(PUBLIC, metric, k)
            ends = [counts[0], counts[-1]]
            figure.add_trace(
                _line(ends, [level] * 2, metric, first=column == 1).update(mode="lines"), row=1, col=column
            )
    figure.update_xaxes(type="log", title_text="labels", tickvals=[25, 100, 400, 1600], nticks=4)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text=f"loss as a share of generic, k = {k}", col=1)
    figure.update_layout(margin_t=60)
    return figure


def label_curve(results: Results, task: Task, metric: str) -> tuple[list[int], list[list[float]]]:
    """Numbers of labels, and the loss of each repetition as a share of the generic metric's."""
    k = results.plan.middle
    generic = task.loss[PUBLIC, GENERIC, k]
    found = {n: task.by_labels[metric, n] for n in results.plan.labels if (metric, n) in task.by_labels}
    found[task.n_pairs] = task.loss[PUBLIC, metric, k]
    return list(found), [shares(curve, generic) for curve in found.values()]


def grouping_figure(results: Results) -> go.Figure:
    """The paper's figure 12."""
    n, m, k = results.plan.usual
    titles = [f"m = {m}, k = {k}", f"n = {n:,}, k = {k}", f"n = {n:,}, m = {m}"]
    figure = panels(titles, height=400)
    for column, what in enumerate("nmk", start=1):
        for algorithm in ALGORITHMS:
            x = [place for a, w, place in results.times.grouping if (a, w) == (algorithm, what)]
            y = [1000.0 * results.times.grouping[algorithm, what, place] for place in x]
            first = column == 1
            figure.add_trace(_line(x, y, algorithm, first=first, label=LABELS[algorithm]), row=1, col=column)
        words = {"n": "n (series)", "m": "m (instants)", "k": "k"}
        figure.update_xaxes(type="log", tickvals=x, tickformat=",", title_text=words[what], row=1, col=column)
    marks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]
    figure.update_yaxes(type="log", tickvals=marks, tickformat=",")
    figure.update_yaxes(title_text="processor time (ms)", col=1)
    return figure


def learning_figure(results: Results) -> go.Figure:
    """The paper's figure 13."""
    plan, seconds = results.plan, results.times.learning
    figure = panels(["by labelled pairs", "by instants"], height=400)
    for place, width in enumerate(plan.widths):
        figure.add_trace(
            _own_line(plan.pairs, [seconds[n, width] for n in plan.pairs], f"{width} instants", place), row=1, col=1
        )
    for place, n in enumerate((plan.pairs[0], plan.pairs[-1])):
        figure.add_trace(
            _own_line(plan.widths, [seconds[n, width] for width in plan.widths], f"{n:,} pairs", 3 * place),
            row=1,
            col=2,
        )
    figure.update_xaxes(title_text="pairs", tickformat=",", tickvals=plan.pairs[1:], col=1)
    figure.update_xaxes(title_text="instants of a series", tickvals=plan.widths, col=2)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text="processor time (s)", col=1)
    return figure


def _line(
    x: Sequence[float], y: Sequence[float | None], name: str, *, first: bool = True, label: str | None = None
) -> go.Scatter:
    colour, dash, symbol = LOOKS[name]
    options: dict[str, Any] = {
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"symbol": symbol, "size": 7},
    }
    return go.Scatter(x=list(x), y=list(y), name=label or name, mode="lines+markers", showlegend=first, **options)


def _own_line(x: Sequence[float], y: Sequence[float], name: str, place: int) -> go.Scatter:
    line, marker = {"color": WIDTHS[place % 4], "dash": DASHES[place % 4]}, {"symbol": SYMBOLS[place % 4], "size": 7}
    return go.Scatter(x=list(x), y=list(y), name=name, mode="lines+markers", line=line, marker=marker)
