// A chunk as a card: what it says, where it is from, and what became of it.

import { cuttable, foreign, make } from "./dom.js";

const TEXT = 220;
const TITLE = 120;
const NAME = 80;

/** The lines that name a chunk: its title, then domain, document and id. */
export function chunkHead(chunk) {
  const origin = make("p", "origin");
  if (chunk.domain) origin.append(foreign(shorten(chunk.domain), "domain"));
  origin.append(foreign(shorten(chunk.doc_id), "id"), foreign(shorten(chunk.id), "id"));
  return [...cuttable(chunk.title || "Untitled", TITLE, "title"), origin];
}

export class Card {
  #fate = make("p", "fate");

  constructor(chunk) {
    this.element = make("li", "card", ...chunkHead(chunk), ...cuttable(chunk.text, TEXT, "text"), this.#fate);
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

export function shorten(text) {
  return text.length <= NAME ? text : `${text.slice(0, NAME)}…`;
}
