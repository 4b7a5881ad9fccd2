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

// Where the node is named already, `choose` is left out.
export function card(one, now, choose) {
  const unit = now.conditions[one.condition];
  const since = Date.parse(one.since);
  const numbers = one.value === null ? [] : [`when seen ${measure(one.value, unit)}${one.expected === null ? "" : `, expected ${measure(one.expected, unit)}`}`];
  const when = one.until === null ? `since ${moment(since)} (${duration((Date.now() - since) / 1000)})` : `${moment(since)} to ${moment(Date.parse(one.until))}`;
  const who = !choose ? null : one.node
    ? element("button", { type: "button", class: "link", onclick: () => choose(one.node, true) }, "Node ", element("bdi", {}, shown(one.node)))
    : element("span", {}, `${one.nodes} nodes`);
  return element("li", { class: one.until === null ? null : "closed" },
    element("p", { class: "who" }, who,
      one.condition ? element("span", { class: "tag" }, element("bdi", {}, shown(one.condition))) : null,
      element("span", { class: "tag kind" }, shown(one.kind))),
    element("p", {}, element("bdi", {}, shown(one.text, 400))),
    element("p", { class: "when" }, [when, ...numbers].join(" · ")));
}
