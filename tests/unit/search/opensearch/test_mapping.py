"""The mapping against what OpenSearch 2.19 and 3.x take: names that 3.0 removed, and limits of both."""

import json
from typing import Any

from context1.search.opensearch.identity import FORMAT, IndexIdentity
from context1.search.opensearch.mapping import index_body

IDENTITY = IndexIdentity(
    format=FORMAT, analyser="a", embedder="e", dim=384, k1=1.2, b=0.75, chunks_sha256="0" * 64, chunks=3,
    documents=2, source="s", engine="faiss", hnsw_m=16, hnsw_ef_construction=128, shards=2,
)  # fmt: skip

REMOVED_IN_3 = ["nmslib", "index.knn.algo_param", "knn.plugin.enabled", "index.store.hybrid.mmap.extensions"]


def test_nothing_that_3_removed_and_what_the_settings_say() -> None:
    body = index_body(IDENTITY)
    text = json.dumps(body)
    assert not [name for name in REMOVED_IN_3 if name in text]
    index = body["settings"]["index"]
    assert index["similarity"]["bm25"] == {"type": "BM25", "k1": 1.2, "b": 0.75}
    assert index["number_of_shards"] == 2
    vector = body["mappings"]["properties"]["vector"]
    assert vector["dimension"] == 384 and vector["method"]["engine"] == "faiss"
    assert vector["method"]["parameters"] == {"m": 16, "ef_construction": 128}


def test_every_analyser_that_a_field_names_is_there() -> None:
    body = index_body(IDENTITY)
    analysis = body["settings"]["analysis"]
    builtin = {"whitespace"}

    def named(fields: dict[str, Any]) -> set[str]:
        found = {field["analyzer"] for field in fields.values() if "analyzer" in field}
        return found.union(*(named(field.get("fields", {})) for field in fields.values()))

    assert named(body["mappings"]["properties"]) == set(analysis["analyzer"])
    for analyser in analysis["analyzer"].values():
        assert analyser["tokenizer"] in builtin | set(analysis["tokenizer"])
        assert set(analyser.get("filter", [])) <= set(analysis["filter"])


def test_identities_differ_in_every_field() -> None:
    changed = {
        field: IDENTITY.model_copy(
            update={field: value + 1 if isinstance(value, int | float) else value + "x"}
        )
        for field, value in IDENTITY
    }
    assert len({IDENTITY.index_id, *(one.index_id for one in changed.values())}) == len(changed) + 1
