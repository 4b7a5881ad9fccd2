// Any node: typed in part, chosen from a list, or the next one.
const LISTED = 60;

function picker(choose) {
  const input = byId("node"), list = byId("nodes");
  let active = -1;

  const found = () => {
    const text = input.value.trim().toLocaleLowerCase();
    const all = nodes.map((name, n) => [name, n]);
    if (!text || input.dataset.chosen === input.value) return all;
    const having = all.filter(([name]) => name.toLocaleLowerCase().includes(text));
    return having.sort((a, b) => (b[0].toLocaleLowerCase() === text) - (a[0].toLocaleLowerCase() === text)
      || b[0].toLocaleLowerCase().startsWith(text) - a[0].toLocaleLowerCase().startsWith(text));
  };

  function open() {
    const those = found();
    active = -1;
    list.replaceChildren(...those.slice(0, LISTED).map(([name, n], i) => {
      const item = document.createElement("li");
      item.role = "option";
      item.id = `option-${i}`;
      item.dataset.node = n;
      item.textContent = name;
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); take(n); });
      return item;
    }));
    if (those.length > LISTED || !those.length) {
      const more = document.createElement("li");
      more.className = "more";
      more.textContent = those.length ? `${those.length - LISTED} more: type a part of the name` : "no such node";
      list.append(more);
    }
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function take(node) {
    close();
    choose(node);
  }

  function move(by) {
    if (list.hidden) open();
    const items = list.querySelectorAll("[role=option]");
    if (!items.length) return;
    items[active]?.removeAttribute("aria-selected");
    active = (active + by + items.length) % items.length;
    items[active].setAttribute("aria-selected", "true");
    items[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", items[active].id);
  }

  input.addEventListener("input", () => { input.dataset.chosen = ""; open(); });
  input.addEventListener("focus", () => { input.select(); open(); });
  input.addEventListener("blur", () => { close(); input.value = input.dataset.chosen = nodes[state.node]; });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter") {
      const item = list.querySelectorAll("[role=option]")[Math.max(0, active)];
      if (item && !list.hidden) take(Number(item.dataset.node));
    } else return;
    event.preventDefault();
  });
  byId("before-node").addEventListener("click", () => choose((state.node + nodes.length - 1) % nodes.length));
  byId("next-node").addEventListener("click", () => choose((state.node + 1) % nodes.length));
  return (node) => { input.value = input.dataset.chosen = nodes[node]; };
}
