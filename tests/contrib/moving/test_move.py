"""`manage.py ratewindow move`."""

import sys

import pytest
from django.core.management import load_command_class
from django.test import override_settings

from ratewindow import rooms
from ratewindow.models import RateRule
from tests.support.commands import run, wrong

pytestmark = pytest.mark.django_db
OTHER = override_settings(ROOT_URLCONF="tests.support.other_limits_urls")


@OTHER
def test_what_code_limits_is_added_in_shadow_once() -> None:
    assert wrong("move", "drf").endswith("To add these rules, add --yes.")
    assert not RateRule.objects.exists()
    shown = run("move", "drf", "--yes")
    assert "Left out: tests.support.other_limits_urls.Own: code of its own decides" in shown
    assert "+ uploads: 20/86400s, mode shadow, route files, key user_or_ip" in shown
    assert shown.endswith("Added in shadow: 2.")
    assert set(RateRule.objects.values_list("name", "mode")) == {("burst", "shadow"), ("uploads", "shadow")}
    RateRule.objects.filter(name="burst").update(mode="enforce")
    again = run("move", "drf", "--yes")
    assert "Left out: burst: there is a rule of this name, which stays as it is." in again
    assert "Nothing to add" in again and RateRule.objects.get(name="burst").mode == "enforce"


@OTHER
def test_every_definition_is_a_rule() -> None:
    run("move", "django-ratelimit", "--yes")
    for rule in RateRule.objects.all():
        rule.full_clean()
        assert all(window.freeze() for window in rule.windows.all()) and rule.mode == "shadow"


@OTHER
def test_a_package_that_is_not_installed_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rest_framework.throttling", None)
    assert wrong("move", "drf").startswith("drf is not installed here")


def test_a_site_without_this_app_is_told_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    known = [(room, room.name != "ratewindow.contrib.moving") for room, _ in rooms.known()]
    monkeypatch.setattr(rooms, "known", lambda: known)
    monkeypatch.setattr(rooms, "installed", lambda: [room for room, is_installed in known if is_installed])
    with pytest.raises(SystemExit):
        load_command_class("ratewindow", "ratewindow").run_from_argv(["manage.py", "ratewindow", "move", "axes"])
    assert 'INSTALLED_APPS += ["ratewindow.contrib.moving"]' in capsys.readouterr().err
