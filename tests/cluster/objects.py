"""Kubernetes objects of the tests' own: a namespace as strict as they come, volumes, pods that work in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cluster.kube import Kube

Object = dict[str, Any]

QUOTA = {
    "requests.cpu": "6", "requests.memory": "16Gi", "limits.cpu": "40", "limits.memory": "48Gi",
    "requests.ephemeral-storage": "8Gi", "limits.ephemeral-storage": "40Gi",
    "pods": "16", "persistentvolumeclaims": "6",
}  # fmt: skip
"""A pod without requests and limits of each is refused."""


def namespace(name: str) -> list[Object]:
    """Restricted pods, a quota on everything, and limits on what one container may have."""
    enforce = {f"pod-security.kubernetes.io/{what}": "restricted" for what in ("enforce", "warn", "audit")}
    most = {"cpu": "8", "memory": "16Gi", "ephemeral-storage": "8Gi"}
    limits = {"limits": [{"type": "Container", "max": most, "min": {"cpu": "10m", "memory": "16Mi"}}]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": enforce}},
        _object("ResourceQuota", name, "quota", {"hard": QUOTA}),
        _object("LimitRange", name, "limits", limits),
    ]


def claim(namespace: str, name: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return _object("PersistentVolumeClaim", namespace, name, spec)


def pod(namespace: str, name: str, image: str, command: list[str], claims: tuple[str, ...] = ()) -> Object:
    """A pod that runs once; each claim is mounted at `/NAME`."""
    size = {"cpu": "100m", "memory": "256Mi", "ephemeral-storage": "64Mi"}
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        "resources": {"requests": size, "limits": size | {"cpu": "1"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": one, "mountPath": f"/{one}"} for one in claims],
    }
    security = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    spec = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": security | {"fsGroup": 65532},
        "containers": [container],
        "volumes": volumes,
    }
    return _object("Pod", namespace, name, spec)


def fill_claims(kube: Kube, namespace: str, image: str, contents: dict[str, Path]) -> None:
    """Makes a claim of each name and copies the folder into it, as `NAME/` at its root."""
    kube.apply(*(claim(namespace, name) for name in contents))
    kube.apply(pod(namespace, "filler", image, ["sleep", "3600"], tuple(contents)))
    kube.kubectl("-n", namespace, "wait", "pod/filler", "--for=condition=Ready", "--timeout=120s")
    for name, folder in contents.items():
        kube.kubectl("-n", namespace, "cp", str(folder), f"filler:/{name}/{name}")
    kube.kubectl("-n", namespace, "delete", "pod/filler", "--grace-period=1")


def _object(kind: str, namespace: str, name: str, spec: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
