// What was received, and what became of it.
import { byId, element } from "./dom.js";
import { count, duration, figure, shown, size } from "./words.js";

// Each: its name, its number, and what it means.
const CARDS = [
  ["received", (c) => count(c.readings.received), (c) => `${count(c.readings.stored)} stored`],
  ["late", (c) => count(c.readings.late), () => "after their slot was closed; used when it is settled"],
  ["repeated", (c) => count(c.readings.duplicate), () => "the same reading again: absorbed"],
  ["refused", (c) => count(c.readings.rejected), (c) => reasons(c.rejected)],
  ["never came", (c) => count(c.sequence_gaps + c.broker_dropped), () => "by holes in sequence numbers and the broker’s own word"],
  ["waiting to be sent", (c) => count(c.outbox), () => "closings and alerts"],
  ["model", (c) => (c.model ? `${duration(c.model.age_seconds)} old` : "none yet"), (c) => model(c)],
  ["journal", (c) => size(c.journal_bytes), (c) => `${count(c.slots.closed)} slots closed, ${count(c.slots.settled)} settled`],
];

const reasons = (rejected) =>
  Object.entries(rejected).sort((a, b) => b[1] - a[1]).slice(0, 4).map(([why, n]) => `${shown(why)} ${count(n)}`).join(", ") || "nothing yet";

function model(counts) {
  if (!counts.model) return "learns from the first slots; readings are not judged until then";
  const error = counts.model.error;
  return error === null ? "not tried on a replay yet" : `on a replay its error is ${figure(error, 2)} of the last value’s`;
}

export function showCounts(counts) {
  byId("received").hidden = false;
  byId("counts").replaceChildren(...CARDS.map(([name, value, note]) => element("div", {},
    element("dt", {}, name), element("dd", {}, element("strong", {}, value(counts)), element("span", {}, note(counts))))));
}
