"""Fixtures of the search tests: a server a session, an index name and settings a test."""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Callable, Iterator

import pytest

from context1.schema import Chunk
from context1.settings import Settings
from tests.integration.search import cluster
from tests.integration.search.proxy import Proxy

WORDS = [f"{head}{tail}" for head in "bdfglmnprst" for tail in ("alo", "enu", "iri", "ova", "umi")]


@pytest.fixture(scope="session")
def opensearch() -> Iterator[str]:
    """Address of a server that the session's tests share; none of them stops it."""
    if cluster.URL:
        yield cluster.URL.rstrip("/")
        return
    with cluster.running() as server:
        yield server.url


@pytest.fixture
def make_settings(opensearch: str, request: pytest.FixtureRequest) -> Callable[..., Settings]:
    """`make_settings(search__reranker="none")`: settings over the shared server, an alias a test."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:40].strip("-")
    alias = f"t-{name}-{uuid.uuid4().hex[:6]}"

    def make(**more: object) -> Settings:
        return cluster.settings_for(opensearch, alias, **more)

    return make


@pytest.fixture
def make_proxy(opensearch: str) -> Iterator[Callable[..., Proxy]]:
    """`make_proxy(...)` in front of the shared server, ended with the test."""
    proxies: list[Proxy] = []

    def make(**options: object) -> Proxy:
        proxies.append(Proxy(opensearch, **options))  # type: ignore[arg-type]
        return proxies[-1]

    yield make
    for proxy in proxies:
        proxy.stop()


def make_chunk(name: str, text: str, doc_id: str = "", position: int = 0, title: str = "") -> Chunk:
    return Chunk(
        id=name, doc_id=doc_id or f"d-{name}", position=position, title=title, text=text, domain="web"
    )


def made_up(count: int, seed: int = 0) -> list[Chunk]:
    """Chunks of words that follow nothing, four a document."""
    rng = random.Random(seed)
    return [
        make_chunk(f"c{n:05d}", " ".join(rng.choices(WORDS, k=12)), f"d{n // 4}", n % 4, rng.choice(WORDS))
        for n in range(count)
    ]
