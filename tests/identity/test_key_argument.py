"""Keys that code gives as functions, or as their dotted paths."""

import sys
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory

from ratewindow import ratelimit
from ratewindow.identity import key_argument, recipe
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
        recipe(key_argument.as_text(of_two, "search")).identity(seen[0])
        == "tests.identity.test_key_argument.of_two@search:search GET"
    )


def test_functions_of_one_line_are_several_keys() -> None:
    made = [key_argument.as_text(lambda request, value=value: value, "") for value in "ab"]
    assert len(set(made)) == 2
    assert [who(name, HTTP_X="1") for name in made] == [f"{made[0]}:a", f"{made[1]}:b"]
    assert key_argument.as_text(tenant, "") == key_argument.as_text(tenant, "") == "tests.identity.test_key_argument.tenant"


def test_a_decorator_takes_the_path_of_a_function_of_group_and_request() -> None:
    view = decorated(False, group="shop", rate="1/m", key="tests.identity.test_key_argument.of_two")
    assert statuses(view, 2) == [200, 429]
    assert statuses(view, 2, method="POST") == [200, 429]


def test_a_path_that_leads_nowhere_is_told_by_the_decorator_as_ever() -> None:
    with pytest.raises(ValueError, match="nowhere cannot be imported"):
        decorated(False, rate="1/m", key="nowhere.at_all")


def test_a_path_may_be_a_part_of_a_key() -> None:
    key = key_argument.as_text("method + tests.identity.test_key_argument.of_two", "search")
    assert who(key) == "10:method:GET+57:tests.identity.test_key_argument.of_two@search:search GET"


@pytest.mark.parametrize("key", ["no.such.function", "tests.identity.test_key_argument.nobody", "ip+no.such.function"])
def test_a_path_that_leads_nowhere_is_told_at_import(key: str) -> None:
    with pytest.raises(ValueError, match=r"is not a key: .* (cannot be imported|has no)"):
        ratelimit(rate="1/m", key=key)


@pytest.mark.parametrize("arguments", ["request", "group, request"])
@pytest.mark.parametrize("imports", ["", "from early_limits import tenant as key_function"])
def test_a_path_may_lead_to_what_its_module_has_not_come_to_yet(
    arguments: str, imports: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = f"def tenant({arguments}):\n    return request.META.get('HTTP_X_TENANT')\n"
    home = "early_limits" if imports else "early_views"
    views = f"""
from ratewindow import ratelimit
from tests.support.doors import plain

view = ratelimit("early", "1/m", key="{home}.tenant")(plain(False))
later = 1
"""
    (tmp_path / "early_views.py").write_text(views + ("" if imports else function))
    (tmp_path / "early_limits.py").write_text(f"from early_views import later\n{function}")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("early_views", "early_limits"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import early_views  # type: ignore[import-not-found]

    assert [get(early_views.view, headers={"x-tenant": each}).status_code for each in "aabb"] == [200, 429, 200, 429]
