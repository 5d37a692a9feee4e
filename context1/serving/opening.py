"""Opens the model, the index and the harness that a server runs with."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from context1.errors import InputError
from context1.harness.profile import HarnessProfile, make_profile
from context1.policy.policy import PolicyUnavailable
from context1.search.opening import open_backend
from context1.serving.engine import Engine, Ids, Served, check_pins
from context1.settings import Settings
from context1.tokens.tokenizer import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from context1.policy.local import LocalPolicy
    from context1.policy.vllm import VllmPolicy

THREADS = 2
"""Of the embedded search: it must not hold up the event loop."""


class LocalEngine:
    """A model in this process."""

    kind: Literal["local"] = "local"

    def __init__(self, policy: LocalPolicy) -> None:
        self.policy = policy

    async def start(self) -> None:
        pass

    async def health(self) -> str:
        return ""

    def counters(self) -> dict[str, int]:
        return {}

    async def close(self) -> None:
        self.policy.shutdown()


class VllmEngine:
    """A vLLM server."""

    kind: Literal["vllm"] = "vllm"

    def __init__(self, policy: VllmPolicy) -> None:
        self.policy = policy

    async def start(self) -> None:
        with suppress(PolicyUnavailable):  # not up yet: `health` says so, and checks it once it is
            await self.policy.start()

    async def health(self) -> str:
        return await self.policy.health()

    def counters(self) -> dict[str, int]:
        counters = self.policy.counters
        return {
            "engine_requests": counters.requests,
            "engine_retries": counters.retries.total(),
            "engine_failures": counters.failures.total(),
            "prompt_tokens": counters.prompt_tokens,
            "cached_prompt_tokens": counters.cached_prompt_tokens,
        }

    async def close(self) -> None:
        await self.policy.close()


def open_served(settings: Settings, model: Path | None, index: Path | None) -> Served:
    """Opens everything. `model`: a trained model's folder, None with `vllm.url`; `index`: see `open_backend`.

    Raises `InputError` for what does not fit together, a release's pins included.
    """
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    profile = make_profile(settings.profile, tokenizer)
    engine, model_id = _engine(settings, model, tokenizer, profile)
    backend = open_backend(settings, index, threads=THREADS)
    ids = Ids(model_id, tokenizer.id, profile.hash, backend.index_id)
    check_pins(ids, settings.serve.pins)
    return Served(engine, backend, profile, tokenizer, ids)


def _engine(
    settings: Settings, model: Path | None, tokenizer: Tokenizer, profile: HarnessProfile
) -> tuple[Engine, str]:
    if settings.vllm.url:
        from context1.policy.vllm import VllmPolicy

        policy = VllmPolicy(settings.vllm, tokenizer, profile.budget.total, settings.serve.temperature)
        return VllmEngine(policy), settings.vllm.model
    if model is None:
        raise InputError("no model: name a trained model's folder (--model), or a server (vllm.url)")
    from context1.manifest import digest
    from context1.models.load import load_model
    from context1.policy.local import LocalPolicy
    from context1.training.stages import model_of

    loaded = load_model(model_of(model), settings.model, tokenizer, profile_hash=profile.hash)
    local = LocalPolicy(loaded, tokenizer, settings.serve.temperature, name="local", lockstep=False)
    return LocalEngine(local), f"{model.resolve().parent.name}-{digest(model_of(model))[:12]}"
