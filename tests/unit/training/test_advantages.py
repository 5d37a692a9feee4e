"""Advantages worked by hand, the group filter and the rules for lost rollouts."""

import pytest

from context1.training.advantages import TooManyLost, group_advantages


def test_population_std() -> None:
    # mean 1, population std sqrt((1+1+0+0)/4) = sqrt(.5)
    given = group_advantages([[0.0, 2.0, 1.0, 1.0]])
    assert given.advantages[0] == pytest.approx([-(2**0.5), 2**0.5, 0, 0])


def test_floor_keeps_small_differences_small() -> None:
    # std .01 is below the floor .1
    given = group_advantages([[0.49, 0.51, 0.49, 0.51]])
    assert given.advantages[0] == pytest.approx([-0.1, 0.1, -0.1, 0.1])


def test_flat_groups_are_dropped_at_the_threshold() -> None:
    given = group_advantages([[0.5, 0.5 + 9e-7, 0.5, 0.5], [0.5, 0.5 + 2e-6, 0.5, 0.5]])
    assert given.advantages[0] == [None] * 4
    assert given.advantages[1][1] is not None
    assert (given.flat, given.broken, given.lost) == (1, 0, 0)


def test_unscored_rollouts_leave_their_group() -> None:
    given = group_advantages([[0.0, None, 1.0, 1.0, 0.0]], lost_max=0.2)
    assert given.advantages[0] == pytest.approx([-1, None, 1, 1, -1])
    assert given.lost == 1


def test_group_with_three_survivors_is_dropped_and_counted() -> None:
    given = group_advantages([[0.0, None, 1.0, 1.0]] + [[0.0, 1.0] * 10] * 4, lost_max=0.05)
    assert given.advantages[0] == [None] * 4
    assert (given.broken, given.lost) == (1, 4)


def test_small_groups_need_all_their_rollouts() -> None:
    assert group_advantages([[0.0, 1.0]]).broken == 0
    assert group_advantages([[0.0, None]], lost_max=1.0).broken == 1


def test_too_many_lost_fails_loudly() -> None:
    rewards = [[0.0, 1.0] * 10, [0.0, 1.0] * 9 + [None, None]]
    assert group_advantages(rewards).lost == 2  # exactly 5 percent
    rewards[1][0] = None
    with pytest.raises(TooManyLost, match="3 of 40 rollouts"):
        group_advantages(rewards)
