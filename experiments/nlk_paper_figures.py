"""The figures of experiments/nlk_paper.py."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from drawing import panels
from nlk_paper_measures import STRATEGIES, Results, Runs
from plotly.colors import sample_colorscale

from shoal.methods.nlk import Strategy

# Okabe and Ito's palette, told apart with any colour vision; line style and marker say it again.
LOOKS: dict[str, tuple[str, str, str]] = {
    "cluster": ("#888888", "dot", "x"),
    "mil": ("#CC79A7", "dash", "diamond"),
    "mth": ("#D55E00", "solid", "square"),
    "optimal": ("#0072B2", "solid", "circle"),
}
NAMES = {"cluster": "cluster (stage 1)", "mil": "mil", "mth": "mth", "optimal": "optimal"}
# Where curves coincide, the broken lines must lie on top.
BOTTOM_UP: tuple[Strategy, ...] = ("optimal", "mth", "mil", "cluster")
K_TITLE = "k (series per group)"
DIVERGENCE, SHIFT = "normalised<br>divergence (%)", "shift of the<br>standard deviation (%)"


def all_figures(results: Results) -> dict[str, go.Figure]:
    """Every figure under its file name."""
    figures = {
        "divergence": by_parameters(results, Runs.divergences, DIVERGENCE),
        "synthetic-divergence": synthetic_figure(results, Runs.divergences, DIVERGENCE),
        "synthetic-deviation": synthetic_figure(results, Runs.shifts, SHIFT),
        "deviation": by_parameters(results, Runs.shifts, SHIFT),
        "classes": classes_figure(results),
        "heuristics": heuristics_figure(results),
        "time": time_figure(results),
    }
    return {f"nlk-{name}.png": figure for name, figure in figures.items()}


def by_parameters(results: Results, curve: Callable[..., list[float]], title: str) -> go.Figure:
    """The paper's figures 7 and 9: by k, a panel for each l."""
    plan = results.plan
    figure = panels([f"({plan.n}, {plan.n + m}, k)" for m in plan.shown], height=400, shared=True)
    for column, margin in enumerate(plan.shown, start=1):
        for s in BOTTOM_UP:
            values = curve(results.main, s, plan.n, margin, plan.ks)
            figure.add_trace(_line(plan.ks, values, s, first=column == 1), row=1, col=column)
    figure.update_xaxes(title_text=K_TITLE, tickvals=plan.ks[::2])
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text=title, col=1)
    return figure


def synthetic_figure(results: Results, curve: Callable[..., list[float]], title: str) -> go.Figure:
    """A half of the paper's figure 8."""
    plan, names = results.plan, tuple(results.sets.synthetic)
    titles = [f"{name}, ({plan.n}, {plan.n + plan.middle}, k)" for name in names]
    figure = panels(titles, height=380)
    for column, name in enumerate(names, start=1):
        for s in BOTTOM_UP:
            values = curve(results.runs[name], s, plan.n, plan.middle, plan.ks)
            figure.add_trace(_line(plan.ks, values, s, first=column == 1), row=1, col=column)
    figure.update_xaxes(title_text=K_TITLE, tickvals=plan.ks)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text=title, col=1)
    return figure


def classes_figure(results: Results) -> go.Figure:
    """The paper's figure 10, a panel for each strategy."""
    plan = results.plan
    figure = panels([NAMES[s] for s in STRATEGIES], height=440, shared=True)
    shares = {
        s: [results.main.get(s, plan.class_n, plan.class_l, k).classes for k in plan.class_ks] for s in STRATEGIES
    }
    classes = list(shares["mth"][0])
    colours = sample_colorscale("Cividis", np.linspace(1.0, 0.0, len(classes)).tolist())
    for column, s in enumerate(STRATEGIES, start=1):
        for name, colour in zip(classes, colours, strict=True):
            heights = [100.0 * by_class[name] for by_class in shares[s]]
            bar = go.Bar(
                x=[str(k) for k in plan.class_ks],
                y=heights,
                name=name.replace("-", "–"),
                marker={"color": colour, "line": {"color": "white", "width": 0.5}},
                showlegend=column == 1,
            )
            figure.add_trace(bar, row=1, col=column)
    figure.update_layout(
        barmode="stack", bargap=0.15, legend={"traceorder": "normal", "title": {"text": "divergence ", "font_size": 13}}
    )
    figure.update_xaxes(title_text=f"k, ({plan.class_n}, {plan.class_l}, k)", type="category")
    figure.update_yaxes(range=[0, 103], tickvals=[0, 20, 40, 60, 80, 100])
    figure.update_yaxes(title_text="share of the points (%)", col=1)
    return figure


def heuristics_figure(results: Results) -> go.Figure:
    """The paper's figure 11, by k and by l - n."""
    plan = results.plan
    figure = panels(["mean over n and l − n", "mean over n and k"], height=400, shared=True)
    for s in BOTTOM_UP[:-1]:
        by_k, by_margin = (results.reductions(s, by=by) for by in ("k", "margin"))
        figure.add_trace(_line(plan.grid_ks, by_k, s), row=1, col=1)
        figure.add_trace(_line(plan.grid_margins, by_margin, s, first=False), row=1, col=2)
    figure.add_hline(y=0.0, line={"color": LOOKS["cluster"][0], "dash": "dot", "width": 2})
    # The line at 0 is stage 1; it has no trace, so its entry in the legend is made by hand.
    entry = {"x": [None], "y": [None], "mode": "lines", "line": {"color": LOOKS["cluster"][0], "dash": "dot"}}
    figure.add_trace(go.Scatter(**entry, name=f"{NAMES['cluster']} = 0"), row=1, col=1)
    figure.update_xaxes(title_text=K_TITLE, tickvals=plan.grid_ks, col=1)
    figure.update_xaxes(title_text="l − n (instants)", tickvals=plan.grid_margins, col=2)
    figure.update_yaxes(title_text="reduction of the Euclidean<br>loss of stage 1 (%)", col=1)
    return figure


def time_figure(results: Results) -> go.Figure:
    """The paper's figures 12 and 13."""
    plan = results.plan
    titles = [f"({plan.n}, {plan.n + plan.middle}, k)", f"({plan.time_n}, l, {plan.time_k})"]
    figure = panels(titles, height=400, shared=True)
    for s in BOTTOM_UP:
        figure.add_trace(_line(plan.ks, results.times.by_k(s, plan), s), row=1, col=1)
        figure.add_trace(_line(plan.grid_margins, results.times.by_margin(s, plan), s, first=False), row=1, col=2)
    figure.update_xaxes(title_text=K_TITLE, tickvals=plan.ks, col=1)
    figure.update_xaxes(title_text="l − n (instants)", tickvals=plan.grid_margins, col=2)
    marks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]
    figure.update_yaxes(type="log", tickvals=marks, tickformat=",")
    figure.update_yaxes(title_text="processor time (ms)", col=1)
    return figure


def _line(x: Sequence[int], y: Sequence[float], name: str, *, first: bool = True) -> go.Scatter:
    colour, dash, symbol = LOOKS[name]
    options: dict[str, Any] = {
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"symbol": symbol, "size": 7},
    }
    return go.Scatter(x=list(x), y=list(y), name=NAMES[name], mode="lines+markers", showlegend=first, **options)
