"""The full-size run in numbers: what is published, what is measured here, what is assumed.

128 tasks x 8 rollouts a step, 230 steps, gpt-oss-20b with LoRA, an index of 400,000 chunks, B200s.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from benchmarks.scale_types import Cluster, Rates
from benchmarks.scale_workload import Sizes

STEPS, QUERIES, ROLLOUTS, SUBSTEPS = 230, 128, 8, 4

# Published; docs/scale.md names the sources.
ACTIVE, TOTAL = 3.6e9, 20.9e9
"""Parameters that a token uses, and all."""
LAYERS, FULL_ATTENTION, KV_WIDTH = 24, 12, 2 * 8 * 64
"""Half of the layers attend to the whole context, half to 128 tokens; numbers a token keeps in a layer."""
B200_FLOPS, B200_BYTES = 2.25e15, 8e12
"""Dense bf16 a second, bytes a second."""
H100_READ, H100_ROW, B200_OVER_H100 = 33_800.0, 1 / 22_786.0, 2.3
"""vLLM on one H100: prompt tokens a second; seconds a sampled token in a large batch. Ratio of FLOP/s."""

# Measured in this repository.
SEARCHES_A_CORE = 400 / 2
"""Searches a second at 400,000 chunks, from two threads on two cores."""
HARNESS = 0.0052
"""Seconds of a turn at a budget of 32,768 tokens."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is assumed, and how much hardware there is."""

    sizes: Sizes = field(default_factory=lambda: Sizes(turns=10, calls=2.56, sampled=300, found=1_000))
    servers: int = 8
    trainers: int = 8
    search_cores: int = 16
    loops: int = 8
    utilisation: float = 0.15
    """Share of peak FLOP/s that training reaches: a mixture of experts, short rows, LoRA."""
    bandwidth: float = 0.6
    """Share of peak bandwidth that sampling reaches."""
    speed: float = B200_OVER_H100
    """A B200 over an H100, in prompt tokens and in rows."""
    swap: float = 15.0
    """Seconds to pause, pull the adapter, load it, empty the prefix cache, resume."""
    price: float = 5.0
    """Dollars a GPU and hour."""


def cluster_of(plan: Plan) -> Cluster:
    """Service times that follow from the plan."""
    bytes_a_second = B200_BYTES * plan.bandwidth
    rates = Rates(
        each=2 * TOTAL / bytes_a_second,  # at this size of batch a pass reads all experts, in bf16
        row=H100_ROW / plan.speed,
        context=FULL_ATTENTION * KV_WIDTH * 2 / bytes_a_second,
        prefill=1 / (H100_READ * plan.speed),
        rows=256,
        prefill_tokens=8192,
    )
    return Cluster(
        servers=plan.servers,
        rates=rates,
        search_slots=plan.search_cores,
        search=1 / SEARCHES_A_CORE,
        loops=plan.loops,
        harness=HARNESS,
        substep=1.0,
        train_token=6 * ACTIVE / (B200_FLOPS * plan.utilisation * plan.trainers),
        swap=plan.swap,
    )


def variations(plan: Plan) -> dict[str, tuple[Plan, Plan]]:
    """Each assumption at a low and at a high value, all else as planned."""
    sizes = plan.sizes

    def sized(**changed: float) -> Plan:
        return replace(plan, sizes=replace(sizes, **changed))

    return {
        "turns a trajectory: 5, 20": (sized(turns=5), sized(turns=20)),
        "sampled tokens a turn: 150, 600": (sized(sampled=150), sized(sampled=600)),
        "found tokens a call: 500, 2,000": (sized(found=500), sized(found=2_000)),
        "training's share of peak: 30%, 8%": (
            replace(plan, utilisation=0.30),
            replace(plan, utilisation=0.08),
        ),
        "a B200 over an H100: 3, 1.5": (replace(plan, speed=3.0), replace(plan, speed=1.5)),
        "sampling's share of bandwidth: 80%, 30%": (
            replace(plan, bandwidth=0.8),
            replace(plan, bandwidth=0.3),
        ),
        "swap of weights: 5 s, 60 s": (replace(plan, swap=5.0), replace(plan, swap=60.0)),
        "cores that search: 64, 4": (replace(plan, search_cores=64), replace(plan, search_cores=4)),
        "vLLM's GPUs: 16, 4": (replace(plan, servers=16), replace(plan, servers=4)),
        "training's GPUs: 16, 4": (replace(plan, trainers=16), replace(plan, trainers=4)),
    }
