// How all of the page is shown: its tables in other units, its pictures on other scales. Nothing is
// estimated here. A cell has its number. An axis says its scale and its ends (data-axis), so whatever
// stands on it has one place on any other scale, and a bar has its value (data-v). What was printed is
// kept, and is put back before each change.

const TARGETS = {
  rate: { "B/s": 1, "MB/s": 1e6, "MiB/s": 2 ** 20, "Gbit/s": 1.25e8 },
  time: { s: 1, ms: 1e-3, "\u00b5s": 1e-6 },
};
const THIN_PX = 4;
const NAME_PX = 15;
const DROP_PX = 4;
const LETTER_PX = 6.5;
const NUMBER = /\d[\d,]*(?:\.\d+)?/g;
const RATIOS = /^(ratio|interval)$|^relative to |\bCI\b/;

const printedTexts = new Map();
const printedAttributes = new Map();

function say(node, text) {
  if (!printedTexts.has(node)) printedTexts.set(node, node.data);
  node.data = text;
}

function put(element, name, value) {
  if (!printedAttributes.has(element)) printedAttributes.set(element, new Map());
  const own = printedAttributes.get(element);
  if (!own.has(name)) own.set(name, element.getAttribute(name));
  element.setAttribute(name, value);
}

function putBack() {
  for (const [node, text] of printedTexts) node.data = text;
  for (const [element, own] of printedAttributes) {
    for (const [name, value] of own) {
      if (value === null) element.removeAttribute(name);
      else element.setAttribute(name, value);
    }
  }
  printedTexts.clear();
  printedAttributes.clear();
  all(".redrawn").forEach((one) => one.remove());
}

function textsIn(root) {
  const found = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) found.push(walker.currentNode);
  return found;
}

// Numbers

function rounded(value, digits) {
  if (value === 0) return "0";
  const decimals = digits - 1 - Math.floor(Math.log10(Math.abs(value)));
  const whole = Math.round(value * 10 ** decimals) / 10 ** decimals;
  const shown = Math.max(0, decimals);
  return whole.toLocaleString("en", { minimumFractionDigits: shown, maximumFractionDigits: shown });
}

// As many digits as the text has: zeros before the first of them, or at the end of a whole number, are none.
function digitsOf(text) {
  const bare = text.replaceAll(",", "").replace(/^[0.]+/, "");
  return bare.includes(".") || text.startsWith("0.") ? bare.replace(".", "").length : Math.max(3, bare.replace(/0+$/, "").length);
}

const numberOf = (text) => Number(text.replaceAll(",", ""));

// In another unit; from the number behind the text where that has more digits.
function converted(text, times, exact) {
  const own = text.match(NUMBER) || [];
  return text.replace(NUMBER, (one) => {
    const digits = digitsOf(one);
    const value = own.length === 1 && exact !== undefined && digits < 6 ? Math.abs(Number(exact)) : numberOf(one);
    return rounded(value * times, digits);
  });
}

function asPercent(text) {
  return text.replace(NUMBER, (one) => {
    const decimals = Math.max(0, (one.split(".")[1] || "").length - 2);
    const percent = (100 * (numberOf(one) - 1)).toFixed(decimals);
    const sign = Number(percent) === 0 ? "" : percent > 0 ? "+" : "\u2212";
    const size = Math.abs(percent).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    return `${sign}${size}\u00a0%`;
  });
}

// What a printed unit is to be, and how many of those one of it is.
function targetOf(unit, state) {
  const [kind, factor] = data.units?.[unit] ?? [];
  const name = kind && state[kind];
  return !name || name === "printed" ? null : { unit, name, times: factor / TARGETS[kind][name] };
}

function renamed(node, targets) {
  let text = node.data;
  for (const { unit, name } of targets) {
    const there = new RegExp(`(^|[ ,])${RegExp.escape?.(unit) ?? unit}(?=$|[ ,;(])`, "g");
    text = text.replace(there, (_, before) => before + name);
  }
  if (text !== node.data) say(node, text);
}

// Tables

