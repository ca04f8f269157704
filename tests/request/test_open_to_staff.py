"""Under a rule that refuses everybody staff can log in, see our pages with their style, and log out; nobody gets more by it."""

from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.staticfiles.views import serve
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import include, path, reverse

from ratewindow import ratelimit
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Decision
from ratewindow.models import Override, RateRule
from ratewindow.request import decide
from ratewindow.request.open_to_staff import FILES, LOGINS, PAGES, may_look
from ratewindow.rulebook import current, reading
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule, check_name, parse_count_when
from tests.support.staff import staff
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)

LOGIN, LOGOUT, INDEX, REPORT, RULES, JSI18N = (
    reverse(f"admin:{name}")
    for name in ("login", "logout", "index", "ratewindow_report", "ratewindow_raterule_changelist", "jsi18n")
)
STYLE = "/static/admin/css/base.css"
BROWSER = {"HTTP_ACCEPT": "text/html"}
LINK = "Open the report of rate limits"


def hold(*rules: Rule) -> None:
    """Put rules in force, without rows."""
    current.hold(Rulebook(rules, overrides=current.held().overrides), 1_000_000)


def everywhere(**fields: Any) -> Rule:
    return Rule("all", parse_rates("0/m"), **{"applies_to": "all", **fields})


def status(address: str, method: str = "get", client: Client | None = None) -> int:
    """What this client, or an anonymous one, is answered."""
    answer = getattr(client or Client(), method)(address)
    answer.close()
    return int(answer.status_code)


def passed(method: str, address: str, count: int, **extra: Any) -> int:
    """How many of so many requests of one anonymous client are not refused."""
    client = Client(REMOTE_ADDR="203.0.113.9", **extra)
    return sum(status(address, method, client) != 429 for _ in range(count))


@pytest.fixture
def boss() -> User:
    return User.objects.create_superuser("boss", password="right")


WHOLE = [
    everywhere(),
    everywhere(applies_to="prefix", pattern="/admin/"),
    everywhere(applies_to="regex", pattern="^/"),
    everywhere(key="header:x-api-key", on_missing="refuse"),
]


@pytest.mark.parametrize("rule", WHOLE, ids=lambda rule: f"{rule.applies_to}-{rule.on_missing}")
def test_staff_log_in_see_our_pages_and_log_out(boss: User, rule: Rule) -> None:
    hold(rule)
    client = Client()
    assert client.get(LOGIN).status_code == 200
    assert client.post(LOGIN, {"username": "boss", "password": "right", "next": REPORT}).headers["Location"] == REPORT
    assert [client.get(each).status_code for each in (REPORT, RULES, JSI18N, INDEX)] == [200, 200, 200, 429]
    assert client.post(LOGOUT).status_code == 302
    assert client.get(REPORT).headers["Location"].startswith(LOGIN)


async def test_the_same_on_an_event_loop(boss: User) -> None:
    hold(everywhere())
    client = AsyncClient()
    assert (await client.get(LOGIN)).status_code == 200
    assert (await client.post(LOGIN, {"username": "boss", "password": "right"})).status_code == 302
    assert [(await client.get(each)).status_code for each in (REPORT, INDEX)] == [200, 429]
    assert (await AsyncClient().get(REPORT)).headers["Location"].startswith(LOGIN)


@pytest.mark.parametrize("file", ["/static/admin/css/base.css", "/static/ratewindow/429.css"])
def test_pages_come_with_their_style_where_django_serves_it(file: str) -> None:
    hold(everywhere(), Rule("styles", parse_rates("0/m"), applies_to="path", pattern="/static/ratewindow/429.css", mode="shadow"))
    assert status(file) == 200
    assert status("/static/demo/demo.css") == 429


@pytest.mark.parametrize("permission", ["switch_limits", "view_throttlestat", "change_raterule"])
def test_our_pages_are_open_by_each_permission_that_is_of_use_there(permission: str) -> None:
    client, other = staff(permission), staff("view_override")
    hold(everywhere())
    assert client.get(JSI18N).status_code == 200
    assert other.get(JSI18N).status_code == other.get(REPORT).status_code == 429


def test_a_blocked_client_passes_only_if_it_may_switch_limits() -> None:
    clients = [staff("view_throttlestat"), staff("view_throttlestat", "switch_limits")]
    Override.objects.block("ip:127.0.0.1", rule="all")
    RateRule.objects.define("all", "9/m", applies_to="all", mode="enforce")
    reading.reload()
    assert [client.get(REPORT).status_code for client in clients] == [429, 200]
    assert [status(each) for each in (LOGIN, STYLE)] == [429, 429]


