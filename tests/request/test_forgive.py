"""Rules that delete what they have counted for a client once it succeeds."""

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import authenticate, login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, override_settings

import ratewindow
from ratewindow import ratelimit
from ratewindow.models import RateRule
from ratewindow.store import stores
from ratewindow.testing import Rule, override_rules
from tests.support.count_by_answer import answering, define, used
from tests.support.doors import behind_middleware, get, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
held = pytest.mark.parametrize("hold", [False, True], ids=["looked", "held"])


@pytest.fixture
def ann() -> User:
    return User.objects.create_superuser("ann", password="right")


def sent(password: str) -> dict[str, str]:
    return {"username": "ann", "password": password}


@pytest.mark.usefixtures("ann")
class TestLogins:
    @held
    def test_a_login_that_succeeds_deletes_the_failures_before_it(self, hold: bool) -> None:
        define("login", "3/h", "login_failed", path="/login/", methods="POST", hold=hold, forgive=True)
        told = [Client().post("/login/", sent(word)).status_code for word in ("no", "no", "right", "no", "no", "no", "right")]
        assert told == [200, 200, 302, 200, 200, 200, 429]

    @held
    async def test_the_same_through_asgi(self, hold: bool) -> None:
        await sync_to_async(define)("login", "3/h", "login_failed", path="/login/", hold=hold, forgive=True)
        words = ("no", "no", "right", "no", "no", "no", "no")
        told = [(await AsyncClient().post("/login/", sent(word))).status_code for word in words]
        assert told == [200, 200, 302, 200, 200, 200, 429]

    def test_that_no_login_was_tried_is_no_success(self) -> None:
        """Else whoever guesses opens the page, or sends it without a password, after each guess."""
        define("login", "3/h", "login_failed", path="/login/", forgive=True)
        client = Client()
        for _ in range(3):
            client.post("/login/", sent("no"))
            client.get("/login/")
            client.post("/login/", {"username": "ann"})
        assert used(3) == 3

    def test_a_login_that_succeeds_after_one_that_failed_in_the_same_request_is_none(self) -> None:
        define("login", "9/h", "login_failed", prefix="/", forgive=True)

        def view(request: HttpRequest) -> HttpResponse:
            authenticate(request, **sent("no"))
            user = authenticate(request, **sent("right"))
            request.session = Client().session  # type: ignore[assignment]
            login(request, user)  # type: ignore[arg-type]
            return HttpResponse()

        statuses(behind_middleware(view), 2)
        assert used(9) == 2

    def test_the_count_of_another_rule_and_of_another_client_stay(self) -> None:
        define("login", "9/h", "login_failed", path="/login/", forgive=True)
        define("other", "9/h", "login_failed", path="/login/")
        for word, address in (("no", "192.0.2.1"), ("no", "192.0.2.2"), ("right", "192.0.2.1")):
            Client(REMOTE_ADDR=address).post("/login/", sent(word))
        found = [ratewindow.peek(rule, f"ip:192.0.2.{number}").remaining for rule in ("login", "other") for number in (1, 2)]
        assert found == [9, 8, 8, 8]


class TestStatuses:
    @is_async
    @pytest.mark.parametrize(("status", "left_over"), [(200, 0), (302, 0), (404, 2), (500, 2), (401, 3)])
    def test_an_answer_below_400_that_does_not_count_is_a_success(self, is_async: bool, status: int, left_over: int) -> None:
        define("login", "5/h", "401", prefix="/", forgive=True)
        statuses(behind_middleware(answering(401, is_async)), 2)
        assert statuses(behind_middleware(answering(status, is_async)), 1) == [status]
        assert used(5) == left_over

    @is_async
    def test_code_says_it_as_a_row_does(self, is_async: bool) -> None:
        words = iter([401, 401, 200, 401, 401, 401, 401])

        def view(request: HttpRequest) -> HttpResponse:
            return HttpResponse(status=next(words))

        async def aview(request: HttpRequest) -> HttpResponse:
            return view(request)

        limited = ratelimit("in.code", "3/h", count_when="401", forgive=True, penalty="1m; 5m")(aview if is_async else view)
        assert statuses(limited, 7) == [401, 401, 200, 401, 401, 401, 429]

    def test_a_view_that_raises_has_not_succeeded(self) -> None:
        define("login", "5/h", "401", prefix="/", forgive=True)
        statuses(behind_middleware(answering(401)), 2)

        def broken(request: HttpRequest) -> HttpResponse:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            get(behind_middleware(broken))
        assert used(5) == 2

    def test_in_shadow_what_would_be_refused_is_not_forgiven(self) -> None:
        define("login", "2/h", "401", "shadow", prefix="/", forgive=True)
        statuses(behind_middleware(answering(401)), 2)
        statuses(behind_middleware(answering(200)), 1)
        assert used(2) == 2

    @is_async
    def test_the_next_lock_out_is_the_first_again(self, is_async: bool) -> None:
        wrong, right = behind_middleware(answering(401, is_async)), behind_middleware(answering(200, is_async))
        rule = Rule("login", "1/s", prefix="/", count_when="401", forgive=True, penalty="1m; 1h")
        waits = []
        with override_rules(rule) as rules:
            for view in (wrong, wrong, right):
                assert get(view).status_code != 429
                waits.append(get(wrong).headers.get("Retry-After"))
                rules.travel("2h")
        assert waits == ["60", "3600", None]
        with override_rules(rule) as rules:
            statuses(wrong, 2)
            rules.travel("2h")
            statuses(right, 1)
            assert [get(wrong).headers.get("Retry-After") for _ in range(2)] == [None, "60"]


class TestWithoutRedis:
    @is_async
    def test_a_success_is_no_error_and_what_was_counted_stays(self, is_async: bool) -> None:
        define("login", "5/h", "401", prefix="/", forgive=True)
        statuses(behind_middleware(answering(401, is_async)), 2)
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
            assert statuses(behind_middleware(answering(200, is_async)), 2) == [200, 200]
        assert used(5) == 2

    def test_a_redis_that_goes_away_before_the_answer_is_no_error_either(self, caplog: pytest.LogCaptureFixture) -> None:
        define("login", "5/h", "401", prefix="/", forgive=True)
        override = override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"})

        def view(request: HttpRequest) -> HttpResponse:
            override.enable()
            return HttpResponse()

        try:
            assert get(behind_middleware(view)).status_code == 200
        finally:
            override.disable()
        assert "counts could not be deleted" in caplog.text


@pytest.mark.parametrize(("forgive", "calls"), [(False, 0), (True, 1)])
def test_only_a_rule_that_says_so_costs_a_call(monkeypatch: pytest.MonkeyPatch, forgive: bool, calls: int) -> None:
    define("login", "5/h", "401", prefix="/", forgive=forgive)
    store, made = stores.store(), []
    monkeypatch.setattr(type(store), "reset", lambda self, keys: made.append(keys))
    statuses(behind_middleware(answering(200)), 1)
    assert len(made) == calls


def test_what_counts_every_request_has_no_success() -> None:
    with pytest.raises(ValueError, match="every request counts, so nothing is refunded or forgiven"):
        RateRule.objects.define("login", "5/h", forgive=True)
    with pytest.raises(ValueError, match="every request counts, so nothing is refunded or forgiven"):
        ratelimit("login", "5/h", forgive=True)
    with pytest.raises(TypeError, match="hit\\(\\) has no argument 'forgive'"):
        ratewindow.hit("login", "user:42", rate="5/h", forgive=True)  # type: ignore[call-overload]
