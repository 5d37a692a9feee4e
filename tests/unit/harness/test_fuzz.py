"""10,000 malformed outputs: none raises out of an episode, none breaks a law."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from context1.tokens.harmony import render_turn

OUTPUTS = 10_000

DEEP = "[" * 3_000
JSON_LIKE = [
    "",
    "{",
    '{"query": "x"',
    '{"query": }',
    '{"query": NaN}',
    f'{{"query": {DEEP}',
    '{"query": ' + "9" * 5_000 + "}",
    '{"query": "\\ud800"}',
    '{"query": "\\u0000"}',
    '{"query": ["x"]}',
    '{"query": {"query": "x"}}',
    '{"chunk_ids": ["\\udfff", "ba00du", "ba00du"]}',
    '{"chunk_ids": [[["ba00du"]]]}',
    '{"chunk_ids": {"ba00du": 1}}',
    '{"pattern": "(((((("}',
    '{"doc_id": null}',
    '"query"',
    "null",
    "true",
    '{"query": "x"}{"query": "y"}',
]
NAMES = [
    "search_corpus",
    "prune_chunks",
    "grep_corpus",
    "read_document",
    "python",
    "",
    "a b",
    "<|call|>",
    "x" * 500,
]


def garbage(player, rng: random.Random, view) -> list[int]:
    """One output of one of six kinds of malformation."""
    tokenizer = player.tokenizer
    specials = sorted(tokenizer.special_ids)
    calls = [(rng.choice(NAMES), rng.choice(JSON_LIKE)) for _ in range(rng.randint(1, 4))]
    kind = rng.randrange(7)
    valid = rng.choice([search, answer, prune])(player, view) if kind in (3, 4, 6) else []
    match kind:
        case 0:
            return [rng.randrange(tokenizer.vocab_size + 5) for _ in range(rng.randint(0, 150))]
        case 1:
            return [rng.choice(specials) for _ in range(rng.randint(1, 30))]
        case 2:
            return render_turn(tokenizer, None, calls, None)
        case 3:
            cut = rng.randrange(len(valid))
            return valid[:cut] + ([] if rng.random() < 0.5 else [rng.choice(specials)])
        case 4:
            for _ in range(rng.randint(1, 4)):
                valid.insert(rng.randrange(len(valid) + 1), rng.choice(specials))
            return valid
        case 5:
            final = rng.choice(
                ["<Document id=" * 20, "<Document id=ba00du><Document id=ba01du></Document>", "\x00"]
            )
            return render_turn(tokenizer, "<|end|>", [], final)
        case _:
            return valid[1:] + valid


def search(player, view) -> list[int]:
    return player.search("in order")


def answer(player, view) -> list[int]:
    return player.answer(*view.shown[:2])


def prune(player, view) -> list[int]:
    return player.prune(*view.visible[:2])


def test_no_output_raises_out_of_an_episode(player, checks) -> None:
    rng = random.Random(20)
    strict, patient = player.profile(), player.profile(malformed_max=20, turns_max=20)
    chunks = player.make_chunks(60)
    ends: Counter[str] = Counter()

    async def play_all() -> None:
        outputs = 0
        while outputs < OUTPUTS:
            played = await player.play_async(
                lambda view: garbage(player, rng, view),
                backend=player.backend_type(chunks),
                profile=patient if rng.random() < 0.8 else strict,
            )
            outputs += played.trajectory.turns
            ends[played.trajectory.end] += 1
            checks.everything(played)

    asyncio.run(play_all())
    assert set(ends) <= {"answer", "malformed", "malformed_answer", "context_full", "turn_limit"}
    assert ends["malformed"] > 10 and ends["malformed_answer"] > 10
