// Server-sent events out of a response body, wherever its pieces are cut.

/** Reads the events of a text that arrives in pieces; a border may lie anywhere, also between \r and \n. */
export class EventParser {
  #line = "";
  #name = "";
  #data = [];
  #endedInReturn = false;

  /** The events ({name, data}) that this piece completes. */
  push(text) {
    if (text === "") return [];
    const halfBreak = this.#endedInReturn && text[0] === "\n";
    this.#endedInReturn = text.endsWith("\r");
    const lines = (halfBreak ? text.slice(1) : text).split(/\r\n|\n|\r/);
    lines[0] = this.#line + lines[0];
    this.#line = lines.pop();
    return lines.map((line) => this.#read(line)).filter((event) => event !== null);
  }

  #read(line) {
    if (line === "") return this.#dispatch();
    const [, field, value] = /^([^:]*)(?:: ?)?(.*)$/s.exec(line);
    if (field === "event") this.#name = value;
    if (field === "data") this.#data.push(value);
    return null;
  }

  #dispatch() {
    const event = { name: this.#name || "message", data: this.#data.join("\n") };
    const complete = this.#data.length > 0;
    this.#name = "";
    this.#data = [];
    return complete ? event : null;
  }
}

/** The events of a body of UTF-8 bytes, as they come; one that the end cuts off is dropped. */
export async function* readEvents(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {}); // who stops reading also closes the connection
  }
}
