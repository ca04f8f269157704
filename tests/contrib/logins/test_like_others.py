"""What django-axes and django-device-cookies try of themselves, tried here. docs/evidence/logins.md says why answers differ."""

import asyncio
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import authenticate, get_user_model, login as log_in, logout as log_out
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, override_settings
from django.urls import path
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from ratewindow.contrib.logins import LoginGate
from ratewindow.contrib.logins.devices import COOKIE
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from ratewindow.signals import throttled
from ratewindow.testing import fresh_counts
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import BACKENDS, PASSWORD, alogin, device, login, spend, stranger
from tests.support.commands import run
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)
HERE, ELSEWHERE = "203.0.113.9", "192.0.2.2"


@pytest.fixture
def bob(transactional_db: None) -> Any:
    return get_user_model().objects.create_user("bob", "bob@example.com", PASSWORD)


def fail(count: int, name: str = "ann", first: int = 0) -> None:
    """Each time from another network."""
    for number in range(first, first + count):
        login(name, "x", stranger(number))


def only(rate: str, *keys: str, **fields: Any) -> None:
    """A rule of one's own for each key, in place of the ready ones."""
    RateRule.objects.all().delete()
    for number, key in enumerate(keys):
        options = {"applies_to": "logins", "key": key, "count_when": "login_failed", "mode": "enforce", **fields}
        RateRule.objects.define(f"own-{number}", rate, **options)
    reading.reload()


def copied(browser: Client) -> Client:
    """Another browser, with a stolen cookie."""
    thief = Client()
    thief.cookies[COOKIE] = browser.cookies[COOKIE].value
    return thief


@pytest.mark.parametrize("failures, then", [(4, 302), (5, 429), (9, 429)])
def test_who_has_failed_less_often_than_the_limit_logs_in(checked: list[str], ann: Any, failures: int, then: int) -> None:
    for _ in range(failures):
        login("ann", "x")
    assert login("ann", PASSWORD).status_code == then


@pytest.mark.parametrize("address", [HERE, ELSEWHERE])
@pytest.mark.parametrize("name, then", [("ann", 429), ("bob", 302)])
def test_a_name_is_refused_everywhere_and_others_at_that_address_are_not(
    checked: list[str], ann: Any, bob: Any, name: str, address: str, then: int
) -> None:
    for _ in range(9):
        login("ann", "x", HERE)
    assert login(name, PASSWORD, address).status_code == then


@pytest.mark.parametrize(
    "keys",
    [
        ["ip"],
        ["login"],
        ["header:User-Agent"],
        ["login", "ip"],
        ["login+ip"],
        ["ip+header:User-Agent"],
        ["login", "ip", "header:User-Agent"],
        ["login+ip+header:User-Agent"],
        ["ip", "login+header:User-Agent"],
        ["ip+header:User-Agent", "login+header:User-Agent"],
    ],
    ids=" or ".join,
)
def test_rules_of_ones_own_count_by_whatever_they_are_told(checked: list[str], ann: Any, bob: Any, keys: list[str]) -> None:
    """Refused is whoever has everything in common that one of the keys is made of, and nobody else."""
    only("3/h", *keys)
    firefox, others = "Firefox", "Other"
    for _ in range(3):
        login("ann", "x", HERE, Client(headers={"User-Agent": firefox}))
    for name, address, agent in product(("ann", "bob"), (HERE, ELSEWHERE), (firefox, others)):
        common = {"login": name == "ann", "ip": address == HERE, "header:User-Agent": agent == firefox}
        is_refused = any(all(common[part] for part in key.split("+")) for key in keys)
        told = login(name, PASSWORD, address, Client(headers={"User-Agent": agent}))
        assert told.status_code == (429 if is_refused else 302), (name, address, agent)


@pytest.mark.parametrize("name", ["", "   ", None])
def test_guesses_without_a_name_lock_nobody_out(checked: list[str], ann: Any, name: str | None) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=200 if authenticate(request, username=name, password="x") else 401)

    with site(path("own/", view), *urlpatterns):
        told = [Client().post("/own/", REMOTE_ADDR=HERE).status_code for _ in range(30)]
        assert told == [401] * 5 + [429] * 25
        assert login("ann", PASSWORD, HERE).status_code == 302


def test_a_name_in_a_field_that_django_hides_in_the_signal_is_counted(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=200 if authenticate(request, api_key="ann", password="x") else 401)

    with site(path("own/", view), *urlpatterns):
        told = [Client().post("/own/", REMOTE_ADDR=stranger(number)).status_code for number in range(8)]
    assert told == [401] * 5 + [429] * 3


