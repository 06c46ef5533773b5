"""The figures of experiments/attacks_on_releases.py."""

from collections.abc import Sequence

import plotly.graph_objects as go
from attacks_on_releases_data import HOUSEHOLDS
from attacks_on_releases_measures import PSEUDONYMS, STEPS, Results, means_of
from drawing import panels

from shoal.model import Interval

# Okabe and Ito's palette, told apart with any colour vision; line style and marker say it again.
LINES = (("#D55E00", "solid", "circle"), ("#0072B2", "dash", "square"), ("#009E73", "dot", "diamond"))
EXACT = ("#888888", "dashdot", "x")
GUESS = "#BBBBBB"
ASIDE = 0.12


def all_figures(results: Results) -> dict[str, go.Figure]:
    """Every figure under its file name."""
    figures = {"points": points_figure(results), "noise": noise_figure(results), "subset": subset_figure(results)}
    return {f"attacks-{name}.png": figure.update_layout(legend_traceorder="normal") for name, figure in figures.items()}


def points_figure(results: Results) -> go.Figure:
    """Known readings: a panel for each set."""
    plan = results.plan
    figure = panels(list(results.found), height=420, shared=True)
    for column, on in enumerate(results.found.values(), start=1):
        for release, look in zip((PSEUDONYMS, *map(means_of, plan.ks)), LINES, strict=True):
            shares = [risk.success for risk in on.curves[release]]
            intervals = [risk.interval for risk in on.curves[release]]
            line = _line(plan.known, shares, intervals, release, look, first=column == 1)
            figure.add_trace(line, row=1, col=column)
        for k in plan.ks:
            figure.add_hline(y=1 / k, line={"color": GUESS, "width": 1, "dash": "dot"}, row=1, col=column)
    figure.update_xaxes(type="log", title_text="known readings", tickvals=[1, 2, 5, 10, 20, 50])
    return _shares(figure, "chance to find a target's series")


def noise_figure(results: Results) -> go.Figure:
    """Signal to noise: a panel for each set."""
    plan = results.plan
    figure = panels(list(results.found), height=420, shared=True)
    for column, on in enumerate(results.found.values(), start=1):
        risks = on.denoised
        plain = [risk.plain_interval or risk.interval for risk in risks]
        lines = {
            f"filtered, {plan.filtered} readings": ([r.success for r in risks], [r.interval for r in risks]),
            f"plain, {plan.filtered} readings": ([r.plain for r in risks], plain),
        }
        for (name, (shares, intervals)), look in zip(lines.items(), LINES, strict=False):
            line = _line(plan.ratios, shares, intervals, name, look, first=column == 1)
            figure.add_trace(line, row=1, col=column)
    figure.update_xaxes(type="log", title_text="signal to noise", tickvals=[0.1, 0.3, 1, 3, 10, 30])
    return _shares(figure, "chance to find a target's series")


def subset_figure(results: Results) -> go.Figure:
    """Noise on the means: by step on simulated households, by daily totals on the real sets."""
    noises = results.plan.noises
    figure = panels(list(results.found), height=440, shared=True)
    for column, (name, on) in enumerate(results.found.items(), start=1):
        for (step, words), look in zip(STEPS.items(), LINES, strict=True):
            # Side by side, else the bars would hide each other.
            x = [at + ASIDE * list(STEPS).index(step) for at in range(len(noises))]
            if step in on.nearest:
                risks = on.nearest[step]
                shares, intervals = [r.success for r in risks], [r.interval for r in risks]
                label, first = f"best set, {words}", name == HOUSEHOLDS
                figure.add_trace(_line(x, shares, intervals, label, look, first=first), row=1, col=column)
        shares, intervals = [r.success for r in on.exact], [r.interval for r in on.exact]
        label = "sets that fit exactly, daily totals"
        figure.add_trace(
            _line([at - ASIDE for at in range(len(noises))], shares, intervals, label, EXACT, first=column == 1),
            row=1,
            col=column,
        )
    ticks = [f"{noise * 100:g}" for noise in noises]
    figure.update_xaxes(title_text="noise on each mean (%)", tickvals=list(range(len(noises))), ticktext=ticks)
    return _shares(figure, "share of the members found")


def _line(
    x: Sequence[float],
    shares: Sequence[float],
    intervals: Sequence[Interval],
    name: str,
    look: tuple[str, str, str],
    *,
    first: bool,
) -> go.Scatter:
    colour, dash, symbol = look
    up = [interval.high - share for share, interval in zip(shares, intervals, strict=True)]
    down = [share - interval.low for share, interval in zip(shares, intervals, strict=True)]
    return go.Scatter(
        x=list(x),
        y=list(shares),
        error_y={"array": up, "arrayminus": down, "thickness": 1.2, "width": 3},
        name=name,
        mode="lines+markers",
        line={"color": colour, "dash": dash},
        marker={"symbol": symbol, "size": 7},
        showlegend=first,
    )


def _shares(figure: go.Figure, title: str) -> go.Figure:
    figure.update_yaxes(tickformat=".0%", range=[-0.03, 1.03])
    figure.update_yaxes(title_text=title, col=1)
    return figure
