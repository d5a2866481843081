// Conveniences of a report's page. Everything can be read without them.
"use strict";

const ROWS_WORTH_A_SEARCH = 12;
const data = JSON.parse(document.getElementById("view-data")?.textContent || "{}");
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

function made(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// Tables

function valueOf(cell) {
  if (!cell) return null;
  if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
  const text = cell.firstChild ? cell.firstChild.textContent.trim() : "";
  const number = Number(text.replaceAll(",", "").replace("\u2212", "-"));
  if (text && !Number.isNaN(number)) return number;
  return text === "\u2013" || text === "" ? null : text;
}

function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

// Missing values stay at the end, whichever way the others go.
function sortRows(table, column, descending) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [valueOf(row.cells[column]), row]);
  const known = rows.filter(([value]) => value !== null);
  known.sort(([a], [b]) => (descending ? compared(b, a) : compared(a, b)));
  body.append(...[...known, ...rows.filter(([value]) => value === null)].map(([, row]) => row));
}

function makeSortable(table) {
  const heads = all("th[data-c]", table.tHead);
  for (const head of heads) {
    const button = made("button", { type: "button", className: "sort" }, ...head.childNodes);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sortRows(table, Number(head.dataset.c), descending);
    });
    head.append(button);
  }
}

function csvOf(table) {
  const heads = [...table.tHead.rows].flatMap((row) => [...row.cells]);
  const columns = heads.filter((head) => head.dataset.c !== undefined);
  columns.sort((a, b) => a.dataset.c - b.dataset.c);
  const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const body = [...table.tBodies].flatMap((part) => [...part.rows]).filter((row) => !row.hidden);
  const lines = body.map((row) => [...row.cells].map((cell) => String(valueOf(cell) ?? "")));
  const names = columns.map((head) => head.textContent.trim());
  return [names, ...lines].map((line) => line.map(quoted).join(",")).join("\n") + "\n";
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = made("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function addTools(table) {
  const rows = [...table.tBodies[0].rows];
  const button = made("button", { type: "button", textContent: "Copy as CSV" });
  button.addEventListener("click", async () => {
    await copy(csvOf(table));
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy as CSV"), 1500);
  });
  const tools = made("div", { className: "tools" });
  tools.append(moreCue(table.closest(".scroll")));
  if (rows.length > ROWS_WORTH_A_SEARCH) tools.append(...search(table, rows));
  tools.append(button);
  table.closest(".table").querySelector(".head").append(tools);
}

// Says that a table goes on beside what is seen of it.
function moreCue(box) {
  const cue = made("span", { className: "more", textContent: "more columns \u2192" });
  const look = () => (cue.hidden = box.scrollLeft + box.clientWidth >= box.scrollWidth - 1);
  new ResizeObserver(look).observe(box);
  box.addEventListener("scroll", look, { passive: true });
  look();
  return cue;
}

function search(table, rows) {
  const input = made("input", { type: "search", placeholder: `Search ${rows.length} rows` });
  input.setAttribute("aria-label", `Search the rows of: ${table.parentNode.getAttribute("aria-label")}`);
  const count = made("output");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const left = rows.filter((row) => !row.hidden).length;
    count.textContent = words.length ? `${left} of ${rows.length}` : "";
  });
  return [count, input];
}

// Systems: hidden in tables, faint in pictures: by their colour, and where a mark names its system.

function fade(name, faint) {
  for (const title of all("figure svg title")) {
    const named = title.textContent.split("; ").includes(`system: ${name}`);
    if (named) title.parentNode.classList.toggle("faded", faint);
  }
}

function addSystems() {
  const signs = new Map();
  for (const cell of all("tbody [class]")) {
    const sign = /(?:^| )s(\d+)(?: |$)/.exec(cell.className);
    if (sign && !signs.has(sign[1])) signs.set(sign[1], cell.firstChild.textContent);
  }
  if (signs.size < 3) return;
  const tools = made("div", { className: "tools systems-shown" }, "Systems shown:");
  tools.setAttribute("role", "group");
  for (const [number, name] of [...signs].sort(([a], [b]) => a - b)) {
    const button = made("button", { type: "button", className: `s${number}`, textContent: name });
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const hidden = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!hidden));
      document.body.classList.toggle(`hide-${number}`, hidden);
      fade(name, hidden);
      all(`tbody tr:has(> .s${number})`).forEach((row) => (row.hidden = hidden));
    });
    tools.append(button);
  }
  document.querySelector("header").append(tools);
}

