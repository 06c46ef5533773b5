"""The figures of experiments/kp_paper.py."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from drawing import panels
from kp_paper_data import WALK
from kp_paper_measures import BFP2KA, BFP2KA_20, KAPRA, KAPRA_MEANS, METHODS, NAIVE, NAIVE_MEANS, RELEASES, TGA
from kp_paper_queries import COMBINED, PRQ, PSQ, RANGE, STRING
from kp_paper_results import Results

from shoal.queries import Kind

# Okabe and Ito's palette, told apart with any colour vision; line style and marker say it again.
LOOKS: dict[str, tuple[str, str, str]] = {
    KAPRA: ("#0072B2", "solid", "circle"),
    NAIVE: ("#D55E00", "dash", "square"),
    KAPRA_MEANS: ("#56B4E9", "solid", "star"),
    NAIVE_MEANS: ("#E69F00", "dash", "triangle-up"),
    TGA: ("#009E73", "dot", "diamond"),
    BFP2KA: ("#CC79A7", "dashdot", "x"),
    BFP2KA_20: ("#CC79A7", "dot", "cross"),
    "ranges": ("#0072B2", "solid", "circle"),
    "letters": ("#D55E00", "dash", "square"),
    "both": ("#009E73", "dot", "diamond"),
    "completed": ("#0072B2", "solid", "circle"),
    "full": ("#888888", "dash", "square"),
}
EQUAL = "k = P"
PATTERN, VALUE = "pattern loss", "value loss"


def all_figures(results: Results, each: Results) -> dict[str, go.Figure]:
    """Every figure under its file name; `each` is the other reading."""
    figures = {
        "by-p": tuning_figure(results, by="p"),
        "by-k": tuning_figure(results, by="k"),
        "pattern-loss": loss_figure(results, "pattern"),
        "value-loss": loss_figure(results, "value"),
        "pattern-loss-each": loss_figure(each, "pattern"),
        "value-loss-each": loss_figure(each, "value"),
        "pattern-queries": queries_figure(results, (PSQ, PRQ), "precision"),
        "value-queries": queries_figure(results, (RANGE, COMBINED), "relative error"),
        "time": time_figure(results),
        "estimation": estimation_figure(results),
        "customised": customised_figure(results),
    }
    return {f"kp-{name}.png": figure.update_layout(legend_traceorder="normal") for name, figure in figures.items()}


def tuning_figure(results: Results, *, by: str) -> go.Figure:
    """The paper's figures 4 and 5: value loss above, pattern loss below, a column for each set."""
    plan, sets = results.plan, results.sets.shown
    x = plan.ps if by == "p" else plan.ks
    figure = panels([*sets, *[""] * len(sets)], height=620, rows=2)
    for column, name in enumerate(sets, start=1):
        found = results.losses[name].by_p if by == "p" else results.losses[name].by_k
        for method in RELEASES:
            of_method = [found[method, value] for value in x]
            figure.add_trace(_line(x, [f.value for f in of_method], method, first=column == 1), row=1, col=column)
            figure.add_trace(_line(x, [f.pattern for f in of_method], method, first=False), row=2, col=column)
    figure.update_xaxes(tickvals=x)
    figure.update_xaxes(title_text="P (series per word)" if by == "p" else "k (series per envelope)", row=2)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(range=[0.0, 1.04], row=2)
    figure.update_yaxes(title_text=VALUE, row=1, col=1)
    figure.update_yaxes(title_text=PATTERN, row=2, col=1)
    return figure


