// Nodes × time: what became of every reading, or the field itself.
const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const TENTHS = 10;

function stateColours() {
  const token = (name) => rgb(colour(name));
  return {
    lost: [token("seen"), ...Array.from({ length: TENTHS }, (_, i) => token(`lost-${i + 1}`))],
    [UNJUDGED]: token("unjudged"), [SUSPECT]: token("suspect"), [FAIL]: token("fail"),
  };
}

// A number that orders states by how much they matter, and carries the share lost.
function stateCode(part, i) {
  const state = part.masks.state[i], worst = state & 7;
  if (worst === FAIL) return 40;
  if (worst === SUSPECT) return 30;
  if (state & ABSENT) return -1;
  const tenths = part.masks.lost ? part.masks.lost[i] : worst === LOST ? TENTHS : 0;
  if (worst === UNJUDGED && tenths === 0) return 0.5;
  return tenths;
}

function valueOf(condition, data, i, before) {
  const state = data.masks.state[i], unread = (state & 7) === LOST;
  const code = (name) => data.arrays[name][i] * data.step;
  if (condition.width === 1) {
    if (!unread && (before || !(state & REPLACED))) return code("observed");
    return before || state & EMPTY ? NaN : code("estimate");
  }
  if (before) return unread ? NaN : (code("least") + code("most")) / 2;
  return unread && state & EMPTY ? NaN : code("filled");
}

// One byte triple per cell; cells are joined where there are more than pixels.
function picture(condition, what, before, across, down) {
  const { width, nodes: rows } = condition, data = condition.whole.data;
  const count = Math.ceil(slots / width);
  const first = Math.max(0, Math.floor(view.from / width)), stop = Math.min(count, Math.ceil(view.to / width));
  const columns = Math.max(1, Math.min(across, stop - first)), lines = Math.max(1, Math.min(down, rows.length));
  const image = new ImageData(columns, lines);
  const colours = stateColours();
  const scale = fieldColours();
  const [low, high] = condition.range;
  for (let r = 0; r < lines; r += 1) {
    const a = Math.floor((r * rows.length) / lines), b = Math.max(a + 1, Math.floor(((r + 1) * rows.length) / lines));
    for (let c = 0; c < columns; c += 1) {
      const from = first + Math.floor((c * (stop - first)) / columns);
      const to = Math.max(from + 1, first + Math.floor(((c + 1) * (stop - first)) / columns));
      let worst = -2, lost = 0, sum = 0, number = 0, served = 0;
      for (let n = a; n < b; n += 1) {
        for (let t = from; t < to; t += 1) {
          const i = n * count + t;
          if (what === "values") {
            const value = valueOf(condition, data, i, before);
            if (!Number.isNaN(value)) { sum += value; number += 1; }
          } else {
            const code = stateCode(data, i);
            worst = Math.max(worst, code);
            if (code >= 0) { served += 1; lost += code >= 1 && code <= TENTHS ? code : 0; }
          }
        }
      }
      const at_ = 4 * (r * columns + c);
      let found = null;
      if (what === "values") {
        if (number) found = scale[Math.max(0, Math.min(255, Math.round((255 * (sum / number - low)) / (high - low))))];
      } else if (worst >= 30) found = colours[worst / 10];
      else if (worst === 0.5) found = colours[UNJUDGED];
      else if (worst >= 0) found = colours.lost[Math.min(TENTHS, Math.ceil(lost / Math.max(1, served)))];
      if (found) { image.data.set(found, at_); image.data[at_ + 3] = 255; }
    }
  }
  return { image, from: first * width, to: Math.min(slots, stop * width), lines };
}

let fieldScale = null;
function fieldColours() {
  if (fieldScale) return fieldScale;
  const stops = payload.field.map(([share, hex]) => [share, rgb(hex)]);
  fieldScale = Array.from({ length: 256 }, (_, i) => {
    const share = i / 255;
    const k = Math.max(1, stops.findIndex(([s]) => s >= share));
    const [a, near] = stops[k - 1], [b, far] = stops[k];
    return near.map((v, n) => Math.round(v + ((far[n] - v) * (share - a)) / (b - a)));
  });
  return fieldScale;
}

