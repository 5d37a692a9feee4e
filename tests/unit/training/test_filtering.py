"""Which teacher trajectories are kept: each rule on its own, and the draws over many."""

import pytest

from context1.errors import InputError
from context1.schema import EndReason, Fact, Quote, Task, Trajectory
from context1.settings import SftSettings
from context1.training.filtering import keep

NOWHERE = Quote(text="", start=0, end=0)


def task(facts: int = 4) -> Task:
    return Task(
        id="task",
        domain="web",
        hops=facts,
        clues=[],
        question="?",
        truth="x",
        truth_type="name",
        facts=[
            Fact(chunk_ids=[f"c{i}"], quote=NOWHERE, clue_quote=NOWHERE, contains_truth=False)
            for i in range(facts)
        ],
    )


def episode(
    name: str, shown: int, final: int, question: str = "", end: EndReason = "answer", errors: int = 0
) -> Trajectory:
    """Met the first `shown` facts and answered with the first `final` ones."""
    return Trajectory(
        id=name,
        task_id="task",
        domain="web",
        question=question or name,
        policy="teacher",
        profile_hash="h",
        tokenizer="t",
        shown=[f"c{i}" for i in range(shown)],
        final=[f"c{i}" for i in range(final)],
        end=end,
        format_errors=errors,
    )


def kept(episodes: list[Trajectory], **settings: float) -> tuple[list[str], dict[str, int]]:
    result = keep(episodes, {"task": task()}, SftSettings(**settings))  # type: ignore[arg-type]
    return [trajectory.id for trajectory in result.trajectories], result.dropped


def test_malformed_and_unscored_are_dropped() -> None:
    episodes = [
        episode("good", 4, 4),
        episode("slip", 4, 4, errors=1),
        episode("limit", 4, 0, end="turn_limit"),
        episode("outage", 4, 4, end="infrastructure"),
    ]
    assert kept(episodes) == (["good"], {"malformed": 2, "unscored": 1})


def test_explored_well_and_concluded_badly() -> None:
    # recalls .75 and .25 (under half), 1 and .5 (exactly half)
    assert kept([episode("bad", 3, 1), episode("half", 4, 2)]) == (["half"], {"concluded badly": 1})


def test_one_high_recall_rollout_a_query_the_best() -> None:
    episodes = [episode("a", 3, 2, "q"), episode("b", 4, 4, "q"), episode("c", 4, 3, "q"), episode("d", 4, 4)]
    assert kept(episodes) == (["b", "d"], {"another of the query is better": 2})


def test_draw_follows_the_product_of_recalls() -> None:
    # trajectory recall .25 and output recall .25: min(1, .5) * min(1, .625) = .3125
    names, dropped = kept([episode(f"e{i}", 1, 1) for i in range(2000)])
    assert len(names) == pytest.approx(625, abs=65)
    assert dropped == {"lost the draw": 2000 - len(names)}
    again, _ = kept([episode(f"e{i}", 1, 1) for i in reversed(range(2000))])
    assert sorted(again) == sorted(names)  # the draw does not depend on the others


def test_zero_recall_up_to_its_share_once_a_query() -> None:
    episodes = [episode(f"good{i}", 4, 4) for i in range(95)]
    episodes += [episode(f"zero{i}", 0, 0, f"q{i // 2}") for i in range(40)]
    names, dropped = kept(episodes)
    zeros = [name for name in names if name.startswith("zero")]
    assert len(zeros) <= 5 and len(zeros) >= 4
    assert dropped == {"zero recall, same query": 20, "zero recall, over the share": 20 - len(zeros)}


def test_unknown_task() -> None:
    with pytest.raises(InputError, match=r"trajectory lost: its task task is not"):
        keep([episode("lost", 1, 1)], {}, SftSettings())
