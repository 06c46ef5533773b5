(function () {
  "use strict";
  var figures = JSON.parse(document.getElementById("figures").textContent);
  var divs = Array.prototype.slice.call(document.querySelectorAll(".plot"));
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  // A finger on a plot means to scroll the page.
  var still = window.matchMedia("(pointer: coarse)").matches;
  var printing = false;
  var A4 = 700; // px between the margins of a printed page
  var PRINT = 160; // px, the height in page.css

  function colours() {
    document.documentElement.classList.toggle("printing", printing);
    var style = getComputedStyle(document.documentElement);
    var of = function (name) { return style.getPropertyValue("--" + name).trim(); };
    return { ink: of("ink"), quiet: of("quiet"), rule: of("rule"), paper: of("paper"), accent: of("accent"), line: of("line"), wide: of("wide"), middle: of("middle") };
  }

  function positions() {
    if (figures.axis.kind !== "clock") return figures.axis.at;
    return figures.axis.at.map(function (minutes) {
      return new Date(Date.UTC(2000, 0, 1) + minutes * 60000).toISOString().slice(0, 19);
    });
  }

  function line(x, y, name, look) {
    var points = y.filter(function (v) { return v !== null; }).length;
    // Long unsteady curves would run together.
    if (points > 150 && figures.axis.kind !== "clock") look.width *= 0.6;
    return {
      type: "scatter", x: x, y: y, name: name, mode: points > 1 ? "lines" : "markers", line: look,
      marker: { color: look.color, size: 9, symbol: name.indexOf("original") === 0 ? "x-thin" : "circle", line: { color: look.color, width: 2 } },
      hovertemplate: "%{y:,.4~r}<extra>" + name + "</extra>"
    };
  }

  function pair(x, data, c) {
    // The release below, wide; the original above it, dashed: both stay visible where they agree.
    return [
      line(x, data.published, "release", { color: c.line, width: 4.5 }),
      line(x, data.original, "original", { color: c.ink, width: 1.7, dash: "6px,4px" })
    ];
  }

  function area(x, low, high, fill, name) {
    // One closed outline per unbroken stretch: a fill between two lines would bridge gaps.
    var xs = [], ys = [], from = 0;
    for (var i = 0; i <= x.length; i++) {
      if (i === x.length || low[i] === null || high[i] === null) {
        if (i > from) {
          if (xs.length) { xs.push(null); ys.push(null); }
          for (var j = from; j < i; j++) { xs.push(x[j]); ys.push(high[j]); }
          for (j = i - 1; j >= from; j--) { xs.push(x[j]); ys.push(low[j]); }
          xs.push(x[from]); ys.push(high[from]);
        }
        from = i + 1;
      }
    }
    return { type: "scatter", x: xs, y: ys, mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: fill, hoverinfo: "skip", name: name };
  }

  function bands(x, data, c) {
    var traces = [], p = data.published, o = data.original;
    if (p) {
      traces.push(area(x, p.p10, p.p90, c.wide, "lowest to highest fifth"), area(x, p.p30, p.p70, c.middle, "second to fourth fifth"));
      traces.push(line(x, p.p50, "release, middle fifth", { color: c.line, width: 4.5 }));
    }
    if (o) {
      [["p10", "lowest"], ["p30", "second"], ["p70", "fourth"], ["p90", "highest"]].forEach(function (fifth) {
        traces.push(line(x, o[fifth[0]], "original, " + fifth[1] + " fifth", { color: c.ink, width: 1.4, dash: "1.5px,3px" }));
      });
      traces.push(line(x, o.p50, "original, middle fifth", { color: c.ink, width: 1.7, dash: "6px,4px" }));
    }
    return traces;
  }

  function bars(data, c) {
    return [{
      type: "bar", x: data.labels, y: data.bars, marker: { color: c.accent }, width: Math.min(0.82, data.labels.length * 0.12),
      text: data.labels.length > 16 ? undefined : data.bars.map(function (n) { return n ? n.toLocaleString("en") : ""; }),
      textposition: "outside", cliponaxis: false, hovertemplate: "%{x} members: %{y:,} groups<extra></extra>"
    }];
  }

  function frontier(data, c) {
    // Told apart by shape as well as by colour.
    var looks = { chosen: { color: c.accent, symbol: "star", size: 17 }, good: { color: c.line, symbol: "circle", size: 11 }, beyond: { color: c.quiet, symbol: "x-thin-open", size: 10 } };
    return ["beyond", "good", "chosen"].map(function (kind) {
      var at = data.kinds.map(function (k, i) { return k === kind ? i : -1; }).filter(function (i) { return i >= 0; });
      var of = function (all) { return at.map(function (i) { return all[i]; }); };
      // Names of neighbours would lie on each other: every other one goes below its point.
      var order = data.x.map(function (_, i) { return i; }).sort(function (a, b) { return data.x[a] - data.x[b]; });
      var sides = data.x.map(function (_, i) { return order.indexOf(i) % 2 ? "bottom center" : "top center"; });
      return {
        type: "scatter", mode: data.names.length > 12 ? "markers" : "markers+text", x: of(data.x), y: of(data.y), text: of(data.names), textposition: of(sides), textfont: { size: 12, color: c.quiet }, cliponaxis: false,
        marker: { color: looks[kind].color, symbol: looks[kind].symbol, size: looks[kind].size, line: { color: looks[kind].color, width: 2 } },
        hovertemplate: "%{text}<br>risk %{x:.3~r}<br>" + data.measure + " %{y:.3~r}<extra></extra>"
      };
    });
  }

  function limits(data, c) {
    var line = { color: c.quiet, width: 1.2, dash: "6px,4px" }, shapes = [];
    if (data.limit !== null) shapes.push({ type: "line", x0: data.limit, x1: data.limit, y0: 0, y1: 1, yref: "paper", line: line });
    data.bounds.forEach(function (bound) { shapes.push({ type: "line", y0: bound, y1: bound, x0: 0, x1: 1, xref: "paper", line: line }); });
    return shapes;
  }

  function layout(kind, width, c, traces) {
    var narrow = width < 480;
    var font = { family: getComputedStyle(document.body).fontFamily, size: 13, color: c.quiet };
    var x = { showgrid: false, zeroline: false, linecolor: c.rule, showline: true, ticks: "outside", tickcolor: c.rule, fixedrange: true, automargin: true, tickangle: 0, ticklabeloverflow: "allow" };
    var y = { gridcolor: c.rule, zerolinecolor: c.rule, fixedrange: true, automargin: true, separatethousands: true, nticks: 6, exponentformat: "power", minexponent: 7 };
    var low = Infinity;
    traces.forEach(function (t) { t.y.forEach(function (v) { if (v !== null && v < low) low = v; }); });
    if (low >= 0) y.rangemode = "tozero";
    if (kind === "groups") {
      var longest = Math.max.apply(null, figures.groups.labels.map(function (label) { return label.length; }));
      x.type = "category"; x.nticks = Math.max(2, Math.floor(width / (longest * 9 + 30))); x.title = { text: "members", standoff: 6, font: font }; y.nticks = 4; y.tickformat = ",d"; y.rangemode = "tozero";
    } else if (kind === "search") {
      var risks = figures.search.x.concat(figures.search.limit === null ? [] : [figures.search.limit]);
      var most = Math.max.apply(null, risks);
      x.tickformat = ".3~p"; x.range = [0, most * 1.12 || 1]; x.nticks = narrow ? 5 : 9; x.title = { text: "risk", standoff: 6, font: font };
      y.title = { text: figures.search.measure, standoff: 8, font: font };
    } else if (kind === "curve") {
      y.tickformat = ".3~p"; y.nticks = 4; y.rangemode = "tozero"; x.nticks = narrow ? 5 : 9;
    } else if (kind === "duration") {
      x.tickformat = ".0%"; x.range = [0, 1]; x.nticks = 6; x.title = { text: "share of the time", standoff: 6, font: font };
    } else if (figures.axis.kind === "clock") {
      x.type = "date"; x.range = ["2000-01-01T00:00", "2000-01-02T00:00"]; x.tick0 = "2000-01-01"; x.dtick = (narrow ? 6 : 3) * 3600000; x.tickformat = "%H:%M"; x.hoverformat = "%H:%M";
    } else if (figures.axis.kind === "time") {
      x.type = "date"; x.nticks = narrow ? 4 : 8;
    } else {
      x.type = "linear"; x.nticks = narrow ? 5 : 10; x.separatethousands = true;
      if (figures.axis.at.length < 6) x.tickvals = figures.axis.at;
    }
    return {
      width: printing ? A4 : undefined, height: printing ? PRINT : undefined, autosize: !printing, showlegend: false, font: font, xaxis: x, yaxis: y,
      margin: { l: 8, r: 24, t: 14, b: 8 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", separators: ".,",
      hovermode: ["groups", "search", "curve"].indexOf(kind) >= 0 ? "closest" : "x unified", dragmode: false, bargap: 0.15,
      shapes: kind === "search" ? limits(figures.search, c) : [],
      hoverlabel: { bgcolor: c.paper, bordercolor: c.rule, font: { color: c.ink, size: 13 } }
    };
  }

  function draw(div) {
    var kind = div.dataset.plot, c = colours(), traces, data, x;
    if (kind === "groups") {
      traces = bars(figures.groups, c);
    } else if (kind === "search") {
      traces = frontier(figures.search, c);
    } else if (kind === "curve") {
      data = figures.curves[+div.dataset.channel];
      traces = [{ type: "scatter", mode: "lines+markers", x: data.at, y: data.success, line: { color: c.accent, width: 2.5 }, marker: { color: c.accent, size: 8 }, hovertemplate: "%{x}: %{y:.3~p}<extra></extra>" }];
    } else {
      data = figures.channels[+div.dataset.channel][kind];
      x = kind === "duration"
        ? data.original.map(function (_, i, all) { return all.length > 1 ? i / (all.length - 1) : 0.5; })
        : positions();
      traces = kind === "bands" ? bands(x, data, c) : pair(x, data, c);
    }
    var width = printing ? A4 : div.clientWidth;
    return Plotly.react(div, traces, layout(kind, width, c, traces), {
      responsive: !printing, displayModeBar: false, displaylogo: false, scrollZoom: false,
      showTips: false, staticPlot: still, locale: "en"
    });
  }

  // What is folded has no width: it is drawn when it is opened.
  function isOpen(div) { var part = div.closest("details"); return !part || part.open; }
  function redraw() {
    var open = divs.filter(isOpen);
    open.forEach(draw);
    document.documentElement.dataset.drawn = open.length;
  }

  redraw();
  document.querySelectorAll("details").forEach(function (part) { part.addEventListener("toggle", redraw); });
  if (dark.addEventListener) dark.addEventListener("change", redraw);
  window.addEventListener("beforeprint", function () {
    printing = true;
    redraw();
  });
  window.addEventListener("afterprint", function () { printing = false; redraw(); });
}());
