"""The rules that a process holds, and what stays when something cannot be read."""

import logging
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import InterfaceError, connection as database, connections
from django.db.backends.utils import CursorWrapper
from django.test import TransactionTestCase, override_settings

import ratewindow
from ratewindow.limiter.problem import Problem
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import current, edits, reading
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule
from ratewindow.signals import rules_changed
from ratewindow.store import state_keys
from tests.support.doors import behind_middleware, decorated, plain, statuses
from tests.support.fresh_process import reset_process

pytestmark = pytest.mark.django_db(transaction=True)


def define(name: str, rate: str, **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, **{"mode": "enforce", **fields})[0]


def test_a_missing_table_leaves_the_rules_in_force_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    define("login", "1/m", path="/login/")
    with database.schema_editor() as editor:
        editor.alter_db_table(RateRule, "ratewindow_raterule", "elsewhere")
    try:
        with caplog.at_level(logging.ERROR, "ratewindow"):
            reading.reload()
            reading.reload()
        assert statuses(behind_middleware(plain(False)), 2, "/login/") == [200, 429]
        assert len(caplog.records) == 1
        assert "no such table" in caplog.text
    finally:
        with database.schema_editor() as editor:
            editor.alter_db_table(RateRule, "elsewhere", "ratewindow_raterule")


def test_of_a_row_that_went_bad_the_last_good_reading_stays_and_so_do_the_others(caplog: pytest.LogCaptureFixture) -> None:
    define("good", "1/m", path="/good/")
    define("bad", "1/m", path="/bad/")
    RateRule.objects.filter(name="bad").update(key="shoe_size")
    RateRule.objects.get(name="good").windows.update(limit=2)
    reading.reload()
    assert statuses(behind_middleware(plain(False)), 3, "/good/") == [200, 200, 429]
    assert statuses(behind_middleware(plain(False)), 2, "/bad/") == [200, 429]
    assert "rule 'bad' stays as it was, it cannot be enforced as it is now: 'shoe_size' is not a key" in caplog.text


class Replicated:
    """A router of a site that reads from a replica, which here has no tables."""

    def db_for_read(self, model: type, **hints: Any) -> str:
        return "replica"

    def db_for_write(self, model: type, **hints: Any) -> str:
        return "default"


def test_rows_are_read_where_they_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    behind = {**connections.settings["default"], "NAME": tmp_path / "behind.sqlite3"}
    monkeypatch.setitem(connections.settings, "replica", behind)
    define("login", "1/m", path="/login/")
    Override.objects.block("ip:203.0.113.66")
    with override_settings(DATABASE_ROUTERS=[Replicated()]):
        reset_process()
        reading.reload()
    assert [*current.of_site().by_name] == ["login"]
    assert current.of_site().overrides is not None
    assert reading.problem() == ""


def test_a_row_that_went_bad_can_still_be_switched_off() -> None:
    define("bad", "1/m", path="/bad/")
    RateRule.objects.filter(name="bad").update(key="shoe_size", mode="off")
    reading.reload()
    assert statuses(behind_middleware(plain(False)), 2, "/bad/") == [200, 200]


def by_hand(statement: str) -> None:
    with database.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize(
    "of_a_newer_version",
    [
        lambda rule: RateRule.objects.filter(pk=rule.pk).update(key="shoe_size"),
        lambda rule: rule.windows.update(algorithm="crystal_ball"),
        lambda rule: RateRule.objects.filter(pk=rule.pk).update(methods="P0ST"),
        lambda rule: by_hand(f"UPDATE ratewindow_rulewindow SET \"limit\" = 'many' WHERE rule_id = {rule.pk}"),
        lambda rule: by_hand(f"UPDATE ratewindow_raterule SET cost = 'much' WHERE id = {rule.pk}"),
    ],
    ids=["key", "algorithm", "method", "limit", "cost"],
)
def test_a_row_that_this_process_never_saw_good_is_left_out_and_the_others_hold(
    of_a_newer_version: Any, caplog: pytest.LogCaptureFixture
) -> None:
    define("good", "1/m", path="/good/")
    of_a_newer_version(define("bad", "1/m", path="/bad/"))
    current._held.book = None
    reading.reload()
    assert statuses(behind_middleware(plain(False)), 2, "/good/") == [200, 429]
    assert statuses(behind_middleware(plain(False)), 2, "/bad/") == [200, 200]
    assert "rule 'bad' is left out, it cannot be enforced: " in caplog.text


def test_what_cannot_even_be_read_leaves_all_rules_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    """SQLite takes anything anywhere; to a save of another rule this is no error either."""
    login = define("login", "1/m", path="/login/")
    by_hand(f"UPDATE ratewindow_rulewindow SET period = 'a while' WHERE rule_id = {login.pk}")
    define("other", "5/m")
    assert statuses(behind_middleware(plain(False)), 2, "/login/") == [200, 429]
    assert "the rules cannot be read, those held stay in force: " in caplog.text


