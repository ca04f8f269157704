"""The decorator on classes and methods, and what it leaves of them; and limits that are declared."""

import asyncio
import contextlib
import io
import re
from typing import Any

import celery
import pytest
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import ratewindow
from ratewindow import ratelimit
from ratewindow.checks.site import check_code
from ratewindow.models import RateRule
from ratewindow.rest_framework import RuleThrottle
from ratewindow.rules import code_rates
from ratewindow.testing import override_rules
from tests.support.doors import decorated, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_code_rules_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    code_rates.load_names()  # imports the site's views, whose names would be lost if this were the first time
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
    assert [*check_code()] == []


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
    assert [*check_code()] == []


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


@pytest.mark.parametrize("function", [tidy, celery.shared_task(send), celery.shared_task(tidy)])
def test_what_takes_no_request_is_named_at_import(function: Any) -> None:
    with pytest.raises(TypeError, match=r"(send|tidy).* no request: .*call ratewindow\.hit\(name, identity\)"):
        ratelimit(rate="5/m")(function)


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
    with pytest.raises(ValueError, match=r"'Log in: Post' is not a rule name"):
        ratelimit(group="Log in: Post", key="ip", rate="5/m")


def test_the_old_order_of_arguments_is_an_error_and_not_something_else() -> None:
    with pytest.raises(TypeError, match="positional arguments"):
        ratelimit("login", "ip", "5/m")  # type: ignore[call-arg]
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

    with pytest.raises(TypeError, match=r"News is not a view class, it has no dispatch\(\): decorate what is in the URLconf"):

        @ratelimit("news", "5/m")
        class News:
            def __call__(self, request: HttpRequest) -> HttpResponse:
                raise NotImplementedError

    with pytest.raises(TypeError, match=r"'shop\.views\.cart' is not a view"):
        ratelimit("cart", "5/m")("shop.views.cart")  # type: ignore[type-var]


def by_plan(who: Any) -> str | None:
    """A rate by the header, or by the identity, as a site's plans might give it."""
    return getattr(who, "headers", {"x-plan": "2/h"}).get("x-plan")


def by_header(who: Any) -> str | None:
    return by_plan(who)


async def hourly(who: Any) -> str:
    return "1/h"


