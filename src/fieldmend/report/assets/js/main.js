// The page: what is chosen, who draws it, and when.
const state = { condition: 0, node: 0, before: false, what: "states", neighbours: true };
const current = () => conditions[state.condition];
let nameNode = () => {};

function says(id, text) { byId(id).setAttribute("aria-label", text); }

// At once where the numbers are unpacked: paper does not wait.
function whenReady(condition, draw) {
  if (!condition.ready) return load(condition).then(draw);
  draw();
  return Promise.resolve();
}

function drawExplore() {
  const condition = current();
  return whenReady(condition, () => { if (condition === current()) paint(condition); });
}

function paint(condition) {
  const { node, before, what, neighbours } = state;
  drawHeat(byId("heat"), condition, { what, before, node });
  const found = drawCurve(byId("curve"), condition, node, { before, neighbours });
  byId("curve-title").textContent = `Node ${nodes[node]}: ${condition.name}`;
  byId("level").textContent = found.level || "";
  byId("window").textContent = viewWords();
  nameNeighbours(found.near || [], condition);
  tellNode();
  says("heat", `${condition.says} Node ${nodes[node]} is marked. Arrow keys move in time and choose a node, plus and minus zoom.`);
  says("curve", `${condition.name} of node ${nodes[node]}, ${viewWords()}: ${percent(condition.lost[node])} lost, `
    + `${percent(condition.flagged[node])} of its readings flagged. Arrow keys move in time, plus and minus zoom.`);
  if (payload.places) drawPlaces(byId("map"), condition, node);
}

function nameNeighbours(near, condition) {
  const place = byId("near");
  place.replaceChildren();
  if (!near.length) return;
  place.append(`Grey: ${condition.neighbours ? "the nodes most alike" : "the nearest nodes"} `);
  near.forEach((n, i) => {
    const button = made("button", nodes[n], { type: "button", className: "link" });
    button.addEventListener("click", () => choose(n));
    place.append(i ? ", " : "", button);
  });
  place.append(". ");
}

function tellNode() {
  byId("node-facts").replaceChildren(...conditions.map((condition) => {
    const line = document.createElement("tr");
    const name = made("button", condition.name, { type: "button", className: "link" });
    name.addEventListener("click", () => choose(state.node, condition.index));
    const head = made("th", name);
    head.scope = "row";
    const mine = payload.episodes.filter((e) => e.condition === condition.index && e.node === state.node);
    const heard = condition.heard[state.node];
    const cells = heard ? [percent(condition.lost[state.node]), percent(condition.flagged[state.node]), String(mine.length)]
      : ["–", "–", "–"];
    line.append(head, ...cells.map((text) => made("td", text, { className: "number" })));
    return line;
  }));
}

// The other conditions of the node, beneath: as many as can be seen, the rest when scrolled to.
function drawOthers() {
  for (const figure_ of document.querySelectorAll("#others figure")) {
    const index = Number(figure_.dataset.condition);
    figure_.hidden = index === state.condition;
    if (figure_.hidden || !figure_.dataset.near) continue;
    const condition = conditions[index];
    whenReady(condition, () => {
      const canvas = figure_.querySelector("canvas");
      drawCurve(canvas, condition, state.node, { height: 130, before: state.before, neighbours: false, full: false });
      canvas.setAttribute("aria-label", `${condition.name} of node ${nodes[state.node]}, ${viewWords()}`);
    });
  }
}

const drawLinked = () => { hideTip(); drawOthers(); return drawExplore(); };

// A small figure shows the whole record, whatever window the large ones show.
function drawSmall(condition, draw) {
  whenReady(condition, () => {
    const now = { ...view };
    Object.assign(view, { from: 0, to: slots });
    draw();
    Object.assign(view, now);
  });
}

function drawScreens() {
  for (const canvas of document.querySelectorAll("canvas[data-mini]")) {
    const condition = conditions[Number(canvas.dataset.mini)];
    const height = narrow(innerWidth) ? 150 : 110;
    if (canvas.dataset.near) drawSmall(condition, () => drawHeat(canvas, condition, { mini: true, height }));
  }
  for (const canvas of document.querySelectorAll("canvas[data-worst]")) {
    const [index, node] = canvas.dataset.worst.split(" ").map(Number);
    if (!canvas.dataset.near || !canvas.offsetParent) continue;
    drawSmall(conditions[index], () => drawCurve(canvas, conditions[index], node, { height: 170, neighbours: false, full: false }));
  }
}

function drawStill() {
  for (const canvas of document.querySelectorAll("canvas[data-figure]")) {
    if (canvas.offsetParent && canvas.dataset.near) drawPlain(canvas, payload.figures[canvas.dataset.figure]);
  }
  drawScreens();
}

function showPanels() {
  for (const panel of document.querySelectorAll(".panel")) {
    panel.hidden = Number(panel.dataset.condition) !== state.condition;
  }
}

function choose(node, condition = state.condition, quiet = false) {
  Object.assign(state, { node, condition });
  nameNode(node);
  byId("condition").value = String(condition);
  showPanels();
  if (!quiet) {
    const where = new URLSearchParams({ node: rawNode(node), condition: rawCondition(condition) });
    history.replaceState(null, "", `#${where}`);
  }
  drawLinked();
  drawStill();
}

function goTo(e, scroll = true) {
  const around = Math.max(12, 0.6 * (e.stop - e.start));
  show(e.start - around, e.stop + around);
  choose(e.node, e.condition);
  if (scroll) byId("explore").scrollIntoView();
}

function fromAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const node = nodes.findIndex((_, n) => rawNode(n) === asked.get("node"));
  const condition = conditions.findIndex((_, c) => rawCondition(c) === asked.get("condition"));
  if (node < 0 && condition < 0) return false;
  choose(node < 0 ? state.node : node, condition < 0 ? state.condition : condition, true);
  return true;
}

function wireFigures() {
  const moved = (condition) => (slot, x, y, event) => {
    showTip(event, tipOfCurve(condition(), state.node, slot));
    crosshair(slot);
  };
  const heat = byId("heat");
  steer(heat, {
    hover: (slot, x, y, event) => {
      const node = nodeAt(heat, current(), y);
      if (node < 0 || !current().ready || slot < view.from || slot > view.to) { hideTip(); return; }
      showTip(event, tipOfCurve(current(), node, slot));
      crosshair(slot);
    },
    pick: (slot, x, y) => {
      const node = nodeAt(heat, current(), y);
      if (node >= 0) choose(node);
    },
    key: {
      ArrowUp: () => choose((state.node + nodes.length - 1) % nodes.length),
      ArrowDown: () => choose((state.node + 1) % nodes.length),
    },
  });
  steer(byId("curve"), { hover: moved(current), pick: () => {}, key: {} });
  for (const figure_ of document.querySelectorAll("#others figure")) {
    const index = Number(figure_.dataset.condition);
    steer(figure_.querySelector("canvas"), {
      hover: moved(() => conditions[index]), pick: () => choose(state.node, index), key: { Enter: () => choose(state.node, index) },
    });
  }
  if (payload.places) wirePlaces(byId("map"), choose, current);
}

function pressed(id, set) {
  byId(id).addEventListener("click", (event) => {
    const on = event.currentTarget.getAttribute("aria-pressed") !== "true";
    event.currentTarget.setAttribute("aria-pressed", String(on));
    set(on);
    drawLinked();
  });
}

function wireTools() {
  byId("condition").addEventListener("change", (event) => choose(state.node, Number(event.target.value)));
  pressed("after", (on) => { state.before = !on; });
  pressed("with-neighbours", (on) => { state.neighbours = on; });
  byId("what").addEventListener("change", (event) => { state.what = event.target.value; drawLinked(); });
  byId("zoom-in").addEventListener("click", () => zoom(0.5));
  byId("zoom-out").addEventListener("click", () => zoom(2));
  byId("earlier").addEventListener("click", () => pan(-0.5));
  byId("later").addEventListener("click", () => pan(0.5));
  byId("zoom-all").addEventListener("click", everything);
  byId("save-csv").addEventListener("click", async () => {
    saveText(await nodeTable(state.node), `${fileName(nodes[state.node])}.csv`, "text/csv");
  });
  for (const button of document.querySelectorAll("[data-png]")) {
    button.addEventListener("click", () => {
      const canvas = byId(button.dataset.png);
      const name = [button.dataset.png, nodes[state.node], current().name].join(" ");
      saveCanvas(canvas, `${fileName(name)}.png`);
    });
  }
  for (const link of document.querySelectorAll("[data-go]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const [condition, node, start, stop] = link.dataset.go.split(" ").map(Number);
      goTo({ condition, node, start, stop });
    });
  }
}

function redrawAll() {
  byId("theme").setAttribute("aria-pressed", String(theme() === "dark"));
  drawLinked();
  drawStill();
}

// Only what comes into sight is drawn; the rest when it does.
function watch() {
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting && !target.dataset.near) {
        target.dataset.near = "yes";
        if (target.matches("figure")) drawOthers(); else drawStill();
      }
    }
  }, { rootMargin: "300px" });
  document.querySelectorAll("#others figure, canvas[data-figure], canvas[data-mini], canvas[data-worst]").forEach((e) => seen.observe(e));
}

function wirePaper() {
  addEventListener("beforeprint", () => {
    printing = true;
    for (const e of document.querySelectorAll("canvas[data-figure], canvas[data-mini], canvas[data-worst]")) e.dataset.near = "yes";
    redrawAll();
  });
  addEventListener("afterprint", () => { printing = false; redrawAll(); });
}

function trouble(text) {
  const place = byId("trouble");
  place.textContent = text;
  place.hidden = false;
  root.dataset.figures = "failed";
}

async function start() {
  root.dataset.scripted = "yes";
  if (typeof DecompressionStream === "undefined") {
    trouble("The figures need a browser of 2023 or later; words and tables do not.");
    return;
  }
  conditions.forEach((one, index) => { one.index = index; });
  payload.episodes.forEach((e, index) => { e.index = index; });
  Object.assign(state, payload.first);
  nameNode = picker(choose);
  wireTools();
  wireFigures();
  wirePaper();
  const again = wireEpisodes(goTo);
  wireDecisions(again);
  again();
  followers.add(drawLinked);
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    redrawAll();
  });
  byId("theme").setAttribute("aria-pressed", String(theme() === "dark"));
  darkly.addEventListener("change", redrawAll);
  addEventListener("hashchange", fromAddress);
  let wide = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== wide) { wide = innerWidth; redrawAll(); } });
  nameNode(state.node);
  byId("condition").value = String(state.condition);
  showPanels();
  if (!fromAddress()) await drawExplore();
  drawOthers();
  await load(current());
  root.dataset.first = String(Math.round(performance.now()));
  watch();
  root.dataset.figures = "drawn";
}

window.fieldmend = { state, view, show, choose, goTo, conditions, load, seriesOf, decided, decide, decisionsFile, nodeTable };

start().catch((error) => {
  trouble("The figures could not be drawn; words and tables are complete.");
  throw error;
});
