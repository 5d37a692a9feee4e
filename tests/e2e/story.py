"""A search as its events would tell it: three rollouts over a small made-up corpus."""

from __future__ import annotations

from tests.e2e.standin import event

QUESTION = "Who bought the maker of the pressure valve that failed at Harrow Point, and for how much?"

BUDGET = {"total": 32_768, "soft": 20_000, "hard": 28_000}


def chunk(
    chunk_id: str, title: str, text: str, doc_id: str = "", position: int = 0, domain: str = "web"
) -> dict[str, object]:
    """A chunk as the server sends it."""
    return {
        "id": chunk_id,
        "doc_id": doc_id or f"d-{chunk_id}",
        "position": position,
        "title": title,
        "text": text,
        "domain": domain,
    }


def usage(rollout: int, turn: int, used: int, budget: dict[str, int] = BUDGET) -> bytes:
    """The count that the policy is told; its zone follows from the marks."""
    zone = "hard" if used >= budget["hard"] else "soft" if used >= budget["soft"] else "normal"
    return event("usage", rollout=rollout, turn=turn, used=used, zone=zone, **budget)


def turn(
    rollout: int, number: int, analysis: str = "", errors: tuple[str, ...] = (), tokens: int = 96
) -> bytes:
    """The policy has spoken."""
    thoughts = [analysis] if analysis else []
    return event("turn", rollout=rollout, turn=number, analysis=thoughts, tokens=tokens, errors=list(errors))


def call(
    rollout: int, number: int, index: int, name: str, arguments: dict[str, object], status: str = "ok"
) -> bytes:
    """A call as judged."""
    return event(
        "tool_call", rollout=rollout, turn=number, index=index, name=name, arguments=arguments, status=status
    )


def observation(
    rollout: int,
    number: int,
    index: int,
    name: str,
    chunks: list[dict[str, object]],
    tokens: int = 0,
    message: str = "",
    status: str = "ok",
) -> bytes:
    """What a call was answered with."""
    return event(
        "observation", rollout=rollout, turn=number, index=index, name=name, status=status, chunks=chunks,
        tokens=tokens, message=message,
    )  # fmt: skip


def prune(rollout: int, number: int, chunk_ids: list[str], freed: int) -> bytes:
    """Chunks left the context."""
    return event("prune", rollout=rollout, turn=number, chunk_ids=chunk_ids, freed=freed)


def summary(rollout: int, final: list[str], end: str = "answer", **more: object) -> dict[str, object]:
    """A rollout's line of the result."""
    counts = {"turns": 4, "shown": 8, "pruned": 2, "format_errors": 0, "peak_tokens": 24_310, "error": ""}
    seconds = {"policy": 9.4, "search": 0.31, "harness": 0.02}
    return {"rollout": rollout, "end": end, "final": final, "seconds": seconds, **counts, **more}


def result(
    results: list[dict[str, object]], rollouts: list[dict[str, object]], query: str = QUESTION
) -> bytes:
    """The fused end."""
    ids = {"model": "tiny-rl-7f3a", "index": "demo-index-19c2", "harness_profile": "tiny-0d41"}
    return event("result", id="s-1", query=query, results=results, rollouts=rollouts, seconds=9.81, **ids)


def ranked(
    rank: int, found: dict[str, object], rollouts: list[int], justification: str = ""
) -> dict[str, object]:
    """One place of the ranking."""
    return {"rank": rank, "chunk": found, "justification": justification, "rollouts": rollouts}


INQUIRY = chunk(
    "c7f2", "Harrow Point inquiry, interim findings",
    "The inquiry finds that the release at Harrow Point began when relief valve RV-7, a Corliss model 40 "
    "made by Tamsin Flow Controls of Leith, stuck open at 61 bar. The valve had been rebuilt twice since "
    "1998; the second rebuild replaced its spring with one rated for a smaller seat. No alarm was raised for "
    "eleven minutes, and the deluge system was started by hand.",
    "d-inquiry", 3,
)  # fmt: skip
FILING = chunk(
    "b21e", "Ardent Industries plc: annual report, note 14",
    "On 3 March the Group acquired the whole of Tamsin Flow Controls Ltd for a cash consideration of "
    "GBP 41.5 million, of which GBP 4 million is held in escrow against claims arising from products "
    "delivered before completion.",
    "d-ardent-ar", 41, "finance",
)  # fmt: skip
PRESS = chunk(
    "a903", "Ardent to buy valve maker Tamsin",
    "Ardent Industries said on Monday that it had agreed to buy Leith-based Tamsin Flow Controls, a maker of "
    "relief and control valves with 212 staff. Terms were not disclosed.",
    "d-press", 0,
)  # fmt: skip
LETTER = chunk(
    "e5d0", "Re: escrow release",
    "Dirk, the escrow agent holds the four million until the Harrow Point claims are settled or thirty-six "
    "months have passed. Tamsin's insurers have been told. Please do not quote the 41.5 figure in public "
    "before the report is out.",
    "d-mail-88", 2, "email",
)  # fmt: skip
JUNK = [
    chunk(
        "j101", "Harrow Point lighthouse",
        "The lighthouse at Harrow Point was lit in 1871 and automated in 1983. Visitors reach it by the "
        "coast path from the village.",
        "d-light",
    ),
    chunk(
        "j102", "Pressure relief valves: a buyer's guide",
        "A relief valve opens at a set pressure and closes again when the pressure has fallen. Spring, pilot "
        "and weight loaded types differ in how sharply they open.",
        "d-guide", 7,
    ),
    chunk(
        "j103", "Tamsin Archer discography",
        "Albums, singles and guest appearances, with the positions that they reached in the charts.",
        "d-music",
    ),
    chunk(
        "j104", "US 4,771,804: Quick-acting relief valve",
        "A relief valve having a poppet and a seat, wherein the poppet carries a skirt that is exposed to "
        "the discharge flow so that lift increases as flow begins.",
        "d-patent", 1, "legal",
    ),
]  # fmt: skip


