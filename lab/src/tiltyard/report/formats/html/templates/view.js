// A view of the reader's own: another baseline, other weights, fewer systems. What it computes is
// the repeated confidence interval of tiltyard.stats.sequential, with the constants of the page's
// data; a test holds both against each other. Its state is in the address, so that it can be sent.

const data = JSON.parse(document.getElementById("view-data")?.textContent || "{}");
const NS = "http://www.w3.org/2000/svg";
const UNITS = { ratio: "ratio", percent: "% better" };
const AXES = { log: "log scale", linear: "linear scale" };

// Statistics

// Weighted mean over the tests in one block: null where a trial is missing, "failed" where one is.
function meanOf(system, block, weights) {
  let sum = 0;
  let total = 0;
  let found = 0;
  for (const [at, weight] of weights.entries()) {
    if (!weight) continue;
    const value = data.tests[at].logs[system][block];
    if (value === null) return null;
    if (value === "failed") found = "failed";
    else sum += weight * value;
    total += weight;
  }
  return found === "failed" ? found : sum / total;
}

function walshInterval(differences, c) {
  const averages = [];
  differences.forEach((a, i) => {
    for (let j = i; j < differences.length; j += 1) averages.push((a + differences[j]) / 2);
  });
  averages.sort((a, b) => a - b);
  const last = averages.length - 1;
  const estimate = (averages[Math.floor(last / 2)] + averages[Math.ceil(last / 2)]) / 2;
  return [estimate, averages[c], averages[last - c]];
}

function tInterval(differences, t) {
  const n = differences.length;
  const mean = differences.reduce((sum, one) => sum + one, 0) / n;
  const squares = differences.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  const half = t * Math.sqrt(squares / (n - 1) / n);
  return [mean, mean - half, mean + half];
}

// One system against another: ratio, low and high where there is an interval, or why not.
function contrast(system, against, weights) {
  const dots = [];
  let failed = 0;
  data.blocks.forEach((number, block) => {
    const [a, b] = [meanOf(system, block, weights), meanOf(against, block, weights)];
    if (a === null || b === null) return;
    if (a === "failed" || b === "failed") failed += 1;
    else dots.push({ number, difference: a - b });
  });
  const cut = data.cuts[dots.length];
  if (failed > data.failed_max * (failed + dots.length)) return { dots, why: "too many failed blocks" };
  if (!cut) return { dots, why: "too few blocks for an interval" };
  const rested = dots.slice(0, cut.blocks).map((dot) => dot.difference);
  const bounds = cut.t ? tInterval(rested, cut.t) : walshInterval(rested, cut.c);
  const [ratio, low, high] = bounds.map(Math.exp);
  return { dots, blocks: cut.blocks, ratio, low, high };
}

// Figures as units.format_ratio and charts.figures print them

function ratioText(ratio, half) {
  const width = half > 0 ? 1 - Math.floor(Math.log10(half)) : 4;
  let digits = Math.min(4, Math.max(0, width));
  if (ratio >= 10) digits = Math.min(digits, 1);
  else if (ratio > 0) digits = Math.max(digits, 1, -Math.floor(Math.log10(ratio)));
  return ratio.toFixed(digits);
}

function halfWidth({ low, high }) {
  let half = (high - low) / 2;
  const nearest = low > 1 ? low : high;
  for (let finer = 0; finer < 2 && (low > 1 || high < 1); finer += 1) {
    if (Number(ratioText(nearest, half)) === 1) half /= 10;
  }
  return half;
}

function percentText(ratio, half) {
  const width = half > 0 ? 1 - Math.floor(Math.log10(100 * half)) : 1;
  const digits = Math.min(2, Math.max(0, width));
  const text = Math.abs(100 * (ratio - 1)).toFixed(digits);
  const sign = Number(text) === 0 ? "" : ratio > 1 ? "+" : "\u2212";
  return `${sign}${text}\u00a0%`;
}

