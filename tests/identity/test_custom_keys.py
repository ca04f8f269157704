"""A project's own keys: found by name or path, told when they are wrong, and harmless when they fail."""

import asyncio
import sys
import types
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.test import AsyncRequestFactory, RequestFactory

import ratewindow
from ratewindow.conf import site_functions
from ratewindow.identity import custom_keys, recipe
from ratewindow.identity.custom_keys import ratekey
from ratewindow.identity.request_attributes import load_user
from ratewindow.models import RateRule
from ratewindow.rulebook import current, edits, reading
from tests.support.doors import decorated, get, plain, statuses


def tenant(request: HttpRequest) -> str | None:
    return request.META.get("HTTP_X_TENANT")


async def atenant(request: HttpRequest) -> str | None:
    return None


def of_two(group: str, request: HttpRequest) -> str:
    return f"{group} {request.method}"


class Tenant:
    def __call__(self, request: HttpRequest) -> str:
        return "acme"


an_object = Tenant()


def who(key: str, **extra: Any) -> str | None:
    return recipe(key).identity(RequestFactory().get("/", **extra))


def returning(value: Any) -> Callable[[HttpRequest], Any]:
    def told(request: HttpRequest) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    return told


def test_a_decorated_function_is_a_key() -> None:
    assert ratewindow.ratekey("tenant")(tenant) is tenant
    assert who("tenant", HTTP_X_TENANT="acme") == "tenant:acme"
    assert who("tenant") is None
    assert who("method + tenant", HTTP_X_TENANT="acme") == "10:method:GET+11:tenant:acme"


def test_a_function_is_a_key_by_its_dotted_path() -> None:
    assert who("tests.identity.test_custom_keys.tenant", HTTP_X_TENANT="acme") == "tests.identity.test_custom_keys.tenant:acme"
    assert who("tests.identity.test_custom_keys.tenant") is None
    assert who("tests.identity.test_custom_keys.an_object") == "tests.identity.test_custom_keys.an_object:acme"


def test_what_clients_type_is_normalised_in_own_keys_too() -> None:
    ratekey("tenant")(tenant)
    made = RequestFactory().get("/", HTTP_X_TENANT=" ACME ")
    assert recipe("tenant", normalise=True).identity(made) == "tenant:acme"


@pytest.mark.parametrize(
    ("value", "expected"), [("acme", "own:acme"), (42, "own:42"), (0, "own:0"), ("", None), (" ", None), (None, None)]
)
def test_text_and_whole_numbers_are_clients_and_nothing_is_missing(value: Any, expected: str | None) -> None:
    ratekey("own")(returning(value))
    assert who("own") == expected


FAILING = [True, 1.5, object(), ["a"], ("a",), b"a", {"a": 1}, ValueError("bad"), KeyError("x"), RecursionError()]


@pytest.mark.parametrize("number", range(len(FAILING)))
def test_a_function_that_fails_makes_the_key_missing_with_one_logged_error(number: int, caplog: pytest.LogCaptureFixture) -> None:
    ratekey("own")(returning(FAILING[number]))
    view = decorated(False, f"failing.{number}", "2/m", key="own")
    assert statuses(view, 4) == [200, 200, 429, 429]  # by address
    assert statuses(view, 1, REMOTE_ADDR="203.0.113.77") == [200]
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.getMessage().startswith(
        "ratewindow: the key function of own (tests.identity.test_custom_keys.returning.<locals>.told) failed,"
    )


def test_each_failure_is_counted_for_the_rule_that_had_to_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[str, str]] = []
    monkeypatch.setattr(site_functions, "listeners", [lambda rule, cause: heard.append((rule, cause))])
    ratekey("own")(returning(ValueError()))
    statuses(decorated(False, "counted", "9/m", key="own"), 2)
    statuses(decorated(False, "header", "9/m", key="header:x-absent"), 2)
    assert heard == [("counted", "function:key")] * 2


