"""What is said before a request meets it."""

from typing import Any

import pytest
from django.core import mail
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import connection as database
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from ratewindow import ratelimit
from ratewindow.models import RateRule
from ratewindow.rules import code_rates
from ratewindow.store import process_clients
from tests.support.check_messages import found


@pytest.fixture(autouse=True)
def _code(monkeypatch: pytest.MonkeyPatch) -> None:
    code_rates.load_names()  # imports the site's views, whose names would be lost if this were the first time
    monkeypatch.setattr(code_rates, "_uses", {})


def view(request: Any) -> None: ...


def other_view(request: Any) -> None: ...


@pytest.mark.parametrize(
    ("rates", "keys"),
    [
        (["5/m", "5 per minute", "5/60s", "5 / 1min"], ["ip"]),
        (["5/m; 20/h", "20 per hour;5/m"], ["ip"]),
        (["5/m"], ["get:q", "query:q"]),
        (["5/m"], ["user+header:X-Api-Key", "user + header:x-api-key"]),
    ],
)
def test_one_rate_in_several_spellings_is_one_rate(rates: list[str], keys: list[str]) -> None:
    for rate in rates:
        for key in keys:
            ratelimit("login", rate, key=key)(view)
    assert found() == {}


@pytest.mark.parametrize("keys", [("query:q", "query:Q"), ("post:q", "query:q"), ("ip+user", "user+ip")])
def test_two_keys_are_not_one_key(keys: tuple[str, str]) -> None:
    for key in keys:
        ratelimit("login", "5/m", key=key)(view)
    assert "ratewindow.E003" in found()


def test_all_is_well_with_a_good_setting() -> None:
    assert found() == {}


def test_an_unknown_key_is_an_error_that_names_the_nearest() -> None:
    assert found(REDDIS="x") == {"ratewindow.E001": "RATEWINDOW has an unknown key 'REDDIS'. Did you mean 'REDIS'?"}


def test_a_bad_value_is_an_error_with_the_remedy() -> None:
    assert "'soon' is not a duration: write 10s" in found(TIMEOUT="soon")["ratewindow.E001"]


def test_every_problem_is_told_not_only_the_first() -> None:
    with override_settings(RATEWINDOW={"TIMEOUT": 1, "REFRESH": 2, "X": 3}):
        assert [each.id for each in run_checks(tags=["ratewindow"])] == ["ratewindow.E001"] * 3


@override_settings(CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}})
def test_a_cache_that_is_not_redis_names_the_line_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(mail, "outbox")  # as where no tests run
    assert 'Write for example RATEWINDOW = {"REDIS": "redis://localhost:6379/0"}.' in found(REDIS="default")["ratewindow.E002"]


@pytest.mark.django_db  # Django's own check of a JSONField asks the database
def test_a_wrong_setting_stops_a_command() -> None:
    with override_settings(RATEWINDOW={"REDDIS": "x"}), pytest.raises(CommandError, match="Did you mean 'REDIS'"):
        call_command("check")


def test_one_name_with_two_rates_in_code_is_an_error_that_names_both_places() -> None:
    ratelimit("login", "5/m")(view)
    ratelimit("login", "9/m", key="user")(other_view)
    told = found()["ratewindow.E003"]
    assert "Code gives the name 'login' two rates: 5/m per ip, 9/m per user" in told
    assert f"({__name__}.other_view, {__name__}.view)" in told
    assert told.endswith("Use two names, or one rate.")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "shadow"}, "mode='shadow'"),
        ({"algorithm": "token_bucket", "burst": 20}, "algorithm='token_bucket', burst=20"),
        ({"penalty": "15m", "status": 503}, "penalty='15m', status=503"),
        ({"normalise": True}, "normalise=True"),
    ],
    ids=str,
)
@pytest.mark.parametrize("rate", ["5/m", lambda request: "5/m"], ids=["text", "function"])
def test_one_name_with_two_options_is_an_error_too(options: Any, words: str, rate: Any) -> None:
    ratelimit("login", rate)(view)
    ratelimit("login", rate, **options)(other_view)
    told = found()["ratewindow.E003"]
    first = "5/m" if rate == "5/m" else "a rate by a function"
    assert f"Code gives the name 'login' two rates: {first} per ip, {first} per ip, {words} (" in told


def test_options_that_are_the_usual_ones_are_none() -> None:
    ratelimit("login", "5/m")(view)
    ratelimit("login", "5/m", mode="enforce", status=429, penalty=None, burst=None, count_when="ALWAYS")(other_view)
    assert found() == {}


def test_one_rate_in_two_places_is_one_rule() -> None:
    ratelimit("login", "5/m")(view)
    ratelimit("login", "5/m")(other_view)
    ratelimit("login")(view)
    assert found() == {}


@pytest.mark.django_db
def test_a_name_that_nobody_defined_is_a_warning_that_says_where_it_is_named() -> None:
    ratelimit("login")(view)
    assert found(databases=["default"]) == {
        "ratewindow.W001": "Code names rule 'login', which is not defined: requests pass. "
        f"Add it in the admin, or give the decorator a rate. It is named in {__name__}.view."
    }


@pytest.mark.django_db
@pytest.mark.parametrize(("named", "near"), [("logn", "login"), ("log-in", "login"), ("exprot", "export")])
def test_a_name_that_nobody_defined_names_the_nearest_one_of_a_row_or_of_code(named: str, near: str) -> None:
    RateRule.objects.define("login", "5/m")
    ratelimit("export", "5/m")(other_view)
    ratelimit(named)(view)
    assert f"Did you mean {near!r}? Otherwise add it in the admin, or give" in found(databases=["default"])["ratewindow.W001"]


@pytest.mark.django_db
def test_another_name_that_nobody_defined_is_not_the_nearest_one() -> None:
    ratelimit("logn")(view)
    ratelimit("login")(other_view)
    RateRule.objects.define("search", "5/m")
    assert "Did you mean" not in found(databases=["default"])["ratewindow.W001"]


@pytest.mark.django_db
def test_a_name_with_a_row_or_a_rate_is_no_warning() -> None:
    ratelimit("login")(view)
    ratelimit("export", "5/m")(view)
    RateRule.objects.define("login", "5/m")
    assert found(databases=["default"]) == {}


@pytest.mark.django_db(transaction=True)
def test_a_missing_table_is_a_warning_that_says_to_migrate() -> None:
    ratelimit("login")(view)
    with database.schema_editor() as editor:
        editor.alter_db_table(RateRule, "ratewindow_raterule", "elsewhere")
    try:
        assert found(databases=["default"])["ratewindow.W002"].endswith("Run manage.py migrate.")
    finally:
        with database.schema_editor() as editor:
            editor.alter_db_table(RateRule, "elsewhere", "ratewindow_raterule")


@pytest.mark.django_db
def test_checks_without_databases_touch_neither_sql_nor_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    ratelimit("login")(view)

    def refuse(*_: Any) -> None:
        raise AssertionError("Redis was asked for")

    for name in ("client", "patient_client", "async_client"):
        monkeypatch.setattr(process_clients, name, refuse)
    with CaptureQueriesContext(database) as queries:
        found()
    assert list(queries) == []


def test_the_names_of_views_that_nobody_has_imported_are_known_to_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.urls import URLResolver

    loaded: list[str] = []
    patterns = URLResolver.url_patterns.func  # type: ignore[attr-defined]
    monkeypatch.setattr(URLResolver, "url_patterns", property(lambda self: loaded.append("urls") or patterns(self)))
    found()
    assert loaded
