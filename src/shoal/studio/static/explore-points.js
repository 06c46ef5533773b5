/* What follows from the points and the limits alone: which points are beaten, which keep the limits, which is best.
   The page calls it on every move of a limit, so it asks nobody. */
(function () {
  "use strict";

  const MOST_DIGITS = 3;

  function better(one, other, goal) { return goal === "higher" ? one > other : one < other; }

  function number(value) {
    if (!Number.isFinite(value)) return "–";
    return value.toLocaleString("en-GB", { maximumSignificantDigits: MOST_DIGITS }).replace("-", "−");
  }

  /* A figure with its unit, as the server writes it in the table. */
  function amount(value, unit) {
    if (!Number.isFinite(value)) return "–";
    if (unit === "share") return number(100 * value) + " %";
    if (unit === "hours") return Math.abs(value) < 2 ? number(60 * value) + " min" : number(value) + " hours";
    return unit && unit !== "number" && unit !== "data" ? number(value) + " " + unit : number(value);
  }

  class Points {
    constructor(purpose, limits) {
      this.purpose = purpose;
      this.titles = new Map(limits.utility.map((limit) => [limit.measure, limit.title]));
      this.all = [];
      this.byNumber = new Map();
      this.efficient = new Set();
    }

    add(points) {
      // A point may come again, tried on more subjects.
      for (const point of points) this.byNumber.set(point.number, point);
      this.all = [...this.byNumber.values()].sort((a, b) => a.number - b.number);
      const drawn = this.drawn;
      this.efficient = new Set(drawn.filter((one) => !drawn.some((other) => this.beats(other, one))).map((p) => p.number));
    }

    get drawn() {
      return this.all.filter((point) => point.refused === null && Number.isFinite(point.risk) && Number.isFinite(this.loss(point)));
    }

    get refused() { return this.all.filter((point) => point.refused !== null); }

    loss(point) { return this.value(point, this.purpose.measure); }

    value(point, measure) {
      const score = point.scores && point.scores[measure];
      return score ? score.value : NaN;
    }

    beats(one, other) {
      const mine = this.loss(one), its = this.loss(other), goal = this.purpose.goal;
      if (one.risk > other.risk || better(its, mine, goal)) return false;
      return one.risk < other.risk || better(mine, its, goal);
    }

    /* Which limits a point is beyond: "risk" and names of measures. */
    misses(point, limits) {
      const found = point.risk <= limits.risk ? [] : ["risk"];
      for (const limit of limits.utility) {
        const value = this.value(point, limit.measure);
        const kept = limit.bound === "at_least" ? value >= limit.value : value <= limit.value;
        if (limit.value !== null && !kept) found.push(limit.measure);
      }
      return found;
    }

    /* The same in words, as the table has it: without the limits' values, so that it changes only when it must. */
    verdict(misses) {
      const named = misses.map((name) => (name === "risk" ? name : this.titles.get(name)));
      return misses.length ? "beyond the limit for " + named.join(" and ") : "within the limits";
    }

    /* The most useful point within all limits, of equals the one that hides better, of those the first. */
    best(limits) {
      let found = null;
      for (const point of this.drawn) {
        if (this.misses(point, limits).length) continue;
        const mine = this.loss(point), its = found && this.loss(found);
        if (!found || better(mine, its, this.purpose.goal) || (mine === its && point.risk < found.risk)) found = point;
      }
      return found;
    }

    /* What would have to give where no point keeps all limits: the limit, and the point that would do. */
    nearest(limits) {
      const found = [];
      const only = (name) => this.drawn.filter((point) => this.misses(point, limits).join() === name);
      const safe = only(this.purpose.measure), useful = only("risk"), goal = this.purpose.goal;
      if (safe.length) found.push(["loss", safe.reduce((a, b) => (better(this.loss(b), this.loss(a), goal) ? b : a))]);
      if (useful.length) found.push(["risk", useful.reduce((a, b) => (b.risk < a.risk ? b : a))]);
      return found;
    }
  }

  window.explore = { Points, amount, number };
}());
