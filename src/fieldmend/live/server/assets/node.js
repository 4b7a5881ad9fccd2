// One node over time: a chart for each condition, all on one time axis.
import { ask } from "./feed.js";
import { byId, drawn, element, pressed } from "./dom.js";
import { Chart, MARKS } from "./chart.js";
import { STATES, mark } from "./states.js";
import { stateOf } from "./network.js";
import { card } from "./episodes.js";
import { duration, moment, shown } from "./words.js";

const CHARTS = 6; // conditions that are drawn, the chosen one first
const SLOTS = 20_000; // of one axis
const FEWEST = 6;
const COLUMNS = ["observed", "estimate", "lower", "upper", "flag"];
const KEY = [
  ["M2 8H22", "estimate", "estimate"], ["M2 2H22V14H2Z", "band", "interval"],
  ["M12 8h0", "dot", "reading"], [MARKS[3].path(12, 8), "bad", "suspect"], [MARKS[4].path(12, 8), "fails", "fail"],
  [MARKS[2].path(12, 8), "unjudged", "not judged yet"], ["M2 8H22", "neighbour", "neighbours"], ["M4 2H20V14H4Z", "span", "episode"],
];

// Not in the path: browsers and proxies have rules of their own for «..», slashes and line breaks there.
const path = (name, query) => `/v1/nodes?node=${encodeURIComponent(name)}&${query}`;

export class NodePanel {
  constructor(choose) {
    this.choose = choose;
    this.hours = 24;
    this.name = null;
    this.charts = new Map();
    this.shared = {
      range: [0, 1], cursor: null,
      at: (time) => { this.shared.cursor = time; for (const chart of this.charts.values()) chart.point(); },
      zoom: (range) => this.zoom(range),
      all: () => { this.zoomed = null; this.draw(); },
    };
    byId("span").addEventListener("click", (event) => {
      if (!event.target.dataset.hours) return;
      this.hours = Number(event.target.dataset.hours);
      pressed(byId("span"), "hours", this.hours);
      this.zoomed = null;
      this.load();
    });
    new ResizeObserver(() => this.draw()).observe(byId("node-body"));
  }

  show(now, condition, name) {
    const other = name !== this.name;
    const news = other || now.slot !== this.now?.slot || this.failed;
    Object.assign(this, { now, condition, name });
    if (other) { this.zoomed = null; this.data = null; }
    if (name !== null && news) this.load();
    else if (this.data) this.build();
  }

  async load() {
    const { name, now } = this;
    if (name === null || now.slot === null) return;
    const end = Date.parse(now.slot) + 1000 * now.slot_seconds;
    const query = `from=${new Date(end - 3_600_000 * this.hours).toISOString()}&to=${new Date(end).toISOString()}`;
    const asked = (this.asked = {});
    this.failed = false;
    try {
      const data = await ask(path(name, query));
      const near = await Promise.all(data.neighbours.map((other) => ask(path(other, query)).catch(() => null)));
      if (asked !== this.asked) return;
      Object.assign(this, { data, near: near.filter(Boolean), end });
      this.build();
    } catch {
      if (asked !== this.asked) return;
      this.failed = true; // the next slot asks again
      byId("node-body").replaceChildren(element("p", { class: "note" }, "This node’s slots cannot be had now."));
      this.charts.clear();
    }
  }

  zoom([from, to]) {
    const [first, last] = this.whole();
    const least = 3 * 1000 * this.now.slot_seconds;
    if (to - from < least) return;
    this.zoomed = from <= first && to >= last ? null : [Math.max(first, from), Math.min(last, to)];
    this.draw();
  }

  // As long as was asked for, or as there is something to show: the first hour is no sliver of a day.
  whole() {
    const step = 1000 * this.now.slot_seconds;
    const begun = Object.values(this.data.conditions).map((one) => Date.parse(one.slot[0])).filter(Number.isFinite);
    const first = Math.min(...begun, this.end - FEWEST * step);
    return [Math.max(this.end - 3_600_000 * this.hours, first), this.end];
  }

