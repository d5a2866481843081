// A reader chooses units and scales; what came of it replaces the page.
const numbers = (mark, ...names) => names.map((name) => Number(mark.getAttribute(name)));
const shift = (mark) => /translate\(([-\d.]+),([-\d.]+)\)/.exec(mark.getAttribute("transform")).slice(1).map(Number);
const onAxes = (mark) => !mark.closest("[data-axis]");
const places = (id) => all(`#${id} .wide :is(circle, path[transform], line)`).filter(onAxes).map((mark) => {
  if (mark.tagName === "circle") return numbers(mark, "cx", "cy");
  const [x, y] = shift(mark);
  return mark.tagName === "path" ? [x, y] : [x, y, x + numbers(mark, "x2")[0], y + numbers(mark, "y2")[0]];
});
const rows = (id) => [...(document.querySelector(`#${id} table`)?.rows ?? [])].map((row) => [...row.cells].map((cell) => cell.textContent));
const look = () => ({
  places: Object.fromEntries(MOVED.map((id) => [id, places(id)])),
  ticks: Object.fromEntries(MOVED.map((id) => [id, all(`#${id} .wide .redrawn text`).map((one) => one.textContent)])),
  ranking: rows("iozone-ranking"),
  headed: all("th[data-u]").map((head) => [head.dataset.u, head.innerText]),
  panels: all("#figure-iozone-bars .wide text[font-weight='600']").map((one) => one.textContent),
  curves: all("figure[id$=-curves] .wide [data-axis*=' ']").map((axis) => [...axis.querySelectorAll("text")].filter((one) => one.checkVisibility()).map((one) => one.textContent)),
  titles: all("figure[id$=-curves] .wide text[font-weight='600']").map((one) => one.textContent),
  notes: all(".note.redrawn").length,
});
const whole = () => all("table, figure:not(.recomputed)").map((one) => one.outerHTML).join("");
const choose = (name, value) => {
  const select = document.querySelector(`#view [name=${name}]`);
  if (!select) return;
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
};
const before = whole();
const seen = {};
choose("axis", "linear");
seen.linear = look();
choose("unit", "percent");
choose("rate", "MiB/s");
choose("time", "ms");
seen.chosen = look();
seen.address = location.hash;
all("#view button").at(-1).click();
seen.same = whole() === before;
document.body.textContent = JSON.stringify(seen);