const printers = { ratio: ratioText, percent: percentText };

// State: what is not as at first stands in the address, after "#view"

const unchanged = () => ({
  base: data.baseline, unit: "ratio", axis: "log", hide: [], weights: data.tests.map(() => 1),
});

function stateOf(fragment) {
  const state = unchanged();
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!given.has("view")) return null;
  if (data.systems.includes(given.get("base"))) state.base = given.get("base");
  if (given.get("unit") in UNITS) state.unit = given.get("unit");
  if (given.get("axis") in AXES) state.axis = given.get("axis");
  state.hide = given.getAll("hide").filter((name) => data.systems.includes(name));
  const weights = (given.get("weights") || "").split(",").map(Number);
  if (weights.length === state.weights.length && weights.every((one) => one >= 0)) state.weights = weights;
  return state;
}

function fragmentOf(state) {
  const given = new URLSearchParams();
  const plain = unchanged();
  for (const name of ["base", "unit", "axis"]) {
    if (state[name] !== plain[name]) given.set(name, state[name]);
  }
  state.hide.forEach((name) => given.append("hide", name));
  if (state.weights.some((weight) => weight !== 1)) given.set("weights", state.weights.join(","));
  return ["#view", given.toString()].filter(Boolean).join("&");
}

// Picture: dots are blocks, a stroke the estimate, a bar the interval

function drawn(tag, attributes, ...children) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function ticksOf(low, high, isLog) {
  const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000];
  const wide = isLog && high / low > 4;
  const ticks = wide ? steps : [];
  const step = steps.find((one) => (high - low) / one <= 6) || high - low;
  for (let at = Math.ceil(low / step); !wide && at * step <= high; at += 1) ticks.push(at * step);
  return ticks.filter((tick) => tick >= low && tick <= high);
}

function pictureOf(lines, state) {
  const [left, right, row, width] = [150, 20, 44, 800];
  const height = lines.length * row + 34;
  const all = lines.flatMap((line) => [line.low, line.high, ...line.dots.map((dot) => Math.exp(dot.difference))]);
  const known = [1, ...all].filter(Number.isFinite);
  const [low, high] = [Math.min(...known) / 1.03, Math.max(...known) * 1.03];
  const scaled = state.axis === "log" ? Math.log : (value) => value;
  const x = (ratio) =>
    (left + ((scaled(ratio) - scaled(low)) / (scaled(high) - scaled(low))) * (width - left - right)).toFixed(1);
  const root = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  root.setAttribute("aria-label", lines.map((line) => line.said).join("; "));
  const text = (at, y, words, anchor) =>
    root.append(drawn("text", { x: at, y, "text-anchor": anchor, "font-size": 12, fill: "var(--soft)" }, words));
  for (const tick of ticksOf(low, high, state.axis === "log")) {
    root.append(drawn("path", { d: `M${x(tick)},0V${height - 30}`, stroke: tick === 1 ? "var(--soft)" : "var(--line)" }));
    text(x(tick), height - 14, state.unit === "ratio" ? String(Number(tick.toPrecision(3))) : percentText(tick, 0.05), "middle");
  }
  text(left, height - 1, `${state.base} = ${state.unit === "ratio" ? "1" : "0 %"}, ${AXES[state.axis]}; right is better`, "start");
  lines.forEach((line, place) => {
    const y = place * row + row / 2;
    text(left - 10, y + 4, line.name, "end");
    if (line.ratio) {
      const end = Number(x(line.high)) - Number(x(line.low));
      root.append(drawn("rect", { x: x(line.low), y: y - 6, width: end, height: 12, fill: "var(--pale-1)" }));
      root.append(drawn("rect", { x: x(line.ratio) - 1.5, y: y - 10, width: 3, height: 20, fill: "var(--ink)" }));
    }
    line.dots.forEach((dot, at) => {
      const ratio = Math.exp(dot.difference);
      const told = `in block: ${dot.number}; system: ${line.name}; ratio: ${ratio.toPrecision(4)}`;
      const cy = (y - 15 + (30 * at) / Math.max(1, line.dots.length - 1)).toFixed(1);
      const title = drawn("title", {}, told);
      root.append(drawn("circle", { cx: x(ratio), cy, r: 3, fill: "var(--soft)" }, title));
    });
  });
  return root;
}

