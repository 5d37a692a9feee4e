"""The stage: files, counts, the same bytes for the same seed, resuming, and errors that help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from context1.corpus.ingest import CHUNKS, ingest_documents, ingest_folder
from context1.errors import InputError
from context1.jsonl import read_jsonl
from context1.schema import Chunk, Task
from context1.search.embedded import build_index
from context1.settings import Settings
from context1.tasks.candidate import Drop
from context1.tasks.generate import DROPPED, SPLITS, generate, tasks_file
from context1.tasks.reasons import REASONS
from context1.tasks.steps import Steps
from context1.tasks.world import world_documents
from context1.tokens.tokenizer import load_tokenizer

SETTINGS = Settings.load(
    profile="smoke",
    overrides={"world.tasks_per_world": 3, "world.domains": ["web", "email"], "corpus_tasks.tasks": 24},
)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("worlds")
    template = SETTINGS.profile.chunk_template
    tokenizer = load_tokenizer("tiny")
    ingest_documents(
        world_documents(SETTINGS.world), tokenizer, SETTINGS.corpus, folder / "docs", template=template
    )
    return folder / "docs", _index(folder)


def _index(folder: Path) -> Path:
    build_index(read_jsonl(folder / "docs" / CHUNKS, Chunk), SETTINGS.search, folder / "index")
    return folder / "index"


def _ingest(tmp_path: Path, rows: list[dict[str, str]]) -> tuple[Path, Path]:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    wide = SETTINGS.corpus.model_copy(update={"chunk_tokens": 96})
    ingest_folder(source, load_tokenizer("tiny"), wide, tmp_path / "docs")
    return tmp_path / "docs", _index(tmp_path)


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.jsonl*")}


def test_worlds_to_tasks(worlds: tuple[Path, Path], tmp_path: Path) -> None:
    summary = generate(SETTINGS, "", *worlds, tmp_path / "out")
    tasks = {split: list(read_jsonl(tmp_path / "out" / tasks_file(split), Task)) for split in SPLITS}
    drops = list(read_jsonl(tmp_path / "out" / DROPPED, Drop))
    assert {split: summary[split] for split in SPLITS} == {split: len(rows) for split, rows in tasks.items()}
    lost = sum(count for key, count in summary.items() if key.startswith("dropped_"))
    assert summary["explored"] == summary["tasks"] + lost
    assert {row.reason for row in drops} <= set(REASONS)
    assert all(task.split == split for split, rows in tasks.items() for task in rows)
    worlds_of = {split: {task.world for task in rows} for split, rows in tasks.items()}
    assert not worlds_of["train"] & worlds_of["test"]
    assert not worlds_of["train"] & worlds_of["dev"]
    assert all(task.distractors for rows in tasks.values() for task in rows)
    chunks = {chunk.id: chunk for chunk in read_jsonl(worlds[0] / CHUNKS, Chunk)}
    for task in (task for rows in tasks.values() for task in rows):
        for fact in task.facts:
            text = chunks[fact.chunk_ids[0]].text
            assert text[fact.quote.start : fact.quote.end] == fact.quote.text


def test_the_same_settings_give_the_same_bytes_also_after_a_kill(
    worlds: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(SETTINGS, "", *worlds, tmp_path / "one")
    with monkeypatch.context() as patch:
        patch.setattr(Steps, "_distract", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            generate(SETTINGS, "", *worlds, tmp_path / "two")
    assert not (tmp_path / "two").exists()
    saved = tmp_path / "two.partial" / "steps" / "2-verify.jsonl.gz"
    before = saved.stat().st_mtime_ns
    wider = SETTINGS.model_copy(update={"verify": SETTINGS.verify.model_copy(update={"concurrency": 3})})
    generate(SETTINGS, "", *worlds, tmp_path / "two")
    assert (tmp_path / "two" / "steps" / "2-verify.jsonl.gz").stat().st_mtime_ns == before
    generate(wider, "", *worlds, tmp_path / "three")
    assert _bytes(tmp_path / "one") == _bytes(tmp_path / "two") == _bytes(tmp_path / "three")


SYLLABLES = "ba ke lo mi nu ra se ti vo du".split()


def word(number: int, ending: str) -> str:
    """A word of its own for each number below 1000."""
    return "".join(SYLLABLES[number // power % 10] for power in (100, 10, 1)).capitalize() + ending


def people(count: int) -> list[dict[str, str]]:
    """A page a person; each names two others."""
    rows = []
    for i in range(count):
        name, taught, paid = (f"{word(j % count, 'n')} {word(j * 7 % count, 's')}" for j in (i, i + 1, i + 5))
        trade, town = word(i * 17 % count, "r").lower(), word(i * 11 % count, "by")
        first = f"The {trade} {name} was taught in the village of {town} by the stern {taught}."
        second = f"Some {1300 + 7 * i} crowns of {trade} work were kept in the tower by {paid} in the end."
        rows.append({"title": "Village", "text": f"{first}\n\n{second}"})
    return rows


def test_a_corpus_to_tasks_on_separate_sides(tmp_path: Path) -> None:
    documents, index = _ingest(tmp_path, people(90))
    summary = generate(SETTINGS, "source", documents, index, tmp_path / "out")
    chunks = {chunk.id: chunk for chunk in read_jsonl(documents / CHUNKS, Chunk)}
    side: dict[str, str] = {}
    for split in SPLITS:
        for task in read_jsonl(tmp_path / "out" / tasks_file(split), Task):
            for chunk_id in [*task.gold, *task.distractors]:
                assert side.setdefault(chunks[chunk_id].doc_id, split) == split
    assert summary["tasks"] > 10
    assert summary["tasks"] <= SETTINGS.corpus_tasks.tasks + 2
    assert summary.get("hops_2", 0) > 0
    assert generate(SETTINGS, "source", documents, index, tmp_path / "out") == summary


@pytest.mark.parametrize(
    "rows",
    [
        people(1),
        [{"title": "Table", "text": f"{i} | 12 | 13,500 | 14,222 | 9"} for i in range(6)],
    ],
)
def test_too_little_text_is_an_error_that_says_what_is_needed(
    rows: list[dict[str, str]], tmp_path: Path
) -> None:
    documents, index = _ingest(tmp_path, rows)
    with pytest.raises(InputError, match=r"no task for the split `(train|test)`.*several documents"):
        generate(SETTINGS, "source", documents, index, tmp_path / "out")
    assert not (tmp_path / "out").exists()
