"""What Prometheus reads at `/metrics`; every name starts with `context1_`."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from context1.harness.events import Event, PruneEvent, ResultEvent, ToolCallEvent, TurnEvent
from context1.serving.engine import Engine

SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
ENGINE = {
    "engine_requests": "Turns asked of the engine",
    "engine_retries": "Requests to the engine tried again",
    "engine_failures": "Turns lost to the engine",
    "prompt_tokens": "Prompt tokens of all turns",
    "cached_prompt_tokens": "Prompt tokens that the engine found in its prefix cache",
}
"""What an engine may count itself."""

LAG = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)


class Metrics:
    """The counters of one server, in a registry of their own. `tools`: names that a label may take."""

    def __init__(self, engine: Engine, tools: Iterable[str]) -> None:
        self._tools = frozenset(tools)
        self.registry = registry = CollectorRegistry()
        registry.register(_EngineCounters(engine))
        self.running = Gauge("context1_searches_running", "Searches that run now", registry=registry)
        self.queued = Gauge("context1_searches_queued", "Searches that wait for a place", registry=registry)
        self.engine_up = Gauge("context1_engine_up", "1 if the model can be reached", registry=registry)
        self.draining = Gauge("context1_draining", "1 from SIGTERM on", registry=registry)
        self._searches = Counter("context1_searches", "Searches ended, by how", ["end"], registry=registry)
        self._rollouts = Counter("context1_rollouts", "Rollouts ended, by how", ["end"], registry=registry)
        self._turns = Counter("context1_turns", "Turns of the model", registry=registry)
        self._calls = Counter(
            "context1_tool_calls", "Tool calls, as judged", ["tool", "status"], registry=registry
        )
        self._prunes = Counter("context1_prunes", "Chunks pruned", registry=registry)
        self._pruned = Counter("context1_pruned_tokens", "Tokens freed by prunes", registry=registry)
        self._sampled = Counter("context1_sampled_tokens", "Tokens sampled", registry=registry)
        self._malformed = Counter("context1_malformed_turns", "Turns malformed as a whole", registry=registry)
        self._rejected = Counter(
            "context1_rejected", "Requests not served, by reason", ["reason"], registry=registry
        )
        self._phases = Histogram(
            "context1_phase_seconds",
            "Wall time: `queue` and `total` of a search; `policy`, `search`, `harness` of a rollout",
            ["phase"],
            buckets=SECONDS,
            registry=registry,
        )
        self._lag = Histogram(
            "context1_event_lag_seconds",
            "From a happening to its event handed to the network",
            buckets=LAG,
            registry=registry,
        )

    def count(self, event: Event) -> None:
        """Counts what an episode tells."""
        match event:
            case TurnEvent():
                self._turns.inc()
                self._sampled.inc(event.tokens)
                self._malformed.inc(bool(event.errors))
            case ToolCallEvent():
                # The name is the model's own text: any may come.
                tool = event.name if event.name in self._tools else "other"
                self._calls.labels(tool, event.status).inc()
            case PruneEvent():
                self._prunes.inc(len(event.chunk_ids))
                self._pruned.inc(event.freed)
            case ResultEvent():
                self._rollouts.labels(event.trajectory.end).inc()
                for phase, seconds in event.trajectory.seconds.items():
                    self.phase(phase, seconds)

    def ended(self, end: str) -> None:
        """A search has ended: `result`, or the code of its error."""
        self._searches.labels(end).inc()

    def phase(self, phase: str, seconds: float) -> None:
        self._phases.labels(phase).observe(seconds)

    def lag(self, seconds: float) -> None:
        self._lag.observe(seconds)

    def rejected(self, reason: str) -> None:
        self._rejected.labels(reason).inc()

    def render(self) -> bytes:
        """In Prometheus's text format."""
        return generate_latest(self.registry)


class _EngineCounters(Collector):
    """Read when Prometheus asks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterable[Metric]:
        counters = self._engine.counters()
        for name, text in ENGINE.items():
            if name in counters:
                yield CounterMetricFamily(f"context1_{name}", text, counters[name])
