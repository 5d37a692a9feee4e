"""SFT's order of rows: every row once an epoch, batches of about the asked size, no state but the step."""

from collections import Counter

import numpy as np

from context1.training.phases import Phase, batches, steps_for
from context1.training.rows import Row
from context1.training.schedule import rate_at


def rows(count: int, low: int, high: int) -> list[Row]:
    rng = np.random.default_rng(0)
    return [Row(np.full(n, i), np.ones(n)) for i, n in enumerate(rng.integers(low, high, count))]


def test_each_epoch_holds_each_row_once() -> None:
    pool = rows(200, 5, 50)
    total = sum(row.length for row in pool)
    steps = steps_for(pool, 200, epochs=2)
    assert steps == round(2 * total / 200)
    drawn = list(batches([Phase("a", pool, steps)], 200, seed=0))
    seen = Counter(int(row.ids[0]) for _, batch in drawn for row in batch)
    assert len(seen) == 200 and set(seen.values()) <= {1, 2, 3}
    sizes = [sum(row.length for row in batch) for _, batch in drawn]
    assert 150 < np.mean(sizes) < 250
    widths = [(min(r.length for r in b), max(r.length for r in b)) for _, b in drawn]
    assert np.mean([high - low for low, high in widths]) < 10  # sorted together


def test_phases_follow_each_other_and_repeat_by_seed() -> None:
    phases = [Phase("a", rows(20, 5, 9), 3), Phase("b", rows(20, 5, 9), 2)]
    once = [(name, [int(r.ids[0]) for r in batch]) for name, batch in batches(phases, 30, seed=4)]
    again = [(name, [int(r.ids[0]) for r in batch]) for name, batch in batches(phases, 30, seed=4)]
    assert once == again
    assert [name for name, _ in once] == ["a", "a", "a", "b", "b"]


def test_rate_rises_holds_and_falls() -> None:
    rates = [rate_at(step, 100, 0.1, 0.5) for step in range(100)]
    assert rates[0] == 0.1 and rates[9] == 1.0 and rates[50] == 1.0
    assert rates[75] == 0.52 and 0.02 < rates[99] < 0.05
    assert rate_at(99, 100, 0.0, 0.0) == 1.0
