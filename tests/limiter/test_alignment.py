"""Fixed windows that begin with the clock, where the clock itself is moved: summer time, half hours, midnights that are not."""

import random
from datetime import date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from ratewindow.limiter import Limiter, MemoryStore, Window
from ratewindow.limiter.algorithms.fixed_window import ALIGNMENTS_MS, edges
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.types import Check
from tests.support.clock import Clock
from tests.support.histories import as_limit
from tests.support.oracle import Oracle, Question
from tests.support.trial import numbers

HOUR_MS = ALIGNMENTS_MS["hour"]
MINUTE_MS = ALIGNMENTS_MS["minute"]

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


def aligned(to: str, zone: str, limit: int = 3, day: int = 1) -> Window:
    return Window(limit, ALIGNMENTS_MS[to], "fixed_window", aligned_to=to, timezone=zone, day=day)


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
    [(to, periods * ALIGNMENTS_MS[to]) for to in ALIGNMENTS_MS if to != "month" for periods in PERIODS_AHEAD],
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


@pytest.mark.parametrize("process_ahead_ms", [days * 24 * HOUR_MS for days in (-400, -40, -31, 31, 40, 400)], indirect=True)
def test_with_months_that_differ_in_length_between_the_clocks_each_window_has_its_limit(
    store: Store, process_ahead_ms: int
) -> None:
    clock, window = Clock(milliseconds("2026-06-15", "UTC")), [aligned("month", "UTC")]
    limiter, admitted = Limiter(store, clock_ms=clock), []
    for _ in range(150):
        decision = limiter.hit("user:42", window)
        admitted += [clock.now_ms] if decision else []
        assert (decision.reset_after or 0) <= 31 * 24 * 3600
        clock.now_ms += 24 * HOUR_MS
    assert 5 * 3 <= len(admitted) <= (7 if abs(process_ahead_ms) < 100 * 24 * HOUR_MS else 10) * 3


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


ODD_MIDNIGHTS = [
    "Asia/Beirut",  # midnight does not come in spring
    "America/Havana",  # nor here, and in autumn it comes twice
    "America/Santiago",
    "America/Asuncion",
    "Africa/Cairo",
    "America/St_Johns",  # whose clock was moved a minute after midnight
    "Asia/Tehran",
    "America/Nuuk",
]


def first_moment(zone: str, day: date) -> int:
    """When a clock on the wall first shows that day or a later one, by looking at it each minute of the day before."""
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo(zone)).timestamp()
    for minute in range(36 * 60):
        at_s = round(noon) - 24 * 3600 + minute * 60
        if datetime.fromtimestamp(at_s, ZoneInfo(zone)).date() >= day:
            return at_s * 1000
    raise AssertionError(f"{zone} never shows {day}")


