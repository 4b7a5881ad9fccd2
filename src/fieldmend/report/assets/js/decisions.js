// What a person decided about episodes, and the file that `recover --decisions` obeys.
const decided = new Map(); // index of an episode → { decision, note }
const foreign = []; // decisions of a loaded file about nothing in this report: kept
let unsaved = false;

const rawNode = (node) => payload.raw.nodes[node] ?? nodes[node];
const rawCondition = (index) => payload.raw.conditions[index] ?? conditions[index].name;

function decide(index, change) {
  const now = { decision: "", note: "", ...decided.get(index), ...change };
  if (now.decision || now.note) decided.set(index, now); else decided.delete(index);
  unsaved = true;
  tellDecisions();
}

function tellDecisions() {
  const count = { accepted: 0, rejected: 0, noted: 0 };
  for (const { decision } of decided.values()) count[decision || "noted"] += 1;
  const parts = Object.entries(count).filter(([, n]) => n).map(([word, n]) => `${n} ${word}`);
  byId("decided").textContent = parts.length ? parts.join(", ") + (unsaved ? ", not saved yet" : ", saved") : "nothing decided yet";
  byId("save-decisions").disabled = !parts.length && !foreign.length;
}

function asDecision(index, { decision, note }) {
  const e = payload.episodes[index];
  const span = ([a, b]) => [stamp(timeOf(a)), stamp(timeOf(b))];
  const [start, end] = e.gone ? [e.gone[0][0], e.gone.at(-1)[1]] : span([e.start, e.stop]);
  const out = { node: rawNode(e.node), condition: rawCondition(e.condition), start, end };
  if (e.gone && e.gone.length > 1) out.parts = e.gone;
  if (!e.gone && e.parts) out.parts = e.parts.map(span);
  return { ...out, kind: e.kind, decision: decision || "noted", note };
}

function decisionsFile() {
  const made = [...decided].sort(([a], [b]) => a - b).map(([index, one]) => asDecision(index, one));
  const about = { fieldmend: payload.version, file: "decisions", inputs: payload.inputs };
  return `${JSON.stringify({ ...about, decisions: [...made, ...foreign] }, null, 1)}\n`;
}

function saveDecisions() {
  saveText(decisionsFile(), `${payload.stem}.decisions.json`, "application/json");
  unsaved = false;
  tellDecisions();
}

const keyOf = (one) => JSON.stringify([one.node, one.condition, Date.parse(one.start ?? one.parts?.[0]?.[0])]);

// Takes what a file says of episodes that are here; of others it stays what it is.
function takeDecisions(text) {
  const listed = JSON.parse(text).decisions;
  if (!Array.isArray(listed)) throw new Error("no decisions");
  const here = new Map(payload.episodes.map((e, i) => [keyOf(asDecision(i, {})), i]));
  let matched = 0;
  for (const one of listed) {
    const index = here.get(keyOf(one));
    if (index === undefined) { foreign.push(one); continue; }
    matched += 1;
    decided.set(index, { decision: one.decision === "noted" ? "" : String(one.decision), note: String(one.note || "") });
  }
  tellDecisions();
  return [matched, listed.length - matched];
}

function wireDecisions(redraw) {
  payload.episodes.forEach((e, i) => {
    if (e.was) decided.set(i, { decision: e.was[0] === "noted" ? "" : e.was[0], note: e.was[1] });
  });
  foreign.push(...payload.foreign);
  byId("save-decisions").addEventListener("click", saveDecisions);
  byId("load-decisions").addEventListener("change", async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    try {
      const [matched, missed] = takeDecisions(await file.text());
      byId("decided").textContent += ` (${matched} taken from the file, ${missed} about nothing here)`;
    } catch {
      byId("decided").textContent = "That is no file of decisions.";
    }
    redraw();
  });
  addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
  tellDecisions();
}
