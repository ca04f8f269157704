"""Fixed windows that begin with the clock, where the clock itself is moved: summer time, half hours, midnights that are not."""

import random
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from ratewindow.limiter import Limiter, MemoryStore, Window
from ratewindow.limiter.algorithms.fixed_window import ALIGNMENTS_MS
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.types import Check
from tests.support.clock import Clock
from tests.support.histories import as_limit
from tests.support.oracle import Oracle, Question
from tests.support.trial import numbers

HOUR_MS = ALIGNMENTS_MS["hour"]

# Zone, and days on which its clock was moved.
CHANGES = [
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("America/New_York", "2026-11-01"),
    ("America/Havana", "2026-11-01"),  # midnight comes twice
    ("Africa/Cairo", "2026-04-24"),  # midnight does not come
    ("Africa/Cairo", "2026-10-30"),
    ("Australia/Lord_Howe", "2026-04-05"),  # by half an hour
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Asia/Kolkata", "2026-01-01"),  # never
]


def milliseconds(text: str, zone: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def aligned(to: str, zone: str, limit: int = 3) -> Window:
    return Window(limit, ALIGNMENTS_MS[to], "fixed_window", aligned_to=to, timezone=zone)


@pytest.mark.long
@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("aligned_to", ["day", "week", "hour"])
@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_the_oracle_agrees_on_every_number_around_a_change(store: Store, zone: str, day: str, aligned_to: str) -> None:
    dice, oracle, window = random.Random(23), Oracle(), aligned(aligned_to, zone)
    check = Check("rule", (window,), ("key",))
    now_ms = milliseconds(day, zone) - ALIGNMENTS_MS[aligned_to] - 7 * HOUR_MS
    stride_ms = max(4 * HOUR_MS, ALIGNMENTS_MS[aligned_to] // 6)  # so that the steps lead past the change
    for _ in range(60):
        now_ms += dice.choice([0, 1, 60_000, HOUR_MS, dice.randrange(stride_ms), dice.randrange(stride_ms)])
        expected = oracle.run([Question({"key": as_limit(window)}, 1)], "hit", now_ms)
        assert numbers(store.run([check], "hit", now_ms)) == expected, datetime.fromtimestamp(now_ms / 1000, ZoneInfo(zone))
    assert now_ms > milliseconds(day, zone) + 4 * HOUR_MS


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [("Europe/Berlin", "2026-03-29", 23), ("Europe/Berlin", "2026-10-25", 25), ("Europe/Berlin", "2026-06-01", 24)],
)
def test_a_day_is_from_midnight_to_midnight_however_long_it_is(store: Store, zone: str, day: str, hours: int) -> None:
    start_ms = milliseconds(day, zone)
    clock, window = Clock(start_ms), [aligned("day", zone)]
    limiter = Limiter(store, clock_ms=clock)
    assert [limiter.hit("user:42", window).allowed for _ in range(4)] == [True, True, True, False]
    assert limiter.peek("user:42", window).retry_after == hours * 3600
    clock.now_ms = start_ms + hours * HOUR_MS - 1
    assert not limiter.peek("user:42", window)
    clock.now_ms += 1
    assert limiter.hit("user:42", window).remaining == 2


def test_the_hour_that_comes_twice_is_two_windows(store: Store) -> None:
    clock, window = Clock(milliseconds("2026-10-25T02:59", "Europe/Berlin")), [aligned("hour", "Europe/Berlin")]
    limiter = Limiter(store, clock_ms=clock)
    assert [limiter.hit("user:42", window).allowed for _ in range(4)] == [True, True, True, False]
    clock.now_ms += 60_000
    assert datetime.fromtimestamp(clock.now_ms / 1000, ZoneInfo("Europe/Berlin")).hour == 2
    assert limiter.hit("user:42", window)


@pytest.fixture
def process_ahead_ms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The process, whose clock gives the edges, is so many milliseconds ahead of the server, whose clock decides."""
    ahead_ms, arguments = int(request.param), Window.arguments
    monkeypatch.setattr(Window, "arguments", lambda window, now_ms: arguments(window, max(0, now_ms + ahead_ms)))
    return ahead_ms


PERIODS_AHEAD = [-1000, -4, -3.5, -3, -2, -1, 1, 2, 3, 3.5, 4, 1000]


@pytest.mark.long
@pytest.mark.usefixtures("never_expiring", "process_ahead_ms")
@pytest.mark.parametrize(
    ("aligned_to", "process_ahead_ms"),
    [(to, periods * ALIGNMENTS_MS[to]) for to in ALIGNMENTS_MS for periods in PERIODS_AHEAD],
    indirect=["process_ahead_ms"],
)
def test_windows_are_those_of_the_servers_clock_however_far_that_of_the_process_is(store: Store, aligned_to: str) -> None:
    dice, oracle, window = random.Random(29), Oracle(), aligned(aligned_to, "UTC")
    check, now_ms = Check("rule", (window,), ("key",)), 1_780_000_000_123
    for _ in range(15):
        now_ms += dice.choice([0, 1, ALIGNMENTS_MS[aligned_to] // 5, dice.randrange(ALIGNMENTS_MS[aligned_to])])
        assert numbers(store.run([check], "hit", now_ms)) == oracle.run([Question({"key": as_limit(window)}, 1)], "hit", now_ms)


@pytest.mark.parametrize("process_ahead_ms", [days * 24 * HOUR_MS for days in (-200, -9, -4, 4, 9, 200)], indirect=True)
def test_with_days_that_differ_in_length_between_the_clocks_each_window_has_its_limit(
    store: Store, process_ahead_ms: int
) -> None:
    """They may begin at another hour than midnight; nothing fails, and nothing is without a limit."""
    clock, window = Clock(milliseconds("2026-10-20", "Europe/Berlin")), [aligned("day", "Europe/Berlin")]
    limiter, ends = Limiter(store, clock_ms=clock), set()
    for _ in range(10 * 24):
        decision = limiter.hit("user:42", window)
        ends.add(clock.now_ms + round((decision.reset_after or 0) * 1000))
        clock.now_ms += HOUR_MS
    assert 10 <= len(ends) <= 12
    assert all(end_ms % (24 * HOUR_MS) in (22 * HOUR_MS, 23 * HOUR_MS) for end_ms in ends)


def test_a_week_begins_on_monday_of_its_zone() -> None:
    clock, window = Clock(milliseconds("2026-11-15T23:59:59", "Asia/Tokyo")), [aligned("week", "Asia/Tokyo", 1)]
    limiter = Limiter(MemoryStore(), clock_ms=clock)
    assert [limiter.hit("user:42", window).allowed for _ in range(2)] == [True, False]
    clock.now_ms += 1000
    assert limiter.hit("user:42", window)
    clock.now_ms += 7 * 24 * HOUR_MS - 1
    assert not limiter.hit("user:42", window)


@pytest.mark.parametrize("day", ["2026-04-05", "2026-10-04"])
def test_where_the_clock_moves_by_half_an_hour_an_hour_is_at_most_an_hour_and_never_unlimited(store: Store, day: str) -> None:
    """Every window of the hour admits its limit at most, and none lasts longer than an hour."""
    zone = "Australia/Lord_Howe"
    clock, window = Clock(milliseconds(day, zone)), [aligned("hour", zone)]
    limiter = Limiter(store, clock_ms=clock)
    end_ms, admitted = clock.now_ms + 6 * HOUR_MS, []
    while clock.now_ms < end_ms:
        clock.now_ms += int(timedelta(minutes=5) / timedelta(milliseconds=1))
        told = limiter.hit("user:42", window)
        admitted += [clock.now_ms] if told else []
        assert told.retry_after is None or told.retry_after <= 3600
    for at in admitted:
        assert sum(at - HOUR_MS < other <= at for other in admitted) <= 2 * 3
    assert 5 * 3 <= len(admitted) <= 8 * 3
