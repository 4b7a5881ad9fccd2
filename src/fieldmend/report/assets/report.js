(() => {
"use strict";
const page = document.documentElement;
const byId = (id) => document.getElementById(id);
const payload = JSON.parse(byId("payload").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const touch = matchMedia("(pointer: coarse)").matches;
const config = {
  responsive: true, displaylogo: false, displayModeBar: touch ? false : "hover", modeBarButtons: [["toImage", "resetScale2d"]],
  toImageButtonOptions: { filename: "fieldmend", scale: 2 },
};
const arrays = {
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array,
};
const NARROW = 480; // pixels
let printing = false;

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

// The other side of encoding.py.
function unpacked(array) {
  const codes = new arrays[array.d](bytes(array.b).buffer);
  let values = codes;
  if ("k" in array) {
    values = Array.from(codes, (c) => (c === array.none ? null : array.a + array.k * c));
  }
  if (!("n" in array)) return values;
  const rows = [];
  for (let i = 0; i < values.length; i += array.n) rows.push(values.slice(i, i + array.n));
  return rows;
}

function decoded(value) {
  if (value === null || typeof value !== "object") return value;
  if ("b" in value && "d" in value) return unpacked(value);
  if (Array.isArray(value)) return value.map(decoded);
  const out = {};
  for (const key of Object.keys(value)) out[key] = decoded(value[key]);
  if (out.text && out.text.w) out.text = out.z.map((row) => row.map((code) => out.text.w[code]));
  return out;
}

// Colours are named; only where a colour belongs, for a node may be named like one.
function coloured(value, colours, here) {
  if (typeof value === "string") {
    return here ? value.replace(/var\(--([a-z0-9-]+)\)/g, (_, token) => colours[token]) : value;
  }
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) {
    return here ? value.map((item) => coloured(item, colours, true)) : value;
  }
  const out = {};
  for (const key of Object.keys(value)) {
    out[key] = coloured(value[key], colours, /color(scale)?$/.test(key));
  }
  return out;
}

function theme() {
  if (printing) return "light";
  return page.dataset.theme || (dark.matches ? "dark" : "light");
}

function draw(div) {
  const figure = payload.figures[div.id];
  if (!figure.ready) figure.ready = { data: decoded(figure.data), layout: figure.layout };
  const colours = payload.themes[theme()];
  const layout = coloured(figure.ready.layout, colours, false);
  if (touch) layout.dragmode = false; // a finger scrolls the page
  if (printing) layout.width = div.closest(".half") ? 300 : 640; // of paper, not of the window
  const data = figure.ready.data.map((trace) => coloured(trace, colours, false));
  if (div.clientWidth < NARROW && layout.yaxis.scaleanchor) slim(data, layout);
  div.style.minHeight = 0;
  return Plotly.react(div, data, layout, config);
}

// A map on a phone: smaller marks, no names beside them (touching one still tells), less height.
function slim(data, layout) {
  layout.height = 360;
  for (const trace of data) {
    trace.mode = "markers";
    trace.marker.size = trace.marker.size.map((size) => Math.max(6, 0.6 * size));
  }
}

const visible = () => [...document.querySelectorAll(".plot")].filter((d) => d.offsetParent);

async function drawAll(again) {
  for (const div of visible()) {
    if (!again && div.classList.contains("js-plotly-plot")) continue;
    await draw(div);
    await new Promise((done) => setTimeout(done)); // the page stays alive in between
  }
  page.dataset.figures = "drawn";
}

function show(index) {
  for (const panel of document.querySelectorAll(".panel")) {
    panel.hidden = panel.dataset.condition !== String(index);
  }
}

function follow() {
  const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
  const panel = target && target.closest(".panel");
  if (!panel || !panel.hidden) return;
  byId("condition").value = panel.dataset.condition;
  show(panel.dataset.condition);
  target.scrollIntoView();
  target.focus({ preventScroll: true });
}

function setTheme(name) {
  if (name) page.dataset.theme = name;
  const now = theme();
  byId("theme").setAttribute("aria-pressed", String(now === "dark"));
}

function trouble(text) {
  const place = byId("trouble");
  place.textContent = text;
  place.hidden = false;
  page.dataset.figures = "failed";
}

async function loadPlotly() {
  const packed = new Blob([bytes(byId("plotly").textContent)]);
  const stream = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

async function start() {
  show(0);
  setTheme();
  follow();
  if (typeof DecompressionStream === "undefined") {
    trouble("The figures need a browser of 2023 or later; words and tables do not.");
    return;
  }
  await loadPlotly();
  const select = byId("condition");
  const redraw = () => { setTheme(); drawAll(true); };
  if (select) select.addEventListener("change", () => { show(select.value); drawAll(); });
  addEventListener("hashchange", () => { follow(); drawAll(); });
  dark.addEventListener("change", redraw);
  byId("theme").addEventListener("click", () => {
    setTheme(theme() === "dark" ? "light" : "dark");
    drawAll(true);
  });
  addEventListener("beforeprint", () => { printing = true; visible().forEach(draw); });
  addEventListener("afterprint", () => { printing = false; visible().forEach(draw); });
  await drawAll();
}

start().catch((error) => {
  trouble("The figures could not be drawn; words and tables are complete.");
  throw error;
});
})();
