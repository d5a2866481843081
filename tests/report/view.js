// Views of the reader's own, by address and by keyboard; what came of it replaces the page.
const seen = {};
const shown = () => ({
  rows: [...document.querySelectorAll("#view tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent)),
  said: document.querySelector("#view [role=status]").textContent,
  dots: document.querySelectorAll("#view circle").length,
  picture: document.querySelector("#view svg")?.getAttribute("aria-label"),
  axis: [...document.querySelectorAll("#view svg text")].map((text) => text.textContent).join(" "),
});
const sent = async (fragment) => {
  const moved = new Promise((done) => addEventListener("hashchange", done, { once: true }));
  location.hash = fragment;
  await moved;
  return shown();
};
const typed = (control, value, event) => {
  control.value = value;
  control.dispatchEvent(new Event(event, { bubbles: true }));
};
const control = (name, at = 0) => document.querySelectorAll(`#view [name=${name}]`)[at];

async function look() {
  seen.closed = !document.querySelector("#view").open;
  seen.first = shown();
  seen.sent = {};
  for (const fragment of FRAGMENTS) seen.sent[fragment] = await sent(fragment);
  seen.opened = document.querySelector("#view").open;

  await sent("#view");
  typed(control("base"), "xfs", "change");
  typed(control("unit"), "percent", "change");
  typed(control("axis"), "linear", "change");
  typed(control("weight", 1), "0", "input");
  typed(control("weight", 2), "2.5", "input");
  seen.address = location.hash;
  seen.used = shown();
  seen.again = await sent("#view").then(() => sent(seen.address));
  typed(control("weight", 1), "", "input");
  seen.invalid = control("weight", 1).getAttribute("aria-invalid");
  control("system").click();
  seen.hidden = shown().rows.map((row) => row[0]);
  document.querySelectorAll("#view [name=weight]").forEach((one) => typed(one, "0", "input"));
  seen.none = shown();
  [...document.querySelectorAll("#view button")].at(-1).click();
  seen.reset = [location.hash, shown()];
  seen.reached = [...document.querySelectorAll("#view :is(select, input, button, summary)")].every((one) => {
    one.focus();
    return document.activeElement === one && getComputedStyle(one).display !== "none";
  });
  seen.names = [...document.querySelectorAll("#view :is(select, input)")].map((one) => one.labels[0]?.innerText.trim());

  const picture = document.querySelector("#figure-postmark-order svg");
  const press = (key) => picture.dispatchEvent(Object.assign(new Event("keydown"), { key }));
  press("ArrowRight");
  press("Enter");
  const picked = () => [...document.querySelectorAll("tr.picked")].map((row) => [row.innerText.split(/\s+/).slice(0, 4).join(" "), row.dataset.file]);
  seen.order = [document.activeElement.className, picked()];
  const dot = [...document.querySelectorAll("#view circle")].at(-1);
  dot.dispatchEvent(new Event("click", { bubbles: true }));
  seen.block = [dot.textContent, picked()];
  seen.points = [...document.querySelectorAll("figure[id] .wide svg")].map((svg) => {
    const mark = [...svg.querySelectorAll("title")].filter((one) => one.textContent.includes("system: ")).at(-1);
    document.querySelectorAll("tr.picked").forEach((row) => row.classList.remove("picked"));
    mark?.parentNode.dispatchEvent(new Event("click", { bubbles: true }));
    return [svg.closest("figure").id, mark?.textContent, picked().map(([, file]) => file)];
  });
  document.body.textContent = JSON.stringify(seen);
}
look().catch((error) => (document.body.textContent = JSON.stringify(String(error.stack))));
