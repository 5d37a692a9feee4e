import random

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.corpus.chunking import TEMPLATE, chunk_documents
from context1.corpus.sentences import halve, sentence_spans
from context1.errors import InputError
from context1.schema import Document
from context1.tokens.tokenizer import load_tokenizer

TINY = load_tokenizer("tiny")


class Words:
    """A fake tokenizer: words, blanks and signs are tokens."""

    def encode(self, text: str) -> list[int]:
        return [0 for _ in regex.findall(r"\p{L}+|\p{N}+|[^\p{L}\p{N}]", text)]


def doc(text: str, title: str = "T", name: str = "d") -> Document:
    return Document(id=name, title=title, text=text, domain="web")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", " Two!", " Three?", " Four"]),
        (
            "Dr. Smith of the U.S. Navy met J. R. Doe. He left.",
            ["Dr. Smith of the U.S. Navy met J. R. Doe.", " He left."],
        ),
        ("It cost 3.5 million. 7 came.", ["It cost 3.5 million.", " 7 came."]),
        ('He said "Go." Then left.', ['He said "Go."', " Then left."]),
        ("See e.g. This. and so on", ["See e.g. This. and so on"]),
        ("So did I. Then we left.", ["So did I.", " Then we left."]),
        ("一。二！三", ["一。", "二！", "三"]),
        ("A title\n\nA text", ["A title\n\n", "A text"]),
        ("", []),
    ],
)
def test_sentences_by_hand(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


@given(st.text("aB. \n!?。\"'", max_size=80))
def test_sentences_tile_the_text(text: str) -> None:
    assert "".join(text[start:end] for start, end in sentence_spans(text)) == text


@given(st.text("ab \n", min_size=2))
def test_halves_are_not_empty(text: str) -> None:
    assert 0 < halve(text, 0, len(text)) < len(text)


PIECES = [*"abcXYZ019. \n!?。é東\u200f\0", "<|end|>", "</Document>", "word "]
ANY_TEXT = st.lists(st.sampled_from(PIECES), max_size=300).map("".join)


@settings(deadline=None)
@given(st.lists(st.tuples(ANY_TEXT, st.text(max_size=60)), max_size=4), st.integers(30, 80))
def test_chunks_fit_and_are_slices_in_order(contents: list[tuple[str, str]], budget: int) -> None:
    docs = [doc(text, title, f"d{n}") for n, (text, title) in enumerate(contents)]
    chunks = chunk_documents(docs, TINY, budget, 3)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for document in docs:
        mine = [chunk for chunk in chunks if chunk.doc_id == document.id]
        assert [chunk.position for chunk in mine] == list(range(len(mine)))
        at = 0
        for chunk in mine:
            assert chunk.text == chunk.text.strip() != ""
            at = document.text.index(chunk.text, at) + len(chunk.text)
            assert len(TINY.encode(TEMPLATE.format(**chunk.model_dump()))) <= budget
        kept = sum(map(str.isalnum, "".join(chunk.text for chunk in mine)))
        assert kept == sum(map(str.isalnum, document.text))


def test_whole_sentences_are_packed_up_to_the_budget() -> None:
    text = "One two three. Four five six. Seven eight nine."
    chunks = chunk_documents([doc(text)], Words(), 22, 3, template="[{id}] {text}\n")
    # The header, `[ba48du] ` and a newline, has 8 of these tokens, a sentence 6 and the blank before it 1.
    assert [chunk.text for chunk in chunks] == ["One two three. Four five six.", "Seven eight nine."]


def test_ids_depend_neither_on_order_nor_on_neighbours() -> None:
    docs = [doc(f"Text {n}. " * n, "T", f"d{n}") for n in range(40)]
    ids = {chunk.id: chunk for chunk in chunk_documents(docs, TINY, 40, 3)}
    shuffled = random.Random(0).sample(docs, len(docs))
    assert {chunk.id: chunk for chunk in chunk_documents(shuffled, TINY, 40, 3)} == ids
    assert {chunk.id for chunk in chunk_documents(docs[7:9], TINY, 40, 3)} < set(ids)


def test_colliding_ids_are_told_apart() -> None:
    docs = [doc(f"Text {n}.", "T", f"d{n}") for n in range(3_000)]
    ids = [chunk.id for chunk in chunk_documents(docs, Words(), 40, 2)]
    assert len(set(ids)) == 3_000


def test_empty_repeated_and_conflicting_documents() -> None:
    docs = [doc("", name="a"), doc(" \n…", name="b"), doc("Text.", name="c"), doc("Text.", name="c")]
    assert [chunk.doc_id for chunk in chunk_documents(docs, TINY, 40, 3)] == ["c"]
    with pytest.raises(InputError, match="`c`"):
        chunk_documents([*docs, doc("Other.", name="c")], TINY, 40, 3)


def test_long_titles_leave_room_and_small_budgets_are_refused() -> None:
    (*_, chunk) = chunk_documents([doc("Text. " * 50, "Word " * 100)], TINY, 40, 3)
    assert chunk.title.endswith("…") and len(chunk.title) < 60
    with pytest.raises(InputError, match=r"corpus\.chunk_tokens"):
        chunk_documents([doc("Text.")], TINY, 12, 3)


@pytest.mark.parametrize("line", ["x" * 1_000_000, "word " * 40_000, "\u202e\u200f" * 20_000, "東" * 20_000])
def test_a_line_of_a_megabyte(line: str) -> None:
    chunks = chunk_documents([doc(line)], TINY, 400, 3)
    shown = "" if "\u202e" in line else line.replace(" ", "")
    assert "".join(chunk.text for chunk in chunks).replace(" ", "") == shown
