"""A rule that refuses nearly everybody, told from an attack, from one client over its limit and from what is meant so."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ratewindow import rooms
from ratewindow.counting import minutes
from ratewindow.counting.sheets import ALL
from ratewindow.counting.sums import Counted, Distinct, Group, Sums, Who
from ratewindow.identity import joined
from ratewindow.models import RateRule
from ratewindow.report.report import Report, last, waiting
from ratewindow.report.spells import Lately, Spell, spells
from ratewindow.report.summary import refuses_everybody
from ratewindow.rooms import Edited
from ratewindow.store.state_keys import client_tag

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2027, 1, 15, 8, 30, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NOW_MINUTE = int(NOW.timestamp()) // 60


@pytest.fixture(autouse=True)
def _rules() -> None:
    for name in ("oops", "login", "api"):
        RateRule.objects.define(name, "5/m", path=f"/{name}/", mode="enforce")
    RateRule.objects.update(mode_since=NOW - timedelta(days=9))


def visitors(count: int, each: int = 2, first: str = "ip:198.18.{}.7") -> Who:
    distinct, names = Distinct(), [first.format(number) for number in range(count)]
    for name in names:
        distinct.add(client_tag(name))
    named = {name: Counted(each) for name in names}
    return Who(Counted(count * each, 0, count * each), Group(named), registers_refused=distinct.frozen())


def counted(ago: int, rule: str, who: Who = Who(), passed: int = 0) -> None:  # noqa: B008
    sums = Sums(passed=passed, refused=who.total.refused)
    minutes.send({NOW_MINUTE - ago: {f"p|{rule}": sums}}, NOW.timestamp(), {NOW_MINUTE - ago: {f"p|{rule}": who}})


def found(lately: Lately | None = None, choice: str = "1h") -> list[Spell]:
    return spells(Report(last(choice, NOW), waiting(NOW.timestamp())), None, NOW, lately or {})


def an_edit(monkeypatch: pytest.MonkeyPatch, at: datetime, by: str = "root") -> None:
    """As a room that keeps edits tells of it."""
    monkeypatch.setattr(rooms, "plugged", lambda hook: [lambda rule, since: Edited(at, by, "/undo/")])


def calm_hour(rule: str = "oops") -> None:
    for ago in range(3, 60):
        counted(ago, rule, passed=120)


def test_a_rule_that_an_edit_made_too_small_is_told_with_the_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    counted(1, "oops", visitors(60))
    an_edit(monkeypatch, NOW - 80 * timedelta(seconds=1))
    (spell,) = found({"oops": (5, 155), ALL: (5, 155)})
    assert spell.everybody is not None
    said = refuses_everybody(spell, spell.everybody)
    since = r"since 2027-01-15 08:29, when root changed it\."
    assert re.fullmatch(rf"oops refuses nearly everybody: 97 % of all requests, about [56]\d clients, {since}", said)


def test_without_an_edit_it_is_one_as_long_as_no_more_requests_come_than_before() -> None:
    calm_hour()
    counted(1, "oops", visitors(40))
    (spell,) = found({"oops": (1, 60), ALL: (90, 60)})
    assert spell.everybody is not None
    assert "98 % of its requests, 40 clients, since 2027-01-15 08:29." in refuses_everybody(spell, spell.everybody)


def test_an_attack_by_many_is_none() -> None:
    calm_hour()
    counted(1, "oops", visitors(99, each=20))
    assert [spell.everybody for spell in found({"oops": (120, 1980), ALL: (120, 1980)})] == [None]


@pytest.mark.parametrize("count", [1, 2])
def test_nor_is_one_client_or_two(count: int) -> None:
    calm_hour()
    counted(1, "oops", visitors(count, each=60 // count))
    assert [spell.everybody for spell in found({"oops": (1, 60), ALL: (1, 60)})] == [None]


def test_nor_are_the_many_names_that_one_machine_tries() -> None:
    calm_hour("login")
    named = {joined(["ip:203.0.113.6", f"post:username:{number}"]): Counted(2) for number in range(40)}
    counted(1, "login", Who(Counted(120, 0, 120), Group(named)))
    assert [spell.everybody for spell in found({"login": (1, 60), ALL: (1, 60)})] == [None]


def test_a_rule_that_allows_nothing_on_few_requests_is_meant_so() -> None:
    RateRule.objects.define("trap", "0/m", path="/wp-login.php", mode="enforce")
    counted(1, "trap", visitors(60))
    RateRule.objects.filter(name="trap").update(mode_since=NOW - MINUTE)
    assert [spell.everybody for spell in found({"trap": (0, 60), ALL: (9000, 60)})] == [None]
    assert [spell.everybody is None for spell in found({"trap": (0, 60), ALL: (9, 60)})] == [False]


def test_the_seconds_before_say_that_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    an_edit(monkeypatch, NOW - 80 * timedelta(seconds=1))
    counted(1, "oops", visitors(40))
    counted(0, "oops", visitors(20), passed=600)
    (spell,) = found({"oops": (60, 0), ALL: (60, 0)})
    assert not spell.ongoing and spell.everybody is not None
    said = refuses_everybody(spell, spell.everybody)
    assert said.startswith(
        "oops refused nearly everybody until 2027-01-15 08:30: 120 requests, 40 clients, since 2027-01-15 08:29"
    )
    assert said.endswith("Over now.")


def test_a_rule_that_is_enforced_no_more_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    counted(1, "oops", visitors(60))
    RateRule.objects.get(name="oops").delete()
    an_edit(monkeypatch, NOW - MINUTE)
    assert [spell.ongoing for spell in found({"api": (1, 0), ALL: (1, 0)})] == [False]


def test_who_is_hurt_is_ranked_by_visitors_whom_nothing_else_refuses_and_not_by_sums() -> None:
    counted(0, "login", visitors(1, each=900, first="ip:203.0.113.{}"))
    counted(0, "api", visitors(8, each=2), passed=20)
    assert [spell.rule for spell in found()] == ["api", "login"]


def test_it_is_first_whatever_else_happened_in_the_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    an_edit(monkeypatch, NOW - MINUTE)
    for ago in range(60):
        counted(ago, "login", visitors(1, each=900, first="ip:203.0.113.{}"))
    counted(0, "oops", visitors(60))
    assert [spell.rule for spell in found({"oops": (1, 120), "login": (0, 99), ALL: (1, 219)})] == ["oops", "login"]


def test_visitors_are_counted_by_their_address_where_all_are_one_client(rf: Any) -> None:
    from ratewindow.counting.counters import Counters
    from tests.support.made_offenders import met

    process = Counters(lambda: NOW.timestamp())
    for number in range(7):
        request = rf.get("/", REMOTE_ADDR=f"198.18.{number}.7")
        process.record([met("global", "refused", "oops")], True, request)
    who = process.held_who()[NOW_MINUTE]["oops"]
    assert {*who.clients.named} == {f"ip:198.18.{number}.7" for number in range(7)}
