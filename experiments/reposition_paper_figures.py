"""The figures of experiments/reposition_paper.py."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from drawing import panels
from reposition_paper_data import CASES, CLINICS, REGISTER, SHUFFLED, SMALL, TESTS
from reposition_paper_findings import ENOUGH
from reposition_paper_measures import (
    COSTS,
    ENDLESS,
    GENERALISED,
    HINDSIGHT,
    LIMITED,
    MERGED,
    RELEASES,
    REPOSITIONED,
    SUPPRESSED,
    Results,
)
from reposition_paper_tables import by_size

# Okabe and Ito's palette, told apart with any colour vision; line style and marker say it again.
STREAMS: dict[str, tuple[str, str, str]] = {
    SMALL: ("#56B4E9", "solid", "circle"),
    REGISTER: ("#0072B2", "solid", "square"),
    CASES: ("#D55E00", "solid", "diamond"),
    SHUFFLED: ("#E69F00", "dash", "diamond-open"),
    CLINICS: ("#009E73", "solid", "triangle-up"),
    TESTS: ("#888888", "dot", "x"),
}
KINDS: dict[str, tuple[str, str, str]] = {
    REPOSITIONED: ("#0072B2", "solid", "circle"),
    GENERALISED: ("#56B4E9", "dash", "circle-open"),
    SUPPRESSED: ("#D55E00", "solid", "square"),
    MERGED: ("#CC79A7", "solid", "diamond"),
    HINDSIGHT: ("#CC79A7", "dash", "diamond-open"),
    LIMITED: ("#888888", "dot", "x"),
}
LEVELS = (("#222222", "solid", "circle"), ("#222222", "dash", "square"), ("#222222", "dot", "diamond"))


def all_figures(results: Results) -> dict[str, go.Figure]:
    """Every figure under its file name."""
    figures = {
        "eligible": eligible_figure(results),
        "distances": distances_figure(results),
        "windows": windows_figure(results),
        "suppressed": suppressed_figure(results),
        "queries": queries_figure(results, conditions=False),
        "conditions": queries_figure(results, conditions=True),
    }
    return {f"reposition-{name}.png": figure for name, figure in figures.items()}


def eligible_figure(results: Results) -> go.Figure:
    """Share of eligible snapshots by size: simulated, and of the streams by class of size."""
    plan = results.plan
    figure = panels(["simulated, by mean size and l", "streams under their l, by size"], height=420, shared=True)
    for l, look in zip(plan.ls, LEVELS, strict=False):
        shares = [100.0 * results.sizes[size, l] for size in plan.sizes]
        figure.add_trace(_line(plan.sizes, shares, f"l = {l}", look), row=1, col=1)
    for stream in results.sets.streams.values():
        classes = [found for found in by_size(stream) if found[2] >= ENOUGH]
        names, shares = [name for name, _, _ in classes], [100.0 * share for _, share, _ in classes]
        figure.add_trace(_line(names, shares, stream.name, STREAMS[stream.name]), row=1, col=2)
    figure.update_xaxes(title_text="events of a snapshot, mean", type="log", tickvals=plan.sizes, col=1)
    figure.update_xaxes(
        title_text="events of a snapshot",
        type="category",
        categoryorder="array",
        categoryarray=["1–5", "6–20", "21–50", "51–100", "over 100"],
        col=2,
    )
    figure.update_yaxes(range=[-4, 104])
    figure.update_yaxes(title_text="l-eligible snapshots (%)", col=1)
    figure.update_layout(legend_traceorder="normal", margin_b=130)
    return figure


def distances_figure(results: Results) -> go.Figure:
    """How many published events are at least so late."""
    plan = results.plan
    titles = [f"window of {plan.window}", "endless window"]
    figure = panels(titles, height=400, shared=True)
    for column, window in enumerate((plan.window, ENDLESS), start=1):
        for name in results.sets.streams:
            late = results.place(name, window).late
            distances = range(1, 7)
            shares = [100.0 * float(late[d:].sum() / late.sum()) for d in distances]
            shown = [share if share > 0.0 else None for share in shares]
            figure.add_trace(_line(list(distances), shown, name, STREAMS[name], first=column == 1), row=1, col=column)
    figure.update_xaxes(title_text="snapshots late, at least", tickvals=list(range(1, 7)))
    figure.update_yaxes(type="log", tickvals=[0.01, 0.1, 1, 10, 100])
    figure.update_yaxes(title_text="published events (%)", col=1)
    figure.update_layout(legend_traceorder="normal")
    return figure


def windows_figure(results: Results) -> go.Figure:
    """Loss by window, relative to that of the endless one."""
    plan = results.plan
    figure = panels([f"{cost} costs" for cost in COSTS], height=420, shared=True)
    for column, cost in enumerate(COSTS, start=1):
        for name in results.sets.streams:
            endless = results.place(name, ENDLESS, cost).loss
            if endless > 0.0:
                ratios = [results.place(name, window, cost).loss / endless for window in plan.windows]
                figure.add_trace(_line(plan.windows, ratios, name, STREAMS[name], first=column == 1), row=1, col=column)
    figure.add_hline(y=1.0, line={"color": "#222222", "width": 1})
    figure.update_xaxes(title_text="window (snapshots)", type="log", tickvals=plan.windows)
    figure.update_yaxes(type="log", tickvals=[0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
    figure.update_yaxes(title_text="loss, endless window = 1", col=1)
    figure.update_layout(legend_traceorder="normal")
    return figure


def suppressed_figure(results: Results) -> go.Figure:
    """Share of suppressed events by window; none is not on a logarithmic scale."""
    plan = results.plan
    figure = panels(["linear costs"], height=400)
    for name in results.sets.streams:
        shares = [100.0 * results.place(name, window).lost for window in plan.windows]
        shown = [share if share > 0.0 else None for share in shares]
        figure.add_trace(_line(plan.windows, shown, name, STREAMS[name]), row=1, col=1)
    figure.update_xaxes(title_text="window (snapshots)", type="log", tickvals=plan.windows)
    figure.update_yaxes(title_text="suppressed events (%)", type="log", tickvals=[0.01, 0.1, 1, 10, 100])
    figure.update_layout(legend_traceorder="normal")
    return figure


def queries_figure(results: Results, *, conditions: bool) -> go.Figure:
    """Error by the longest window, a panel for each of the last four streams that are eligible as a whole."""
    plan, names = results.plan, [stream.name for stream in results.sets.fair][-4:]
    rows = 1 if len(names) <= 3 else 2
    titles = [f"{name}, l = {results.sets.streams[name].l}" for name in names]
    titles += [""] * (-len(titles) % rows)
    figure = panels(titles, height=420 if rows == 1 else 600, rows=rows)
    across = len(titles) // rows
    legend: set[str] = set()
    for place, name in enumerate(names):
        row, column = divmod(place, across)
        for kind in RELEASES:
            found = results.released[name].get(kind)
            if found is None or (kind == GENERALISED and not conditions):
                continue
            values = [100.0 * (found.by_all if conditions else found.by_value)[n] for n in plan.longest]
            line = _line(plan.longest, values, kind, KINDS[kind], first=kind not in legend)
            legend.add(kind)
            figure.add_trace(line, row=row + 1, col=column + 1)
    figure.update_xaxes(type="category")
    figure.update_xaxes(title_text="longest window (snapshots)", row=rows)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text="mean error (%)", col=1)
    figure.update_layout(legend_traceorder="normal", margin_b=125)
    return figure


def _line(
    x: Sequence[Any], y: Sequence[float | None], name: str, look: tuple[str, str, str], *, first: bool = True
) -> go.Scatter:
    colour, dash, symbol = look
    options: dict[str, Any] = {
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"symbol": symbol, "size": 7},
    }
    return go.Scatter(
        x=list(x), y=list(y), name=name, legendgroup=name, mode="lines+markers", showlegend=first, **options
    )
