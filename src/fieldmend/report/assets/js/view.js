// One axis of time for all figures: whoever moves it, all follow.
const view = { from: 0, to: slots };
const LEAST = 6; // slots that are shown at the least
const followers = new Set();
let pending = false;

function changed() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    for (const follow of followers) follow();
  });
}

function show(from, to) {
  const span = Math.min(Math.max(to - from, Math.min(LEAST, slots)), slots);
  const middle = (from + to) / 2;
  view.from = Math.min(Math.max(0, middle - span / 2), slots - span);
  view.to = view.from + span;
  changed();
}

function zoom(factor, centre = (view.from + view.to) / 2) {
  show(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
}

const pan = (share) => {
  const by = share * (view.to - view.from);
  const kept = Math.min(Math.max(by, -view.from), slots - view.to);
  show(view.from + kept, view.to + kept);
};
const everything = () => show(0, slots);
const whole = () => view.to - view.from >= slots;

function viewWords() {
  const span = duration(Math.round(view.to - view.from) * slotTime);
  const [first, last] = [Math.round(view.from), Math.round(view.to)];
  return `${moment(timeOf(first))} to ${moment(timeOf(last))} UTC (${span}).`;
}

// Drag to zoom, drag with a finger or with Shift to move, pinch or Ctrl and wheel to zoom, keys.
function steer(canvas, { hover, pick, key }) {
  const touches = new Map();
  let start = null, band = null;
  const slotAt = (x) => {
    const [left, right] = canvas.plot;
    return view.from + ((x - left) / (right - left)) * (view.to - view.from);
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const [x, y] = place(event);
    touches.set(event.pointerId, x);
    const moving = event.pointerType === "touch" || event.shiftKey;
    start = { x, y, slot: slotAt(x), moving, from: view.from, to: view.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (!start) { hover(slotAt(x), x, y, event); return; }
    if (touches.size === 2) {
      const other = [...touches].find(([id]) => id !== event.pointerId)[1];
      const before = Math.abs(touches.get(event.pointerId) - other), now = Math.abs(x - other);
      if (before > 8 && now > 8) zoom(before / now, slotAt((x + other) / 2));
      touches.set(event.pointerId, x);
      start.moved = true;
      return;
    }
    if (Math.abs(x - start.x) < 5 && !start.moved) return;
    start.moved = true;
    hideTip();
    if (start.moving) {
      const [left, right] = canvas.plot;
      const by = ((start.x - x) / (right - left)) * (start.to - start.from);
      const kept = Math.min(Math.max(by, -start.from), slots - start.to);
      show(start.from + kept, start.to + kept);
    } else {
      band ||= canvas.parentElement.querySelector(".band");
      band.hidden = false;
      band.style.left = `${Math.min(start.x, x)}px`;
      band.style.width = `${Math.abs(x - start.x)}px`;
    }
  });
  const end = (event) => {
    touches.delete(event.pointerId);
    if (!start) return;
    const [x, y] = place(event), was = start;
    if (touches.size === 0) start = null;
    if (band) band.hidden = true;
    if (!was.moved) pick(slotAt(x), x, y);
    else if (!was.moving && event.type === "pointerup") {
      const a = slotAt(was.x), b = slotAt(x);
      show(Math.min(a, b), Math.max(a, b));
    }
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => { if (!start) hideTip(); });
  canvas.addEventListener("dblclick", everything);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(event.deltaY / 300), slotAt(place(event)[0]));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const acts = {
      ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), "+": () => zoom(0.5), "=": () => zoom(0.5),
      "-": () => zoom(2), 0: everything, Home: everything, Escape: everything, ...key,
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  });
}

function showTip(event, lines) {
  const tip = byId("tip");
  tip.replaceChildren(...lines.filter(Boolean).map((line, i) => {
    const row = document.createElement(i ? "div" : "strong");
    row.textContent = line;
    return row;
  }));
  tip.hidden = false;
  const wide = tip.offsetWidth, high = tip.offsetHeight;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - wide - 8))}px`;
  tip.style.top = `${event.clientY + 18 + high > innerHeight ? event.clientY - high - 10 : event.clientY + 18}px`;
}

function hideTip() {
  byId("tip").hidden = true;
  for (const line of document.querySelectorAll(".cross")) line.hidden = true;
}

// The same moment in every figure.
function crosshair(slot) {
  for (const line of document.querySelectorAll(".linked .cross")) {
    const [left, right] = line.parentElement.querySelector("canvas").plot || [0, 0];
    line.hidden = slot < view.from || slot > view.to || !right;
    line.style.left = `${left + ((slot - view.from) / (view.to - view.from)) * (right - left)}px`;
  }
}
