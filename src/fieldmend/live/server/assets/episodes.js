// Open episodes: who, since when, why, and what to do.
import { byId, element } from "./dom.js";
import { counted, duration, measure, moment, shown } from "./words.js";

const FIRST = 6; // cards that are there at once
const GRAVITY = ["dead", "stuck", "drift", "offset", "silent", "event"];
let all = false;

export function showEpisodes(now, choose) {
  byId("todo").hidden = now.nodes.length === 0;
  const rank = (one) => (GRAVITY.indexOf(one.kind) + GRAVITY.length) % GRAVITY.length;
  const open = [...now.episodes].sort((a, b) => rank(a) - rank(b));
  byId("todo-title").textContent = open.length ? `What to do: ${counted(open.length, "open episode")}` : "Nothing to do: no episode is open";
  const kept = all ? open : open.slice(0, FIRST);
  byId("episodes").replaceChildren(...kept.map((one) => card(one, now, choose)));
  const button = byId("all-episodes");
  button.hidden = open.length <= FIRST;
  button.textContent = all ? `Show the first ${FIRST}` : `Show all ${open.length}`;
  button.onclick = () => { all = !all; showEpisodes(now, choose); };
}

// What is said, without the names that stand above it; a number keeps its unit on its line.
function sentence(one, unit) {
  const names = [one.node, one.condition].filter(Boolean).join(", ");
  const rest = names && one.text.startsWith(`${names}: `) ? one.text.slice(names.length + 2) : one.text;
  const joined = rest.replace(/(\d) (?=(?:s|min|h|d)\b)/g, "$1\u00a0");
  const text = unit ? joined.replaceAll(` ${unit}`, `\u00a0${unit}`) : joined;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// Where the node is named already, `choose` is left out.
export function card(one, now, choose) {
  const unit = now.conditions[one.condition];
  const since = Date.parse(one.since);
  const expected = one.expected === null ? "" : `, expected ${measure(one.expected, unit)}`;
  // Of one slot, unlike the sentence, which is of all since it began.
  const numbers = one.value === null ? [] : [`${measure(one.value, unit)}${expected} when it was found`];
  const when = one.until === null ? `since ${moment(since)} (${duration((Date.now() - since) / 1000)})` : `${moment(since)} to ${moment(Date.parse(one.until))}`;
  const who = !choose ? null : one.node
    ? element("button", { type: "button", class: "link", onclick: () => choose(one.node, true) }, "Node ", element("bdi", {}, shown(one.node)))
    : element("span", {}, `${one.nodes} nodes`);
  return element("li", { class: one.until === null ? null : "closed" },
    element("p", { class: "who" }, who,
      one.condition ? element("span", { class: "tag" }, element("bdi", {}, shown(one.condition))) : null,
      element("span", { class: "tag kind" }, shown(one.kind))),
    element("p", {}, element("bdi", {}, shown(sentence(one, unit), 400))),
    element("p", { class: "when" }, [when, ...numbers].join(" · ")));
}