def beginning(year: int, month: int, day: int) -> date:
    """The day of that month, or its last day, by counting on."""
    found = date(year, month, 1)
    while found.day < day and (found + timedelta(days=1)).month == month:
        found += timedelta(days=1)
    return found


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kolkata", *ODD_MIDNIGHTS])
@pytest.mark.parametrize("day", [1, 15, 28, 29, 30, 31])
def test_a_month_begins_at_the_first_moment_of_its_day(zone: str, day: int) -> None:
    """Over years with and without a 29th of February, and with every change of the clock."""
    window = aligned("month", zone, day=day)
    begins = [first_moment(zone, beginning(year, month, day)) for year in (2010, 2023, 2024) for month in range(1, 13)]
    for at_ms, next_ms in pairwise(begins):
        if next_ms - at_ms > 32 * 24 * HOUR_MS:
            continue
        for now_ms in (at_ms, at_ms + 1, (at_ms + next_ms) // 2, next_ms - 1):
            around = list(map(int, str(edges(window, now_ms)).split(",")))
            assert max(edge for edge in around if edge <= now_ms) == at_ms
            assert min(edge for edge in around if edge > now_ms) == next_ms


def test_a_day_that_never_came_is_the_next_one() -> None:
    """Samoa went from the 29th to the 31st of December 2011."""
    new_years_eve_ms = milliseconds("2011-12-31", "Pacific/Apia")
    window, now_ms = aligned("month", "Pacific/Apia", day=30), new_years_eve_ms - 1
    assert datetime.fromtimestamp(now_ms / 1000, ZoneInfo("Pacific/Apia")).day == 29
    around = list(map(int, str(edges(window, now_ms)).split(",")))
    assert min(edge for edge in around if edge > now_ms) == new_years_eve_ms


@pytest.mark.parametrize(
    ("zone", "month", "day", "hours"),
    [
        ("UTC", "2026-02-01", 1, 28 * 24),
        ("UTC", "2028-02-01", 1, 29 * 24),
        ("UTC", "2026-04-01", 1, 30 * 24),
        ("UTC", "2026-07-01", 1, 31 * 24),
        ("Europe/Berlin", "2026-03-01", 1, 31 * 24 - 1),
        ("Europe/Berlin", "2026-10-01", 1, 31 * 24 + 1),
        ("UTC", "2026-01-31", 31, 28 * 24),
        ("UTC", "2026-02-28", 31, 31 * 24),
        ("UTC", "2028-01-30", 30, 30 * 24),
        ("Asia/Beirut", "2026-03-15", 15, 31 * 24 - 1),
    ],
)
def test_a_month_is_as_long_as_by_the_calendar(store: Store, zone: str, month: str, day: int, hours: int) -> None:
    start_ms = milliseconds(month, zone)
    clock, window = Clock(start_ms), [aligned("month", zone, day=day)]
    limiter = Limiter(store, clock_ms=clock)
    assert [limiter.hit("user:42", window).allowed for _ in range(4)] == [True, True, True, False]
    assert limiter.peek("user:42", window).retry_after == hours * 3600
    clock.now_ms = start_ms + hours * HOUR_MS - 1
    assert not limiter.peek("user:42", window)
    clock.now_ms += 1
    assert limiter.hit("user:42", window).remaining == 2


@pytest.mark.parametrize("back_ms", [HOUR_MS, 29 * 24 * HOUR_MS, 31 * 24 * HOUR_MS - 1, 62 * 24 * HOUR_MS])
def test_a_clock_that_goes_back_within_a_long_month_keeps_nobody_out_for_longer_than_that(store: Store, back_ms: int) -> None:
    clock, window = Clock(milliseconds("2026-07-31T23:59", "UTC")), [aligned("month", "UTC")]
    limiter = Limiter(store, clock_ms=clock)
    for _ in range(4):
        limiter.hit("user:42", window)
    clock.now_ms -= back_ms
    wait_s = limiter.hit("user:42", window).retry_after or 0
    assert wait_s <= (31 + 30) * 24 * 3600
    clock.now_ms += round(wait_s * 1000)
    assert limiter.hit("user:42", window)


@pytest.mark.long
@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("day", [1, 15, 29, 30, 31])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Santiago"])
def test_the_oracle_agrees_on_every_number_of_months(store: Store, zone: str, day: int) -> None:
    dice, oracle, window = random.Random(31), Oracle(), aligned("month", zone, day=day)
    check, now_ms = Check("rule", (window,), ("key",)), milliseconds("2027-11-20", zone)
    for _ in range(80):
        now_ms += dice.choice([0, 1, HOUR_MS, dice.randrange(10 * 24 * HOUR_MS)])
        expected = oracle.run([Question({"key": as_limit(window)}, 1)], "hit", now_ms)
        assert numbers(store.run([check], "hit", now_ms)) == expected, datetime.fromtimestamp(now_ms / 1000, ZoneInfo(zone))


def test_only_a_month_from_another_day_has_a_shape_of_its_own() -> None:
    assert aligned("month", "UTC").shape == ("fixed_window", 2_592_000_000, "month", "UTC")
    assert aligned("month", "UTC", day=15).shape == ("fixed_window", 2_592_000_000, "month", "UTC", 15)
    assert aligned("month", "UTC", limit=1000, day=15).text == "1000/month"


@pytest.mark.parametrize("store_limit", [2**52, 5_000_000_000])
def test_a_month_can_have_a_limit_of_any_number_that_is_counted_exactly(store: Store, store_limit: int) -> None:
    window = [aligned("month", "UTC", limit=store_limit)]
    limiter = Limiter(store, clock_ms=Clock(milliseconds("2026-07-04", "UTC")))
    assert limiter.charge("user:42", window, store_limit - 2).remaining == 2
    assert [limiter.hit("user:42", window).remaining for _ in range(3)] == [1, 0, 0]
    limiter.charge("user:42", window, 2**52)
    assert limiter.peek("user:42", window).remaining == 0
    limiter.refund("user:42", window, 2**52)
    assert limiter.peek("user:42", window).remaining == store_limit
