"use strict";
// The page is complete without this: it only adds tabs and sortable columns.

function makeTabs(group) {
  const panels = [...group.querySelectorAll(".panel")];
  if (panels.length < 2) return;
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Settings");
  const choose = (chosen) => {
    panels.forEach((panel, index) => {
      panel.hidden = index !== chosen;
      tabs[index].setAttribute("aria-selected", String(index === chosen));
      tabs[index].tabIndex = index === chosen ? 0 : -1;
    });
  };
  const tabs = panels.map((panel, index) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.textContent = panel.dataset.tab;
    tab.id = panel.id + "-tab";
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", () => choose(index));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (index + step + panels.length) % panels.length;
      choose(next);
      tabs[next].focus();
    });
    list.append(tab);
    return tab;
  });
  group.prepend(list);
  group.classList.add("live");
  choose(0);
}

function value(row, column) {
  const cell = row.cells[column];
  const text = cell.dataset.value ?? cell.textContent.trim();
  const number = Number(text.replace(/[,%\s\u00a0]/g, ""));
  return text === "" || Number.isNaN(number) ? text : number;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b);
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if ("fixed" in head.dataset) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      const before = head.getAttribute("aria-sort");
      const descending = before ? before === "ascending" : numeric && column > 0;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => compare(value(a, column), value(b, column)) * (descending ? -1 : 1));
      table.tBodies[0].append(...rows);
    });
  });
}

document.querySelectorAll(".tabs").forEach(makeTabs);
document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
