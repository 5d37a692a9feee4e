"""The chart on a real cluster: a release's whole life on CPUs, and the GPU values with GPUs pretended."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.build import ROOT
from tests.cluster.kube import Kube, wait_until
from tests.cluster.objects import fill_claims, namespace
from tests.cluster.release import Release, cpu_values
from tests.cluster.trained import Trained

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

CPU = f"--values={ROOT / 'helm' / 'context1' / 'values-cpu.yaml'}"
WAIT = ["--wait", "--timeout=10m"]
GPU = "nvidia.com/gpu"

Step = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def release(kube: Kube, trained: Trained, tmp_path: Path) -> Iterator[Release]:
    """Of a chart that is not yet installed, in a strict namespace with model and index in claims."""
    kube.apply(*namespace("search"))
    folders = {"model": trained.model, "index": trained.index}
    fill_claims(kube, "search", kube.image("context1-stub"), folders)
    yield Release(kube, "search", "context1", tmp_path)
    kube.kubectl("delete", "namespace", "search", "--timeout=180s")


@pytest.fixture
def step(release: Release) -> Step:
    """Prints how long each step of a test took, and the state of the pods if one fails."""

    @contextmanager
    def timed(what: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        except BaseException:
            print(f"\n--- {what} failed; the pods:\n{release.state()}")
            raise
        print(f"\n--- {what}: {time.monotonic() - start:.0f} s", end="", flush=True)

    return timed


def test_a_release_lives(release: Release, trained: Trained, step: Step) -> None:
    before = release.everything()
    values = cpu_values(release.kube, trained)
    with step("install, until every pod is ready"):
        release.deploy("install", values, CPU, *WAIT)
    with step("helm test: a search with a tool call"):
        assert "Succeeded" in release.helm("test", "--timeout=5m")
    with step("searches through the Service"):
        with release.searching(trained, clients=2) as answers:
            time.sleep(10)
        assert statuses(answers) == {200}
        assert {one["model"] for one in answers} == {trained.pins["model"]}
        found = sum(one["shown"] > 0 and one["results"] > 0 for one in answers)
        assert found > len(answers) / 2, f"{found} of {len(answers)} searches found something"
    with step("upgrade of an agent value under load"):
        values["agent"]["settings"]["serve"]["searches"] = 4
        with release.searching(trained, clients=4) as answers:
            release.deploy("upgrade", values, CPU, *WAIT)
        assert statuses(answers) == {200}, "searches were lost"
        assert [one["searches"]["limit"] for one in release.statuses()] == [4, 4]
    with step("a vLLM pod killed under load"):
        with release.searching(trained, clients=4) as answers:
            (pod,) = release.pods("vllm")
            release.kubectl("delete", "pod", pod, "--force", "--grace-period=0")
            wait_until(lambda: not any(engine(release)), "/status falls", 60)
            release.kubectl("rollout", "status", "deployment/context1-vllm", "--timeout=300s")
            wait_until(lambda: all(engine(release)), "/status rises", 60)
            time.sleep(5)
        assert 0 not in statuses(answers), "a search hung or was cut off"
        assert all(one["retry_after"] for one in answers if one["status"] != 200), "a failure without an end"
        assert {one["status"] for one in answers[-4:]} == {200}
    with step("rollback"):
        release.helm("rollback", "1", *WAIT)
        assert [one["searches"]["limit"] for one in release.statuses()] == [8, 8]
    with step("uninstall, with nothing left behind"):
        release.helm("uninstall", *WAIT)
        wait_until(lambda: release.everything() == before, "the namespace is as before", 180)


def statuses(answers: list[Any]) -> set[int]:
    """The kinds of answers; prints how many of each there were."""
    print(f"\n    {dict(Counter(one['status'] for one in answers))}", end="")
    for error in Counter(one["error"] for one in answers if one["status"] != 200).most_common(5):
        print(f"\n    {error}", end="")
    return {one["status"] for one in answers}


def engine(release: Release) -> list[bool]:
    """Whether vLLM answers, as each agent sees it."""
    return [one["engine"]["ok"] for one in release.statuses()]


@pytest.fixture
def gpus(kube: Kube) -> Iterator[None]:
    """The node says that it has eight B200s."""
    if not kube.own:
        pytest.skip("GPUs are pretended on the tests' own cluster alone")
    (node,) = (one["metadata"]["name"] for one in kube.get("nodes")["items"])
    path = f"/status/capacity/{GPU.replace('/', '~1')}"
    patch = ["patch", "node", node, "--subresource=status", "--type=json"]
    kube.kubectl(*patch, "--patch", json.dumps([{"op": "add", "path": path, "value": "8"}]))
    kube.kubectl("label", "node", node, f"{GPU}.product=NVIDIA-B200")
    yield
    kube.kubectl("label", "node", node, f"{GPU}.product-")
    kube.kubectl(*patch, "--patch", json.dumps([{"op": "remove", "path": path}]))


def test_b200_pods_start_with_what_the_values_say(
    gpus: None, release: Release, trained: Trained, step: Step
) -> None:
    values = cpu_values(release.kube, trained)
    small = {"cpu": "100m", "memory": "256Mi", "ephemeral-storage": "64Mi"}
    size = {"requests": small, "limits": small | {"memory": "9Gi"}}
    values["vllm"] |= {"image": {"name": "context1-stub"}, "resources": size, "flags": {}, "env": {}}
    values["agent"]["resources"] = {"requests": small, "limits": small | {"cpu": "1", "memory": "1Gi"}}
    with step("install on eight pretended GPUs"):
        release.deploy("install", values)
        release.kubectl("rollout", "status", "deployment/context1-vllm", "--timeout=300s")
    (pod,) = release.pods("vllm")
    said = release.kubectl("logs", pod, "--container=vllm").splitlines()
    started = json.loads(next(line for line in said if line.startswith("{")))
    flags = dict(flag[2:].split("=", 1) for flag in started["command"] if "=" in flag)
    assert flags["moe-backend"] == "flashinfer_trtllm"
    assert json.loads(flags["quantization-config"]) == {"moe": {"activation": "mxfp8"}}
    assert flags["kv-cache-dtype"] == "fp8"
    assert flags["logprobs-mode"] == "processed_logprobs"
    assert flags["served-model-name"] == trained.pins["model"]
    assert "--enable-prefix-caching" in started["command"]
    environment = started["environment"]
    assert environment["HF_HUB_OFFLINE"] == environment["VLLM_NO_USAGE_STATS"] == "1"
    assert environment["VLLM_CACHE_ROOT"].startswith("/compile/")
    mounts = {target: (kind, options.split(",")) for target, kind, options in started["mounts"]}
    assert "ro" in mounts["/"][1] and "ro" in mounts["/models"][1] and "rw" in mounts["/compile"][1]
    assert mounts["/dev/shm"][0] == "tmpfs"
    assert started["user"] == 65532
    containers = release.kube.get("--namespace=search", "pod", pod)["spec"]["containers"]
    assert [one["resources"]["limits"][GPU] for one in containers if one["name"] == "vllm"] == ["1"]
    release.helm("uninstall", *WAIT)
