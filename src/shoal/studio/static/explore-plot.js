/* The plot: risk to the right, loss upwards, better is always towards the lower left corner. Limits are lines that a
   pointer drags and arrow keys move; points are buttons, one of them in the order of Tab. */
(function () {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const SHAPES = [
    "M-6 0A6 6 0 1 0 6 0A6 6 0 1 0-6 0Z", "M-5.4-5.4H5.4V5.4H-5.4Z", "M0-7L6.6 5H-6.6Z", "M0-7.2L7.2 0L0 7.2L-7.2 0Z",
    "M0 7L6.6-5H-6.6Z", "M-2.2-6.5H2.2V-2.2H6.5V2.2H2.2V6.5H-2.2V2.2H-6.5V-2.2H-2.2Z", "M-6.8 0L-3.4-6H3.4L6.8 0L3.4 6H-3.4Z",
    "M0-7.4L2 -2.4L7.2-2.2L3.1 1.2L4.5 6.3L0 3.4L-4.5 6.3L-3.1 1.2L-7.2-2.2L-2-2.4Z"
  ];
  const AWAY = "M-5-5L5 0L-5 5Z"; // beyond the edge of the plot
  const NEAR = 2.4; // how many times the limit is shown at first

  function make(name, attributes, parent) {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (parent) parent.appendChild(element);
    return element;
  }

  /* Round steps for an axis. */
  function ticks(from, to, most) {
    const rough = (to - from) / most, power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999);
    const found = [];
    for (let at = Math.ceil(from / step - 1e-9); at * step <= to + step * 1e-9; at++) found.push(at * step || 0); // not −0
    return found;
  }

  class Plot {
    /* told: { points, limits, onLimit(which, value), onSelect(number), text(point) } */
    constructor(place, told) {
      this.place = place;
      this.told = told;
      this.everything = false;
      this.marks = new Map();
      this.methods = [];
      this.focused = null;
      this.svg = make("svg", { class: "plot", role: "group", "aria-label": "Risk against loss for the purpose. Press Tab to reach the limits and the points, and arrow keys to move." }, place);
      this.svg.addEventListener("keydown", (event) => this.onKey(event));
      if (window.ResizeObserver) new ResizeObserver(() => { if (place.clientWidth !== this.drawnWidth) this.draw(); }).observe(place);
    }

    methodClass(method) {
      if (!this.methods.includes(method)) this.methods.push(method);
      return this.methods.indexOf(method) % SHAPES.length;
    }

    shape(method) { return SHAPES[this.methodClass(method)]; }

    /* Axes are set when points come or the window changes, never while a limit moves. */
    fit() {
      const { points, limits } = this.told, drawn = points.drawn, goal = points.purpose.goal;
      const risks = drawn.map((p) => p.risk), losses = drawn.map((p) => points.loss(p));
      const limit = limits.utility.length ? limits.utility[0].value : null;
      let right = Math.max(...drawn.map((p) => (p.risk_interval || [0, p.risk])[1]), ...risks, limits.risk) * 1.04 || 1;
      let all = losses.concat(limit === null ? [] : [limit]);
      if (!this.everything) {
        const close = NEAR * Math.max(limits.risk, this.median(risks));
        right = Math.min(right, Math.max(close, limits.risk * 1.1) || right);
        // What is not beaten sets the height; of the others, those far off lie at the edge.
        const near = drawn.filter((p) => p.risk <= right), kept = near.filter((p) => points.efficient.has(p.number)).map((p) => points.loss(p)).concat(limit === null ? [] : [limit]);
        if (kept.length > 1) {
          const top = Math.max(...kept), foot = Math.min(...kept), more = 0.6 * (top - foot);
          const close = near.map((p) => points.loss(p)).filter((loss) => (goal === "higher" ? loss >= foot - more : loss <= top + more));
          all = kept.concat(close);
        }
      }
      let low = all.length ? Math.min(...all) : 0, high = all.length ? Math.max(...all) : 1;
      const span = high - low || Math.abs(high) || 1, floor = low >= 0 ? 0 : -Infinity;
      low = Math.max(floor, low - 0.12 * span);
      high += 0.12 * span;
      this.x = { from: 0, to: Math.min(right, 1) };
      this.y = goal === "higher" ? { from: high, to: low } : { from: low, to: high };
      this.hidden = drawn.filter((p) => !this.inside(p)).length;
    }

    median(values) {
      const sorted = values.slice().sort((a, b) => a - b);
      return sorted.length ? sorted[Math.floor(sorted.length / 2)] : 0;
    }

    inside(point) {
      const loss = this.told.points.loss(point), low = Math.min(this.y.from, this.y.to), high = Math.max(this.y.from, this.y.to);
      return point.risk <= this.x.to && loss >= low && loss <= high;
    }

    atX(risk) { return this.box.left + this.box.width * Math.min(1, Math.max(0, risk / this.x.to)); }

    atY(loss) {
      const share = (loss - this.y.from) / (this.y.to - this.y.from);
      return this.box.top + this.box.height * (1 - Math.min(1, Math.max(0, share)));
    }

    draw() {
      const { points, limits } = this.told, purpose = points.purpose;
      const width = Math.max(280, this.place.clientWidth), narrow = width < 560;
      const height = narrow ? 380 : Math.max(400, Math.min(540, Math.round(width * 0.6)));
      const held = this.svg.contains(document.activeElement) ? document.activeElement.dataset.key : null;
      this.drawnWidth = this.place.clientWidth;
      this.fit();
      this.box = { left: narrow ? 60 : 68, top: 26, width: width - (narrow ? 60 : 68) - (narrow ? 14 : 22), height: height - 26 - 52 };
      const box = this.box, right = box.left + box.width, bottom = box.top + box.height;
      this.svg.setAttribute("viewBox", "0 0 " + width + " " + height);
      this.svg.setAttribute("width", width);
      this.svg.setAttribute("height", height);
      this.svg.textContent = "";
      this.marks.clear();
      const back = make("g", { "aria-hidden": "true" }, this.svg);
      this.good = make("rect", { class: "good" }, back);
      for (const at of ticks(0, this.x.to, narrow ? 4 : 7)) {
        make("line", { class: "grid", x1: this.atX(at), x2: this.atX(at), y1: box.top, y2: bottom }, back);
        make("text", { class: "tick", x: this.atX(at), y: bottom + 18, "text-anchor": "middle" }, back).textContent = explore.amount(at, "share");
      }
      const [low, high] = [this.y.from, this.y.to].sort((a, b) => a - b);
      for (const at of ticks(low, high, 6)) {
        make("line", { class: "grid", x1: box.left, x2: right, y1: this.atY(at), y2: this.atY(at) }, back);
        make("text", { class: "tick", x: box.left - 8, y: this.atY(at) + 4, "text-anchor": "end" }, back).textContent = purpose.unit === "share" ? explore.amount(at, "share") : explore.number(at);
      }
      make("text", { class: "axis", x: box.left + box.width / 2, y: height - 8, "text-anchor": "middle" }, back).textContent = narrow ? "risk" : "risk: the highest chance of any attack";
      const across = make("text", { class: "axis", transform: "translate(14 " + (box.top + box.height / 2) + ") rotate(-90)", "text-anchor": "middle" }, back);
      across.textContent = purpose.title + (purpose.unit === "share" || !purpose.unit || purpose.unit === "number" || purpose.unit === "data" ? "" : ", " + purpose.unit) + (purpose.goal === "higher" ? " (more is better)" : "");
      if (across.textContent.length * 6.6 > box.height) across.textContent = purpose.goal === "higher" ? "utility" : "loss";
      this.goodText = make("text", { class: "good-text", x: box.left + 10, y: bottom - 10 }, back);
      const efficient = points.drawn.filter((p) => points.efficient.has(p.number)).sort((a, b) => a.risk - b.risk || points.loss(a) - points.loss(b));
      make("polyline", { class: "frontier", points: efficient.filter((p) => this.inside(p)).map((p) => this.atX(p.risk).toFixed(1) + "," + this.atY(points.loss(p)).toFixed(1)).join(" ") }, back);
      this.labels = make("g", { "aria-hidden": "true", class: "labels" });
      const layer = make("g", {}, this.svg);
      // Grey ones first: what counts lies on top.
      const ordered = points.drawn.slice().sort((a, b) => points.efficient.has(a.number) - points.efficient.has(b.number));
      for (const point of ordered) this.mark(point, layer);
      this.svg.appendChild(this.labels);
      this.label(efficient.filter((p) => this.inside(p)));
      this.lines = { risk: this.line("risk"), loss: limits.utility.length ? this.line("loss") : null };
      this.refresh(this.state || { best: null, selected: null, compared: [] });
      const back_to = held && this.svg.querySelector("[data-key='" + held + "']");
      if (back_to) back_to.focus({ preventScroll: true });
    }

    mark(point, layer) {
      const { points } = this.told, beaten = !points.efficient.has(point.number), inside = this.inside(point);
      const x = this.atX(point.risk), y = this.atY(points.loss(point)), method = this.methodClass(point.method);
      const group = make("g", { class: "point method-" + method + (beaten ? " beaten" : ""), role: "button", tabindex: "-1", "data-key": "p" + point.number }, layer);
      if (inside && point.risk_interval) {
        make("line", { class: "interval", x1: this.atX(point.risk_interval[0]), x2: this.atX(point.risk_interval[1]), y1: y, y2: y }, group);
      }
      make("circle", { class: "hit", cx: x, cy: y, r: 13 }, group);
      make("circle", { class: "ring", cx: x, cy: y, r: 11.5 }, group);
      make("path", { class: "shape", d: inside ? SHAPES[method] : AWAY, transform: "translate(" + x.toFixed(1) + " " + y.toFixed(1) + ")" + (inside || point.risk > this.x.to ? "" : " rotate(-90)") }, group);
      group.addEventListener("click", () => { this.focus(point.number); this.told.onSelect(point.number); });
      group.addEventListener("focus", () => { this.told.onPeek(point, x, y); });
      group.addEventListener("pointerenter", () => this.told.onPeek(point, x, y));
      for (const name of ["blur", "pointerleave"]) group.addEventListener(name, () => this.told.onPeek(null));
      this.marks.set(point.number, group);
    }

    /* Names of efficient points, where they do not run into each other. */
    label(efficient) {
      const taken = this.told.points.drawn.filter((p) => this.inside(p)).map((p) => [this.atX(p.risk) - 7, this.atY(this.told.points.loss(p)) - 7, 14, 14]);
      const free = (one) => one[0] + one[2] < this.box.left + this.box.width && one[1] > 0 && taken.every((other) => one[0] > other[0] + other[2] || other[0] > one[0] + one[2] || one[1] > other[1] + other[3] || other[1] > one[1] + one[3]);
      for (const point of efficient) {
        const text = point.label.length > 26 ? point.label.slice(0, 25) + "…" : point.label;
        const x = this.atX(point.risk), y = this.atY(this.told.points.loss(point)), width = text.length * 6.7 + 4;
        for (const [left, top] of [[x + 10, y - 20], [x + 10, y + 6], [x - 10 - width, y + 6], [x - 10 - width, y - 20]]) {
          const space = [left, top, width, 15];
          if (left < this.box.left || !free(space)) continue;
          taken.push(space);
          make("text", { x: left + 2, y: top + 12 }, this.labels).textContent = text;
          break;
        }
      }
    }

    line(which) {
      const risk = which === "risk", box = this.box;
      const group = make("g", { class: "limit " + which, role: "slider", tabindex: "0", "data-key": which, "aria-label": risk ? "Risk limit" : this.told.limits.utility[0].title + " limit", "aria-orientation": risk ? "horizontal" : "vertical" }, this.svg);
      make("line", { class: "hit" }, group);
      make("line", { class: "stroke" }, group);
      make("circle", { class: "grip", r: 9 }, group);
      make("path", { class: "arrows", d: risk ? "M-2.2-3L-5 0L-2.2 3M2.2-3L5 0L2.2 3" : "M-3-2.2L0-5L3-2.2M-3 2.2L0 5L3 2.2" }, group);
      make("text", {}, group);
      const move = (event) => {
        const at = this.svg.getBoundingClientRect();
        if (risk) this.set(which, this.x.to * (event.clientX - at.left - box.left) / box.width);
        else this.set(which, this.y.from + (this.y.to - this.y.from) * (1 - (event.clientY - at.top - box.top) / box.height));
      };
      group.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        group.focus({ preventScroll: true });
        group.setPointerCapture(event.pointerId);
        group.classList.add("held");
        group.addEventListener("pointermove", move);
      });
      for (const name of ["pointerup", "pointercancel"]) {
        group.addEventListener(name, () => { group.classList.remove("held"); group.removeEventListener("pointermove", move); });
      }
      return group;
    }

    /* Ends of what a limit can be moved to, and its smallest step. */
    range(which) {
      const [from, to] = which === "risk" ? [0, this.x.to] : [this.y.from, this.y.to].sort((a, b) => a - b);
      return { from, to, step: ticks(from, to, 7).concat([to]).slice(0, 2).reduce((a, b) => b - a) / 20 || (to - from) / 100 };
    }

    set(which, value) {
      const { from, to, step } = this.range(which);
      const rounded = Math.round(Math.min(to, Math.max(from, value)) / step) * step;
      this.told.onLimit(which, Number(rounded.toPrecision(10)));
    }

    onKey(event) {
      const target = event.target.closest("[data-key]");
      if (!target || event.ctrlKey || event.metaKey || event.altKey) return;
      const key = target.dataset.key, done = key === "risk" || key === "loss" ? this.onLimitKey(key, event.key) : this.onPointKey(Number(key.slice(1)), event.key);
      if (done) event.preventDefault();
    }

    onLimitKey(which, key) {
      const { from, to, step } = this.range(which), now = which === "risk" ? this.told.limits.risk : this.told.limits.utility[0].value;
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[key];
      if (by) this.set(which, now + by * step);
      else if (key === "Home" || key === "End") this.set(which, key === "Home" ? from : to);
      else return false;
      return true;
    }

    onPointKey(number, key) {
      const { points } = this.told, here = points.byNumber.get(number);
      if (key === "Enter" || key === " ") { this.told.onSelect(number); return true; }
      if (key === "c") { this.told.onCompare(number); return true; }
      const by = { ArrowRight: [1, "risk"], ArrowLeft: [-1, "risk"], ArrowUp: [1, "loss"], ArrowDown: [-1, "loss"], Home: [-Infinity, "risk"], End: [Infinity, "risk"] }[key];
      if (!by) return false;
      const upwards = points.purpose.goal === "higher" ? -1 : 1;
      const value = (p) => (by[1] === "risk" ? p.risk : upwards * points.loss(p));
      const ordered = points.drawn.sort((a, b) => value(a) - value(b) || a.number - b.number);
      const next = Math.min(ordered.length - 1, Math.max(0, ordered.indexOf(here) + by[0]));
      this.focus(ordered[next].number);
      return true;
    }

    focus(number) {
      this.focused = number;
      for (const [other, group] of this.marks) group.setAttribute("tabindex", other === number ? "0" : "-1");
      const mark = this.marks.get(number);
      if (mark) mark.focus({ preventScroll: true });
    }

    /* Everything that changes with a limit or a selection: colours and lines, no axis. */
    refresh(state) {
      this.state = state;
      if (!this.box) return;
      const { points, limits } = this.told, box = this.box, right = box.left + box.width, bottom = box.top + box.height;
      const inOrder = this.marks.has(this.focused) ? this.focused : state.selected;
      let first = true;
      for (const [number, group] of this.marks) {
        const point = points.byNumber.get(number), misses = points.misses(point, limits), says = misses.join();
        // With hundreds of points, only what has changed is touched.
        if (group.says !== says) {
          group.says = says;
          group.classList.toggle("meets", !misses.length);
          group.setAttribute("aria-label", this.told.text(point, misses));
        }
        const look = (number === state.best ? "b" : "") + (number === state.selected ? "s" : "") + (state.compared.includes(number) ? "c" : "");
        if (group.look !== look) {
          group.look = look;
          group.classList.toggle("best", look.includes("b"));
          group.classList.toggle("selected", look.includes("s"));
          group.classList.toggle("compared", look.includes("c"));
          group.setAttribute("aria-pressed", String(look.includes("s")));
        }
        const tab = this.marks.has(inOrder) ? number === inOrder : first;
        if (group.getAttribute("tabindex") !== (tab ? "0" : "-1")) group.setAttribute("tabindex", tab ? "0" : "-1");
        first = false;
      }
      const x = this.atX(limits.risk), loss = limits.utility[0], y = loss && loss.value !== null ? this.atY(loss.value) : box.top;
      for (const [key, value] of Object.entries({ x: box.left, y, width: x - box.left, height: bottom - y })) this.good.setAttribute(key, Math.max(0, value));
      this.goodText.textContent = x - box.left > 140 && bottom - y > 24 ? (loss && loss.value !== null ? "meets both limits" : "meets the risk limit") : "";
      this.place_line(this.lines.risk, x, box.top, x, bottom, x, box.top - 4, "risk limit " + explore.amount(limits.risk, "share"), x > right - 150, limits.risk, "risk");
      if (this.lines.loss) this.lines.loss.setAttribute("visibility", loss.value === null ? "hidden" : "visible");
      if (this.lines.loss && loss.value !== null) this.place_line(this.lines.loss, box.left, y, right, y, right - 4, y, loss.short + " limit " + explore.amount(loss.value, points.purpose.unit), true, loss.value, "loss");
    }

    place_line(group, x1, y1, x2, y2, gripX, gripY, text, before, value, which) {
      const [hit, stroke] = group.querySelectorAll("line"), words = group.querySelector("text"), { from, to } = this.range(which);
      for (const line of [hit, stroke]) for (const [key, at] of Object.entries({ x1, y1, x2, y2 })) line.setAttribute(key, at);
      group.querySelector(".grip").setAttribute("cx", gripX);
      group.querySelector(".grip").setAttribute("cy", gripY);
      group.querySelector(".arrows").setAttribute("transform", "translate(" + gripX + " " + gripY + ")");
      words.textContent = text;
      words.setAttribute("text-anchor", before ? "end" : "start");
      words.setAttribute("x", gripX + (before ? -17 : 17));
      words.setAttribute("y", which === "risk" ? gripY + 1 : gripY - 8 < 24 ? gripY + 18 : gripY - 8);
      group.setAttribute("aria-valuemin", from);
      group.setAttribute("aria-valuemax", to);
      group.setAttribute("aria-valuenow", value);
      group.setAttribute("aria-valuetext", explore.amount(value, which === "risk" ? "share" : this.told.points.purpose.unit));
    }
  }

  Object.assign(window.explore, { Plot, make, ticks, SHAPES });
}());
