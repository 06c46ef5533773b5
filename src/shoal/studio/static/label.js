/* The label page without reloading. Where this does not run, the buttons are plain forms and the page is as good. */
(function () {
  "use strict";
  if (!window.Plotly || !window.fetch) return;
  var start = JSON.parse(document.getElementById("start").textContent);
  var state = start.state, axis = start.axis;
  var by = function (id) { return document.getElementById(id); };
  var plot = by("plot"), answer = by("answer"), undo = by("undo"), trouble = by("trouble");
  var csrf = answer.elements.csrf.value;
  var still = window.matchMedia("(pointer: coarse)").matches; // a finger on the plot means to scroll
  var busy = false;

  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }

  function curve(y, name, look) {
    return { type: "scatter", mode: y.length > 1 ? "lines" : "markers", x: axis.at, y: y, name: name, line: look, marker: { color: look.color, size: 10 }, hovertemplate: "%{y:,.4~r}<extra>" + name + "</extra>" };
  }

  function draw() {
    var narrow = plot.clientWidth < 480;
    var font = { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("quiet") };
    var x = { showgrid: false, zeroline: false, showline: true, linecolor: colour("rule"), ticks: "outside", tickcolor: colour("rule"), fixedrange: true, automargin: true, tickangle: 0, nticks: narrow ? 5 : 9 };
    if (axis.kind === "time") {
      x.type = "date";
      if (axis.day) { x.tickformat = "%H:%M"; x.hoverformat = "%H:%M"; x.nticks = narrow ? 4 : 8; }
    }
    var y = { gridcolor: colour("rule"), zerolinecolor: colour("rule"), fixedrange: true, automargin: true, nticks: 6, separatethousands: true };
    if (axis.range) y.range = axis.range;
    plot.textContent = "";
    delete plot._fullLayout;
    return Plotly.newPlot(plot, [
      curve(state.pair.left, "one", { color: colour("curve-a"), width: 3 }),
      curve(state.pair.right, "the other", { color: colour("curve-b"), width: 3, dash: "8px,5px" })
    ], {
      showlegend: false, font: font, xaxis: x, yaxis: y, margin: { l: 8, r: 16, t: 10, b: 8 }, hovermode: "x unified", dragmode: false,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", separators: ".,",
      hoverlabel: { bgcolor: colour("paper"), bordercolor: colour("rule"), font: { color: colour("ink"), size: 13 } }
    }, { responsive: true, displayModeBar: false, showTips: false, staticPlot: still, locale: "en" });
  }

  function show(next) {
    var finished = !next.pair, was = !state.pair;
    state = next;
    by("bar").max = state.total;
    by("bar").value = state.done;
    by("count").textContent = state.done + " of " + state.total;
    by("ask").hidden = finished;
    by("finished").hidden = !finished;
    if (!finished) {
      answer.elements.position.value = state.pair.position;
      draw();
    } else if (!was) {
      by("finished").querySelector("h1").focus();
    }
    undo.elements.position.value = state.last === null ? 0 : state.last;
    undo.querySelector("button").disabled = state.last === null;
    document.documentElement.dataset.shown = finished ? "end" : String(state.pair.position);
  }

  function complain(text) { trouble.textContent = text; trouble.hidden = !text; }

  function send(path, body) {
    if (busy) return;
    busy = true;
    fetch("/label/api/" + path, {
      method: body ? "POST" : "GET", credentials: "same-origin", cache: "no-store",
      headers: body ? { "Content-Type": "application/json", "X-CSRF-Token": csrf } : {},
      body: body ? JSON.stringify(body) : undefined
    }).then(function (answered) {
      return answered.json().then(function (content) {
        if (answered.ok) { complain(""); show(content); return; }
        complain(content.detail || "That was not saved.");
        // Only after an answer: a state that cannot be had would be asked for without end.
        if (body && (answered.status === 409 || answered.status === 404)) { busy = false; send("state"); }
      });
    }).catch(function () {
      complain("That was not saved: the studio could not be reached. Check the connection and press again.");
    }).then(function () {
      busy = false;
      answer.querySelectorAll("button").forEach(function (button) { button.classList.remove("given"); });
    });
  }

  function give(value) {
    if (!state.pair || busy) return;
    answer.querySelector("button[value=" + value + "]").classList.add("given");
    send("answer", { position: state.pair.position, answer: value });
  }

  function takeBack() { if (state.last !== null) send("undo", { position: state.last }); }

  answer.addEventListener("submit", function (event) {
    event.preventDefault();
    if (event.submitter) give(event.submitter.value);
  });
  undo.addEventListener("submit", function (event) { event.preventDefault(); takeBack(); });
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    var key = event.key.toLowerCase();
    var answers = { s: "similar", d: "dissimilar", u: "undecided" };
    if (answers[key]) { event.preventDefault(); give(answers[key]); }
    if (key === "z" || key === "backspace") { event.preventDefault(); takeBack(); }
  });
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  if (dark.addEventListener) dark.addEventListener("change", function () { if (state.pair) draw(); });
  // A page from the browser's own store may be of an older state.
  window.addEventListener("pageshow", function (event) { if (event.persisted) send("state"); });
  show(state);
}());
