"""The requests that searching, reading and grepping send, as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from context1.search.embedder import Vectors, encodable

Json = dict[str, Any]

MAX_TERMS = 1_000
"""Distinct terms of a query that are looked for; the cluster refuses more than 1,024 clauses."""

GRAMS = 12
"""Trigrams of a literal that are asked for: with a few of them hardly another text is left."""

PRODUCT, TERMS = "product", "terms"
"""Names of a hit's inner product with the query and of its BM25 score."""

# The cluster computes it for the hits alone, from the stored vector.
_PRODUCT_SCRIPT = """
def v = doc['vector'].getValue(); double sum = 0;
for (int i = 0; i < v.length; i++) { sum += v[i] * (float) params.query[i]; }
return sum;
"""


def can_be_id(name: str) -> bool:
    """False for what no chunk or document is named, and the cluster refuses to be asked for."""
    try:
        return bool(name) and (name.isascii() or bool(name.encode()))
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON from a policy may hold
        return False


def by_terms(terms: Sequence[str], exclude: Collection[str]) -> Json:
    """BM25 over the analyser's terms; a term that is repeated counts as often."""
    return {"bool": {"should": _scored(terms), "minimum_should_match": 1} | _without(exclude)}


def by_meaning(vector: Vectors, k: int, ef_search: int, exclude: Collection[str]) -> Json:
    """The `k` chunks of a shard nearest to the vector.

    The filter stands inside the knn clause: beside it, it would be applied to the k nearest afterwards.
    """
    clause = {
        "vector": _floats(vector),
        "k": k,
        "method_parameters": {"ef_search": max(k, ef_search)},
    }
    if excluded := _without(exclude):
        clause["filter"] = {"bool": excluded}
    return {"knn": {"vector": clause}}


def best(query: Json, size: int) -> Json:
    """A search for the best `size` chunks, ties by chunk id."""
    return {
        "size": size,
        "query": query,
        "sort": [{"_score": "desc"}, {"id": "asc"}],
        "track_total_hits": False,
        "_source": True,
    }


def with_products(search: Json, vector: Vectors) -> Json:
    """The search, with each hit's inner product with the vector in its fields."""
    script = {"source": _PRODUCT_SCRIPT, "params": {"query": _floats(vector)}}
    return search | {"script_fields": {PRODUCT: {"script": script}}}


def plus_terms(search: Json, terms: Sequence[str]) -> Json:
    """The search, with BM25 added to the scores of its hits after they were chosen."""
    if not terms:
        return search
    again = {"bool": {"should": _scored(terms)}}
    rescored = {name: value for name, value in search.items() if name != "sort"}
    return rescored | {"rescore": {"window_size": search["size"], "query": {"rescore_query": again}}}


def hybrid(queries: Iterable[Json], size: int, rank_constant: int) -> Json:
    """The queries' best `size`, fused by the cluster. Each has its own filter: 2.x knows no common one."""
    combination = {"technique": "rrf", "rank_constant": rank_constant}
    return {
        "size": size,
        "query": {"hybrid": {"queries": list(queries)}},
        "search_pipeline": {
            "phase_results_processors": [{"score-ranker-processor": {"combination": combination}}]
        },
        "track_total_hits": False,
        "_source": True,
    }


def positive(near: Json) -> Json:
    """Only those of a knn query's chunks whose inner product is above 0."""
    return {"function_score": {"query": near, "min_score": 1.000001}}


def with_both_scores(search: Json, terms: Sequence[str], vector: Vectors) -> Json:
    """The search, with BM25 and knn scores of each hit under the names `TERMS` and `PRODUCT`.

    An optional clause of a filter costs nothing but where it is named: there it scores the hits alone.
    """
    product = {
        "script_score": {
            "query": {"match_all": {}},
            "script": {
                "lang": "knn",
                "source": "knn_score",
                "params": {"field": "vector", "query_value": _floats(vector), "space_type": "innerproduct"},
            },
            "_name": PRODUCT,
        }
    }
    words = {"bool": {"should": _scored(terms), "_name": TERMS}}
    optional = [product, *([words] if terms else [])]
    return search | {"post_filter": {"bool": {"must": {"match_all": {}}, "should": optional}}}


def of_document(doc_id: str, terms: Sequence[str]) -> Json:
    """All chunks of a document; BM25 is their score."""
    return {"bool": {"filter": {"term": {"doc_id": doc_id}}, "should": _scored(terms)}}


def of_literals(alternatives: Sequence[Collection[str]]) -> Json:
    """Chunks whose folded text may hold all literals of an alternative: a superset, to be verified.

    All chunks where an alternative has no literal that is worth looking up.
    """
    if not all(alternatives):
        return {"match_all": {}}
    most = max(1, MAX_TERMS // sum(map(len, alternatives)))
    wanted = [
        {"bool": {"filter": [clause for one in sorted(literals) for clause in _grams(one, most)]}}
        for literals in alternatives
    ]
    return {"bool": {"filter": {"bool": {"should": wanted, "minimum_should_match": 1}}}}


def in_order(query: Json, size: int, after: Sequence[Any] | None) -> Json:
    """A page of the query's chunks in the corpus's order, scores kept; `after` is the last hit's sort."""
    page = {
        "size": size,
        "query": query,
        "sort": [{"order": "asc"}],
        "track_scores": True,
        "track_total_hits": False,
        "_source": True,
    }
    return page | ({"search_after": list(after)} if after else {})


def _scored(terms: Sequence[str]) -> list[Json]:
    counted = list(Counter(terms).items())[:MAX_TERMS]
    return [{"term": {"terms": {"value": term, "boost": count}}} for term, count in counted]


def _without(exclude: Collection[str]) -> Json:
    # Not `terms`, which takes 65,536 values at most.
    ids = [chunk_id for chunk_id in exclude if can_be_id(chunk_id)]
    return {"must_not": {"ids": {"values": ids}}} if ids else {}


def _grams(literal: str, most: int) -> list[Json]:
    literal = encodable(literal)  # as the indexed text is
    field, length = ("folded", 3) if len(literal) >= 3 else ("folded.cjk", 2)
    starts = range(len(literal) - length + 1)
    wanted = min(most, GRAMS, len(starts))
    chosen = [starts[number * (len(starts) - 1) // max(1, wanted - 1)] for number in range(wanted)]
    grams = dict.fromkeys(literal[start : start + length] for start in chosen)
    return [{"term": {field: gram}} for gram in grams]


def _floats(vector: Vectors) -> list[float]:
    return [float(value) for value in vector]