function showTable(table, state) {
  const targets = new Map();
  for (const head of all("th[data-c]", table.tHead)) {
    const target = targetOf(head.dataset.u, state);
    const isRatio = state.unit === "percent" && !head.dataset.u && RATIOS.test(head.textContent.trim());
    const change = target ? (text, exact) => converted(text, target.times, exact) : isRatio ? asPercent : null;
    if (target) targets.set(target.unit, target);
    if (!change) continue;
    for (const row of [...table.tBodies].flatMap((body) => [...body.rows])) showCell(row.cells[head.dataset.c], change, target);
  }
  const title = table.closest(".table")?.querySelector(".title");
  for (const node of [...textsIn(table.tHead), ...(title ? textsIn(title) : [])]) renamed(node, [...targets.values()]);
}

function showCell(cell, change, target) {
  const node = cell?.firstChild;
  if (node?.nodeType !== Node.TEXT_NODE || !/\d/.test(node.data)) return;
  const value = valueOf(cell);
  say(node, change(node.data, cell.dataset.v));
  if (typeof value === "number") put(cell, "data-v", target ? value * target.times : value);
  const small = cell.querySelector("small[data-v]");
  if (small && target) say(small.firstChild, change(small.textContent, small.dataset.v));
}

// Pictures: whatever stands on an axis, moved along it

function moved(element, side, f) {
  const at = side === "X" ? 0 : 1;
  const shift = /translate\((-?[\d.]+),(-?[\d.]+)\)/.exec(element.getAttribute("transform") || "");
  if (element.tagName === "circle") {
    const name = at ? "cy" : "cx";
    put(element, name, f(Number(element.getAttribute(name))));
  } else if (shift) {
    const place = [Number(shift[1]), Number(shift[2])];
    const far = at ? "y2" : "x2";
    if (element.hasAttribute(far)) put(element, far, f(place[at] + Number(element.getAttribute(far))) - f(place[at]));
    const drop = at && element.tagName === "text" ? DROP_PX : 0;
    place[at] = f(place[at] - drop) + drop;
    put(element, "transform", element.getAttribute("transform").replace(shift[0], `translate(${place})`));
  } else if (element.tagName === "path") {
    put(element, "d", pathMoved(element.getAttribute("d"), at, f));
  }
}

function pathMoved(d, at, f) {
  const bar = /^M(-?[\d.]+),(-?[\d.]+)h(-?[\d.]+)v(-?[\d.]+)h-?[\d.]+Z$/.exec(d)?.slice(1).map(Number);
  if (bar && Math.abs(bar[2 + at]) <= THIN_PX) {
    bar[at] = f(bar[at] + bar[2 + at] / 2) - bar[2 + at] / 2;
    return `M${bar[0]},${bar[1]}h${bar[2]}v${bar[3]}h${-bar[2]}Z`;
  }
  const now = [0, 0];
  const parts = [];
  for (const [, command, rest] of d.matchAll(/([A-Za-z])([^A-Za-z]*)/g)) {
    const numbers = (rest.match(/-?\d*\.?\d+/g) || []).map(Number);
    if ("MLC".includes(command)) {
      now.splice(0, 2, ...numbers.slice(-2));
      parts.push(command + numbers.map((one, place) => (place % 2 === at ? f(one) : one)));
    } else if ("hvHV".includes(command)) {
      const own = "hH".includes(command) ? 0 : 1;
      now[own] = (command < "a" ? 0 : now[own]) + numbers[0];
      parts.push((own ? "V" : "H") + (own === at ? f(now[own]) : now[own]));
    } else if (command === "Z") parts.push("Z");
    else return d;
  }
  return parts.join("");
}

const leaves = (groups) => groups.flatMap((group) => all("circle, line, path, text", group));
const placeOf = (text) => /translate\((-?[\d.]+),(-?[\d.]+)\)/.exec(text.getAttribute("transform")).slice(1).map(Number);

