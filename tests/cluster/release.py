"""A release of the chart in a namespace of the tests, and what can be asked of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.build import ROOT
from tests.cluster.kube import Kube, wait_until
from tests.cluster.objects import pod
from tests.cluster.trained import Trained

CHART = str(ROOT / "helm" / "context1")
SEARCHER = Path(__file__).with_name("searcher.py").read_text()
PASSING = {"events", "events.events.k8s.io", "endpointslices.discovery.k8s.io", "pods.metrics.k8s.io"}
"""Kinds that the cluster makes and removes by itself."""


@dataclass(frozen=True)
class Release:
    """`name` in `namespace`; `folder` is for files of the tests."""

    kube: Kube
    namespace: str
    name: str
    folder: Path

    def helm(self, action: str, *options: str) -> str:
        return self.kube.helm(action, self.name, *options, f"--namespace={self.namespace}")

    def deploy(self, action: str, values: dict[str, Any], *options: str) -> str:
        """`install` or `upgrade` with these values, over those that `options` name."""
        file = self.folder / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        return self.helm(action, CHART, *options, f"--values={file}")

    def kubectl(self, *arguments: str) -> str:
        return self.kube.kubectl(f"--namespace={self.namespace}", *arguments)

    def pods(self, component: str) -> list[str]:
        """Names of the pods of a component that are not ending."""
        selector = (
            f"--selector=app.kubernetes.io/instance={self.name},app.kubernetes.io/component={component}"
        )
        found = self.kube.get(f"--namespace={self.namespace}", "pods", selector)["items"]
        return [one["metadata"]["name"] for one in found if "deletionTimestamp" not in one["metadata"]]

    def statuses(self) -> list[Any]:
        """`/status` of every agent."""
        ask = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8080/status').read().decode())"
        return [
            json.loads(self.kubectl("exec", one, "--container=agent", "--", "python", "-c", ask))
            for one in self.pods("agent")
        ]

    def everything(self) -> set[str]:
        """`kind/name` of all objects in the namespace, and of the cluster's volumes and roles."""
        kinds = self.kube.kubectl("api-resources", "--verbs=list", "--namespaced", "--output=name").split()
        own = self.kubectl("get", ",".join(sorted(set(kinds) - PASSING)), "--output=name")
        shared = self.kube.kubectl("get", "pv,clusterrole,clusterrolebinding", "--output=name")
        return set(own.split()) | set(shared.split())

    def state(self) -> str:
        """Pods, warnings and the ends of logs, for people."""
        said = [self.kubectl("get", "pods"), self.kubectl("get", "events", "--field-selector=type=Warning")]
        for one in self.kubectl("get", "pods", "--output=name").split():
            said.append(
                self.kubectl("logs", one, "--all-containers", "--prefix", "--tail=20", "--ignore-errors")
            )
        return "\n".join(said)

    @contextmanager
    def searching(self, trained: Trained, clients: int) -> Iterator[list[Any]]:
        """Clients that search through the Service while the block runs; after it the list has each answer."""
        command = ["python", "-c", SEARCHER, f"{self.name}-agent", str(clients), *trained.questions]
        self.kube.apply(pod(self.namespace, "searcher", self.kube.image("context1-agent"), command))
        self.kubectl("wait", "pod/searcher", "--for=condition=Ready", "--timeout=60s")
        answers: list[Any] = []
        said = self.folder / "searcher.jsonl"
        with said.open("w") as log:
            program, flags = (
                f"{self.kube.path}/kubectl",
                [f"--namespace={self.namespace}", "logs", "--follow"],
            )
            follower = subprocess.Popen(
                [program, *flags, "searcher"], stdout=log, env=self.kube.environment, stdin=subprocess.DEVNULL
            )
            try:
                wait_until(lambda: said.stat().st_size, "the first answer", 150)
                yield answers
            finally:
                self.kubectl("delete", "pod/searcher", "--grace-period=150", "--timeout=200s")
                follower.wait(30)
        answers += [json.loads(line) for line in said.read_text().splitlines()]


def cpu_values(kube: Kube, trained: Trained) -> dict[str, Any]:
    """Two agents over a vLLM on the CPU; model and index lie in the claims `model` and `index`."""
    return {
        "imageRegistry": kube.registry,
        "pins": trained.pins,
        "search": {"embedded": {"source": "pvc", "pvc": {"claim": "index", "path": "index"}}},
        "agent": {
            "replicas": 2,
            "settings": {
                "profile": trained.profile,
                "search": {"embedder": "hash"},
                "serve": {"temperature": 0, "searches": 8},
            },
        },
        "vllm": {
            "model": {"source": "pvc", "pvc": {"claim": "model", "path": "model"}},
            # The model's folder has no tokenizer that vLLM could read; it gets and gives ids alone.
            "flags": {"skip-tokenizer-init": True, "max-model-len": trained.profile["budget"]["total"]},
            "env": {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"},
        },
        "cache": {"keep": False},
        "test": {"query": trained.questions[0]},
    }
