"""Every pod keeps to the restricted standard, says what it needs, and holds no token that it does not use."""

from __future__ import annotations

import pytest

from tests.unit.chart.chart import RELEASES, containers, named, objects, pods

NEEDS = {"cpu", "memory", "ephemeral-storage"}


@pytest.mark.parametrize("release", RELEASES)
def test_pods_keep_to_the_restricted_standard(release: str) -> None:
    assert len(pods(release)) == 3
    for name, pod in pods(release).items():
        spec = pod["spec"]
        assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers"} & spec.keys(), name
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == 65532
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert {kind for volume in spec["volumes"] for kind in volume if kind != "name"} <= {
            "configMap",
            "emptyDir",
            "persistentVolumeClaim",
            "secret",
        }
        for one in containers(pod):
            security = one["securityContext"]
            assert security["allowPrivilegeEscalation"] is False, one["name"]
            assert security["readOnlyRootFilesystem"] is True
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert not {"privileged", "runAsUser", "procMount"} & security.keys()
            assert all("hostPort" not in port for port in one.get("ports", []))


@pytest.mark.parametrize("release", RELEASES)
def test_every_container_says_what_it_needs_and_may_use(release: str) -> None:
    for pod in pods(release).values():
        for one in containers(pod):
            for part in ("requests", "limits"):
                assert one["resources"][part].keys() >= NEEDS, one["name"]


@pytest.mark.parametrize("release", RELEASES)
def test_writable_folders_on_the_node_have_a_limit(release: str) -> None:
    for pod in pods(release).values():
        for volume in pod["spec"]["volumes"]:
            if "emptyDir" in volume:
                assert volume["emptyDir"]["sizeLimit"], volume["name"]


@pytest.mark.parametrize("release", RELEASES)
def test_only_the_test_has_a_token_and_only_for_logs(release: str) -> None:
    with_token = {name for name, pod in pods(release).items() if pod["spec"]["automountServiceAccountToken"]}
    if release == "cpu":
        assert not with_token
        assert not objects(release, kind="Role")
        return
    assert with_token == {f"{release}-context1-test"}
    rules = named(release, "Role", "-test")["rules"]
    assert [(rule["resources"], rule["verbs"]) for rule in rules] == [
        (["pods"], ["list"]),
        (["pods/log"], ["get"]),
    ]
    assert not objects(release, kind="ClusterRole")


def test_secrets_are_only_referred_to() -> None:
    assert not objects("full", kind="Secret")
    for pod in pods("full").values():
        for one in containers(pod):
            for entry in one["env"]:
                secret = any(word in entry["name"] for word in ("KEY", "TOKEN", "PASSWORD"))
                assert ("valueFrom" in entry) == secret, entry["name"]
