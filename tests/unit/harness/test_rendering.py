"""An unpruned context is, token for token, the Harmony rendering of its conversation."""

from __future__ import annotations

import json

import pytest

from context1.errors import InputError
from context1.harness.profile import make_profile
from context1.settings import Budget, ProfileSettings
from context1.tokens.harmony import Message, prompt_start, render_ids, tool_result, turn_messages
from context1.tokens.prompt import ToolSpec, developer_text
from context1.tokens.tokenizer import load_tokenizer

IDS = [f"ba{i:02d}du" for i in range(9)]


def load(name: str):
    try:
        return load_tokenizer(name)
    except InputError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ["tiny", "o200k"])
@pytest.mark.parametrize("texts", ["tiny", "full"])
def test_a_context_is_the_rendering_of_its_messages(player, name: str, texts: str) -> None:
    """The messages are written down here as whole texts, so a merge across a chunk's edge would show."""
    tokenizer = load(name)
    budget = Budget(total=6_000, call=150, soft=4_000, hard=5_000, reserve=500)
    settings = ProfileSettings(texts=texts, justifications=False, budget=budget)
    profile = make_profile(settings, tokenizer)
    own = type(player)(tokenizer)
    chunks = own.make_chunks(9, text=" lead and trail . \n\n (number {i})\n")
    turns = [
        [("search_corpus", "in order"), ("search_corpus", "in order")],
        [("grep_corpus", "number 0"), ("grep_corpus", "("), ("search_corpus", "nothing")],
    ]
    played = own.play(
        [own.turn(*turns[0], think="first"), own.turn(*turns[1]), own.answer(IDS[0])],
        backend=own.backend_type(chunks),
        profile=profile,
    )
    shown = [call.chunk_ids for call in played.trajectory.calls]
    texts_of = {c.id: f"[{c.id}] {c.title} (doc {c.doc_id})\n{c.text}\n" for c in chunks}
    said = [call.message for call in played.trajectory.calls]
    again = "".join(f"[{i} already shown]\n" for i in shown[0])
    usage = [profile.texts.usage.format(used=view.used, total=6_000) for view in played.views]
    tools = [ToolSpec(tool.name, tool.description, tool.parameters) for tool in profile.tools]
    developer = profile.instructions if texts == "tiny" else developer_text(profile.instructions, tools)
    arguments = [
        [
            (tool, json.dumps({"query" if tool == "search_corpus" else "pattern": value}))
            for tool, value in turn
        ]
        for turn in turns
    ]
    conversation = [
        *([Message("system", profile.texts.system)] if texts == "full" else []),
        Message("developer", developer),
        Message("user", "who owns the green tower?"),
        Message("developer", usage[0]),
        *turn_messages("first", arguments[0], None),
        tool_result("search_corpus", "".join(texts_of[i] for i in shown[0])),
        tool_result("search_corpus", again + "".join(texts_of[i] for i in shown[1])),
        Message("developer", usage[1]),
        *turn_messages(None, arguments[1], None),
        tool_result("grep_corpus", f"[{IDS[0]} already shown]\n"),
        tool_result("grep_corpus", said[3]),
        tool_result("search_corpus", said[4]),
        Message("developer", usage[2]),
    ]
    assert len(shown[0]) >= 2 and len(shown[1]) >= 1
    assert played.views[2].ids == render_ids(conversation, tokenizer) + prompt_start(tokenizer)
