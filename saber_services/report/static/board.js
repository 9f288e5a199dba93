// The leaderboard's switches. The page shows one setting without this.

function makeBoard(form) {
  const data = JSON.parse(document.getElementById("board-data").textContent);
  const table = document.getElementById("board");
  const told = document.getElementById("board-status");
  const rows = [...table.tBodies[0].rows];
  const fields = form.elements;
  const keys = ["rank", "name", "mean", "", "low", "letters", "type", "size", "queries", "failed"];

  const fill = (select, values, first) => {
    const options = first === undefined ? values : ["", ...values];
    options.forEach((text) => {
      const option = document.createElement("option");
      option.value = text;
      option.textContent = text === "" ? first : text === "all" ? "all domains" : text;
      select.append(option);
    });
  };
  const distinct = (name) => [...new Set(rows.map((row) => row.dataset[name]))].filter(Boolean).sort();
  fill(fields.setting, data.settings);
  fill(fields.domain, data.domains);
  fill(fields.type, distinct("type"), "any");
  fill(fields.family, distinct("family"), "any");
  fill(fields.size, ["up to 1 billion", "1 to 5 billion", "over 5 billion", "not stated"].filter((size) => distinct("sizeClass").includes(size)), "any");

  const show = (row, cell) => {
    const cells = row.cells;
    cells[0].textContent = cell[0];
    cells[2].textContent = cell[1].toFixed(4);
    const percent = (share) => (100 * share).toFixed(2) + "%";
    const drawing = cells[3].querySelector("svg");
    drawing.querySelector(".span").setAttribute("x1", percent(cell[2]));
    drawing.querySelector(".span").setAttribute("x2", percent(cell[3]));
    drawing.querySelector(".mean").setAttribute("cx", percent(cell[1]));
    drawing.setAttribute("aria-label", "mean " + cell[1].toFixed(4) + ", 95 % interval " + cell[2].toFixed(3) + " to " + cell[3].toFixed(3));
    cells[4].textContent = cell[2].toFixed(3) + "–" + cell[3].toFixed(3);
    cells[4].dataset.value = cell[2];
    cells[5].textContent = cell[6];
    cells[8].textContent = cell[4].toLocaleString("en");
    cells[9].textContent = cell[5].toLocaleString("en");
    cells[9].classList.toggle("bad", cell[5] > 0);
  };

  const apply = (state) => {
    const setting = Math.max(0, data.settings.indexOf(state.get("setting")));
    const domain = Math.max(0, data.domains.indexOf(state.get("domain")));
    const words = (state.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row) => {
      const cell = data.cells[setting][domain][Number(row.dataset.index)];
      const text = (row.dataset.name + " " + row.dataset.family + " " + row.dataset.type).toLowerCase();
      row.hidden = cell === null || !words.every((word) => text.includes(word)) ||
        [["type", "type"], ["family", "family"], ["size", "sizeClass"]].some(
          ([field, name]) => state.get(field) && state.get(field) !== row.dataset[name]);
      if (cell !== null) show(row, cell);
      shown += !row.hidden;
    });
    const column = Math.max(0, keys.indexOf(state.get("sort") || "rank"));
    sortTable(table, column, state.get("order") === "down");
    const where = data.domains[domain] === "all" ? "all domains" : data.domains[domain];
    table.caption.textContent = data.measures[setting] + " in the setting " + data.settings[setting] + ", " + where;
    document.getElementById("shown-texts").textContent = data.texts[setting];
    told.textContent = shown + " of " + rows.length + " retrievers, " + data.settings[setting] + ", " + where;
    for (const name of ["setting", "domain", "type", "family", "size", "q"]) {
      const text = state.get(name) || "";
      if (fields[name].value !== text) fields[name].value = text;
    }
    fields.setting.value = data.settings[setting];
    fields.domain.value = data.domains[domain];
  };

  const change = (name, text) => {
    const state = stateOf();
    if (text) state.set(name, text);
    else state.delete(name);
    keepState(state);
    return state;
  };
  makeSortable(table, (column, descending) => {
    change("order", descending ? "down" : "up");
    change("sort", keys[column]);
  });
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => apply(change(event.target.name, event.target.value)));
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    keepState(new URLSearchParams());
    apply(new URLSearchParams());
  });
  addEventListener("hashchange", () => apply(stateOf()));
  apply(stateOf());
}

document.querySelectorAll("#board-controls").forEach(makeBoard);
