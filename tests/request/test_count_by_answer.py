"""Rules that count by the status of the answer."""

import asyncio
import threading

import pytest
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse

import ratewindow
from ratewindow import ratelimit
from ratewindow.models import RateRule
from ratewindow.request import count_by_answer, visit
from tests.support.count_by_answer import answering, define, left, used
from tests.support.doors import behind_middleware, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@is_async
@pytest.mark.parametrize(
    ("count_when", "status", "counts"),
    [
        ("401,403,5xx", 401, True),
        ("401,403,5xx", 403, True),
        ("401,403,5xx", 404, False),
        ("401,403,5xx", 200, False),
        ("401,403,5xx", 503, True),
        ("2xx", 204, True),
        ("login_failed", 401, False),
    ],
)
def test_statuses_count_as_the_rule_says(is_async: bool, count_when: str, status: int, counts: bool) -> None:
    define("login", "2/h", count_when, prefix="/")
    site = behind_middleware(answering(status, is_async))
    assert statuses(site, 4) == ([status, status, 429, 429] if counts else [status] * 4)
    assert used(2) == (2 if counts else 0)


@is_async
def test_headers_tell_what_is_left_after_the_answer_has_counted(is_async: bool) -> None:
    define("login", "2/h", "401", prefix="/")
    site = behind_middleware(answering(401, is_async))
    told = [get(site) for _ in range(3)]
    assert [each["RateLimit"].partition(";t")[0] for each in told] == ['"login";r=1', '"login";r=0', '"login";r=0']
    assert [each["X-RateLimit-Remaining"] for each in told] == ["1", "0", "0"]
    assert ["Retry-After" in each for each in told] == [False, False, True]


@is_async
def test_a_decorated_view_counts_by_its_own_answer_without_the_middleware(is_async: bool) -> None:
    define("login", "2/h", "401")
    view = ratelimit("login")(answering(401, is_async))
    assert statuses(view, 3) == [401, 401, 429]


@is_async
def test_through_two_doors_it_counts_once(is_async: bool) -> None:
    define("login", "3/h", "401", path="/login/")
    site = behind_middleware(ratelimit("login")(answering(401, is_async)))
    assert statuses(site, 4, "/login/") == [401, 401, 401, 429]


def test_what_an_inner_guard_looks_at_the_outermost_counts_by_the_answer_that_leaves() -> None:
    define("login", "3/h", "5xx")

    def middleware_of_the_site(request: HttpRequest) -> HttpResponse:
        ratelimit("login")(answering(200))(request)
        return HttpResponse("broken", status=500)

    assert statuses(behind_middleware(middleware_of_the_site), 4) == [500] * 4
    assert used(3) == 3


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Http404(), 404),
        (PermissionDenied(), 403),
        (SuspiciousOperation(), 400),
        (BadRequest(), 400),
        (ValueError(), 500),
        (ratewindow.RateLimited(ratewindow.Decision(allowed=False)), None),
        (asyncio.CancelledError(), None),
    ],
    ids=str,
)
def test_an_exception_counts_as_the_status_that_django_makes_of_it(error: BaseException, status: int | None) -> None:
    assert count_by_answer.status_of(error) == status


@is_async
def test_a_view_that_breaks_counts_as_5xx_and_django_gets_its_error(is_async: bool) -> None:
    define("login", "2/h", "5xx")

    def broken(request: HttpRequest) -> HttpResponse:
        raise ZeroDivisionError

    async def abroken(request: HttpRequest) -> HttpResponse:
        raise ZeroDivisionError

    view = ratelimit("login")(abroken if is_async else broken)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            get(view)
    assert get(view).status_code == 429


@is_async
def test_who_waits_for_a_streamed_body_is_counted_by_the_status_before_it(is_async: bool) -> None:
    define("login", "2/h", "401", prefix="/")

    def view(request: HttpRequest) -> StreamingHttpResponse:
        return StreamingHttpResponse(iter([b"a", b"b"]), status=401)

    async def aview(request: HttpRequest) -> StreamingHttpResponse:
        return view(request)

    response = get(behind_middleware(aview if is_async else view))
    assert used(2) == 1
    assert response["X-RateLimit-Remaining"] == "1"
    assert b"".join(response) == b"ab"  # type: ignore[call-overload]


