import hashlib
import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from context1.errors import InputError
from context1.schema import Chunk
from context1.search import index as room
from context1.search.analyser import Analyser
from context1.search.embedded import EmbeddedBackend
from context1.search.embedder import Vectors
from context1.search.hashed import HashEmbedder
from context1.search.index import BUILDING, INDEX, build_index
from context1.settings import SearchSettings

SETTINGS = SearchSettings(embedder="hash")


def chunks(count: int = 50, seed: int = 0) -> Iterator[Chunk]:
    rng = random.Random(seed)
    for n in range(count):
        text = " ".join(rng.choices(["fox", "whale", "Ohio", "patent", "10-K", "été"], k=8))
        yield Chunk(id=f"c{n}", doc_id=f"d{n // 3}", position=n % 3, title=f"t{n}", text=text, domain="web")


def contents(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Counting(HashEmbedder):
    """Records the texts it embeds."""

    def __init__(self) -> None:
        super().__init__(Analyser())
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        self.texts += texts
        return super().embed(texts)


KILLED_WHILE_EMBEDDING = """
    import os, signal, sys, time
    from pathlib import Path
    from tests.unit.search.test_index import SETTINGS, Counting, chunks, room

    room.EMBEDDED_AT_ONCE = 10
    folder = Path(sys.argv[1])

    class Killing(Counting):
        def embed(self, texts, **options):
            if len(self.texts) == 30:
                while '"vectors": 30' not in (folder / room.BUILDING).read_text():
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGKILL)
            return super().embed(texts)

    room.build_index(chunks(), SETTINGS, folder, threads=1, embedder=Killing())
"""


def killed(folder: Path) -> None:
    script = textwrap.dedent(KILLED_WHILE_EMBEDDING)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], env=environment, timeout=200, check=False
    )
    assert done.returncode == -signal.SIGKILL


def test_a_killed_build_goes_on_where_it_stood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "EMBEDDED_AT_ONCE", 10)
    killed(tmp_path / "a")
    with pytest.raises(InputError, match=r"no index\.json"):
        EmbeddedBackend.open(tmp_path / "a", SETTINGS)

    embedder = Counting()
    manifest = build_index(chunks(), SETTINGS, tmp_path / "a", threads=1, embedder=embedder)
    assert len(embedder.texts) == 20

    assert build_index(chunks(), SETTINGS, tmp_path / "b") == manifest
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert not (tmp_path / "a" / BUILDING).exists()


def test_other_chunks_do_not_go_on_from_a_killed_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "EMBEDDED_AT_ONCE", 10)
    killed(tmp_path / "a")
    embedder = Counting()
    build_index(chunks(seed=1), SETTINGS, tmp_path / "a", embedder=embedder)
    assert len(embedder.texts) == 50
    build_index(chunks(seed=1), SETTINGS, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_an_index_is_built_anew_over_an_old_one(tmp_path: Path) -> None:
    build_index(chunks(80), SETTINGS, tmp_path / "a")
    build_index(chunks(), SETTINGS, tmp_path / "a")
    build_index(chunks(), SETTINGS, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_threads_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "EMBEDDED_AT_ONCE", 3)
    for threads in (1, 4):
        build_index(chunks(), SETTINGS, tmp_path / str(threads), threads=threads)
    assert contents(tmp_path / "1") == contents(tmp_path / "4")


def test_a_failing_embedder_leaves_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "EMBEDDED_AT_ONCE", 10)

    class Failing(Counting):
        def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
            if len(self.texts) >= 20:
                raise ValueError("broken")
            return super().embed(texts)

    with pytest.raises(ValueError, match="broken"):
        build_index(chunks(), SETTINGS, tmp_path, threads=1, embedder=Failing())
    assert not (tmp_path / INDEX).exists()
    embedder = Counting()
    build_index(chunks(), SETTINGS, tmp_path, threads=1, embedder=embedder)
    assert len(embedder.texts) == 30