def test_a_table_that_is_not_migrated_yet_is_told_once_and_a_process_that_starts_then_serves(
    caplog: pytest.LogCaptureFixture,
) -> None:
    define("login", "1/m", path="/login/")
    field = RateRule._meta.get_field("count_refused")
    with database.schema_editor() as editor:
        editor.remove_field(RateRule, field)
    try:
        reading.reload()
        assert statuses(behind_middleware(plain(False)), 2, "/login/") == [200, 429]  # the last good rules
        reset_process()
        reading.reload()
        assert statuses(behind_middleware(decorated(False, rate="1/h")), 2, "/login/") == [200, 429]  # rates in code
        reading.reload()
        assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]  # one for each of the two processes
        assert "the rules cannot be read, those held stay in force: no such column" in caplog.text
        assert "the rules cannot be read, and this process holds none but rates in code: no such column" in caplog.text
    finally:
        with database.schema_editor() as editor:
            editor.add_field(RateRule, field)
    reading.reload()
    assert "login" in current.rulebook().by_name


def test_of_two_readings_at_the_same_moment_the_one_that_began_later_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    first_has_read, second_is_done = threading.Event(), threading.Event()

    def slowly() -> list[Rule]:
        first_has_read.set()
        assert second_is_done.wait(10)
        return [Rule("old", ())]

    monkeypatch.setattr(reading, "read_rules", slowly)
    first = threading.Thread(target=reading.reload)
    first.start()
    assert first_has_read.wait(10)
    monkeypatch.setattr(reading, "read_rules", lambda: [Rule("new", ())])
    reading.reload()
    second_is_done.set()
    first.join()
    assert set(current.rulebook().by_name) == {"new"}


STORED = r"^/(\pL{1,200}/)+y%d$"
CROWD = [f"[a{chr(0x100 + number)}].{{{290 - number}}}[N{number}]" for number in range(30)]


def store_regexes(*patterns: str) -> None:
    """Rows as raw SQL, an older version of this app or a fixture may leave them."""
    for number, pattern in enumerate(patterns):
        rule = define(f"stored-{number:02}", "1/m", regex="^/stored/")
        RateRule.objects.filter(pk=rule.pk).update(pattern=pattern, mode="shadow")


@pytest.mark.parametrize("patterns", [[STORED % number for number in range(6)], CROWD], ids=["large", "many"])
@pytest.mark.parametrize("is_new", [True, False], ids=["starts", "runs"])
def test_expressions_that_are_too_much_together_cost_no_other_rule_anything(
    patterns: list[str], is_new: bool, caplog: pytest.LogCaptureFixture
) -> None:
    define("good", "1/m", path="/good/")
    define("small", "1/m", regex="^/small/")
    store_regexes(*patterns)
    if is_new:
        current._held.book = None
    with caplog.at_level(logging.ERROR, "ratewindow"):
        reading.reload()
        reading.reload()
    assert statuses(behind_middleware(plain(False)), 2, "/good/") == [200, 429]
    assert statuses(behind_middleware(plain(False)), 2, "/small/") == [200, 429]
    RateRule.objects.get(name="good").windows.update(limit=2)
    reading.reload()
    assert statuses(behind_middleware(plain(False)), 2, "/good/") == [200, 429]  # of two, one is used
    named = [record.getMessage() for record in caplog.records]
    assert all("too large" in told for told in named)
    assert len(named) == len(set(named)) >= 6


@pytest.mark.parametrize("crowd", ["^/([a-z]{1,%d}/)?x", "x%d.*y", "y%d-[a-f]*"])
def test_no_rule_in_shadow_pushes_out_one_that_is_enforced(crowd: str) -> None:
    define("victim", "2/m", regex=r"^/(shop|store)/.*/(reviews|ratings)/.*\.(pdf|docx)$", mode="enforce")
    store_regexes(*(crowd % number for number in range(20, 75)))
    reading.reload()
    assert statuses(behind_middleware(plain(False)), 3, "/shop/a/reviews/b.pdf") == [200, 200, 429]
    assert reading.problem_of("victim") == ""
    assert "those in shadow first" in reading.problem_of("stored-54")


