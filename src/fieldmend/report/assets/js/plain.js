// Figures that do not move with time (gap lengths, errors, …), from figures/ in Python.
const DASH = { solid: [], dash: [6, 4], dot: [2, 3] };
const tokenOf = (text) => /var\(--([a-z0-9-]+)\)/.exec(text || "")?.[1] || "text";
// Labels were escaped for another reader; here they are text.
const raw = (text) => String(text).replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

function extent(figure_, axis, key) {
  const layout = figure_.layout[axis];
  if (layout.range) return layout.range;
  let low = Infinity, high = -Infinity;
  for (const trace_ of figure_.data) {
    (trace_[key] || []).forEach((value, i) => {
      if (typeof value !== "number") return;
      const more = key === "y" && trace_.error_y ? trace_.error_y.array[i] : 0;
      low = Math.min(low, value);
      high = Math.max(high, value + more);
    });
  }
  if (layout.type === "log") return [Math.max(low * 0.7, 0.5), high * 1.5];
  if (figure_.data.some((t) => t.type === "bar") && key === "x") return [low - 0.5, high + 0.5];
  const pad = 0.05 * (high - low || 1);
  return [layout.rangemode === "tozero" ? 0 : low - pad, high + pad];
}

function scaleOf(layout, ends_, a, b) {
  if (layout.type === "log") {
    const [low, high] = ends_.map(Math.log10);
    return (value) => a + ((Math.log10(value) - low) / (high - low)) * (b - a);
  }
  return (value) => a + ((value - ends_[0]) / (ends_[1] - ends_[0])) * (b - a);
}

function marksOf(layout, ends_, most) {
  if (layout.tickvals) {
    return layout.tickvals.map((value, i) => [value, raw(layout.ticktext[i]).split("<br>")]);
  }
  if (layout.type === "log") {
    const out = [];
    for (let p = Math.ceil(Math.log10(ends_[0])); 10 ** p <= ends_[1]; p += 1) out.push([10 ** p, [figure(10 ** p)]]);
    return out;
  }
  return ticks(...ends_, most).map((value) => [value, [figure(value)]]);
}

function drawPlain(canvas, drawing) {
  const { layout, data } = drawing;
  const flat = data[0].orientation === "h";
  const tall = printing ? Math.min(layout.height, 230) : layout.height;
  const s = surface(canvas, tall);
  s.left = flat ? Math.min(160, s.width * 0.3) : 58;
  s.bottom = tall - (raw(layout.xaxis.title.text).includes("<br>") ? 70 : 46);
  const named = data.filter((t) => t.name && t.showlegend !== false);
  if (named.length > 1) {
    legend(s, named.map((t) => ({
      text: raw(t.name),
      sample: t.type === "bar" ? barSample(s, t) : lineSample(s, tokenOf(t.line.color), 2, DASH[t.line.dash]),
    })));
  }
  if (flat) { drawFlat(s, data[0], layout); canvas.dataset.drawn = "bars"; return; }
  const xs = extent(drawing, "xaxis", "x"), ys = extent(drawing, "yaxis", "y");
  const x = scaleOf(layout.xaxis, xs, s.left, s.right), y = scaleOf(layout.yaxis, ys, s.bottom, s.top);
  drawAxes(s, layout, { x, y, xs, ys });
  s.ctx.save();
  s.ctx.beginPath();
  s.ctx.rect(s.left, s.top - 4, s.right - s.left + 4, s.bottom - s.top + 8);
  s.ctx.clip();
  const bars = data.filter((t) => t.type === "bar");
  data.forEach((t) => (t.type === "bar" ? drawBars(s, t, x, y, ys, bars) : drawLine(s, t, x, y)));
  s.ctx.restore();
  canvas.dataset.drawn = data.map((t) => t.type).join(" ");
}

const barSample = (s, t) => (x, y) => fillBar(s, t, x + 1, y - 6, 14, 12);

function fillBar(s, t, x, y, wide, high) {
  const { ctx } = s;
  ctx.fillStyle = colour(tokenOf(Array.isArray(t.marker.color) ? t.marker.color[0] : t.marker.color));
  ctx.fillRect(x, y, wide, high);
  if (!t.marker.pattern?.shape) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, wide, high);
  ctx.clip();
  stroke(s, "card", 1.5);
  for (let d = -high; d < wide; d += 6) segment(s, x + d, y + high, x + d + high, y);
  ctx.restore();
}

