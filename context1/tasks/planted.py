"""Faults planted into candidates whose truth is known, to measure what verification lets through.

Every fault takes a good candidate and returns a bad one (or a chunk that makes it bad); `benign` returns one
that is as good as before. Drawn from a `random.Random`, so the same seed plants the same faults.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from context1.schema import Chunk
from context1.tasks.candidate import Candidate, Hop
from context1.tasks.chunkset import ChunkSet
from context1.tasks.forms import forms, same
from context1.tasks.numerals import MONTHS, dates, spell

Fault = Callable[[Candidate, list[Candidate], ChunkSet, random.Random], Candidate | None]
"""(candidate, all candidates, chunks, draws) to the faulty candidate; None if it does not apply."""


def foreign_quote(
    candidate: Candidate, others: list[Candidate], chunks: ChunkSet, rng: random.Random
) -> Candidate | None:
    """A quote of another document that this one does not hold too."""
    hop = rng.choice(rng.choice(others).hops)
    number = rng.randrange(len(candidate.hops))
    texts = [chunk.text for chunk in chunks.of_document(candidate.hops[number].doc_id)]
    return None if any(hop.quote in text for text in texts) else _with_hop(candidate, number, quote=hop.quote)


def invented_answer(
    candidate: Candidate, others: list[Candidate], chunks: ChunkSet, rng: random.Random
) -> Candidate | None:
    """The truth, and the quote with it, replaced by another value of its kind, as a model might invent."""
    value = rng.choice(others).truth
    last = candidate.hops[-1]
    if same(value, candidate.truth) or last.answer not in last.quote or _says(candidate, value):
        return None
    faulty = _with_hop(candidate, -1, quote=last.quote.replace(last.answer, value), answer=value)
    return faulty.model_copy(update={"truth": value})


def misread_answer(
    candidate: Candidate, others: list[Candidate], chunks: ChunkSet, rng: random.Random
) -> Candidate | None:
    """The right quote with an answer that it does not hold."""
    value = rng.choice(others).truth
    if forms(value).within(candidate.hops[-1].quote) or _says(candidate, value):
        return None
    return _with_hop(candidate, -1, answer=value).model_copy(update={"truth": value})


def neighbour_quote(
    candidate: Candidate, _: list[Candidate], chunks: ChunkSet, rng: random.Random
) -> Candidate | None:
    """Another passage of the right document, without the answer."""
    number = rng.randrange(len(candidate.hops))
    hop = candidate.hops[number]
    texts = [c.text[:80].rsplit(" ", 1)[0] for c in chunks.of_document(hop.doc_id)]
    fit = [text for text in texts if len(text.split()) >= 3 and not forms(hop.answer).within(text)]
    return _with_hop(candidate, number, quote=rng.choice(fit)) if fit else None


def spliced_quote(
    candidate: Candidate, _: list[Candidate], chunks: ChunkSet, rng: random.Random
) -> Candidate | None:
    """Two pieces that do not stand side by side: the first words of the document and the answer."""
    number = rng.randrange(len(candidate.hops))
    hop = candidate.hops[number]
    opening = " ".join(chunks.of_document(hop.doc_id)[0].text.split()[:4])
    spliced = f"{opening} {hop.answer}"
    beside = any(spliced.lower() in " ".join(c.text.split()).lower() for c in chunks.of_document(hop.doc_id))
    return None if beside else _with_hop(candidate, number, quote=spliced)


def altered_quote(
    candidate: Candidate, others: list[Candidate], _: ChunkSet, rng: random.Random
) -> Candidate | None:
    """The right quote but for one word: another name, another number, or a `not`."""
    number = rng.randrange(len(candidate.hops))
    hop = candidate.hops[number]
    pieces = hop.quote.replace(hop.answer, "\0").split(" ")
    marked = [i for i, piece in enumerate(pieces) if piece[:1].isupper() or piece[:1].isdigit()]
    if not marked or len(pieces) < 3:
        return None
    at = rng.choice(marked)
    if rng.random() < 0.25:
        pieces.insert(at, "not")
    elif pieces[at][0].isdigit():
        pieces[at] = str((int(pieces[at][0]) + 1) % 10) + pieces[at][1:]
    else:
        pieces[at] = rng.choice(others).hops[0].answer.split()[0].capitalize()
    quote = " ".join(pieces).replace("\0", hop.answer)
    return None if quote.lower() == hop.quote.lower() else _with_hop(candidate, number, quote=quote)


def leaked_truth(candidate: Candidate, _: list[Candidate], chunks: ChunkSet, rng: random.Random) -> Candidate:
    """The truth in the question, in another form where there is one."""
    return candidate.model_copy(
        update={"question": f"{candidate.question} ({other_form(candidate.truth, rng)})"}
    )


def leaked_bridge(
    candidate: Candidate, _: list[Candidate], chunks: ChunkSet, rng: random.Random
) -> Candidate | None:
    """A later hop's start in the question."""
    if len(candidate.hops) < 2:
        return None
    hop = rng.choice(candidate.hops[:-1])
    return candidate.model_copy(update={"question": f"{candidate.question} ({other_form(hop.answer, rng)})"})


def broken_chain(
    candidate: Candidate, others: list[Candidate], _: ChunkSet, rng: random.Random
) -> Candidate | None:
    """A hop that starts from something else than the previous answer."""
    given = rng.choice(others).hops[0].answer
    if len(candidate.hops) < 2 or same(given, candidate.hops[-1].given):
        return None
    return _with_hop(candidate, -1, given=given)


