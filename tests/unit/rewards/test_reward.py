"""The reward against numbers worked by hand: every clamp, streak and turn boundary."""

from __future__ import annotations

import pytest

from context1.rewards.reward import beta_at, prune_penalty, reward
from context1.settings import Budget, RewardSettings

SETTINGS, BUDGET = RewardSettings(), Budget()
TINY = Budget(total=640, call=130, soft=320, hard=480, reserve=96, turns_soft=8, turns_max=12)

# The task has three facts: {a, a2}, {b}, {c}; c holds the truth. F at beta 2 is 5PR / (4P + R).
CASES = [
    ("all found, nothing else", {"final": "a b c"}, 0.7 + 0.3 + 1.0),
    ("equivalent chunks beside each other stay precise", {"final": "a a2 b c"}, 2.0),
    ("nothing found, nothing seen: no floor lifts 0", {}, 0.0),
    ("nothing found with penalties: still 0", {"calls": "p" * 8, "turns": 128}, 0.0),
    ("all seen, none answered", {"shown": "a b c"}, 0.3),
    ("one of three, pure: F = (5/3)/(13/3)", {"final": "a"}, 0.7 * 5 / 13 + 0.1),
    ("one of three, half junk: F = (5/6)/(7/3)", {"final": "a x"}, 0.7 * 5 / 14 + 0.1),
    ("junk alone: F is 0", {"final": "x y", "shown": "a"}, 0.1),
    ("the truth in junk: P 1/4, R 1/3, F = 5/16", {"final": "c x y z", "shown": "b"}, 0.7 * 5 / 16 + 0.2 + 1),
    ("three prunes in a row cost nothing", {"final": "a b c", "calls": "ppp"}, 2.0),
    ("the fourth costs 0.1", {"final": "a b c", "calls": "pppp"}, 1.9),
    ("eight reach the cap", {"final": "a b c", "calls": "p" * 8}, 1.5),
    ("twenty do not pass it", {"final": "a b c", "calls": "p" * 20}, 1.5),
    ("streaks of 4 and 5 add up: 0.1 + 0.2", {"final": "a b c", "calls": "ppppsppppp"}, 1.7),
    ("a search breaks a streak", {"final": "a b c", "calls": "pppsppp"}, 2.0),
    ("a turn does not: 5 in a row", {"final": "a b c", "calls": "ppp|p|p"}, 1.8),
    ("a refused search does not break one", {"final": "a b c", "calls": "ppprpp"}, 1.8),
    ("a prune in error does not extend one", {"final": "a b c", "calls": "pppeeee"}, 2.0),
    ("turn 64 is free", {"final": "a b c", "turns": 64}, 2.0),
    ("turn 65 costs 0.5/64", {"final": "a b c", "turns": 65}, 2.0 - 0.0078125),
    ("turn 96 costs half", {"final": "a b c", "turns": 96}, 1.75),
    ("turn 128 costs 0.5", {"final": "a b c", "turns": 128}, 1.5),
    ("both penalties add up", {"final": "a b c", "turns": 128, "calls": "p" * 9}, 1.0),
    ("a positive reward is not taken below epsilon", {"shown": "a", "turns": 128, "calls": "p" * 9}, 0.01),
    ("a penalty of just what was earned, 0.3, leaves epsilon", {"shown": "a b c", "calls": "p" * 6}, 0.01),
    ("turn limit", {"shown": "a b c", "end": "turn_limit", "turns": 128}, 0.0),
    ("context full", {"shown": "a b c", "end": "context_full"}, 0.0),
    ("three malformed turns", {"shown": "a b c", "end": "malformed"}, 0.0),
    ("malformed answer", {"shown": "a b c", "end": "malformed_answer"}, 0.0),
]


@pytest.mark.parametrize(("name", "episode", "expected"), CASES, ids=[case[0] for case in CASES])
def test_by_hand(make, name: str, episode: dict, expected: float) -> None:
    task = make.task("a a2", "b", "c")
    scored = reward(task, make.trajectory(**episode), 2.0, SETTINGS, BUDGET)
    assert scored.total == pytest.approx(expected, abs=1e-12)


def test_epsilon_does_not_lift_a_reward_below_it(make) -> None:
    """One of 60 facts seen: r_pre = 0.3/60 = 0.005, under epsilon; penalties leave it there."""
    task = make.task(*[f"f{i}" for i in range(60)])
    for calls in ("", "p" * 20):
        scored = reward(task, make.trajectory(shown="f0", calls=calls), 2.0, SETTINGS, BUDGET)
        assert scored.total == pytest.approx(0.005, abs=1e-12)


