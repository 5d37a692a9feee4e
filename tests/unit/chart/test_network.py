"""Which flows pass the rendered NetworkPolicies, and which do not."""

from __future__ import annotations

import copy

import pytest

from tests.unit.chart.chart import NAMESPACE, Object, named, objects, pods
from tests.unit.chart.network import End, passes

ELSEWHERE = "elsewhere"


def policies(release: str) -> list[Object]:
    """As the API server stores them: in the release's namespace."""
    found = copy.deepcopy(objects(release, kind="NetworkPolicy"))
    for one in found:
        one["metadata"]["namespace"] = NAMESPACE
    return found


def end(release: str, name: str) -> End:
    """A place by its name in the tables below."""
    if name in ("agent", "vllm", "test"):
        return End(NAMESPACE, pods(release)[f"{release}-context1-{name}"]["metadata"]["labels"])
    if name.startswith("other release's "):
        labels = pods(release)[f"{release}-context1-{name.split()[-1]}"]["metadata"]["labels"]
        return End(NAMESPACE, labels | {"app.kubernetes.io/instance": "other"})
    if name[0].isdigit():
        return End(address=name)
    namespace, _, app = name.rpartition("/")
    return End(namespace, {"app": app})


B200 = [
    # from, to, port, passes
    ("search/client", "agent", 8080, True),
    ("test", "agent", 8080, True),
    ("agent", "vllm", 8000, True),
    ("agent", "kube-system/coredns", 53, True),
    ("agent", "169.254.20.10", 53, True),
    ("vllm", "52.216.0.1", 443, True),  # S3, before it starts
    ("test", "10.96.0.1", 443, True),  # the API server, for the log
    ("test", "10.0.0.5", 6443, True),
    # Nobody reaches vLLM past the agents, nor the watchdog.
    ("search/client", "vllm", 8000, False),
    ("test", "vllm", 8000, False),
    ("elsewhere/client", "vllm", 8000, False),
    ("10.0.0.9", "vllm", 8000, False),
    ("agent", "vllm", 8001, False),
    ("search/client", "vllm", 8001, False),
    # Other namespaces, and other releases in this one.
    ("elsewhere/client", "agent", 8080, False),
    ("10.0.0.9", "agent", 8080, False),
    ("other release's agent", "vllm", 8000, False),
    ("agent", "other release's vllm", 8000, False),
    ("search/client", "agent", 8000, False),
    # Nothing leaves that has no business outside.
    ("agent", "8.8.8.8", 443, False),
    ("agent", "8.8.8.8", 53, False),
    ("agent", "elsewhere/opensearch", 9200, False),
    ("agent", "169.254.169.254", 80, False),
    ("vllm", "agent", 8080, False),
    ("vllm", "8.8.8.8", 80, False),
    ("vllm", "169.254.169.254", 80, False),
    ("search/client", "test", 8080, False),
    ("test", "8.8.8.8", 80, False),
]

FULL = [
    ("gateways/envoy", "agent", 8080, True),
    ("monitoring/prometheus", "agent", 8080, True),
    ("monitoring/prometheus", "vllm", 8000, True),
    ("test", "agent", 8080, True),
    ("agent", "vllm", 8000, True),
    ("agent", "10.20.1.1", 9200, True),  # OpenSearch
    ("agent", "10.40.0.1", 3128, True),  # the proxy
    ("agent", "tracing/collector", 4318, True),
    ("vllm", "10.30.1.1", 9000, True),  # S3
    ("vllm", "10.40.0.1", 3128, True),
    ("search/client", "agent", 8080, False),  # only the gateway
    ("monitoring/prometheus", "vllm", 8001, False),
    ("agent", "10.20.1.1", 22, False),
    ("agent", "10.21.1.1", 9200, False),
    ("agent", "10.30.1.1", 9000, False),  # agents have no business at S3 with OpenSearch
    ("agent", "tracing/collector", 4317, False),
    ("agent", "8.8.8.8", 443, False),
    ("vllm", "10.20.1.1", 9200, False),
    ("vllm", "tracing/collector", 4318, False),
    ("vllm", "8.8.8.8", 443, False),
]

HUB = [
    ("vllm", "3.3.3.3", 443, True),
    ("vllm", "3.3.3.3", 80, False),
    ("agent", "52.216.0.1", 443, True),  # the index from S3
    ("agent", "52.216.0.1", 80, False),
]

CPU = [
    ("test", "agent", 8080, True),
    ("test", "10.96.0.1", 443, False),  # no log to read
]

FLOWS = [
    (release, *flow)
    for release, table in {"b200": B200, "full": FULL, "hub": HUB, "cpu": CPU}.items()
    for flow in table
]


@pytest.mark.parametrize(("release", "source", "target", "port", "expected"), FLOWS)
def test_flow(release: str, source: str, target: str, port: int, expected: bool) -> None:
    protocol = "UDP" if port == 53 else "TCP"
    found = passes(policies(release), end(release, source), end(release, target), port, protocol)
    assert found is expected


def test_every_pod_of_a_release_is_held_in_both_directions() -> None:
    for name in ("agent", "vllm", "test"):
        spec = named("b200", "NetworkPolicy", f"-{name}")["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert spec["podSelector"]["matchLabels"].items() <= end("b200", name).labels.items()


def test_a_model_on_a_claim_needs_no_network_at_all() -> None:
    given = ("--set=vllm.model.source=pvc", "--set=vllm.model.pvc.claim=models")
    spec = named("b200", "NetworkPolicy", "-vllm", *given)["spec"]
    assert spec["egress"] == []


def test_policies_can_be_left_out() -> None:
    assert not objects("b200", "--set=networkPolicy.enabled=false", kind="NetworkPolicy")


def test_the_evaluator_itself() -> None:
    """On the examples of Kubernetes' own documentation: no policy, deny all, one rule with several peers."""
    web, db = End("default", {"role": "frontend"}), End("default", {"role": "db"})
    assert passes([], web, db, 6379)
    deny = {
        "metadata": {"namespace": "default"},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
    }
    assert not passes([deny], web, db, 6379)
    assert passes([deny], web, End("other", {}), 6379), "another namespace is not held"
    allow = {
        "metadata": {"namespace": "default"},
        "spec": {
            "podSelector": {"matchLabels": {"role": "db"}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [
                {
                    "from": [
                        {"ipBlock": {"cidr": "172.17.0.0/16"}},
                        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "myproject"}}},
                        {"podSelector": {"matchLabels": {"role": "frontend"}}},
                    ],
                    "ports": [{"protocol": "TCP", "port": 6379}],
                }
            ],
            "egress": [
                {"to": [{"ipBlock": {"cidr": "10.0.0.0/24"}}], "ports": [{"protocol": "TCP", "port": 5978}]}
            ],
        },
    }
    both = [deny, allow]
    assert passes(both, web, db, 6379), "policies add up"
    assert not passes(both, web, db, 6380)
    assert not passes(both, web, db, 6379, "UDP")
    assert passes(both, End("myproject", {}), db, 6379)
    assert passes(both, End(address="172.17.5.5"), db, 6379)
    assert not passes(both, End(address="172.18.5.5"), db, 6379)
    assert not passes(both, End(ELSEWHERE, {"role": "frontend"}), db, 6379), (
        "the selector means this namespace"
    )
    assert passes(both, db, End(address="10.0.0.7"), 5978)
    assert not passes(both, db, End(address="10.0.1.7"), 5978)
