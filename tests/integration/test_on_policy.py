"""The real harness and engine: every sampled token is trained once, in the context it was sampled in, and
the trainer's log-probabilities equal the sampler's before the first update.
"""

import asyncio
import json
import random
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from context1.harness.profile import make_profile
from context1.harness.rollouts import Job, run_rollouts
from context1.models.fast import accelerate_cpu
from context1.models.tiny import tiny_qwen3
from context1.policy.local import LocalPolicy
from context1.policy.policy import Action, EpisodeKey, PolicySession, View
from context1.schema import Sample, Task
from context1.settings import Budget, ModelSettings, Settings
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import Tokenizer, load_tokenizer
from context1.training.batching import collate, plan
from context1.training.policy_model import PolicyModel
from context1.training.rows import rows_of
from tests.integration.vllm.episodes import Towers

EPISODES = 100
BUDGET = Budget(
    total=1200, call=130, soft=700, hard=1000, reserve=28, turns_soft=8, turns_max=14, rerank_top=20
)


@dataclass
class HalfScripted:
    """Turns by the engine (which, untrained, writes noise) between scripted searches and prunes."""

    local: LocalPolicy
    tokenizer: Tokenizer
    name: str = "half scripted"
    trainable: bool = True

    def open(self, key: EpisodeKey, task: Task | None) -> PolicySession:
        return HalfSession(self, self.local.open(key, task), random.Random(f"{key}"))


@dataclass
class HalfSession:
    policy: HalfScripted
    seat: PolicySession
    rng: random.Random

    async def infer(self, view: View) -> Action:
        if view.turn % 2 == 1:
            return await self.seat.infer(view)
        pruned = [chunk_id for chunk_id in view.visible if self.rng.random() < 0.4][:1]
        calls = [("prune_chunks", json.dumps({"chunk_ids": pruned}, separators=(",", ":")))] if pruned else []
        if not calls:
            calls = [("search_corpus", json.dumps({"query": f" tower {self.rng.randint(0, 99)}"}))]
        ids = render_turn(self.policy.tokenizer, None, calls, None)
        sample = Sample(logprobs=[0.0] * len(ids), temperature=1.0, policy_version="script", finish="stop")
        return Action(ids, sample)

    async def close(self) -> None:
        await self.seat.close()


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_sampler_and_trainer_agree(temperature: float) -> None:
    tokenizer = load_tokenizer("tiny")
    settings = ModelSettings(
        path="tiny", hidden=64, layers=2, heads=2, kv_heads=1, head_dim=32, ffn=64, dtype="float32"
    )
    model = tiny_qwen3(settings, tokenizer.vocab_size)
    tiny = Settings.load(profile="demo").profile
    profile = make_profile(tiny.model_copy(update={"budget": BUDGET}), tokenizer)
    policy = HalfScripted(LocalPolicy(model, tokenizer, temperature, batch=EPISODES // 4), tokenizer)
    task = Task(id="t", domain="web", hops=1, clues=[], question="", truth="x", truth_type="name", facts=[])
    jobs = [
        Job(
            EpisodeKey(0, 0, f"t{i}", 0),
            task.model_copy(update={"id": f"t{i}", "question": f"Who keeps tower {i}?"}),
            Towers(),
        )
        for i in range(EPISODES)
    ]
    trajectories = asyncio.run(run_rollouts(jobs, policy, profile, tokenizer, wave=EPISODES // 4))
    assert sum(len(t.edits) for t in trajectories) > EPISODES

    rows, drawn = [], 0
    for trajectory in trajectories:
        contexts = list(_contexts(trajectory.spans, trajectory.edits))
        found = []
        for row in rows_of(trajectory):
            for at in np.flatnonzero(row.loss_mask):
                found.append((row.ids[:at].tolist(), int(row.ids[at])))
            row.loss_mask *= row.logprobs != 0  # scripted tokens have no log-probability to compare
            drawn += int(row.weight)
            rows.append(row)
        assert found == contexts
    engine_tokens = sum(
        len(span.ids)
        for trajectory in trajectories
        for span in trajectory.spans
        if span.sample is not None and span.sample.policy_version != "script"
    )
    assert drawn == engine_tokens > 4_000

    train = PolicyModel(accelerate_cpu(model))
    off = []
    for indices in plan([row.length for row in rows], 8192, 1)[0]:
        micro = collate([rows[i] for i in indices])
        logprobs, _ = train(micro.ids_BN, micro.where_S, micro.targets_S, temperature)
        off.append(((logprobs.detach() - micro.sampler_S).exp() - 1).abs())
    ratios = torch.cat(off)
    assert ratios.mean() < 1e-5 and ratios.max() < 1e-3


def _contexts(spans, edits):  # type: ignore[no-untyped-def]
    """Each sampled token with the context it was sampled in, found by replaying the episode span by span."""
    visible: list[int] = []
    for index, span in enumerate(spans):
        for edit in edits:
            if edit.at == index:
                visible = [i for i in visible if i not in edit.removed]
        if span.kind == "sampled":
            context = [token for i in visible for token in spans[i].ids]
            for position, token in enumerate(span.ids):
                yield context + span.ids[:position], token
        visible.append(index)