  build() {
    const { data, now, condition, name } = this;
    const node = now.nodes.find((one) => one.node === name);
    byId("node-title").replaceChildren("Node ", element("bdi", {}, shown(name)));
    const names = Object.keys(data.conditions).sort((a, b) => (b === condition) - (a === condition)).slice(0, CHARTS);
    const same = names.join("\n") === [...this.charts.keys()].join("\n") && this.built === name;
    if (!same) this.charts.clear();
    for (const one of names) {
      const series = this.series(one);
      if (same) this.charts.get(one).update(series);
      else this.charts.set(one, new Chart(one, series, this.shared));
    }
    this.built = name;
    const focused = same && byId("node-body").contains(document.activeElement) ? document.activeElement : null;
    const open = data.episodes.filter((one) => one.until === null);
    const body = [this.facts(node, data), open.length ? element("ol", { class: "episodes" }, open.map((one) => card(one, now, null))) : null,
      names.length ? key([...this.charts.values()].map((chart) => chart.series)) : element("p", { class: "note" }, "No slot of this node is closed yet."),
      ...names.map((one) => this.charts.get(one).element)];
    byId("node-body").replaceChildren(...body.filter(Boolean));
    focused?.focus({ preventScroll: true });
    this.draw();
  }

  facts(node, data) {
    const rows = [];
    if (node) rows.push(["now", element("span", {}, mark(stateOf(node, this.condition)), " ", STATES[stateOf(node, this.condition)].word)]);
    if (data.heard) rows.push(["newest reading", `${moment(Date.parse(data.heard))}`]);
    if (node?.cadence_seconds) rows.push(["usually every", duration(node.cadence_seconds)]);
    if (data.neighbours.length) {
      const links = data.neighbours.map((name) => element("button", { type: "button", class: "link", onclick: () => this.choose(name, false) }, element("bdi", {}, shown(name))));
      rows.push(["most alike", element("span", {}, links.flatMap((link, i) => (i ? [", ", link] : [link])))]);
    }
    return element("dl", { class: "facts" }, rows.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  }

  // Every slot has a place, also those of which nothing is known: lines break there.
  series(name) {
    const step = 1000 * this.now.slot_seconds;
    const raw = this.data.conditions[name];
    const [from] = this.whole();
    const length = Math.min(SLOTS, Math.round((this.end - from) / step));
    const first = this.end - length * step;
    const axis = Array.from({ length }, (_, i) => first + i * step);
    const spread = (given, columns) => {
      const out = Object.fromEntries(columns.map((column) => [column, new Array(length).fill(null)]));
      given?.slot.forEach((time, k) => {
        const i = Math.round((Date.parse(time) - first) / step);
        if (i >= 0 && i < length) for (const column of columns) out[column][i] = given[column][k];
      });
      return out;
    };
    return {
      slots: axis, unit: raw.unit, ...spread(raw, COLUMNS),
      neighbours: this.near.map((one) => spread(one.conditions[name], ["estimate"])),
      episodes: this.data.episodes.filter((one) => one.condition === name || !one.condition)
        .map((one) => ({ from: Date.parse(one.since), to: one.until === null ? null : Date.parse(one.until) })),
    };
  }

  draw() {
    if (!this.data || !this.charts.size) return;
    this.shared.range = this.zoomed ?? this.whole();
    for (const chart of this.charts.values()) chart.draw(chart.svg.clientWidth);
  }
}

// What is in the charts, and nothing else.
function key(all) {
  const there = {
    bad: all.some((one) => one.flag.includes(3)), fails: all.some((one) => one.flag.includes(4)),
    unjudged: all.some((one) => one.flag.includes(2)), neighbour: all.some((one) => one.neighbours.length),
    span: all.some((one) => one.episodes.length),
  };
  return element("ul", { class: "key" }, KEY.filter(([, name]) => there[name] ?? true).map(([d, name, word]) => {
    const dot = name === "dot" ? { stroke: "var(--observed)", "stroke-width": 4, "stroke-linecap": "round" } : { class: name };
    return element("li", {}, drawn("svg", { viewBox: "0 0 24 16", "aria-hidden": "true" }, drawn("path", { d, ...dot })), word);
  }));
}
