// One node of one condition: numbers as they are drawn, NaN where there are none.
const LOST = 0, PASS = 1, UNJUDGED = 2, SUSPECT = 3, FAIL = 4; // the worst in a stretch
const EMPTY = 8, ABSENT = 16, REPLACED = 32;
const REMEMBERED = 400; // series that stay unpacked
const remembered = new Map();

const conditions = payload.conditions;
const nodes = payload.nodes;
const { count: slots, start: firstTime, slot: slotTime } = payload.times;

function load(condition) {
  condition.loading ||= (async () => {
    condition.whole.data = await unpacked(condition.whole, `whole-${condition.index}`);
    if (condition.fine) condition.fine.data = await unpacked(condition.fine, `fine-${condition.index}`);
    condition.row = new Map(condition.nodes.map((node, row) => [node, row]));
    condition.ready = true;
  })();
  return condition.loading;
}

function numbers(data, name, place, count, blank) {
  const out = new Float64Array(count);
  const codes = data.arrays[name];
  if (!codes) return out.fill(NaN);
  for (let i = 0; i < count; i += 1) {
    if (blank(data.masks.state[place + i])) { out[i] = NaN; continue; }
    const far = data.beside[`${name} ${place + i}`];
    // A step is a power of ten: dividing by its inverse gives 21.37, not 21.370000000000001.
    out[i] = far !== undefined ? far
      : data.step < 1 ? codes[place + i] / Math.round(1 / data.step) : codes[place + i] * data.step;
  }
  return out;
}

function cut(data, place, count, width, first) {
  const unread = (state) => (state & 7) === LOST, unknown = (state) => (state & EMPTY) > 0;
  const get = (name, blank) => numbers(data, name, place, count, blank);
  const state = data.masks.state.subarray(place, place + count);
  const low = get("estimate", unknown);
  const least = get(width === 1 ? "observed" : "least", unread);
  const out = {
    width, first, count, state, low, least,
    high: width === 1 ? low : get("high", unknown),
    most: width === 1 ? least : get("most", unread),
    lower: get("lower", unknown), upper: get("upper", unknown),
    lost: data.masks.lost ? data.masks.lost.subarray(place, place + count) : null,
  };
  if (width > 1) {
    out.filled = get("filled", (s) => unread(s) && unknown(s));
  } else {
    out.filled = least.map((read, i) => (
      Number.isNaN(read) || state[i] & REPLACED ? low[i] : read));
  }
  return out;
}

// Coarse over the whole record, and pieces of it slot by slot; null where the file has none.
function seriesOf(condition, node) {
  const key = `${condition.index} ${node}`;
  let found = remembered.get(key);
  if (found) return found;
  const row = condition.row.get(node);
  if (row === undefined) return null;
  const { width } = condition, count = Math.ceil(slots / width);
  found = { ...cut(condition.whole.data, row * count, count, width, 0), pieces: [] };
  let place = 0;
  for (const [who, start, stop] of condition.pieces) {
    if (who === node) found.pieces.push(cut(condition.fine.data, place, stop - start, 1, start));
    place += stop - start;
  }
  found.pieces.sort((a, b) => a.first - b.first);
  remembered.set(key, found);
  if (remembered.size > REMEMBERED) remembered.delete(remembered.keys().next().value);
  return found;
}

// Stretches of a series between two slots, the finest there are: [part, from, to].
function runs(series, from, to, pixels) {
  const out = [];
  const coarse = (a, b) => {
    const i = Math.max(0, Math.floor(a / series.width));
    const k = Math.min(series.count, Math.ceil(b / series.width));
    if (k > i) out.push([series, i, k]);
  };
  let at = from;
  if ((to - from) / pixels < series.width) {
    for (const piece of series.pieces) {
      const stop = piece.first + piece.count;
      if (stop <= from || piece.first >= to) continue;
      if (piece.first > at) coarse(at, piece.first);
      out.push([piece, Math.max(0, Math.floor(from - piece.first)),
        Math.min(piece.count, Math.ceil(to - piece.first))]);
      at = stop;
    }
  }
  if (at < to) coarse(at, to);
  return out;
}

// What stands at a slot: the part that has it, and its place there.
function at(series, slot) {
  for (const piece of series.pieces) {
    if (slot >= piece.first && slot < piece.first + piece.count) return [piece, slot - piece.first];
  }
  return [series, Math.min(series.count - 1, Math.floor(slot / series.width))];
}

function levelWords(series, pixels) {
  if (!series) return "This node is not in the page: it is in the recovered table.";
  const shown = runs(series, view.from, view.to, pixels);
  const coarse = shown.some(([part]) => part.width > 1);
  if (!coarse) return `Every slot of ${duration(slotTime)} is in the page.`;
  const some = shown.some(([part]) => part.width === 1);
  const words = `Stretches of ${series.width} slots (${duration(series.width * slotTime)}) are drawn `
    + "from their lowest to their highest value";
  if (some) return `${words}, every slot where there is more detail.`;
  return `${words}${series.pieces.length ? "; zoom in for every slot near episodes" : ""}.`;
}