OF_LOGINS = [
    everywhere(applies_to="path", pattern=LOGIN),
    everywhere(applies_to="route", pattern="admin:login"),
    everywhere(applies_to="all", count_when=parse_count_when("login_failed")),
]


@pytest.mark.parametrize("rule", OF_LOGINS, ids=["path", "route", "failed"])
@pytest.mark.parametrize("beside", [[], [Rule("whole", parse_rates("0/m"), applies_to="all")]], ids=["alone", "beside"])
def test_a_rule_about_logins_holds(rule: Rule, beside: list[Rule]) -> None:
    hold(rule, *beside)
    assert status(LOGIN) == 429


def test_who_passes_a_rule_on_everything_is_still_counted_by_those_about_logins() -> None:
    failed = Rule("failed", parse_rates("3/h"), applies_to="path", pattern=LOGIN, count_when=parse_count_when("login_failed"))
    hold(everywhere(), failed)
    answers = [Client().post(LOGIN, {"username": "boss", "password": "wrong"}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert "r=2" in answers[0].headers["RateLimit"] and "~" not in answers[0].headers["RateLimit"]


def test_a_refusal_by_such_a_rule_is_not_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hold(everywhere(applies_to="path", pattern=LOGIN))
    asked: list[Any] = []
    decided = decide.decide
    monkeypatch.setattr(decide, "decide", lambda question, *what: asked.append(question) or decided(question, *what))
    assert status(LOGIN) == 429 and len(asked) == 1


@pytest.mark.parametrize("method", ["get", "post"])
def test_an_anonymous_client_that_hammers_passes_no_more_than_the_small_limits(method: str) -> None:
    hold(everywhere())
    assert passed(method, LOGIN, 30) == 20
    assert passed("get", LOGOUT, 5) == 0  # of the same limit
    assert passed("get", STYLE, 305) == 300
    assert Client(REMOTE_ADDR="203.0.113.10").get(LOGIN).status_code == 200


def test_a_member_of_staff_who_hammers_passes_no_more_than_the_small_limit() -> None:
    client = staff("view_throttlestat")
    hold(everywhere())
    assert sum(client.get(JSI18N).status_code == 200 for _ in range(125)) == 120


def other_login(request: HttpRequest) -> HttpResponse:
    return HttpResponse("of the shop")


class Including(AdminSite):
    """A site of the admin with an app of another kind in it."""

    def get_urls(self) -> Any:
        shop: Any = ([path("login/", other_login, name="login")], "shop")
        return [path("shop/", include(shop)), *super().get_urls()]


PATHS = [
    "/admin/login/../x",
    "/admin/login/x",
    "/admin/",
    "/login/",
    "/shop/login/",
    "/nested/shop/login/",
    "/static/admin/../demo/demo.css",
    "/static/admin/../../settings.py",
    "/static/ratewindow/../admin/css/base.css",
    "/media/admin/css/base.css",
    "/pages/static/admin/x",
    "/static/ratewindow/",
]


def test_no_other_path_is_opened_by_looking_like_these() -> None:
    shop: Any = ([path("login/", other_login, name="login")], "shop")
    routes = [
        path("admin/", admin.site.urls),
        path("nested/", Including("nested").urls),
        path("shop/", include(shop)),
        path("login/", other_login, name="login"),
        path("static/ratewindow/", other_login),
        path("static/<path:path>", serve, {"insecure": True}),
        path("media/<path:path>", serve, {"insecure": True}),
        path("pages/<path:path>", other_login),
    ]
    with site(*routes):
        hold(everywhere())
        assert {each: status(each) for each in PATHS} == dict.fromkeys(PATHS, 429)
        assert status(LOGIN) == 200


@pytest.mark.urls("tests.sites.without_admin_urls")
def test_a_site_without_our_pages_opens_nothing() -> None:
    with site(path("static/<path:path>", serve, {"insecure": True})):
        hold(everywhere())
        assert status(STYLE) == 429


class Limited(AdminSite):
    """Each view of this site of the admin is decorated."""

    def get_urls(self) -> Any:
        patterns = super().get_urls()
        for each in _all(patterns):
            each.callback = ratelimit("pages", rate="0/m", key="ip")(each.callback)
        return patterns


def _all(patterns: list[Any]) -> list[Any]:
    return [leaf for each in patterns for leaf in (_all(each.url_patterns) if hasattr(each, "url_patterns") else [each])]


@pytest.mark.parametrize("with_middleware", [True, False])
def test_decorators_around_all_views_of_the_admin_are_such_a_rule(boss: User, with_middleware: bool) -> None:
    limited = Limited()
    limited._registry = {model: type(each)(model, limited) for model, each in admin.site._registry.items()}
    middleware = [] if with_middleware else ["ratewindow.middleware.RateWindowMiddleware"]
    left = [each for each in settings.MIDDLEWARE if each not in middleware]
    with site(path("admin/", limited.urls)), override_settings(MIDDLEWARE=left):
        client = Client()
        assert client.get(LOGIN).status_code == 200
        client.force_login(boss)
        assert [client.get(each).status_code for each in (REPORT, INDEX)] == [200, 429]
        assert passed("get", LOGIN, 25) == 20


def test_a_decorated_login_is_a_rule_about_the_login() -> None:
    plain = AdminSite()
    decorated: Any = ratelimit("at-login", rate="0/m", key="ip")(plain.login)
    plain.login = decorated  # type: ignore[method-assign]
    plain._registry = {model: type(each)(model, plain) for model, each in admin.site._registry.items()}
    with site(path("admin/", plain.urls)):
        assert status(LOGIN) == 429


@pytest.mark.parametrize(("on_error", "login"), [("refuse", 503), ("local", 200), ("allow", 200)])
def test_without_redis_the_rule_that_refuses_says_what_holds(on_error: str, login: int) -> None:
    client = staff("view_throttlestat")
    with override_settings(RATEWINDOW={"REDIS": "redis://127.0.0.1:1/0", "LOCAL_PROCESSES": 2}):
        hold(everywhere(on_error=on_error))
        assert status(LOGIN) == login
        assert client.get(JSI18N).status_code == 200
        if on_error == "local":
            assert passed("get", LOGIN, 30) == 10


def test_a_request_that_no_rule_refuses_does_not_ask_for_the_small_limits(redis_client: Any) -> None:
    hold(Rule("free", parse_rates("9/m"), applies_to="all"))
    assert status(LOGIN) == 200
    assert len(redis_client.keys("*:s:*")) == 1


def test_the_page_of_a_refusal_links_to_the_report_for_staff_who_may_look_at_it() -> None:
    hold(everywhere())
    pages = {each: staff(each).get(INDEX, **BROWSER).content.decode() for each in ("view_throttlestat", "view_override")}
    assert f'<a href="{REPORT}">{LINK}</a>' in pages["view_throttlestat"]
    assert LINK not in pages["view_override"] and LINK not in Client().get(INDEX, **BROWSER).content.decode()
    assert LINK not in staff("view_throttlestat").get(INDEX).content.decode()


def test_outside_the_admin_it_does_so_where_the_user_is_known() -> None:
    client = staff("view_throttlestat")
    hold(everywhere())
    assert LINK not in client.get("/search/", **BROWSER).content.decode()
    hold(everywhere(key="user"))
    assert LINK in client.get("/search/", **BROWSER).content.decode()


@pytest.mark.parametrize("address", [INDEX, "/search/", LOGIN, REPORT])
def test_refusing_an_anonymous_visitor_makes_no_query(address: str) -> None:
    hold(everywhere())
    passed("get", LOGIN, 25)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        answer = Client(REMOTE_ADDR="203.0.113.9").get(address, **BROWSER)
    assert answer.status_code == 429 and not len(queries)


def test_a_session_that_nobody_has_costs_a_query_in_the_admin_alone() -> None:
    hold(everywhere())
    client = Client()
    client.cookies["sessionid"] = "made-up"
    with CaptureQueriesContext(connection) as queries:
        client.get("/search/", **BROWSER)
    assert not len(queries)


def test_nobody_can_give_a_rule_one_of_their_names() -> None:
    for rule in (LOGINS, FILES, PAGES):
        with pytest.raises(ValueError, match="is not a rule name"):
            check_name(rule.name)


def test_the_report_does_not_count_them() -> None:
    hold(everywhere())
    assert Client().get(LOGIN).wsgi_request.ratewindow.decisions == ()  # type: ignore[attr-defined]


def test_a_user_of_another_kind_or_none_is_no_error() -> None:
    class Away:
        @property
        def is_staff(self) -> bool:
            raise DatabaseError

    request = RequestFactory().get(REPORT)
    assert not may_look(request, Decision())
    for user in (AnonymousUser(), object(), Away()):
        request.user = user  # type: ignore[assignment]
        assert not may_look(request, Decision())