class TestADeclaredLimit:
    @pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
    def test_has_all_that_rules_have_by_name(self, is_async: bool) -> None:
        export = ratewindow.limit("export", "2/h", key="user", algorithm="token_bucket")

        def call(name: str, *arguments: Any, **options: Any) -> Any:
            if is_async:
                return asyncio.run(getattr(export, f"a{name}")(*arguments, **options))
            return getattr(export, name)(*arguments, **options)

        assert [call("hit", "user:42").allowed for _ in range(3)] == [True, True, False]
        assert export.peek("user:42").remaining == 0
        export.reset("user:42")
        assert call("hit", "user:42", 2).remaining == 0
        assert call("hit", "user:42", force=True).forced
        with pytest.raises(ratewindow.RateLimited):
            call("hit", "user:42", raise_exception=True)

    @pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
    def test_is_a_decorator_on_one_count_with_its_calls(self, is_async: bool) -> None:
        export = ratewindow.limit("export", "2/h", key="header:x-tenant")
        view, by_name = export(plain(is_async)), ratelimit("export", block=False)(plain(is_async))
        one: Any = {"headers": {"x-tenant": "one"}}
        assert get(view, **one).status_code == 200
        assert ratewindow.hit("export", "header:x-tenant:one").remaining == 0
        assert [get(each, **one).status_code for each in (view, by_name)] == [429, 200]
        assert get(view, headers={"x-tenant": "two"}).status_code == 200
        assert [*check_code()] == []

    def test_limits_classes_and_their_methods(self) -> None:
        export = ratewindow.limit("export", "1/h")

        @export
        class Whole(View):
            def get(self, request: HttpRequest) -> HttpResponse:
                return HttpResponse("ok")

        class OneMethod(View):
            @method_decorator(export)
            def post(self, request: HttpRequest) -> HttpResponse:
                return HttpResponse("ok")

        @method_decorator(export, name="dispatch")
        class Dispatch(Whole):
            pass

        assert get(Whole.as_view()).status_code == 200
        refused = [get(OneMethod.as_view(), method="POST"), get(Dispatch.as_view())]
        assert [each.status_code for each in refused] == [429, 429]

    def test_may_be_declared_after_the_view_that_names_it(self) -> None:
        view = decorated(False, "export")
        ratewindow.limit("export", "1/h", methods="GET")
        assert statuses(view, 2) == [200, 429]
        assert get(view, method="POST").status_code == 200

    def test_may_have_an_async_rate_and_be_declared_after_the_async_view_that_names_it(self) -> None:
        view = decorated(True, "export")
        assert statuses(view, 1) == [200]
        ratewindow.limit("export", hourly)
        assert statuses(view, 2) == [200, 429]

    def test_may_have_an_async_rate_that_no_sync_view_can_name(self) -> None:
        ratewindow.limit("export", hourly)
        with pytest.raises(ValueError, match=r"the rate is given by an async function, and .* is not async"):
            decorated(False, "export")

    def test_may_have_an_async_rate_that_a_sync_view_learns_of_later_and_logs(self, caplog: pytest.LogCaptureFixture) -> None:
        view = decorated(False, "export")
        ratewindow.limit("export", hourly)
        assert statuses(view, 2) == [200, 200]
        assert ["it is async, and the view is not" in line for line in caplog.messages] == [True]

    def test_whose_rate_has_to_be_awaited_is_the_only_one_awaited_at_views_that_name_it(self) -> None:
        for name, rate in (("export", "1/h"), ("upload", hourly)):
            view = decorated(True, name)
            ratewindow.limit(name, rate)
            assert (view._ratewindow_door.awaited is None) == (name == "export")  # type: ignore[attr-defined]

    @pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
    def test_limits_nobody_at_a_view_whose_rate_is_none(self, is_async: bool) -> None:
        ratewindow.limit("export", "0/h")
        view = decorated(is_async, "export", None)
        ratewindow.limit("late", "0/h")
        assert statuses(view, 2) == statuses(decorated(is_async, "late", None), 2) == [200, 200]
        RateRule.objects.define("export", "1/h", mode="enforce")
        assert statuses(view, 2) == [200, 429]

    @pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
    def test_that_limits_nobody_for_now_is_not_told_as_missing(self, is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
        view = decorated(is_async, "export")
        ratewindow.limit("export", by_plan)
        assert statuses(view, 2) == [200, 200]
        assert not caplog.records

    def test_gives_each_customer_the_rate_of_a_plan(self) -> None:
        export = ratewindow.limit("export", "1/h", algorithm="token_bucket")
        told = {
            who: [bool(export.hit(who, rate=plan)) for _ in range(4)]
            for who, plan in {"user:free": None, "user:paid": "3/h"}.items()
        }
        assert told == {"user:free": [True] + [False] * 3, "user:paid": [True] * 3 + [False]}
        assert export.hit("user:free", rate="3/h").remaining == 1  # who has paid meanwhile has the same count

    def test_may_have_a_rate_by_a_function(self) -> None:
        export = ratewindow.limit("export", by_plan)
        assert [bool(export.hit("ip:203.0.113.9")) for _ in range(3)] == [True, True, False]
        assert not ratewindow.hit("export", "ip:203.0.113.9")  # by its name, too
        view = export(plain(False))
        assert statuses(view, 2, headers={"x-plan": "1/h"}) == [200, 429]
        assert statuses(view, 3, REMOTE_ADDR="203.0.113.9") == [200] * 3  # without a plan

    @pytest.mark.parametrize("rate", ["1/h", lambda request: "1/h"], ids=["text", "function"])
    def test_may_be_named_by_a_throttle(self, rate: Any) -> None:
        ratewindow.limit("export", rate)

        class Export(APIView):
            throttle_classes = [RuleThrottle]
            throttle_rules = ["export"]

            def get(self, request: Request) -> Response:
                return Response("ok")

        assert statuses(Export.as_view(), 2) == [200, 429]

    def test_may_have_an_async_rate_where_it_is_awaited(self) -> None:
        async def rate(who: Any) -> str:
            return "1/h"

        export = ratewindow.limit("export", rate)
        assert statuses(export(plain(True)), 2) == [200, 429]
        assert asyncio.run(export.ahit("user:42")).remaining == 0
        with pytest.raises(TypeError, match=r"the rate of export is given by an async function: await ahit\(\)"):
            export.hit("user:42")
        with pytest.raises(ValueError, match=r"the rate is given by an async function, and .* is not async"):
            export(plain(False))

    def test_is_replaced_by_a_rule_of_its_name(self) -> None:
        export = ratewindow.limit("export", "1/h")
        RateRule.objects.define("export", "2/h", mode="shadow")
        assert [bool(export.hit("user:42")) for _ in range(2)] == [True, False]
        RateRule.objects.define("export", "2/h", mode="enforce", overwrite=True)
        assert [bool(export.hit("user:42")) for _ in range(2)] == [True, False]  # on the same count
        RateRule.objects.define("export", "2/h", mode="off", overwrite=True)
        assert export.hit("user:42")

    def test_is_known_before_it_is_called(self) -> None:
        ratewindow.limit("export", "20/h", key="user_or_ip", algorithm="token_bucket", penalty="15m")
        (use,) = code_rates.uses()["export"]
        assert (use.words, use.key) == ("20/h", "user_or_ip")
        assert re.fullmatch(r"tests\.test_decorators:\d+", use.place)
        out = io.StringIO()
        call_command("ratewindow", "rules", stdout=out)
        assert f"{use.place}           user_or_ip  20/h, algorithm='token_bucket', penalty='15m'" in out.getvalue()
        with override_rules(export="1/h"):
            assert [bool(ratewindow.hit("export", "user:42")) for _ in range(2)] == [True, False]
        with override_rules():
            assert [bool(ratewindow.hit("export", "user:42", rate="1/h")) for _ in range(2)] == [True, True]

    def test_may_be_declared_twice_if_both_say_the_same(self) -> None:
        for rate, key in (("5/m; 20/h", "query:q"), ("20 per hour;5/60s", "get:q")):
            ratewindow.limit("export", rate, key=key, penalty="60s")
        for _ in range(2):  # as where a module is imported again
            ratewindow.limit("upload", by_plan, key=by_plan)
        assert [*check_code()] == []

    @pytest.mark.parametrize(
        "other",
        [
            {"rate": "6/m"},
            {"rate": "5/m; 20/h"},
            {"rate": by_plan},
            {"key": "user"},
            {"key": by_plan},
            {"methods": "POST"},
            {"normalise": True},
            {"algorithm": "token_bucket"},
            {"mode": "shadow"},
        ],
        ids=lambda other: " ".join(f"{name}={getattr(value, '__name__', value)}" for name, value in other.items()),
    )
    def test_says_at_import_where_it_was_declared_otherwise(self, other: dict[str, Any]) -> None:
        here = r"tests\.test_decorators:\d+"
        ratewindow.limit("export", "5/m")
        with pytest.raises(
            ValueError, match=rf"'export' is declared twice: .* at {here}, and 5/m per ip at {here}: use two names"
        ):
            ratewindow.limit("export", **{"rate": "5/m", **other})

    def test_says_so_of_two_functions_and_of_two_on_one_line(self) -> None:
        ratewindow.limit("export", by_plan)
        with pytest.raises(ValueError, match="'export' is declared twice"):
            ratewindow.limit("export", by_header)
        for rate in ("5/m", "6/m"):
            with contextlib.nullcontext() if rate == "5/m" else pytest.raises(ValueError, match="'upload' is declared twice"):
                ratewindow.limit("upload", rate)

    def test_and_a_decorator_by_another_function_are_an_error_of_the_checks(self) -> None:
        ratewindow.limit("export", by_plan)
        decorated(False, "export", by_plan)
        assert [*check_code()] == []
        decorated(False, "export", by_header)
        assert [told.id for told in check_code()] == ["ratewindow.E003"]

    def test_and_a_decorator_with_another_rate_are_an_error_of_the_checks(self) -> None:
        ratewindow.limit("export", "5/m")
        decorated(False, "export", "6/m")
        ratewindow.hit("export", "user:42", rate="7/m")
        (told,) = check_code()
        assert told.id == "ratewindow.E003"
        assert "two rates: 5/m per ip, 6/m per ip (tests" in told.msg

    @pytest.mark.parametrize(
        ("arguments", "options", "problem"),
        [
            (("Export", "5/m"), {}, "'Export' is not a rule name"),
            (("export", ""), {}, "limits nothing"),
            (("export", None), {}, "limit 'export' has no rate: write for example 5/m"),
            (("export", "5/parsec"), {}, "not a unit of time"),
            (("export", "5/m"), {"key": "usr"}, "'usr' is not a key"),
            (("export", "5/m"), {"methods": "POTS"}, "did you mean POST"),
            (("export", "5/m"), {"burst": 9}, "burst 9"),
        ],
        ids=str,
    )
    def test_names_what_is_wrong_at_import(self, arguments: Any, options: Any, problem: str) -> None:
        with pytest.raises(ValueError, match=problem):
            ratewindow.limit(*arguments, **options)
        with pytest.raises(TypeError, match=r"limit\(\) has no argument 'algoritm': did you mean 'algorithm'"):
            ratewindow.limit("export", "5/m", algoritm="sliding_log")  # type: ignore[call-arg]
        assert "export" not in code_rates.uses()