def test_what_a_client_sends_and_an_error_repeats_begins_no_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    ratekey("own")(lambda request: int(request.META["HTTP_X_TENANT"] + "\r\nERROR forged\u2028\u202e\udcff"))
    ratekey("raw")(returning(ValueError("a\r\nERROR forged\u2028\u202e\udcff" + "x" * 5000)))
    assert who("own", HTTP_X_TENANT="x") is who("raw") is None
    assert len(caplog.text.splitlines()) == len(caplog.records) == 2
    assert caplog.text.isascii()
    assert len(caplog.text) < 1000
    assert "test_custom_keys.py:" in caplog.text


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (
            "no.such.module",
            "'no.such.module' is not a key: it cannot be imported, ModuleNotFoundError: No module named",
        ),
        (
            "tests.identity.test_custom_keys.nobody",
            "has no attribute 'nobody'",
        ),
        ("tests.identity.test_custom_keys.atenant", "is async, and keys are called without await"),
        ("tests.identity.test_custom_keys.of_two", "needs more than the request"),
        ("tests.identity.test_custom_keys.Tenant", "is not a function of the request"),
        ("tests.identity.test_custom_keys.FORTY_TWO", "has no attribute 'FORTY_TWO'"),
        ("builtins.eval", "is not a function of the request"),
        ("os.system", "is not a function of the request"),
        ("tests.broken_key.tenant", "it cannot be imported, ZeroDivisionError: division by zero"),
        ("tests..tenant", "'tests..tenant' is not a key: choose from"),
        (".tenant", "'.tenant' is not a key: choose from"),
        ("tenant", "'tenant' is not a key: choose from"),
    ],
)
@pytest.mark.django_db
def test_at_save_a_path_that_leads_nowhere_is_told(key: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [Breaking(), *sys.meta_path])
    with pytest.raises(ValidationError) as error:
        RateRule(name="x", key=key).full_clean()
    assert told in " ".join(error.value.message_dict["key"])
    with pytest.raises(ValueError) as raised:
        RateRule.objects.define("x", "5/m", key=key)
    assert told in str(raised.value)


class Breaking:
    """Finds one module, and fails while it is imported."""

    def find_spec(self, name: str, *_: Any) -> Any:
        if name == "tests.broken_key":
            1 / 0  # noqa: B018


def test_an_unknown_name_is_told_with_those_that_are_known() -> None:
    ratekey("tenant")(tenant)
    with pytest.raises(ValueError, match=r"'tenants' is not a key: choose from .*, jwt:NAME, .*tenant, the dotted path"):
        recipe("tenants")


@pytest.mark.parametrize("name", ["", "Tenant", "ten ant", "1a", "a.b", "a:b", "a+b", "ä", "x" * 65, None])
def test_a_bad_name_is_told(name: Any) -> None:
    with pytest.raises(ValueError, match="is not a name for a key"):
        ratekey(name)


