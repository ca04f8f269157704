"""What is unusual, against earlier days: since when, how much, and who stands behind it."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ratewindow.counting.collecting import store_who
from ratewindow.counting.sums import Counted, Group, Who
from ratewindow.models import ThrottleStat
from ratewindow.report.offenders import HowMany, offenders
from ratewindow.report.reading import behind
from ratewindow.report.report import Report, between, last, waiting
from ratewindow.report.spells import Spell, spells, usual

pytestmark = pytest.mark.django_db

NOW = datetime(2027, 1, 15, 8, 30, 20, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
THE_NETWORK = "ip:203.0.113.0/24"


def row(resolution: str, start: datetime, rule: str = "login", **counts: int) -> None:
    ThrottleStat.objects.create(rule=rule, resolution=resolution, start=start, **counts)


def minutes(ago: range, rule: str = "login", **counts: int) -> None:
    for each in ago:
        row("minute", (NOW - each * MINUTE).replace(second=0), rule, **counts)


def usual_days(refused: int, days: int = 7, rule: str = "login") -> None:
    """So many refusals in each hour of earlier days."""
    for number in range(1, days + 1):
        row("day", (NOW - number * DAY).replace(hour=0, minute=0, second=0), rule, refused=24 * refused)
        for hour in range(24):
            start = (NOW - number * DAY).replace(hour=hour, minute=0, second=0)
            row("hour", start, rule, passed=1000, refused=refused)


def asked(choice: str = "1h") -> Report:
    return Report(last(choice, NOW), waiting(ask_redis=False))


def found(choice: str = "1h") -> list[Spell]:
    return spells(asked(choice), usual(asked(choice), NOW), NOW)


@pytest.mark.parametrize(
    ("usually", "passed", "refused", "unusual"),
    [
        (0, 0, 9, False),  # few
        (0, 90, 10, True),  # nothing is known of earlier times
        (0, 990, 10, False),  # a small share
        (60, 900, 100, True),
        (600, 0, 40, False),  # not five times as many
    ],
)
def test_what_is_unusual(usually: int, passed: int, refused: int, unusual: bool) -> None:
    if usually:
        usual_days(refused=usually)
    minutes(range(3, 4), passed=passed, refused=refused)
    assert bool(found()) == unusual


def test_an_attack_is_said_to_go_on_since_it_began_with_what_is_usual() -> None:
    usual_days(refused=180)
    minutes(range(19, 60), passed=30, refused=3)
    minutes(range(1, 19), passed=30, refused=1200)
    (spell,) = found()
    assert (spell.rule, spell.outcome, spell.ongoing, spell.from_start) == ("login", "refused", True, False)
    assert spell.start == NOW.replace(second=0) - 18 * MINUTE
    assert spell.count == 18 * 1200
    assert 2 < spell.usual / 18 < 4


def test_what_is_usual_is_quiet_however_much_it_is() -> None:
    usual_days(refused=3000)
    minutes(range(1, 60), passed=30, refused=50)
    assert found() == []


def test_one_day_with_an_attack_hardly_makes_it_usual() -> None:
    usual_days(refused=6, days=14)
    ThrottleStat.objects.filter(resolution="day", start__gte=NOW - 2 * DAY).update(refused=24 * 3000)
    minutes(range(1, 60), passed=30, refused=50)
    assert len(found()) == 1


def test_an_attack_that_is_over_has_an_end() -> None:
    usual_days(refused=6)
    minutes(range(1, 60), passed=30)
    ThrottleStat.objects.filter(resolution="minute", start__lt=NOW - 30 * MINUTE, start__gte=NOW - 41 * MINUTE).update(
        refused=200
    )
    (spell,) = found()
    assert not spell.ongoing
    assert (spell.start, spell.end) == (NOW.replace(second=0) - 40 * MINUTE, NOW.replace(second=0) - 29 * MINUTE)


def test_an_attack_since_before_the_period_is_said_to_be() -> None:
    minutes(range(1, 62), passed=30, refused=50)
    assert [(spell.from_start, spell.ongoing) for spell in found()] == [(True, True)]


def test_a_rule_in_shadow_is_spoken_of_after_those_that_refuse() -> None:
    usual_days(refused=6)
    minutes(range(1, 20), "search", passed=100, would_refuse=90)
    minutes(range(1, 20), passed=10, refused=20)
    assert [(spell.rule, spell.outcome) for spell in found()] == [("login", "refused"), ("search", "would_refuse")]


def test_a_short_attack_within_a_quiet_week_is_found() -> None:
    for number in range(24 * 14):
        row("hour", NOW.replace(minute=0, second=0) - number * HOUR, passed=1000, refused=2)
    ThrottleStat.objects.filter(start=NOW.replace(hour=2, minute=0, second=0) - 2 * DAY).update(refused=9000)
    row("day", NOW.replace(hour=0, minute=0, second=0) - 20 * DAY, passed=1)
    assert [spell.count > 8000 for spell in found("7d")] == [True]


def test_nothing_is_usual_before_counting_began() -> None:
    assert usual(asked(), NOW) is None
    usual_days(refused=5, days=2)
    assert usual(asked(), NOW) is None
    usual_days(refused=5, days=4, rule="api")
    before = usual(asked(), NOW)
    assert before is not None and before.period.end - before.period.start > 3 * DAY


def test_it_asks_as_many_questions_of_twenty_rules_as_of_two() -> None:
    usual_days(refused=6, rule="rule-0")
    counted = []
    for rules in (range(2), range(2, 20)):
        for number in rules:
            minutes(range(1, 20), f"rule-{number}", passed=30, refused=50)
        with CaptureQueriesContext(connection) as queries:
            found()
        counted.append(len(queries))
    assert counted[0] == counted[1]


def stored(who: Who) -> None:
    store_who({((NOW - 3 * MINUTE).replace(second=0), "login"): who})


def who_is_behind():
    spell = Spell("login", "refused", NOW - 10 * MINUTE, NOW, 1000, 0, ongoing=True, from_start=False)
    return behind(spell, offenders(between(spell.start, spell.end, NOW), "login", waiting(ask_redis=False)))


def test_a_network_of_changing_addresses_is_behind_it_and_others_are_counted_without_it() -> None:
    named = {f"ip:203.0.113.{number}": Counted(10, 0, 12) for number in range(14)}
    named["user:42"] = Counted(3, 0, 300)
    stored(Who(Counted(143, 0, 1000), Group(named), Group({THE_NETWORK: Counted(140)})))
    found = who_is_behind()
    assert (found.value, found.clients) == (THE_NETWORK, HowMany(14))
    assert (found.count, found.total, found.exact) == (140, 143, True)
    assert found.others_met == 1000 - 140


def test_one_client_is_behind_it_where_its_network_has_no_other() -> None:
    named = {"ip:203.0.113.9": Counted(90, 0, 100), "user:7": Counted(10, 0, 900)}
    stored(Who(Counted(100, 0, 1000), Group(named), Group({THE_NETWORK: Counted(90)})))
    found = who_is_behind()
    assert (found.value, found.total - found.count, found.others_met) == ("ip:203.0.113.9", 10, 910)


def test_nobody_is_behind_what_many_share() -> None:
    stored(Who(Counted(100, 0, 1000), Group({f"user:{each}": Counted(5) for each in range(20)})))
    assert (who_is_behind().value, who_is_behind().clients) == ("", HowMany(20))
