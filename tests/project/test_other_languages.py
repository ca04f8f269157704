"""In another language no page of the admin says a word of English, in whatever state it is."""

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import models
from django.contrib.auth.models import Permission, User
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path, reverse

from ratewindow import hit
from ratewindow.contrib.backtest.logs.formats import FORMATS as LOG_FORMATS
from ratewindow.contrib.history.models import Edit
from ratewindow.health import processes
from ratewindow.identity import address
from ratewindow.limiter.problem import Problem
from ratewindow.models import RateRule
from ratewindow.operations import switch_off
from ratewindow.rulebook import reading
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import CodeRate
from ratewindow.start.presets import kinds
from ratewindow.store import process_clients, state_keys
from tests.contrib.backtest.support import pages as backtest_pages
from tests.support import override_pages, rule_pages
from tests.support.busy_site import counts, overrides, rules
from tests.support.log_files import a_day, line
from tests.support.override_pages import typed_above_the_list
from tests.support.pseudo_locale import untranslated, wide, wide_letters
from tests.support.rule_pages import define, typed

pytestmark = pytest.mark.django_db

PRODUCTS = "Redis|Valkey|YAML|JSON|UTC|RE2|kB|gunicorn|GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS"
VALUES = "noeviction|timeout|always|shadow, enforce, off|blocks|internal|script|user|session|global|network"
FIELDS = "username|email|docs|(limit|period)(?=:)|rules?(?=[:?])|key(?=[?])|(?<=" + wide("such as") + " )(name|limit)"
PARTS = "|".join({part.name for kind in kinds() for part in kind.parts if part.name})
PRESETS = "|".join(rf"{kind.name}(\.({PARTS}))?" for kind in kinds())
FORMATS = "|".join(LOG_FORMATS)  # of logs
DATA = re.compile(  # what pages show that is no text
    "|".join(
        [
            rf"\b({PRODUCTS}|{VALUES}|{FIELDS}|{PRESETS})\b",
            rf"^\s*({FORMATS})\s*$",
            r"redis://\S+|/[\w./-]+|\b[a-z_]+:[\w.:#-]+",  # addresses, paths, and what has a kind
            r"\b\w+_\w+\b|manage\.py ratewindow( mode \w+ off| backtest)?",
            r"'[^'\uFF21-\uFF5A]*'",  # what somebody typed
            r"ip, user, .*?:NAME(?=, [^ ]+ [^ ]+ )",  # all keys
            r'rules\S*( "\w+")?( [a-z][\w\[\].]*)*:',  # places in a document
            r"\([a-z].*?\)(?=: .*RE2|: " + wide("write it") + ")",  # the library's own reason
        ]
    )
)


def _view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


urlpatterns = [path("admin/", admin.site.urls), path("x/", _view, name="x1"), path("api/x/<int:n>/", _view, name="x2")]


