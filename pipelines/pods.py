"""How a task becomes a pod: image, resources, node, retries, and what the company's network needs.

What is Kubernetes' own goes into kfp's `platform_config`, as the JSON form of kfp-kubernetes' messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kfp import dsl

from components.base import BASE, EVAL, TRAIN, placeholder
from context1.settings import PipelineSettings, PodSettings

CERTIFICATES = "/etc/context1/certificates"
"""Where the ConfigMap with the bundle of authorities is mounted."""
LABEL = "context1"
"""Label of all pods of a pipeline."""


@dataclass(frozen=True)
class Pods:
    """Puts the settings of a cluster on tasks; without images each keeps its placeholder."""

    settings: PipelineSettings
    images: Mapping[str, str] = field(default_factory=dict)
    """Name of an image (`context1-base`) to the reference that takes its place."""

    def base(self, task: dsl.PipelineTask, *, resumable: bool = False) -> dsl.PipelineTask:
        """A step without a model."""
        return self._place(task, BASE, self.settings.base, resumable)

    def train(self, task: dsl.PipelineTask) -> dsl.PipelineTask:
        """SFT or RL, which resume."""
        return self._place(task, TRAIN, self.settings.train, True)

    def evaluate(self, task: dsl.PipelineTask) -> dsl.PipelineTask:
        """The evaluation, which resumes."""
        return self._place(task, EVAL, self.settings.evaluate, True)

    def _place(
        self, task: dsl.PipelineTask, image: str, pod: PodSettings, resumable: bool
    ) -> dsl.PipelineTask:
        task.set_container_image(self.images.get(image, placeholder(image)))
        if pod.cpu:
            task.set_cpu_request(pod.cpu).set_cpu_limit(pod.cpu)
        if pod.memory:
            task.set_memory_request(pod.memory).set_memory_limit(pod.memory)
        if pod.accelerators:
            task.set_accelerator_type(pod.accelerator).set_accelerator_limit(pod.accelerators)
        if resumable and self.settings.retries:
            task.set_retry(self.settings.retries, backoff_duration=f"{self.settings.backoff}s")
        for name, value in variables(self.settings).items():
            task.set_env_variable(name, value)
        task.platform_config["kubernetes"] = platform(self.settings, pod)
        return task


def variables(settings: PipelineSettings) -> dict[str, str]:
    """Environment of every step; nothing of it is secret."""
    found: dict[str, str] = {}
    if settings.proxy:
        for name, value in (
            ("HTTP_PROXY", settings.proxy),
            ("HTTPS_PROXY", settings.proxy),
            ("NO_PROXY", settings.no_proxy),
        ):
            found |= {name: value, name.lower(): value}
    if settings.ca_config_map:
        names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE")
        found |= dict.fromkeys(names, f"{CERTIFICATES}/ca.crt")
    return found | settings.variables


def platform(settings: PipelineSettings, pod: PodSettings) -> dict[str, Any]:
    """The task's `KubernetesExecutorConfig`, as JSON."""
    config: dict[str, Any] = {
        # A read-only root file system works with this alone, and every step makes temporary files.
        "emptyDirMounts": [{"volumeName": "tmp", "mountPath": "/tmp", "sizeLimit": settings.tmp}],
        # Without this a sidecar of a service mesh outlives the step, and the pod never ends.
        "podMetadata": {
            "labels": {"app.kubernetes.io/part-of": LABEL},
            "annotations": {"sidecar.istio.io/inject": "false"},
        },
    }
    if pod.shm:
        shared = {"volumeName": "shm", "mountPath": "/dev/shm", "medium": "Memory", "sizeLimit": pod.shm}
        config["emptyDirMounts"].append(shared)
    if pod.node_selector:
        config["nodeSelector"] = {"labels": dict(pod.node_selector)}
    if pod.tolerations:
        config["tolerations"] = [dict(toleration) for toleration in pod.tolerations]
    if settings.secrets:
        config["secretAsEnv"] = [
            {
                **_named("secretName", name),
                "keyToEnv": [{"secretKey": key, "envVar": variable} for key, variable in keys.items()],
                "optional": False,
            }
            for name, keys in settings.secrets.items()
        ]
    if settings.pull_secrets:
        config["imagePullSecret"] = [_named("secretName", name) for name in settings.pull_secrets]
    if settings.ca_config_map:
        mounted = {"mountPath": CERTIFICATES, "optional": False}
        config["configMapAsVolume"] = [_named("configMapName", settings.ca_config_map) | mounted]
    if settings.claim:
        constant = {"runtimeValue": {"constant": settings.claim}}
        config["pvcMount"] = [
            {"constant": settings.claim, "pvcNameParameter": constant, "mountPath": settings.mount}
        ]
    if settings.timeout:
        config["activeDeadlineSeconds"] = str(settings.timeout)
    return config


def _named(field_name: str, value: str) -> dict[str, Any]:
    """A name as kfp-kubernetes writes it: plain, for old backends, and as a parameter."""
    return {field_name: value, f"{field_name}Parameter": {"runtimeValue": {"constant": value}}}