// Names beside the ends of lines keep a distance from each other, and their signs stay with them.
function spreadNames(groups, width, height) {
  const named = leaves(groups).filter((one) => one.tagName === "text" && placeOf(one)[0] > width);
  named.sort((a, b) => placeOf(a)[1] - placeOf(b)[1]);
  const heights = named.map((one) => placeOf(one)[1]);
  heights.forEach((_, at) => { if (at) heights[at] = Math.max(heights[at], heights[at - 1] + NAME_PX); });
  for (let at = heights.length - 1; at >= 0; at -= 1) {
    heights[at] = Math.min(heights[at], height + DROP_PX - NAME_PX * (heights.length - 1 - at));
  }
  const signs = leaves(groups).filter((one) => one.tagName !== "text" && centreOf(one)[0] > width);
  signs.sort((a, b) => centreOf(a)[1] - centreOf(b)[1]);
  for (const marks of [named, signs]) marks.forEach((one, at) => moved(one, "Y", () => heights[at] - DROP_PX));
}

function centreOf(mark) {
  if (mark.tagName === "circle") return ["cx", "cy"].map((name) => Number(mark.getAttribute(name)));
  return mark.hasAttribute("transform") ? placeOf(mark) : [-Infinity, 0];
}

// The unit of an axis stands in the title of its panel, which may have been changed for another axis.
function panelOf(axis, picture) {
  for (let box = axis.parentNode; ; box = box.parentNode) {
    const heads = textsIn(box).filter((node) => node.parentNode.getAttribute?.("font-weight") === "600");
    const words = heads.map((node) => printedTexts.get(node) ?? node.data);
    const units = Object.keys(data.units).filter((unit) => words.some((head) => new RegExp(`, ${unit}($|[ ,;(])`).test(head)));
    if (units.length || box === picture) return { box, heads, unit: units.length === 1 ? units[0] : null };
  }
}

function showAxis(axis, picture, state) {
  const [side, kind, ...ends] = axis.dataset.axis.split(" ");
  const [low, high] = ends.map(Number);
  const labels = all("g", axis).find((group) => group.firstElementChild?.tagName === "text");
  const box = /^M0,0h([\d.]+)v([\d.]+)/.exec(axis.parentNode.parentNode.firstElementChild?.getAttribute("d") || "");
  if (!labels || !box) return [];
  const isRatio = all("text", labels).some((one) => one.textContent.endsWith("\u00d7"));
  const panel = isRatio ? { box: axis, heads: [], unit: null } : panelOf(axis, picture);
  const isValue = kind === "log" || low === 0;
  const target = isValue ? targetOf(panel.unit, state) : null;
  const groups = [...axis.parentNode.children].filter((one) => one.tagName === "g" && !("axis" in one.dataset));
  const hasLog = kind === "log" || (side === "Y" && isValue && panel.unit);
  const shownKind = state.axis !== "drawn" && hasLog && leaves(groups).length ? state.axis : kind;
  const percent = isRatio && state.unit === "percent";
  if (shownKind === kind && !target && !percent) return [];
  const length = Number(box[side === "X" ? 1 : 2]);
  const scale = scaleOf({ side, kind, low, high, length, shownKind, isRatio, groups });
  if (shownKind !== kind) {
    leaves(groups).forEach((one) => moved(one, side, scale.move));
    if (side === "Y") spreadNames(groups, Number(box[1]), length);
    for (const node of textsIn(isRatio ? axis : panel.box)) {
      if (node.data.includes(`${kind} scale`)) say(node, node.data.replace(`${kind} scale`, `${shownKind} scale`));
    }
  }
  redrawTicks(axis, labels, side, scale, { times: target?.times ?? 1, isRatio, percent, isLog: shownKind === "log" });
  if (target) {
    panel.heads.forEach((node) => renamed(node, [target]));
    showBars(panel.box, target);
  }
  return [shownKind !== kind && `on a ${shownKind} scale`, target && `in ${target.name}`].filter(Boolean);
}

