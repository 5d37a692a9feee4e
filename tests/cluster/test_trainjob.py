"""TrainJobs on a real cluster: the weights of the laptop, whatever is killed; errors that say why."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.build import PIPELINE_ARCHIVE
from tests.cluster.kube import Kube, wait_until
from tests.cluster.train import SPACE, Space, api_server, manifest_key, training_space, values, weights
from tests.conftest import s3_running, skip_or_fail

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

GPU = "nvidia.com/gpu"


@pytest.fixture(scope="module")
def space(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    if not kube.own:
        skip_or_fail("TrainJobs are tried on the tests' own cluster alone, which reaches this machine")
    if not PIPELINE_ARCHIVE.exists():
        skip_or_fail(f"no images in {PIPELINE_ARCHIVE}; `make cluster-images` builds them")
    kube.load(PIPELINE_ARCHIVE)
    addresses = kube.get("nodes")["items"][0]["status"]["addresses"]
    host = next(one["address"] for one in addresses if one["type"] == "InternalIP")
    with s3_running(tmp_path_factory.mktemp("s3"), host) as s3:
        with training_space(kube, s3, tmp_path_factory.mktemp("space")) as made:
            yield made


@pytest.fixture(scope="module")
def laptop(space: Space, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's folder after SFT and three steps of RL in two processes on this machine."""
    root = tmp_path_factory.mktemp("laptop")
    for stage in ("data", "sft", "rl"):
        subprocess.run(space.command(stage, root, {}), env=space.environment, check=True)
    assert weights(root, "rl") != weights(root, "sft")
    return root


@pytest.fixture
def root(laptop: Path, tmp_path: Path) -> Path:
    """A run's folder with data alone."""
    for stage in ("ingest", "index", "generate"):
        shutil.copytree(laptop / stage, tmp_path / stage)
    return tmp_path


@pytest.fixture(autouse=True)
def nothing_left(space: Space) -> Iterator[None]:
    before = space.left()
    yield
    assert space.left() == before


def test_two_pods_give_the_weights_of_two_processes(space: Space, laptop: Path, root: Path) -> None:
    for stage in ("sft", "rl"):
        status, lines = space.launch(stage, root)
        assert status == 0, "\n".join(lines)
        assert {f"[node {number}]" for number in range(2)} <= {line[:8] for line in lines}
        assert weights(root, stage) == weights(laptop, stage)
        assert manifest_key(root, stage) == manifest_key(laptop, stage), "a laptop would not reuse it"
        assert space.s3.secret_key not in "\n".join(lines)
    assert space.stored() == []


@pytest.mark.parametrize(("stage", "moment"), [("sft", "update:3"), ("sft", "write:2"), ("rl", "update:3")])
def test_a_killed_pod_changes_no_bit(space: Space, laptop: Path, root: Path, stage: str, moment: str) -> None:
    if stage == "rl":
        shutil.copytree(laptop / "sft", root / "sft")
    with space.launching(stage, root, env={"CONTEXT1_TEST_FREEZE": moment}) as launcher:
        launcher.says(f"frozen in {moment.replace(':', ' ')}")
        objects = json.dumps(space.get("trainjobs,jobsets,jobs,pods,leases,configmaps,events"))
        assert space.s3.secret_key not in objects
        (pod,) = [
            one["metadata"]["name"] for one in space.get("pods") if "-node-0-1-" in one["metadata"]["name"]
        ]
        space.kube.kubectl("-n", SPACE, "delete", "pod", pod, "--force", "--grace-period=0", "--wait=false")
        status, lines = launcher.end(400)
    assert status == 0, "\n".join(lines)
    assert weights(root, stage) == weights(laptop, stage)


def test_a_launcher_that_is_killed_finds_its_job_again(space: Space, laptop: Path, root: Path) -> None:
    with space.launching("sft", root) as launcher:
        wait_until(lambda: running(space) == 2, "two pods", 120)
        assert launcher.send(signal.SIGKILL) == -signal.SIGKILL
    pods = {one["metadata"]["uid"] for one in space.get("pods")}
    status, lines = space.launch("sft", root)
    assert status == 0, "\n".join(lines)
    assert any("found in namespace" in line for line in lines) and len(pods) == 2
    assert weights(root, "sft") == weights(laptop, "sft")


def test_a_launcher_that_is_told_to_stop_leaves_nothing_and_can_go_on(
    space: Space, laptop: Path, root: Path
) -> None:
    with space.launching("sft", root) as launcher:
        wait_until(lambda: running(space) == 2, "two pods", 120)
        assert launcher.send(signal.SIGTERM) == 143
    wait_until(lambda: space.left() == [], "nothing is left", 60)
    status, lines = space.launch("sft", root)
    assert status == 0, "\n".join(lines)
    assert weights(root, "sft") == weights(laptop, "sft")


