"""Episodes played from scripts, checked turn by turn against the rules, worked out by hand."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

TWO = 60
"""Room for two of the corpus' chunks (of about 27 tokens each), and not for three."""
IDS = [f"ba{i:02d}du" for i in range(60)]


def test_search_prune_answer(player, checks) -> None:
    played = player.play(
        [
            player.search("in order"),
            lambda view: player.prune(*view.visible[1:]),
            lambda view: player.answer(view.visible[0], "zz99zz", view.shown[1], view.visible[0]),
        ]
    )
    trajectory = played.trajectory
    assert trajectory.end == "answer" and trajectory.turns == 3 and trajectory.format_errors == 0
    assert trajectory.shown == IDS[: len(trajectory.shown)] and len(trajectory.shown) >= 3
    assert trajectory.pruned == trajectory.shown[1:]
    assert trajectory.final == [IDS[0], IDS[1]]  # pruned ones allowed, repeats count once
    assert trajectory.unknown_ids == 1
    assert played.views[2].visible == [IDS[0]]
    assert [edit.removed for edit in trajectory.edits] == [
        [i for i, span in enumerate(trajectory.spans) if span.chunk_id in trajectory.pruned]
    ]
    checks.everything(played)


def test_the_context_reads_as_harmony(player) -> None:
    played = player.play([player.search("in order"), player.answer(IDS[0])], profile=player.profile(call=TWO))
    text = player.text(played.views[1].ids)
    used = played.views[1].used
    assert text == (
        "<|start|>developer<|message|>search, prune, answer<|end|>"
        "<|start|>user<|message|>who owns the green tower?<|end|>"
        f"<|start|>developer<|message|>[{played.views[0].used}/640]<|end|><|start|>assistant"
        " to=functions.search_corpus<|channel|>commentary <|constrain|>json<|message|>"
        '{"query": "in order"}<|call|>'
        "<|start|>functions.search_corpus to=assistant<|channel|>commentary<|message|>"
        "[ba00du] Title 0: the green tower of number 0 belongs to somebody\n"
        "[ba01du] Title 0: the green tower of number 1 belongs to somebody\n<|end|>"
        f"<|start|>developer<|message|>[{used}/640]<|end|><|start|>assistant"
    )
    told = text.rindex("<|start|>developer")
    assert used == len(played.views[1].ids) - length(player, text[told:])


def length(player, text: str) -> int:
    """Tokens of a rendered text whose specials are written out."""
    pieces = re.split(r"(<\|\w+\|>)", text)
    return sum(1 if piece.startswith("<|") else len(player.tokenizer.encode(piece)) for piece in pieces)


def test_pruning_drops_the_spans_and_nothing_else(player) -> None:
    played = player.play(
        [player.search("in order"), player.prune(IDS[0]), player.answer(IDS[1])],
        profile=player.profile(call=TWO),
    )
    text = player.text(played.views[2].ids)
    assert "[ba00du] Title" not in text
    assert "<|channel|>commentary<|message|>[ba01du] Title 0" in text
    assert text.count("<|start|>functions.search_corpus to=assistant") == 1
    assert "pruned 1<|end|>" in text


def test_parallel_calls_come_back_in_call_order_and_share_no_chunk(player, checks) -> None:
    slow_first = player.backend_type(player.make_chunks(60), delay=lambda n: 5 - 4 * n)
    played = player.play([player.search("in order", "in order"), player.answer(IDS[0])], backend=slow_first)
    first, second = played.trajectory.calls
    assert played.backend.most_live == 2
    assert first.chunk_ids == IDS[: len(first.chunk_ids)]
    assert set(first.chunk_ids).isdisjoint(second.chunk_ids)
    text = player.text(played.views[1].ids)
    assert text.count("[ba00du already shown]\n") == 1
    assert text.index("[ba00du] Title") < text.index("[ba00du already shown]")
    checks.everything(played)


def test_search_never_shows_a_chunk_twice_but_grep_and_read_bring_pruned_ones_back(player, checks) -> None:
    played = player.play(
        [
            player.search("in order"),
            player.prune(IDS[0], IDS[1]),
            player.search("in order"),
            player.turn(("grep_corpus", "number 0 ")),
            lambda view: player.prune(*view.visible[:-1]),
            player.turn(("read_document", IDS[1])),
            player.answer(IDS[0]),
        ],
        profile=player.profile(call=60),
    )
    calls = played.trajectory.calls
    assert played.backend.asked[1][2] == frozenset(played.views[2].shown)
    assert IDS[0] in played.views[2].shown and IDS[0] not in played.views[2].visible
    assert calls[2].chunk_ids and IDS[0] not in calls[2].chunk_ids
    assert calls[3].chunk_ids == [IDS[0]]
    assert calls[5].chunk_ids == [IDS[1]]
    assert played.trajectory.shown.count(IDS[0]) == 1
    checks.everything(played)


