// One condition of one node over time: interval, estimate, readings by flag, neighbours.
import { drawn, element } from "./dom.js";
import { numberTicks, reach, scale, timeTicks } from "./scale.js";
import { clock, day, figure, measure, moment, shown, titled } from "./words.js";

const LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 22, HEIGHT = 210;
const SIZE = 4.5; // pixels of a mark
export const MARKS = {
  2: { name: "unjudged", path: (x, y) => `M${x - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0-6 0Z`, word: "not judged yet" },
  3: { name: "bad", path: (x, y) => `M${x} ${y - SIZE}L${x + SIZE} ${y + SIZE - 1}H${x - SIZE}Z`, word: "suspect" },
  4: { name: "fails", path: (x, y) => `M${x} ${y - SIZE - 1}L${x + SIZE + 1} ${y} ${x} ${y + SIZE + 1} ${x - SIZE - 1} ${y}Z`, word: "fail" },
};
const WORDS = { 1: "as expected", 2: "not judged yet", 3: "suspect", 4: "fail", 9: "no reading" };

// `shared` links the charts of a page: range and cursor are one for all of them.
export class Chart {
  constructor(name, series, shared) {
    this.name = name;
    this.shared = shared;
    this.says = element("output", { "aria-live": "polite" });
    this.svg = drawn("svg", {
      tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": this.label(series),
    });
    this.element = element(
      "figure", { class: "chart card" },
      element("header", {}, element("h3", {}, element("bdi", {}, titled(name, series.unit))), this.says),
      this.svg,
    );
    this.update(series);
    this.listen();
  }

  label(series) {
    return `${shown(this.name)} over time. Left and right move along, plus and minus zoom, Home shows all. ${
      series.slots.length} slots.`;
  }

  update(series) {
    this.series = series;
    this.svg.setAttribute("aria-label", this.label(series));
  }

  draw(width) {
    this.width = Math.max(240, width);
    const { slots } = this.series;
    const range = this.shared.range;
    this.x = scale(range, [LEFT, this.width - RIGHT]);
    const first = slots.findIndex((t) => t >= range[0]);
    const past = slots.findIndex((t) => t > range[1]);
    this.within = [first < 0 ? slots.length : first, past < 0 ? slots.length : past];
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    const s = this.series;
    const near = s.neighbours.map((n) => n.estimate);
    const span = reach([s.estimate, s.lower, s.upper, ...near], s.observed, s.flag, this.within);
    this.svg.replaceChildren();
    if (span === null) {
      this.svg.append(drawn("text", { x: this.width / 2, y: HEIGHT / 2, "text-anchor": "middle" }, "Nothing in this stretch of time."));
      return;
    }
    this.y = scale(span, [HEIGHT - BOTTOM, TOP]);
    this.svg.append(...this.axes(span), ...this.episodes(), ...this.lines(), ...this.marks());
    this.pointer = drawn("g", {});
    this.svg.append(this.pointer);
    this.point();
  }

