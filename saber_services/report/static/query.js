// Shows one retriever's rank of every candidate, from the data in the page.

function makeRanks(form) {
  const data = JSON.parse(document.getElementById("rank-data").textContent);
  const table = document.getElementById("candidates");
  const rows = [...table.tBodies[0].rows];
  const head = document.createElement("th");
  head.scope = "col";
  head.className = "n";
  head.textContent = "Rank";
  const cells = rows.map((row) => {
    const cell = document.createElement("td");
    cell.className = "n";
    row.append(cell);
    return cell;
  });
  table.tHead.rows[0].append(head);
  const fill = (select, values) => values.forEach((text) => {
    const option = document.createElement("option");
    option.value = option.textContent = text;
    select.append(option);
  });
  fill(form.elements.ranks, data.names);
  fill(form.elements.setting, data.settings);
  const apply = (state) => {
    const name = Math.max(0, data.names.indexOf(state.get("ranks")));
    const setting = Math.max(0, data.settings.indexOf(state.get("setting")));
    const coded = data.ranks[name][setting];
    rows.forEach((row, index) => {
      const place = Number(row.dataset.place) - 1;
      const rank = parseInt(coded.slice(place * data.width, (place + 1) * data.width), 36);
      cells[index].textContent = rank || "–";
      cells[index].dataset.value = rank || "";
    });
    const label = head.querySelector("button") || head;
    label.textContent = "Rank by " + data.names[name];
    form.elements.ranks.value = data.names[name];
    form.elements.setting.value = data.settings[setting];
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    const state = new URLSearchParams(new FormData(form));
    keepState(state);
    apply(state);
  });
  addEventListener("hashchange", () => apply(stateOf()));
  apply(stateOf());
}

document.querySelectorAll("#rank-controls").forEach(makeRanks);
document.querySelectorAll("#candidates").forEach((table) => makeSortable(table));