def test_failures_at_the_admin_count_for_the_site_and_the_other_way_round(checked: list[str], ann: Any) -> None:
    def at_admin(number: int) -> int:
        sent = {"username": "ann", "password": "x"}
        return Client().post("/admin/login/", sent, REMOTE_ADDR=stranger(number)).status_code

    assert [at_admin(number) for number in range(3)] == [200] * 3
    assert [login("ann", "x", stranger(9)).status_code for _ in range(3)] == [200, 200, 429]
    assert at_admin(4) == 429


def test_the_form_is_shown_to_whoever_is_refused(checked: list[str], ann: Any) -> None:
    for number in range(30):
        login(f"name{number}", "x", HERE)
    assert login("ann", PASSWORD, HERE).status_code == 429
    assert {Client().get(place, REMOTE_ADDR=HERE).status_code for place in ("/login/", "/admin/login/")} == {200}


def test_a_right_login_makes_no_failure_forgotten(checked: list[str], ann: Any) -> None:
    """Or a guesser would log in to an account of his own, or wait for the owner, and begin again."""
    fail(4)
    assert login("ann", PASSWORD, HERE).status_code == 302
    fail(1, first=50)
    assert login("ann", PASSWORD, ELSEWHERE).status_code == 429
    assert login("ann", PASSWORD, HERE).status_code == 302  # from where she has lately logged in


def test_after_the_wait_there_is_one_guess_and_not_five(checked: list[str], ann: Any) -> None:
    with fresh_counts() as counts:
        for number in range(5):
            login("ann", "x", stranger(number))
            counts.travel("5s")
        refused = login("ann", PASSWORD, ELSEWHERE)
        counts.travel(f"{refused['Retry-After']}s")
        assert [login("ann", "x", stranger(10 + number)).status_code for number in range(2)] == [200, 429]


def test_who_is_patient_has_ten_guesses_in_an_hour_and_fifty_in_a_day(checked: list[str], ann: Any) -> None:
    with fresh_counts() as counts:
        found = []
        for number in range(24 * 12 + 12):
            login("ann", "x", stranger(number))
            counts.travel("5m")
            found.append(len(checked))
        assert (found[11], found[24 * 12 - 1]) == (10, 50)
        assert found[-1] > 50


@pytest.mark.parametrize("count_refused, then", [(False, 200), (True, 429)])
def test_tries_meanwhile_make_the_wait_longer_only_if_the_rule_says_so(
    checked: list[str], ann: Any, count_refused: bool, then: int
) -> None:
    only("2/m", "login", applies_to="stranger", count_refused=count_refused)
    with fresh_counts() as counts:
        fail(2)
        counts.travel("40s")
        assert [login("ann", "x", stranger(number)).status_code for number in range(3, 6)] == [429] * 3
        counts.travel("25s")
        assert login("ann", "x", HERE).status_code == then
        counts.travel("61s")
        assert login("ann", PASSWORD, HERE).status_code == 302


@pytest.mark.parametrize(
    "released, name, then", [("login:ann", "ann", 302), (f"ip:{HERE}", "bob", 302), ("login:bob", "ann", 429)]
)
def test_staff_release_a_name_or_an_address(checked: list[str], ann: Any, bob: Any, released: str, name: str, then: int) -> None:
    fail(6, first=50)
    for number in range(21):
        login(f"name{number}", "x", HERE)
    assert login("bob", PASSWORD, HERE).status_code == 429
    run("release", released)
    assert login(name, PASSWORD, HERE if name == "bob" else ELSEWHERE).status_code == then


def test_an_exempt_address_is_never_refused_and_counts_nowhere(checked: list[str], ann: Any) -> None:
    Override.objects.allow("ip:203.0.113.0/24", reason="the office")
    reading.reload()
    assert {login("ann", "x", HERE).status_code for _ in range(30)} == {200} and len(checked) == 30
    assert login("ann", PASSWORD, ELSEWHERE).status_code == 302
    spend()
    assert login("ann", PASSWORD, HERE).status_code == 302


def test_a_blocked_address_is_refused_whoever_it_is(checked: list[str], ann: Any) -> None:
    browser = device()
    checked.clear()
    Override.objects.block(f"ip:{HERE}", reason="x")
    reading.reload()
    assert login("ann", PASSWORD, HERE, browser).status_code == 429
    assert login("ann", PASSWORD, HERE).status_code == 429 and not checked
    assert login("ann", PASSWORD, ELSEWHERE).status_code == 302


