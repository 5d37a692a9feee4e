"""Bad values are refused: by the schema, or by the template where a schema cannot say it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.unit.chart.chart import CHART, container, named, template

REFUSED_BY_SCHEMA = [
    ("replicaCount=2", "replicaCount"),
    ("agent.replica=2", "replica"),
    ("agent.replicas=two", "/agent/replicas"),
    ("agent.replicas=-1", "/agent/replicas"),
    ("agent.image.tagg=1", "tagg"),
    ("agent.image.digest=sha256:12", "/agent/image/digest"),
    ("agent.image.pullPolicy=Sometimes", "/agent/image/pullPolicy"),
    ("agent.resources.limits.cpu=lots", "/agent/resources/limits/cpu"),
    ("agent.resources.limits.memory=null", "memory"),
    ("agent.service.type=Cluster", "/agent/service/type"),
    ("vllm.gpus=1.5", "/vllm/gpus"),
    ("vllm.model.source=ftp", "/vllm/model/source"),
    ("vllm.model.s3.uri=https://models/agent-7", "/vllm/model/s3/uri"),
    ("vllm.model.hub.revision=main", "/vllm/model/hub/revision"),
    ("vllm.flags.logprobs-mode=raw_logprobs", "logprobs-mode"),
    ("vllm.flags.--dtype=half", "--dtype"),
    ("vllm.env.A-B=1", "A-B"),
    ("vllm.watchdog.stallSeconds=5", "/vllm/watchdog/stallSeconds"),
    ("search.backend=elastic", "/search/backend"),
    ("search.opensearch.hosts={search:9200}", "/search/opensearch/hosts"),
    ("search.opensearch.hosts={https://user:pw@search:9200}", "/search/opensearch/hosts"),
    ("storage.endpoint=https://s3.internal", "/storage/endpoint"),
    ("proxy.http=proxy:3128", "/proxy/http"),
    ("pins.model=$(reboot)", "/pins/model"),
    ("pins.revision=main", "revision"),
    ("cache.keep=maybe", "/cache/keep"),
    ("cache.compile.accessMode=ReadOnlyMany", "/cache/compile/accessMode"),
    ("cache.size=5Gi", "size"),
    ("networkPolicy.clients[0].pod=x", "pod"),
    ("networkPolicy.to.internet[0].ipBlock.cidr=0.0.0.0/0", "internet"),
    ("monitoring.serviceMonitor.interval=often", "/monitoring/serviceMonitor/interval"),
    ("externalSecrets.secrets[0].name=x", "data"),
    ("ingress.hosts[0]=a", "hosts"),
    ("test.query=", "/test/query"),
]


@pytest.mark.parametrize(("value", "named_in_error"), REFUSED_BY_SCHEMA)
def test_the_schema_refuses(value: str, named_in_error: str) -> None:
    done = template("b200", f"--set={value}")
    assert done.returncode != 0
    assert "schema" in done.stderr
    assert named_in_error.strip("/").replace("/", ".") in done.stderr.replace("/", "."), done.stderr


REFUSED_BY_TEMPLATE = [
    ("b200", "pins.model=", "pins.model"),
    ("b200", "vllm.progressDeadlineSeconds=2099", "vllm.progressDeadlineSeconds: is 2099, needs at least"),
    ("b200", "agent.progressDeadlineSeconds=600", "agent.progressDeadlineSeconds"),
    (
        "b200",
        "vllm.terminationGracePeriodSeconds=130",
        "vllm.terminationGracePeriodSeconds: is 130, needs more",
    ),
    ("b200", "vllm.shutdownSeconds=150", "vllm.terminationGracePeriodSeconds"),
    ("b200", "agent.drainSeconds=85", "agent.terminationGracePeriodSeconds"),
    ("b200", "vllm.model.source=pvc", "vllm.model.pvc.claim"),
    ("b200", "vllm.model.s3.uri=", "vllm.model.s3.uri"),
    ("b200", "vllm.model.verify=false", "vllm.model.verify"),
    ("hub", "vllm.model.hub.repository=", "vllm.model.hub"),
    ("hub", "pins.model=openai/gpt-oss-20b", "pins.model"),
    ("b200", "search.embedded.pvc.claim=", "search.embedded.pvc.claim"),
    ("b200", "search.embedded.source=s3", "search.embedded.s3.uri"),
    ("b200", "search.backend=opensearch", "search.opensearch.hosts"),
    ("b200", "ingress.enabled=true", "auth.existingSecret"),
    ("full", "ingress.host=", "ingress.host"),
    ("full", "httpRoute.parentRefs=null", "httpRoute.parentRefs"),
    ("full", "vllm.autoscaling.prometheus=", "vllm.autoscaling.prometheus"),
    ("full", "externalSecrets.store.name=", "externalSecrets.store.name"),
]


@pytest.mark.parametrize(("release", "value", "message"), REFUSED_BY_TEMPLATE)
def test_the_template_refuses(release: str, value: str, message: str) -> None:
    done = template(release, f"--set={value}")
    assert done.returncode != 0
    assert message in done.stderr, done.stderr


def test_limits_that_are_just_met_pass() -> None:
    for value in ("vllm.progressDeadlineSeconds=2100", "vllm.terminationGracePeriodSeconds=131"):
        assert template("b200", f"--set={value}").returncode == 0


def test_free_form_values_pass() -> None:
    """`global`, `extra...`, annotations and the settings of agent and vLLM are the user's."""
    given = [
        "--set=global.region=eu",
        "--set=agent.extraEnv[0].name=TZ",
        "--set=agent.podAnnotations.any=thing",
        "--set=commonAnnotations.any=thing",
        "--set=agent.settings.serve.deadline=120",
        "--set=vllm.flags.seed=7",
    ]
    done = template("b200", *given)
    assert done.returncode == 0, done.stderr
    assert '"--seed=7"' in done.stdout


