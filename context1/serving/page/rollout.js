// One rollout as a column: its gauge stays in sight while its turns scroll by.

import { Call } from "./call.js";
import { shorten } from "./card.js";
import { count, cuttable, duration, foreign, make, number } from "./dom.js";
import { followEnd } from "./follow.js";
import { Gauge } from "./gauge.js";

const THOUGHT = 280;

const ENDS = {
  answer: "answered",
  turn_limit: "no answer: the turns were used up",
  context_full: "no answer: the context was full",
  malformed: "no answer: too many malformed turns",
  malformed_answer: "no answer: it was malformed",
  infrastructure: "lost: search or model out of reach",
  cancelled: "stopped",
};

export class Rollout {
  #state = make("span", "state", "waiting");
  #turns = make("ol", "turns");
  #notes = make("div", "notes");
  #calls = new Map(); // turn -> its calls, by index
  #lists = new Map(); // turn -> the element that lists them
  #cards = new Map(); // chunk id -> Card
  #titles = new Map(); // chunk id -> title
  #gauge;
  chunks = 0;
  pruned = 0;
  turn = 0;
  ended = false;

  constructor(index) {
    const name = `Rollout ${index + 1}`;
    this.#gauge = new Gauge(name);
    const content = make("div", "", this.#turns, this.#notes);
    const scroller = make("div", "scroller", content);
    scroller.tabIndex = 0;
    scroller.role = "group";
    scroller.ariaLabel = `${name}, turn by turn`;
    followEnd(scroller, content);
    this.element = make("article", "rollout", make("h3", "", name, this.#state), this.#gauge.element, scroller);
    this.element.ariaLabel = name;
  }

  /** Takes an event of this rollout. */
  take(name, event) {
    if (name === "usage") this.#gauge.show(event);
    if (name === "turn") this.#startTurn(event);
    if (name === "tool_call") this.#call(event);
    if (name === "observation") this.#observe(event);
    if (name === "prune") this.#prune(event);
  }

  /** The rollout's line of the result. */
  finish({ end, turns, shown, pruned, final, format_errors, peak_tokens, seconds, error }) {
    this.#end(ENDS[end] ?? shorten(end), end === "answer" ? "good" : "bad");
    const facts = [
      count(turns, "turn"),
      `${count(shown, "chunk")} read`,
      `${number(pruned)} pruned`,
      `${number(peak_tokens)} tokens at most`,
      ...(format_errors ? [`${number(format_errors)} malformed`] : []),
      ...Object.entries(seconds).map(([phase, value]) => `${phase} ${duration(value)}`),
    ];
    this.#notes.append(make("p", "facts", facts.join(" · ")));
    if (error) this.#notes.append(...cuttable(error, THOUGHT, "message"));
    final.forEach((id, place) => this.#cards.get(id)?.name(place + 1));
  }

  /** It will not go on. */
  interrupt(words) {
    if (!this.ended) this.#end(words, "bad");
  }

  #end(words, mood) {
    this.ended = true;
    this.#state.textContent = words;
    this.#state.dataset.mood = mood;
  }

  #startTurn({ turn, analysis, tokens, errors }) {
    this.turn = turn + 1;
    this.#state.textContent = `turn ${this.turn}`;
    const item = make("li", "turn", make("h4", "", `Turn ${this.turn}`, make("span", "tokens", count(tokens, "token"))));
    for (const thought of analysis) item.append(...cuttable(thought, THOUGHT, "thought"));
    for (const error of errors) item.append(make("p", "malformed", "Malformed: ", foreign(error.slice(0, THOUGHT))));
    const calls = make("ol", "calls");
    item.append(calls);
    this.#lists.set(turn, calls);
    this.#calls.set(turn, new Map());
    this.#turns.append(item);
  }

  #call(event) {
    const call = new Call(event, (id) => this.#titles.get(id));
    this.#calls.get(event.turn).set(event.index, call);
    this.#lists.get(event.turn).append(call.element);
  }

  #observe(event) {
    const cards = this.#calls.get(event.turn).get(event.index).answer(event);
    for (const [id, card] of cards) this.#cards.set(id, card);
    for (const chunk of event.chunks) this.#titles.set(chunk.id, chunk.title);
    this.chunks += event.chunks.length;
  }

  #prune({ turn, chunk_ids: ids, freed }) {
    for (const id of ids) this.#cards.get(id)?.prune(turn);
    this.pruned += ids.length;
    // It does not say which call did it: prunes are told in the order of their calls.
    const calls = [...this.#calls.get(turn).values()];
    calls.find((call) => call.name === "prune_chunks" && !call.pruned)?.freed(freed);
  }
}