def test_strangers_may_be_kept_out_but_for_some_addresses(checked: list[str], ann: Any) -> None:
    browser = device()
    Override.objects.block("*", rule="login.address", duration="30d", reason="only the office")
    Override.objects.allow("ip:192.0.2.0/24", reason="the office")
    reading.reload()
    assert login("ann", PASSWORD, HERE).status_code == 429
    assert login("ann", PASSWORD, ELSEWHERE).status_code == 302
    assert login("ann", PASSWORD, HERE, browser).status_code == 302


@pytest.mark.parametrize("status, hashes", [(429, 0), (403, 0), (401, 3)])
def test_a_refusal_has_the_status_of_the_rule_and_costs_a_hash_where_it_hides(
    checked: list[str], ann: Any, monkeypatch: pytest.MonkeyPatch, status: int, hashes: int
) -> None:
    made: list[str] = []
    monkeypatch.setattr("ratewindow.contrib.logins.gate.make_password", made.append)
    RateRule.objects.filter(name="login.name").update(response_status=status, message="Come back at noon.")
    reading.reload()
    told = [login("ann", "x", stranger(number)) for number in range(8)][5:]
    assert {each.status_code for each in told} == {200 if status == 401 else status} and len(made) == hashes
    assert {b"Come back at noon." in each.content for each in told} == {status != 401}


def test_each_refusal_is_signalled_with_its_request(checked: list[str], ann: Any) -> None:
    heard: list[tuple[str, str]] = []

    def note(sender: Any, request: Any, decision: Any, **_: Any) -> None:
        heard.append((request.POST["username"], decision.rule))

    throttled.connect(note)
    try:
        fail(7)
    finally:
        throttled.disconnect(note)
    assert heard == [("ann", "login.name")] * 2


def test_a_cookie_that_was_changed_is_a_strangers_and_the_old_one_is_still_good(checked: list[str], ann: Any) -> None:
    browser = device()
    value = browser.cookies[COOKIE].value
    spend()
    browser.cookies[COOKIE] = value[:-1] + ("A" if value[-1] != "A" else "B")
    assert login("ann", PASSWORD, ELSEWHERE, browser).status_code == 429
    browser.cookies[COOKIE] = value
    assert login("ann", PASSWORD, ELSEWHERE, browser).status_code == 302


def test_a_new_made_up_cookie_for_each_guess_gains_none(checked: list[str], ann: Any) -> None:
    for number in range(20):
        browser = Client()
        browser.cookies[COOKIE] = f"e30:1xXFgc:{number:043}"
        login("ann", "x", stranger(number), browser)
    assert len(checked) == 5


def test_a_name_that_differs_in_case_alone_is_another_account(checked: list[str], ann: Any) -> None:
    """Which anybody may register, on a site that tells cases apart: its logins make nothing known of the other one."""
    get_user_model().objects.create_user("ANN", password="mine")
    browser = Client()
    assert login("ANN", "mine", ELSEWHERE, browser).status_code == 302
    spend()
    assert login("ann", "x", stranger(50), browser).status_code == 429


def test_nor_does_it_make_an_address_known(checked: list[str], ann: Any) -> None:
    get_user_model().objects.create_user("ANN", password="mine")
    assert login("ANN", "mine", ELSEWHERE).status_code == 302
    spend()
    assert login("ann", "x", ELSEWHERE).status_code == 429


def test_a_device_uses_nothing_up_of_strangers_and_then_is_one_of_them(checked: list[str], ann: Any) -> None:
    browser = device()
    for _ in range(10):
        login("ann", "x", ELSEWHERE, browser)
    assert login("ann", PASSWORD, ELSEWHERE, browser).status_code == 302
    assert [login("ann", "x", stranger(number)).status_code for number in range(6)] == [200] * 5 + [429]


def test_a_stolen_cookie_is_worth_a_hundred_guesses_in_four_weeks(checked: list[str], ann: Any) -> None:
    browser = device()
    Override.objects.block("login:ann", rule="login.name", reason="no stranger, for this test")
    reading.reload()
    checked.clear()
    with fresh_counts() as counts:
        for _ in range(12):
            for _ in range(11):
                login("ann", "x", ELSEWHERE, browser)
            counts.travel("15m")
        assert len(checked) == 100
        assert login("ann", PASSWORD, ELSEWHERE, browser).status_code == 429
        counts.travel("30d")  # the window counts in steps of some hours
        assert login("ann", PASSWORD, ELSEWHERE, browser).status_code == 302


