"""The trainer on real ranks (gloo): two give the gradient of one; checkpoints repeat bit for bit."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from context1.training.launch import launch

pytestmark = pytest.mark.timeout(900)  # mostly the start of real processes, which a busy machine stretches
SCRIPT = Path(__file__).with_name("ranks_script.py")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one rank at ZeRO stage 0, and two at stages 0, 2 and 3, computed."""
    folder = tmp_path_factory.mktemp("ranks")
    results = {}
    for procs in (1, 2):
        out = folder / f"ranks-{procs}.pt"
        launch([sys.executable, str(SCRIPT), str(out)], procs)
        for stage, found in torch.load(out, weights_only=False).items():
            results[f"{procs}/{stage}"] = found
    return results


def relative(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    """|a - b| / |b| over all tensors."""
    assert a.keys() == b.keys()
    difference = sum(float((a[n].double() - b[n].double()).square().sum()) for n in a)
    return (difference / sum(float(b[n].double().square().sum()) for n in b)) ** 0.5


@pytest.mark.parametrize("case", ["many", "one"])
def test_two_ranks_give_the_gradient_of_one(found: dict[str, Any], case: str) -> None:
    """`one`: a single row, so that the other rank has none."""
    assert relative(found["2/0"][case], found["1/0"][case]) < 1e-6


def test_metrics_do_not_depend_on_ranks(found: dict[str, Any]) -> None:
    for ours, theirs in zip(found["2/0"]["metrics"], found["1/0"]["metrics"], strict=True):
        assert ours == pytest.approx(theirs, rel=2e-4)
        assert ours["trained_tokens"] == theirs["trained_tokens"]


def test_muon_shared_out_among_ranks_is_muon(found: dict[str, Any]) -> None:
    for run in ("1/0", "2/0"):
        for shared, alone in zip(*found[run]["muon"], strict=True):
            assert torch.equal(shared, alone)


@pytest.mark.parametrize("run", ["2/2", "2/3"])
def test_zero_stages_take_the_same_steps(found: dict[str, Any], run: str) -> None:
    assert relative(found[run]["weights"], found["2/0"]["weights"]) < 1e-5
    for ours, theirs in zip(found[run]["metrics"], found["2/0"]["metrics"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-3)  # gradient norms included


@pytest.mark.parametrize("run", ["1/0", "2/0", "2/2", "2/3"])
def test_checkpoint_continues_bit_for_bit(found: dict[str, Any], run: str) -> None:
    result = found[run]
    assert result["loaded"] == (2, {"note": "kept"})
    assert result["folders"] == ["latest", "step-000002"]
    for name, weight in result["weights"].items():
        assert torch.equal(weight, result["resumed"][name]), name


def test_rows_without_loss_take_no_step(found: dict[str, Any]) -> None:
    assert found["2/0"]["nothing"] == {}


def test_zero_stage_3_leaves_nothing_whole(found: dict[str, Any]) -> None:
    assert found["2/3"]["held"] == 0 < found["2/2"]["held"]


@pytest.mark.parametrize("run", ["1/2", "2/3"])
def test_adapters_alone_are_trained_and_resumed(found: dict[str, Any], run: str) -> None:
    lora = found[run]["lora"]
    for name, before in lora["before"].items():
        assert torch.equal(lora["after"][name], before) == ("lora" not in name), name
        assert torch.equal(lora["after"][name], lora["resumed"][name]), name
    assert all(metrics["grad_norm"] > 0 for metrics in lora["metrics"])
