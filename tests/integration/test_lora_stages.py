"""LoRA through the real stages, on a gpt-oss: adapters alone learn, and RL goes on from those of SFT."""

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from context1.commands.stages import index, ingest
from context1.errors import InputError
from context1.harness.profile import make_profile
from context1.models.card import save_model
from context1.models.load import load_model
from context1.models.lora import PROJECTIONS
from context1.models.tiny import tiny_gpt_oss
from context1.settings import Settings
from context1.tasks.generate import generate
from context1.tokens.tokenizer import load_tokenizer
from context1.training import distributed, finish, rl, scoring, sft, stages, worker
from context1.training.job import Job

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

TINY = {
    "model.lora_rank": 4,
    "train.procs": 1,
    "train.zero_stage": 2,
    "sft.optimizer": "adamw",
    "sft.tasks": 8,
    "sft.steps": 2,
    "sft.lr": 0.01,
    "rl.steps": 1,
    "rl.queries": 2,
    "rl.lr": 0.01,
}
TOKENIZER = load_tokenizer("tiny")
IDS = torch.arange(50)[None]


def run_here(job: Job) -> None:
    """Stands in for the launch of one rank: the same worker, where the test can look into it."""
    path = job.output / "job.json"
    path.write_text(job.model_dump_json())
    assert worker.main([str(path)]) == 0


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Those of a run whose folder holds what the stages read, and an untrained base."""
    root = tmp_path_factory.mktemp("lora")
    own = {"runs": str(root), "model.path": str(root / "base")}
    settings = Settings.load(profile="smoke", overrides={**TINY, **own})
    ingest(settings, "", root / "ingest")
    index(settings, root / "ingest", root / "index")
    generate(settings, "", root / "ingest", root / "index", root / "generate")
    profile = make_profile(settings.profile, TOKENIZER)
    save_model(tiny_gpt_oss(TOKENIZER.vocab_size, hidden=32), root / "base", profile.hash, TOKENIZER.id)
    return settings


@pytest.fixture(scope="module")
def seen(settings: Settings) -> Iterator[dict[str, dict[str, Tensor]]]:
    """The weights in memory before and after SFT from the base, and RL from SFT's output."""
    found: dict[str, dict[str, Tensor]] = {}

    def looking(name: str, function: Any, place: int | None) -> Any:
        """The function, but the weights of its argument at `place`, or of what it returns, are noted."""

        def wrapper(*args: Any) -> Any:
            result = function(*args)
            model = result if place is None else args[place]
            found[name] = {key: value.clone() for key, value in model.state_dict().items()}
            return result

        return wrapper

    root = settings.runs
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RANK", "WORLD_SIZE", "MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID"):
            patch.delenv(name, raising=False)
        patch.setenv("LOCAL_RANK", "0")
        patch.setattr(stages, "run_job", run_here)
        patch.setattr(distributed, "stop", lambda: None)  # DeepSpeed holds on to a process's first group
        made_up = runpy.run_path(str(Path(__file__).with_name("kill_rank.py")))["made_up_reward"]
        patch.setattr(scoring, "reward", made_up)  # an untrained model earns nothing
        for module in (sft, rl):
            stage = module.__name__.rpartition(".")[2]
            patch.setattr(module, "open_model", looking(f"{stage} opened", finish.open_model, None))
            patch.setattr(module, "finish", looking(f"{stage} ended", finish.finish, 1))
        stages.sft(settings, root / "index", root / "generate", root / "sft")
        stages.rl(settings, root / "index", root / "generate", root / "sft", root / "rl")
        yield found


def adapters(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: weight for name, weight in weights.items() if "lora_" in name}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    assert one.keys() == other.keys()
    return all(torch.equal(weight, other[name]) for name, weight in one.items())


def test_adapters_alone_change(settings: Settings, seen: dict[str, dict[str, Tensor]]) -> None:
    base = load_file(settings.runs / "base" / "model.safetensors")
    for stage in ("sft", "rl"):
        before, after = seen[f"{stage} opened"], seen[f"{stage} ended"]
        for name, weight in adapters(after).items():
            assert "self_attn" in name and not torch.equal(weight, before[name]), name
        frozen = {
            name.removeprefix("base_model.model.").replace(".base_layer", ""): weight
            for name, weight in after.items()
            if "lora_" not in name
        }
        assert same(frozen, base)


def test_the_next_stage_continues_from_the_adapter(seen: dict[str, dict[str, Tensor]]) -> None:
    assert same(seen["sft ended"], seen["rl opened"])
    assert not same(seen["sft ended"], seen["rl ended"])


@pytest.mark.parametrize("stage", ["sft", "rl"])
def test_the_saved_model_opens_with_its_adapter(
    settings: Settings, seen: dict[str, dict[str, Tensor]], stage: str
) -> None:
    folder = settings.runs / stage / "model"
    assert not list(folder.glob("model*.safetensors")), "the base is not saved again"
    config = json.loads((folder / "adapter_config.json").read_text())
    assert set(config["target_modules"]) == set(PROJECTIONS)
    profile = make_profile(settings.profile, TOKENIZER)
    opened = load_model(folder, settings.model, TOKENIZER, profile_hash=profile.hash)
    assert same(opened.state_dict(), seen[f"{stage} ended"])
    base = load_model(settings.model.path, settings.model, TOKENIZER)
    with torch.no_grad():
        assert not torch.allclose(opened(IDS).logits, base(IDS).logits, atol=1e-3)
        with opened.disable_adapter():  # type: ignore[operator]
            assert torch.equal(opened(IDS).logits, base(IDS).logits)


def test_adapters_want_a_base_that_is_saved(tmp_path: Path) -> None:
    settings = Settings.load(profile="smoke", overrides={"model.lora_rank": 4})
    job = Job(stage="sft", settings=settings, inputs={}, output=tmp_path)
    with pytest.raises(InputError, match=r"model\.lora_rank=4: .* no folder"):
        finish.open_model(job, "tiny", TOKENIZER, make_profile(settings.profile, TOKENIZER))
