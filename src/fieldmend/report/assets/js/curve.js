// One node over time: what it said, what the field says, and its neighbours.
const REACH = 1.5; // how far beyond the usual the axis goes for flagged readings, in its spans
const symbolOf = (kind) => payload.kinds[kind]?.symbol || "star";

function neighboursOf(condition, node) {
  const near = (condition.neighbours || payload.neighbours || [])[node] || [];
  return near.filter((n) => condition.heard[n] && condition.row.has(n)).slice(0, 4);
}

function ends(parts, near, before) {
  let low = Infinity, high = -Infinity, worst = Infinity, best = -Infinity;
  const take = (a, b) => { if (a < low) low = a; if (b > high) high = b; };
  for (const [part, i, k] of parts) {
    for (let j = i; j < k; j += 1) {
      const flag = part.state[j] & 7;
      if (flag === SUSPECT || flag === FAIL) {
        worst = Math.min(worst, part.least[j]);
        best = Math.max(best, part.most[j]);
      } else take(part.least[j], part.most[j]);
      if (before) continue;
      take(part.low[j], part.high[j]);
      take(part.lower[j], part.upper[j]);
    }
  }
  for (const [part, i, k] of near) for (let j = i; j < k; j += 1) take(part.low[j], part.high[j]);
  if (low > high) { low = worst; high = best; }
  if (!(low <= high)) return [0, 1];
  const span = high - low || Math.abs(high) * 0.1 || 1;
  low = Math.max(Math.min(low, worst), low - REACH * span);
  high = Math.min(Math.max(high, best), high + REACH * span);
  const pad = 0.06 * (high - low || span);
  return [low - pad, high + pad];
}

// A line through the lowest and highest of each pixel; a single value is a dot.
function trace(s, parts, x, y, low, high, wanted = () => true) {
  const { ctx } = s;
  for (const [part, i, k] of parts) {
    let open = false, column = -1, least = 0, most = 0, points = 0, px = 0;
    ctx.beginPath();
    const flush = () => {
      if (column < 0) return;
      if (open) ctx.lineTo(px, y(least)); else ctx.moveTo(px, y(least));
      if (most > least) ctx.lineTo(px, y(most));
      open = true;
      points += 1;
      column = -1;
    };
    const close = () => {
      flush();
      if (points === 1) { ctx.moveTo(px - 1, y(most)); ctx.lineTo(px + 1, y(most)); }
      open = false;
      points = 0;
    };
    for (let j = i; j < k; j += 1) {
      const a = part[low][j], b = part[high][j];
      if (Number.isNaN(a) || !wanted(part, j)) { close(); continue; }
      const here = x(part.first + (j + 0.5) * part.width), now = Math.round(here);
      if (now !== column) { flush(); column = now; least = a; most = b; px = here; }
      else { least = Math.min(least, a); most = Math.max(most, b); }
    }
    close();
    ctx.stroke();
  }
}

function band(s, parts, x, y) {
  const { ctx } = s;
  ctx.fillStyle = colour("band");
  for (const [part, i, k] of parts) {
    let top = [], foot = [];
    const close = () => {
      if (top.length) {
        ctx.beginPath();
        [...top, ...foot.reverse()].forEach(([a, b], n) => (n ? ctx.lineTo(a, b) : ctx.moveTo(a, b)));
        ctx.fill();
      }
      top = []; foot = [];
    };
    for (let j = i; j < k; j += 1) {
      if (Number.isNaN(part.lower[j]) || Number.isNaN(part.upper[j])) { close(); continue; }
      const here = x(part.first + (j + 0.5) * part.width);
      top.push([here, y(part.upper[j])]);
      foot.push([here, y(part.lower[j])]);
    }
    close();
  }
}

function kindAt(mine, slot, stop, flag) {
  if (flag === FAIL) return "limit";
  const found = mine.find((e) => e.start < stop && slot < e.stop && e.kind !== "event");
  return found ? found.kind : "suspect";
}

function marks(s, parts, x, y, mine, range) {
  const kinds = new Map();
  let last = -9;
  for (const [part, i, k] of parts) {
    for (let j = i; j < k; j += 1) {
      const flag = part.state[j] & 7;
      if (flag !== SUSPECT && flag !== FAIL) continue;
      const slot = part.first + j * part.width;
      const here = x(slot + part.width / 2);
      if (here - last < 2.5 || here < s.left - 1 || here > s.right + 1) continue;
      last = here;
      const kind = kindAt(mine, slot, slot + part.width, flag);
      const up = part.most[j] - part.high[j], down = part.low[j] - part.least[j];
      const value = up >= down || Number.isNaN(down) ? part.most[j] : part.least[j];
      const beyond = value > range[1] ? "arrow-up" : value < range[0] ? "arrow-down" : "";
      const token = kind === "limit" ? "fail" : "suspect";
      kinds.set(kind, token);
      mark(s, beyond || symbolOf(kind), here,
        Math.min(Math.max(y(value), s.top + 4), s.bottom - 4), beyond ? 5 : 3.6, token);
    }
  }
  return kinds;
}

