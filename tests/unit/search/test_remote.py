from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from context1.errors import InputError
from context1.schema import Chunk
from context1.search.backend import SearchUnavailable
from context1.search.embedded import EmbeddedBackend, build_index
from context1.search.embedding import load_embedder
from context1.search.endpoint import EndpointRefused
from context1.search.remote import RemoteEmbedder, RemoteReranker
from context1.settings import EmbeddingSettings, RerankingSettings, SearchSettings

if TYPE_CHECKING:
    ModelServer = Any

TEXTS = [f"steel price river number{n}" for n in range(23)]


def embedder(server: ModelServer, **changed: Any) -> RemoteEmbedder:
    return RemoteEmbedder(EmbeddingSettings(url=server.url, model="m", **changed))


def searching(server: ModelServer, **changed: Any) -> SearchSettings:
    return SearchSettings.model_validate(
        {
            "embedder": "endpoint",
            "embedding": {"url": server.url, "model": "m", "retries": 1, "timeout": 5},
            "reranking": {"url": server.url, "model": "r", "retries": 1, "timeout": 5},
        }
        | changed
    )


def corpus() -> list[Chunk]:
    texts = ["red fox", "red red fox den", "blue whale", "a fox and a whale", "whale song"]
    return [
        Chunk(id=f"c{n}", doc_id=f"d{n // 3}", position=n % 3, title="", text=text, domain="web")
        for n, text in enumerate(texts)
    ]


def test_batches_in_the_order_of_the_texts_and_of_length_one(model_server: ModelServer) -> None:
    remote = embedder(model_server, batch=5)
    assert remote.dim == 32 and len(model_server.bodies) == 1
    expected = model_server.embedder.embed(TEXTS)
    for vectors in (remote.embed(TEXTS), remote.embed(TEXTS, label="test"), remote.embed_queries(TEXTS)):
        assert vectors == pytest.approx(expected, abs=1e-6)
    assert [len(body["input"]) for body in model_server.bodies[1:6]] == [5, 5, 5, 5, 3]
    assert set(model_server.paths) == {"/v1/embeddings"}
    assert all(body["model"] == "m" and body["encoding_format"] == "float" for body in model_server.bodies)


def test_documents_are_sent_side_by_side_over_so_many_connections(model_server: ModelServer) -> None:
    model_server.together = threading.Barrier(3)
    embedder(model_server, batch=1, connections=3, dim=32).embed(TEXTS[:12], label="test")
    assert len(model_server.bodies) == 12


def test_prefixes_are_sent_and_are_part_of_the_identity(model_server: ModelServer) -> None:
    plain = embedder(model_server)
    prefixed = embedder(model_server, query_prefix="query: ", document_prefix="passage: ")
    model_server.bodies.clear()
    prefixed.embed(["a"])
    prefixed.embed_queries(["a"])
    assert [body["input"] for body in model_server.bodies] == [["passage: a"], ["query: a"]]
    swapped = embedder(model_server, query_prefix="passage: ", document_prefix="query: ")
    assert len({plain.id, prefixed.id, swapped.id}) == 3


def test_anything_can_be_embedded(model_server: ModelServer) -> None:
    remote = embedder(model_server, characters=10)
    model_server.bodies.clear()
    vectors = remote.embed(["", " \n", "fox " * 100, "fox \udc80", "\0fox"])
    assert not vectors[:2].any() and np.linalg.norm(vectors[2:], axis=1) == pytest.approx(np.ones(3))
    assert model_server.bodies[0]["input"] == ["fox fox fo", "fox ?", "\0fox"]
    assert remote.embed([]).shape == (0, 32)
    assert remote.embed([""], label="test").shape == (1, 32)


def change(answer: dict[str, Any], **row: Any) -> dict[str, Any]:
    """The answer with its last row changed."""
    return answer | {"data": [*answer["data"][:-1], answer["data"][-1] | row]}


FAULTS: list[Callable[[dict[str, Any]], dict[str, Any]]] = [
    lambda answer: answer | {"data": answer["data"][1:]},
    lambda answer: answer | {"data": answer["data"][:1] * 2},
    lambda answer: change(answer, index=7),
    lambda answer: change(answer, embedding=[0.0] * 32),
    lambda answer: change(answer, embedding=[float("nan")] * 32),
    lambda answer: change(answer, embedding=["x"] * 32),
    lambda answer: change(answer, embedding=[0.5] * 31),
    lambda answer: answer | {"data": [row | {"embedding": [0.5] * 31} for row in answer["data"]]},
]


@pytest.mark.parametrize("fault", FAULTS)
def test_vectors_that_are_none_are_refused(model_server: ModelServer, fault: Any) -> None:
    remote = embedder(model_server)
    model_server.faults.append(fault)
    with pytest.raises(EndpointRefused):
        remote.embed(["a fox", "a whale"])
    assert len(model_server.bodies) == 2


