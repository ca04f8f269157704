"""The history in a terminal, and restoring from it."""

import json

import pytest

from ratewindow.models import Edit, Override, RateRule
from ratewindow.operations import release
from tests.support.commands import run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


def define(rate: str, name: str = "login", **fields: str) -> int:
    """The number of its edit."""
    RateRule.objects.define(name, rate, overwrite=True, **fields)
    return Edit.objects.all()[0].pk


def test_it_lists_the_newest_edits_first_with_each_field() -> None:
    assert run("history") == "No edits yet."
    first = define("5/m", path="/login/")
    run("mode", "login", "enforce", "--reason", "an attack")
    define("1/s", "search")
    newest, before, *_ = [line for line in run("history").splitlines() if not line.startswith(" ")]
    assert "rule search added (define)" in newest
    assert "rule login changed, by " in before and "(command mode): an attack" in before
    assert "    mode: shadow -> enforce" in run("history", "login", "--limit", "1")
    (line,) = (json.loads(line) for line in run("history", "login", "--json").splitlines() if '"added"' in line)
    assert (line["pk"], line["before"], line["after"]["pattern"]) == (first, None, "/login/")
    release.release("ip:192.0.2.1")
    assert "client ip:192.0.2.1 released" in run("history", "--limit", "1")
    for number in ("0", "-1", "all"):
        assert f"'{number}' is not a number of edits" in wrong("history", f"--limit={number}")


def test_an_edit_is_undone_after_a_preview() -> None:
    first, second = define("5/m"), define("9/m")
    assert "To restore this, add --yes" in wrong("restore", str(second))
    assert RateRule.objects.get().windows.get().limit == 9
    assert "limit: 9 -> 5" in run("restore", str(second), "--yes", "--reason", "a mistake")
    assert RateRule.objects.get().windows.get().limit == 5
    edit = Edit.objects.all()[0]
    assert (edit.way, edit.reason) == ("restore", "a mistake") and "@" in edit.by
    assert "Restored: 0 added, 1 changed, 0 removed." in run("restore", str(edit.pk), "--yes")
    assert "0 added, 1 changed" in run("restore", str(first), "--after", "--yes")
    assert run("restore", str(first), "--after") == "Nothing to restore: it is so already."


def test_everything_or_one_rule_is_restored_as_it_was_at_a_time() -> None:
    define("5/m")
    moment = Edit.objects.all()[0].at.isoformat()
    define("9/m")
    define("1/s", "search")
    Override.objects.block("ip:192.0.2.1")
    assert "Restored: 0 added, 1 changed, 0 removed." in run("restore", moment, "--rule", "login", "--yes")
    assert "Restored: 0 added, 0 changed, 2 removed." in run("restore", moment, "--yes")
    assert [str(rule) for rule in RateRule.objects.all()] == ["login"] and not Override.objects.exists()


def test_what_cannot_be_restored_is_said() -> None:
    release.release("ip:192.0.2.1")
    edit = Edit.objects.get()
    assert wrong("restore", "4711") == "There is no edit 4711: manage.py ratewindow history lists them."
    assert "cannot be taken back" in wrong("restore", str(edit.pk))
    assert "neither the number of an edit nor a time" in wrong("restore", "yesterday")
    assert "The history knows no rule 'gone'" in wrong("restore", "2026-01-31T12:00", "--rule", "gone")
