/* The Explore page with script: limits that move, points that appear, a point's details beside the plot.
   Where this does not run, limits are a form, points are a table, and the page says the same. */
(function () {
  "use strict";

  const start = JSON.parse(document.getElementById("start").textContent);
  const by = (id) => document.getElementById(id);
  const { amount } = explore;
  const purpose = start.purpose, limits = start.limits, base = start.base;
  const points = new explore.Points(purpose, limits);
  const details = new Map(); // what was fetched, by number
  const rows = new Map(); // of the table, by number
  const QUESTIONS = ["singling out", "linkability", "inference"];
  const EVERY = 1000, WAIT = 250; // milliseconds: between two looks for points; before a point's details are asked for
  let pinned = start.point, compared = start.compared.slice(), waiting = 0, asked = null, state = start.state, told = "";

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const key in attributes || {}) {
      if (key === "class") made.className = attributes[key];
      else if (key in made && typeof attributes[key] !== "string") made[key] = attributes[key];
      else made.setAttribute(key, attributes[key]);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  }

  const named = (point) => point.title + (point.label ? ", " + point.label : "");
  const limitOf = (name) => limits.utility.find((limit) => limit.measure === name);

  /* Which limits a point is beyond, in words. */
  function judged(point, misses) {
    if (!misses.length) return limits.utility.some((limit) => limit.value !== null) ? (limits.utility.length > 1 ? "meets all limits" : "meets both limits") : "meets the risk limit";
    return misses.map((name) => {
      if (name === "risk") return "risk " + amount(point.risk, "share") + " is above " + amount(limits.risk, "share");
      const limit = limitOf(name);
      return limit.title + " " + amount(points.value(point, name), limit.unit) + " is " + (limit.bound === "at_least" ? "below " : "above ") + amount(limit.value, limit.unit);
    }).join("; ");
  }

  const plot = new explore.Plot(by("plot"), {
    points, limits,
    text: (point, misses) => named(point) + ": risk " + point.risk_text + ", " + purpose.title + " " + point.loss_text + "; " + points.verdict(misses) + (points.efficient.has(point.number) ? "" : "; beaten by another point on both"),
    onLimit: (which, value) => setLimit(which === "risk" ? "risk" : limits.utility[0].measure, value),
    onSelect: (number) => { pinned = number; refresh(); },
    onCompare: compare,
    onPeek: peek
  });

  /* ---- limits ---- */

  const scaled = (unit, value) => (unit === "share" ? Number((100 * value).toPrecision(10)) : value);
  const field = (name) => by("limits").elements[name === "risk" ? "risk" : "utility." + name];

  function setLimit(name, value, typed) {
    if (name === "risk") limits.risk = value;
    else limitOf(name).value = value;
    if (!typed && field(name)) field(name).value = value === null ? "" : scaled(name === "risk" ? "share" : limitOf(name).unit, value);
    refresh();
  }

  function onField(event) {
    const name = event.target.name === "risk" ? "risk" : event.target.name.slice("utility.".length);
    const unit = name === "risk" ? "share" : limitOf(name).unit, typed = event.target.value.trim();
    const value = typed === "" ? null : unit === "share" ? Number((Number(typed) / 100).toPrecision(10)) : Number(typed);
    const wrong = !event.target.validity.valid || (value === null && name === "risk") || Number.isNaN(value);
    event.target.setAttribute("aria-invalid", String(wrong));
    if (wrong) return;
    setLimit(name, value, true);
    const range = name === "risk" ? plot.x : plot.y;
    if (name === "risk" && value > range.to) plot.everything = true;
    plot.draw();
  }

  /* ---- what is on the screen, as fields of a form and as an address ---- */

  function screen() {
    const given = new URLSearchParams({ risk: scaled("share", limits.risk) });
    for (const limit of limits.utility) if (limit.value !== null) given.set("utility." + limit.measure, scaled(limit.unit, limit.value));
    return given;
  }

  function address(selected) {
    const given = screen();
    if (selected !== null) given.set("point", selected);
    compared.forEach((number) => given.append("compared", number));
    return base + "?" + given;
  }

  let addressed = 0;
  function keep(selected) {
    // Browsers take it amiss if the address changes with every pixel.
    window.clearTimeout(addressed);
    addressed = window.setTimeout(() => history.replaceState(null, "", address(pinned)), 300);
    const given = screen();
    by("policy-file").href = selected === null ? "#" : base + "/points/" + selected + "/policy.yaml?" + given;
    const fields = by("review").elements;
    for (const [name, value] of given) if (fields[name]) fields[name].value = value;
    for (const limit of limits.utility) if (limit.value === null && fields["utility." + limit.measure]) fields["utility." + limit.measure].value = "";
    fields.number.value = selected === null ? "" : selected;
  }

  /* ---- everything that follows from limits and selection ---- */

  function refresh() {
    const best = points.best(limits), shown = best || (points.drawn.length === 1 ? points.drawn[0] : null);
    const selected = pinned !== null && points.byNumber.has(pinned) ? pinned : shown ? shown.number : null;
    plot.refresh({ best: best ? best.number : null, selected, compared });
    sayBest(best);
    for (const point of points.drawn) {
      const row = rows.get(point.number), isBest = best !== null && point.number === best.number;
      const says = isBest ? "best within the limits" : points.verdict(points.misses(point, limits));
      if (!row || row.says === says) continue;
      row.says = says;
      row.classList.toggle("chosen", isBest);
      row.lastElementChild.textContent = says;
    }
    keep(selected);
    show(selected, best);
  }

  function sayBest(best) {
    const place = by("best");
    let text;
    if (!points.drawn.length) text = "";
    else if (best) text = "Best within the limits: " + named(best) + ", with risk " + best.risk_text + " and " + purpose.title + " " + best.loss_text + ".";
    else {
      const ways = points.nearest(limits).map(([which, point]) => named(point) + " would do with a " + (which === "risk" ? "risk limit of " + amount(roundedUp(point.risk, 1), "share") : purpose.short + " limit of " + amount(roundedUp(points.loss(point), purpose.goal === "higher" ? -1 : 1), purpose.unit)));
      text = "No point meets the limits." + (ways.length ? " " + ways.join("; ") + "." : "");
    }
    text = text.replaceAll(" %", "\u00a0%");
    if (place.textContent !== text) place.textContent = text;
    place.classList.toggle("none", !best);
  }

  /* Three digits that the figure itself keeps. */
  function roundedUp(value, sign) {
    const unit = Math.pow(10, Math.floor(Math.log10(Math.abs(value) || 1)) - 2);
    return Number((sign > 0 ? Math.ceil(value / unit - 1e-9) * unit : Math.floor(value / unit + 1e-9) * unit).toPrecision(10));
  }

  function peek(point, x, y) {
    const bubble = by("peek");
    bubble.hidden = !point;
    if (!point) return;
    bubble.textContent = "";
    bubble.append(element("b", {}, named(point)), element("br"), "risk " + point.risk_text + (point.interval_text ? " (" + point.interval_text + ")" : "") + " · " + purpose.short + " " + point.loss_text);
    const width = by("plot").clientWidth;
    bubble.classList.toggle("left", x > width / 2);
    bubble.style.left = x > width / 2 ? "" : x + 16 + "px";
    bubble.style.right = x > width / 2 ? width - x + 16 + "px" : "";
    bubble.style.top = Math.max(0, y - 54) + "px";
  }

  /* ---- the panel of one point ---- */

  function show(number, best) {
    const point = points.byNumber.get(number);
    by("selected").hidden = !point;
    by("unselected").hidden = Boolean(point);
    if (!point) return;
    const misses = points.misses(point, limits), isBest = best !== null && best.number === number;
    by("selected-head").textContent = isBest ? "Best within the limits" : "Selected";
    by("selected-name").textContent = named(point);
    const verdict = by("selected-verdict");
    verdict.textContent = judged(point, misses) + (points.efficient.has(number) ? "" : " · beaten by another point on both");
    verdict.className = misses.length ? "says misses" : "says keeps";
    by("selected-figures").replaceChildren(
      figure(point.risk_text, "risk", point.interval_text),
      figure(point.loss_text, purpose.short, purpose.title)
    );
    by("selected-guarantee").textContent = point.guarantee;
    by("selected-on").textContent = purpose.title[0].toUpperCase() + purpose.title.slice(1) + ": " + purpose.meaning + ". Tried on " + point.on + ".";
    by("selected-lights").replaceChildren(...QUESTIONS.map((question) => light(question, point)));
    by("to-best").hidden = isBest || best === null || pinned === null;
    by("compare-this").setAttribute("aria-pressed", String(compared.includes(number)));
    if (asked === number && details.has(number)) { limitOfCurves(details.get(number)); return; }
    asked = number;
    window.clearTimeout(waiting);
    if (details.has(number)) { showDetails(number); return; }
    by("details").replaceChildren(element("p", { class: "note", role: "status" }, "Computing its curves …"));
    waiting = window.setTimeout(() => fetchDetails(number), WAIT);
  }

  function figure(value, name, more) {
    return element("div", {}, element("dt", {}, name), element("dd", {}, value, more ? element("small", {}, more) : ""));
  }

  /* One of the three questions: the figure of the attack that answers it best, against the limit. */
  function light(question, point) {
    const found = (point.lights || {})[question];
    if (!found) return element("li", { class: "open" }, element("b", {}, question), element("span", { class: "figure" }, "not measured"));
    const above = found.upper > limits.risk, end = Math.max(limits.risk, found.upper) * 1.15 || 1;
    const at = (share) => (100 * Math.min(1, share / end)).toFixed(2);
    const bar = explore.make("svg", { class: "scale", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" });
    explore.make("rect", { class: "track", x: 0, y: 3, width: 100, height: 2 }, bar);
    explore.make("rect", { class: "span", x: at(found.share), y: 2, width: Math.max(0.6, at(found.upper) - at(found.share)), height: 4 }, bar);
    explore.make("rect", { class: "dot", x: Math.max(0, at(found.share) - 0.8), y: 0.5, width: 1.6, height: 7 }, bar);
    explore.make("rect", { class: "mark", x: at(limits.risk), y: 0, width: 0.7, height: 8 }, bar);
    const more = [found.attack.replaceAll("-", " "), found.upper > found.share ? "up to " + amount(found.upper, "share") : "", Number.isFinite(found.guess) ? "guessing alone " + amount(found.guess, "share") : ""];
    return element("li", { class: above ? "above" : "within" }, element("b", {}, question), element("span", { class: "figure" }, amount(found.share, "share") + (above ? " above the limit" : " within")), bar, element("small", {}, more.filter(Boolean).join("; ")));
  }

  function ask(path, body) {
    return fetch(base + path, { credentials: "same-origin", cache: "no-store", ...(body || {}) }).then((answer) => {
      if (answer.redirected) throw new Error("The session has ended. Log in again.");
      return answer.json().then((content) => {
        if (!answer.ok) throw new Error(content.detail || "That did not work.");
        return content;
      }, () => { throw new Error("That did not work."); });
    });
  }

  function fetchDetails(number) {
    return ask("/points/" + number).then((content) => {
      details.set(number, content);
      if (asked === number) showDetails(number);
      if (compared.includes(number)) showCompared();
    }, (error) => {
      if (asked === number) by("details").replaceChildren(element("p", { class: "warning", role: "alert" }, "Its curves cannot be drawn: " + error.message));
      if (asked === number) asked = null;
    });
  }

  function drawn(heading, note, ...parts) {
    return element("section", { class: "drawn" }, element("h3", {}, heading), ...parts, note ? element("p", { class: "note" }, note) : "");
  }

  const LEGEND = () => element("ul", { class: "legend", "aria-hidden": "true" }, element("li", {}, element("span", { class: "swatch before" }), "before"), element("li", {}, element("span", { class: "swatch published" }), "published"));

  /* The curves over the day, or over the period where the data have no days. */
  function dayOf(found) {
    const day = found.day, clock = day.axis === "clock", last = day.minutes.length - 1;
    const at = clock ? day.minutes : day.minutes.map((_, place) => place);
    const ends = last > 0 ? [[0, String(day.minutes[0]).slice(0, 10)], [last, String(day.minutes[last]).slice(0, 10)]] : [];
    const lines = [{ name: "before", values: day.before }, { name: "published", values: day.published || [] }];
    return explore.curves.draw({ about: (clock ? "The mean day" : "The mean") + " before and as published" + (day.unit ? ", in " + day.unit : ""), at, ticks: clock ? explore.curves.hours(at) : ends, zero: true, lines });
  }

  function showDetails(number) {
    const found = details.get(number), parts = [], unit = found.day && found.day.unit ? " in " + found.day.unit : "";
    if (found.day) parts.push(drawn((found.day.axis === "clock" ? "Mean day" : "Mean over time") + unit, "", LEGEND(), dayOf(found)));
    if (found.duration) {
      const share = found.duration.share, last = share[share.length - 1];
      parts.push(drawn("Load duration" + unit, "Share of the time that all series together are at least this high.", explore.curves.draw({ about: "Load duration before and as published", at: share, ticks: [0, 0.25, 0.5, 0.75, 1].filter((at) => at <= last + 1e-9).map((at) => [at, amount(at, "share")]), zero: true, lines: [{ name: "before", values: found.duration.before }, { name: "published", values: found.duration.published }] })));
    }
    if (found.peaks) parts.push(drawn("When daily peaks happen", "Share of all daily peaks by hour" + (found.peaks.before.includes(null) ? "; hours with too few subjects are left out." : "."), explore.curves.bars(found.peaks)));
    if (found.groups && found.groups.length) parts.push(drawn("Published curves of " + found.groups.length + " groups", "From low to high. Each is shared by all subjects of its group.", groups(found.groups)));
    const along = Object.entries(found.curves || {});
    if (along.length) parts.push(drawn("With more knowledge", "Chance of each attack; dashed: the risk limit.", ...along.map(([attack, curve]) => knowledge(attack, curve))));
    if (found.worst && found.worst.length) parts.push(drawn("Worst off", "Positions in the table as it was read, counted from 0, and the chance of the strongest attack" + (found.worst[0].attack ? ", " + found.worst[0].attack.replaceAll("-", " ") : "") + ".", worst(found.worst)));
    const risks = Object.entries(found.risks || {});
    if (risks.length) parts.push(element("details", {}, element("summary", {}, risks.length > 1 ? "All " + risks.length + " attacks" : "The attack"), ...risks.map(([attack, risk]) => element("p", {}, element("b", {}, attack.replaceAll("-", " ")), ". " + (risk.sentence || amount(risk.success, "share"))))));
    if (found.policy) parts.push(element("details", {}, element("summary", {}, "Its policy"), element("pre", { tabindex: "0", "aria-label": "Policy as YAML" }, found.policy)));
    by("details").replaceChildren(...parts);
    document.documentElement.dataset.details = String(number);
  }

  function groups(found) {
    const values = found.flatMap((group) => group.published).filter(Number.isFinite), low = Math.min(0, ...values), span = Math.max(...values) - low || 1;
    return element("div", { class: "groups" }, ...found.map((group) => {
      const svg = explore.make("svg", { class: "sparkline", viewBox: "0 0 100 36", preserveAspectRatio: "none", role: "img", "aria-label": "Published curve of a group of " + group.members + " subjects" });
      const step = 100 / Math.max(1, group.published.length - 1);
      explore.make("path", { d: explore.curves.path((at) => at * step, (value) => 34 - 32 * (value - low) / span, group.published) }, svg);
      return element("figure", {}, svg, element("figcaption", {}, group.members + " subjects"));
    }));
  }

  function knowledge(attack, curve) {
    const at = curve.at, shown = at.length > 5 ? [0, Math.floor(at.length / 2), at.length - 1] : at.map((_, place) => place);
    const svg = explore.curves.draw({ about: attack.replaceAll("-", " ") + ": chance by " + curve.along + ", from " + amount(curve.success[0], "share") + " to " + amount(curve.success[curve.success.length - 1], "share"), height: 110, at, ticks: shown.map((place) => [at[place], explore.number(at[place])]), unit: "share", zero: true, dots: true, lines: [{ name: "attack", values: curve.success }], limit: limits.risk });
    return element("figure", { class: "knowledge" }, svg, element("figcaption", {}, attack.replaceAll("-", " ") + ", by " + curve.along));
  }

  /* Attack curves show the limit, so they move with it. */
  function limitOfCurves(found) {
    const figures = by("details").querySelectorAll("figure.knowledge");
    Object.entries(found.curves || {}).forEach(([attack, curve], at) => { if (figures[at]) figures[at].replaceWith(knowledge(attack, curve)); });
  }

  function worst(found) {
    return element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "position"), element("th", { scope: "col", class: "number" }, "chance"))),
      element("tbody", {}, ...found.map((one) => element("tr", {}, element("td", {}, explore.number(one.position)), element("td", { class: "number" }, amount(one.success, "share"))))));
  }

  /* ---- two side by side ---- */

  function compare(number) {
    compared = compared.includes(number) ? compared.filter((one) => one !== number) : compared.slice(-1).concat(number);
    for (const one of compared) if (!details.has(one)) fetchDetails(one);
    showCompared();
    refresh();
  }

  function showCompared() {
    const two = compared.map((number) => points.byNumber.get(number)).filter(Boolean);
    by("no-comparison").hidden = two.length > 0;
    by("comparison").hidden = two.length === 0;
    if (!two.length) return;
    by("one-more").hidden = two.length > 1;
    const row = (head, cells, winner) => element("tr", {}, element("th", { scope: "row" }, head), ...cells.map((cell, at) => element("td", { class: at === winner ? "number wins" : "number" }, typeof cell === "string" ? cell.replaceAll(" %", "\u00a0%") : cell, at === winner ? element("span", { class: "badge" }, "better") : "")));
    const winner = (values, goal) => (values.length < 2 || values.some((one) => !Number.isFinite(one)) || values[0] === values[1] ? -1 : (values[0] < values[1]) === (goal !== "higher") ? 0 : 1);
    const rows = [row("guarantee", two.map((p) => p.guarantee), -1), row("risk, highest of all attacks", two.map((p) => p.risk_text + (p.interval_text ? " (" + p.interval_text + ")" : "")), winner(two.map((p) => p.risk)))];
    for (const question of QUESTIONS) {
      const found = two.map((p) => (p.lights || {})[question]);
      if (found.some(Boolean)) rows.push(row(question, found.map((one) => (one ? amount(one.share, "share") : "not measured")), winner(found.map((one) => (one ? one.share : NaN)))));
    }
    const measures = [...new Set([purpose.measure, ...two.flatMap((p) => Object.keys(p.scores || {}))])];
    for (const measure of measures) {
      const scores = two.map((p) => (p.scores || {})[measure]);
      if (!scores.some(Boolean)) continue;
      rows.push(row(scores.find(Boolean).title, scores.map((score) => (score ? amount(score.value, score.unit) : "–")), winner(scores.map((score) => (score ? score.value : NaN)), scores.find(Boolean).goal)));
    }
    const curves = two.map((p) => details.get(p.number));
    if (curves.some((found) => found && found.day)) rows.push(row("mean day", curves.map((found) => (found && found.day ? dayOf(found) : "…")), -1));
    by("comparison-head").replaceChildren(element("tr", {}, element("td"), ...two.map((p) => {
      const drop = element("button", { type: "button", class: "quiet", "aria-label": "Do not compare " + named(p) }, "remove");
      drop.addEventListener("click", () => compare(p.number));
      return element("th", { scope: "col", class: "number" }, named(p), " ", drop);
    })));
    by("comparison-body").replaceChildren(...rows);
  }

  /* ---- points that come while the search runs ---- */

  function takeIn(more) {
    points.add(more);
    for (const point of more) {
      const row = by("row-" + point.number), made = point.refused === null ? tableRow(point) : null;
      if (row && made) row.replaceWith(made);
      else if (made) by("rows").append(made);
      if (made) rows.set(point.number, made);
      if (details.delete(point.number) && asked === point.number) asked = null;
      if (!by("refused-" + point.number) && point.refused !== null) by("refused-list").append(element("li", { id: "refused-" + point.number }, element("b", {}, named(point)), ": " + point.refused));
    }
    const beaten = points.drawn.length - points.efficient.size;
    by("plotted").hidden = !points.drawn.length;
    by("empty").hidden = points.all.length > 0;
    by("n-table").textContent = String(points.all.length - points.refused.length);
    by("n-refused").textContent = String(points.refused.length);
    by("refused").hidden = !points.refused.length;
    by("all-points").hidden = points.all.length === points.refused.length;
    if (points.drawn.length) plot.draw();
    legend(beaten);
    refresh();
    if (compared.length) showCompared();
    document.documentElement.dataset.points = String(points.all.length);
  }

  function tableRow(point) {
    const link = element("a", { href: base + "?point=" + point.number }, point.label || "as given");
    return element("tr", { id: "row-" + point.number }, element("th", { scope: "row" }, link), element("td", {}, point.title), element("td", { class: "number" }, point.risk_text), element("td", { class: "number" }, point.interval_text), element("td", { class: "number" }, point.loss_text), element("td", {}, point.guarantee), element("td", {}, ""));
  }

  function legend(beaten) {
    const items = [...new Set(points.drawn.map((p) => p.method))].map((method) => {
      const mark = explore.make("svg", { class: "method-" + plot.methodClass(method), viewBox: "-9 -9 18 18", "aria-hidden": "true" });
      explore.make("path", { class: "shape", d: plot.shape(method) }, mark);
      return element("li", {}, mark, points.drawn.find((p) => p.method === method).title);
    });
    if (beaten) {
      const mark = explore.make("svg", { class: "beaten", viewBox: "-9 -9 18 18", "aria-hidden": "true" });
      explore.make("path", { class: "shape", d: explore.SHAPES[0] }, mark);
      items.push(element("li", {}, mark, "grey: beaten by another on both"));
    }
    by("methods").replaceChildren(...items);
    const away = by("show-all");
    away.hidden = !plot.everything && !plot.hidden;
    away.textContent = plot.everything ? "Show the points near the limits" : "Show all points (" + plot.hidden + " beyond the edge)";
  }

  function progress(found) {
    state = found.state;
    const text = found.total ? found.done + " of " + found.total + " points" : found.done + " points";
    const words = { new: "Not started.", running: "Searching.", stopped: "Stopped.", complete: "Complete." }[found.state] || "";
    if (told !== text + words) {
      by("bar").max = found.total || Math.max(1, found.done);
      by("bar").value = found.done;
      by("count").textContent = words + " " + text + (found.step && found.state === "running" ? " · " + found.step : "");
      told = text + words;
      const note = document.querySelector(".steps .here .about");
      if (note && / so far$|^waiting$/.test(note.textContent)) note.textContent = text + (found.state === "running" ? " so far" : "");
    }
    by("bar").hidden = found.state === "complete";
    by("stop").hidden = found.state !== "running";
    by("go-on").hidden = found.state === "running" || found.state === "complete";
    by("go-on").querySelector("button").textContent = found.done ? "Continue the search" : "Start the search";
    by("search-trouble").hidden = !found.problem;
    by("search-trouble").textContent = found.problem || "";
  }

  let pause = EVERY;
  function look() {
    ask("/points?known=" + points.all.map((point) => point.version).join()).then((found) => {
      pause = EVERY;
      by("trouble").hidden = true;
      if (found.points.length) takeIn(found.points);
      progress(found);
      if (state === "running") window.setTimeout(look, points.all.length ? pause : pause / 4);
    }, (error) => {
      by("trouble").textContent = "No update from the search: " + (error instanceof TypeError ? "the studio could not be reached." : error.message) + " Trying again.";
      by("trouble").hidden = false;
      pause = Math.min(30000, 2 * pause);
      window.setTimeout(look, pause);
    });
  }

  function onSearch(event) {
    event.preventDefault();
    const form = event.target, running = state === "running";
    form.querySelector("button").disabled = true;
    ask(form.dataset.path, { method: "POST", headers: { "X-CSRF-Token": form.elements.csrf.value, Accept: "application/json" } }).then((found) => {
      progress(found);
      if (!running && state === "running") look();
    }, (error) => { by("trouble").textContent = error.message; by("trouble").hidden = false; }).then(() => { form.querySelector("button").disabled = false; });
  }

  by("stop").addEventListener("submit", onSearch);
  by("go-on").addEventListener("submit", onSearch);
  by("limits").addEventListener("submit", (event) => event.preventDefault());
  by("limits").addEventListener("input", onField);
  by("to-best").addEventListener("click", () => { pinned = null; refresh(); });
  by("compare-this").addEventListener("click", () => compare(Number(by("review").elements.number.value)));
  by("show-all").addEventListener("click", () => { plot.everything = !plot.everything; plot.draw(); legend(points.drawn.length - points.efficient.size); });
  by("rows").addEventListener("click", (event) => {
    const row = event.target.closest("a") && event.target.closest("tr");
    if (!row) return;
    event.preventDefault();
    pinned = Number(row.id.slice("row-".length));
    refresh();
    by("selected-name").focus();
  });
  document.documentElement.classList.add("script");
  by("all-points").open = false;
  for (const number of compared) fetchDetails(number);
  progress(start.progress);
  takeIn(start.points);
  if (state === "running") look();
}());