// Controls

function labelled(text, control) {
  return made("label", {}, `${text} `, control);
}

function choice(name, options, state, changed) {
  const select = made("select", { name });
  for (const [value, text] of options) select.append(made("option", { value, textContent: text }));
  select.value = state[name];
  select.addEventListener("change", () => changed({ [name]: select.value }));
  return select;
}

function controls(state, changed) {
  const box = made("div", { className: "tools choices" });
  box.append(
    labelled("Baseline", choice("base", data.systems.map((name) => [name, name]), state, changed)),
    labelled("Unit", choice("unit", Object.entries(UNITS), state, changed)),
    labelled("Axis", choice("axis", Object.entries(AXES), state, changed)),
  );
  const shown = made("fieldset", {}, made("legend", { textContent: "Systems" }));
  for (const name of data.systems) {
    const tick = made("input", { type: "checkbox", name: "system", value: name, checked: !state.hide.includes(name) });
    tick.addEventListener("change", () => {
      const others = state.hide.filter((hidden) => hidden !== name);
      changed({ hide: tick.checked ? others : [...others, name] });
    });
    shown.append(made("label", {}, tick, ` ${name}`));
  }
  const tests = made("fieldset", {}, made("legend", { textContent: "Weights of the tests (0 leaves one out)" }));
  data.tests.forEach((test, at) => {
    const weight = made("input", { type: "number", name: "weight", min: 0, step: "any", value: state.weights[at] });
    weight.addEventListener("input", () => {
      const given = weight.value.trim() === "" ? NaN : Number(weight.value);
      weight.setAttribute("aria-invalid", String(!(given >= 0)));
      if (given >= 0) changed({ weights: state.weights.with(at, given) });
    });
    tests.append(labelled(test.name, weight));
  });
  const reset = made("button", { type: "button", textContent: "Reset" });
  reset.addEventListener("click", () => changed(null));
  return [box, shown, ...(data.tests.length > 1 ? [tests] : []), reset];
}

function linesOf(state) {
  const against = data.systems.indexOf(state.base);
  const lines = [];
  data.systems.forEach((name, system) => {
    if (name === state.base || state.hide.includes(name)) return;
    const found = contrast(system, against, state.weights);
    const half = halfWidth(found);
    const print = (ratio) => printers[state.unit](ratio, half);
    const words = found.ratio
      ? [print(found.ratio), `${print(found.low)} \u2026 ${print(found.high)}`, String(found.blocks)]
      : ["\u2013", found.why, String(found.dots.length)];
    lines.push({ ...found, name, words, said: `${name}: ${words[0]} (${words[1]})` });
  });
  return lines;
}

function tableOf(lines) {
  const head = ["System", "estimate", `${data.coverage} CI`, "blocks"];
  const table = made("table", {}, made("thead", {}, made("tr", {})), made("tbody"));
  table.setAttribute("aria-label", "Your view");
  head.forEach((text, at) => {
    const cell = made("th", { textContent: text, scope: "col", className: at ? "" : "words" });
    table.tHead.rows[0].append(cell);
  });
  for (const { name, words } of lines) {
    const row = table.tBodies[0].insertRow();
    row.append(made("th", { textContent: name, scope: "row", className: "words" }));
    row.append(...words.map((text) => made("td", { textContent: text })));
  }
  return table;
}

function meaning(state) {
  const counted = data.tests.filter((_, at) => state.weights[at]);
  const over = counted.length > 1
    ? `${new Set(state.weights.filter(Boolean)).size > 1 ? "weighted " : ""}geometric mean of ${counted.length} of ${data.tests.length} tests`
    : counted[0].name;
  return `Your view, no verdict: ${over}, relative to ${state.base}; times as speeds, so more is better.`;
}