def test_a_backend_that_ignores_the_exclusion_is_corrected(player, checks) -> None:
    backend = player.backend_type(player.make_chunks(60))
    honest = backend.search

    async def careless(query: str, *, limit: int = 50, exclude: object = ()) -> list:
        return await honest(query, limit=limit)

    backend.search = careless
    played = player.play([player.search("in order")] * 2 + [player.answer(IDS[0])], backend=backend)
    first, second = (call.chunk_ids for call in played.trajectory.calls)
    assert set(first).isdisjoint(second) and second
    assert "already shown" not in player.text(played.views[2].ids)
    checks.everything(played)


def test_grep_of_a_visible_chunk_says_so(player) -> None:
    played = player.play(
        [player.search("in order"), player.turn(("grep_corpus", "number 0 ")), player.answer(IDS[0])]
    )
    assert player.text(played.views[2].ids).count(f"[{IDS[0]} already shown]\n") == 1
    assert played.trajectory.calls[1].chunk_ids == []


def test_grep_shows_five_at_most(player) -> None:
    played = player.play(
        [player.turn(("grep_corpus", "tower")), player.answer(IDS[0])],
        profile=player.profile(call=400),
        backend=player.backend_type(player.make_chunks(60)),
    )
    assert played.trajectory.calls[0].chunk_ids == IDS[:5]


def test_prunes_first_then_retrieval_into_the_room_they_made(player, checks) -> None:
    """A search alone gets what is left; with a prune in the same turn it gets more, never less."""

    def run(total: int, *extra: tuple[str, object]) -> Any:
        script = [
            player.search("in order"),
            player.search("in order"),
            player.turn(("search_corpus", "in order"), *extra),
            player.answer(IDS[0]),
        ]
        profile = player.profile(soft=1, hard=total - 97, reserve=96, total=total)
        played = player.play(script, profile=profile)
        checks.everything(played)
        return played

    used = run(2_000).views[2].used
    prune = ("prune_chunks", IDS[:5])
    shown = [
        tuple(len(run(total, *extra).trajectory.calls[2].chunk_ids) for extra in ((), (prune,)))
        for total in range(used + 160, used + 320, 20)
    ]
    assert all(alone <= after_prune for alone, after_prune in shown)
    assert any(alone < after_prune for alone, after_prune in shown)


def test_unknown_ids_of_a_prune_are_named_and_nothing_fails(player) -> None:
    played = player.play([player.prune("zz00zz", "zz01zz"), player.answer(IDS[0])])
    call = played.trajectory.calls[0]
    assert (call.status, call.chunk_ids, call.tokens) == ("ok", [], 0)
    assert call.message == "pruned 0 unknown zz00zz, zz01zz"
    assert played.trajectory.edits == [] and played.trajectory.format_errors == 0


def test_two_prunes_of_a_turn_are_one_edit(player, checks) -> None:
    script = [
        player.search("in order"),
        player.turn(("prune_chunks", [IDS[0], IDS[0]]), ("prune_chunks", [IDS[0], IDS[1]])),
        player.answer(IDS[2]),
    ]
    played = player.play(script)
    assert len(played.trajectory.edits) == 1
    assert played.trajectory.pruned == [IDS[0], IDS[1]]
    assert [call.chunk_ids for call in played.trajectory.calls[1:]] == [[IDS[0]], [IDS[1]]]
    checks.everything(played)


def test_zones_and_their_messages(player) -> None:
    played = player.play([player.search("in order")] * 5 + [player.answer(IDS[0])])
    zones = [view.zone for view in played.views]
    assert zones == sorted(zones, key=["normal", "soft", "hard"].index) and set(zones) == {
        "normal",
        "soft",
        "hard",
    }
    for view in played.views:
        expected = {"normal": "", "soft": " prune or answer", "hard": " only prune or answer"}[view.zone]
        assert player.text(view.ids).endswith(f"[{view.used}/640]{expected}<|end|><|start|>assistant")
        assert (view.zone == "hard") == (view.used >= 480) and (view.zone == "normal") == (view.used < 320)


