// The page: one state, shown in its parts; changed by the feed, the reader and the address.
import { byId, element } from "./dom.js";
import { Feed } from "./feed.js";
import { Network } from "./network.js";
import { NodePanel } from "./node.js";
import { showCounts } from "./counts.js";
import { showEmpty } from "./empty.js";
import { showEpisodes } from "./episodes.js";
import { count, counted, duration, moment, shown, titled, zone } from "./words.js";

const page = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const FEED = { live: "live", lost: "connection lost; trying again", waiting: "connecting" };
const STALE = 3; // slots
const FAULTS = ["dead", "stuck", "drift", "offset", "silent"];
const BY_NAME = new Intl.Collator("en", { numeric: true }); // m2 before m10
const state = { now: null, condition: null, selected: null };
const network = new Network(choose);
const panel = new NodePanel(choose);

function heard(now) {
  now.nodes.sort((a, b) => BY_NAME.compare(a.node, b.node));
  state.now = now;
  const names = Object.keys(now.conditions);
  if (!names.includes(state.condition)) state.condition = names[0] ?? null;
  if (state.selected === null || !now.nodes.some((one) => one.node === state.selected)) state.selected = first(now);
  show();
}

// Between two slots. A node that is heard for the first time is worth a question of its own.
function tallied(counts) {
  if (!state.now) return;
  state.now.counts = counts;
  showCounts(counts);
  if (counts.nodes !== state.now.nodes.length) feed.refresh();
}

// Who needs a visit, else whoever was heard first.
function first(now) {
  const open = now.episodes.find((one) => one.node && FAULTS.includes(one.kind));
  return open?.node ?? now.nodes[0]?.node ?? null;
}

function show() {
  const { now, condition, selected } = state;
  headline(now);
  showEmpty(now);
  showEpisodes(now, choose);
  byId("columns").hidden = now.nodes.length === 0;
  conditions(now);
  network.show(now, condition, selected);
  panel.show(now, condition, selected);
  showCounts(now.counts);
  byId("zone").textContent = zone();
  page.dataset.shown = now.slot ?? "empty";
}

function headline(now) {
  const title = shown(now.network) || "network";
  byId("name").textContent = title;
  const visits = new Set(now.episodes.filter((one) => FAULTS.includes(one.kind)).map((one) => one.node)).size;
  document.title = `${visits ? `(${visits}) ` : ""}${title} – fieldmend live`;
  const heardNow = now.nodes.filter((node) => Object.values(node.values).some((value) => value.observed !== null)).length;
  byId("headline").textContent = !now.nodes.length ? "Waiting for the first reading"
    : now.slot === null ? `${counted(now.nodes.length, "node")} heard; the first slot is not closed yet`
    : `${count(heardNow)} of ${counted(now.nodes.length, "node")} heard; ${visits ? `${count(visits)} need${visits === 1 ? "s" : ""} a visit` : "none needs a visit"}`;
  const lead = [];
  if (now.slot !== null) lead.push(`Slot of ${moment(Date.parse(now.slot))}, ${duration(now.slot_seconds)} long${old(now)}`);
  if (now.status === "ok" && now.why) lead.push(shown(now.why, 300));
  byId("lead").textContent = lead.join(" · ");
  const trouble = byId("trouble");
  trouble.hidden = now.status !== "degraded";
  trouble.textContent = `Degraded: ${shown(now.why, 300)}. Nothing is acknowledged until this is mended.`;
}

// What is long ago is no news: nothing has been closed since.
function old(now) {
  const seconds = (Date.now() - Date.parse(now.slot)) / 1000 - now.slot_seconds;
  return seconds > STALE * now.slot_seconds ? `, over for ${duration(seconds)}` : "";
}

function conditions(now) {
  const select = byId("condition");
  const names = Object.keys(now.conditions);
  select.hidden = names.length < 2;
  document.querySelector("label[for=condition]").hidden = select.hidden;
  if (names.join("\n") !== [...select.options].map((one) => one.value).join("\n")) {
    select.replaceChildren(...names.map((name) => element("option", { value: name }, titled(name, now.conditions[name]))));
  }
  select.value = state.condition ?? "";
}

function choose(name, go) {
  state.selected = name;
  history.replaceState(null, "", `#node=${encodeURIComponent(name)}`);
  show();
  if (go && byId("columns").offsetWidth < 900) { // below the network rather than beside it
    byId("node").scrollIntoView({ block: "start" });
  }
}

function fromAddress() {
  const found = /^#node=(.*)$/.exec(location.hash);
  if (!found) return;
  try {
    state.selected = decodeURIComponent(found[1]);
  } catch { return; } // no name that we wrote
  if (state.now) heard(state.now);
}

function told(how) {
  byId("feed").dataset.state = how;
  if (byId("feed-words").textContent !== FEED[how]) byId("feed-words").textContent = FEED[how];
}

function theme(name) {
  if (name) page.dataset.theme = name;
  byId("theme").setAttribute("aria-pressed", String((page.dataset.theme || (dark.matches ? "dark" : "light")) === "dark"));
}

theme();
dark.addEventListener("change", () => theme());
byId("theme").addEventListener("click", () => theme(byId("theme").getAttribute("aria-pressed") === "true" ? "light" : "dark"));
byId("condition").addEventListener("change", (event) => { state.condition = event.target.value; show(); });
addEventListener("hashchange", fromAddress);
fromAddress();
const feed = new Feed({
  heard, told,
  counted: tallied,
});
