// A view of the reader's own: another baseline, other weights, fewer systems. What it computes is
// the repeated confidence interval of tiltyard.stats.sequential, of results from elsewhere the one of
// tiltyard.analysis.collected.evidence, with the constants of the page's data; a test holds them
// against each other. Its state is in the address, so that it can be sent.

const NS = "http://www.w3.org/2000/svg";
const UNITS = { printed: "as printed", ratio: "ratio", percent: "percent" };
const isElsewhere = Boolean(data.quantiles?.length);
const AXES = { drawn: "as drawn", log: "log scale", linear: "linear scale" };
const named = (units) => ({ printed: "as printed", ...Object.fromEntries(Object.keys(units).map((name) => [name, name])) });
const CHOICES = { unit: UNITS, axis: AXES, rate: named(TARGETS.rate), time: named(TARGETS.time) };

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

// Of results from elsewhere: where a system's logarithms lie over the tests. Nothing tells how tests
// vary together: their errors count as fully dependent, so they add up.
function heapOf(system, weights) {
  const heap = { mean: 0, error: 0, n: Infinity, rounding: 0 };
  const total = weights.reduce((sum, one) => sum + one, 0);
  for (const [at, weight] of weights.entries()) {
    if (!weight) continue;
    if (!data.tests[at].heaps[system]) return null;
    const [mean, error, n, rounding] = data.tests[at].heaps[system];
    const share = weight / total;
    heap.mean += share * mean;
    heap.error = error === null || heap.error === null ? null : heap.error + share * error;
    heap.n = Math.min(heap.n, n);
    heap.rounding += share * rounding;
  }
  return heap;
}

// Student's t: a cubic through the four nearest of the page's logarithms, which are even in 1/freedom.
function quantileOf(freedom) {
  const told = data.quantiles;
  const at = (2 * (told.length - 1)) / freedom;
  const first = Math.min(Math.max(Math.floor(at) - 1, 0), told.length - 4);
  const places = [first, first + 1, first + 2, first + 3];
  const term = (one) => places.reduce((part, other) => (other === one ? part : (part * (at - other)) / (one - other)), told[one]);
  return Math.exp(places.reduce((sum, one) => sum + term(one), 0));
}

function welchInterval(a, b) {
  const [p, q] = [a.error ** 2, b.error ** 2];
  const freedom = (p + q) ** 2 / (p ** 2 / (a.n - 1) + q ** 2 / (b.n - 1));
  const variance = ((a.n - 1) * a.n * p + (b.n - 1) * b.n * q) / (a.n + b.n - 2);
  const error = Math.sqrt(Math.max(p + q, variance * (1 / a.n + 1 / b.n)));
  const reach = quantileOf(freedom) * error + a.rounding + b.rounding;
  return [a.mean - b.mean - reach, a.mean - b.mean + reach];
}

function heapContrast(system, against, weights) {
  const [a, b] = [heapOf(system, weights), heapOf(against, weights)];
  if (!a || !b) return { dots: [], blocks: 0, why: "not measured in all of these tests" };
  const found = { dots: [], blocks: Math.min(a.n, b.n), ratio: Math.exp(a.mean - b.mean) };
  if (a.error !== null && b.error !== null) {
    const [low, high] = welchInterval(a, b).map(Math.exp);
    return { ...found, low, high };
  }
  const lacks = found.blocks < 2
    ? "the source has no repetitions of both"
    : found.blocks < data.fewest
      ? `${found.blocks} values a side are fewer than ${data.fewest}`
      : "no spread of both is known";
  return { ...found, why: `no interval: ${lacks}` };
}

// One system against another: ratio, low and high where there is an interval, or why not.
function contrast(system, against, weights) {
  if (isElsewhere) return heapContrast(system, against, weights);
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
  const width = half > 0 ? 1 - Math.floor(Math.log10(half)) : half === null ? 2 : 4;
  let digits = Math.min(4, Math.max(0, width));
  if (ratio >= 10) digits = Math.min(digits, 1);
  else if (ratio > 0) digits = Math.max(digits, 1, -Math.floor(Math.log10(ratio)));
  return ratio.toFixed(digits);
}

