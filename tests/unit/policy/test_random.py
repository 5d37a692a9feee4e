"""The random policy: well-formed turns, the same for the same key, never at odds with the hard cutoff."""

import asyncio
import json

from context1.policy.policy import EpisodeKey, View
from context1.policy.random import RandomPolicy
from context1.tokens.parse import parse_turn
from context1.tokens.tokenizer import load_tokenizer


def test_turns_are_valid_and_keyed():
    tokenizer = load_tokenizer("tiny")
    policy = RandomPolicy(tokenizer)
    kinds = set()

    async def turns(number):
        session = policy.open(EpisodeKey(0, 0, f"t{number}", 0), None)
        found = []
        for turn, zone in enumerate(["normal", "soft", "hard"]):
            seen = ["ba48du", "ce10fi"]
            action = await session.infer(
                View(ids=[], max_tokens=90, turn=turn, visible=seen, shown=seen, zone=zone)
            )
            found.append((zone, action.ids))
        await session.close()
        return found

    for number in range(60):
        played = asyncio.run(turns(number))
        assert asyncio.run(turns(number)) == played
        for zone, ids in played:
            turn = parse_turn(ids, tokenizer)
            assert not turn.errors
            assert (turn.final is None) == bool(turn.calls)
            for call in turn.calls:
                json.loads(call.arguments)
                assert call.name == "prune_chunks" or zone != "hard"
                kinds.add(call.name)
            kinds |= {"answer"} if turn.final is not None else set()
    assert kinds == {"answer", "search_corpus", "prune_chunks"}