def test_at_the_hard_cutoff_a_search_is_refused_even_beside_a_prune(player, checks) -> None:
    def script(view):
        if "refused" in player.text(view.ids):
            return player.answer(view.shown[0])
        if view.zone != "hard":
            return player.search("in order")
        return player.turn(("prune_chunks", view.visible[:3]), ("search_corpus", "in order"))

    played = player.play(script)
    prune, search = played.trajectory.calls[-2:]
    assert (prune.status, search.status) == ("ok", "refused")
    assert prune.chunk_ids and not search.chunk_ids
    assert played.trajectory.end == "answer" and played.trajectory.format_errors == 0
    checks.everything(played)


def test_without_a_prune_tool_the_messages_do_not_speak_of_it(player) -> None:
    profile = player.profile(tools=["search_corpus"])
    played = player.play([player.search("in order")] * 5 + [player.answer(IDS[0])], profile=profile)
    assert "prune or" not in player.text(played.views[-1].ids)
    pruned = player.play([player.prune("x"), player.answer(IDS[0])], profile=profile)
    assert pruned.trajectory.calls[0].status == "error"


def test_a_cut_response_is_closed_unsampled_and_malformed(player, checks) -> None:
    long = player.search("word " * 200)
    played = player.play([long, player.search("in order"), player.answer(IDS[0])])
    trajectory = played.trajectory
    sampled = next(span for span in trajectory.spans if span.kind == "sampled")
    assert len(sampled.ids) == 96 and sampled.sample is not None and sampled.sample.finish == "length"
    after = trajectory.spans[trajectory.spans.index(sampled) + 1]
    assert after.kind == "text" and after.ids[0] == player.tokenizer.special("<|end|>")
    assert trajectory.format_errors == 1 and len(trajectory.calls) == 1
    assert "<|end|><|start|>developer<|message|>malformed<|end|>" in player.text(played.views[1].ids)
    checks.everything(played)


def test_three_malformed_turns_in_a_row_end_it_and_a_good_one_between_does_not(player) -> None:
    bad = player.tokenizer.encode("hello")
    good = player.search("in order")
    played = player.play([bad, bad, good, bad, bad, bad])
    assert (played.trajectory.end, played.trajectory.turns) == ("malformed", 6)
    assert played.trajectory.format_errors == 5


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_corpus", '{"query": 3}'),
        ("search_corpus", '{"query": "x"'),
        ("search_corpus", '["x"]'),
        ("search_corpus", "{}"),
        ("search_corpus", '{"query": "x", "k": 1}'),
        ("search_corpus", '{"query": "  "}'),
        ("prune_chunks", '{"chunk_ids": "ba00du"}'),
        ("prune_chunks", '{"chunk_ids": [1]}'),
        ("teleport", '{"query": "x"}'),
    ],
)
def test_a_bad_call_fails_alone_and_is_told(player, name: str, arguments: str) -> None:
    from context1.tokens.harmony import render_turn

    calls = [(name, arguments), ("search_corpus", '{"query": "in order"}')]
    played = player.play([render_turn(player.tokenizer, None, calls, None), player.answer(IDS[0])])
    bad, good = played.trajectory.calls
    assert (bad.status, good.status) == ("error", "ok")
    assert bad.message.startswith("error: ") and good.chunk_ids
    assert bad.message in player.text(played.views[1].ids)
    assert played.trajectory.format_errors == 1 and played.trajectory.end == "answer"


def test_a_bad_pattern_or_document_is_told_and_is_no_format_error(player) -> None:
    played = player.play(
        [player.turn(("grep_corpus", "(")), player.turn(("read_document", "doc999")), player.answer(IDS[0])]
    )
    assert [call.status for call in played.trajectory.calls] == ["error", "error"]
    assert played.trajectory.format_errors == 0
    assert "missing )" in played.trajectory.calls[0].message


def test_nothing_found_and_nothing_fits_are_told_apart(player) -> None:
    played = player.play([player.search("nothing"), player.answer("x")])
    assert played.trajectory.calls[0].message == "none"
    long = player.backend_type(player.make_chunks(8, text="word " * 200))
    played = player.play([player.search("in order"), player.answer("x")], backend=long)
    assert played.trajectory.calls[0].message == "no room"
    assert played.trajectory.shown == []


def test_turn_limit(player) -> None:
    played = player.play([player.prune("x")], profile=player.profile(turns_soft=2, turns_max=4))
    assert (played.trajectory.end, played.trajectory.turns) == ("turn_limit", 4)


def test_an_answer_in_the_last_turn_counts(player) -> None:
    script = [player.prune("x")] * 3 + [player.answer("x")]
    played = player.play(script, profile=player.profile(turns_soft=2, turns_max=4))
    assert (played.trajectory.end, played.trajectory.turns) == ("answer", 4)


