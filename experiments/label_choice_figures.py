"""The figures of experiments/label_choice.py."""

import plotly.graph_objects as go
from drawing import panels
from label_choice_measures import ACTIVE, INTERESTS, UNIFORM, Left, Results

# Okabe and Ito's palette, told apart with any colour vision; line style and marker say it again.
LOOKS = {UNIFORM: ("#888888", "dash", "square"), ACTIVE: ("#0072B2", "solid", "circle")}
LINES = (("#D55E00", "solid", "circle"), ("#0072B2", "dash", "square"), ("#009E73", "dot", "diamond"))
ASIDE = 0.06  # else the bars would hide each other
CONTROL = ("#888888", "dashdot", "x")


def all_figures(results: Results) -> dict[str, go.Figure]:
    """Every figure under its name."""
    return {"choice": choice_figure(results), "intersection": intersection_figure(results)}


def choice_figure(results: Results) -> go.Figure:
    """A column for each interest, a row for each set."""
    names, sizes = results.sets, results.plan.labels
    figure = panels(
        [*INTERESTS, *[""] * (len(INTERESTS) * (len(names) - 1))], height=190 + 210 * len(names), rows=len(names)
    )
    for row, name in enumerate(names, start=1):
        for column, interest in enumerate(INTERESTS, start=1):
            taught = results.taught[name, interest]
            for choice, (colour, dash, symbol) in LOOKS.items():
                errors = [2.0 * _error(taught.correlation[choice, n]) for n in sizes]
                line = go.Scatter(
                    x=[at + (ASIDE if choice == ACTIVE else -ASIDE) for at in range(len(sizes))],
                    y=[taught.mean(choice, n) for n in sizes],
                    error_y={"array": errors, "thickness": 1.2, "width": 3},
                    name=choice,
                    mode="lines+markers",
                    line={"color": colour, "dash": dash},
                    marker={"symbol": symbol, "size": 8},
                    showlegend=row == column == 1,
                )
                figure.add_trace(line, row=row, col=column)
        figure.update_yaxes(title_text=f"correlation,<br>{name}", row=row, col=1)
    figure.update_xaxes(
        tickvals=list(range(len(sizes))), ticktext=[str(n) for n in sizes], range=[-0.3, len(sizes) - 0.7]
    )
    figure.update_xaxes(title_text="labels", row=len(names))
    return figure.update_layout(legend_traceorder="normal")


def intersection_figure(results: Results) -> go.Figure:
    """A panel for each number of persons."""
    plan = results.plan
    figure = panels([f"{persons} persons" for persons in plan.published], height=420, shared=True)
    ends = list(range(1, 2 * plan.crowd + 1))
    for column, persons in enumerate(plan.published, start=1):
        shown = [
            (f"task with k = {k}", results.left[persons, k, True], look)
            for k, look in zip(plan.task_crowds, LINES, strict=False)
        ]
        shown.append(
            ("control: both by Euclidean distance", results.left[persons, plan.task_crowds[0], False], CONTROL)
        )
        for name, left, (colour, dash, symbol) in shown:
            figure.add_trace(_shares(name, left, ends, colour, dash, symbol, first=column == 1), row=1, col=column)
        figure.add_vline(x=plan.crowd - 0.5, line={"color": "#888888", "width": 1, "dash": "dot"}, row=1, col=column)
    figure.update_xaxes(title_text=f"persons left (k = {plan.crowd} was promised)", tickvals=ends)
    figure.update_yaxes(tickformat=".0%", range=[-0.03, 1.03])
    figure.update_yaxes(title_text="share of persons", col=1)
    return figure.update_layout(legend_traceorder="normal")


def _shares(name: str, left: Left, ends: list[int], colour: str, dash: str, symbol: str, *, first: bool) -> go.Scatter:
    return go.Scatter(
        x=ends,
        y=[left.at_most(n) for n in ends],
        name=name,
        mode="lines+markers",
        line={"color": colour, "dash": dash},
        marker={"symbol": symbol, "size": 8},
        showlegend=first,
    )


def _error(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return float((sum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1) / len(values)) ** 0.5)
