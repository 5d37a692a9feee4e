"""What each call of a turn is answered with: refusals, errors and prunes at once, retrieval when it is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from context1.harness.budget import Packed, pack
from context1.harness.context import Context
from context1.harness.messages import PRUNE
from context1.harness.rendering import Rendering
from context1.harness.tools import Judged
from context1.search.backend import Hit


@dataclass(slots=True)
class Reply:
    """The result of one call."""

    call: Judged
    note: str = ""
    """The body, where no chunk is in it."""
    waits: bool = False
    """For what its retrieval brings."""
    packed: Packed = field(default_factory=Packed)
    removed: list[str] = field(default_factory=list)
    """Chunks that a prune took out."""
    freed: int = 0
    """Tokens of those."""

    def message(self, rendering: Rendering) -> list[tuple[list[int], str | None]]:
        """The tool message as ids, each chunk apart."""
        before, after = rendering.tool_frame(self.call.name)
        body = [(ids, chunk.id if chunk else None) for ids, chunk in self.packed.pieces]
        return [(before, None), *(body or [(rendering.encode(self.note), None)]), (after, None)]

    def skeleton(self, rendering: Rendering) -> int:
        """Tokens that the message needs at least: of a retrieval call, with nothing shown."""
        before, after = rendering.tool_frame(self.call.name)
        body = rendering.shortest_body if self.waits else len(rendering.encode(self.note))
        return len(before) + body + len(after)


def answer_at_once(calls: Sequence[Judged], context: Context, rendering: Rendering) -> list[Reply]:
    """A reply a call, in call order. Prunes are applied, all of a turn as one edit; retrieval stays open."""
    replies = [Reply(call, waits=call.retrieves) for call in calls]
    leaving: dict[str, None] = {}
    for reply in replies:
        call = reply.call
        if call.status == "ok" and call.name == PRUNE:
            unknown = [chunk_id for chunk_id in call.ids if chunk_id not in context.visible]
            reply.removed = [i for i in call.ids if i in context.visible and i not in leaving]
            reply.freed = sum(len(context.spans[context.visible[i]].ids) for i in reply.removed)
            reply.note = rendering.pruned(len(reply.removed), reply.freed, unknown)
            leaving |= dict.fromkeys(reply.removed)
        elif not reply.waits:
            reply.note = rendering.refused() if call.status == "refused" else rendering.error(call.why)
    context.prune(leaving)
    return replies


def answer_retrieval(
    replies: Sequence[Reply],
    hits: Sequence[Sequence[Hit]],
    context: Context,
    rendering: Rendering,
    after: int,
) -> None:
    """Fills in the retrieval calls in call order; `hits` holds those of each, `after` the tokens that follow.

    Each call gets min(call, T - reserve - context - what the messages still to come need), where the
    context holds what earlier calls of the turn were given.
    """
    budget, texts = rendering.profile.budget, rendering.texts
    found = iter(hits)
    results = [next(found) if reply.waits else [] for reply in replies]
    for reply in replies:
        if reply.waits and reply.call.status == "error":
            reply.waits, reply.note = False, rendering.error(reply.call.why)
    skeletons = [reply.skeleton(rendering) for reply in replies]
    to_come = sum(skeletons) + after + rendering.longest_usage
    taken = len(context)
    visible = set(context.visible)
    for reply, result, skeleton in zip(replies, results, skeletons, strict=True):
        if reply.waits:
            room = min(budget.call, budget.total - budget.reserve - taken - to_come)
            reply.packed = pack(result, room, visible, rendering)
            reply.note = texts.no_room if result else texts.no_results
        to_come -= skeleton
        taken += sum(len(ids) for ids, _ in reply.message(rendering))
