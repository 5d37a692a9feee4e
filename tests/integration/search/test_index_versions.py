"""Building versions of an index on a real server, and moving between them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from context1.errors import InputError
from context1.jsonl import write_jsonl
from context1.search.backend import SearchUnavailable
from context1.search.opening import build_backend, open_backend
from context1.search.opensearch.backend import OpenSearchBackend
from context1.search.opensearch.build import BATCH_CHUNKS, build_opensearch_index
from context1.search.opensearch.identity import Pointer
from context1.search.opensearch.shared import connect, disconnect
from context1.search.opensearch.versions import Version, gc, rollback, switch, versions
from context1.settings import Settings
from tests.integration.search.conftest import made_up, make_chunk

pytestmark = pytest.mark.slow

Make = Callable[..., Settings]


def built(settings: Settings, seed: int = 0, count: int = 40, **options: object) -> Pointer:
    return build_opensearch_index(lambda: made_up(count, seed), f"source{seed}", settings, **options)  # type: ignore[arg-type]


def on(settings: Settings, work: Callable[..., object], *arguments: object, **options: object) -> object:
    client = connect(settings.opensearch)
    try:
        return client.run(work(client, settings.opensearch.index, *arguments, **options))  # type: ignore[arg-type]
    finally:
        disconnect(client)


def listed(settings: Settings) -> list[Version]:
    return on(settings, versions)  # type: ignore[return-value]


def raw(settings: Settings, method: str, path: str, body: object = None) -> dict:
    request = urllib.request.Request(
        settings.opensearch.hosts[0] + path,
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def test_versions_are_listed_switched_rolled_back_and_collected(make_settings: Make) -> None:
    settings = make_settings()
    names = [built(settings, seed).index for seed in range(5)]
    assert [name.rsplit("-", 1)[0] for name in names] == [
        f"{settings.opensearch.index}-{number:04}" for number in range(1, 6)
    ]
    found = listed(settings)
    assert [version.name for version in found] == names and all(version.complete for version in found)
    assert [version.current for version in found] == [True, False, False, False, False], (
        "the first is used at once"
    )
    assert {version.chunks for version in found} == {40} and min(version.bytes for version in found) > 0

    assert on(settings, switch).name == names[4]  # type: ignore[attr-defined]
    assert on(settings, switch, "3").name == names[2]  # type: ignore[attr-defined]
    assert on(settings, rollback).name == names[1]  # type: ignore[attr-defined]
    assert [version.current for version in listed(settings)] == [False, True, False, False, False]
    with pytest.raises(InputError, match=r"no version `9`.*complete ones"):
        on(settings, switch, "9")

    assert [version.name for version in on(settings, gc, 3)] == [names[0]]  # type: ignore[attr-defined]
    assert [version.name for version in listed(settings)] == names[1:], "and the one in use"
    assert on(settings, gc, 3) == []
    with pytest.raises(InputError, match="no complete version before"):
        on(settings, rollback)


def test_the_same_contents_are_built_once(make_settings: Make) -> None:
    settings = make_settings()
    first = built(settings)
    created = listed(settings)[0].created
    assert built(settings) == first and [version.created for version in listed(settings)] == [created]
    assert built(settings, fresh=True).index != first.index
    others = [
        built(make_settings(search__language="german")),
        built(make_settings(search__k1=0.9)),
        built(make_settings(opensearch__hnsw_m=24)),
        build_opensearch_index(lambda: made_up(40), "another source", settings),
    ]
    assert len({first.index_id, *(other.index_id for other in others)}) == 5


def test_opening_what_was_built_otherwise_says_what_to_do(make_settings: Make) -> None:
    settings = make_settings()
    with pytest.raises(InputError, match=r"stands for 0 indices; run `context1 index build`"):
        OpenSearchBackend.open(settings)
    pointer = built(settings)
    for change, part in (
        ({"search__language": "german"}, r"search\.language now means"),
        ({"search__k1": 0.9}, r"search\.k1 now means 0\.9"),
        ({"search__b": 0.1}, r"search\.b now means"),
        ({"search__embedder": "minilm"}, r"search\.embedder now means minilm-"),
    ):
        with pytest.raises(InputError, match=part + r".*context1 index build"):
            OpenSearchBackend.open(make_settings(**change))
    other = pointer.model_copy(update={"identity": pointer.identity.model_copy(update={"source": "other"})})
    with pytest.raises(InputError, match=r"not the one that this run was built on \(source differ\)"):
        OpenSearchBackend.open(settings, other)
    gone = pointer.model_copy(update={"index": "t-nowhere-0001-00000000"})
    with pytest.raises(InputError, match=r"not at http.*context1 index build --fresh"):
        OpenSearchBackend.open(settings, gone)


def test_a_version_that_lost_chunks_is_not_opened(make_settings: Make) -> None:
    settings = make_settings()
    pointer = built(settings)
    raw(settings, "PUT", f"/{pointer.index}/_settings", {"index.blocks.write": False})
    raw(settings, "DELETE", f"/{pointer.index}/_doc/c00007?refresh=true")
    with pytest.raises(InputError, match="holds 39 chunks of 40"):
        OpenSearchBackend.open(settings, pointer)
    with pytest.raises(InputError, match=r"holds 39 chunks of 40.*--fresh"):
        built(settings)
    assert built(settings, fresh=True).index != pointer.index


def test_a_complete_version_takes_no_writes(make_settings: Make) -> None:
    settings = make_settings()
    pointer = built(settings)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        raw(settings, "PUT", f"/{pointer.index}/_doc/new", {"id": "new"})


def test_bad_corpora_are_refused_before_anything_is_made(make_settings: Make) -> None:
    settings = make_settings()
    with pytest.raises(InputError, match="no chunk"):
        build_opensearch_index(list, "s", settings)
    with pytest.raises(InputError, match="same id"):
        build_opensearch_index(lambda: [make_chunk("a", "x"), make_chunk("a", "y")], "s", settings)
    assert listed(settings) == []


KILLED = """
import sys
from pathlib import Path
from context1.search.backend import SearchUnavailable
from context1.search.opening import build_backend
from context1.settings import Settings
settings = Settings.model_validate_json(Path(sys.argv[1]).read_text())
build_backend(settings, Path(sys.argv[2]), "source", Path(sys.argv[3]), threads=1)
"""


def test_a_killed_build_continues_where_it_was(make_settings: Make, tmp_path: Path) -> None:
    settings, count = make_settings(), 6_000
    write_jsonl(tmp_path / "chunks.jsonl", made_up(count))
    (tmp_path / "settings.json").write_text(settings.model_dump_json())
    files = [str(tmp_path / name) for name in ("settings.json", "chunks.jsonl", "out")]
    process = subprocess.Popen([sys.executable, "-c", KILLED, *files])
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (begun := _seen(settings)):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (version,) = listed(settings)
    assert version.meta.state == "building" and not version.current and 0 < begun < count
    with pytest.raises(InputError, match="stands for 0 indices"):
        OpenSearchBackend.open(settings)

    summary = build_backend(settings, tmp_path / "chunks.jsonl", "source", tmp_path / "out")
    assert summary["index"] == version.name and summary["chunks"] == count
    written = raw(settings, "GET", f"/{version.name}/_stats/indexing")["_all"]["primaries"]["indexing"]
    assert count <= written["index_total"] <= count + 2 * BATCH_CHUNKS, "what was there is not sent again"
    backend = open_backend(settings, tmp_path / "out")
    last = made_up(count)[-1]
    assert [hit.chunk for hit in asyncio.run(backend.grep(last.text, limit=1))] == [last]


def _seen(settings: Settings) -> int:
    for version in listed(settings):
        raw(settings, "POST", f"/{version.name}/_refresh")
        return int(raw(settings, "GET", f"/{version.name}/_count")["count"])
    return 0


def test_reindexing_interrupts_no_search(make_settings: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context1.search.opensearch.target.FOLLOW", 0.2)
    settings = make_settings()
    old, pinned = built(settings, 0), built(settings, 0)
    backend, run = OpenSearchBackend.open(settings), OpenSearchBackend.open(settings, pinned)
    texts = {seed: {chunk.text for chunk in made_up(40, seed)} for seed in (0, 1)}
    seen: list[int] = []
    stop = threading.Event()

    async def search_on() -> None:
        while not stop.is_set():
            found = {hit.chunk.text for hit in await backend.search("balo denu firi")}
            seen.append(next(seed for seed in texts if found and found <= texts[seed]))

    searching = threading.Thread(target=lambda: asyncio.run(search_on()))
    searching.start()
    try:
        new = built(settings, 1)
        before = len(seen)
        assert on(settings, switch).name == new.index  # type: ignore[attr-defined]
        wait_for(lambda: 1 in seen)
        on(settings, gc, 1)
        after = len(seen)
        wait_for(lambda: len(seen) > after + 3)
    finally:
        stop.set()
        searching.join()
    assert set(seen[:before]) == {0} and seen == sorted(seen) and backend.index_id == new.index_id
    assert [version.name for version in listed(settings)] == [new.index]
    with pytest.raises(SearchUnavailable, match="404"):
        asyncio.run(run.search("balo"))
    assert old == pinned


def test_the_alias_is_not_followed_to_another_analyser(
    make_settings: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("context1.search.opensearch.target.FOLLOW", 0.0)
    settings = make_settings()
    built(settings)
    backend = OpenSearchBackend.open(settings)
    built(make_settings(search__language="german"))
    on(settings, switch)
    for _ in range(3):
        assert asyncio.run(backend.search("balo"))
        time.sleep(0.3)
    assert "search.language now means" in capsys.readouterr().err


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)