// Pictures: what a mark stands for, under the pointer or by the arrow keys.

function makeTelling(picture) {
  const marks = all("title", picture).map((title) => title.parentNode);
  if (!marks.length) return;
  const told = made("output", { className: "told" });
  picture.after(told);
  picture.tabIndex = 0;
  let at = -1;
  const tell = (place) => {
    marks[at]?.classList.remove("picked");
    at = place;
    marks[at]?.classList.add("picked");
    told.textContent = marks[at]?.firstElementChild.textContent ?? "";
  };
  picture.addEventListener("pointerover", (event) => {
    const place = marks.indexOf(event.target);
    if (place >= 0) tell(place);
  });
  picture.addEventListener("pointerleave", () => tell(-1));
  picture.addEventListener("blur", () => tell(-1));
  picture.addEventListener("click", (event) => {
    if (marks.includes(event.target)) goToTrials(event.target.firstElementChild.textContent, picture);
  });
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && at >= 0) goToTrials(told.textContent, picture);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    tell((at + step + marks.length) % marks.length);
  });
}

// From a point to its trials: the rows of the table of all trials, each with its file

function linkFiles() {
  const table = document.querySelector("#all-trials table");
  if (!table || !data.files) return;
  const inStudy = /\/report\/[^/]*$/.test(location.pathname);
  [...table.tBodies[0].rows].forEach((row, at) => {
    const file = data.files[at];
    row.id = `trial-${row.cells[0].textContent.trim()}`;
    if (!file) return;
    row.dataset.file = file;
    if (!inStudy) row.title = file;
    else row.lastElementChild.append(" ", made("a", { href: `../${encodeURI(file)}`, textContent: "verbatim" }));
  });
}

// Of one point, or of all that a mark is of: block, system and workload, as far as it says.
function goToTrials(title, picture) {
  const told = Object.fromEntries(title.split("; ").map((part) => part.split(": ")).map((part) => [part[0], part.at(-1)]));
  const place = Object.keys(told).find((name) => name.startsWith("place in the order"));
  const number = (name) => Number(told[name].replaceAll(",", ""));
  const topic = picture.closest("figure").dataset.workload || told.test;
  const rows = all("#all-trials tbody tr[id]").filter((row) => {
    const [slot, block, system, workload] = [...row.cells].map((cell) => valueOf(cell));
    if (place) return slot === number(place);
    if (system !== told.system || (told["in block"] && block !== number("in block"))) return false;
    return !topic || topic === workload || topic.startsWith(`${workload}, `);
  });
  if (!rows.length) return;
  all("#all-trials tr.picked").forEach((row) => row.classList.remove("picked"));
  for (let box = rows[0].closest("details"); box; box = box.parentNode.closest("details")) box.open = true;
  rows.forEach((row) => row.classList.add("picked"));
  rows[0].tabIndex = -1;
  rows[0].focus();
  rows[0].scrollIntoView({ block: "center" });
}

// Day and night

function addThemes() {
  const root = document.documentElement;
  const choice = made("select");
  choice.setAttribute("aria-label", "Colours");
  for (const [value, text] of [["", "Theme: auto"], ["light", "Theme: light"], ["dark", "Theme: dark"]]) {
    choice.append(made("option", { value, textContent: text }));
  }
  choice.addEventListener("change", () => {
    if (choice.value) root.dataset.theme = choice.value;
    else delete root.dataset.theme;
  });
  document.querySelector("main").append(made("div", { className: "tools" }, choice));
}

for (const table of all("table")) {
  makeSortable(table);
  addTools(table);
}
addSystems();
all("figure svg").forEach(makeTelling);
addThemes();
linkFiles();