def test_a_server_that_refuses_at_the_start_is_a_matter_of_settings(model_server: ModelServer) -> None:
    model_server.faults.append(401)
    with pytest.raises(InputError, match=r"401.*search\.embedding\.url, \.model, \.key"):
        load_embedder(searching(model_server))
    model_server.stop()
    with pytest.raises(SearchUnavailable):
        load_embedder(searching(model_server))
    model_server.start_again()


def test_an_expected_length_is_checked_and_spares_the_first_question(model_server: ModelServer) -> None:
    remote = embedder(model_server, dim=384)
    assert model_server.bodies == []
    with pytest.raises(EndpointRefused, match="length 32, expected 384"):
        remote.embed(["a"])


def test_an_index_knows_its_embedder(model_server: ModelServer, tmp_path: Path) -> None:
    settings = searching(model_server)
    build_index(corpus(), settings, tmp_path)
    other = settings.model_copy(
        update={"embedding": settings.embedding.model_copy(update={"model": "another"})}
    )
    with pytest.raises(InputError, match=r"endpoint-m-32.*search\.embedder.*endpoint-another-32"):
        EmbeddedBackend.open(tmp_path, other)


@pytest.mark.parametrize("reranker", ["scores", "endpoint"])
@pytest.mark.parametrize("threads", [0, 2])
def test_an_outage_reaches_every_search_and_passes(
    model_server: ModelServer, tmp_path: Path, reranker: str, threads: int, threads_left: Callable[[], int]
) -> None:
    settings = searching(model_server, reranker=reranker)
    build_index(corpus(), settings, tmp_path)
    backend = EmbeddedBackend.open(tmp_path, settings, threads=threads)
    queries = [f"red fox {n}" for n in range(24)]

    async def all_of_them() -> list[Any]:
        searches = [backend.search(query) for query in queries]
        return await asyncio.wait_for(asyncio.gather(*searches, return_exceptions=True), 60)

    model_server.stop()
    outcomes = asyncio.run(all_of_them())
    assert len(outcomes) == 24 and all(isinstance(one, SearchUnavailable) for one in outcomes)
    model_server.start_again()
    assert all(hits[0].chunk.id in ("c0", "c1") for hits in asyncio.run(all_of_them()))
    backend.close()
    assert threads_left() == 0


@pytest.mark.parametrize("cohere", [True, False])
def test_reranked_by_the_servers_scores(model_server: ModelServer, tmp_path: Path, cohere: bool) -> None:
    model_server.cohere = cohere
    settings = searching(model_server, embedder="hash", reranker="endpoint", candidates=4)
    build_index(corpus(), settings, tmp_path)
    backend = EmbeddedBackend.open(tmp_path, settings)
    query = "red fox whale"
    fused = EmbeddedBackend.open(tmp_path, settings.model_copy(update={"reranker": "none"}))
    candidates = [hit.chunk for hit in fused.search_now(query, limit=50)][:4]
    words = set(query.split())
    expected = sorted(candidates, key=lambda chunk: (-len(words & set(chunk.text.split())), chunk.id))
    assert [hit.chunk for hit in backend.search_now(query, limit=4)] == expected
    assert [hit.chunk for hit in asyncio.run(backend.search(query, limit=2))] == expected[:2]
    body = model_server.bodies[0]
    assert model_server.paths[0] == "/v1/rerank" and set(body) == {"model", "query", "documents"}
    assert body["documents"] == [f"\n{chunk.text}" for chunk in candidates]
    read = backend.read_now("d0", query="whale")
    assert [hit.id for hit in read] == ["c2", "c0", "c1"]
    assert backend.search_now("", limit=4) == [] and len(model_server.bodies) == 3


def test_a_search_excludes_before_it_reranks(model_server: ModelServer, tmp_path: Path) -> None:
    settings = searching(model_server, embedder="hash", reranker="endpoint")
    build_index(corpus(), settings, tmp_path)
    backend = EmbeddedBackend.open(tmp_path, settings)
    hits = backend.search_now("red fox", exclude=["c0", "c1"])
    assert hits and not {"c0", "c1"} & {hit.id for hit in hits}
    assert not any("red" in text for body in model_server.bodies for text in body["documents"])


@pytest.mark.parametrize(
    "fault",
    [
        lambda answer: answer | {"results": answer["results"][1:]},
        lambda answer: answer | {"results": answer["results"][:1] * 2},
        lambda answer: answer | {"results": [{"index": 0, "relevance_score": float("nan")}] * 2},
        lambda answer: [],
    ],
)
def test_scores_that_are_none_are_refused(model_server: ModelServer, fault: Any) -> None:
    remote = RemoteReranker(RerankingSettings(url=model_server.url, model="m"))
    model_server.faults.append(fault)
    with pytest.raises(EndpointRefused):
        remote.scores("a fox", ["a fox", "a whale"])
    assert remote.scores("a fox", ["a fox", "a whale"]).tolist() == pytest.approx([0.02, 0.01])
