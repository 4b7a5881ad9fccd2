// Episodes as a table that sorts, filters, and takes decisions.
const ROWS = 60; // more on demand
const SURE = ["weak", "moderate", "strong", "beyond doubt"];
const order = { key: "rank", down: false };
let rows = ROWS;

const KEYS = {
  rank: (e) => e.rank, start: (e) => e.start, node: (e) => nodes[e.node], condition: (e) => conditions[e.condition].name,
  kind: (e) => e.kind, readings: (e) => e.readings, sure: (e) => e.sure,
  decision: (e) => decided.get(e.index)?.decision || "",
};

function wanted(e) {
  const text = byId("find").value.trim().toLocaleLowerCase();
  const one = decided.get(e.index);
  const verdict = one?.decision || (one?.note ? "noted" : "undecided");
  const filters = [["of-condition", String(e.condition)], ["of-kind", e.kind], ["of-decision", verdict]];
  if (filters.some(([id, value]) => byId(id).value && byId(id).value !== value)) return false;
  return !text || `${nodes[e.node]} ${e.why} ${one?.note || ""}`.toLocaleLowerCase().includes(text);
}

function sorted() {
  const key = KEYS[order.key];
  const found = payload.episodes.filter(wanted);
  const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(b, "en", { numeric: true }));
  return found.sort((a, b) => (order.down ? -1 : 1) * compare(key(a), key(b)) || a.rank - b.rank);
}

const made = (tag, content, options = {}) => {
  const element = Object.assign(document.createElement(tag), options);
  element.append(content);
  return element;
};

function choices(e) {
  const box = made("div", "", { className: "choices" });
  const one = decided.get(e.index) || { decision: "", note: "" };
  if (e.kind !== "event") {
    for (const [word, text] of [["accepted", "Accept"], ["rejected", "Reject"]]) {
      const button = made("button", text, { type: "button" });
      button.dataset.word = word;
      button.setAttribute("aria-pressed", String(one.decision === word));
      button.setAttribute("aria-label", `${text}: ${e.kind} of ${nodes[e.node]}, ${moment(timeOf(e.start))}`);
      button.addEventListener("click", () => {
        const now = decided.get(e.index)?.decision === word ? "" : word;
        decide(e.index, { decision: now });
        for (const other of box.querySelectorAll("button")) {
          other.setAttribute("aria-pressed", String(other.dataset.word === now));
        }
      });
      box.append(button);
    }
  }
  const note = Object.assign(document.createElement("input"), { type: "text", value: one.note, placeholder: "note", maxLength: 2000 });
  note.setAttribute("aria-label", `Note on ${e.kind} of ${nodes[e.node]}, ${moment(timeOf(e.start))}`);
  note.addEventListener("change", () => decide(e.index, { note: note.value.trim() }));
  box.append(note);
  return box;
}

function row(e, go) {
  const line = document.createElement("tr");
  line.dataset.episode = e.index;
  const who = made("button", nodes[e.node], { type: "button", className: "link" });
  who.addEventListener("click", () => go(e));
  const head = made("th", who);
  head.scope = "row";
  const long = duration((e.stop - e.start) * slotTime);
  const when = made("td", moment(timeOf(e.start)), { className: "moment" });
  when.append(made("span", `for ${long}`, { className: "sub" }));
  const kind = made("td", made("span", e.kind, { className: `tag ${e.kind === "event" ? "" : "kind"}` }));
  const why = made("td", made("bdi", e.gone ? "rejected before: its readings are taken as true" : e.why));
  why.className = "why";
  const number = made("td", e.gone || !e.readings ? "–" : String(e.readings));
  number.className = e.gone || !e.readings ? "number none" : "number";
  line.append(head, when, made("td", conditions[e.condition].name), kind, number,
    made("td", e.kind === "event" || e.gone ? "–" : SURE[e.sure]), why, made("td", choices(e)));
  return line;
}

function drawEpisodes(go) {
  const found = sorted();
  byId("episodes-body").replaceChildren(...found.slice(0, rows).map((e) => row(e, go)));
  byId("episodes-count").textContent = found.length === payload.episodes.length
    ? `${found.length} episodes` : `${found.length} of ${payload.episodes.length} episodes`;
  byId("more-episodes").hidden = found.length <= rows;
  for (const head of document.querySelectorAll("#episodes th[data-key]")) {
    const mine = head.dataset.key === order.key;
    head.setAttribute("aria-sort", mine ? (order.down ? "descending" : "ascending") : "none");
  }
}

function wireEpisodes(go) {
  const again = () => drawEpisodes(go);
  for (const head of document.querySelectorAll("#episodes th[data-key]")) {
    head.querySelector("button").addEventListener("click", () => {
      const { key } = head.dataset;
      order.down = order.key === key ? !order.down : key === "readings" || key === "sure";
      order.key = key;
      again();
    });
  }
  for (const id of ["find", "of-condition", "of-kind", "of-decision"]) {
    byId(id).addEventListener("input", () => { rows = ROWS; again(); });
  }
  for (const button of document.querySelectorAll("[data-all]")) {
    button.addEventListener("click", () => {
      for (const e of sorted()) if (e.kind !== "event") decide(e.index, { decision: button.dataset.all });
      again();
    });
  }
  byId("more-episodes").addEventListener("click", () => { rows += 5 * ROWS; again(); });
  again();
  return again;
}
