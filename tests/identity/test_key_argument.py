"""Keys that code gives as functions, or as their dotted paths."""

import sys
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory

from ratewindow import ratelimit
from ratewindow.identity import custom_keys, recipe
from tests.support.doors import decorated, get, statuses


def tenant(request: HttpRequest) -> str | None:
    return request.META.get("HTTP_X_TENANT")


def of_two(group: str, request: HttpRequest) -> str:
    return f"{group} {request.method}"


def who(key: str, **extra: Any) -> str | None:
    return recipe(key).identity(RequestFactory().get("/", **extra))


def test_a_function_can_be_given_where_a_key_is() -> None:
    view = decorated(False, rate="1/m", key=tenant)
    assert [get(view, headers={"x-tenant": each}).status_code for each in "aabb"] == [200, 429, 200, 429]
    view = decorated(False, rate="1/m", key=lambda request: request.path_info)
    assert [get(view, path).status_code for path in ("/a", "/a", "/b", "/b")] == [200, 429, 200, 429]


def test_a_function_of_group_and_request_is_called_as_django_ratelimit_does() -> None:
    seen: list[HttpRequest] = []
    assert statuses(decorated(False, "search", "1/m", key=of_two, seen=seen), 2) == [200, 429]
    assert (
        recipe(custom_keys.registered(of_two, "search")).identity(seen[0])
        == "tests.identity.test_key_argument.of_two@search:search GET"
    )


def test_functions_of_one_line_are_several_keys() -> None:
    made = [custom_keys.registered(lambda request, value=value: value, "") for value in "ab"]
    assert len(set(made)) == 2
    assert [who(name, HTTP_X="1") for name in made] == [f"{made[0]}:a", f"{made[1]}:b"]
    assert custom_keys.registered(tenant, "") == custom_keys.registered(tenant, "") == "tests.identity.test_key_argument.tenant"


def test_a_path_that_leads_nowhere_is_told_by_the_decorator_as_ever() -> None:
    with pytest.raises(ValueError, match="it cannot be imported"):
        decorated(False, rate="1/m", key="nowhere.at_all")


@pytest.mark.parametrize("key", ["no.such.function", "tests.identity.test_key_argument.nobody", "ip+no.such.function"])
def test_a_path_that_leads_nowhere_is_told_at_import(key: str) -> None:
    with pytest.raises(ValueError, match=r"is not a key: .* cannot be imported"):
        ratelimit(rate="1/m", key=key)


def test_a_path_may_lead_to_what_its_module_has_not_come_to_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "early_views.py").write_text("""
from ratewindow import ratelimit
from tests.support.doors import plain

view = ratelimit("early", "1/m", key="early_views.tenant")(plain(False))

def tenant(request):
    return request.META.get("HTTP_X_TENANT")
""")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "early_views", raising=False)
    import early_views  # type: ignore[import-not-found]

    assert [get(early_views.view, headers={"x-tenant": each}).status_code for each in "aabb"] == [200, 429, 200, 429]
