"""A scripted teacher that knows the gold chunks and is deliberately imperfect.

It plays through the same harness as any policy: it writes a note when a fact's chunk has come up (the quote,
its id, and how the question goes on), searches for the next hop, prunes what is not gold, and answers with
the noted ids, the last hop first. Its slips (settings `teacher.*`) leave room that reinforcement learning can
win back.
"""

from __future__ import annotations

import json
import random

from context1.policy.policy import Action, EpisodeKey, PolicySession, View
from context1.schema import Fact, Sample, Task
from context1.settings import TeacherSettings
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import Tokenizer

NOTHING = "nothing new"


class TeacherPolicy:
    """Opens one scripted session an episode; needs the task's gold."""

    name = "teacher"
    trainable = True

    def __init__(self, tokenizer: Tokenizer, settings: TeacherSettings, justifications: bool = False) -> None:
        self._tokenizer = tokenizer
        self._settings = settings
        self._justifications = justifications

    def open(self, key: EpisodeKey, task: Task | None) -> PolicySession:
        """Raises `ValueError` without a task: a teacher cannot serve."""
        if task is None:
            raise ValueError("the scripted teacher needs a task whose gold chunks are known")
        rng = random.Random(
            f"teacher/{self._settings.seed}/{key.seed}/{key.step}/{key.task_id}/{key.rollout}"
        )
        return TeacherSession(self._tokenizer, self._settings, self._justifications, task, rng)


class TeacherSession:
    """One episode: walks the facts in hop order."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        settings: TeacherSettings,
        justifications: bool,
        task: Task,
        rng: random.Random,
    ) -> None:
        self._tokenizer, self._settings, self._justifications = tokenizer, settings, justifications
        self._task, self._rng = task, rng
        self._noted: list[tuple[Fact, str]] = []
        self._tries = 0

    async def close(self) -> None:
        """Holds nothing."""

    async def infer(self, view: View) -> Action:
        """One turn: notes on what came up, then a prune and searches, or the answer."""
        notes = self._note(view)
        facts, gold = self._task.facts, self._task.gold
        stop = (
            len(self._noted) == len(facts)
            or self._tries >= self._settings.tries
            or (view.turn > 0 and self._rng.random() < self._settings.stop_early)
        )
        junk = [chunk_id for chunk_id in view.visible if chunk_id not in gold]
        calls: list[tuple[str, str]] = []
        if view.zone == "hard" or not stop:
            pruned = self._choose_prunes(view, junk)
            if pruned:
                calls.append(("prune_chunks", _json({"chunk_ids": pruned})))
        if view.zone == "hard":
            stop = not calls
        elif not stop:
            calls += [("search_corpus", _json({"query": f"about {query}"})) for query in self._queries(facts)]
            self._tries += 1
        if stop:
            return self._act(notes, [], self._answer(view, junk))
        return self._act(notes, calls, None)

    def _note(self, view: View) -> str | None:
        """Advances over the facts whose chunk has come up; what to write about them."""
        new = []
        while len(self._noted) < len(self._task.facts):
            fact = self._task.facts[len(self._noted)]
            found = next((chunk_id for chunk_id in fact.chunk_ids if chunk_id in view.shown), None)
            if found is None:
                break
            self._noted.append((fact, found))
            self._tries = 0
            new.append(
                f"about {self._short(fact.quote.text)} [{found}] {self._read_on(len(self._noted) - 1)}"
            )
        if new:
            return "; ".join(new)
        return None if view.turn == 0 else NOTHING

    def _read_on(self, hop: int) -> str:
        """The question from the last word of what `hop` answered to the end of what comes next."""
        question, at = self._task.question, 0
        ends = []
        for fact in self._task.facts[: hop + 2]:
            found = question.find(fact.clue_quote.text, at)
            at = at if found < 0 else found + len(fact.clue_quote.text)
            ends.append(at)
        last_word = question[: ends[hop]].rfind(" ") + 1
        return self._short(question[last_word : ends[hop + 1] if hop + 1 < len(ends) else len(question)])

    def _short(self, text: str) -> str:
        return " ".join(text.split()[: self._settings.note_words])

    def _choose_prunes(self, view: View, junk: list[str]) -> list[str]:
        hard = view.zone == "hard"
        skip = self._settings.skip_prune * (0.1 if view.zone == "soft" else 1.0)
        if not junk or (not hard and self._rng.random() < skip):
            return []
        chosen = {chunk_id for chunk_id in junk if self._rng.random() >= self._settings.keep_junk}
        chosen |= {
            chunk_id
            for chunk_id in view.visible
            if chunk_id in self._task.gold and self._rng.random() < self._settings.prune_gold
        }
        if hard and not chosen:
            chosen = set(junk)
        return [chunk_id for chunk_id in view.visible if chunk_id in chosen]

    def _queries(self, facts: list[Fact]) -> list[str]:
        fact = facts[len(self._noted)]
        words = self._short(f"{fact.given} {fact.clue_quote.text}").split()
        first = words
        if self._tries > 0 or self._rng.random() < self._settings.bad_query:
            first = [word for word in words if self._rng.random() > 0.35] or words[:1]
        queries = [" ".join(first)]
        if len(words) > 2 and self._rng.random() < self._settings.double_query:
            queries.append(" ".join(words[:2]))
        return queries

    def _answer(self, view: View, junk: list[str]) -> list[tuple[str, str]]:
        kept = [
            (c, fact.quote.text)
            for fact, c in reversed(self._noted)
            if self._rng.random() >= self._settings.drop_gold
        ]
        kept += [(c, "Looks alike.") for c in junk if self._rng.random() < self._settings.answer_junk]
        if not kept and view.shown:
            kept = [(view.shown[0], "The first result.")]
        return list({chunk_id: (chunk_id, reason) for chunk_id, reason in kept}.values())

    def _act(
        self, notes: str | None, calls: list[tuple[str, str]], answer: list[tuple[str, str]] | None
    ) -> Action:
        final = None if answer is None else "".join(self._document(*item) for item in answer)
        ids = render_turn(self._tokenizer, notes, calls, final)
        sample = Sample(
            logprobs=[0.0] * len(ids), temperature=1.0, policy_version=self.version, finish="stop"
        )
        return Action(ids, sample)

    version = "teacher"

    def _document(self, chunk_id: str, reason: str) -> str:
        justification = f"<Justification>{reason}</Justification>" if self._justifications else ""
        return f"<Document id={chunk_id}>{justification}</Document>"


def _json(value: dict[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