const NOTE =
  "Recomputed on this page from the values of the blocks; the verdicts above stay what the study decided. " +
  "Intervals: repeated confidence intervals of the latest look, simultaneous over all pairs of systems. " +
  "A view that was chosen after looking shows no new finding. Its address can be sent.";

function addView() {
  if (!data.systems) return;
  const section = made("details", { id: "view", className: "view" });
  section.append(made("summary", { textContent: "Your view: baseline, systems, tests, weights, unit, axis" }));
  document.querySelector("header").append(section);
  if (data.reason) {
    section.append(made("p", { className: "note", textContent: `Not available here: ${data.reason}.` }));
    return;
  }
  let state = stateOf(location.hash) || unchanged();
  const panel = made("form", { className: "panel" });
  panel.setAttribute("aria-label", "Your view");
  panel.addEventListener("submit", (event) => event.preventDefault());
  const told = made("p", { className: "lead" });
  told.setAttribute("role", "status");
  const shown = made("figure", { className: "recomputed" });
  const show = () => {
    if (!state.weights.some(Boolean)) {
      told.textContent = "No test has a weight: give one of them a weight above 0.";
      shown.replaceChildren();
      return;
    }
    const lines = linesOf(state);
    told.textContent = meaning(state);
    const box = made("div", { className: "scroll", tabIndex: 0 }, pictureOf(lines, state));
    shown.replaceChildren(tableOf(lines), box);
    all("svg", shown).forEach(makeTelling);
  };
  const changed = (change) => {
    Object.assign(state, change || unchanged());
    history.replaceState(null, "", fragmentOf(state));
    if (!change) panel.replaceChildren(...controls(state, changed));
    show();
  };
  const begin = () => {
    panel.replaceChildren(...controls(state, changed));
    show();
  };
  section.append(panel, told, shown, made("p", { className: "note", textContent: NOTE }));
  begin();
  const follow = () => {
    const given = stateOf(location.hash);
    if (!given) return;
    Object.assign(state, given);
    begin();
    section.open = true;
    section.scrollIntoView();
  };
  window.addEventListener("hashchange", follow);
  follow();
}

// From a point to its trials: the rows of the table of all trials, each with its file

function linkFiles() {
  const table = document.querySelector("#all-trials table");
  if (!table || !data.files) return;
  const inStudy = /\/report\/[^/]*$/.test(location.pathname);
  [...table.tBodies[0].rows].forEach((row, at) => {
    const file = `trials/${data.files[at]}`;
    row.id = `trial-${row.cells[0].textContent.trim()}`;
    row.dataset.file = file;
    if (!inStudy) row.title = file;
    else row.lastElementChild.append(" ", made("a", { href: `../${encodeURI(file)}`, textContent: "verbatim" }));
  });
}

function goToTrials(title) {
  const told = Object.fromEntries(title.split("; ").map((part) => part.split(": ")).map((part) => [part[0], part.at(-1)]));
  const place = Object.keys(told).find((name) => name.startsWith("place in the order"));
  const rows = all("#all-trials tbody tr[id]").filter((row) => {
    const [slot, block, system] = [...row.cells].map((cell) => valueOf(cell));
    if (place) return slot === Number(told[place].replaceAll(",", ""));
    return block === Number((told["in block"] || "").replaceAll(",", "")) && system === told.system;
  });
  if (!rows.length) return;
  all("#all-trials tr.picked").forEach((row) => row.classList.remove("picked"));
  for (let box = rows[0].closest("details"); box; box = box.parentNode.closest("details")) box.open = true;
  rows.forEach((row) => row.classList.add("picked"));
  rows[0].tabIndex = -1;
  rows[0].focus();
  rows[0].scrollIntoView({ block: "center" });
}

linkFiles();
addView();
