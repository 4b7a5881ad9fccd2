// Where the nodes are: the lighter, the more was lost; the larger, the more is flagged.
const FEW = 60; // nodes whose names fit beside their marks

function drawPlaces(canvas, condition, node) {
  const where = payload.places;
  const wide = printing ? Number(canvas.dataset.paper) : canvas.parentElement.clientWidth || 400;
  const spanX = where.span[0] || 1, spanY = (where.span[1] || 1) * where.stretch;
  const tall = Math.min(Math.max(((wide - 80) * spanY) / spanX + 90, 220), printing ? 220 : narrow(wide) ? 300 : 420);
  const s = surface(canvas, tall);
  s.left = 20;
  s.right -= 10;
  const [, most] = placeColours(s, condition);
  s.top += 14;
  s.bottom -= 10;
  const room = [s.right - s.left - 20, s.bottom - s.top - 16];
  const scale = Math.min(room[0] / spanX, room[1] / spanY);
  const x0 = (s.left + s.right - scale * spanX) / 2, y0 = (s.top + s.bottom + scale * spanY) / 2;
  const big = payload.places.at.length > FEW ? 6 : 9;
  const top = Math.max(...condition.flagged, 1e-9);
  canvas.places = [];
  const order = where.at.map(([n]) => n);
  for (const [n, px, py] of where.at) {
    const x = x0 + (px - where.low[0]) * scale, y = y0 - (py - where.low[1]) * where.stretch * scale;
    const radius = 3.5 + (big - 3.5) * Math.sqrt(condition.flagged[n] / top);
    const share = condition.lost[n] / most;
    const [r, g, b] = fieldColours()[Math.round(255 * Math.min(1, share))];
    s.ctx.beginPath();
    s.ctx.arc(x, y, radius, 0, 7);
    s.ctx.fillStyle = `rgb(${r},${g},${b})`;
    s.ctx.fill();
    stroke(s, "muted", 1);
    s.ctx.stroke();
    if (n === node) {
      stroke(s, "focus", 3);
      s.ctx.beginPath();
      s.ctx.arc(x, y, radius + 4, 0, 7);
      s.ctx.stroke();
    }
    if (order.length <= FEW && !narrow(wide)) {
      write(s, nodes[n], x, y - radius - 7, { align: "center", size: 10, token: n === node ? "text" : "muted", room: 70 });
    }
    canvas.places.push([n, x, y]);
  }
  canvas.dataset.drawn = `${condition.index}`;
}

function placeColours(s, condition) {
  const most = Math.max(...condition.lost, 0.01), wide = 90, y = s.top + 8;
  write(s, "0 % lost", s.left, y, { size: 11, token: "text" });
  const x = s.left + s.ctx.measureText("0 % lost").width + 6;
  fieldColours().forEach(([r, g, b], i) => {
    s.ctx.fillStyle = `rgb(${r},${g},${b})`;
    s.ctx.fillRect(x + (i * wide) / 256, y - 5, wide / 256 + 1, 10);
  });
  write(s, percent(most), x + wide + 6, y, { size: 11, token: "text" });
  const end = x + wide + 12 + s.ctx.measureText(percent(most)).width;
  if (Math.max(...condition.flagged) > 0 && end + 100 < s.right) {
    for (const [i, radius] of [[0, 3.5], [1, 7]]) {
      s.ctx.beginPath();
      s.ctx.arc(end + 12 + 14 * i, y, radius, 0, 7);
      stroke(s, "muted", 1);
      s.ctx.stroke();
    }
    write(s, "more flagged", end + 40, y, { size: 11, token: "text" });
  }
  s.top = y + 8;
  return [0, most];
}

function placeAt(canvas, event) {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  let best = -1, far = 22 ** 2;
  for (const [n, px, py] of canvas.places || []) {
    const d = (px - x) ** 2 + (py - y) ** 2;
    if (d < far) { far = d; best = n; }
  }
  return best;
}

function wirePlaces(canvas, choose, current) {
  canvas.addEventListener("click", (event) => {
    const n = placeAt(canvas, event);
    if (n >= 0) choose(n);
  });
  canvas.addEventListener("pointermove", (event) => {
    const n = placeAt(canvas, event), condition = current();
    if (n < 0) { hideTip(); return; }
    showTip(event, [nodes[n], `${percent(condition.lost[n])} lost`,
      `${percent(condition.flagged[n])} of its readings flagged`]);
  });
  canvas.addEventListener("pointerleave", hideTip);
}