def loss_figure(results: Results, loss: str) -> go.Figure:
    """The paper's figure 6 on every set, or the same for value loss, which BFP2KA does not have."""
    plan, names = results.plan, list(results.losses)
    rows = -(-len(names) // 3)
    figure = panels(
        [*names, *[""] * (3 * rows - len(names))], height=140 + 210 * rows, rows=rows, shared=loss == "pattern"
    )
    for place, name in enumerate(names):
        row, column = place // 3 + 1, place % 3 + 1
        for method in METHODS if loss == "pattern" else METHODS[:-1]:
            values = [getattr(results.losses[name].equal[method, k], loss) for k in plan.equal]
            figure.add_trace(_line(plan.equal, values, method, first=place == 0), row=row, col=column)
    figure.update_xaxes(tickvals=plan.equal)
    figure.update_xaxes(title_text=EQUAL, row=rows)
    figure.update_yaxes(**({"range": [0.0, 1.04]} if loss == "pattern" else {"rangemode": "tozero"}))
    figure.update_yaxes(title_text=PATTERN if loss == "pattern" else VALUE, col=1)
    return figure


def queries_figure(results: Results, kinds: tuple[Kind, Kind], measure: str) -> go.Figure:
    """The paper's figures 7 and 8, or 9 and 10: a row for each kind, Walk on the left and String on the right."""
    plan = results.plan
    figure = panels([WALK, STRING, "", ""], height=620, rows=2)
    for row, kind in enumerate(kinds, start=1):
        for column, asked in enumerate((results.walk, results.string), start=1):
            for method in METHODS:
                if (method, plan.middle, kind) in asked.fixed:
                    values = [asked.fixed[method, k, kind].score(kind) for k in plan.equal]
                    first = row == 1 and (column == 1 or method == BFP2KA)
                    figure.add_trace(_line(plan.equal, values, method, first=first), row=row, col=column)
        figure.update_yaxes(title_text=f"{kind}:<br>{measure}", row=row, col=1)
    figure.update_xaxes(tickvals=plan.equal)
    figure.update_xaxes(title_text=EQUAL, row=2)
    figure.update_yaxes(rangemode="tozero")
    return figure


def time_figure(results: Results) -> go.Figure:
    """The paper's figure 11."""
    figure = panels([results.sets.motion, "uniform"], height=400, shared=True)
    for column, seconds in enumerate((results.times.motion, results.times.uniform), start=1):
        for method in (*METHODS, BFP2KA_20):
            sizes = sorted(n for name, n in seconds if name == method)
            values = [1000.0 * seconds[method, n] for n in sizes]
            if sizes:
                figure.add_trace(_line(sizes, values, method, first=column == 1), row=1, col=column)
    figure.update_xaxes(title_text="series", tickformat=",", nticks=6)
    marks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]
    figure.update_yaxes(type="log", tickvals=marks, tickformat=",")
    figure.update_yaxes(title_text="processor time (ms)", col=1)
    return figure


def estimation_figure(results: Results) -> go.Figure:
    """The paper's figure 12."""
    plan, found = results.plan, results.customised
    figure = panels([f"{WALK}, by overlap", f"{results.sets.motion}, by size"], height=400)
    overlaps = _per_cent(results)
    for what in ("ranges", "letters", "both"):
        values = [1000.0 * found.seconds[what, both] for both in plan.overlaps]
        figure.add_trace(_line(overlaps, values, what, label=f"{what} estimated"), row=1, col=1)
    sizes = list(found.by_size)
    figure.add_trace(
        _line(sizes, [1000.0 * found.by_size[n] for n in sizes], "both", first=False),
        row=1,
        col=2,
    )
    figure.update_xaxes(title_text="instants with range and letter (%)", tickvals=overlaps, col=1)
    figure.update_xaxes(title_text="series", tickformat=",", rangemode="tozero", col=2)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text="processor time (ms)", col=1)
    return figure


def customised_figure(results: Results) -> go.Figure:
    """The paper's figure 13."""
    plan, found = results.plan, results.customised
    kinds: tuple[Kind, ...] = (PSQ, PRQ, RANGE)
    figure = panels([f"{kind}:<br>{'relative error' if kind == RANGE else 'precision'}" for kind in kinds], height=420)
    overlaps = _per_cent(results)
    for column, kind in enumerate(kinds, start=1):
        for part, what in enumerate(("completed", "full")):
            values = [found.scores[kind, both][part] for both in plan.overlaps]
            label = {"completed": "customised, the rest estimated", "full": "full release, same queries"}[what]
            figure.add_trace(_line(overlaps, values, what, first=column == 1, label=label), row=1, col=column)
    figure.update_xaxes(tickvals=overlaps)
    figure.update_xaxes(title_text="instants with range and letter (%)", col=2)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(margin_t=60)
    return figure


def _per_cent(results: Results) -> list[int]:
    n = results.sets.panels[WALK].n_instants
    return [round(100 * both / n) for both in results.plan.overlaps]


def _line(
    x: Sequence[int], y: Sequence[float | None], name: str, *, first: bool = True, label: str | None = None
) -> go.Scatter:
    colour, dash, symbol = LOOKS[name]
    options: dict[str, Any] = {
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"symbol": symbol, "size": 7},
    }
    return go.Scatter(x=list(x), y=list(y), name=label or name, mode="lines+markers", showlegend=first, **options)