function legendOfStates(s, condition) {
  const has = condition.states;
  const items = [{ sample: boxSample(s, "seen"), text: "seen" }];
  if (has.lost) items.push({ sample: boxSample(s, `lost-${TENTHS}`), text: "lost, recovered" });
  if (has.lost && condition.width > 1) items.push({ sample: boxSample(s, "lost-1"), text: "some lost" });
  if (has.unjudged) items.push({ sample: boxSample(s, "unjudged"), text: "not judged" });
  if (has.suspect) items.push({ sample: boxSample(s, "suspect"), text: "suspect" });
  if (has.fail) items.push({ sample: boxSample(s, "fail"), text: "outside the limits" });
  if (has.absent) items.push({ sample: boxSample(s, "card"), text: "no sensor" });
  legend(s, items);
}

function legendOfValues(s, condition, before) {
  const [low, high] = condition.range, wide = 140, y = s.top + 8;
  const start = write(s, before ? "readings as they arrived" : "readings, gaps filled", s.left, y, { token: "text" });
  const x = s.left + s.ctx.measureText(before ? "readings as they arrived" : "readings, gaps filled").width + 20;
  fieldColours().forEach(([r, g, b], i) => {
    s.ctx.fillStyle = `rgb(${r},${g},${b})`;
    s.ctx.fillRect(x + (i * wide) / 256, y - 6, wide / 256 + 1, 12);
  });
  write(s, figure(low), x, y + 14, { size: 11 });
  write(s, withUnit(high, condition.unit), x + wide, y + 14, { align: "right", size: 11 });
  s.top += 34;
  return start;
}

function drawHeat(canvas, condition, { what = "states", before = false, node = -1, mini = false, height = 0 } = {}) {
  const rows = condition.nodes;
  const tall = height || (printing && 300) || Math.min(Math.max(rows.length * 12, 120), narrow(canvas.parentElement.clientWidth) ? 300 : 420) + 84;
  const s = surface(canvas, tall);
  s.left = mini ? 0 : leftOf(s.width);
  if (mini) { s.right = s.width; s.top = 0; s.bottom = tall; }
  else {
    s.bottom = tall - 36;
    if (what === "values") legendOfValues(s, condition, before); else legendOfStates(s, condition);
  }
  canvas.plot = [s.left, s.right];
  canvas.rows = [s.top, s.bottom];
  if (!rows.length) { write(s, "No room for this condition in the page.", s.left + 4, tall / 2); return; }
  const across = Math.round((s.right - s.left) * (mini ? 1 : 1)), down = Math.round(s.bottom - s.top);
  const made = picture(condition, what, before, across, down);
  const copy = document.createElement("canvas");
  copy.width = made.image.width;
  copy.height = made.image.height;
  copy.getContext("2d").putImageData(made.image, 0, 0);
  const x = (slot) => s.left + ((slot - view.from) / (view.to - view.from)) * (s.right - s.left);
  s.ctx.save();
  s.ctx.beginPath();
  s.ctx.rect(s.left, s.top, s.right - s.left, s.bottom - s.top);
  s.ctx.clip();
  s.ctx.imageSmoothingEnabled = false;
  s.ctx.drawImage(copy, x(made.from), s.top, x(made.to) - x(made.from), s.bottom - s.top);
  s.ctx.restore();
  canvas.dataset.drawn = `${condition.index}:${what}:${made.lines}`;
  if (mini) return;
  const each = (s.bottom - s.top) / rows.length;
  const every = Math.max(1, Math.ceil(11 / each));
  rows.forEach((n, row) => {
    if (row % every && n !== node) return;
    if (n !== node && Math.abs(rows.indexOf(node) - row) * each < 11 && node >= 0 && every > 1) return;
    write(s, nodes[n], s.left - 6, s.top + (row + 0.5) * each,
      { align: "right", size: 10, room: s.left - 8, token: n === node ? "text" : "muted", bold: n === node });
  });
  const row = rows.indexOf(node);
  if (row >= 0) {
    stroke(s, "card", 3.5); // a rim, or the mark is lost on dark values
    s.ctx.strokeRect(s.left, s.top + row * each, s.right - s.left, Math.max(each, 2));
    stroke(s, "text", 1.5);
    s.ctx.strokeRect(s.left, s.top + row * each, s.right - s.left, Math.max(each, 2));
  }
  frameOf(s);
  timeAxis(s);
}

function nodeAt(canvas, condition, y) {
  const [top, bottom] = canvas.rows, row = Math.floor(((y - top) / (bottom - top)) * condition.nodes.length);
  return row >= 0 && row < condition.nodes.length ? condition.nodes[row] : -1;
}
