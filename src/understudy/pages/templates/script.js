"use strict";
// Sorts tables by their headings, sorts and chooses panels, shows the numbers of a mark that is
// pointed at or reached with the arrow keys, marks the section that is read, and spares the tab key
// stops that it does not need. The page is complete without it.
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
  const more = document.querySelector(`.more[data-panels="${picker.dataset.panels}"]`);
  if (!more) return;
  show.value = more.dataset.first;
  choose();
  more.hidden = false;
  more.addEventListener("click", () => {
    show.value = "all";
    choose();
    picker.hidden = false;
    more.hidden = true;
    sort.focus();
  });
});
const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "status");
tip.hidden = true;
document.body.append(tip);
let marked = null;
const hide = () => {
  marked?.classList.remove("at");
  marked = null;
  tip.hidden = true;
};
const point = (mark) => {
  hide();
  marked = mark;
  mark.classList.add("at");
  tip.textContent = mark.dataset.v;
  tip.style.left = "0";
  tip.hidden = false;
  const box = mark.getBoundingClientRect();
  const under = box.top < tip.offsetHeight + 8;
  const left = box.left + box.width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 4))}px`;
  tip.style.top = `${under ? box.bottom + 6 : box.top - tip.offsetHeight - 6}px`;
};
document.querySelectorAll("svg[role=img]").forEach((drawing) => {
  const marks = [...drawing.querySelectorAll(".v")];
  if (!marks.length) return;
  let at = 0;
  drawing.tabIndex = 0;
  drawing.addEventListener("pointerover", (event) => {
    const mark = event.target.closest(".v");
    if (mark) point(mark); else hide();
  });
  drawing.addEventListener("pointerleave", hide);
  drawing.addEventListener("focus", () => { if (drawing.matches(":focus-visible")) point(marks[at]); });
  drawing.addEventListener("blur", hide);
  const go = (from) => { if (from) location.hash = from.dataset.go; };
  drawing.addEventListener("click", (event) => go(event.target.closest("[data-go]")));
  drawing.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && marked) go(marked.querySelector("[data-go]"));
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -at, End: marks.length - 1 - at }[event.key];
    if (event.key === "Escape") hide();
    if (step === undefined) return;
    event.preventDefault();
    at = (at + step + marks.length) % marks.length;
    point(marks[at]);
  });
});
addEventListener("scroll", () => { if (marked) point(marked); }, { passive: true });
const links = new Map([...document.querySelectorAll("nav.contents a")].map((link) => [link.hash.slice(1), link]));
const watcher = new IntersectionObserver((entries) => entries.forEach((entry) => {
  if (!entry.isIntersecting) return;
  links.forEach((link, key) => { if (key === entry.target.id) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current"); });
}), { rootMargin: "-8% 0px -85% 0px" });
document.querySelectorAll("main > section[id]").forEach((section) => { if (links.has(section.id)) watcher.observe(section); });
