// From numbers to places, and back; ticks at round numbers and round times.

const MINUTE = 60_000;
const STEPS = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((m) => m * MINUTE);

export function scale([from, to], [start, end]) {
  const slope = (end - start) / (to - from || 1);
  const place = (value) => start + (value - from) * slope;
  place.back = (at) => from + (at - start) / slope;
  return place;
}

export function numberTicks([low, high], most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) ticks.push(at);
  return ticks.map((at) => [at, digits > 6 ? at.toExponential(1) : at.toFixed(digits)]);
}

export function timeTicks([from, to], most) {
  const step = STEPS.find((s) => (to - from) / s <= most) ?? STEPS.at(-1) * Math.ceil((to - from) / STEPS.at(-1) / most);
  const shift = new Date(from).getTimezoneOffset() * MINUTE; // round in the reader's zone
  const ticks = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) ticks.push(at);
  return ticks;
}

// What is drawn decides the axis; readings held to be false do not: they would squash the rest.
export function reach(columns, judged, flags, within) {
  let low = Infinity, high = -Infinity;
  const take = (value) => {
    if (value === null || value === undefined) return;
    if (value < low) low = value;
    if (value > high) high = value;
  };
  for (const column of columns) for (let i = within[0]; i < within[1]; i++) take(column[i]);
  for (let i = within[0]; i < within[1]; i++) if (flags[i] < 3) take(judged[i]);
  if (low > high) for (let i = within[0]; i < within[1]; i++) take(judged[i]);
  if (low > high) return null;
  const room = (high - low) * 0.06 || Math.abs(high) * 0.01 || 1;
  return [low - room, high + room];
}
