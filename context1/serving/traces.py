"""Each search as an OpenTelemetry trace: spans for it, its rollouts, and each time one infers or acts.

Spans hold counts and names, never the question or text of documents.
"""

from __future__ import annotations

import json
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context

from context1 import __version__
from context1.schema import Trajectory
from context1.serving.search import Search

TOLD = ("turn", "tokens", "status", "used", "freed", "zone")
"""Fields of events that become attributes."""


class Traces:
    """Exports in a thread of its own; a collector that is down costs spans, not searches."""

    def __init__(self, address: str) -> None:
        resource = Resource.create({"service.name": "context1", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
        self._tracer = self._provider.get_tracer("context1.serving")

    def export(self, search: Search) -> None:
        """Hands over an ended search."""
        start, end = search.wall_ns(search.started), search.wall_ns(search.log[-1].at)
        root = self._tracer.start_span(
            "search",
            kind=SpanKind.SERVER,
            start_time=start,
            attributes={"search.id": search.id, "search.rollouts": search.ask.rollouts},
        )
        if search.state == "failed":
            root.set_status(StatusCode.ERROR, search.log[-1].kind)
        for trajectory in search.trajectories:
            self._rollout(search, trajectory, set_span_in_context(root))
        root.end(end)

    def close(self) -> None:
        """Sends what is left."""
        self._provider.shutdown()

    def _rollout(self, search: Search, trajectory: Trajectory, context: Context) -> None:
        events = [(one, json.loads(one.data)) for one in search.log]
        events = [(one, fields) for one, fields in events if fields.get("rollout") == trajectory.rollout]
        start = search.wall_ns(search.began)
        span = self._tracer.start_span(
            "rollout",
            context=context,
            start_time=start,
            attributes={
                "rollout": trajectory.rollout,
                "end": trajectory.end,
                "turns": trajectory.turns,
                "peak_tokens": trajectory.peak_tokens,
            },
        )
        inside, last = set_span_in_context(span), start
        for logged, fields in events:
            at = search.wall_ns(logged.at)
            if logged.kind == "turn":
                self._step("infer", inside, last, at, fields)
                last = at
            elif logged.kind == "usage" and fields["turn"]:
                self._step("act", inside, last, at, fields)
                last = at
            elif logged.kind != "usage":
                span.add_event(logged.kind, _attributes(fields), timestamp=at)
        span.end(search.wall_ns(search.log[-1].at))

    def _step(self, name: str, context: Context, start: int, end: int, fields: dict[str, Any]) -> None:
        step = self._tracer.start_span(
            name, context=context, start_time=start, attributes=_attributes(fields)
        )
        step.end(end)


def _attributes(fields: dict[str, Any]) -> dict[str, str | int]:
    return {name: fields[name] for name in TOLD if name in fields}