def test_context_full(player, checks) -> None:
    think = "a b c d e f g h i j k l m n o p q r s t " * 2
    played = player.play([player.turn(("prune_chunks", ["x"]), think=think)])
    assert played.trajectory.end == "context_full"
    checks.everything(played)


def test_a_question_that_fills_the_context(player) -> None:
    played = player.play([player.answer("x")], question="why " * 700)
    assert (played.trajectory.end, played.trajectory.turns) == ("context_full", 0)
    assert played.trajectory.spans == [] and played.policy.closed == 1


@pytest.mark.parametrize(
    "text", ["", "I do not know.", "<Document>ba00du</Document>", "<Document id=ba00du>"]
)
def test_a_malformed_answer_ends_the_episode(player, text: str) -> None:
    played = player.play([player.search("in order"), player.turn(final=text)])
    trajectory = played.trajectory
    assert (trajectory.end, trajectory.final, trajectory.format_errors) == ("malformed_answer", [], 1)


def test_an_answer_of_unseen_ids_alone_is_well_formed_and_empty(player) -> None:
    played = player.play([player.search("in order"), player.answer("zz00zz", "zz01zz")])
    assert (played.trajectory.end, played.trajectory.final, played.trajectory.unknown_ids) == (
        "answer",
        [],
        2,
    )


def test_an_outage_of_search_ends_it_as_infrastructure(player) -> None:
    played = player.play([player.search("in order", "down", "in order"), player.answer("x")])
    trajectory = played.trajectory
    assert trajectory.end == "infrastructure" and "connection refused" in trajectory.error
    assert played.backend.live == 0 and played.policy.closed == 1
    assert played.events[-1].kind == "result"


def test_a_lost_engine_ends_it_as_infrastructure(player) -> None:
    played = player.play([player.search("in order"), [-1]])
    assert played.trajectory.end == "infrastructure" and "engine lost" in played.trajectory.error
    assert played.policy.closed == 1 and played.trajectory.turns == 1


def test_cancellation_gives_the_seat_back_and_is_passed_on(player) -> None:
    backend = player.backend_type(player.make_chunks(8), delay=lambda n: 10**9)
    policy = player.policy_type([player.search("in order")])
    events: list = []

    async def leave() -> None:
        running = asyncio.create_task(player.play_async([], backend=backend, policy=policy, events=events))
        while not backend.live:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(leave())
    assert policy.closed == 1
    assert events[-1].kind == "result" and events[-1].trajectory.end == "cancelled"


def test_a_bug_is_not_hidden_and_still_gives_the_seat_back(player) -> None:
    policy = player.policy_type(lambda view: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        player.play([], policy=policy)
    assert policy.closed == 1


def test_events_tell_the_episode_in_order(player) -> None:
    played = player.play(
        [
            player.search("in order", "nothing"),
            player.turn(("prune_chunks", [IDS[0]]), think="enough"),
            player.answer(IDS[1]),
        ]
    )
    kinds = [event.kind for event in played.events]
    assert kinds == [
        "usage",
        *("turn", "tool_call", "tool_call", "observation", "observation", "usage"),
        *("turn", "tool_call", "prune", "observation", "usage"),
        *("turn", "result"),
    ]
    assert played.events[7].analysis == ["enough"]
    assert played.events[9].chunk_ids == [IDS[0]] and played.events[9].freed > 0
    assert played.events[-1].trajectory is played.trajectory


def test_the_full_texts_run_too(player, checks) -> None:
    profile = player.profile(texts="full", total=4096, soft=2400, hard=3400, reserve=400, call=500)
    played = player.play(
        [
            player.search("in order", "nothing"),
            player.turn(("prune_chunks", [IDS[0], "zz"]), ("teleport", [])),
            player.turn(
                final=f'<Document id="{IDS[1]}"><Justification>It says so.</Justification></Document>'
            ),
        ],
        profile=profile,
    )
    text = player.text(played.views[2].ids)
    assert text.startswith("<|start|>system<|message|>You are a retrieval agent")
    assert "type search_corpus = (_: {" in text and "chunk_ids: string[]," in text
    assert "No new results.<|end|>" in text and "Pruned 1 chunks, freed" in text
    assert "Not in the context: zz." in text and "Error: unknown tool teleport" in text
    assert "[Token usage: 1," in text
    assert played.trajectory.justifications == {IDS[1]: "It says so."}
    checks.everything(played)
