"""The page of the state, and the banner on all pages, while all is well and while Redis is unavailable."""

import json
import re
import time

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse

from ratewindow.admin.state import process_line
from ratewindow.counting import minutes
from ratewindow.counting.sums import Sums
from ratewindow.health import processes
from ratewindow.identity.address import UNTRUSTED
from ratewindow.models import RateRule
from ratewindow.store import outage, process_clients, state_keys
from ratewindow.store.breaker import FAILURES_TO_OPEN

pytestmark = pytest.mark.django_db

STATE = reverse("admin:ratewindow_state")
PAGES = ["raterule_changelist", "raterule_add", "override_changelist", "override_add", "report", "state"]


@pytest.fixture(autouse=True)
def _a_new_process(monkeypatch):
    processes.reset()


def text_of(response):
    assert response.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def open_breaker():
    for _ in range(FAILURES_TO_OPEN):
        outage.breaker.failed(TimeoutError("no answer"))


def another(**told):
    name = "web|7|gunicorn|a"
    process_clients.patient_client().zadd(state_keys.processes(), {name: time.time()})
    process_clients.patient_client().set(state_keys.process(name), json.dumps({**processes.own(), **told}), px=5000)


def test_it_tells_of_the_server_the_decisions_and_every_process(admin_client):
    processes.beat()
    another(fallback={"store:timeout": 3})
    minutes.send({int(time.time()) // 60: {"p|login": Sums(passed=100, latency={"0.181": 90, "1.45": 10})}}, time.time())
    html = text_of(admin_client.get(STATE))
    assert "All processes count on Redis." in html
    for words in ("Memory", "Keys", "When memory is full"):
        assert words in html
    assert re.search(r"Half of them 0\.1\d ms", html)
    assert "web 7 gunicorn" in html
    assert "Redis did not answer in time store:timeout 3" in html


def test_a_process_that_is_degraded_is_told_apart_from_those_that_are_not(admin_client):
    another(breaker="open", degraded_since="2026-11-20T12:03:00+00:00", servers=["Redis"], error="store:timeout")
    processes.beat()
    html = text_of(admin_client.get(STATE))
    assert re.search(r"Redis unavailable \(timeout\) since .*?12:03 in 1 of 2 processes: requests pass uncounted\.", html)
    assert "Redis did not answer in time" in html
    assert "counts on Redis" in html


@pytest.mark.parametrize("page", ["raterule_changelist", "state"])
def test_the_page_of_the_documentation_that_a_warning_names_is_a_link(admin_client, page):
    address = "https://example.org/docs/developers/keys.html#addresses"
    values = {"peer": "10.0.0.1", "header": "X-Forwarded-For", "line": "[]", "page": address}
    another(warnings=[(UNTRUSTED, values)])
    assert f'<a href="{address}"' in admin_client.get(reverse(f"admin:ratewindow_{page}")).content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_the_banner_while_degraded(admin_client, page):
    RateRule.objects.define("login", "5/m")
    processes.beat()
    open_breaker()
    html = text_of(admin_client.get(reverse(f"admin:ratewindow_{page}")))
    assert html.count("Redis unavailable (timeout) since") == 1


@pytest.mark.parametrize("page", PAGES)
def test_no_page_fails_or_waits_for_a_redis_that_is_away(admin_client, settings, page):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}
    assert "Redis does not answer here" in text_of(admin_client.get(reverse(f"admin:ratewindow_{page}")))


@pytest.mark.parametrize("page", PAGES)
def test_while_the_breaker_is_open_no_page_asks_redis(admin_client, monkeypatch, page):
    open_breaker()
    monkeypatch.setattr(process_clients, "client", lambda: pytest.fail("it was asked"))
    monkeypatch.setattr(process_clients, "patient_client", lambda: pytest.fail("it was asked"))
    text_of(admin_client.get(reverse(f"admin:ratewindow_{page}")))


def test_why_redis_is_away_is_said_in_words(admin_client):
    open_breaker()
    assert "Error Redis did not answer in time" in text_of(admin_client.get(STATE))


def test_the_index_of_the_app_and_what_is_asked_before_a_deletion_have_it_too(admin_client):
    rule = RateRule.objects.define("login", "5/m")[0]
    open_breaker()
    pages = [
        admin_client.get(reverse("admin:app_list", args=["ratewindow"])),
        admin_client.get(reverse("admin:ratewindow_raterule_delete", args=[rule.pk])),
        admin_client.get(reverse("admin:ratewindow_raterule_history", args=[rule.pk])),
        admin_client.post(
            reverse("admin:ratewindow_raterule_changelist"), {"action": "delete_selected", "_selected_action": [rule.pk]}
        ),
    ]
    assert [text_of(page).count("Redis unavailable (timeout) since") for page in pages] == [1, 1, 1, 1]


def test_a_quiet_day_has_no_banner(admin_client):
    processes.beat()
    assert "rw-banner" not in admin_client.get(reverse("admin:ratewindow_raterule_changelist")).content.decode()


def test_a_process_that_has_not_needed_a_redis_that_is_away_is_not_said_to_count_on_it(admin_client, settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}
    response = admin_client.get(STATE)
    assert "counts on Redis" not in text_of(response)


def test_it_is_for_those_who_may_see_the_report(client):
    user = User.objects.create_user("ann", is_staff=True)
    client.force_login(user)
    assert client.get(STATE).status_code == 403
    user.user_permissions.set(Permission.objects.filter(codename="view_throttlestat"))
    assert client.get(STATE).status_code == 200


def test_the_link_to_it_is_for_them_too(client):
    user = User.objects.create_user("ann", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_raterule"))
    client.force_login(user)
    open_breaker()
    html = client.get(reverse("admin:ratewindow_raterule_changelist")).content.decode()
    assert "Redis unavailable (timeout) since" in html
    assert STATE not in html


def test_in_memory_there_is_no_server_to_ask(admin_client, settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "memory://"}
    text = text_of(admin_client.get(STATE))
    assert "Each process counts for itself, in memory." in text
    assert "counts in its memory" in text and "counts on Redis" not in text


def test_of_a_cluster_the_servers_are_named_that_a_process_does_not_count_on():
    away = {"breaker": "open", "servers": ["10.0.0.1:7000", "10.0.0.2:7000"], "error": "timeout", "rules": 1200}
    line = process_line({"host": "web", "pid": 7, "kind": "gunicorn", "rules_error": "The database is away.", **away})
    assert line["breaker"].startswith("does not count on 10.0.0.1:7000, 10.0.0.2:7000 since")
    assert line["rules"] == "1,200; cannot be read now"
