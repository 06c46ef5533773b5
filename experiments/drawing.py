"""Plotly figures in one look, drawn to PNG by a headless Chromium; shared by the experiments."""

import base64
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

INK, RULE = "#222222", "#DDDDDD"
WIDTH = 860

PAGE = """<!DOCTYPE html><meta charset="utf-8"><body><script>{plotly}</script><script>
var figures = {figures};
figures.forEach(function (figure, i) {{
  var div = document.body.appendChild(document.createElement("div"));
  Plotly.newPlot(div, figure.data, figure.layout).then(function () {{
    return Plotly.toImage(div, {{format: "png", width: figure.layout.width, height: figure.layout.height, scale: 1.5}});
  }}).then(function (url) {{
    var pre = document.body.appendChild(document.createElement("pre"));
    pre.id = "drawn" + i;
    pre.textContent = url;
    div.remove();
  }});
}});
</script></body>"""


def panels(titles: Sequence[str], *, height: int, rows: int = 1, shared: bool = False) -> go.Figure:
    """Panels side by side, in rows of as many each, with room for a legend below."""
    figure = make_subplots(
        rows=rows,
        cols=len(titles) // rows,
        subplot_titles=titles,
        shared_yaxes="all" if shared else False,
        horizontal_spacing=0.035 if shared else 0.09,
        vertical_spacing=0.0 if rows == 1 else 60.0 / (height - 140),
    )
    figure.update_layout(
        template="plotly_white",
        width=WIDTH,
        height=height,
        font={"family": "DejaVu Sans, Arial, sans-serif", "size": 13, "color": INK},
        margin={"l": 80, "r": 15, "t": 40, "b": 100},
        legend={"orientation": "h", "yref": "container", "y": 0.02, "yanchor": "bottom", "x": 0.5, "xanchor": "center"},
        legend_traceorder="reversed",
    )
    figure.update_annotations(font_size=14)
    figure.update_xaxes(
        title_font_size=13, showgrid=False, showline=True, linecolor=INK, ticks="outside", zeroline=False
    )
    figure.update_yaxes(title_font_size=13, gridcolor=RULE, zeroline=False)
    return figure


def draw(figures: Mapping[str, go.Figure], folder: Path) -> bool:
    """Write each figure as a PNG named by its key; False where there is no browser to draw with."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        return False
    listed = "[" + ",".join(str(figure.to_json()).replace("</", "<\\/") for figure in figures.values()) + "]"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        page = Path(scratch) / "figures.html"
        page.write_text(PAGE.format(plotly=get_plotlyjs(), figures=listed), encoding="utf-8")
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            f"--user-data-dir={scratch}/profile",
            "--virtual-time-budget=30000",
            "--dump-dom",
            page.as_uri(),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    drawn = re.findall(r'<pre id="drawn(\d+)">data:image/png;base64,([^<]+)</pre>', done.stdout)
    pictures = {int(number): base64.b64decode(text) for number, text in drawn}
    for number, name in enumerate(figures):
        (folder / name).write_bytes(pictures[number])
    return True