def test_a_regular_expression_that_cannot_be_read_here_is_left_out_and_named(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    define("good", "1/m", path="/good/")
    RateRule.objects.define("expressed", "1/m", regex="^/expressed/", mode="enforce")
    monkeypatch.setitem(sys.modules, "re2", None)
    current._held.book = None  # as in a process that has read nothing yet
    reading.reload()
    assert statuses(behind_middleware(plain(False)), 2, "/expressed/") == [200, 200]
    assert statuses(behind_middleware(plain(False)), 2, "/good/") == [200, 429]
    assert "rule 'expressed' is left out, it cannot be enforced: regular expressions need google-re2" in caplog.text


def test_a_rule_without_limits_refuses_nobody() -> None:
    RateRule.objects.create(name="empty", mode="enforce", applies_to="all")
    assert statuses(behind_middleware(decorated(False, "empty")), 2) == [200, 200]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that is sent to a database, by whatever thread."""
    seen: list[str] = []
    execute = CursorWrapper.execute

    def noted(self: CursorWrapper, sql: str, *arguments: Any) -> Any:
        seen.append(sql)
        return execute(self, sql, *arguments)

    monkeypatch.setattr(CursorWrapper, "execute", noted)
    return seen


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_request_issues_no_sql_of_ours(is_async: bool, statements: list[str], redis_client: Any) -> None:
    define("all", "100/m", applies_to="all", key="user_or_ip")
    define("some", "2/m; 50/h", prefix="/some/", penalty="10s")
    define("beside", "5/m", mode="shadow", applies_to="all", key="header:x-api-key", overwrite=True)
    site = behind_middleware(decorated(is_async, "in.code", rate="50/m"))
    assert statements, "nothing would be noticed"
    statements.clear()
    assert statuses(site, 3, "/some/") == [200, 200, 429]
    assert statuses(site, 3, "/other/", headers={"x-api-key": "one"}) == [200] * 3
    redis_client.set(state_keys.token(), "an edit elsewhere")
    assert statuses(site, 2, "/other/") == [200, 200]
    assert ratewindow.hit("all", "ip:203.0.113.9").remaining == 99
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert statuses(site, 5, "/other/") == [200] * 5
    assert statements == []


def test_counts_stay_when_only_the_limit_is_edited() -> None:
    rule = define("login", "5/m", path="/login/")
    site = behind_middleware(plain(False))
    assert statuses(site, 6, "/login/") == [200] * 5 + [429]
    rule.windows.update(limit=8)
    reading.reload()
    assert statuses(site, 4, "/login/") == [200, 200, 200, 429]


def test_the_names_that_code_limits_are_known_once_the_urls_are_loaded() -> None:
    assert "demo.limited" in code_rates.load_names()


class AfterAFlush(TransactionTestCase):
    """Django empties the tables after each such test, without a word for each row."""

    def test_one_rules_do_not_outlive_the_test_that_made_them(self) -> None:
        define("everywhere", "1/m", applies_to="all")
        assert "everywhere" in current.rulebook().by_name

    def test_two_rules_do_not_outlive_the_test_that_made_them(self) -> None:
        assert "everywhere" not in current.rulebook().by_name


def test_listeners_hear_which_rules_have_changed() -> None:
    heard: list[list[str]] = []

    def listener(changed: list[str], **_: Any) -> None:
        heard.append(changed)

    rules_changed.connect(listener)
    try:
        RateRule.objects.define("login", "5/m")
        RateRule.objects.define("api", "5/m")
        RateRule.objects.filter(name="api").update(mode="enforce")
        reading.reload()
        reading.reload()
        RateRule.objects.get(name="login").delete()
    finally:
        rules_changed.disconnect(listener)
    assert heard == [["login"], ["api"], ["api"], ["login"]]


def watch() -> None:
    """What the two threads of a process do three times within `REFRESH`."""
    edits.check_redis()
    if edits.is_stale():
        edits.reread()


def test_a_lost_connection_leaves_the_rules_in_force_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    RateRule.objects.define("login", "1/m")

    def lost() -> None:
        raise InterfaceError("connection already closed")

    monkeypatch.setattr(reading, "read_rules", lost)
    reading.reload()
    assert "login" in current.rulebook().by_name
    assert "the rules cannot be read, those held stay in force: connection already closed" in caplog.text


def test_a_reading_that_failed_is_repeated_soon(readings: list[str]) -> None:
    reset_process()
    watch()
    reading._progress.problem = Problem("no such table")
    reading._progress.ended_at_s -= reading.REREAD_ALONE_S + 0.1
    watch()
    watch()
    assert len(readings) == 2


def test_a_bad_row_is_told_once_and_again_when_it_says_something_else(caplog: pytest.LogCaptureFixture) -> None:
    rule, _ = RateRule.objects.define("bad", "1/m")
    for key in ("shoe_size", "shoe_size", "hat_size"):
        RateRule.objects.filter(pk=rule.pk).update(key=key)
        reading.reload()
    assert [record.getMessage().partition(": '")[2].partition("'")[0] for record in caplog.records] == ["shoe_size", "hat_size"]


def test_a_row_with_more_limits_than_a_rule_may_have_is_no_rule(caplog: pytest.LogCaptureFixture) -> None:
    rule, _ = RateRule.objects.define("many", ";".join(f"5/{seconds}s" for seconds in range(1, 21)))
    reading.reload()
    assert not caplog.text
    rule.windows.create(limit=5, period=timedelta(minutes=5))  # which no form and no rate would have let in
    reading.reload()
    assert "rule 'many' has 21 limits, of at most 20: give it fewer" in caplog.text
