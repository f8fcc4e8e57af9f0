"use strict";

// Light and dark: the system's choice until the button is pressed.
{
  const root = document.documentElement;
  const button = document.querySelector("[data-toggle-theme]");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const current = () => root.dataset.theme || (system.matches ? "dark" : "light");
  const show = () => {
    const next = current() === "dark" ? "light" : "dark";
    button.textContent = next === "dark" ? "☾ Dark" : "☀ Light";
    button.setAttribute("aria-label", `Switch to the ${next} theme`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = current() === "dark" ? "light" : "dark";
    try { localStorage.setItem("lockswap-theme", root.dataset.theme); } catch { /* see above */ }
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
}

// Tables that sort, each body (a workload) for itself: a button in each head, up, down, as it was.
for (const table of document.querySelectorAll("table[data-sorts]")) {
  const heads = [...table.tHead.rows[0].cells];
  const bodies = [...table.tBodies].map((body) => ({ body, rows: [...body.rows].filter((row) => !row.dataset.head) }));
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent.trim();
  };
  const compare = (a, b) => {
    // What has no figure comes last, whichever way.
    if (a === "" || b === "") return a === b ? 0 : a === "" ? Infinity : -Infinity;
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x < y ? -1 : +(x > y);
  };
  const sort = (column, direction) => {
    heads.forEach((head, index) => {
      if (head.hasAttribute("aria-sort"))
        head.setAttribute("aria-sort", index === column && direction ? (direction > 0 ? "ascending" : "descending") : "none");
    });
    table.toggleAttribute("data-sorted", direction !== 0);
    for (const { body, rows } of bodies) {
      const order = direction === 0 ? rows : [...rows].sort((a, b) => {
        const way = compare(value(a, column), value(b, column));
        return Number.isFinite(way) ? direction * way : way;
      });
      body.append(...order);
    }
  };
  heads.forEach((head, column) => {
    const label = head.querySelector("[data-sort]");
    if (!label) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...label.childNodes);
    label.replaceWith(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const first = head.dataset.first === "down" ? -1 : 1;
      const now = { ascending: 1, descending: -1, none: 0 }[head.getAttribute("aria-sort")];
      sort(column, now === 0 ? first : now === first ? -first : 0);
    });
  });
}

// What is below the first figures is shown when asked for.
for (const button of document.querySelectorAll("[data-more]")) {
  const part = document.getElementById(button.getAttribute("aria-controls"));
  const show = (open) => {
    part.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => show(part.hidden));
  show(false);
}

// The legend hides and shows locks in all plots.
for (const button of document.querySelectorAll("button[data-lock]")) {
  button.addEventListener("click", () => {
    const show = button.getAttribute("aria-pressed") === "false";
    const same = (selector) => document.querySelectorAll(`${selector}[data-lock="${CSS.escape(button.dataset.lock)}"]`);
    for (const other of same("button")) other.setAttribute("aria-pressed", String(show));
    for (const drawn of same("svg g")) drawn.classList.toggle("away", !show);
  });
}

// A link into a closed part opens it; paper shows everything.
{
  const openTarget = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) target.closest("details")?.setAttribute("open", "");
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const part of opened) part.open = true;
    for (const button of document.querySelectorAll("[data-more][aria-expanded=false]")) button.click();
  });
  addEventListener("afterprint", () => { for (const part of opened) part.open = false; });
}
