// The states of a node: each has a colour, a shape, and a word; any two of them tell it.
import { drawn } from "./dom.js";

// In the order of the legend: what needs somebody first.
export const STATES = {
  fault: { word: "faulty", colour: "fail", path: "M0-8L8 0 0 8-8 0Z" },
  silent: { word: "silent", colour: "text", path: "M-6-6H6V6H-6ZM-6-6L6 6", hollow: true },
  suspect: { word: "suspect reading", colour: "suspect", path: "M0-7.5L7.5 6H-7.5Z" },
  event: { word: "event", colour: "series-3", path: "M0-8.5L2.2-2.9 8-2.7 3.4 1 5 6.8 0 3.5-5 6.8-3.4 1-8-2.7-2.2-2.9Z" },
  missing: { word: "estimated", colour: "estimate", path: "M-6.3 0A6.3 6.3 0 1 1 6.3 0 6.3 6.3 0 1 1-6.3 0Z", hollow: true },
  unjudged: { word: "not judged yet", colour: "straight", path: "M-7 0H7M0-7V7", hollow: true },
  ok: { word: "as expected", colour: "series-2", path: "M-6 0A6 6 0 1 1 6 0 6 6 0 1 1-6 0Z" },
};

export function shape(state) {
  const { colour, path, hollow } = STATES[state] ?? STATES.unjudged;
  const paint = `var(--${colour})`;
  return drawn("path", {
    d: path, fill: hollow ? "none" : paint, stroke: paint, "stroke-width": hollow ? 2.4 : 0,
  });
}

export const mark = (state) =>
  drawn("svg", { class: "mark", viewBox: "-9 -9 18 18", "aria-hidden": "true" }, shape(state));
