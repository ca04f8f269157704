"""The ready rules for logins, enforced as they are: how many passwords guesses from one address or from many may try."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.forms.models import model_to_dict
from django.http import HttpResponse
from django.test import Client, override_settings

from ratewindow.limiter import Limiter, MemoryStore
from ratewindow.models import RateRule
from ratewindow.start import presets
from testproject.redis_server import find_program, start
from tests.support.check_messages import found

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = ["/login/", "/admin/login/"]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "developers" / "answers.md"
HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def ready(core_presets: None) -> None:
    """Those of both login pages are enforced."""
    User.objects.create_superuser("ann", password="right")
    [logins] = [group for group in presets.groups() if group.kind.name == "login"]
    for each in logins.found:
        rule = presets.save(each)
        rule.mode = "enforce"
        rule.save()


def log_in(page: str, address: str, name: str, password: str = "wrong", **extra: Any) -> int:
    sent = {"username": name, "password": password}
    response: HttpResponse = Client().post(page, sent, REMOTE_ADDR=address, **extra)
    return response.status_code


def tried(page: str, count: int, address: Callable[[int], str], name: Callable[[int], str]) -> int:
    """How many of so many wrong passwords reach the page."""
    return [log_in(page, address(number), name(number)) for number in range(count)].count(200)


def one(value: str) -> Callable[[int], str]:
    return lambda number: value


def many_addresses(number: int) -> str:
    return f"198.51.{100 + number // 250}.{number % 250 + 1}"


def many_names(number: int) -> str:
    return f"name{number}"


@pytest.mark.parametrize("page", PAGES)
class TestGuesses:
    def test_many_names_from_one_address_are_cut_at_twenty(self, page: str) -> None:
        assert tried(page, 60, one("203.0.113.9"), many_names) == 20

    def test_one_name_from_many_addresses_is_cut_at_ten(self, page: str) -> None:
        assert tried(page, 60, many_addresses, one("ann")) == 10

    def test_one_name_from_one_address_is_cut_at_five(self, page: str) -> None:
        assert tried(page, 60, one("203.0.113.9"), one("ann")) == 5

    def test_other_spellings_of_one_name_are_that_name(self, page: str) -> None:
        spellings = ["ann", "ANN", " ann ", "Ａｎｎ", "aNN\u2003"]
        assert tried(page, 30, many_addresses, lambda number: spellings[number % len(spellings)]) == 10

    def test_a_body_too_long_to_be_read_tries_nothing(self, page: str) -> None:
        assert log_in(page, "203.0.113.9", "ann", "wrong" * 20_000) == 429


def test_neither_an_address_nor_a_name_that_is_refused_uses_up_what_others_have() -> None:
    tried("/login/", 60, one("203.0.113.9"), one("ann"))
    assert log_in("/login/", "203.0.113.9", "bob") == 200  # of the address, five are used
    assert log_in("/login/", "198.51.100.7", "ann") == 200


def test_a_right_password_passes_from_elsewhere_until_ten_wrong_ones_and_counts_nowhere() -> None:
    for _ in range(30):
        assert log_in("/login/", "192.0.2.1", "ann", "right") == 302
    assert tried("/login/", 60, one("203.0.113.9"), one("ann")) == 5
    assert tried("/login/", 4, one("203.0.113.10"), one("ann")) == 4
    assert log_in("/login/", "192.0.2.1", "ann", "right") == 302
    assert log_in("/login/", "203.0.113.10", "ann") == 200
    assert log_in("/login/", "192.0.2.1", "ann", "right") == 429  # which is what the rule by name says that it costs
    assert log_in("/login/", "192.0.2.1", "bob") == 200


def test_one_address_alone_never_locks_a_name_out() -> None:
    """A wrong password every five seconds for six hours, by the limits alone."""
    rules = [RateRule.objects.get(name=each) for each in ("login", "login.name")]
    pair, name = ([window.freeze() for window in rule.windows.all()] for rule in rules)
    now_ms = iter(range(0, 6 * HOUR_MS, 2_500))
    limiter = Limiter(MemoryStore(), clock_ms=lambda: next(now_ms))
    for _ in range(6 * HOUR_MS // 5_000):
        if limiter.hit("pair", pair).allowed:
            assert limiter.hit("name", name).remaining >= 5


@pytest.mark.parametrize("page", PAGES)
def test_a_server_that_stops_leaves_the_same_limits_to_each_process(page: str) -> None:
    program = find_program()
    if program is None:
        pytest.skip("there is no server to stop")
    with start(program) as url, override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url}):
        assert log_in(page, "192.0.2.1", "eve") == 200
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url}):
        assert tried(page, 60, one("203.0.113.9"), many_names) == 20
        assert tried(page, 60, many_addresses, one("ann")) == 10
        assert tried(page, 60, one("203.0.113.10"), one("bob")) == 5


def test_no_check_doubts_them() -> None:
    assert found(databases=["default"]) == {}


def test_the_docs_define_the_same_three_rules() -> None:
    ready = _values()
    RateRule.objects.all().delete()
    [code] = re.findall(r"^(shared = .*?)```", DOCS.read_text(), re.DOTALL | re.MULTILINE)
    exec(code, {"RateRule": RateRule})
    assert _values() == ready


def _values() -> list[dict[str, Any]]:
    rules = RateRule.objects.filter(pattern="login").order_by("name")
    assert len(rules) == 3
    return [{**model_to_dict(rule, exclude=["id", "description"]), "limits": [*map(str, rule.windows.all())]} for rule in rules]