@pytest.mark.parametrize("name", ["ip", "user", "header", "get", "group", "global"])
def test_a_name_that_is_a_key_already_is_told(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is a built-in key"):
        ratekey(name)


def test_two_functions_of_one_name_are_told_and_one_that_is_imported_anew_is_not() -> None:
    ratekey("tenant")(tenant)
    again = types.FunctionType(tenant.__code__, tenant.__globals__, "tenant")
    assert ratekey("tenant")(again) is again
    with pytest.raises(ValueError, match=r"key .tenant. belongs to tests.identity.test_custom_keys.tenant"):
        ratekey("tenant")(returning("x"))


def test_a_function_that_cannot_be_a_key_is_told_where_it_is_decorated() -> None:
    with pytest.raises(ValueError, match="is async"):
        ratekey("tenant")(atenant)
    with pytest.raises(ValueError, match="needs more than the request"):
        ratekey("tenant")(of_two)  # type: ignore[arg-type]


def test_on_an_event_loop_the_user_is_loaded_first_unless_the_function_says_that_it_need_not_be() -> None:
    ratekey("by_user")(returning("x"))
    ratekey("by_header", needs_user=False)(returning("x"))
    assert recipe("by_user").loaders == (load_user,)
    assert recipe("tests.identity.test_custom_keys.tenant").loaders == (load_user,)
    assert recipe("by_header").loaders == ()


@pytest.mark.django_db(transaction=True)
def test_an_own_key_may_look_at_the_user_of_an_async_view() -> None:
    async def auser() -> Any:
        return types.SimpleNamespace(tenant="acme")

    ratekey("tenant")(lambda request: request.user.tenant)
    view = decorated(True, rate="1/m", key="tenant")

    async def ask() -> int:
        request = AsyncRequestFactory().get("/")
        request.auser = auser
        return int((await view(request)).status_code)

    assert [asyncio.run(ask()) for _ in range(2)] == [200, 429]


@pytest.mark.django_db(transaction=True)
class TestReading:
    """A process that reads a row whose key it does not know."""

    def test_only_that_row_is_left_out(self, caplog: pytest.LogCaptureFixture) -> None:
        ratekey("tenant")(tenant)
        RateRule.objects.define("by.tenant", "5/m", key="tenant")
        RateRule.objects.define("by.ip", "5/m")
        current._held.book = current.Rulebook(())
        custom_keys._registered.pop("tenant")
        custom_keys.version += 1  # as in another process, which has not imported it
        assert [rule.name for rule in reading.read_rules()] == ["by.ip"]
        assert "'by.tenant'" in caplog.text and "'tenant' is not a key" in caplog.text

    def test_it_is_read_soon_after_the_key_is_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        RateRule.objects.define("by.ip", "5/m")
        RateRule.objects.filter(name="by.ip").update(key="tenant")
        monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
        monkeypatch.setattr(edits.connections["default"], "close", lambda: None)
        current._held.book = None
        reading.reload()
        assert "by.ip" not in current.rulebook().by_name
        edits.reread()
        assert "by.ip" not in current.rulebook().by_name
        ratekey("tenant")(tenant)
        reading._progress.ended_at_s -= reading.REREAD_ALONE_S
        edits.reread()
        assert "by.ip" in current.rulebook().by_name


def test_a_module_ratekeys_of_an_app_is_imported_when_django_starts(tmp_path: Any, program_environment: dict[str, str]) -> None:
    import subprocess

    app = tmp_path / "shop"
    app.mkdir()
    (app / "__init__.py").touch()
    (app / "ratekeys.py").write_text(
        "from ratewindow import ratekey\n\n@ratekey('tenant')\ndef tenant(request):\n    return request.headers.get('x-tenant')\n"
    )
    (tmp_path / "shop_settings.py").write_text("from testproject.settings import *\n\nINSTALLED_APPS.append('shop')\n")
    code = "import django; django.setup(); from ratewindow.identity import recipe; print(recipe('ip+tenant').text)"
    paths = f"{tmp_path}:{'.'}"
    environment = {**program_environment, "DJANGO_SETTINGS_MODULE": "shop_settings", "PYTHONPATH": paths}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout == "ip+tenant\n"


def test_a_uuid_tells_clients_apart() -> None:
    ratekey("tenant")(lambda request: uuid.uuid5(uuid.NAMESPACE_DNS, request.headers["x-tenant"]))
    view = ratewindow.ratelimit(rate="1/m", key="tenant")(plain(False))
    assert [get(view, headers={"x-tenant": each}).status_code for each in "aabb"] == [200, 429, 200, 429]


def test_the_view_of_a_rule_by_an_own_key_is_limited_by_it() -> None:
    ratekey("tenant")(tenant)
    view = ratewindow.ratelimit(rate="1/m", key="tenant")(plain(False))
    assert [get(view, headers={"x-tenant": each}).status_code for each in "aabb"] == [200, 429, 200, 429]
