// Nothing heard yet: what to do next, as commands that can be pasted.
import { byId, element } from "./dom.js";

// Single quotes for a shell, whatever is between them.
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function command(text) {
  const button = element("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch { // no clipboard without TLS: the text is there to be marked
      getSelection().selectAllChildren(button.previousSibling);
    }
  });
  return element("div", { class: "command" }, element("pre", { tabindex: 0 }, text), button);
}

const reading = () => ({ node: "m1", time: new Date().toISOString().replace(/\.\d+/, ""), temperature: 20.5 });

function posting(now) {
  const token = now.takes.token ? ' \\\n  -H "Authorization: Bearer $(cat token.txt)"' : "";
  return `curl ${location.origin}/v1/readings${token} \\\n  -d ${quoted(JSON.stringify(reading()))}`;
}

export function showEmpty(now) {
  const box = byId("empty");
  const empty = now.nodes.length === 0;
  box.hidden = !empty;
  if (!empty || box.childElementCount) return;
  box.className = "empty card";
  const parts = [element("h2", { id: "empty-title" }, "No reading has come yet"),
    element("p", {}, "This page fills by itself as soon as one does.")];
  const { source, check, post } = now.takes;
  if (source === "-") parts.push(element("h3", {}, "Readings come from standard input"),
    element("p", {}, "The command reads what is sent to it, one reading a line, such as"),
    command(JSON.stringify(reading())));
  else if (source) parts.push(element("h3", {}, `Readings come from ${source}`),
    element("p", {}, "See the first ten messages as they are read, or why they are not:"), command(check));
  if (post) parts.push(
    element("h3", {}, source ? "Or send one here, from any machine that reaches this address"
      : "Send one from any machine that reaches this address"), command(posting(now)));
  box.replaceChildren(...parts);
}