// From a place on the axis to its value, and to the value's place on the other scale.
function scaleOf({ side, kind, low, high, length, shownKind, isRatio, groups }) {
  const share = (place) => (side === "X" ? place / length : 1 - place / length);
  const valueAt = (place) => (kind === "log" ? low * (high / low) ** share(place) : low + (high - low) * share(place));
  let first = low;
  if (shownKind === "linear" && kind === "log" && !isRatio) first = 0;
  if (shownKind === "log" && low <= 0) {
    const seen = [];
    const note = (place) => { seen.push(place); return place; };
    leaves(groups).forEach((one) => moved(one, side, note));
    const least = Math.min(...seen.filter((place) => place >= 0 && place < length).map(valueAt).filter((value) => value > 0));
    first = least / (high / least) ** 0.04;
  }
  const along = (value) => (shownKind === "log" ? Math.log(value / first) / Math.log(high / first) : (value - first) / (high - first));
  const placeAt = (value) => {
    const part = Math.max(0, along(Math.max(value, Number.MIN_VALUE)));
    return Number((length * (side === "X" ? part : 1 - part)).toFixed(2));
  };
  return { first, high, placeAt, move: (place) => (place < 0 || place > length ? place : placeAt(valueAt(place))) };
}

function redrawTicks(axis, labels, side, scale, { times, isRatio, percent, isLog }) {
  const ticks = ticksOf(scale.first * times, scale.high * times, isLog).map((tick) => [scale.placeAt(tick / times), tick]);
  const words = (tick) => {
    const number = (one) => Number(one.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
    if (!isRatio) return number(tick);
    if (!percent) return `${number(tick)}\u00d7`;
    return `${tick > 1 ? "+" : tick < 1 ? "\u2212" : ""}${number(Math.abs(100 * (tick - 1)))}\u00a0%`;
  };
  const [text] = labels.children;
  const fixed = placeOf(text);
  const shown = labels.cloneNode();
  let reached = -Infinity;
  for (const [place, tick] of ticks) {
    const label = text.cloneNode();
    label.textContent = words(tick);
    label.removeAttribute("opacity");
    const half = (label.textContent.length * LETTER_PX) / 2;
    if (side === "X" && place - half < reached) continue;
    reached = place + half + LETTER_PX;
    label.setAttribute("transform", `translate(${side === "X" ? [place, fixed[1]] : [fixed[0], place + DROP_PX]})`);
    shown.append(label);
  }
  replaced(labels, shown);
  const across = side === "X" ? "x2" : "y2";
  const others = [...axis.parentNode.children].filter((one) => one.dataset.axis === "");
  for (const group of [axis, ...others].flatMap((one) => all("g", one))) {
    const line = group.firstElementChild;
    if (line?.tagName !== "line" || line.getAttribute(across) !== "0") continue;
    const lines = group.cloneNode();
    for (const [place] of ticks) {
      const own = line.cloneNode();
      const [x, y] = placeOf(line);
      own.setAttribute("transform", `translate(${side === "X" ? [place, y] : [x, place]})`);
      lines.append(own);
    }
    replaced(group, lines);
  }
}

function replaced(group, other) {
  put(group, "display", "none");
  other.removeAttribute("display");
  other.classList.add("redrawn");
  group.after(other);
}

// The numbers beside bars, each from its own bar.
function showBars(box, target) {
  const panels = new Set(all("[data-v]", box).map((bar) => bar.parentNode.parentNode));
  for (const panel of panels) {
    const bars = all("[data-v]", panel);
    const told = all("text", panel).filter((text) => !text.closest("[data-axis]") && /^\d/.test(text.textContent));
    told.forEach((text, at) => {
      const [number] = text.textContent.match(NUMBER);
      const exact = told.length === bars.length ? bars[at].dataset.v : undefined;
      say(text.firstChild, converted(number, target.times, exact) + text.textContent.slice(number.length));
    });
  }
}

function showAll(state) {
  putBack();
  all(".table table").forEach((table) => showTable(table, state));
  for (const picture of all("figure:not(.recomputed) svg")) {
    const changes = all("[data-axis]", picture).filter((axis) => axis.dataset.axis.includes(" ")).flatMap((axis) => showAxis(axis, picture, state));
    if (!changes.length) continue;
    const how = [...new Set(changes)].join(", ");
    const text = `Shown ${how}, as chosen under \u201cYour view\u201d; what the marks tell and all sentences are as printed.`;
    picture.parentNode.append(made("p", { className: "note redrawn", textContent: text }));
  }
}
