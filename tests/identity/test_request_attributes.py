"""Keys without a name: users, sessions, routes, paths, methods."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends import cache, cached_db, db, file, signed_cookies
from django.db import OperationalError
from django.http import HttpRequest
from django.test import AsyncClient, AsyncRequestFactory, Client, RequestFactory

from ratewindow.identity import recipe
from ratewindow.identity.request_attributes import load_session
from ratewindow.models import RateRule
from tests.support.doors import behind_middleware, decorated, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)


def request(path: str = "/", method: str = "GET", **attributes: Any) -> HttpRequest:
    made = RequestFactory().generic(method, path, REMOTE_ADDR="203.0.113.9")
    vars(made).update(attributes)
    return made


def who(key: str, *arguments: Any, **attributes: Any) -> str | None:
    return recipe(key).identity(request(*arguments, **attributes))


class TestUser:
    def test_an_anonymous_user_is_missing_whatever_his_key_says(self) -> None:
        anonymous = AnonymousUser()
        anonymous.id = anonymous.pk = 1  # type: ignore[assignment, misc]
        assert who("user", user=anonymous) is None

    def test_a_user_that_is_stored_nowhere_is_missing_and_not_one_with_all_others(self) -> None:
        assert who("user", user=User(username="new")) is None

    def test_a_user_without_a_primary_key_is_missing(self) -> None:
        class Machine:
            is_authenticated = True

        assert who("user", user=Machine()) is None

    def test_an_empty_user_name_locks_nobody_else_out(self) -> None:
        RateRule.objects.define("login", "1/h", path="/login/", key="post:username", mode="enforce")
        site = behind_middleware(plain(False))

        def status(name: str, address: str) -> int:
            form = {"data": f"username={name}", "content_type": "application/x-www-form-urlencoded"}
            return get(site, "/login/", "POST", REMOTE_ADDR=address, **form).status_code

        assert [status("", "203.0.113.1"), status("", "203.0.113.1")] == [200, 429]  # by address
        assert [status("", "203.0.113.2"), status("ann", "203.0.113.1")] == [200, 200]

    def test_sessions_that_cannot_be_read_make_the_user_missing_with_one_logged_error(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Away:
            @property
            def is_authenticated(self) -> bool:
                raise OperationalError("no database")

        for _ in range(3):
            assert who("user", user=Away()) is None
            assert who("user_or_ip", user=Away()) == "ip:203.0.113.9"
        (record,) = caplog.records
        assert "the key function of user (the site's authentication) failed, requests count as if" in record.getMessage()

    def test_logging_in_does_not_begin_the_limit_of_the_address_anew(self) -> None:
        User.objects.create_user("ann", password="secret")
        RateRule.objects.define("all", "3/h", applies_to="all", mode="enforce")
        client = Client()
        assert [client.get("/search/").status_code for _ in range(2)] == [200, 200]
        assert client.post("/login/", {"username": "ann", "password": "secret"}).status_code == 302
        assert client.get("/search/").status_code == 429


class TestSession:
    @pytest.mark.parametrize("backend", [db, cached_db, cache, file])
    @pytest.mark.parametrize("data", [{}, {"basket": 1}])
    def test_a_session_that_exists_is_a_client(self, backend: Any, data: dict[str, Any]) -> None:
        made = backend.SessionStore()
        made.update(data)
        made.create() if not data else made.save()
        again = backend.SessionStore(made.session_key)
        assert who("session", session=again) == f"session:{made.session_key}"
        assert dict(again.items()) == data

    @pytest.mark.parametrize("backend", [db, cached_db, cache, file, signed_cookies])
    @pytest.mark.parametrize("key", [None, "", "x", "a" * 32, "a" * 5000, "\x00" * 32])
    def test_a_key_that_a_client_made_up_is_missing_and_begins_no_session(self, backend: Any, key: str | None) -> None:
        made = backend.SessionStore(key)
        assert who("session", session=made) is None
        assert not made.modified

    def test_a_session_in_a_signed_cookie_is_missing_for_each_change_makes_another_key(self) -> None:
        made = signed_cookies.SessionStore()
        made["basket"] = 1
        made.save()
        assert who("session", session=signed_cookies.SessionStore(made.session_key)) is None

    def test_sessions_of_another_make_need_only_a_key(self) -> None:
        made = AsyncRequestFactory().get("/")
        made.session = SimpleNamespace(session_key="abc")
        asyncio.run(load_session(made))
        assert recipe("session").identity(made) == "session:abc"

    def test_without_sessions_it_is_missing(self) -> None:
        assert who("session") is None

    def test_dropping_the_cookie_each_time_is_no_new_client_each_time(self) -> None:
        RateRule.objects.define("browse", "2/h", path="/search/", key="session", mode="enforce")
        assert [Client().get("/search/").status_code for _ in range(4)] == [200, 200, 429, 429]

    def test_making_up_a_cookie_each_time_is_no_new_client_each_time(self) -> None:
        RateRule.objects.define("browse", "2/h", path="/search/", key="session", mode="enforce")
        answers = [Client(headers={"cookie": f"sessionid={n:032d}"}).get("/search/") for n in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
        assert {answer.cookies["sessionid"].value for answer in answers} == {""}  # Django takes it back

    def test_a_browser_with_a_session_counts_by_it(self) -> None:
        RateRule.objects.define("browse", "2/h", path="/search/", key="session", mode="enforce")
        first, second = Client(), Client()
        for client in (first, second):
            client.force_login(User.objects.get_or_create(username="ann")[0])
        assert [first.get("/search/").status_code for _ in range(3)] == [200, 200, 429]
        assert second.get("/search/").status_code == 200

    async def test_under_asgi_the_session_is_loaded_without_blocking_the_loop(self) -> None:
        from asgiref.sync import sync_to_async

        await sync_to_async(RateRule.objects.define)("browse", "2/h", path="/slow/", key="session", mode="enforce")
        client, stranger = AsyncClient(), AsyncClient()
        await client.aforce_login(await User.objects.acreate(username="ann"))
        assert [(await client.get("/slow/")).status_code for _ in range(3)] == [200, 200, 429]
        assert (await stranger.get("/slow/")).status_code == 200

    def test_sessions_that_cannot_be_read_are_missing_with_one_logged_error(self, caplog: pytest.LogCaptureFixture) -> None:
        class Away(db.SessionStore):
            def load(self) -> Any:
                raise OperationalError("no database")

            async def aload(self) -> Any:
                raise OperationalError("no database")

        for _ in range(3):
            assert who("session", session=Away("a" * 32)) is None
        made = AsyncRequestFactory().get("/")
        made.session = Away("a" * 32)
        asyncio.run(load_session(made))
        (record,) = caplog.records
        assert "the key function of session (the site's sessions) failed, requests count as if" in record.getMessage()


class TestRoute:
    def test_every_path_of_a_route_is_one_client(self) -> None:
        assert who("route", "/api/orders/1/") == who("route", "/api/orders/2/") == "route:order"
        assert who("route", "/api/orders/") == "route:orders"

    def test_a_path_that_leads_nowhere_has_no_route_and_is_no_path(self, settings: Any) -> None:
        settings.ROOT_URLCONF = "tests.serving.site.urls"
        assert who("path", "/sync/") == "path:/sync/"
        assert who("route", "/nowhere/") is who("path", "/nowhere/") is None

    def test_a_flood_of_paths_that_lead_nowhere_makes_one_key(self, settings: Any, redis_client: Any) -> None:
        settings.ROOT_URLCONF = "tests.serving.site.urls"
        RateRule.objects.define("each.path", "50/m", applies_to="all", key="path", mode="enforce")
        RateRule.objects.define("each.route", "50/m", applies_to="all", key="ip+route", mode="enforce")
        site = behind_middleware(plain(False))
        assert {get(site, f"/nowhere/{number}/").status_code for number in range(50)} == {200}
        assert get(site, "/nowhere/again/").status_code == 429
        assert len(redis_client.keys("rw:s:*")) == 2  # one for each rule, by address


class TestMethod:
    def test_a_method_is_a_client_and_head_is_get(self) -> None:
        assert who("method", "/", "POST") == "method:POST"
        assert who("method", "/", "HEAD") == who("method", "/", "GET") == "method:GET"

    def test_methods_that_a_client_makes_up_are_one(self) -> None:
        assert who("method", "/", "MADEUP") == who("method", "/", "GET/1") == "method:OTHER"

    def test_the_header_that_overrides_methods_is_ignored(self) -> None:
        view = decorated(False, rate="1/m", key="method")
        assert [get(view, headers={"X-HTTP-Method-Override": each}).status_code for each in ("PUT", "DELETE")] == [200, 429]


def test_another_host_each_time_is_no_new_client_each_time() -> None:
    view = decorated(False, rate="2/m")
    assert [get(view, headers={"host": f"{n}.example.com"}).status_code for n in range(4)] == [200, 200, 429, 429]


def test_a_thousand_made_up_api_keys_are_bounded_by_a_rule_for_the_address_beside_theirs(redis_client: Any) -> None:
    RateRule.objects.define("by.key", "5/m", path="/api/", key="header:x-api-key", mode="enforce")
    RateRule.objects.define("by.address", "20/m", path="/api/", key="ip", mode="enforce")
    site = behind_middleware(plain(False))
    passed = [get(site, "/api/", headers={"x-api-key": f"key {n}"}).status_code for n in range(1000)].count(200)
    assert passed == 20
    assert len(redis_client.keys("rw:s:*")) == 21  # what is refused leaves nothing behind


def test_everybody_together_is_one_client() -> None:
    view = decorated(False, rate="2/m", key="global")
    assert [statuses(view, 1, REMOTE_ADDR=f"203.0.113.{n}") for n in range(3)] == [[200], [200], [429]]