function drawAxes(s, layout, { x, y, xs, ys }) {
  for (const [value, [text]] of marksOf(layout.yaxis, ys, 6)) {
    stroke(s, "rule", 1);
    segment(s, s.left, y(value), s.right, y(value));
    write(s, text, s.left - 6, y(value), { align: "right", size: 11, room: s.left - 20 });
  }
  const found = marksOf(layout.xaxis, xs, Math.max(3, (s.right - s.left) / 70));
  const room = (s.right - s.left) / Math.max(1, found.length);
  found.forEach(([value, lines]) => {
    if (x(value) < s.left - 1 || x(value) > s.right + 1) return;
    stroke(s, "rule", 1);
    segment(s, x(value), s.bottom, x(value), s.bottom + 4);
    lines.forEach((line, i) => write(s, line, x(value), s.bottom + 13 + 13 * i, { align: "center", size: 11, room: room + 14 }));
  });
  const deep = Math.max(...found.map(([, lines]) => lines.length), 1);
  raw(layout.xaxis.title.text).split("<br>").forEach((line, i) => {
    write(s, line, (s.left + s.right) / 2, s.bottom + 17 + 13 * deep + 14 * i, { align: "center", size: 11, room: s.right - s.left });
  });
  s.ctx.save();
  s.ctx.translate(8, (s.top + s.bottom) / 2);
  s.ctx.rotate(-Math.PI / 2);
  write(s, raw(layout.yaxis.title.text), 0, 0, { align: "center", size: 11, room: s.bottom - s.top + 20 });
  s.ctx.restore();
  frameOf(s);
}

function drawLine(s, t, x, y) {
  const { ctx } = s, shape = t.line.shape || "linear";
  stroke(s, tokenOf(t.line.color), t.line.width || 2, DASH[t.line.dash] || []);
  ctx.beginPath();
  let open = false, before = null;
  t.x.forEach((value, i) => {
    if (t.y[i] === null) { open = false; before = null; return; }
    const px = x(value), py = y(t.y[i]);
    if (shape === "hvh") {
      const next = t.x[i + 1] ?? value + (value - (t.x[i - 1] ?? value - 1));
      const last = t.x[i - 1] ?? value - (next - value);
      const a = x((last + value) / 2), b = x((value + next) / 2);
      if (open) ctx.lineTo(a, py); else ctx.moveTo(a, py);
      ctx.lineTo(b, py);
    } else {
      if (shape === "hv" && before) ctx.lineTo(px, before[1]);
      if (open) ctx.lineTo(px, py); else ctx.moveTo(px, py);
    }
    open = true;
    before = [px, py];
  });
  ctx.stroke();
  if (!/markers/.test(t.mode)) return;
  t.x.forEach((value, i) => {
    if (t.y[i] !== null) mark(s, t.marker.symbol || "circle", x(value), y(t.y[i]), 3.5, tokenOf(t.marker.color));
  });
}

function drawBars(s, t, x, y, ys, bars) {
  const each = ((x(1) - x(0)) * 0.75) / bars.length, which = bars.indexOf(t);
  t.x.forEach((value, i) => {
    if (t.y[i] === null) return;
    const left = x(value) + (which - bars.length / 2) * each, top = y(t.y[i]);
    fillBar(s, t, left + 1, top, each - 2, y(Math.max(0, ys[0])) - top);
    if (!t.error_y) return;
    const middle = left + each / 2, half = t.error_y.array[i];
    stroke(s, "text", 1.5);
    segment(s, middle, y(t.y[i] + half), middle, y(Math.max(0, t.y[i] - half)));
  });
}

function drawFlat(s, t, layout) {
  const ends_ = layout.xaxis.range, x = scaleOf({}, ends_, s.left, s.right), { ctx } = s;
  const each = (s.bottom - s.top) / t.y.length;
  for (const value of ticks(...ends_, (s.right - s.left) / 80)) {
    stroke(s, "rule", 1);
    segment(s, x(value), s.top, x(value), s.bottom);
    write(s, figure(value), x(value), s.bottom + 12, { align: "center", size: 11 });
  }
  write(s, raw(layout.xaxis.title.text), (s.left + s.right) / 2, s.bottom + 30, { align: "center", size: 11 });
  t.y.forEach((name, i) => {
    const top = s.top + i * each;
    ctx.fillStyle = colour(tokenOf(t.marker.color[i]));
    ctx.fillRect(s.left, top + each * 0.15, x(t.x[i]) - s.left, each * 0.7);
    write(s, raw(name), s.left - 6, top + each / 2, { align: "right", room: s.left - 10 });
    write(s, t.text[i], x(t.x[i]) + 6, top + each / 2, { size: 11, token: "text" });
  });
  frameOf(s);
}
