// How names, numbers and times are written: one way for the whole page.

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Cs}]/gu;
const LONGEST = 64; // characters of a foreign name

// Foreign text: what cannot be seen, or turns the direction of what follows, is spelt out.
export function shown(text, longest = LONGEST) {
  const raw = String(text ?? "");
  const cut = raw.length > longest ? `${raw.slice(0, longest - 1)}…` : raw;
  return cut.replace(INVISIBLE, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

// Made once each: to make one takes longer than to write a hundred numbers.
const WRITERS = new Map();
function writer(digits) {
  if (!WRITERS.has(digits)) WRITERS.set(digits, new Intl.NumberFormat("en", { maximumSignificantDigits: digits }));
  return WRITERS.get(digits);
}

export function figure(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
  return writer(digits).format(value);
}

export const count = (number) => (number ?? 0).toLocaleString("en");
export const counted = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;
export const measure = (value, unit) => figure(value) + (unit ? `\u00a0${shown(unit, 12)}` : "");
export const titled = (name, unit) => shown(name) + (unit ? ` (${shown(unit, 12)})` : "");

const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const DAY = { day: "numeric", month: "short" };

export const clock = (time) =>
  new Date(time).toLocaleTimeString("en-GB", time % 60_000 ? { ...CLOCK, second: "2-digit" } : CLOCK);
export const day = (time) => new Date(time).toLocaleDateString("en-GB", DAY);
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

export function moment(time) {
  const sameDay = new Date(time).toDateString() === new Date().toDateString();
  return sameDay ? clock(time) : `${day(time)} ${clock(time)}`;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${figure(seconds / 3600, 2)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

export function size(bytes) {
  let left = bytes ?? 0;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (left < 1000 || unit === "GB") return `${figure(left, 3)} ${unit}`;
    left /= 1000;
  }
}
