/* Small drawings of one point: curves before and after, and attacks that know more and more. */
(function () {
  "use strict";

  const WIDTH = 320, LEFT = 44, RIGHT = 10, TOP = 8, BOTTOM = 22;

  function finite(values) { return values.filter((value) => Number.isFinite(value)); }

  function path(x, y, values) {
    let text = "", pen = "M";
    values.forEach((value, at) => {
      if (!Number.isFinite(value)) { pen = "M"; return; }
      text += pen + x(at).toFixed(1) + " " + y(value).toFixed(1);
      pen = "L";
    });
    return text;
  }

  /* told: { about, height, at: [...], ticks: [[at, text]], unit, zero, lines: [{ name, values }], limit } */
  function draw(told) {
    const height = told.height || 130, values = finite(told.lines.flatMap((line) => line.values).concat(told.limit === undefined ? [] : [told.limit]));
    let low = Math.min(...values), high = Math.max(...values);
    if (told.zero && low > 0) low = 0;
    if (high === low) high = low + (Math.abs(low) || 1);
    const first = told.at[0], last = told.at[told.at.length - 1];
    const x = (value) => LEFT + (WIDTH - LEFT - RIGHT) * (last === first ? 0.5 : (value - first) / (last - first));
    const y = (value) => TOP + (height - TOP - BOTTOM) * (1 - (value - low) / (high - low));
    const svg = explore.make("svg", { class: "curves", viewBox: "0 0 " + WIDTH + " " + height, role: "img", "aria-label": told.about });
    for (const at of explore.ticks(low, high, 3)) {
      explore.make("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) }, svg);
      explore.make("text", { class: "tick", x: LEFT - 5, y: y(at) + 4, "text-anchor": "end" }, svg).textContent = told.unit === "share" ? explore.amount(at, "share") : explore.number(at);
    }
    for (const [at, text] of told.ticks) {
      const place = x(at);
      explore.make("text", { class: "tick", x: place, y: height - 5, "text-anchor": place < LEFT + 12 ? "start" : place > WIDTH - RIGHT - 18 ? "end" : "middle" }, svg).textContent = text;
    }
    if (told.limit !== undefined) explore.make("line", { class: "limit-line", x1: LEFT, x2: WIDTH - RIGHT, y1: y(told.limit), y2: y(told.limit) }, svg);
    for (const line of told.lines) {
      explore.make("path", { class: "line " + line.name, d: path((at) => x(told.at[at]), y, line.values) }, svg);
      if (told.dots) line.values.forEach((value, at) => { if (Number.isFinite(value)) explore.make("circle", { class: "dot", cx: x(told.at[at]), cy: y(value), r: 2.6 }, svg); });
    }
    return svg;
  }

  /* Shares by hour, two bars each. */
  function bars(found) {
    const height = 110, high = Math.max(...finite(found.before.concat(found.published))) || 1, wide = (WIDTH - LEFT - RIGHT) / found.hours.length;
    const y = (value) => TOP + (height - TOP - BOTTOM) * (1 - value / high);
    const svg = explore.make("svg", { class: "curves", viewBox: "0 0 " + WIDTH + " " + height, role: "img", "aria-label": "Share of daily peaks by hour, before and as published" });
    for (const at of explore.ticks(0, high, 3)) {
      explore.make("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) }, svg);
      explore.make("text", { class: "tick", x: LEFT - 5, y: y(at) + 4, "text-anchor": "end" }, svg).textContent = explore.amount(at, "share");
    }
    found.hours.forEach((hour, at) => {
      ["before", "published"].forEach((side, place) => {
        const value = found[side][at];
        if (Number.isFinite(value)) explore.make("rect", { class: "bar " + side, x: LEFT + at * wide + wide * (0.1 + 0.4 * place), y: y(value), width: wide * 0.38, height: height - BOTTOM - y(value) }, svg);
      });
      if (hour % 6 === 0) explore.make("text", { class: "tick", x: LEFT + at * wide, y: height - 5 }, svg).textContent = clock(60 * hour);
    });
    return svg;
  }

  function clock(minutes) {
    const rest = Math.round(minutes % 60);
    return Math.floor(minutes / 60) + ":" + (rest < 10 ? "0" : "") + rest;
  }

  /* Ticks of an axis of the day, whatever part of it there is. */
  function hours(minutes) {
    const last = minutes[minutes.length - 1], every = last > 720 ? 360 : last > 240 ? 120 : 60;
    const found = [];
    for (let at = Math.ceil(minutes[0] / every) * every; at <= last; at += every) found.push([at, clock(at)]);
    return found;
  }

  Object.assign(window.explore, { curves: { bars, draw, hours, path } });
}());
