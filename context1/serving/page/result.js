// The ranked result.

import { origin, title } from "./card.js";
import { count, cuttable, duration, foreign, make } from "./dom.js";

const TEXT = 420;
const WHY = 600;

/** Fills the section with a `result` event. */
export function showResult(section, event) {
  const heading = make("h2", "", "Result");
  heading.id = "result-title";
  const about = make("p", "about", `${count(event.results.length, "chunk")} in ${duration(event.seconds)}`);
  section.replaceChildren(make("div", "heading", heading, about));
  const many = event.rollouts.length > 1;
  if (event.results.length) {
    section.append(make("ol", "ranking", ...event.results.map((found) => entry(found, many))));
  } else {
    section.append(make("p", "none", "No chunk was named. The rollouts below show how far they came."));
  }
  section.hidden = false;
}

/** Model, index and harness profile, by name. */
export function identity({ model, index, harness_profile: profile }) {
  const pairs = [["model", model], ["index", index], ["harness profile", profile]];
  return pairs.filter(([, id]) => id).map(([name, id]) => make("span", "", `${name} `, foreign(id, "id")));
}

function entry({ rank, chunk, justification, rollouts }, many) {
  const body = make("div", "body", ...title(chunk, "h3"));
  if (justification) body.append(...cuttable(justification, WHY, "why"));
  body.append(...cuttable(chunk.text, TEXT, "text"));
  const margin = make("div", "margin", origin(chunk));
  if (many) {
    const names = rollouts.map((rollout) => make("span", "badge", String(rollout + 1)));
    margin.append(make("p", "by", `named by rollout${names.length === 1 ? "" : "s"} `, ...names));
  }
  return make("li", "", make("span", "rank", String(rank)), body, margin);
}
