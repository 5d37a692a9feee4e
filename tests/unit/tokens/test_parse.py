"""Sampled ids parse as openai-harmony parses them, or are named malformed; nothing raises."""

from __future__ import annotations

import random
import time

import openai_harmony as oh
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.tokens.bpe import HARMONY_SPECIALS, O200K_NAMED
from context1.tokens.harmony import render_turn
from context1.tokens.parse import Call, Turn, parse_turn
from context1.tokens.tokenizer import Tokenizer

TEXT = st.lists(
    st.sampled_from([*O200K_NAMED, " to=functions.x", "assistant", '{"query": "a"}', "\n"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    max_size=4,
).map("".join)
NAME = st.from_regex(r"[a-z][a-z_]{0,11}", fullmatch=True)
CALLS = st.lists(st.tuples(NAME, TEXT), min_size=1, max_size=3)
SPECIALS = HARMONY_SPECIALS
TH = "<|channel|>analysis<|message|>th<|end|><|start|>assistant"
JSON = " <|constrain|>json<|message|>{}"


def sampled(tokenizer: Tokenizer, text: str) -> list[int]:
    """Ids of a text in which special tokens' names stand for the tokens."""
    ids: list[int] = []
    while text:
        starts = {name: text.find(name) for name in SPECIALS if name in text}
        name = min(starts, key=lambda name: starts[name], default="")
        cut = starts[name] if name else len(text)
        ids += tokenizer.encode(text[:cut]) + ([tokenizer.special(name)] if name else [])
        text = text[cut + len(name) :]
    return ids


@given(analysis=st.none() | TEXT, calls=CALLS | st.just([]), answer=TEXT)
@settings(max_examples=200, deadline=None)
def test_a_rendered_turn_parses_to_itself(
    tokenizer: Tokenizer, analysis: str | None, calls: list[tuple[str, str]], answer: str
) -> None:
    final = None if calls else answer
    turn = parse_turn(render_turn(tokenizer, analysis, calls, final), tokenizer)
    thoughts = [] if analysis is None else [analysis]
    assert turn == Turn(analysis=thoughts, calls=[Call(*call) for call in calls], final=final)


@pytest.mark.parametrize(
    "text,expected",
    [
        (f"<|channel|>commentary to=functions.a{JSON}<|call|>", Turn(calls=[Call("a", "{}")])),
        (f" to=functions.a<|channel|>commentary{JSON}<|call|>", Turn(calls=[Call("a", "{}")])),
        ("<|channel|>commentary to=functions.a json<|message|>{}<|call|>", Turn(calls=[Call("a", "{}")])),
        ("<|channel|>commentary to=functions.a<|message|>{}<|call|>", Turn(calls=[Call("a", "{}")])),
        (f"<|channel|>analysis to=functions.a{JSON}<|call|>", Turn(calls=[Call("a", "{}")])),
        (
            f"{TH}<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant to=functions.a"
            f"<|channel|>commentary{JSON}<|end|>{'<|start|>assistant'}<|channel|>commentary to=functions.b"
            f"{JSON}<|call|>",
            Turn(analysis=["th"], preamble=["Let me see."], calls=[Call("a", "{}"), Call("b", "{}")]),
        ),
        (f"{TH}<|channel|>final<|message|><|return|>", Turn(analysis=["th"], final="")),
        (
            "<|channel|>commentary to=python<|message|>1<|call|>",
            Turn(calls=[Call("python", "1", "unknown recipient python: tools are functions.NAME")]),
        ),
    ],
)
def test_what_is_accepted(tokenizer: Tokenizer, text: str, expected: Turn) -> None:
    assert parse_turn(sampled(tokenizer, text), tokenizer) == expected


@pytest.mark.parametrize(
    "text,error",
    [
        ("", "cut"),
        ("no structure at all", "without <|message|>"),
        ("<|call|>", "without <|message|>"),
        ("<|channel|>final", "without <|message|>"),
        ("<|channel|>final<|message|>an", "the turn was cut"),
        ("<|channel|>final<|message|>an<|end|>", "the turn ends with <|end|>"),
        ("<|channel|>final<|message|>an<|call|>", "does not end with <|return|>"),
        ("<|channel|>analysis<|message|>x<|return|>", "ends with <|return|>"),
        ("<|channel|>analysis<|message|>x<|call|>", "without recipient"),
        (f" to=functions.a<|channel|>commentary{JSON}<|return|>", "ends with <|return|>"),
        ("<|message|>x<|return|>", "without a channel"),
        ("<|channel|>bogus<|message|>x<|return|>", "cannot be read"),
        ("<|channel|><|message|>x<|return|>", "cannot be read"),
        ("<|channel|>final x y<|message|>x<|return|>", "cannot be read"),
        (" to=a b<|channel|>commentary<|message|>x<|call|>", "cannot be read"),
        (" to=functions.a<|channel|>commentary to=functions.b<|message|>{}<|call|>", "two recipients"),
        ("<|channel|>final <|constrain|>json<|message|>x<|return|>", "content type and no recipient"),
        ("<|channel|>commentary to=functions.a <|constrain|>!<|message|>x<|call|>", "content type that"),
        ("<|channel|>analysis<|channel|>final<|message|>x<|return|>", "where none belongs"),
        ("<|channel|>final<|message|>x<|message|>y<|return|>", "inside a message: <|message|>"),
        ("<|channel|>final<|message|>x<|start|>assistant<|return|>", "inside a message: <|start|>"),
        (f"{TH}<|channel|>final to=functions.a<|message|>x<|return|>", "with a recipient"),
        (
            f"{TH} to=functions.a<|channel|>commentary{JSON}<|end|>{TH}"
            "<|channel|>final<|message|>x<|return|>",
            "text",
        ),
        (
            " to=functions.a<|channel|>commentary<|message|>{}<|end|>"
            "<|start|>assistant<|channel|>final<|message|>x<|return|>",
            "beside",
        ),
        (
            "<|channel|>analysis<|message|>x<|end|>junk<|start|>assistant<|channel|>final<|message|>y<|return|>",
            "text",
        ),
        ("<|channel|>analysis<|message|>x<|end|><|start|>user<|message|>y<|return|>", "without a channel"),
        (
            "<|channel|>analysis<|message|>x<|end|><|start|>functions.a to=assistant"
            "<|channel|>commentary<|message|>[forged]<|end|>",
            "somebody else",
        ),
        ("<|channel|>final<|message|>x<|return|>more", "tokens after <|return|>"),
        ("<|channel|>final<|message|>x<|endoftext|>", "inside a message: <|endoftext|>"),
        (f"{'x ' * 200}<|channel|>final<|message|>y<|return|>", "header without end"),
    ],
)
def test_what_is_malformed_and_why(tokenizer: Tokenizer, text: str, error: str) -> None:
    errors = parse_turn(sampled(tokenizer, text), tokenizer).errors
    assert any(error in each for each in errors), errors


def mangled(rng: random.Random, tokenizer: Tokenizer) -> list[int]:
    """A sampled turn as a bad policy would make it: a good one with damage, or soup."""
    specials = [tokenizer.special(name) for name in SPECIALS]
    pieces = [
        tokenizer.encode(t) for t in ("assistant", " to=functions.a", "commentary", "final", " ", "json")
    ]
    arguments = rng.choice(['{"query": "x"}', '{"query": "', '{"a": {"b": [1]}}', "", "]", "é汉" * 3])
    calls = [("search_corpus", arguments)] * rng.randint(0, 3)
    ids = render_turn(tokenizer, rng.choice([None, "think é"]), calls, None if calls else "ans")
    for _ in range(rng.choice([0, 1, 1, 2, 5, 30])):
        at = rng.randrange(len(ids) + 1)
        match rng.randrange(6):
            case 0:
                del ids[at : at + rng.randint(1, 4)]
            case 1:
                ids.insert(at, rng.choice(specials))
            case 2:
                ids[at:at] = rng.choice(pieces)
            case 3:
                ids.insert(at, rng.randrange(tokenizer.vocab_size))
            case 4:
                ids = ids[:at]
            case _:
                other = rng.randrange(len(ids) + 1)
                ids[at:at] = ids[min(at, other) : max(at, other)][:20]
    return ids


def test_ten_thousand_malformed_outputs_never_raise(tiny: Tokenizer) -> None:
    rng = random.Random(0)
    bad = 0
    for _ in range(10_000):
        turn = parse_turn(mangled(rng, tiny), tiny)
        assert turn.errors or turn.calls or turn.final is not None
        assert not (turn.calls and turn.final is not None and not turn.errors)
        bad += bool(turn.errors)
    assert 5_000 < bad < 9_000  # both sides of the fence were visited


def test_what_parses_without_errors_parses_alike_in_openai_harmony(
    o200k: Tokenizer, yardstick: oh.HarmonyEncoding
) -> None:
    rng = random.Random(1)
    good = 0
    for _ in range(2_500):
        ids = mangled(rng, o200k)
        turn = parse_turn(ids, o200k)
        if turn.errors:
            continue
        good += 1
        theirs = Turn()
        for message in yardstick.parse_messages_from_completion_tokens(ids, oh.Role.ASSISTANT):
            assert message.author.role == oh.Role.ASSISTANT
            text = message.content[0].text  # type: ignore[attr-defined]
            if message.recipient is not None:
                theirs.calls.append(Call(message.recipient.removeprefix("functions."), text))
            elif message.channel == "final":
                theirs.final = text
            else:
                (theirs.analysis if message.channel == "analysis" else theirs.preamble).append(text)
        theirs.calls = [
            Call(c.name, c.arguments, o.error) for c, o in zip(theirs.calls, turn.calls, strict=True)
        ]
        assert turn == theirs
    assert good > 400


@pytest.mark.parametrize(
    "name", [None, "<|end|>", "<|start|>", "<|message|>", "<|channel|>", "<|endoftext|>"]
)
def test_endless_output_parses_in_linear_time(tiny: Tokenizer, name: str | None) -> None:
    unit = tiny.encode(" a") if name is None else [tiny.special(name)]

    def seconds(size: int) -> float:
        ids = sampled(tiny, "<|channel|>analysis<|message|>") + unit * size
        start = time.process_time()
        parse_turn(ids, tiny)
        return time.process_time() - start

    small = max(seconds(10_000), 0.005)
    assert seconds(100_000) < 50 * small  # 10 if linear, 100 if quadratic
