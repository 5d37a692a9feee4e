"""Rendered objects against the schemas of Kubernetes, and of the foreign resources."""

from __future__ import annotations

import copy
import json
from functools import cache

import jsonschema
import pytest
from kubernetes_validate.utils import schema_contents
from referencing import Registry, Resource

from tests.unit.chart.chart import HERE, RELEASES, Object, named, objects

VERSIONS = ["1.34", "1.35", "1.36", "1.37"]
FOREIGN = {file.stem: file for file in (HERE / "crds").glob("*.json")}


@cache
def definitions(version: str) -> Registry:
    contents = schema_contents(f"{folder(version)}/_definitions.json", version)
    return Resource.from_contents(contents) @ Registry()


def folder(version: str) -> str:
    """Of kubernetes-validate's schemas, those that refuse unknown fields."""
    return f"kubernetes-json-schema/v{version}.0-local-strict"


@cache
def native_schema(kind: str, api_version: str, version: str) -> jsonschema.Draft202012Validator:
    """As `kubernetes_validate.validate` finds it, but read once: the definitions alone are megabytes."""
    group, _, plain = api_version.rpartition("/")
    name = "-".join([kind.lower(), *group.split(".")[:1], plain]) if group else f"{kind.lower()}-{plain}"
    schema = schema_contents(f"{folder(version)}/{name}.json", version)
    return jsonschema.Draft202012Validator(schema, registry=definitions(version))


@cache
def foreign_schema(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(FOREIGN[kind].read_text()))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("release", RELEASES)
def test_native_objects_are_valid_and_name_no_unknown_field(release: str, version: str) -> None:
    native = [one for one in objects(release) if one["kind"] not in FOREIGN]
    assert {"Deployment", "Service", "NetworkPolicy", "ConfigMap"} <= {one["kind"] for one in native}
    for one in native:
        native_schema(one["kind"], one["apiVersion"], version).validate(one)


def test_foreign_objects_are_valid_and_name_no_unknown_field() -> None:
    foreign = [one for one in objects("full") if one["kind"] in FOREIGN]
    assert {one["kind"] for one in foreign} == FOREIGN.keys(), "each schema is used"
    for one in foreign:
        foreign_schema(one["kind"]).validate(one)


@pytest.mark.parametrize(
    ("kind", "spoil"),
    [
        ("ServiceMonitor", lambda spec: spec["endpoints"][0].update(schema="http")),
        ("PrometheusRule", lambda spec: spec["groups"][0]["rules"][0].pop("expr")),
        ("ScaledObject", lambda spec: spec["triggers"][0]["metadata"].update(threshold=16)),
        ("HTTPRoute", lambda spec: spec["rules"][0]["matches"][0]["path"].update(type="Prefix")),
        ("ExternalSecret", lambda spec: spec["secretStoreRef"].update(kind="Store")),
    ],
)
def test_a_fault_in_a_foreign_object_is_seen(kind: str, spoil: object) -> None:
    one: Object = copy.deepcopy(objects("full", kind=kind)[0])
    assert callable(spoil)
    spoil(one["spec"])
    with pytest.raises(jsonschema.ValidationError):
        foreign_schema(kind).validate(one)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fault_in_a_native_object_is_seen(version: str) -> None:
    one = copy.deepcopy(named("b200", "Deployment", "-vllm"))
    one["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    with pytest.raises(jsonschema.ValidationError, match="livenesProbe"):
        native_schema("Deployment", "apps/v1", version).validate(one)
