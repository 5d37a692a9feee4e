"""The full-size run, simulated: time, tokens, searches, bytes, money, the bottleneck (`make bench-scale`).

python -m benchmarks.bench_scale    # the tables of docs/scale.md; equal code gives equal tables
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.scale_full import (
    FULL_ATTENTION,
    KV_WIDTH,
    LAYERS,
    QUERIES,
    ROLLOUTS,
    STEPS,
    SUBSTEPS,
    Plan,
    cluster_of,
    variations,
)
from benchmarks.scale_model import simulate
from benchmarks.scale_types import Times
from benchmarks.scale_workload import Episode, assumed, dealt

STRIDE = 8
"""Passes of a batch that are simulated as one event: thousandths of a step."""
LORA_BYTES = 2 * 32 * LAYERS * ((2880 + 4096) + 2 * (2880 + 512) + (4096 + 2880))
"""An adapter of rank 32 on the attention's four projections, bf16."""
TOKEN_BYTES = 16
"""A token of a stored trajectory as JSON: its id, and for some its log-probability; about."""
CHARACTERS, DIGITS = 5, 7
"""Bytes of a token as text, and as an id in a JSON list; about."""


@dataclass(frozen=True, slots=True)
class Step:
    """One simulated step and what it was made of."""

    plan: Plan
    times: Times
    episodes: list[Episode]

    @property
    def gpus(self) -> int:
        return self.plan.servers + self.plan.trainers

    @property
    def hours(self) -> float:
        """GPU hours of the whole run: both halves are held while the other works."""
        return self.times.step * STEPS * self.gpus / 3600

    @property
    def dollars(self) -> float:
        return self.hours * self.plan.price

    def total(self, name: str) -> int:
        """Sum of a turn's field over the step."""
        return sum(getattr(turn, name) for episode in self.episodes for turn in episode.turns)


def step_of(plan: Plan, seed: int = 0) -> Step:
    """Simulates a step of the plan."""
    episodes = assumed(plan.sizes, QUERIES * ROLLOUTS, seed)
    waves = [[episode.turns for episode in episodes]]
    times = simulate(cluster_of(plan), waves, dealt(episodes, SUBSTEPS), seed=seed, stride=STRIDE)
    return Step(plan, times, episodes)


def main() -> None:
    plan = Plan()
    base = step_of(plan)
    print(run_table(base), end="\n\n")
    print(sensitivity_table(base), end="\n\n")
    print(load_table(plan))


def run_table(step: Step) -> str:
    """The run as planned."""
    found = step.plan.sizes.found * step.total("searches")
    times, rows = step.times, sum(episode.row_tokens for episode in step.episodes)
    searches, sampled = step.total("searches"), step.total("sampled")
    kept = peak_context(step.episodes) * FULL_ATTENTION * KV_WIDTH * 2  # bf16
    stored = sum(episode.seen_tokens for episode in step.episodes) * TOKEN_BYTES
    swapped = LORA_BYTES * step.plan.servers
    lines = {
        "step": f"{times.step:,.0f} s: rollouts {times.rollout:,.0f}, updates {times.update:,.0f}, "
        f"swap {times.swap:,.0f}",
        "half of the episodes have ended after": f"{times.half_done:,.0f} s",
        "run": f"{times.step * STEPS / 3600:,.1f} hours, {step.hours:,.0f} GPU hours, ${step.dollars:,.0f}",
        "sampled tokens": f"{sampled / 1e6:,.1f} M a step, {sampled * STEPS / 1e9:,.2f} G a run",
        "prompt tokens read": f"{step.total('prefill') / 1e6:,.1f} M a step, "
        f"{step.total('prefill') * STEPS / 1e9:,.1f} G a run",
        "trained tokens of rows": f"{rows / 1e6:,.1f} M a step, {rows * STEPS / 1e9:,.1f} G a run",
        "searches": f"{searches:,} a step; {searches / times.rollout:,.0f}/s while rolling out, "
        f"{times.search_peak:,.0f}/s at most, "
        f"mean wait {times.search_wait * 1e3:,.1f} ms",
        "busy while rolling out": f"vLLM {times.servers_busy:.0%}, searching cores {times.search_busy:.0%}",
        "busy over the step": f"vLLM's GPUs {times.servers_busy * times.rollout / times.step:.0%}, "
        f"training's {times.update / times.step:.0%}",
        "keys and values": f"at most {kept / step.plan.servers / 1e9:,.1f} GB a server",
        "trajectories": f"{stored / 1e9:,.1f} GB a step, {stored * STEPS / 1e9:,.0f} GB a run, as plain JSON",
        "adapter": f"{LORA_BYTES / 1e6:,.0f} MB; {swapped / 1e9:,.2f} GB a swap over all servers",
        "answers of searches": f"{CHARACTERS * found / times.rollout / 1e6:,.1f} MB/s",
        "prompts sent to vLLM": f"{DIGITS * step.total('context') / times.rollout / 1e6:,.1f} MB/s",
    }
    return _table(["what", "simulated"], [[name, value] for name, value in lines.items()])


def peak_context(episodes: list[Episode]) -> int:
    """Tokens of all contexts at their largest: a bound on what the caches hold at once."""
    return sum(max(turn.context for turn in episode.turns) for episode in episodes)


def sensitivity_table(base: Step) -> str:
    """Each assumption at two values: time of a step, cost of the run."""
    rows = []
    for name, plans in variations(base.plan).items():
        low, high = (step_of(plan) for plan in plans)
        rows.append([name, *(f"{one.times.step:,.0f} s, ${one.dollars:,.0f}" for one in (low, high))])
    rows.sort(key=lambda row: row[0])
    planned = f"{base.times.step:,.0f} s, ${base.dollars:,.0f}"
    return _table(["assumption: first, second", "first", "second"], [["as planned", planned, planned], *rows])


def load_table(plan: Plan) -> str:
    """Rollouts of a step under more and more vLLM servers: where the searching cores give out."""
    rows = []
    for servers in (8, 32):
        for cores in (2, 4, 16):
            step = step_of(replace(plan, servers=servers, search_cores=cores))
            rows.append(
                [
                    str(servers),
                    str(cores),
                    f"{step.times.rollout:,.0f} s",
                    f"{step.times.search_peak:,.0f}/s",
                    f"{step.times.search_wait * 1e3:,.0f} ms",
                ]
            )
    titles = ["vLLM's GPUs", "searching cores", "rollouts", "searches at most", "mean wait"]
    return _table(titles, rows)


def _table(titles: list[str], rows: list[list[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
