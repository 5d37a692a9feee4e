// How full a context is: a bar against the soft and the hard mark, and the bar's history as a line.

import { make, number } from "./dom.js";

const ZONES = {
  normal: "room to search",
  soft: "past soft: prune or answer",
  hard: "past hard: no more searching",
};

const SVG = "http://www.w3.org/2000/svg";
const FEWEST = 12; // turns that the history has room for before it is squeezed

export class Gauge {
  #fill = make("div", "fill");
  #soft = mark("soft");
  #hard = mark("hard");
  #bar = make("div", "bar", this.#fill, this.#soft, this.#hard);
  #numbers = make("span", "numbers");
  #zone = make("span", "zone");
  #line = document.createElementNS(SVG, "path");
  #limits = document.createElementNS(SVG, "path");
  #used = [];

  constructor(name) {
    this.#bar.role = "meter";
    this.#bar.ariaLabel = `${name}: context used`;
    this.element = make("div", "gauge", this.#bar, make("p", "reading", this.#numbers, this.#zone), this.#history());
    this.element.hidden = true;
  }

  /** Shows a usage event. */
  show({ used, total, soft, hard, zone }) {
    const share = (tokens) => `${(100 * Math.min(tokens, total)) / total}%`;
    this.element.hidden = false;
    this.element.dataset.zone = zone;
    this.#fill.style.width = share(used);
    this.#soft.style.left = share(soft);
    this.#hard.style.left = share(hard);
    this.#numbers.textContent = `${number(used)} of ${number(total)} tokens`;
    this.#zone.textContent = ZONES[zone] ?? zone;
    this.#bar.ariaValueMin = "0";
    this.#bar.ariaValueMax = String(total);
    this.#bar.ariaValueNow = String(used);
    this.#bar.ariaValueText = `${number(used)} of ${number(total)} tokens, ${ZONES[zone] ?? zone}`;
    this.#used.push(used / total);
    this.#draw(soft / total, hard / total);
  }

  #history() {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", "history");
    svg.setAttribute("viewBox", "0 0 100 100");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true"); // the meter says the same
    this.#line.setAttribute("class", "line");
    this.#limits.setAttribute("class", "limits");
    svg.append(this.#limits, this.#line);
    return svg;
  }

  #draw(soft, hard) {
    const step = 100 / Math.max(FEWEST, this.#used.length);
    const heights = this.#used.map((share) => (100 * (1 - share)).toFixed(1));
    this.#limits.setAttribute("d", `M0 ${100 - 100 * soft}H100M0 ${100 - 100 * hard}H100`);
    this.#line.setAttribute("d", `M0 100${heights.map((y, turn) => `V${y}H${((turn + 1) * step).toFixed(2)}`).join("")}V100Z`);
  }
}

function mark(name) {
  return make("div", `mark ${name}`, make("span", "", name));
}
