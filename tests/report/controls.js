// How legible each control of a page and the text around it is, whether two of them overlap or stick
// out, and what a key finds: as JSON in the body.

const channels = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);

function luminance([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map((one) => {
    const share = one / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrastOf(one, other) {
  const [light, dark] = [luminance(channels(one)), luminance(channels(other))].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function groundOf(element) {
  for (let box = element; box; box = box.parentElement) {
    const [, , , opaque = 1] = channels(getComputedStyle(box).backgroundColor);
    if (opaque === 1) return getComputedStyle(box).backgroundColor;
  }
  return "rgb(255, 255, 255)";
}

const nameOf = (element) => `${element.tagName} ${element.className} ${element.textContent.trim().slice(0, 30)}`;
const seen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getBoundingClientRect().width > 1;

function probe() {
  const controls = [...document.querySelectorAll("button, select, input, summary, .tools a")].filter(seen);
  const faint = [];
  for (const element of document.querySelectorAll("body *:not(svg *)")) {
    const hasWords = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!(hasWords || element.matches("input, select")) || !seen(element) || element.closest("script, option")) continue;
    const found = contrastOf(getComputedStyle(element).color, groundOf(element));
    if (found < 4.5) faint.push([nameOf(element), Number(found.toFixed(2))]);
  }
  const edgeless = controls.filter((one) => one.matches("button:not(.sort), select, input:not([type=checkbox])"))
    .map((one) => [nameOf(one), contrastOf(getComputedStyle(one).borderTopColor, groundOf(one.parentElement)), parseFloat(getComputedStyle(one).borderTopWidth)])
    .filter(([, found, width]) => found < 3 || width < 1);
  const unmarked = controls.filter((one) => {
    one.focus({ focusVisible: true, preventScroll: true });
    const style = getComputedStyle(one);
    return document.activeElement !== one || style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2 ||
      contrastOf(style.outlineColor, groundOf(one.parentElement)) < 3;
  }).map(nameOf);
  const boxes = controls.map((one) => [one, one.getBoundingClientRect()]);
  const over = boxes.flatMap(([one, a], at) => boxes.slice(at + 1)
    .filter(([other, b]) => !one.contains(other) && !other.contains(one) && !one.closest(".scroll") && !other.closest(".scroll") &&
      a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
    .map(([other]) => [nameOf(one), nameOf(other)]));
  const page = document.documentElement.getBoundingClientRect();
  const out = [...document.querySelectorAll("body *")].filter((one) => seen(one) && !one.closest(".scroll, pre, .unseen"))
    .filter((one) => one.getBoundingClientRect().right > page.right + 1 || one.getBoundingClientRect().left < -1).map(nameOf);
  const cut = [...document.querySelectorAll(".table, figure svg")].filter((one) => seen(one) && one.getBoundingClientRect().right > page.right + 1)
    .map((one) => [one.id || one.closest("figure")?.id, one.getBoundingClientRect().right - page.right]);
  const view = document.querySelector(".view .scroll");
  const hidden = view ? view.scrollWidth - view.clientWidth : 0;
  return { count: controls.length, hidden, names: controls.map(nameOf), cut, faint, edgeless, unmarked, over, out };
}

document.querySelectorAll("details").forEach((part) => { part.open = true; });
document.querySelector(".systems-shown button")?.click();
setTimeout(() => { document.body.textContent = JSON.stringify(probe()); }, 200);
