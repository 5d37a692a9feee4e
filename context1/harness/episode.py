"""One episode: observe -> infer -> act, until a final answer or a limit ends it. The only agent loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from context1.harness import messages
from context1.harness.answer import parse_answer
from context1.harness.budget import Zone, longest_response, zone_of
from context1.harness.context import Context
from context1.harness.events import OnEvent, ToolCallEvent, TurnEvent, UsageEvent
from context1.harness.profile import HarnessProfile
from context1.harness.record import Record
from context1.harness.rendering import rendering_of
from context1.harness.replies import answer_at_once, answer_retrieval
from context1.harness.retrieval import retrieve
from context1.harness.tools import Judged, judge
from context1.policy.policy import Action, EpisodeKey, Policy, PolicySession, PolicyUnavailable, View
from context1.schema import Task, Trajectory
from context1.search.backend import SearchBackend, SearchUnavailable
from context1.tokens.parse import Turn, parse_turn
from context1.tokens.tokenizer import Tokenizer

Observation = list[tuple[list[int], str | None]]
"""What the policy will read next: ids, and the chunk id where they are a chunk."""


async def run_episode(
    question: str,
    policy: Policy,
    backend: SearchBackend,
    profile: HarnessProfile,
    tokenizer: Tokenizer,
    key: EpisodeKey,
    *,
    task: Task | None = None,
    on_event: OnEvent | None = None,
) -> Trajectory:
    """Plays one episode and returns all that it saw and did.

    Whatever the policy samples, nothing is raised: it is told, or the episode ends and says how. An outage
    of backend or policy ends it as `infrastructure`. Cancellation is passed on, after the policy's seat
    is given back and the trajectory so far was handed to `on_event`.
    """
    episode = Episode(question, policy, backend, profile, tokenizer, key, task, on_event)
    try:
        session = policy.open(key, task)
    except PolicyUnavailable as error:
        return episode.record.finish("infrastructure", str(error))
    try:
        await asyncio.sleep(0)  # so that all episodes of a wave have their seats before one infers
        observation = episode.begin()
        while observation is not None:
            episode.observe(observation)
            action = await episode.infer(session)
            observation = await episode.act(action)
        return episode.record.finish()
    except (SearchUnavailable, PolicyUnavailable) as error:
        return episode.record.finish("infrastructure", f"{type(error).__name__}: {error}")
    except asyncio.CancelledError:
        episode.record.finish("cancelled")
        raise
    finally:
        with suppress(PolicyUnavailable):
            await session.close()


class Episode:
    """The state of one episode. `observe` and `act` extend the trajectory; only `act` ends it."""

    def __init__(
        self,
        question: str,
        policy: Policy,
        backend: SearchBackend,
        profile: HarnessProfile,
        tokenizer: Tokenizer,
        key: EpisodeKey,
        task: Task | None,
        on_event: OnEvent | None,
    ) -> None:
        self.question = question
        self.backend = backend
        self.profile = profile
        self.budget = profile.budget
        self.tokenizer = tokenizer
        self.rendering = rendering_of(profile, tokenizer)
        self.context = Context(profile.budget.total)
        self.used = 0
        """The count last shown: what the calls of a turn are judged by."""
        self.zone: Zone = "normal"
        self.malformed_in_a_row = 0
        self.trajectory = Trajectory(
            id=f"{key.seed}-{key.step}-{key.task_id}-{key.rollout}",
            task_id=key.task_id,
            domain=task.domain if task else "",
            rollout=key.rollout,
            question=question,
            policy=policy.name,
            profile_hash=profile.hash,
            tokenizer=tokenizer.id,
            trainable=policy.trainable,
        )
        self.record = Record(self.trajectory, self.context, on_event)

    def begin(self) -> Observation | None:
        """The prompt; None if it alone fills the context."""
        return self._with_usage([(self.rendering.prompt(self.question), None)])

    def observe(self, observation: Observation) -> None:
        """Appends what the policy reads next."""
        for ids, chunk_id in observation:
            if chunk_id is None:
                self.context.add_text(ids)
            else:
                self.context.add_chunk(chunk_id, ids)

    async def infer(self, session: PolicySession) -> Action:
        """Asks the policy for its next turn and keeps it as it was sampled."""
        context = self.context
        view = View(
            ids=list(context.ids),
            max_tokens=longest_response(len(context), self.budget),
            turn=self.trajectory.turns,
            visible=list(context.visible),
            shown=list(context.shown),
            used=self.used,
            total=self.budget.total,
            zone=self.zone,
        )
        with self.record.clock("policy"):
            action = await session.infer(view)
        self.trajectory.turns += 1
        action = _within(action, view.max_tokens)
        context.add_sampled(action.ids, action.sample)
        return action

    async def act(self, action: Action) -> Observation | None:
        """Runs the turn's calls; what they bring, or None where the episode has ended.

        A malformed response does nothing, whatever else could be read from it; a call that is no call
        fails alone.
        """
        turn = self._read(action)
        if turn.final is not None and not turn.errors:
            self.record.answer(parse_answer(turn.final, self.context.shown))
            return None
        tools, hard = self.profile.tools, self.zone == "hard"
        written = [] if turn.errors else turn.calls
        calls = [judge(call.name, call.arguments, call.error, tools, hard) for call in written]
        malformed = bool(turn.errors) or any(call.malformed for call in calls)
        self.trajectory.format_errors += malformed
        self.malformed_in_a_row = self.malformed_in_a_row + 1 if malformed else 0
        if self.malformed_in_a_row >= self.budget.malformed_max:
            self.trajectory.end = "malformed"
            return None
        if self.trajectory.turns >= self.budget.turns_max:
            self.trajectory.end = "turn_limit"
            return None
        complaint = self.rendering.malformed(turn.errors[0]) if turn.errors else []
        return self._with_usage([*await self._run(calls, len(complaint)), (complaint, None)])

    def _read(self, action: Action) -> Turn:
        """Parses the turn; closes it where it was cut."""
        turn = parse_turn(action.ids, self.tokenizer)
        closed = bool(action.ids) and action.ids[-1] in self.rendering.ends
        if not closed and len(self.context) < self.budget.total:
            self.context.add_text(self.rendering.end)
        if not turn.errors and turn.final is None and not turn.calls:
            turn.errors.append(messages.NOTHING)
        self.record.tell(TurnEvent(self.record.turn, turn.analysis, len(action.ids), turn.errors))
        return turn

    async def _run(self, calls: Sequence[Judged], after: int) -> Observation:
        """Prunes, then retrieves, then packs; the tool messages in call order. `after`: tokens to follow."""
        context, rendering = self.context, self.rendering
        for index, call in enumerate(calls):
            self.record.tell(ToolCallEvent(self.record.turn, index, call.name, call.arguments, call.status))
        replies = answer_at_once(calls, context, rendering)
        waiting = [reply.call for reply in replies if reply.waits]
        with self.record.clock("search"):
            hits = await retrieve(waiting, self.question, context.shown, self.backend, self.budget)
        answer_retrieval(replies, hits, context, rendering, after)
        for index, reply in enumerate(replies):
            self.record.reply(index, reply)
        return [piece for reply in replies for piece in reply.message(rendering)]

    def _with_usage(self, observation: Observation) -> Observation | None:
        """The observation, the count up to here, the head of the policy's turn; None if they do not fit."""
        used = len(self.context) + sum(len(ids) for ids, _ in observation)
        zone = zone_of(used, self.budget)
        usage = self.rendering.usage(used, zone)
        if used + len(usage) >= self.budget.total:
            self.trajectory.end = "context_full"
            return None
        self.used, self.zone = used, zone
        self.record.tell(UsageEvent(self.trajectory.turns, used, self.budget.total, zone))
        return [*observation, (usage, None)]


def _within(action: Action, limit: int) -> Action:
    """A policy that samples more than it may is cut."""
    if len(action.ids) <= limit:
        return action
    cut = {"logprobs": action.sample.logprobs[:limit], "finish": "length"}
    return Action(action.ids[:limit], action.sample.model_copy(update=cut))
