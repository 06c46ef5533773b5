"""Figures for a notebook: the plots of the report, as plotly objects.

The originals appear only as aggregates over a crowd (`figures`), the release only as curves that enough subjects share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.guarantees.crowds import crowd_sizes, published_classes
from shoal.model import Panel
from shoal.report.axis import common_axis
from shoal.report.figures import MAX_POINTS, Curve
from shoal.report.plots import channel_plots, checked_axis, round4

COLOURS = {"original": "#8a8f98", "published": "#1f6f8b"}
GROUP_COLOURS = ("#1f6f8b", "#c8553d", "#588157", "#7b5ea7", "#b08900")
KINDS = {
    "chosen": ("star", "#c8553d", "chosen"),
    "good": ("circle", "#1f6f8b", "within both limits"),
    "beyond": ("circle-open", "#8a8f98", "beyond a limit"),
}


def before_after(figures: Mapping[str, Any], groups: Sequence[tuple[int, Curve]], channel: int = 0) -> Any:
    """Mean day, load duration and a few groups, before and after, as a plotly figure.

    Parameters
    ----------
    figures
        What `summarise` found.
    groups
        Sizes and curves of groups; see `group_curves`.
    channel
        Which channel is drawn.
    """
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    axis = checked_axis(figures)
    assert axis is not None  # figures of a panel always have one
    profile, duration, _ = channel_plots(figures)[channel]["plots"]
    figure = make_subplots(rows=1, cols=3, subplot_titles=[profile["title"], duration["title"], "Groups as published"])
    at = [minutes / 60 for minutes in axis["at"]] if axis["kind"] == "clock" else axis["at"]
    named = {"original": "before", "published": "after"}
    for column, plot in ((1, profile), (2, duration)):
        for side, name in named.items():
            curve = (plot["data"] or {}).get(side) or []
            if any(value is not None for value in curve):
                x = at if column == 1 else np.linspace(0, 100, len(curve)).tolist()
                line = {"color": COLOURS[side], "dash": "dot" if side == "original" else "solid"}
                figure.add_trace(
                    Scatter(x=x, y=curve, name=name, line=line, legendgroup=side, showlegend=column == 1), 1, column
                )
        if plot["data"] is None:
            _write(figure, plot["sentence"], column)
    for (size, curve), colour in zip(groups, GROUP_COLOURS, strict=False):
        figure.add_trace(Scatter(x=at, y=curve, name=f"{size} subjects", line={"color": colour}), 1, 3)
    if not groups:
        _write(figure, f"No curve is shared by {figures['crowd']} subjects.", 3)
    label = {"clock": "hour of the day", "time": "time", "index": "instant"}[axis["kind"]]
    for column, text in ((1, label), (2, "share of the time in %"), (3, label)):
        figure.update_xaxes(title_text=text, row=1, col=column)
    figure.update_layout(height=380, template="plotly_white", legend={"orientation": "h", "y": -0.25})
    return figure


def group_curves(
    original: Panel, published: Panel, crowd: int, channel: int = 0, most: int = 5
) -> list[tuple[int, Curve]]:
    """Select some published groups, from low to high: their curve and the number of subjects who share it, at least
    `crowd`."""
    axis = common_axis(original, published, MAX_POINTS)
    if axis.published is None:
        return []
    classes = published_classes(published)
    firsts = np.unique(classes, return_index=True)[1]
    sizes = crowd_sizes(classes, published.subject_codes)[firsts]
    firsts, sizes = firsts[sizes >= max(crowd, 2)], sizes[sizes >= max(crowd, 2)]
    if not len(firsts):
        return []
    values = published.values if published.values.ndim == 2 else published.values[:, :, channel]
    there = ~np.isnan(values[firsts])
    levels = np.where(there, values[firsts], 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    order = np.argsort(levels, kind="stable")
    drawn = order[np.unique(np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(np.int64))]
    found = []
    for place in drawn:
        row, known = values[firsts[place]], there[place]
        n = np.bincount(axis.published[known], minlength=len(axis.at))
        sums = np.bincount(axis.published[known], row[known], minlength=len(axis.at))
        curve: Curve = [round4(total / count) if count else None for total, count in zip(sums, n, strict=True)]
        found.append((int(sizes[place]), curve))
    return found


def risk_utility(search: Mapping[str, Any]) -> Any:
    """Plot risk against utility for every point tried, as a plotly figure; `search` is what `search_part` returns."""
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    points = [point for point in search["points"] if point["drawn"]]
    methods = list(dict.fromkeys(point["method"] for point in points))
    for kind, (symbol, colour, name) in KINDS.items():
        for at, method in enumerate(methods):
            some = [point for point in points if point["kind"] == kind and point["method"] == method]
            if not some:
                continue
            # With one method, each kind has a colour; with several, each method has a colour, and the marker shows the
            # kind.
            several = len(methods) > 1
            figure.add_trace(
                Scatter(
                    x=[point["risk"] for point in some],
                    y=[point["use"] for point in some],
                    text=[point["name"] for point in some],
                    mode="markers" if several else "markers+text",
                    textposition="top center",
                    name=f"{method}, {name}" if several else name,
                    marker={
                        "symbol": symbol,
                        "color": GROUP_COLOURS[at % len(GROUP_COLOURS)] if several else colour,
                        "size": 11,
                    },
                )
            )
    if search["limit"] is not None:
        figure.add_vline(x=search["limit"], line_dash="dash", line_color="#c8553d")
    for bound in search["bounds"]:
        figure.add_hline(y=bound, line_dash="dash", line_color="#c8553d")
    figure.update_xaxes(title_text="risk", rangemode="tozero")
    figure.update_yaxes(title_text=search["measure"])
    figure.update_layout(height=420, template="plotly_white", title_text="Risk and utility")
    return figure


def _write(figure: Any, text: str, column: int) -> None:
    """Show a sentence in place of a plot."""
    figure.add_annotation(text=text, showarrow=False, x=0.5, y=0.5, row=1, col=column, xref="x domain", yref="y domain")
