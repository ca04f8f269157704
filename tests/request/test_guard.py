"""What is kept of a request that passes several guards, or is refused by one."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import redis
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

import ratewindow
from ratewindow import RateLimited, ratelimit
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.limiter.types import Decision
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule
from ratewindow.request import guard
from ratewindow.rulebook import reading
from ratewindow.signals import throttled
from ratewindow.store import stores
from tests.support.doors import answer, behind_middleware, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, str]]]:
    """Rule and outcome of all decisions that are counted for the report, a list for each request."""
    told: list[list[tuple[str, str]]] = []

    def record(decisions: Iterable[Decision], stats: bool, who: object, status: int = 0) -> None:
        told.append([(each.rule, each.outcome) for each in decisions])

    monkeypatch.setattr(guard.counters, "record", record)
    return told


@is_async
def test_refused_requests_are_counted_too(is_async: bool, recorded: list[list[tuple[str, str]]]) -> None:
    view = ratelimit("login", "1/m")(plain(is_async))
    assert statuses(view, 2) == [200, 429]
    assert recorded == [[("login", "passed")], [("login", "refused")]]


@is_async
def test_a_refusal_that_did_not_block_is_not_forgotten_by_the_next_guard(is_async: bool) -> None:
    seen: list[HttpRequest] = []
    view = ratelimit("tight", "1/m", block=False)(ratelimit("wide", "10/m")(plain(is_async, seen)))
    assert statuses(view, 2) == [200, 200]
    decision: Decision = seen[1].ratewindow  # type: ignore[attr-defined]
    assert (decision.allowed, decision.rule) == (False, "tight")
    assert {part.rule for part in decision.decisions} == {"tight", "wide"}


def test_a_rule_that_refused_without_blocking_is_not_charged_again_further_in() -> None:
    seen: list[HttpRequest] = []
    inner: Callable[..., Any] = ratelimit("login", "1/m", block=False)(plain(False, seen))
    view = ratelimit("login", "1/m", block=False)(inner)
    assert statuses(view, 2) == [200, 200]
    assert len(seen[1].ratewindow.decisions) == 1  # type: ignore[attr-defined]


def test_a_view_that_fails_was_counted_all_the_same(recorded: list[list[tuple[str, str]]]) -> None:
    @ratelimit("login", "1/m")
    def broken(request: HttpRequest) -> HttpResponse:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        answer(broken, RequestFactory().get("/"))
    assert recorded == [[("login", "passed")]]


def test_a_request_through_two_doors_is_counted_once_for_each_rule(recorded: list[list[tuple[str, str]]]) -> None:
    get(behind_middleware(ratelimit("one", "5/m")(ratelimit("two", "5/m")(plain(False)))))
    assert [sorted(each) for each in recorded] == [[("one", "passed"), ("two", "passed")]]


@is_async
def test_what_a_guard_outside_let_pass_and_one_inside_refused_is_told_as_refused_by_another(
    is_async: bool, recorded: list[list[tuple[str, str]]]
) -> None:
    view = ratelimit("outer", "5/m")(ratelimit("inner", "1/m")(plain(is_async)))
    assert statuses(view, 2) == [200, 429]
    assert [sorted(each) for each in recorded] == [
        [("inner", "passed"), ("outer", "passed")],
        [("inner", "refused"), ("outer", "other")],
    ]


def test_what_would_have_refused_outside_is_told_as_refused_by_another_too(recorded: list[list[tuple[str, str]]]) -> None:
    RateRule.objects.define("trial", "1/m", prefix="/")
    view = behind_middleware(ratelimit("inner", "2/m")(plain(False)))
    assert statuses(view, 3) == [200, 200, 429]
    assert [dict(each)["trial"] for each in recorded] == ["passed", "would_refuse", "other"]


def test_what_the_view_refuses_by_an_exception_has_passed_no_rule(recorded: list[list[tuple[str, str]]]) -> None:
    RateRule.objects.define("site", "9/m", prefix="/", mode="enforce")

    def view(request: HttpRequest) -> HttpResponse:
        try:
            ratewindow.hit("mail", "user:42", raise_exception=True)
        except RateLimited as error:  # what Django does with an exception of a view
            answered = RateWindowMiddleware(plain(False)).process_exception(request, error)
            assert isinstance(answered, HttpResponse)
            return answered
        return HttpResponse("ok")

    RateRule.objects.define("mail", "1/m", mode="enforce")
    assert statuses(behind_middleware(view), 2) == [200, 429]
    assert [each for each in recorded if each[0][0] == "site"] == [[("site", "passed")], [("site", "other")]]


@pytest.mark.parametrize("edited", [{"penalty": "15m"}, {"count_refused": True}], ids=str)
def test_who_was_just_refused_is_refused_by_the_edited_rule_too(edited: dict[str, Any]) -> None:
    """The refusal is known to this process, in the form that the rule had."""
    RateRule.objects.define("login", "1/m", prefix="/", mode="enforce")
    view = behind_middleware(plain(False))
    assert statuses(view, 2) == [200, 429]
    RateRule.objects.define("login", "1/m", prefix="/", mode="enforce", overwrite=True, **edited)
    assert statuses(view, 1) == [429]


@is_async
@pytest.mark.parametrize("returned", [None, "text", 42])
def test_what_is_no_response_goes_to_django_which_says_what_is_wrong(is_async: bool, returned: Any) -> None:
    def view(request: HttpRequest) -> Any:
        return returned

    async def aview(request: HttpRequest) -> Any:
        return returned

    RateRule.objects.define("login", "5/m", count_when="5xx", mode="enforce")
    limited: Callable[..., Any] = ratelimit("login")(aview if is_async else view)
    assert answer(limited, RequestFactory().get("/")) == returned


@is_async
def test_a_refusal_speaks_of_the_rule_that_refuses_and_not_of_one_that_only_tells_the_view(
    is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    RateRule.objects.define("soft", "1/d", mode="enforce", message="The soft one.", response_status=403)
    RateRule.objects.define("hard", "1/m", mode="enforce", message="The hard one.", response_status=430)
    heard: list[tuple[str, tuple[str, ...]]] = []

    def listen(decision: Decision, **_: Any) -> None:
        heard.append((decision.rule, tuple(part.rule for part in decision.decisions)))

    view = ratelimit("soft", block=False)(ratelimit("hard")(plain(is_async)))
    throttled.connect(listen)
    try:
        with caplog.at_level(logging.INFO, "ratewindow.refusals"):
            _, response = get(view), get(view)
    finally:
        throttled.disconnect(listen)
    assert (response.status_code, response.content) == (430, b"The hard one.\n")
    assert response["Retry-After"] in ("60", "61")
    assert response["RateLimit"] == f'"soft";r=0, "hard";r=0;t={response["Retry-After"]}'
    assert heard == [("soft", ("soft",)), ("hard", ("hard",))]
    assert [record.getMessage().partition(" by ")[2] for record in caplog.records] == ["rule hard: limit"]


def left(rule: str) -> int | None:
    return ratewindow.peek(rule, "ip:127.0.0.1").remaining


class TestWhatARuleFurtherInRefuses:
    """It costs nothing at the guards outside, as if all rules had been asked in one call."""

    @is_async
    def test_costs_nothing_at_the_middleware(self, is_async: bool) -> None:
        RateRule.objects.define("site", "9/m", prefix="/", mode="enforce")
        view = behind_middleware(ratelimit("inner", "2/m")(plain(is_async)))
        assert statuses(view, 5) == [200, 200, 429, 429, 429]
        assert left("site") == 7

    @is_async
    def test_costs_nothing_at_the_decorators_around(self, is_async: bool) -> None:
        view = plain(is_async)
        for name, rate in (("inner", "1/m"), ("middle", "9/m; 20/h"), ("outer", "9/m")):
            view = ratelimit(name, rate)(view)
        assert statuses(view, 4) == [200, 429, 429, 429]
        assert (left("middle"), left("outer")) == (8, 8)

    @is_async
    @pytest.mark.parametrize("algorithm", [name for name, _ in algorithm_choices()])
    def test_costs_nothing_by_any_algorithm(self, algorithm: str, is_async: bool) -> None:
        rule, _ = RateRule.objects.define("site", "9/m", prefix="/", mode="enforce")
        rule.windows.update(algorithm=algorithm)
        reading.reload()
        view = behind_middleware(ratelimit("inner", "1/h", cost=1)(plain(is_async)))
        assert statuses(view, 30) == [200] + [429] * 29

    @is_async
    def test_costs_nothing_on_a_cluster(self, is_async: bool, cluster_url: str, settings: Any) -> None:
        settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": cluster_url}
        RateRule.objects.define("site", "9/m", key="global", prefix="/", mode="enforce")
        RateRule.objects.define("each", "9/m", prefix="/", mode="enforce")
        view = behind_middleware(ratelimit("inner", "2/m")(plain(is_async)))
        assert statuses(view, 5) == [200, 200, 429, 429, 429]
        assert (left("each"), ratewindow.peek("site", "global").remaining) == (7, 7)

    @is_async
    def test_is_told_with_what_is_left_then(self, is_async: bool) -> None:
        RateRule.objects.define("site", "2/h", prefix="/", mode="enforce")
        view = behind_middleware(ratelimit("inner", "1/m")(plain(is_async)))
        _, refused = get(view), get(view)
        assert refused["RateLimit"].startswith('"site";r=1, "inner";r=0;t=')
        assert int(refused["Retry-After"]) <= 61  # the site has room for the next request

    def test_costs_nothing_where_a_rule_in_shadow_has_counted_it(self) -> None:
        RateRule.objects.define("trial", "9/m", prefix="/")
        view = behind_middleware(ratelimit("inner", "2/m")(plain(False)))
        statuses(view, 5)
        assert left("trial") == 7

    def test_keeps_what_counts_refused_requests(self) -> None:
        RateRule.objects.define("site", "9/m", prefix="/", mode="enforce", count_refused=True)
        view = behind_middleware(ratelimit("inner", "2/m")(plain(False)))
        statuses(view, 5)
        assert left("site") == 4

    def test_locks_nobody_out_of_a_rule_with_a_penalty_outside(self) -> None:
        RateRule.objects.define("site", "2/m", prefix="/", mode="enforce", penalty="1h")
        view = behind_middleware(ratelimit("inner", "1/m")(plain(False)))
        assert statuses(view, 6) == [200] + [429] * 5
        assert ratewindow.hit("site", "ip:127.0.0.1")

    def test_keeps_what_code_has_charged_by_name_or_late(self) -> None:
        RateRule.objects.define("mail", "9/m", mode="enforce")
        RateRule.objects.define("site", "20/m", prefix="/", mode="enforce")
        inner: Any = ratelimit("inner", "0/m")(plain(False))

        def view(request: HttpRequest) -> HttpResponse:
            ratewindow.hit("mail", request, cost=2)  # and the mail is sent
            request.ratewindow.charge(3, "site")  # type: ignore[attr-defined]
            return inner(request)  # type: ignore[no-any-return]

        assert statuses(behind_middleware(view), 1) == [429]
        assert (left("mail"), left("site")) == (7, 17)

    def test_costs_nothing_where_the_view_raises_the_refusal(self) -> None:
        RateRule.objects.define("site", "9/m", prefix="/", mode="enforce")
        RateRule.objects.define("mail", "1/m", mode="enforce")

        def view(request: HttpRequest) -> HttpResponse:
            try:
                ratewindow.hit("mail", "user:42", raise_exception=True)
            except RateLimited as error:
                return middleware.process_exception(request, error)  # type: ignore[no-any-return]
            return HttpResponse("ok")

        middleware: Any = behind_middleware(view)
        assert statuses(middleware, 3) == [200, 429, 429]
        assert left("site") == 8

    def test_leaves_the_charge_where_the_view_decides(self) -> None:
        view = ratelimit("outer", "9/m")(ratelimit("inner", "1/m", block=False)(plain(False)))
        assert statuses(view, 3) == [200, 200, 200]
        assert left("outer") == 6

    def test_is_given_back_in_one_call_and_the_refusal_stays_known(self, redis_client: redis.Redis) -> None:
        RateRule.objects.define("site", "9/m", prefix="/", mode="enforce")
        view = behind_middleware(ratelimit("inner", "1/h")(plain(False)))
        statuses(view, 3)
        redis_client.config_resetstat()
        assert statuses(view, 1) == [429]
        assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] == 2  # the middleware's, and what gives it back

    def test_keeps_the_charge_while_redis_is_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        RateRule.objects.define("site", "9/m", prefix="/", mode="enforce")
        view = behind_middleware(ratelimit("inner", "1/m")(plain(False)))
        statuses(view, 1)
        with monkeypatch.context() as patch:
            patch.setattr(stores.store(), "refund", _away)
            refused = get(view)
        assert refused.status_code == 429
        assert refused["RateLimit"].startswith('"site";r=7')


def _away(*_: Any, **__: Any) -> None:
    raise redis.ConnectionError("away")


def test_who_is_refused_by_the_view_comes_back_when_that_has_room_since_the_middleware_has_been_given_back() -> None:
    RateRule.objects.define("site", "1/h", prefix="/", mode="enforce")
    RateRule.objects.define("mail", "1/m", mode="enforce")
    ratewindow.hit("mail", "user:42")

    def view(request: HttpRequest) -> HttpResponse:
        try:
            ratewindow.hit("mail", "user:42", raise_exception=True)
        except RateLimited as error:
            return middleware.process_exception(request, error)  # type: ignore[no-any-return]
        raise NotImplementedError

    middleware: Any = behind_middleware(view)
    assert 59 < int(get(middleware)["Retry-After"]) <= 61
