"""The TrainJob and the runtime: valid for each release of the Trainer, strict, and without a secret."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from context1.cluster.names import job_name, label_value
from context1.cluster.trainjob import render
from context1.errors import InputError
from context1.settings import ClusterSettings, StorageSettings
from tests.unit.chart.chart import ROOT, helm
from tests.unit.chart.test_kubernetes import VERSIONS, native_schema

CHART = ROOT / "helm" / "context1-train"
RELEASES = {file.stem: file for file in (Path(__file__).parent / "schemas").glob("*.json")}
SECRET = "hunter2hunter2"
FULL = [
    "--values", str(CHART / "values-cpu.yaml"), "--set=storage.existingSecret=s3,environmentSecret=mlflow",
    "--set=caBundle.configMap=ca,proxy.https=http://proxy:3128,launcher.also={default-editor}",
    "--set=imagePullSecrets[0].name=registry,runtime.kind=ClusterTrainingRuntime",
]  # fmt: skip
VALUES = {"b200": [], "cpu": ["--values", str(CHART / "values-cpu.yaml")], "full": FULL}

Object = dict[str, Any]


def job(**settings: Any) -> Object:
    storage = StorageSettings(uri="s3://runs", endpoint="s3:9000", access_key="key", secret_key=SECRET)
    cluster = ClusterSettings(image="registry/train@sha256:0", requests={"cpu": "1"}, limits={"cpu": "2"})
    cluster = cluster.model_copy(update={"queue": "team", "env": {"NCCL_DEBUG": "WARN"}, **settings})
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "u"}
    return render("c1-0", "sft", "run-1", 16, cluster, storage, owner=owner)


@cache
def objects(values: str) -> list[Object]:
    done = helm("template", "train", CHART, "--namespace=team", *VALUES[values])
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def runtime(values: str) -> Object:
    (found,) = [one for one in objects(values) if one["kind"].endswith("TrainingRuntime")]
    return found


def schema(release: str, kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(RELEASES[release].read_text())[kind])


def test_schemas_of_all_releases_are_here() -> None:
    assert sorted(RELEASES) == ["2.0", "2.1", "2.2", "2.3"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_trainjob_is_valid_for_each_release(release: str) -> None:
    check = schema(release, "TrainJob")
    made = job(procs_per_node=8)
    check.validate(made)
    assert made["spec"].keys() == {"runtimeRef", "trainer"}
    assert made["spec"]["trainer"]["numNodes"] == 2
    for spoil in ({"numProcPerNode": [8]}, {"numProcsPerNode": 8}, {"image": 1}):
        spoilt = copy.deepcopy(made)
        spoilt["spec"]["trainer"] |= spoil
        with pytest.raises(jsonschema.ValidationError):
            check.validate(spoilt)


@pytest.mark.parametrize("release", RELEASES)
def test_a_deadline_is_set_where_the_release_has_one(release: str) -> None:
    made = render("c1-0", "sft", "run-1", 2, ClusterSettings(), StorageSettings(), deadline=True)
    assert made["spec"]["activeDeadlineSeconds"] == 72 * 3600
    assert schema(release, "TrainJob").is_valid(made) == (release >= "2.2")


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("release", RELEASES)
def test_the_runtime_is_valid_for_each_release(release: str, values: str) -> None:
    found = runtime(values)
    check = schema(release, found["kind"])
    check.validate(found)
    spoilt = copy.deepcopy(found)
    spoilt["spec"]["template"]["spec"]["failurePolicy"]["maxRestart"] = 3
    with pytest.raises(jsonschema.ValidationError):
        check.validate(spoilt)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("version", VERSIONS)
def test_jobs_pods_and_rights_are_valid_kubernetes(values: str, version: str) -> None:
    (replicated,) = runtime(values)["spec"]["template"]["spec"]["replicatedJobs"]
    native_schema("Job", "batch/v1", version).validate(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "x"},
            "spec": replicated["template"]["spec"],
        }
    )
    for one in objects(values):
        if not one["kind"].endswith("Runtime"):
            native_schema(one["kind"], one["apiVersion"], version).validate(one)


@pytest.mark.parametrize("values", VALUES)
def test_lint_finds_nothing(values: str) -> None:
    done = helm("lint", "--strict", CHART, *VALUES[values])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("wrong", ["pod.shmSize=much", "pod.resources.limits.cpu=x", "runtime.restart=1"])
def test_a_wrong_value_is_refused(wrong: str) -> None:
    assert helm("template", "train", CHART, f"--set={wrong}").returncode != 0


@pytest.mark.parametrize("values", VALUES)
def test_pods_are_restricted_sized_and_outside_the_mesh(values: str) -> None:
    (replicated,) = runtime(values)["spec"]["template"]["spec"]["replicatedJobs"]
    template = replicated["template"]["spec"]["template"]
    spec = template["spec"]
    assert template["metadata"]["labels"]["sidecar.istio.io/inject"] == "false"
    assert spec["securityContext"]["runAsNonRoot"] and not spec["automountServiceAccountToken"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        security = container["securityContext"]
        assert security["capabilities"] == {"drop": ["ALL"]} and security["readOnlyRootFilesystem"]
        assert security["allowPrivilegeEscalation"] is False
        for part in ("requests", "limits"):
            assert container["resources"][part].keys() >= {"cpu", "memory", "ephemeral-storage"}
        gpus = "nvidia.com/gpu" in container["resources"]["limits"]
        assert gpus == (values == "b200")
    mounts = {one["mountPath"] for one in spec["containers"][0]["volumeMounts"]}
    assert {"/tmp", "/dev/shm"} <= mounts
    assert all(one["emptyDir"]["sizeLimit"] for one in spec["volumes"] if "emptyDir" in one)


def test_a_launcher_may_do_what_it_does_and_no_more() -> None:
    (role,) = [one for one in objects("full") if one["kind"] == "Role"]
    rights = {
        f"{verb} {what}" for rule in role["rules"] for what in rule["resources"] for verb in rule["verbs"]
    }
    assert not {one for one in rights if "secret" in one or "*" in one or "exec" in one}
    (binding,) = [one for one in objects("full") if one["kind"] == "RoleBinding"]
    assert [one["name"] for one in binding["subjects"]] == ["context1-launcher", "default-editor"]


def test_no_secret_is_in_a_trainjob() -> None:
    assert SECRET not in json.dumps(job())
    assert {"name": "CONTEXT1_STORAGE__URI", "value": "s3://runs"} in job()["spec"]["trainer"]["env"]


def test_processes_fill_whole_pods() -> None:
    with pytest.raises(InputError, match=r"train\.procs=16 is no multiple of cluster\.procs_per_node=3"):
        job(procs_per_node=3)


def test_names_are_stable_and_fit() -> None:
    name = job_name("run", "sft", "0")
    assert name == job_name("run", "sft", "0")
    assert (
        len({job_name(*one) for one in (("r", "s", "0"), ("r", "s", "1"), ("r", "t", "0"), ("q", "s", "0"))})
        == 4
    )
    assert len(f"{name}-node-0-1023-xxxxx") <= 63
    assert label_value("a6ea1c50-7a2c") == "a6ea1c50-7a2c"
    assert label_value("/home/me/runs") == label_value("/home/me/runs") != label_value("/home/me/run")
    assert len(label_value("x" * 64)) == 16


def test_the_command_prints_what_is_rendered() -> None:
    command = ["trainjob", "render", "rl", "--set", "train.procs=4", "--set", "storage.uri=s3://bucket"]
    from typer.testing import CliRunner

    from context1.cli import app

    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0
    schema("2.3", "TrainJob").validate(yaml.safe_load(done.stdout))
