"""Mapping and settings of an index, whole and in one place. The same for OpenSearch 2.19 and 3.x.

| field | holds |
|---|---|
| id ... schema_version | the chunk, which `_source` gives back |
| order | number of the chunk in the corpus: grep and read answer in this order |
| terms | for BM25: the analyser's terms, joined by blanks |
| folded, folded.cjk | for grep: the text without case, as trigrams; Chinese, Japanese, Korean as bigrams |
| vector | for dense search |
"""

from __future__ import annotations

from typing import Any

from context1.search.opensearch.identity import IndexIdentity

NOT_CJK = r"[^\p{IsHan}\p{IsHiragana}\p{IsKatakana}\p{IsHangul}ー]+"

ONLY_SHOWN = {"type": "text", "index": False}


def index_body(identity: IndexIdentity) -> dict[str, Any]:
    """What an index is created with. It has no replicas and no refreshes until it is complete."""
    return {
        "settings": {
            "index": {
                "number_of_shards": identity.shards,
                "number_of_replicas": 0,
                "refresh_interval": "-1",
                "knn": True,
                "sort": {"field": "order", "order": "asc"},
                "similarity": {"bm25": {"type": "BM25", "k1": identity.k1, "b": identity.b}},
            },
            "analysis": {
                "analyzer": {
                    "terms": {"type": "custom", "tokenizer": "whitespace"},
                    "trigrams": {"type": "custom", "tokenizer": "trigrams"},
                    "cjk_bigrams": {"type": "custom", "tokenizer": "cjk_runs", "filter": ["bigrams"]},
                },
                "tokenizer": {
                    "trigrams": {"type": "ngram", "min_gram": 3, "max_gram": 3},
                    "cjk_runs": {"type": "pattern", "pattern": NOT_CJK},
                },
                "filter": {"bigrams": {"type": "ngram", "min_gram": 2, "max_gram": 2}},
            },
        },
        "mappings": {
            "dynamic": "strict",
            "_source": {"excludes": ["terms", "folded", "vector"]},
            "properties": {
                "id": {"type": "keyword", "index": False},
                "doc_id": {"type": "keyword"},
                "position": {"type": "integer", "index": False},
                "order": {"type": "integer"},
                "title": ONLY_SHOWN,
                "text": ONLY_SHOWN,
                "domain": ONLY_SHOWN,
                "schema_version": {"type": "integer", "index": False},
                "terms": {
                    "type": "text",
                    "analyzer": "terms",
                    "similarity": "bm25",
                    "index_options": "freqs",
                },
                "folded": {
                    "type": "text",
                    "analyzer": "trigrams",
                    "norms": False,
                    "index_options": "docs",
                    "fields": {
                        "cjk": {
                            "type": "text",
                            "analyzer": "cjk_bigrams",
                            "norms": False,
                            "index_options": "docs",
                        }
                    },
                },
                "vector": {
                    "type": "knn_vector",
                    "dimension": identity.dim,
                    "method": {
                        "name": "hnsw",
                        "engine": identity.engine,
                        "space_type": "innerproduct",
                        "parameters": {
                            "m": identity.hnsw_m,
                            "ef_construction": identity.hnsw_ef_construction,
                        },
                    },
                },
            },
        },
    }
