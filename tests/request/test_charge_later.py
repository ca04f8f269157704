"""`request.ratewindow.charge` and `.refund`: a cost that is known only after the work."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow import ratelimit
from ratewindow.counting.counters import counters
from ratewindow.models import RateRule
from tests.support.doors import answer, behind_middleware, get, plain

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])

Work = Callable[[Any], Any]


def define(name: str, rate: str, mode: str = "enforce", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, mode=mode, overwrite=True, **fields)[0]


def doing(is_async: bool, *acts: tuple[Any, ...]) -> Callable[..., Any]:
    """A view that charges and refunds: each act is a word and its arguments."""
    if is_async:

        async def aview(request: HttpRequest) -> HttpResponse:
            for word, *arguments in acts:
                await getattr(request.ratewindow, f"a{word}")(*arguments)  # type: ignore[attr-defined]
            return HttpResponse("ok")

        return aview

    def view(request: HttpRequest) -> HttpResponse:
        for word, *arguments in acts:
            getattr(request.ratewindow, word)(*arguments)  # type: ignore[attr-defined]
        return HttpResponse("ok")

    return view


def left(rule: str = "export", who: str = "ip:127.0.0.1") -> int | None:
    return ratewindow.peek(rule, who, 0).decisions[0].remaining


@is_async
def test_a_cost_known_after_the_work_is_charged_and_told_in_the_headers(is_async: bool) -> None:
    define("export", "10/m", path="/export/")
    response = get(behind_middleware(doing(is_async, ("charge", 4))), "/export/")
    assert left() == 5
    assert response["X-RateLimit-Remaining"] == "5"
    assert response["RateLimit"] == '"export";r=5;t=60'


@is_async
def test_a_view_that_costs_nothing_charges_what_it_took_and_who_has_used_too_much_waits(is_async: bool) -> None:
    view = ratelimit("export", "10/m", cost=0)(doing(is_async, ("charge", 7)))
    told = [get(view) for _ in range(3)]
    assert [each["X-RateLimit-Remaining"] for each in told] == ["3", "0", "0"]
    assert [each.status_code for each in told] == [200, 200, 429]  # 14 of 10 are used


@is_async
def test_what_is_used_may_exceed_the_limit_and_the_next_request_waits(is_async: bool) -> None:
    view = ratelimit("export", "10/m")(doing(is_async, ("charge", 500)))
    first = get(view)
    assert (first.status_code, first["X-RateLimit-Remaining"]) == (200, "0")
    assert "Retry-After" not in first
    assert get(view).status_code == 429


@is_async
def test_refund_gives_back_what_this_request_was_charged_and_no_more(is_async: bool) -> None:
    define("export", "10/m", path="/export/", cost=3)
    assert ratewindow.hit("export", "ip:127.0.0.1").remaining == 7
    response = get(behind_middleware(doing(is_async, ("refund", 2), ("refund", 500))), "/export/")
    assert left() == 7
    assert response["X-RateLimit-Remaining"] == "7"


@is_async
def test_the_newest_charge_is_given_back_first_and_all_of_them_can_be(is_async: bool) -> None:
    define("export", "10/m", path="/export/")
    acts = [("charge", 2), ("charge", 3), ("refund", 4)]
    assert get(behind_middleware(doing(is_async, *acts)), "/export/")["X-RateLimit-Remaining"] == "8"
    assert get(behind_middleware(doing(is_async, *acts, ("refund", 100))), "/export/")["X-RateLimit-Remaining"] == "8"


@is_async
def test_every_rule_of_the_request_is_charged_or_the_one_that_is_named(is_async: bool) -> None:
    define("site", "100/m", prefix="/")
    define("shadow", "100/m", "shadow", prefix="/")
    view = ratelimit("export", "10/m")(
        doing(is_async, ("charge", 4), ("charge", 10, "site"), ("refund", 2, "export"), ("charge", 9, "other"))
    )
    get(behind_middleware(view))
    assert (left("site"), left("shadow"), left("export")) == (85, 95, 7)


def test_the_window_that_is_closest_to_exhaustion_may_be_another_after_it() -> None:
    define("few", "5/m", prefix="/")
    define("many", "9/m", prefix="/")
    response = get(behind_middleware(doing(False, ("charge", 8, "many"))))
    assert (response["X-RateLimit-Limit"], response["X-RateLimit-Remaining"]) == ("9", "0")
    assert response["RateLimit"].startswith('"few";r=4;t=60, "many";r=0;t=')


def test_the_rules_of_both_doors_are_charged_where_the_view_is() -> None:
    define("site", "100/m", prefix="/")
    get(behind_middleware(ratelimit("export", "10/m")(doing(False, ("charge", 4)))))
    assert (left("site"), left("export")) == (95, 5)


@is_async
def test_without_block_the_view_can_charge_what_it_did_although_it_was_refused(is_async: bool) -> None:
    view = ratelimit("export", "2/m", block=False)(doing(is_async, ("charge", 1), ("refund", 1), ("charge", 1)))
    told = [get(view) for _ in range(3)]
    assert [each["X-RateLimit-Remaining"] for each in told] == ["0", "0", "0"]
    assert ["Retry-After" in each for each in told] == [False] * 3
    define("export", "10/m")
    assert left() == 6  # 2 of the request that passed, 1 of each that was refused


def test_a_refused_request_has_nothing_to_give_back() -> None:
    view = ratelimit("export", "1/m", block=False)(doing(False, ("refund", 1)))
    get(ratelimit("export", "1/m")(plain(False)))
    get(view)
    assert left() == 0


@is_async
def test_a_rule_that_counts_by_the_answer_is_charged_only_if_it_is_named(is_async: bool) -> None:
    define("login", "9/m", prefix="/", count_when="401")
    get(behind_middleware(doing(is_async, ("charge", 4))))
    assert left("login") == 9
    get(behind_middleware(doing(is_async, ("charge", 4, "login"))))
    assert left("login") == 5


def test_a_rule_in_shadow_is_charged_as_far_as_it_would_have_admitted() -> None:
    define("trial", "5/m", "shadow", prefix="/")
    site = behind_middleware(doing(False, ("charge", 2)))
    for _ in range(3):
        get(site)
    assert left("trial") == 0  # 1 and 2, 1, 1: what does not fit is not charged


def test_a_forced_hit_of_the_request_is_charged_too() -> None:
    define("export", "1/m")

    def view(request: HttpRequest) -> HttpResponse:
        ratewindow.hit("export", request)
        ratewindow.hit("export", request, force=True)
        request.ratewindow.charge(3)  # type: ignore[attr-defined]
        return HttpResponse("ok")

    assert get(behind_middleware(view))["X-RateLimit-Remaining"] == "0"
    define("export", "9/m")
    assert left() == 4


@is_async
def test_a_request_that_no_rule_meets_can_be_charged_all_the_same(is_async: bool) -> None:
    assert get(behind_middleware(doing(is_async, ("charge", 3), ("refund", 3)))).status_code == 200


@override_settings(RATEWINDOW={"REDIS": "memory://", "ENABLED": False})
def test_nor_does_it_matter_while_limits_are_off() -> None:
    assert get(ratelimit("export", "1/m")(doing(False, ("charge", 3)))).status_code == 200


@pytest.mark.parametrize("units", [-1, 1.5, True, None, "3", 10**18])
def test_a_bad_number_of_units_is_named(units: Any) -> None:
    define("export", "5/m", prefix="/")
    for word in ("charge", "refund"):
        with pytest.raises(ValueError, match="write a whole number from 0 to 4503599627370496"):
            get(behind_middleware(doing(False, (word, units))))


@is_async
def test_bytes_are_units_too_where_the_limit_is_of_as_many(is_async: bool) -> None:
    define("export", "10000000/h", prefix="/")
    get(behind_middleware(doing(is_async, ("charge", 3_000_000))))
    assert left() == 6_999_999
    assert not ratewindow.hit("export", "ip:127.0.0.1", cost=7_000_000)
    assert ratewindow.hit("export", "ip:127.0.0.1", cost=6_999_999)


def test_a_log_takes_a_million_at_once_and_no_view_fails_for_more() -> None:
    rule = define("export", "5/h", prefix="/")
    rule.windows.update(algorithm="sliding_log")
    rule.save()
    get(behind_middleware(doing(False, ("charge", 3_000_000))))
    assert left() == 0
    assert ratewindow.hit("export", "ip:127.0.0.2", cost=3_000_000, force=True)


@is_async
def test_rules_in_shadow_that_are_too_many_for_one_charge_are_left_out_of_it(is_async: bool) -> None:
    many = [f"{100 + number}/{10 + number}s" for number in range(16)]
    for name in ("one", "two", "three"):
        define(name, "; ".join(many[:12]), "shadow", prefix="/")
    response = get(behind_middleware(ratelimit("export", "; ".join(many))(doing(is_async, ("charge", 4)))))
    assert (response.status_code, response["X-RateLimit-Remaining"], left("one")) == (200, "95", 99)


@is_async
def test_while_redis_is_away_neither_is_an_error(is_async: bool) -> None:
    define("export", "5/m", prefix="/")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        response = get(behind_middleware(doing(is_async, ("charge", 3), ("refund", 3))))
    assert response.status_code == 200
    assert next(iter(counters.held().values()))["export"].fallback == 1


@is_async
def test_nor_when_it_goes_away_after_the_request_was_decided(is_async: bool) -> None:
    define("export", "5/m", prefix="/")
    away = override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"})

    def view(request: HttpRequest) -> HttpResponse:
        away.enable()
        request.ratewindow.charge(3)  # type: ignore[attr-defined]
        request.ratewindow.refund(3)  # type: ignore[attr-defined]
        return HttpResponse("ok")

    async def aview(request: HttpRequest) -> HttpResponse:
        away.enable()
        await request.ratewindow.acharge(3)  # type: ignore[attr-defined]
        await request.ratewindow.arefund(3)  # type: ignore[attr-defined]
        return HttpResponse("ok")

    try:
        assert get(behind_middleware(aview if is_async else view)).status_code == 200
    finally:
        away.disable()
    assert left() == 4


def test_in_memory_it_works_alike() -> None:
    define("export", "10/m", prefix="/")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        response = get(behind_middleware(doing(False, ("charge", 6), ("refund", 2))))
    assert response["X-RateLimit-Remaining"] == "5"


def test_what_view_code_sees_follows_the_charges() -> None:
    define("export", "10/m", prefix="/")
    seen: list[Any] = []

    def view(request: HttpRequest) -> HttpResponse:
        decision = request.ratewindow  # type: ignore[attr-defined]
        decision.charge(3)
        seen.append((decision.remaining, decision.decisions[0].remaining, decision.allowed, decision.retry_after))
        return HttpResponse("ok")

    answer(behind_middleware(view), RequestFactory().get("/"))
    assert seen == [(6, 6, True, None)]


def test_it_is_a_decision_like_any_other() -> None:
    seen: list[HttpRequest] = []
    get(behind_middleware(plain(False, seen)))
    decision = seen[0].ratewindow  # type: ignore[attr-defined]
    assert isinstance(decision, ratewindow.Decision)
    assert bool(decision)
    assert asyncio.run(decision.acharge(1)) is None


@is_async
def test_a_process_that_counts_for_itself_charges_itself(is_async: bool) -> None:
    define("export", "5/m", prefix="/", on_error="local")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        site = behind_middleware(doing(is_async, ("charge", 9)))
        assert [get(site).status_code for _ in range(2)] == [200, 429]
    assert left() == 5


@is_async
@pytest.mark.parametrize("word", ["charge", "refund"])
def test_a_rule_that_nobody_has_defined_is_told_once(is_async: bool, word: str, caplog: pytest.LogCaptureFixture) -> None:
    define("export", "10/m", path="/export/")
    handler = behind_middleware(doing(is_async, (word, 5, "exprot"), (word, 5, "exprot")))
    assert [get(handler, "/export/").status_code for _ in range(2)] == [200, 200]
    assert [record.getMessage() for record in caplog.records] == [
        "ratewindow: code names rule 'exprot', which nobody has defined: nothing is charged or refunded"
    ]


def test_a_rule_that_this_request_has_not_met_is_no_mistake(caplog: pytest.LogCaptureFixture) -> None:
    define("export", "10/m", path="/export/")
    get(behind_middleware(doing(False, ("charge", 5, "export"))), "/import/")
    assert not caplog.records


@pytest.mark.parametrize("name", ["Ex Port", 5, b"export"])
def test_a_name_that_no_rule_can_have_is_an_error(name: Any) -> None:
    with pytest.raises(ValueError, match="is not a rule name"):
        get(ratelimit("export", "10/m")(doing(False, ("charge", 5, name))))
