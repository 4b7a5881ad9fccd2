// Numbers and times for people; times are UTC throughout.
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const two = (number) => String(number).padStart(2, "0");

const timeOf = (slot) => firstTime + slot * slotTime;
const slotOf = (time) => (time - firstTime) / slotTime;

function clock(date, fine = slotTime < MINUTE) {
  const seconds = date.getUTCSeconds() || fine ? `:${two(date.getUTCSeconds())}` : "";
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}${seconds}`;
}

const day = (date) => `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;

function moment(time, year = true) {
  const date = new Date(time);
  return `${day(date)}${year ? ` ${date.getUTCFullYear()}` : ""} ${clock(date)}`;
}

function duration(milliseconds) {
  let rest = milliseconds / 1000;
  if (rest < 60) return `${+rest.toPrecision(3)} s`;
  const parts = [];
  for (const [unit, seconds] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
    const whole = Math.floor(rest / seconds + 1e-9);
    if (whole) parts.push(`${whole} ${unit}`);
    rest -= whole * seconds;
  }
  return parts.slice(0, 2).join(" ");
}

const stamp = (time) => new Date(time).toISOString().replace(".000Z", "Z");

function figure(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return value.toExponential(2).replace("e+", "e");
  return String(+value.toPrecision(size >= 1000 ? 6 : 4));
}

const withUnit = (value, unit) => (unit ? `${figure(value)} ${unit}` : figure(value));
const percent = (share) => (
  share === 0 || share === 1 || (share >= 0.1 && share <= 0.9) ? `${Math.round(100 * share)} %`
    : share < 0.001 ? "< 0.1 %" : share > 0.999 ? "> 99.9 %" : `${(100 * share).toFixed(1)} %`);

const STATES = ["lost, recovered", "seen", "seen, too little around it to judge", "suspect",
  "outside the limits"];

function stateWords(part, i) {
  const state = part.state[i];
  if (state & ABSENT) return "no sensor in service";
  const words = (state & 7) === LOST && state & EMPTY ? "lost, left empty" : STATES[state & 7];
  if (part.width === 1) return state & REPLACED ? `${words}, replaced` : words;
  const lost = part.lost[i];
  const share = lost === 0 || (state & 7) === LOST ? "" : `, up to ${10 * lost} % lost`;
  return (state & 7) === LOST ? words : `${words}${share}`;
}

// A list of neat numbers between two ends.
function ticks(low, high, most) {
  const rough = (high - low) / Math.max(1, most);
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) {
    out.push(+(k * step).toPrecision(12));
  }
  return out;
}

const STEPS = [1, 2, 5, 10, 15, 30].map((n) => n * SECOND)
  .concat([1, 2, 5, 10, 15, 30].map((n) => n * MINUTE))
  .concat([1, 2, 3, 6, 12].map((n) => n * HOUR))
  .concat([1, 2, 5, 10].map((n) => n * DAY));

function timeTicks(from, to, most) {
  const rough = (to - from) / Math.max(1, most);
  const step = STEPS.find((n) => n >= rough);
  if (step) {
    const out = [];
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
    return { times: out, step };
  }
  const months = Math.max(1, Math.ceil(rough / (30 * DAY)));
  const every = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find((n) => n >= months) || 6000;
  const first = new Date(from);
  const out = [];
  const whole = every >= 12 ? Math.ceil(first.getUTCFullYear() / (every / 12)) * (every / 12) : 0;
  let year = whole || first.getUTCFullYear();
  let month = whole ? 0 : Math.ceil(first.getUTCMonth() / every) * every;
  for (let n = 0; n < 200; n += 1) {
    const t = Date.UTC(year, month, 1);
    if (t > to) break;
    if (t >= from) out.push(t);
    month += every;
    year += Math.floor(month / 12);
    month %= 12;
  }
  return { times: out, step: every * 30 * DAY };
}

function timeLabel(time, step, first) {
  const date = new Date(time);
  if (step >= 300 * DAY) return [String(date.getUTCFullYear()), ""];
  if (step >= 28 * DAY) {
    return [MONTHS[date.getUTCMonth()], first || !date.getUTCMonth() ? String(date.getUTCFullYear()) : ""];
  }
  if (step >= DAY) return [day(date), first ? String(date.getUTCFullYear()) : ""];
  const midnight = time % DAY === 0;
  return [clock(date, step < MINUTE), first || midnight ? day(date) : ""];
}