@pytest.mark.parametrize("outage", ["killed", "stopped"])
def test_the_api_server_may_go_away(space: Space, laptop: Path, root: Path, outage: str) -> None:
    with space.launching("sft", root) as launcher:
        wait_until(lambda: running(space) >= 1, "a pod", 120)
        if outage == "killed":
            os.kill(api_server(space.kube), signal.SIGKILL)
        else:
            stopped = api_server(space.kube)
            os.kill(stopped, signal.SIGSTOP)
            time.sleep(20)
            os.kill(stopped, signal.SIGCONT)
        status, lines = launcher.end(400)
    assert status == 0, "\n".join(lines)
    assert weights(root, "sft") == weights(laptop, "sft")


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ({"requests": {GPU: "1"}, "limits": {GPU: "1"}}, f"0/1 nodes are available: 1 Insufficient {GPU}"),
        ({"image": "docker.io/library/nonesuch:1"}, "(image docker.io/library/nonesuch:1)"),
        ({"requests": {"cpu": "9"}, "limits": {"cpu": "9"}}, "maximum cpu usage per Container is 8"),
        ({"runtime": "nonesuch"}, "nonesuch"),
    ],
    ids=["unschedulable", "image", "limit-range", "runtime"],
)  # fmt: skip
def test_what_keeps_a_job_from_running_is_said(
    space: Space, root: Path, cluster: dict[str, Any], said: str
) -> None:
    if "requests" in cluster:
        rest = {"memory": "1Gi", "ephemeral-storage": "256Mi"}
        cluster = {part: {"cpu": "500m"} | rest | cluster[part] for part in cluster}
    status, lines = space.launch("sft", root, pending_seconds=15, **cluster)
    assert status in (1, 2)
    assert said in last_error(lines), "\n".join(lines)


def test_out_of_memory_is_said(space: Space, root: Path) -> None:
    size = {"cpu": "500m", "memory": "160Mi", "ephemeral-storage": "256Mi"}
    status, lines = space.launch("sft", root, requests=size, limits=size)
    assert status == 1
    assert "OOMKilled" in last_error(lines), "\n".join(lines)


def test_an_error_that_the_user_can_mend_is_not_tried_again(space: Space, laptop: Path, root: Path) -> None:
    status, lines = space.launch("sft", root, env={"CONTEXT1_STORAGE__URI": "s3://runs/elsewhere"})
    assert status == 2
    assert last_error(lines).endswith("is not stored there"), "\n".join(lines)
    assert sum("is not stored there" in line and line.startswith("[node 0]") for line in lines) == 1


@pytest.fixture
def gpus(kube: Kube) -> Iterator[None]:
    """The node says that it has eight B200s."""
    path = f"/status/capacity/{GPU.replace('/', '~1')}"
    patch = ["patch", "node", "node1", "--subresource=status", "--type=json"]
    kube.kubectl(*patch, "--patch", json.dumps([{"op": "add", "path": path, "value": "8"}]))
    kube.kubectl("label", "node", "node1", f"{GPU}.product=NVIDIA-B200")
    yield
    kube.kubectl("label", "node", "node1", f"{GPU}.product-")
    kube.kubectl(*patch, "--patch", json.dumps([{"op": "remove", "path": path}]))


def test_b200_values_are_admitted_and_scheduled(space: Space, root: Path, gpus: None) -> None:
    """On eight pretended GPUs; its pod then finds no job, which shows that it ran."""
    small = {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "256Mi"}
    given = values(space.kube)
    given["runtime"]["name"] = "b200"
    given["launcher"] = {"serviceAccount": "b200"}
    given["pod"]["resources"] = {"requests": small, "limits": small}
    space.install("b200", given, "--set=image.pullPolicy=IfNotPresent")
    elsewhere = {"CONTEXT1_STORAGE__URI": "s3://runs/elsewhere"}
    with space.launching("sft", root, runtime="b200", procs_per_node=2, env=elsewhere) as launcher:
        wait_until(lambda: running(space) == 1, "the pod runs", 120)
        (pod,) = space.get("pods")
        status, lines = launcher.end(400)
    assert status == 2 and last_error(lines).endswith("is not stored there"), "\n".join(lines)
    (container,) = pod["spec"]["containers"]
    assert container["resources"]["limits"][GPU] == "8"
    shm = next(one for one in pod["spec"]["volumes"] if one["name"] == "shm")
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": "64Gi"}
    assert pod["spec"]["nodeSelector"] == {f"{GPU}.product": "NVIDIA-B200"}


def running(space: Space) -> int:
    return sum(one["status"].get("phase") == "Running" for one in space.get("pods"))


def last_error(lines: list[str]) -> str:
    """The last line but the advice to try again."""
    return [line for line in lines if line and "continues where it stopped" not in line][-1]
