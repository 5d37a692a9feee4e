// The two requests of the page, and what goes wrong with them as one kind of error.

import { readEvents } from "./stream.js";

/** Something to tell the user: `title` in our words, `message` in the server's, seconds to wait if it said so. */
export class Failure extends Error {
  constructor(title, message = "", { retryAfter = null, status = 0 } = {}) {
    super(message);
    this.title = title;
    this.retryAfter = retryAfter;
    this.status = status;
  }
}

const TITLES = {
  401: "The server wants a key",
  403: "This key may not search",
  410: "This search is gone",
  413: "The question is too long",
  422: "The server did not take the request",
  429: "The server is busy",
  503: "The server cannot search now",
};

/** What the server says of itself, or null. */
export async function fetchStatus() {
  try {
    const response = await fetch("status", { cache: "no-store" });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

/** Asks, and yields `[name, data]` of each event up to the result. Throws Failure, also for a cut connection. */
export async function* ask(request, key, signal) {
  const response = await post(request, key, signal);
  if (!response.ok) throw await refused(response, key);
  try {
    for await (const { name, data } of readEvents(response.body)) {
      const event = JSON.parse(data);
      if (name === "error") {
        throw new Failure("The search ended early", event.message, { retryAfter: event.retry_after ?? null });
      }
      yield [name, event];
      if (name === "result") return;
    }
  } catch (error) {
    if (error instanceof SyntaxError) throw new Failure("The server sent what this page cannot read", error.message);
    if (error instanceof TypeError) throw cut(); // the browser's word for a lost connection
    throw error;
  }
  throw cut();
}

async function post(request, key, signal) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  if (key) headers.Authorization = `Bearer ${key}`;
  try {
    return await fetch("v1/search", { method: "POST", headers, body: JSON.stringify(request), signal });
  } catch (error) {
    if (error instanceof TypeError) throw new Failure("The server is out of reach", "Is it running?");
    throw error;
  }
}

function cut() {
  return new Failure("The connection broke off");
}

async function refused(response, key) {
  const body = await response.json().catch(() => null);
  const wrongKey = response.status === 401 && key;
  const title = wrongKey ? "The server does not know this key" : TITLES[response.status];
  return new Failure(title ?? `The server answered ${response.status}`, body?.error?.message ?? "", {
    retryAfter: secondsUntil(response.headers.get("Retry-After")),
    status: response.status,
  });
}

/** Retry-After is a number of seconds or a date. */
function secondsUntil(header) {
  if (header === null) return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : null;
}
