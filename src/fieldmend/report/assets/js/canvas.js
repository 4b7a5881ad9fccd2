// A canvas with margins: sharp on every screen, in the colours of the theme.
const FONT = getComputedStyle(document.body).fontFamily;
const darkly = matchMedia("(prefers-color-scheme: dark)");
let printing = false;

const theme = () => (printing ? "light" : root.dataset.theme || (darkly.matches ? "dark" : "light"));
const colour = (token) => payload.themes[theme()][token];

function surface(canvas, height, left = 0) {
  const paper = printing ? Number(canvas.dataset.paper || 660) : 0;
  const width = paper || canvas.parentElement.clientWidth;
  const scale = printing ? 2 : Math.max(1, window.devicePixelRatio || 1);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const ctx = canvas.getContext("2d");
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, height);
  ctx.font = `12px ${FONT}`;
  ctx.lineJoin = "round";
  ctx.textBaseline = "middle";
  return { ctx, width, height, left, right: width - 10, top: 8, bottom: height - 8, canvas };
}

const narrow = (width) => width < 520;
const leftOf = (width) => (narrow(width) ? 58 : 84);

function fitted(ctx, text, room) {
  if (ctx.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && ctx.measureText(`${text.slice(0, end)}…`).width > room) end -= 1;
  return `${text.slice(0, end)}…`;
}

function write(s, text, x, y, { token = "muted", align = "left", size = 12, bold = false, room } = {}) {
  s.ctx.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
  s.ctx.fillStyle = colour(token);
  s.ctx.textAlign = align;
  s.ctx.fillText(room ? fitted(s.ctx, text, room) : text, x, y);
}

function stroke(s, token, width, dash = []) {
  s.ctx.strokeStyle = colour(token);
  s.ctx.lineWidth = width;
  s.ctx.setLineDash(dash);
}

function segment(s, x0, y0, x1, y1) {
  s.ctx.beginPath();
  s.ctx.moveTo(x0, y0);
  s.ctx.lineTo(x1, y1);
  s.ctx.stroke();
}

const SHAPES = {
  circle: (c, r) => c.arc(0, 0, r, 0, 7),
  square: (c, r) => c.rect(-r * 0.85, -r * 0.85, r * 1.7, r * 1.7),
  diamond: (c, r) => polygon(c, [[0, -r * 1.2], [r * 1.2, 0], [0, r * 1.2], [-r * 1.2, 0]]),
  "triangle-up": (c, r) => polygon(c, [[0, -r * 1.2], [r * 1.1, r * 0.9], [-r * 1.1, r * 0.9]]),
  "triangle-right": (c, r) => polygon(c, [[r * 1.2, 0], [-r * 0.9, r * 1.1], [-r * 0.9, -r * 1.1]]),
  "arrow-up": (c, r) => polygon(c, [[0, -r], [r, r], [0, r * 0.4], [-r, r]]),
  "arrow-down": (c, r) => polygon(c, [[0, r], [r, -r], [0, -r * 0.4], [-r, -r]]),
  x: (c, r) => strokes(c, [[-r, -r, r, r], [-r, r, r, -r]]),
  cross: (c, r) => strokes(c, [[0, -r, 0, r], [-r, 0, r, 0]]),
  star: (c, r) => strokes(c, [[0, -r, 0, r], [-r, 0, r, 0], [-r * 0.7, -r * 0.7, r * 0.7, r * 0.7],
    [-r * 0.7, r * 0.7, r * 0.7, -r * 0.7]]),
};

function polygon(ctx, points) {
  points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.closePath();
}

function strokes(ctx, lines) {
  for (const [a, b, c, d] of lines) { ctx.moveTo(a, b); ctx.lineTo(c, d); }
}

const OPEN = new Set(["x", "cross", "star"]); // drawn by strokes

function mark(s, symbol, x, y, radius, token) {
  const known = SHAPES[symbol] ? symbol : "star";
  const { ctx } = s;
  ctx.save();
  ctx.translate(x, y);
  ctx.beginPath();
  SHAPES[known](ctx, radius);
  ctx.setLineDash([]);
  if (OPEN.has(known)) {
    ctx.lineWidth = 2;
    ctx.strokeStyle = colour(token);
    ctx.stroke();
  } else {
    ctx.fillStyle = colour(token);
    ctx.fill();
  }
  ctx.restore();
}

// A row of samples and their meanings, as many lines as needed: drawn, so that print and PNG have it.
function legend(s, items) {
  let x = s.left, y = s.top + 8;
  for (const { sample, text } of items) {
    s.ctx.font = `12px ${FONT}`;
    const wide = s.ctx.measureText(text).width + 36;
    if (x + wide > s.right + 8 && x > s.left) { x = s.left; y += 18; }
    sample(x, y);
    write(s, text, x + 22, y, { token: "text" });
    x += wide;
  }
  s.top = y + 14;
}

const lineSample = (s, token, width, dash) => (x, y) => {
  stroke(s, token, width, dash);
  segment(s, x, y, x + 16, y);
};
const boxSample = (s, token) => (x, y) => {
  s.ctx.fillStyle = colour(token);
  s.ctx.fillRect(x + 1, y - 6, 14, 12);
  stroke(s, "muted", 1);
  s.ctx.strokeRect(x + 1.5, y - 5.5, 13, 11);
};
const markSample = (s, symbol, token) => (x, y) => mark(s, symbol, x + 8, y, 4.5, token);

function frameOf(s) {
  stroke(s, "rule", 1);
  segment(s, s.left, s.bottom + 0.5, s.right, s.bottom + 0.5);
  segment(s, s.left - 0.5, s.top, s.left - 0.5, s.bottom);
}

function valueAxis(s, low, high, title, most) {
  const y = (value) => s.bottom - ((value - low) / (high - low)) * (s.bottom - s.top);
  for (const value of ticks(low, high, most)) {
    stroke(s, "rule", 1);
    segment(s, s.left - 4, y(value), s.right, y(value));
    write(s, figure(value), s.left - 7, y(value), { align: "right", size: 11, room: s.left - 22 });
  }
  if (title) {
    s.ctx.save();
    s.ctx.translate(9, (s.top + s.bottom) / 2);
    s.ctx.rotate(-Math.PI / 2);
    write(s, title, 0, 0, { align: "center", size: 11, room: s.bottom - s.top + 20 });
    s.ctx.restore();
  }
  return y;
}

function timeAxis(s, labels = true) {
  const { ctx } = s;
  const span = view.to - view.from;
  const x = (slot) => s.left + ((slot - view.from) / span) * (s.right - s.left);
  const { times, step } = timeTicks(timeOf(view.from), timeOf(view.to), (s.right - s.left) / 90);
  times.forEach((time, i) => {
    const at_ = x(slotOf(time));
    stroke(s, "rule", 1);
    segment(s, at_, s.bottom, at_, s.bottom + 4);
    if (!labels) return;
    const [above, below] = timeLabel(time, step, i === 0);
    const half = ctx.measureText(above).width / 2;
    const place = Math.min(Math.max(at_, s.left - 30 + half), s.right - half + 8);
    write(s, above, place, s.bottom + 12, { align: "center", size: 11 });
    if (below) write(s, below, place, s.bottom + 25, { align: "center", size: 11 });
  });
  return x;
}

const saveCanvas = (canvas, name) => new Promise((done) => {
  // The figure stands on its own ground: a clear one is black in many viewers.
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height;
  const ctx = copy.getContext("2d");
  ctx.fillStyle = colour("card");
  ctx.fillRect(0, 0, copy.width, copy.height);
  ctx.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => { saveBlob(blob, name); done(); }, "image/png");
});
