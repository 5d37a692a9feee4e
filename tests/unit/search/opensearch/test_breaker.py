from context1.search.opensearch.breaker import Breaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_after_failures_in_a_row_and_lets_one_call_try() -> None:
    clock = Clock()
    breaker = Breaker(3, 10, clock)
    for _ in range(2):
        assert breaker.admits()
        breaker.failed()
    breaker.succeeded()
    for _ in range(3):
        assert breaker.admits() and not breaker.is_open
        breaker.failed()
    assert breaker.is_open and not breaker.admits()
    clock.now = 10
    assert breaker.admits() and not breaker.admits(), "one call tries, the others are refused meanwhile"
    breaker.failed()
    assert not breaker.admits()
    clock.now = 19.9
    assert not breaker.admits()
    clock.now = 20
    assert breaker.admits()
    breaker.succeeded()
    assert not breaker.is_open and breaker.admits() and breaker.admits()


def test_a_cancelled_trial_makes_room_for_another() -> None:
    clock = Clock()
    breaker = Breaker(1, 10, clock)
    breaker.failed()
    clock.now = 11
    assert breaker.admits()
    breaker.abandoned()
    assert breaker.is_open and breaker.admits() and not breaker.admits()


def test_a_late_success_closes_it() -> None:
    breaker = Breaker(1, 10, Clock())
    breaker.failed()
    breaker.succeeded()
    assert breaker.admits()
