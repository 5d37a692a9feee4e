"""The parts of the harness by themselves: context, packing, tools' arguments, answers, profile."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.errors import InputError
from context1.harness.answer import parse_answer
from context1.harness.budget import longest_response, pack, zone_of
from context1.harness.context import Context, ContextOverflow
from context1.harness.messages import clip
from context1.harness.profile import HarnessProfile, make_profile
from context1.harness.rendering import rendering_of
from context1.harness.tools import TOOLS, judge, read_arguments
from context1.schema import Sample
from context1.search.backend import Hit
from context1.settings import Budget, ProfileSettings

SEARCH, GREP, READ, PRUNE = TOOLS


# -- context


def test_pruning_drops_whole_spans_and_seals_the_text_before_it() -> None:
    context = Context(100)
    context.add_text([1, 2])
    context.add_text([3])
    context.add_chunk("a", [4, 5, 6])
    context.add_text([7])
    context.add_chunk("b", [8])
    context.add_text([9])
    assert [span.ids for span in context.spans] == [[1, 2, 3], [4, 5, 6], [7], [8], [9]]
    assert context.prune(["b", "a"]) == 4
    context.add_text([10])
    assert context.ids == [1, 2, 3, 7, 9, 10]
    assert [(edit.at, edit.removed) for edit in context.edits] == [(5, [1, 3])]
    assert [span.ids for span in context.spans][-2:] == [[9], [10]]  # not joined across the edit
    assert list(context.visible) == [] and list(context.shown) == ["a", "b"]
    context.add_chunk("a", [11])
    assert list(context.visible) == ["a"] and list(context.shown) == ["a", "b"]
    assert context.peak == 9


def test_removing_nothing_is_no_edit() -> None:
    context = Context(10)
    context.add_text([1])
    assert context.prune([]) == 0 and context.edits == []
    context.add_text([2])
    assert len(context.spans) == 1


def test_a_context_refuses_to_overflow_and_to_show_twice() -> None:
    context = Context(3)
    sample = Sample(logprobs=[0.0], temperature=1, policy_version="", finish="stop")
    context.add_sampled([1], sample)
    context.add_chunk("a", [1])
    with pytest.raises(ValueError, match="already"):
        context.add_chunk("a", [1])
    with pytest.raises(ContextOverflow):
        context.add_text([1, 2])


# -- budget


def test_zone_boundaries() -> None:
    budget = Budget()
    counts = [0, 19_999, 20_000, 27_999, 28_000, 32_768]
    assert [zone_of(n, budget) for n in counts] == ["normal", "normal", "soft", "soft", "hard", "hard"]
    assert longest_response(30_720, budget) == 2_048
    assert longest_response(30_721, budget) == 2_047


def test_packing_stops_at_the_first_that_does_not_fit(player) -> None:
    rendering = rendering_of(player.profile(), player.tokenizer)
    long, *short = player.make_chunks(5)
    long = long.model_copy(update={"text": "long " * 60})
    cost = max(len(rendering.chunk(chunk)) for chunk in short)

    def ids(chunks: list, room: int, visible: set[str]) -> list[str]:
        return [chunk.id for chunk in pack([Hit.of(c, 1.0) for c in chunks], room, visible, rendering).chunks]

    assert ids([short[0], long, short[1]], 3 * cost, set()) == [short[0].id]
    assert ids([long, short[0], short[1]], 2 * cost, set()) == [short[0].id, short[1].id]
    assert ids(short, 2 * cost, {short[0].id}) == [short[1].id]  # the note on the first takes some room
    assert ids(short, 0, set()) == []


def test_packing_counts_every_token_that_it_adds(player) -> None:
    rendering = rendering_of(player.profile(), player.tokenizer)
    chunks = player.make_chunks(6)
    visible = {chunks[1].id}
    packed = pack([Hit.of(c, 1.0) for c in chunks], 100, visible, rendering)
    assert sum(len(ids) for ids, _ in packed.pieces) <= 100
    assert packed.chunk_tokens == sum(len(ids) for ids, chunk in packed.pieces if chunk)
    assert visible == {chunks[1].id, *(chunk.id for chunk in packed.chunks)}


def test_the_longest_usage_bounds_every_usage(player) -> None:
    for texts in ("tiny", "full"):
        profile = player.profile(texts=texts)
        rendering = rendering_of(profile, player.tokenizer)
        lengths = {len(rendering.usage(n, zone)) for n in range(641) for zone in ("normal", "soft", "hard")}
        assert max(lengths) <= rendering.longest_usage <= max(lengths) + 4


# -- tools


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        (SEARCH, '{"query": "x"}', {"query": "x"}),
        (SEARCH, ' {"query": " x "} ', {"query": " x "}),
        (SEARCH, '{"query": "\\ud83d\\ude00"}', {"query": "\U0001f600"}),
        (SEARCH, '{"query": "\\ud83d"}', {"query": "\ufffd"}),
        (PRUNE, '{"chunk_ids": [" a ", "b"]}', {"chunk_ids": ["a", "b"]}),
        (PRUNE, '{"chunk_ids": []}', {"chunk_ids": []}),
        (SEARCH, "", "arguments are not JSON"),
        (SEARCH, "[" * 5_000, "arguments are not JSON"),
        (SEARCH, '{"query": ' + "9" * 5_000 + "}", "arguments are not JSON"),
        (SEARCH, '"x"', "arguments are not an object"),
        (SEARCH, '{"pattern": "x"}', "query is missing"),
        (SEARCH, '{"query": "x", "k": 3}', "unexpected argument k"),
        (SEARCH, '{"query": null}', "query is not a string"),
        (GREP, '{"pattern": ""}', "pattern is empty"),
        (READ, '{"doc_id": 7}', "doc_id is not a string"),
        (PRUNE, '{"chunk_ids": ["a", 1]}', "chunk_ids is not a list of ids"),
    ],
)
def test_arguments(tool, text: str, expected) -> None:
    assert read_arguments(tool, text) == expected


def test_judgement_order() -> None:
    query = '{"query": "x"}'
    assert judge("search_corpus", query, None, TOOLS, hard=False).status == "ok"
    assert judge("search_corpus", query, None, TOOLS, hard=True).status == "refused"
    assert judge("prune_chunks", '{"chunk_ids": ["a"]}', None, TOOLS, hard=True).status == "ok"
    assert judge("search_corpus", "{", None, TOOLS, hard=True).malformed
    assert judge("search_corpus", query, "unknown recipient", TOOLS, hard=False).why == "unknown recipient"
    assert judge("grep_corpus", '{"pattern": "x"}', None, (SEARCH,), hard=False).malformed


@settings(max_examples=60, deadline=None)
@given(st.text() | st.recursive(st.none() | st.text() | st.floats(), st.lists).map(json.dumps))
def test_reading_arguments_is_total_and_gives_clean_text(text: str) -> None:
    for tool in TOOLS:
        json.dumps(read_arguments(tool, text), ensure_ascii=False).encode()


# -- answer

SHOWN = {"ba00du", "ba01du", "ba02du"}


@pytest.mark.parametrize(
    ("text", "documents", "ids", "unknown"),
    [
        ("<Document id=ba00du></Document>", 1, ["ba00du"], []),
        ('<Document id="ba00du"></Document>', 1, ["ba00du"], []),
        ("<Document id='ba00du'  >\n</Document>", 1, ["ba00du"], []),
        ("I think:\n<Document id=ba01du>x</Document> and <Document id=ba00du>", 1, ["ba01du"], []),
        ("<Document id=ba01du></Document><Document id=ba01du></Document>", 2, ["ba01du"], []),
        ("<Document id=zz></Document><Document id=zz></Document>", 2, [], ["zz"]),
        ("<Document id=ba00du><Document id=ba01du></Document></Document>", 1, ["ba01du"], []),
        ("</Document><Document id=></Document><Document></Document>", 0, [], []),
        ("<document id=ba00du></document>", 0, [], []),
        ("[ba00du]", 0, [], []),
        ("", 0, [], []),
    ],
)
def test_answers(text: str, documents: int, ids: list[str], unknown: list[str]) -> None:
    answer = parse_answer(text, SHOWN)
    assert (answer.documents, answer.ids, answer.unknown) == (documents, ids, unknown)


def test_justifications_are_optional_and_bounded() -> None:
    text = (
        "<Document id=ba00du><Justification> It says so. </Justification></Document>"
        "<Document id=ba01du><Justification>open</Document>"
        f"<Document id=ba02du><Justification>{'x' * 9_000}</Justification></Document>"
    )
    answer = parse_answer(text, SHOWN)
    assert answer.ids == ["ba00du", "ba01du", "ba02du"]
    assert answer.justifications["ba00du"] == "It says so."
    assert "ba01du" not in answer.justifications and len(answer.justifications["ba02du"]) == 2_000


@given(st.text(st.sampled_from("<>/=\"' Documentidba0u\n"), max_size=300))
def test_answers_are_total(text: str) -> None:
    answer = parse_answer(text, SHOWN)
    assert len(answer.ids) + len(answer.unknown) <= answer.documents


# -- profile


def test_the_hash_covers_all_but_the_name(player) -> None:
    base = player.profile()
    others = [
        player.profile(tools=["search_corpus"]),
        player.profile(texts="full"),
        player.profile(call=131),
        player.profile(turns_max=13),
        base.model_copy(update={"chunk_template": "[{id}]\n"}),
        base.model_copy(update={"tokenizer": "other"}),
        base.model_copy(update={"texts": base.texts.model_copy(update={"refused": "no"})}),
        base.model_copy(update={"version": 99}),
    ]
    fresh = [HarnessProfile(**profile.model_dump()) for profile in [base, *others]]
    assert len({profile.hash for profile in fresh}) == len(fresh)
    renamed = HarnessProfile(**(base.model_dump() | {"name": "other"}))
    assert renamed.hash == base.hash == HarnessProfile.model_validate_json(base.model_dump_json()).hash


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("tools", ["search_corpus", "fly"], "unknown tool `fly`"),
        ("chunk_template", "{id} {text}\n", "start with"),
        ("chunk_template", "[{id}] {text}", "newline"),
        ("chunk_template", "[{id}] {hop}\n", "unknown field {hop}"),
        ("chunk_template", "[{id}] {\n", "chunk_template"),
    ],
)
def test_bad_profile_settings_are_named(player, field: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match="profile\\.") as caught:
        make_profile(ProfileSettings(**{field: value}), player.tokenizer)
    assert message in str(caught.value)


def test_full_instructions_follow_the_settings(player) -> None:
    full = make_profile(ProfileSettings(), player.tokenizer)
    assert "{" not in full.instructions and "32,768 tokens" in full.instructions
    assert "prune_chunks" in full.instructions and "<Justification>" in full.instructions
    bare = make_profile(ProfileSettings(tools=["search_corpus"], justifications=False), player.tokenizer)
    assert "prune" not in bare.instructions.lower() and "<Justification>" not in bare.instructions
    assert bare.instructions.endswith("<Document id=ID></Document>")


def test_a_title_is_brought_onto_one_line(player) -> None:
    chunk = player.make_chunks(1)[0].model_copy(update={"title": "a\n[zz00zz] b\r\nc"})
    rendering = rendering_of(player.profile(), player.tokenizer)
    assert player.text(rendering.chunk(chunk)).startswith("[ba00du] a [zz00zz] b c: ")


def test_clip() -> None:
    assert clip("a\n b", 10) == "a b"
    assert clip("x" * 10_000, 5) == "xxxx…"
