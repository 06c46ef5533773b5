"""The figures of experiments/process_paper.py, drawn by plotly in a headless Chromium."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots
from process_paper_findings import CUSTOMERS
from process_paper_measures import (
    CHANCE,
    GROUPINGS,
    HAAR,
    KS,
    MEAN,
    RAW,
    READY,
    SHARES,
    SPACES,
    VARIANCE,
    Floats,
    Results,
)

# Okabe and Ito's palette, told apart with any colour vision; line style and marker say it again.
LOOKS: dict[str, tuple[str, str, str]] = {
    HAAR: ("#0072B2", "solid", "circle"),
    VARIANCE: ("#D55E00", "solid", "square"),
    MEAN: ("#CC79A7", "solid", "diamond"),
    RAW: ("#009E73", "dash", "triangle-up"),
    CHANCE: ("#888888", "dot", "x"),
    READY: ("#56B4E9", "dash", "circle-open"),
}
CUSTOMER_LOOKS = {
    "second-home": ("#009E73", "dash"),
    "small-business": ("#D55E00", "solid"),
    "household": ("#56B4E9", "solid"),
}
REACH = (-1.0, 1.0)  # of the densities: all that a silhouette can be
INK, RULE = "#222222", "#DDDDDD"
WIDTH, HEIGHT = 860, 400


def all_figures(results: Results, times: dict[str, list[float]], customers: NDArray[np.str_]) -> dict[str, go.Figure]:
    """Every figure under its file name."""
    figures = {
        "time": time_figure(times),
        "silhouette": silhouette_figure(results, customers),
        "silhouette-groupings": groupings_figure(results),
        "silhouette-means": means_figure(results),
        "davies-bouldin": davies_bouldin_figure(results),
        "davies-bouldin-relative": relative_figure(results),
        "loss": loss_figure(results),
    }
    return {f"process_paper-{name}.png": figure for name, figure in figures.items()}


def time_figure(times: dict[str, list[float]]) -> go.Figure:
    """The paper's figure 2."""
    figure = _panels(["relative to k = 28", "absolute"])
    for name, curve in times.items():
        if name in (READY, HAAR, RAW):
            figure.add_trace(_line([t / curve[-1] for t in curve], name, showlegend=False), row=1, col=1)
        figure.add_trace(_line([1000.0 * t for t in curve], name), row=1, col=2)
    _k_axes(figure, 2)
    figure.update_yaxes(title_text="time / time at k = 28", rangemode="tozero", col=1)
    marks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]
    figure.update_yaxes(title_text="processor time (ms)", type="log", tickvals=marks, col=2)
    return figure


def silhouette_figure(results: Results, customers: NDArray[np.str_]) -> go.Figure:
    """The paper's figure 3: by k, and by customers at the smallest k."""
    figure = _panels(["by k", f"by kind of customer, k = {KS[0]}"])
    for colour, k in zip(_scale(len(KS)), KS, strict=True):
        values = results.judged[SHARES, HAAR, k].silhouettes
        figure.add_trace(_density(values, f"k = {k}", colour), row=1, col=1)
    values = results.judged[SHARES, HAAR, KS[0]].silhouettes
    for name, words in CUSTOMERS.items():
        trace = _density(values[customers == name], words, *CUSTOMER_LOOKS[name], legend="legend2")
        figure.add_trace(trace, row=1, col=2)
    _density_axes(figure, 2)
    _two_legends(figure)
    return figure