def first_rollout(r: int) -> list[bytes]:
    """Finds both hops, prunes junk on the way."""
    return [
        usage(r, 0, 2_140),
        turn(r, 0, "Two hops: first the maker of the valve at Harrow Point, then who bought that maker."),
        call(r, 0, 0, "search_corpus", {"query": "Harrow Point pressure valve failure"}),
        call(r, 0, 1, "search_corpus", {"query": "relief valve manufacturer Harrow Point incident"}),
        observation(r, 0, 0, "search_corpus", [INQUIRY, JUNK[0]], 3_911),
        observation(r, 0, 1, "search_corpus", [JUNK[1], JUNK[3]], 4_022),
        usage(r, 1, 14_480),
        turn(r, 1, "The valve is a Corliss 40 by Tamsin Flow Controls. Now the buyer."),
        call(r, 1, 0, "search_corpus", {"query": "Tamsin Flow Controls acquisition"}),
        call(r, 1, 1, "grep_corpus", {"pattern": "(acquired|bought).{0,40}Tamsin"}),
        observation(r, 1, 0, "search_corpus", [PRESS, JUNK[2]], 3_804),
        observation(r, 1, 1, "grep_corpus", [FILING], 2_216),
        usage(r, 2, 22_930),
        turn(r, 2, "The lighthouse, the guide and the music are of no use."),
        call(r, 2, 0, "prune_chunks", {"chunk_ids": ["j101", "j102", "j103"]}),
        prune(r, 2, ["j101", "j102", "j103"], 7_120),
        observation(
            r, 2, 0, "prune_chunks", [], 7_120, "Pruned 3 chunks, freed 7,120 tokens."
        ),
        usage(r, 3, 16_204),
        turn(r, 3, "", tokens=141),
    ]  # fmt: skip


def second_rollout(r: int) -> list[bytes]:
    """Stumbles over a malformed turn and a refusal, and ends with less."""
    return [
        usage(r, 0, 2_140),
        turn(r, 0, "Start from the failure."),
        call(r, 0, 0, "search_corpus", {"query": "valve failed Harrow Point"}),
        observation(r, 0, 0, "search_corpus", [INQUIRY, JUNK[0], JUNK[1]], 4_090),
        usage(r, 1, 11_350),
        turn(r, 1, errors=("no call and no answer",)),
        usage(r, 2, 11_402),
        turn(r, 2, "Read the inquiry in full."),
        call(r, 2, 0, "read_document", {"doc_id": "d-inquiry"}),
        call(r, 2, 1, "grep_corpus", {"pattern": "Tamsin("}),
        observation(r, 2, 0, "read_document", [LETTER, JUNK[3]], 4_071),
        observation(r, 2, 1, "grep_corpus", [], 0, "Error: missing closing )", "error"),
        usage(r, 3, 28_615),
        turn(r, 3),
        call(r, 3, 0, "search_corpus", {"query": "who bought Tamsin"}, "refused"),
        observation(
            r, 3, 0, "search_corpus", [], 0,
            "Refused: the context is nearly full. Prune chunks first, or give the final answer.", "refused",
        ),
        usage(r, 4, 28_702),
        turn(r, 4),
    ]  # fmt: skip


WHY_FILING = "States the buyer, Ardent Industries, and the price, GBP 41.5 million."
WHY_INQUIRY = "Names the maker of the valve that failed at Harrow Point: Tamsin Flow Controls."


def ending() -> bytes:
    """Of three rollouts: the third plays like the first."""
    return result(
        [
            ranked(1, FILING, [0, 2], WHY_FILING),
            ranked(2, INQUIRY, [0, 1, 2], WHY_INQUIRY),
            ranked(3, LETTER, [1], "Repeats the figure and says why part of it is in escrow."),
        ],
        [
            summary(0, ["b21e", "c7f2"], pruned=3),
            summary(1, ["c7f2", "e5d0"], turns=5, pruned=0, format_errors=1, peak_tokens=28_702),
            summary(2, ["b21e", "c7f2"], pruned=3),
        ],
    )


def whole() -> list[bytes]:
    """The three side by side, then the result."""
    parts = [first_rollout(0), second_rollout(1), first_rollout(2)]
    mixed = [part[place] for place in range(max(map(len, parts))) for part in parts if place < len(part)]
    return [*mixed, ending()]
