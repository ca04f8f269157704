"""The stopwatches of ``make bench``: steps that exist, and times that are each step's own."""

from types import SimpleNamespace

import pytest

from benchmarks import stopwatch
from benchmarks.bars.profile import STEPS
from benchmarks.stopwatch import Step, timing


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.owner.__name__}.{step.attribute}")
def test_every_step_of_the_profile_is_there_to_be_timed(step: Step) -> None:
    assert callable(getattr(step.owner, step.attribute))


@pytest.fixture
def clock_ns(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands still but for what the test lets pass, so that stopwatches cost nothing."""
    clock = SimpleNamespace(now=0)
    monkeypatch.setattr(stopwatch.time, "perf_counter_ns", lambda: clock.now)
    return clock


def test_a_step_is_timed_without_the_steps_inside_it(clock_ns: SimpleNamespace) -> None:
    def inner() -> None:
        clock_ns.now += 3000

    def outer() -> str:
        clock_ns.now += 1000
        steps.inner()
        steps.inner()
        clock_ns.now += 1000
        return "told"

    steps = SimpleNamespace(inner=inner, outer=outer)
    with timing([Step("outside", steps, "outer"), Step("inside", steps, "inner")]) as watches:
        assert steps.outer() == "told"
        assert steps.outer() == "told"
        assert watches.take_us(2) == {"outside": 2.0, "inside": 6.0}
        assert watches.take_us(2) == {"outside": 0.0, "inside": 0.0}
    assert (steps.inner, steps.outer) == (inner, outer)


def test_functions_of_one_name_are_one_step_and_an_error_stops_the_watch(clock_ns: SimpleNamespace) -> None:
    def fail() -> None:
        clock_ns.now += 5000
        raise KeyError("five")

    def rest() -> None:
        clock_ns.now += 2000

    steps = SimpleNamespace(fail=fail, rest=rest)
    with timing([Step("both", steps, "fail"), Step("both", steps, "rest")]) as watches:
        with pytest.raises(KeyError, match="five"):
            steps.fail()
        steps.rest()
        assert watches.take_us(1) == {"both": 7.0}
