"""Many episodes side by side: order, waves, seats, and outages that stay where they hit."""

from __future__ import annotations

import asyncio
import random

import pytest

from context1.harness.rollouts import Job, fuse, run_rollouts
from context1.policy.policy import EpisodeKey
from context1.schema import Fact, Quote, Task

QUOTE = Quote(text="", start=0, end=0)


def make_task(number: int) -> Task:
    fact = Fact(chunk_ids=["ba00du"], quote=QUOTE, clue_quote=QUOTE, contains_truth=True)
    return Task(
        id=f"task{number}",
        domain="web",
        hops=1,
        clues=["?"],
        question=f"which number is {number}?",
        truth="x",
        truth_type="name",
        facts=[fact],
    )


def make_jobs(backend, tasks: int, rollouts: int) -> list[Job]:
    return [
        Job(EpisodeKey(0, 3, f"task{t}", r), make_task(t), backend)
        for t in range(tasks)
        for r in range(rollouts)
    ]


def script(player):
    def play(view) -> list[int]:
        return player.search("in order") if view.turn < 2 else player.answer(*view.shown[:2])

    return play


def run(player, jobs, policy, **options):
    return asyncio.run(run_rollouts(jobs, policy, player.profile(), player.tokenizer, **options))


def test_trajectories_come_in_the_order_of_jobs_whoever_finished_first(player) -> None:
    delays = random.Random(1)
    backend = player.backend_type(player.make_chunks(40), delay=lambda n: delays.randint(0, 9))
    done = []
    jobs = make_jobs(backend, 4, 3)
    policy = player.policy_type(script(player))
    trajectories = run(player, jobs, policy, on_done=done.append)
    assert [(t.task_id, t.rollout) for t in trajectories] == [(j.key.task_id, j.key.rollout) for j in jobs]
    assert sorted(t.id for t in done) == sorted(t.id for t in trajectories)
    assert len({t.id for t in trajectories}) == 12
    assert {t.question for t in trajectories} == {f"which number is {n}?" for n in range(4)}
    assert all(t.end == "answer" and t.domain == "web" for t in trajectories)
    assert policy.opened == policy.closed == 12


def test_every_seat_of_a_wave_is_taken_before_one_infers(player) -> None:
    policy = player.policy_type([])
    opened_at_infer: list[int] = []

    def note(view) -> list[int]:
        opened_at_infer.append(policy.opened)
        return player.answer("x")

    policy.script = note
    backend = player.backend_type(player.make_chunks(4))
    run(player, make_jobs(backend, 5, 2), policy, wave=4)
    assert opened_at_infer == [4] * 4 + [8] * 4 + [10] * 2


def test_waves_bound_how_many_live_at_once_and_change_no_outcome(player) -> None:
    def play(wave: int | None):
        backend = player.backend_type(player.make_chunks(40), delay=lambda n: 3)
        policy = player.policy_type(script(player))
        trajectories = run(player, make_jobs(backend, 3, 3), policy, wave=wave)
        return backend.most_live, [player.plain(t) for t in trajectories]

    all_at_once, two = play(None), play(2)
    assert (all_at_once[0], two[0]) == (9, 2)
    assert all_at_once[1] == two[1]


def test_an_outage_hits_only_the_rollouts_that_met_it(player) -> None:
    def half_down(view) -> list[int]:
        hit = "which number is 1?" in player.text(view.ids)
        return player.search("down" if hit else "in order") if view.turn == 0 else player.answer("ba00du")

    backend = player.backend_type(player.make_chunks(8))
    policy = player.policy_type(half_down)
    trajectories = run(player, make_jobs(backend, 3, 2), policy)
    assert [t.end for t in trajectories] == ["answer"] * 2 + ["infrastructure"] * 2 + ["answer"] * 2
    assert policy.opened == policy.closed


def test_cancelling_the_rollouts_gives_all_seats_back(player) -> None:
    backend = player.backend_type(player.make_chunks(8), delay=lambda n: 10**9)
    policy = player.policy_type(script(player))

    async def leave() -> None:
        rollouts = run_rollouts(make_jobs(backend, 2, 2), policy, player.profile(), player.tokenizer)
        running = asyncio.create_task(rollouts)
        while backend.live < 4:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(leave())
    assert policy.opened == policy.closed == 4


def test_no_jobs_no_trajectories_and_fusing_is_at_hand(player) -> None:
    assert run(player, [], player.policy_type([])) == []
    assert fuse([]) == []
