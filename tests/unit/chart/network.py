"""Evaluates NetworkPolicies as Kubernetes defines them, for the fields that this chart uses.

A flow passes if the sender's egress and the receiver's ingress both let it. An end that no policy of that
direction selects lets all through; one that is selected needs a rule that matches peer and port.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.unit.chart.chart import Object


@dataclass(frozen=True)
class End:
    """A pod, by its namespace and labels; or, without a namespace, an address outside the cluster."""

    namespace: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    address: str = ""


def passes(policies: Iterable[Object], source: End, target: End, port: int, protocol: str = "TCP") -> bool:
    """Whether a connection from `source` to `target`'s port gets through."""
    policies = list(policies)
    return _lets(policies, source, target, port, protocol, "Egress") and _lets(
        policies, target, source, port, protocol, "Ingress"
    )


def _lets(policies: list[Object], end: End, peer: End, port: int, protocol: str, direction: str) -> bool:
    holding = [
        one
        for one in policies
        if end.namespace == one["metadata"]["namespace"]
        and direction in one["spec"]["policyTypes"]
        and _selects(one["spec"]["podSelector"], end.labels)
    ]
    key, peers = ("egress", "to") if direction == "Egress" else ("ingress", "from")
    return not holding or any(
        _has_port(rule, port, protocol) and _has_peer(rule.get(peers), peer, one["metadata"]["namespace"])
        for one in holding
        for rule in one["spec"].get(key) or []
    )


def _has_port(rule: Object, port: int, protocol: str) -> bool:
    ports = rule.get("ports")
    return not ports or any(one["port"] == port and one.get("protocol", "TCP") == protocol for one in ports)


def _has_peer(peers: list[Object] | None, end: End, namespace: str) -> bool:
    return not peers or any(_is_peer(one, end, namespace) for one in peers)


def _is_peer(peer: Object, end: End, namespace: str) -> bool:
    assert peer.keys() <= {"podSelector", "namespaceSelector", "ipBlock"}
    if "ipBlock" in peer:
        block = peer["ipBlock"]
        assert block.keys() == {"cidr"}
        return bool(end.address) and ipaddress.ip_address(end.address) in ipaddress.ip_network(block["cidr"])
    if not end.namespace:
        return False
    if "namespaceSelector" in peer:
        # Every namespace bears its own name as a label.
        there = _selects(peer["namespaceSelector"], {"kubernetes.io/metadata.name": end.namespace})
    else:
        there = end.namespace == namespace
    return there and _selects(peer.get("podSelector", {}), end.labels)


def _selects(selector: Object, labels: dict[str, str]) -> bool:
    assert selector.keys() <= {"matchLabels"}, "matchExpressions are not evaluated here"
    return selector.get("matchLabels", {}).items() <= labels.items()