function halfWidth({ low, high }) {
  if (low === undefined) return null;
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

const printers = { printed: ratioText, ratio: ratioText, percent: percentText };

// State: what is not as at first stands in the address, after "#view"

const unchanged = () => ({
  base: data.baseline, unit: "printed", axis: "drawn", rate: "printed", time: "printed", hide: [],
  weights: [...data.weights],
});

function stateOf(fragment) {
  const state = unchanged();
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!given.has("view")) return null;
  if (data.systems.includes(given.get("base"))) state.base = given.get("base");
  for (const [name, known] of Object.entries(CHOICES)) {
    if (Object.hasOwn(known, given.get(name) ?? "")) state[name] = given.get(name);
  }
  state.hide = given.getAll("hide").filter((name) => data.systems.includes(name));
  const weights = given.has("weights") ? given.get("weights").split(",").map(Number) : [];
  const fit = weights.every((one) => one >= 0 && Number.isFinite(one));
  if (fit && weights.length === state.weights.length) state.weights = weights;
  return state;
}

function fragmentOf(state) {
  const given = new URLSearchParams();
  const plain = unchanged();
  for (const name of ["base", ...Object.keys(CHOICES)]) {
    if (state[name] !== plain[name]) given.set(name, state[name]);
  }
  state.hide.forEach((name) => given.append("hide", name));
  if (state.weights.some((weight, at) => weight !== plain.weights[at])) given.set("weights", state.weights.join(","));
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
  if (isLog && high / low > 4) {
    const decades = [];
    for (let at = Math.floor(Math.log10(low)); 10 ** at <= high; at += 1) decades.push(at);
    const ladder = (parts) => decades.flatMap((at) => parts.map((part) => Number(`${part}e${at}`))).filter((tick) => tick >= low && tick <= high);
    return [[1, 2, 5], [1, 3]].map(ladder).find((ticks) => ticks.length <= 8) ?? ladder([1]);
  }
  const size = 10 ** Math.floor(Math.log10((high - low) / 6));
  const step = [1, 2, 5, 10].map((part) => part * size).find((one) => (high - low) / one <= 6);
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high; at += 1) ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