function legendOfCurve(s, condition, series, near, before, mine) {
  const items = [{ sample: lineSample(s, "observed", 1.1), text: "reading" }];
  if (!before) {
    items.push({ sample: lineSample(s, "estimate", 2.6), text: "estimate" });
    if (condition.bounded) items.push({ sample: boxSample(s, "band"), text: `${percent(payload.level)} interval` });
    items.push({ sample: lineSample(s, "lost", 5), text: "lost, recovered" });
  }
  if (near.length) items.push({ sample: lineSample(s, "neighbour", 1), text: "neighbours" });
  const kinds = new Set(mine.filter((e) => e.kind !== "event" && e.stop > view.from && e.start < view.to)
    .map((e) => e.kind));
  for (const kind of kinds) items.push({ sample: markSample(s, symbolOf(kind), "suspect"), text: kind });
  if (mine.some((e) => e.kind === "event" && e.stop > view.from && e.start < view.to)) {
    items.push({ sample: boxSample(s, "event"), text: "event" });
  }
  legend(s, items);
}

function drawCurve(canvas, condition, node, { height = 300, before = false, neighbours = true, full = true } = {}) {
  const s = surface(canvas, printing ? Math.min(height, 230) : height);
  s.left = leftOf(s.width);
  s.bottom = s.height - (full ? 36 : 20);
  canvas.plot = [s.left, s.right];
  const series = seriesOf(condition, node);
  const mine = payload.episodes.filter((e) => e.condition === condition.index && e.node === node);
  const pixels = s.right - s.left;
  if (!series) {
    write(s, "Not in the page for lack of room; the recovered table has it.", s.left, s.height / 2);
    canvas.dataset.drawn = "none";
    return { says: "no curve in the page" };
  }
  const parts = runs(series, view.from, view.to, pixels);
  const beside = neighbours ? neighboursOf(condition, node) : [];
  const near = beside.flatMap((n) => runs(seriesOf(condition, n), view.from, view.to, pixels));
  if (full) legendOfCurve(s, condition, series, beside, before, mine);
  else {
    write(s, condition.title, s.left, s.top + 4, { token: "text", bold: true, room: pixels });
    s.top += 16;
  }
  const range = ends(parts, near, before);
  const y = valueAxis(s, ...range, full ? condition.title : "", full ? 6 : 4);
  s.ctx.save();
  s.ctx.beginPath();
  s.ctx.rect(s.left, s.top - 2, pixels, s.bottom - s.top + 4);
  s.ctx.clip();
  const x = (slot) => s.left + ((slot - view.from) / (view.to - view.from)) * pixels;
  s.ctx.fillStyle = colour("event");
  for (const e of mine) {
    if (e.kind === "event") s.ctx.fillRect(x(e.start), s.top, Math.max(2, x(e.stop) - x(e.start)), s.bottom - s.top);
  }
  stroke(s, "neighbour", 0.8);
  trace(s, near, x, y, "low", "high");
  if (!before) {
    band(s, parts, x, y);
    stroke(s, "lost", 5);
    const lost = (part, j) => ((part.state[j] & 7) === LOST && !(part.state[j] & ABSENT));
    trace(s, parts, x, y, "low", "high", lost);
  }
  if (!before) {
    stroke(s, "estimate", 2.6);
    trace(s, parts, x, y, "low", "high");
  }
  stroke(s, "observed", 1.1);
  trace(s, parts, x, y, "least", "most");
  s.ctx.restore();
  marks(s, parts, x, y, mine, range);
  frameOf(s);
  timeAxis(s, full);
  canvas.dataset.drawn = `${condition.index}:${node}`;
  return { level: levelWords(series, pixels), near: beside };
}

function tipOfCurve(condition, node, slot) {
  const series = condition.ready && seriesOf(condition, node);
  if (!series || slot < 0 || slot >= slots) return [];
  const [part, i] = at(series, Math.floor(slot));
  const from = part.first + i * part.width, unit = condition.unit;
  const when = part.width === 1 ? moment(timeOf(from))
    : `${moment(timeOf(from))} to ${moment(timeOf(Math.min(slots, from + part.width)), false)}`;
  const between = (a, b) => (a === b ? withUnit(a, unit) : `${figure(a)} to ${withUnit(b, unit)}`);
  return [
    `${nodes[node]} · ${when}`,
    `${condition.name}: ${stateWords(part, i)}`,
    Number.isNaN(part.least[i]) ? "" : `reading ${between(part.least[i], part.most[i])}`,
    Number.isNaN(part.low[i]) ? "" : `estimate ${between(part.low[i], part.high[i])}`,
    Number.isNaN(part.lower[i]) ? ""
      : `${percent(payload.level)} interval ${figure(part.lower[i])} to ${withUnit(part.upper[i], unit)}`,
  ];
}
