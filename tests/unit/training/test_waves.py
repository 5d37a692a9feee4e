"""Waves: whole groups, even, the same whoever asks; finished ones are read back, not played again."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context1.schema import EndReason, Task, Trajectory
from context1.stage import read_jsonl
from context1.training import waves
from context1.training.mirror import Mirror
from context1.training.waves import WAVES, Player, Wave, deal_waves


@given(st.integers(1, 50), st.integers(2, 8), st.integers(1, 128), st.integers(1, 4))
def test_deal(groups: int, rollouts: int, wave: int, world: int) -> None:
    dealt = deal_waves(groups, rollouts, wave, world)
    assert [group for one in dealt for group in one.groups] == list(range(groups))
    sizes = [len(one.groups) for one in dealt]
    assert min(sizes) >= 1 and max(sizes) - min(sizes) <= 1
    assert max(sizes) * rollouts <= max(wave, rollouts)
    per_rank = [sum(one.rank == rank for one in dealt) for rank in range(world)]
    assert max(per_rank) - min(per_rank) <= 1


def test_demo_uses_both_processes() -> None:
    dealt = deal_waves(groups=10, rollouts=8, wave=128, world=2)
    assert [(one.rank, one.groups) for one in dealt] == [(0, [0, 1, 2, 3, 4]), (1, [5, 6, 7, 8, 9])]


def trajectory(name: str, end: EndReason) -> Trajectory:
    return Trajectory(
        id=name,
        task_id="t",
        domain="web",
        question="?",
        policy="p",
        profile_hash="h",
        tokenizer="t",
        end=end,
        seconds={"policy": 0.1 + 0.2},
    )


@pytest.fixture
def player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Player:
    """A player whose episodes are made up; the second of each wave is hit by an outage."""

    async def run(jobs: list[Any], *_: Any, on_done: Any) -> list[Trajectory]:
        ends: list[EndReason] = ["answer", "infrastructure"]
        made = [
            trajectory(f"{j.task.id}/{j.key.step}/{j.key.rollout}", ends[i == 1]) for i, j in enumerate(jobs)
        ]
        for one in made:
            on_done(one)
        return made

    class Model:
        def eval(self) -> None: ...

    monkeypatch.setattr(waves, "run_rollouts", run)
    monkeypatch.setattr(waves, "LocalPolicy", lambda *_, **__: None)
    nothing: Any = None
    return Player(Model(), nothing, nothing, nothing, 1.0, 2, 0, Mirror(tmp_path))  # type: ignore[arg-type]


def tasks(count: int) -> list[Task]:
    return [
        Task(id=f"t{i}", domain="web", hops=1, clues=[], question="?", truth="", truth_type="", facts=[])
        for i in range(count)
    ]


def test_finished_waves_are_replayed_exactly(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    wave = Wave(number=1, rank=0, groups=[1, 2])
    seen: list[str] = []
    first = player.play(3, tasks(3), wave, lambda t: seen.append(t.id))
    assert [t.id for t in first] == ["t1/3/0", "t1/3/1", "t2/3/0", "t2/3/1"] == seen
    monkeypatch.setattr(waves, "run_rollouts", None)  # would fail if played again
    assert player.play(3, tasks(3), wave, lambda t: seen.append(t.id)) == first
    assert len(seen) == 8


def test_forgetting(player: Player) -> None:
    for step in (3, 4):
        player.play(step, tasks(1), Wave(0, 0, [0]), lambda _: None)
    player.forget(before=4)
    assert [path.name for path in (player.mirror.folder / WAVES).iterdir()] == ["step-000004"]
    path = (player.mirror.folder / WAVES) / "step-000004" / "wave-0000.jsonl.gz"
    assert len(list(read_jsonl(path, Trajectory))) == 2
    player.forget_lost(4)  # the outage's wave is played again after a restart
    assert not path.exists()
