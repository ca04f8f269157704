"""Async functions for rate, key and cost at views of each form."""

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.views import View

from ratewindow import ratelimit
from ratewindow.models import Override, RateRule
from ratewindow.rules import code_rates
from ratewindow.testing import override_rules
from tests.support.doors import behind_middleware, get, statuses
from tests.support.view_forms import FORMS, limited

pytestmark = pytest.mark.django_db(transaction=True)

ASYNC = [form for form in FORMS if form.startswith("async")]
calls: list[str] = []


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    calls.clear()


async def rate(request: HttpRequest) -> str:
    calls.append("rate")
    return request.headers.get("x-rate", "2/m")


async def tenant(request: HttpRequest) -> str | None:
    calls.append("tenant")
    return request.headers.get("x-tenant")


async def tenant_of(group: str, request: HttpRequest) -> str:
    return f"{group}-{request.headers['x-tenant']}"


async def cost(request: HttpRequest) -> int:
    calls.append("cost")
    return int(request.headers.get("x-cost", "1"))


@pytest.fixture(params=ASYNC, ids=lambda each: each.replace(" ", "-"))
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_rate_is_awaited(form: str) -> None:
    view = limited(form, ratelimit("export", rate))
    assert statuses(view, 3) == [200, 200, 429]
    assert get(view, headers={"x-rate": "3/m"}).status_code == 200
    assert calls == ["rate"] * 4


@pytest.mark.parametrize("key", [tenant, f"{__name__}.tenant"], ids=["function", "path"])
def test_a_key_is_awaited(form: str, key: Any) -> None:
    view = limited(form, ratelimit("export", "1/m", key=key))
    assert [get(view, headers={"x-tenant": each}).status_code for each in "aabb"] == [200, 429, 200, 429]
    assert get(view).status_code == 200  # by address
    assert get(view).status_code == 429


def test_a_cost_is_awaited(form: str) -> None:
    view = limited(form, ratelimit("export", "5/m", cost=cost))
    assert [get(view, headers={"x-cost": each}).status_code for each in "3321"] == [200, 429, 200, 429]


def test_all_of_them_at_once_behind_the_middleware(form: str) -> None:
    site = behind_middleware(limited(form, ratelimit("export", rate, key=tenant, cost=cost)))
    sent = {"x-tenant": "a", "x-cost": "2"}
    assert [get(site, headers=sent).status_code for _ in range(2)] == [200, 429]
    assert get(site, headers={**sent, "x-tenant": "b"}).status_code == 200
    assert calls == ["rate", "cost", "tenant"] * 3


