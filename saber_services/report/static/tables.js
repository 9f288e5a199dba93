"use strict";
// Pages are complete without this: it only adds tabs, sortable columns and a search.

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

function sortTable(table, column, descending) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(value(a, column), value(b, column)) * (descending ? -1 : 1));
  table.tBodies[0].append(...rows);
}

function makeSortable(table, told) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if ("fixed" in head.dataset) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const descending = before ? before === "ascending" : head.classList.contains("n") && column > 0;
      sortTable(table, column, descending);
      if (told) told(column, descending);
    });
  });
}

function stateOf() {
  return new URLSearchParams(location.hash.slice(1));
}

function keepState(state) {
  const text = state.toString();
  history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
}

function makeSearch(form) {
  const table = document.getElementById(form.dataset.table);
  const told = document.getElementById(form.dataset.status);
  const apply = () => {
    const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const domain = form.elements.domain ? form.elements.domain.value : "";
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      const own = (row.dataset.domains || "").split("|");
      row.hidden = !words.every((word) => text.includes(word)) || (domain !== "" && !own.includes(domain));
      shown += !row.hidden;
    }
    told.textContent = shown + " of " + table.tBodies[0].rows.length + " shown";
  };
  const read = () => {
    const state = stateOf();
    for (const field of ["q", "domain"]) {
      if (form.elements[field]) form.elements[field].value = state.get(field) || "";
    }
    apply();
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    const state = new URLSearchParams();
    new FormData(form).forEach((text, name) => text && state.set(name, text));
    keepState(state);
    apply();
  });
  addEventListener("hashchange", read);
  read();
}

document.querySelectorAll(".tabs").forEach(makeTabs);
document.querySelectorAll("table[data-sortable]").forEach((table) => makeSortable(table));
document.querySelectorAll("form[data-table]").forEach(makeSearch);
