"use strict";
// Sorts tables by their headings, sorts and chooses panels, and spares the tab key stops that it
// does not need; opens for printing what is folded. The page is complete without it.
document.querySelectorAll("table.sortable").forEach((table) => {
  const body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const falling = heading.getAttribute("aria-sort") !== "descending" && heading.classList.contains("number")
        || heading.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
      const compare = heading.classList.contains("number")
        ? (one, other) => Number(key(one)) - Number(key(other))
        : (one, other) => key(one).localeCompare(key(other));
      const rows = [...body.rows].sort(compare);
      body.append(...(falling ? rows.reverse() : rows));
    });
  });
});
const stops = () => document.querySelectorAll(".scroll").forEach((box) => {
  // A table is a stop of the tab key only where it has to be scrolled.
  if (box.clientWidth) box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1;
});
addEventListener("resize", stops);
document.addEventListener("toggle", stops, true);
stops();
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:not([open])")];
  unfolded.forEach((one) => { one.open = true; });
});
addEventListener("afterprint", () => unfolded.splice(0).forEach((one) => { one.open = false; }));
document.querySelectorAll(".picker").forEach((picker) => {
  const list = document.getElementById(picker.dataset.panels);
  const status = picker.querySelector("output");
  const panels = [...list.children];
  const [sort, show, words] = ["sort", "show", "words"].map((name) => picker.querySelector(`[name=${name}]`));
  const number = (panel, name) => Number(panel.getAttribute(`data-${name}`));
  const choose = () => {
    const [name, way] = sort.value.split(" ");
    const sign = way === "falling" ? -1 : 1;
    panels.sort((one, other) => sign * (number(one, name) - number(other, name)) || number(one, "index") - number(other, "index"));
    list.append(...panels);
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = /^\d+$/.test(show.value) ? Number(show.value) : Infinity;
    let shown = 0;
    panels.forEach((panel) => {
      const title = panel.querySelector("h4").textContent.toLowerCase();
      const fits = wanted.every((word) => title.includes(word)) && (show.value !== "small" || panel.classList.contains("small"));
      panel.hidden = !(fits && left-- > 0);
      shown += panel.hidden ? 0 : 1;
    });
    status.textContent = `${shown} of ${panels.length} shown`;
  };
  [sort, show].forEach((one) => one.addEventListener("change", choose));
  words.addEventListener("input", choose);
  picker.hidden = false;
  choose();
});