def test_one_that_fails_breaks_no_page(form: str, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(request: HttpRequest) -> Any:
        raise KeyError("x-tenant")

    async def nonsense(request: HttpRequest) -> Any:
        return object()

    for broken in (fail, nonsense):
        assert statuses(limited(form, ratelimit("by.rate", broken)), 2) == [200, 200]
    for number, broken in enumerate((fail, nonsense)):
        assert statuses(limited(form, ratelimit(f"by.key.{number}", "1/m", key=broken)), 2) == [200, 429]
        assert statuses(limited(form, ratelimit(f"by.cost.{number}", "1/m", cost=broken)), 2) == [200, 429]
    told = [record.message.split(",")[0] for record in caplog.records]
    assert any("the rate function of by.rate failed" in each for each in told)
    assert any("the cost function of by.cost.0 failed" in each for each in told)
    assert any("the key function of" in each for each in told)


def test_nothing_is_asked_where_limits_are_off_or_no_rule_holds(form: str, settings: Any) -> None:
    view = limited(form, ratelimit("export", rate, cost=cost, methods="POST"))
    assert get(view).status_code == 200
    assert calls == ["rate"]  # which may be None, and then a row in shadow holds alone
    settings.RATEWINDOW = {**settings.RATEWINDOW, "ENABLED": False}
    assert get(view, method="POST").status_code in (200, 405)
    assert calls == ["rate"]


def test_a_row_takes_the_place_of_the_rate_and_keeps_its_key(form: str) -> None:
    view = limited(form, ratelimit("export", "9/m", key=tenant, cost=cost))
    RateRule.objects.define("export", "2/m", key=f"{__name__}.tenant", mode="enforce")
    assert [get(view, headers={"x-tenant": each}).status_code for each in "aaab"] == [200, 200, 429, 200]


def test_a_test_may_enforce_another_rate(form: str) -> None:
    view = limited(form, ratelimit("export", rate, key=tenant, cost=cost))
    with override_rules(export="3/m"):
        assert statuses(view, 2, headers={"x-cost": "2"}) == [200, 429]
    assert "rate" not in calls


def test_an_exempt_client_passes(form: str) -> None:
    view = limited(form, ratelimit("export", "0/m", key=tenant))
    Override.objects.create(action="allow", identity="ip:127.0.0.1")
    assert get(view, headers={"x-tenant": "a"}).status_code == 200


EACH = [{"rate": rate}, {"rate": "5/m", "key": tenant}, {"rate": "5/m", "cost": cost}]


@pytest.mark.parametrize("what", EACH, ids=["rate", "key", "cost"])
class TestSyncViews:
    def test_a_function_or_a_class_is_named_at_import(self, what: Any) -> None:
        for form in ("sync function", "sync class"):
            problem = r"is given by an async function, and .*(_function|_sync_class).* is not async: give a plain function"
            with pytest.raises(ValueError, match=problem):
                limited(form, ratelimit("export", **what))

    def test_a_method_is_named_at_its_first_request(self, what: Any) -> None:
        view = limited("sync method", ratelimit("export", **what))
        with pytest.raises(TypeError, match="and the view with rule export is not async: give a plain function"):
            get(view)

    def test_a_class_without_handlers_may_have_async_ones_in_its_subclasses(self, what: Any) -> None:
        base: Any = ratelimit("export", **what)(type("Base", (View,), {}))

        class Waits(base):  # type: ignore[misc]
            async def get(self, request: HttpRequest) -> HttpResponse:
                return HttpResponse("ok")

        class Runs(base):  # type: ignore[misc]
            def get(self, request: HttpRequest) -> HttpResponse:
                raise NotImplementedError

        assert get(Waits.as_view()).status_code == 200
        with pytest.raises(TypeError, match="the view with rule export is not async"):
            get(Runs.as_view())


def test_several_reasons_are_named_together() -> None:
    with pytest.raises(ValueError, match="the rate and key and cost is given by an async function"):
        limited("sync function", ratelimit("export", rate, key=tenant, cost=cost))


def test_a_key_that_was_not_awaited_counts_as_missing_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    limited("async function", ratelimit("export", "9/m", key=tenant))
    RateRule.objects.define("by.path", "1/m", path="/", key=f"{__name__}.tenant", mode="enforce", on_missing="refuse")
    site = behind_middleware(limited("sync function", ratelimit("other", "9/m")))
    assert get(site, headers={"x-tenant": "a"}).status_code == 429
    assert "it is async, and awaited for async views only" in caplog.text


def test_a_rate_in_shadow_is_replaced_by_a_row_in_any_mode(form: str) -> None:
    view = behind_middleware(limited(form, ratelimit("export", "1/m", mode="shadow")))
    assert code_rates.rated("export") and not code_rates.enforces("export")
    RateRule.objects.define("export", "5/m", path="/", mode="shadow")
    seen: list[Any] = []

    def outside(request: HttpRequest) -> Any:
        seen.append(request)
        return view(request)

    assert statuses(outside, 2) == [200, 200]
    assert [(part.limit, part.outcome) for part in seen[1].ratewindow.decisions] == [(5, "passed")]
    RateRule.objects.filter(name="export").update(mode="enforce")
