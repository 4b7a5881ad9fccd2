// What is seen, as files.
function saveBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const saveText = (text, name, kind) => saveBlob(new Blob([text], { type: kind }), name);
const fileName = (text) => text.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 60) || "node";

// A cell that a spreadsheet would take for a formula is text.
function cell(value) {
  const text = String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const COLUMNS = ["node", "condition", "unit", "from_utc", "to_utc", "state", "reading_low", "reading_high",
  "estimate_low", "estimate_high", "interval_low", "interval_high", "filled"];

// A node in the window that is shown: all conditions, as fine as the page has them.
async function nodeTable(node) {
  const lines = [COLUMNS.join(",")];
  const number = (value) => (Number.isNaN(value) ? "" : +value.toPrecision(12));
  for (const condition of conditions) {
    await load(condition);
    const series = seriesOf(condition, node);
    if (!series) continue;
    for (const [part, i, k] of runs(series, view.from, view.to, Infinity)) {
      for (let j = i; j < k; j += 1) {
        const from = part.first + j * part.width, to = Math.min(slots, from + part.width);
        lines.push([nodes[node], condition.name, condition.unit, stamp(timeOf(from)), stamp(timeOf(to)),
          stateWords(part, j), ...["least", "most", "low", "high", "lower", "upper", "filled"]
            .map((name) => number(part[name][j]))].map(cell).join(","));
      }
    }
  }
  return `${lines.join("\r\n")}\r\n`;
}
