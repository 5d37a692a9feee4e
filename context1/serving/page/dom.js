// Elements and words. Text that is not ours enters the page here, as text, isolated from its surroundings.

/** An element of ours with a class and children; strings become text. */
export function make(tag, className = "", ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/** Text of a corpus, model, client or server, in an element that no writing direction leaks out of. */
export function foreign(text, className = "", tag = "bdi") {
  const element = make(tag, className);
  element.dir = "auto";
  element.textContent = text;
  return element;
}

/** Foreign text that is cut after `limit` characters, with a button that shows all of it. */
export function cuttable(text, limit, className = "", tag = "p") {
  const head = beginning(text, limit);
  const element = foreign(head, className, tag);
  if (head === text.trim()) return [element];
  const button = make("button", "more", "show all");
  button.type = "button";
  button.ariaExpanded = "false";
  button.addEventListener("click", () => {
    const open = element.classList.toggle("open");
    element.textContent = open ? text : head;
    button.textContent = open ? "show less" : "show all";
    button.ariaExpanded = String(open);
  });
  return [element, button];
}

/** On one line, and never ending in half a character. */
function beginning(text, limit) {
  const line = text.slice(0, 4 * limit).replace(/\s+/g, " ").trim();
  if (line.length <= limit && text.length <= 4 * limit) return line;
  return `${line.slice(0, limit).replace(/[\ud800-\udbff]$/, "")}…`;
}

const format = new Intl.NumberFormat("en");

/** 12480 -> "12,480". */
export function number(value) {
  return format.format(value);
}

/** (1, "turn") -> "1 turn", (2, "turn") -> "2 turns". */
export function count(value, noun) {
  return `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Seconds in words. */
export function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
