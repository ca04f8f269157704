"""`manage.py ratewindow import`."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from ratewindow.models import Edit, Override, RateRule
from ratewindow.operations.documents import text
from ratewindow.operations.documents.applying import apply
from ratewindow.operations.documents.site import site
from tests.support.commands import run, wrong
from tests.support.documents import BLOCK, LOGIN, SEARCH, document

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(tmp_path: Path) -> Path:
    apply(document(rules=[SEARCH, LOGIN]))
    written = tmp_path / "rules.yaml"
    written.write_bytes(text.to_bytes(document(rules=[{**LOGIN, "cost": 2}], overrides=[BLOCK]), text.YAML))
    return written


def test_what_the_file_names_is_added_and_changed_after_a_preview(file: Path) -> None:
    shown = run("import", str(file), "--yes", "--reason", "a new release")
    assert shown.splitlines() == [
        "~ rule login",
        "    cost: 1 -> 2",
        "+ override block ip:203.0.113.0/24",
        "    reason: scrapers",
        f"Imported {file}: 1 added, 1 changed, 0 removed.",
    ]
    assert site(["rules", "overrides"]) == document(rules=[{**LOGIN, "cost": 2}, SEARCH], overrides=[BLOCK])
    assert Override.objects.get().source == "command"
    assert {edit.reason for edit in Edit.objects.filter(way="command import")} == {"a new release"}
    assert run("import", str(file), "--yes") == f"Nothing to change: the site has everything that {file} has."


def test_a_dry_run_changes_nothing(file: Path) -> None:
    before = site()
    assert run("import", str(file), "--dry-run").endswith(
        "Nothing was changed. Without --dry-run: 1 added, 1 changed, 0 removed."
    )
    assert site() == before


def test_where_nobody_can_be_asked_yes_is_needed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong("import", str(file)).endswith("To make these changes, add --yes.")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert wrong("import", str(file)) == "Nothing was changed."
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert "Imported" in run("import", str(file))


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Given:
        buffer = io.BytesIO(text.to_bytes(document(rules=[LOGIN]), text.JSON))

    monkeypatch.setattr(sys, "stdin", Given())
    run("import", "-", "--yes")
    assert site(["rules"])["rules"] == [LOGIN]


def test_a_bad_file_is_said_with_every_place_and_changes_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        "ratewindow: 1\nrules:\n  - {name: a, limits: [{limit: 5, period: 1 monat}]}\n  - {name: b, mod: off, limits: []}\n"
    )
    message = wrong("import", str(bad), "--yes")
    assert message.startswith(f"{bad} cannot be used, nothing was changed:\n")
    assert "rules[0] \"a\": limits[0].period: '1 monat'" in message
    assert 'rules[1] "b": mod: there is no such field: did you mean mode?' in message
    assert not RateRule.objects.exists()


def test_a_site_edited_after_the_preview_is_not_changed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(question: str) -> str:
        RateRule.objects.filter(name="login").update(cost=5)
        return "y"

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", edit)
    assert "Somebody has edited the site meanwhile" in wrong("import", str(file))
    assert RateRule.objects.get(name="login").cost == 5 and not Override.objects.exists()


def test_a_lockout_is_said_in_the_preview(file: Path) -> None:
    values: dict[str, Any] = {
        **SEARCH,
        "mode": "enforce",
        "applies_to": "all",
        "pattern": "",
        "limits": [{"limit": 2, "period": "1h"}],
    }
    file.write_bytes(text.to_bytes(document(rules=[values]), text.JSON))
    assert "Careful: Rule search meets /admin/" in run("import", str(file), "--dry-run")


@override_settings(ROOT_URLCONF="tests.support.other_limits_urls")
def test_what_code_limits_is_imported_in_shadow_once() -> None:
    shown = run("import", "--from", "drf", "--yes")
    assert "Left out: tests.support.other_limits_urls.Own: code of its own decides" in shown
    assert shown.endswith("Imported drf: 2 added, 0 changed, 0 removed.")
    assert set(RateRule.objects.values_list("name", "mode")) == {("burst", "shadow"), ("uploads", "shadow")}
    RateRule.objects.filter(name="burst").update(mode="enforce")
    again = run("import", "--from", "drf", "--yes")
    assert "Left out: burst: there is a rule of this name, which stays as it is." in again
    assert "Nothing to change" in again and RateRule.objects.get(name="burst").mode == "enforce"


def test_a_file_or_a_package_is_named() -> None:
    assert wrong("import") == wrong("import", "x.yaml", "--from", "drf")


def test_a_package_that_is_not_installed_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rest_framework.throttling", None)
    with override_settings(ROOT_URLCONF="tests.support.other_limits_urls"):
        assert wrong("import", "--from", "drf").startswith("drf is not installed here")
