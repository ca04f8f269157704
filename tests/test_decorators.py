"""The decorator on classes and methods, and what it leaves of them."""

from typing import Any

import celery
import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

import ratewindow
from ratewindow import ratelimit
from ratewindow.checks.code import check_code
from ratewindow.rules import code_rates
from tests.support.doors import decorated, get, statuses

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_code_rules_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    code_rates.names()  # imports the site's views, whose names would be lost if this were the first time
    monkeypatch.setattr(code_rates, "_uses", {})


@ratelimit(rate="5/m")
@method_decorator(csrf_exempt, name="dispatch")
class Hook(View):
    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


urlpatterns = [path("hook/", Hook.as_view())]


@override_settings(ROOT_URLCONF=__name__)
def test_a_limited_class_stays_exempt_from_csrf() -> None:
    assert Client(enforce_csrf_checks=True).post("/hook/").status_code == 200


def test_stacked_rates_on_a_class_are_several_rules() -> None:
    class Shop(View):
        def get(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

    view: Any = ratelimit(rate="2/m")(ratelimit(rate="10/h")(Shop)).as_view()
    request = RequestFactory().get("/")
    view(request)
    assert len(request.ratewindow.decisions) == 2  # type: ignore[attr-defined]
    assert check_code(None) == []


def test_methods_with_rates_of_their_own_are_not_one_name_with_two_rates() -> None:
    class Shop(View):
        @method_decorator(ratelimit(rate="2/m"))
        def get(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

        @method_decorator(ratelimit(rate="9/m"))
        def post(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

    view: Any = Shop.as_view()
    assert [view(RequestFactory().get("/")).status_code for _ in range(3)] == [200, 200, 429]
    assert view(RequestFactory().post("/")).status_code == 200
    assert check_code(None) == []


def test_a_method_whose_rule_nobody_defined_is_warned_of_once_and_known_before_its_first_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Shop(View):
        @method_decorator(ratelimit("nobody.defined"))
        def get(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

    assert {use.place for use in code_rates.uses()["nobody.defined"]} == {"a method of a class"}
    view: Any = Shop.as_view()
    for _ in range(3):
        assert view(RequestFactory().get("/")).status_code == 200
    assert len(caplog.records) == 1


@pytest.mark.parametrize("key", [None, ["ip"], 5])
def test_a_key_that_is_no_text_is_named_at_import(key: Any) -> None:
    with pytest.raises(ValueError, match="is not a key: write text such as ip"):
        ratelimit(rate="5/m", key=key)


@pytest.mark.parametrize("rate", [5, ["5/m"], 0.5])
def test_a_rate_that_is_neither_text_nor_a_function_is_named_at_import(rate: Any) -> None:
    with pytest.raises(ValueError, match="is not a rate: write text such as 5/m"):
        ratelimit(rate=rate)


def test_without_parentheses_the_decorator_says_what_it_needs() -> None:
    def search(request: HttpRequest) -> HttpResponse:
        raise NotImplementedError

    for view in (search, Hook):
        with pytest.raises(TypeError, match=r"needs its parentheses: write @ratelimit\(rate='5/m'\) above .*(search|Hook)"):
            ratelimit(view)  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", ["5/m", "5/m; 20/h", "10 per minute"])
def test_a_rate_where_the_name_belongs_is_told_where_it_belongs(rate: str) -> None:
    with pytest.raises(ValueError, match=f"'{rate}' is a rate in the place of a rule's name: write rate='{rate}'"):
        ratelimit(rate)
    with pytest.raises(ValueError, match=f"write rate='{rate}'"):
        ratewindow.hit(rate, "user:42")


def send(to: str) -> None:
    raise NotImplementedError


def tidy() -> None:
    raise NotImplementedError


@pytest.mark.parametrize("function", [send, tidy, celery.shared_task(send), celery.shared_task(tidy)])
def test_what_takes_no_request_is_named_at_import(function: Any) -> None:
    with pytest.raises(TypeError, match=r"(send|tidy).* no request: .*call ratewindow\.hit\(name, identity\)"):
        ratelimit(rate="5/m")(function)


@pytest.mark.parametrize("given", ["ann@example.com", 42, None])
def test_what_comes_as_a_request_and_is_none_is_named_at_the_first_call(given: Any) -> None:
    @ratelimit(rate="5/m")
    def work(thing):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    with pytest.raises(TypeError, match=r"was passed as the request, but is not one: .*call ratewindow\.hit\(name, identity\)"):
        work(given)


@pytest.mark.parametrize(
    "words",
    [
        {"group": "login", "method": ratelimit.UNSAFE},
        {"group": "login", "method": ["post", "PUT"]},
        {"name": "login", "methods": "POST"},
    ],
)
def test_group_and_method_are_other_words_for_name_and_methods(words: dict[str, Any]) -> None:
    view = decorated(False, rate="1/m", key="ip", **words)
    assert statuses(view, 2, method="POST") == [200, 429]
    assert statuses(view, 2, method="GET") == [200, 200]
    assert "login" in code_rates.uses()


@pytest.mark.parametrize("method", [ratelimit.ALL, None, ()])
def test_the_word_for_all_methods_is_understood(method: Any) -> None:
    view = decorated(False, "login", "1/m", method=method)
    assert [get(view, method=each).status_code for each in ("GET", "POST", "PURGE")] == [200, 429, 429]


def test_one_thing_said_in_both_words_is_an_error() -> None:
    with pytest.raises(ValueError, match="group is another name of name: give one of them, not 'a' and 'b'"):
        ratelimit("a", "5/m", group="b")
    with pytest.raises(ValueError, match="method is another name of methods"):
        ratelimit("a", "5/m", methods="GET", method="GET")


def test_a_group_that_is_no_rule_name_is_told_one() -> None:
    with pytest.raises(ValueError, match=r"'Log in: Post' is not a rule name.*for example 'log-in-post'"):
        ratelimit(group="Log in: Post", key="ip", rate="5/m")


def test_the_old_order_of_arguments_is_an_error_and_not_something_else() -> None:
    with pytest.raises(TypeError, match=r"by position.*ratelimit\(group=\.\.\., key=\.\.\., rate=\.\.\.\)"):
        ratelimit("login", "ip", "5/m")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'ip' is not a rate"):
        ratelimit("login", "ip")


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_the_view_is_told_whether_it_was_limited(is_async: bool) -> None:
    seen: list[HttpRequest] = []
    view = decorated(is_async, rate="1/m", block=False, seen=seen)
    assert statuses(view, 3) == [200, 200, 200]
    assert [request.limited for request in seen] == [False, True, True]  # type: ignore[attr-defined]


def test_one_of_several_decorators_that_would_refuse_is_enough_to_be_limited() -> None:
    seen: list[HttpRequest] = []
    for group, outer, inner in (("a", "1/m", "9/m"), ("b", "9/m", "1/m")):
        view = ratelimit(f"{group}.outer", outer, block=False)(decorated(False, f"{group}.inner", inner, block=False, seen=seen))
        statuses(view, 2)
    assert [request.limited for request in seen] == [False, True, False, True]  # type: ignore[attr-defined]


@override_settings(RATEWINDOW={"ENABLED": False, "REDIS": "memory://"})
def test_nobody_is_limited_while_limits_are_switched_off() -> None:
    seen: list[HttpRequest] = []
    statuses(decorated(False, rate="0/m", block=False, seen=seen), 1)
    assert seen[0].limited is False  # type: ignore[attr-defined]


async def asked(request: HttpRequest) -> int:
    return 1


class AskedObject:
    async def __call__(self, request: HttpRequest) -> int:
        return 1


@pytest.mark.parametrize("cost", [asked, AskedObject()])
def test_a_cost_that_a_sync_view_cannot_await_is_named_at_import(cost: Any) -> None:
    with pytest.raises(ValueError, match=r"the cost is given by an async function, and .*view is not async: give a"):
        decorated(False, rate="5/m", cost=cost)
    assert statuses(decorated(True, rate="1/m", cost=cost), 2) == [200, 429]


@pytest.mark.parametrize("methods", [5, [1], ["GET", b"POST"], "ALL", ["any"], "POTS", ["GET", "PSOT"]])
def test_methods_that_are_none_are_named_at_import(methods: Any) -> None:
    with pytest.raises(ValueError, match=r"HTTP method.*: (write for example|leave methods empty|did you mean POST\?)"):
        ratelimit(rate="5/m", methods=methods)


def test_a_method_and_what_is_no_view_say_how_to_limit_them() -> None:
    with pytest.raises(TypeError, match=r"Shop\.get is a method: write @method_decorator\(ratelimit\(\.\.\.\)\) above it"):

        class Shop(View):
            @ratelimit("shop", "5/m")
            def get(self, request: HttpRequest) -> HttpResponse:
                raise NotImplementedError

    class Other(View):
        @ratelimit("shop", "5/m")
        def get(this, request: HttpRequest) -> HttpResponse:  # noqa: N805
            raise NotImplementedError

    with pytest.raises(
        TypeError, match=r"rule shop got an object of class Other instead of a request: .* @method_decorator\(ratelimit"
    ):
        Other.as_view()(RequestFactory().get("/"))

    with pytest.raises(TypeError, match=r"News is not a view class, it has no dispatch\(\): decorate what is in the URLconf"):

        @ratelimit("news", "5/m")
        class News:
            def __call__(self, request: HttpRequest) -> HttpResponse:
                raise NotImplementedError

    with pytest.raises(TypeError, match=r"'shop\.views\.cart' is not a view"):
        ratelimit("cart", "5/m")("shop.views.cart")  # type: ignore[type-var]