@pytest.fixture(autouse=True)
def _another_language(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With one rate in code, given by a function, and no names that other tests give."""
    monkeypatch.setattr(socket, "gethostname", lambda: "h1")
    monkeypatch.setattr(processes, "kind", lambda: "gunicorn")
    processes.reset()
    uses = {"c1": {CodeRate("c1", len, "ip", frozenset(), code_rates.SOME_METHOD)}}
    monkeypatch.setattr(code_rates, "_uses", {**uses, "c2": {CodeRate("c2", None, "ip", frozenset(), code_rates.A_CALL)}})
    with override_settings(ROOT_URLCONF=__name__), wide_letters():
        yield


@pytest.fixture
def page() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="u1", is_staff=True, is_superuser=True))
    return client


def said(response: Any) -> list[str]:
    """What the page says in English; empty if it is translated."""
    assert response.status_code == 200, response
    return untranslated(response.content.decode(), DATA)


def url(name: str, *args: Any) -> str:
    return reverse(f"admin:ratewindow_{name}", args=args)


PAGES = (
    "report",
    "state",
    "switch",
    "history_edit_changelist",
    "explain",
    "backtest",
    "raterule_changelist",
    "raterule_add",
    "raterule_ready",
    "override_changelist",
    "override_add",
    "override_release",
    "alerts_alertchannel_changelist",
    "alerts_alertchannel_add",
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_an_empty_site(page: Client, name: str) -> None:
    assert said(page.get(url(name))) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_a_busy_site(page: Client, name: str) -> None:
    rules()
    overrides()
    counts()
    switch_off.turn_off(3600, "?", "u1")
    assert said(page.get(url(name))) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_while_redis_is_away(page: Client, name: str, settings: Any) -> None:
    rules()
    overrides()
    settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0", "ON_ERROR": "local"}
    answered = page.get(url(name))
    assert [line for line in said(answered) if "Connection refused" not in line] == []


def test_the_first_pages(page: Client) -> None:
    assert said(page.get(reverse("admin:index"))) == said(page.get(reverse("admin:app_list", args=["ratewindow"]))) == []


@pytest.mark.parametrize("client", [{"address": "203.0.113.9"}, {"user": "42"}, {"user": "no"}, {"address": "no"}], ids=str)
def test_explaining_a_request(page: Client, client: dict[str, str]) -> None:
    rules()
    overrides()
    reading.reload()
    for visit in ("/x/", "/api/x/1/", "/no/", "no"):
        assert said(page.get(url("explain"), {"method": "POST", "path": visit, **client})) == []


def test_explaining_a_code(page: Client) -> None:
    RateRule.objects.define("r1", "0/s", path="/x/", mode="enforce")
    reading.reload()
    refused = hit("r1", "ip:203.0.113.9")
    for code in (refused.id, "zzzzz"):
        answered = page.get(url("explain"), {"code": code})
        answered.content = answered.content.replace(code.encode(), b"5")  # its letters may look like a word
        assert said(answered) == []


def test_the_state_of_several_processes_each_with_a_problem(page: Client) -> None:
    numbers, words = {"count": 99, "requests": 100}, {"header": "x", "page": "docs/", "line": "[]"}
    values = {**numbers, **words, "peer": "10.0.0.1", "client": "10.0.0.2"}
    warnings = [(address.UNTRUSTED, values)]
    away = {"breaker": "open", "degraded_since": "2026-11-20T12:03:00+00:00", "servers": ["Redis"], "error": "store:timeout"}
    failing = {"fallback": {"store:timeout": 30, "internal": 3}, "lately": {"decisions": 90, "failed": {"store:script": 30}}}
    states = [away, failing, {"secret": "s2"}, {"rules_error": "?", "rules_read": None}, {"switch": "off"}]
    client, now_s = process_clients.patient_client(), time.time()
    for number, state in enumerate(states):
        name = f"w{number}|{number}|gunicorn|{number}"
        told = {**processes.own(), "warnings": warnings, **state}
        client.zadd(state_keys.processes(), {name: now_s})
        client.set(state_keys.process(name), json.dumps(told), px=60_000)
    client.zadd(state_keys.processes(), {"w9|9|gunicorn|9": now_s - 20})
    processes.beat()
    counts()
    assert said(page.get(url("state"))) == []


def test_the_state_of_rules_that_cannot_be_read(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading._progress, "problem", Problem(reading._UNREAD, error="?"))
    assert said(page.get(url("state"))) == []


def test_the_form_of_each_rule(page: Client) -> None:
    counts()
    for rule in rules():
        assert said(page.get(rule_pages.change(rule))) == []
        assert said(page.get(url("raterule_history", rule.pk))) == []
    assert said(page.get(url("raterule_delete", rule.pk))) == []
    assert said(page.post(rule_pages.LIST, {"action": "delete_selected", "_selected_action": [rule.pk]})) == []


def test_the_form_of_a_rule_that_is_wrong_in_the_database(page: Client) -> None:
    rule = define("r1", path="/x/", mode="enforce")
    RateRule.objects.filter(pk=rule.pk).update(key="shoe:1", pattern="x", methods="G T", count_when="never")
    reading.reload()
    left = said(page.get(rule_pages.change(rule))) + said(page.get(rule_pages.LIST))
    assert [line for line in left if "shoe" not in line and "trying passwords" not in line] == []


WRONG: tuple[dict[str, str], ...] = (
    {"name": "R 1"},
    {"name": "blocks"},
    {"name": ""},
    {"pattern": "x"},
    {"pattern": "/X%41/"},
    {"pattern": ""},
    {"applies_to": "regex", "pattern": "("},
    {"applies_to": "regex", "pattern": "a{1000}{1000}"},
    {"applies_to": "all", "pattern": "/x/"},
    {"methods": "G@T"},
    {"methods": "GTE"},
    {"key": "shoe"},
    {"key": "header:"},
    {"key": "ip+"},
    {"cost": "-1"},
    {"cost": "9" * 30},
    {"penalty": "5"},
    {"penalty": "1 month"},
    {"count_when": "999"},
    {"response_status": "200"},
    {"windows-0-limit": "x"},
    {"windows-0-limit": ""},
    {"windows-0-period": "5"},
    {"windows-0-period": "0s"},
    {"windows-0-algorithm": "fixed_window", "windows-0-aligned_to": "week"},
    {"windows-0-algorithm": "token_bucket", "windows-0-burst": "0"},
    {"windows-0-buckets": "100000"},
)


@pytest.mark.parametrize("fields", WRONG, ids=lambda fields: " ".join(f"{name}={value}" for name, value in fields.items())[:60])
def test_the_form_of_a_rule_with_an_error(page: Client, fields: dict[str, str]) -> None:
    answered = page.post(rule_pages.ADD, {**typed(("5", "1m"), ("20", "1h"), name="r1", pattern="/x/"), **fields})
    assert [line for line in said(answered) if line != "GTE: GTE"] == []  # the method that was sent


def test_the_form_of_a_saved_rule_with_an_error_in_its_mode(page: Client) -> None:
    rule = define("r1", path="/x/")
    data = typed(("5", "1m"), stored=rule, pattern="/x/", mode="enforce", enforce_percent="0")
    assert said(page.post(rule_pages.change(rule), data)) == []


def test_the_questions_before_a_rule_is_enforced_or_locks_staff_out(page: Client) -> None:
    chosen = {"_selected_action": [rule.pk for rule in rules()[:3]]}
    counts()
    for action in ("enforce", "switch_off"):
        assert said(page.post(rule_pages.LIST, {"action": action, **chosen}, follow=True)) == []
    everything = typed(("0", "1m"), name="r9", applies_to="all", pattern="", mode="enforce")
    assert said(page.post(rule_pages.ADD, everything)) == []
    assert said(page.post(rule_pages.ADD, {**everything, "mode": "shadow"}, follow=True)) == []
    done = page.post(rule_pages.LIST, {"action": "shadow", **chosen}, follow=True)
    assert said(done) == []


def test_the_form_of_each_block_and_exemption(page: Client) -> None:
    for row in overrides():
        assert said(page.get(override_pages.change(row))) == []
        assert said(page.get(url("override_history", row.pk))) == []
    User.objects.filter(username="u1").update(is_superuser=False)
    User.objects.get().user_permissions.set(Permission.objects.filter(codename__in=["view_override", "view_raterule"]))
    assert said(page.get(override_pages.change(row))) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"identity": "x"},
        {"identity": ""},
        {"identity": "1"},
        {"identity": "g1"},
        {"identity": "10.0.0.0.1"},
        {"identity": "ip:10.0.0.0/99"},
        {"identity": "user:x"},
        {"identity": "shoe:1"},
        {"identity": "group:g1+user:1"},
        {"identity": "*"},
        {"identity": "127.0.0.1"},
        {"identity": "ip:203.0.113.9"},
        {"identity": "a@b.cc"},
        {"rule": "R 1"},
        {"rule": "r9"},
        {"lasts": "x"},
        {"lasts": "1h", "expires_at_0": "2000-01-01", "expires_at_1": "10:00"},
        {"lasts": "", "expires_at_0": "2000-01-01", "expires_at_1": "10:00"},
        {"lasts": "99999w"},
        {"action": "rate", "rate": "x"},
        {"action": "rate", "rate": ""},
        {"rate": "5/m"},
    ],
    ids=str,
)
def test_the_forms_of_a_block_with_an_error(page: Client, fields: dict[str, str]) -> None:
    models.Group.objects.create(name="g1")
    for name in ("u2", "u3"):
        User.objects.create(username=name, email="a@b.cc")
    overrides()
    for answered in (
        page.post(override_pages.ADD, override_pages.typed(**fields), follow=True),
        page.post(override_pages.ADD, typed_above_the_list(**fields), follow=True),
    ):
        typed = ("shoe", "trying passwords", "scraping")
        assert [line for line in said(answered) if not any(text in line for text in typed)] == []


def test_ending_and_releasing(page: Client) -> None:
    assert said(page.post(override_pages.quick("end", overrides()[2]), follow=True)) == []
    rules()
    for sent in ({"identity": "ip:203.0.113.9", "rule": "r6"}, {"identity": "user:42"}, {"identity": "user:42", "rule": "no"}):
        assert said(page.post(url("override_release"), {"reason": "?", **sent}, follow=True)) == []


def test_each_edit_and_each_way_back(page: Client) -> None:
    rules()
    overrides()
    RateRule.objects.get(name="r2").delete()
    for edit in Edit.objects.all():
        assert said(page.get(url("history_edit_change", edit.pk))) == []


@pytest.fixture
def log_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a log says, and how limits are written, is no text."""
    more = rf"|access\.log|curl/\d|#[\w-]{{5,}}|log_format|(?<!\w)({FORMATS})(?!\w)|(?<={wide('Rule')} )backtest"
    monkeypatch.setitem(globals(), "DATA", re.compile(DATA.pattern + more))


@pytest.mark.usefixtures("log_data")
class TestBacktest:
    def test_of_a_day(self, page: Client) -> None:
        assert said(backtest_pages.sent(page, a_day(), rates="30/m")) == []

    def test_of_one_of_the_rules(self, page: Client) -> None:
        rules()
        overrides()
        assert said(backtest_pages.sent(page, a_day(), decides="r1")) == []

    def test_of_few_requests_of_none_and_of_such_as_cannot_be_read(self, page: Client) -> None:
        few = [line(each) for each in range(30)]
        for lines in ([line(0)], ["?"], [*few, "?"], [*few, *["?"] * 9]):
            assert said(backtest_pages.sent(page, lines)) == []
        assert said(backtest_pages.sent(page, [line(0, path="/no/")])) == []
        assert said(backtest_pages.sent(page, [line(0, status=429)])) == []

    @pytest.mark.parametrize(
        "fields",
        [
            {"rates": "?"},
            {"rates": ""},
            {"path": "?"},
            {"rule": "?"},
        ],
        ids=str,
    )
    def test_with_an_error(self, page: Client, fields: dict[str, str]) -> None:
        assert said(backtest_pages.sent(page, [line(0)], **fields)) == []


def test_words_outside_a_message_are_found() -> None:
    html: Callable[[str], str] = "<p>{}</p>".format
    assert untranslated(html("ｗｉｄｅ ip:1 glued on"), DATA) == ["glued: wide ip:1 glued on"]
    assert untranslated(html("ｗｉｄｅ /login/ GET"), DATA) == []
