// The network now: a map where places are known, else a list. State by colour and by shape.
import { byId, drawn, element, pressed } from "./dom.js";
import { labels } from "./labels.js";
import { STATES, mark, shape } from "./states.js";
import { count, measure, shown } from "./words.js";

const FAULTS = new Set(["dead", "stuck", "drift", "offset"]);
const NAMED = 80; // nodes whose names are on the map, as far as there is room
const RADIUS = 8; // of a mark that is as large as usual
const EDGE = 34; // pixels around the map

export function stateOf(node, condition) {
  if (FAULTS.has(node.state)) return "fault";
  if (node.state === "waiting") return "unjudged";
  if (node.state !== "ok") return node.state in STATES ? node.state : "suspect";
  const value = node.values[condition];
  return !value || value.flag === 9 || value.observed === null ? "missing" : "ok";
}

export const placed = (nodes) => nodes.filter((node) => node.x !== null && node.y !== null);

function wordOf(node, condition) {
  const state = stateOf(node, condition);
  return state === "fault" ? `${STATES.fault.word} (${shown(node.state)})` : STATES[state].word;
}

function valueOf(node, condition, unit) {
  const value = node.values[condition];
  if (!value) return "–";
  const number = value.observed ?? value.estimate;
  const about = value.observed === null ? "≈ " : "";
  return number === null ? "–" : about + measure(number, unit);
}

