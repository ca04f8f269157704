"""Rates that code gives as text, or as a function."""

from functools import partial
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory

from ratewindow.checks.site import check_code
from ratewindow.rules.code_rates import GivenRate, _made, of_call
from tests.support.doors import decorated, statuses

JUNK = ["a lot", "", "5/parsec", "10/month", 5, 0.5, ["5/m"], {"5/m"}, b"5/m", "9" * 10_000, object()]
JUNK += [(5, 60, 1), (True, 60), ("5", "m")]
JUNK += ["5/m\r\nX: 1", "\u202e5/m"]  # as a client might have sent it

pytestmark = pytest.mark.django_db(transaction=True)


def by_header(request: HttpRequest) -> Any:
    return request.headers.get("x-rate")


def by_group(group: str, request: HttpRequest) -> str:
    return {"paid": "3/m"}.get(group, "1/m")


def test_a_function_gives_the_rate_of_each_request_and_none_is_no_limit() -> None:
    view = decorated(False, "export", by_header)
    assert statuses(view, 3, headers={"x-rate": "2/m"}) == [200, 200, 429]
    assert statuses(view, 3) == [200, 200, 200]


def test_a_function_of_group_and_request_is_called_as_django_ratelimit_calls_it() -> None:
    assert statuses(decorated(False, group="paid", rate=by_group), 4) == [200, 200, 200, 429]
    assert statuses(decorated(False, group="free", rate=by_group), 2) == [200, 429]


def test_a_pair_is_how_many_in_how_many_seconds() -> None:
    assert statuses(decorated(False, "export", (2, 60)), 3) == [200, 200, 429]
    assert statuses(decorated(False, "by.function", lambda request: (1, 60)), 2) == [200, 429]
    assert statuses(decorated(False, "closed", lambda request: (0, 1)), 1) == [429]


def test_a_rate_of_none_without_a_name_limits_nobody_and_misses_no_rule(caplog: pytest.LogCaptureFixture) -> None:
    assert statuses(decorated(False, key="ip", rate=None), 3) == [200] * 3
    assert [*check_code()] == []
    assert not caplog.records


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("junk", JUNK, ids=lambda each: ascii(each)[:20])
def test_what_a_function_says_wrong_breaks_no_page_and_its_last_good_rate_holds(is_async: bool, junk: Any) -> None:
    told: list[Any] = ["2/m", junk]
    view = decorated(is_async, "export", lambda request: told.pop(0) if len(told) > 1 else told[0])
    assert statuses(view, 4) == [200, 200, 429, 429]


def test_it_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    told = iter(["5/m", "junk\r\n", "junk\r\n", "5/m", "more \u202ejunk", None, "junk"])
    statuses(decorated(False, "export", lambda request: next(told)), 7)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    for record in caplog.records:
        assert record.message.startswith(
            "ratewindow: the rate function of export failed, the last valid rate of that name holds, 5/m (logged every ten "
            "minutes): Problem:"
        )
        assert record.message.isascii() and record.message.isprintable()


def test_a_function_that_was_never_right_lets_pass_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    assert statuses(decorated(False, "export", lambda request: "often"), 3) == [200, 200, 200]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "requests pass" in caplog.text and "write 5/m" in caplog.text


def test_the_last_good_rate_of_one_name_is_not_anothers() -> None:
    given = GivenRate(lambda group, request: {"one": "1/m"}.get(group, "junk"), "ip", frozenset())
    request = RequestFactory().get("/")
    assert given.rule("one", request) is not None
    assert given.rule("two", request) is None


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_an_exception_in_the_function_is_as_wrong_as_what_it_returns(is_async: bool) -> None:
    given = iter(["1/m"])
    assert statuses(decorated(is_async, "export", lambda request: next(given)), 3) == [200, 429, 429]


def test_a_pair_of_other_things_is_no_rate() -> None:
    with pytest.raises(ValueError, match=r"\('5', 'm'\) is not a rate: write text such as 5/m"):
        GivenRate(("5", "m"), "ip", frozenset())  # type: ignore[arg-type]


def test_a_call_by_a_function_of_a_module_is_made_once_and_one_by_a_function_of_its_own_each_time() -> None:
    def made(rate: Any = "5/m", key: Any = None) -> Any:
        return of_call("export", rate, key, {})

    assert made(by_header) is made(by_header)
    assert made(key=by_header) is made(key=by_header)
    known = _made.cache_info().currsize
    plans = {"user:1": "1/d"}
    for rate in (lambda who: "5/m", plans.get, partial(by_group, "paid"), Plan().rate):
        assert made(rate) is not made(rate)
    assert _made.cache_info().currsize == known


class Plan:
    def rate(self, who: Any) -> str:
        return "5/m"


async def waited_for(request: HttpRequest) -> str:
    return "1/m"


async def waited_for_by_group(group: str, request: HttpRequest) -> str:
    return {"paid": "2/m"}.get(group, "1/m")


def test_an_async_function_is_awaited_for_an_async_view_and_named_at_import_at_another() -> None:
    assert statuses(decorated(True, "export", waited_for), 2) == [200, 429]
    assert statuses(decorated(True, "paid", waited_for_by_group), 3) == [200, 200, 429]
    with pytest.raises(ValueError, match=r"the rate is given by an async function, and .* is not async: give a plain function"):
        decorated(False, "export", waited_for)


@pytest.mark.parametrize("junk", JUNK, ids=lambda each: ascii(each)[:20])
def test_the_last_good_rate_of_an_async_function_holds_too(junk: Any) -> None:
    given: list[Any] = ["2/m", junk, KeyError("x")]

    async def rate(request: HttpRequest) -> Any:
        told = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(told, Exception):
            raise told
        return told

    assert statuses(decorated(True, "export", rate), 4) == [200, 200, 429, 429]
