// Wires the form to a search and a search to what is shown.

import { ask, Failure, fetchStatus } from "./api.js";
import { count, cuttable, duration, make } from "./dom.js";
import { identity, showResult } from "./result.js";
import { Rollout } from "./rollout.js";

const KEY = "context1-key"; // in the tab's session storage, nowhere else
const MESSAGE = 400;
const QUIET = 8000; // milliseconds between two announcements of progress

const [form, question, rollouts, maxResults, keyField, key, go, stop] = find(
  "ask", "question", "rollouts", "max-results", "key-field", "key", "go", "stop",
);
const [live, failure, progress, result, trace, welcome, server] = find(
  "live", "failure", "progress", "result", "trace", "welcome", "server",
);

let search = null; // the running one

function find(...ids) {
  return ids.map((id) => document.getElementById(id));
}

class Search {
  controller = new AbortController();
  columns = [];
  #started = performance.now();
  #announced = performance.now();
  #clock = setInterval(() => this.#tell(), 1000);

  constructor(request) {
    this.request = request;
    for (const part of [failure, result]) part.hidden = true;
    welcome.hidden = true;
    for (let index = 0; index < request.rollouts; index += 1) this.columns.push(new Rollout(index));
    trace.replaceChildren(...this.columns.map((column) => column.element));
    trace.dataset.count = String(request.rollouts);
    trace.hidden = false;
    this.#tell();
    announce("Searching.");
  }

  async run() {
    try {
      for await (const [name, event] of ask(this.request, key.value.trim(), this.controller.signal)) {
        if (name === "result") this.#finish(event);
        else this.columns[event.rollout]?.take(name, event);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      clearInterval(this.#clock);
      progress.hidden = true;
    }
  }

  #finish(event) {
    for (const line of event.rollouts) this.columns[line.rollout]?.finish(line);
    showResult(result, event);
    announce(`Finished: ${count(event.results.length, "result")} in ${duration(event.seconds)}.`);
  }

  #fail(error) {
    const stopped = this.controller.signal.aborted;
    const told = stopped ? new Failure("Stopped") : error;
    const begun = this.columns.some((column) => column.turn > 0);
    trace.hidden = !begun;
    failure.classList.toggle("calm", stopped);
    for (const column of this.columns) column.interrupt(stopped ? "stopped" : "broken off");
    const words = told instanceof Failure ? told : new Failure("The page could not show this search", String(error));
    showFailure(words, begun ? "What was found until then is below." : "");
    if (told.status === 401) askForKey();
    if (!stopped && !(error instanceof Failure)) console.error(error);
  }

  #tell() {
    const sum = (field) => this.columns.reduce((total, column) => total + column[field], 0);
    const turn = Math.max(...this.columns.map((column) => column.turn));
    const words = turn
      ? `Turn ${turn}, ${count(sum("chunks"), "chunk")} read, ${sum("pruned")} pruned`
      : "Waiting for the first turn";
    progress.textContent = `${words} · ${Math.round((performance.now() - this.#started) / 1000)} s`;
    progress.hidden = false;
    if (performance.now() - this.#announced > QUIET) {
      this.#announced = performance.now();
      announce(words);
    }
  }
}

/** For screen readers. */
function announce(words) {
  live.textContent = words;
}

function showFailure({ title, message, retryAfter }, found) {
  failure.replaceChildren(make("h2", "", title));
  if (message) failure.append(...cuttable(message, MESSAGE));
  if (retryAfter !== null) failure.append(make("p", "", `Try again in ${count(retryAfter, "second")}.`));
  if (found) failure.append(make("p", "", found));
  failure.hidden = false;
}

function askForKey() {
  keyField.hidden = false;
  sessionStorage.removeItem(KEY);
  key.select();
}

async function showStatus() {
  const status = await fetchStatus();
  if (!status) {
    if (!server.hasChildNodes()) server.append(make("span", "trouble", "the server does not say how it is"));
    return;
  }
  if (status.key_required) keyField.hidden = false;
  const troubles = [];
  if (status.draining) troubles.push("shutting down");
  if (!status.engine.ok) troubles.push("the model is out of reach");
  if (!status.search.ok) troubles.push("the index is out of reach");
  server.replaceChildren(...troubles.map((words) => make("span", "trouble", words)), ...identity(status));
}

async function start() {
  if (search) return;
  question.value = question.value.trim();
  if (!form.reportValidity()) return;
  if (key.value.trim()) sessionStorage.setItem(KEY, key.value.trim());
  const request = {
    query: question.value,
    rollouts: Number(rollouts.value),
    max_results: Number(maxResults.value),
    stream: true,
  };
  search = new Search(request);
  swap(go, stop);
  await search.run();
  search = null;
  swap(stop, go);
  showStatus();
}

/** Shows one button instead of the other and takes the focus along. */
function swap(from, to) {
  const focused = document.activeElement === from;
  to.hidden = false;
  if (focused) to.focus();
  from.hidden = true;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  start();
});
question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  start();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") search?.controller.abort();
});
stop.addEventListener("click", () => search?.controller.abort());

key.value = sessionStorage.getItem(KEY) ?? "";
showStatus();
question.focus();
