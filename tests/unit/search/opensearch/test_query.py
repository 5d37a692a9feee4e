import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import from_json, to_json

from context1.search.analyser import Analyser
from context1.search.literals import required_literals
from context1.search.opensearch import query
from context1.search.opensearch.ranking import knn_score, product_of

VECTOR = np.array([0.6, -0.8], dtype=np.float32)


def clauses(body: object) -> int:
    """Clauses that Lucene counts: the leaves."""
    if isinstance(body, dict):
        return int("term" in body) or sum(map(clauses, body.values()))
    return sum(map(clauses, body)) if isinstance(body, list) else 0


def test_repeated_terms_count_as_often_and_there_are_not_too_many() -> None:
    found = query.by_terms(["whale", "a", "whale"], [])["bool"]
    assert found == {
        "should": [
            {"term": {"terms": {"value": "whale", "boost": 2}}},
            {"term": {"terms": {"value": "a", "boost": 1}}},
        ],
        "minimum_should_match": 1,
    }
    assert clauses(query.by_terms([f"w{n}" for n in range(5_000)], [])) == 1_000


def test_exclusion_is_by_ids_and_inside_the_knn_clause() -> None:
    excluded = {"must_not": {"ids": {"values": ["a", "b"]}}}
    assert query.by_terms(["x"], ["a", "b"])["bool"]["must_not"] == excluded["must_not"]
    knn = query.by_meaning(VECTOR, 50, 20, ["a", "b"])["knn"]["vector"]
    assert knn["filter"] == {"bool": excluded} and knn["k"] == 50
    assert knn["method_parameters"] == {"ef_search": 50}, "never fewer candidates than results"
    assert "filter" not in query.by_meaning(VECTOR, 50, 20, [])["knn"]["vector"]
    fused = query.hybrid([query.by_terms(["x"], ["a"]), query.by_meaning(VECTOR, 5, 5, ["a"])], 5, 60)
    assert json.dumps(fused).count('"must_not"') == 2, "2.x knows no filter for both"


def test_only_grams_of_literals_are_sent() -> None:
    sent = query.of_literals([frozenset(["acme corp"]), frozenset(["東京"])])
    alternatives = sent["bool"]["filter"]["bool"]["should"]
    first, second = (alternative["bool"]["filter"] for alternative in alternatives)
    grams = [clause["term"]["folded"] for clause in first]
    assert grams == ["acm", "cme", "me ", "e c", " co", "cor", "orp"]
    assert second == [{"term": {"folded.cjk": "東京"}}]


@settings(deadline=None)
@given(st.lists(st.lists(st.text(min_size=3, max_size=300), min_size=1, max_size=4), min_size=1, max_size=64))
def test_grams_stand_in_their_literal_and_are_bounded(alternatives: list[list[str]]) -> None:
    sent = query.of_literals(alternatives)
    assert clauses(sent) <= 1_024
    for literals, clause in zip(alternatives, sent["bool"]["filter"]["bool"]["should"], strict=True):
        grams = [one["term"]["folded"] for one in clause["bool"]["filter"]]
        assert grams and all(any(gram in literal for literal in literals) for gram in grams)
        for literal in literals:
            assert literal[:3] in grams


@settings(deadline=None)
@given(st.text(st.sampled_from("abc東京\ud83d\udfff"), min_size=3, max_size=9))
def test_any_literal_can_be_sent_and_finds_the_text_as_it_is_indexed(literal: str) -> None:
    for pattern in (
        literal,
        "x|" + literal,
        literal + "+",
        "".join(f"\\x{{{ord(one):X}}}" for one in literal),
    ):
        sent = query.of_literals(required_literals(pattern))
        assert from_json(to_json(sent)) == sent
    sent = query.of_literals([frozenset([literal])])
    (alternative,) = sent["bool"]["filter"]["bool"]["should"]
    indexed = literal.encode("utf-8", "replace").decode()
    for clause in alternative["bool"]["filter"]:
        assert clause["term"]["folded"] in indexed


@pytest.mark.parametrize("pattern", ["ab", "東", "(a+)+$", "a|balo", "[xyz]", "(?i)É", "balo|q"])
def test_where_no_literal_is_worth_looking_up_all_chunks_are_candidates(pattern: str) -> None:
    literals = required_literals(pattern)
    assert frozenset() in literals and query.of_literals(literals) == {"match_all": {}}


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("ab \0東\ud83d\ude00\udfff"), max_size=4), max_size=6))
def test_names_of_any_characters_can_be_sent(names: list[str]) -> None:
    terms = Analyser("english").terms(" ".join(names))
    for search in (query.by_terms(terms, names), query.by_meaning(VECTOR, 5, 5, names)):
        sent = from_json(to_json(search))
        kept = [name for name in names if query.can_be_id(name)]
        assert sent == search and str(sent).count("must_not") == bool(kept)
        assert all(kept)
    for name in names:
        assert query.can_be_id(name) == bool(name and name == name.encode("utf-8", "ignore").decode())


@pytest.mark.parametrize("product", [-1.0, -0.25, 0.0, 1e-6, 0.5, 1.0])
def test_knn_scores_and_inner_products(product: float) -> None:
    assert product_of(knn_score(product)) == pytest.approx(product, abs=1e-9)
