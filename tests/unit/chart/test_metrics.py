"""Every metric that dashboard, alerts, autoscaler or watchdog read is one that somebody writes."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from context1.serving import watchdog
from tests.unit.chart.chart import named, objects, vllm_python

METRIC = re.compile(r"\b(?:vllm:|context1_)[a-z0-9_]+")
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}


@cache
def queries() -> dict[str, list[str]]:
    """What reads metrics -> its queries."""
    dashboard = json.loads(next(iter(named("full", "ConfigMap", "-dashboard")["data"].values())))
    (rule,) = objects("full", kind="PrometheusRule")
    (scaled,) = objects("full", kind="ScaledObject")
    variables = [one["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    return {
        "dashboard": variables
        + [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]],
        "alerts": [one["expr"] for group in rule["spec"]["groups"] for one in group["rules"]],
        "autoscaling": [one["metadata"]["query"] for one in scaled["spec"]["triggers"]],
        "watchdog": [watchdog.STEPS, watchdog.CACHE, *watchdog.OPEN],
    }


def read(prefix: str) -> set[str]:
    """Names with this prefix that are read."""
    everything = " ".join(query for part in queries().values() for query in part)
    return {name for name in METRIC.findall(everything) if name.startswith(prefix)}


@cache
def vllm_package() -> Path:
    """The installed package of the pinned vLLM."""
    folder = vllm_python().parents[1]
    (loggers,) = folder.glob("lib/python3*/site-packages/vllm/v1/metrics/loggers.py")
    return loggers.parents[2]


def vllm_series() -> Iterator[str]:
    """Series of the pinned vLLM, from the calls in its source that define its metrics."""
    tree = ast.parse((vllm_package() / "v1" / "metrics" / "loggers.py").read_text())
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        kind = re.search(r"(counter|gauge|histogram)_cls$", getattr(call.func, "attr", ""))
        name = {word.arg: word.value for word in call.keywords}.get("name")
        if kind and isinstance(name, ast.Constant):
            yield from (f"{name.value}{suffix}" for suffix in SUFFIXES[kind[1]])


def test_vllm_writes_what_is_read_of_it() -> None:
    written = set(vllm_series())
    assert len(written) > 60
    assert read("vllm:") and read("vllm:") <= written


def own_series() -> set[str]:
    """Series of an agent that uses vLLM, as its `/metrics` prints them."""
    from context1.policy.vllm.counters import Counters
    from context1.serving.metrics import Metrics
    from context1.serving.opening import VllmEngine

    metrics = Metrics(VllmEngine(SimpleNamespace(counters=Counters())), [])
    names = set()
    for family in text_string_to_metric_families(metrics.render().decode()):
        names |= {f"{family.name}{suffix}" for suffix in SUFFIXES.get(family.type, ())}
    return names


def test_the_agent_writes_what_is_read_of_it() -> None:
    assert read("context1_") and read("context1_") <= own_series()


@pytest.mark.parametrize("part", ["dashboard", "alerts", "autoscaling", "watchdog"])
def test_each_part_reads_something(part: str) -> None:
    assert queries()[part]
    assert all(METRIC.search(query) for query in queries()[part])


def test_queries_keep_to_the_release() -> None:
    """Two releases in one cluster do not add up."""
    for part in ("dashboard", "alerts", "autoscaling"):
        for query in queries()[part]:
            if query.startswith("label_values"):
                continue
            for name in METRIC.findall(query):
                selector = query.split(name, 1)[1]
                assert re.match(r'\{namespace="[^"]+",service=~?"full-context1-', selector), query