def test_schema_and_values_name_the_same_fields() -> None:
    """Whoever adds a value adds it to both."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def fields(node: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
        return node.get("properties", {})

    def compare(node: dict[str, Any], value: Any, path: str) -> None:
        known = fields(node)
        if not known or not isinstance(value, dict):
            return
        assert known.keys() == value.keys(), path
        for name, child in known.items():
            compare(child, value[name], f"{path}.{name}")

    compare(schema, values, "")


def test_replicas_are_left_out_where_something_scales() -> None:
    for deployment in ("-agent", "-vllm"):
        assert "replicas" in named("b200", "Deployment", deployment)["spec"]
        assert "replicas" not in named("full", "Deployment", deployment)["spec"]
    assert (
        named("full", "HorizontalPodAutoscaler", "-agent")["spec"]["scaleTargetRef"]["name"]
        == "full-context1-agent"
    )
    assert named("full", "ScaledObject", "-vllm")["spec"]["scaleTargetRef"]["name"] == "full-context1-vllm"


def test_caches_are_kept_unless_that_is_not_wanted() -> None:
    kept = named("b200", "PersistentVolumeClaim", "-compile")
    assert kept["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    dropped = named("b200", "PersistentVolumeClaim", "-compile", "--set=cache.keep=false")
    assert "annotations" not in dropped["metadata"]


def test_a_vllm_roll_out_is_fit_for_whole_gpus() -> None:
    spec = named("b200", "Deployment", "-vllm")["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    vllm = container("b200", "-vllm", "vllm")
    probe = vllm["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 1800
    assert spec["progressDeadlineSeconds"] >= 1800 + 300
    for one in ("-agent", "-vllm"):
        budget = named("b200", "PodDisruptionBudget", one)["spec"]
        assert budget["maxUnavailable"] == 1


def test_each_model_has_a_service_of_its_own() -> None:
    """So that, while a model is replaced, agents of either release reach pods of theirs alone."""
    before = named("b200", "Deployment", "-vllm")["spec"]
    after = named("b200", "Deployment", "-vllm", "--set=pins.model=agent-8-0123456789ab")["spec"]
    assert before["selector"] == after["selector"], "the Deployment stays one"
    names = set()
    for spec, given in ((before, ()), (after, ("--set=pins.model=agent-8-0123456789ab",))):
        label = spec["template"]["metadata"]["labels"]["context1/model"]
        service = named("b200", "Service", f"-{label}", *given)
        assert service["spec"]["selector"].items() <= spec["template"]["metadata"]["labels"].items()
        names.add(service["metadata"]["name"])
        waits = container("b200", "-agent", "await-model", *given)["args"]
        assert waits[0] == f"http://{service['metadata']['name']}:8000"
    assert len(names) == 2


def test_proxy_and_authorities_reach_every_container() -> None:
    for deployment in ("-agent", "-vllm"):
        pod = named("full", "Deployment", deployment)["spec"]["template"]["spec"]
        for one in [*pod["initContainers"], *pod["containers"]]:
            environment = {entry["name"]: entry.get("value") for entry in one["env"]}
            assert environment["https_proxy"] == environment["HTTPS_PROXY"] == "http://proxy.internal:3128"
            assert "full-context1-vllm-" in environment["no_proxy"]
            assert environment["SSL_CERT_FILE"] == "/etc/context1/ca/ca.crt"
            assert any(mount["mountPath"] == "/etc/context1/ca" for mount in one["volumeMounts"])
        assert {"name": "registry"} in pod["imagePullSecrets"]