def groupings_figure(results: Results) -> go.Figure:
    """Silhouette densities of all groupings in Haar shares, at a small, a middle and a large k."""
    shown = (KS[0], KS[len(KS) // 3], KS[-1])
    figure = _panels([f"k = {k}" for k in shown], shared=True)
    for column, k in enumerate(shown, start=1):
        for grouping in GROUPINGS:
            values = results.judged[SHARES, grouping, k].silhouettes
            trace = _density(values, grouping, *LOOKS[grouping][:2], showlegend=column == 1)
            figure.add_trace(trace, row=1, col=column)
    _density_axes(figure, len(shown))
    return figure


def means_figure(results: Results) -> go.Figure:
    """Mean silhouettes, one panel per space."""
    figure = _panels(SPACES)
    for column, space in enumerate(SPACES, start=1):
        for grouping in GROUPINGS:
            curve = results.curve(space, grouping, "silhouette")
            figure.add_trace(_line(curve, grouping, showlegend=column == 1), row=1, col=column)
    _k_axes(figure, len(SPACES))
    figure.update_yaxes(title_text="mean silhouette", col=1)
    return figure


def davies_bouldin_figure(results: Results) -> go.Figure:
    """The paper's figure 4, for every grouping and space."""
    figure = _panels(SPACES, shared=True)
    for column, space in enumerate(SPACES, start=1):
        for grouping in GROUPINGS:
            curve = results.curve(space, grouping, "davies_bouldin")
            trace = _line([value / curve[-1] for value in curve], grouping, showlegend=column == 1)
            figure.add_trace(trace, row=1, col=column)
    _k_axes(figure, len(SPACES))
    figure.update_yaxes(title_text="Davies-Bouldin / at k = 28", col=1)
    return figure


def relative_figure(results: Results) -> go.Figure:
    """The paper's figure 5: Davies-Bouldin against MDAV on Haar shares at the same k."""
    figure = _panels(SPACES)
    for column, space in enumerate(SPACES, start=1):
        ours = results.curve(space, HAAR, "davies_bouldin")
        for grouping in (VARIANCE, MEAN, RAW):
            curve = results.curve(space, grouping, "davies_bouldin")
            relative = [a / b for a, b in zip(curve, ours, strict=True)]
            figure.add_trace(_line(relative, grouping, showlegend=column == 1), row=1, col=column)
        figure.add_hline(y=1.0, line={"color": LOOKS[HAAR][0], "width": 2}, row=1, col=column)
    # The line at 1 is MDAV on Haar shares; it has no trace, so its entry in the legend is made by hand.
    entry = {"x": [None], "y": [None], "mode": "lines", "line": {"color": LOOKS[HAAR][0], "width": 2}}
    figure.add_trace(go.Scatter(**entry, name=f"{HAAR} = 1"), row=1, col=1)
    _k_axes(figure, len(SPACES))
    figure.update_yaxes(title_text="ratio of Davies-Bouldin", rangemode="tozero", col=1)
    return figure


def loss_figure(results: Results) -> go.Figure:
    """What the release loses of the readings."""
    figure = _panels(["information loss", "normalised divergence"])
    for column, curves in enumerate((results.losses, results.divergences), start=1):
        for grouping in GROUPINGS:
            figure.add_trace(_line(curves(grouping), grouping, showlegend=column == 1), row=1, col=column)
    _k_axes(figure, 2)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text="SSE / SST of the readings", col=1)
    figure.update_yaxes(title_text="Σ |change| / Σ |reading|", col=2)
    return figure


def _panels(titles: Sequence[str], *, shared: bool = False) -> go.Figure:
    figure = make_subplots(cols=len(titles), subplot_titles=titles, shared_yaxes=shared, horizontal_spacing=0.09)
    figure.update_layout(
        template="plotly_white",
        width=WIDTH,
        height=HEIGHT,
        font={"family": "DejaVu Sans, Arial, sans-serif", "size": 13, "color": INK},
        margin={"l": 70, "r": 15, "t": 40, "b": 110},
        legend={"orientation": "h", "yref": "container", "y": 0.02, "yanchor": "bottom", "x": 0.5, "xanchor": "center"},
    )
    figure.update_annotations(font_size=14)
    figure.update_xaxes(
        title_font_size=13, showgrid=False, showline=True, linecolor=INK, ticks="outside", zeroline=False
    )
    figure.update_yaxes(title_font_size=13, gridcolor=RULE, zeroline=False)
    return figure


def _line(values: Sequence[float], name: str, *, showlegend: bool = True) -> go.Scatter:
    colour, dash, symbol = LOOKS[name]
    line = {"color": colour, "dash": dash, "width": 2}
    marker = {"symbol": symbol, "size": 8}
    return go.Scatter(
        x=KS, y=list(values), name=name, mode="lines+markers", line=line, marker=marker, showlegend=showlegend
    )


def _density(values: Floats, name: str, colour: str, dash: str = "solid", **options: Any) -> go.Scatter:
    """A Gaussian kernel estimate with Silverman's bandwidth."""
    at = np.linspace(*REACH, 161)
    quartiles = np.subtract(*np.percentile(values, [75, 25])) / 1.34
    width = max(0.9 * min(values.std(), quartiles or values.std()) * len(values) ** -0.2, 0.005)
    heights = np.exp(-0.5 * ((at[:, None] - values) / width) ** 2).mean(axis=1) / (width * np.sqrt(2.0 * np.pi))
    line = {"color": colour, "dash": dash, "width": 2}
    return go.Scatter(x=at.tolist(), y=heights.tolist(), name=name, mode="lines", line=line, **options)


def _two_legends(figure: go.Figure) -> None:
    """One inside each of two panels, top left, where densities of silhouettes leave room."""
    inside = {"orientation": "v", "yref": "paper", "y": 1.0, "yanchor": "top", "xanchor": "left", "font_size": 12}
    figure.update_layout(legend={**inside, "x": 0.01}, legend2={**inside, "x": 0.555}, margin_b=60)


def _scale(n: int) -> list[str]:
    """Colours from dark to light that keep their order in grey and for any colour vision (cividis)."""
    from plotly.colors import sample_colorscale

    return [str(colour) for colour in sample_colorscale("Cividis", np.linspace(0.0, 0.92, n).tolist())]


def _k_axes(figure: go.Figure, n_panels: int) -> None:
    for column in range(1, n_panels + 1):
        figure.update_xaxes(title_text="k (series per group)", tickvals=KS, col=column)


def _density_axes(figure: go.Figure, n_panels: int) -> None:
    for column in range(1, n_panels + 1):
        figure.update_xaxes(title_text="silhouette of a series", col=column)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text="density", col=1)