def test_a_request_that_another_rule_refuses_counts_nowhere() -> None:
    define("seen", "9/h", "4xx", prefix="/")
    RateRule.objects.define("tight", "1/h", prefix="/", mode="enforce")
    assert statuses(behind_middleware(answering(404)), 3) == [404, 429, 429]
    assert used(9, "seen") == 1


def test_nor_does_one_that_is_refused_further_in() -> None:
    define("seen", "9/h", "429,404", prefix="/")
    site = behind_middleware(ratelimit("tight", "1/h")(answering(404)))
    assert statuses(site, 3) == [404, 429, 429]
    assert used(9, "seen") == 1


def test_several_rules_count_each_what_it_is_about() -> None:
    define("missing", "9/h", "404", prefix="/")
    define("errors", "9/h", "4xx,5xx", prefix="/")
    define("login", "9/h", "login_failed", prefix="/")
    statuses(behind_middleware(answering(404)), 3)
    assert (used(9, "missing"), used(9, "errors"), used(9, "login")) == (3, 3, 0)


def test_a_rule_in_shadow_counts_by_the_answer_too_and_refuses_nobody() -> None:
    define("login", "2/h", "401", "shadow", prefix="/")
    seen: list[HttpRequest] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse(status=401)

    assert statuses(behind_middleware(view), 4) == [401] * 4
    told = [request.ratewindow.decisions[0].outcome for request in seen]  # type: ignore[attr-defined]
    assert told == ["passed", "passed", "would_refuse", "would_refuse"]


def test_with_a_penalty_the_look_that_refuses_locks_out() -> None:
    define("login", "2/s", "401", prefix="/", penalty="15m")
    site = behind_middleware(answering(401))
    assert statuses(site, 3) == [401, 401, 429]
    told = ratewindow.peek("login", "ip:127.0.0.1")
    assert (told.reason, told.retry_after is not None and told.retry_after > 890) == ("penalty", True)


def test_cost_is_what_an_answer_counts() -> None:
    define("login", "10/h", "401", prefix="/", cost=4)
    site = behind_middleware(answering(401))
    assert statuses(site, 3) == [401, 401, 429]
    assert used(10) == 8


def test_without_block_what_passed_counts_and_what_was_refused_does_not() -> None:
    define("login", "2/h", "401")
    view = ratelimit("login", block=False)(answering(401))
    assert statuses(view, 5) == [401] * 5
    assert used(2) == 2


def test_code_that_charges_it_by_name_charges_at_once() -> None:
    define("login", "2/h", "login_failed")
    assert [ratewindow.hit("login", "user:42").allowed for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("together", [2, 8])
def test_wrong_logins_at_the_same_moment_pass_the_limit_by_those_in_flight_and_no_more(together: int) -> None:
    define("login", "5/h", "401", prefix="/")
    barrier = threading.Barrier(together)
    told: list[int] = []

    def view(request: HttpRequest) -> HttpResponse:
        barrier.wait(30)  # all have been looked at before one is counted
        return HttpResponse(status=401)

    site = behind_middleware(view)
    statuses(behind_middleware(answering(401)), 4)  # one is left

    def ask() -> None:
        told.append(get(site).status_code)

    threads = [threading.Thread(target=ask) for _ in range(together)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [401] * together
    assert get(site).status_code == 429
    fifth = RateRule.objects.get(name="login").windows.get()
    fifth.limit = 4 + together
    fifth.save()
    assert left() == 0  # each of them was counted, beyond the limit too


def test_a_site_without_such_rules_has_nothing_to_remember() -> None:
    RateRule.objects.define("login", "5/h", prefix="/", mode="enforce")
    seen: list[HttpRequest] = []
    statuses(behind_middleware(plain(False, seen)), 1)
    assert visit.of(seen[0]).deferred is None
    assert count_by_answer._in_context.get() is None


def test_a_request_leaves_nothing_behind_in_its_context() -> None:
    define("login", "5/h", "401", prefix="/")
    get(behind_middleware(answering(200)))
    assert count_by_answer._in_context.get() is None
