// What a reader does with the demonstration's page; what came of it replaces the page.
const found = {};
const press = (element, name, key) =>
  element.dispatchEvent(
    Object.assign(new Event(name, { bubbles: true, cancelable: true }), { key }),
  );
const table = document.querySelector("#postmark-ranking table");
const texts = (table, column) =>
  [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[column].innerText);
const column = (table, head) =>
  [...table.tHead.querySelectorAll("th[data-c]")].find((th) => th.textContent.includes(head));
const value = column(table, "baseline × ratio");

value.querySelector("button").click();
found.ascending = [value.getAttribute("aria-sort"), texts(table, value.dataset.c)];
value.querySelector("button").click();
found.descending = [value.getAttribute("aria-sort"), texts(table, value.dataset.c)];
const system = column(table, "System");
system.querySelector("button").click();
found.by_name = texts(table, system.dataset.c);

document.querySelectorAll("details").forEach((part) => (part.open = true));
const trials = document.querySelector("#all-trials");
const took = column(trials.querySelector("table"), "relative");
took.querySelector("button").click();
found.relative = texts(trials.querySelector("table"), took.dataset.c);
const input = trials.querySelector("input[type=search]");
input.value = "postmark btrfs";
press(input, "input");
found.searched = trials.querySelectorAll("tbody tr:not([hidden])").length;
found.counted = trials.querySelector("output").textContent;
input.value = "";
press(input, "input");

found.csv = csvOf(table);
const [first] = document.querySelectorAll(".systems-shown button");
first.click();
found.hidden = [
  first.textContent,
  first.getAttribute("aria-pressed"),
  texts(table, system.dataset.c),
];
const mark = document.querySelector("svg [fill='var(--series-7)']");
found.faint = getComputedStyle(mark).opacity;
first.click();
found.shown_again = texts(table, system.dataset.c).length;

const boxes = [...document.querySelectorAll(".scroll")].filter((box) => box.querySelector(".sort"));
const widths = () => boxes.map((box) => box.scrollWidth - box.clientWidth);
const wider = widths();
const plain = document.head.appendChild(document.createElement("style"));
plain.textContent = ".sort::after { display: none }";
found.widened_by_signs = widths().filter((width, place) => width !== wider[place]).length;
found.sortable = boxes.length;
plain.remove();

const picture = document.querySelector("figure .wide svg");
picture.focus();
press(picture, "keydown", "ArrowRight");
const told = picture.nextElementSibling;
found.told = [told.tagName, told.textContent, document.activeElement === picture];

const colours = document.querySelector("main > .tools select");
colours.value = "dark";
press(colours, "change");
found.paper = getComputedStyle(document.documentElement).backgroundColor;
found.typeface = getComputedStyle(document.body).fontFamily;
document.fonts.load("600 16px 'Tiltyard Sans'").then((faces) => {
  found.faces = faces.length;
  document.body.textContent = JSON.stringify(found);
});