export class Network {
  constructor(choose) {
    this.choose = choose;
    this.layout = null; // the reader's choice; the data's where there is none
    this.only = null;
    this.sought = "";
    this.box = byId("nodes");
    byId("find").addEventListener("input", (event) => { this.sought = event.target.value.trim().toLowerCase(); this.draw(); });
    byId("find").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.drawnNodes.length) this.choose(this.drawnNodes[0].node, true);
    });
    byId("layout").addEventListener("click", (event) => {
      if (event.target.dataset.layout) { this.layout = event.target.dataset.layout; this.draw(); }
    });
    new ResizeObserver(() => { if (this.drawnAt !== this.box.clientWidth) this.draw(); }).observe(this.box);
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  show(now, condition, selected) {
    Object.assign(this, { now, condition, selected });
    this.draw();
  }

  draw() {
    if (!this.now) return;
    const { nodes, conditions } = this.now;
    const places = placed(nodes);
    byId("layout").hidden = places.length < 2;
    const layout = places.length < 2 ? "list" : this.layout ?? "map";
    pressed(byId("layout"), "layout", layout);
    this.legend(nodes);
    const wanted = nodes.filter((node) => this.wants(node));
    this.drawnNodes = layout === "map" ? placed(wanted) : wanted;
    this.stop = Math.max(0, this.drawnNodes.findIndex((one) => one.node === this.selected));
    const focused = this.box.contains(document.activeElement) ? document.activeElement.dataset.index : null;
    this.box.className = `card nodes ${layout}`;
    this.drawnAt = this.box.clientWidth;
    this.box.replaceChildren(layout === "map" ? this.map(places) : this.list(conditions[this.condition]));
    if (focused !== null) this.box.querySelector(`[data-index="${Number(focused)}"]`)?.focus({ preventScroll: true });
    this.note(layout, wanted.length, nodes.length - places.length);
  }

  wants(node) {
    if (this.only && stateOf(node, this.condition) !== this.only) return false;
    return !this.sought || node.node.toLowerCase().includes(this.sought);
  }

  note(layout, wanted, unplaced) {
    const parts = [];
    if (wanted < this.now.nodes.length) parts.push(`${count(wanted)} of ${count(this.now.nodes.length)} nodes.`);
    if (layout === "map" && unplaced) parts.push(`${count(unplaced)} without a place are in the list.`);
    byId("nodes-note").textContent = parts.join(" ");
  }

  legend(nodes) {
    const tally = {};
    for (const node of nodes) {
      const state = stateOf(node, this.condition);
      tally[state] = (tally[state] ?? 0) + 1;
    }
    if (this.only && !tally[this.only]) this.only = null;
    const box = byId("legend");
    const focused = box.contains(document.activeElement) ? document.activeElement.dataset.state : null;
    box.replaceChildren(...Object.keys(STATES).filter((state) => tally[state]).map((state) =>
      element("button", {
        type: "button", "data-state": state, "aria-pressed": String(this.only === state),
        onclick: () => { this.only = this.only === state ? null : state; this.draw(); },
      }, mark(state), element("span", {}, STATES[state].word), element("b", {}, count(tally[state])))));
    if (focused) box.querySelector(`[data-state="${focused}"]`)?.focus();
  }

  list(unit) {
    if (!this.drawnNodes.length) return element("p", { class: "note chart" }, "No such node.");
    const crowded = this.drawnNodes.length > 120; // smaller tiles, without units
    const many = crowded ? " many" : "";
    return element("ul", { class: `tiles${many}` }, this.drawnNodes.map((node, index) => element("li", {},
      element("button", {
        type: "button", class: "tile", ...this.marks(node, index), onclick: () => this.choose(node.node, true),
      }, mark(stateOf(node, this.condition)), element("bdi", {}, shown(node.node)),
      element("span", {}, valueOf(node, this.condition, crowded ? "" : unit))))));
  }

  // What a tile and a spot have in common; one of them is reached by Tab, the others by arrows.
  marks(node, index) {
    const current = node.node === this.selected;
    return {
      "data-index": index, tabindex: index === this.stop ? 0 : -1, "aria-current": String(current),
      title: `${shown(node.node)}: ${wordOf(node, this.condition)}`,
      "aria-label": `${shown(node.node)}, ${wordOf(node, this.condition)}, ${valueOf(node, this.condition, this.now.conditions[this.condition])}`,
    };
  }

  map(places) {
    const xs = places.map((n) => n.x), ys = places.map((n) => n.y);
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const width = Math.max(300, this.box.clientWidth); // so that letters keep their size
    const wide = right - left || 1, tall = high - low || wide;
    const unit = Math.min((width - 2 * EDGE) / wide, (0.9 * width - 2 * EDGE) / tall);
    const height = Math.max(180, tall * unit + 2 * EDGE);
    const side = (width - wide * unit) / 2;
    const plain = Math.min(1.15, Math.max(0.45, 9 / Math.sqrt(places.length)));
    const kept = new Map(this.drawnNodes.map((node, index) => [node, index]));
    // Those that need somebody lie on top, are seen among a thousand, and are named first.
    const calm = (node) => ["ok", "missing", "unjudged"].includes(stateOf(node, this.condition));
    const spots = [...places].sort((a, b) => calm(a) - calm(b)).map((node) => {
      const size = calm(node) ? plain : Math.max(plain, 0.95);
      return {
        node, size, radius: RADIUS * size, text: shown(node.node, 10),
        x: side + (node.x - left) * unit, y: height - EDGE - (node.y - low) * unit - (height - 2 * EDGE - tall * unit) / 2,
      };
    });
    const names = places.length <= NAMED ? labels(spots, width) : [];
    const marks = spots.map((spot, k) => this.spot(spot, names[k], kept.get(spot.node))).reverse();
    return drawn("svg", { viewBox: `0 0 ${width} ${height.toFixed(0)}`, role: "group", "aria-label": "Map of the network" }, ...marks);
  }

  spot({ node, size, x, y, text }, name, index) {
    const transform = `translate(${x.toFixed(1)} ${y.toFixed(1)})`;
    if (index === undefined) return drawn("g", { transform, class: "dim" }, sized(node, this.condition, size));
    const { title, ...rest } = this.marks(node, index);
    return drawn("g", { class: "spot", role: "button", transform, ...rest, onclick: () => this.choose(node.node, true) },
      drawn("title", {}, title), drawn("circle", { class: "ring", r: 12.5 * Math.max(size, 0.75) }),
      drawn("circle", { r: 12, fill: "transparent" }), sized(node, this.condition, size),
      name ? drawn("text", { x: name.dx.toFixed(1), y: name.dy.toFixed(1), "text-anchor": name.anchor, "aria-hidden": "true" }, text) : null);
  }

  key(event) {
    const all = [...this.box.querySelectorAll("[data-index]")].sort((a, b) => a.dataset.index - b.dataset.index);
    const here = all.indexOf(event.target.closest("[data-index]"));
    if (here < 0) return;
    if ((event.key === "Enter" || event.key === " ") && event.target.tagName !== "BUTTON") {
      event.preventDefault();
      this.choose(this.drawnNodes[here].node, true);
      return;
    }
    const row = all.findIndex((one) => one.offsetTop !== all[0].offsetTop);
    const down = event.target.tagName === "BUTTON" && row > 0 ? row : 1;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: down, ArrowUp: -down, Home: -here, End: all.length - 1 - here };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = all[Math.min(all.length - 1, Math.max(0, here + steps[event.key]))];
    all[here].setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  }
}

const sized = (node, condition, size) => drawn("g", { transform: `scale(${size})` }, shape(stateOf(node, condition)));
