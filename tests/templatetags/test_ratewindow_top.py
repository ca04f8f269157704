"""The template tag of the tabs and the banner."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.template import Context, Template
from django.test import RequestFactory, override_settings

TOP = Template("{% load ratewindow_admin %}{% ratewindow_top problems=False %}")
OFF = override_settings(RATEWINDOW={**settings.RATEWINDOW, "ENABLED": False})

pytestmark = pytest.mark.django_db


def shown(**context: object) -> str:
    made = Context(context)
    made.request = RequestFactory().get("/")  # type: ignore[attr-defined]
    made.request.user = User.objects.create_user("ann")  # type: ignore[attr-defined]
    return str(TOP.render(made)).strip()


def test_while_limits_are_off_it_says_so() -> None:
    with OFF:
        assert "Limits are OFF" in shown()


def test_while_limits_are_on_and_without_a_request_there_is_none() -> None:
    assert shown() == TOP.render(Context()).strip() == ""