  axes(span) {
    const parts = [];
    for (const [at, text] of numberTicks(span, 5)) {
      const y = this.y(at);
      parts.push(drawn("line", { class: "grid-line", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }));
      parts.push(drawn("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, text));
    }
    let before = null;
    for (const at of timeTicks(this.shared.range, (this.width - LEFT) / 70)) {
      const x = this.x(at);
      const today = day(at);
      const text = before !== null && today !== before || clock(at) === "00:00" ? today : clock(at);
      before = today;
      parts.push(drawn("line", { class: "grid-line", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }));
      // A label at the end of the axis leans inwards: half of it would be cut off.
      const anchor = x > this.width - 20 ? "end" : "middle";
      parts.push(drawn("text", { x, y: HEIGHT - 6, "text-anchor": anchor }, text));
    }
    return parts;
  }

  // Stretches of open and closed episodes, behind everything.
  episodes() {
    const [from, to] = this.shared.range;
    return this.series.episodes.filter((e) => e.from < to && (e.to ?? to) > from).map((e) => {
      const start = this.x(Math.max(from, e.from));
      return drawn("rect", { class: "span", x: start, y: TOP, width: Math.max(2, this.x(Math.min(to, e.to ?? to)) - start), height: HEIGHT - TOP - BOTTOM });
    });
  }

  path(values) {
    let text = "", pen = "M";
    for (let i = this.within[0]; i < this.within[1]; i++) {
      if (values[i] === null || values[i] === undefined) { pen = "M"; continue; }
      text += `${pen}${this.x(this.series.slots[i]).toFixed(1)} ${this.y(values[i]).toFixed(1)}`;
      pen = "L";
    }
    return text;
  }

  band() {
    const { slots, lower, upper } = this.series;
    let text = "", run = [];
    const close = () => {
      if (run.length) {
        const there = run.map((i) => `${this.x(slots[i]).toFixed(1)} ${this.y(upper[i]).toFixed(1)}`);
        const back = run.reverse().map((i) => `${this.x(slots[i]).toFixed(1)} ${this.y(lower[i]).toFixed(1)}`);
        text += `M${[...there, ...back].join("L")}Z`;
      }
      run = [];
    };
    for (let i = this.within[0]; i < this.within[1]; i++) {
      if (lower[i] === null || upper[i] === null) close();
      else run.push(i);
    }
    close();
    return text;
  }

  lines() {
    const near = this.series.neighbours.map((n) => drawn("path", { class: "neighbour", d: this.path(n.estimate) }));
    return [...near, drawn("path", { class: "band", d: this.band() }),
      drawn("path", { class: "estimate", d: this.path(this.series.estimate) })];
  }

  // Readings off the axis stand at its edge: the cursor tells their value.
  marks() {
    const { slots, observed, flag } = this.series;
    const paths = { 1: "", 2: "", 3: "", 4: "" };
    for (let i = this.within[0]; i < this.within[1]; i++) {
      if (observed[i] === null) continue;
      const x = this.x(slots[i]);
      const y = Math.min(HEIGHT - BOTTOM, Math.max(TOP, this.y(observed[i])));
      const kind = flag[i] in paths ? flag[i] : 1;
      paths[kind] += kind === 1 ? `M${x.toFixed(1)} ${y.toFixed(1)}h0` : MARKS[kind].path(x, y);
    }
    const dots = drawn("path", { d: paths[1], stroke: "var(--observed)", "stroke-width": 3, "stroke-linecap": "round", fill: "none" });
    return [dots, ...[2, 3, 4].map((kind) => drawn("path", { class: MARKS[kind].name, d: paths[kind] }))];
  }

  // The cursor's line and what was there.
  point() {
    const { slots, observed, estimate, lower, upper, flag, unit } = this.series;
    if (!this.pointer) return;
    this.pointer.replaceChildren();
    const at = nearest(slots, this.shared.cursor, this.within);
    if (at === null) { this.says.value = ""; return; }
    const x = this.x(slots[at]);
    this.pointer.append(drawn("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }));
    const seen = observed[at] === null ? WORDS[9] : `${measure(observed[at], unit)} (${WORDS[flag[at]] ?? WORDS[1]})`;
    const guess = estimate[at] === null ? "" : ` · estimate ${measure(estimate[at], unit)}, ${figure(lower[at])} to ${figure(upper[at])}`;
    this.says.value = `${moment(slots[at])} · ${seen}${guess}`;
  }

  listen() {
    const time = (event) => {
      const box = this.svg.getBoundingClientRect();
      return this.x.back(((event.clientX - box.left) / box.width) * this.width);
    };
    let start = null;
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && event.button === 0) start = time(event);
    });
    this.svg.addEventListener("pointermove", (event) => {
      this.shared.at(time(event));
      if (start !== null && this.pointer) this.brush(start, time(event));
    });
    this.svg.addEventListener("pointerup", (event) => {
      const [from, to] = [start, time(event)].sort((a, b) => a - b);
      if (start !== null && Math.abs(this.x(from) - this.x(to)) > 8) this.shared.zoom([from, to]);
      start = null;
    });
    this.svg.addEventListener("pointerleave", () => { start = null; this.shared.at(null); });
    this.svg.addEventListener("dblclick", () => this.shared.all());
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  brush(from, to) {
    const [a, b] = [this.x(from), this.x(to)].sort((p, q) => p - q);
    this.pointer.append(drawn("rect", { class: "brush", x: a, y: TOP, width: b - a, height: HEIGHT - TOP - BOTTOM }));
  }

  key(event) {
    const { slots } = this.series;
    const here = nearest(slots, this.shared.cursor, this.within) ?? this.within[1] - 1;
    const jump = event.shiftKey ? 12 : 1;
    const [from, to] = this.shared.range;
    const half = (to - from) / 4;
    const middle = slots[here] ?? (from + to) / 2;
    const done = {
      ArrowLeft: () => this.shared.at(slots[Math.max(this.within[0], here - jump)]),
      ArrowRight: () => this.shared.at(slots[Math.min(this.within[1] - 1, here + jump)]),
      "+": () => this.shared.zoom([middle - half, middle + half]),
      "=": () => this.shared.zoom([middle - half, middle + half]),
      "-": () => this.shared.zoom([middle - 4 * half, middle + 4 * half]),
      Home: () => this.shared.all(),
    }[event.key];
    if (!done || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    done();
  }
}

function nearest(slots, time, [from, past]) {
  if (time === null || from >= past) return null;
  let low = from, high = past - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (slots[middle] > time) high = middle;
    else low = middle;
  }
  return Math.abs(slots[low] - time) <= Math.abs(slots[high] - time) ? low : high;
}
