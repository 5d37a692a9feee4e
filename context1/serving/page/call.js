// One tool call of a turn: what was asked, how it went, what came back.

import { Card, shorten } from "./card.js";
import { count, cuttable, foreign, make } from "./dom.js";

const ARGUMENT = 200;
const MESSAGE = 300;

export class Call {
  #status = make("span", "status", "…");
  #body = make("div", "body");

  /** `titleOf(id)` names a chunk that the rollout has read. */
  constructor({ name, arguments: values, status }, titleOf) {
    this.name = name;
    this.element = make("li", "call", make("p", "line", foreign(shorten(name), "tool"), this.#status));
    this.element.append(...Object.entries(values).map(([key, value]) => argument(key, value, titleOf)), this.#body);
    this.#judge(status, status === "ok" ? "…" : status);
  }

  /** Shows what the call brought; returns its cards by chunk id. */
  answer({ status, chunks, tokens, message }) {
    const words = [chunks.length ? count(chunks.length, "chunk") : "", tokens ? count(tokens, "token") : ""];
    const brought = words.filter(Boolean).join(", ");
    this.#judge(status, status === "ok" ? brought || "nothing new" : status);
    if (message && !chunks.length) this.#body.append(...cuttable(message.trim(), MESSAGE, "message"));
    const cards = new Map(chunks.map((chunk) => [chunk.id, new Card(chunk)]));
    if (cards.size) this.#body.append(make("ul", "cards", ...[...cards.values()].map((card) => card.element)));
    return cards;
  }

  /** Shows what a prune removed. */
  freed(tokens) {
    this.#judge("ok", `freed ${count(tokens, "token")}`);
    this.pruned = true;
  }

  #judge(status, words) {
    this.element.dataset.status = status;
    if (!this.pruned) this.#status.textContent = words;
  }
}

function argument(key, value, titleOf) {
  const name = foreign(shorten(key), "key");
  if (!Array.isArray(value)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return make("div", "argument", name, ...cuttable(text, ARGUMENT, "value"));
  }
  const items = value.map((item) => {
    const line = make("li", "", foreign(String(item).slice(0, ARGUMENT), "id"));
    const title = titleOf(item);
    if (title) line.append(" ", foreign(title.slice(0, ARGUMENT)));
    return line;
  });
  return make("div", "argument", name, make("ul", "items", ...items));
}