def foreign_clue_quote(
    candidate: Candidate, others: list[Candidate], _: ChunkSet, rng: random.Random
) -> Candidate | None:
    """A clue quote that is not in the clue."""
    number = rng.randrange(len(candidate.hops))
    clue = rng.choice(others).hops[0].clue
    return _with_hop(candidate, number, clue_quote=clue) if clue not in candidate.hops[number].clue else None


FAULTS: dict[str, Fault] = {
    "foreign_quote": foreign_quote,
    "invented_answer": invented_answer,
    "misread_answer": misread_answer,
    "neighbour_quote": neighbour_quote,
    "spliced_quote": spliced_quote,
    "altered_quote": altered_quote,
    "foreign_clue_quote": foreign_clue_quote,
    "leaked_truth": leaked_truth,
    "leaked_bridge": leaked_bridge,
    "broken_chain": broken_chain,
}


def equivalent_chunk(hop: Hop, gold: Chunk, rng: random.Random) -> Chunk:
    """The fact in another document: sentences turned round, the answer in another form, words left out."""
    text = " ".join(reversed(re.split(r"(?<=[.!?])\s+", gold.text)))
    return _copy(gold, "same", _thinned(text, hop, rng).replace(hop.answer, other_form(hop.answer, rng)))


def rival_chunk(hop: Hop, gold: Chunk, others: list[Candidate], rng: random.Random) -> Chunk | None:
    """The gold chunk in another document, with another answer."""
    value = rng.choice(others).truth
    text = gold.text.replace(hop.answer, value)
    return None if forms(hop.answer).within(f"{gold.title}\n{text}") else _copy(gold, "rival", text)


def _thinned(text: str, hop: Hop, rng: random.Random) -> str:
    """Without a quarter of the words that the fact does not need; some of the others in the plural."""
    kept = set(f"{hop.answer} {hop.given}".split())
    needed = kept | set(re.findall(r"[^\W_]+", hop.clue))
    words = [
        word for word in text.split() if set(re.findall(r"[^\W_]+", word)) & needed or rng.random() > 0.25
    ]
    plural = re.compile(r"[a-z]{4,}[^sy]")
    return " ".join(
        word + "s" if word not in kept and plural.fullmatch(word) and rng.random() < 0.25 else word
        for word in words
    )


def answering_distractor(candidate: Candidate, rng: random.Random) -> Chunk:
    """A look-alike that gives the truth away in another form."""
    text = f"Some say it was {other_form(candidate.truth, rng)}, as recorded elsewhere."
    return Chunk(
        id=f"answers-{candidate.id}", doc_id="planted", position=0, title="Notes", text=text, domain=""
    )


def benign(candidate: Candidate, rng: random.Random) -> Candidate:
    """Quotes as a careful judge might type them: other case, blanks and marks, one letter wrong."""
    number = rng.randrange(len(candidate.hops))
    hop = candidate.hops[number]
    changed = rng.choice((str.upper, str.lower, _spaced, _unmarked, _mistyped))(hop.quote)
    return _with_hop(candidate, number, quote=changed)


def other_form(value: str, rng: random.Random) -> str:
    """The value written in another way."""
    found = dates(value)
    if found and found[0].values[0][2]:
        year, month, day = found[0].values[0]
        name = next(name for name, number in MONTHS.items() if number == month).capitalize()
        return rng.choice(
            (f"{year}-{month:02}-{day:02}", f"{name[:3]}. {day}, {year}", f"{day} {name} {year}")
        )
    if re.fullmatch(r"[1-9]\d{3,14}", value):
        return rng.choice((f"{int(value):,}", f"{value}.00", spell(int(value)), f"{value[:-3]},{value[-3:]}"))
    parts = value.split()
    written = [value.upper(), value.lower(), value.replace(" ", "  "), value.replace(" ", "-")]
    if len(parts) == 2 and value.istitle():
        written += [f"{parts[1]}, {parts[0]}", f"{parts[0][0]}. {parts[1]}", f"{parts[0]} J. {parts[1]}"]
    return rng.choice(written)


def _says(candidate: Candidate, value: str) -> bool:
    return any(
        forms(value).within(text) for text in [candidate.question, *(hop.clue for hop in candidate.hops)]
    )


def _with_hop(candidate: Candidate, number: int, **changes: str) -> Candidate:
    hops = list(candidate.hops)
    hops[number] = hops[number].model_copy(update=changes)
    return candidate.model_copy(update={"hops": hops})


def _copy(gold: Chunk, kind: str, text: str) -> Chunk:
    return gold.model_copy(
        update={"id": f"{kind}-{gold.id}", "doc_id": f"{kind}-{gold.doc_id}", "position": 0, "text": text}
    )


def _spaced(text: str) -> str:
    return text.replace(" ", "\n  ")


def _unmarked(text: str) -> str:
    return re.sub(r"(?<!\d)[,;:\"“”()](?!\d)", "", text)


def _mistyped(text: str) -> str:
    """Two letters swapped within the first plain word of six letters or more, if the quote has five words."""
    match = re.search(r"\b[a-z]{6,}\b", text)
    if not match or len(text.split()) < 5:
        return text
    at = match.start() + 2
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
