// A chunk as a card: what it says, where it is from, and what became of it.

import { cuttable, foreign, make } from "./dom.js";

const TEXT = 220;
const TITLE = 120;
const NAME = 80;

/** The title of a chunk's document. */
export function title(chunk, tag) {
  return cuttable(chunk.title || "Untitled", TITLE, "title", tag);
}

/** Domain, document and id of a chunk. */
export function origin(chunk) {
  const names = [foreign(shorten(chunk.doc_id), "id"), foreign(shorten(chunk.id), "id")];
  if (chunk.domain) names.unshift(foreign(shorten(chunk.domain), "domain"));
  return make("p", "origin", ...names);
}

export class Card {
  #fate = make("p", "fate");

  constructor(chunk) {
    this.element = make("li", "card", ...title(chunk, "p"), origin(chunk), ...cuttable(chunk.text, TEXT, "text"));
    this.element.append(this.#fate);
  }

  /** The chunk left the context. */
  prune(turn) {
    this.element.classList.add("pruned");
    this.#fate.textContent = `pruned in turn ${turn + 1}`;
  }

  /** The rollout's answer names it; `rank` from 1. */
  name(rank) {
    this.element.classList.add("named");
    const before = this.#fate.textContent ? `${this.#fate.textContent}, yet ` : "";
    this.#fate.textContent = `${before}no. ${rank} of its answer`;
  }
}

/** Names are short by custom only. */
export function shorten(text) {
  return text.length <= NAME ? text : `${text.slice(0, NAME)}…`;
}