def test_a_login_is_a_new_device_of_which_a_copied_cookie_uses_nothing_up(checked: list[str], ann: Any) -> None:
    browser = device()
    thief = copied(browser)
    for _ in range(10):
        login("ann", "x", HERE, thief)
    assert login("ann", PASSWORD, "192.0.2.1", browser).status_code == 302
    spend()
    assert login("ann", PASSWORD, ELSEWHERE, browser).status_code == 302
    assert login("ann", "x", ELSEWHERE, thief).status_code == 429


def test_the_way_out_is_a_link_to_reset_the_password(checked: list[str], ann: Any) -> None:
    """It need only be opened, also where the browser's own limit is used up."""
    confirm = PasswordResetConfirmView.as_view(template_name="demo/login.html", success_url="/login/")
    new, used_up = Client(), device()
    for _ in range(10):
        login("ann", "x", ELSEWHERE, used_up)
    spend()
    assert login("ann", "x", ELSEWHERE, used_up).status_code == 429
    ann.refresh_from_db()  # no link is older than the last login
    link = f"/reset/{urlsafe_base64_encode(force_bytes(ann.pk))}/{default_token_generator.make_token(ann)}/"
    with site(path("reset/<uidb64>/<token>/", confirm), *urlpatterns):
        for browser in (new, used_up):
            browser.get(link, follow=True)
    assert [login("ann", PASSWORD, ELSEWHERE, browser).status_code for browser in (new, used_up)] == [302, 302]


def test_a_new_secret_key_ends_no_device_while_the_old_one_is_a_fallback(checked: list[str], ann: Any) -> None:
    browser = device()
    spend()
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        spend()
        assert login("ann", PASSWORD, ELSEWHERE, browser).status_code == 302
    with override_settings(SECRET_KEY="another"):
        assert login("ann", PASSWORD, ELSEWHERE, browser).status_code == 302
    with override_settings(SECRET_KEY="a third"):
        spend()
        assert login("ann", PASSWORD, ELSEWHERE, browser).status_code == 429


def test_two_addresses_that_are_trusted_use_nothing_up_of_each_other(checked: list[str], ann: Any) -> None:
    for address in (HERE, ELSEWHERE):
        assert login("ann", PASSWORD, address).status_code == 302
    spend()
    for _ in range(12):
        login("ann", "x", HERE)
    assert login("ann", PASSWORD, HERE).status_code == 429
    assert login("ann", PASSWORD, ELSEWHERE).status_code == 302


class AnyCase(ModelBackend):
    """Users log in by name or e-mail address, in any case."""

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        found = get_user_model().objects
        user = found.filter(username__iexact=username).first() or found.filter(email__iexact=username).first()
        return user if user is not None and user.check_password(password) else None


class AnyCaseGate(LoginGate):
    def find_accounts(self, name: str) -> Sequence[Any]:
        return super().find_accounts(name) or [*get_user_model().objects.filter(username__iexact=name)]


@pytest.mark.parametrize(
    "gate, name, then",
    [(BACKENDS[0], "Ann@Example.com", 302), (BACKENDS[0], "ANN", 429), (f"{__name__}.AnyCaseGate", "ANN", 302)],
)
def test_a_device_is_known_by_each_name_that_the_gate_knows(
    checked: list[str], ann: Any, gate: str, name: str, then: int
) -> None:
    """So a site whose backend ignores case tells the gate, by `find_accounts`."""
    with override_settings(AUTHENTICATION_BACKENDS=[gate, f"{__name__}.AnyCase"]):
        browser = device()
        spend()
        assert login(name, PASSWORD, ELSEWHERE, browser).status_code == then


def test_a_device_is_known_to_async_views(checked: list[str], ann: Any) -> None:
    browser = AsyncClient()
    browser.cookies[COOKIE] = device().cookies[COOKIE].value
    spend()
    assert asyncio.run(alogin("ann", PASSWORD, ELSEWHERE, browser)).status_code == 302


def test_only_a_login_makes_a_device_known(checked: list[str], ann: Any) -> None:
    browser = Client()
    browser.get("/login/")
    for _ in range(7):
        login("ann", "x", HERE, browser)
    assert COOKIE not in browser.cookies


def test_a_logout_leaves_it_known(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        log_in(request, ann)
        log_out(request)
        return HttpResponse()

    first, at_once = Client(), Client()
    login("ann", PASSWORD, "192.0.2.1", first)
    first.post("/logout/")
    with site(path("own/", view), *urlpatterns):
        at_once.post("/own/")
    spend()
    assert {login("ann", PASSWORD, ELSEWHERE, browser).status_code for browser in (first, at_once)} == {302}