def test_beta_weighs_recall(make) -> None:
    """P 1/2, R 1/3 at beta 4: 17 (1/6) / (8 + 1/3) = 17/50."""
    task = make.task("a a2", "b", "c")
    scored = reward(task, make.trajectory(final="a x"), 4.0, SETTINGS, BUDGET)
    assert scored.total == pytest.approx(0.7 * 0.34 + 0.1, abs=1e-12)
    assert scored.terms["f_beta"] == pytest.approx(0.34, abs=1e-12)


def test_the_turn_penalty_runs_between_the_budgets_own_limits(make) -> None:
    task = make.task("a")
    totals = [
        reward(task, make.trajectory(final="a", turns=turns), 2.0, SETTINGS, TINY).total
        for turns in (8, 9, 10, 12)
    ]
    assert totals == pytest.approx([2.0, 1.875, 1.75, 1.5], abs=1e-12)


def test_prune_credit_is_off_by_default_and_weighed_when_on(make) -> None:
    """2 junk and 3 gold shown; x and a pruned: 1/2 - 1/3."""
    task = make.task("a a2", "b", "c")
    episode = make.trajectory(final="a b c", shown="x y", pruned=["x", "a"])
    assert reward(task, episode, 2.0, SETTINGS, BUDGET).total == pytest.approx(2.0)
    on = RewardSettings(prune_credit=0.5)
    assert reward(task, episode, 2.0, on, BUDGET).total == pytest.approx(2.0 + 0.5 / 6, abs=1e-12)
    nothing = make.trajectory(final="a b c", shown="x y")
    assert reward(task, nothing, 2.0, on, BUDGET).total == pytest.approx(2.0)
    broken = make.trajectory(shown="a x", pruned=["x"], end="turn_limit")
    assert reward(task, broken, 2.0, on, BUDGET).total == 0.0


def test_malformed_turns_cost_only_where_the_optional_penalty_is_on(make) -> None:
    """0.2 a turn, never below epsilon; evaluation's form leaves it out."""
    task, on = make.task("a"), RewardSettings(format_rate=0.2, prune_credit=0.5)
    totals = []
    for errors in (0, 1, 2, 20):
        episode = make.trajectory(final="a")
        episode.format_errors = errors
        totals.append(reward(task, episode, 2.0, on.model_copy(update={"prune_credit": 0.0}), BUDGET).total)
        assert reward(task, episode, 2.0, on.published(), BUDGET).total == pytest.approx(2.0)
    assert totals == pytest.approx([2.0, 1.8, 1.6, 0.01], abs=1e-12)
    assert on.published() == RewardSettings()


@pytest.mark.parametrize("end", ["infrastructure", "cancelled"])
def test_what_is_not_the_policys_fault_is_not_scored(make, end: str) -> None:
    with pytest.raises(ValueError, match="cannot be scored"):
        reward(make.task("a"), make.trajectory(final="a", end=end), 2.0, SETTINGS, BUDGET)


def test_terms_add_up(make) -> None:
    scored = reward(
        make.task("a", "b"), make.trajectory(final="b x", shown="a", calls="pppp"), 2.0, SETTINGS, BUDGET
    )
    terms = scored.terms
    before = 0.7 * terms["f_beta"] + 0.3 * terms["trajectory_recall"] + terms["answer_found"]
    assert terms["r_pre"] == pytest.approx(before)
    assert scored.total == pytest.approx(terms["r_pre"] - terms["p_prune"] - terms["p_turn"])
    assert terms["p_prune"] == pytest.approx(0.1)


def test_no_calls_no_penalty() -> None:
    assert prune_penalty([], SETTINGS) == 0.0


def test_beta_holds_then_falls_linearly_in_its_square() -> None:
    """Ten steps: four at 16, then 14, 12, ... to 4 at the last."""
    squares = [beta_at(step, 10) ** 2 for step in range(10)]
    assert squares == pytest.approx([16, 16, 16, 16, 14, 12, 10, 8, 6, 4])
    assert [beta_at(step, 5) ** 2 for step in range(5)] == pytest.approx([16, 16, 12, 8, 4])
    assert beta_at(0, 1) == 4.0
    assert beta_at(91, 230) == 4.0 and beta_at(92, 230) < 4.0 and beta_at(229, 230) == pytest.approx(2.0)
    assert beta_at(500, 230) == pytest.approx(2.0)
