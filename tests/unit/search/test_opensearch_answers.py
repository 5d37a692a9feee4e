"""What a cluster's refusal says to its user."""

from __future__ import annotations

import pytest
from opensearchpy.exceptions import AuthorizationException, RequestError

from context1.search.opensearch.answers import failure_of

FULL = {
    "error": {
        "root_cause": [{"type": "index_create_block_exception", "reason": "blocked by: [FORBIDDEN/10/...]"}],
        "type": "index_create_block_exception",
    },
    "status": 403,
}
"""As OpenSearch 2.19 says it once its disks are past the high watermark."""


def test_a_cluster_with_full_disks_says_what_to_do() -> None:
    error = failure_of(AuthorizationException(403, "index_create_block_exception", FULL))
    assert str(error).startswith("OpenSearch answered 403: index_create_block_exception: blocked by")
    assert "free space or add a node" in str(error)


@pytest.mark.parametrize("info", [{}, {"error": "no such thing"}, {"error": {"type": 3}}, None, "text"])
def test_an_answer_of_another_shape_is_still_said(info: object) -> None:
    assert "400" in str(failure_of(RequestError(400, "odd", info)))