function pictureOf(lines, state) {
  const longest = Math.max(...lines.map((line) => line.name.length), 0);
  // As wide as the page, but that long names leave no plot.
  const room = Math.min(800, document.querySelector("header").clientWidth);
  const left = Math.max(room < 600 ? 60 : 150, 20 + LETTER_PX * longest);
  const [right, row, width] = [20, 44, Math.max(room, left + 220)];
  const height = lines.length * row + 34;
  const all = lines.flatMap((line) => [line.low, line.ratio, line.high, ...line.dots.map((dot) => Math.exp(dot.difference))]);
  const known = [1, ...all].filter(Number.isFinite);
  const [low, high] = [Math.min(...known) / 1.03, Math.max(...known) * 1.03];
  const isLog = state.axis !== "linear";
  const scaled = isLog ? Math.log : (value) => value;
  const x = (ratio) =>
    (left + ((scaled(ratio) - scaled(low)) / (scaled(high) - scaled(low))) * (width - left - right)).toFixed(1);
  const root = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  root.setAttribute("aria-label", lines.map((line) => line.said).join("; "));
  const text = (at, y, words, anchor) =>
    root.append(drawn("text", { x: at, y, "text-anchor": anchor, "font-size": 12, fill: "var(--soft)" }, words));
  for (const tick of ticksOf(low, high, isLog)) {
    root.append(drawn("path", { d: `M${x(tick)},0V${height - 30}`, stroke: tick === 1 ? "var(--soft)" : "var(--line)" }));
    text(x(tick), height - 14, state.unit !== "percent" ? String(Number(tick.toPrecision(3))) : percentText(tick, 0.05), "middle");
  }
  text(left, height - 1, `${state.base} = ${state.unit === "percent" ? "0 %" : "1"}, ${isLog ? AXES.log : AXES.linear}; right is better`, "start");
  lines.forEach((line, place) => {
    const y = place * row + row / 2;
    text(left - 10, y + 4, line.name, "end");
    if (line.low) {
      const end = Number(x(line.high)) - Number(x(line.low));
      root.append(drawn("rect", { x: x(line.low), y: y - 6, width: end, height: 12, fill: "var(--pale-1)" }));
    }
    if (line.ratio) {
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

// For all of the page; a unit only where something is printed in one of its kind.
function pageControls(state, changed) {
  const kinds = new Set([...Object.values(data.units)].map(([kind]) => kind));
  const printed = new Set(all("th[data-u]").map((head) => data.units[head.dataset.u]?.[0]));
  const box = made("div", { className: "tools choices" });
  const labels = { unit: "Relative values", axis: "Axis", rate: "Throughput", time: "Time" };
  for (const [name, options] of Object.entries(CHOICES)) {
    if (kinds.has(name) ? !printed.has(name) : name in TARGETS) continue;
    box.append(labelled(labels[name], choice(name, Object.entries(options), state, changed)));
  }
  return box;
}

function controls(state, changed) {
  const page = pageControls(state, changed);
  const reset = made("button", { type: "button", textContent: "Reset" });
  reset.addEventListener("click", () => changed(null));
  if (data.reason) return [page, reset];
  const box = made("div", { className: "tools choices" });
  box.append(labelled("Baseline", choice("base", data.systems.map((name) => [name, name]), state, changed)));
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
  return [page, box, shown, ...(data.tests.length > 1 ? [tests] : []), reset];
}

function linesOf(state) {
  const against = data.systems.indexOf(state.base);
  const lines = [];
  data.systems.forEach((name, system) => {
    if (name === state.base || state.hide.includes(name)) return;
    const found = contrast(system, against, state.weights);
    const half = halfWidth(found);
    const print = (ratio) => printers[state.unit](ratio, half);
    const interval = found.low ? `${print(found.low)} \u2026 ${print(found.high)}` : found.why;
    const words = [found.ratio ? print(found.ratio) : "\u2013", interval, String(found.blocks ?? found.dots.length)];
    lines.push({ ...found, name, words, said: `${name}: ${words[0]} (${words[1]})` });
  });
  return lines;
}

function tableOf(lines) {
  const head = ["System", "estimate", data.coverage, isElsewhere ? "values a side" : "blocks"];
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
  const unlike = new Set(counted.map((test) => `${test.unit} ${test.direction}`)).size > 1 ? " that measure different things" : "";
  return `Your view, no verdict: ${over}${unlike}, relative to ${state.base}; times as speeds, so more is better.`;
}

const NOTE =
  (isElsewhere
    ? "Recomputed on this page from the values of the source; the verdicts above stay what the report says. " +
      "Intervals: Welch\u2019s on the log scale, unpaired, simultaneous over all pairs of systems, the errors of the " +
      "tests taken as fully dependent; none where the source has no repetitions. "
    : "Recomputed on this page from the values of the blocks; the verdicts above stay what the study decided. " +
      "Intervals: repeated confidence intervals of the latest look, simultaneous over all pairs of systems. ") +
  "A view that was chosen after looking shows no new finding. Its address can be sent.";

const RECOMPUTED = ["baseline", "systems", "tests", "weights"];
const SHOWN =
  "Relative values, axis and units change the tables and pictures of all of the page; sentences stay as printed, and bars " +
  "start at zero, so they keep their linear axis.";

function addView() {
  const hasValues = document.querySelector("figure svg, .table th[data-u]");
  if (!data.systems || (data.reason && !hasValues)) return;
  const section = made("details", { id: "view", className: "view" });
  section.append(made("summary", { textContent: `Your view: ${["units", "axes", ...(data.reason ? [] : RECOMPUTED)].join(", ")}` }));
  document.querySelector("header").append(section);
  let state = stateOf(location.hash) || unchanged();
  const panel = made("form", { className: "panel" });
  panel.setAttribute("aria-label", "Your view");
  panel.addEventListener("submit", (event) => event.preventDefault());
  const told = made("p", { className: "lead" });
  told.setAttribute("role", "status");
  const shown = made("figure", { className: "recomputed" });
  const show = () => {
    showAll(state);
    if (data.reason) {
      told.textContent = `No mean is recomputed here: ${data.reason}.`;
      return;
    }
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
  const note = data.reason ? SHOWN : `${NOTE} ${SHOWN}`;
  section.append(panel, told, shown, made("p", { className: "note", textContent: note }));
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

addView();
